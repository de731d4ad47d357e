"""When rollouts are held: a state machine over closed hours, as pure functions.

    open ──a gating budget exhausted, a promise broken──▶ frozen
    frozen ──every gating budget above the thaw level, every promise mended──▶ open
    either ──what must be known is not──▶ unknown ──known again──▶ as it was

A freeze that went through unknown comes back as one, for an hour at least: stale data never thaw.
What people decide (freezes and thaws by hand, overrides) is laid over it at the moment asked for.
"""

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

from metrics.budget import State


class Standing(enum.StrEnum):
    """Whether rollouts may start."""

    OPEN = "open"
    FROZEN = "frozen"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Reading:
    """One gating budget or promise at the end of an hour.

    `above_thaw`: the share of its allowance that the policy asks for is left. `required`: without
    it nothing is decided.
    """

    slo: str
    scope: str
    state: State
    above_thaw: bool
    required: bool = False

    @property
    def freezes(self) -> bool:
        """Whether it alone holds rollouts."""
        return self.state is State.EXHAUSTED

    @property
    def keeps_frozen(self) -> bool:
        """Whether a freeze may not end yet because of it."""
        return self.freezes or (self.state is State.WITHIN and not self.above_thaw)


@dataclass(frozen=True)
class Hour:
    """What was read at the end of a closed UTC hour, in µs."""

    end_us: int
    stale: bool
    readings: tuple[Reading, ...]

    @property
    def is_known(self) -> bool:
        """Whether it decides anything."""
        unread = any(r.required and r.state is State.UNKNOWN for r in self.readings)
        return not (self.stale or unread)


@dataclass(frozen=True)
class Freeze:
    """The state after an hour. `latched`: it was frozen when it was last known."""

    standing: Standing = Standing.OPEN
    latched: bool = False


def advance(before: Freeze, hour: Hour) -> Freeze:
    """The state after one more hour."""
    if not hour.is_known:
        return Freeze(Standing.UNKNOWN, before.latched)
    returns = before.standing is Standing.UNKNOWN and before.latched
    held = before.latched and any(reading.keeps_frozen for reading in hour.readings)
    frozen = returns or held or any(reading.freezes for reading in hour.readings)
    return Freeze(Standing.FROZEN if frozen else Standing.OPEN, frozen)


def replay(hours: Iterable[Hour]) -> list[Freeze]:
    """The state after each of the hours, in order, from open on."""
    return list(accumulate(hours, advance, initial=Freeze()))[1:]
