"""What the assets run with: the site they belong to, and whom they tell what became of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg
import duckdb

from answers.home import Home
from metrics.errors import PrometheusUnavailable, StorageFault, UnreadableInput, WarehouseBusy
from pipelines.derive import Refreshed
from pipelines.ingest import Summary
from pipelines.warehouse import open_warehouse

if TYPE_CHECKING:
    from pipelines.prometheus.pulling import Pulled

WORTH_ANOTHER_TRY = (WarehouseBusy, StorageFault, PrometheusUnavailable, OSError)
"""What may be gone in a minute. Wrong input and failed checks are not."""


class Site(dg.ConfigurableResource[None]):
    """A site's home and policy. `home` empty: HEADWAY_HOME, else `.headway` here.

    `retries`: how often a step is tried again for WORTH_ANOTHER_TRY, after `retry_delay_s` seconds
    that grow with each try.
    """

    home: str = ""
    retries: int = 4
    retry_delay_s: float = 15.0

    def places(self) -> Home:
        """The site's directory."""
        return Home.open(Path(self.home) if self.home else None)

    @contextmanager
    def warehouse(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """The open warehouse; closed also where the asset fails. Raises WarehouseBusy."""
        with open_warehouse(self.places().warehouse) as con:
            yield con

    @contextmanager
    def retrying(self, retry_number: int) -> Iterator[None]:
        """Ask for another try where that may help; `retry_number` is 0 at the first.

        Delays grow exponentially, and differ at random so that two runs do not meet again.
        """
        try:
            yield
        except WORTH_ANOTHER_TRY as e:
            if not self.retries:
                raise
            growing = dg.RetryPolicy(
                max_retries=self.retries,
                delay=self.retry_delay_s,
                backoff=dg.Backoff.EXPONENTIAL,
                jitter=dg.Jitter.PLUS_MINUS,
            )
            raise dg.RetryRequested(
                max_retries=self.retries,
                seconds_to_wait=growing.calculate_delay(retry_number + 1),
            ) from e


@dataclass
class Report:
    """What a run did, gathered for whoever started it; overridden to show progress."""

    summaries: list[Summary] = field(default_factory=list)
    failures: list[UnreadableInput] = field(default_factory=list)
    skipped: list[Path] = field(default_factory=list)
    refreshed: Refreshed | None = None
    published: Path | None = None
    pulled: list["Pulled"] = field(default_factory=list)

    def files_found(self, files: list[Path]) -> None:
        """Called once before the files are read."""

    def file_done(self, path: Path) -> None:
        """Called after each file."""

    def stage_begins(self, name: str) -> None:
        """Called as each stage of derivation, and publication, begins."""

    def chunk_pulled(self, pulled: "Pulled") -> None:
        """Called after each chunk that was pulled from Prometheus and stored."""
        self.pulled.append(pulled)
