"""What a test reads from disk: every byte of a file once, all of it counted, limited and paced."""

import hashlib
import pickle
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints import faults, pace_told, proof_of, read_or_die, sealed, sharded
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file
from test_damage import Clock

from metrics.errors import HeadwayError, UsageError
from pipelines.checkpoints import source
from pipelines.checkpoints.layout import Layout
from pipelines.checkpoints.reading import Readers, Task, read_file
from pipelines.checkpoints.source import Source, reading
from pipelines.checkpoints.verdicts import Damage

torch = pytest.importorskip("torch")

BLOCK, SMALL = 1 << 14, 1 << 18
LARGE = 1_500_000
"""Elements; of four bytes many blocks, and no file that a library may read as a whole."""

SLACK = 4096
"""Bytes that reading the counters of reading takes."""


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint of megabytes stands for one of terabytes."""
    monkeypatch.setattr(source, "BLOCK", BLOCK)
    monkeypatch.setattr(source, "SMALL", SMALL)
    monkeypatch.setattr("pipelines.checkpoints.libraries.SMALL", SMALL)


def arrays(scale: int) -> dict[str, np.ndarray]:
    return {"a": np.ones(LARGE, np.float32) * scale, "b": np.ones((3, 1000), np.float64)}


def safetensors(folder: Path) -> None:
    for number in (1, 2):
        named = {f"{number}.{name}": array for name, array in arrays(number).items()}
        save_file(named, folder / f"part{number}.safetensors")


def torch_save(folder: Path) -> None:
    state = {name: torch.from_numpy(array) for name, array in arrays(1).items()}
    torch.save({"model": state, "many": [torch.ones(n) for n in range(200)]}, folder / "a.pt")


def numpy(folder: Path) -> None:
    np.save(folder / "a.npy", arrays(1)["a"])
    np.savez(folder / "b.npz", **arrays(2))


def torch_distributed(folder: Path) -> None:
    import torch.distributed.checkpoint as dcp

    state = {name: torch.from_numpy(array) for name, array in arrays(1).items()}
    many = {f"m{n}": torch.ones(5000) for n in range(100)}
    dcp.save(state | many, checkpoint_id=folder, no_dist=True)


def an_unknown_format(folder: Path) -> None:
    np.save(folder / "a.npy", arrays(1)["b"])
    (folder / "vocabulary.model").write_bytes(bytes(3_000_000))


FORMATS = [safetensors, torch_save, numpy, torch_distributed, an_unknown_format]


def read_by_this_thread() -> int:
    """Bytes that its system calls read since it began (proc_pid_io(5))."""
    told = Path("/proc/thread-self/io").read_text(encoding="ascii")
    return int(told.partition("rchar: ")[2].split()[0])


@pytest.mark.parametrize("with_manifest", [False, True], ids=["bare", "manifest"])
@pytest.mark.parametrize("save", FORMATS)
def test_what_the_system_read_was_counted_and_foreseen(
    tmp_path: Path, save: Callable[[Path], None], with_manifest: bool
) -> None:
    path = tmp_path / "c"
    path.mkdir()
    save(path)
    if with_manifest:
        sealed(path)
    proof_of(path)  # libraries read files of their own when they are used first
    before = read_by_this_thread()
    proof = proof_of(path)
    read = read_by_this_thread() - before
    assert proof.result == "pass"
    assert read - SLACK <= proof.bytes_read <= Layout.of(path).reading
    # Each byte once; what lies around the data of large files once more.
    assert proof.bytes_read < 1.1 * proof.bytes + 2 * SMALL
    if with_manifest:
        assert read >= proof.bytes


def test_torch_loads_parts_without_reading_their_data_again(tmp_path: Path) -> None:
    torch_distributed(tmp_path)
    proof = proof_of(tmp_path)
    (loads,) = [check for check in proof.checks if check.name == "loads"]
    assert (loads.result, loads.detail) == ("pass", f"by torch {torch.__version__}")
    assert proof.bytes_read - proof.bytes < proof.bytes / 10


def save_zip(path: Path, lengths: list[int]) -> None:
    torch.save({str(n): torch.ones(length) for n, length in enumerate(lengths)}, path)


def save_npz(path: Path, lengths: list[int]) -> None:
    with path.open("wb") as file:
        np.savez(file, *[np.ones(length, np.float32) for length in lengths])


def save_safetensors(path: Path, lengths: list[int]) -> None:
    save_file({str(n): np.ones(k, np.float32) for n, k in enumerate(lengths)}, path)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.sampled_from([(save_zip, "a.pt"), (save_npz, "a.npz"), (save_safetensors, "a.safetensors")]),
    st.lists(st.integers(0, 60_000), min_size=1, max_size=30),
)
def test_every_byte_is_read_once_and_the_digest_is_of_all_of_them(
    tmp_path: Path, how: tuple[Any, str], lengths: list[int]
) -> None:
    save, name = how
    save(tmp_path / name, lengths)
    content = (tmp_path / name).read_bytes()
    outcome = read_file(Task(tmp_path, name, len(content), digest=True, expansion=100))
    assert outcome.damage is None and outcome.contents
    assert len(outcome.contents.tensors) == len(lengths)
    assert outcome.sha256 == hashlib.sha256(content).hexdigest()
    assert outcome.read == len(content)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.integers(0, 40 * BLOCK),
    st.lists(st.tuples(st.integers(0, 40 * BLOCK), st.integers(0, 5 * BLOCK)), max_size=20),
)
def test_however_a_file_is_read_it_is_never_read_for_more_than_it_holds(
    tmp_path: Path, size: int, asked: list[tuple[int, int]]
) -> None:
    content = np.random.default_rng(size).bytes(size)
    (tmp_path / "a").write_bytes(content)
    with Source(tmp_path / "a", size, "a", hashed=True) as found:
        try:
            for begin, length in asked:
                found.seek(begin)
                assert found.read(length) == content[begin : begin + length]
            assert found.sha256() == hashlib.sha256(content).hexdigest()
            assert found.fetched == size
        except Damage as damage:
            assert "its parts overlap" in str(damage)
        assert found.fetched <= size
        assert len(found._blocks) <= source.AHEAD + 4 * source.BEHIND


def test_a_file_that_can_only_be_read_over_and_over_is_damage(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(40 * BLOCK))
    with (
        Source(tmp_path / "a", 40 * BLOCK, "a") as found,
        pytest.raises(Damage, match="zip bomb: a: its parts overlap"),
    ):
        for _ in range(2):
            found.seek(0)
            found.read()


def test_parts_that_lie_in_one_place_are_named(tmp_path: Path) -> None:
    torch_distributed(tmp_path)
    path = tmp_path / ".metadata"
    told = pickle.loads(path.read_bytes())
    places = {index.fqn: index for index in told.storage_data}
    told.storage_data[places["m2"]] = told.storage_data[places["m1"]]
    path.write_bytes(pickle.dumps(told))
    assert "lies where another part does" in faults(tmp_path)["tensors"]


def test_numbers_in_another_order_of_bytes_are_read_without_torch(tmp_path: Path) -> None:
    torch.save({"w": torch.ones(10)}, tmp_path / "little.pt")
    with (
        zipfile.ZipFile(tmp_path / "little.pt") as little,
        zipfile.ZipFile(tmp_path / "big.pt", "w") as big,
    ):
        for name in little.namelist():
            content = little.read(name)
            if "/data/" in name:
                content = np.frombuffer(content, "<f4").astype(">f4").tobytes()
            big.writestr(name, b"big" if name.endswith("byteorder") else content)
    (tmp_path / "little.pt").unlink()
    proof = proof_of(tmp_path)
    (loads,) = [check for check in proof.checks if check.name == "loads"]
    assert (proof.result, loads.result) == ("pass", "warn")
    assert "big.pt: in another order of bytes" in loads.detail


# The pace.


@pytest.mark.parametrize("save", FORMATS)
def test_all_reading_keeps_the_pace(
    tmp_path: Path, save: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(source, "time", clock)
    save(tmp_path)
    sealed(tmp_path)
    proof = proof_of(tmp_path, bytes_per_s=1_000_000)
    assert clock.now_s == pytest.approx(proof.bytes_read / 1e6)
    # A block a wait, or what a small file holds: no burst.
    assert max(clock.naps) <= max(SMALL, BLOCK) / 1e6


def test_processes_share_the_pace(tmp_path: Path) -> None:
    tasks = [Task(tmp_path, name, 0, False, 100) for name in "ab"]
    with Readers(2, pace_told, 300) as readers:
        told = readers.read(tasks, lambda outcome: None)
    assert {outcome.note for outcome in told.values()} == {"150.0"}


# The limit.


def test_a_test_that_may_read_more_than_is_left_does_not_begin(tmp_path: Path) -> None:
    path = sealed(sharded(tmp_path / "c"))
    files = [p.stat().st_size for p in path.iterdir()]
    manifest = (path / "headway.manifest.json").stat().st_size
    most = 2 * (sum(files) - manifest) + manifest  # a library may read all of a small file
    assert proof_of(path, bytes_per_run=most).bytes_read <= most
    with pytest.raises(UsageError, match=f"may read {most:,} bytes, {most - 1:,} are left"):
        proof_of(path, bytes_per_run=most - 1)


@pytest.mark.parametrize("size", [1, SMALL, SMALL + 1, 100 * SMALL, 10**15])
def test_a_second_look_is_at_a_part_of_a_large_file(size: int) -> None:
    assert size < reading(size) <= 2 * size
    assert reading(size) <= size + SMALL + size // 16


def test_what_a_killed_process_read_counts_and_is_read_anew_only_within_the_limit(
    tmp_path: Path,
) -> None:
    tasks = [Task(tmp_path, name, 7, False, 100) for name in ("good", "kills", "kills too")]
    with Readers(1, read_or_die) as readers:
        found = readers.read(tasks, lambda outcome: None)
    assert {name for name, outcome in found.items() if outcome.damage} == {"kills", "kills too"}
    # Each of the two took its process with it twice.
    assert [found[name].read for name in ("kills", "kills too")] == [14, 14]
    with (
        Readers(1, read_or_die, may_repeat=False) as readers,
        pytest.raises(HeadwayError, match="reading them anew would be more than bytes_per_run"),
    ):
        readers.read(tasks, lambda outcome: None)


def test_reading_anew_is_within_the_limit_where_it_allows_for_all_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    class Told(Readers):
        def __init__(self, *given: Any) -> None:
            seen.append(given[-1])
            super().__init__(*given)

    monkeypatch.setattr("pipelines.checkpoints.prove.Readers", Told)
    path = sharded(tmp_path / "c")
    most = Layout.of(path).reading
    for limit in (2 * most - 1, 2 * most, None):
        proof_of(path, bytes_per_run=limit)
    assert seen == [False, False, True, True, True, True]


def test_a_file_that_grew_since_it_was_found_is_not_read_beyond_that(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.ones(1000))
    size = (tmp_path / "a.npy").stat().st_size
    shutil.copyfile(tmp_path / "a.npy", tmp_path / "b")
    with (tmp_path / "a.npy").open("ab") as file:
        file.write(bytes(5000))
    outcome = read_file(Task(tmp_path, "a.npy", size, True, 100))
    assert "changed while it was read" in str(outcome.damage)
    assert outcome.read == size
