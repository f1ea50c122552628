"""Reading files: what each is taken for, what is refused and why, and what a merge makes."""

from __future__ import annotations

import gzip
import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from okh.corpus.errors import CorpusError
from okh.corpus.ingestion import ReadResult, blocks_of, read_bytes, read_path, unknown_ports
from okh.corpus.manifest import Hints, hints_of_name, read_manifest
from okh.corpus.merging import merge
from okh.corpus.places import default_ports
from okh.corpus.recognition import MAX_BYTES, decode, recognise, unpack
from okh.vocabulary import is_number_name

RULE = "-" * 30

ADVISORY = f"""
ZCZC MIATCPAT5 ALL
TTAA00 KNHC DDHHMM

BULLETIN
Hurricane Quill Advisory Number  12
NWS National Hurricane Center Miami FL       AL212031
500 PM EDT Fri Sep 12 2031

...QUILL KEEPS HEADING FOR THE COAST...

SUMMARY OF 500 PM EDT...2100 UTC...INFORMATION
{RULE}
LOCATION...28.4N 78.1W
ABOUT 215 MI...345 KM SE OF SAVANNAH GEORGIA
MAXIMUM SUSTAINED WINDS...85 MPH...140 KM/H
PRESENT MOVEMENT...NW OR 315 DEGREES AT 10 MPH...17 KM/H
MINIMUM CENTRAL PRESSURE...978 MB...28.88 INCHES

WATCHES AND WARNINGS
{RULE}
CHANGES WITH THIS ADVISORY:

None.

SUMMARY OF WATCHES AND WARNINGS IN EFFECT:

A Hurricane Warning is in effect for...
* Altamaha Sound Georgia to South Santee River South Carolina

DISCUSSION AND OUTLOOK
{RULE}
At 500 PM EDT (2100 UTC), the center of Hurricane Quill was located
near latitude 28.4 North, longitude 78.1 West.

HAZARDS AFFECTING LAND
{RULE}
WIND:  Hurricane conditions are expected in the warning area by Sunday.

NEXT ADVISORY
{RULE}
Next intermediate advisory at 800 PM EDT.

$$
Forecaster Nobody
NNNN
"""

TABLE = """ZCZC MIAPWSAT5 ALL
TTAA00 KNHC DDHHMM

HURRICANE QUILL WIND SPEED PROBABILITIES NUMBER  12
NWS NATIONAL HURRICANE CENTER MIAMI FL       AL212031
2100 UTC FRI SEP 12 2031

AT 2100Z THE CENTER OF HURRICANE QUILL WAS LOCATED NEAR LATITUDE
28.4 NORTH...LONGITUDE 78.1 WEST WITH MAXIMUM SUSTAINED WINDS NEAR
75 KTS...85 MPH...140 KM/H.

               FROM    FROM    FROM
  TIME       18Z FRI 06Z SAT 18Z SAT
PERIODS         TO      TO      TO
             06Z SAT 18Z SAT 06Z SUN

FORECAST HOUR    (12)   (24)    (36)
- - - - - - - - - - - - - - - - - - -
LOCATION       KT

SAVANNAH GA    34  X   7( 7)  32(39)
SAVANNAH GA    50  X   X( X)   9( 9)

$$
FORECASTER NOBODY
NNNN
"""

POSTS = (
    "time_utc,id,CycloneName,Year,PortList,Condition,ConditionEffectiveTime,"
    "VesselOps,OceanVesselOps,FacilityOps\n"
    "9/12/2031 11:00,1,QUILL,2031,Savannah,X-RAY,9/12/2031 12:00,Get ready.,Leave.,Tie down.\n"
    '9/13/2031 11:00,2,QUILL,2031,"Savannah,YANKEE,9/13/2031 12:00,,,\n'
    "9/14/2031 11:00,3,QUILL,2031,Savannah,ZULU,9/14/2031 12:00,None may move.,,\n"
)

SCENARIO = """Storm: Quill
Year: 2031
Port: Port of Savannah, GA

T-48 hours before expected landfall:
Quill is a category 1 hurricane.

T-24 hours before expected landfall:
Quill is a category 2 hurricane.
"""

EVENT = {
    "event_id": "QUILL_2031_Port_of_Savannah,_GA",
    "senario": {
        "port": {"name": "Port of Savannah, GA", "location": {"lat": 32.1, "lon": -81.1}},
        "cyclone": {"name": "QUILL", "year": 2031},
        "time": {"24": {"cyclone_condition_and_forecast": {"category": "Hurricane"}}},
    },
}


def read(text: str | bytes, name: str, hints: Hints | None = None) -> ReadResult:
    return read_bytes(text if isinstance(text, bytes) else text.encode(), name, hints)


def codes(result: ReadResult) -> list[str]:
    return [note.code for note in result.notes]


def refusal(text: str | bytes, name: str) -> tuple[str, CorpusError]:
    result = read(text, name)
    assert result.refused is not None and not result.documents
    assert result.refused.file == name and result.refused.problem and result.refused.mend
    return result.taken_for, result.refused


# --- recognition ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x", "IRMA_2017_48h.txt", "table.csv.jsonl", "questions.jsonl"])
@pytest.mark.parametrize(
    ("text", "kind"),
    [(ADVISORY, "advisory"), (TABLE, "wind_table"), (POSTS, "bulletin"), (SCENARIO, "scenario"),
     (json.dumps(EVENT), "events"), (json.dumps([EVENT, EVENT]), "events"),
     ("[T-48]\nThe storm is strong.\n", "scenario")],
)
def test_content_decides_over_the_name(text: str, kind: str, name: str) -> None:
    assert recognise(text.encode(), name) == kind
    assert recognise(text.replace("\n", "\r\n").encode(), name) == kind
    assert recognise(("\ufeff" + text).encode(), name) == kind
    assert recognise(text.encode("utf-16"), name) == kind


@pytest.mark.parametrize(
    ("text", "name", "what"),
    [
        ("", "a.txt", "empty file"),
        (" \n\t\n", "a.txt", "empty file"),
        (b"\x7fELF\x00\x01\x02", "a.txt", "binary file"),
        (b"PK\x03\x04 and so on", "IRMA_2017_48h.txt", "binary file"),
        (bytes(range(1, 32)) * 20, "a.txt", "binary file"),
        ("Some words about the weather.", "a.txt", "unknown text"),
        ("Permission is granted", "LICENSE", "license"),
        (SCENARIO, "README.md", "readme"),
        ("<!DOCTYPE html><pre>" + ADVISORY, "a.html", "web page"),
        ('{"question": "How far?", "answer": "5"}\n', "q.jsonl", "questions"),
        ("id,question,answer\n1,How far?,5\n", "q.csv", "questions"),
        ('[{"question": "How far is {x}?", "prompt": "Act."}]', "t.json", "question template"),
        ("name,lon,lat\nA,1,2\n", "ports.csv", "ports table"),
        ("file,storm,year,lead\na,B,2031,48\n", "m.csv", "manifest"),
        ("a,b,c\n1,2,3\n", "t.csv", "other table"),
        ('{"a": 1}\n', "a.json", "other JSON"),
        ("Hurricane Quill Discussion Number  12\nNWS\n", "a.txt", "other NHC product"),
        ("HURRICANE QUILL FORECAST/ADVISORY NUMBER  12\n", "a.txt", "other NHC product"),
    ],
)
def test_what_is_no_document_is_refused_by_what_it_is(
    text: str | bytes, name: str, what: str
) -> None:
    taken_for, _ = refusal(text, name)
    assert taken_for == what


def test_errors_quote_nothing_of_the_document() -> None:
    secret = "sk-abcdef and hush"
    for text in (secret, f'{{"{secret}": 1}}', f"{secret},b,c\n1,2,3", f"<html>{secret}"):
        _, error = refusal(text, "a.txt")
        assert secret not in str(error)


# --- each kind ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name"),
    [(ADVISORY, "QUILL_2031_48h.txt"), (TABLE, "QUILL_2031_48h.txt"), (POSTS, "posts.csv"),
     (SCENARIO, "story.txt"), (json.dumps(EVENT), "events.jsonl"),
     ("Strong winds came.", "QUILL_2031_Port_of_Savannah,_GA_36h.txt")],
)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_stored_document_gives_the_same_blocks(text: str, name: str, ends: str) -> None:
    result = read(text.replace("\n", ends), name)
    assert result.refused is None
    for document in result.documents:
        raw = result.raw[document.hash]
        assert hashlib.sha256(raw).hexdigest() == document.hash
        stored = replace(document, text=decode(raw) or "", names=(*document.names, "alias.txt"))
        assert tuple(blocks_of(stored)) == result.blocks[document.hash] != ()
        for block in result.blocks[document.hash]:
            assert document.text[block.start : block.end] == block.text


def test_a_product_takes_storm_year_and_lead_from_its_name() -> None:
    for text in (ADVISORY, TABLE):
        result = read(text, "deep/QUILL_2031_48h.txt")
        (document,) = result.documents
        assert (document.storm, document.year, document.lead) == ("QUILL", 2031, 48)
        assert document.lead_source == "name" and result.notes == ()
        assert {block.lead for block in result.blocks[document.hash]} == {48}


def test_a_numbered_system_takes_the_files_name_but_a_named_one_keeps_its_own() -> None:
    numbered = ADVISORY.replace("Hurricane Quill Adv", "Tropical Depression Twenty-One Adv")
    (document,) = read(numbered, "QUILL_2031_48h.txt").documents
    assert document.storm == "QUILL"
    result = read(ADVISORY, "IRMA_2030_48h.txt")
    assert (result.documents[0].storm, result.documents[0].year) == ("QUILL", 2031)
    assert codes(result) == ["storm-differs", "year-differs"]
    assert is_number_name("FIVE-E") and is_number_name("TWENTY-ONE") and not is_number_name("TONY")


def test_a_manifest_decides_over_name_and_title(tmp_path: Path) -> None:
    manifest = read_manifest(
        "file,storm,year,lead,port\nb/x.txt,Wren,2031,T-36,\nx.txt,Lark,2031,72,\n"
        "y.txt,O'Neil/b,2031,,Savannah\n"
    )
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.txt").write_text(ADVISORY)
    (tmp_path / "y.txt.gz").write_bytes(gzip.compress(b"It was windy."))
    found = {d.names[0]: d for r in read_path(tmp_path, manifest) for d in r.documents}
    base = tmp_path.name
    assert [(found[f"{base}/{n}"].storm, found[f"{base}/{n}"].lead) for n in
            ("a/x.txt", "b/x.txt", "y.txt.gz")] == [("LARK", 72), ("WREN", 36), ("O-NEIL-B", None)]
    assert found[f"{base}/y.txt.gz"].port == "Savannah"


@pytest.mark.parametrize(
    ("row", "place"),
    [("a,B,31,48,,", "line 2, column year"), ("a,B,2031,soon,,", "line 2, column lead"),
     ("a,B,2031,900,,", "line 2, column lead"), ("a,B,2031,,,noon", "line 2, column landfall"),
     ("a,///,2031,48,,", "line 2, column storm"), (",B,2031,48,,", "line 2")],
)
def test_a_bad_manifest_names_the_cell(row: str, place: str) -> None:
    with pytest.raises(CorpusError) as error:
        read_manifest(f"file,storm,year,lead,port,landfall\n{row}\n", "m.csv")
    assert (error.value.file, error.value.place) == ("m.csv", place)
    with pytest.raises(CorpusError, match="columns missing: year, lead"):
        read_manifest("file,storm\n")


def test_a_landfall_time_gives_a_lead_never_earlier_than_issued() -> None:
    manifest = read_manifest("file,storm,year,lead,landfall\n,Quill,2031,,2031-09-14T20:00Z\n")
    assert manifest.landfalls == {"QUILL-2031": datetime(2031, 9, 14, 20, tzinfo=UTC)}
    result = read_bytes(ADVISORY.encode(), "bare.txt", manifest.hints("bare.txt"),
                        manifest.landfalls)
    # 47 hours before landfall: T-48 had not come to know it.
    assert (result.documents[0].lead, result.documents[0].lead_source) == (36, "landfall")


def test_without_any_lead_the_note_says_what_would_give_one() -> None:
    for text in (ADVISORY, TABLE):
        result = read(text, "bare.txt")
        (note,) = result.notes
        assert note.code == "no-lead" and result.documents[0].lead is None
        assert all(word in note.mend for word in ("_48h", "manifest", "landfall"))
    result = read("It was windy.", "QUILL_2031_Port_of_Savannah,_GA.txt")
    assert codes(result) == ["no-lead"] and "headers" in result.notes[0].mend


def test_a_text_without_header_takes_its_lead_from_its_name_but_a_preamble_does_not() -> None:
    name = "QUILL_2031_Port_of_Savannah,_GA_36h.txt"
    (document,) = read("It was windy.", name).documents
    assert [b.lead for b in blocks_of(document)] == [36]
    assert hints_of_name(name).port == "Port of Savannah, GA"
    (document,) = read(SCENARIO, name).documents
    assert [b.lead for b in blocks_of(document)] == [None, 48, 24]
    assert document.lead_source == "scenario"


# --- bad input ------------------------------------------------------------------------


def test_a_truncated_product_says_where_and_keeps_what_is_there() -> None:
    cut = ADVISORY[: ADVISORY.index("HAZARDS AFFECTING") - 3]
    result = read(cut, "QUILL_2031_48h.txt")
    (note,) = result.notes
    assert (note.code, note.level, note.place) == ("truncated", "problem", "discussion")
    assert {"summary", "watches"} <= {b.section for b in result.blocks[result.documents[0].hash]}
    result = read(TABLE[: TABLE.index("32(39)")], "QUILL_2031_48h.txt")
    assert codes(result) == ["unreadable-part", "unreadable-part"]
    _, error = refusal(ADVISORY[: ADVISORY.index("LOCATION")], "a.txt")
    assert error.place == "summary"


def test_a_header_twice_is_said_and_both_blocks_are_read() -> None:
    result = read(SCENARIO + "\nT-24 hours before expected landfall:\nIt weakens.\n", "a.txt")
    assert [(n.code, n.place) for n in result.notes] == [("repeated-horizon", "T-24")]
    blocks = result.blocks[result.documents[0].hash]
    assert [b.lead for b in blocks] == [None, 48, 24, 24]


def test_a_port_that_no_gazetteer_knows_is_said() -> None:
    documents = read(SCENARIO.replace("Savannah, GA", "Nowhere-upon-Quux"), "a.txt").documents
    (note,) = unknown_ports(documents, default_ports())
    assert note.code == "unknown-port" and "Quux" not in str(note)
    assert unknown_ports(read(SCENARIO, "a.txt").documents, default_ports()) == []


@pytest.mark.parametrize("storm", ["O'Brien/Two", "../../etc/passwd", 'x"; DROP TABLE edges; --'])
def test_a_hostile_storm_name_becomes_a_slug(storm: str) -> None:
    (document,) = read(SCENARIO.replace("Quill\nYear", f"{storm}\nYear"), "a.txt").documents
    assert document.storm and not set(document.storm) & set("'\"/\\.; ")


def test_a_scenario_that_does_not_say_whom_it_is_about_is_refused_with_the_mend() -> None:
    _, error = refusal("T-48:\nIt is strong.\n", "a.txt")
    assert "storm, year, port" in error.problem and "STORM_YEAR_Port" in error.mend


def test_bad_rows_are_refused_alone() -> None:
    rows = [json.dumps(EVENT), "{broken", json.dumps({"senario": {}}), '"text"', "[" * 9000,
            json.dumps({**EVENT, "event_id": "same content, another name"})]
    result = read("\n".join(rows), "events.jsonl")
    (document,) = result.documents
    assert document.names == ("events.jsonl#QUILL_2031_Port_of_Savannah,_GA",
                              "events.jsonl#same content, another name")
    assert [n.place for n in result.notes] == ["line 2", "line 3", "line 4", "line 5"]
    result = read(POSTS, "posts.csv")
    assert [n.place for n in result.notes] == ["line 3"]
    assert len(blocks_of(result.documents[0])) == 3


def _sparse(path: Path, size: int) -> None:
    with path.open("wb") as stream:
        stream.truncate(size)


def test_large_files_and_bombs_are_refused_without_reading_them_whole(tmp_path: Path) -> None:
    _sparse(tmp_path / "a_zeros.txt", 50_000_000)
    with (tmp_path / "b_spaces.txt").open("wb") as stream:
        stream.write(b" " * 1_000_000)
        stream.truncate(50_000_000)
    with gzip.open(tmp_path / "c_bomb.txt.gz", "wb", compresslevel=1) as stream:
        for _ in range(30):
            stream.write(b"It is windy. \n" * 75_000)
    with gzip.open(tmp_path / "d_questions.jsonl.gz", "wb", compresslevel=1) as stream:
        for _ in range(30):
            stream.write(b'{"question": "Where?", "answer": "There."}\n' * 25_000)
    (tmp_path / "e_damaged.gz").write_bytes(gzip.compress(ADVISORY.encode())[:300])
    (tmp_path / "z.txt").write_text(SCENARIO)
    results = list(read_path(tmp_path))
    assert [r.taken_for for r in results] == [
        "oversized file", "oversized file", "oversized file", "questions", "unreadable file",
        "scenario",
    ]
    assert "20 MB" in str(results[2].refused) and results[-1].documents
    assert len(unpack((tmp_path / "c_bomb.txt.gz").read_bytes(), "c")) == MAX_BYTES + 1


def test_a_batch_reads_on_past_every_bad_file(tmp_path: Path) -> None:
    bad: dict[str, bytes] = {
        "a_empty.txt": b"", "b_binary.txt": b"\0\1\2", "c_unknown.txt": b"hello",
        "d_cut.txt": ADVISORY[:200].encode(), "LICENSE": b"MIT", ".hidden": b"\0",
    }
    for name, data in bad.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x.txt").write_text(SCENARIO)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "QUILL_2031_48h.txt").write_text(ADVISORY)
    (tmp_path / "sub" / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "sub" / "gone.txt").symlink_to(tmp_path / "nowhere")
    results = list(read_path(tmp_path))
    assert sum(r.refused is not None for r in results) == 6
    assert [d.names[0] for r in results for d in r.documents] == [
        f"{tmp_path.name}/sub/QUILL_2031_48h.txt"
    ]
    (missing,) = read_path(tmp_path / "nothing.txt")
    assert missing.refused is not None and "no such file" in missing.refused.problem
    (tmp_path / "void").mkdir()
    (empty,) = read_path(tmp_path / "void")
    assert empty.taken_for == "empty folder"
    (single,) = read_path(str(tmp_path / "sub" / "QUILL_2031_48h.txt"))
    assert single.documents[0].lead == 48


# --- merging --------------------------------------------------------------------------


def test_identical_content_is_one_document_with_an_alias() -> None:
    first = read(ADVISORY, "QUILL_2031_48h.txt").documents
    again = read(gzip.compress(ADVISORY.encode()), "copy/QUILL_2031_48h.txt.gz").documents
    made = merge(first, again)
    (document,) = made.documents
    assert document.names == ("QUILL_2031_48h.txt", "copy/QUILL_2031_48h.txt.gz")
    assert (made.added, len(made.aliased), made.updated, made.warnings) == ((), 1, (), ())


def test_a_product_under_two_leads_stands_at_the_nearer_one() -> None:
    near, far = (read(ADVISORY, f"QUILL_2031_{h}h.txt").documents for h in (36, 48))
    for order in ((near, far), (far, near)):
        made = merge((), [*order[0], *order[1]])
        assert [d.lead for d in made.documents] == [36]
        assert [n.code for n in made.warnings] == ["two-leads"]
        assert merge(made.documents, order[1]).warnings == ()


def test_a_manifest_given_later_moves_a_document() -> None:
    known = read(ADVISORY, "QUILL_2031_48h.txt").documents
    manifest = read_manifest("file,storm,year,lead\nQUILL_2031_48h.txt,Wren,2031,60\n")
    moved = read(ADVISORY, "QUILL_2031_48h.txt", manifest.hints("QUILL_2031_48h.txt")).documents
    made = merge(known, moved)
    assert [(d.storm, d.lead) for d in made.updated] == [("WREN", 60)] and made.aliased == ()
    assert merge(made.documents, known).documents == made.documents


def test_a_correction_supersedes_whichever_comes_first() -> None:
    plain = read(ADVISORY, "a_48h.txt").documents
    corrected = read(
        ADVISORY.replace("Number  12", "Number  12...Corrected").replace("85 MPH", "80 MPH"),
        "b_48h.txt",
    ).documents
    assert corrected[0].corrected and corrected[0].product_id == plain[0].product_id
    for made in (merge(plain, corrected), merge(corrected, plain), merge((), corrected + plain)):
        assert made.documents == corrected and made.superseded == plain
        assert [n.code for n in made.warnings] == ["superseded"]
        assert merge(made.documents, plain).documents == corrected


def test_a_numbered_system_joins_its_named_storm_by_its_atcf_number() -> None:
    numbered = read(
        ADVISORY.replace("Hurricane Quill Advisory Number  12",
                         "Tropical Depression Twenty-One Advisory Number   1"), "bare1.txt"
    ).documents
    assert numbered[0].storm == "TWENTY-ONE"
    made = merge(numbered, read(TABLE, "bare2.txt").documents)
    assert {d.storm for d in made.documents} == {"QUILL"} and len(made.updated) == 1


def test_merging_is_idempotent() -> None:
    results = [
        read(ADVISORY, "QUILL_2031_48h.txt"), read(ADVISORY, "QUILL_2031_36h.txt"),
        read(ADVISORY.replace("Number  12", "Number  12...Corrected"), "b_48h.txt"),
        read(TABLE, "t.txt"), read(SCENARIO, "s.txt"), read(POSTS, "p.csv"),
    ]
    documents = [d for r in results for d in r.documents]
    once = merge((), documents)
    twice = merge(once.documents, documents)
    assert twice.documents == once.documents
    assert (twice.added, twice.aliased, twice.updated) == ((), (), ())


def test_every_shared_file_is_read_or_refused_by_what_it_is(shared_data: Path) -> None:
    leads: set[int] = set()
    for folder in ("advisory", "wind"):
        for path in sorted((shared_data / "nhc" / folder).iterdir())[::9]:
            (result,) = read_path(path)
            assert result.refused is None and not result.notes, path.name
            leads.add(result.documents[0].lead or 0)
    assert leads == set(range(12, 121, 12))
    taken = {r.name.rpartition("/")[2]: r.taken_for for r in read_path(shared_data / "cyportqa")}
    assert taken == {
        "CyPortQA_template.json": "question template", "LICENSE": "license",
        "events.jsonl": "events", "ports.csv": "ports table", "questions.jsonl.gz": "questions",
        "uscg_port_conditions.csv": "bulletin",
    }
