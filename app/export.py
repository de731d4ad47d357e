"""`headway review`: a week's review as one HTML file and as Markdown, charts as SVG in both."""

import argparse
import sys
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.util import find_spec
from pathlib import Path

import vl_convert

from answers.clock import now_us
from answers.facts import Facts
from answers.home import Home
from answers.journal import Journal
from answers.mart import open_mart
from app import capacity_text, format, markup, review_text, waiting_text
from app.charts import area
from app.charts.base import Drawing
from app.palette import LIGHT
from app.views import home, review
from metrics.errors import HeadwayError, UsageError
from metrics.policy import Price
from metrics.rulings import Ruling, Rulings
from metrics.scope import Scope

WIDTH = 900
"""Of a chart in pixels: outside a browser somebody has to say it."""

FONT = "Source Sans, sans-serif"
"""The page's own, which the files carry; where a reader forbids that, the nearest there is."""


def svg(drawing: Drawing) -> str:
    """A chart as SVG, with its description for those who cannot see it."""
    spec = drawing.filled()
    spec["datasets"] = {name: list(rows) for name, rows in drawing.datasets.items()}
    spec["width"] = WIDTH
    spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    spec["config"]["font"] = FONT
    drawn: str = vl_convert.vegalite_to_svg(spec)
    title = f'<svg role="img" aria-label="{escape(drawing.alt, quote=True)}" '
    return drawn.replace("<svg ", title, 1)


class Document:
    """The same content twice: Markdown and HTML, in the order added."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.markdown = [f"# {title}", ""]
        self.html = [f"<h1>{escape(title)}</h1>"]
        self.charts: dict[str, str] = {}

    def heading(self, text: str) -> None:
        """A section's heading."""
        self.markdown += [f"## {text}", ""]
        self.html.append(f"<h2>{escape(text)}</h2>")

    def text(self, text: str) -> None:
        """A paragraph."""
        self.markdown += [text, ""]
        self.html.append(f"<p>{escape(text)}</p>")

    def lines(self, lines: Sequence[str], none: str) -> None:
        """A list, or why there is none."""
        if not lines:
            self.text(none)
            return
        self.markdown += [*(f"- {format.plain(line)}" for line in lines), ""]
        self.html.append("<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>")

    def table(self, rows: Sequence[dict[str, str]], none: str) -> None:
        """A table, or why there is none."""
        if not rows:
            self.text(none)
            return
        heads = list(rows[0])
        right = {name for name in heads[1:] if format.are_numbers(row[name] for row in rows)}
        self.markdown += [
            "| " + " | ".join(heads) + " |",
            "| " + " | ".join("---:" if name in right else "---" for name in heads) + " |",
            *("| " + " | ".join(_cell(row[head]) for head in heads) + " |" for row in rows),
            "",
        ]
        self.html.append(markup.table(rows))

    def chart(self, name: str, drawing: Drawing) -> None:
        """A chart: inside the HTML, as a file of its own beside the Markdown."""
        self.charts[name] = svg(drawing)
        self.markdown += [f"![{drawing.alt}]({name}.svg)", ""]
        self.html.append(f'<figure class="wide">{self.charts[name]}</figure>')


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def document(facts: Facts, rulings: Rulings, scope: Scope, week: str) -> Document:
    """The whole review."""
    found = review.review(facts, scope, week)
    made = Document(review_text.title(found))
    made.text(review_text.sentence(found))
    made.text(f"Numbers as of {format.moment(found.as_of_us)}.")
    made.heading("Objectives")
    made.table(review_text.objectives(found), "No objective applies to this scope.")
    made.heading("What spent it")
    if found.spent:
        made.chart(f"{week}-spent", review_text.spent_chart(found, "light"))
        made.text(review_text.SPENT_KEY)
    made.lines(review_text.moves(found), "Nothing moved against last week.")
    _budget(made, facts, found)
    _people(made, found, rulings.entries)
    made.heading("Top five jobs by charged loss")
    made.table(review_text.losers(found.jobs, "Job"), "No job lost anything.")
    made.heading("Top five nodes by charged loss")
    made.table(review_text.losers(found.nodes, "Node"), "No interruption named a node.")
    made.heading("Open restarts")
    made.table(review_text.restarts(found), "None.")
    made.heading("Promises broken")
    made.table(review_text.broken(found), "None.")
    _contracts(made, found)
    _capacity(made, found, facts.policy.price)
    return made


def _capacity(made: Document, found: review.Review, price: Price) -> None:
    if found.capacity is not None:
        week, before = found.capacity
        made.heading("Capacity")
        made.text(capacity_text.sentence(week.spent, price).replace("**", ""))
        made.chart(
            f"{found.week.name}-capacity", area.drawing(week.bins, "light", "Installed GPUs")
        )
        made.table(capacity_text.groups(week.spent, price, before), "None.")


def _contracts(made: Document, found: review.Review) -> None:
    made.heading("Waits and contracts")
    made.text(review_text.contracts_sentence(found))
    made.table(waiting_text.explained(found.explained), "Nothing waited.")
    made.table(waiting_text.summary(found.contracts.counts), "No contract applies.")
    broken = found.contracts.broken
    made.table(
        waiting_text.breaches(broken, review.TOP_BROKEN), "No contract was broken in this week."
    )


def _budget(made: Document, facts: Facts, found: review.Review) -> None:
    line = home.line(facts, found.scope, found.as_of_us, "goodput")
    if line.left:
        course = home.course(facts, found.scope, found.as_of_us)
        made.heading("Goodput budget left, 30 days to the week’s end")
        made.chart(
            f"{found.week.name}-budget", review_text.line_chart(found, line, course, "light")
        )
        made.text(review_text.LINE_KEY)


def _people(made: Document, found: review.Review, entries: Sequence[Ruling]) -> None:
    made.heading("Freezes, overrides, adjustments")
    ruled = review.ruled(entries, found.week)
    made.lines(review_text.decided(found, ruled), "None in this week.")
    made.heading("Notes")
    kept = [f"{note.why} ({note.who})" for note in review.notes(entries, found.week)]
    made.lines(kept, "No note is kept with this week.")


_STYLE = (
    f"body{{font-family:{FONT};max-width:960px;background:#fff;"
    f"margin:2rem auto;padding:0 1rem;color:{LIGHT.ink};line-height:1.45}}"
    f"table{{border-collapse:collapse;width:100%}}th,td{{text-align:left;padding:.3rem .6rem;"
    f"border-bottom:1px solid {LIGHT.grid}}}th{{color:{LIGHT.ink2};font-weight:600}}"
    "td{white-space:nowrap}.number{text-align:right}td.said{white-space:normal;min-width:13rem}"
    # On a phone what is wide scrolls by itself, and a chart's text stays readable.
    ".wide{overflow-x:auto}figure{margin:1rem 0}svg{width:100%;min-width:680px;height:auto}"
    "td{vertical-align:top}"
)


@cache
def _font() -> str:
    """The page's font as a rule of CSS; empty where Streamlit no longer ships it."""
    package = find_spec("streamlit")
    if package is None or package.origin is None:
        return ""
    shipped = Path(package.origin).parent / "static" / "static" / "media"
    file = next(iter(sorted(shipped.glob("SourceSansVF-Upright*.woff2"))), None)
    if file is None:
        return ""
    data = b64encode(file.read_bytes()).decode("ascii")
    return (
        "@font-face{font-family:'Source Sans';font-weight:200 900;"
        f"src:url(data:font/woff2;base64,{data}) format('woff2')}}"
    )


def _alone(chart: str) -> str:
    """A chart's SVG as a file of its own: it carries its font."""
    return chart.replace(">", f"><style>{_font()}</style>", 1)


def write(made: Document, week: str, out: Path) -> list[Path]:
    """Write the HTML, the Markdown and its charts; the files."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise HeadwayError(f"--out {out}: cannot be made a directory ({e.strerror})") from e
    html = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(made.title)}'
        '</title><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_font()}{_STYLE}</style></head><body>{''.join(made.html)}</body></html>\n"
    )
    files = {
        f"review-{week}.html": html,
        f"review-{week}.md": format.spaced("\n".join(made.markdown)),
    }
    files |= {f"{name}.svg": _alone(chart) for name, chart in made.charts.items()}
    for name, text in files.items():
        (out / name).write_text(text, encoding="utf-8")
    return [out / name for name in files]


def last_whole_week(facts: Facts) -> str:
    """The newest week that is over in the data. Raises UsageError where there is none."""
    through_us = facts.data_through_us or 0
    over = [w for w in review.weeks(facts) if review.Week.named(w).end_us <= through_us]
    if not over:
        raise UsageError("--week: no week is over in the data yet; name one that is under way")
    return over[0]


def main() -> None:
    """Write a review and name its files, one a line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--week")
    parser.add_argument("--scope", default="fleet")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    site = Home.at()
    rulings = Rulings(Journal(site).entries(), site.policy())
    with open_mart(site) as mart:
        facts = Facts(mart, rulings.policy, rulings.adjustments(now_us()))
        week = given.week or last_whole_week(facts)
        made = document(facts, rulings, Scope.parse(given.scope), week)
    for path in write(made, week, given.out):
        print(path)


if __name__ == "__main__":
    try:
        main()
    except (HeadwayError, OSError) as e:
        print(e, file=sys.stderr)
        sys.exit(2 if isinstance(e, UsageError) else 1)
