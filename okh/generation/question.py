"""A question as a user writes it -> :class:`okh.domain.Question` (§6 "as of" decision).

Storm, port, year, lead, type and choices are found in the words where the
caller does not give them. What the caller gives wins. Nothing is guessed
silently: what was ambiguous, inferred or overruled is told in the notes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from rapidfuzz import process

from okh.corpus.geo import fold, squeeze
from okh.corpus.places import PortTable, default_ports, split_base
from okh.domain import AnswerType, Group, Question, horizon_label, slug
from okh.extraction.scenario_text import COUNT_WORDS
from okh.generation.wording import asks_whether, split_instruction

MAX_QUESTION = 4000
"""Longest question in characters: more than that is a document."""


@dataclass(frozen=True, slots=True)
class Known:
    """What a home knows, as far as a question can name it.

    ``storms`` maps an upper-case slug to its years, ``ports`` a slug to its names;
    an empty mapping is not checked against.
    """

    storms: Mapping[str, Collection[int]] = field(default_factory=dict)
    ports: Mapping[str, Sequence[str]] = field(default_factory=dict)
    leads: Collection[int] = ()

    @classmethod
    def of(
        cls, groups: Iterable[Group], leads: Iterable[int] = (), table: PortTable | None = None
    ) -> Known:
        """What these groups name; ports with their names and aliases from the table."""
        ports = default_ports() if table is None else table
        storms: dict[str, set[int]] = {}
        names: dict[str, tuple[str, ...]] = {}
        for group in groups:
            storms.setdefault(group.storm, set()).add(group.year)
            port = ports.get(group.port)
            spelled = group.port.replace("-", " ")
            names[group.port] = (port.name, *port.aliases) if port else (spelled,)
        return cls(
            {storm: tuple(sorted(storms[storm])) for storm in sorted(storms)},
            {port: names[port] for port in sorted(names)}, tuple(sorted(set(leads), reverse=True)),
        )


@dataclass(frozen=True, slots=True)
class Understanding:
    """A question with the notes on how it was read."""

    question: Question
    notes: tuple[str, ...]


def understand(
    text: str, *, type: AnswerType | str | None = None, choices: Sequence[str] = (),
    storm: str | None = None, year: int | None = None, port: str | None = None,
    lead: int | None = None, as_of: int | Literal["lead"] | None = "lead",
    known: Known | None = None, table: PortTable | None = None,
) -> Understanding:
    """Read a question.

    Parameters
    ----------
    text
        The question, in one or more lines; may hold choices ``A) … B) …``.
    type, choices, storm, year, port, lead
        What the caller knows; wins over the words. ``port`` is a slug or a name.
    as_of
        ``"lead"`` (default): the question is asked at the lead it names, where it
        names one. A number: asked at that lead. None: hindsight.
    known
        What the home knows.
    table
        Ports to look names up in (default: the shipped ones).

    Raises
    ------
    ValueError
        The question is empty or too long, an argument is unknown, or two
        contradict each other.
    """
    stated = " ".join(text.split())
    if not stated:
        raise ValueError("the question is empty: ask something, e.g. \"Where is the eye of IRMA?\"")
    if len(stated) > MAX_QUESTION:
        raise ValueError(f"the question is longer than {MAX_QUESTION} characters")
    world, ports = known or Known(), table or default_ports()
    notes: list[str] = []
    stem, embedded = _embedded_choices(stated)
    if choices and embedded and tuple(choices) != embedded:
        notes.append("the choices given replace those in the question's text")
    options = tuple(" ".join(c.split()) for c in choices) or embedded
    name, when = _storm_and_year(stem, storm, year, world, notes)
    where = _port(stem, port, world, ports, options, notes)
    horizon = _lead(stem, lead, world, notes)
    question = Question(
        text=stem, type=_type(stem, _answer_type(type), options), choices=options,
        storm=name, year=when, port=where, lead=horizon,
        as_of=horizon if as_of == "lead" else as_of,
    )
    return Understanding(question, tuple(notes))


# --- type and choices -----------------------------------------------------------------

_MARK = re.compile(r"(?:(?<=\s)|^)\(?([A-Ha-h])(?:[).:]|\s-)\s+")
_COUNTED = (
    r"\bhow (?:many|much|far|fast|long|soon|high|deep|strong|wide|likely|often|big|large|low)\b"
    r"|\bwhat\b|\bwhich\b|\bwhen\b|\bwhere\b|\bwho\b"
)
_TOLD = (
    r"\bdescribe\b|\bexplain\b|\bsummari[sz]e\b|\bwhy\b|\btell me\b|\boutline\b"
    r"|\bhow (?:does|do|did|will|is|are|has|have)\b"
)
_CHOICES_HEADING = re.compile(r"[\s(:;-]*(?:choices|options)?[\s:;-]*$", re.IGNORECASE)


def _embedded_choices(text: str) -> tuple[str, tuple[str, ...]]:
    """The question and the choices written behind it as ``A) … B) …``, in order from A."""
    marks = list(_MARK.finditer(text))
    for first, mark in enumerate(marks):
        if mark[1].upper() != "A" or not text[: mark.start()].strip():
            continue
        run = [mark]
        for later in marks[first + 1 :]:
            if ord(later[1]) == ord(run[-1][1]) + 1:
                run.append(later)
        if len(run) < 2:
            continue
        ends = [m.start() for m in run[1:]] + [len(text)]
        found = tuple(
            text[m.end() : end].strip(" ;,") for m, end in zip(run, ends, strict=True)
        )
        if all(found):
            return _CHOICES_HEADING.sub("", text[: run[0].start()]), found
    return text, ()


def _answer_type(given: AnswerType | str | None) -> AnswerType | None:
    if given is None or isinstance(given, AnswerType):
        return given
    try:
        return AnswerType(given.strip().upper())
    except ValueError:
        raise ValueError(
            f"{given!r} is no question type: use TF, MC, SA or TD"
        ) from None


def _type(text: str, given: AnswerType | None, choices: tuple[str, ...]) -> AnswerType:
    yes_no = {c.strip(" .").casefold() for c in choices} == {"yes", "no"}
    if given is AnswerType.MC and not choices:
        raise ValueError("a multiple-choice question needs choices: give them, or use another type")
    if given is not None and given is not AnswerType.MC and choices and not (
        given is AnswerType.TF and yes_no
    ):
        raise ValueError(f"choices contradict the type {given.value}: leave them out, or use MC")
    if len(choices) == 1:
        raise ValueError("one choice is no choice: give two or more")
    if given is not None:
        return given
    if choices:
        return AnswerType.MC
    stem, form = split_instruction(text)
    told = re.search(r"\byes\b.{0,12}\bno\b|\btrue\b.{0,12}\bfalse\b", form, re.I)
    if told or asks_whether(stem):
        return AnswerType.TF
    if re.search(_TOLD, stem, re.I):
        return AnswerType.TD
    return AnswerType.SA if re.search(_COUNTED, stem, re.I) else AnswerType.TD


# --- storm and year -------------------------------------------------------------------

_TITLE = r"\b(?:hurricane|storm|cyclone|depression|typhoon)\s+$"
_YEAR = re.compile(r"(?<![\d/.-])((?:19|20)\d\d)(?![\d/.-]|\s*(?:mb|ft|feet|mi|vessels?)\b)")
_WORDS = frozenset({*(w.upper() for w in COUNT_WORDS), "ELEVEN", "TWELVE", "THIRTEEN", "FOURTEEN",
                    "FIFTEEN", "SIXTEEN", "SEVENTEEN", "EIGHTEEN", "NINETEEN", "TWENTY"})
"""Names of numbered depressions: a storm only behind a word like "depression"."""


def _storms_named(text: str, known: Mapping[str, Collection[int]]) -> list[str]:
    cased = any(c.islower() for c in text) and any(c.isupper() for c in text)
    found = []
    for name in known:
        pattern = r"[\s-]+".join(re.escape(part) for part in name.split("-"))
        for match in re.finditer(rf"(?<![\w-]){pattern}(?!\w)", text, re.IGNORECASE):
            titled = re.search(_TITLE, text[: match.start()], re.IGNORECASE)
            number = name in _WORDS
            if titled or (not number and (match[0][0].isupper() or not cased)):
                found.append(name)
                break
    return found


def _storm_and_year(
    text: str, storm: str | None, year: int | None, known: Known, notes: list[str]
) -> tuple[str | None, int | None]:
    named = _storms_named(text, known.storms)
    if storm is not None:
        name = slug(storm).upper()
        if not name:
            raise ValueError(f"{storm!r} is no storm name")
        if known.storms and name not in known.storms:
            raise ValueError(f"no storm {name} is known{_similar(name, known.storms)}")
        if named and name not in named:
            notes.append(f"the question names {', '.join(named)}; {name} was given and counts")
    elif len(named) == 1:
        name = named[0]
    else:
        if named:
            notes.append(f"the question names several storms ({', '.join(named)}): none was chosen")
        return None, _year(text, year, None, known, notes)
    return name, _year(text, year, name, known, notes)


def _year(
    text: str, year: int | None, storm: str | None, known: Known, notes: list[str]
) -> int | None:
    seasons = sorted(known.storms.get(storm, ())) if storm else []
    if year is not None:
        if seasons and year not in seasons:
            raise ValueError(
                f"{storm} is not known in {year}, but in {', '.join(map(str, seasons))}"
            )
        return year
    stated = list(dict.fromkeys(int(m[1]) for m in _YEAR.finditer(text)))
    fitting = [y for y in stated if y in seasons] if seasons else stated
    if len(fitting) == 1:
        return fitting[0]
    if stated and seasons:
        notes.append(f"{storm} is not known in {', '.join(map(str, stated))}")
        return stated[0] if len(stated) == 1 else None
    if len(seasons) == 1:
        notes.append(f"{storm} is taken for that of {seasons[0]}, the only one known")
        return seasons[0]
    if len(seasons) > 1:
        notes.append(f"{storm} is known in {', '.join(map(str, seasons))}: say which year")
    elif len(stated) > 1:
        notes.append(f"several years are named ({', '.join(map(str, stated))}): none was chosen")
    return None


def _similar(name: str, known: Iterable[str]) -> str:
    near = process.extract(name, list(known), limit=3, score_cutoff=60)
    return f"; did you mean {', '.join(str(n[0]) for n in near)}?" if near else ""


# --- port -----------------------------------------------------------------------------

_NAME = r"[A-Z][\w.'’&/-]*"
_PORT_PHRASE = re.compile(
    rf"\b(?:Sea)?Port\s+(?:of\s+)?{_NAME}(?:\s+{_NAME}){{0,4}}(?:,\s*[A-Z]{{2}}\b)?"
    rf"|\b{_NAME}(?:\s+{_NAME}){{0,4}},\s*[A-Z]{{2}}\b|\b{_NAME}(?:\s+{_NAME}){{0,4}}"
)


def _port(
    text: str, given: str | None, known: Known, table: PortTable, choices: tuple[str, ...],
    notes: list[str],
) -> str | None:
    named = _ports_named(text, known.ports, table)
    if given is not None:
        chosen = _given_port(given, known, table)
        if named and chosen not in {p for found in named for p in found}:
            notes.append(f"the question names another port; {chosen} was given and counts")
        return chosen
    certain = list(dict.fromkeys(found[0] for found in named if len(found) == 1))
    for found in named:
        if len(found) > 1 and not certain:
            notes.append(f"the port could be {' or '.join(found)}: say which")
            return None
    if len(certain) == 1:
        return certain[0]
    if certain:
        notes.append(f"the question names several ports ({', '.join(certain)}): none was chosen")
    elif len(known.ports) == 1 and not choices:
        only = next(iter(known.ports))
        notes.append(f"no port is named: {only}, the only one known, was taken")
        return only
    return None


def _given_port(given: str, known: Known, table: PortTable) -> str:
    if given in known.ports or (not known.ports and table.get(given)):
        return given
    by_name = [p for p, names in known.ports.items() if squeeze(given) in map(squeeze, names)]
    several = by_name or [p.slug for p in table.candidates(given)]
    several = sorted(p for p in several if not known.ports or p in known.ports)
    if len(several) > 1:
        raise ValueError(f"the port {given!r} could be {' or '.join(several)}: say which")
    resolved = table.resolve(given)
    chosen = several[0] if several else resolved.slug if resolved else slug(given)
    if not chosen or (known.ports and chosen not in known.ports):
        raise ValueError(f"no port {given!r} is known{_similar(slug(given), known.ports)}")
    return chosen


def _ports_named(
    text: str, known: Mapping[str, Sequence[str]], table: PortTable
) -> list[tuple[str, ...]]:
    """Ports that the text names: one entry for each place, all it could mean in it."""
    plain = fold(text)
    spans: list[tuple[int, int, str]] = []
    for port, names in known.items():
        shorter = (short for n in names for short in (split_base(n)[0], n.partition(",")[0]))
        for name in dict.fromkeys((*names, *shorter)):
            spans += [(a, b, port) for a, b in _occurrences(plain, fold(name))]
    for phrase in _PORT_PHRASE.finditer(plain):
        spans += [
            (start, phrase.end(), slug_) for start, slug_ in _tail_ports(phrase, table)
            if not known or slug_ in known
        ]
    spans.sort(key=lambda s: (-(s[1] - s[0]), s[0], s[2]))
    taken: list[tuple[int, int, dict[str, None]]] = []
    for start, end, port in spans:
        inside = next((t for t in taken if t[0] < end and start < t[1]), None)
        if inside is None:
            taken.append((start, end, {port: None}))
        elif (inside[0], inside[1]) == (start, end):
            inside[2][port] = None
    return [tuple(ports) for _, _, ports in sorted(taken, key=lambda t: t[0])]


def _tail_ports(phrase: re.Match[str], table: PortTable) -> list[tuple[int, str]]:
    """Start and port of the longest end of a phrase that names one ("Is PortMiami")."""
    for word in re.finditer(r"\S+", phrase[0]):
        if found := table.candidates(phrase[0][word.start() :]):
            return [(phrase.start() + word.start(), port.slug) for port in found]
    return []


def _occurrences(text: str, name: str) -> list[tuple[int, int]]:
    """Where a name stands as words of its own and is written like a name."""
    if len(name) < 3:
        return []
    pattern = r"\W+".join(re.escape(word) for word in re.findall(r"\w+", name))
    found = re.finditer(rf"(?<!\w){pattern}(?!\w)", text, re.IGNORECASE) if pattern else ()
    lower = text == text.lower()
    return [
        (m.start(), m.end()) for m in found
        if lower or m[0][0].isupper() or " " in name
        or text[: m.start()].lower().endswith("port of ")
    ]


# --- lead -----------------------------------------------------------------------------

_T_MINUS = re.compile(
    r"(?<!\w)T\s?(?P<sign>[-−–+])\s?(?P<n>\d{1,3})(?:\s*h(?:ours?)?)?\b", re.IGNORECASE
)
_BEFORE = re.compile(
    r"\b(?P<n>\d{1,3})[\s-]*(?:hours?|hrs?|h)\s+"
    r"(?P<side>before|prior\s+to|ahead\s+of|until|after|past)\s+"
    r"(?:the\s+)?(?:expected\s+|forecast\s+|projected\s+|actual\s+)?landfall", re.IGNORECASE,
)


def _lead(text: str, given: int | None, known: Known, notes: list[str]) -> int | None:
    stated: dict[int, None] = {}
    for match in _T_MINUS.finditer(text):
        stated[int(match["n"]) * (-1 if match["sign"] == "+" else 1)] = None
    for match in _BEFORE.finditer(text):
        later = match["side"].lower() in ("after", "past")
        stated[int(match["n"]) * (-1 if later else 1)] = None
    leads = list(stated)
    if given is not None:
        if leads and given not in leads:
            notes.append(
                f"the question names {_labels(leads)}; {horizon_label(given)} was given and counts"
            )
        chosen = given
    elif not leads:
        return None
    else:
        chosen = min(leads)
        if len(leads) > 1:
            notes.append(
                f"several horizons are named ({_labels(leads)}): "
                f"the latest, {horizon_label(chosen)}, is when the question is asked"
            )
    if known.leads and chosen not in known.leads:
        notes.append(f"no document stands at {horizon_label(chosen)}: earlier ones are used")
    return chosen


def _labels(leads: Iterable[int]) -> str:
    return ", ".join(horizon_label(lead) for lead in leads)
