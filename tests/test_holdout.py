"""The hold-out grid: its settings are what they were before any constant was chosen."""

import hashlib
import json
import math
import warnings
from dataclasses import asdict

import numpy as np
import pytest
from cases import _holdout_laws as laws
from cases import holdout

import trueness as tn

SETTINGS = "f217a069f4bb606b6f5e405f1fa1bae902369d1d34a99bc036026c8846d74d31"
PROMISES = "6d6782a72b751f302b1cb830ebaf4d3aa8f5f1c2b7b7f52e9d85022d0df7c3b3"
GRID = laws.settings()


def test_the_settings_are_those_that_were_frozen():
    assert laws.digest(GRID) == SETTINGS, "the grid is frozen: a new one needs a new name"


def test_the_promises_are_those_that_were_frozen():
    text = json.dumps([asdict(promise) for promise in laws.PROMISES])
    assert hashlib.sha256(text.encode()).hexdigest() == PROMISES


def test_the_same_seed_gives_the_same_settings_and_another_one_others():
    assert laws.settings(7) == GRID[:7]
    assert laws.digest(laws.settings(7, seed=1)) != laws.digest(GRID[:7])


def test_every_kind_of_law_is_in_the_grid():
    assert {setting.weights.kind for setting in GRID} == {
        "none",
        "counts",
        "log-normal",
        "whole",
        "by score",
    }
    assert {setting.clusters.size > 1 for setting in GRID} == {True, False}
    assert len({setting.scores.family for setting in GRID}) == 7
    assert len({setting.error.kind for setting in GRID}) == 8


@pytest.mark.parametrize("setting", GRID, ids=lambda setting: str(setting.place))
def test_rows_of_a_run_are_the_same_each_time_and_lie_in_the_unit_interval(setting):
    rows, again = laws.rows(setting, 3), laws.rows(setting, 3)
    for one, other in zip(rows, again, strict=True):
        np.testing.assert_equal(one, other)
    for values in (rows.p, rows.truth):
        assert ((values >= 0) & (values <= 1)).all()
    if setting.error.kind == "none":
        np.testing.assert_equal(rows.y, rows.calibrated)


@pytest.mark.parametrize("place", [1, 9, 20, 35])
def test_labels_are_drawn_from_the_truth_and_from_the_scores(place):
    rows = laws.rows(GRID[place], 0, n=20_000)
    clusters = rows.p.size if rows.cluster is None else rows.cluster.max() + 1
    for labels, chance in ((rows.y, rows.truth), (rows.calibrated, rows.p)):
        deviation = np.sqrt(np.mean((labels - chance) ** 2) / clusters)
        assert abs(np.mean(labels - chance)) < 5 * deviation


@pytest.mark.slow
@pytest.mark.parametrize("place", [0, 3, 5, 9, 12, 25])
def test_truths_are_what_measures_of_many_rows_approach(place):
    truths, rows = holdout.truths(GRID[place]), laws.rows(GRID[place], 0, n=100_000)
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tn.TruenessWarning)
        for measure in set(holdout.MEASURES) - {"observed_expected"}:
            options = {"sample_weight": rows.weight, "floor": False}
            found[measure] = tn.estimate(measure, rows.y, rows.p, **options)
    if rows.weight is None:
        found["aurc"] = tn.risk_coverage(rows.y, rows.p, kind="correct").aurc
    for measure, estimate in found.items():
        error = (estimate.high - estimate.low) / 4
        truth = truths[measure]
        assert math.isnan(truth) or abs(estimate.value - truth) < 5 * error, measure


def test_counted_rows_stand_for_the_rows():
    y, p, cluster = np.array([1, 1, 0, 1]), np.array([0.5, 0.5, 0.5, 0.2]), np.array([0, 0, 1, 1])
    for codes in (None, cluster):
        labels, scores, count, _ = laws.counted(y, p, codes)
        repeated = np.repeat(np.stack([labels, scores], 1), count.astype(int), axis=0)
        assert sorted(repeated.tolist()) == sorted(np.stack([y, p], 1).tolist())


@pytest.mark.slow
@pytest.mark.parametrize("place", range(0, 60, 15))
def test_promises_hold_in_a_sample_of_the_grid(place):
    """A cell fails if a promise kept at its limit would look so bad once in 1,000 times."""
    found = [cell for cell in holdout.cells(GRID[place], runs=60) if cell.answered]
    assert len(found) > len(laws.PROMISES) / 3
    broken = [cell for cell in found if cell.clearly_beyond and not holdout.known_gap(cell)]
    assert not broken, [(cell.promise.name, cell.text) for cell in broken]


def test_a_cell_is_clearly_beyond_where_chance_does_not_explain_it():
    level = next(promise for promise in laws.PROMISES if promise.at_most)
    coverage = next(promise for promise in laws.PROMISES if not promise.at_most)
    assert holdout.Cell(level, GRID[0], 17, 100).clearly_beyond
    assert not holdout.Cell(level, GRID[0], 12, 100).clearly_beyond
    assert holdout.Cell(coverage, GRID[0], 80, 100).clearly_beyond
    assert not holdout.Cell(coverage, GRID[0], 90, 100).clearly_beyond
    assert holdout.Cell(coverage, GRID[0], 90, 100).beyond
