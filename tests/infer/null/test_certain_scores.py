"""Scores of 0 and 1: labels they rule out, and grids that rounding leaves."""

import numpy as np
import pytest

import trueness as tn
from trueness.infer.null._certain_scores import (
    contradictions,
    contradictions_in_words,
    grid_unit,
    impossible_but_rounded,
    moved_inside,
)

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
RNG = np.random.default_rng(0)


@pytest.mark.all_cases
@pytest.mark.parametrize(
    ("scores", "unit"),
    [
        (np.arange(21) / 20, 0.05),
        (np.arange(11) / 10, 0.1),
        ([0.12, 0.5, 0.99, 1.0], 0.01),
        (np.float32([0.12, 0.5, 0.99, 1.0]).astype(float), 0.01),
        ([0.123, 0.5, 0.99, 1.0], 0.001),
        (RNG.random(5_000).round(4), 0.0001),
        (np.arange(31) / 30, 1 / 30),
        (np.arange(1, 400) / 399, 1 / 399),
        (np.arange(1, 999) / 999, 1 / 999),
        (np.arange(1, 1001) / 1001, None),
        (np.float32(RNG.random(50)).astype(float), 2.0**-24),
        (RNG.random(50), None),
        ([0.0, 0.5, 1.0], None),
        ([0.1, 0.5, 1.0], None),
        ([0.1, 0.5, 0.7], 0.1),
        ([0.2, 0.4, 0.6], 0.1),
        ([0.15, 0.25, 0.5], 0.05),
        ([0.2, 0.4, 0.615], 0.005),
        ([0.2, 0.4, 0.6155], 0.0005),
        ([0.2, 0.4, 0.61554], None),
        (np.append(np.arange(1, 500) / 1000, 0.7 + 1e-5), None),
        ([0.2, 0.4, 1e-9], None),
        ([0.2, 0.4, 1 - 1e-9], None),
        ([1 / 3, 2 / 3, 1 / 7], 1 / 21),
        ([1 / 2, 2 / 3, 1 / 3], 1 / 6),
        ([1.0], None),
    ],
)
def test_the_unit_is_that_of_the_grid(scores, unit):
    found = grid_unit(np.unique(np.asarray(scores, dtype=float)))
    assert found == unit if unit is None else found == pytest.approx(unit)


def test_contradictions_are_counted_on_both_sides():
    cells = tn.tally([1, 0, 0, 1, 0, 0, 1], [0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.5]).parts[0]
    assert contradictions(cells) == 3
    words = contradictions_in_words(cells)
    assert words == "1 of 3 rows with score exactly 0 has label 1 and 2 of 3 rows with score exactly 1 have label 0"


def test_scores_are_moved_by_the_distance_or_less():
    cells = tn.tally([1, 1, 0, 0], [0.0, 1e-3, 0.5, 1.0]).parts[0]
    np.testing.assert_allclose(moved_inside(cells, 0.01).score, [5e-4, 1e-3, 0.5, 0.99])
    agreeing = tn.tally([0] * 4 + [0] + [1] * 499, [0.0, 0.2, 0.4, 0.5] + [1.0] * 500).parts[0]
    np.testing.assert_allclose(moved_inside(agreeing, 0.01).score, [0, 0.2, 0.4, 0.5, 0.998])


@pytest.mark.parametrize("more", [{}, {"sample_weight": 1.5}, {"cluster": 1}, {"kind": "classwise"}, {"k": 2}])
def test_a_few_errors_among_many_rounded_scores_do_not_refute_them(more):
    rng = np.random.default_rng(7)
    p = np.append(np.ones(10_000), rng.beta(5, 2, 1_000).round(2).clip(0.01, 0.99))
    y = (rng.random(p.size) < p).astype(int)
    y[:3] = 0
    options = {name: np.arange(p.size) // 2 if name == "cluster" else value for name, value in more.items()}
    if "sample_weight" in more:
        options["sample_weight"] = np.full(p.size, 1.5)
    scores = np.column_stack([1 - p, p]).round(2) if {"kind", "k"} & set(more) else p
    found = tn.calibration_test(y, scores, seed=0, **options)
    assert found.contradicted == 3
    assert found.pvalue > 0.05
    assert found.too_good is None


def test_one_label_0_among_91_rows_of_score_1_is_impossible_and_said_so():
    y = np.ones(91, dtype=int)
    y[7] = 0
    for p in (np.ones(91), np.append(np.ones(90), 0.5), np.append(np.ones(89), [0.3141, 0.2718281])):
        found = tn.calibration_test(y, p)
        assert (found.pvalue, found.contradicted) == (0, 1)
        rows = int((p == 1).sum())
        words = f"Labels are impossible under the scores: 1 of {rows} rows with score exactly 1 has label 0."
        assert found.assumptions == words
        assert "impossible" in found.strongest


def test_rounded_scores_are_judged_by_scores_moved_by_half_a_unit():
    rng = np.random.default_rng(0)
    p = rng.beta(2, 0.5, 400).round(2)
    y = (rng.random(400) < p).astype(int)
    y[np.flatnonzero(p == 1)[0]] = 0
    found = tn.calibration_test(y, p, seed=0)
    moved = tn.calibration_test(y, np.clip(p, 0.005, 0.995), seed=0)
    assert found.pvalue == moved.pvalue > 0.01
    assert found.alone == moved.alone
    assert found.contradicted == 1
    assert "impossible under the scores as they stand (p = 0): 1 of 42 rows" in found.assumptions
    assert "multiples of 0.01" in found.assumptions
    y[np.flatnonzero(p == 1)[:15]] = 0
    assert 0 < tn.calibration_test(y, p, seed=0).pvalue < 1e-8


def test_clusters_see_contradictions_too():
    rng = np.random.default_rng(1)
    p = rng.beta(2, 0.5, 200).round(2)
    y = (rng.random(200) < p).astype(int)
    y[np.flatnonzero(p == 1)[0]] = 0
    cluster = np.arange(200) // 4
    found = tn.calibration_test(y, p, cluster=cluster, seed=0)
    moved = tn.calibration_test(y, np.clip(p, 0.005, 0.995), cluster=cluster, seed=0)
    assert found.pvalue == pytest.approx(moved.pvalue, abs=0.05)  # clusters are numbered by their content
    assert "impossible under the scores as they stand" in found.assumptions
    assert tn.calibration_test([0, 1, 0, 1], [1.0, 1.0, 0.5, 0.5], cluster=[0, 0, 1, 1]).pvalue == 0


@pytest.mark.all_cases
@pytest.mark.parametrize(
    ("y", "p", "moved"),
    [
        # Halfway to the nearest score, the share of the labels, or the distance, whichever is nearest.
        ([1, 0, 1, 0], [0.5, 0.6, 0.998, 1.0], [0.5, 0.6, 0.998, 0.999]),
        ([1, 0, *[1] * 399], [0.5, 0.9, *[1.0] * 399], [0.5, 0.9, 1.0]),
        ([1, 0, 0, *[1] * 399], [0.5, 0.9, *[1.0] * 400], [0.5, 0.9, 1 - 1 / 400]),
        ([1, *[0] * 399, 1, 0], [*[0.0] * 400, 0.5, 0.9], [1 / 400, 0.5, 0.9]),
        ([1, 1, 0, 0], [0.0, 0.5, 0.9, 1.0], [0.01, 0.5, 0.9, 0.99]),
        ([1, 0, 1], [0.2, 0.5, 0.9], [0.2, 0.5, 0.9]),
    ],
)
def test_scores_of_0_and_1_move_no_farther_than_their_labels_and_neighbours_allow(y, p, moved):
    cells = tn.tally(y, p).parts[0]
    found = moved_inside(cells, 0.01)
    assert found.score == pytest.approx(moved, abs=1e-12)
    assert found.weight.tolist() == cells.weight.tolist()
    assert found.events.tolist() == cells.events.tolist()


@pytest.mark.parametrize(
    ("unit", "words"),
    [(0.1, "multiples of 0.1,"), (0.0001, "multiples of 0.0001,"), (1 / 30, "multiples of 1/30,"),
     (1 / 999, "multiples of 1/999,"), (2.0**-24, "32-bit floats,")],
)  # fmt: skip
def test_the_grid_is_named(unit, words):
    assert f"all scores are {words} so" in impossible_but_rounded("some labels", unit)


def test_words_count_each_side_by_itself():
    both = tn.tally([1, 1, 0, 1], [0.0, 0.0, 0.5, 1.0]).parts[0]
    assert contradictions_in_words(both) == "2 of 2 rows with score exactly 0 have label 1"
    one = tn.tally([0, 1, 0, 1], [0.0, 0.5, 1.0, 1.0]).parts[0]
    assert contradictions_in_words(one) == "1 of 2 rows with score exactly 1 has label 0"
    assert contradictions_in_words(tn.tally([0, 1], [0.0, 1.0]).parts[0]) == ""
