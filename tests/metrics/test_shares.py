"""Fair share: who lends and who borrows, on figures that can be checked on paper."""

from hypothesis import given
from hypothesis import strategies as st

from metrics.shares import Share, shared

AMOUNTS = st.dictionaries(st.sampled_from("abcde"), st.integers(0, 10**17))


def test_what_one_leaves_another_borrows() -> None:
    found = shared({"a": 150, "b": 40}, {"a": 100, "b": 100})
    assert found == {"a": Share(100, 150, 0), "b": Share(100, 40, 50)}
    assert (found["a"].borrowed, found["b"].unused) == (50, 10)


def test_lenders_lend_in_proportion_to_what_they_leave() -> None:
    # 10 are borrowed; 20 and 40 are left: 10/3 and 20/3, of which the larger rest is rounded up.
    found = shared({"a": 10, "b": 80, "c": 60}, {"a": 0, "b": 100, "c": 100})
    assert (found["b"].lent, found["c"].lent) == (3, 7)


def test_what_nobody_is_guaranteed_may_be_borrowed_without_a_lender() -> None:
    found = shared({"a": 500, "b": 90}, {"b": 100})
    assert (found["a"].borrowed, found["b"].lent, found["b"].unused) == (500, 10, 0)


def test_nobody_lends_while_nobody_borrows() -> None:
    found = shared({"a": 10}, {"a": 100, "b": 100})
    assert [share.lent for share in found.values()] == [0, 0]
    assert [share.unused for share in found.values()] == [90, 100]


@given(AMOUNTS, AMOUNTS)
def test_no_gpu_microsecond_is_lent_twice_or_lost(
    used: dict[str, int], guaranteed: dict[str, int]
) -> None:
    found = shared(used, guaranteed)
    lent = sum(share.lent for share in found.values())
    borrowed = sum(share.borrowed for share in found.values())
    unused = sum(share.unused for share in found.values())
    # All is lent that is borrowed, or all that is left: the remainder is one side's only.
    assert lent <= borrowed
    assert lent == borrowed or unused == 0
    for share in found.values():
        assert share.used == share.guaranteed - share.lent - share.unused + share.borrowed
        assert min(share.lent, share.unused, share.borrowed) >= 0
