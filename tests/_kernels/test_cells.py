from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueness._kernels import BAD_LABEL, BAD_SCORE, BAD_WEIGHT

TINY = np.nextafter(0, 1)
scores = st.one_of(
    st.floats(0, 1, allow_subnormal=True), st.sampled_from([0.0, -0.0, 0.5, 1.0, TINY])
)


def data(n, decimals=None, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    y = (rng.random(n) < p).astype(np.int64)
    return p if decimals is None else np.round(p, decimals), y


def same(found, expected):
    assert found[0] == expected[0] == 0
    for a, b in zip(found[1:], expected[1:], strict=True):
        assert a.dtype == b.dtype
        assert np.array_equal(a, b)
    assert not np.signbit(found[1]).any()


@given(st.lists(st.tuples(scores, st.booleans())))
def test_there_is_one_cell_per_distinct_score(kernels, rows):
    p, y = np.array([r[0] for r in rows], float), np.array([r[1] for r in rows], bool)
    status, score, count, events = kernels.cells(p, y)
    rows_at, events_at = Counter(p.tolist()), Counter(p[y].tolist())
    assert status == 0
    assert score.tolist() == sorted(rows_at)
    assert count.tolist() == [rows_at[s] for s in score]
    assert events.tolist() == [events_at[s] for s in score]
    assert not np.signbit(score).any()


@given(st.lists(st.tuples(scores, st.booleans(), st.one_of(st.just(0.0), st.floats(1e-60, 1e60)))))
def test_weights_are_summed_per_distinct_score(kernels, rows):
    p, y, w = (np.array([r[k] for r in rows], t) for k, t in enumerate((float, bool, float)))
    status, score, count, weight, events, squares, event_squares = kernels.weighted_cells(p, y, w)
    assert status == 0
    assert score.tolist() == sorted(set(p[w > 0].tolist()))
    for j, s in enumerate(score):
        here = [
            (Fraction(a), int(b))
            for a, b in zip(w[(p == s) & (w > 0)], y[(p == s) & (w > 0)], strict=True)
        ]
        sums = [sum(f(a, b) for a, b in here) for f in (
            lambda a, b: a, lambda a, b: a * b, lambda a, b: a * a, lambda a, b: a * a * b
        )]  # fmt: skip
        assert count[j] == len(here)
        found = weight[j], events[j], squares[j], event_squares[j]
        np.testing.assert_allclose(found, [float(x) for x in sums], rtol=1e-12)


def test_rows_of_weight_zero_vanish(kernels):
    p, y = data(1000)
    w = (np.arange(1000) % 2).astype(float)
    found = kernels.weighted_cells(p, y, w)
    expected = kernels.cells(p[1::2].copy(), y[1::2].copy())
    same(found[:3], expected[:3])
    assert np.array_equal(found[4], expected[3])
    assert kernels.weighted_cells(p, y, 0 * w)[1].size == 0


def test_many_small_weights_in_one_cell_are_not_lost(kernels):
    w = np.full(200_000, 1e-8)
    w[0] = 1e8
    weight = kernels.weighted_cells(np.full(w.size, 0.1), np.ones(w.size, bool), w)[3]
    np.testing.assert_allclose(weight, [1e8 + (w.size - 1) * 1e-8], rtol=1e-12)


@pytest.mark.parametrize(("n", "place"), [(3, 1), (7000, 0), (7000, 700), (7000, -1)])
def test_faults_are_found_anywhere(kernels, n, place):
    every_fault(kernels, n, place)


def test_threads_find_every_fault(three_threads):
    for place in 0, 3500, -1:
        every_fault(three_threads, 7000, place)


def every_fault(kernels, n, place):
    p, y = data(n)
    w = np.ones(n)
    bad_p, bad_y, bad_w = p.copy(), y.copy(), w.copy()
    bad_y[place] = -1
    bad_w[place] = np.inf
    assert kernels.cells(p, bad_y)[0] == BAD_LABEL
    assert kernels.weighted_cells(p, y, bad_w)[0] == BAD_WEIGHT
    for score in np.nan, np.nextafter(1, 2), -TINY, -np.inf:
        bad_p[place] = score
        assert kernels.cells(bad_p, y)[0] == BAD_SCORE
        assert kernels.cells(bad_p, bad_y)[0] == BAD_SCORE | BAD_LABEL
        assert kernels.weighted_cells(bad_p, bad_y, bad_w)[0] == BAD_SCORE | BAD_LABEL | BAD_WEIGHT
