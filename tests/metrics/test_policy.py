"""The policy file: the default, names in any case, and faults that are refused with their place."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.errors import PolicyError, UsageError
from metrics.policy import Policy, load_policy

GOOD = """\
tiers:
  - {name: gold, rank: 2, preemptible: false, queue_limit_s: 60, aliases: [vip]}
  - {name: bulk, rank: 1, preemptible: true}
silent_after_s: 3600
"""


@pytest.fixture
def policy_file(tmp_path: Path) -> Path:
    return tmp_path / "slo.yaml"


def load(file: Path, text: str) -> Policy:
    file.write_text(text, encoding="utf-8")
    return load_policy(file)


def refusal(file: Path, text: str) -> str:
    with pytest.raises(PolicyError) as refused:
        load(file, text)
    return str(refused.value)


def test_the_default_has_the_three_tiers_of_the_accounting_rules() -> None:
    policy = load_policy(None)
    limits = {tier.name: tier.queue_limit_us for tier in policy.tiers}
    # Interactive 5 minutes, standard 2 hours, batch best effort; silent after 6 hours.
    assert limits == {"interactive": 300_000_000, "standard": 7_200_000_000, "batch": None}
    assert [tier.name for tier in policy.tiers if tier.preemptible] == ["batch"]
    assert policy.silent_after_us == 6 * 3600 * 1_000_000


@pytest.mark.parametrize(
    ("given", "tier"),
    [
        ("standard", "standard"),
        ("Standard", "standard"),
        (" BATCH ", "batch"),
        ("production", "interactive"),
        ("Production", "interactive"),
        ("RESEARCH", "standard"),
        ("best_effort", "batch"),
    ],
)
def test_a_tier_is_known_by_its_name_or_an_alias_in_any_case(given: str, tier: str) -> None:
    found = load_policy(None).tier(given)
    assert found is not None
    assert found.name == tier


@pytest.mark.parametrize("given", ["", "gold", "batch2", "bat"])
def test_a_name_that_means_no_tier_means_none(given: str) -> None:
    assert load_policy(None).tier(given) is None


@pytest.mark.parametrize("given", ["Gold", "gold", "GOLD", "VIP", "vip", "Vip"])
def test_a_policy_may_write_names_and_aliases_in_any_case(policy_file: Path, given: str) -> None:
    written = GOOD.replace("name: gold", "name: Gold").replace("[vip]", "[VIP]")
    found = load(policy_file, written).tier(given)
    assert found is not None
    assert found.name == "Gold"


def test_a_name_goes_before_an_alias_of_another_tier(policy_file: Path) -> None:
    found = load(policy_file, GOOD.replace("[vip]", "[bulk]")).tier("bulk")
    assert found is not None
    assert found.name == "bulk"


def test_a_site_s_policy_replaces_the_default_whole(policy_file: Path) -> None:
    policy = load(policy_file, GOOD)
    assert [tier.name for tier in policy.tiers] == ["gold", "bulk"]
    assert policy.tier("interactive") is None
    assert policy.silent_after_us == 3_600_000_000


def test_an_unknown_key_is_refused_with_its_path(policy_file: Path) -> None:
    message = refusal(policy_file, GOOD.replace("queue_limit_s: 60", "queue_limit: 60"))
    assert "tiers.0.queue_limit" in message
    assert str(policy_file) in message


def test_an_unknown_key_of_the_document_is_refused_too(policy_file: Path) -> None:
    assert "silent_after:" in refusal(policy_file, GOOD + "silent_after: 60\n")


def test_an_unknown_key_is_told_with_the_one_that_it_is_closest_to(policy_file: Path) -> None:
    assert "silent_after_s" in refusal(policy_file, GOOD + "silent_afters: 60\n")


def test_every_fault_is_named_not_the_first_alone(policy_file: Path) -> None:
    message = refusal(
        policy_file, GOOD.replace("rank: 2", "rank: high").replace("silent_after_s: 3600", "x: 1")
    )
    for place in ("tiers.0.rank", "silent_after_s", "x:"):
        assert place in message


@pytest.mark.parametrize(
    ("before", "after", "place"),
    [
        ("queue_limit_s: 60", "queue_limit_s: 0", "tiers.0.queue_limit_s"),
        ("queue_limit_s: 60", "queue_limit_s: -5", "tiers.0.queue_limit_s"),
        ("queue_limit_s: 60", "queue_limit_s: soon", "tiers.0.queue_limit_s"),
        ("queue_limit_s: 60", "queue_limit_s: 1.5", "tiers.0.queue_limit_s"),
        ("queue_limit_s: 60", "queue_limit_s: .nan", "tiers.0.queue_limit_s"),
        ("queue_limit_s: 60", "queue_limit_s: .inf", "tiers.0.queue_limit_s"),
        ("preemptible: true", "preemptible: 7", "tiers.1.preemptible"),
        ("name: bulk, ", "", "tiers.1.name"),
        ("aliases: [vip]", "aliases: vip", "tiers.0.aliases"),
        ("silent_after_s: 3600", "silent_after_s: 0", "silent_after_s"),
        ("silent_after_s: 3600", "silent_after_s: -1", "silent_after_s"),
        ("silent_after_s: 3600", "silent_after_s: null", "silent_after_s"),
    ],
)
def test_a_bad_value_is_refused_with_its_place(
    policy_file: Path, before: str, after: str, place: str
) -> None:
    assert before in GOOD
    assert place in refusal(policy_file, GOOD.replace(before, after))


def test_a_silence_longer_than_microseconds_can_count_is_refused(policy_file: Path) -> None:
    long = GOOD.replace("silent_after_s: 3600", f"silent_after_s: {10**30}")
    assert "silent_after_s" in refusal(policy_file, long)


def test_a_policy_without_any_tier_is_refused(policy_file: Path) -> None:
    # Sources give a job that names none the last tier there is: there must be one.
    assert "tiers" in refusal(policy_file, "tiers: []\nsilent_after_s: 3600\n")


def test_two_tiers_of_one_name_are_refused(policy_file: Path) -> None:
    assert "gold" in refusal(policy_file, GOOD.replace("name: bulk", "name: gold"))


@pytest.mark.parametrize(
    "text",
    ["", "tiers", "- tiers", "tiers: [", "\tx", "tiers: {a: 1}\nsilent_after_s: 1\n"],
    ids=["empty", "a word", "a list", "torn YAML", "a tab", "tiers as a mapping"],
)
def test_what_is_no_policy_is_refused_with_the_file_s_name(policy_file: Path, text: str) -> None:
    assert str(policy_file) in refusal(policy_file, text)


def test_bytes_that_are_no_text_are_refused(policy_file: Path) -> None:
    policy_file.write_bytes(b"\xff\xfe\x00tiers")
    with pytest.raises(PolicyError, match="cannot be read as YAML"):
        load_policy(policy_file)


@pytest.mark.parametrize(
    "value",
    [
        *("2026-13-45", "!!timestamp x", "!!int abc", "!!float abc", "!!bool x", "!!binary é"),
        *("!!python/object:os.system x", "&a [*a]", "&a {a: *a}", "{[1]: 2}", "\x00"),
        *("9" * 5000, "[" * 2000 + "]" * 2000),
    ],
    ids=lambda value: value[:12],
)
def test_a_value_that_yaml_cannot_make_is_a_fault_of_the_file(
    policy_file: Path, value: str
) -> None:
    text = GOOD.replace("silent_after_s: 3600", f"silent_after_s: {value}")
    assert str(policy_file) in refusal(policy_file, text)


@given(st.data())
def test_whatever_the_file_says_it_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(GOOD)))
    noise = data.draw(st.text("aé0.:-[]{},&*!|>'\"#%\n\t <?", max_size=8))
    cut = data.draw(st.integers(0, 8))
    file = tmp_path_factory.getbasetemp() / "any.yaml"
    try:
        load(file, GOOD[:place] + noise + GOOD[place + cut :])
    except PolicyError as e:
        assert str(file) in str(e)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"absent\.yaml"):
        load_policy(tmp_path / "absent.yaml")


def test_a_bad_policy_is_a_fault_of_usage() -> None:
    assert issubclass(PolicyError, UsageError)


def test_guaranteed_shares_and_how_waits_are_judged_are_policy(policy_file: Path) -> None:
    shares = "shares: {a: 512}\nwaits: {comparable_jobs: 3}\n"
    policy = load(policy_file, GOOD + shares)
    assert policy.shares == {"a": 512}
    assert policy.waits.comparable_jobs == 3
    assert load(policy_file, GOOD).shares == load_policy(None).shares == {}


@pytest.mark.parametrize(
    ("section", "told"),
    [("shares: {a: -1}", "shares"), ("waits: {comparable_job: 3}", "comparable_jobs")],
    ids=["fewer GPUs than none", "a key misspelt"],
)
def test_a_section_about_waits_that_makes_no_sense_is_refused(
    policy_file: Path, section: str, told: str
) -> None:
    assert told in refusal(policy_file, f"{GOOD}{section}\n")
