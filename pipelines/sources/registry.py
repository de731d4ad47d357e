"""The sources there are. A new one is a module beside this one and a line here."""

from pathlib import Path

from pipelines.sources import Source
from pipelines.sources.canonical import Canonical
from pipelines.sources.mlperf import MLPerf
from pipelines.sources.slurm import Slurm
from pipelines.sources.text import head

SOURCES: dict[str, Source] = {source.name: source for source in (Canonical(), Slurm(), MLPerf())}


def recognise(path: Path) -> Source | None:
    """The source whose kind of file this is, told from its content; None where there is none."""
    start = head(path)
    return next((s for s in SOURCES.values() if s.recognises(path, start)), None)
