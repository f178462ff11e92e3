"""The competing intervals, asked for through `ece_interval`."""

import numpy as np
import pytest

import trueness as tn
from trueness import simulate
from trueness._tally.binned_scores import of_cells
from trueness.infer._interval import BOOTSTRAPS, RESAMPLING
from trueness.infer._resampling import RowKinds

every_method = pytest.mark.parametrize("method", RESAMPLING)


@pytest.fixture(scope="module")
def wrong():
    return simulate.binary(600, distortion=simulate.Logit(slope=0.3), seed=4)


@pytest.fixture(scope="module")
def right():
    return simulate.binary(600, seed=4)


@every_method
def test_an_error_far_from_zero_is_found(method, wrong):
    found = tn.ece_interval(wrong.y_true, wrong.y_prob, method=method, seed=1)
    assert found.method == method
    assert not found.includes_zero
    assert 0.05 < found.low < found.high < 0.35  # the truth is 0.17
    assert found.estimate == pytest.approx(tn.squared_ece(wrong.y_true, wrong.y_prob) ** 0.5)
    assert "EqualWidth(n=13)" in found.bins  # 600 ** 0.4 = 12.9


@every_method
def test_an_error_is_never_negative(method, right):
    found = tn.ece_interval(right.y_true, right.y_prob, method=method, squared=True, seed=1)
    assert 0 <= found.low <= found.high
    assert found.is_interval
    assert found.includes_zero == (found.low == 0)


@every_method
def test_a_seed_gives_the_same_interval_again_and_a_tally_serves(method, wrong):
    y, p = wrong.y_true, wrong.y_prob
    found = tn.ece_interval(y, p, method=method, seed=3)
    order = np.random.default_rng(0).permutation(y.size)
    assert tn.ece_interval(y[order], p[order], method=method, seed=3) == found
    assert tn.ece_interval(tn.tally(y, p), method=method, seed=3) == found


@every_method
def test_the_interval_is_that_of_its_own_function(method, wrong):
    tally = tn.tally(wrong.y_true, wrong.y_prob)
    options = {} if method == "hulc" else {"resamples": 50}
    found = tn.ece_interval(tally, method=method, bins=8, level=0.8, squared=True, seed=2, **options)
    rng = np.random.default_rng(2)
    rows = RowKinds(of_cells(tally.parts[0], tn.EqualWidth(8), None))
    low, high = RESAMPLING[method](rows, level=0.8, resamples=50, rng=rng)
    assert (found.low, found.high) == (max(0, low), max(0, high))


@pytest.mark.parametrize("method", BOOTSTRAPS)
@pytest.mark.parametrize("n", [2_000, 2_001])
def test_rows_a_tally_and_weights_agree_on_either_side_of_2000_rows(method, n):
    d = simulate.binary(n, distortion=simulate.Logit(slope=0.5), seed=1)
    y, p = d.y_true, d.y_prob
    options = {"method": method, "bins": 10, "resamples": 99, "seed": 2}
    found = tn.ece_interval(y, p, **options)
    assert tn.ece_interval(y[::-1], p[::-1], **options) == found
    assert tn.ece_interval(tn.tally(y, p), **options) == found
    assert tn.ece_interval(y, p, sample_weight=np.ones(n), **options) == found
    twice = tn.ece_interval(y, p, sample_weight=np.full(n, 2), **options)
    assert tn.ece_interval(np.repeat(y, 2), np.repeat(p, 2), **options) == twice


@pytest.mark.parametrize("method", BOOTSTRAPS)
def test_bins_serve_the_bootstrap(method):
    d = simulate.binary(5_000, seed=1)
    options = {"method": method, "bins": 10, "resamples": 99, "seed": 2}
    binned = tn.binned(d.y_true, d.y_prob, bins=10)
    assert tn.ece_interval(binned, **options) == tn.ece_interval(d.y_true, d.y_prob, **options)


@pytest.mark.parametrize("method", [name for name in RESAMPLING if name not in BOOTSTRAPS])
def test_bins_do_not_serve_where_rows_are_drawn(method, right):
    with pytest.raises(tn.InputError, match="bins have lost them"):
        tn.ece_interval(tn.binned(right.y_true, right.y_prob), method=method, bins=10)


@pytest.mark.parametrize("n", [500, 3_000])
def test_other_weights_are_refused(n):
    d = simulate.binary(n, seed=1)
    with pytest.raises(tn.InputError, match="`sample_weight` must be whole numbers"):
        tn.ece_interval(d.y_true, d.y_prob, method="bootstrap", sample_weight=np.full(n, 1.5))


def test_fixed_bins_of_many_rows_are_not_sorted(monkeypatch):
    d = simulate.binary(3_000, seed=1)

    def refuse(*_args, **_options):
        raise AssertionError("sorted")

    monkeypatch.setattr("trueness._tally.rows_or_sums.cells_of_rows", refuse)
    tn.ece_interval(d.y_true, d.y_prob, method="bootstrap", seed=0)
    with pytest.raises(AssertionError, match="sorted"):
        tn.ece_interval(d.y_true[:2_000], d.y_prob[:2_000], method="bootstrap", seed=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "score", "resamples": 10}, "'score' takes none"),
        ({"method": "analytic", "resamples": 10}, "'analytic' takes none"),
        ({"method": "hulc", "resamples": 10}, "'hulc' takes none"),
        ({"method": "bootstrap", "resamples": 0}, "`resamples` must be a whole number ≥ 1; got 0"),
        ({"method": "jackknife"}, "`method` must be .* got 'jackknife'"),
        ({"method": "bootstrap", "bins": tn.Isotonic()}, "must not look at the labels"),
        ({"method": "bootstrap", "support": "reachable"}, "`support` is for"),
    ],
)
def test_options_that_do_not_fit(options, message, right):
    with pytest.raises(tn.InputError, match=message):
        tn.ece_interval(right.y_true, right.y_prob, **options)


@every_method
@pytest.mark.parametrize("k", [2, 3])
def test_several_scores_per_row(method, k):
    """Labels that do not depend on the scores: the error is far from zero."""
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.full(3, 0.3), 800)
    y = rng.integers(0, 3, 800)
    found = tn.ece_interval(y, P, k=k, bins=4, method=method, seed=1)
    assert found.estimate == pytest.approx(tn.squared_ece(y, P, k=k, bins=4) ** 0.5)
    assert 0 < found.low <= found.estimate <= found.high
    assert "cubes" in found.bins or "simplices" in found.bins
    assert tn.ece_interval(y, P, k=k, bins=4, method=method, seed=1) == found


@pytest.mark.slow
def test_the_percentile_bootstrap_misses_zero_and_the_score_interval_does_not():
    """The numbers in the docstring of `ece_interval`: 1,000 rows, two classes, uniform scores, calibrated."""
    runs = 300
    methods = ("bootstrap", "centred-bootstrap", "hulc", "score")
    covered = dict.fromkeys(methods, 0)
    for seed in range(runs):
        data = simulate.multiclass(1_000, 2, seed=seed)
        for method in methods:
            bins = 50 if method != "score" else None
            found = tn.ece_interval(data.y_true, data.y_prob, method=method, bins=bins, seed=seed)
            covered[method] += found.includes_zero
    share = {method: count / runs for method, count in covered.items()}
    assert share["bootstrap"] < 0.25
    assert share["centred-bootstrap"] > 0.95
    error = 4 * (0.09 / runs) ** 0.5
    assert abs(share["hulc"] - 0.9) < error + 0.02
    assert abs(share["score"] - 0.9) < error
