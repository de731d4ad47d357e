"""Checkpoints as tests need them: written by the libraries themselves, proven in this process."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from metrics.policy import Checkpoints
from pipelines.checkpoints import source
from pipelines.checkpoints.manifest import write_manifest
from pipelines.checkpoints.prove import Proof, prove
from pipelines.checkpoints.reading import Outcome, Task

STEP = 300


def proof_of(path: Path, step: int | None = None, **rules: Any) -> Proof:
    """A restore test in this process, under the default policy but for `rules`."""
    return prove(path, Checkpoints(**({"processes": 0} | rules)), step)


def faults(path: Path, **rules: Any) -> dict[str, str]:
    """The checks that fail, with what they say."""
    return {check.name: check.detail for check in proof_of(path, **rules).checks if check.fails}


def sealed(path: Path, **about: Any) -> Path:
    """The checkpoint with its manifest."""
    write_manifest(path, about, lambda size, file: None)
    return path


def sharded(folder: Path, shards: int = 3) -> Path:
    """A safetensors checkpoint with an index, a layer a shard."""
    folder.mkdir(parents=True)
    weight_map = {}
    for n in range(1, shards + 1):
        file = f"model-{n:05d}-of-{shards:05d}.safetensors"
        layer = np.arange(24, dtype=np.float32).reshape(4, 6) + n
        named = {f"layers.{n}.weight": layer, f"layers.{n}.bias": np.ones(6, np.float16) * n}
        save_file(named, folder / file)
        weight_map |= dict.fromkeys(named, file)
    index = {"metadata": {"total_size": 120 * shards}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    return folder


def whole(folder: Path) -> Path:
    """Weights as safetensors, with all the state that a resume needs beside them, of 2 ranks."""
    sharded(folder)
    arrays = {"exp_avg": np.ones((4, 6)), "exp_avg_sq": np.zeros((4, 6), np.float32)}
    np.savez(folder / "optimizer.npz", **arrays)
    np.save(folder / "rng_state_0.npy", np.arange(8, dtype=np.uint8))
    np.savez_compressed(folder / "rng_state_1.npz", cpu=np.arange(8, dtype=np.uint8))
    state = {
        "global_step": STEP,
        "samples_seen": 1200,
        "lr_scheduler": {"last_epoch": 300},
        "dataloader": {"position": 1200, "shuffle": 7},
        "grad_scaler": {"scale": 65536.0},
        "world_size": 2,
        "code_version": "3f1c2a9",
        "data_version": "2026-10",
    }
    (folder / "trainer_state.json").write_text(json.dumps(state), encoding="utf-8")
    return folder


def shard(path: Path, number: int = 1) -> Path:
    """A shard of a safetensors checkpoint."""
    return sorted(path.glob("*.safetensors"))[number - 1]


def flip(path: Path, place: int, mask: int = 1) -> None:
    """Damage a byte of a file."""
    content = bytearray(path.read_bytes())
    content[place] ^= mask
    path.write_bytes(content)


def pace_told(task: Task) -> Outcome:
    """Work for a process of its own: it tells that process's pace."""
    return Outcome(task.file, note=str(source._pace._bytes_per_s))


def read_or_die(task: Task) -> Outcome:
    """Work for a process of its own, that some files kill."""
    if task.file.startswith("kills"):
        os._exit(9)
    return Outcome(task.file, task.size, read=task.size)
