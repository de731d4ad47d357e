"""Every kind of damage has its verdict, and never a crash; what is whole passes."""

import json
import os
import pickle
import struct
import tempfile
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from checkpoints import STEP, faults, flip, proof_of, sealed, shard, sharded, whole
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from metrics.errors import HeadwayError
from metrics.policy import Checkpoints
from pipelines.checkpoints.contents import CHUNK, Contents
from pipelines.checkpoints.prove import Watch, prove
from pipelines.checkpoints.reading import Outcome, Task, read_file
from pipelines.checkpoints.source import Pace, Source


def test_a_whole_checkpoint_passes_every_check(tmp_path: Path) -> None:
    proof = proof_of(sealed(whole(tmp_path / "c"), step=STEP), STEP)
    assert {check.name: check.result for check in proof.checks if check.result != "pass"} == {}
    assert proof.result == "pass"
    # Its manifest is no part of what it covers.
    files = [p for p in (tmp_path / "c").iterdir() if p.name != "headway.manifest.json"]
    assert proof.bytes == sum(p.stat().st_size for p in files)
    assert proof.step == STEP


def test_on_processes_of_its_own_the_verdicts_are_the_same(tmp_path: Path) -> None:
    path = sealed(whole(tmp_path / "c"))
    flip(shard(path), -1)
    here = proof_of(path)
    there = prove(path, Checkpoints(processes=2))
    assert there.checks == here.checks


def missing(path: Path) -> None:
    shard(path, 2).unlink()


def truncated(path: Path) -> None:
    content = shard(path).read_bytes()
    shard(path).write_bytes(content[:-5])


def one_bit(path: Path) -> None:
    flip(shard(path), -1)


def swapped(path: Path) -> None:
    first, second = shard(path, 1), shard(path, 2)
    one, other = first.read_bytes(), second.read_bytes()
    first.write_bytes(other)
    second.write_bytes(one)


def named_twice(path: Path) -> None:
    index = path / "model.safetensors.index.json"
    text = index.read_text(encoding="utf-8")
    twice = '"layers.1.weight": "model-00002-of-00003.safetensors", '
    index.write_text(text.replace('"weight_map": {', '"weight_map": {' + twice), encoding="utf-8")


def being_written(path: Path) -> None:
    (path / "model-00004-of-00004.safetensors.tmp").write_bytes(b"...")


def petabyte_header(path: Path) -> None:
    content = shard(path).read_bytes()
    shard(path).write_bytes(struct.pack("<Q", 1 << 50) + content[8:])


def petabyte_tensor(path: Path) -> None:
    entry = {"dtype": "F32", "shape": [1 << 48], "data_offsets": [0, 1 << 50]}
    header = json.dumps({"layers.1.weight": entry}).encode()
    shard(path).write_bytes(struct.pack("<Q", len(header)) + header + b"\0" * 64)


def linked_out(path: Path) -> None:
    outside = path.parent / "outside.safetensors"
    shard(path).rename(outside)
    (path / "model-00001-of-00003.safetensors").symlink_to(outside)


def index_outside(path: Path) -> None:
    index = path / "model.safetensors.index.json"
    told = {"weight_map": {"layers.1.weight": "../outside.safetensors"}}
    index.write_text(json.dumps(told), encoding="utf-8")


def fifo(path: Path) -> None:
    shard(path).unlink()
    os.mkfifo(path / "model-00001-of-00003.safetensors")


def no_header(path: Path) -> None:
    shard(path).write_bytes(b"\1\2")


def nothing_in_it(path: Path) -> None:
    shard(path).write_bytes(b"")


def a_hole(path: Path) -> None:
    entry = {"dtype": "U8", "shape": [4], "data_offsets": [4, 8]}
    header = json.dumps({"a": entry}).encode()
    shard(path).write_bytes(struct.pack("<Q", len(header)) + header + b"\0" * 8)


def more_at_the_end(path: Path) -> None:
    shard(path).write_bytes(shard(path).read_bytes() + b"\0")


def nan(path: Path) -> None:
    save_file({"layers.1.weight": np.array([1, np.nan, np.inf], np.float32),
               "layers.1.bias": np.ones(6, np.float16)}, shard(path))  # fmt: skip


Damaging = Callable[[Path], None]


@pytest.mark.parametrize(
    ("damage", "check", "verdict"),
    [
        (missing, "shards", "shard missing: model-00002"),
        (truncated, "tensors", "truncated: model-00001"),
        (swapped, "shards", "shards swapped: model-00001"),
        (named_twice, "tensors", "tensor named twice: model.safetensors.index.json"),
        (being_written, "complete", "still being written: model-00004"),
        (petabyte_header, "tensors", "header claims more than a file can hold: model-00001"),
        (petabyte_tensor, "tensors", "header claims more than a file can hold: model-00001"),
        (linked_out, "shards", "link out of the directory: model-00001"),
        (index_outside, "tensors", "link out of the directory: model.safetensors.index"),
        (fifo, "shards", "cannot be read: model-00001"),
        (no_header, "tensors", "truncated: model-00001"),
        (nothing_in_it, "tensors", "truncated: model-00001"),
        (a_hole, "tensors", "cannot be read: model-00001"),
        (more_at_the_end, "tensors", "cannot be read: model-00001"),
        (nan, "finite", "NaN or infinity: model-00001-of-00003.safetensors/layers.1.weight: 2 val"),
    ],
)
def test_damage_is_named_without_a_manifest(
    tmp_path: Path, damage: Damaging, check: str, verdict: str
) -> None:
    path = sharded(tmp_path / "c")
    assert faults(path) == {}
    damage(path)
    assert verdict in faults(path).get(check, "nothing")


@pytest.mark.parametrize(
    ("damage", "check", "verdict"),
    [
        (missing, "shards", "shard missing: model-00002"),
        (truncated, "shards", "truncated: model-00001"),
        (one_bit, "checksums", "checksum differs: model-00001"),
        (swapped, "checksums", "shards swapped: model-00001"),
        (named_twice, "tensors", "tensor named twice: model.safetensors.index.json"),
        (being_written, "complete", "still being written: model-00004"),
        (petabyte_header, "checksums", "checksum differs: model-00001"),
        (more_at_the_end, "checksums", "checksum differs: model-00001"),
        (nan, "shards", "truncated: model-00001"),
    ],
)
def test_damage_is_named_against_the_manifest(
    tmp_path: Path, damage: Damaging, check: str, verdict: str
) -> None:
    path = sealed(sharded(tmp_path / "c"))
    damage(path)
    assert verdict in faults(path).get(check, "nothing")


def test_a_file_that_grew_since_its_manifest_is_not_called_truncated(tmp_path: Path) -> None:
    path = sealed(whole(tmp_path / "c"))
    with (path / "trainer_state.json").open("a", encoding="utf-8") as file:
        file.write("\n")
    assert faults(path) == {"checksums": "checksum differs: trainer_state.json"}


def test_numbered_shards_without_an_index_are_still_being_written(tmp_path: Path) -> None:
    path = sharded(tmp_path / "c")
    (path / "model.safetensors.index.json").unlink()
    shard(path, 3).unlink()
    assert "2 of 3 shards, and no index" in faults(path)["complete"]


def test_a_tensor_that_stands_in_two_shards_is_named(tmp_path: Path) -> None:
    path = sharded(tmp_path / "c")
    save_file({"layers.2.weight": np.ones(3, np.float32)}, shard(path, 1))
    assert "layers.2.weight stands in" in faults(path)["tensors"]


def test_a_directory_whose_writer_has_not_renamed_it_is_still_being_written(
    tmp_path: Path,
) -> None:
    assert "still being written" in faults(sharded(tmp_path / "tmp-checkpoint-300"))["complete"]


def test_no_manifest_is_written_of_a_checkpoint_that_is_being_written(tmp_path: Path) -> None:
    path = sharded(tmp_path / "c")
    being_written(path)
    with pytest.raises(HeadwayError, match=r"still being written.*no manifest was written"):
        sealed(path)
    assert not (path / "headway.manifest.json").exists()


def test_a_policy_that_asks_for_manifests_takes_none_for_unfinished(tmp_path: Path) -> None:
    path = sharded(tmp_path / "c")
    assert "written last" in faults(path, manifest_required=True)["complete"]
    assert faults(sealed(path), manifest_required=True) == {}


def test_a_damaged_manifest_is_no_proof(tmp_path: Path) -> None:
    path = sealed(sharded(tmp_path / "c"), step=3)
    manifest = path / "headway.manifest.json"
    manifest.write_text(manifest.read_text().replace('"step": 3', '"step": 4'))
    assert "is not as it was written" in faults(path)["checksums"]


def test_a_file_that_the_manifest_does_not_know_is_told(tmp_path: Path) -> None:
    path = sealed(sharded(tmp_path / "c"))
    (path / "notes.txt").write_text("later")
    (note,) = [c for c in proof_of(path).checks if c.name == "checksums"]
    assert (note.result, note.detail) == ("warn", "notes.txt is not in the manifest")


def test_a_checkpoint_of_one_file_has_its_manifest_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_file({"weight": np.ones(4, np.float32)}, path)
    sealed(path)
    assert faults(path) == {}
    flip(path, -1)
    assert "checksum differs" in faults(path)["checksums"]


class Deleter(Watch):
    """Takes a file away once the test has begun."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def files_found(self, layout: object) -> None:
        self.path.unlink()


def test_a_file_that_is_deleted_while_it_is_read_is_named(tmp_path: Path) -> None:
    path = sharded(tmp_path / "c")
    proof = prove(path, Checkpoints(processes=0), watch=Deleter(shard(path, 3)))
    (fault,) = [check.detail for check in proof.checks if check.fails]
    assert "deleted while it was read: model-00003" in fault


def test_a_file_that_somebody_writes_while_it_is_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = shard(sharded(tmp_path / "c"))

    def read_and_grow(source: Source, name: str) -> Contents:
        path.write_bytes(path.read_bytes() + b"\0")
        return Contents()

    monkeypatch.setattr("pipelines.checkpoints.reading.safetensors.read", read_and_grow)
    outcome: Outcome = read_file(Task(path.parent, path.name, path.stat().st_size, False, 100))
    assert "changed while it was read" in str(outcome.damage)


def test_what_may_not_be_read_is_named(tmp_path: Path) -> None:
    path = sharded(tmp_path / "c")
    root = Path(tempfile.gettempdir()).resolve()
    for folder in (path, *path.parents):
        if folder != root and folder.is_relative_to(root) and folder.owner() == path.owner():
            folder.chmod(0o755)
    shard(path).chmod(0)
    is_root = os.geteuid() == 0
    if is_root:  # whom no permission stops
        os.seteuid(65534)
    try:
        found = faults(path)
    finally:
        if is_root:
            os.seteuid(0)
    assert "no permission" in found["tensors"]


def test_a_file_that_kills_its_reader_takes_no_other_with_it(tmp_path: Path) -> None:
    path = sharded(tmp_path / "c")
    for name in ("a.pt", "b.pt"):
        torch_archive(path / name, b"\x80\x02K\0" + b"r\xf0\xff\xff\xff" + b".")
    proof = prove(path, Checkpoints(processes=2))
    (told,) = [c.detail for c in proof.checks if c.name == "tensors"]
    assert "a.pt" in told and "b.pt" in told and "model-" not in told


def test_hidden_files_belong_to_it_and_halves_of_copies_are_being_written(tmp_path: Path) -> None:
    path = sealed(sharded(tmp_path / "c"))
    (path / ".gitattributes").write_text("*.safetensors")
    assert faults(sealed(path)) == {}
    flip(path / ".gitattributes", 0)
    assert "checksum differs: .gitattributes" in faults(path)["checksums"]
    (path / ".model-00004.safetensors.Xa91bQ").write_bytes(b"")  # as rsync names it
    assert "still being written" in faults(path)["complete"]


def test_a_link_to_nothing_is_a_missing_shard(tmp_path: Path) -> None:
    path = sharded(tmp_path / "c")
    (path / "more.safetensors").symlink_to(path / "nowhere")
    assert "shard missing: more.safetensors is a link to nothing" in faults(path)["shards"]


def test_a_link_within_the_directory_is_followed(tmp_path: Path) -> None:
    path = sharded(tmp_path / "c")
    shard(path).rename(path / "blob")
    (path / "model-00001-of-00003.safetensors").symlink_to("blob")
    assert faults(sealed(path)) == {}


def test_a_name_that_is_no_text_gets_no_manifest_and_no_crash(tmp_path: Path) -> None:
    path = sharded(tmp_path / "c")
    Path(os.fsdecode(os.fsencode(path) + b"/odd\xff.txt")).write_text("odd")
    with pytest.raises(HeadwayError, match="no manifest was written"):
        sealed(path)
    assert faults(path) == {}


def test_a_name_that_says_another_step_is_told_and_is_no_failure(tmp_path: Path) -> None:
    path = sealed(sharded(tmp_path / "checkpoint-7"))
    (told,) = [c for c in proof_of(path, 8).checks if c.name == "step"]
    assert (told.result, told.detail) == ("warn", "8; its name says 7")
    (told,) = [c for c in proof_of(path, 7).checks if c.name == "step"]
    assert (told.result, told.detail) == ("pass", "7")


def test_a_path_without_any_checkpoint_is_told(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "readme.txt").write_text("nothing")
    assert "no checkpoint" in faults(tmp_path / "empty")["shards"]
    assert "no checkpoint" in faults(tmp_path / "nowhere")["shards"]
    assert "no tensor in 1 files" in faults(tmp_path / "text")["tensors"]


def test_a_tensor_is_read_in_pieces_however_large_it_is(tmp_path: Path) -> None:
    size = 400 << 20
    entry = {"dtype": "F32", "shape": [size // 4], "data_offsets": [0, size]}
    header = json.dumps({"weight": entry}).encode()
    with (tmp_path / "a.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        file.truncate(8 + len(header) + size)  # zeros that take no room
    tracemalloc.start()
    try:
        outcome = read_file(Task(tmp_path, "a.safetensors", 8 + len(header) + size, False, 100))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert outcome.contents and outcome.contents.tensors[0].shape == (size // 4,)
    assert peak < 10 * CHUNK < size


class Clock:
    """A clock that moves only while somebody sleeps; `naps` is what was slept."""

    def __init__(self) -> None:
        self.now_s, self.naps = 0.0, []

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        self.naps.append(seconds)


def test_a_pace_is_kept_from_any_moment_on(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("pipelines.checkpoints.source.time", clock)
    pace = Pace(50)
    pace.takes(100)
    assert clock.now_s == 2.0
    clock.now_s = 1000.0  # nothing was read for long: that is not caught up
    pace.takes(25)
    pace.takes(50)
    assert clock.now_s == 1001.5
    Pace(None).takes(1 << 60)
    assert clock.naps == [2.0, 0.5, 1.0]


# NumPy's archives.


def archive(path: Path, entries: list[tuple[str, bytes]], how: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", how) as made:
        for name, content in entries:
            made.writestr(name, content)
    return path


def npy(shape: tuple[int, ...], content: bytes) -> bytes:
    told = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(told)) + told.encode() + content


def test_a_zip_bomb_is_named_and_not_unpacked(tmp_path: Path) -> None:
    size = 1 << 27
    archive(tmp_path / "a.npz", [("a.npy", npy((size // 4,), b"\0" * size))])
    found = faults(tmp_path / "a.npz")["tensors"]
    assert "zip bomb: a.npz" in found
    assert faults(tmp_path / "a.npz", largest_expansion=2000) == {}


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_archive_that_names_an_array_twice_is_told(tmp_path: Path) -> None:
    entry = ("a.npy", npy((1,), b"\0" * 4))
    archive(tmp_path / "a.npz", [entry, entry])
    assert "tensor named twice" in faults(tmp_path / "a.npz")["tensors"]


@pytest.mark.parametrize(
    ("content", "verdict"),
    [
        (npy((1 << 50,), b"\0" * 64), "header claims more than a file can hold"),
        (npy((5,), b"\0" * 16), "truncated"),
        (npy((3,), b"\0" * 16), "belong to no array"),
        (b"\x93NUMPY\x01\x00\xff\xff{", "cannot be read"),
        (b"", "truncated: a.npy: is empty"),
        (npy((2,), struct.pack("<2f", 1, float("inf"))), "NaN or infinity"),
    ],
    ids=["a petabyte", "truncated", "too long", "torn header", "empty", "infinity"],
)
def test_a_bad_array_is_named(tmp_path: Path, content: bytes, verdict: str) -> None:
    (tmp_path / "a.npy").write_bytes(content)
    assert any(verdict in text for text in faults(tmp_path / "a.npy").values())


@pytest.mark.parametrize(
    "name",
    ["a.safetensors", "a.npz", "a.npy", "a.pt", "a.ckpt", "a.json", "x.safetensors.index.json"],
)
def test_a_file_of_no_bytes_is_said_to_be_empty(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    assert faults(tmp_path / name)["tensors"] == f"truncated: {name}: is empty, 0 bytes long"


def test_an_array_of_objects_is_not_unpickled(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    assert "is a pickle, and is not read" in faults(tmp_path / "a.npy")["tensors"]


@pytest.mark.parametrize("kind", [">f4", ">f8", "<c8", "<f2"])
def test_nan_is_found_in_every_order_of_bytes(tmp_path: Path, kind: str) -> None:
    values = np.ones(10, kind)
    np.save(tmp_path / "a.npy", values)
    assert faults(tmp_path / "a.npy") == {}
    values[7] = np.nan
    np.save(tmp_path / "a.npy", values)
    assert "a.npy/a: 1 values" in faults(tmp_path / "a.npy")["finite"]
    assert proof_of(tmp_path / "a.npy", nan_allowed=True).result == "pass"


# Pickles that are no checkpoint.


class Harm:
    """Runs a command when it is unpickled as pickle does."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (f"touch {self.mark}",)


def torch_archive(path: Path, pickled: bytes, records: dict[str, bytes] | None = None) -> Path:
    entries = [("archive/data.pkl", pickled), ("archive/version", b"3\n")]
    entries += [(f"archive/data/{key}", content) for key, content in (records or {}).items()]
    return archive(path, entries, zipfile.ZIP_STORED)


def test_nothing_that_a_pickle_asks_for_is_run(tmp_path: Path) -> None:
    mark = tmp_path / "harmed"
    pickled = pickle.dumps({"model": Harm(mark)})
    torch_archive(tmp_path / "a.pt", pickled)
    folder = tmp_path / "dcp"
    folder.mkdir()
    (folder / ".metadata").write_bytes(pickled)
    (folder / "__0_0.distcp").write_bytes(b"")
    faults(tmp_path / "a.pt")
    assert "cannot be read: .metadata" in faults(folder)["tensors"]
    assert not mark.exists()
    pickle.loads(pickled)  # as it would have been
    assert mark.exists()


def test_a_pickle_that_kills_its_reader_is_a_verdict(tmp_path: Path) -> None:
    # A memo of four thousand million places: tens of gigabytes, in one instruction.
    torch_archive(tmp_path / "a.pt", b"\x80\x02Kr" + b"r\xf0\xff\xff\xff" + b".")
    proof = prove(tmp_path / "a.pt", Checkpoints(processes=1))
    (fault,) = [c.detail for c in proof.checks if c.name == "tensors"]
    assert fault.startswith("cannot be read: a.pt")


@pytest.mark.parametrize(
    "pickled", [b"", b".", b"\x80\x02", b"(" * 1000 + b".", b"cos\nsystem\n(S'x'\ntR."]
)
def test_a_pickle_that_makes_no_sense_is_no_crash(tmp_path: Path, pickled: bytes) -> None:
    torch_archive(tmp_path / "a.pt", pickled)
    assert faults(tmp_path / "a.pt")["tensors"]


def test_a_shared_tree_of_pickled_lists_is_walked_once(tmp_path: Path) -> None:
    tree: list[object] = []
    for _ in range(100):
        tree = [tree, tree]  # 2^100 leaves for who walks each path
    torch_archive(tmp_path / "a.pt", pickle.dumps(tree))
    assert "no tensor" in faults(tmp_path / "a.pt")["tensors"]


# Properties.


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sealed(whole(tmp_path_factory.mktemp("good") / "c"), step=STEP)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_any_damaged_byte_of_a_covered_file_is_found(good: Path, data: st.DataObject) -> None:
    names = sorted(p.name for p in good.iterdir() if p.name != "headway.manifest.json")
    file = good / data.draw(st.sampled_from(names))
    before = file.read_bytes()
    place = data.draw(st.integers(0, len(before) - 1))
    flip(file, place, data.draw(st.integers(1, 255)))
    try:
        assert "checksums" in faults(good)
    finally:
        file.write_bytes(before)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_damage_without_a_manifest_is_ever_a_crash(good: Path, data: st.DataObject) -> None:
    files = [p for p in sorted(good.iterdir()) if p.name != "headway.manifest.json"]
    chosen = data.draw(st.sampled_from(files))
    content = chosen.read_bytes()
    cut = data.draw(st.integers(0, len(content)))
    filled = data.draw(st.binary(max_size=16))
    with tempfile.TemporaryDirectory() as folder:
        damaged = Path(folder) / chosen.name
        damaged.write_bytes(content[:cut] + filled + content[cut + len(filled) :])
        assert proof_of(damaged).result in ("pass", "fail")
