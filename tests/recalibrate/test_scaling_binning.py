"""Scaling-binning: by its definition, by hand, and what each third of the rows is for."""

import json
import warnings
from itertools import pairwise

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_streams import stream
from strategies import arrays, rows, weighted_rows

from trueness import (
    HistogramBinning,
    InputError,
    IsotonicCalibration,
    PlattScaling,
    ScalingBinning,
    ece,
    simulate,
)
from trueness.errors import FewRowsWarning, OneClassWarning, TiedScoresWarning
from trueness.recalibrate import Calibrator, calibrator_from_dict

pytestmark = pytest.mark.filterwarnings(
    "ignore::trueness.errors.OneClassWarning", "ignore::trueness.errors.OwnRowsWarning"
)

GRID = np.linspace(0, 1, 101)


class Square(Calibrator):
    """A map that is known beforehand, and remembers what it was fitted on."""

    def _fit(self, rows):
        self.fitted_on_ = np.sort(rows.p)

    def _formula(self):
        return lambda p: np.asarray(p, np.float64) ** 2


class OfMatrices(Square):
    _shape = "matrix"


def fitted(y, p, w=None, n_bins=3, **options):
    options = {"scaler": Square(), "split": "none", **options}
    return ScalingBinning(n_bins, **options).fit(p, y, sample_weight=w)


def by_definition(p, w, n_bins, new):
    """Equal-mass bins of the squares, each with their mean, row by row; the edge is midway between two groups."""
    g = [float(x) ** 2 for x in p]
    groups = [
        group
        for group in oracle.equal_mass_groups(None, g, w, n_bins)
        if sum(w[i] for i in group) > 0
    ]
    means = [sum(w[i] * g[i] for i in group) / sum(w[i] for i in group) for group in groups]
    kept = [[g[i] for i in group if w[i] > 0] for group in groups]
    cuts = [max(low) + (min(high) - max(low)) / 2 for low, high in pairwise(kept)]
    return [means[sum(cut <= float(x) ** 2 for cut in cuts)] for x in new]


@given(weighted=weighted_rows(), n_bins=st.integers(1, 8))
def test_without_a_split_it_is_the_definition(weighted, n_bins):
    y, p, w = weighted
    p = (p * 64).round() / 64  # so that squares have midpoints that are floats
    found = fitted(y, p, w, n_bins).predict(GRID)
    np.testing.assert_allclose(found, by_definition(p, w, n_bins, GRID), rtol=1e-12, atol=1e-300)


def test_by_hand():
    found = fitted([0, 1, 0, 1], [0.0, 0.5, 0.5, 1.0], n_bins=2)
    assert found.edges_.tolist() == [0.625]
    assert found.values_.tolist() == [1 / 6, 1.0]
    assert found.predict([0.0, 0.79, 0.8, 1.0]).tolist() == [1 / 6, 1 / 6, 1.0, 1.0]


def means_between_ranks(g, n_bins, new):
    """Gupta and Ramdas: the bins of Algorithm 1, and the mean of the scores strictly between two boundary points."""
    n, ordered = len(g), sorted(g)
    ranks = [-(-b * (n + 1) // n_bins) for b in range(n_bins + 1)]
    means = [np.mean(ordered[low : high - 1]) for low, high in pairwise(ranks)]
    cuts = [ordered[rank - 1] for rank in ranks[1:-1]]
    return [means[sum(cut <= x for cut in cuts)] for x in new]


@given(
    n=st.integers(2, 60),
    levels=st.sampled_from([5, 20, 10**6]),
    n_bins=st.integers(1, 6),
    seed=st.integers(0, 999),
)
def test_umds_bins_are_those_of_histogram_binning_and_leave_the_boundary_rows_out(
    n, levels, n_bins, seed
):
    rng = np.random.default_rng(seed)
    p, y = rng.integers(0, levels + 1, n) / levels, rng.integers(0, 2, n)
    n_bins = min(n_bins, n // 2)
    found = fitted(y, p, n_bins=n_bins, bins="umd", scaler="identity")
    assert found.predict(GRID) == pytest.approx(
        means_between_ranks(p.tolist(), n_bins, GRID), abs=1e-12
    )
    umd = HistogramBinning(n_bins)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TiedScoresWarning)
        umd.fit(p, y)
    assert found.edges_.tolist() == umd.edges_[1:-1].tolist()
    w = rng.integers(1, 4, n)
    heavy = fitted(y, p, w, n_bins=n_bins, bins="umd", scaler="identity").predict(GRID)
    assert heavy == pytest.approx(
        means_between_ranks(np.repeat(p, w).tolist(), n_bins, GRID), abs=1e-12
    )


@pytest.mark.filterwarnings("error")
def test_umds_bins_need_two_rows_each_and_whole_weights():
    with pytest.warns(
        FewRowsWarning,
        match="5 rows are too few for 3 bins with a row each inside; 2 bins are used",
    ):
        found = fitted([0, 0, 1, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5], bins="umd")
    assert found.values_.size == 2
    with pytest.raises(InputError, match="`sample_weight` must be whole numbers for `bins='umd'`"):
        fitted([0, 1], [0.1, 0.9], [0.5, 1.5], n_bins=1, bins="umd")


def test_each_third_is_used_for_one_step():
    d = simulate.binary(300, seed=0)
    found = fitted(d.y_true, d.y_prob, n_bins=4, split="thirds", seed=5)
    order = stream(5, "folds").permutation(300)
    order = order[np.argsort(d.y_true[order], kind="stable")]  # classes are shared out evenly
    for_map, for_bins, for_means = (d.y_prob[order[i::3]] for i in range(3))
    for_bins, for_means = for_bins**2, for_means**2
    assert np.array_equal(found.scaler_.fitted_on_, np.sort(for_map))
    ordered = np.sort(for_bins)
    assert found.edges_.tolist() == pytest.approx(
        [(ordered[i - 1] + ordered[i]) / 2 for i in (25, 50, 75)]
    )
    which = np.searchsorted(found.edges_, for_means, "right")
    assert found.values_.tolist() == pytest.approx([for_means[which == b].mean() for b in range(4)])


def test_a_bin_that_the_last_third_misses_has_the_mean_of_the_rows_that_made_it():
    # One row per third, each of a score of its own.
    found = fitted(
        [0, 0, 0, 1, 1, 1], [0.1, 0.2, 0.3, 0.7, 0.8, 0.9], n_bins=2, split="thirds", seed=0
    )
    assert np.isfinite(found.values_).all()
    for seed in range(20):
        found = fitted([0, 1] * 4, np.arange(1, 9) / 16, n_bins=3, split="thirds", seed=seed)
        assert (np.diff(found.values_) > 0).all()


@pytest.mark.parametrize("split", ["none", "thirds"])
@given(pairs=rows.filter(lambda r: len(r) >= 3), n_bins=st.integers(1, 8))
def test_predictions_take_few_values_and_are_monotone_in_the_scaler(split, pairs, n_bins):
    y, p = arrays(pairs)
    found = fitted(y, p, n_bins=n_bins, scaler=IsotonicCalibration(), split=split, seed=0)
    values = found.predict(np.sort(np.concatenate([GRID, p])))
    assert len(set(values)) <= n_bins
    assert (np.diff(values) >= 0).all()
    assert values.min() >= 0
    assert values.max() <= 1


@pytest.mark.filterwarnings("error")
def test_a_third_of_one_class_is_a_warning():
    with pytest.warns(OneClassWarning, match="All 2 labels are equal"):
        fitted([0, 0, 0, 0, 0, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], split="thirds", seed=0)


def test_the_identity_averages_the_scores_themselves():
    d = simulate.binary(60, seed=1)
    one = fitted(d.y_true, d.y_prob, scaler="identity", n_bins=4)
    means = [part.mean() for part in np.sort(d.y_prob).reshape(4, 15)]
    assert one.predict(np.sort(d.y_prob)) == pytest.approx(np.repeat(means, 15), rel=1e-12)
    assert one.scaler_ is None
    again = calibrator_from_dict(json.loads(json.dumps(one.to_dict())))
    assert np.array_equal(again.predict(GRID), one.predict(GRID))
    halves = fitted([0, 1], [0.1, 0.9], scaler="identity", split="thirds", seed=0, n_bins=1)
    assert halves.values_.tolist() in (
        [0.1],
        [0.9],
    )  # one row sets the bin, the other gives its mean


@pytest.mark.parametrize("split", ["none", "thirds"])
def test_by_default_the_map_is_platts(split):
    d = simulate.binary(30_000, distortion=simulate.Logit(slope=0.5), seed=0)
    one = ScalingBinning(split=split, seed=0).fit(d.y_prob, d.y_true)
    same = ScalingBinning(scaler=PlattScaling(), split=split, seed=0).fit(d.y_prob, d.y_true)
    assert np.array_equal(one.predict(GRID), same.predict(GRID))
    new = simulate.binary(30_000, distortion=simulate.Logit(slope=0.5), seed=1)
    assert ece(new.y_true, one.predict(new.y_prob)) < 0.02 < 0.05 < ece(new.y_true, new.y_prob)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_bins": 0}, "`n_bins` must be a whole number ≥ 1; got 0"),
        ({"n_bins": 2.5}, "`n_bins` must be a whole number ≥ 1; got 2.5"),
        ({"n_bins": True}, "`n_bins` must be a whole number"),
        (
            {"scaler": 3},
            r"must be a calibrator such as `PlattScaling\(\)`, 'identity' or None; got 3",
        ),
        (
            {"scaler": OfMatrices()},
            "`scaler` must take a single score, .*; OfMatrices takes a matrix",
        ),
        ({"split": "halves"}, "`split` must be 'thirds' or 'none'; got 'halves'"),
        ({"bins": "mass"}, "`bins` must be 'equal-mass' or 'umd'; got 'mass'"),
        ({"split": None}, "`split` must be 'thirds' or 'none'; got None"),
        ({"split": "thirds"}, '`split="thirds"` needs at least 3 rows; got 2'),
        ({"seed": "x"}, "`seed` must be a whole number"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        fitted([0, 1], [0.1, 0.9], **options)
