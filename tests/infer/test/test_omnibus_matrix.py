"""The omnibus test of matrices: every class at once, the k largest scores, the top label."""

import math
from dataclasses import replace

import grids
import hypothesis.strategies as st
import numpy as np
import omnibus_transcription as slow
import pytest
from hypothesis import given, settings

import trueness as tn
from trueness import calibration_test

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
VIEWS = [{"kind": "classwise"}, {"kind": "top-label"}, {"k": 2}, {"k": 3}]
DRAWS = 1_999


def classes_from(P, rng):
    return (P.cumsum(axis=1) > rng.random((len(P), 1))).argmax(axis=1)


def problems(P, y, view):
    """Scores and events of every binary problem, by name, for label vectors in the columns of `y`."""
    order = np.argsort(-P, axis=1, kind="stable")
    top, rows = order[:, 0], np.arange(len(P))
    if "k" in view:
        names = {f"score {r + 1} of the {view['k']} largest": order[:, r] for r in range(view["k"])}
        return {name: (P[rows, at], y == at[:, None]) for name, at in names.items()}
    if view["kind"] == "top-label":
        right = y == top[:, None]
        return {f"class {j}": (P.max(axis=1)[top == j], right[top == j]) for j in np.unique(top)}
    found = {f"class {j}": (P[:, j], y == j) for j in range(P.shape[1])}
    return found | {"the largest score": (P.max(axis=1), y == top[:, None])}


def near(found, expected):
    p = (found + expected) / 2
    return abs(found - expected) <= 5 * math.sqrt(2 * p * (1 - p) / DRAWS) + 3 / DRAWS


@pytest.mark.parametrize("view", [VIEWS[1], *grids.slow(VIEWS[0], *VIEWS[2:])])
def test_pvalues_are_those_of_the_transcription_with_other_draws(view):
    """Few distinct rows, so that every score is a cell."""
    rng = np.random.default_rng(3)
    few = np.array(
        [[0.6, 0.3, 0.1], [0.25, 0.45, 0.3], [0.1, 0.35, 0.55], [0.2, 0.7, 0.1], [0.5, 0.15, 0.35]]
    )
    P = few[rng.integers(0, 5, 160)]
    tilted = P * [1.0, 1.25, 0.8]
    y = classes_from(tilted / tilted.sum(axis=1, keepdims=True), rng)
    found = calibration_test(y, P, resamples=DRAWS, seed=1, **view)
    every = np.column_stack([y, *(classes_from(P, rng) for _ in range(DRAWS))])
    total, lower, deviances = 0.0, 0.0, []
    each = problems(P, every, view)
    assert list(found.alone) == list(each)
    for name, (p, events) in each.items():
        values = slow.values(events.astype(float), p)
        own = slow.combination(slow.statistics(values), slow.weights(p.mean()))
        total, lower = total + own, lower + slow.lower_tail_logs(values)
        assert near(found.alone[name], slow.ranks(own)[0]), name
        o, e, n = events.sum(axis=0), p.sum(), p.size
        deviances.append(2 * (slow.log_ratio(o, e) + slow.log_ratio(n - o, n - e)))
    both = slow.combination(np.array([total, np.max(deviances, axis=0)]), (1, 1))
    assert near(found.pvalue, slow.ranks(both)[0])
    assert near(found.too_good, slow.ranks(-lower)[0])
    assert found.statistic == min(found.alone.values())
    assert found.n == 160


@pytest.mark.parametrize("view", [VIEWS[1], *grids.slow(VIEWS[0], *VIEWS[2:])])
def test_a_calibrated_matrix_passes_and_a_sharpened_one_does_not(view):
    rng = np.random.default_rng(11)
    P = rng.dirichlet([1, 1, 1], 400)
    y = classes_from(P, rng)
    calm = calibration_test(y, P, seed=0, resamples=199, **view)
    assert calm.pvalue > 0.05
    sharp = P**1.8
    found = calibration_test(y, sharp / sharp.sum(axis=1, keepdims=True), seed=0, **view)
    assert (found.pvalue, found.smallest_pvalue, found.pvalue_in_words) == (
        0.001,
        0.001,
        "p ≤ 0.001",
    )
    what = {
        "classwise": "4 problems (each class, and the largest score)",
        "top-label": "3 predicted classes",
    }
    asked = what.get(view.get("kind"), f"{view.get('k')} scores")
    words = f"999 sets of labels were drawn from the scores, for all {asked} together. Strongest evidence: "
    assert f"{words}{found.strongest} (p = " in found.assumptions


def test_it_says_which_class_spoke():
    """Class 'c' comes half as often as its scores say, and 'a' instead."""
    rng = np.random.default_rng(3)
    P = rng.dirichlet([2, 2, 1, 2], 800)
    true = P.copy()
    true[:, 2] *= 0.4
    true[:, 0] += 0.6 * P[:, 2]
    names = np.array(["a", "b", "c", "d"])
    found = calibration_test(
        names[classes_from(true, rng)],
        P,
        labels=list(names),
        kind="classwise",
        seed=0,
        resamples=199,
    )
    assert found.strongest.startswith("class 'c'")  # of equal p-values, the larger deviance
    assert set(found.alone) == {*(f"class {name!r}" for name in "abcd"), "the largest score"}


@pytest.mark.slow
def test_one_wrong_class_among_very_many_is_found():
    """200 columns share 20,000 cells."""
    rng = np.random.default_rng(4)
    P = rng.dirichlet(np.full(200, 0.05), 1_000)
    y = classes_from(P, rng)
    P[:, 7] *= 6
    P /= P.sum(axis=1, keepdims=True)
    found = calibration_test(y, P, kind="classwise", resamples=49, seed=0)
    assert found.pvalue <= 0.04
    assert found.strongest.startswith("class 7,")


def test_whole_weights_are_rows_repeated():
    rng = np.random.default_rng(5)
    P = rng.dirichlet([1, 1, 1], 60)
    y, w = classes_from(P, rng), rng.integers(0, 4, 60)
    for view in VIEWS:
        weighted = calibration_test(y, P, sample_weight=w, resamples=49, seed=0, **view)
        repeated = calibration_test(
            np.repeat(y, w), np.repeat(P, w, axis=0), resamples=49, seed=0, **view
        )
        assert weighted.assumptions.endswith(
            "Weights are whole numbers and count rows: a weight of 2 is two rows."
        )
        assert replace(weighted, assumptions=repeated.assumptions) == repeated


@pytest.mark.slow
@pytest.mark.parametrize("tenths", [True, False])
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 30), classes=st.integers(3, 5))
@settings(max_examples=25)
def test_rows_and_classes_in_another_order_have_the_same_pvalue(tenths, seed, n, classes):
    """Ties, too, where the scores of all rows differ between classes; of equal top labels the first one counts."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(classes), n)
    P = rng.multinomial(10, P) + 0.1 if tenths else P
    P = P / P.sum(axis=1, keepdims=True)
    y, rows, columns = classes_from(P, rng), rng.permutation(n), rng.permutation(classes)
    told_apart = len({tuple(sorted(column)) for column in P.T}) == classes
    options = {"resamples": 19, "seed": 1, "labels": range(classes)}
    for view in [*VIEWS, {"k": 2, "method": "exact"}, {"kind": "multilabel"}]:
        of_y = (
            (y[:, None] == np.arange(classes)).astype(int)
            if view.get("kind") == "multilabel"
            else y
        )
        found = calibration_test(of_y, P, **options, **view)
        assert calibration_test(of_y[rows], P[rows], **options, **view).pvalue == found.pvalue, view
        if not tenths or (told_apart and view in (VIEWS[0], *VIEWS[2:])):
            moved = of_y[:, columns] if of_y.ndim == 2 else np.argsort(columns)[y]
            again = calibration_test(moved, P[:, columns], **options, **view)
            assert (again.pvalue, again.too_good) == (found.pvalue, found.too_good), view
            if view == VIEWS[0]:
                assert again.alone["class 0"] == found.alone[f"class {columns[0]}"]


@pytest.mark.slow
def test_a_seed_moves_the_pvalue_by_the_monte_carlo_error_alone():
    """The ranks of the statistics, which the seed decided too, moved it from 0.25 to 0.50."""
    rng = np.random.default_rng(3)
    P = rng.dirichlet(np.full(7, 0.5), 60)
    y, sharp = classes_from(P, rng), P**1.35
    sharp /= sharp.sum(axis=1, keepdims=True)
    for scores in (P, sharp):
        found = [calibration_test(y, scores, kind="classwise", seed=seed) for seed in range(8)]
        p = np.mean([one.pvalue for one in found])
        draws = 9_999 if p < 0.15 else 999
        assert (
            all(f"{draws:,} sets of labels" in one.assumptions for one in found)
            or abs(p - 0.2) < 0.1
        )
        assert np.ptp([one.pvalue for one in found]) <= 6 * math.sqrt(p * (1 - p) / draws) + 1e-4


@pytest.mark.parametrize("view", [{"kind": "classwise"}, {"k": 2}])
def test_a_class_of_score_zero_is_impossible_unless_scores_were_rounded(view):
    """By hand: class 0 occurs in 1 of 4 rows of score 0, class 1 in 1 of 25, class 2 in none."""
    P = np.vstack(
        [np.tile([0.0, 0.4, 0.6], (4, 1)), np.tile([0.9, 0.0, 0.1], (25, 1)), [[0.3, 0.7, 0.0]]]
    )
    y = np.array([0, 1, 2, 2, 1] + [0] * 25)
    found = calibration_test(y, P, seed=0, **view)
    assert (found.statistic, found.pvalue, found.contradicted) == (0, 0, 2)
    assert (
        "Labels are impossible under the scores: 2 of 30 rows have a class of score exactly 0. If"
        in found.assumptions
    )
    assert found.strongest == "labels that are impossible under the scores"
    moved = np.vstack(
        [
            np.tile([0.05, 0.4, 0.6], (4, 1)) / 1.05,
            np.tile([0.9, 0.04, 0.1], (25, 1)) / 1.04,
            [[0.3, 0.7, 0.0]],
        ]
    )
    rounded = calibration_test(y, P, seed=0, rounded_to=0.1, resamples=49, **view)
    expected = calibration_test(y, moved, seed=0, resamples=49, **view)
    assert (rounded.alone, rounded.pvalue, rounded.contradicted, rounded.too_good) == (
        expected.alone,
        expected.pvalue,
        2,
        None,
    )
    assert "multiples of 0.1" in rounded.assumptions


def test_classes_that_are_never_predicted_pose_no_problem():
    P = np.array([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1]] * 10)
    found = calibration_test([0, 1] * 10, P, kind="top-label", resamples=19, seed=0)
    assert list(found.alone) == ["class 0", "class 1"]


@pytest.mark.parametrize("view", VIEWS)
def test_certain_scores_that_agree_with_the_labels_have_pvalue_one(view):
    assert (
        calibration_test([0, 1, 2, 0], np.eye(3)[[0, 1, 2, 0]], seed=0, resamples=19, **view).pvalue
        == 1
    )


def test_what_a_matrix_refuses():
    P = np.array([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1]])
    with pytest.raises(tn.InputError, match="`k` must be at most 3, the number of classes; got 4"):
        calibration_test([0, 1], P, k=4)
    for view in VIEWS[:3]:
        with pytest.raises(tn.InputError, match="`sample_weight` must be whole numbers"):
            calibration_test([0, 1], P, sample_weight=[0.5, 1], **view)


@pytest.mark.slow
def test_very_many_rows_have_fewer_draws():
    """2·10⁸ classes in all: 400,000 rows have 500 draws."""
    P = np.tile([0.5, 0.3, 0.2], (400_000, 1))
    found = calibration_test(np.arange(400_000) % 3, P, kind="classwise", seed=0)
    assert "500 sets of labels were drawn" in found.assumptions


@pytest.mark.slow
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(("n", "alpha"), [(30, [0.1, 0.1, 2.0]), (300, [1, 1, 1])])
def test_it_keeps_its_level(view, n, alpha):
    rng, runs = np.random.default_rng([n, 3]), 300
    found = []
    for _ in range(runs):
        P = rng.dirichlet(alpha, n)
        y = classes_from(P, rng)
        found.append(calibration_test(y, P, labels=range(3), resamples=99, seed=rng, **view))
    most = 0.05 + 4 * math.sqrt(0.05 * 0.95 / runs)
    assert np.mean([f.pvalue <= 0.05 for f in found]) <= most
    assert np.mean([f.too_good <= 0.05 for f in found]) <= most


@pytest.mark.slow
def test_further_draws_keep_the_level():
    """About a fifth of the runs have 9,999 draws."""
    rng, runs, found = np.random.default_rng(8), 500, []
    for _ in range(runs):
        P = rng.dirichlet([0.3, 0.3, 1.0], 20)
        y = classes_from(P, rng)
        found.append(calibration_test(y, P, labels=range(3), kind="top-label", seed=rng))
    for alpha in (0.01, 0.05, 0.1, 0.3):
        rejected = np.mean([f.pvalue <= alpha for f in found])
        assert abs(rejected - alpha) <= 4 * math.sqrt(alpha * (1 - alpha) / runs)
    assert 0.1 < np.mean(["9,999 sets" in f.assumptions for f in found]) < 0.3


@pytest.mark.parametrize("seed", [0, 1, 2, 4])
def test_the_default_p_value_of_a_matrix_is_that_of_many_draws(seed):
    """Where the first draws leave it open, more follow."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([1, 2, 3], 150)
    truth = p**0.75
    truth = truth / truth.sum(axis=1, keepdims=True)
    y = (truth.cumsum(axis=1) < rng.random(150)[:, np.newaxis]).sum(axis=1)
    found = tn.calibration_test(y, p, seed=1).pvalue
    many = tn.calibration_test(y, p, seed=2, resamples=4_000).pvalue
    error = np.sqrt(many * (1 - many) * (1 / 999 + 1 / 4_000))
    assert found == pytest.approx(many, abs=4 * error + 0.002)
