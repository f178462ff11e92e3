"""A group comes back from a file as it was, or is refused when it comes."""

import datetime
import decimal
import enum

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueness as tn


def kept(*groups, **options):
    """An accumulator with a row for each of the groups, written and read."""
    seen = tn.Accumulator(by="shop", **options)
    for group in groups:
        seen.update([1], [0.5], group=group)
    found = tn.Accumulator.from_bytes(seen.to_bytes())
    assert found.groups == seen.groups
    assert [type(key) for key in found.groups] == [type(key) for key in seen.groups]
    return found


@pytest.mark.slow
@given(
    st.text(max_size=5)
    | st.integers()
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
)
def test_a_name_comes_back(name):
    for group in (name, [name], np.array([name], dtype=object)):
        assert list(kept(group).groups) == [name]


@pytest.mark.parametrize("bins", ["sketch", "distinct"])
def test_odd_names_come_back(bins):
    names = ["", "a\x00", "\udc80", "\ud83d\ude00", "😀", "x" * 100_000, "1", "None"]
    assert list(kept(*names, bins=bins).groups) == sorted(names)
    assert list(kept(10**300, -5, bins=bins).groups) == [-5, 10**300]
    assert kept(0.0, -0.0, bins=bins).groups.keys() == {0.0}


def test_numpy_and_enumerations_become_plain():
    class Shop(enum.StrEnum):
        A = "a"

    for given_, plain in (
        (np.int8(3), 3),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
    ):
        for group in (given_, np.array(given_), [given_], np.array([given_])):
            (found,) = kept(group).groups
            assert (found, type(found)) == (plain, type(plain))
    assert [type(key) for key in kept([Shop.A], "a").groups] == [str]


REFUSED = {
    "inf": float("inf"),
    "nan": float("nan"),
    "bytes": b"a",
    "a tuple": (1, 2),
    "a date": datetime.date(2026, 1, 1),
    "a date of NumPy": np.datetime64("2026-01-01", "ns"),
    "a decimal": decimal.Decimal("1"),
    "more digits than JSON reads": 10**5000,
    "a dict": {},
}


@pytest.mark.parametrize("name", REFUSED.values(), ids=REFUSED)
def test_what_does_not_come_back_is_refused_at_once(name):
    column = np.empty(1, dtype=object)
    column[0] = name
    seen = tn.Accumulator(by="shop")
    for group in (column, [name], *([] if isinstance(name, tuple) else [name])):
        with pytest.raises(tn.InputError, match="`group` must"):
            seen.update([1], [0.5], group=group)
    assert seen.groups == {}


@pytest.mark.parametrize("first", [1, True, 1.0, "1"])
@pytest.mark.parametrize("second", [1, True, 1.0, "1"])
def test_names_of_two_types_are_never_one(first, second):
    if type(first) is type(second):
        assert list(kept(first, second).groups) == [first]
        return
    message = "`group` must be of one type throughout; got .* beside .* Text works for all"
    with pytest.raises(tn.InputError, match=message):
        kept(first, second)
    for both in ([first, second], np.array([first, second], dtype=object)):
        with pytest.raises(tn.InputError, match=message):
            tn.Accumulator(by="shop").update([0, 1], [0.5, 0.5], group=both)
    one, two = kept(first), kept(second)
    with pytest.raises(tn.InputError, match=message):
        one.merge(two)


@pytest.mark.parametrize(
    "group",
    [
        [None, "a"],
        ["a", float("nan")],
        pd.Series([1, None], dtype="Int64"),
        pl.Series(["a", None]),
        np.array([np.nan, 1.0]),
        np.ma.masked_array([1, 2], mask=[False, True]),
    ],
    ids=repr,
)
def test_a_missing_group_is_refused(group):
    with pytest.raises(
        tn.InputError, match="`group` must not have missing values; 1 of 2 is, the first at row"
    ):
        tn.Accumulator(by="shop").update([0, 1], [0.5, 0.5], group=group)


def test_columns_of_frames_are_groups():
    for group in (
        pd.Series(["b", "a"]),
        pl.Series(["b", "a"]),
        pd.Series(pd.Categorical(["b", "a"])),
    ):
        assert list(kept_pair(group)) == ["a", "b"]
    with pytest.raises(tn.InputError, match=r"one entry per row; got shape \(2, 1\) for 2 rows"):
        kept_pair(pd.DataFrame({"g": ["a", "b"]}))
    with pytest.raises(tn.InputError, match=r"one entry per row; got shape \(2, 2\) for 2 rows"):
        kept_pair(np.array([["a", None], ["b", 1.5]], dtype=object))


def kept_pair(group):
    seen = tn.Accumulator(by="shop")
    seen.update([0, 1], [0.5, 0.5], group=group)
    return seen.groups


@pytest.mark.parametrize(
    "form", [list, tuple, np.array, lambda names: np.array(names, dtype=object)]
)
@pytest.mark.parametrize(
    "names",
    [
        ["b", "a", "b", "c", "a"],
        [3, 1, 3, 2, 1],
        [True, False, True, True, False],
        [0.5, -1.0, 0.5, 0.5, 2.0],
    ],
)
def test_each_row_goes_to_its_group_whatever_the_form_of_names(form, names):
    y, p = np.array([0, 1, 1, 0, 1]), np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    seen = tn.Accumulator("distinct", by="shop")
    seen.update(y, p, group=form(names))
    assert list(seen.groups) == sorted(set(names))
    for name, sums in seen.groups.items():
        here = np.array([one == name for one in names])
        assert sums == tn.tally(y[here], p[here])
