"""Where a site's files lie: HEADWAY_HOME, and the names of what is in it."""

import os
from dataclasses import dataclass
from pathlib import Path

from metrics.errors import UsageError
from metrics.policy import DEFAULT_POLICY_FILE, Policy, load_policy

DEFAULT_HOME = Path(".headway")


@dataclass(frozen=True)
class Home:
    """A site's directory and the places in it."""

    root: Path

    @classmethod
    def at(cls, given: Path | None = None) -> "Home":
        """The home that was given, else HEADWAY_HOME, else `.headway` here; it need not exist.

        Raises UsageError where it is a file, or would lie below one.
        """
        root = given or Path(os.environ.get("HEADWAY_HOME") or DEFAULT_HOME)
        root = root.resolve()
        nearest = next(place for place in (root, *root.parents) if place.exists())
        if not nearest.is_dir():
            raise UsageError(f"home {root}: {nearest} is a file, not a directory")
        return cls(root)

    @classmethod
    def open(cls, given: Path | None = None) -> "Home":
        """The same, made if absent. Raises UsageError where it cannot be made."""
        home = cls.at(given)
        try:
            home.root.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise UsageError(f"home {home.root}: cannot be made a directory ({e.strerror})") from e
        return home

    @property
    def warehouse(self) -> Path:
        """The database that only the pipeline opens."""
        return self.root / "warehouse.duckdb"

    @property
    def mart(self) -> Path:
        """The folder of published, read-only databases."""
        return self.root / "mart"

    @property
    def policy_file(self) -> Path:
        """The site's policy, which replaces the default whole where it exists."""
        return self.root / "slo.yaml"

    @property
    def policy_in_force(self) -> Path:
        """The site's policy file, or the default where it has none."""
        return self.policy_file if self.policy_file.exists() else DEFAULT_POLICY_FILE

    @property
    def journal(self) -> Path:
        """What people decided: appended to, never changed."""
        return self.root / "journal.sqlite"

    def policy(self) -> Policy:
        """The site's policy and objectives, or the default. Raises PolicyError."""
        return load_policy(self.policy_in_force)
