"""Bands around reliability curves."""

import itertools
import json
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, norm
from sklearn.isotonic import isotonic_regression
from strategies import arrays, rows

import trueness as tn
from trueness.infer import reliability_bands
from trueness.infer.band import _reliability_bands as _bands
from trueness.infer.band._reliability_bands import consistency_of_curve
from trueness.measure._curve import curve_of_cells, smooth_curve

BANDS = ("pointwise", "simultaneous", "consistency", "simultaneous-consistency")


def quiet(function, *given, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tn.TruenessWarning)
        return function(*given, **options)


def test_a_pointwise_band_is_that_of_the_table_of_bins():
    rng = np.random.default_rng(1)
    p = rng.random(200)
    y = rng.random(200) < p
    band, table = reliability_bands(y, p, level=0.9), tn.bin_table(y, p, level=0.9)
    assert band.low.tolist() == table.low.tolist()
    assert band.high.tolist() == table.high.tolist()
    assert band.level_each == 0.9


def test_a_pointwise_band_is_the_exact_interval_of_scipy():
    found = reliability_bands([1] * 3 + [0] * 7, [0.4] * 10, bins=1, level=0.9)
    expected = binomtest(3, 10).proportion_ci(0.9, "exact")
    assert (found.low[0], found.high[0]) == pytest.approx((expected.low, expected.high))


def test_a_simultaneous_band_shares_the_level_among_bins_that_are_not_empty():
    y, p = [1, 0, 0, 1, 1], [0.1, 0.1, 0.1, 0.9, 0.9]
    found = reliability_bands(y, p, bins=5, level=0.9, band="simultaneous")
    assert found.level_each == pytest.approx(np.sqrt(0.9))
    expected = binomtest(1, 3).proportion_ci(np.sqrt(0.9), "exact")
    assert (found.low[0], found.high[0]) == pytest.approx((expected.low, expected.high))
    assert np.isnan(found.low[1])
    assert not found.outside[1]
    one_row_each = reliability_bands([1, 0, 0], [0.1, 0.5, 0.9], bins=3, level=0.9, band="simultaneous")
    assert one_row_each.level_each == pytest.approx(0.9 ** (1 / 3))


def test_classes_that_share_their_rows_share_the_level_by_addition():
    P = np.array([[0.2, 0.3, 0.5], [0.7, 0.2, 0.1]] * 5)
    found = reliability_bands([0, 1, 2, 0, 1] * 2, P, bins=1, level=0.94, band="simultaneous")
    assert found.level_each == pytest.approx(0.98)
    assert found.label == (0, 1, 2)
    apart = reliability_bands([0, 1, 2, 0, 1] * 2, P, bins=1, level=0.94, band="simultaneous", kind="top-label")
    assert apart.level_each == pytest.approx(0.94 ** (1 / 3))


def test_a_consistency_band_of_equal_scores_is_binomial():
    found = reliability_bands([0] * 99 + [1], [0.3] * 100, bins=1, level=0.95, band="consistency")
    assert found.low[0] == binom.ppf(0.025, 100, 0.3) / 100
    assert found.high[0] == binom.ppf(0.975, 100, 0.3) / 100
    assert found.outside.tolist() == [True]


@given(p=st.lists(st.floats(0, 1), min_size=2, max_size=6), level=st.floats(0.5, 0.99))
def test_consistency_bands_hold_the_rates_as_often_as_they_say(p, level):
    """By enumeration of all labels."""
    p = np.sort(p)
    together, alone = 0.0, {}
    for y in itertools.product([0, 1], repeat=p.size):
        weight = np.prod(np.where(y, p, 1 - p))
        for band in ("consistency", "simultaneous-consistency"):
            found = quiet(reliability_bands, np.array(y), p, bins=2, level=level, band=band)
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
    sizes, rates = [4, 7, 10], [0.15, 0.5, 0.8]
    p = np.repeat(rates, sizes)
    covered = 0.0
    for k in itertools.product(*(range(n + 1) for n in sizes)):
        y = np.concatenate([np.arange(n) < e for n, e in zip(sizes, k, strict=True)])
        found = quiet(reliability_bands, y, p, bins=[0, 0.3, 0.6, 1], level=level, band="simultaneous")
        covered += np.prod(binom.pmf(k, sizes, rates)) * (not found.outside.any())
    assert covered >= level


@given(pairs=rows)
@pytest.mark.parametrize("band", BANDS)
def test_a_band_does_not_depend_on_order_or_form(band, pairs):
    y, p = arrays(pairs)
    found = quiet(reliability_bands, y, p, bins=4, band=band).to_dict()
    again = quiet(reliability_bands, tn.tally(y[::-1], p[::-1]), bins=4, band=band).to_dict()
    assert json.dumps(found) == json.dumps(again)


@pytest.mark.parametrize("band", BANDS)
def test_a_whole_number_weight_repeats_the_row(band):
    y, p = np.array([0, 1, 1, 0, 1]), np.array([0.2, 0.3, 0.6, 0.7, 0.9])
    w = np.array([2, 1, 3, 0, 2])
    found = reliability_bands(y, p, bins=2, band=band, sample_weight=w)
    again = reliability_bands(np.repeat(y, w), np.repeat(p, w), bins=2, band=band)
    assert found.low.tolist() == again.low.tolist()
    assert found.high.tolist() == again.high.tolist()


def test_fractional_weights_are_said_to_be_approximate():
    y, p, w = [0, 1, 1, 0], [0.2, 0.3, 0.6, 0.7], [0.5, 1.5, 1, 1]
    assert reliability_bands(y, p, bins=2, sample_weight=w).interval == "exact, of effective counts"
    found = reliability_bands(y, p, bins=2, sample_weight=w, band="consistency")
    assert found.interval == "normal"
    mean, sd = (0.5 * 0.2 + 1.5 * 0.3) / 2, np.sqrt(0.25 * 0.16 + 2.25 * 0.21) / 2
    assert found.high[0] == pytest.approx(mean + 1.959964 * sd)


def test_bands_are_a_table_with_one_column_more():
    found = reliability_bands([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], bins=2, band="consistency")
    data = json.loads(json.dumps(found.to_dict()))
    assert data["outside"] == [False, False]
    assert (data["band"], data["level"], data["interval"]) == ("consistency", 0.95, "Poisson-binomial")
    assert len(found) == 2
    assert len(str(found).splitlines()) == 3


@pytest.mark.parametrize("rule", [tn.Isotonic(), tn.BlockIsotonic(1, 3)])
def test_bins_that_look_at_the_labels_are_refused(rule):
    with pytest.raises(tn.InputError, match="must not depend on the labels"):
        reliability_bands([0, 1, 1], [0.1, 0.5, 0.9], bins=rule)


def test_bad_arguments_are_named():
    with pytest.raises(tn.InputError, match=r"`band` must be 'pointwise', .* got 'wide'"):
        reliability_bands([0, 1], [0.1, 0.5], bins=2, band="wide")
    with pytest.raises(tn.InputError, match="`level` must lie strictly between 0 and 1"):
        reliability_bands([0, 1], [0.1, 0.5], bins=2, level=1)


@pytest.mark.slow
@pytest.mark.parametrize("band", BANDS)
def test_bands_hold_their_level_on_calibrated_data(band):
    rng = np.random.default_rng(3)
    runs, level, bins = 1_000, 0.9, 8
    alone, together = 0, 0
    for _ in range(runs):
        p = rng.beta(0.7, 2, 300)
        y = rng.random(300) < p
        found = quiet(reliability_bands, y, p, bins=tn.EqualMass(bins), level=level, band=band)
        alone += (~found.outside).mean()
        together += not found.outside.any()
    # Discrete laws are covered more often than the level says, never less: three standard errors of slack.
    covered = (together if band.startswith("simultaneous") else alone) / runs
    assert level - 3 * np.sqrt(level * (1 - level) / runs) < covered < 0.97


SCORES = {
    "uniform": lambda rng, n: rng.random(n),
    "beta": lambda rng, n: rng.beta(0.5, 2, n),
    "rare": lambda rng, n: rng.beta(1, 200, n),
}


def curve_leaves(cells, method, **options):
    """Whether the curve that is drawn leaves its band anywhere."""
    curve = curve_of_cells(cells, method)
    width = 0.0 if curve.bandwidth is None else curve.bandwidth[0]
    band = consistency_of_curve(cells, method, bandwidth=width, **options)
    x, y = curve.x, curve.y
    if method == "isotonic":
        x, y = np.column_stack([curve.low_edge, curve.high_edge]).ravel(), np.repeat(curve.y, 2)
    there = np.isfinite(y)
    low, high = (np.interp(x[there], band.x, end) for end in (band.low, band.high))
    return bool(((y[there] < low - 1e-6) | (y[there] > high + 1e-6)).any())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::trueness.errors.TruenessWarning")
@pytest.mark.parametrize("method", ["isotonic", "smooth"])
@pytest.mark.parametrize("n", [120, 2_000])
@pytest.mark.parametrize("scores", SCORES)
def test_a_calibrated_curve_leaves_its_simultaneous_band_in_few_data_sets(method, n, scores):
    runs, left = 100, 0
    for run in range(runs):
        rng = np.random.default_rng([run, n])
        p = SCORES[scores](rng, n)
        cells = tn.tally((rng.random(n) < p).astype(int), p).parts[0]
        left += curve_leaves(cells, method, resamples=199, seed=run)
    assert left <= 5 + 3 * np.sqrt(runs * 0.05 * 0.95)


@pytest.mark.parametrize("method", ["isotonic", "smooth"])
def test_a_pointwise_band_lies_within_the_simultaneous_one(method):
    rng = np.random.default_rng(0)
    p = rng.random(500)
    cells = tn.tally((rng.random(500) < p).astype(int), p).parts[0]
    whole, each = (
        consistency_of_curve(cells, method, bandwidth=0.05, band=band, seed=0)
        for band in ("simultaneous-consistency", "consistency")
    )
    assert (whole.low <= each.low).all()
    assert (whole.high >= each.high).all()
    assert (whole.band, each.band) == ("simultaneous-consistency", "consistency")
    assert str(whole) == f"95 % simultaneous consistency band of a {method} curve (499 resamples)"
    assert "pointwise" in str(each)


def test_a_miscalibrated_curve_leaves_its_band():
    d = tn.simulate.demo(5_000)
    cells = tn.tally(d.y_true, d.y_prob).parts[0]
    assert curve_leaves(cells, "isotonic", seed=0)
    assert curve_leaves(cells, "smooth", seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["isotonic", "smooth"])
def test_pooling_many_scores_hardly_changes_a_band(method, monkeypatch):
    rng = np.random.default_rng(0)
    p = rng.random(6_000)
    cells = tn.tally((rng.random(p.size) < p).astype(int), p).parts[0]
    pooled = consistency_of_curve(cells, method, bandwidth=0.03, seed=0)
    monkeypatch.setattr(_bands, "_MANY", 20_000)
    single = consistency_of_curve(cells, method, bandwidth=0.03, seed=1)
    inner = np.linspace(0.05, 0.95, 50)
    for end in ("low", "high"):
        ends = [np.interp(inner, one.x, getattr(one, end)) for one in (pooled, single)]
        assert np.abs(ends[0] - ends[1]).mean() < 0.02


def test_a_high_level_draws_more_curves():
    p = np.linspace(0, 1, 50)
    cells = tn.tally((p > 0.5).astype(int), p).parts[0]
    assert consistency_of_curve(cells, "isotonic", level=0.99, seed=0).resamples == 999
    assert consistency_of_curve(cells, "isotonic", level=0.99, band="consistency", seed=0).resamples == 499
    weighted = tn.tally((p > 0.5).astype(int), p, sample_weight=p + 0.5).parts[0]
    assert np.isfinite(consistency_of_curve(weighted, "isotonic", seed=0).low).all()


def test_the_classes_of_a_table_share_the_level_of_their_bins():
    P = np.array([[0.1, 0.6, 0.3], [0.2, 0.2, 0.6], [0.3, 0.6, 0.1], [0.1, 0.1, 0.8]])
    found = reliability_bands([1, 2, 0, 2], P, bins=2, level=0.94, band="simultaneous")
    assert found.n.tolist() == [4, 0, 2, 2, 2, 2]
    assert found.level_each == pytest.approx(0.98)
    for row, (k, n, level) in {0: (1, 4, 0.98), 3: (1, 2, np.sqrt(0.98))}.items():
        expected = binomtest(k, n).proportion_ci(level, "exact")
        assert (found.low[row], found.high[row]) == pytest.approx((expected.low, expected.high))


def test_a_class_that_is_never_predicted_has_no_consistency_band():
    P = np.array([[0.6, 0.3, 0.1], [0.3, 0.6, 0.1]])
    found = reliability_bands([0, 1], P, bins=1, band="consistency", kind="top-label")
    assert np.isnan(found.low).tolist() == np.isnan(found.high).tolist() == [False, False, True]


def test_a_normal_consistency_band_stays_between_0_and_1():
    y, p, w = [0, 1, 1, 0, 1], [0.1, 0.4, 0.5, 0.6, 0.9], [0.5, 3.5, 1.5, 2.5, 4.5]
    found = reliability_bands(y, p, bins=[0, 0.2, 0.7, 1], sample_weight=w, band="consistency", level=0.5)
    mean, z = (3.5 * 0.4 + 1.5 * 0.5 + 2.5 * 0.6) / 7.5, norm.ppf(0.75)
    reach = z * np.sqrt(3.5**2 * 0.24 + 1.5**2 * 0.25 + 2.5**2 * 0.24) / 7.5
    assert (found.low[1], found.high[1]) == pytest.approx((mean - reach, mean + reach))
    assert found.low[0] == 0
    assert found.high[0] == pytest.approx(0.1 + z * 0.3)
    assert found.low[2] == pytest.approx(0.9 - z * 0.3)
    assert found.high[2] == 1


def cells_of(p, y=None, **options):
    return quiet(tn.tally, (np.arange(p.size) % 3 == 0) if y is None else y, p, **options).parts[0]


def extreme_first(curves):
    """Curves by their ranks at all places, counted from the nearer end and sorted."""
    ranks = [
        sorted(min(sum(o[j] <= c[j] for o in curves), sum(o[j] >= c[j] for o in curves)) for j in range(c.size))
        for c in curves
    ]
    return sorted(range(len(curves)), key=ranks.__getitem__)


def test_a_simultaneous_band_leaves_out_the_curves_of_the_most_extreme_ranks():
    rng = np.random.default_rng(0)
    curves = rng.standard_normal((40, 7))
    for level, omitted in ((0.9, 4), (0.88, 4), (0.5, 20)):
        kept = _bands._inner_curves(curves, level, rng)
        assert sorted(kept) == sorted(extreme_first(curves)[omitted:])
    # With many places, and curves that lie above or below all others: these are left out first.
    many = np.zeros((20, 600)) + np.arange(20)[:, None]
    assert sorted(_bands._inner_curves(many, 0.8, rng)) == list(range(2, 18))


def test_chance_decides_which_of_equal_curves_are_left_out():
    equal, rng = np.ones((20, 3)), np.random.default_rng(0)
    left = [set(range(20)) - set(_bands._inner_curves(equal, 0.9, rng)) for _ in range(200)]
    assert all(len(some) == 2 for some in left)
    often = np.bincount([one for some in left for one in some], minlength=20)
    assert (np.abs(often - 20) < 5 * np.sqrt(18)).all()


@pytest.mark.parametrize(
    ("weight", "spread"),
    [(None, [0.21, 0.25, 0.09]), ([4, 9, 30], [0.84, 2.25, 2.7]), ([40.5, 90.5, 30.5], [344.4525, 2047.5625, 83.7225])],
)
def test_drawn_events_have_the_mean_and_the_variance_of_calibrated_labels(weight, spread):
    p = np.array([0.3, 0.5, 0.9])
    cells = cells_of(p, np.array([0, 1, 1]), sample_weight=weight)
    first, *drawn = _bands._events(cells, 3_000, np.random.default_rng(0))
    w = np.ones(3) if weight is None else np.array(weight)
    assert first.tolist() == (w * [0, 1, 1]).tolist()
    drawn = np.array(drawn)
    assert drawn.min() == 0
    assert (drawn.max(axis=0) <= w).all()
    if weight is None or weight[0] == 4:
        assert drawn.mean(axis=0) == pytest.approx(w * p, abs=5 * np.sqrt(max(spread) / 3_000))
        assert drawn.var(axis=0) == pytest.approx(spread, rel=0.12)
    else:  # normal, cut off at 0 and at the weight
        each = [
            norm.rvs(m, np.sqrt(v), 20_000, random_state=1).clip(0, top)
            for m, v, top in zip(w * p, spread, w, strict=True)
        ]
        assert drawn.mean(axis=0) == pytest.approx(np.mean(each, axis=1), rel=0.06)
        assert drawn.std(axis=0) == pytest.approx(np.std(each, axis=1), rel=0.06)


@pytest.mark.all_cases
@pytest.mark.parametrize("n", [30, 1024, 1025, 4096, 4097, 5000])
def test_isotonic_curves_are_compared_at_the_ends_and_at_places_between_them(n):
    p = np.sort(np.random.default_rng(1).random(n))
    y = np.random.default_rng(2).random(n) < p
    x, at, curves = _bands._isotonic_curves(cells_of(p, y), 0.0, 1, np.random.default_rng(0))
    fitted = isotonic_regression(y.astype(float))
    if n <= 1024:
        assert at.tolist() == list(range(n))
    else:
        assert 1_000 <= at.size <= 1_024
        assert at[:128].tolist() == list(range(128))
        assert at[-128:].tolist() == list(range(at[-1] - 127, at[-1] + 1))
        assert np.diff(at).max() <= np.ceil(min(n, 4096) / 768)
    if n <= 4096:
        assert at[-1] == n - 1
        assert np.array_equal(x, p[at])
        assert curves[0] == pytest.approx(fitted[at])
    else:
        assert 4_000 < at[-1] + 1 <= 4_096
        assert np.array_equal(x[at < 512], p[at[at < 512]])
        assert np.array_equal(x[::-1][:128], p[::-1][:128])
        assert np.abs(curves[0] - np.interp(x, p, fitted)).mean() < 0.002
    assert (np.diff(curves, axis=1) >= 0).all()
    assert curves.shape == (2, at.size)


def test_isotonic_curves_weigh_the_rows():
    p, y, w = np.array([0.1, 0.2, 0.3, 0.4, 0.5]), np.array([0, 1, 0, 0, 1]), [1, 2, 3, 1, 5]
    _, _, curves = _bands._isotonic_curves(cells_of(p, y, sample_weight=w), 0.0, 1, np.random.default_rng(0))
    assert curves[0] == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3, 1])


def type_8(values, share):
    """Median-unbiased sample quantile of Hyndman and Fan."""
    ordered, place = np.sort(values), (len(values) + 1 / 3) * share + 1 / 3
    below = int(place)
    return ordered[below - 1] + (place - below) * (ordered[below] - ordered[below - 1])


@pytest.mark.parametrize("band", ["consistency", "simultaneous-consistency"])
def test_between_its_places_an_isotonic_band_reaches_to_the_next_one(band):
    p = np.sort(np.random.default_rng(1).random(1_100))
    cells, level = cells_of(p, np.random.default_rng(2).random(1_100) < p), 0.8
    found = consistency_of_curve(cells, "isotonic", band=band, resamples=60, level=level, seed=3)
    rng = np.random.default_rng(3)
    x, at, curves = _bands._isotonic_curves(cells, 0.0, 60, rng)
    if band == "consistency":
        low, high = (np.array([type_8(column, share) for column in curves[1:].T]) for share in (0.1, 0.9))
    else:
        kept = curves[_bands._inner_curves(curves, level, rng)]
        assert len(kept) == 61 - 12
        low, high = kept.min(axis=0), kept.max(axis=0)
    for j in range(at.size):
        after_gap, before_gap = j > 0 and at[j] - at[j - 1] > 1, j + 1 < at.size and at[j + 1] - at[j] > 1
        assert found.low[j] == pytest.approx(low[j - 1] if after_gap else low[j])
        assert found.high[j] == pytest.approx(high[j + 1] if before_gap else high[j])
    assert np.array_equal(found.x, x)
    assert (found.level, found.method, found.resamples, found.band) == (level, "isotonic", 60, band)


def kernel_means(p, y, places, sigma):
    """Means of scores and labels with a normal density that is reflected at 0 and 1."""
    density = sum(norm.pdf(places[:, None], image, sigma) for shift in (-2, 0, 2) for image in (p + shift, shift - p))
    return density @ p / density.sum(axis=1), density @ y / density.sum(axis=1)


@pytest.mark.parametrize("n", [200, 2_048, 3_000])
def test_smooth_curves_are_kernel_means_where_scores_are_near(n):
    p = np.linspace(0.0003, 0.4, n) ** 1.5
    y, sigma = ((p < 0.004) | (np.sin(40 * p) > 0)).astype(float), 0.03
    x, at, curves = _bands._smooth_curves(cells_of(p, y), sigma, 1, np.random.default_rng(0))
    places = (np.arange(512) + 0.5) / 512
    near = np.abs(places[:, None] - p).min(axis=1) <= sigma
    score, label = kernel_means(p, y, places[near], sigma)
    assert at.tolist() == list(range(near.sum()))
    assert x == pytest.approx(score, abs=2e-4)
    assert curves.shape == (2, near.sum())
    # More than 2,048 scores are pooled within an eighth of the width.
    assert curves[0] == pytest.approx(label, abs=2e-4 if n <= 2_048 else 2e-3)
    if n == 2_048:
        exact = smooth_curve(cells_of(p, y), sigma).y
        assert curves[0] == pytest.approx(exact[np.isfinite(exact)], abs=2e-7)


def test_too_many_curves_are_refused(monkeypatch):
    cells = cells_of(np.array([0.2, 0.4, 0.6]))
    with pytest.raises(tn.InputError, match="`resamples` must be at most 100,000 for a band of curves; got 100,001"):
        consistency_of_curve(cells, "isotonic", resamples=100_001)
    with pytest.raises(tn.InputError, match="`level` must be smaller for a simultaneous band: 163,839 curves"):
        consistency_of_curve(cells, "isotonic", level=1 - 2**-14)
    monkeypatch.setattr(_bands, "_MOST_CURVES", 39)
    assert consistency_of_curve(cells, "isotonic", level=0.75, resamples=39, seed=0).resamples == 39
    assert consistency_of_curve(cells, "isotonic", level=0.75, resamples=9, seed=0).resamples == 39
