"""Whose numbers are meant: the fleet, or the jobs of a cluster, a tier, a tenant, or one job."""

import re
from dataclasses import dataclass, fields, replace

from metrics.errors import UsageError


@dataclass(frozen=True)
class Scope:
    """The jobs that fit all that it names; one that names nothing is the fleet."""

    cluster: str | None = None
    tier: str | None = None
    tenant: str | None = None
    job: str | None = None

    @classmethod
    def parse(cls, text: str) -> "Scope":
        """Read `fleet`, or `key=value` with a key of this class, several split by commas.

        A comma that no `key=` follows belongs to the value. Raises UsageError.
        """
        if text.strip() == "fleet":
            return cls()
        known = [field.name for field in fields(cls)]
        named: dict[str, str] = {}
        for part in re.split(rf",(?=\s*(?:{'|'.join(known)})=)", text):
            key, equals, value = part.strip().partition("=")
            if key not in known or not equals or not value or key in named:
                raise UsageError(
                    f"--scope {text}: say fleet, or one of"
                    f" {', '.join(f'{name}=NAME' for name in known)}"
                )
            named[key] = value
        return cls(**named)

    def __str__(self) -> str:
        return ",".join(f"{name}={value}" for name, value in self.named().items()) or "fleet"

    def named(self) -> dict[str, str]:
        """What it names, by key."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def of_tier(self, tier: str) -> "Scope":
        """The jobs of a tier within it."""
        return replace(self, tier=tier)

    def holds(self, other: "Scope") -> bool:
        """Whether whatever fits the other fits this one too."""
        return self.named().items() <= other.named().items()
