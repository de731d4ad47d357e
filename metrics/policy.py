"""What people decide and the numbers depend on: tiers, their limits and aliases, silence.

The default lies beside this module in `slo.yaml`; a site replaces it whole.
"""

from functools import cached_property
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from metrics.conventions import US_PER_S
from metrics.errors import PolicyError

DEFAULT_POLICY_FILE = Path(__file__).with_name("slo.yaml")


class Tier(BaseModel):
    """A class of service: `queue_limit_s` in seconds, None for best effort; higher rank first."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    rank: int
    preemptible: bool
    queue_limit_s: int | None = Field(default=None, gt=0)
    aliases: tuple[str, ...] = ()

    @property
    def queue_limit_us(self) -> int | None:
        """The queue limit in microseconds, None for best effort."""
        return None if self.queue_limit_s is None else self.queue_limit_s * US_PER_S


class Policy(BaseModel):
    """The policy document. Unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    apiVersion: str = "headway/v1"
    kind: str = "Policy"
    tiers: tuple[Tier, ...]
    silent_after_s: int = Field(gt=0)

    @property
    def silent_after_us(self) -> int:
        """After how many microseconds without a record an open, steady job is presumed gone."""
        return self.silent_after_s * US_PER_S

    @cached_property
    def _tier_by_name(self) -> dict[str, Tier]:
        names = {alias: tier for tier in self.tiers for alias in tier.aliases}
        return names | {tier.name: tier for tier in self.tiers}

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
        faults = "; ".join(
            f"{'.'.join(str(part) for part in fault['loc']) or 'document'}: {fault['msg']}"
            for fault in e.errors()
        )
        raise PolicyError(f"{file}: {faults}") from e
