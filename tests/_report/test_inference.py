"""Budgets of random draws, and notes on what could not be computed."""

import warnings

import pytest

from trueness._report.inference import Notes, collect_warnings
from trueness.errors import InputError, OneClassWarning, warn


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
