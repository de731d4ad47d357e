"""The accounting rules in docs/ have the numbers, tables and orders of models and policy."""

import re
from fractions import Fraction
from pathlib import Path

import harness
import pytest

import sql
from answers.questions import QUANTILES
from metrics.budget import WINDOW_US
from metrics.conventions import CATEGORIES, CAUSES, HOUR_US, US_PER_MS

TEXT = (Path(__file__).parents[1] / "docs" / "accounting.md").read_text(encoding="utf-8")
RULES = " ".join(TEXT.split())


def told(pattern: str) -> str:
    """What the rules say at the one place that a pattern fits."""
    (found,) = re.findall(pattern, RULES)
    return str(found)


def held(model: str, pattern: str) -> str:
    """What a model has at the one place that a pattern fits, or at each alike."""
    (found,) = set(re.findall(pattern, " ".join(sql.read(model).split())))
    return str(found)


def test_it_has_the_category_of_every_cause() -> None:
    *named, other = told(r"\*\*Category of a cause\*\*: (.*?)\.").split("; ")
    kept = dict(row.split(" → ") for row in named)
    categories = {
        cause: category
        for causes, category in kept.items()
        for cause in re.findall(r"\w+", causes.replace(" and ", " "))
    }
    rest = other.removeprefix("every other → ")
    with harness.fresh_warehouse() as con:
        for cause in {*CAUSES, *categories}:
            told_to = con.execute("select category_of(?)", [cause]).fetchone()
            assert told_to == (categories.get(cause, rest),), cause


def test_it_has_the_boundaries_in_the_order_in_which_they_are_taken() -> None:
    rows = re.findall(r"^\| (?!boundary|---)([^|]*) \| ([^|]*) \|$", TEXT, flags=re.MULTILINE)
    model, states = sql.read("staging/boundaries"), sql.read("staging/states")
    places = re.findall(r"when '(\w+)' then (\d)", model)
    places += [("first_step", place) for place in re.findall(r"else (\d) end as place", model)]
    places += re.findall(r"'(start|interruption)' as kind,[^']*?(\d) as place", model)
    components = dict(re.findall(r"when '(\w+)' then '(\w+)'", states))
    (launch,) = re.findall(r"else '(\w+)'\n  end as component", states)
    names = {"start of the wall": "start", "the first step of an attempt completes": "first_step"}
    found = [
        (names.get(kind, kind.strip("`")), re.findall(r"component (\w+)|(steady)$", state))
        for kind, state in rows
    ]
    assert [kind for kind, _ in found] == [
        kind for kind, _ in sorted(places, key=lambda place: place[1])
    ]
    for kind, ((component, steady),) in found:
        assert (component or steady) == components.get(kind, launch), kind


def test_it_has_the_labels_of_the_steady_state_in_their_order() -> None:
    rule = told(r"- steady: (.*?) after the ts of the job's last step record")
    labels = re.findall(r"\(\w+, (\w+)\)", rule.replace("K, detect", "restart, detect"))
    # Past what is no steady state, of which the last word is how it is down.
    steady = held("staging/labels", r"else 'down' end (.*?) end as kind")
    *firsts, gap, tail = labels
    assert re.findall(r"'(\w+)'", steady) == [*firsts, tail, gap]


def test_it_has_the_order_of_what_lies_in_a_step() -> None:
    order = told(r"They lie in the interval in this order: (.*?)\.").split(", ")
    model = " ".join(sql.read("staging/painted_pieces").split())
    placed = re.findall(r"category: '?(\w+)'?, component: '(\w+)'", model)
    names = {("job", "overhead"): "overhead", ("useful", "step"): "compute"}
    # Of compute the models know what is slow and what is rework; the rest has a name of its own.
    found = [names.get(key, key[0]) for key in placed if key[1] not in ("slow_step", "rework")]
    assert found[: len(order)] == order


def test_it_has_the_least_length_of_a_sliver() -> None:
    least_us = int(told(r"an own beginning less than (\d+) ms after the end")) * US_PER_MS
    with harness.fresh_warehouse() as con:
        ask = "select begins_us(?, 0)"
        assert con.execute(ask, [least_us - 1]).fetchone() == (0,)
        assert con.execute(ask, [least_us]).fetchone() == (least_us,)


def test_it_has_how_long_a_job_may_be_silent_and_a_window_last() -> None:
    silent_h = int(told(r"`silent_after_s` of the policy \((\d+) hours\)"))
    assert silent_h * 3600 == harness.POLICY.silent_after_s
    window_h = int(told(r"and (\d+) hours after its start at the latest"))
    assert window_h * HOUR_US == int(held("staging/windows", r"s\.ts_us \+ (\d+)\)"))


def test_it_has_the_numbers_of_a_slow_step() -> None:
    first, last = told(r"steps number (\d+ to \d+) in order").split(" to ")
    assert held("staging/fresh_baselines", r"place between (\d+ and \d+)") == f"{first} and {last}"
    assert held("staging/early_steps", r"min\(s\.ts_us, (\d+)\)") == last
    assert held("staging/baseline_groups", r"steps_before, 0\) < (\d+)") == last
    least = told(r"with fewer than (\d+) such steps")
    assert held("staging/fresh_contexts", r"measured_steps >= (\d+)") == least
    assert told(r"compute longer than (\d+)·b") == held(
        "staging/painted_stretches", r"compute_us > (\d+) \* baseline_us"
    )
    spread = Fraction(told(r"90th percentile exceeds ([\d.]+)·b"))
    times = held("staging/fresh_contexts", r"(\d+ \* p90_us <= \d+) \* base_us")
    of_p90, of_base = (int(number) for number in re.findall(r"\d+(?= \*|$)", times))
    assert spread == Fraction(of_base, of_p90)


def test_it_has_the_quantiles_of_a_wait() -> None:
    named = re.findall(r"p\d+", told(r"By tier: Kaplan–Meier (.*?), the maximum"))
    assert [f"{name}_us" for name in named] == list(QUANTILES)


def test_it_has_the_classes_of_jobs() -> None:
    classes = harness.POLICY.classes
    assert int(told(r"Large: at least (\d+) GPUs")) == classes.large_gpus
    assert int(told(r"expected duration of (\d+) h or more")) * 3600 == classes.large_duration_s
    assert int(told(r"Short: .*? less than (\d+) h;")) * 3600 == classes.short_duration_s


def test_it_has_whom_lost_time_is_charged_to() -> None:
    section = TEXT.split("## Whom lost time is charged to")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (?!category|---)(.*?) \| (.*?) \| (.*?) \|$", section, re.MULTILINE)
    tiers = {tier.preemptible: tier.name for tier in harness.POLICY.tiers}
    for category in CATEGORIES:
        for is_preemptible, tier in tiers.items():
            (to, *_) = [
                to
                for name, lent, to in rows
                if name in (category, "all other") and (lent == "–" or is_preemptible)
            ]
            assert harness.POLICY.charged_to(category, "", "", tier) == to, category


def test_it_has_the_numbers_of_the_budgets() -> None:
    policy = harness.POLICY
    rows = re.findall(r"^\| ([\w ]+) \| .* \| (.*?) \| ([\d.]+) \|$", TEXT, flags=re.MULTILINE)
    targets = {name.replace(" ", "_"): Fraction(target) for name, _, target in rows}
    assert targets == {measure: policy.target(measure) for measure in targets}
    assert len(targets) == 4
    assert int(told(r"recovered in under (\d+) s")) == policy.restart_limit_s
    limits = told(r"under the limit: (.*?) \|")
    said = {
        name: int(s) if s else None for name, s in re.findall(r"(\w+) (?:(\d+) s|none)", limits)
    }
    assert said == {tier.name: tier.queue_limit_s for tier in policy.tiers}
    assert int(told(r"the (\d+) whole UTC hours")) * HOUR_US == WINDOW_US
    assert int(told(r"they are older than (\d+) s")) == policy.stale_after_s
    assert int(told(r"below (\d+) GPU-hours")) == policy.minimum.gpu_hours
    assert int(told(r"GPU-hours or (\d+) events")) == policy.minimum.events


@pytest.mark.parametrize("name", re.findall(r"\]\(([\w.]+)\)", TEXT))
def test_what_it_points_to_is_there(name: str) -> None:
    assert (Path(__file__).parents[1] / "docs" / name).is_file()
