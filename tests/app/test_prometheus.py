"""A real Prometheus on the loopback: it scrapes the gate and evaluates the rules.

The data end when the test begins, as a site's do. H is the hour in which they end:

    H - 40 h  a job of 8 GPUs is allocated
    H - 39 h  its first step ends: an hour of startup
    H - 10 h  its 30th step ends, and a node breaks
    now       it ends, having never come back

so that 1 + 10 h and what has passed of H were lost: all of the last hour, and of the last six.
"""

import json
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import harness
import pytest
import services
from gate_server import Server, ask, headway, serving
from prometheus_client.parser import text_string_to_metric_families

from answers.clock import now_us
from answers.home import Home
from metrics.budget import window_end_us

HOUR_US = 3_600_000_000
JOB = "big"
TIER = "tier=standard"
"""The scope of the job's tier: the gate tells of the fleet, its clusters and tiers."""
STALE_AT_ONCE = "stale_after_s: 1\n"

Labels = dict[str, str]

pytestmark = pytest.mark.skipif(
    shutil.which("prometheus") is None,
    reason="Prometheus is not installed (the Debian package prometheus)",
)


@dataclass(frozen=True)
class Site:
    """A gate, and the Prometheus that watches it."""

    gate: Server
    port: int

    def api(self, path: str) -> Any:
        """The data of an answer of Prometheus' HTTP API."""
        status, found = ask(self.port, "GET", f"/api/v1/{path}")
        assert (status, found["status"]) == (200, "success"), found
        return found["data"]

    def series(self, query: str) -> list[tuple[Labels, float]]:
        """The labels and values of what a query yields now."""
        found = self.api(f"query?query={quote(query)}")["result"]
        return [(row["metric"], float(row["value"][1])) for row in found]

    def value(self, metric: str, slo: str, scope: str = "fleet") -> float | None:
        """The newest value of a gauge; None where there is none."""
        found = self.series(f'{metric}{{sloth_slo="{slo}",scope="{scope}"}}')
        assert len(found) < 2, found
        return found[0][1] if found else None

    def rules(self) -> list[dict[str, Any]]:
        """Every rule that it loaded, with its health and state."""
        return [rule for group in self.api("rules")["groups"] for rule in group["rules"]]

    def firing(self) -> set[tuple[str, str]]:
        """The names and scopes of the alerts that fire."""
        return {
            (alert["labels"]["alertname"], alert["labels"]["scope"])
            for alert in self.api("alerts")["alerts"]
            if alert["state"] == "firing"
        }


def broken_job(end_us: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The records of the job, which end at a moment."""
    hour_us = end_us // HOUR_US * HOUR_US
    begin_us = hour_us - 40 * HOUR_US
    of_job = {"job": JOB, "attempt": 0}
    lifecycle = [
        {
            "event": "job_submitted",
            "ts_us": begin_us,
            "job": JOB,
            "tier": "standard",
            "gpus": 8,
            "expected_duration_us": 720 * HOUR_US,
        },
        {"event": "resources_allocated", "ts_us": begin_us, **of_job},
        {
            "event": "interruption",
            "ts_us": hour_us - 10 * HOUR_US,
            "cause": "hardware",
            **of_job,
        },
        {"event": "job_ended", "ts_us": end_us, "job": JOB, "outcome": "failed"},
    ]
    steps = [
        {
            **of_job,
            "step": number,
            "ts_us": begin_us + number * HOUR_US,
            "duration_us": HOUR_US,
        }
        for number in range(1, 31)
    ]
    return lifecycle, steps


def await_an_hour_that_lasts() -> None:
    """Wait for the next hour where this one ends soon: an hour without data burns nothing."""
    left_s = 3600 - time.time() % 3600
    if left_s < 150:
        time.sleep(left_s + 5)


def published(folder: Path) -> Home:
    """A home in which the job's records were ingested and published by the command line."""
    await_an_hour_that_lasts()
    home = Home.open(folder / "home")
    lifecycle, steps = broken_job(now_us())
    files = [
        harness.write_jsonl(folder / "lifecycle.jsonl", lifecycle),
        harness.write_jsonl(folder / "steps.jsonl", steps),
    ]
    headway(home, "ingest", *map(str, files))
    headway(home, "refresh")
    return home


@contextmanager
def watching(gate: Server, folder: Path) -> Iterator[int]:
    """Prometheus over a gate until the end of the block; the port that it listens on."""
    (folder / "headway.rules.yaml").write_text(headway(gate.home, "rules"), encoding="utf-8")
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": ["headway.rules.yaml"],
        "scrape_configs": [
            {"job_name": "headway", "static_configs": [{"targets": [f"127.0.0.1:{gate.port}"]}]}
        ],
    }
    with services.prometheus(folder, config) as port:
        yield port


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("prometheus")
    with serving(published(folder), folder / "gate.log") as gate, watching(gate, folder) as port:
        found = Site(gate, port)
        services.until(
            lambda: found.value("slo:objective:ratio", "goodput"), "the first scrape", 60
        )
        yield found


def budgets(site: Site, *args: str) -> list[dict[str, Any]]:
    """What `headway budget` says now."""
    found = headway(site.gate.home, "budget", "--format", "json", *args)
    return list(json.loads(found))


def in_one_hour(look: Callable[[], bool], what: str) -> None:
    """Wait until a look is true that began and ended in one hour: rates are of whole hours."""

    def looked() -> bool:
        hour_us = window_end_us(now_us())
        time.sleep(3)  # a scrape and an evaluation of this hour
        return look() and window_end_us(now_us()) == hour_us

    services.until(looked, what, 120)


def test_the_target_is_up(site: Site) -> None:
    (target,) = site.api("targets")["activeTargets"]
    assert (target["health"], target["lastError"]) == ("up", "")
    assert site.series("up") == [
        ({"__name__": "up", "job": "headway", "instance": f"127.0.0.1:{site.gate.port}"}, 1.0)
    ]


def test_the_gauges_say_what_the_command_says(site: Site) -> None:
    def agree() -> bool:
        return all(gauges_of(site, report) == told(report) for report in budgets(site))

    in_one_hour(agree, "the gauges to say what the command says")


def gauges_of(site: Site, report: dict[str, Any]) -> dict[str, float | None]:
    """What Prometheus has of the objective of a report."""
    slo, scope = report["slo"], report["scope"]
    return {
        metric: site.value(metric, slo, scope)
        for metric in (
            "slo:current_burn_rate:ratio",
            "slo:period_burn_rate:ratio",
            "slo:period_error_budget_remaining:ratio",
            "slo:sli_error:ratio_rate30d",
        )
    }


def told(report: dict[str, Any]) -> dict[str, float | None]:
    """The same of the report; None, hence absent, for what is not known."""
    known = report["state"] != "unknown"
    return {
        "slo:current_burn_rate:ratio": report["burn"]["1d"] if known else None,
        "slo:period_burn_rate:ratio": report["burn"]["30d"] if known else None,
        "slo:period_error_budget_remaining:ratio": report["remaining_ratio"] if known else None,
        "slo:sli_error:ratio_rate30d": report["bad"] / report["total"] if known else None,
    }


def test_the_gauges_say_what_the_job_lost(site: Site) -> None:
    assert site.value("slo:objective:ratio", "goodput") == 0.9
    assert site.value("slo:error_budget:ratio", "goodput") == 0.1
    assert site.value("slo:time_period:days", "goodput") == 30
    assert site.value("sloth_slo_info", "goodput") == 1
    assert site.value("slo:error_budget:ratio", "short-job-success") == 0.05
    assert site.value("slo:sli_error:ratio_rate1h", "goodput") == 1
    assert site.value("slo:sli_error:ratio_rate6h", "goodput") == 1
    # Between 11 of 40 h and 12 of 41 h were lost; a tenth of them is allowed.
    bad = site.value("slo:sli_error:ratio_rate30d", "goodput")
    left = site.value("slo:period_error_budget_remaining:ratio", "goodput")
    assert bad is not None
    assert 11 / 40 <= bad <= 12 / 41
    assert left is not None
    assert 1 - 120 / 41 <= left <= 1 - 110 / 40


def test_what_is_unknown_is_absent_though_its_objective_is_there(site: Site) -> None:
    # There is no short job: its target is known, and nothing of its budget.
    assert site.value("slo:objective:ratio", "short-job-success") == 0.95
    found = site.series('{sloth_slo="short-job-success",scope="fleet"}')
    assert {labels["__name__"] for labels, _ in found} == {
        "sloth_slo_info",
        "slo:objective:ratio",
        "slo:error_budget:ratio",
        "slo:time_period:days",
    }


def test_series_have_sloth_s_labels_and_job_is_prometheus_own(site: Site) -> None:
    ((labels, _),) = site.series(f'sloth_slo_info{{sloth_slo="goodput",scope="{TIER}"}}')
    assert labels == {
        "__name__": "sloth_slo_info",
        "sloth_id": f"training-goodput-{TIER}",
        "sloth_slo": "goodput",
        "sloth_service": "training",
        "scope": TIER,
        "job": "headway",
        "instance": f"127.0.0.1:{site.gate.port}",
    }
    # Where a target has a label called job, Prometheus calls that one exported_job.
    assert site.series('{exported_job!=""}') == []
    families = text_string_to_metric_families(site.gate.ask("GET", "/metrics")[1])
    used = {name for family in families for sample in family.samples for name in sample.labels}
    assert used == {"sloth_id", "sloth_slo", "sloth_service", "scope"}


def test_every_rule_loads_and_is_evaluated_healthily(site: Site) -> None:
    services.until(lambda: all(r["health"] != "unknown" for r in site.rules()), "evaluations", 60)
    rules = site.rules()
    # Four objectives with a page and a ticket each, a promise, the missing budget, a recording.
    assert len(rules) == 11
    assert [rule for rule in rules if rule["health"] != "ok" or rule.get("lastError")] == []


def test_the_recorded_least_that_is_left_is_that_of_the_series(site: Site) -> None:
    def recorded() -> bool:
        left = site.series('slo:period_error_budget_remaining:ratio{sloth_slo="goodput"}')
        least = site.series('headway:error_budget_remaining:min{sloth_slo="goodput"}')
        return bool(left) and [value for _, value in least] == [min(value for _, value in left)]

    in_one_hour(recorded, "the recording rule")


def test_what_must_fire_fires_and_nothing_else_does(site: Site) -> None:
    # All of the last hour was lost, where 0.72 of it pages; and 10 of the last 23 h or somewhat
    # more with all of the last 2, where 0.3 asks for a ticket.
    must = {
        (f"ErrorBudgetBurn_goodput_{severity}", scope)
        for severity in ("page", "ticket")
        for scope in ("fleet", TIER)
    }
    services.until(lambda: site.firing() == must, "the page and the ticket", 60)
    in_one_hour(lambda: site.firing() == listed(site), "the alerts that the command lists")


def listed(site: Site) -> set[tuple[str, str]]:
    """The alerts that the command lists, of every scope that the gate tells of."""
    return {
        (f"ErrorBudgetBurn_{report['slo'].replace('-', '_')}_{alert['severity']}", report["scope"])
        for scope in ("fleet", TIER)
        for report in budgets(site, "--detail", "--scope", scope)
        for alert in report["alerts"]
    }


def test_gauges_go_when_the_data_are_too_old_and_that_alerts(site: Site) -> None:
    home = site.gate.home
    policy = home.policy_in_force.read_text(encoding="utf-8")
    assert "stale_after_s: 7200\n" in policy
    home.policy_file.write_text(
        policy.replace("stale_after_s: 7200\n", STALE_AT_ONCE), encoding="utf-8"
    )
    left = "slo:period_error_budget_remaining:ratio"
    try:
        services.until(lambda: site.series(left) == [], "the gauges to go", 60)
        assert site.value("slo:objective:ratio", "goodput") == 0.9

        def pending() -> bool:
            states = {rule.get("name"): rule.get("state") for rule in site.rules()}
            return states["ErrorBudgetUnknown"] == "pending"

        services.until(pending, "the alert to wait for its quarter of an hour", 60)
        services.until(lambda: site.firing() == set(), "the burn alerts to end", 60)
    finally:
        home.policy_file.unlink()
