"""The commands that prove checkpoints: manifest and restore-test."""

import random
from pathlib import Path
from typing import Annotated, Any

import typer

from answers.clock import now_us
from answers.home import Home
from answers.mart import open_mart
from metrics.documents import closest
from metrics.errors import NothingPublished, UsageError
from metrics.policy import Checkpoints
from pipelines import show
from pipelines.checkpoints import resume
from pipelines.checkpoints.choosing import Saved, chosen
from pipelines.checkpoints.layout import Layout
from pipelines.checkpoints.manifest import write_manifest
from pipelines.checkpoints.prove import Watch, prove
from pipelines.checkpoints.reading import Outcome
from pipelines.checkpoints.recording import record
from pipelines.checkpoints.testing import prove_saved, was_deleted
from pipelines.checkpoints.verdicts import Damage
from pipelines.commands.options import FormatOption, HomeOption
from pipelines.show import Format

CheckpointArgument = Annotated[
    str, typer.Argument(metavar="PATH", help="A checkpoint: its directory, or its only file.")
]
StepOption = Annotated[
    int | None, typer.Option("--step", min=0, help="The last step that it contains.")
]
SavedByOption = Annotated[str | None, typer.Option("--job", help="The job that saved it.")]
CodeOption = Annotated[str | None, typer.Option("--code-version", help="The code that saved it.")]
DataOption = Annotated[
    str | None, typer.Option("--data-version", help="The data that it was trained on.")
]
RanksOption = Annotated[
    int | None, typer.Option("--ranks", min=1, help="How many ranks have RNG states in it.")
]
HoldsOption = Annotated[
    list[str] | None,
    typer.Option("--holds", help="State that is in it under a name of your own; repeatable."),
]

TargetArgument = Annotated[
    str, typer.Argument(metavar="JOB|PATH", help="A job's id, or a checkpoint's path.")
]
CompleteStepOption = Annotated[
    int | None,
    typer.Option("--step", min=0, help="Of a path: the step that was marked complete."),
]
PaceOption = Annotated[
    int | None,
    typer.Option("--bytes-per-s", min=0, help="How fast it may read; 0: as fast as it goes."),
]
MostBytesOption = Annotated[
    int | None,
    typer.Option("--most-bytes", min=0, help="Refuse a test that may read more; 0: no limit."),
]
CountOption = Annotated[
    bool,
    typer.Option("--refresh/--no-refresh", help="Of a job: count the verdicts right away."),
]


def add_to(app: typer.Typer) -> None:
    """Give the command line these commands."""
    app.command("manifest")(manifest)
    app.command("restore-test")(restore_test)


def manifest(
    checkpoint: CheckpointArgument,
    step: StepOption = None,
    job: SavedByOption = None,
    code_version: CodeOption = None,
    data_version: DataOption = None,
    ranks: RanksOption = None,
    holds: HoldsOption = None,
) -> None:
    """Write a checkpoint's manifest, last of all: each file's size and SHA-256, synced to disk."""
    path = Path(_named(checkpoint))
    if not path.exists():
        raise UsageError(f"{path}: no such file or directory")
    _refuse_unknown(holds or [])
    about: dict[str, object] = {
        "step": step,
        "job": job,
        "code_version": code_version,
        "data_version": data_version,
        "ranks": ranks,
        "holds": tuple(holds or ()),
    }
    with _Bar() as bar:
        bar.begin(_size(path))
        place, written = write_manifest(path, about, bar.advance)
    size = sum(covered.bytes for covered in written.files.values())
    shown = path / place.name if path.is_dir() else place
    print(f"{shown}: {len(written.files):,} files, {size:,} bytes")


def _refuse_unknown(holds: list[str]) -> None:
    for name in holds:
        if name not in resume.NAMES:
            known = ", ".join(resume.NAMES)
            raise UsageError(f"--holds {name}: not one of {known}{closest(name, resume.NAMES)}")


def _named(text: str) -> str:
    """What was named. Raises UsageError for nothing: that would be the directory one stands in."""
    if not text.strip():
        raise UsageError("no checkpoint is named: what stands there is empty")
    return text


def _size(path: Path) -> int | None:
    try:
        return Layout.of(path).bytes
    except Damage:  # told where it is read
        return None


def restore_test(
    target: TargetArgument,
    step: CompleteStepOption = None,
    bytes_per_s: PaceOption = None,
    most_bytes: MostBytesOption = None,
    refresh: CountOption = True,
    home: HomeOption = None,
    how: FormatOption = Format.TABLE,
) -> None:
    """Restore a checkpoint and check all that is in it. Exit code 0 pass, 1 fail.

    Of a job: its newest complete checkpoint and an older one; each is a restore_test event.
    """
    _named(target)
    site = Home.at(home)
    rules = _rules(site.policy().checkpoints, bytes_per_s, most_bytes)
    if step is not None or target.startswith(("/", ".")) or Path(target).exists():
        answer = _test_path(rules, Path(target), step)
    else:
        answer = _test_job(site, rules, target, refresh)
    if how is Format.TABLE:
        _print(answer)
    else:
        show.print_data(answer["checks"], ("step", "name", "result", "detail"), how, answer)
    raise typer.Exit(0 if answer["result"] == "pass" else 1)


def _rules(policy: Checkpoints, bytes_per_s: int | None, most_bytes: int | None) -> Checkpoints:
    """What is said wins; the policy's `bytes_per_run` is of the schedule's tests, not of this."""
    pace = policy.bytes_per_s if bytes_per_s is None else bytes_per_s or None
    return policy.model_copy(update={"bytes_per_s": pace, "bytes_per_run": most_bytes or None})


def _test_path(rules: Checkpoints, path: Path, step: int | None) -> dict[str, Any]:
    # Where a step was marked complete, that nothing is there is a verdict.
    if step is None and not path.exists():
        raise UsageError(f"{path}: no such file or directory")
    with _Bar() as bar:
        return prove(path, rules, step, watch=bar).as_json()


def _test_job(site: Home, rules: Checkpoints, job: str, refresh: bool) -> dict[str, Any]:
    try:
        with open_mart(site) as mart:
            saved = chosen(mart, job, rules, random.Random())
    except NothingPublished as e:
        raise UsageError(f"{job}: no such path here, and no job is known: {e}") from e
    answers, files = [], []
    for checkpoint in saved:
        answer = _tested(rules, checkpoint)
        if not was_deleted(checkpoint, answer):
            answers.append(answer)
            files.append(record(site, checkpoint, answer, now_us()))
    if refresh:
        _ingest(site, files)
    failed = any(answer["result"] == "fail" for answer in answers)
    return {
        "result": "fail" if failed else "pass",
        "job": job,
        "checks": [
            {"step": answer["step"]} | check for answer in answers for check in answer["checks"]
        ],
        "bytes": sum(answer["bytes"] for answer in answers),
        "seconds": round(sum(answer["seconds"] for answer in answers), 3),
        "checkpoints": answers,
        "recorded": [str(file) for file in files],
    }


def _tested(rules: Checkpoints, saved: Saved) -> dict[str, Any]:
    with _Bar() as bar:
        answer = prove_saved(saved, rules, bar)
    return answer | {"step": saved.step, "is_newest": saved.is_newest}


def _ingest(site: Home, files: list[Path]) -> None:
    from pipelines.progress import Progress
    from pipelines.run import Ingestion, run

    with Progress() as progress:
        run(site, progress, Ingestion(files))


def _print(answer: dict[str, Any]) -> None:
    told = answer.get("checkpoints", [answer])
    for one in told:
        title = f"Restore test of {one['path']}"
        if one["step"] is not None:
            title += f", step {one['step']}"
        rows = [[c["name"], c["result"], c["detail"]] for c in one["checks"]]
        show.print_table(title, ("check", "result", "~detail"), rows)
    out = show.console()
    speed = answer["bytes"] / answer["seconds"] / 1e6 if answer["seconds"] else 0
    out.print(
        f"{answer['result']}: {answer['bytes']:,} bytes in {answer['seconds']:.1f} s"
        f" ({speed:,.3g} MB/s)",
        style="bold green" if answer["result"] == "pass" else "bold red",
    )
    if "recorded" in answer:
        out.print(f"recorded as {len(answer['recorded'])} restore_test events", style="dim")


class _Bar(show.Barred, Watch):
    """A bar of the bytes read."""

    def __init__(self) -> None:
        super().__init__("reading")

    def begin(self, total: int | None) -> None:
        """A bar as long as all the bytes."""
        self._bar.update(self._task, total=total)

    def advance(self, size: int, file: str) -> None:
        """So many bytes of a file were read."""
        self._bar.update(self._task, advance=size, detail=file)

    def files_found(self, layout: Layout) -> None:
        """Begin a bar as long as all files."""
        self.begin(layout.bytes)

    def file_done(self, outcome: Outcome) -> None:
        """Move it by one file."""
        self.advance(outcome.bytes, outcome.file)
