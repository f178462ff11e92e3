"""Confidence sets as records."""

import json

import pytest

from trueness.results import Interval


def interval(low, high, closed, zero, **more):
    return Interval(0.02, low, high, 0.9, "analytic", 10, closed, zero, **more)


@pytest.mark.parametrize(
    ("found", "inside", "outside", "whole", "hull", "text"),
    [
        (
            interval(0.1, 0.2, True, False),
            (0.1, 0.2),
            (0, 0.05, 0.3),
            True,
            (0.1, 0.2),
            "[0.1000, 0.2000]",
        ),
        (
            interval(0.1, 0.2, True, True),
            (0, 0.1),
            (0.05, 0.3),
            False,
            (0, 0.2),
            "{0} ∪ [0.1000, 0.2000]",
        ),
        (
            interval(0.0, 0.2, False, False),
            (1e-9, 0.2),
            (0, 0.3),
            True,
            (0, 0.2),
            "(0.0000, 0.2000]",
        ),
        (
            interval(0.0, 0.2, True, True),
            (0, 1e-9, 0.2),
            (0.3,),
            True,
            (0, 0.2),
            "[0.0000, 0.2000]",
        ),
        (interval(0.0, 0.0, True, True), (0,), (1e-9,), True, (0, 0), "{0}"),
    ],
)
def test_a_set_knows_its_members_its_hull_and_its_text(found, inside, outside, whole, hull, text):
    assert all(value in found for value in inside)
    assert not any(value in found for value in outside)
    assert found.is_interval is whole
    assert found.hull == hull
    assert f"confidence set {text} (" in str(found)
    assert json.loads(json.dumps(found.to_dict()))["is_interval"] is whole


def test_the_root_of_a_set_is_that_of_every_number():
    squared = Interval(-0.25, 0.04, 0.09, 0.9, "score", 10, True, False, "4 bins", True)
    assert squared.root() == Interval(0.0, 0.2, 0.3, 0.9, "score", 10, True, False, "4 bins", False)
    assert squared.root().root() == squared.root()
    assert str(squared).startswith("squared typical error -0.2500")
