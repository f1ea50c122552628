"""What assets are given: the home, extractor, embedder, reader, and the IO manager over the home.

Resources hold names only. Keys are read from the environment when a run starts and
never become configuration, which Dagster would store and show.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg
from pydantic import Field

from assets.embedding import EmbedderSource
from okh.extraction.extractor import Extractor
from okh.generation.reader import Reader
from orchestration.io_manager import GroupTablesIOManager
from orchestration.services import Services
from orchestration.settings import read_settings
from storage.home import Home


class HomeResource(dg.ConfigurableResource[Home]):
    """The folder where documents, tables, vectors, models and traces lie."""

    path: str = Field(description="A local folder; it is made when it is not there.")

    def create_resource(self, context: dg.InitResourceContext) -> Home:
        return Home.open(self.path, create=True)


class ExtractorResource(dg.ConfigurableResource[Extractor]):
    """What reads facts out of a block: OKH_EXTRACTOR, `rules` unless set."""

    home: dg.ResourceDependency[Home]
    budget: float | None = Field(
        default=None, description="Dollars that one run may spend; it stops before it would pass."
    )

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Iterator[Extractor]:
        with Services(read_settings(), self.home, self.budget) as services:
            yield services.extractor()


class EmbedderResource(dg.ConfigurableResource[EmbedderSource]):
    """What turns texts into vectors: OKH_EMBEDDER, `lsa` unless set."""

    home: dg.ResourceDependency[Home]

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Iterator[EmbedderSource]:
        with Services(read_settings(), self.home) as services:
            yield services.embedder_source()


class ReaderResource(dg.ConfigurableResource[Reader]):
    """What answers from trajectories: OKH_READER, `extractive` unless set."""

    home: dg.ResourceDependency[Home]

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Iterator[Reader]:
        with Services(read_settings(), self.home) as services:
            yield services.reader()


class GroupTablesResource(dg.ConfigurableIOManagerFactory[GroupTablesIOManager]):
    """The Parquet IO manager of the group assets, over the same home."""

    home: dg.ResourceDependency[Home]

    def create_io_manager(self, context: dg.InitResourceContext) -> GroupTablesIOManager:
        return GroupTablesIOManager(self.home)
