"""Plans of checkpoints as tables for people."""

from typing import Any

from rich.padding import Padding

from answers.planning.words import dollars
from answers.wording import percent, size, span
from pipelines.show import console, print_table

Answer = dict[str, Any]

_HOLDS = {True: "yes", False: "no", None: "unknown"}


def print_plan(answer: Answer) -> None:
    """The advice, its arithmetic, what must hold besides, and where the numbers are from."""
    out = console()
    out.print(answer["advice"])
    out.print()
    _print_list("Arithmetic", answer["arithmetic"])
    _print_intervals(answer)
    if "money" in answer:
        _print_money(answer["money"])
    rows = [[row["name"], _HOLDS[row["holds"]], row["detail"]] for row in answer["constraints"]]
    print_table("Constraints", ("~constraint", "holds", "~why"), rows)
    _print_list("Assumptions", answer["assumptions"])


def _print_list(title: str, lines: list[str]) -> None:
    out = console()
    out.print(title, style="bold")
    for line in lines:
        out.print(Padding(out.render_str(f"· {line}"), (0, 0, 0, 1)))


def _print_intervals(answer: Answer) -> None:
    named = [("advised", answer)] + ([("on spot", answer["spot"])] if "spot" in answer else [])
    cells = [
        [
            name,
            span(row["interval_s"]),
            "unknown" if row["interval_steps"] is None else f"{row['interval_steps']:,}",
            *(percent(row["overhead"][part]) for part in ("save", "lost_work", "restart", "total")),
            percent(row["goodput"]),
        ]
        for name, row in named
    ]
    heads = ("", ">interval", ">steps", ">saving", ">again", ">restarts", ">total", ">goodput")
    print_table("Interval, and what it takes of the wall-clock", heads, cells)


def _print_money(money: Answer) -> None:
    currency = money["currency"]
    cells = []
    for key, name in (("on_demand", "on demand"), ("spot", "on spot")):
        if key in money:
            row = money[key]
            cells.append(
                [
                    name,
                    dollars(row["price_per_gpu_hour"], currency),
                    _dollars(row["per_useful_gpu_hour"], currency),
                    "–" if row["wall_hours"] is None else f"{row['wall_hours']:,.0f} h",
                    _dollars(row["total"], currency),
                ]
            )
    warning = money.get("spot", {}).get("with_warning")
    if warning:
        ends = " to ".join(_dollars(warning[end], currency) for end in ("low", "high"))
        cells.append(["on spot, warned", "", ends, "", ""])
    heads = ("", ">GPU-hour", ">useful GPU-hour", ">wall-clock", ">total")
    print_table("Money", heads, cells)


def _dollars(amount: float | None, currency: str) -> str:
    return "–" if amount is None else dollars(amount, currency)


def print_retention(answer: Answer) -> None:
    """What is kept by which rule, what for, and the storage."""
    out = console()
    out.print(answer["advice"])
    out.print()
    cells = [
        [
            row["name"],
            f"{row['count']:,}",
            f"{row['only_here']:,}",
            span(row["oldest_s"]) if row["count"] else "–",
            size(row["bytes"]),
            row["purpose"],
        ]
        for row in answer["keep"]
    ]
    total = ["all", "", f"{answer['checkpoints']:,}", "", size(answer["bytes"]), ""]
    heads = ("keep", ">count", ">stored", ">oldest", ">storage", "~to")
    print_table("Checkpoints to keep", heads, [*cells, total])
    _print_list("Assumptions", answer["assumptions"])
