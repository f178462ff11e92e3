"""Flexible calibration curves by splines and loess, and ICI, E50, E90, Emax."""

import math

import numpy as np
import pytest

import trueness as tn

MEASURES = {"ici": tn.ici, "e50": tn.measure.e50, "e90": tn.measure.e90, "emax": tn.measure.emax}
CURVES = ["spline", "loess"]

pytestmark = pytest.mark.filterwarnings("ignore::trueness.errors.CertainScoresWarning")


def simulated(n=400, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 3, n)
    return (rng.random(n) < p**1.2).astype(int), p


def test_all_four_are_those_of_r(clinical):
    for y, p, from_r in clinical.values():
        tally = tn.tally(y, p)
        for key, measure in MEASURES.items():
            assert measure(tally, curve="loess") == pytest.approx(from_r[f"loess_{key}"], abs=2e-6)
            if (
                key in from_r["rcs5"]
            ):  # R fails on one set: its spline of five knots separates the labels
                assert measure(tally) == pytest.approx(from_r["rcs5"][key], abs=1e-9)
    (few,) = tn.reliability_curve(tally, method="spline", knots=5).knots
    assert len(few) == 5


@pytest.mark.parametrize("curve", CURVES)
def test_the_mean_distance_from_the_diagonal_and_its_quantiles(curve):
    y, p = simulated()
    # The curve at the scores themselves, from its 512 points.
    found = tn.reliability_curve(y, p, method=curve)
    gaps = np.abs(np.interp(p, found.x, found.y) - p)
    expected = [gaps.mean(), *np.quantile(gaps, [0.5, 0.9, 1])]
    assert [m(y, p, curve=curve) for m in MEASURES.values()] == pytest.approx(expected, abs=1e-4)
    assert found.n.sum() == y.size
    assert (found.x[0], found.x[-1]) == (p.min(), p.max())


def reference_loess(p, y, at):
    """Local quadratics at each place, row by row."""
    reach = np.sort(np.abs(p - at))[int(0.75 * p.size) - 1]
    root = np.sqrt(np.clip(1 - (np.abs(p - at) / reach) ** 3, 0, 1) ** 3)
    columns = np.stack([np.ones(p.size), p - at, (p - at) ** 2], axis=1)
    return np.linalg.lstsq(columns * root[:, None], y * root, rcond=None)[0][0]


def test_loess_is_a_local_quadratic_at_the_median_and_near_it_elsewhere():
    y, p = simulated()
    curve = tn.reliability_curve(y, p, method="loess")
    middle = np.sort(p)[p.size // 2 - 1]
    assert np.interp(middle, curve.x, curve.y) == pytest.approx(
        reference_loess(p, y, middle), abs=1e-4
    )
    places = np.quantile(p, [0.1, 0.3, 0.7, 0.9])
    assert np.interp(places, curve.x, curve.y) == pytest.approx(
        [reference_loess(p, y, at) for at in places], abs=0.02
    )


def test_loess_of_scores_that_are_nearly_all_tied():
    curve = tn.reliability_curve(
        [1] * 20 + [0] * 80 + [0, 1, 1], [0.2] * 100 + [0.5, 0.7, 0.9], method="loess"
    )
    assert (curve.x[0], curve.y[0]) == pytest.approx((0.2, 0.2))
    assert np.isfinite(curve.y).all()


def test_places_are_even_in_scores_and_in_log_odds():
    rng = np.random.default_rng(6)
    p = np.concatenate([[0.0, 1.0], rng.uniform(0.02, 0.7, 300)])
    inside = np.log(p[2:] / (1 - p[2:]))
    even = 1 / (1 + np.exp(-np.linspace(inside.min(), inside.max(), 256)[1:-1]))
    expected = np.unique(np.concatenate([np.linspace(0, 1, 258), even]))
    found = tn.reliability_curve(np.arange(302) % 2, p, method="loess").x
    assert found == pytest.approx(expected, abs=1e-12)
    assert tn.reliability_curve([0, 1], [0.3, 0.3], method="loess").x.tolist() == [0.3]


@pytest.mark.parametrize("curve", CURVES)
def test_many_scores_are_pooled_and_hardly_differ(curve):
    """Scores of 20,000 steps are used as they are; 40,000 different ones are pooled but for the outermost."""
    y, p = simulated(40_000)
    rounded = np.clip(np.rint(p * 20_000), 1, 19_999) / 20_000
    for measure in MEASURES.values():
        assert measure(y, p, curve=curve) == pytest.approx(
            measure(y, rounded, curve=curve), abs=3e-4
        )


@pytest.mark.parametrize("curve", CURVES)
def test_whole_weights_repeat_rows_and_the_scale_of_others_does_not_matter(curve):
    y, p = simulated(80)
    w = np.random.default_rng(1).integers(1, 4, 80)
    repeated = [m(np.repeat(y, w), np.repeat(p, w), curve=curve) for m in MEASURES.values()]
    assert [m(y, p, curve=curve, sample_weight=w) for m in MEASURES.values()] == pytest.approx(
        repeated, rel=1e-9
    )
    for scale in (0.25, 1 / 3):
        found = [m(y, p, curve=curve, sample_weight=scale * w) for m in MEASURES.values()]
        assert found == pytest.approx(repeated, abs=0.03)


def test_a_spline_leaves_out_certain_scores_and_says_so():
    y, p = simulated(60)
    with pytest.warns(
        tn.errors.CertainScoresWarning,
        match=r"3 of 63 scores .* The spline leaves them out, .* 1 of them con",
    ):
        assert tn.ici([*y, 0, 1, 1], [*p, 0.0, 1.0, 0.0]) == tn.ici(y, p)


def test_a_spline_that_separates_the_labels_has_fewer_knots_or_is_nan():
    y, p = simulated(200)
    (knots,) = tn.reliability_curve(y, p, method="spline").knots
    assert len(knots) == 5
    # No event below 0.3: a spline may fall to minus infinity there without limit.
    low = np.linspace(0.001, 0.3, 300)
    (few,) = tn.reliability_curve(
        [*np.zeros(300, int), *y], [*low, *(0.4 + p / 2)], method="spline"
    ).knots
    assert len(few) < 5
    with pytest.warns(tn.errors.NoEstimateWarning, match="curve has no finite estimate"):
        assert math.isnan(tn.ici([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9]))
    with pytest.warns(tn.errors.NoEstimateWarning):
        assert np.isnan(
            tn.reliability_curve([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], method="spline").y
        ).all()


@pytest.mark.parametrize("curve", CURVES)
def test_one_score_is_its_rate(curve):
    assert tn.ici([0, 1, 1, 1], [0.5] * 4, curve=curve) == pytest.approx(0.25)
    assert tn.measure.emax([0, 1, 1, 1], [0.5] * 4, curve=curve) == pytest.approx(0.25)


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("law", ["tiny", "tied", "confident"])
def test_quantiles_are_in_order_for_any_weights(curve, law):
    rng = np.random.default_rng(4)
    p = {
        "tiny": 10.0 ** -rng.uniform(0, 300, 40),
        "tied": rng.integers(1, 4, 40) / 4,
        "confident": rng.beta(0.1, 0.1, 40),
    }[law]
    y = rng.integers(0, 2, 40)
    for w in (None, rng.integers(1, 10**6, 40), 10.0 ** rng.uniform(-8, 8, 40)):
        mean, *ranks = (m(y, p, curve=curve, sample_weight=w) for m in MEASURES.values())
        assert ranks == sorted(ranks)
        assert 0 <= mean <= ranks[-1] * (1 + 1e-9)


@pytest.mark.parametrize("measure", [tn.ici, tn.measure.e50, tn.measure.e90, tn.measure.emax])
def test_the_default_is_a_spline_with_five_knots(measure):
    rng = np.random.default_rng(7)
    p = rng.random(400)
    y = (rng.random(400) < p**2).astype(int)
    assert measure(y, p) == measure(y, p, curve="spline", knots=5)
    assert measure(y, p) != measure(y, p, knots=6)
    for knots in (2, 8, True, 4.0):
        with pytest.raises(tn.InputError, match="`knots` must be a whole number from 3 to 7; got"):
            measure(y, p, knots=knots)
    measure(y, p, knots=3)
    measure(y, p, knots=7)
    with pytest.raises(tn.InputError, match="`curve` must be 'spline' or 'loess'; got 'lowess'"):
        measure(y, p, curve="lowess")
