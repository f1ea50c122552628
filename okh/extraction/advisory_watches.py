"""Watches and warnings: what is in effect for which coast, and what this advisory changed.

One fact for each (advisory type, coast segment). The definitions that follow the
lists ("a warning means …") state nothing about a storm and are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from okh.domain import Attribute, Block, Fact
from okh.extraction.advisory_text import (
    Piece,
    fact,
    first_timing,
    paragraphs,
    piece,
    place,
    sentences,
    squeeze,
    time_attributes,
)

_TYPE = r"(?:hurricane[- ]force wind|hurricane|tropical[- ]storm|storm surge)"
_ADVISORY = re.compile(
    rf"(?P<type>{_TYPE}|all|the)\s+(?P<level>watch(?:es)?|warnings?)\b(?!\s+area)", re.IGNORECASE)
_IN_EFFECT = re.compile(
    rf"^an?\s+(?P<name>{_TYPE}\s+(?:watch|warning))\s+is(?:\s+(?:now|also|still))?\s+in\s+effect"
    r"\s*(?P<rest>.*)$",
    re.IGNORECASE | re.DOTALL,
)
_BULLET = re.compile(r"^[ \t]*[*•-][ \t]*(?=\S)", re.MULTILINE)
_NONE_IN_EFFECT = re.compile(
    r"there\s+are\s+(?:currently\s+)?no\s+(?:\w+\s+){0,4}?"
    r"(?P<what>watch(?:es)?(?:\s+(?:or|and|nor)\s+warnings?)?|warnings?)\b.*?in\s+effect",
    re.IGNORECASE | re.DOTALL,
)
_NO_CHANGE = re.compile(r"^changes\s+with\s+this\s+advisory\s*(?::|\.{3})?\s*none\.?\s*$",
                        re.IGNORECASE)
_CHANGES_HEADING = re.compile(r"^changes\s+with\s+this\s+advisory\s*(?::|\.{3})?\s*", re.IGNORECASE)
_OUTLOOK = re.compile(
    r"\b(?:watch(?:es)?|warnings?)\b[^.]*\b(?:could|may|might|will)\b[^.]*"
    r"\b(?:required|issued|needed|discontinued)\b"
    r"|\badditional\b[^.]*\b(?:watch(?:es)?|warnings?)\b[^.]*\b(?:likely|possible)\b",
    re.IGNORECASE,
)
_INTERESTS = re.compile(
    r"\binterests\s+(?P<area>.+?)\s+should\s+(?:also\s+|continue\s+to\s+|closely\s+)?"
    r"(?:be\s+)?monitor(?:ing)?\b", re.IGNORECASE)
_MEANS = re.compile(rf"^an?\s+{_TYPE}\s+(?:watch|warning)\s+means\b", re.IGNORECASE)

_VERBS: tuple[tuple[str, str], ...] = (
    ("discontinued", r"discontinued|cancell?ed|dropped|lifted"),
    ("upgraded", r"upgraded"),
    ("replaced", r"replaced"),
    ("downgraded", r"downgraded"),
    ("changed", r"changed"),
    ("extended", r"extended|expanded"),
    ("issued", r"issued|(?:now |also )?in effect"),
)
_VERB = re.compile(
    r"(?:\b(?:has|have)(?: also| now)?(?: been)? |\b(?:is|are|was|were) )?\b(?:"
    + "|".join(f"(?P<{action}>{words})" for action, words in _VERBS) + r")\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"(?:,\s*|\s+)and\s+(?=(?:has\s+|have\s+)?(?:also\s+)?"
    r"(?:discontinued|issued|upgraded|changed|extended|replaced)\b)", re.IGNORECASE)
_TWO_STATES = ("upgraded", "replaced", "changed", "downgraded")
_JOIN = re.compile(r"^(?:[\s,]*(?:and|or|to|with|for|an?|the|by)\b)*[\s,]*$", re.IGNORECASE)
_TO_NEW = re.compile(r"[\s,]*\b(?:to|with|by)\s+(?:an?|the)?\s*$", re.IGNORECASE)
_NEXT_TYPE = re.compile(r"[\s,]*\band\s+(?:an?|the)\s*$|[\s,]*\band\s*$", re.IGNORECASE)


def _proper(name: str) -> str:
    """``TROPICAL STORM WATCHES -> Tropical Storm Watch``."""
    words = squeeze(name).replace("-", " ").title()
    return re.sub(r"Watches$", "Watch", re.sub(r"Warnings$", "Warning", words))


_BY_WORD = (("watch", "has_watch_status"), ("warning", "has_warning_status"))


def _relation(name: str) -> str:
    return "has_watch_status" if name.endswith("Watch") else "has_warning_status"


# --- in effect -----------------------------------------------------------------


def watches(block: Block) -> list[Fact]:
    """What is in effect, an explicit nothing, and the outlook for further watches."""
    facts: list[Fact] = []
    for paragraph in paragraphs(block.text):
        listed = _IN_EFFECT.match(block.text[paragraph.start : paragraph.end])
        if listed is not None:
            facts += _in_effect(block, paragraph, listed)
        elif not _MEANS.match(paragraph.text):
            facts += _statements(block, paragraph)
    return facts


def _in_effect(block: Block, paragraph: Piece, listed: re.Match[str]) -> Iterator[Fact]:
    """Bullets of a list, each with evidence from the list's head to the bullet's end.

    The evidence keeps the head because a bullet alone does not say what is in effect.
    """
    name = _proper(listed["name"])
    text, base = block.text, paragraph.start + listed.start("rest")
    bullets = list(_BULLET.finditer(text, base, paragraph.end))
    if not bullets:
        first = sentences(text, paragraph)[0]
        segment = place(squeeze(text[base : first.end]))
        if segment:
            yield _status(block, first, name, listed["name"], segment)
        return
    stops = [*(b.start() for b in bullets[1:]), paragraph.end]
    for bullet, stop in zip(bullets, stops, strict=True):
        where = piece(text, paragraph.start, stop)
        segment = squeeze(text[bullet.end() : where.end]).rstrip(" .;")
        yield _status(block, where, name, listed["name"], segment)


def _status(block: Block, where: Piece, name: str, words: str, segment: str) -> Fact:
    return fact(
        block, where, _relation(name), ((words, "advisory_status"), (segment, "coast_segment")),
        (Attribute("advisory", name), Attribute("segment", segment)),
    )


def _statements(block: Block, paragraph: Piece) -> Iterator[Fact]:
    """Explicit absence, regions asked to watch the storm, and watches that may follow."""
    for where in sentences(block.text, paragraph):
        none = _NONE_IN_EFFECT.search(where.text)
        if none:
            what = none["what"].lower()
            for word, relation in _BY_WORD:
                if word in what:
                    yield fact(block, where, relation, ((none["what"], "advisory_status"),),
                               (Attribute("advisory", "None"),))
            continue
        interests = _INTERESTS.search(where.text)
        if interests:
            area = place(interests["area"])
            yield fact(block, where, "has_advisory_statement", ((area, "area"),),
                       (Attribute("area", area), Attribute("text", where.text)))
        elif _OUTLOOK.search(where.text):
            timing = first_timing(where.text)
            date = time_attributes(timing[0] if timing else None, block)
            yield fact(
                block, where, "has_advisory_statement", ((where.text, "advisory_status"),),
                (Attribute("text", where.text), *(a for a in date if a.key == "date")),
            )


# --- changes -------------------------------------------------------------------


def watch_changes(block: Block) -> list[Fact]:
    """Changes with this advisory, one fact for each (advisory type, segment, action)."""
    if _NO_CHANGE.match(block.text):
        where = piece(block.text, 0, len(block.text))
        return [fact(block, where, "has_advisory_change", (("None", "advisory_status"),),
                     (Attribute("advisory", "None"), Attribute("action", "none")))]
    facts: list[Fact] = []
    heading = _CHANGES_HEADING.match(block.text)
    for paragraph in paragraphs(block.text):
        start = max(paragraph.start, heading.end() if heading else 0)
        if start < paragraph.end:
            for where in sentences(block.text, piece(block.text, start, paragraph.end)):
                facts += _changes(block, where)
    return facts


def _changes(block: Block, where: Piece) -> Iterator[Fact]:
    seen: tuple[str, ...] = ()
    for clause in _CLAUSE.split(where.text):
        advisories = list(_ADVISORY.finditer(clause))
        verb = _VERB.search(clause)
        if not advisories or verb is None:
            continue
        action = next(a for a, _ in _VERBS if verb[a])
        if action in _TWO_STATES and len(advisories) >= 2:
            pairs = [_two_states(clause, verb, advisories)]
        else:
            pairs = list(_segments(clause, verb, advisories))
        for name, words, segment, before in pairs:
            if name.startswith(("The ", "All ")):
                name = _generic(name, seen)
            seen = (*seen, name)
            mentions = [(words, "advisory_status")]
            if segment:
                mentions.append((segment, "coast_segment"))
            yield fact(
                block, where, "has_advisory_change", tuple(mentions),
                (Attribute("advisory", name), Attribute("segment", segment),
                 Attribute("action", action), Attribute("from", before)),
            )


def _generic(name: str, seen: tuple[str, ...]) -> str:
    """``the warning`` means the one named before it; ``all warnings`` names none."""
    level = name.split()[-1]
    if name.startswith("The "):
        return next((s for s in reversed(seen) if s.endswith(level)), level)
    return f"All {level}s" if level == "Warning" else "All Watches"


def _name(match: re.Match[str]) -> str:
    return _proper(match[0])


def _segments(
    clause: str, verb: re.Match[str], advisories: list[re.Match[str]],
) -> Iterator[tuple[str, str, str, str]]:
    """(name, words, segment, "") for each advisory of a clause with one state.

    A segment follows its advisory; advisories joined by "and" share the one
    behind the last; where none follows, what stands behind the verb serves all.
    """
    tails: list[str] = []
    for match, after in zip(advisories, [*advisories[1:], None], strict=True):
        tail = clause[match.end() : after.start() if after else len(clause)]
        if match.end() <= verb.start() < match.end() + len(tail):
            end = match.end() + len(tail)
            tail = f"{clause[match.end() : verb.start()]} {clause[verb.end() : end]}"
        tails.append("" if _JOIN.match(tail) else _NEXT_TYPE.sub("", tail))
    for index in range(len(tails) - 2, -1, -1):
        tails[index] = tails[index] or tails[index + 1]
    for match, tail in zip(advisories, tails, strict=True):
        yield _name(match), match[0], place(squeeze(tail)), ""


def _two_states(
    clause: str, verb: re.Match[str], advisories: list[re.Match[str]],
) -> tuple[str, str, str, str]:
    """(new name, words, segment, old name) of "the watch for X has been changed to a warning"."""
    old, new = advisories[0], advisories[1]
    between = clause[old.end() : new.start()]
    if old.end() <= verb.start() < new.start():
        between = clause[old.end() : verb.start()]
    else:
        between = _TO_NEW.sub("", between)
    segment = "" if _JOIN.match(between) else between
    segment = segment or clause[new.end() :]
    return _name(new), new[0], place(squeeze(segment)), _name(old)


def segment_texts(block: Block) -> tuple[str, ...]:
    """Coast segments that a block puts under a watch or warning, as printed, each once.

    Segments of a discontinued watch or warning are left out. Input of
    :func:`okh.corpus.groups.group_views`.
    """
    if block.kind != "advisory" or block.section not in ("watches", "watch changes"):
        return ()
    facts = watches(block) if block.section == "watches" else watch_changes(block)
    found = (f.attribute("segment") for f in facts if f.attribute("action") != "discontinued")
    return tuple(dict.fromkeys(s for s in found if s))
