"""What a verdict says of single classes, and of parts of the rows."""

from functools import cache

import numpy as np
import pytest

import trueness as tn


@cache
def rows(n=600):
    """Three classes: the first is predicted too often at the cost of the others."""
    rng = np.random.default_rng(0)
    truth = rng.dirichlet([2, 3, 4], n)
    y = (truth.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1)
    scores = truth * [1.8, 1.0, 1.0]
    return y, scores / scores.sum(axis=1, keepdims=True)


@cache
def verdict():
    return tn.verdict(*rows())


def gaps():
    """Share less mean score of each class."""
    y, scores = rows()
    return np.array([(y == k).mean() - scores[:, k].mean() for k in range(3)])


def adjusted():
    """Holm's p-values of each class against the rest, one by one."""
    y, scores = rows()
    found = np.array([tn.calibration_test((y == k) * 1, scores[:, k]).pvalue for k in range(3)])
    order = np.argsort(found)
    steps = np.maximum.accumulate(found[order] * [3, 2, 1])
    return np.minimum(steps[np.argsort(order)], 1)


def test_the_flagged_classes_are_those_whose_adjusted_p_value_is_small():
    (flags,) = (flags for flags in verdict().flags if flags.kind == "class")
    assert (flags.flagged, flags.total) == (int((adjusted() <= 0.05).sum()), 3)
    assert flags.pvalue == pytest.approx(adjusted().min(), rel=0.3)


def test_the_worst_class_is_the_one_with_the_largest_gap():
    (flags,) = (flags for flags in verdict().flags if flags.kind == "class")
    y, scores = rows()
    worst = int(np.abs(gaps()).argmax())
    assert flags.worst == str(worst)
    assert flags.ratio == pytest.approx((y == worst).mean() / scores[:, worst].mean())
    assert flags.finding == ("over-predicted" if gaps()[worst] < 0 else "under-predicted")
    assert flags.share == f"{flags.flagged} of 3 classes"
    assert flags.worst_in_words == f"class {worst}, over-predicted {1 / flags.ratio:.1f}-fold"
    assert verdict().headline == f"Not calibrated in {flags.share}: {flags.worst_in_words}."


def test_the_evidence_is_named_by_its_p_value():
    (flags,) = (flags for flags in verdict().flags if flags.kind == "class")
    assert flags.strength.startswith("the evidence is very strong (p = 0.000")
    assert flags.strength.endswith("all classes, adjusted)")


def test_two_questions_are_said_to_be_two():
    assert verdict().questions.startswith("top label and classes are two questions")
    assert "5 % of cases" in verdict().questions


def test_classes_of_a_calibrated_model_are_not_flagged():
    rng = np.random.default_rng(3)
    scores = rng.dirichlet([2, 3, 4], 400)
    y = (scores.cumsum(axis=1) < rng.random(400)[:, None]).sum(axis=1)
    assert tn.verdict(y, scores).flags == ()


def test_names_of_classes_follow_their_columns():
    y, scores = rows()
    names = np.array(["red", "green", "blue"])
    turned = tn.verdict(names[y], scores[:, [2, 0, 1]], labels=["blue", "red", "green"])
    (flags,) = (flags for flags in turned.flags if flags.kind == "class")
    assert flags.worst == "red"
    assert flags.flagged == verdict().flags[0].flagged
