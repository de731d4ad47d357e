"""What may be wrong with a checkpoint, each by its name, and what a check found."""

import enum
import errno
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

LARGEST_FILE = 1 << 44
"""16 TiB: what claims to be larger does not hold that much, wherever it was cut off."""


class Verdict(enum.StrEnum):
    """What is wrong."""

    NOTHING_THERE = "no checkpoint"
    BEING_WRITTEN = "still being written"
    SHARD_MISSING = "shard missing"
    TRUNCATED = "truncated"
    CHECKSUM = "checksum differs"
    SWAPPED = "shards swapped"
    NAMED_TWICE = "tensor named twice"
    TENSOR_MISSING = "tensor missing"
    OVERCLAIMED = "header claims more than a file can hold"
    BOMB = "zip bomb"
    LINK_OUT = "link out of the directory"
    NO_PERMISSION = "no permission"
    GONE = "deleted while it was read"
    CHANGED = "changed while it was read"
    UNREADABLE = "cannot be read"
    NOT_FINITE = "NaN or infinity"
    WRONG_STEP = "another step"
    STATE_MISSING = "state missing"


class Damage(Exception):
    """Something is wrong; the text says where and what. Travels between processes."""

    def __init__(self, verdict: Verdict, text: str) -> None:
        super().__init__(verdict, text)
        self.verdict, self.text = verdict, text

    def __str__(self) -> str:
        return f"{self.verdict}: {self.text}"


@dataclass(frozen=True)
class Check:
    """One check's result; `warn` is worth knowing and fails no test."""

    name: str
    result: Literal["pass", "warn", "fail"]
    detail: str

    @property
    def fails(self) -> bool:
        """Whether the test fails by it."""
        return self.result == "fail"


def short(place: str, claimed: int, held: int) -> Damage:
    """The damage of a file that holds fewer bytes than it says."""
    verdict = Verdict.OVERCLAIMED if claimed > LARGEST_FILE else Verdict.TRUNCATED
    return Damage(verdict, f"{place}: says {claimed:,} bytes, holds {held:,}")


@contextmanager
def naming(place: str) -> Iterator[None]:
    """Tell what reading `place` may raise as Damage, whatever a library raises for bad bytes."""
    try:
        yield
    except Damage:
        raise
    except PermissionError as e:
        raise Damage(Verdict.NO_PERMISSION, f"{place}: {e.strerror}") from e
    except (FileNotFoundError, NotADirectoryError) as e:
        raise Damage(Verdict.GONE, f"{place}: was there when the test began") from e
    except OSError as e:
        if e.errno == errno.ESTALE:
            raise Damage(Verdict.GONE, f"{place}: {e.strerror}") from e
        raise Damage(Verdict.UNREADABLE, f"{place}: {e.strerror or e}") from e
    except Exception as e:
        # Parsers of untrusted bytes raise almost anything; each means that these cannot be read.
        kind = type(e).__name__
        raise Damage(Verdict.UNREADABLE, f"{place}: {kind}: {str(e)[:200] or 'no detail'}") from e
