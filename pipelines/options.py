"""Options that several commands share, and how their texts are read."""

from pathlib import Path
from typing import Annotated

import typer

from answers import moments
from pipelines.show import Format

HomeOption = Annotated[
    Path | None,
    typer.Option("--home", help="The site's directory. Default: HEADWAY_HOME, else .headway here."),
]
FormatOption = Annotated[Format, typer.Option("--format", help="How to print the answer.")]
JobOption = Annotated[str | None, typer.Option("--job", help="Only this job.")]
ScopeOption = Annotated[
    str, typer.Option("--scope", help="fleet, cluster=NAME, tier=NAME, tenant=NAME or job=NAME.")
]
AsOfOption = Annotated[
    str | None,
    typer.Option("--as-of", help="The moment judged (RFC 3339 with an offset). Default: now."),
]
WhoOption = Annotated[str, typer.Option("--who", help="Who decides this.")]
WhyOption = Annotated[str, typer.Option("--why", help="Why, for those who read it later.")]


def moment_us(text: str | None, option: str = "--as-of") -> int | None:
    """The moment that an option says, in µs; None where it was not given. Raises UsageError."""
    return None if text is None else moments.moment_us(text, option)
