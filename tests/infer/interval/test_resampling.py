"""Bootstraps, subsampling and hulls, against slow resampling of rows."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trueness as tn
from trueness import ece_interval, simulate

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
BOOTSTRAPS = ("bootstrap", "basic-bootstrap", "centred-bootstrap")
SPLITTING = ("subsampling", "subsampling-published", "hulc", "adaptive-hulc")


def wrong_rows(n, seed=0, decimals=None):
    """Labels that do not depend on the scores: the error is far from zero."""
    rng = np.random.default_rng(seed)
    p = rng.random(n) if decimals is None else rng.random(n).round(decimals)
    return (rng.random(n) < 0.5).astype(int), p


def draws(y, p, size, resamples, replace, bins=5, seed=2):
    """The squared error of slow resamples."""
    rng = np.random.default_rng(seed)
    chosen = (rng.choice(y.size, size, replace=replace) for _ in range(resamples))
    return np.array([tn.squared_ece(y[i], p[i], bins=bins) for i in chosen])


def expected_ends(method, y, p, level, resamples=400):
    n, estimate, tails = y.size, tn.squared_ece(y, p, bins=5), [(1 - level) / 2, (1 + level) / 2]
    if method in BOOTSTRAPS:
        drawn = draws(y, p, n, resamples, True)
        low, high = np.quantile(drawn, tails)
        shift = estimate - drawn.mean()
        ends = {
            "bootstrap": (low, high),
            "basic-bootstrap": (2 * estimate - high, 2 * estimate - low),
            "centred-bootstrap": (low + shift, high + shift),
        }[method]
        return ends, np.std(drawn)
    published = method == "subsampling-published"
    drawn = draws(y, p, math.isqrt(n), resamples, published)
    scale = math.sqrt(math.isqrt(n) / n)
    low, high = scale * (np.quantile(drawn, tails) - estimate)
    ends = (estimate + low, estimate + high) if published else (estimate - high, estimate - low)
    return ends, scale * np.std(drawn)


@pytest.mark.parametrize(
    ("method", "n", "decimals"),
    [
        *((method, 300, None) for method in (*BOOTSTRAPS, *SPLITTING[:2])),
        ("bootstrap", 300, 1),
        ("subsampling", 300, 1),
        *((method, 2_500, None) for method in BOOTSTRAPS),  # from the sums of bins
    ],
)
def test_the_ends_are_those_of_slow_resamples(method, n, decimals):
    y, p = wrong_rows(n, decimals=decimals)
    found = ece_interval(
        y, p, method=method, bins=5, level=0.8, squared=True, resamples=3_000, seed=1
    )
    ends, spread = expected_ends(method, y, p, 0.8)
    assert (found.low, found.high) == pytest.approx(
        ends, abs=0.35 * spread
    )  # an error of 5 deviations
    assert found.estimate == pytest.approx(tn.squared_ece(y, p, bins=5))


def test_subsampling_is_that_of_politis_and_romano():
    y, p = wrong_rows(200)
    options = {"bins": 5, "resamples": 50, "seed": 0}
    one, same, published = (
        ece_interval(y, p, method=method, **options)
        for method in ("subsampling", "politis-romano", "subsampling-published")
    )
    assert (one.low, one.high) == (same.low, same.high) != (published.low, published.high)


def test_sums_of_bins_are_drawn_with_the_spread_of_their_scores():
    """Two bins, whose scores vary: resamples of sums and of rows err alike, and equal scores not at all."""
    rng = np.random.default_rng(0)
    p = np.where(np.arange(2_400) % 2, rng.uniform(0, 0.5, 2_400), rng.uniform(0.5, 1, 2_400))
    y = np.arange(2_400) % 4 < 2
    found = ece_interval(
        y, p, bins=2, method="bootstrap", level=0.8, squared=True, resamples=4_000, seed=1
    )
    drawn = draws(y, p, y.size, 800, True, bins=2)
    assert (found.low, found.high) == pytest.approx(
        np.quantile(drawn, [0.1, 0.9]), abs=0.25 * drawn.std()
    )
    flat = ece_interval(
        np.ones(2_400), np.full(2_400, 0.3), bins=2, method="bootstrap", squared=True, seed=1
    )
    assert (flat.low, flat.high) == pytest.approx((0.49, 0.49))


@pytest.mark.parametrize("method", [*BOOTSTRAPS, *SPLITTING])
@settings(max_examples=10)
@given(n=st.integers(14, 60), seed=st.integers(0, 1_000))
def test_an_interval_is_ordered_reproducible_and_blind_to_the_form_of_the_rows(method, n, seed):
    y, p = wrong_rows(n, seed)
    w = np.random.default_rng(seed).integers(0, 4, n)
    options = {
        "method": method,
        "bins": 3,
        "seed": seed,
        **({} if method == "hulc" else {"resamples": 50}),
    }
    found = ece_interval(y, p, **options)
    assert 0 <= found.low <= found.high
    assert found.includes_zero == (found.low == 0)
    assert (
        ece_interval(y[::-1], p[::-1], **options)
        == ece_interval(tn.tally(y, p), **options)
        == found
    )
    if w.sum() >= 20:
        repeated = ece_interval(np.repeat(y, w), np.repeat(p, w), **options)
        weighted = ece_interval(y, p, sample_weight=w, **options)
        assert (
            weighted.note == "Weights are whole numbers and count rows: a weight of 2 is two rows."
        )
        assert replace(weighted, note="") == repeated


@pytest.mark.parametrize("method", BOOTSTRAPS)
def test_bootstraps_draw_rows_up_to_2000_and_the_sums_of_bins_beyond(method):
    y, p = wrong_rows(2_001)
    options = {"method": method, "bins": 5, "resamples": 20, "seed": 0}
    found = ece_interval(y, p, **options)
    assert (
        ece_interval(tn.binned(y, p, bins=5), **options)
        == ece_interval(tn.tally(y, p), **options)
        == found
    )
    assert ece_interval(y, p, sample_weight=np.ones(2_001), **options) == found
    assert ece_interval(y[1:], p[1:], **options) != ece_interval(
        tn.binned(y[1:], p[1:], bins=5), **options
    )
    once = ece_interval(y[:60], p[:60], **options | {"resamples": 1, "method": "bootstrap"})
    assert once.low == once.high


@pytest.mark.parametrize("method", SPLITTING)
def test_methods_that_split_rows_do_so_for_any_number(method):
    y, p = wrong_rows(2_001)
    options = {
        "method": method,
        "bins": 5,
        "seed": 0,
        **({} if method == "hulc" else {"resamples": 20}),
    }
    found = ece_interval(y, p, squared=True, **options)
    assert 0.05 < found.low < found.estimate < found.high < 0.12  # the truth is 1/12 − 1/300
    with pytest.raises(tn.InputError, match="every distinct score"):
        ece_interval(tn.binned(y, p, bins=5), **options)


@pytest.mark.parametrize("method", [*BOOTSTRAPS, *SPLITTING])
def test_several_scores_per_row_are_resampled(method):
    rng = np.random.default_rng(0)
    P, y = rng.dirichlet(np.full(3, 0.3), 300), rng.integers(0, 3, 300)
    for k in (2, 3):
        found = ece_interval(y, P, k=k, bins=3, method=method, seed=1)
        assert found.estimate == pytest.approx(tn.squared_ece(y, P, k=k, bins=3) ** 0.5)
        assert 0 < found.low <= found.estimate <= found.high
    if method == "centred-bootstrap":
        slow = [tn.squared_ece(y[i], P[i], k=3, bins=3) for i in rng.integers(0, 300, (300, 300))]
        assert found.high**2 - found.low**2 == pytest.approx(3.92 * np.std(slow), rel=0.25)


def test_fixed_bins_of_many_rows_are_not_sorted(monkeypatch):
    def refuse(*_args, **_options):
        raise AssertionError("sorted")

    y, p = wrong_rows(2_001)
    monkeypatch.setattr("trueness._tally.rows_or_sums.cells_of_rows", refuse)
    ece_interval(y, p, method="bootstrap", seed=0)
    with pytest.raises(AssertionError, match="sorted"):
        ece_interval(y[1:], p[1:], method="bootstrap", seed=0)


# ---- hulls


def test_the_number_of_parts_meets_the_level():
    """At 0.9 four parts miss 1/8 and five 1/16: four with probability 0.6 miss 1/10. Each part needs two rows."""
    needed = []
    for seed in range(200):
        with pytest.raises(
            tn.InputError, match=r"HulC at level 0.9 needs at least \d+ rows, 2 in each part; got 7"
        ) as e:
            ece_interval([0, 1] * 3 + [1], [0.2] * 7, method="hulc", level=0.9, bins=1, seed=seed)
        needed.append(int(str(e.value).split("at least ")[1].split()[0]))
    assert set(needed) == {8, 10}
    assert np.mean(np.array(needed) == 8) == pytest.approx(0.6, abs=4 * math.sqrt(0.24 / 200))
    with pytest.raises(tn.InputError, match="Adaptive HulC needs at least 4 rows; got 3"):
        ece_interval([0, 1, 1], [0.2] * 3, method="adaptive-hulc", bins=1)


def test_the_hull_is_that_of_a_few_even_parts():
    """One row of four is an event: parts of two rows have T = (1 − p)p·(−1), p² or, with both events, (1 − p)²."""
    y, p = np.array([1, 0, 0, 0, 0, 0, 0, 0]), np.full(8, 0.25)
    seen = {
        ece_interval(y, p, method="hulc", level=0.875, bins=1, squared=True, seed=s).high
        for s in range(9)
    }
    assert seen == {0.25**2}
    both = [
        ece_interval(1 - y, p, method="hulc", level=0.875, bins=1, squared=True, seed=s)
        for s in range(9)
    ]
    assert {(one.low, one.high) for one in both} == {(0, 0.75**2)}


def test_the_adaptive_hull_takes_more_parts_where_the_estimate_is_biased():
    """Pairs of rows that share a score: a subsample hardly ever holds one, so that its error is nearly always less.

    Parts of two rows have the squared residual of their score or nothing; parts of 20 rows have at most a tenth.
    """
    y, p = np.ones(100), np.repeat(np.arange(50) / 100, 2)
    options = {"bins": tn.Distinct(), "squared": True, "level": 0.9}
    few, many = (
        [ece_interval(y, p, method=method, seed=s, **options).high for s in range(12)]
        for method in ("hulc", "adaptive-hulc")
    )
    assert max(few) < 0.3
    assert max(many) > 0.3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "score", "resamples": 10}, "'score' takes none"),
        ({"method": "hulc", "resamples": 10}, "'hulc' takes none"),
        ({"method": "bootstrap", "resamples": 0}, "`resamples` must be a whole number ≥ 1; got 0"),
        ({"method": "bootstrap", "bins": tn.Isotonic()}, "must not depend on the labels"),
        ({"method": "bootstrap", "support": "reachable"}, "`support` is only for"),
        (
            {"method": "bootstrap", "sample_weight": np.full(60, 1.5)},
            "`sample_weight` must be whole numbers",
        ),
    ],
)
def test_options_of_other_methods_are_refused(options, message):
    with pytest.raises(tn.InputError, match=message):
        ece_interval(*wrong_rows(60), **options)


def test_fewer_than_a_billion_rows_can_be_split():
    rows = {"y_true": [0, 1], "y_prob": [0.2, 0.2], "method": "hulc", "bins": 1, "seed": 0}
    assert ece_interval(**rows, sample_weight=[10**9 - 3, 2]).n == 10**9 - 1
    with pytest.raises(tn.InputError, match="HulC splits fewer than 10⁹ rows; got 1,000,000,000"):
        ece_interval(**rows, sample_weight=[10**9 - 2, 2])


def test_bins_that_cannot_be_resampled_are_refused():
    y, p = wrong_rows(50)
    weighted = tn.binned(y, p, bins=10, sample_weight=np.full(50, 0.5))
    with pytest.raises(
        tn.InputError, match="`sample_weight` must be whole numbers for `method='bootstrap'`"
    ):
        ece_interval(weighted, method="bootstrap", bins=10)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "level"),
    [
        ("bootstrap", 0.85),
        ("basic-bootstrap", 0.85),
        ("centred-bootstrap", 0.9),
        ("hulc", 0.9),
        ("adaptive-hulc", 0.93),
    ],
)
def test_intervals_cover_a_large_error(method, level):
    """The estimate is nearly normal. Resamples err upwards unless they are centred, which costs some coverage."""
    runs, covered, bins = 400, 0, 20 if "bootstrap" in method else 5
    for seed in range(runs):
        y, p = wrong_rows(1_000, seed)
        more = {} if method == "hulc" else {"resamples": 200}
        found = ece_interval(
            y, p, method=method, bins=bins, level=0.9, squared=True, seed=seed, **more
        )
        # Within bins the mean gap is what is estimated: 1/12 less the variance within a bin.
        covered += 1 / 12 - 1 / (12 * bins**2) in found
    assert abs(covered / runs - level) < 0.06


@pytest.mark.slow
def test_the_percentile_bootstrap_misses_zero_and_the_score_interval_does_not():
    """1,000 rows, two classes, uniform scores, calibrated."""
    runs = 300
    covered = dict.fromkeys(("bootstrap", "centred-bootstrap", "hulc", "score"), 0)
    for seed in range(runs):
        data = simulate.multiclass(1_000, 2, seed=seed)
        for method in covered:
            bins = 50 if method != "score" else None
            # Another seed than that of the data, whose draws would otherwise be those of the split.
            found = ece_interval(
                data.y_true, data.y_prob, method=method, bins=bins, level=0.9, seed=1_000 + seed
            )
            covered[method] += found.includes_zero
    share = {method: count / runs for method, count in covered.items()}
    assert share["bootstrap"] < 0.25
    assert share["centred-bootstrap"] > 0.95
    assert abs(share["hulc"] - 0.9) < 4 * (0.09 / runs) ** 0.5 + 0.02
    assert abs(share["score"] - 0.9) < 4 * (0.09 / runs) ** 0.5


def test_adaptive_hulc_of_twelve_rows_has_parts_of_two_rows_at_a_high_level():
    """Of six parts one nearly always has two labels that agree, of four parts of three half as often."""
    y, p = np.arange(12) % 2, np.full(12, 0.5)
    highs = [
        ece_interval(
            y, p, method="adaptive-hulc", bins=1, level=0.99, squared=True, resamples=19, seed=seed
        ).high
        for seed in range(40)
    ]
    assert np.mean(np.isclose(highs, 0.25)) > 0.75  # 1 − 64/924 = .93, and .47
