"""What people decided, and what of it is in force at a moment. Entries are only ever added.

An entry ends by itself (`until`), by a later entry that revokes it, and begins only once a second
person approved it where the policy asks for that.
"""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from metrics.adjustments import Adjustments, Exclusion, Reattribution
from metrics.policy import Policy
from metrics.scope import Scope


class Kind(enum.StrEnum):
    """What an entry of the journal is."""

    OVERRIDE = "override"
    FREEZE = "freeze"
    THAW = "thaw"
    EXCLUDE = "exclude"
    REATTRIBUTE = "reattribute"
    NOTE = "note"
    APPROVE = "approve"
    REVOKE = "revoke"
    DECISION = "decision"
    """A change of state that Headway came to."""
    REFUSAL = "refusal"
    """A change that the gate held when it was asked. It and DECISION are Headway's own, every other
    kind is a person's."""


OWN = (Kind.DECISION, Kind.REFUSAL)
"""What Headway writes itself."""

SAID_ONCE = (*OWN, Kind.NOTE, Kind.APPROVE, Kind.REVOKE)
"""Entries that say something once, and are not in force for a time."""

WRITER = "headway"
"""Who writes what Headway came to."""


@dataclass(frozen=True)
class Ruling:
    """One entry, as it was written at `at_us`. `of` is the entry that it approves or revokes."""

    id: int
    at_us: int
    kind: Kind
    scope: Scope
    who: str
    why: str
    body: Mapping[str, Any] = field(default_factory=dict)
    of: int | None = None

    @property
    def until_us(self) -> int | None:
        """When it ends by itself, None where it does not."""
        ends = self.kind in (Kind.OVERRIDE, Kind.FREEZE, Kind.THAW)
        return self.body.get("until_us") if ends else None


@dataclass(frozen=True)
class Rulings:
    """The journal as it stood, under a policy."""

    entries: Sequence[Ruling]
    policy: Policy

    def status(self, entry: Ruling, at_us: int) -> str:
        """Whether an entry is in force at a moment, and why it is not."""
        if entry.at_us > at_us:
            return "not yet written"
        if entry.kind in SAID_ONCE:
            return "recorded"
        if self._answer(entry, Kind.REVOKE, at_us):
            return "revoked"
        if not self.is_approved(entry, at_us):
            return "waits for approval by a second person"
        if entry.until_us is not None and at_us >= entry.until_us:
            return "expired"
        return "in force"

    def is_approved(self, entry: Ruling, at_us: int) -> bool:
        """Whether a second person approved it by then, or none has to."""
        if entry.kind not in self.policy.decisions.approval:
            return True
        return any(
            _person(answer.who) != _person(entry.who)
            for answer in self.entries
            if (answer.kind, answer.of) == (Kind.APPROVE, entry.id) and answer.at_us <= at_us
        )

    def in_force(self, kind: Kind, at_us: int) -> list[Ruling]:
        """The entries of a kind that are in force at a moment, in the order written."""
        return [
            entry
            for entry in self.entries
            if entry.kind is kind and self.status(entry, at_us) == "in force"
        ]

    def override(self, change: str, scope: Scope, at_us: int) -> Ruling | None:
        """The latest override in force that lets such a change to the scope pass."""
        found = [
            entry
            for entry in self.in_force(Kind.OVERRIDE, at_us)
            if entry.body.get("change") == change and entry.scope.holds(scope)
        ]
        return found[-1] if found else None

    def frozen_by_hand(self, scope: Scope, at_us: int) -> Ruling | None:
        """The latest freeze by hand that holds the scope, and that no later thaw lifted."""
        thaws = self.in_force(Kind.THAW, at_us) + [
            entry
            for entry in self.entries
            if entry.kind is Kind.THAW and self.status(entry, at_us) == "expired"
        ]
        found = [
            entry
            for entry in self.in_force(Kind.FREEZE, at_us)
            if entry.scope.holds(scope)
            and not any(t.id > entry.id and t.scope.holds(entry.scope) for t in thaws)
        ]
        return found[-1] if found else None

    def opened_by_hand(self, scope: Scope, at_us: int) -> Ruling | None:
        """The latest thaw by hand that keeps the scope open until a moment still to come."""
        found = [
            entry
            for entry in self.in_force(Kind.THAW, at_us)
            if entry.until_us is not None and entry.scope.holds(scope)
        ]
        return found[-1] if found else None

    def adjustments(self, at_us: int) -> Adjustments:
        """The exclusions and re-attributions in force; of two of one restart the later one."""
        excluded = tuple(
            Exclusion(entry.scope, entry.body["from_us"], entry.body["until_us"])
            for entry in self.in_force(Kind.EXCLUDE, at_us)
        )
        causes = {
            (entry.body["job"], entry.body["detected_us"]): entry.body["cause"]
            for entry in self.in_force(Kind.REATTRIBUTE, at_us)
        }
        changed = tuple(Reattribution(job, at, cause) for (job, at), cause in causes.items())
        return Adjustments(excluded, changed)

    def _answer(self, entry: Ruling, kind: Kind, at_us: int) -> Ruling | None:
        return next(
            (e for e in self.entries if e.kind is kind and e.of == entry.id and e.at_us <= at_us),
            None,
        )


def _person(name: str) -> str:
    return name.strip().casefold()
