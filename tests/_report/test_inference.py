"""Budgets of random draws, and notes on what could not be computed."""

import warnings

import numpy as np
import pytest

import trueness as tn
from trueness._report.inference import Notes, collect_warnings, draws_for_floor, draws_for_tests
from trueness.errors import InputError, OneClassWarning, warn


def test_fewer_labels_are_drawn_where_there_are_many():
    assert draws_for_floor(10) == 999
    assert draws_for_floor(100_000) == 200
    assert draws_for_floor(10**9) == 39


def test_tests_draw_enough_for_a_correction_or_not_at_all():
    p = np.linspace(0, 1, 100)
    tally = tn.tally(np.arange(100) % 2, p)
    assert draws_for_tests([tally], 0.05) == 999
    assert draws_for_tests([tally] * 100, 0.05) == 3_999
    assert draws_for_tests([tally] * 10_000, 0.05) is None
    assert draws_for_tests([tn.tally(np.arange(100) % 2, p, sample_weight=p + 0.1)], 0.05) is None


def refuse():
    raise InputError("bins", "must be at least 1", "got 0")


def test_a_failure_is_noted_with_its_reason():
    notes = Notes()
    assert notes.attempt("The test", refuse) is None
    assert notes.attempt("The set", refuse, "there are too few rows.") is None
    assert notes.sentences == [
        "The test could not be computed: `bins` must be at least 1; got 0.",
        "The set could not be computed: there are too few rows.",
    ]


def test_warnings_of_the_library_are_noted_once_in_the_words_asked_for():
    notes = Notes({OneClassWarning: "One class."})
    for _ in range(2):
        notes.attempt("The test", lambda: warn("All labels are equal.", OneClassWarning))
    assert notes.sentences == ["One class."]
    quiet = Notes()
    quiet.attempt("The test", lambda: warn("All labels are equal.", OneClassWarning), warn=False)
    assert quiet.sentences == []


def test_other_warnings_are_passed_on():
    with pytest.warns(UserWarning, match="something else"), collect_warnings(Notes()):
        warnings.warn("something else", UserWarning, stacklevel=1)
