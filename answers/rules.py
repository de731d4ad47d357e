"""Prometheus rules over the gate's metrics: an alert for each objective and pair of windows.

The thresholds are derived from the policy's budget percent and windows, as in sloth: the bad share
over a window is compared with factor × (1 - target).
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import yaml

from metrics.openslo import Slo
from metrics.policy import AlertWindow, Policy

GROUP = "headway"
_LEFT = "slo:period_error_budget_remaining:ratio"


def rules(policy: Policy) -> str:
    """The rule file as YAML: alerts of objectives, broken promises, and missing budgets."""
    found = [rule for slo in policy.objectives for rule in _alerts(policy, slo)]
    recorded = {
        "record": "headway:error_budget_remaining:min",
        "expr": f"min by (sloth_slo) ({_LEFT})",
    }
    groups = [
        {"name": f"{GROUP}-recording", "rules": [recorded]},
        {"name": f"{GROUP}-alerts", "rules": [*found, *_promises(policy), *_missing(policy)]},
    ]
    return str(yaml.safe_dump({"groups": groups}, sort_keys=False, width=100))


def _alerts(policy: Policy, slo: Slo) -> Iterator[dict[str, Any]]:
    for severity in ("page", "ticket"):
        windows = [window for window in policy.alerts if window.severity == severity]
        if windows:
            name = slo.metadata.name
            yield {
                "alert": f"ErrorBudgetBurn_{name.replace('-', '_')}_{severity}",
                "expr": " or ".join(_burning(slo, window) for window in windows),
                "labels": {"severity": severity, "sloth_slo": name},
                "annotations": {
                    "summary": f"{name} of {{{{ $labels.scope }}}} burns its error budget too fast",
                    "description": "headway budget --detail --format json shows what spends it.",
                },
            }


def _burning(slo: Slo, window: AlertWindow) -> str:
    """Both windows burn at the factor or faster."""
    share = window.factor * (1 - slo.spec.objectives[0].share)
    return (
        f"({_rate(slo, window.long_h)} >= {_decimal(share)}"
        f" and {_rate(slo, window.short_h)} >= {_decimal(share)})"
    )


def _rate(slo: Slo, hours: int) -> str:
    return f'{error_ratio(hours)}{{sloth_slo="{slo.metadata.name}"}}'


def error_ratio(hours: int) -> str:
    """The name of the metric of the bad share over so many hours."""
    span = f"{hours // 24}d" if hours % 24 == 0 else f"{hours}h"
    return f"slo:sli_error:ratio_rate{span}"


def rate_hours(policy: Policy) -> tuple[int, ...]:
    """The spans, in hours, of which the metrics tell the bad share."""
    asked = {hours for window in policy.alerts for hours in (window.long_h, window.short_h)}
    return tuple(sorted({1, 6, 24, 72, 720} | asked))


def _promises(policy: Policy) -> Iterator[dict[str, Any]]:
    for promise in policy.promises:
        name = promise.name
        yield {
            "alert": f"PromiseBroken_{name.replace('-', '_')}",
            "expr": f'slo:sli_error:ratio_rate30d{{sloth_slo="{name}"}} > 0',
            "labels": {"severity": "page", "sloth_slo": name},
            "annotations": {
                "summary": f"{name} of {{{{ $labels.scope }}}} is broken",
                "description": "Restore the newest checkpoint of the job that headway gate names.",
            },
        }


def _missing(policy: Policy) -> Iterator[dict[str, Any]]:
    """Of goodput, whatever the site calls it: what it promises nothing of is not missed."""
    for slo in policy.objectives:
        if slo.sources[0].spec["measure"] == "goodput":
            name = slo.metadata.name
            yield {
                "alert": "ErrorBudgetUnknown",
                "expr": f'absent({_LEFT}{{sloth_slo="{name}",scope="fleet"}})',
                "for": "15m",
                "labels": {"severity": "ticket"},
                "annotations": {
                    "summary": "the fleet's goodput is not known:"
                    " the data are old, or the gate is down",
                    "description": "headway refresh publishes;"
                    " the gate's /readyz says how far data reach.",
                },
            }


def _decimal(share: Fraction) -> str:
    """A threshold as a decimal; what it cannot say exactly is rounded to nine digits."""
    return f"{float(share):.9g}"
