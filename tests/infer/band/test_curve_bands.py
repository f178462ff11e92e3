"""Confidence bands around splines and loess."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from grids import fast, slow
from scipy.special import expit, logit
from scipy.stats import chi2, f, norm, t

import trueness as tn
from trueness.infer import curve_band

CURVES = ["spline", "loess"]


def simulated(n=400, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.05, 0.95, n)
    return (rng.random(n) < p).astype(int), p


@pytest.mark.filterwarnings("ignore::trueness.errors.CertainScoresWarning")
def test_pointwise_limits_of_splines_are_those_of_r(clinical):
    for y, p, from_r in clinical.values():
        if "at" in from_r["rcs5"]:
            band = curve_band(y, p, at=from_r["rcs5"]["at"])
            for found, key in ((band.y, "curve"), (band.low, "low"), (band.high, "high")):
                assert found == pytest.approx(from_r["rcs5"][key], abs=1e-9)


@pytest.mark.parametrize("curve", CURVES)
def test_bands_contain_the_curve_and_simultaneous_ones_are_wider(curve):
    y, p = simulated()
    each, whole = (
        curve_band(y, p, method=curve, band=band) for band in ("pointwise", "simultaneous")
    )
    assert np.array_equal(each.y, tn.reliability_curve(y, p, method=curve).y)
    assert (
        (whole.low <= each.low)
        & (each.low <= each.y)
        & (each.y <= each.high)
        & (each.high <= whole.high)
    ).all()
    assert ((whole.low >= 0) & (whole.high <= 1)).all()
    words = (
        f"95 % simultaneous confidence band of a {curve} curve at {whole.x.size} scores, at most"
    )
    assert str(whole).startswith(words)
    nearest = {"spline": "the spline nearest to the true", "loess": "the local mean of the true"}[
        curve
    ]
    assert str(whole).endswith(f"It covers {whole.covers}.")
    assert whole.covers.startswith(nearest)
    assert (whole.resamples, whole.level, whole.method, whole.band) == (
        0,
        0.95,
        curve,
        "simultaneous",
    )


def knots(p, w):
    """Harrell's percentiles of the log-odds; value k of m with other weights lies at (k − 1)w + (m − 1)Σw before it."""
    shares = np.array([0.05, 0.275, 0.5, 0.725, 0.95])
    if (w == 1).all():
        return np.quantile(logit(p), shares)
    score, of = np.unique(p, return_inverse=True)
    weight = np.bincount(of, w)
    place = np.arange(score.size) * weight + (score.size - 1) * (np.cumsum(weight) - weight)
    return np.interp(shares * place[-1], np.maximum.accumulate(place), logit(score))


def spline_columns(x, k):
    """Restricted cubic spline of the log-odds x with five knots."""
    cube = lambda v: np.maximum(v, 0) ** 3  # noqa: E731
    more = [
        (
            cube(x - k[j])
            - cube(x - k[3]) * (k[4] - k[j]) / (k[4] - k[3])
            + cube(x - k[4]) * (k[3] - k[j]) / (k[4] - k[3])
        )
        / (k[4] - k[0]) ** 2
        for j in range(3)
    ]
    return np.stack([np.ones(x.size), x, *more], axis=1)


def newton(X, y, w):
    b = np.zeros(X.shape[1])
    for _ in range(60):
        q = expit(X @ b)
        b += np.linalg.solve(X.T @ (X * (w * q * (1 - q))[:, None]), X.T @ (w * (y - q)))
    return b


def rows_with_ends(n=160):
    """Labels, scores of which some are 0 or 1, weights, and clusters of unequal size."""
    rng = np.random.default_rng(5)
    p = rng.uniform(0.02, 0.98, n)
    p[:3], p[3:6] = 0.0, 1.0
    y = (rng.random(n) < p).astype(int)
    return y, p, rng.choice([0.5, 1.25, 2.0, 3.5], n), rng.integers(0, 30, n) ** 2 // 40


def independent_units(w, cluster):
    sums = np.bincount(np.unique(cluster, return_inverse=True)[1], w)
    return sums.sum() ** 2 / (sums**2).sum()


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_limits_of_splines_are_those_of_the_sandwich_row_by_row(clustered, weighted):
    y, p, w, cluster = rows_with_ends()
    options = ({"sample_weight": w} if weighted else {}) | (
        {"cluster": cluster} if clustered else {}
    )
    at = np.array([0.05, 0.3, 0.7, 0.97])
    band, whole = (
        curve_band(y, p, at=at, level=0.8, band=kind, **options)
        for kind in ("pointwise", "simultaneous")
    )
    w, kept = w if weighted else np.ones(y.size), (p > 0) & (p < 1)
    k = knots(p[kept], w[kept])
    X = spline_columns(logit(p[kept]), k)
    b = newton(X, y[kept], w[kept])
    q = expit(X @ b)
    bread = np.linalg.inv(X.T @ (X * (w[kept] * q * (1 - q))[:, None]))
    terms = X * (w[kept] * (y[kept] - q))[:, None]
    meat, freedom = terms.T @ terms, w[kept].sum() ** 2 / (w[kept] ** 2).sum() - 1
    if clustered:
        names = np.unique(cluster[kept])
        sums = np.array([terms[cluster[kept] == g].sum(axis=0) for g in names])
        meat, freedom = (
            sums.T @ sums * names.size / (names.size - 1),
            independent_units(w, cluster) - 1,
        )
    variance = bread @ meat @ bread
    if not weighted and not clustered:
        variance, freedom = bread, math.inf
    S = spline_columns(logit(at), k)
    error = np.sqrt(np.einsum("ij,jk,ik->i", S, variance, S))
    assert band.y == pytest.approx(expit(S @ b), rel=1e-5)
    assert band.low == pytest.approx(expit(S @ b - t.ppf(0.9, freedom) * error), rel=1e-4)
    assert band.high == pytest.approx(expit(S @ b + t.ppf(0.9, freedom) * error), rel=1e-4)
    # All multiples of the standard error of a simultaneous band are equal, and that of the largest |t|.
    c = (logit(whole.high) - logit(whole.y)) / error
    assert c == pytest.approx(np.full(4, c[0]), rel=1e-3)
    grid = np.linspace(p[kept].min(), p[kept].max(), 512)
    path = spline_columns(logit(grid), k) @ np.linalg.cholesky(variance)
    unit = path / np.linalg.norm(path, axis=1)[:, None]
    length = np.arccos(np.clip((unit[1:] * unit[:-1]).sum(axis=1), -1, 1)).sum()
    infinite = math.isinf(freedom)
    scheffe = math.sqrt(chi2.ppf(0.8, 5) if infinite else 5 * f.ppf(0.8, 5, freedom))
    beyond = math.exp(-(c[0] ** 2) / 2) if infinite else (1 + c[0] ** 2 / freedom) ** (-freedom / 2)
    tube = length / math.pi * beyond + 2 * (norm if infinite else t(freedom)).sf(c[0])
    assert c[0] <= scheffe * (1 + 1e-3)
    assert tube == pytest.approx(0.2, rel=0.03) or c[0] == pytest.approx(scheffe, rel=1e-3)


decimals = np.vectorize(Decimal, otypes=[object])
exponential = np.vectorize(Decimal.exp, otypes=[object])
logarithm = np.vectorize(Decimal.ln, otypes=[object])
DIGITS = 80


def solved(matrix, right):
    """matrix⁻¹ · right by elimination with pivots, for decimals."""
    k = len(matrix)
    rows = np.concatenate([matrix, right], axis=1)
    for i in range(k):
        pivot = i + np.argmax(np.abs(rows[i:, i]))
        rows[[i, pivot]] = rows[[pivot, i]]
        rows[i] = rows[i] / rows[i, i]
        others = np.arange(k) != i
        rows[others] = rows[others] - rows[others, i : i + 1] * rows[i]
    return rows[:, k:]


def decimal_columns(x, k):
    """The basis of log-odds as its formula is written; a straight line without knots."""
    columns = [decimals(np.ones(x.size)), x]
    for j in range(len(k) - 2):
        cubes = [np.maximum(x - t, Decimal(0)) ** 3 for t in (k[j], k[-2], k[-1])]
        before, last = k[-1] - k[j], k[-2] - k[j]
        column = cubes[0] - cubes[1] * before / (k[-1] - k[-2]) + cubes[2] * last / (k[-1] - k[-2])
        columns.append(column / (k[-1] - k[0]) ** 2)
    return np.stack(columns, axis=1)


def decimal_band(y, p, w, cluster, at, k):
    """Log-odds and standard errors by bread, meat and bread with 80 digits."""
    with localcontext(prec=DIGITS):
        y, p, w, at, k = (decimals(values) for values in (y, p, w, at, k))
        X, S = (decimal_columns(logarithm(score) - logarithm(1 - score), k) for score in (p, at))

        def loss(b):
            eta = X @ b
            return (w * (logarithm(1 + exponential(eta)) - y * eta)).sum()

        b = decimals(np.eye(X.shape[1])[1])  # the scores themselves
        moved = Decimal(1)
        while moved > Decimal(10) ** (-DIGITS // 3):
            q = 1 / (1 + exponential(-(X @ b)))
            terms = X * (w * (y - q))[:, None]
            information = X.T @ (X * (w * q * (1 - q))[:, None])
            step = solved(information, terms.sum(axis=0)[:, None])[:, 0]
            moved = np.abs(X @ step).max()
            step = step * min(1, 1000 / moved)
            while moved > Decimal("1e-3") and loss(b + step) > loss(b):
                step = step / 2
            b = b + step
        sums = terms
        if cluster is not None:
            sums = np.array([terms[cluster == g].sum(axis=0) for g in np.unique(cluster)])
            sums = sums * (Decimal(len(sums)) / (len(sums) - 1)).sqrt()
        influence = sums @ solved(information, S.T)
        return (S @ b).astype(float), np.sqrt((influence**2).sum(axis=0).astype(float))


SKEWED = {
    "rare": (1, 60),
    "skewed": (0.3, 60),
    "long tail": (0.2, 20),
    "longer tail": (0.05, 5),
    "both": (0.1, 3),
}


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
@pytest.mark.parametrize("law", fast(SKEWED, "rare", "skewed"))
@pytest.mark.parametrize(
    ("weighted", "clustered"),
    [
        (False, False),
        (True, True),
        pytest.param(False, True, marks=pytest.mark.slow),
        pytest.param(True, False, marks=pytest.mark.slow),
    ],
)
def test_limits_of_skewed_scores_are_those_of_eighty_digits(law, clustered, weighted):
    """The information has a condition number up to 1e15 here: products of its inverse were noise."""
    rng = np.random.default_rng(2)
    n = 400
    p = rng.beta(*law, n)
    y = (rng.random(n) < p).astype(int)
    w = rng.lognormal(0, 1, n) if weighted else np.ones(n)
    cluster = rng.integers(0, 60, n) if clustered else None
    at = np.quantile(p, [0.3, 0.5, 0.9, 0.99])
    options = {"sample_weight": w if weighted else np.full(n, 0.5), "cluster": cluster, "at": at}
    band = curve_band(y, p, **options)
    options.pop("at")
    options.pop("cluster")
    (k,) = tn.reliability_curve(y, p, method="spline", knots=5, **options).knots
    eta, error = decimal_band(y, p, w, cluster, at, np.array(k))
    units = np.arange(n) if cluster is None else cluster
    c = t.ppf(0.975, independent_units(w, units) - 1)
    assert band.y == pytest.approx(expit(eta), abs=1e-8)
    assert band.low == pytest.approx(expit(eta - c * error), abs=1e-8)
    assert band.high == pytest.approx(expit(eta + c * error), abs=1e-8)


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
@pytest.mark.parametrize("law", SKEWED.values(), ids=SKEWED)
@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("band", ["pointwise", "simultaneous"])
def test_no_unit_of_weights_order_of_rows_or_last_digit_of_scores_changes_limits(law, curve, band):
    rng = np.random.default_rng(1)
    n = 400
    p = rng.beta(*law, n)
    columns = {
        "y_true": (rng.random(n) < p).astype(int),
        "y_prob": p,
        "sample_weight": rng.lognormal(0, 1, n),
        "cluster": rng.integers(0, 80, n),
    }
    order = rng.permutation(n)
    options = {"method": curve, "band": band, "at": np.quantile(p, [0.05, 0.5, 0.9, 0.99])}
    others = [
        {"sample_weight": unit * columns["sample_weight"]} for unit in (0.1, 3, 1 / 7, 1e-9, 1e6)
    ]
    others += [{"y_prob": p * (1 + 1e-15)}, {"y_prob": p * (1 - 1e-15)}]
    others += [{name: column[order] for name, column in columns.items()}]
    for cluster in (None, columns["cluster"]):
        first = curve_band(**columns | {"cluster": cluster}, **options)
        for other in others:
            found = curve_band(
                **columns | other | ({"cluster": None} if cluster is None else {}), **options
            )
            assert found.low == pytest.approx(first.low, abs=1e-8)
            assert found.high == pytest.approx(first.high, abs=1e-8)


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
@pytest.mark.parametrize("clustered", [*slow(False), True])
@pytest.mark.parametrize("weighted", [*slow(False), True])
def test_limits_of_loess_are_the_wider_of_two_row_by_row(clustered, weighted):
    """The curve is linear in the labels: the share of each row is found by changing its label."""
    y, p, w, cluster = rows_with_ends(80)
    y[p < 0.3] = 0
    options = ({"sample_weight": w} if weighted else {}) | (
        {"cluster": cluster} if clustered else {}
    )
    at = np.array([0.0, 0.05, 0.3, 0.7, 1.0])
    band = curve_band(y, p, method="loess", at=at, level=0.8, **options)
    own, w = ({"sample_weight": w}, w) if weighted else ({}, np.ones(80))
    height = curve_band(y, p, method="loess", at=p, **own).y
    share = np.array(
        [curve_band(y ^ (np.arange(80) == i), p, method="loess", at=at, **own).y for i in range(80)]
    )
    share = ((share - band.y) * np.where(y == 1, -1, 1)[:, None]).T
    end = 0.5 / 81
    if clustered:
        names = np.unique(cluster)
        sums = np.array([(share * (y - height))[:, cluster == g].sum(axis=1) for g in names])
        variance, freedom = (
            (sums**2).sum(axis=0) * names.size / (names.size - 1),
            independent_units(w, cluster) - 1,
        )
    else:
        inner = np.clip(height, end, 1 - end)
        variance, freedom = share**2 @ (inner * (1 - inner)), w.sum() ** 2 / (w**2).sum() - 1
    c = t.ppf(0.9, freedom if weighted or clustered else math.inf)
    for i, (m, e) in enumerate(zip(np.clip(band.y, end, 1 - end), np.sqrt(variance), strict=True)):
        n = m * (1 - m) / e**2
        # Wilson: the rates r with n (m − r)² = c² r (1 − r).
        low, high = sorted(np.roots([n + c**2, -2 * n * m - c**2, n * m**2]).real)
        assert band.low[i] == pytest.approx(max(0, min(low, m - c * e)), abs=1e-6)
        assert band.high[i] == pytest.approx(min(1, max(high, m + c * e)), abs=1e-6)


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
@pytest.mark.parametrize("curve", CURVES)
def test_weights_and_clusters(curve):
    y, p = simulated(160)
    at, own = [0.2, 0.5, 0.8], {"method": curve, "at": [0.2, 0.5, 0.8]}
    plain, one = curve_band(y, p, **own), curve_band(y, p, cluster=np.arange(160), **own)
    four = curve_band(np.tile(y, 4), np.tile(p, 4), cluster=np.tile(np.arange(160), 4), **own)
    assert (four.low, four.high) == (
        pytest.approx(one.low, abs=1e-3),
        pytest.approx(one.high, abs=1e-3),
    )
    assert one.high - one.low == pytest.approx(plain.high - plain.low, rel=0.15)
    halves = curve_band(y, p, sample_weight=np.full(160, 0.5), **own)
    assert halves.high - halves.low == pytest.approx(plain.high - plain.low, rel=0.15)
    w = 1 + np.arange(160) % 4
    for more in ({}, {"cluster": np.arange(160) // 3}):
        again = {name: np.repeat(column, w) for name, column in more.items()}
        weighted = curve_band(y, p, sample_weight=w, **own, **more)
        repeated = curve_band(np.repeat(y, w), np.repeat(p, w), **own, **again)
        assert (weighted.low, weighted.high) == (
            pytest.approx(repeated.low, abs=1e-9),
            pytest.approx(repeated.high, abs=1e-9),
        )
    assert (one.x == at).all()


@pytest.mark.filterwarnings("ignore::trueness.errors.CertainScoresWarning")
def test_no_curve_has_no_band():
    with pytest.warns(tn.errors.NoEstimateWarning):
        band = curve_band([0, 0, 0, 0, 1, 1, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9])
    assert np.isnan(band.low).all()
    assert (
        str(band)
        == "95 % pointwise confidence band of a spline curve at 512 scores: no finite estimate"
    )
    assert (band.resamples, band.x.size) == (0, 512)
    y, p = simulated(60)
    assert np.isnan(curve_band(y, p, at=[0.0, 0.5, 1.0]).low).tolist() == [True, False, True]
    assert np.isnan(curve_band(y, p, method="loess", at=[0.001, 0.5]).low).tolist() == [True, False]


def test_one_cluster_that_outweighs_all_others_leaves_no_band_or_all():
    y, p = simulated(60)
    for small, large, none in ((1e-12, 1e9, True), (1e-6, 1e6, False)):
        w = np.where(np.arange(60) == 30, large, small)
        with pytest.warns(tn.TruenessWarning) as seen:
            band = curve_band(
                y, p, method="loess", cluster=np.arange(60), sample_weight=w, at=[p[0], p[1]]
            )
        assert any(issubclass(one.category, tn.errors.NoEstimateWarning) for one in seen) == none
        if none:
            assert np.isnan([band.low, band.high]).all()
            assert np.isfinite(band.y).all()
        else:
            assert (band.low, band.high) == (
                pytest.approx([0, 0], abs=1e-6),
                pytest.approx([1, 1], abs=1e-6),
            )


def test_only_splines_leave_out_scores_of_0_and_1_and_they_have_five_knots():
    y, p = simulated(60)
    p[:2] = 0.0, 1.0
    with pytest.warns(tn.errors.CertainScoresWarning):
        curve_band(y, p)
    assert np.isfinite(curve_band(y, p, method="loess", at=[0.0, 1.0]).low).all()
    y, p = simulated(200)
    five, six = (curve_band(y, p, at=[0.2, 0.6], knots=knots).low for knots in (5, 6))
    assert np.array_equal(curve_band(y, p, at=[0.2, 0.6]).low, five)
    assert not np.array_equal(five, six)


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_matrices():
    y, p = simulated(80)
    P, at, cluster = np.stack([1 - p, p], axis=1), [0.6, 0.9], np.arange(80) // 2
    assert np.array_equal(curve_band(y, P).low, curve_band(y, p).low)
    assert np.array_equal(
        curve_band(y, P, cluster=cluster).low, curve_band(y, p, cluster=cluster).low
    )
    top = curve_band(y, P, kind="confidence", at=at)
    assert top.low == pytest.approx(
        curve_band((y == (p > 0.5)).astype(int), np.maximum(p, 1 - p), at=at).low
    )
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(3), 100)
    y = np.array([rng.choice(3, p=row) for row in P])
    expected = curve_band((y == P.argmax(axis=1)).astype(int), P.max(axis=1), at=at)
    assert np.array_equal(curve_band(y, P, at=at).low, expected.low)
    with pytest.raises(tn.InputError, match="must be 'confidence' for the band of a matrix"):
        curve_band(y, P, kind="classwise")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"at": [0.5, 1.5]}, r"`at` must be scores in \[0, 1\]; the first other one is 1.5"),
        ({"at": [[0.5]]}, "`at` must be a list of scores; got an array of 2 dimensions"),
        ({"at": "half"}, r"`at` must be scores in \[0, 1\]; got 'half'"),
        ({"knots": 0}, "`knots` must be a whole number from 3 to 7; got 0"),
        ({"band": "both"}, "`band` must be 'pointwise' or 'simultaneous'; got 'both'"),
        (
            {"method": "loess", "knots": 4},
            "`knots` is only for `method='spline'`; the method is 'loess'",
        ),
    ],
)
def test_messages(options, message):
    with pytest.raises(tn.InputError, match=message):
        curve_band(*simulated(60), **options)


LAWS = {"uniform": (1, 1), "rare": (0.5, 10), "confident": (0.3, 0.3)}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize(("n", "runs"), [(100, 200), (1000, 300)])
@pytest.mark.parametrize("slope", [1.0, 0.6])
def test_coverage_of_splines(law, n, runs, slope):
    rng = np.random.default_rng(0)
    each, whole = [], []
    for _ in range(runs):
        p = np.clip(rng.beta(*law, n), 1e-9, 1 - 1e-9)
        sums = tn.tally((rng.random(n) < expit(slope * logit(p))).astype(int), p)
        at = rng.choice(p, 30)
        band, joint = curve_band(sums, at=at), curve_band(sums, band="simultaneous")
        if np.isnan(joint.low).any():
            continue
        truth = expit(slope * logit(at))
        each.append(np.mean((band.low <= truth) & (truth <= band.high)))
        truth = expit(slope * logit(joint.x))
        whole.append(((joint.low <= truth) & (truth <= joint.high)).all())
    assert np.mean(each) == pytest.approx(0.955, abs=0.025)
    assert np.mean(whole) > 0.93 - 3 * math.sqrt(0.07 / runs) * (1 if n == 1000 else 1.5)


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_coverage_of_loess(law):
    rng = np.random.default_rng(0)
    whole = []
    for _ in range(200):
        p = np.clip(rng.beta(*law, 500), 1e-9, 1 - 1e-9)
        band = curve_band((rng.random(500) < p).astype(int), p, method="loess", band="simultaneous")
        whole.append(((band.low <= band.x) & (band.x <= band.high)).all())
    assert np.mean(whole) > 0.95 - 3 * math.sqrt(0.05 / 200)


@pytest.mark.slow
@pytest.mark.parametrize("curve", CURVES)
def test_coverage_in_clusters_of_five(curve):
    rng = np.random.default_rng(0)
    cluster, each, naive = np.repeat(np.arange(200), 5), [], []
    at = np.array([0.1, 0.2, 0.3, 0.5])
    for _ in range(200):
        p = np.repeat(rng.beta(2, 4, 200), 5)
        y = (np.repeat(rng.random(200), 5) < p).astype(int)
        y = np.where(rng.random(1000) < 0.4, (rng.random(1000) < p).astype(int), y)
        for kept, options in ((each, {"cluster": cluster}), (naive, {})):
            band = curve_band(y, p, method=curve, at=at, **options)
            kept.append(np.mean((band.low <= at) & (at <= band.high)))
    assert np.mean(each) == pytest.approx(0.955, abs=0.03)
    assert np.mean(naive) < 0.9
