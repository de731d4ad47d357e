"""A run's progress on stderr, for whoever sits in front of it."""

from pathlib import Path

from pipelines import show
from pipelines.defs.site import Report


class Progress(show.Barred, Report):
    """A run's report that draws a bar of bytes read, and names the stage at work."""

    def __init__(self) -> None:
        super().__init__("starting")

    def files_found(self, files: list[Path]) -> None:
        """Begin a bar as long as all the files."""
        total = sum(_size(path) for path in files)
        self._bar.update(self._task, description="reading", total=total, completed=0)

    def file_done(self, path: Path) -> None:
        """Move the bar by one file."""
        self._bar.update(self._task, advance=_size(path), detail=show.visible(path.name))

    def stage_begins(self, name: str) -> None:
        """Name the stage at work."""
        self._bar.update(self._task, description="deriving", total=None, detail=name)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
