"""What the assets run with: the site they belong to, and whom they tell what became of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg
import duckdb

from answers.home import Home
from metrics.errors import UnreadableInput
from pipelines.derive import Refreshed
from pipelines.ingest import Summary
from pipelines.warehouse import open_warehouse


class Site(dg.ConfigurableResource[None]):
    """A site's home and policy. `home` empty: HEADWAY_HOME, else `.headway` here."""

    home: str = ""

    def places(self) -> Home:
        """The site's directory."""
        return Home.open(Path(self.home) if self.home else None)

    @contextmanager
    def warehouse(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """The open warehouse; closed also where the asset fails. Raises WarehouseBusy."""
        with open_warehouse(self.places().warehouse) as con:
            yield con


@dataclass
class Report:
    """What a run did, gathered for whoever started it; overridden to show progress."""

    summaries: list[Summary] = field(default_factory=list)
    failures: list[UnreadableInput] = field(default_factory=list)
    skipped: list[Path] = field(default_factory=list)
    refreshed: Refreshed | None = None
    published: Path | None = None

    def files_found(self, files: list[Path]) -> None:
        """Called once before the files are read."""

    def file_done(self, path: Path) -> None:
        """Called after each file."""

    def stage_begins(self, name: str) -> None:
        """Called as each stage of derivation, and publication, begins."""
