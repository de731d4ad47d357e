"""Where the names of rising curves stand: each beside its own, on no curve and no other name.

A curve that never falls has nothing of its own to the left above a point of it, nor to the right
below: there a name touches its curve with a corner. Names keep their size in pixels, so a place
that is free on a narrow chart is free on a wide one too.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

WIDTHS_PX = (220, 260, 320, 800)
"""A place is sought that is free on the narrowest, else on the next."""
LETTER_PX, LINE_PX, GAP_PX = 7, 15, 4
"""What a bold letter and a line of text take, and how far a name stands from its curve."""
SHARES = tuple(sorted((n / 20 for n in range(3, 18)), key=lambda share: abs(share - 0.51)))
"""Heights at which a name may stand, the best first."""


@dataclass(frozen=True)
class Box:
    """A part of the chart, all from 0 to 1; `bottom` is the lower share."""

    left: float
    right: float
    bottom: float
    top: float

    def meets(self, other: "Box") -> bool:
        """Whether two of them have a part in common."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.bottom < other.top
            and other.bottom < self.top
        )


@dataclass(frozen=True)
class Curve:
    """A curve that never falls: steps from left to right, each (place 0 to 1, share from there)."""

    name: str
    steps: Sequence[tuple[float, float]]

    def share(self, x: float) -> float:
        """How high it is at a place, after a step there."""
        before = bisect_right(self.steps, x, key=lambda step: step[0])
        return self.steps[before - 1][1] if before else 0.0

    def reaches(self, share: float) -> float | None:
        """Where it is first that high."""
        return next((x for x, reached in self.steps if reached >= share), None)

    def crosses(self, box: Box) -> bool:
        """Whether it passes through a box."""
        return self.share(box.left) < box.top and self.share(box.right) > box.bottom


@dataclass(frozen=True)
class Place:
    """The point of its curve that a name stands beside: left above it, or right below it."""

    x: float
    share: float
    side: Literal["left", "right"]

    def box(self, name: str, width_px: int, height_px: int) -> Box:
        """What the name takes, with what lies between it and its curve."""
        wide = (GAP_PX + LETTER_PX * len(name)) / width_px
        high = (GAP_PX + LINE_PX) / height_px
        if self.side == "left":
            return Box(self.x - wide, self.x, self.share, self.share + high)
        return Box(self.x, self.x + wide, self.share - high, self.share)


def places(
    curves: Sequence[Curve], texts: Sequence[Box], lines: Sequence[Box], height_px: int
) -> list[Place | None]:
    """A place for each curve's name, clear of other texts, and of lines where that can be.

    None of a curve without a step.
    """
    found: list[Place | None] = []
    taken = list(texts)
    for own in curves:
        others = [curve for curve in curves if curve is not own]
        place = _place(own, others, taken, lines, height_px)
        found.append(place)
        if place is not None:
            taken.append(place.box(own.name, WIDTHS_PX[0], height_px))
    return found


def _place(
    own: Curve,
    others: Sequence[Curve],
    texts: Sequence[Box],
    lines: Sequence[Box],
    height_px: int,
) -> Place | None:
    possible = list(_possible(own))
    for width_px, taken, place in product(WIDTHS_PX, ([*texts, *lines], texts), possible):
        box = place.box(own.name, width_px, height_px)
        if (
            box.left >= 0
            and box.right <= 1
            and not any(curve.crosses(box) for curve in others)
            and not any(box.meets(other) for other in taken)
        ):
            return place
    return possible[0] if possible else Place(*own.steps[-1], "left") if own.steps else None


def _possible(curve: Curve) -> Iterator[Place]:
    for share in SHARES:
        x = curve.reaches(share)
        if x is not None:
            yield Place(x, share, "left")
            yield Place(x, share, "right")
