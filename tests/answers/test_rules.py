"""The Prometheus rules: thresholds worked out by hand, names that the gate exposes."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from answers.rules import rate_hours, rules
from metrics.policy import DEFAULT_POLICY_FILE, load_policy, read_policy

POLICY = load_policy(None)
ALERTS: dict[str, Any] = {
    rule["alert"]: rule
    for group in yaml.safe_load(rules(POLICY))["groups"]
    for rule in group["rules"]
    if "alert" in rule
}


def test_a_page_for_goodput_compares_with_factor_times_what_is_allowed() -> None:
    # 7.2 and 6, times 0.1.
    assert ALERTS["ErrorBudgetBurn_goodput_page"]["expr"] == (
        '(slo:sli_error:ratio_rate1h{sloth_slo="goodput"} >= 0.72'
        ' and slo:sli_error:ratio_rate1h{sloth_slo="goodput"} >= 0.72)'
        ' or (slo:sli_error:ratio_rate6h{sloth_slo="goodput"} >= 0.6'
        ' and slo:sli_error:ratio_rate1h{sloth_slo="goodput"} >= 0.6)'
    )


def test_a_ticket_for_short_jobs_compares_with_their_own_target() -> None:
    # 3 and 1, times 0.05.
    expr = ALERTS["ErrorBudgetBurn_short_job_success_ticket"]["expr"]
    assert re.findall(r">= ([\d.]+)", expr) == ["0.15", "0.15", "0.05", "0.05"]


def test_no_threshold_is_out_of_reach() -> None:
    told = [float(n) for rule in ALERTS.values() for n in re.findall(r">= ([\d.]+)", rule["expr"])]
    assert told
    assert max(told) < 1


def test_the_alert_of_missing_data_is_of_goodput_whatever_it_is_called() -> None:
    text = DEFAULT_POLICY_FILE.read_text(encoding="utf-8")
    renamed = text.replace("name: goodput", "name: training").replace("[goodput,", "[training,")
    policy, faults = read_policy(renamed)
    assert policy is not None
    assert faults == []
    assert 'absent(slo:period_error_budget_remaining:ratio{sloth_slo="training"' in rules(policy)
    without = policy.model_copy(update={"objectives": policy.objectives[1:]})
    assert "ErrorBudgetUnknown" not in rules(without)


def test_every_span_that_a_rule_asks_for_is_exposed() -> None:
    assert rate_hours(POLICY) == (1, 2, 6, 24, 72, 720)


@pytest.mark.skipif(
    shutil.which("promtool") is None,
    reason="promtool is not installed (the Debian package prometheus has it)",
)
def test_promtool_takes_the_rules(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(rules(POLICY), encoding="utf-8")
    done = subprocess.run(
        ["promtool", "check", "rules", str(file)], capture_output=True, text=True, check=False
    )
    # Four objectives with a page and a ticket each, a promise, the missing budget, a recording.
    assert (done.returncode, "SUCCESS: 11 rules found" in done.stdout) == (0, True), done.stderr
