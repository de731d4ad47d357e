"""The policy's sections on what is collected: from Prometheus, and how people's names are kept.

Apart from `metrics.policy` because it says what may be read and stored, not what numbers mean.
"""

import re
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from metrics.conventions import TakenState
from metrics.documents import Part

MOST_POINTS = 11_000
"""Prometheus refuses a range query of more points a series (web/api/v1/api.go, query_range)."""

DAY_S = 24 * 3600
PLACEHOLDER = re.compile(r"\{(\w*)\}")
"""A lone word in braces is no PromQL, so a placeholder cannot be mistaken for a selector."""
PLACEHOLDERS = ("cluster", "step")
NODE_STATES = "node_states"
"""The name that all state queries go by together: one decides with the others."""
COMPARED_CLUSTER = re.compile(r"""=\s*["'`]\{cluster\}["'`]""")
"""`=~` and `!~` do not match it."""

DCGM_BLANKS = (
    *(float(0x7FFFFFF0 + kind) for kind in range(4)),
    *(float(0x7FFFFFFFFFFFFFF0 + kind) for kind in range(4)),
    *(float(2**47 + kind) for kind in range(4)),
)
"""What DCGM writes for blank, not found, not supported and not permitted, as int32, int64 and fp64
(dcgm_structs.h, DCGM_INT32_BLANK and its neighbours); Prometheus has all as 64-bit floats."""

Label = Literal["node", "rack", "gpu", "cluster_queue", "tier", "status", "priority_class"]


def server_address(url: str) -> str:
    """The address without a slash at its end. Raises ValueError for one that is none, or that may
    hold a secret: addresses are shown."""
    if not re.fullmatch(r"https?://[^/@?#\s]+(/[^@?#\s]*)?", url):
        raise ValueError(
            "say it like http://host:9090; a token or a password goes into credentials_file"
        )
    return url.rstrip("/")


class _Query(Part):
    query: str

    @field_validator("query")
    @classmethod
    def _placeholders_are_known(cls, query: str) -> str:
        unknown = [n for n in PLACEHOLDER.findall(query) if n and n not in PLACEHOLDERS]
        if unknown:
            raise ValueError(
                f"{{{unknown[0]}}} is no placeholder; there are {{cluster}} and {{step}}"
            )
        if COMPARED_CLUSTER.search(query):
            raise ValueError('{cluster} is a regular expression: write cluster=~"{cluster}"')
        return query


class StateQuery(_Query):
    """A node is in this state while a value of it is above 0, or with `counter` while it grows.

    `absence`: what it means that the query says nothing of a node: that nothing is known of it at
    that moment, or that the node is not in this state.
    """

    state: TakenState
    counter: bool = False
    absence: Literal["unknown", "no"] = "unknown"


class SampleQuery(_Query):
    """A number to keep beside the events; series that agree in `by` are combined into one.

    Of a counter what it grew by since the point before is kept.
    """

    by: tuple[Label, ...] = ()
    combine: Literal["sum", "avg", "min", "max"] = "sum"
    counter: bool = False


_C = 'cluster=~"{cluster}"'

DEFAULT_GPUS = 'kube_node_status_capacity{resource="nvidia_com_gpu",' + _C + "}"

_NOT_READY = 'kube_node_status_condition{condition="Ready",status=~"false|unknown",' + _C + "}"
_BUSY = "DCGM_FI_DEV_GPU_UTIL{" + _C

DEFAULT_STATES = (
    StateQuery(state="down", query=_NOT_READY),
    StateQuery(state="draining", query="kube_node_spec_unschedulable{" + _C + "}"),
    *(
        StateQuery(state="power_capped", query=name + "{" + _C + "}", counter=True, absence="no")
        for name in ("DCGM_FI_DEV_POWER_VIOLATION", "DCGM_FI_DEV_THERMAL_VIOLATION")
    ),
    StateQuery(
        state="allocated",
        query="count by (Hostname) ("
        + _BUSY
        + ',pod!=""}) or 0 * count by (Hostname) ('
        + _BUSY
        + "})",
    ),
)


def _of(metric: str, *by: Label, combine: Literal["sum", "avg", "min"] = "sum") -> SampleQuery:
    return SampleQuery(query=metric + "{" + _C + "}", by=by, combine=combine)


def _grown(metric: str) -> SampleQuery:
    return SampleQuery(query=metric + "{" + _C + "}", by=("cluster_queue",), counter=True)


DEFAULT_SAMPLES = {
    "gpu_activity_percent": _of("DCGM_FI_DEV_GPU_UTIL", combine="avg"),
    "rack_power_w": _of("DCGM_FI_DEV_POWER_USAGE", "rack"),
    "rack_power_limit_w": _of("DCGM_FI_DEV_POWER_MGMT_LIMIT", "rack"),
    "thermal_headroom_c": _of("DCGM_FI_DEV_GPU_TEMP_LIMIT", "rack", combine="min"),
    "queue_length": _of("kueue_pending_workloads", "cluster_queue", "status"),
    "admitted": _grown("kueue_admission_wait_time_seconds_count"),
    "admission_wait_s": _grown("kueue_admission_wait_time_seconds_sum"),
}


class Prometheus(Part):
    """Which server is asked, for what, and how much at once. Times are seconds.

    Points lie `step_s` apart; one request asks for `chunk_s` of them; nothing younger than
    `delay_s` is asked for, since it may not have been scraped yet. A first pull begins `first_s`
    ago. A series that said nothing for longer than `remember_s` has ended: a counter grows over a
    shorter gap, and longer ones are counted so far. `aliases`: labels read under another name. The
    first of `states` that holds is a node's.
    """

    url: str | None = None
    credentials_file: str | None = None
    cluster: Annotated[str | None, Field(pattern=r"^[A-Za-z0-9_.-]+$")] = None
    step_s: int = Field(default=60, gt=0, le=DAY_S)
    chunk_s: int = Field(default=3600, gt=0, le=31 * DAY_S)
    delay_s: int = Field(default=120, ge=0, le=DAY_S)
    first_s: int = Field(default=DAY_S, gt=0, le=366 * DAY_S)
    remember_s: int = Field(default=900, ge=0, le=DAY_S)
    timeout_s: int = Field(default=30, gt=0, le=3600)
    retries: int = Field(default=4, ge=0, le=20)
    keep_days: int = Field(default=35, ge=1, le=36_600)
    sentinels: tuple[float, ...] = DCGM_BLANKS
    aliases: dict[str, Label] = Field(default={"Hostname": "node"})
    gpus: str = DEFAULT_GPUS
    states: tuple[StateQuery, ...] = DEFAULT_STATES
    samples: dict[str, SampleQuery] = Field(default=DEFAULT_SAMPLES)

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, url: str | None) -> str | None:
        return None if url is None else server_address(url)

    @field_validator("gpus")
    @classmethod
    def _is_a_query(cls, query: str) -> str:
        return _Query(query=query).query

    @field_validator("samples")
    @classmethod
    def _no_sample_is_called_like_the_states(
        cls, samples: dict[str, SampleQuery]
    ) -> dict[str, SampleQuery]:
        if NODE_STATES in samples:
            raise ValueError(f"{NODE_STATES} are those of states; call the sample otherwise")
        return samples

    @model_validator(mode="after")
    def _a_chunk_is_answered(self) -> "Prometheus":
        remembered = max(-(-self.remember_s // self.step_s), 1)
        most = MOST_POINTS - 1 - remembered
        if not self.step_s <= self.chunk_s <= most * self.step_s:
            raise ValueError(
                f"chunk_s {self.chunk_s} must hold from 1 to {max(most, 1):,} steps of"
                f" {self.step_s} s: with the {remembered:,} of remember_s before it, Prometheus"
                " answers no more at once"
            )
        return self


class Privacy(Part):
    """Whether people's names are replaced before anything is stored, and where the salt stands."""

    hash_users: bool = False
    salt_file: str | None = None
