"""What people decide and the numbers depend on: tiers, their limits and aliases, silence.

The default lies beside this module in `slo.yaml`; a site replaces it whole.
"""

import difflib
from collections import Counter
from decimal import Decimal
from functools import cached_property
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_core import ErrorDetails

from metrics.conventions import US_PER_S
from metrics.errors import PolicyError

LONGEST_S = 100 * 366 * 24 * 3600
"""A hundred years: no limit is longer."""

DEFAULT_POLICY_FILE = Path(__file__).with_name("slo.yaml")


class Tier(BaseModel):
    """A class of service: `queue_limit_s` in seconds, None for best effort; higher rank first."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    rank: int
    preemptible: bool
    queue_limit_s: int | None = Field(default=None, gt=0, le=LONGEST_S)
    aliases: tuple[str, ...] = ()

    @property
    def queue_limit_us(self) -> int | None:
        """The queue limit in microseconds, None for best effort."""
        return None if self.queue_limit_s is None else self.queue_limit_s * US_PER_S


class Checks(BaseModel):
    """When the numbers' quality is worth a warning, judged on the newest `window_days` of data."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    window_days: int = Field(default=7, gt=0, le=36_600)
    quarantine_share: Decimal = Field(default=Decimal("0.01"), ge=0, le=1)
    unattributed_share: Decimal = Field(default=Decimal("0.05"), ge=0, le=1)
    silent_jobs: int = Field(default=0, ge=0)
    coverage: Decimal = Field(default=Decimal("0.9"), ge=0, le=1)

    @property
    def window_us(self) -> int:
        """The window in microseconds."""
        return self.window_days * 24 * 3600 * US_PER_S


class Housekeeping(BaseModel):
    """How much of its own past the orchestrator keeps: days, and never more than so many runs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    keep_days: int = Field(default=30, gt=0, le=36_600)
    keep_runs: int = Field(default=1000, gt=0)


class Policy(BaseModel):
    """The policy document. Unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    apiVersion: str = "headway/v1"
    kind: str = "Policy"
    tiers: tuple[Tier, ...] = Field(min_length=1)
    silent_after_s: int = Field(gt=0, le=LONGEST_S)
    checks: Checks = Checks()
    housekeeping: Housekeeping = Housekeeping()

    @field_validator("tiers")
    @classmethod
    def _names_differ(cls, tiers: tuple[Tier, ...]) -> tuple[Tier, ...]:
        counts = Counter(tier.name.lower() for tier in tiers)
        twice = [name for name, count in counts.items() if count > 1]
        if twice:
            raise ValueError(f"two tiers have the name {', '.join(twice)}")
        return tiers

    @property
    def silent_after_us(self) -> int:
        """After how many microseconds without a record an open, steady job is presumed gone."""
        return self.silent_after_s * US_PER_S

    @cached_property
    def _tier_by_name(self) -> dict[str, Tier]:
        names = {alias.lower(): tier for tier in self.tiers for alias in tier.aliases}
        return names | {tier.name.lower(): tier for tier in self.tiers}

    def tier(self, name: str) -> Tier | None:
        """The tier that a name or an alias means, in any case; None where it means none."""
        return self._tier_by_name.get(name.strip().lower())


_SECTIONS: dict[int | str, type[BaseModel]] = {
    "tiers": Tier,
    "checks": Checks,
    "housekeeping": Housekeeping,
}


def load_policy(path: Path | None) -> Policy:
    """The policy in the file, or the default where none is given.

    Raises PolicyError with every fault and where it stands.
    """
    file = path or DEFAULT_POLICY_FILE
    try:
        document = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as e:
        raise PolicyError(f"{file}: cannot be read as YAML ({e})") from e
    try:
        return Policy.model_validate(document)
    except ValidationError as e:
        faults = "; ".join(_in_words(fault) for fault in e.errors())
        raise PolicyError(f"{file}: {faults}") from e


def _in_words(fault: ErrorDetails) -> str:
    place = ".".join(str(part) for part in fault["loc"]) or "document"
    if fault["type"] != "extra_forbidden":
        return f"{place}: {fault['msg']}"
    model = _SECTIONS.get(fault["loc"][0], Policy) if len(fault["loc"]) > 1 else Policy
    close = difflib.get_close_matches(str(fault["loc"][-1]), model.model_fields, n=1)
    return f"{place}: no such key" + (f"; did you mean {close[0]}?" if close else "")
