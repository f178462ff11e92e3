"""`IntervalCalibration`: its promise, by hand and on fresh data."""

import numpy as np
import pytest
from scipy.stats import beta

import trueness as tn
from trueness.errors import InputError


def test_both_ends_move_by_the_score_of_the_promised_rank():
    y = np.array([0.0, 5.0, 3.0, -2.0])
    cal = tn.IntervalCalibration(coverage=0.6).fit(y, np.zeros(4), np.full(4, 2.0))
    # scores 0 (on the end), 3, 1, 2; the third of four is the rank ceil(5 * 0.6)
    assert cal.lower_change_ == cal.upper_change_ == 2.0
    lower, upper = cal.predict([0.0, 10.0], [2.0, 12.0])
    assert lower.tolist() == [-2.0, 8.0]
    assert upper.tolist() == [4.0, 14.0]
    assert cal.coverage_low_ == pytest.approx(beta.ppf(0.05, 3, 2))


def test_stretched_ends_move_by_a_share_of_the_half_width():
    y = np.array([0.0, 6.0, 0.0, 0.0])
    half = np.array([1.0, 2.0, 1.0, 1.0])
    cal = tn.IntervalCalibration(coverage=0.8, change="stretch").fit(y, -half, half)
    assert cal.upper_change_ == 2.0
    lower, upper = cal.predict([-1.0, -2.0], [1.0, 2.0])
    assert lower.tolist() == [-3.0, -6.0]
    assert upper.tolist() == [3.0, 6.0]


def test_sides_move_by_themselves():
    rng = np.random.default_rng(0)
    y = 3 + rng.normal(size=2000)
    cal = tn.IntervalCalibration(method="sides").fit(y, np.full(2000, -1.0), np.full(2000, 1.0))
    lower, upper = cal.predict([-1.0], [1.0])
    assert lower[0] == pytest.approx(3 - 1.645, abs=0.1)
    assert upper[0] == pytest.approx(3 + 1.645, abs=0.1)


def test_ends_that_move_past_each_other_meet():
    y = np.zeros(20)
    cal = tn.IntervalCalibration().fit(y, np.full(20, -5.0), np.full(20, 5.0))
    lower, upper = cal.predict([-1.0], [2.0])
    assert lower.tolist() == upper.tolist() == [0.5]


def test_a_cluster_counts_as_one():
    y = np.array([1.0] * 50 + [2.0, 3.0, 4.0])
    cluster = np.array([0] * 50 + [1, 2, 3])
    zero = np.zeros(53)
    cal = tn.IntervalCalibration(coverage=0.5).fit(y, zero, zero, cluster=cluster)
    # a fifth of the weight each, and a fifth for the new cluster: .5 is reached at the third
    assert cal.upper_change_ == 3.0
    assert np.isnan(cal.coverage_low_)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tn.IntervalCalibration().fit([1.0] * 8, [0] * 8, [2] * 8), "at least 9 rows"),
        (lambda: tn.IntervalCalibration(90).fit([1], [0], [2]), "`coverage` must lie strictly"),
        (lambda: tn.IntervalCalibration(method="x").fit([1], [0], [2]), "`method` must be"),
        (lambda: tn.IntervalCalibration(change="x").fit([1], [0], [2]), "`change` must be"),
        (lambda: tn.IntervalCalibration().fit([1], [3], [2]), "`lower` must lie at or below"),
        (lambda: tn.IntervalCalibration().fit([1, 2], [0], [2]), "`lower` must have one entry"),
        (lambda: tn.IntervalCalibration().fit([np.nan], [0], [2]), "`y` must not have missing"),
        (lambda: tn.IntervalCalibration().predict([0], [2]), "must be fitted first"),
        (
            lambda: tn.IntervalCalibration(change="stretch").fit([1], [2], [2]),
            "`upper` must be above `lower` for",
        ),
        (
            lambda: tn.IntervalCalibration(method="sides").fit([1], [0], [2], cluster=[1]),
            "`cluster` is only for",
        ),
        (
            lambda: tn.IntervalCalibration().fit([1] * 20, [0] * 20, [2] * 20, cluster=[1, 2] * 10),
            "must name at least 9 clusters",
        ),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_it_is_an_estimator_of_scikit_learn():
    from sklearn.base import clone

    cal = tn.IntervalCalibration(coverage=0.8, change="stretch")
    assert clone(cal).get_params() == {"coverage": 0.8, "method": "conformal", "change": "stretch"}


def fresh_coverage(rng, n, change):
    """The coverage of new rows by intervals that were too narrow."""
    scale = np.exp(0.5 * rng.normal(size=n + 300))
    y, half = scale * rng.normal(size=n + 300), 0.8 * scale
    cal = tn.IntervalCalibration(change=change).fit(y[:n], -half[:n], half[:n])
    lower, upper = cal.predict(-half[n:], half[n:])
    return float(((lower <= y[n:]) & (y[n:] <= upper)).mean())


@pytest.mark.slow
@pytest.mark.parametrize("change", ["shift", "stretch"])
@pytest.mark.parametrize("n", [19, 50, 200])
def test_the_promise_holds_on_new_rows(n, change):
    rng = np.random.default_rng(n)
    covered = np.array([fresh_coverage(rng, n, change) for _ in range(1000)])
    error = covered.std() / np.sqrt(covered.size)
    rank = np.ceil(round(0.9 * (n + 1), 9))
    assert abs(covered.mean() - rank / (n + 1)) < 4 * error
    # the share of calibration sets below their lower 5 % point, with the noise of 300 new rows
    low = beta.ppf(0.05, rank, n + 1 - rank)
    assert (covered < low - 3 * np.sqrt(0.09 / 300)).mean() < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("number", [20, 50])
def test_the_promise_holds_for_rows_of_new_clusters_of_uneven_size(number):
    rng = np.random.default_rng(number)
    covered = []
    for _ in range(600):
        sizes = rng.integers(1, 12, number + 1)
        code = np.repeat(np.arange(number + 1), sizes)
        spread = (0.5 + sizes / 6)[code]
        y = spread * (0.6 * rng.normal(size=number + 1)[code] + 0.8 * rng.normal(size=code.size))
        known = code < number
        ends = np.full(code.size, 0.5)
        cal = tn.IntervalCalibration().fit(y[known], -ends[known], ends[known], cluster=code[known])
        lower, upper = cal.predict(-ends[~known], ends[~known])
        covered.append(((lower <= y[~known]) & (y[~known] <= upper)).mean())
    assert np.mean(covered) >= 0.9 - 3.5 * np.std(covered) / np.sqrt(600)


def test_a_fitted_calibration_of_intervals_is_saved_and_loaded(tmp_path):
    y = np.random.default_rng(0).normal(size=50)
    cal = tn.IntervalCalibration(coverage=0.8, method="sides", change="stretch")
    cal.fit(y, np.full(50, -1.0), np.full(50, 1.0)).save(tmp_path / "map.json")
    loaded = tn.load_calibrator(tmp_path / "map.json")
    assert loaded.get_params() == cal.get_params()
    for found, expected in zip(loaded.predict([0], [3]), cal.predict([0], [3]), strict=True):
        assert found.tolist() == expected.tolist()
    stored = cal.to_dict()
    stored["learnt"]["upper_change"]["value"] = 9.0
    with pytest.raises(InputError, match="its checksum is wrong"):
        tn.IntervalCalibration.from_dict(stored)


@pytest.mark.parametrize(("coverage", "rows"), [(0.75, 3), (0.8, 4), (0.9, 9), (0.95, 19)])
def test_a_coverage_needs_its_odds_of_rows_or_clusters(coverage, rows):
    y, low, high = np.linspace(0, 1, rows), np.full(rows, 0.2), np.full(rows, 0.6)
    tn.IntervalCalibration(coverage=coverage).fit(y, low, high)
    cluster = np.arange(2 * rows) // 2
    twice = [np.repeat(v, 2) for v in (y, low, high)]
    tn.IntervalCalibration(coverage=coverage).fit(*twice, cluster=cluster)
    with pytest.raises(tn.InputError, match=f"at least {rows} rows"):
        tn.IntervalCalibration(coverage=coverage).fit(y[1:], low[1:], high[1:])
    some = [v[2:] for v in twice]
    with pytest.raises(tn.InputError, match=f"at least {rows} clusters"):
        tn.IntervalCalibration(coverage=coverage).fit(*some, cluster=cluster[2:])
