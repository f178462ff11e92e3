"""Calibration slope, intercept and observed over expected events."""

import math

import numpy as np
import pytest

import trueness as tn


@pytest.mark.parametrize("measure", [tn.calibration_slope, tn.calibration_intercept])
def test_scores_of_0_and_1_are_left_out_counted_and_said_to_be_wrong(measure):
    y, p = [1, 0, 1, 0, 1, 0], [0.3, 0.7, 0.6, 0.4, 0.8, 0.2]
    inside = measure(y, p)
    message = "4 of 10 scores are exactly 0 or 1. Slope and intercept leave them out, .* 1 of them contradicts its label"
    with pytest.warns(tn.errors.CertainScoresWarning, match=message):
        assert measure([*y, 0, 1, 1, 0], [*p, 0.0, 1.0, 1.0, 1.0]) == pytest.approx(
            inside, rel=1e-12
        )
    with pytest.warns(
        tn.errors.CertainScoresWarning,
        match="Scores of exactly 0 or 1 have a weight of 0.5 of 6.5. .* with a weight of 0.5, contradict",
    ):
        assert measure([*y, 1], [*p, 0.0], sample_weight=[1] * 6 + [0.5]) == pytest.approx(
            inside, rel=1e-9
        )
    with pytest.warns(
        tn.errors.CertainScoresWarning, match="2,500,000 of 2,500,006 scores .* none of them"
    ):
        measure([*y, 1], [*p, 1.0], sample_weight=[1] * 6 + [2_500_000])


def test_a_slope_of_certain_scores_only_is_nan():
    with (
        pytest.warns(tn.errors.CertainScoresWarning),
        pytest.warns(tn.errors.NoEstimateWarning, match="no finite estimate"),
    ):
        assert math.isnan(tn.calibration_slope([0, 1, 1], [0.0, 1.0, 1.0]))


def test_slope_without_a_finite_estimate_is_nan_with_a_warning():
    with pytest.warns(tn.errors.NoEstimateWarning, match="slope has no finite estimate"):
        assert math.isnan(tn.calibration_slope([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9]))
    with pytest.warns(tn.errors.NoEstimateWarning, match="slope has no finite"):
        assert math.isnan(tn.calibration_slope([0, 1], [0.5, 0.5]))
    with pytest.warns(tn.TruenessWarning) as said:
        assert math.isnan(tn.calibration_intercept([1, 1], [0.3, 0.5]))
    assert {w.category for w in said} == {tn.errors.OneClassWarning, tn.errors.NoEstimateWarning}


def test_intercept_of_odds_that_are_off_by_a_factor():
    # Scores of 1/4 (odds 1:3), events at 1/2 (odds 1:1): the odds are three times too small.
    assert tn.calibration_intercept([0, 1] * 10, [0.25] * 20) == pytest.approx(math.log(3))


def test_observed_over_expected_without_predictions():
    assert tn.observed_expected([0, 1], [0.0, 0.0]) == math.inf
    with pytest.warns(tn.TruenessWarning) as said:
        assert math.isnan(tn.observed_expected([0, 0], [0.0, 0.0]))
    assert {w.category for w in said} == {tn.errors.OneClassWarning, tn.errors.NoEstimateWarning}


def test_observed_over_expected_of_the_smallest_scores():
    assert tn.observed_expected([0, 1], [1e-20, 1e-20]) == pytest.approx(0.5e20)
    assert tn.observed_expected(tn.binned([0, 1, 1], [0.5, 0.25, 0.25])) == 2


@pytest.mark.parametrize("measure", [tn.calibration_slope, tn.calibration_intercept])
def test_many_rows_with_certain_scores_in_any_order_give_the_line_of_their_tally(measure):
    rng = np.random.default_rng(2)
    p = np.concatenate([rng.beta(0.5, 0.7, 50_000), np.zeros(30), np.ones(20)])
    y = (rng.random(p.size) < p**1.1).astype(int)
    y[-1] = 0
    order = rng.permutation(p.size)
    message = "50 of 50,050 scores are exactly 0 or 1.* 1 of them contradicts"
    with pytest.warns(tn.errors.CertainScoresWarning, match=message):
        found = measure(y[order], p[order])
    with pytest.warns(tn.errors.CertainScoresWarning, match=message):
        assert found == pytest.approx(measure(tn.tally(y, p)), rel=1e-12)
    assert found == pytest.approx(measure(y[:50_000], p[:50_000]), rel=1e-12)


def log_odds_fit(y, p, w):
    """Slope and intercept by Newton's method; and the intercept with the slope fixed at 1."""
    x, line, shift = np.log(p / (1 - p)), np.zeros(2), 0.0
    design = np.column_stack([x, np.ones(x.size)])
    for _ in range(50):
        q = 1 / (1 + np.exp(-design @ line))
        line += np.linalg.solve((design.T * (w * q * (1 - q))) @ design, design.T @ (w * (y - q)))
        q = 1 / (1 + np.exp(-(x + shift)))
        shift += (w @ (y - q)) / (w @ (q * (1 - q)))
    return line[0], shift


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
@pytest.mark.parametrize("weights", ["none", "any"])
@pytest.mark.parametrize("kind", ["binary", "classwise", "confidence", "top-label"])
def test_slope_and_intercept_are_those_of_newtons_method_in_every_view(weights, kind):
    rng = np.random.default_rng(3)
    P = rng.dirichlet([1, 1, 1], 400)
    P[:4] = [[1, 0, 0], [0, 1, 0], [0.5, 0.5, 0], [0, 0.25, 0.75]]
    y, top = (P.cumsum(axis=1) < rng.random((400, 1))).sum(axis=1).clip(0, 2), P.argmax(axis=1)
    given = {"none": None, "any": rng.uniform(0.1, 2, 400)}[weights]
    w = np.ones(400) if given is None else given
    every, largest = np.ones(400, bool), P.max(axis=1)
    problems = {
        "binary": [(y == 1, P[:, 1], every)],
        "classwise": [(y == k, P[:, k], every) for k in range(3)],
        "confidence": [(y == top, largest, every)],
        "top-label": [(y == top, largest, top == k) for k in range(3)],
    }[kind]
    fits, shares = [], []
    for label, score, rows in problems:
        used = rows & (score > 0) & (score < 1) & (w > 0)
        fits.append(log_odds_fit(label[used], score[used], w[used]))
        shares.append(w[used].sum() if kind == "top-label" else 1)
    expected = np.average(fits, axis=0, weights=shares)
    data = (y == 1, P[:, 1]) if kind == "binary" else (y, P)
    options = {"sample_weight": given} | ({} if kind == "binary" else {"kind": kind})
    for measure, value in zip(
        (tn.calibration_slope, tn.calibration_intercept), expected, strict=True
    ):
        assert measure(*data, **options) == pytest.approx(value, rel=1e-6)
        assert measure(tn.tally(*data, **options)) == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("measure", [tn.calibration_slope, tn.calibration_intercept])
@pytest.mark.parametrize("sums", [False, True])
def test_certain_scores_are_counted_with_those_that_are_wrong(measure, sums):
    y, p = [1, 0, 1, 0], [0.3, 0.7, 0.6, 0.4]
    for more, scores, message in (
        ([1, 1, 0], [0.0, 0.0, 0.0], r"3 of 7 scores .* 2 of them contradict their label"),
        ([0, 0, 1], [1.0, 1.0, 1.0], r"3 of 7 scores .* 2 of them contradict their label"),
        ([0, 1], [0.0, 1.0], r"2 of 6 scores .* none of them contradicts its label"),
        ([1], [0.0], r"1 of 5 scores .* it contradicts its label"),
    ):
        rows = ([*y, *more], [*p, *scores])
        with pytest.warns(tn.errors.CertainScoresWarning, match=message):
            found = measure(tn.tally(*rows)) if sums else measure(*rows)
        assert found == pytest.approx(measure(y, p), rel=1e-9)


def test_observed_over_expected_in_every_view():
    rng = np.random.default_rng(4)
    P = rng.dirichlet([1, 1, 1], 50)
    y, top, w = rng.integers(0, 3, 50), P.argmax(axis=1), rng.uniform(0.5, 2, 50)
    largest, right = P.max(axis=1), y == top
    expected = {
        "classwise": np.mean([(w @ (y == k)) / (w @ P[:, k]) for k in range(3)]),
        "confidence": (w @ right) / (w @ largest),
        "top-label": np.average(
            [(w @ (right & (top == k))) / (w @ (largest * (top == k))) for k in range(3)],
            weights=[w[top == k].sum() for k in range(3)],
        ),
    }
    for kind, value in expected.items():
        assert tn.observed_expected(y, P, kind=kind, sample_weight=w) == pytest.approx(
            value, rel=1e-12
        )
        binned = tn.binned(y, P, kind=kind, sample_weight=w, bins=4)
        assert tn.observed_expected(binned) == pytest.approx(value, rel=1e-12)


@pytest.mark.filterwarnings(
    "ignore::trueness.errors.OneClassWarning", "ignore::trueness.errors.NoEstimateWarning"
)
def test_a_single_certain_score_is_counted():
    with pytest.warns(
        tn.errors.CertainScoresWarning,
        match="1 of 1 scores is exactly 0.*it contradicts its label",
    ):
        assert np.isnan(tn.calibration_slope([1], [0.0]))
