"""One restore test of a saved checkpoint: here, or by the policy's command where it lies."""

import subprocess
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from metrics.errors import HeadwayError, UsageError
from metrics.policy import Checkpoints
from pipelines.checkpoints.choosing import Saved, command
from pipelines.checkpoints.prove import Watch, prove
from pipelines.checkpoints.source import reading
from pipelines.checkpoints.verdicts import Verdict


class _Check(BaseModel):
    name: str
    result: Literal["pass", "warn", "fail"]
    detail: str


class _Answer(BaseModel):
    """What `headway restore-test PATH --format json` prints."""

    result: Literal["pass", "fail"]
    checks: list[_Check]
    bytes: int
    bytes_read: int | None = None
    seconds: float
    bytes_per_s: int | None = None
    path: str
    step: int | None = None
    code_version: str | None = None
    data_version: str | None = None


def prove_saved(saved: Saved, rules: Checkpoints, watch: Watch | None = None) -> dict[str, Any]:
    """Test it; the answer is as `Proof.as_json`.

    Raises HeadwayError where the test itself could not run, or could read more than the rules'
    `bytes_per_run`: that says nothing of the checkpoint.
    """
    if rules.command:
        return _elsewhere(command(saved, rules), rules.command_limit_s)
    if saved.path is None:
        raise UsageError(
            f"{saved.job}: its checkpoint lies at {saved.location}, which is no path on this"
            " machine; say in the policy what tests it there (checkpoints.command)"
        )
    versions = (saved.code_version, saved.data_version)
    return prove(saved.path, rules, saved.step, versions, watch).as_json()


def was_deleted(saved: Saved, answer: dict[str, Any]) -> bool:
    """Whether an older checkpoint is not there any more: retention's doing, and no verdict."""
    gone = any(check["detail"].startswith(Verdict.NOTHING_THERE) for check in answer["checks"])
    return gone and not saved.is_newest


def _elsewhere(arguments: list[str], limit_s: float) -> dict[str, Any]:
    said = " ".join(arguments)
    try:
        done = subprocess.run(
            arguments,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired as e:
        raise HeadwayError(f"{said}: took longer than {limit_s} s (command_limit_s)") from e
    except OSError as e:
        raise HeadwayError(f"{said}: cannot be run ({e.strerror})") from e
    if done.returncode not in (0, 1):
        raise HeadwayError(f"{said}: {_last_line(done)}")
    try:
        answer = _Answer.model_validate_json(done.stdout)
    except ValidationError as e:
        text = "printed no answer of restore-test (--format json)"
        raise HeadwayError(f"{said}: {text}; {_last_line(done)}") from e
    read = reading(answer.bytes) if answer.bytes_read is None else answer.bytes_read
    return answer.model_dump() | {"bytes_read": read}


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    said = done.stderr.strip().rpartition("\n")[2][:300]
    return f"exit code {done.returncode}" + (f": {said}" if said else "")
