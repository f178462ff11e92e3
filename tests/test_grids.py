"""What is written, runs: which cases of a grid the fast run takes is said where the grid is."""

from types import SimpleNamespace

import pytest
from grids import fast, slow


def are_slow(cases):
    return {case.id: bool(case.marks) for case in cases}


def test_named_cases_are_fast_and_the_others_slow():
    assert are_slow(fast({"a": 1, "b": 2, "c": 3}, "b")) == {"a": True, "b": False, "c": True}
    assert are_slow(fast([10, 20], "20")) == {"10": True, "20": False}
    assert [case.values for case in fast({"a": (1, 2)}, "a", several=True)] == [(1, 2)]
    assert [case.values for case in fast({"a": (1, 2)}, "a")] == [((1, 2),)]
    assert [case.values for case in slow("x", (1, 2))] == [("x",), ((1, 2),)]


def test_a_name_without_a_case_is_an_error():
    with pytest.raises(AssertionError, match="there is no case"):
        fast({"a": 1}, "a", "d")


class Case(SimpleNamespace):
    """A collected case of a grid."""

    __hash__ = object.__hash__


def number_kept(request, monkeypatch, slow_cases, *, test_is_slow=False, case_is_slow=False):
    """How many of 40 cases of a grid are kept with this value of TRUENESS_SLOW_CASES."""
    (conftest,) = (
        plugin
        for plugin in request.config.pluginmanager.get_plugins()
        if hasattr(plugin, "SLOW_CASES")
    )
    monkeypatch.setattr(conftest, "SLOW_CASES", slow_cases)
    cases = [
        Case(
            path="test_x.py",
            originalname="test_a_grid",
            callspec=SimpleNamespace(marks=[pytest.mark.slow.mark] if case_is_slow else []),
            get_closest_marker=lambda name: test_is_slow or case_is_slow,
        )
        for _ in range(40)
    ]
    config = SimpleNamespace(hook=SimpleNamespace(pytest_deselected=lambda items: None))
    conftest.pytest_collection_modifyitems(config, cases)
    return len(cases)


def test_only_slow_cases_are_thinned_and_only_if_that_is_asked_for(request, monkeypatch):
    assert number_kept(request, monkeypatch, 0, test_is_slow=True) == 40
    assert number_kept(request, monkeypatch, 1) == 40
    assert number_kept(request, monkeypatch, 1, test_is_slow=True) == 1
    assert number_kept(request, monkeypatch, 1, case_is_slow=True) == 12
