"""A real Prometheus on the loopback, filled with two hours of a cluster of two nodes.

B is the first moment, the numbers after it are minutes, a sample lies on each:

    node-a  10 to 99   a pod has its GPUs
            30, 31     its power violation counter grows, so it is capped
            40         that counter begins anew at 0
            50 to 54   no sample of it at all
            80 to 89   it takes no new pods
    node-b  20 to 24   DCGM has no utilization of its GPU 1 and says 2147483632
            26         the utilization of its GPU 0 is NaN
            60 to 69   it is not ready
    queue   15         a job is admitted after 30 s
            60         kueue's counters begin anew
            75         a job is admitted after 600 s
            60 on      5 jobs are pending, 3 before

Two GPUs a node: 80 % busy on node-a, 20 % on node-b.
"""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import services

MINUTE_S = 60
MINUTES = 120
MINUTE_US = MINUTE_S * 10**6
SECRET_POD = "PLANTED-pod-of-alice"
BLANK = 2147483632


def beginning_s() -> int:
    """B: a whole hour, some hours ago."""
    return (int(time.time()) // 3600 - 5) * 3600


def _series(name: str, value: object, **labels: str) -> str:
    inside = ",".join(f'{key}="{said}"' for key, said in labels.items())
    return f"{name}{{{inside}}} {value}"


def _of_node(node: str, minute: int) -> Iterator[str]:
    busy = node == "node-a" and 10 <= minute < 100
    kube = {"node": node, "cluster": "west"}
    yield _series("kube_node_status_capacity", 2, resource="nvidia_com_gpu", **kube)
    down = int(node == "node-b" and 60 <= minute < 70)
    condition = {"condition": "Ready", "status": "false"}
    yield _series("kube_node_status_condition", down, **condition, **kube)
    drained = int(node == "node-a" and 80 <= minute < 90)
    yield _series("kube_node_spec_unschedulable", drained, **kube)
    for gpu in "01":
        dcgm = {"Hostname": node, "gpu": gpu, "rack": "r1", "cluster": "west", "UUID": f"GPU-{gpu}"}
        yield _series("DCGM_FI_DEV_POWER_VIOLATION", _violations(node, minute), **dcgm)
        yield _series("DCGM_FI_DEV_POWER_USAGE", 300, **dcgm)
        yield _series("DCGM_FI_DEV_POWER_MGMT_LIMIT", 700, **dcgm)
        yield _series("DCGM_FI_DEV_GPU_TEMP_LIMIT", 12 if node == "node-a" else 25, **dcgm)
        pod = SECRET_POD if busy else ""
        yield _series("DCGM_FI_DEV_GPU_UTIL", _activity(node, gpu, minute), pod=pod, **dcgm)


def _violations(node: str, minute: int) -> int:
    if node == "node-b":
        return 7
    if minute < 30:
        return 100
    if minute < 40:
        return {30: 105}.get(minute, 109)
    return 0


def _activity(node: str, gpu: str, minute: int) -> object:
    if node == "node-b" and gpu == "1" and 20 <= minute < 25:
        return BLANK
    if node == "node-b" and gpu == "0" and minute == 26:
        return "NaN"
    return 80 if node == "node-a" else 20


def _of_queue(minute: int) -> Iterator[str]:
    queue = {"cluster_queue": "main", "cluster": "west"}
    pending = 3 if minute < 60 else 5
    yield _series("kueue_pending_workloads", pending, status="active", **queue)
    if minute < 60:
        count, waited = (7, 900) if minute < 15 else (8, 930)
    else:
        count, waited = (0, 0) if minute < 75 else (1, 600)
    yield _series("kueue_admission_wait_time_seconds_count", count, **queue)
    yield _series("kueue_admission_wait_time_seconds_sum", waited, **queue)


def open_metrics(begin_s: int) -> str:
    """Everything above as OpenMetrics text with a stamp on each sample."""
    lines = []
    for minute in range(MINUTES):
        said = list(_of_queue(minute)) + list(_of_node("node-b", minute))
        if not 50 <= minute < 55:
            said += _of_node("node-a", minute)
        lines += [f"{line} {begin_s + minute * MINUTE_S}" for line in said]
    by_series = sorted(lines, key=lambda line: line.rsplit(" ", 2)[0])  # in the order of time
    return "\n".join(by_series) + "\n# EOF\n"


@contextmanager
def prometheus(folder: Path, begin_s: int, target: str | None = None) -> Iterator[str]:
    """The address of a Prometheus that holds it, and scrapes `target` each second.

    Its lookback is half a minute: what is not sampled each minute is missing.
    """
    text = folder / "cluster.om"
    text.write_text(open_metrics(begin_s), encoding="utf-8")
    subprocess.run(
        ["promtool", "tsdb", "create-blocks-from", "openmetrics", text, folder / "tsdb"],
        check=True,
        capture_output=True,
    )
    scrapes = [{"job_name": "live", "static_configs": [{"targets": [target]}]}] if target else []
    config = {"global": {"scrape_interval": "1s"}, "scrape_configs": scrapes}
    with services.prometheus(folder, config, "--query.lookback-delta=30s") as port:
        yield f"http://127.0.0.1:{port}"
