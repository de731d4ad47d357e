"""Which checkpoints stay, counted by hand and held against each one's age."""

from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.checkpoint_retention import Milestones, Rule, retention

HOUR = 3600
NEWEST = Rule("newest", "", 3, 0)
HOURLY = Rule("hourly", "", 24, HOUR)
DAILY = Rule("daily", "", 7, 24 * HOUR)


def test_the_newest_of_each_hour_stays() -> None:
    # Saved every 25 min: ages 0, 25, 50 | 75, 100 | 125, 150, 175 min: the first of each hour.
    assert list(Rule("", "", 3, HOUR).kept(25 * 60, 100)) == [0, 3, 5]


def test_an_hour_without_a_checkpoint_keeps_none() -> None:
    # Saved every 150 min: ages 0, 2 h 30, 5 h: hours 0, 2 and 5.
    assert list(Rule("", "", 6, HOUR).kept(150 * 60, 100)) == [0, 1, 2]


def test_a_short_run_keeps_what_it_has() -> None:
    assert list(NEWEST.kept(600, 2)) == [0, 1]
    assert list(HOURLY.kept(600, 2)) == [0]
    assert list(NEWEST.kept(600, 0)) == []


def test_milestones_are_counted_from_the_beginning_and_never_move() -> None:
    week = Milestones("", "", 2, 168 * HOUR)
    # Every hour for 500 h: the 168th and the 336th checkpoint, 332 and 164 saves before the last.
    assert list(week.kept(HOUR, 500)) == [332, 164]
    assert list(week.kept(HOUR, 501)) == [333, 165]


def test_a_checkpoint_that_several_rules_keep_is_stored_once() -> None:
    # Every 30 min: newest 0, 1, 2; hourly 0, 2, 4, …, 46: 24, two of them kept already; daily 0,
    # 48, …, 288: 7, one of them kept already.
    found = retention([NEWEST, HOURLY, DAILY], 1800, 1000)
    assert [(row.count, row.only_here) for row in found] == [(3, 3), (24, 22), (7, 6)]
    assert [row.oldest_s / HOUR for row in found] == [1, 23, 144]


@settings(deadline=None)
@given(st.floats(1, 1e5), st.integers(0, 3000))
def test_each_rule_keeps_what_looking_at_every_checkpoint_finds(
    interval: float, saved: int
) -> None:
    for rule in (HOURLY, DAILY):
        newest: dict[int, int] = {}
        for age in range(saved):
            newest.setdefault(int(age * interval // rule.every_s), age)
        wanted = [age for span, age in sorted(newest.items()) if span < rule.count]
        assert list(rule.kept(interval, saved)) == wanted
