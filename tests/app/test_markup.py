"""HTML that Headway writes itself: what is said in it is text, never markup."""

import re
from base64 import b64decode
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app import format, markup
from app.charts import spark
from app.markup import Card
from app.palette import Badge

WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]))


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=4))
def test_whatever_a_cell_says_is_read_back_as_it_was_said(rows: list[tuple[str, str]]) -> None:
    made = ElementTree.fromstring(markup.table([{"One": a, "Two": b} for a, b in rows]))
    read = [tuple(format.spaced(cell.text or "") for cell in row) for row in made.iter("tr")]
    assert read == [("One", "Two"), *((format.spaced(a), format.spaced(b)) for a, b in rows)]


@given(WORDS)
def test_nothing_that_is_said_becomes_a_tag(said: str) -> None:
    card = Card(said, said, said, badges=[Badge("check", said, "green")])
    for made in (markup.cards([card]), markup.command(said)):
        assert set(re.findall(r"<(\w+)", made)) <= {"div", "span", "pre"}


def test_numbers_stand_to_the_right_sentences_wrap_and_names_stay_left() -> None:
    made = markup.table(
        [
            {"Job": "12", "Took": "4 h", "Why": "short"},
            {"Job": "13", "Took": "unknown", "Why": "a sentence of more than forty characters, so"},
        ]
    )
    heads = {cell.text: cell.get("class") for cell in ElementTree.fromstring(made).iter("th")}
    assert heads == {"Job": None, "Took": "number", "Why": "said"}


@pytest.mark.parametrize(("rows", "scrolls"), [(15, False), (16, True)])
def test_a_long_table_scrolls(rows: int, scrolls: bool) -> None:
    assert ("scrolls" in markup.table([{"A": "a"}] * rows)) is scrolls


def test_a_small_course_goes_from_the_first_value_to_the_last() -> None:
    made = spark.image([1.0, -0.5, 0.25], "light", "Goodput, 30 days")
    found = re.fullmatch(r'<img alt="(.*)" src="data:image/svg\+xml;base64,(.*)">', made)
    assert found is not None
    assert format.spaced(found[1]) == "Goodput, 30 days: from 100.0 % to 25.0 % left"
    line = ElementTree.fromstring(b64decode(found[2]))[0]
    # 144 x 48 pixels with a margin of 2: the largest at the top, the least at the foot, and a
    # quarter is (0.25 + 0.5) / 1.5 = half of the way.
    assert line.get("points") == "2.0,2.0 72.0,46.0 142.0,24.0"


def test_a_course_that_never_changes_is_a_line_in_the_middle() -> None:
    made = spark.image([1.0, 1.0], "dark", "Short jobs")
    svg = b64decode(made.partition("base64,")[2].rstrip('">')).decode()
    assert 'points="2.0,24.0 142.0,24.0"' in svg
