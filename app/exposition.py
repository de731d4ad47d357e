"""Budgets in Prometheus' text format, under the names of sloth, so that its dashboards work.

A gauge is absent while it is unknown. The errors over the spans are those of the ledger's whole
hours; `sloth_id` is slo and scope.
"""

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from answers.budgets import Report
from answers.rules import error_ratio, rate_hours
from metrics.budget import PRESENT_BURN, Budget, State, amount

LABELS = ("sloth_id", "sloth_slo", "sloth_service", "scope")
SERVICE = "training"

_GAUGES = {
    "slo:objective:ratio": "The target share of good.",
    "slo:error_budget:ratio": "The share that may be bad.",
    "slo:time_period:days": "The window.",
    "slo:current_burn_rate:ratio": f"The burn rate over {PRESENT_BURN}.",
    "slo:period_burn_rate:ratio": "The burn rate over the window.",
    "slo:period_error_budget_remaining:ratio": "The share of the budget that is left.",
    "sloth_slo_info": "An objective and whose it is.",
}


def exposition(reports: Iterable[Report]) -> bytes:
    """The metrics of these budgets."""
    registry = CollectorRegistry()
    registry.register(_Budgets(list(reports)))
    return generate_latest(registry)


class _Budgets(Collector):
    def __init__(self, reports: list[Report]) -> None:
        self._reports = reports

    def collect(self) -> Iterator[Metric]:
        told = dict(_GAUGES)
        for report in self._reports[:1]:
            for hours in rate_hours(report.facts.policy):
                told[error_ratio(hours)] = f"The bad share over {hours} h."
        families = {
            name: GaugeMetricFamily(name, text, labels=LABELS) for name, text in told.items()
        }
        for report in self._reports:
            labels = _labels(report)
            for name, value in _values(report):
                families[name].add_metric(labels, value)
        yield from families.values()


def _labels(report: Report) -> list[str]:
    slo, scope = report.series.slo, str(report.series.scope)
    return [f"{SERVICE}-{slo}-{scope}", slo, SERVICE, scope]


def _values(report: Report) -> Iterator[tuple[str, float]]:
    target = report.series.target
    yield "sloth_slo_info", 1.0
    yield "slo:objective:ratio", float(target)
    yield "slo:error_budget:ratio", float(1 - target)
    yield "slo:time_period:days", 30.0
    if report.state is State.UNKNOWN:
        return
    for hours in rate_hours(report.facts.policy):
        budget = Budget(amount(report.series.entries, report.moment.end_us, hours), target)
        if budget.amount.total:
            yield error_ratio(hours), budget.amount.bad / budget.amount.total
    for name, rate in (
        ("slo:current_burn_rate:ratio", report.burn[PRESENT_BURN]),
        ("slo:period_burn_rate:ratio", report.burn["30d"]),
        ("slo:period_error_budget_remaining:ratio", report.budget.remaining_share),
    ):
        if rate is not None:
            yield name, float(rate)
