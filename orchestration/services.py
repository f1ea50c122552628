"""The settings of this machine turned into extractor, embedder, reader and client.

The one place that knows which of the two settings of the README's table runs.
Nothing that a key needs is imported before ``openai`` is asked for.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from assets.embedding import EmbedderSource
from okh.domain import DocumentKind, OkhError
from okh.embedding import Embedder
from okh.extraction.extractor import Extractor
from okh.extraction.mixed import MixedExtractor
from okh.extraction.rules import RulesExtractor
from okh.generation.reader import ExtractiveReader, Mode, Reader
from orchestration.settings import Settings
from storage.home import Home

if TYPE_CHECKING:
    from okh.llm.client import Client
    from okh.llm.prices import Prices
    from okh.llm.settings import LlmSettings


class Services:
    """Makes what the settings ask for; closes what it opened."""

    def __init__(self, settings: Settings, home: Home, budget: float | None = None) -> None:
        self._settings, self._home, self._budget = settings, home, budget
        self._open = ExitStack()
        self._client: Client | None = None

    def __enter__(self) -> Services:
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def extractor(self) -> Extractor:
        """``rules``, or a language model with the rules for the kinds that they read exactly."""
        if self._settings.extractor == "rules":
            return RulesExtractor()
        from okh.extraction.openai_extractor import OpenAIExtractor
        from storage.replies import Replies

        model = OpenAIExtractor(
            self.client(), workers=self.llm_settings().max_concurrency, replies=Replies(self._home)
        )
        kinds = [kind for kind in get_args(DocumentKind) if kind in self._settings.rules_for]
        return MixedExtractor(model, RulesExtractor(), kinds) if kinds else model

    def embedder_source(self) -> EmbedderSource:
        """``lsa`` is fitted on the corpus; the others are made when they are needed."""
        kind = self._settings.embedder
        if kind == "lsa":
            return EmbedderSource()
        return EmbedderSource(kind, self._minilm if kind == "minilm" else self._openai_embedder)

    def _minilm(self) -> Embedder:
        from okh.embedding import MiniLmEmbedder

        return MiniLmEmbedder()

    def _openai_embedder(self) -> Embedder:
        from okh.embedding.openai import OpenAIEmbedder
        from storage.text_vectors import TextVectors

        return OpenAIEmbedder(self.client(), cache=TextVectors(self._home))

    def reader(self) -> Reader:
        """``extractive``, or a language model."""
        mode: Mode = "vote" if self._settings.reader_mode == "vote" else "joint"
        if self._settings.reader == "extractive":
            return ExtractiveReader(mode)
        from okh.generation.openai_reader import OpenAIReader

        return OpenAIReader(self.client(), mode=mode)

    def client(self) -> Client:
        """One client, with the home's ledger."""
        if self._client is None:
            from okh.llm.client import Client
            from storage.ledger import CallLedger

            ledger = CallLedger(self._home)
            client = Client(self.llm_settings(), ledger, self._budget, prices=self.prices())
            self._client = self._open.enter_context(client)
        return self._client

    def llm_settings(self) -> LlmSettings:
        """Endpoint, models and limits. Raises ``OkhError`` naming a setting that is wrong."""
        from pydantic import ValidationError

        from okh.llm.settings import LlmSettings

        try:
            return LlmSettings.model_validate(self._settings.llm)
        except ValidationError as error:
            wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
            raise OkhError(f"the settings of the language model are wrong: {wrong}") from None

    def prices(self) -> Prices:
        """The shipped price table under the user's: ``OKH_PRICES``, or the home's prices.csv."""
        from okh.llm.prices import Prices

        own = Path(self._settings.prices or self._home.root / "prices.csv")
        return Prices.load(own if own.exists() or self._settings.prices else None)
