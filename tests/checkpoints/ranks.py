"""A job of several ranks on this machine that saves its shards: `ranks.py FOLDER RANKS STEP`.

It imports torch once and forks; a spawned process a rank would import it that many times.
"""

import os
import socket
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import multiprocessing
from torch.distributed.tensor import Shard, distribute_tensor, init_device_mesh


def save(rank: int, ranks: int, port: int, folder: str, step: int) -> None:
    """Save one rank's part; the tensor of 7 rows is split unevenly."""
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    mesh = init_device_mesh("cpu", (ranks,))
    weight = distribute_tensor(torch.arange(28.0).reshape(7, 4), mesh, [Shard(0)])
    state = {
        "model": {"weight": weight, "scale": torch.ones(3, dtype=torch.bfloat16)},
        "optimizer": {"exp_avg": weight * 0.5},
        "step": step,
        "epoch": 1,
        f"rng_{rank}": torch.get_rng_state(),
    }
    dcp.save(state, checkpoint_id=folder)
    dist.destroy_process_group()


if __name__ == "__main__":
    folder, ranks, step = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    multiprocessing.start_processes(
        save, (ranks, port, folder, step), nprocs=ranks, start_method="fork"
    )
