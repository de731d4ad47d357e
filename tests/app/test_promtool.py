"""The rules under promtool: what it says of them, and which alerts fire at known burn rates.

A burn rate is a share of bad over the share allowed, so that a threshold is the policy's factor
times (1 - target). The default policy's factors, worked out by hand:

    page    1 % of the budget in  1 h    0.01 × 720 /  1 = 7.2
    page    5 % of the budget in  6 h    0.05 × 720 /  6 = 6
    ticket 10 % of the budget in  1 d    0.10 × 720 / 24 = 3
    ticket 10 % of the budget in  3 d    0.10 × 720 / 72 = 1
"""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from answers.rules import rules
from metrics.policy import load_policy

POLICY = load_policy(None)

pytestmark = pytest.mark.skipif(
    shutil.which("promtool") is None,
    reason="promtool is not installed (the Debian package prometheus has it)",
)

THRESHOLDS = {
    # The factors times 0.1; of short jobs, whose target is 95 %, times 0.05.
    "goodput": ("0.72", "0.6", "0.3", "0.1"),
    "time-to-restart": ("0.72", "0.6", "0.3", "0.1"),
    "queue-wait": ("0.72", "0.6", "0.3", "0.1"),
    "short-job-success": ("0.36", "0.3", "0.15", "0.05"),
}
"""For each objective the bad share from which on it alerts: over 1 h, 6 h, 1 d, 3 d."""

BELOW = {
    "0.72": "0.7199",
    "0.6": "0.5999",
    "0.36": "0.3599",
    "0.3": "0.2999",
    "0.15": "0.1499",
    "0.1": "0.0999",
    "0.05": "0.0499",
}
"""A share that is a little less than each threshold."""

Shares = dict[str, str]


def page_cases(slo: str) -> tuple[dict[str, Shares], dict[str, Shares]]:
    """Scopes by their bad shares: those that must page, and those that must not."""
    hour, six, _, _ = THRESHOLDS[slo]
    firing = {
        "job=hour-at-its-threshold": {"1h": hour, "6h": "0"},
        "job=six-hours-at-theirs": {"1h": six, "6h": six},
        "job=everything-lost": {"1h": "1", "6h": "1"},
    }
    silent = {
        "job=little-less-in-both": {"1h": BELOW[hour], "6h": BELOW[six]},
        "job=burning-has-ended": {"1h": BELOW[six], "6h": "1"},
        "job=nothing-lost": {"1h": "0", "6h": "0"},
        "job=hour-unknown": {"6h": "1"},
    }
    return firing, silent


def ticket_cases(slo: str) -> tuple[dict[str, Shares], dict[str, Shares]]:
    """The same of tickets: a day with its 2 h, three days with their 6 h."""
    _, _, day, three = THRESHOLDS[slo]
    firing = {
        "job=day-at-its-threshold": {"2h": day, "1d": day, "6h": "0", "3d": "0"},
        "job=three-days-at-theirs": {"2h": "0", "1d": "0", "6h": three, "3d": three},
    }
    silent = {
        "job=little-less": {"2h": BELOW[day], "1d": BELOW[day], "6h": "1", "3d": BELOW[three]},
        "job=burning-has-ended": {"2h": BELOW[day], "1d": "1", "6h": BELOW[three], "3d": "1"},
        "job=burning-has-begun": {"2h": "1", "1d": BELOW[day], "6h": "1", "3d": BELOW[three]},
        "job=short-spans-unknown": {"1d": "1", "3d": "1"},
    }
    return firing, silent


CASES = {"page": page_cases, "ticket": ticket_cases}


def labels(slo: str, scope: str) -> dict[str, str]:
    """The labels with which the gate exposes an objective's gauges for a scope."""
    return {
        "sloth_id": f"training-{slo}-{scope}",
        "sloth_slo": slo,
        "sloth_service": "training",
        "scope": scope,
    }


def series(metric: str, slo: str, scope: str, values: str) -> dict[str, str]:
    """An input series: a gauge's values, one a minute."""
    told = ", ".join(f'{name}="{value}"' for name, value in labels(slo, scope).items())
    return {"series": f"{metric}{{{told}}}", "values": values}


def shares(slo: str, scopes: dict[str, Shares]) -> list[dict[str, str]]:
    """The gauges of the bad share, level for ten minutes."""
    return [
        series(f"slo:sli_error:ratio_rate{span}", slo, scope, f"{share}+0x10")
        for scope, found in scopes.items()
        for span, share in found.items()
    ]


def burn_alert(slo: str, severity: str, scope: str) -> dict[str, Any]:
    """The alert as it must fire, with all that it tells the person who reads it."""
    return {
        "exp_labels": labels(slo, scope) | {"severity": severity},
        "exp_annotations": {
            "summary": f"{slo} of {scope} burns its error budget too fast",
            "description": "headway budget --detail --format json shows what spends it.",
        },
    }


def promtool(folder: Path, tests: list[dict[str, Any]]) -> None:
    """Run promtool's unit tests of the rules."""
    (folder / "headway.rules.yaml").write_text(rules(POLICY), encoding="utf-8")
    file = folder / "tests.yaml"
    asked = {"rule_files": ["headway.rules.yaml"], "evaluation_interval": "1m", "tests": tests}
    file.write_text(yaml.safe_dump(asked, sort_keys=False), encoding="utf-8")
    done = subprocess.run(
        ["promtool", "test", "rules", str(file)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def alert_test(name: str, minute: int, expected: list[dict[str, Any]]) -> dict[str, Any]:
    """That exactly these alerts of a name fire at a minute."""
    return {"eval_time": f"{minute}m", "alertname": name, "exp_alerts": expected}


@pytest.mark.parametrize("severity", CASES)
@pytest.mark.parametrize("slo", THRESHOLDS)
def test_a_burn_alerts_at_its_threshold_in_both_windows_and_not_below(
    tmp_path: Path, slo: str, severity: str
) -> None:
    firing, silent = CASES[severity](slo)
    name = f"ErrorBudgetBurn_{slo.replace('-', '_')}_{severity}"
    expected = [burn_alert(slo, severity, scope) for scope in firing]
    promtool(
        tmp_path,
        [
            {
                "interval": "1m",
                "input_series": shares(slo, firing | silent),
                "alert_rule_test": [alert_test(name, 5, expected)],
            }
        ],
    )


def test_a_burn_of_one_objective_alerts_for_that_one_only(tmp_path: Path) -> None:
    lost = {"fleet": {"1h": "1", "2h": "1", "6h": "1", "1d": "1", "3d": "1"}}
    kept = {"fleet": {"1h": "0", "2h": "0", "6h": "0", "1d": "0", "3d": "0"}}
    promtool(
        tmp_path,
        [
            {
                "interval": "1m",
                "input_series": shares("goodput", lost) + shares("queue-wait", kept),
                "alert_rule_test": [
                    alert_test(
                        "ErrorBudgetBurn_goodput_page", 5, [burn_alert("goodput", "page", "fleet")]
                    ),
                    alert_test("ErrorBudgetBurn_queue_wait_page", 5, []),
                    alert_test("ErrorBudgetBurn_queue_wait_ticket", 5, []),
                ],
            }
        ],
    )


def test_a_promise_alerts_from_the_first_breach_on(tmp_path: Path) -> None:
    slo = "checkpoint-durability"
    metric = "slo:sli_error:ratio_rate30d"
    broken = {
        "exp_labels": labels(slo, "fleet") | {"severity": "page"},
        "exp_annotations": {
            "summary": f"{slo} of fleet is broken",
            "description": "Restore the newest checkpoint of the job that headway gate names.",
        },
    }
    promtool(
        tmp_path,
        [
            {
                "interval": "1m",
                "input_series": [
                    # Kept for five minutes, then one of 1,000 runs broke it.
                    series(metric, slo, "fleet", "0+0x4 0.001+0x10"),
                    series(metric, slo, "tier=batch", "0+0x20"),
                ],
                "alert_rule_test": [
                    alert_test("PromiseBroken_checkpoint_durability", 4, []),
                    alert_test("PromiseBroken_checkpoint_durability", 5, [broken]),
                ],
            }
        ],
    )


def test_a_goodput_unknown_for_a_quarter_of_an_hour_asks_for_a_ticket(tmp_path: Path) -> None:
    metric = "slo:period_error_budget_remaining:ratio"
    missing = {
        "exp_labels": {"severity": "ticket", "sloth_slo": "goodput", "scope": "fleet"},
        "exp_annotations": {
            "summary": "the fleet's goodput is not known: the data are old, or the gate is down",
            "description": "headway refresh publishes; the gate's /readyz says how far data reach.",
        },
    }
    promtool(
        tmp_path,
        [
            {
                "interval": "1m",
                # Told in minutes 0 to 2, gone from minute 3 on: 15 minutes later is minute 18.
                "input_series": [
                    series(metric, "goodput", "fleet", "0.5+0x2 stale"),
                    series(metric, "queue-wait", "fleet", "0.5+0x30"),
                    series(metric, "goodput", "tier=batch", "0.5+0x30"),
                ],
                "alert_rule_test": [
                    alert_test("ErrorBudgetUnknown", 2, []),
                    alert_test("ErrorBudgetUnknown", 17, []),
                    alert_test("ErrorBudgetUnknown", 18, [missing]),
                ],
            }
        ],
    )


def test_the_least_that_is_left_is_recorded_for_each_objective(tmp_path: Path) -> None:
    metric = "slo:period_error_budget_remaining:ratio"
    recorded = "headway:error_budget_remaining:min"
    promtool(
        tmp_path,
        [
            {
                "interval": "1m",
                "input_series": [
                    series(metric, "goodput", "fleet", "0.5+0x5"),
                    series(metric, "goodput", "job=a", "-0.25+0x5"),
                    series(metric, "queue-wait", "tier=batch", "1+0x5"),
                ],
                "promql_expr_test": [
                    {
                        "expr": recorded,
                        "eval_time": "2m",
                        "exp_samples": [
                            {"labels": f'{recorded}{{sloth_slo="goodput"}}', "value": -0.25},
                            {"labels": f'{recorded}{{sloth_slo="queue-wait"}}', "value": 1},
                        ],
                    }
                ],
            }
        ],
    )


def test_every_alert_that_the_rules_have_is_tested_here() -> None:
    groups = yaml.safe_load(rules(POLICY))["groups"]
    alerts = {rule["alert"] for group in groups for rule in group["rules"] if "alert" in rule}
    burning = {
        f"ErrorBudgetBurn_{slo.replace('-', '_')}_{severity}"
        for slo in THRESHOLDS
        for severity in CASES
    }
    assert alerts == burning | {"PromiseBroken_checkpoint_durability", "ErrorBudgetUnknown"}
