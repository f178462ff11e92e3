"""Sums of rows that are summed at once, and of rows that are converted chunk by chunk."""

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
chunks = mock.patch.object(row_sums, "_CHUNK", 3)


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
def test_rows_of_any_type_give_the_bits_and_warnings_of_the_same_numbers(measure, pairs, form):
    y, p = FORMS[form](*arrays(pairs))
    plain = np.asarray(y).astype(np.int64), np.asarray(p).astype(np.float64)
    with chunks:
        assert answer(measure, y, p) == answer(measure, *plain)


SPOILT = st.one_of(
    st.tuples(st.just("y"), st.sampled_from([2, -1, 0.5, math.nan])),
    st.tuples(st.just("p"), st.sampled_from([1.5, -0.25, 37.0, math.nan, math.inf, -5e-324])),
)


@given(pairs=rows, faults=st.lists(SPOILT, min_size=1, max_size=3), at=st.integers(0, 10**6))
def test_rows_of_any_type_are_refused_in_the_same_words(pairs, faults, at):
    y, p = (column.astype(float) for column in arrays(pairs))
    for i, (column, value) in enumerate(faults):
        (y if column == "y" else p)[(at + i) % y.size] = value
    for measure in tn.ece, tn.brier, partial(tn.mce, bins=[0.2, 0.5, 0.9]):
        found, _ = answer(measure, y, p)
        assert "InputError" in found
        with chunks:
            assert answer(measure, y.tolist(), p.astype(">f8"))[0] == found
