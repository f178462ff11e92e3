"""The hold-out grid: its settings are what they were before any constant was chosen."""

import hashlib
import json
from dataclasses import asdict

import numpy as np
import pytest
from cases import _holdout_laws as laws

SETTINGS = "f217a069f4bb606b6f5e405f1fa1bae902369d1d34a99bc036026c8846d74d31"
PROMISES = "6d6782a72b751f302b1cb830ebaf4d3aa8f5f1c2b7b7f52e9d85022d0df7c3b3"
GRID = laws.settings()


def test_the_settings_are_those_that_were_frozen():
    assert laws.digest(GRID) == SETTINGS, "a new grid needs a new name: this one is not to be changed"


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


@pytest.mark.all_cases
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
    rows = laws.rows(GRID[place], 0, n=200_000)
    clusters = rows.p.size if rows.cluster is None else rows.cluster.max() + 1
    for labels, chance in ((rows.y, rows.truth), (rows.calibrated, rows.p)):
        deviation = np.sqrt(np.mean((labels - chance) ** 2) / clusters)
        assert abs(np.mean(labels - chance)) < 5 * deviation


def test_counted_rows_stand_for_the_rows():
    y, p, cluster = np.array([1, 1, 0, 1]), np.array([0.5, 0.5, 0.5, 0.2]), np.array([0, 0, 1, 1])
    for codes in (None, cluster):
        labels, scores, count, _ = laws.counted(y, p, codes)
        repeated = np.repeat(np.stack([labels, scores], 1), count.astype(int), axis=0)
        assert sorted(repeated.tolist()) == sorted(np.stack([y, p], 1).tolist())
