"""Sums of few rows, made in one call, and of many, made chunk by chunk."""

import math
import warnings
from functools import partial
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import arrays, rows, rows32

import trueness as tn
from trueness._tally import row_sums

MEASURES = {
    "ece": tn.ece,
    "ece, 1 bin": partial(tn.ece, bins=1),
    "ece, 15 bins, l2": partial(tn.ece, bins=15, norm="l2"),
    "ece, edges": partial(tn.ece, bins=[0, 0.1, 0.3, 1]),
    "mce": tn.mce,
    "brier": tn.brier,
    "scaled_brier": tn.scaled_brier,
    "squared_ece": partial(tn.squared_ece, bins=5),
    "bin_table": lambda y, p: tn.bin_table(y, p).to_dict(),
    "binned": lambda y, p: tn.binned(y, p, bins=7).to_bytes(),
}
FORMS = {
    "int64 and float64": lambda y, p: (y.astype(np.int64), p),
    "bool": lambda y, p: (y.astype(bool), p),
    "int8": lambda y, p: (y.astype(np.int8), p),
    "uint16": lambda y, p: (y.astype(np.uint16), p),
    "float labels": lambda y, p: (y.astype(float), p),
    "float32": lambda y, p: (y, p.astype(np.float32)),
    "float16": lambda y, p: (y, p.astype(np.float16)),
    "other byte order": lambda y, p: (y.astype(">i4"), p.astype(">f8")),
    "every other": lambda y, p: (np.repeat(y, 2)[::2], np.repeat(p, 2)[::2]),
    "whole scores": lambda y, p: (y, (p > 0.5).astype(int)),
    "lists": lambda y, p: (y.tolist(), p.tolist()),
}
many = mock.patch.object(row_sums, "_FEW", -1)  # no sample is small


def answer(measure, y, p):
    """The result to the last bit, or the error in words; and the warnings."""
    with warnings.catch_warnings(record=True) as given_warnings:
        warnings.simplefilter("always")
        try:
            found = repr(measure(y, p))
        except tn.InputError as error:
            found = f"{type(error)}: {error}"
    return found, [(w.category, str(w.message)) for w in given_warnings]


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
@given(pairs=st.one_of(rows, rows32), form=st.sampled_from(sorted(FORMS)))
def test_few_rows_and_many_give_the_same_bits_and_warnings(measure, pairs, form):
    y, p = FORMS[form](*arrays(pairs))
    found = answer(measure, y, p)
    with many:
        assert answer(measure, y, p) == found


SPOILT = st.one_of(
    st.tuples(st.just("y"), st.sampled_from([2, -1, 0.5, math.nan])),
    st.tuples(st.just("p"), st.sampled_from([1.5, -0.25, 37.0, math.nan, math.inf, -5e-324])),
)


@given(pairs=rows, faults=st.lists(SPOILT, min_size=1, max_size=3), at=st.integers(0, 10**6), as_list=st.booleans())
def test_few_rows_and_many_are_refused_in_the_same_words(pairs, faults, at, as_list):
    y, p = (column.astype(float) for column in arrays(pairs))
    for i, (column, value) in enumerate(faults):
        (y if column == "y" else p)[(at + i) % y.size] = value
    given_rows = (y.tolist(), p.tolist()) if as_list else (y, p)
    for measure in tn.ece, tn.brier, partial(tn.mce, bins=[0.2, 0.5, 0.9]):
        found, _ = answer(measure, *given_rows)
        assert "InputError" in found
        with many:
            assert answer(measure, *given_rows)[0] == found


@pytest.mark.parametrize("difference", [-1, 0, 1])
def test_nothing_changes_where_few_rows_or_bins_become_many(difference):
    rng = np.random.default_rng(0)
    n = row_sums._FEW + difference
    p = rng.random(n)
    y = rng.random(n) < p
    for bins in 10, n - 1, n:
        one = tn.binned(y, p, bins=bins)
        two = tn.binned(y[:100], p[:100], bins=bins) + tn.binned(y[100:], p[100:], bins=bins)
        assert one.to_bytes() == two.to_bytes()
        assert tn.ece(one, bins=bins) == tn.ece(y, p, bins=bins)
