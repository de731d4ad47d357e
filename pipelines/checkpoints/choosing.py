"""Which checkpoints of a job are tested, where they lie, and what tests them there."""

import random
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from answers.mart import Mart
from metrics.documents import closest
from metrics.errors import UsageError
from metrics.policy import Checkpoints


@dataclass(frozen=True)
class Saved:
    """A checkpoint that was marked complete, as the records have it; versions are the job's."""

    job: str
    step: int
    completed_us: int
    location: str
    bytes: int | None
    is_newest: bool
    code_version: str | None
    data_version: str | None

    @property
    def path(self) -> Path | None:
        """Where it lies in this machine's file system, None where its location is elsewhere."""
        told = urlsplit(self.location)
        if told.scheme == "file" and told.netloc in ("", "localhost"):
            return Path(unquote(told.path))
        return Path(self.location) if not told.scheme and self.location.startswith("/") else None

    @property
    def is_there(self) -> bool:
        """Whether something lies at its path; what retention deleted is no failure."""
        try:
            return self.path is not None and self.path.exists()
        except PermissionError:
            return True


def chosen(mart: Mart, job: str, rules: Checkpoints, rng: random.Random) -> list[Saved]:
    """The job's newest complete checkpoint, and an older one at random (policy).

    Raises UsageError for a job that is not there, or whose records name no location.
    """
    rows = mart.rows(
        "select job, step, ts_us as completed_us, location, bytes, is_newest, code_version,"
        " data_version from saved_checkpoints where job = ? order by ts_us desc, step desc",
        [job],
    )
    if not rows:
        known = [row["job"] for row in mart.rows("select job from jobs order by job")]
        if job not in known:
            near = closest(job, known)
            raise UsageError(f"{job}: no such path here, and no such job among {len(known)}{near}")
        raise UsageError(f"{job}: has completed no checkpoint, as far as it is recorded")
    newest, *older = [Saved(**row) for row in rows]
    if newest.location is None:
        raise UsageError(
            f"{job}: the record of its newest checkpoint (step {newest.step}) names no location;"
            " write `location` with checkpoint_completed, or say the path"
        )
    since_us = newest.completed_us - rules.older_within_us
    kept = [
        saved
        for saved in older
        if saved.completed_us >= since_us
        and saved.location
        and saved.step != newest.step
        and (rules.command or saved.is_there)
    ]
    return [newest, *([rng.choice(kept)] if kept else [])]


def reachable(saved: Saved, rules: Checkpoints) -> bool:
    """Whether it can be tested: its path lies here, or the policy knows what tests it elsewhere."""
    return bool(rules.command) or saved.path is not None


def command(saved: Saved, rules: Checkpoints) -> list[str]:
    """The arguments that test it elsewhere; each placeholder fills an argument, never a shell."""
    path = saved.path or saved.location
    if str(path).startswith("-"):
        raise UsageError(f"{saved.job}: its location {saved.location!r} looks like an option")
    filled = {
        "path": path,
        "job": saved.job,
        "step": saved.step,
        "bytes_per_s": rules.bytes_per_s or 0,
        "most_bytes": rules.bytes_per_run or 0,
    }
    return [part.format_map(filled) for part in rules.command]
