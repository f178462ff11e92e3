"""Logits go through softmax row by row: the sums are those of a matrix of probabilities, which is never made."""

import tracemalloc

import numpy as np
import pytest
from grids import fast
from hypothesis import given
from hypothesis import strategies as st

import trueness as tn
from trueness._input.sample import read_sample
from trueness._tally.multiclass import (
    binary_of_two_columns,
    two_columns_in_words,
    with_probabilities,
)

KINDS = ["classwise", "confidence", "top-label"]
N, K = 300, 7


def some_rows(n=N, k=K, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    Z = 2 * rng.standard_normal((n, k))
    Z[::5, 0] = -np.inf
    Z[1::7] = Z[1::7].round()  # ties
    return rng.integers(0, k, n), Z.astype(dtype)


def probabilities(y, Z):
    """The matrix that is never made."""
    return with_probabilities(read_sample(y, Z, from_logits=True)).p


SUMS = {
    "binned": tn.binned,
    "edges": lambda *a, **o: tn.binned(*a, bins=[0, 0.05, 0.3, 1], **o),
    "equal mass": lambda *a, **o: tn.binned(*a, bins=tn.EqualMass(6), **o),
    "tally": tn.tally,
    "sketch": tn.sketch,
}
W = np.random.default_rng(1).exponential(size=N) * (np.arange(N) % 4 > 0)
OPTIONS = {"plain": {}, "weights": {"sample_weight": W}, "names": {"labels": list("abcdefg")}}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sums", SUMS.values(), ids=SUMS)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_the_sums_are_those_of_the_probabilities(kind, sums, options):
    y, Z = some_rows()
    P = probabilities(y, Z)
    y = np.array(list("abcdefg"))[y] if "labels" in options else y
    assert sums(y, Z, kind=kind, from_logits=True, **options) == sums(y, P, kind=kind, **options)


FORMS = {
    "float32": lambda Z: Z.astype(np.float32),
    "float16": lambda Z: Z.astype(np.float16),
    "big-endian": lambda Z: Z.astype(">f8"),
    "Fortran order": np.asfortranarray,
    "every second column": lambda Z: np.repeat(Z, 2, axis=1)[:, ::2],
    "reversed": lambda Z: Z[::-1],
    "long double": lambda Z: Z.astype(np.longdouble),
    "lists": lambda Z: Z.tolist(),
    "whole numbers": lambda Z: np.nan_to_num(Z, neginf=-9).astype(np.int8),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_logits_of_every_form_are_the_numbers_they_hold(kind, form):
    y, Z = some_rows(10_000)
    Z = form(Z)
    plain = np.ascontiguousarray(np.asarray(Z), dtype=np.float64)
    assert tn.binned(y, Z, kind=kind, from_logits=True) == tn.binned(
        y, plain, kind=kind, from_logits=True
    )


@pytest.mark.parametrize("kind", KINDS)
def test_many_classes_and_rows_cross_every_block(kind):
    for n, k in ((900, 300), (90_000, 3), (40, 3_000)):
        y, Z = some_rows(n, k, np.float32)
        P = probabilities(y, Z)
        assert tn.ece(y, Z, kind=kind, from_logits=True) == tn.ece(y, P, kind=kind)


@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_are_those_of_a_softmax_in_float64(kind):
    y, Z = some_rows()
    e = np.exp(Z - Z.max(axis=1, keepdims=True))
    P = e / e.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(probabilities(y, Z), P, rtol=1e-14)
    assert tn.ece(y, Z, kind=kind, from_logits=True) == pytest.approx(
        tn.ece(y, P, kind=kind), rel=1e-12
    )


@pytest.mark.filterwarnings("ignore::trueness.errors.OneClassWarning")
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_the_order_of_rows_and_their_split_do_not_matter(kind, data):
    n = data.draw(st.integers(2, 40))
    entry = st.floats(-50, 50) | st.just(-np.inf)
    Z = np.array(
        data.draw(st.lists(st.lists(entry, min_size=3, max_size=3), min_size=n, max_size=n))
    )
    Z[np.isneginf(Z).all(axis=1)] = 0
    y = np.arange(n) % 3
    order = np.array(data.draw(st.permutations(range(n))))
    cut = data.draw(st.integers(0, n))
    whole = tn.tally(y, Z, kind=kind, from_logits=True)
    y, Z = y[order], Z[order]
    parts = [
        tn.tally(y[part], Z[part], kind=kind, from_logits=True)
        for part in (slice(cut), slice(cut, None))
    ]
    assert sum(parts) == whole


FAULTS = {
    "nan": (
        np.nan,
        r"`y_prob` must not have missing values; 1 of {size} is nan, the first at row {row}, column 2\.",
    ),
    "+inf": (
        np.inf,
        r"`y_prob` as logits must be below \+inf; 1 of {size} is not, the first at row {row}, column 2\.",
    ),
    "-inf": (
        -np.inf,
        r"`y_prob` as logits must have a finite entry in every row; "
        r"1 of 10,000 rows has none, the first at row {row}\.",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("value", "message"), FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize(
    "form", [np.ascontiguousarray, np.asfortranarray], ids=["ready", "in blocks"]
)
def test_the_message_names_the_row(kind, value, message, form):
    y, Z = some_rows(10_000)
    Z[9_900, slice(None) if value == -np.inf else 2] = value
    with pytest.raises(tn.InputError, match=message.format(size="70,000", row=9_900)):
        tn.binned(y, form(Z), kind=kind, from_logits=True)


@pytest.mark.filterwarnings("ignore::trueness.errors.DroppedRowsWarning")
def test_dropped_rows_and_groups_do_not_change_the_row_that_is_named():
    y, Z = some_rows()
    Z[[3, 4], 1], Z[20] = np.nan, -np.inf
    with pytest.raises(tn.InputError, match="the first at row 20"):
        tn.ece(y, Z, kind="confidence", from_logits=True, missing="drop")
    Z[[3, 4], 1] = 0
    accumulator = tn.Accumulator(10, by="half", kind="confidence", from_logits=True)
    with pytest.raises(tn.InputError, match="the first at row 20"):
        accumulator.update(y, Z, group=np.arange(N) % 2)
    accumulator.update(y[21:], Z[21:], group=np.arange(21, N) % 2)
    assert accumulator.total == tn.binned(y[21:], Z[21:], kind="confidence", from_logits=True)


CALLS = {
    "binned": lambda y, Z: tn.binned(y, Z, kind="confidence", from_logits=True),
    "weighted": lambda y, Z: tn.ece(
        y, Z, kind="confidence", from_logits=True, sample_weight=np.ones(y.size)
    ),
    "no row dropped": lambda y, Z: tn.ece(
        y, Z, kind="confidence", from_logits=True, missing="drop"
    ),
    "tally": lambda y, Z: tn.tally(y, Z, kind="confidence", from_logits=True),
    "top label": lambda y, Z: tn.tally(y, Z, kind="top-label", from_logits=True),
    "bins of every class": lambda y, Z: tn.binned(y, Z, from_logits=True),
}


@pytest.mark.parametrize(
    "form", fast({"ready": np.ascontiguousarray, "in blocks": np.asfortranarray}, "in blocks")
)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_no_matrix_of_probabilities_is_made(call, form):
    y, Z = some_rows(4_000, 500, np.float32)
    y[0] = 0
    Z = form(Z)
    call(y[:500], Z[:500])
    tracemalloc.start()
    try:
        call(y, Z)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 9.5e6  # the probabilities of 2·10⁶ logits would be 16 MB


@pytest.mark.parametrize("from_logits", [False, True])
def test_two_columns_are_the_binary_problem_of_the_second(from_logits):
    Z = np.random.default_rng(0).normal(size=(50, 2))
    y = np.random.default_rng(1).integers(0, 2, 50)
    P = np.exp(Z) / np.exp(Z).sum(axis=1, keepdims=True)
    sample = read_sample(
        y, Z if from_logits else P, from_logits=from_logits, sample_weight=np.arange(50.0)
    )
    found = binary_of_two_columns(sample)
    np.testing.assert_allclose(found.p, P[:, 1], rtol=1e-14)
    np.testing.assert_array_equal(found.y, y)
    np.testing.assert_array_equal(found.w, sample.w)
    assert found.classes is None
    assert binary_of_two_columns(found) is found
    assert two_columns_in_words(("no", "yes")).endswith("the event is the second, 'yes'.")
