"""Extraction by a language model: one call for each block, grounded in its text (§3.1, A.2)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from okh.domain import Block, Fact, Mention, digest
from okh.extraction import schema
from okh.extraction.extractor import fold
from okh.extraction.folding import FoldedText
from okh.extraction.repair import NoJson, find_json, salvage_items
from okh.extraction.schema import Draft, SchemaProblem
from okh.llm.dialog import Ask, Notes, Outcome, ReplyRejected, Unusable, converse
from okh.llm.errors import RequestRefused
from okh.llm.prompts import Message, Prompt, load_prompt, mark
from okh.llm.protocol import ChatClient, Reply
from okh.llm.recall import SCOPE, RecallingClient, ReplyStore
from okh.vocabulary import CYCLONE_PORTS, Vocabulary

VERSION = "2"
"""Raise when the same reply would give other facts of a block."""

MAX_PIECES = 12
"""Pieces of a block that are asked about before it is given up."""

_CUT_SHORT = "the reply was cut off, and the block cannot be read in smaller pieces"
_SMALLEST_PIECE = 80
_DOUBTFUL_WORDS = 40
"""A block of so many words without a single fact is asked about once more."""


class ExtractionRejected(ReplyRejected):
    """A block whose replies were never usable, with the last one in ``reply``."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a block that one call reads."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Reading:
    """Facts of one reply; ``cut`` is the reply itself where it was cut off."""

    drafts: list[Draft]
    cut: str | None = None


class OpenAIExtractor:
    """Any model behind a :class:`okh.llm.client.ChatClient`, held to the strict schema.

    Parameters
    ----------
    client
        Makes the calls; its errors pass through.
    vocabulary
        Relations and entity types, listed in the prompt and in the schema.
    workers
        How many blocks may be extracted at once; the client has its own limit.
    max_tokens
        Limit of one reply (default: the client's); a block that needs more is read in pieces.
    observe
        Called with each block and what its extraction took (level, calls, repairs, tokens),
        also for one that is rejected. May be called from several threads.
    replies
        Where the replies of a block are kept until :meth:`forget`, so that a block whose
        reading was cut off by a crash, or rejected, costs nothing the next time.
    """

    name = "openai"

    def __init__(
        self, client: ChatClient, vocabulary: Vocabulary = CYCLONE_PORTS, *,
        workers: int = 8, max_tokens: int | None = None, prompt: Prompt | None = None,
        observe: Callable[[Block, Notes], None] | None = None,
        replies: ReplyStore | None = None,
    ) -> None:
        self.workers = workers
        self._replies, self._observe = replies, observe
        self._client: ChatClient = RecallingClient(client, replies) if replies else client
        self._vocabulary, self._max_tokens = vocabulary, max_tokens
        self._schema = schema.facts_schema(vocabulary)
        self._prompt = (prompt or load_prompt("okh.extraction", "extract_v1")).bind(
            relations=schema.relation_list(vocabulary),
            types=", ".join(schema.entity_types(vocabulary)),
            keys=", ".join(schema.attribute_keys(vocabulary)),
        )

    @cached_property
    def version(self) -> str:
        """``openai-`` and twelve hex digits over client, prompt, schema, vocabulary and rules."""
        return "openai-" + digest(
            self._client.identity, self._prompt.version, json.dumps(self._schema),
            self._vocabulary.version, VERSION, schema.VERSION,
        )[:12]

    def extract(self, block: Block) -> list[Fact]:
        """Facts of one block, in the order of the replies; see :meth:`extract_noted`."""
        return self.extract_noted(block).value

    def request(self, block: Block) -> tuple[list[Message], dict[str, object]]:
        """Messages and schema of a block's first call: for estimates and batches."""
        return self._messages(block, _whole(block)), self._schema

    def forget(self, block: Block) -> None:
        """Drop the replies kept for a block."""
        if self._replies is not None:
            self._replies.drop(block.content_key)

    def extract_noted(self, block: Block) -> Outcome[list[Fact]]:
        """Facts of one block, with what it took to get them.

        A reply that was cut off keeps its complete facts, and the rest of the block is
        asked about apart; a block too long for the model is halved.

        Raises
        ------
        ExtractionRejected
            No reply was usable, two repair turns included.
        okh.llm.errors.LlmError
            The client's errors.
        """
        if not block.text.strip():
            return Outcome([], Notes())
        notes, facts = Notes(), dict[Fact, None]()
        text, pending, asked = FoldedText(block.text), [_whole(block)], 0
        try:
            while pending:
                piece = pending.pop(0)
                asked += 1
                reading, own = self._read(block, piece)
                notes += own
                found = [_grounded(draft, block, text, piece) for draft in reading.drafts]
                if reading.cut is not None:
                    rest = _rest(block.text, piece, found)
                    if not rest or asked + len(rest) > MAX_PIECES:
                        raise ReplyRejected(_what(block), reading.cut, _CUT_SHORT, Notes())
                    pending[:0] = rest
                    found = _before(rest[0].start, piece, found)
                    notes = notes.with_mended("cut off")
                facts |= dict.fromkeys(found)
        except ReplyRejected as rejected:
            notes += rejected.notes
            raise ExtractionRejected(
                _what(block), rejected.reply, rejected.problem, notes
            ) from rejected
        finally:
            if self._observe is not None:
                self._observe(block, notes)
        return Outcome(list(facts), notes)

    def _read(self, block: Block, piece: _Piece) -> tuple[_Reading, Notes]:
        try:
            outcome = converse(
                self._client, self._prompt, self._messages(block, piece), self._ask(block),
                self._reader(block.text[piece.start : piece.end]),
                _what(block),
            )
        except RequestRefused as refused:
            if refused.code != "context_length_exceeded":
                raise
            return _Reading([], cut=""), Notes()
        return outcome.value, outcome.notes

    def _ask(self, block: Block) -> Ask:
        context = {"asset": "extractions", SCOPE: block.content_key}
        if block.storm is not None and block.year is not None:
            context["group"] = f"{block.storm}-{block.year}"
        return Ask("extraction", self._schema, "facts", self._max_tokens, context)

    def _messages(self, block: Block, piece: _Piece) -> list[Message]:
        text = block.text[piece.start : piece.end].strip("\n")
        return self._prompt.messages(about=_about(block), text=text, mark=mark(text))

    def _reader(self, text: str) -> Callable[[Reply], tuple[_Reading, tuple[str, ...]]]:
        doubted = len(text.split()) < _DOUBTFUL_WORDS

        def read(reply: Reply) -> tuple[_Reading, tuple[str, ...]]:
            nonlocal doubted
            if reply.finish_reason == "length":
                if _middle(text, _Piece(0, len(text))) is None:
                    raise Unusable("the reply was cut off: leave the descriptions empty")
                items = salvage_items(reply.text, schema.ENVELOPE)
                return _Reading(schema.leading_drafts(items, self._vocabulary), reply.text), ()
            try:
                found = find_json(reply.text, schema.is_envelope)
                drafts = schema.read_drafts(found.value, self._vocabulary)
            except (NoJson, SchemaProblem) as problem:
                raise Unusable(str(problem)) from problem
            if not drafts and not doubted:
                doubted = True
                raise Unusable("no facts", note="doubt")
            return _Reading(drafts), found.mended

        return read


def _whole(block: Block) -> _Piece:
    return _Piece(0, len(block.text))


def _about(block: Block) -> str:
    """What stands before the text: only what ``Block.content_key`` covers, as one JSON line."""
    told = {
        "kind": block.kind, "section": block.section,
        "storm": f"{block.storm or ''} {block.year or ''}".strip(),
        "issued": block.issued.isoformat() if block.issued else "",
        "location": block.location or "", "context": block.context,
    }
    return json.dumps({k: v for k, v in told.items() if v}, ensure_ascii=False)


def _what(block: Block) -> str:
    return f"extraction of block {block.id}"


# --- what is left when a reply was cut off -----------------------------------------------


def _rest(text: str, piece: _Piece, found: list[Fact]) -> list[_Piece]:
    """Pieces still to be asked about; empty where the piece cannot get smaller.

    Facts come in the order of the text, so what remains begins at the evidence of the
    last complete one, which may have more to tell. Without progress the piece is halved.
    """
    starts = [f.start for f in found if f.end]
    last = max(starts, default=piece.start)
    if starts == sorted(starts) and piece.start < last < piece.end:
        return [_Piece(last, piece.end)]
    middle = _middle(text, piece)
    return [] if middle is None else [_Piece(piece.start, middle), _Piece(middle, piece.end)]


def _before(at: int, piece: _Piece, found: list[Fact]) -> list[Fact]:
    """The facts that need not be asked for again when the next piece begins at ``at``."""
    if at == piece.start:
        return []
    return [fact for fact in found if not fact.end or fact.start < at]


_PARAGRAPH, _SENTENCE, _LINE = (
    re.compile(r"\n\s*\n"), re.compile(r"(?<=[.!?])\s+"), re.compile(r"\n")
)


def _middle(text: str, piece: _Piece) -> int | None:
    """The break nearest to the middle of a piece: of paragraphs, else of sentences or rows.

    Never within a sentence: neither half would state what the whole does, and its facts
    would be lost without a word.
    """
    length = piece.end - piece.start
    if length < _SMALLEST_PIECE:
        return None
    half = piece.start + length // 2
    ends_one = text[: piece.end].rstrip()[-1:] in ".!?"
    prose = ends_one or _SENTENCE.search(text, piece.start, piece.end)
    for pattern in (_PARAGRAPH, _SENTENCE if prose else _LINE):
        found = (m.end() for m in pattern.finditer(text, piece.start, piece.end))
        ends = [end for end in found if piece.start < end < piece.end]
        if ends:
            return min(ends, key=lambda end: (abs(end - half), end))
    return None


# --- from a draft to a fact with its place in the block ---------------------------------


def _grounded(draft: Draft, block: Block, text: FoldedText, piece: _Piece) -> Fact:
    """The fact of a draft. Evidence that is not in the block stays as told, at no place."""
    place = _place(draft.evidence, text, piece)
    start, end = place or (0, 0)
    evidence = block.text[start:end] if place else draft.evidence
    mentions = [_mention(named, place, text, block) for named in draft.entities]
    if block.storm and not any(m.type == "cyclone" for m in mentions):
        mentions.insert(0, Mention(block.storm, "cyclone", origin="linked"))
    return Fact(
        draft.relation, evidence, tuple(dict.fromkeys(mentions)), draft.attributes,
        draft.confidence, start, end,
    )


def _place(evidence: str, text: FoldedText, piece: _Piece) -> tuple[int, int] | None:
    """Where evidence stands: in its piece, else anywhere in the block; quoted or bare."""
    for words in dict.fromkeys((evidence, evidence.strip("“”\""))):
        if place := text.find(words, piece.start, piece.end) or text.find(words):
            return place
    return None


def _mention(
    named: schema.Named, evidence: tuple[int, int] | None, text: FoldedText, block: Block
) -> Mention:
    """A span of the evidence; else ``linked`` where the block's metadata name it.

    What neither knows keeps the origin ``text``: grounding finds it out.
    """
    place = text.find(named.name, *evidence) if evidence else None
    name = " ".join(block.text[slice(*place)].split()) if place else named.name
    known = place is None and _in_metadata(name, block)
    return Mention(
        name, named.type, named.description, named.confidence, "linked" if known else "text"
    )


def _in_metadata(name: str, block: Block) -> bool:
    about = fold(f"{block.storm or ''} | {block.location or ''} | {block.context}")
    return fold(name) in about
