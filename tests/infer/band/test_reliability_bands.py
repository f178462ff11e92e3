"""Bands around reliability curves: of bins, and of isotonic and smooth curves, which displays draw."""

import itertools
import json
import warnings
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pytest
from grids import slow
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, norm
from sklearn.isotonic import isotonic_regression
from strategies import arrays, rows

import trueness as tn
from trueness.infer import curve_band
from trueness.plot import ReliabilityDisplay

BANDS = ("pointwise", "simultaneous", "consistency", "simultaneous-consistency")


def quiet(function, *given, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tn.TruenessWarning)
        return function(*given, **options)


def test_a_pointwise_band_is_that_of_the_table_of_bins_and_of_scipy():
    rng = np.random.default_rng(1)
    p = rng.random(200)
    y = rng.random(200) < p
    band, table = curve_band(y, p, level=0.9, method="bins"), tn.bin_table(y, p, level=0.9)
    assert (band.low.tolist(), band.high.tolist(), band.level_each) == (
        table.low.tolist(),
        table.high.tolist(),
        0.9,
    )
    found = curve_band([1] * 3 + [0] * 7, [0.4] * 10, bins=1, level=0.9, method="bins")
    expected = binomtest(3, 10).proportion_ci(0.9, "exact")
    assert (found.low[0], found.high[0]) == pytest.approx((expected.low, expected.high))


def test_a_simultaneous_band_shares_the_level_among_bins_that_are_not_empty():
    y, p = [1, 0, 0, 1, 1], [0.1, 0.1, 0.1, 0.9, 0.9]
    found = curve_band(y, p, bins=5, level=0.9, band="simultaneous", method="bins")
    assert found.level_each == pytest.approx(np.sqrt(0.9))
    expected = binomtest(1, 3).proportion_ci(np.sqrt(0.9), "exact")
    assert (found.low[0], found.high[0]) == pytest.approx((expected.low, expected.high))
    assert np.isnan(found.low[1])
    assert not found.outside[1]


def test_classes_that_share_their_rows_share_the_level_by_addition():
    P = np.array([[0.1, 0.6, 0.3], [0.2, 0.2, 0.6], [0.3, 0.6, 0.1], [0.1, 0.1, 0.8]])
    found = curve_band([1, 2, 0, 2], P, bins=2, level=0.94, band="simultaneous", method="bins")
    assert found.label == (0, 0, 1, 1, 2, 2)
    assert found.n.tolist() == [4, 0, 2, 2, 2, 2]
    assert found.level_each == pytest.approx(0.98)
    for row, (k, n, level) in {0: (1, 4, 0.98), 3: (1, 2, np.sqrt(0.98))}.items():
        expected = binomtest(k, n).proportion_ci(level, "exact")
        assert (found.low[row], found.high[row]) == pytest.approx((expected.low, expected.high))
    apart = curve_band(
        [1, 2, 0, 2], P, bins=1, level=0.94, band="simultaneous", kind="top-label", method="bins"
    )
    assert apart.level_each == pytest.approx(0.94 ** (1 / 3))
    never = curve_band([1, 2, 0, 2], P, bins=1, band="consistency", kind="top-label", method="bins")
    assert np.isnan(never.low).tolist() == np.isnan(never.high).tolist() == [True, False, False]


def test_a_consistency_band_of_equal_scores_is_binomial():
    found = curve_band(
        [0] * 99 + [1], [0.3] * 100, bins=1, level=0.95, band="consistency", method="bins"
    )
    assert found.low[0] == binom.ppf(0.025, 100, 0.3) / 100
    assert found.high[0] == binom.ppf(0.975, 100, 0.3) / 100
    assert found.outside.tolist() == [True]


@given(p=st.lists(st.floats(0, 1), min_size=2, max_size=5), level=st.floats(0.5, 0.99))
def test_consistency_bands_hold_the_rates_as_often_as_they_say(p, level):
    """By enumeration of all labels."""
    p = np.sort(p)
    together, alone = 0.0, {}
    for y in itertools.product([0, 1], repeat=p.size):
        weight = np.prod(np.where(y, p, 1 - p))
        for band in ("consistency", "simultaneous-consistency"):
            found = quiet(
                partial(curve_band, method="bins"), np.array(y), p, bins=2, level=level, band=band
            )
            if band == "consistency":
                for b in np.flatnonzero(found.n):
                    alone[b] = alone.get(b, 0.0) + weight * (not found.outside[b])
            else:
                together += weight * (not found.outside.any())
    assert min(alone.values()) >= level - 1e-12
    assert together >= level - 1e-12


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_simultaneous_bands_hold_all_rates_together_as_often_as_they_say(level):
    """By enumeration of the events of three bins with one probability each."""
    sizes, rates = [4, 6, 8], [0.15, 0.5, 0.8]
    p = np.repeat(rates, sizes)
    covered = 0.0
    for k in itertools.product(*(range(n + 1) for n in sizes)):
        y = np.concatenate([np.arange(n) < e for n, e in zip(sizes, k, strict=True)])
        found = quiet(
            curve_band, y, p, method="bins", bins=[0, 0.3, 0.6, 1], level=level, band="simultaneous"
        )
        covered += np.prod(binom.pmf(k, sizes, rates)) * (not found.outside.any())
    assert covered >= level


@given(pairs=rows)
@pytest.mark.parametrize("band", BANDS)
def test_a_band_does_not_depend_on_order_or_form(band, pairs):
    y, p = arrays(pairs)
    found = quiet(partial(curve_band, method="bins"), y, p, bins=4, band=band).to_dict()
    again = quiet(
        partial(curve_band, method="bins"), tn.tally(y[::-1], p[::-1]), bins=4, band=band
    ).to_dict()
    assert json.dumps(found) == json.dumps(again)


def test_fractional_weights_are_said_to_be_approximate_and_stay_between_0_and_1():
    y, p, w = [0, 1, 1, 0, 1], [0.1, 0.4, 0.5, 0.6, 0.9], [0.5, 3.5, 1.5, 2.5, 4.5]
    assert (
        curve_band(y, p, bins=2, sample_weight=w, method="bins").interval
        == "exact, of effective counts"
    )
    found = curve_band(
        y, p, bins=[0, 0.2, 0.7, 1], sample_weight=w, band="consistency", level=0.5, method="bins"
    )
    assert found.interval == "normal"
    mean, z = (3.5 * 0.4 + 1.5 * 0.5 + 2.5 * 0.6) / 7.5, norm.ppf(0.75)
    reach = z * np.sqrt(3.5**2 * 0.24 + 1.5**2 * 0.25 + 2.5**2 * 0.24) / 7.5
    assert found.low == pytest.approx([0, mean - reach, 0.9 - z * 0.3])
    assert found.high == pytest.approx([0.1 + z * 0.3, mean + reach, 1])


def test_bands_are_a_table_with_one_column_more():
    found = curve_band(
        [0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], bins=2, band="consistency", method="bins"
    )
    data = json.loads(json.dumps(found.to_dict()))
    assert data["outside"] == [False, False]
    assert (data["band"], data["level"], data["interval"]) == (
        "consistency",
        0.95,
        "Poisson-binomial",
    )
    assert (len(found), len(str(found).splitlines())) == (2, 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bins": tn.Isotonic()}, "must not depend on the labels"),
        ({"bins": tn.BlockIsotonic(1, 3)}, "must not depend on the labels"),
        ({"band": "wide"}, r"`band` must be 'pointwise', .* got 'wide'"),
        ({"level": 1}, "`level` must lie strictly between 0 and 1"),
    ],
)
def test_bad_arguments_are_named(options, message):
    with pytest.raises(tn.InputError, match=message):
        curve_band([0, 1, 1], [0.1, 0.5, 0.9], **{"bins": 2} | options, method="bins")


@pytest.mark.slow
@pytest.mark.parametrize("band", BANDS)
def test_bands_hold_their_level_on_calibrated_data(band):
    rng = np.random.default_rng(3)
    runs, level, bins = 1_000, 0.9, 8
    alone, together = 0, 0
    for _ in range(runs):
        p = rng.beta(0.7, 2, 300)
        y = rng.random(300) < p
        found = quiet(
            partial(curve_band, method="bins"),
            y,
            p,
            bins=tn.EqualMass(bins),
            level=level,
            band=band,
        )
        alone += (~found.outside).mean()
        together += not found.outside.any()
    # Discrete laws are covered more often than the level says, never less: three standard errors of slack.
    covered = (together if band.startswith("simultaneous") else alone) / runs
    assert level - 3 * np.sqrt(level * (1 - level) / runs) < covered < 0.97


# ---- curves without bins


def drawn_band(y, p, curve, band="simultaneous-consistency", **options):
    shown = quiet(
        ReliabilityDisplay.from_predictions, y, p, curve=curve, band=band, numbers=False, **options
    )
    plt.close(shown.figure_)
    return shown.series[0].band


def kernel_means(labels, p, w, x, sigma):
    """Means of label vectors in columns with a normal density that is reflected at 0 and 1."""
    density = (
        sum(
            norm.pdf(x[:, None], image, sigma)
            for shift in (-2, 0, 2)
            for image in (p + shift, shift - p)
        )
        * w
    )
    return density @ labels / density.sum(axis=1, keepdims=True)


def slow_curves(p, w, curve, sigma, x, draws, rng):
    """Curves of labels drawn from the scores, at the places x of a band."""
    order = np.argsort(p, kind="stable")
    p, w = p[order], w[order]
    rates = (rng.random((p.size, draws)) < p[:, None]).astype(float)
    if curve == "smooth":
        return kernel_means(rates, p, w, x, sigma).T
    score, first = np.unique(p, return_index=True)
    ties = np.add.reduceat(rates * w[:, None], first) / np.add.reduceat(w, first)[:, None]
    fitted = [isotonic_regression(one, sample_weight=np.add.reduceat(w, first)) for one in ties.T]
    return np.array(fitted)[:, np.searchsorted(score, x)]


@pytest.mark.parametrize("rows", ["ties", *slow("continuous", "weights", "fractional weights")])
@pytest.mark.parametrize("curve", ["isotonic", "smooth"])
def test_bands_are_those_of_slow_curves_of_drawn_labels(curve, rows):
    rng = np.random.default_rng(0)
    p = rng.random(120).round(1 if rows == "ties" else 6)
    y = (rng.random(120) < p).astype(int)
    w = {"weights": 1.0 + np.arange(120) % 3, "fractional weights": 0.5 + np.arange(120) % 3}.get(
        rows, np.ones(120)
    )
    options = {"sample_weight": w} if "weights" in rows else {}
    rep = (np.repeat(p, w.astype(int)), np.ones(int(w.sum()))) if rows == "weights" else (p, w)
    each = drawn_band(y, p, curve, "consistency", level=0.8, **options)
    whole = drawn_band(y, p, curve, level=0.8, **options)
    sigma = 0.0
    if curve == "smooth":
        sigma = quiet(tn.reliability_curve, y, p, method="smooth", **options).bandwidth[0]
        places = (np.arange(512) + 0.5) / 512
        places = places[np.abs(places[:, None] - p).min(axis=1) <= sigma]
        means = kernel_means(rep[0][:, None], *rep, places, sigma)[:, 0]
        assert each.x == pytest.approx(means, abs=5e-4)
        x = places
    else:
        x = each.x
        assert x.tolist() == np.unique(p).tolist()
    curves = slow_curves(*rep, curve, sigma, x, 800, rng)
    low, high = np.quantile(curves, [0.1, 0.9], axis=0)
    spread = np.maximum(curves.std(axis=0), 0.02)
    for found, expected in ((each.low, low), (each.high, high)):
        assert np.mean(np.abs(found - expected) / spread) < 0.2
    inside = ((curves >= whole.low - 1e-6) & (curves <= whole.high + 1e-6)).all(axis=1).mean()
    assert 0.62 < inside < 0.9  # the hull of 400 curves holds somewhat fewer others
    assert (whole.low <= each.low + 0.02).all()
    assert (whole.high >= each.high - 0.02).all()
    assert (whole.resamples, each.resamples, whole.level, whole.method) == (499, 499, 0.8, curve)
    assert str(whole) == f"80 % simultaneous consistency band of a {curve} curve (499 resamples)"
    assert "pointwise" in str(each)


@pytest.mark.parametrize("n", [1_024, 1_025, 5_000])
def test_many_scores_are_compared_at_the_ends_and_at_places_between_them(n):
    """Up to 1,024 places; the first and last 128 are neighbours, and the band reaches from each place to the next."""
    p = np.sort(np.random.default_rng(1).random(n))
    y = np.random.default_rng(2).random(n) < p
    band = drawn_band(y, p, "isotonic", "consistency", level=0.9)
    assert band.x.size <= 1_024
    assert (band.x[:128] == p[:128]).all()
    assert (band.x[-128:] == p[-128:]).all()
    assert band.x.size > 1_000
    if n <= 1_024:
        assert (band.x == p).all()
    draws = np.random.default_rng(3).random((n, 60)) < p[:, None]
    curves = np.array([isotonic_regression(one.astype(float)) for one in draws.T])
    inner = (p > 0.05) & (p < 0.95)
    low, high = (np.interp(p[inner], band.x, end) for end in (band.low, band.high))
    held = ((curves[:, inner] >= low) & (curves[:, inner] <= high)).mean()
    assert 0.87 < held < 0.96


def test_a_miscalibrated_curve_leaves_its_band():
    d = tn.simulate.demo(5_000)
    for curve in ("isotonic", "smooth"):
        band, shown = (
            drawn_band(d.y_true, d.y_prob, curve),
            tn.reliability_curve(d.y_true, d.y_prob, method=curve),
        )
        there = np.isfinite(shown.y)
        low, high = (np.interp(shown.x[there], band.x, end) for end in (band.low, band.high))
        assert ((shown.y[there] < low - 1e-6) | (shown.y[there] > high + 1e-6)).any()


def test_a_high_level_draws_more_curves_and_too_high_a_one_too_many():
    p = np.linspace(0, 1, 50)
    y = (p > 0.5).astype(int)
    assert drawn_band(y, p, "isotonic", level=0.99).resamples == 999
    assert drawn_band(y, p, "isotonic", "consistency", level=0.99).resamples == 499
    with pytest.raises(
        tn.InputError, match="`level` must be smaller for a simultaneous band: 163,839 curves"
    ):
        drawn_band(y, p, "isotonic", level=1 - 2**-14)


SCORES = {
    "uniform": lambda rng, n: rng.random(n),
    "beta": lambda rng, n: rng.beta(0.5, 2, n),
    "rare": lambda rng, n: rng.beta(1, 200, n),
}


@pytest.mark.slow
@pytest.mark.parametrize("curve", ["isotonic", "smooth"])
@pytest.mark.parametrize("n", [120, 2_000])
@pytest.mark.parametrize("scores", SCORES)
def test_a_calibrated_curve_leaves_its_simultaneous_band_in_few_data_sets(curve, n, scores):
    runs, left = 100, 0
    for run in range(runs):
        rng = np.random.default_rng([run, n])
        p = SCORES[scores](rng, n)
        y = (rng.random(n) < p).astype(int)
        band, shown = (
            drawn_band(y, p, curve, seed=run),
            quiet(tn.reliability_curve, y, p, method=curve),
        )
        x, height = shown.x, shown.y
        if curve == "isotonic":
            x, height = (
                np.column_stack([shown.low_edge, shown.high_edge]).ravel(),
                np.repeat(shown.y, 2),
            )
        there = np.isfinite(height)
        low, high = (np.interp(x[there], band.x, end) for end in (band.low, band.high))
        left += bool(((height[there] < low - 1e-6) | (height[there] > high + 1e-6)).any())
    assert left <= 5 + 3 * np.sqrt(runs * 0.05 * 0.95)


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
@pytest.mark.parametrize("same", [True, False])
def test_a_consistency_band_of_sampling_weights_has_the_spread_of_their_squares(same):
    """Two bins of one score each: rates vary as normal numbers about the scores."""
    rng = np.random.default_rng(4)
    p = np.repeat([0.3, 0.6], [120, 200])
    w = np.repeat([0.4, 2.5], [120, 200]) if same else rng.choice([0.5, 1.5, 2.25], 320)
    y = (rng.random(320) < p).astype(int)
    found = tn.curve_band(
        y, p, sample_weight=w, bins=2, band="consistency", method="bins", level=0.9
    )
    for b, score in enumerate((0.3, 0.6)):
        mine = w[p == score]
        half = 1.644854 * np.sqrt((mine @ mine) * score * (1 - score)) / mine.sum()
        assert found.low[b] == pytest.approx(score - half, abs=0.15 * half)
        assert found.high[b] == pytest.approx(score + half, abs=0.15 * half)
