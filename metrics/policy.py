"""What people decide and the numbers depend on: tiers, their limits and aliases, silence.

The default lies beside this module in `slo.yaml`; a site replaces it whole.
"""

import difflib
from collections import Counter
from functools import cached_property
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_core import ErrorDetails

from metrics.conventions import DAY_US, US_PER_S
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


class Retention(BaseModel):
    """How long raw steps are kept before only what they painted is, in days.

    `steps_days` counts from their stamps, `arrival_days` from their delivery; both must be over.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    steps_days: int = Field(default=35, ge=1, le=36_600)
    arrival_days: int = Field(default=1, ge=0, le=36_600)

    @property
    def steps_us(self) -> int:
        """`steps_days` in microseconds."""
        return self.steps_days * DAY_US

    @property
    def arrival_us(self) -> int:
        """`arrival_days` in microseconds."""
        return self.arrival_days * DAY_US


class Policy(BaseModel):
    """The policy document. Unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    apiVersion: str = "headway/v1"
    kind: str = "Policy"
    tiers: tuple[Tier, ...] = Field(min_length=1)
    silent_after_s: int = Field(gt=0, le=LONGEST_S)
    retention: Retention = Retention()

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
    model = Tier if fault["loc"][0] == "tiers" else Policy
    close = difflib.get_close_matches(str(fault["loc"][-1]), model.model_fields, n=1)
    return f"{place}: no such key" + (f"; did you mean {close[0]}?" if close else "")
