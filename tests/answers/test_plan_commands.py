"""The commands that plan checkpoints, as somebody meets them: answers, widths, refusals."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from commands import headway
from fleet import Fleet
from test_save_costs import two_saves_and_a_restart

RUN = ("--save-seconds", "240", "--mtbf-hours", "9", "--restart-minutes", "14")
SPOT = (
    *("--step-seconds", "0.9", "--writers", "16", "--blocking-fraction", "0.1"),
    *("--bytes", "1.4TB", "--jobs", "200", "--price", "2.40", "--spot-price", "0.75"),
    *("--spot-mtbf-minutes", "45", "--warning-seconds", "120", "--gpus", "512"),
    *("--useful-hours", "720"),
)


@pytest.fixture(scope="module")
def nowhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which nothing was published."""
    return tmp_path_factory.mktemp("plans") / "home"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a job that saved twice and restarted once."""
    fleet: Fleet = two_saves_and_a_restart()
    return fleet.publish(tmp_path_factory.mktemp("site")).root


def ask(home: Path, *args: str) -> Any:
    return json.loads(headway(home, *args, "--format", "json").stdout)


def test_a_plan_needs_no_site(nowhere: Path) -> None:
    found = ask(nowhere, "plan-checkpoint", *RUN)
    assert round(found["interval_s"]) == 3944
    assert found["interval_steps"] is None
    assert not nowhere.exists()


def test_options_are_in_the_units_that_their_names_say(nowhere: Path) -> None:
    found = ask(nowhere, "plan-checkpoint", *RUN, *SPOT)
    assert found["interval_steps"] == 346  # 311.8 / 0.9
    assert found["spot"]["interval_s"] == pytest.approx(90)
    # 720 / (1 - 0.03555) x 512 x 2.40.
    assert found["money"]["on_demand"]["total"] == pytest.approx(917_346, abs=1)


@pytest.mark.parametrize("columns", ["80", "120"])
def test_a_plan_is_readable_in_that_many_columns(nowhere: Path, columns: str) -> None:
    said = headway(nowhere, "plan-checkpoint", *RUN, *SPOT, COLUMNS=columns).stdout.decode()
    lines = said.splitlines()
    assert max(map(len, lines)) <= int(columns)
    # Rows of numbers stand whole in a line.
    row = r" advised +312 s +346 +0\.5 % +0\.5 % +2\.6 % +3\.6 % +96\.4 % *"
    assert any(re.fullmatch(row, line) for line in lines)
    assert any("$1.09 to $1.12" in line for line in lines)


def test_a_job_is_planned_from_its_records(site: Path) -> None:
    found = ask(site, "plan-checkpoint", "--job", "big")
    # C = 540 s, M = 36.3 h: sqrt(2 x 540 x 130,680) = 11,880 s, in steps of an hour 3.
    assert found["interval_s"] == pytest.approx(11_880, abs=1)
    assert found["interval_steps"] == 3
    assert found["measured"]["interval_s"] == 36_720
    # Useful: of 34 steps painted, 4 of attempt 0 are done again: see what `headway job` says.
    assert found["measured"]["goodput"] == ask(site, "job", "big")["goodput"]
    assert ask(site, "plan-checkpoint", "--job", "big", "--mtbf-hours", "9")["interval_s"] == (
        pytest.approx((2 * 540 * 32_400) ** 0.5)
    )


def test_a_retention_counts_what_stays_and_its_bytes(nowhere: Path) -> None:
    found = ask(
        nowhere,
        *("plan-retention", "--bytes", "2TB", "--interval-seconds", "1800", "--run-hours", "500"),
        *("--newest", "3", "--hourly", "24", "--daily", "7", "--milestone-hours", "168"),
    )
    assert found["saved"] == 1000
    # 3 newest, 22 more hourly, 6 more daily (see test_checkpoint_retention); milestones 336 and 672
    # of 1,000, 664 and 328 saves ago: neither is kept yet.
    assert [row["only_here"] for row in found["keep"]] == [3, 22, 6, 2]
    assert found["checkpoints"] == 33
    assert found["bytes"] == 66 * 10**12
    assert found["peak_bytes"] == 68 * 10**12
    assert found["written_bytes"] == 2000 * 10**12


def test_a_retention_takes_size_and_interval_from_a_job(site: Path) -> None:
    found = ask(site, "plan-retention", "--job", "big", "--run-hours", "102")
    assert (found["saved"], found["written_bytes"]) == (10, 10 * 10**12)


@pytest.mark.parametrize("columns", ["80", "120"])
def test_a_retention_is_readable_in_that_many_columns(nowhere: Path, columns: str) -> None:
    said = headway(
        nowhere,
        *("plan-retention", "--bytes", "1.4TB", "--interval-seconds", "3944"),
        *("--run-hours", "504"),
        COLUMNS=columns,
    ).stdout.decode()
    assert max(map(len, said.splitlines())) <= int(columns)
    assert "silent corruption" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("plan-checkpoint",), "give --job, or say --save-seconds"),
        (("plan-checkpoint", *RUN, "--bytes", "many"), "--bytes many: say a size like 1.4TB"),
        (("plan-checkpoint", *RUN, "--price", "-1"), "--price -1.0: say a number above 0"),
        (("plan-checkpoint", *RUN, "--format", "csv"), "a plan is printed as table or json"),
        (("plan-retention", "--bytes", "1TB"), "say --interval-seconds, --run-hours"),
        (
            *(
                (
                    "plan-retention",
                    "--bytes",
                    "1TB",
                    "--interval-seconds",
                    "nan",
                    "--run-hours",
                    "1",
                ),
            ),
            "--interval-seconds nan: say a number above 0",
        ),
    ],
    ids=["nothing said", "no size", "no price", "no table", "too little", "no number"],
)
def test_what_cannot_be_planned_is_a_usage_error_that_says_what_to_give(
    nowhere: Path, words: tuple[str, ...], said: str
) -> None:
    assert said in headway(nowhere, *words, code=2).stderr.decode()


def test_what_a_job_s_records_do_not_tell_of_its_retention_is_asked_for(site: Path) -> None:
    said = headway(site, "plan-retention", "--job", "big", code=2).stderr.decode()
    assert "say --run-hours; the records of big do not tell" in said


def test_a_job_that_is_not_there_is_a_usage_error(site: Path) -> None:
    said = headway(site, "plan-checkpoint", "--job", "bigg", code=2).stderr.decode()
    assert "no such job" in said
    assert "did you mean big?" in said


@pytest.mark.parametrize(
    ("text", "amount"),
    [("1.4TB", 14 * 10**11), ("1.4 TB", 14 * 10**11), ("2GiB", 2 * 2**30), ("5e9", 5 * 10**9)],
)
def test_a_size_is_read_in_decimal_and_binary_units(nowhere: Path, text: str, amount: int) -> None:
    found = ask(
        nowhere,
        *("plan-retention", "--bytes", text, "--interval-seconds", "60", "--run-hours", "1"),
    )
    assert found["written_bytes"] == 60 * amount
