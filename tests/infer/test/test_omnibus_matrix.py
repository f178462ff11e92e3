"""The omnibus test of matrices: every class at once, the k largest scores, the top label, two columns."""

import math

import numpy as np
import pytest

import trueness as tn
from trueness.infer import calibration_test
from trueness.infer.test import _omnibus_matrix as _omnibus_matrix
from trueness.infer.test._omnibus import combined_pvalues, lower_tail
from trueness.infer.test._omnibus_matrix import (
    Problem,
    _draw,
    _drawn_hits,
    _problem,
    affordable_draws,
    joint_outcome,
    joint_test,
    largest_of,
    moved_inside,
)
from trueness.infer.test._omnibus_statistics import Statistics, evidence

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
    found = calibration_test(y, rounded, kind="classwise", seed=0, rounded_to=0.1)
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
        assert found.assumptions.endswith("one binary problem: the event is the second, 1.")
    found, expected = (calibration_test(y, scores, cluster=cluster, seed=0) for scores in (P, p))
    assert found.pvalue == expected.pvalue
    assert found.assumptions.endswith("the event is the second, 1.")
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


def test_zeros_move_to_the_share_of_their_class_by_at_most_half_a_unit():
    """By hand: class 0 occurs in 1 of 4 rows of score 0, class 1 in 1 of 25, class 2 in none."""
    P = np.vstack([np.tile([0.0, 0.4, 0.6], (4, 1)), np.tile([0.9, 0.0, 0.1], (25, 1)), [[0.3, 0.7, 0.0]]])
    y = np.array([0, 1, 2, 2, 1] + [0] * 25)
    low = 1 + 0.05 + 0.0, 1 + 0.04
    expected = np.vstack(
        [np.tile([0.05, 0.4, 0.6], (4, 1)) / low[0], np.tile([0.9, 0.04, 0.1], (25, 1)) / low[1], [[0.3, 0.7, 0.0]]]
    )
    np.testing.assert_allclose(moved_inside(P, y, 0.1), expected)


def test_impossible_classes_have_statistic_and_p_value_zero_and_rounded_ones_no_lower_tail():
    P = np.array([[0.31, 0.69, 0.0], [0.2, 0.5, 0.3], [0.6124, 0.1, 0.2876]] * 3)
    P[1] = [np.pi / 10, 0.5, 0.5 - np.pi / 10]
    found = calibration_test([2, 1, 0] + [0] * 6, P, kind="classwise", seed=0)
    assert (found.statistic, found.pvalue, found.contradicted) == (0, 0, 1)
    assert "1 of 9 rows has a class of score exactly 0" in found.assumptions
    assert found.strongest == "labels that are impossible under the scores"
    rounded = np.array([[0.3, 0.7, 0.0], [0.2, 0.5, 0.3], [0.6, 0.1, 0.3]] * 5)
    found = calibration_test([2] + [1] * 14, rounded, kind="classwise", resamples=19, seed=0, rounded_to=0.1)
    assert (found.contradicted, found.too_good) == (1, None)
    moved = moved_inside(rounded, np.array([2] + [1] * 14), 0.1)
    again = calibration_test([2] + [1] * 14, moved, kind="classwise", resamples=19, seed=0)
    assert (found.pvalue, found.alone) == (again.pvalue, again.alone)
    assert again.too_good is not None


@pytest.mark.parametrize(
    ("rows", "columns", "draws"),
    [
        (1, 1, 999),
        (200_200, 2, 999),  # 2·10⁸ classes
        (300_000, 2, 666),
        (1_000_000, 2, 200),
        (1_010_000, 2, 199),
        (10, 2_355, 999),  # 4·10⁷ statistics, 17 per column
        (10, 2_400, 980),
        (10, 100_000, 199),
    ],
)
@pytest.mark.all_cases
def test_the_number_of_draws_is_bounded_by_classes_and_statistics(rows, columns, draws):
    assert affordable_draws(rows, columns) == draws


def test_999_sets_of_labels_are_drawn_unless_a_number_is_given():
    P = np.random.default_rng(0).dirichlet([1, 1, 1], 10)
    assert "999 sets of labels" in calibration_test([0, 1, 2, 0, 1] * 2, P, kind="classwise", seed=0).assumptions


@pytest.mark.parametrize("block", [1 << 21, 100])
def test_one_class_is_drawn_per_row_and_the_largest_score_follows(block, monkeypatch):
    """Every row has cells of its own, so that the events show the class of each row in each draw."""
    monkeypatch.setattr(_omnibus_matrix, "_BLOCK", block)
    rng = np.random.default_rng(1)
    P = rng.dirichlet([0.5, 1, 2], 12)
    top, cell = P.argmax(axis=1), np.tile(np.arange(12)[:, np.newaxis], (1, 4))
    batches = list(_drawn_hits(P, cell, np.arange(5) * 12, top, 2_000, rng))
    hits = np.concatenate(batches, axis=1).reshape(4, 12, 2_000)
    assert (hits[:3].sum(axis=0) == 1).all()
    assert (hits[3] == hits[top, np.arange(12)]).all()
    np.testing.assert_allclose(hits[:3].mean(axis=2).T, P, atol=4.5 * 0.5 / math.sqrt(2_000))
    assert (len(batches) > 1) == (block == 100)
    some = np.concatenate(list(_drawn_hits(P[:, 1:], cell[:, 1:], np.arange(3) * 12, None, 2_000, rng)), axis=1)
    np.testing.assert_allclose(some.mean(axis=1).reshape(2, 12).T, P[:, 1:], atol=4.5 * 0.5 / math.sqrt(2_000))


def test_rows_share_the_cells_of_their_columns():
    P = np.array([[0.2, 0.8], [0.2, 0.8], [0.6, 0.4]])
    cell, offset = np.array([[0, 1], [0, 1], [1, 0]]), np.array([0, 2, 4])
    (hits,) = _drawn_hits(P, cell, offset, None, 4_000, np.random.default_rng(2))
    assert (hits[0] + hits[3] == 2).all()
    assert (hits[1] + hits[2] == 1).all()
    np.testing.assert_allclose(hits.mean(axis=1), [0.4, 0.6, 0.4, 1.6], atol=0.05)


class Highest:
    """A generator of the largest number below 1."""

    def random(self, shape):
        return np.full(shape, np.nextafter(1, 0))


def test_scores_that_sum_to_one_but_for_rounding_leave_no_row_without_a_class():
    P = np.full((2, 10), 0.1)
    assert P.cumsum(axis=1)[0, -1] < 1
    cell, offset = np.zeros((2, 10), dtype=int), np.arange(11)
    (hits,) = _drawn_hits(P, cell, offset, None, 3, Highest())
    assert hits.sum(axis=0).tolist() == [2, 2, 2]
    (hits,) = _drawn_hits(P[:, 1:] - 1e-6, cell[:, 1:], offset[:-1], None, 3, Highest())
    assert hits.sum() == 0


def slow_combination(values, weights):
    """Σ w p^(−1/2) of each column, p being ranks; the largest value counts by its ratio to the second."""
    total = np.zeros(values.shape[1])
    for row, weight in zip(values, weights, strict=True):
        p = np.array([np.mean(row >= one - 1e-9 * max(np.abs(row))) for one in row])
        lead = np.ones(row.size)
        second, largest = sorted(row)[-2:]
        if second > 0:
            lead[row.argmax()] = largest / second
        total += weight * np.sqrt(lead / p)
    return total


def some_problems(number, draws, seed):
    rng = np.random.default_rng(seed)
    return [
        Problem(f"class {i}", np.vstack([rng.gamma(2, 1, (4, draws + 1)), rng.normal(size=(13, draws + 1))]), 50, 10, 2)
        for i in range(number)
    ]


def test_the_deviance_is_that_of_the_number_of_events():
    """10 of 50 expected with standard deviation 2; forms of −5, −1, 0 and 30 are 0, 8, 10 and, at most, 50 events."""
    values = np.zeros((17, 4))
    values[4] = [-5, -1, 0, 30]
    events = [2 * 50 * math.log(50 / 40), 2 * (8 * math.log(0.8) + 42 * math.log(42 / 40)), 0, 100 * math.log(5)]
    np.testing.assert_allclose(Problem("a", values, 50, 10, 2).deviance, events, atol=1e-12)


def test_a_problem_knows_its_rows_its_expected_events_and_their_deviation():
    rng = np.random.default_rng(0)
    p = rng.random(40)
    statistics = Statistics(tn.tally(rng.random(40) < p, p).parts[0])
    found = _problem("a", statistics, statistics(statistics.entries.hits[:, np.newaxis]))
    assert found[2:] == pytest.approx((40, p.sum(), math.sqrt((p * (1 - p)).sum())))


@pytest.mark.parametrize("number", [1, 2, 4])
def test_problems_are_combined_by_their_sum_and_their_largest_deviance(number):
    for seed in range(2):
        problems = some_problems(number, 29, seed)
        found = joint_test(problems, 29)
        shares = [0.5, 0.5, 1, 1, 1, 1, 1]
        each = [slow_combination(evidence(one.values), shares) for one in problems]
        largest = np.max([one.deviance for one in problems], axis=0)
        both = slow_combination(np.array([sum(each), largest]), [1, 1])
        assert found.pvalue == pytest.approx(np.mean(both >= both[0] * (1 - 1e-9)))
        alone = [np.mean(own >= own[0] * (1 - 1e-9)) for own in each]
        assert list(found.alone.values()) == pytest.approx(alone)
        assert found.strongest.startswith(f"class {np.argmin(alone)}, ") or alone.count(min(alone)) > 1
        assert found.draws == 29


def test_one_problem_has_the_p_values_of_the_test_of_a_vector():
    for seed in range(4):
        (problem,) = some_problems(1, 39, seed)
        found = joint_test([problem], 39)
        assert found.alone["class 0"] == combined_pvalues(evidence(problem.values))[1][0]
        assert found.too_good == lower_tail(problem.values)


def test_of_problems_with_equal_p_values_the_one_with_the_larger_deviance_is_named():
    (small,) = some_problems(1, 19, 3)
    small.values[4, :2] = 4.0, 0.0
    large = small._replace(name="class 1", deviation=3)
    for problems in ([small, large], [large, small]):
        assert joint_test(problems, 19).strongest.startswith("class 1, ")


def test_a_joint_outcome_names_its_strongest_problem_below_one_half():
    result = joint_test(some_problems(3, 19, 1), 19)
    for smallest in (0.49, 0.5):
        outcome = joint_outcome(result._replace(alone={"a": 0.9, "b": smallest}, strongest="b, slope"), "things")
        assert outcome.statistic == smallest
        assert outcome.pvalue == result.pvalue
        assert outcome.smallest == 1 / 20
        assert outcome.details["strongest"] == ("b, slope" if smallest < 0.5 else "")
        assert ("Strongest evidence: b, slope (p = 0.49 for it alone)." in outcome.assumptions) == (smallest < 0.5)
        assert "19 sets of labels were drawn from the scores, for all 2 things together." in outcome.assumptions


def test_ranks_of_scores_are_named_from_one():
    P = np.random.default_rng(0).dirichlet([1, 1, 1], 30)
    found = calibration_test([0, 1, 2] * 10, P, k=2, resamples=19, seed=0)
    assert list(found.alone) == ["score 1 of the 2 largest", "score 2 of the 2 largest"]
    assert "for all 2 scores together" in found.assumptions


def test_classes_that_are_never_predicted_pose_no_problem():
    P = np.array([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1]] * 10)
    found = calibration_test([0, 1] * 10, P, kind="top-label", resamples=19, seed=0)
    assert list(found.alone) == ["class 0", "class 1"]
