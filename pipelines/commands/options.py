"""Options that several commands share, and how their texts are read."""

import re
from pathlib import Path
from typing import Annotated, overload

import typer

from answers import moments
from metrics.errors import UsageError
from pipelines.show import Format

HomeOption = Annotated[
    Path | None,
    typer.Option("--home", help="The site's directory. Default: HEADWAY_HOME, else .headway here."),
]
FormatOption = Annotated[Format, typer.Option("--format", help="How to print the answer.")]
TableOrJsonOption = Annotated[
    Format, typer.Option("--format", help="table for people, json for programs.")
]
JobOption = Annotated[str | None, typer.Option("--job", help="Only this job.")]
ScopeOption = Annotated[
    str, typer.Option("--scope", help="fleet, cluster=NAME, tier=NAME, tenant=NAME or job=NAME.")
]
AsOfOption = Annotated[
    str | None,
    typer.Option("--as-of", help="The moment judged (RFC 3339 with an offset). Default: now."),
]
RefreshOption = Annotated[
    bool, typer.Option("--refresh/--no-refresh", help="Derive and publish afterwards.")
]
WhoOption = Annotated[str, typer.Option("--who", help="Who decides this.")]
WhyOption = Annotated[str, typer.Option("--why", help="Why, for those who read it later.")]


@overload
def moment_us(text: str, option: str = ...) -> int: ...
@overload
def moment_us(text: None, option: str = ...) -> None: ...
@overload
def moment_us(text: str | None, option: str = ...) -> int | None: ...
def moment_us(text: str | None, option: str = "--as-of") -> int | None:
    """The moment that an option says, in µs; None where it was not given. Raises UsageError."""
    return None if text is None else moments.moment_us(text, option)


_SIZE = re.compile(r"(\d+(?:\.\d+)?(?:e\d{1,2})?)\s*([kMGTPE]?)(i?)B?(?:/s)?", re.IGNORECASE)


def size(text: str | None, option: str) -> float | None:
    """The bytes that a text like 1.4TB, 512 GiB or 2e9 says. Raises UsageError."""
    if text is None:
        return None
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"{option} {text}: say a size like 1.4TB")
    number, prefix, binary = found.groups()
    base = 1024.0 if binary else 1000.0
    amount = float(number) * float(base ** " KMGTPE".index(prefix.upper() or " "))
    if not 1 <= amount < 1e21:
        raise UsageError(f"{option} {text}: say a size like 1.4TB")
    return amount
