"""Any measure with its uncertainty: R's numbers, laws, sums, weights, clusters, matrices, messages."""

import math
from functools import partial

import numpy as np
import pytest
from scipy.interpolate import make_interp_spline
from scipy.optimize import brentq, minimize_scalar
from scipy.special import betaincinv, chdtri, expit, logit, ndtr, ndtri

import trueness as tn

BOUNDED = {
    *(
        "ece",
        "ece_l2",
        "ace",
        "gce",
        "l2",
        "squared_ece",
        "brier",
        "scaled_brier",
        "log_loss",
        "slope",
        "intercept",
    ),
    *("free_intercept", "observed_expected", "auc", "uncertainty", "discrimination", "prevalence"),
}
CURVE = ("ici", "e50", "e90", "emax")
FLOORED = {
    *("ece", "ece_l2", "ace", "mce", "gce", "tce", "smooth_ece", "miscalibration", "ks", "kuiper"),
    *CURVE,
}
NAMES = sorted(BOUNDED | FLOORED)

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def some_rows(n=300, seed=0, slope=0.7):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.02, 0.98, n)
    return (rng.random(n) < expit(slope * logit(p))).astype(int), p


def estimates(names, *rows, **options):
    return {name: tn.estimate(name, *rows, **options) for name in names}


def test_values_standard_errors_and_limits_are_those_of_r(clinical):
    names = ["slope", "intercept", "free_intercept", "observed_expected", "brier", "auc"]
    for name, (y, p, r) in clinical.items():
        found = estimates(names, tn.tally(y, p))
        assert found["slope"].value == pytest.approx(r["slope"], abs=1e-6), name
        assert found["slope"].standard_error == pytest.approx(r["slope_se"], abs=1e-6), name
        # R interpolates the profile, which moves its limits by up to 3e-5: see the next test.
        assert [found["slope"].low, found["slope"].high] == pytest.approx(
            r["slope_profile"], abs=5e-5
        ), name
        error = found["slope"].standard_error
        wald = [found["slope"].value + z * error for z in (-1.959963984540054, 1.959963984540054)]
        assert wald == pytest.approx(r["slope_wald"], abs=1e-6), name
        assert found["intercept"].value == pytest.approx(r["intercept_offset"], abs=1e-6), name
        assert found["intercept"].standard_error == pytest.approx(
            r["intercept_offset_se"], abs=1e-6
        ), name
        limits = [found["intercept"].low, found["intercept"].high]
        assert limits == pytest.approx(r["intercept_offset_profile"], abs=5e-5), name
        assert found["free_intercept"].value == pytest.approx(r["intercept_free"], abs=1e-6), name
        assert found["free_intercept"].standard_error == pytest.approx(
            r["intercept_free_se"], abs=1e-6
        ), name
        assert found["observed_expected"].value == pytest.approx(r["oe"], rel=1e-9), name
        assert found["brier"].value == pytest.approx(r["brier"], rel=1e-9), name
        spiegelhalter = tn.calibration_test(y, p, method="spiegelhalter").statistic
        assert spiegelhalter == pytest.approx(r["val_prob"]["S:z"], abs=1e-6), name
        left_out = f"{r['dropped']:,} scores of exactly 0 or 1" if r["dropped"] else ""
        assert left_out in found["slope"].note


def interpolated_limits(likelihood, best, error):
    """Limits at 95 % as in R: a spline through a few points of the profile, read off a coarse grid."""

    def third_derivative(x, z):
        for k in range(1, 4):
            z = np.diff(z) / (x[k:] - x[:-k])
        return 6 * z[0]

    most = math.sqrt(chdtri(1, 0.05 / 4))
    points = [(best, 0.0)]
    for sign in (-1, 1):
        for k in range(1, 11):
            at = best + sign * k * most / 5 * error
            points.append((at, sign * math.sqrt(2 * (likelihood(best) - likelihood(at)))))
            if abs(points[-1][1]) >= most:
                break
    x, z = map(np.array, zip(*sorted(points), strict=True))
    ends = [(3, third_derivative(x[:4], z[:4]))], [(3, third_derivative(x[-4:], z[-4:]))]
    grid = np.linspace(x[0], x[-1], 3 * x.size)
    return np.interp(ndtri([0.025, 0.975]), make_interp_spline(x, z, k=3, bc_type=ends)(grid), grid)


@pytest.mark.slow
def test_profile_likelihoods_interpolated_as_in_r_have_its_limits_to_the_last_digits(clinical):
    for name, (y, p, r) in clinical.items():
        inside = (p > 0) & (p < 1)
        x, sign = np.log(p[inside]) - np.log1p(-p[inside]), np.where(y[inside], -1, 1)

        def of_shift(a, x=x, sign=sign):
            return -np.logaddexp(0, sign * (a + x)).sum()

        def of_slope(b, x=x, sign=sign):
            return -minimize_scalar(
                lambda a: np.logaddexp(0, sign * (a + b * x)).sum(), tol=1e-12
            ).fun

        slope, shift = estimates(["slope", "intercept"], tn.tally(y, p)).values()
        for one, of, key in ((slope, of_slope, "slope"), (shift, of_shift, "intercept_offset")):
            found = interpolated_limits(of, one.value, one.standard_error)
            assert found == pytest.approx(r[f"{key}_profile"], abs=1e-6), name
            assert [one.low, one.high] == pytest.approx(found, abs=5e-5), name


def test_every_measure_has_a_valid_interval_or_a_floor_and_keeps_its_value():
    y, p = some_rows(60)
    found = estimates(NAMES, tn.tally(y, p), seed=0)
    for name, one in found.items():
        assert one.bounded == (name in BOUNDED), name
        assert math.isnan(one.floor) == (name not in FLOORED), name
        assert bool(one.method) == one.bounded
        assert one.bounded or one.note
        assert one.n == 60
        assert one.definition.endswith(".")
        function = getattr(tn.measure, name, None)
        if function is not None:
            assert one.value == pytest.approx(function(y, p), rel=1e-12), name
        if one.bounded:
            assert one.value in one, name
        if name in FLOORED:
            assert one.floor <= one.floor_high


SEVERAL_ROWS = {
    "one class": ([1] * 30, np.linspace(0.1, 0.9, 30)),
    "certain": ([0, 1] * 20, [0.0, 1.0] * 20),
    "impossible": ([0, 1] * 20, [1.0, 0.0] * 20),
    "one score": ([0, 0, 1] * 12, [0.3] * 36),
    "four rows": ([0, 1, 0, 1], [0.2, 0.4, 0.6, 0.7]),
    "rare": ((np.arange(400) % 90 == 0).astype(int), np.linspace(0.001, 0.03, 400)),
    "inverted": some_rows(200, 1, slope=-1),
    "calibrated": some_rows(150, 2, slope=1),
    "few scores": (some_rows(120, 3)[0], np.round(some_rows(120, 3)[1], 1)),
}


@pytest.mark.parametrize(
    "how", ["plain", *(pytest.param(h, marks=pytest.mark.slow) for h in ("cluster", "weight"))]
)
@pytest.mark.parametrize("rows", SEVERAL_ROWS)
def test_a_value_lies_inside_its_own_interval(rows, how):
    y, p = map(np.asarray, SEVERAL_ROWS[rows])
    n = np.arange(y.size)
    options = {
        "plain": {},
        "cluster": {"cluster": n // 2},
        "weight": {"sample_weight": 0.5 + n % 2},
    }[how]
    found = estimates(BOUNDED - {"gce"}, y, p, floor=False, seed=0, level=0.6, **options)
    for name, one in found.items():
        # An error estimated as 0 is the open end of a set that excludes 0.
        assert math.isnan(one.value) or not one.bounded or one.low <= one.value <= one.high, name
    assert {"ece", "prevalence", "brier"} <= {name for name, one in found.items() if one.bounded}


def test_one_error_has_one_value_wherever_it_is_asked_for():
    y, p = some_rows(120, slope=0.1)
    cluster, weight = np.arange(120) // 3, 0.5 + np.arange(120) % 3
    for options in (
        {},
        {"cluster": cluster},
        {"sample_weight": weight, "weight_type": "importance"},
    ):
        interval = tn.ece_interval(y, p, seed=0, **options)
        found, squared = (
            tn.estimate(name, y, p, seed=0, **options) for name in ("l2", tn.squared_ece)
        )
        assert found.value == pytest.approx(interval.estimate, rel=1e-12)
        assert (found.low, found.high) == pytest.approx(interval.hull)
        assert squared.value == pytest.approx(interval.estimate**2, rel=1e-12)
        compared = tn.compare(y, {"this": p, "other": p**2}, **options).estimates["this"]
        assert compared == pytest.approx(interval.estimate**2, rel=1e-12)
        if "cluster" not in options:
            assert tn.squared_ece(y, p, **options) == pytest.approx(interval.estimate**2, rel=1e-12)


@pytest.mark.parametrize(
    "name", ["slope", "free_intercept", "ece", "brier", "log_loss", "scaled_brier", "auc"]
)
def test_weight_two_is_the_row_twice_and_a_tally_is_its_rows(name):
    y, p = some_rows(150)
    w = np.random.default_rng(1).integers(0, 4, y.size)
    weighted = tn.estimate(name, y, p, sample_weight=w, seed=3)
    repeated = tn.estimate(name, tn.tally(y.repeat(w), p.repeat(w)), seed=3)
    numbers = ("value", "low", "high", "standard_error", "floor", "n")
    assert [getattr(weighted, x) for x in numbers] == pytest.approx(
        [getattr(repeated, x) for x in numbers], rel=1e-9, nan_ok=True
    )


@pytest.mark.parametrize(
    "name", ["slope", "intercept", "free_intercept", "brier", "log_loss", "scaled_brier", "auc"]
)
def test_halved_weights_and_clusters_of_one_row_have_nearly_the_same_limits(name):
    y, p = some_rows(1_000, slope=1.0)
    plain = tn.estimate(name, y, p)
    width = plain.high - plain.low
    for other in (
        tn.estimate(name, y, p, sample_weight=np.full(y.size, 0.5)),
        tn.estimate(name, y, p, cluster=np.arange(y.size)),
    ):
        assert other.value == pytest.approx(plain.value, rel=1e-9)
        assert (other.low, other.high) == pytest.approx((plain.low, plain.high), abs=0.04 * width)


def test_rows_repeated_in_clusters_have_the_standard_error_of_the_rows_themselves():
    y, p = some_rows(400)
    for name in ("slope", "brier", "log_loss", "prevalence", "scaled_brier"):
        once = tn.estimate(name, y, p)
        repeated = tn.estimate(name, y.repeat(5), p.repeat(5), cluster=np.arange(y.size).repeat(5))
        assert repeated.standard_error == pytest.approx(once.standard_error, rel=0.03), name
        assert repeated.high - repeated.low == pytest.approx(once.high - once.low, rel=0.1), name


def test_options_by_keyword_by_partial_and_by_name_agree():
    y, p = some_rows()
    by_keyword = tn.estimate(tn.ece, y, p, bins=5, norm="l2", seed=0)
    assert by_keyword == tn.estimate(partial(tn.ece, bins=5, norm="l2"), y, p, seed=0)
    assert by_keyword == tn.estimate("ece_l2", y, p, bins=5, seed=0)
    assert by_keyword.value == tn.ece(y, p, bins=5, norm="l2")
    assert (
        len(
            {
                str(tn.estimate(name, y, p))
                for name in ("calibration_slope", "slope", tn.calibration_slope)
            }
        )
        == 1
    )
    parts = ("brier_discrimination", "discrimination")
    assert len({str(tn.estimate(name, y, p, seed=0)) for name in parts}) == 1


def test_a_function_of_your_own_has_a_floor_and_on_demand_a_bootstrap():
    def largest(tally):
        """Largest residual."""
        return float(tn.mce(tally, bins=4))

    y, p = some_rows(100)
    plain = tn.estimate(largest, y, p, seed=0)
    assert (plain.measure, plain.definition, plain.bounded) == (
        "largest",
        "Largest residual.",
        False,
    )
    assert plain.floor > 0
    exact = tn.estimate("brier", y, p)
    drawn = tn.estimate(lambda t: tn.brier(t), y, p, method="bootstrap", floor=False, seed=0)
    assert (drawn.low, drawn.high) == pytest.approx(
        (exact.low, exact.high), abs=0.2 * (exact.high - exact.low)
    )


def test_bins_and_sketches_give_what_they_can_and_say_what_they_cannot():
    y, p = some_rows(2_000)
    rows, binned, sketch = tn.tally(y, p), tn.binned(y, p, bins=10), tn.sketch(y, p)
    for name in ("ece", "brier", "observed_expected", "prevalence", "ece_l2"):
        of_rows, of_bins = tn.estimate(name, rows, seed=0), tn.estimate(name, binned, seed=0)
        width = of_rows.high - of_rows.low
        assert (of_bins.low, of_bins.high) == pytest.approx(
            (of_rows.low, of_rows.high), abs=0.1 * width
        ), name
    for name in ("slope", "brier", "log_loss", "auc"):
        of_rows, of_sketch = tn.estimate(name, rows), tn.estimate(name, sketch)
        width = of_rows.high - of_rows.low
        assert (of_sketch.low, of_sketch.high) == pytest.approx(
            (of_rows.low, of_rows.high), abs=0.05 * width
        ), name
    with pytest.raises(tn.InputError, match="needs every distinct score"):
        tn.estimate("slope", binned)


def test_matrices_by_kind():
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(3), 400)
    y = np.array([rng.choice(3, p=row) for row in P])
    assert tn.estimate(tn.ece, y, P, kind="confidence", seed=0).bounded
    classwise = tn.estimate(tn.ece, y, P, seed=0)
    assert not classwise.bounded
    assert classwise.floor > 0
    assert "classes" in classwise.note
    for name in ("brier", "log_loss"):
        one = tn.estimate(name, y, P)
        assert one.value == pytest.approx(getattr(tn, name)(y, P), rel=1e-12)
        assert one.value in one
        row = tn.estimate(name, y, P, cluster=np.arange(400))
        assert (row.low, row.high) == pytest.approx((one.low, one.high), rel=0.02)
    sums = tn.estimate("log_loss", tn.tally(y, P))
    rows = tn.estimate("log_loss", y, P)
    assert (sums.low, sums.high) == pytest.approx((rows.low, rows.high), rel=0.02)
    two = np.column_stack([1 - P[:, 0], P[:, 0]])
    both = tn.estimate("slope", (y == 0).astype(int), two)
    assert both.value == pytest.approx(tn.calibration_slope((y == 0).astype(int), P[:, 0]))
    assert "two columns" in both.note
    two_largest = tn.estimate("squared_ece", y, P, k=2, seed=0)
    assert two_largest.value == tn.squared_ece(y, P, k=2)
    assert two_largest.bounded
    assert tn.estimate("accuracy", (y == 0).astype(int), two).value == pytest.approx(
        np.mean((P[:, 0] > 0.5) == (y == 0))
    )
    with pytest.raises(tn.InputError, match="one event"):
        tn.estimate("prevalence", y, P)
    assert tn.estimate("accuracy", y, P).value == pytest.approx(np.mean(P.argmax(axis=1) == y))


def test_the_standard_error_of_observed_over_expected_is_the_spread_of_simulated_ratios():
    _, p = some_rows(400)
    rng = np.random.default_rng(1)
    ratios = (rng.random((2_000, p.size)) < p).sum(axis=1) / p.sum()
    found = tn.estimate("observed_expected", (rng.random(p.size) < p).astype(int), p)
    assert found.standard_error == pytest.approx(ratios.std(), rel=0.08)


def test_the_floor_does_not_depend_on_the_scale_of_the_weights():
    y, p = some_rows(40)
    w = np.linspace(0.5, 1.5, 40)
    floors = [
        tn.estimate("ece", y, p, sample_weight=scale * w, seed=0).floor
        for scale in (1e-6, 1.0, 1e6)
    ]
    assert floors == pytest.approx(floors[:1] * 3, rel=1e-6)


def test_the_intercept_says_when_its_limits_assume_a_slope_that_the_rows_refute():
    y, p = some_rows(1_000, slope=0.6)
    assert "assume a slope of 1" in tn.estimate("intercept", y, p).note
    assert tn.estimate("intercept", *some_rows(1_000, slope=1.0)).note == ""
    assert tn.estimate("intercept", y, p, cluster=np.arange(1_000)).note == ""


EXTREMES = {
    "one class": ([0] * 12, np.linspace(0.1, 0.9, 12)),
    "one score": ([0, 1, 1] * 4, [0.3] * 12),
    "certain": ([0, 1] * 6, [0.0, 1.0] * 6),
    "contradicted": ([1, 0] * 6, [0.0, 1.0] * 6),
    "separated": ([0] * 6 + [1] * 6, np.linspace(0.1, 0.9, 12)),
    "two rows": ([0, 1], [0.3, 0.6]),
}


@pytest.mark.parametrize(("y", "p"), EXTREMES.values(), ids=EXTREMES)
def test_extreme_rows_have_ordered_limits_or_none(y, p):
    half = {"sample_weight": np.linspace(0.5, 2, len(y))}
    for options in ({}, half, {"cluster": np.arange(len(y)) % 6}):
        for name, one in estimates(
            BOUNDED - {"squared_ece", "ece_l2"}, y, p, floor=False, **options
        ).items():
            assert not one.bounded or one.low <= one.high, name
            if one.bounded and not math.isnan(one.value):
                assert one.low - 1e-12 <= one.value <= one.high + 1e-12, name


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"measure": "nonsense"}, "`measure` must be one of"),
        ({"measure": 3}, "`measure` must be a measure, its name, or a function of a Tally"),
        ({"measure": tn.corp}, "Name its part"),
        ({"measure": "ece", "level": 0.3}, "`level` must lie"),
        ({"measure": "ece", "method": "bootstrap"}, "`method` must be 'auto'"),
        ({"measure": "accuracy"}, "top class"),
    ],
)
def test_bad_arguments_are_named(arguments, match):
    y, p = some_rows(50)
    with pytest.raises(tn.InputError, match=match):
        tn.estimate(y_true=y, y_prob=p, **arguments)
    with pytest.raises(TypeError, match="curve"):
        tn.estimate("ece", y, p, curve=1)


LAWS = {
    "uniform": lambda u: u,
    "rare": lambda u: 1 - (1 - u) ** (1 / 30),
    "confident": lambda u: betaincinv(0.15, 0.15, u).clip(1e-6, 1 - 1e-6),
    "tied": lambda u: np.array([0.05, 0.2, 0.5, 0.8, 0.95])[np.minimum((5 * u).astype(int), 4)],
}
# The smallest coverage allowed at 0.95: 0.93, or what docs/evidence/coverage.md reports, less three standard errors.
LEAST = {"intercept": 0.88 - 0.055, "log_loss": 0.92 - 0.055}


@pytest.mark.slow
@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("slope", [1.0, 0.6])
@pytest.mark.parametrize("law", LAWS)
def test_intervals_of_100_rows_cover_the_population(law, slope, clustered):
    names = (
        "intercept",
        "slope",
        "free_intercept",
        "brier",
        "log_loss",
        "scaled_brier",
        "prevalence",
    )
    runs, n = 200, 100
    rng, grid = np.random.default_rng(0), LAWS[law]((np.arange(20_000) + 0.5) / 20_000)
    q, x = expit(slope * logit(grid)), logit(grid)
    rate, brier = q.mean(), (q * (1 - grid) ** 2 + (1 - q) * grid**2).mean()
    log_loss = -(q * np.log(grid) + (1 - q) * np.log1p(-grid)).mean()
    shift = brentq(lambda a: (expit(x + a) - q).sum(), -5, 5)
    truth = dict(
        zip(
            names,
            (shift, slope, 0.0, brier, log_loss, 1 - brier / (rate * (1 - rate)), rate),
            strict=True,
        )
    )
    cluster = np.repeat(np.arange(n // 5), 5) if clustered else None

    def uniform():
        own = rng.normal(size=n)
        return ndtr(
            own
            if cluster is None
            else math.sqrt(0.3) * rng.normal(size=n)[cluster] + math.sqrt(0.7) * own
        )

    held = {name: [] for name in names}
    for _ in range(runs):
        p = LAWS[law](uniform())
        y = (uniform() < expit(slope * logit(p))).astype(int)
        for name, one in estimates(names, y, p, cluster=cluster, floor=False).items():
            if one.bounded:
                held[name].append(one.low <= truth[name] <= one.high)
    for name, each in held.items():
        assert np.mean(each) >= LEAST.get(name, 0.93 - 0.055), name


def test_the_floor_of_the_miscalibration_takes_every_score():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 3, 20_000)
    calibrated = tn.tally(rng.random(p.size) < p, p)
    exact = tn.noise_floor(
        lambda t: tn.corp(t).miscalibration, calibrated, resamples=9, seed=1, progress=False
    )
    found = tn.estimate("miscalibration", calibrated, seed=0)
    assert found.floor == pytest.approx(exact.mean, abs=4 * exact.std * math.sqrt(1 / 9 + 1 / 99))


EFFECTIVE = "Clopper-Pearson, effective number of rows"
BINNED = "signed sums of gaps, and redrawn labels"
# How limits are found for independent rows, for clusters, and for weights that are not whole numbers.
METHODS = {
    "slope": ("profile likelihood", "sandwich of clusters, t", "sandwich, t"),
    "intercept": ("profile likelihood", "sandwich of clusters, t", "sandwich, t"),
    "free_intercept": ("profile likelihood", "sandwich of clusters, t", "sandwich, t"),
    "observed_expected": (EFFECTIVE, EFFECTIVE, EFFECTIVE),
    "auc": tuple(
        f"{who} with a pseudo-row per class, on the logit scale"
        for who in ("DeLong", "Obuchowski", "DeLong")
    ),
    "prevalence": ("Clopper-Pearson", EFFECTIVE, EFFECTIVE),
    "uncertainty": tuple(
        f"{how} of the event rate" for how in ("Clopper-Pearson", EFFECTIVE, EFFECTIVE)
    ),
    "discrimination": ("t, lower limit debiased", "", ""),
    "brier": (
        "t, skewness-corrected",
        "t of clusters, skewness-corrected",
        "t, skewness-corrected",
    ),
    "log_loss": tuple(
        f"{how}, skewness-corrected, upper end at least Gaffke's"
        for how in ("t", "t of clusters", "t")
    ),
    "scaled_brier": ("delta method, t",) * 3,
    "ece": (BINNED,) * 3,
    "ace": (BINNED,) * 3,
    "mce": ("", "", ""),
    "ici": ("", "", ""),
}


@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_method_says_how_the_limits_of_rows_clusters_and_other_weights_are_found(place):
    y, p = some_rows(200, slope=1.0)
    options = ({}, {"cluster": np.arange(200) // 2}, {"sample_weight": 0.5 + np.arange(200) % 2})[
        place
    ]
    for name, one in estimates(list(METHODS), y, p, floor=False, seed=0, **options).items():
        assert one.method == METHODS[name][place], name
        assert one.bounded == bool(one.method), name
        assert one.level == 0.95
    one = tn.estimate("discrimination", y, p, floor=False, seed=0, **options)
    words = "The event probability is assumed to rise with the score; the value is biased upwards."
    none = "No interval: one is known for independent rows, whole weights and the Brier score only."
    weights = " Weights are not whole numbers but sampling weights: each row counts once."
    assert one.note == (words, none, none + weights)[place]


def test_the_uncertainty_of_the_log_score_is_the_entropy_of_the_event_rate():
    y, p = some_rows(100)
    rate = tn.estimate("prevalence", y, p)
    for score, of_rate in (
        ("brier", lambda r: r * (1 - r)),
        ("log", lambda r: -r * np.log(r) - (1 - r) * np.log1p(-r)),
    ):
        found = tn.estimate("uncertainty", y, p, score=score)
        assert found.value == pytest.approx(of_rate(y.mean()))
        ends = sorted(of_rate(r) for r in (rate.low, rate.high))
        assert found.low == pytest.approx(ends[0])
    for name in ("uncertainty", "discrimination"):
        default, named = (
            tn.estimate(name, y, p, seed=0),
            tn.estimate(name, y, p, score="brier", seed=0),
        )
        assert (default.low, default.high) == (named.low, named.high)
    assert not tn.estimate("discrimination", y, p, score="log").bounded


def top_labels(seed=0, only=None):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(3), 200)
    if only is not None:
        P[:, only] += 1
        P /= P.sum(axis=1, keepdims=True)
    return np.array([rng.choice(3, p=row) for row in P]), P


@pytest.mark.parametrize("only", [None, 1])
@pytest.mark.parametrize("weight", [None, 2, 0.5])
def test_top_labels_have_the_loss_limits_of_the_largest_scores(weight, only):
    """The rows are the same, whether or not they are kept apart by the predicted class; `only` one is predicted."""
    y, P = top_labels(only=only)
    options = {} if weight is None else {"sample_weight": np.full(200, weight) + np.arange(200) % 2}
    for name in ("brier", "log_loss"):
        top, largest = (
            tn.estimate(name, y, P, kind=kind, **options) for kind in ("top-label", "confidence")
        )
        for field in ("value", "low", "high", "standard_error", "n", "method"):
            assert getattr(top, field) == pytest.approx(getattr(largest, field)), (name, field)


def test_whole_weights_of_a_matrix_count_rows():
    y, P = top_labels()
    weight = np.arange(200) % 4
    for name in ("brier", "log_loss"):
        weighted = tn.estimate(name, y, P, sample_weight=weight)
        repeated = tn.estimate(name, y.repeat(weight), P.repeat(weight, axis=0))
        assert (weighted.low, weighted.high) == pytest.approx((repeated.low, repeated.high))
        assert weighted.n == repeated.n == weight.sum()
        more = {"cluster": np.arange(200) // 4}
        weighted = tn.estimate(name, y, P, sample_weight=weight, **more)
        repeated = tn.estimate(
            name, y.repeat(weight), P.repeat(weight, axis=0), cluster=more["cluster"].repeat(weight)
        )
        assert (weighted.low, weighted.high) == pytest.approx((repeated.low, repeated.high))
        assert weighted.method == "t of clusters, skewness-corrected"
    two = np.column_stack([1 - P[:, 0], P[:, 0]])
    event = (y == 0).astype(int)
    columns, vector = (
        tn.estimate("brier", event, two, kind="classwise"),
        tn.estimate("brier", event, P[:, 0]),
    )
    assert columns.standard_error == pytest.approx(vector.standard_error, rel=1e-9)
    assert (columns.low, columns.high) == pytest.approx((vector.low, vector.high), rel=1e-3)


def test_class_wise_sums_have_limits_for_the_log_loss_only():
    y, P = top_labels()
    sums = tn.tally(y, P)
    assert tn.estimate("log_loss", sums).bounded
    words = "No interval from class-wise sums: they do not keep the scores of a row together. Pass labels and scores."
    assert tn.estimate("brier", sums).note == words


@pytest.mark.parametrize(("wrong", "words"), [(1, "1 label had"), (2, "2 labels had")])
def test_labels_that_had_probability_0_are_counted(wrong, words):
    y, p = [0] * (3 - wrong) + [1] * wrong + [1, 0], [0.0] * 3 + [0.7, 0.2]
    found = tn.estimate("log_loss", y, p)
    assert found.note == f"{words} probability 0: the log loss is infinite and has no interval."
    P = np.eye(3)[[0, 1, 2, 0]]
    assert tn.estimate("log_loss", [0, 1, 1, 0], P).note.startswith(
        "Some labels had probability 0: "
    )
    top = tn.estimate("log_loss", [0, 1, 1, 0], P, kind="top-label")
    assert top.note.startswith("1 label had probability 0: ")


def test_one_class_alone_has_neither_auc_nor_scaled_brier_score():
    found = estimates(["auc", "scaled_brier"], [1, 1, 1], [0.4, 0.5, 0.9])
    assert found["auc"].note == "There is only one class: the AUC is undefined."
    assert (
        found["scaled_brier"].note
        == "There is only one class: the scaled Brier score is undefined."
    )


def test_the_l2_error_of_bins_is_that_of_rows_at_their_mean_scores():
    y, p = some_rows(400)
    eight, four = tn.binned(y, p, bins=8), tn.binned(y, p, bins=4)

    def at_means(bins):
        which = np.minimum((p * bins).astype(int), bins - 1)
        return (np.bincount(which, p) / np.bincount(which))[which]

    for sums, asked, bins in ((eight, 8, 8), (four, 4, 4), (eight, 4, 4)):
        found = tn.estimate("squared_ece", sums, bins=asked, seed=0)
        low, high = tn.ece_interval(
            y, at_means(bins), bins=tn.Distinct(), squared=True, seed=0
        ).hull
        assert (found.low, found.high) == pytest.approx((min(low, found.value), high))
        assert found.method.startswith("test inversion (score), ")
    own, asked = (
        tn.estimate("squared_ece", eight, seed=0, **options) for options in ({}, {"bins": 8})
    )
    assert (own.value, own.high) == (asked.value, asked.high)
    root = tn.estimate("ece", eight, bins=4, norm="l2", seed=0)
    assert (root.low, root.high) == pytest.approx(
        tn.ece_interval(y, at_means(4), bins=tn.Distinct(), seed=0).hull
    )


def test_the_l2_error_of_rows_is_in_the_bins_that_are_given():
    y, p = some_rows(120)
    weight, cluster = 0.5 + np.arange(120) % 2, np.arange(120) // 2
    for options in ({}, {"cluster": cluster}, {"sample_weight": weight}):
        kind = {"weight_type": "importance"} if "sample_weight" in options else {}
        for squared, ask in ((True, {"loss": "squared"}), (False, {"norm": "l2"})):
            found = tn.estimate("gce", y, p, bins=6, seed=0, level=0.9, **ask, **options)
            expected = tn.ece_interval(
                y, p, bins=6, seed=0, level=0.9, squared=squared, **kind, **options
            )
            assert (found.low, found.high) == pytest.approx(expected.hull)
            assert found.method == f"test inversion (score), {expected.bins}"
    sums = tn.tally(y, p, sample_weight=weight)
    words = "No interval from sums with weights that are not whole numbers. Pass labels and scores."
    assert tn.estimate("squared_ece", sums).note == words


def test_limits_that_rows_do_not_allow_are_explained_in_a_sentence():
    y, p = [0, 1, 1], [0.1, 0.5, 0.9]
    with pytest.raises(tn.InputError) as reason:
        tn.ece_interval(y, p, bins=10)
    found = tn.estimate("ece", y, p, norm="l2", floor=False)
    message = str(reason.value)
    assert found.note == f"No interval: {message[0].lower()}{message[1:]}"


@pytest.mark.parametrize(
    ("options", "method"),
    [
        ({}, BINNED),
        ({"norm": 1}, BINNED),
        ({"loss": "squared"}, "test inversion"),
        ({"norm": "l2"}, "test inversion"),
        ({"norm": 3}, ""),
        ({"norm": "max"}, ""),
        ({"norm": "l2", "loss": "squared"}, ""),
        ({"bins": tn.Isotonic()}, ""),
        ({"bins": tn.BlockIsotonic()}, ""),
    ],
)
def test_limits_are_known_for_the_l1_and_l2_errors_in_bins_that_do_not_follow_the_labels(
    options, method
):
    y, p = some_rows(60)
    found = tn.estimate("gce", y, p, floor=False, seed=0, **options)
    assert found.method.startswith(method)
    assert found.bounded == bool(method)
    assert found.value == pytest.approx(tn.gce(y, p, **options))


def test_the_limits_are_in_the_bins_of_the_measure():
    y, p = some_rows(300)
    same = [
        tn.estimate(m, y, p, floor=False, seed=0)
        for m in (tn.ece, tn.gce, partial(tn.ece, bins=tn.EqualWidth(10)))
    ]
    assert len({(one.value, one.low, one.high) for one in same}) == 1
    mass = [
        tn.estimate(tn.ace, y, p, bins=bins, floor=False, seed=0) for bins in (7, tn.EqualMass(7))
    ]
    mass.append(tn.estimate(tn.ece, y, p, bins=tn.EqualMass(7), floor=False, seed=0))
    assert len({(one.value, one.low, one.high) for one in mass}) == 1


def test_a_function_of_your_own_is_named_and_defined_by_itself():
    y, p = some_rows(100)

    def rows_of(sums):
        """Number of rows."""
        return float(sums.n)

    found = [
        tn.estimate(one, y, p, floor=False)
        for one in (rows_of, partial(rows_of), lambda sums: 2.0 * sums.n)
    ]
    assert [one.value for one in found] == [100, 100, 200]
    assert [one.measure for one in found] == ["rows_of", "rows_of()", "measure"]
    assert [one.definition for one in found] == ["Number of rows."] * 2 + ["A function of a Tally."]
    with pytest.raises(TypeError, match="bins"):
        tn.estimate("slope", y, p, bins=8)
    with pytest.raises(tn.InputError, match="`measure` must have its options by keyword"):
        tn.estimate(partial(rows_of, 1), y, p)


def test_the_l2_norm_has_a_name_and_a_definition_of_its_own():
    y, p = some_rows(60)
    by_name = {
        norm: tn.estimate("ece", y, p, norm=norm, floor=False, seed=0)
        for norm in ("l1", "l2", 2, "max")
    }
    assert [by_name[norm].measure for norm in by_name] == ["ECE", "ECE, l2", "ECE, l2", "ECE"]
    assert (
        by_name["l2"].definition
        == "Root mean square over bins of event rate − mean score, biased upwards."
    )


def test_weights_too_large_to_count_rows_are_refused():
    y, p = some_rows(80)
    for ask in (
        lambda **how: tn.estimate("ece", y, p, **how),
        lambda **how: tn.gate(y, p, max_ece=0.01, **how),
    ):
        with pytest.raises(tn.InputError, match="must sum to less than 2³⁵"):
            ask(sample_weight=np.full(80, 1e15))


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda y, p: tn.estimate("ecee", y, p), "got 'ecee'. Did you mean 'ece'?"),
        (
            lambda y, p: tn.estimate("ece", y, p, bins="quantile"),
            "got 'quantile'. Did you mean `tn.EqualMass(10)`?",
        ),
        (
            lambda y, p: tn.ece(y, p, bins="mas:10"),
            "got 'mas:10'. Did you mean `tn.EqualMass(10)`?",
        ),
        (lambda y, p: tn.ece(y, p, pos_label="1"), "got '1'. Did you mean 1?"),
        (
            lambda y, p: tn.ece_interval(y, p, sample_weight=p + 1, weight_type="frequency"),
            "For other weights use `weight_type='importance'`.",
        ),
        (lambda y, p: tn.ece(y, p, bins="uniform"), "got 'uniform'. Did you mean `bins=10`?"),
        (
            lambda y, p: tn.ece(np.where(y, "yes", "no"), p, pos_label="Yes"),
            "got 'Yes'. Did you mean 'yes'?",
        ),
        (lambda y, p: tn.ece(y, p, pos_label=2), "got 2."),
    ],
)
def test_a_misspelt_word_is_answered_with_the_nearest_one(ask, words):
    with pytest.raises(tn.InputError) as error:
        ask(*map(np.asarray, some_rows(20)))
    assert str(error.value).endswith(words)


def test_an_estimate_names_its_view_and_its_bins():
    y, p = some_rows(60)
    labels, P = top_labels()
    assert str(tn.estimate("ece", y, p, floor=False)).startswith("ECE (10 bins of equal width) 0.")
    assert (
        "lower bound of the error over all scores"
        in tn.estimate("ece", y, p, floor=False).definition
    )
    names = {
        ("ece", None): "ECE (class-wise, 4 bins of equal width) ",
        ("ece", "confidence"): "ECE (confidence, 4 bins of equal width) ",
        ("ace", "top-label"): "ACE (top-label, 4 bins of equal mass) ",
    }
    for (name, kind), words in names.items():
        found = tn.estimate(
            name, labels, P, bins=4, floor=False, **({"kind": kind} if kind else {})
        )
        assert str(found).startswith(words)
    brier = tn.estimate("brier", labels, P)
    assert (brier.kind, brier.bins) == ("classwise", "")
    assert str(tn.estimate("slope", y, p)).startswith("slope 0.")


def test_the_largest_gap_says_how_many_rows_it_belongs_to():
    y, p = [0] * 6 + [1] * 3 + [0] + [1] * 10, [0.1] * 9 + [0.65] + [0.7] * 10
    found = tn.estimate("mce", y, p, floor=False)
    assert found.value == 0.65
    assert found.where == "1 of 20 rows, in the bin from 0.6 to 0.7"
    assert found.note.startswith(f"The largest gap is that of {found.where}. No valid interval")
    twice = tn.estimate(
        "mce", y, p, floor=False, sample_weight=np.repeat(2, 20), bins=tn.Edges([0, 0.66, 1])
    )
    assert twice.where == "20 of 40 rows, in the bin from 0.66 to 1"
    halves = tn.estimate("mce", y, p, floor=False, sample_weight=np.repeat(0.5, 20))
    assert halves.where == "1 of 20 rows, in the bin from 0.6 to 0.7"
    assert not tn.estimate("mce", *top_labels(), floor=False).where


def test_floors_of_clusters_say_that_they_take_rows_as_independent():
    y, p = some_rows(60)
    words = (
        "The noise floor takes rows as independent: in clusters, a calibrated model may show more."
    )
    cluster = np.arange(60) // 2
    assert words in tn.estimate("mce", y, p, cluster=cluster, seed=0).note
    assert words not in tn.estimate("mce", y, p, cluster=cluster, floor=False).note
    assert words not in tn.estimate("mce", y, p, seed=0).note
    assert words not in tn.estimate("auc", y, p, cluster=cluster, seed=0).note


def test_weights_that_are_not_whole_numbers_give_the_squared_error_of_the_population():
    y, p = some_rows(100)
    w = 0.5 + np.arange(100) % 2
    found = tn.estimate("squared_ece", y, p, sample_weight=w, seed=0)
    importance = {"sample_weight": w, "weight_type": "importance"}
    assert found.value == pytest.approx(tn.squared_ece(y, p, **importance))
    interval = tn.ece_interval(y, p, squared=True, seed=0, **importance)
    assert (found.low, found.high) == pytest.approx(interval.hull)


def test_flexible_curves_give_value_and_floor_of_each_distance():
    y, p = some_rows(200)
    for name in CURVE:
        for options in ({}, {"knots": 3}, {"curve": "loess"}):
            found = tn.estimate(name, y, p, floor=False, **options)
            assert found.value == pytest.approx(
                getattr(tn.measure, name)(y, p, **options), rel=1e-6
            )
            assert found.note.startswith(
                "No valid interval is known, since the value is biased upwards"
            )
    ici, e50, e90, emax = estimates(CURVE, y, p, seed=0).values()
    assert e50.floor < ici.floor < e90.floor < emax.floor
    assert (
        tn.estimate("ici", [1, 1, 1], [0.2, 0.2, 0.2], seed=0).note
        == "No calibration curve can be fitted to these rows."
    )
    with pytest.raises(tn.InputError, match="`curve` must be"):
        tn.estimate("ici", y, p, curve="line")
    with pytest.raises(tn.InputError, match="`knots`"):
        tn.estimate("ici", y, p, knots=99)


def test_a_function_of_your_own_gets_a_tally_where_there_is_one():
    y, p = some_rows(60)
    kinds = []

    def kind_of(sums):
        kinds.append(type(sums).__name__)
        return 1.0

    for sums in ((y, p), (tn.tally(y, p),), (tn.sketch(y, p),), (tn.binned(y, p, bins=5),)):
        tn.estimate(kind_of, *sums, floor=False)
    assert kinds == ["Tally", "Tally", "Tally", "Binned"]


def test_the_squared_error_of_the_largest_scores_has_the_limits_of_their_interval():
    y, P = top_labels()
    for options in ({}, {"cluster": np.arange(200) // 2}, {"k": 1}, {"k": 2}):
        found = tn.estimate("squared_ece", y, P, bins=4, seed=0, **options)
        expected = tn.ece_interval(y, P, bins=4, squared=True, seed=0, **options)
        assert found.value == pytest.approx(expected.estimate)
        assert (found.low, found.high) == pytest.approx(
            (min(expected.hull[0], found.value), expected.high)
        )


def test_two_columns_in_clusters_are_the_second_without_k_and_the_top_label_with_k_of_1():
    y, p = some_rows(120)
    both, cluster = np.column_stack([1 - p, p]), np.arange(120) // 2
    top = np.maximum(p, 1 - p)
    is_right = np.where(p > 1 - p, y, 1 - y)
    for labels, scores, options in ((y, p, {}), (is_right, top, {"k": 1})):
        vector = tn.estimate("squared_ece", labels, scores, bins=4, cluster=cluster, seed=0)
        found = tn.estimate("squared_ece", y, both, bins=4, cluster=cluster, seed=0, **options)
        assert (found.value, found.low, found.high) == pytest.approx(
            (vector.value, vector.low, vector.high)
        )


def test_means_over_classes_say_why_they_have_no_limits():
    y, P = top_labels()
    names = [
        "squared_ece",
        "ece",
        "ece_l2",
        "slope",
        "intercept",
        "free_intercept",
        "observed_expected",
        "auc",
    ]
    names += ["uncertainty", "discrimination", "scaled_brier"]
    for name, one in estimates(names, y, P, kind="classwise", floor=False).items():
        assert (
            one.note == "No interval: the value is a mean over classes, which depend on each other."
        ), name


def test_top_labels_in_clusters_have_no_limits():
    y, P = top_labels()
    assert not tn.estimate("brier", y, P, kind="top-label", cluster=np.arange(200) // 2).bounded


@pytest.mark.parametrize("measure", ["squared_ece", "ece", "brier"])
@pytest.mark.parametrize("rows", ["plain", "clusters", "weights"])
def test_two_columns_are_named_once(measure, rows):
    rng = np.random.default_rng(0)
    p = rng.random(60)
    more = {
        "plain": {},
        "clusters": {"cluster": np.arange(60) % 20},
        "weights": {"sample_weight": rng.uniform(1, 2, 60)},
    }
    found = tn.estimate(
        measure, rng.random(60) < p, np.column_stack([1 - p, p]), floor=False, **more[rows]
    )
    assert found.note.count("The two columns of scores are one binary problem") == 1
