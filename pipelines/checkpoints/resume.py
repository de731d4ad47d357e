"""What a resume needs, how it is found in a checkpoint, and what happens where it is missing.

Names are those of torch, Lightning, Hugging Face's Trainer, Megatron and DeepSpeed. What a
checkpoint calls otherwise is declared in its manifest (`headway manifest --holds`).
"""

import enum
import re
from collections.abc import Iterable
from dataclasses import dataclass

from pipelines.checkpoints.contents import Tensor


class Grade(enum.StrEnum):
    """What a piece of state is needed for."""

    SOUND = "a statistically sound resume"
    EXACT = "a bit-exact resume only"


@dataclass(frozen=True)
class Piece:
    """A piece of state: how its names look (file/key, lower case), and the symptom without it."""

    name: str
    grade: Grade
    pattern: str
    symptom: str


PIECES = (
    Piece(
        "optimizer",
        Grade.SOUND,
        r"optim|exp_avg|momentum_buffer|\badam",
        "moments begin at zero: the loss jumps, and may not come back",
    ),
    Piece(
        "learning-rate schedule",
        Grade.SOUND,
        r"lr_sched|scheduler|schedule\b|lr_state|param_sched",
        "the learning rate begins at warm-up or at its peak again",
    ),
    Piece(
        "step",
        Grade.SOUND,
        r"(^|[./])(global_?steps?|iteration|iter|step|steps|trained_steps)$",
        "the run counts from 0: schedules, evaluations and the end come at the wrong step",
    ),
    Piece(
        "samples seen",
        Grade.SOUND,
        r"(?<![a-z])(samples|tokens_seen|consumed_tokens|num_(input_)?tokens|epoch)",
        "whatever goes by samples or tokens (schedules, the mixture) is off",
    ),
    Piece(
        "data-loader position",
        Grade.SOUND,
        r"data_?(loader|iter|position|stream|module|state)|(?<![a-z])sampler|dataset_state"
        r"|consumed_\w*samples",
        "data come again that were seen, others never: the loss falls without learning",
    ),
    Piece(
        "RNG states",
        Grade.EXACT,
        r"rng|random_state|random_states|\bseed\b",
        "dropout and shuffling differ on those ranks: the run cannot be reproduced",
    ),
    Piece(
        "loss scaler",
        Grade.EXACT,
        r"grad_?scaler|loss_?scal|(^|[./])scaler|\bamp\b",
        "the scale begins at its start value: the first steps overflow and are skipped",
    ),
    Piece(
        "parallel layout",
        Grade.EXACT,
        r"world_size|(model|tensor|pipeline|data|context|expert)_parallel|parallel_(state|layout)"
        r"|device_mesh|(?<![a-z])[tpd]p_size|num_ranks|(^|[./])\.metadata",
        "another layout sums in another order; shards that fit no other one do not load",
    ),
    Piece(
        "code version",
        Grade.EXACT,
        r"code_version|git_?(sha|commit|hash|rev)|(?<![a-z])commit(?![a-z])|framework_version"
        r"|lightning.version",
        "other code may do other arithmetic, or not know these keys",
    ),
    Piece(
        "data version",
        Grade.SOUND,
        r"data_?(set)?_version|dataset_(hash|revision|fingerprint)",
        "a position in other data is another position: samples are skipped or repeated",
    ),
)

WEIGHTS = Piece(
    "weights", Grade.SOUND, "", "there is nothing to resume from: training begins from scratch"
)
NAMES = (WEIGHTS.name, *(piece.name for piece in PIECES))
"""What may be declared."""

_PER_RANK = re.compile(
    r"(?:rng|random)[a-z_]*?(?:rank)?[._/-]?(\d+)(?!\d)|rank[._-]?(\d+)\D.*(?:rng|random)"
)


@dataclass(frozen=True)
class Known:
    """What was found in a checkpoint: names as file/key, tensors, and what its manifest declares.

    `ranks`: how many wrote it, None where that is not known.
    """

    names: tuple[str, ...]
    tensors: tuple[tuple[str, Tensor], ...]
    declared: frozenset[str] = frozenset()
    ranks: int | None = None


@dataclass(frozen=True)
class State:
    """Whether a piece of state is there, with where, or with what is missing."""

    piece: Piece
    found: bool
    detail: str


def look(known: Known) -> list[State]:
    """Each piece of state, found or missing."""
    return [_weights(known), *(_find(piece, known) for piece in PIECES)]


def _weights(known: Known) -> State:
    other = re.compile("|".join(piece.pattern for piece in PIECES if piece.pattern))
    found = [
        name for name, tensor in known.tensors if tensor.is_float and not other.search(name.lower())
    ]
    if found or WEIGHTS.name in known.declared:
        return State(WEIGHTS, True, f"{len(found):,} tensors")
    return State(WEIGHTS, False, "no tensor of floating-point numbers that looks like weights")


def _find(piece: Piece, known: Known) -> State:
    if piece.name in known.declared:
        return State(piece, True, "declared in the manifest")
    pattern = re.compile(piece.pattern)
    names = [name for name in known.names if pattern.search(name.lower())]
    if piece.name == "RNG states" and names:
        return _rng(piece, names, known.ranks)
    if names:
        more = f" and {len(names) - 1:,} more" if len(names) > 1 else ""
        return State(piece, True, names[0] + more)
    if piece.name == "loss scaler" and not _uses_float16(known.tensors):
        return State(piece, True, "not needed: no tensor is float16")
    return State(piece, False, "no key or file is called like it")


def _rng(piece: Piece, names: list[str], ranks: int | None) -> State:
    numbers = {
        int(next(filter(None, told.groups())))
        for name in names
        if (told := _PER_RANK.search(name.lower()))
    }
    held = max(len(numbers), 1)
    if ranks is not None and held < ranks:
        return State(piece, False, f"of {held} of {ranks} ranks: {names[0]}")
    return State(piece, True, f"of {held} of {ranks or 'an unknown number of'} ranks: {names[0]}")


def _uses_float16(tensors: Iterable[tuple[str, Tensor]]) -> bool:
    return any(tensor.dtype == "float16" for _, tensor in tensors)
