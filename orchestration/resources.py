"""What assets are given: the home, the extractor, and the IO manager over the home."""

from typing import Literal

import dagster as dg
from pydantic import Field

from okh.extraction.extractor import Extractor
from okh.extraction.rules import RulesExtractor
from orchestration.io_manager import GroupTablesIOManager
from storage.home import Home


class HomeResource(dg.ConfigurableResource[Home]):
    """The folder where documents, tables, vectors, models and traces lie."""

    path: str = Field(description="A local folder; it is made when it is not there.")

    def create_resource(self, context: dg.InitResourceContext) -> Home:
        return Home.open(self.path, create=True)


class ExtractorResource(dg.ConfigurableResource[Extractor]):
    """What reads facts out of a block."""

    name: Literal["rules"] = Field(
        default="rules", description="`rules` is the embedded default; it needs no key."
    )

    def create_resource(self, context: dg.InitResourceContext) -> Extractor:
        return RulesExtractor()


class EmbedderResource(dg.ConfigurableResource[str]):
    """What turns texts into vectors."""

    name: Literal["lsa", "minilm"] = Field(
        default="lsa",
        description="`lsa` (TF-IDF and SVD, fitted once) is the embedded default; `minilm` "
        "retrieves better at a hundred times the cost, and needs the extra `minilm`.",
    )

    def create_resource(self, context: dg.InitResourceContext) -> str:
        return self.name


class GroupTablesResource(dg.ConfigurableIOManagerFactory[GroupTablesIOManager]):
    """The Parquet IO manager of the group assets, over the same home."""

    home: dg.ResourceDependency[Home]

    def create_io_manager(self, context: dg.InitResourceContext) -> GroupTablesIOManager:
        return GroupTablesIOManager(self.home)
