"""Prompts as files: parts under headings, a version that is a digest of the text.

A prompt file is Markdown. A line ``# system``, ``# user`` or ``# assistant`` opens a
message of the conversation, in order; ``# note NAME`` opens a text for later turns.
``$name`` stands for a value that :meth:`Prompt.bind` or :meth:`Prompt.messages` puts in;
values are put in as they are, so a ``$`` or a heading inside one means nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from string import Template

from okh.domain import digest

Message = dict[str, str]

_HEADING = re.compile(r"^# (system|user|assistant|note [a-z_]+)[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A conversation's opening, with notes for later turns.

    ``version`` is twelve hex digits over the whole file: any change of the text is
    another version. Values put in are no part of it.
    """

    name: str
    version: str
    turns: tuple[tuple[str, str], ...]
    notes: Mapping[str, str]
    bound: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, name: str, text: str) -> Prompt:
        """A prompt from its text. Raises ``ValueError`` if it opens no message."""
        marks = list(_HEADING.finditer(text))
        ends = [m.start() for m in marks[1:]] + [len(text)]
        parts = [(m[1], text[m.end() : end].strip()) for m, end in zip(marks, ends, strict=True)]
        turns = tuple(part for part in parts if not part[0].startswith("note "))
        if not turns:
            raise ValueError(f"prompt {name} has no line '# system' or '# user'")
        notes = {role.removeprefix("note "): body for role, body in parts if " " in role}
        return cls(name, digest(text)[:12], turns, notes)

    def bind(self, **values: str) -> Prompt:
        """The prompt with some values known already."""
        return replace(self, bound=(*self.bound, *values.items()))

    def messages(self, **values: str) -> list[Message]:
        """The opening messages. Raises ``KeyError`` for a value that is missing."""
        known = {**dict(self.bound), **values}
        return [
            {"role": role, "content": Template(body).substitute(known)}
            for role, body in self.turns
        ]

    def note(self, name: str, **values: str) -> str:
        """A text for a later turn. Raises ``KeyError`` if there is none of that name."""
        return Template(self.notes[name]).substitute({**dict(self.bound), **values})


def load_prompt(package: str, name: str) -> Prompt:
    """The prompt ``prompts/{name}.md`` of a package, e.g. ``("okh.extraction", "extract_v1")``."""
    path = files(package).joinpath("prompts", f"{name}.md")
    return Prompt.parse(name, path.read_text(encoding="utf-8"))


def mark(text: str) -> str:
    """Eight hex digits that fence ``text`` in a prompt.

    They depend on the text itself, so that no document can hold the line that closes
    its own fence; and on nothing else, so that equal texts make equal prompts.
    """
    return digest(text)[:8]
