"""The file of objectives and policy: what is refused, why, on which line, and with which hint."""

from fractions import Fraction

import pytest

from metrics.openslo import Slo
from metrics.policy import (
    DEFAULT_ALERTS,
    DEFAULT_POLICY_FILE,
    Policy,
    load_policy,
    read_policy,
)

DEFAULT = DEFAULT_POLICY_FILE.read_text(encoding="utf-8")


def faults(before: str, after: str, count: int = 1) -> list[str]:
    assert before in DEFAULT
    return [str(fault) for fault in read_policy(DEFAULT.replace(before, after, count))[1]]


def line_of(text: str) -> int:
    return DEFAULT[: DEFAULT.index(text)].count("\n") + 1


def test_the_default_file_has_no_fault() -> None:
    assert read_policy(DEFAULT)[1] == []


def test_the_default_file_says_what_the_sections_default_to() -> None:
    policy = load_policy(None)
    assert Policy(tiers=policy.tiers, silent_after_s=21600).model_dump() == policy.model_dump()


def test_a_policy_alone_keeps_the_default_objectives() -> None:
    alone = DEFAULT[DEFAULT.index("apiVersion: headway/v1") :]
    policy, found = read_policy(alone)
    assert found == []
    assert policy is not None
    assert policy.objectives == load_policy(None).objectives


def test_targets_are_exact_decimal_fractions() -> None:
    targets = {
        slo.metadata.name: slo.spec.objectives[0].share for slo in load_policy(None).objectives
    }
    assert targets == {
        "goodput": Fraction(9, 10),
        "time-to-restart": Fraction(9, 10),
        "queue-wait": Fraction(9, 10),
        "short-job-success": Fraction(95, 100),
    }


def test_a_target_in_percent_is_the_same_share() -> None:
    policy, found = read_policy(DEFAULT.replace("target: 0.90", "targetPercent: 90", 1))
    assert (policy, found) == (policy, [])
    assert policy is not None
    assert policy.objectives[0].spec.objectives[0].share == Fraction(9, 10)


def test_an_unknown_key_comes_with_its_line_its_path_and_the_closest_key() -> None:
    (fault,) = (f for f in faults("budgetingMethod", "budgetMethod") if "no such key" in f)
    line = line_of("budgetingMethod")
    expected = "spec.budgetMethod: no such key; did you mean budgetingMethod?"
    assert fault == f"line {line}: {expected}"


def test_every_fault_of_every_document_is_listed() -> None:
    text = (
        DEFAULT.replace("target: 0.90", "targt: 0.90", 1)
        .replace("rank: 3", "rank: high")
        .replace("gating: [goodput", "gating: [goodputt")
    )
    told = [str(fault) for fault in read_policy(text)[1]]
    assert [word for word in ("targt", "rank") if not any(word in fault for fault in told)] == []


def test_an_unknown_gating_objective_is_refused_with_the_closest_name() -> None:
    (fault,) = faults("gating: [goodput", "gating: [goodputt")
    assert fault.endswith("gating.0: no objective goodputt; did you mean goodput?")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("gpu-utilization", "removes the reserves"),
        ("cluster-utilisation", "removes the reserves"),
        ("control-plane-availability", "a question that no training job asks"),
        ("scheduler-uptime", "a question that no training job asks"),
        ("mfu", "the researcher's model and code"),
        ("large-hfu", "the researcher's model and code"),
        ("model-flops", "the researcher's model and code"),
    ],
)
def test_a_harmful_objective_is_refused_with_the_reason(name: str, reason: str) -> None:
    assert any(
        "is refused as an objective" in fault and reason in fault
        for fault in faults("  name: short-job-success", f"  name: {name}")
    )


@pytest.mark.parametrize("kind", ["Polcy", "AlertPolicy"])
def test_a_document_of_another_kind_is_refused(kind: str) -> None:
    assert any("kind" in fault for fault in faults("kind: Policy", f"kind: {kind}"))


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("duration: 30d", "duration: 28d", "rolling window of 30d"),
        ("isRolling: true", "isRolling: false", "rolling window of 30d"),
        ("budgetingMethod: Occurrences", "budgetingMethod: Timeslices", "counts Occurrences"),
        ("budgetingMethod: Occurrences", "budgetingMethod: Often", "spec.budgetingMethod"),
        ("target: 0.90", "target: 1", "less than 1"),
        ("apiVersion: openslo/v1", "apiVersion: openslo/v2", "openslo/v1"),
        ("service: training", "service: My Service", "spec.service"),
        ("  service: training\n", "", "spec.service: is missing, and required"),
        ("measure: goodput", "measure: goodputs", "one an objective"),
        ("name: queue-wait\n", "name: goodput\n", "a second objective called goodput"),
        ("silent_after_s: 21600\n", "", "silent_after_s: is missing"),
        ("short_duration_s: 3600", "short_duration_s: 36000", "both short and large"),
        ("passing: [reliability_fix", "passing: [firmware", "both held and passing"),
        ("category: loader", "category: loder", "charges.1.category"),
        ("preemptible: true, charge", "tier: bath, charge", "no tier bath; did you mean batch?"),
        ("restart_limit_s: 600", "restart_limit_s: 600\nrestart_limit_s: 60", "stands twice"),
        ("silent_after_s: 21600", "silent_after_s: 21600\nobjectives: []", "documents of their"),
        ("kind: SLO", "kind: slo", "no kind slo: say SLO or Policy"),
        ("silent_after_s: 21600", "silent_after_s: true", "true or false"),
        ("large_gpus: 8", "large_gpus: yes", "true or false"),
        ("target: 0.90", "target: off", "true or false"),
        ("shares: {}", "shares: {a: true}", "shares.a"),
        ("large_gpus: 8", f"large_gpus: {10**30}", "classes.large_gpus"),
        ("rank: 3", f"rank: {10**30}", "tiers.0.rank"),
        ("gpu_hours: 100", f"gpu_hours: {10**30}", "minimum.gpu_hours"),
        ("bytes_per_s: null", f"bytes_per_s: {10**30}", "checkpoints.bytes_per_s"),
        ("keep_runs: 1000", f"keep_runs: {10**30}", "housekeeping.keep_runs"),
        ("per_gpu_hour: 2.50", "per_gpu_hour: 1e400", "price.per_gpu_hour"),
        ("aliases: [production]", "aliases: [Research]", "two tiers have the alias research"),
        ("category: job, ", "category: job, component: overhaed, ", "charges.0.component"),
        ("- {category: loader,", "- {category: job, cause: storage,", "charges.1: never decides"),
        ("name: checkpoint-durability", "name: goodput", "promise is called goodput"),
        ("held: [firmware, node_drain, scheduler_deploy, maintenance]", "held: []", "changes.held"),
        ("gating: [goodput", "gating: goodput #", "gating: must be a list"),
    ],
)
def test_a_fault_is_told(before: str, after: str, said: str) -> None:
    assert any(said in fault for fault in faults(before, after))


@pytest.mark.parametrize("name", ['""', '" a"', '"a "', '"a,b"', '"a=b"', '"a\\x1b[31m"', '"a\\n"'])
@pytest.mark.parametrize(
    "place",
    ["name: interactive", "aliases: [production", "held: [firmware", "currency: USD"],
)
def test_a_name_that_nobody_could_ask_for_or_print_is_refused(place: str, name: str) -> None:
    before = place.replace(place.split()[-1].lstrip("["), name)
    assert any("no name: say something printable" in fault for fault in faults(place, before))


def test_a_narrower_rule_may_stand_before_a_wider_one() -> None:
    rules = "- {category: job, cause: storage, charge: platform}\n  - {category: job, charge: job}"
    assert faults("- {category: job, charge: job}", rules) == []


def test_a_burn_rate_that_a_target_cannot_reach_is_refused() -> None:
    # 2 % of the budget in 1 h of 720 h is a burn of 14.4 (SRE workbook, alerting on SLOs); at a
    # target of 90 % all that can go wrong in an hour is a burn of 10.
    told = faults(
        "{long_h: 1, short_h: 1, budget_percent: 1,", "{long_h: 1, short_h: 1, budget_percent: 2,"
    )
    assert len(told) == 3  # the objective of 95 % can burn at up to 20
    assert all("a burn rate of 14.4" in fault and "faster than 10" in fault for fault in told)


def test_the_default_alerts_can_all_fire() -> None:
    highest = min(1 / (1 - s.spec.objectives[0].share) for s in load_policy(None).objectives)
    assert [window.factor for window in DEFAULT_ALERTS] == [Fraction(36, 5), 6, 3, 1]
    assert all(window.factor < highest for window in DEFAULT_ALERTS)


def test_a_file_without_a_policy_is_refused() -> None:
    only = DEFAULT[: DEFAULT.index("---")]
    (fault,) = read_policy(only)[1]
    assert "0 policy documents; one is needed" in str(fault)


def test_the_documents_pass_the_openslo_model_as_they_stand() -> None:
    assert all(isinstance(slo, Slo) for slo in load_policy(None).objectives)
    assert len(load_policy(None).objectives) == 4
