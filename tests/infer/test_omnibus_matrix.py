"""The omnibus test of matrices: every class at once, the k largest scores, the top label, two columns."""

import math

import numpy as np
import pytest

import trueness as tn
from trueness.infer import calibration_test
from trueness.infer._omnibus_matrix import _draw, largest_of

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
VIEWS = [{"kind": "classwise"}, {"kind": "top-label"}, {"k": 2}, {"k": 3}]


def classes_from(P, rng):
    return (P.cumsum(axis=1) > rng.random((len(P), 1))).argmax(axis=1)


def sharpened(P, power):
    Q = P**power
    return Q / Q.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("view", VIEWS)
def test_a_calibrated_matrix_passes_and_a_sharpened_one_does_not(view):
    rng = np.random.default_rng(11)
    P = rng.dirichlet([1, 1, 1], 400)
    y = classes_from(P, rng)
    assert calibration_test(y, P, seed=0, **view).pvalue > 0.05
    found = calibration_test(y, sharpened(P, 1.8), seed=0, **view)
    assert found.pvalue <= 0.002
    assert "for all" in found.assumptions
    assert found.strongest in found.assumptions


@pytest.mark.parametrize("view", VIEWS)
def test_it_keeps_its_level_in_few_runs(view):
    """80 calibrated data sets of 40 rows: the standard error at 0.1 is 0.034."""
    rng = np.random.default_rng(2)
    found = []
    for _ in range(80):
        P = rng.dirichlet([0.4, 0.4, 1.5], 40)
        found.append(calibration_test(classes_from(P, rng), P, resamples=49, seed=rng, **view))
    assert np.mean([f.pvalue <= 0.1 for f in found]) <= 0.1 + 4 * 0.034
    assert np.mean([f.too_good <= 0.1 for f in found]) <= 0.1 + 4 * 0.034


@pytest.mark.slow
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(("n", "alpha"), [(30, [0.1, 0.1, 2.0]), (300, [1, 1, 1])])
def test_it_keeps_its_level(view, n, alpha):
    rng, runs = np.random.default_rng([n, 3]), 500
    rejected = 0
    for _ in range(runs):
        P = rng.dirichlet(alpha, n)
        rejected += calibration_test(classes_from(P, rng), P, resamples=99, seed=rng, **view).pvalue <= 0.05
    assert rejected / runs <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / runs)


def test_it_says_which_class_spoke():
    """Class 'c' comes half as often as its scores say, and 'a' instead."""
    rng = np.random.default_rng(3)
    P = rng.dirichlet([2, 2, 1, 2], 800)
    true = P.copy()
    true[:, 2] *= 0.4
    true[:, 0] += 0.6 * P[:, 2]
    names = np.array(["a", "b", "c", "d"])
    found = calibration_test(names[classes_from(true, rng)], P, labels=list(names), kind="classwise", seed=0)
    assert found.strongest.startswith("class 'c'")
    assert min(found.alone, key=found.alone.get) in ("class 'c'", "class 'a'")
    assert set(found.alone) == {*(f"class {name!r}" for name in "abcd"), "the largest score"}


def test_one_wrong_class_among_very_many_is_found():
    rng = np.random.default_rng(4)
    P = rng.dirichlet(np.full(200, 0.05), 1_500)
    y = classes_from(P, rng)
    P[:, 7] *= 4
    P /= P.sum(axis=1, keepdims=True)
    found = calibration_test(y, P, kind="classwise", resamples=99, seed=0)
    assert found.pvalue <= 0.02
    assert found.strongest.startswith("class 7,")


def test_classes_are_drawn_with_their_probabilities():
    P = np.array([[0.5, 0.3, 0.2], [0.0, 1.0, 0.0], [0.1, 0.2, 0.3]])
    drawn = _draw(np.cumsum(P, axis=1), 20_000, np.random.default_rng(0))
    for row, chances in zip(drawn, np.column_stack([P, 1 - P.sum(axis=1)]), strict=True):
        np.testing.assert_allclose(np.bincount(row, minlength=4) / 20_000, chances, atol=0.02)
    assert set(drawn[1]) == {1}


def test_the_k_largest_scores_and_their_outcomes():
    matrix = largest_of(np.array([[0.2, 0.5, 0.3], [0.4, 0.4, 0.2]]), np.array([0, 1]), 2)
    assert matrix.p.tolist() == [[0.5, 0.3], [0.4, 0.4]]
    assert matrix.y.tolist() == [2, 1]


def test_whole_weights_are_rows_repeated():
    rng = np.random.default_rng(5)
    P = rng.dirichlet([1, 1, 1], 60)
    y, w = classes_from(P, rng), rng.integers(0, 4, 60)
    for view in VIEWS:
        weighted = calibration_test(y, P, sample_weight=w, resamples=49, seed=0, **view)
        repeated = calibration_test(np.repeat(y, w), np.repeat(P, w, axis=0), resamples=49, seed=0, **view)
        assert weighted == repeated


def test_a_class_of_score_zero_is_impossible():
    P = np.array([[0.31, 0.69, 0.0], [0.2, 0.5, 0.3], [0.6124, 0.1, 0.2876]] * 5)
    P[1] = [np.pi / 10, 0.5, 0.5 - np.pi / 10]
    for view in ({"kind": "classwise"}, {"k": 2}):
        found = calibration_test([2, 1, 0] * 5, P, seed=0, **view)
        assert (found.pvalue, found.contradicted) == (0, 5)
        assert (
            "Labels are impossible under the scores: 5 of 15 rows have a class of score exactly 0." in found.assumptions
        )
    rounded = np.array([[0.3, 0.7, 0.0], [0.2, 0.5, 0.3], [0.6, 0.1, 0.3]] * 5)
    y = [2] + [1] * 14
    found = calibration_test(y, rounded, kind="classwise", seed=0)
    assert found.pvalue > 0
    assert "multiples of 0.1" in found.assumptions


def test_two_columns_are_the_binary_problem_of_the_second():
    rng = np.random.default_rng(6)
    p = rng.random(200)
    y = (rng.random(200) < p).astype(int)
    P = np.column_stack([1 - p, p])
    cluster = np.arange(200) // 4
    for method in ("omnibus", "exact", "cox", "analytic"):
        seed = {} if method == "analytic" else {"seed": 0}
        found, expected = (calibration_test(y, scores, method=method, **seed) for scores in (P, p))
        assert (found.statistic, found.pvalue) == (expected.statistic, expected.pvalue)
        assert found.assumptions.endswith("one binary problem: the event is the second.")
    found, expected = (calibration_test(y, scores, cluster=cluster, seed=0) for scores in (P, p))
    assert found.pvalue == expected.pvalue
    assert found.assumptions.endswith("the event is the second.")
    assert calibration_test(tn.tally(y, P), seed=0).pvalue == calibration_test(y, p, seed=0).pvalue
    confidence = calibration_test(y, P, kind="confidence", seed=0)
    assert confidence.pvalue == calibration_test((p > 0.5) == y, np.maximum(p, 1 - p), seed=0).pvalue


def test_what_a_matrix_refuses():
    P = np.array([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1]])
    with pytest.raises(tn.InputError, match="`k` must be at most 3, the number of classes; got 4"):
        calibration_test([0, 1], P, k=4)
    with pytest.raises(tn.InputError, match="`k` must be None or 1 for a vector of scores; got 2"):
        calibration_test([0, 1], [0.2, 0.6], k=2)
    with pytest.raises(tn.InputError, match="`k` is not used by `method='ks'`"):
        calibration_test([0, 1], P, k=2, method="ks")
    with pytest.raises(tn.InputError, match="`k` must be 1 with `cluster`; got 2"):
        calibration_test([0, 1], P, k=2, cluster=[0, 1])
    with pytest.raises(tn.InputError, match="`k` must be a whole number ≥ 1"):
        calibration_test([0, 1], P, k=0)
    for view in ({"kind": "classwise"}, {"kind": "top-label"}):
        with pytest.raises(tn.InputError, match="`sample_weight` must be whole numbers"):
            calibration_test([0, 1], P, sample_weight=[0.5, 1], **view)
    with pytest.raises(tn.InputError, match=r"kind='classwise' poses one per class. Use `method='omnibus'`"):
        calibration_test(tn.tally([0, 1], P))
