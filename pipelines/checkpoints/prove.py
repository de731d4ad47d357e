"""A restore test of one checkpoint: read all of it, and hold it against what it should be."""

import re
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metrics.errors import UsageError
from metrics.policy import Checkpoints
from pipelines.checkpoints import distributed, documents
from pipelines.checkpoints.contents import Tensor
from pipelines.checkpoints.layout import Layout, incomplete
from pipelines.checkpoints.libraries import LIBRARIES
from pipelines.checkpoints.manifest import Manifest, read_manifest
from pipelines.checkpoints.reading import MEMORY, Outcome, Readers, Task, Work, load_file, read_file
from pipelines.checkpoints.resume import WEIGHTS, Grade, Known, State, look
from pipelines.checkpoints.source import set_pace
from pipelines.checkpoints.verdicts import Check, Damage, Verdict

NAMED_FAULTS = 5
"""How many faults of a check are told; of the others their number."""

A_PROCESS = 64 << 20
"""Bytes from which on another process is worth its start."""

_STEP_KEY = re.compile(r"^(?!.*(optim|[./]state\.\d)).*?(^|[./])(global_?step|iteration|step)$")
_STEP_IN_NAME = re.compile(
    r"(?:^|[-_.])(?:global_?|iter_?|ckpt[-_]?)?(?:checkpoint|step|iter|steps?)[-_=]?0*(\d+)"
)


@dataclass(frozen=True)
class Proof:
    """What a restore test found in a checkpoint of so many `bytes`. `step`: None where unknown.

    `bytes_read`: what it read from disk; some of it twice, to let a library load it.
    """

    path: Path
    checks: tuple[Check, ...]
    bytes: int
    bytes_read: int
    seconds: float
    step: int | None = None
    manifest: Manifest | None = None

    @property
    def result(self) -> str:
        """pass, or fail where any check fails."""
        return "fail" if any(check.fails for check in self.checks) else "pass"

    def as_json(self) -> dict[str, Any]:
        """As `headway restore-test --format json` prints it."""
        return {
            "result": self.result,
            "checks": [
                {"name": check.name, "result": check.result, "detail": check.detail}
                for check in self.checks
            ],
            "bytes": self.bytes,
            "bytes_read": self.bytes_read,
            "seconds": round(self.seconds, 3),
            "bytes_per_s": round(self.bytes / self.seconds) if self.seconds else None,
            "path": str(self.path),
            "step": self.step,
            "code_version": self.manifest.code_version if self.manifest else None,
            "data_version": self.manifest.data_version if self.manifest else None,
        }


@dataclass
class Watch:
    """Who is told how a test goes on; overridden to show it."""

    def files_found(self, layout: Layout) -> None:
        """Called once, before the files are read."""

    def file_done(self, outcome: Outcome) -> None:
        """Called after each file."""


@dataclass
class _Faults:
    """What is wrong, by the check that found it."""

    by_check: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    notes: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, check: str, damage: Damage) -> None:
        if (text := str(damage)) not in self.by_check[check]:  # told by manifest and index alike
            self.by_check[check].append(text)

    def check(self, name: str, fine: str) -> Check:
        faults, notes = self.by_check[name], self.notes[name]
        if faults:
            return Check(name, "fail", _listed(faults))
        return Check(name, "warn", _listed(notes)) if notes else Check(name, "pass", fine)


def _listed(texts: list[str]) -> str:
    more = len(texts) - NAMED_FAULTS
    return "; ".join(texts[:NAMED_FAULTS]) + (f"; and {more:,} more" if more > 0 else "")


def prove(
    path: Path,
    rules: Checkpoints,
    expected_step: int | None = None,
    versions: tuple[str | None, str | None] = (None, None),
    watch: Watch | None = None,
) -> Proof:
    """Test the checkpoint at a path by the policy's rules; damage is a verdict, never an error.

    `expected_step`: the one that was marked complete; `versions`: of code and data, as the job's
    submission says them. Raises UsageError where that could read more than `bytes_per_run`, and
    HeadwayError where a process was killed and reading anew could.
    """
    began_s, faults = time.monotonic(), _Faults()
    try:
        if not path.exists():
            raise Damage(Verdict.NOTHING_THERE, f"{path} is not there")
        layout = Layout.of(path)
        if not layout.files and not layout.unfinished:
            raise Damage(Verdict.NOTHING_THERE, f"{path} holds no file")
    except (Damage, PermissionError) as e:
        told = e if isinstance(e, Damage) else Damage(Verdict.NO_PERMISSION, str(path))
        faults.add("shards", told)
        return Proof(path, (faults.check("shards", ""),), 0, 0, time.monotonic() - began_s)
    _check_limit(layout, rules.bytes_per_run)
    set_pace(rules.bytes_per_s)
    test = _Test(layout, rules, faults, watch or Watch())
    test.run()
    checks = (*test.checks(), test.step(expected_step), *test.state(versions))
    seconds = time.monotonic() - began_s
    step = test.found_step(expected_step)
    return Proof(path, checks, test.bytes, test.bytes_read, seconds, step, test.manifest)


def _check_limit(layout: Layout, most: int | None) -> None:
    if most is not None and layout.reading > most:
        raise UsageError(
            f"bandwidth: a test of {layout.root} may read {layout.reading:,} bytes,"
            f" {most:,} are left"
        )


class _Test:
    def __init__(self, layout: Layout, rules: Checkpoints, faults: _Faults, watch: Watch) -> None:
        self.layout, self.rules, self.faults, self.watch = layout, rules, faults, watch
        self.manifest, self.sizes = self._manifest(), layout.sizes()
        self.outcomes: dict[str, Outcome] = {}
        self.loaded, self.loads = "", dict[str, Outcome]()

    def _manifest(self) -> Manifest | None:
        try:
            return read_manifest(self.layout)
        except Damage as e:
            self.faults.add("checksums", e)
            return None

    def run(self) -> None:
        """Read every file, indexes first, and compare."""
        layout, faults = self.layout, self.faults
        for damage in incomplete(layout, self.manifest is not None):
            faults.add("complete", damage)
        if self.manifest is None and self.rules.manifest_required:
            text = f"{layout.manifest.name} is not there; it is written last"
            faults.add("complete", Damage(Verdict.BEING_WRITTEN, text))
        self.watch.files_found(layout)
        first = [n for n in layout.files if n.rpartition("/")[2] == distributed.METADATA]
        with self._readers(read_file, MEMORY) as readers:
            self._read(readers, first)
            self._read(readers, [name for name in layout.files if name not in first])
        self._load()
        self._against_manifest()
        self._against_metadata()
        self._against_indexes()
        self._values()

    def _processes(self) -> int:
        """A process for little; more where that pays."""
        worth = 1 + sum(self.sizes.values()) // A_PROCESS
        return min(self.rules.processes, len(self.layout.files), worth)

    def _readers(self, work: Work, memory: int | None) -> Readers:
        most, pace = self.rules.bytes_per_run, self.rules.bytes_per_s
        may_repeat = most is None or 2 * self.layout.reading <= most
        return Readers(self._processes(), work, pace, memory, may_repeat)

    def _read(self, readers: Readers, names: list[str]) -> None:
        found = readers.read([self._task(name) for name in names], self.watch.file_done)
        self.outcomes |= found
        for name in names:
            if (damage := found[name].damage) is not None:
                self.faults.add("tensors", damage)

    def _task(self, name: str) -> Task:
        return Task(
            self.layout.root,
            name,
            self.sizes[name],
            self.manifest is not None,
            self.rules.largest_expansion,
            tuple(self._parts(name)),
            self.outcomes[name].kind if name in self.outcomes else None,
        )

    def _load(self) -> None:
        """Let the formats' own libraries load what was found whole."""
        whole = {n: o.contents for n, o in self.outcomes.items() if o.kind in LIBRARIES}
        foreign = [n for n, contents in whole.items() if contents and contents.is_foreign]
        with self._readers(load_file, None) as readers:
            tasks = [
                self._task(n) for n, contents in whole.items() if contents and n not in foreign
            ]
            self.loads = readers.read(tasks, lambda outcome: None)
        for outcome in self.loads.values():
            if outcome.damage is not None:
                self.faults.add("loads", outcome.damage)
        notes = {outcome.note for outcome in self.loads.values() if outcome.note}
        notes |= {f"{n}: in another order of bytes: Headway alone read it" for n in foreign}
        self.faults.notes["loads"] += sorted(notes)
        libraries = sorted({outcome.library for outcome in self.loads.values() if outcome.library})
        self.loaded = f"by {' and '.join(libraries)}" if libraries else "by NumPy as they were read"

    def _parts(self, name: str) -> list[distributed.Part]:
        folder, _, file = name.rpartition("/")
        outcome = self.outcomes.get(f"{folder}/{distributed.METADATA}".lstrip("/"))
        index = outcome.index if outcome else None
        return index.parts.get(file, []) if index else []

    # What files should be.

    def _against_manifest(self) -> None:
        covered = self.manifest.files if self.manifest else {}
        by_digest = {found.sha256: name for name, found in covered.items()}
        for name, told in covered.items():
            outcome = self.outcomes.get(name)
            if outcome is None:
                if name not in self.layout.unfinished:
                    self.faults.add("shards", Damage(Verdict.SHARD_MISSING, name))
            elif outcome.sha256 == told.sha256:
                continue
            elif outcome.sha256 in by_digest:
                text = f"{name} holds what {by_digest[outcome.sha256]} should"
                self.faults.add("checksums", Damage(Verdict.SWAPPED, text))
            elif outcome.bytes < told.bytes:
                text = f"{name}: {outcome.bytes:,} of {told.bytes:,} bytes"
                self.faults.add("shards", Damage(Verdict.TRUNCATED, text))
            elif outcome.sha256 is not None or outcome.bytes > told.bytes:
                self.faults.add("checksums", Damage(Verdict.CHECKSUM, name))
        more = [name for name in self.outcomes if self.manifest and name not in covered]
        self.faults.notes["checksums"] += [f"{name} is not in the manifest" for name in more]
        if self.manifest is None:
            text = "no manifest was written when it was saved (`headway manifest PATH`): unproven"
            self.faults.notes["checksums"].append(text)

    def _against_metadata(self) -> None:
        for name, outcome in self.outcomes.items():
            folder = name.rpartition("/")[0]
            for file in outcome.index.parts if outcome.index else ():
                place = f"{folder}/{file}".lstrip("/")
                if place not in self.outcomes:
                    self.faults.add("shards", Damage(Verdict.SHARD_MISSING, place))

    def _against_indexes(self) -> None:
        indexed = [n for n in self.layout.files if documents.is_index(n)]
        for name in indexed:
            if (told := self.outcomes[name].weight_map) is not None:
                self._against_index(name, told)
        if len(self._shards(".safetensors")) > 1 and not indexed:
            self._tensors_once(self._shards(".safetensors"))

    def _against_index(self, index: str, told: dict[str, str]) -> None:
        folder = index.rpartition("/")[0]
        files = {file: f"{folder}/{file}".lstrip("/") for file in told.values()}
        for place in sorted(set(files.values()) - self.outcomes.keys()):
            self.faults.add("shards", Damage(Verdict.SHARD_MISSING, f"{place}, named by {index}"))
        held = self._tensors_once([p for p in files.values() if p in self.outcomes])
        for tensor, file in told.items():
            place = files[file]
            outcome = self.outcomes.get(place)
            if outcome is None or outcome.contents is None or held.get(tensor) == place:
                continue
            if tensor in held:
                text = f"{place} does not hold {tensor}, {held[tensor]} does"
                self.faults.add("shards", Damage(Verdict.SWAPPED, text))
            else:
                text = f"{place} does not hold {tensor}, as {index} says"
                self.faults.add("tensors", Damage(Verdict.TENSOR_MISSING, text))

    def _tensors_once(self, names: list[str]) -> dict[str, str]:
        held: dict[str, str] = {}
        for name in dict.fromkeys(names):
            for tensor in self._tensors(name):
                if tensor.name in held:
                    text = f"{tensor.name} stands in {held[tensor.name]} and in {name}"
                    self.faults.add("tensors", Damage(Verdict.NAMED_TWICE, text))
                held[tensor.name] = name
        return held

    def _shards(self, suffix: str) -> list[str]:
        return [name for name in self.layout.files if name.endswith(suffix) and "/" not in name]

    def _tensors(self, name: str) -> tuple[Tensor, ...]:
        contents = self.outcomes[name].contents
        return contents.tensors if contents else ()

    def _values(self) -> None:
        for name, tensor in self.tensors():
            if tensor.not_finite:
                text = f"{name}: {tensor.not_finite:,} values"
                if self.rules.nan_allowed:
                    self.faults.notes["finite"].append(f"{Verdict.NOT_FINITE}: {text}")
                else:
                    self.faults.add("finite", Damage(Verdict.NOT_FINITE, text))

    # What was found.

    @property
    def bytes(self) -> int:
        """The bytes of all files."""
        return sum(outcome.bytes for outcome in self.outcomes.values())

    @property
    def bytes_read(self) -> int:
        """What was read of all files and of the manifest."""
        read = sum(outcome.read for outcome in (*self.outcomes.values(), *self.loads.values()))
        return read + self.layout.manifest_bytes

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        """Every tensor with its name as file/key."""
        for name in self.outcomes:
            for tensor in self._tensors(name):
                yield f"{name}/{tensor.name}", tensor

    def values(self) -> Iterator[tuple[str, Any]]:
        """Every value beside the tensors with its name as file/key."""
        for name, outcome in self.outcomes.items():
            for key, value in (outcome.contents.values if outcome.contents else {}).items():
                yield f"{name}/{key}", value

    def checks(self) -> Iterator[Check]:
        """What was compared."""
        files, tensors = len(self.outcomes), sum(1 for _ in self.tensors())
        covered = len(self.manifest.files) if self.manifest else 0
        unread = [n for n, o in self.outcomes.items() if o.contents is None and o.index is None]
        if not tensors and not self.faults.by_check["tensors"]:
            text = f"no tensor in {files:,} files; of a format that is not read here?"
            self.faults.add("tensors", Damage(Verdict.NOTHING_THERE, text))
        fine = {
            "complete": "nothing is being written, and what names its shards is there",
            "shards": f"{files:,} files, {self.bytes:,} bytes",
            "checksums": f"{covered:,} files are as the manifest says",
            "tensors": f"{tensors:,} tensors read with the shape and type that their header says"
            + (f"; {len(unread)} other files" if unread else ""),
            "loads": self.loaded,
            "finite": "no NaN and no infinity",
        }
        for name, text in fine.items():
            yield self.faults.check(name, text)

    def found_steps(self) -> set[int]:
        """The steps that values in it say."""
        return {
            value
            for name, value in self.values()
            if type(value) is int and _STEP_KEY.match(name.lower())
        }

    def named_step(self) -> int | None:
        """The step that its name says."""
        told = _STEP_IN_NAME.search(self.layout.root.name.lower())
        return int(told[1]) if told else None

    def found_step(self, expected: int | None) -> int | None:
        """The step that it is of, as far as that is known."""
        told = self.manifest.step if self.manifest else None
        known = (expected, told, *sorted(self.found_steps()), self.named_step())
        return next((step for step in known if step is not None), None)

    def step(self, expected: int | None) -> Check:
        """Whether the step in it is the one that was marked complete. A name alone proves none."""
        marked = {"marked complete": expected}
        marked["in the manifest"] = self.manifest.step if self.manifest else None
        told = {where: step for where, step in marked.items() if step is not None}
        found, steps, named = self.found_steps(), set(told.values()), self.named_step()
        if len(steps) > 1 or (found and steps - found):
            inside = ", ".join(map(str, sorted(found))) or "unknown"
            said = ", ".join(f"{step} {where}" for where, step in told.items())
            self.faults.add("step", Damage(Verdict.WRONG_STEP, f"{said}; inside: {inside}"))
        elif not (steps and found) and len(told) < 2 and steps != {named}:
            known = ", ".join(map(str, sorted(found | steps))) or "none is known"
            hint = "nothing to compare it with" if named is None else f"its name says {named}"
            self.faults.notes["step"].append(f"{known}; {hint}")
        return self.faults.check("step", ", ".join(map(str, sorted(steps))))

    def state(self, versions: tuple[str | None, str | None]) -> Iterator[Check]:
        """Each piece of state that a resume needs; what is missing, with its symptom."""
        unread = sum(outcome.damage is not None for outcome in self.outcomes.values())
        for state in look(self._known(versions)):
            name = f"state: {state.piece.name}"
            if state.found:
                yield Check(name, "pass", state.detail)
            elif unread:
                yield Check(name, "warn", f"unknown: {unread} files could not be read")
            else:
                fails = state.piece is WEIGHTS or self._is_needed(state)
                text = f"{state.detail}; without it: {state.piece.symptom}"
                needed = f"needed for {state.piece.grade}"
                said = f"{Verdict.STATE_MISSING}: {text} ({needed})"
                yield Check(name, "fail" if fails else "warn", said)

    def _is_needed(self, state: State) -> bool:
        needs = self.rules.needs
        return needs == "exact" or (needs == "sound" and state.piece.grade is Grade.SOUND)

    def _known(self, versions: tuple[str | None, str | None]) -> Known:
        tensors, manifest = list(self.tensors()), self.manifest
        told = (
            (versions[0] or (manifest and manifest.code_version), "code version"),
            (versions[1] or (manifest and manifest.data_version), "data version"),
        )
        declared = {name for version, name in told if version}
        declared |= set(manifest.holds) if manifest else set()
        names = [name for name, _ in tensors] + [name for name, _ in self.values()]
        return Known(
            (*names, *self.layout.files), tuple(tensors), frozenset(declared), self._ranks()
        )

    def _ranks(self) -> int | None:
        told = [v for n, v in self.values() if n.endswith("world_size") and type(v) is int]
        parts = [n.rpartition("/")[2] for n in self.layout.files if n.endswith(distributed.SUFFIX)]
        if self.manifest and self.manifest.ranks:
            told.append(self.manifest.ranks)
        if parts:
            told.append(distributed.writers(parts))
        return max(told, default=None)
