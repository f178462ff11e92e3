"""Venn-Abers calibration: by its definition in fractions, by hand, against another implementation."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_streams import stream
from strategies import arrays, rows, weighted_rows

from trueness import InputError, VennAbers, simulate
from trueness.recalibrate import calibrator_from_dict

pytestmark = pytest.mark.filterwarnings(
    "ignore::trueness.errors.OneClassWarning", "ignore::trueness.errors.OwnRowsWarning"
)

GRID = np.linspace(0, 1, 101)


def fitted(y, p, w=None, **options):
    return VennAbers(**options).fit(p, y, sample_weight=w)


def by_definition(y, p, w, score, label):
    """Isotonic regression with the row (score, label) among the others, at that score; in fractions."""
    cells = {}
    for yi, pi, wi in [*zip(y, p, w, strict=True), (label, score, 1.0)]:
        weight, events = cells.get(float(pi), (0, 0))
        cells[float(pi)] = weight + Fraction(float(wi)), events + Fraction(float(wi)) * int(yi)
    kept = sorted(s for s in cells if cells[s][0])
    j = kept.index(float(score))
    W, E = [0], [0]
    for s in kept:
        W.append(W[-1] + cells[s][0])
        E.append(E[-1] + cells[s][1])
    return max(
        min((E[b] - E[a]) / (W[b] - W[a]) for b in range(j + 1, len(W))) for a in range(j + 1)
    )


def at_and_between(p):
    """The scores, the neighbours of some, what lies midway, and both ends."""
    s = np.unique(p)
    return np.unique(
        np.concatenate(
            [s, (s[1:] + s[:-1]) / 2, np.nextafter(s, 0), np.nextafter(s, 1), [0.0, 1.0]]
        )
    )


@given(weighted_rows())
def test_it_is_the_definition(weighted):
    y, p, w = weighted
    new = at_and_between(p)[::3]
    pair = fitted(y, p, w).predict_interval(new)
    assert pair.p0.tolist() == [float(by_definition(y, p, w, s, 0)) for s in new]
    assert pair.p1.tolist() == [float(by_definition(y, p, w, s, 1)) for s in new]


@given(weighted_rows(st.sampled_from([0.0, 1e-9, 0.1, 1 / 3, 1.0, 2.7, 1e6])))
def test_broken_weights_are_the_definition_too(weighted):
    y, p, w = weighted
    new = np.unique(p)[::3]
    pair = fitted(y, p, w).predict_interval(new)
    expected = [[float(by_definition(y, p, w, s, label)) for s in new] for label in (0, 1)]
    # Each cell is rounded to 2⁻⁶⁰ of the sum of weights plus one, and a mean is over a weight of at least one.
    rounding = 2 * np.unique(p).size * (w.sum() + 1) * 2.0**-60
    np.testing.assert_allclose(pair, expected, rtol=0, atol=rounding + 1e-15)


@pytest.mark.parametrize("options", [{}, {"folds": 3, "seed": 1}, {"merge": "brier"}])
@given(pairs=rows.filter(lambda r: len(r) >= 3))
def test_the_interval_contains_the_prediction_and_both_are_monotone(options, pairs):
    y, p = arrays(pairs)
    found = fitted(y, p, **options)
    new = at_and_between(p)
    pair, merged = found.predict_interval(new), found.predict(new)
    assert (pair.p0 < pair.p1).all()
    assert ((merged > 0) & (merged < 1)).all()
    for values in (*pair, merged):
        assert (np.diff(values) >= 0).all()
    if "folds" not in options:
        assert ((pair.p0 <= merged) & (merged <= pair.p1)).all()


dyadic = st.integers(0, 64).map(lambda i: i / 64)


@pytest.mark.parametrize("merge", ["log", "brier"])
@given(pairs=st.lists(st.tuples(st.integers(0, 1), dyadic), min_size=1, max_size=40))
def test_swapping_the_classes_swaps_the_pair(merge, pairs):
    (y, p), new = arrays(pairs), np.arange(129) / 128
    one, mirrored = fitted(y, p, merge=merge), fitted(1 - y, 1 - p, merge=merge)
    np.testing.assert_allclose(
        one.predict_interval(new).p0, 1 - mirrored.predict_interval(1 - new).p1, atol=1e-14
    )
    np.testing.assert_allclose(
        one.predict_interval(new).p1, 1 - mirrored.predict_interval(1 - new).p0, atol=1e-14
    )
    np.testing.assert_allclose(one.predict(new), 1 - mirrored.predict(1 - new), atol=1e-14)


def test_by_hand():
    found = fitted([0, 0, 1], [0.25, 0.5, 0.75])
    pair = found.predict_interval([0.0, 0.25, 0.3, 0.5, 0.6, 0.75, 1.0])
    assert pair.p0.tolist() == [0, 0, 0, 0, 0, 0.5, 0.5]
    assert pair.p1.tolist() == [1 / 3, 1 / 3, 0.5, 0.5, 1, 1, 1]
    assert found.predict([0.6]).tolist() == [0.5]
    brier = fitted([0, 0, 1], [0.25, 0.5, 0.75], merge="brier")
    assert brier.predict([0.6, 0.75]).tolist() == [0.5, 0.625]


def test_one_row_and_one_score():
    assert fitted([1], [0.3]).predict_interval([0.2, 0.3, 0.4]).p0.tolist() == [0, 0.5, 0.5]
    pair = fitted([0, 1, 1], [0.3] * 3).predict_interval([0.3])
    assert (pair.p0[0], pair.p1[0]) == (0.5, 0.75)


def package():
    """The venn-abers package, which sets NumPy's error state when it is imported."""
    with np.errstate():
        return pytest.importorskip("venn_abers", reason="needs the venn-abers package")


def peer_pair(y, p, new):
    """What venn-abers 1.5.4 gives: merged probabilities, and pairs."""
    two = np.column_stack
    peer = package().VennAbers()
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # it meets nan on its way and says so
        peer.fit(two([1 - p, p]), y)
        return peer.predict_proba(two([1 - new, new]))


@pytest.mark.parametrize("digits", [1, 2, 9])
def test_it_is_the_venn_abers_package(digits):
    for seed in range(10):
        d = simulate.binary(200, seed=seed)
        p = d.y_prob.round(digits)
        found = fitted(d.y_true, p)
        merged, pair = peer_pair(d.y_true, p, GRID)
        np.testing.assert_allclose(np.column_stack(found.predict_interval(GRID)), pair, atol=1e-12)
        np.testing.assert_allclose(found.predict(GRID), merged[:, 1], atol=1e-12)


@pytest.mark.parametrize("merge", ["log", "brier"])
def test_folds_are_merged_as_published(merge):
    """Pairs of the venn-abers package on the same folds; equations of Vovk, Petej, Fedorova (2015)."""
    d = simulate.binary(300, seed=0)
    order = stream(7, "folds").permutation(300)
    order = order[np.argsort(d.y_true[order], kind="stable")]  # classes are shared out evenly
    dealt = [order[i::4] for i in range(4)]
    p0, p1 = np.stack([peer_pair(d.y_true[at], d.y_prob[at], GRID)[1] for at in dealt]).transpose(
        2, 0, 1
    )
    if merge == "log":
        happens, not_happens = (package().venn_abers.geo_mean(x.T) for x in (p1, 1 - p0))
        expected = happens / (happens + not_happens)
    else:
        expected = (p1 + p0**2 / 2 - p1**2 / 2).mean(axis=0)
    found = fitted(d.y_true, d.y_prob, folds=4, seed=7, merge=merge)
    np.testing.assert_allclose(found.predict(GRID), expected, atol=1e-12)
    np.testing.assert_allclose(
        found.predict_interval(GRID), (p0.mean(axis=0), p1.mean(axis=0)), atol=1e-12
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"folds": 1}, "`folds` must be a whole number from 2 to 1,000, or None; got 1"),
        ({"folds": 2.0}, "`folds` must be a whole number from 2 to 1,000, or None; got 2.0"),
        ({"folds": True}, "`folds` must be a whole number"),
        ({"folds": 3}, r"`folds` must be at most the number of rows, 2; got 3"),
        ({"merge": "mean"}, "`merge` must be 'log' or 'brier'; got 'mean'"),
        ({"seed": -1}, "`seed` must be a whole number ≥ 0, a numpy Generator or None; got -1"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        fitted([0, 1], [0.1, 0.9], **options)


@pytest.mark.slow
def test_the_member_of_the_pair_selected_by_the_outcome_is_calibrated():
    """E[Y | p_Y] = p_Y (Vovk and Petej 2014, Theorem 1): no bin of p_Y is off by more than four standard errors."""
    rng = np.random.default_rng(0)
    score = np.arange(1, 9) / 9
    chance = np.array([0.6, 0.1, 0.5, 0.2, 0.9, 0.4, 0.7, 0.3])  # nothing like the score
    named, outcome = [], []
    for _ in range(10_000):
        which = rng.integers(0, 8, 21)
        y = (rng.random(21) < chance[which]).astype(int)
        pair = fitted(y[:-1], score[which[:-1]]).predict_interval(score[which[-1:]])
        named.append(pair[y[-1]][0])
        outcome.append(y[-1])
    named, outcome = np.array(named), np.array(outcome)
    bins = np.minimum((named * 10).astype(int), 9)
    for b in np.unique(bins):
        inside = bins == b
        off = outcome[inside] - named[inside]
        spread = np.sqrt(np.mean(named[inside] * (1 - named[inside])) / inside.sum())
        assert abs(off.mean()) <= 4 * spread
    assert abs(np.mean(outcome - named)) <= 4 * np.sqrt(np.mean(named * (1 - named)) / named.size)


@pytest.mark.parametrize("merge", ["log", "brier"])
@pytest.mark.parametrize("folds", [None, 2])
def test_the_merged_probability_is_inside_unless_the_new_row_is_lost_beside_the_others(
    merge, folds
):
    def ends(weight):
        fitted = VennAbers(merge=merge, folds=folds, seed=0).fit(
            [0.2, 0.8, 0.3, 0.9], [0, 1, 0, 1], [weight] * 4
        )
        return fitted.predict([0.0, 1.0])

    low, high = ends(1e15)
    assert 0 < low < high < 1
    low, high = ends(1e17)
    assert 0 < low < high == 1


def test_weights_that_leave_a_new_row_its_weight_are_accepted():
    heavy = fitted([0, 1, 0], [0.5, 0.5, 0.5], [2.0**57, 2.0**57, 1.0])
    assert heavy.predict_interval([0.5]) == (0.5, 0.5)  # the new row is lost in rounding
    assert (
        calibrator_from_dict(heavy.to_dict()).predict([0.5]).tolist()
        == heavy.predict([0.5]).tolist()
    )
    with pytest.raises(InputError, match="must sum to less than 2⁵⁹"):
        fitted([0, 1], [0.1, 0.9], [2.0**58, 2.0**58])
