"""Checkpoints that torch writes: by torch.save, and by torch.distributed.checkpoint on ranks."""

import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints import faults, flip, proof_of, sealed
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.checkpoints import zipped
from pipelines.checkpoints.source import Source

torch = pytest.importorskip("torch")
RANKS = 3
STEP = 7


@pytest.fixture(scope="session")
def saved_by_ranks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of three ranks. Read only."""
    folder = tmp_path_factory.mktemp("dcp") / "step-7"
    job = Path(__file__).with_name("ranks.py")
    subprocess.run([sys.executable, job, folder, str(RANKS), str(STEP)], check=True, timeout=300)
    return folder


@pytest.fixture
def distributed(saved_by_ranks: Path, tmp_path: Path) -> Path:
    """A copy of it, to be damaged."""
    return Path(shutil.copytree(saved_by_ranks, tmp_path / "step-7"))


def results(path: Path) -> dict[str, str]:
    return {check.name: check.result for check in proof_of(path, STEP).checks}


def test_a_checkpoint_of_several_ranks_passes(distributed: Path) -> None:
    sealed(distributed, step=STEP)
    proof = proof_of(distributed, STEP)
    assert proof.result == "pass"
    told = {check.name: check.detail for check in proof.checks}
    # weight and exp_avg in 3 parts each, scale, and an RNG state of each rank.
    assert told["tensors"].startswith("10 tensors read")
    assert told["state: RNG states"].startswith("of 3 of 3 ranks")
    assert told["step"] == "7"
    assert told["loads"] == f"by torch {torch.__version__}"


def test_without_torch_its_files_are_read_all_the_same_and_the_extra_is_named(
    distributed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    proof = proof_of(sealed(distributed))
    assert proof.result == "pass"
    told = {check.name: check for check in proof.checks}
    assert told["tensors"].detail.startswith("10 tensors read")
    assert told["loads"].result == "warn"
    assert "pip install 'headway[checkpoints]'" in told["loads"].detail


def test_what_torch_does_not_load_fails_although_it_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.save({"w": torch.ones(2)}, tmp_path / "a.pt")

    def refuse(*given: object, **named: object) -> None:
        raise RuntimeError("an operator of the future")

    monkeypatch.setattr("torch.load", refuse)
    assert "torch does not load it: an operator" in faults(tmp_path / "a.pt")["loads"]


def test_what_a_resume_lacks_is_named_with_its_symptom_and_grade(distributed: Path) -> None:
    found = {c.name: c for c in proof_of(distributed).checks if c.name.startswith("state: ")}
    missing = {name.removeprefix("state: ") for name, c in found.items() if c.result == "warn"}
    assert missing == {
        "learning-rate schedule",
        "data-loader position",
        "code version",
        "data version",
    }
    schedule = found["state: learning-rate schedule"].detail
    assert "begins at warm-up" in schedule and "for a statistically sound resume" in schedule
    assert "for a bit-exact resume only" in found["state: code version"].detail
    failing = set(faults(distributed, needs="sound"))
    assert failing == {f"state: {name}" for name in missing - {"code version"}}
    assert set(faults(distributed, needs="exact")) == {f"state: {name}" for name in missing}


def test_what_the_manifest_declares_is_no_longer_missing(distributed: Path) -> None:
    held = ("learning-rate schedule", "data-loader position")
    sealed(distributed, holds=held, code_version="3f1c", data_version="v2")
    assert faults(distributed, needs="exact") == {}


def test_rng_states_of_some_ranks_only_are_missing(distributed: Path) -> None:
    sealed(distributed, ranks=4)
    found = {c.name: c for c in proof_of(distributed).checks}
    assert found["state: RNG states"].result == "warn"
    assert "of 3 of 4 ranks" in found["state: RNG states"].detail


def test_a_missing_part_of_a_rank_is_named(distributed: Path) -> None:
    (distributed / "__1_0.distcp").unlink()
    assert faults(distributed)["shards"] == "shard missing: __1_0.distcp"


def test_what_manifest_and_metadata_miss_alike_is_told_once(distributed: Path) -> None:
    (sealed(distributed) / "__1_0.distcp").unlink()
    assert faults(distributed)["shards"] == "shard missing: __1_0.distcp"


def test_parts_without_metadata_are_still_being_written(distributed: Path) -> None:
    (distributed / ".metadata").unlink()
    assert ".metadata is not there" in faults(distributed)["complete"]


def test_a_truncated_part_is_named(distributed: Path) -> None:
    part = distributed / "__2_0.distcp"
    part.write_bytes(part.read_bytes()[:-100])
    assert "truncated: __2_0.distcp" in faults(distributed)["tensors"]


def test_swapped_parts_are_named_by_the_manifest(distributed: Path) -> None:
    sealed(distributed)
    one, other = distributed / "__1_0.distcp", distributed / "__2_0.distcp"
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)
    assert (
        "shards swapped: __1_0.distcp holds what __2_0.distcp" in faults(distributed)["checksums"]
    )


def test_another_step_than_the_one_marked_complete_is_named(distributed: Path) -> None:
    (check,) = [c for c in proof_of(distributed, 8).checks if c.name == "step"]
    assert check.detail == "another step: 8 marked complete; inside: 7"
    assert check.fails


@pytest.fixture
def state() -> dict[str, Any]:
    """What a trainer saves, with kinds of tensors that torch writes in their own ways."""
    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(4)).sum().backward()
    optimizer.step()
    tied = torch.ones(5)
    return {
        "model": model.state_dict()
        | {"tied": tied, "tied_too": tied, "p": torch.nn.Parameter(tied)},
        "optimizer": optimizer.state_dict(),
        "lr_scheduler": {"last_epoch": 3},
        "global_step": STEP,
        "rng_states": [torch.get_rng_state(), np.random.default_rng(1).bit_generator.state],
        "numpy": np.random.get_state(),
        "strided": torch.arange(100.0)[5:90:3],
        "eighths": torch.ones(4).to(torch.float8_e4m3fn),
        "empty": torch.empty(0, 3),
        "view": torch.arange(12.0).reshape(3, 4).t(),
    }


def test_what_torch_saves_is_read_with_the_shapes_and_types_that_torch_loads(
    state: dict[str, Any], tmp_path: Path
) -> None:
    torch.save(state, tmp_path / "a.pt")
    path = tmp_path / "a.pt"
    found = zipped.read(Source(path, path.stat().st_size, "a.pt"), "a.pt", 100)
    wanted = {
        f"model.{name}": (str(t.dtype).removeprefix("torch."), tuple(t.shape))
        for name, t in state["model"].items()
    } | {
        "strided": ("float32", (29,)),
        "eighths": ("float8_e4m3fn", (4,)),
        "empty": ("float32", (0, 3)),
        "view": ("float32", (4, 3)),
    }
    assert {t.name: (t.dtype, t.shape) for t in found.tensors}.items() >= wanted.items()
    assert found.values["global_step"] == STEP
    assert all(tensor.not_finite == 0 for tensor in found.tensors)
    assert faults(tmp_path / "a.pt") == {}


def test_a_trainers_folder_of_files_of_several_formats_is_one_checkpoint(
    state: dict[str, Any], tmp_path: Path
) -> None:
    from safetensors.torch import save_file

    path = tmp_path / "checkpoint-7"  # as Hugging Face's Trainer lays it out, of two ranks
    path.mkdir()
    save_file(
        {n: t.contiguous().clone() for n, t in state["model"].items()}, path / "model.safetensors"
    )
    torch.save(state["optimizer"], path / "optimizer.pt")
    torch.save({"last_epoch": 7, "_step_count": 8}, path / "scheduler.pt")
    for rank in range(2):
        torch.save(
            {"cpu": torch.get_rng_state(), "numpy": state["numpy"]}, path / f"rng_state_{rank}.pth"
        )
    torch.save(torch.nn.ReLU(), path / "training_args.bin")
    (path / "trainer_state.json").write_text('{"global_step": 7, "epoch": 0.5}', encoding="utf-8")
    sealed(path, step=STEP, ranks=2, code_version="3f1c")
    proof = proof_of(path, STEP)
    found = {c.name.removeprefix("state: "): c.result for c in proof.checks if ": " in c.name}
    assert proof.result == "pass"
    assert {name for name, result in found.items() if result == "warn"} == {
        "data-loader position",
        "parallel layout",
        "data version",
    }


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float64", "float8_e4m3fn"])
def test_a_nan_is_found_whatever_the_type(tmp_path: Path, dtype: str) -> None:
    values = torch.ones(1000)
    values[999] = float("nan")
    torch.save({"weight": values.to(getattr(torch, dtype))}, tmp_path / "a.pt")
    assert faults(tmp_path / "a.pt") == {"finite": "NaN or infinity: a.pt/weight: 1 values"}


def test_what_lies_outside_of_a_view_is_not_its_values(tmp_path: Path) -> None:
    values = torch.full((100,), float("nan"))
    values[10:20] = 1.0
    torch.save({"weight": values[10:20]}, tmp_path / "a.pt")
    assert faults(tmp_path / "a.pt") == {}


def test_a_flipped_bit_is_found_by_the_archives_own_checksum(tmp_path: Path) -> None:
    torch.save({"weight": torch.ones(1000)}, tmp_path / "a.pt")
    place = (tmp_path / "a.pt").read_bytes().index(b"\x00\x00\x80\x3f" * 100)
    flip(tmp_path / "a.pt", place + 2000, mask=1)
    assert "cannot be read: a.pt" in faults(tmp_path / "a.pt")["tensors"]


def test_a_tensor_that_claims_more_than_its_storage_is_named(tmp_path: Path) -> None:
    torch.save({"weight": torch.ones(2, 3)}, tmp_path / "a.pt")
    content = (tmp_path / "a.pt").read_bytes()
    # K\x06 is the storage's count of 6 elements, K\x02K\x03\x86 the shape (2, 3).
    for claim in (
        content.replace(b"K\x06t", b"K\xfft"),
        content.replace(b"K\x02K\x03", b"K\xffK\xff"),
    ):
        assert claim != content
        damaged = tmp_path / "b.pt"
        damaged.write_bytes(claim)
        assert faults(damaged)["tensors"]


def test_a_model_saved_whole_is_read_without_its_class(tmp_path: Path) -> None:
    torch.save(torch.nn.Sequential(torch.nn.Linear(2, 2)), tmp_path / "a.pt")
    assert faults(tmp_path / "a.pt") == {}
    (told,) = [c for c in proof_of(tmp_path / "a.pt").checks if c.name == "loads"]
    assert (told.result, "weights_only refuses classes" in told.detail) == ("warn", True)


def test_a_file_of_the_old_format_is_told(tmp_path: Path) -> None:
    torch.save({"w": torch.ones(2)}, tmp_path / "a.pt", _use_new_zipfile_serialization=False)
    assert "is no whole zip archive of torch.save" in faults(tmp_path / "a.pt")["tensors"]


def test_metadata_whose_parts_do_not_make_up_the_tensor_is_named(distributed: Path) -> None:
    from torch.distributed.checkpoint.metadata import Metadata

    path = distributed / ".metadata"
    told: Metadata = pickle.loads(path.read_bytes())
    told.state_dict_metadata["model.weight"].chunks.pop()
    path.write_bytes(pickle.dumps(told))
    assert "tensor missing: .metadata: model.weight" in faults(distributed)["tensors"]


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_damaged_bytes_of_torchs_files_are_found_and_never_crash(
    saved_by_ranks: Path, tmp_path: Path, data: st.DataObject
) -> None:
    path = tmp_path / "copy"
    if not path.exists():
        sealed(Path(shutil.copytree(saved_by_ranks, path)))
    file = data.draw(st.sampled_from([*sorted(path.glob("*.distcp")), path / ".metadata"]))
    before = file.read_bytes()
    flip(file, data.draw(st.integers(0, len(before) - 1)), data.draw(st.integers(1, 255)))
    try:
        assert "checksums" in faults(path)
    finally:
        file.write_bytes(before)
