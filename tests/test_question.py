"""Reading a question: names, horizons, types, choices, ambiguity and contradictions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from okh.domain import AnswerType, Group
from okh.generation.question import MAX_QUESTION, Known, understand
from okh.generation.target import target

KNOWN = Known.of(
    [
        Group("ODESSA", 2031, "savannah-ga"), Group("ODESSA", 2035, "savannah-ga"),
        Group("BRAM", 2033, "wilmington-nc"), Group("BRAM", 2033, "wilmington-de"),
        Group("TEN", 2034, "portmiami-fl"), Group("ROSE-LEE", 2034, "mobile-al"),
    ],
    leads=(72, 48, 24),
)
TF, MC, SA, TD = AnswerType.TF, AnswerType.MC, AnswerType.SA, AnswerType.TD


@pytest.mark.parametrize(
    ("text", "storm", "year", "port", "lead"),
    [
        ("Where is Odessa in 2031 at T-48?", "ODESSA", 2031, None, 48),
        ("Is PortMiami in the cone 24 hours before landfall?", None, None, "portmiami-fl", 24),
        ("is wilmington, nc under a warning from bram?", "BRAM", 2033, "wilmington-nc", None),
        ("What was the damage at T+24 for Odessa, 2035?", "ODESSA", 2035, None, -24),
        ("Will Hurricane Bram reach the Port of Mobile?", "BRAM", 2033, "mobile-al", None),
        ("How strong is Tropical Depression Ten near Miami?", "TEN", 2034, "portmiami-fl", None),
        ("In ten hours, what happens?", None, None, None, None),
        ("What does Rose-Lee bring to Mobile T – 72 h?", "ROSE-LEE", 2034, "mobile-al", 72),
    ],
)
def test_names_are_found(
    text: str, storm: str | None, year: int | None, port: str | None, lead: int | None
) -> None:
    question = understand(text, known=KNOWN).question
    assert (question.storm, question.year, question.port) == (storm, year, port)
    assert question.lead == question.as_of == lead


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Is Odessa a hurricane?", TF), ("At T-48, will the port close?", TF),
        ("How many hours until landfall?", SA), ("Where is the eye?", SA),
        ("What is the pressure?", SA), ("Describe the hazards.", TD),
        ("How did the winds change?", TD), ("surge outlook Savannah", TD),
        ("Which port condition? A) Whiskey B) Zulu", MC),
        ("The port is inside the cone. Answer Yes or No.", TF),
    ],
)
def test_types_are_told_apart(text: str, kind: AnswerType) -> None:
    assert understand(text, known=KNOWN).question.type is kind


@pytest.mark.parametrize(
    ("text", "stem", "choices"),
    [
        ("Which condition? A) Whiskey B) X-Ray C) Zulu", "Which condition?",
         ("Whiskey", "X-Ray", "Zulu")),
        ("Which condition? Choices: (a) Whiskey (b) Zulu", "Which condition?",
         ("Whiskey", "Zulu")),
        ("When?\nA. 0-12 hours\nB. 12-24 hours", "When?", ("0-12 hours", "12-24 hours")),
        ("Is plan A) good?", "Is plan A) good?", ()),
    ],
)
def test_choices_in_the_text(text: str, stem: str, choices: tuple[str, ...]) -> None:
    question = understand(text).question
    assert (question.text, question.choices) == (stem, choices)


def test_ambiguity_is_told_and_not_guessed() -> None:
    found = understand("What does Bram do at Wilmington?", known=KNOWN)
    assert found.question.port is None and found.question.storm == "BRAM"
    assert any("wilmington-de or wilmington-nc" in note for note in found.notes)
    found = understand("Where is Odessa?", known=KNOWN)
    assert found.question.year is None
    assert any("2031, 2035" in note for note in found.notes)
    found = understand("Is Odessa or Bram stronger?", known=KNOWN)
    assert found.question.storm is None and "several storms" in found.notes[0]
    found = understand("How did Bram change from T-72 to T-48?", known=KNOWN)
    assert found.question.as_of == 48 and any("T-72, T-48" in n for n in found.notes)
    found = understand("Which is closer to Bram, PortMiami, FL or Mobile, AL?", known=KNOWN)
    assert found.question.port is None and any("several ports" in n for n in found.notes)


def test_what_is_inferred_is_told() -> None:
    found = understand("Where is Bram?", known=KNOWN)
    assert found.question.year == 2033 and "only one known" in found.notes[0]
    single = Known.of([Group("ODESSA", 2031, "savannah-ga")])
    found = understand("Where is the eye?", known=single)
    assert found.question.port == "savannah-ga" and found.notes
    found = understand("Where is Bram at T-60?", known=KNOWN)
    assert any("T-60" in note for note in found.notes)


def test_the_caller_wins_and_is_told_so() -> None:
    found = understand(
        "Where is Odessa at T-48 near Mobile, AL?", storm="bram", port="PortMiami", lead=24,
        known=KNOWN,
    )
    question = found.question
    assert (question.storm, question.year, question.port) == ("BRAM", 2033, "portmiami-fl")
    assert (question.lead, question.as_of) == (24, 24)
    assert len(found.notes) >= 3


def test_as_of_and_hindsight() -> None:
    assert understand("Where is it at T-48?", as_of=None).question.as_of is None
    assert understand("Where is it at T-48?", as_of=None).question.lead == 48
    assert understand("Where is it at T-48?", as_of=72).question.as_of == 72
    assert understand("Where is it?").question.as_of is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"storm": "BRAN"}, "did you mean BRAM"),
        ({"storm": "BRAM", "year": 2031}, "not known in 2031"),
        ({"storm": "//"}, "no storm name"),
        ({"port": "Atlantis"}, "no port 'Atlantis'"),
        ({"port": "Wilmington"}, "wilmington-de or wilmington-nc"),
        ({"type": "MC"}, "needs choices"),
        ({"type": "SA", "choices": ("a", "b")}, "contradict"),
        ({"choices": ("only",)}, "two or more"),
        ({"type": "essay"}, "use TF, MC, SA or TD"),
    ],
)
def test_contradictions_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        understand("What happens?", known=KNOWN, **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "  \n\t ", "x" * (MAX_QUESTION + 1)])
def test_empty_and_endless_questions_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"question is (?:empty|longer)"):
        understand(text)


@given(st.text(min_size=1, max_size=120))
def test_any_text_is_read_the_same_way_twice(text: str) -> None:
    if not text.split():
        return
    first = understand(text, known=KNOWN)
    assert first == understand(text, known=KNOWN)
    assert first.question.text and target(first.question) == target(first.question)


@pytest.mark.parametrize(
    "text",
    ["Odessa'; DROP TABLE edges; --",
     'Is "Odessa" near ../../etc/passwd?', "Où est l’œil d’Odessa ?",
     "\u202eOdessa\u202c?", "Odessa 🌀 [a-z]+(", "Where is O'Brien/Odessa?"],
)
def test_hostile_text_is_only_text(text: str) -> None:
    found = understand(text, known=KNOWN)
    assert found.question.storm == "ODESSA" and found.question.port is None


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("What is the highest surge expected at the port?", "storm surge"),
        ("When did the port condition become effective?", "condition time"),
        ("What must vessels do now?", "vessel guidance"),
        ("Which hazard comes first?", "first hazard"),
        ("How long will the port be affected?", "strike duration"),
        ("When is the storm closest to the port?", "closest approach"),
        ("How long until freight recovers?", "recovery"),
        ("Which stretch of coast is under a hurricane watch?", "watch extent"),
        ("How far out do the tropical-storm-force winds extend?", "wind radii"),
        ("When will the next advisory be issued?", "next advisory"),
        ("What time is the 34 kt wind probability highest?", "peak time"),
        ("Which way is the storm headed?", "direction"),
    ],
)
def test_topics_are_found_in_many_words(text: str, topic: str) -> None:
    assert target(understand(text).question).topics[0] == topic


def test_a_question_without_known_words_has_no_topic() -> None:
    assert target(understand("Who wrote the novel?").question).relations == {}
