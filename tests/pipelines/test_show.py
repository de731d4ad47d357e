"""How answers are printed: durations as people say them, data without losing a digit."""

import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.commands.waiting import outlook
from pipelines.show import (
    Format,
    bar,
    console,
    duration,
    flatten,
    moment,
    percent,
    print_json,
    print_rows,
    print_table,
    progress_bar,
    reached,
)

MS = 1_000
S = 1_000_000
M = 60 * S
H = 60 * M
D = 24 * H
LARGE = 2**63
"""More than a BIGINT holds: GPU-microseconds of a fleet get there."""


@pytest.mark.parametrize(
    ("us", "said"),
    [
        (None, "–"),
        (0, "0 s"),
        (1, "1 µs"),
        (999, "999 µs"),
        (MS, "1 ms"),
        (250 * MS, "250 ms"),
        (S, "1.0 s"),
        (8_400 * MS, "8.4 s"),
        (M, "1 m 00 s"),
        (5 * M + 10 * S, "5 m 10 s"),
        (H - 1, "59 m 59 s"),
        (H, "1 h 00 m"),
        (2 * H + 5 * M, "2 h 05 m"),
        (48 * H - 1, "47 h 59 m"),
        (48 * H, "2 d 00 h"),
        (3 * D + 4 * H, "3 d 04 h"),
        (21 * D, "21 d 00 h"),
        (-90 * S, "-1 m 30 s"),
    ],
)
def test_a_duration_is_said_in_its_own_unit(us: int | None, said: str) -> None:
    assert duration(us) == said


@pytest.mark.parametrize(
    ("us", "said"),
    [(S - 1, "1.0 s"), (999_600, "1.0 s"), (M - 1, "1 m 00 s"), (59_960 * MS, "1 m 00 s")],
)
def test_a_duration_that_rounds_up_to_the_next_unit_is_said_in_it(us: int, said: str) -> None:
    assert duration(us) == said


def test_a_duration_past_what_floats_hold_is_still_said() -> None:
    assert duration(2**63 * D) == f"{2**63} d 00 h"


def test_a_moment_is_in_utc_to_the_second() -> None:
    assert moment(1_795_967_495_150_806) == "2026-11-29 15:51:35"
    assert moment(0) == "1970-01-01 00:00:00"
    assert moment(None) == "–"


def test_a_moment_is_cut_off_to_the_second_not_rounded() -> None:
    assert moment(1_795_967_495_999_999) == "2026-11-29 15:51:35"
    assert moment(4_102_444_799_999_999) == "2099-12-31 23:59:59"


@pytest.mark.parametrize(
    ("ratio", "said"),
    [
        (None, "unknown"),
        (0.0, "0.0 %"),
        (1.0, "100.0 %"),
        (0.5, "50.0 %"),
        (0.80952, "81.0 %"),
        (0.0001, "< 0.1 %"),
        (0.99999, "> 99.9 %"),
        (0.9994, "99.9 %"),
        (0.001, "0.1 %"),
    ],
)
def test_a_share_is_in_percent_and_never_quite_all_or_nothing(
    ratio: float | None, said: str
) -> None:
    assert percent(ratio) == said


@pytest.mark.parametrize(
    ("ratio", "drawn"),
    # Eight characters of eighths: 64 in all.
    [
        (0.0, ""),
        (1.0, "█" * 8),
        (0.5, "█" * 4),
        (1 / 64, "▏"),
        (7 / 64, "▉"),
        (9 / 64, "█▏"),
        (2.0, "█" * 8),
        (-1.0, ""),
    ],
)
def test_a_bar_is_drawn_in_eighths_and_never_past_its_width(ratio: float, drawn: str) -> None:
    assert bar(ratio, width=8) == drawn


def test_a_quantile_that_is_not_reached_is_more_than_the_longest_age() -> None:
    assert reached(None, 5 * M) == "> 5 m 00 s"
    assert reached(5 * M, 9 * M) == "5 m 00 s"
    assert reached(None, None) == "–"


def test_components_stand_beside_the_other_fields_when_flat() -> None:
    assert flatten({"job": "a", "components": {"load": 3, "detect": None}}) == {
        "job": "a",
        "load_us": 3,
        "detect_us": None,
    }


ROWS: list[dict[str, Any]] = [
    {"job": 'a "quoted", name', "us": LARGE, "small": 2**53 + 1, "on": True, "share": 0.5},
    {"job": "ü\nline", "us": -LARGE - 1, "small": None, "on": None, "share": None},
]
COLUMNS = ("job", "us", "small", "on", "share")


def printed_parquet(rows: list[dict[str, Any]], capfdbinary: Any) -> pa.Table:
    print_rows(rows, COLUMNS, Format.PARQUET)
    return pq.read_table(pa.BufferReader(capfdbinary.readouterr().out))


def test_integers_past_64_bits_survive_json(capsys: pytest.CaptureFixture[str]) -> None:
    print_json(ROWS)
    assert json.loads(capsys.readouterr().out) == ROWS


def test_integers_past_64_bits_survive_parquet(capfdbinary: Any) -> None:
    table = printed_parquet(ROWS, capfdbinary)
    assert [int(us) for us in table["us"].to_pylist()] == [LARGE, -LARGE - 1]
    assert table["small"].to_pylist() == [2**53 + 1, None]
    assert table["small"].type == pa.int64()


def test_text_and_flags_survive_parquet(capfdbinary: Any) -> None:
    table = printed_parquet(ROWS, capfdbinary)
    assert table["job"].to_pylist() == [row["job"] for row in ROWS]
    assert table["on"].to_pylist() == [True, None]


def test_integers_past_64_bits_survive_csv(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(ROWS[:1], COLUMNS, Format.CSV)
    assert capsys.readouterr().out == (
        "job,us,small,on,share\n"
        '"a ""quoted"", name",9223372036854775808,9007199254740993,True,0.5\n'
    )


def test_an_answer_without_rows_still_has_its_columns(capfdbinary: Any) -> None:
    assert printed_parquet([], capfdbinary).column_names == list(COLUMNS)


@pytest.mark.parametrize("width", [60, 44])
def test_in_a_narrow_terminal_no_word_and_no_number_is_broken(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    rows = [["three-weeks", "a node went down", "20 m 00 s"], ["other", "preempted", "1 h 15 m"]]
    print_table("Restarts", ["job of the fleet", "why it stopped", ">took so long"], rows * 3)
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= width for line in lines)
    said = "\n".join(lines)
    assert said.count("three-weeks") == said.count("20 m 00 s") == said.count("1 h 15 m") == 3
    assert said.count("preempted") == 3


@pytest.mark.parametrize("number", ["-195 %", "> 99.9 %", "< 0.1 %", "101,472 GPU-h", "14 min"])
@pytest.mark.parametrize("width", range(26, 60, 3))
def test_a_number_stays_on_one_line_with_its_sign_and_its_unit(
    number: str,
    width: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    print_table("Budgets", ["objective", ">left", "~why"], [["a", number, f"it is {number} now"]])
    console().print(f"of the whole budget {number} are left, and last week {number}")
    said = capsys.readouterr().out
    assert said.count(number) == 4
    assert said.replace("\n", "").isprintable()
    assert all(len(line) <= width for line in said.splitlines())


def test_a_table_that_no_terminal_so_narrow_can_hold_is_turned_with_every_cell_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    heads = ["job", *(f">number {n}" for n in range(11))]
    rows = [[f"pretrain-{job:05}", *(f"{job}{n:02} h 30 m" for n in range(11))] for job in range(7)]
    print_table("Restarts", heads, rows)
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 80 for line in lines)
    said = "\n".join(lines)
    assert all(said.count(cell) == 1 for row in rows for cell in row)
    # 9 + 2 columns for the headings, 14 + 2 a job: four beside one another, then three.
    assert [line.split() for line in lines if line.lstrip().startswith("pretrain")] == [
        [row[0] for row in rows[:4]],
        [row[0] for row in rows[4:]],
    ]


@pytest.mark.parametrize("name", ["[/b]", "[red]x", "train[fp8]", ":smile:", "[link=a]b[/link]"])
def test_text_is_printed_as_it_is(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_table(f"Of {name}", [f"job {name}", "~why"], [[name, name]])
    console().print(name)
    assert capsys.readouterr().out.count(name) == 5
    bar = progress_bar()
    bar.add_task(name, detail=name)
    console().print(bar.get_renderable())
    assert name in capsys.readouterr().out


def test_no_name_commands_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    name = "a\x1b[2J\x07\r\tb\x9b1m\x7f"
    print_table(f"Of {name}", [name, "~why"], [[name, name], ["two\nlines", ""]])
    console().print(name)
    said = capsys.readouterr().out
    assert said.replace("\n", "").isprintable()
    assert said.count(r"a\x1b[2J\x07\x0d\x09b\x9b1m\x7f") == 5
    assert r"two\nlines" in said


@pytest.mark.parametrize("columns", ["0", "-1", "wide", ""])
def test_a_terminal_that_does_not_know_its_width_hides_nothing(
    columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    print_table("Ledger", ["job"], [["a" * 99]])
    assert capsys.readouterr().out.split() == ["Ledger", "job", "a" * 99]


def test_a_table_without_rows_says_so_and_shows_no_headings(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_table("Ledger", ["job", "hour"], [])
    print_table("Waiting now, the oldest first: nobody", ["job"], [])
    assert capsys.readouterr().out == "Ledger: nothing\nWaiting now, the oldest first: nobody\n"


def test_a_title_longer_than_its_table_stays_on_its_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_table("Waiting now, the oldest first: 1", ["job"], [["a"]])
    assert capsys.readouterr().out.startswith("Waiting now, the oldest first: 1\n")


def test_a_job_that_waits_for_another_is_not_said_to_be_held_by_its_owner() -> None:
    expectation = {"comparable": 0, "p50_us": None, "p90_us": None}
    present = {"position": None, "of": None, "tier": "batch", "size": "small"}
    said = outlook(present | {"expectation": expectation})
    assert said.startswith("not in the line: it does not ask for GPUs yet; to expect: unknown")
