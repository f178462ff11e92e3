"""Tallies of several parts: their rows, weights, averages, and the parts of their names."""

import numpy as np
import pytest

import trueness as tn
from trueness._tally.rules import edges_of
from trueness._tally.tally import binary_of_two_classes, list_classes

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")

RNG = np.random.default_rng(2)
P = RNG.dirichlet([1, 1, 1], 60)
Y = RNG.integers(0, 3, 60)
W = RNG.uniform(0, 2, 60)
W[:3] = 0
every_form = pytest.mark.parametrize("make", [tn.tally, tn.binned, tn.sketch])
every_kind = pytest.mark.parametrize("kind", ["classwise", "confidence", "top-label"])


@every_form
@every_kind
def test_each_row_counts_once_in_every_view(make, kind):
    for w, rows, weight in ((None, 60, 60), (W, 57, W.sum())):
        sums = make(Y, P, kind=kind, sample_weight=w)
        assert sums.n == rows
        assert sums.weight == pytest.approx(weight, rel=1e-12)
        assert len(sums.parts) == (1 if kind == "confidence" else 3)
        assert sums.classes == (0, 1, 2)
        cells = sum(part.size for part in sums.parts)
        noun = {"tally": "distinct scores", "binned": "bins", "sketch": "cells"}[make.__name__]
        assert repr(sums) == f"{type(sums).__name__}({kind}, {rows} rows, {cells} {noun})"


@every_form
def test_averages_are_over_classes_alike_or_by_how_often_each_was_predicted(make):
    def share(part):
        return part.totals.events / part.totals.weight

    top = P.argmax(axis=1)
    each = [W[k == Y].sum() / W.sum() for k in range(3)]
    assert make(Y, P, sample_weight=W).average(share) == pytest.approx(np.mean(each), rel=1e-12)
    right = W[top == Y].sum() / W.sum()
    for kind in ("confidence", "top-label"):
        assert make(Y, P, sample_weight=W, kind=kind).average(share) == pytest.approx(
            right, rel=1e-12
        )


def test_classes_that_were_never_predicted_do_not_enter_the_average():
    sums = tn.tally(
        [0, 1, 2, 0],
        [[0.6, 0.3, 0.1], [0.5, 0.4, 0.1], [0.2, 0.7, 0.1], [0.9, 0.1, 0]],
        kind="top-label",
    )
    assert [part.totals.rows for part in sums.parts] == [3, 1, 0]
    assert sums.average(lambda part: part.totals.events / part.totals.rows) == pytest.approx(0.5)


@every_form
def test_one_class_is_known_from_sums(make):
    assert make([1], [0.2]).one_class
    assert make([1, 1], [0.2, 0.7]).one_class
    assert make([0, 0], [0.2, 0.7]).one_class
    assert not make([0, 1], [0.2, 0.7]).one_class
    assert not make([], []).one_class
    assert make([1, 1], [0.2, 0.7], sample_weight=[0.5, 0.3]).one_class
    assert make([2, 2], P[:2], labels=[0, 1, 2]).one_class
    assert not make([2, 1], P[:2], labels=[0, 1, 2]).one_class
    assert not make([2, 2], P[:2], labels=[0, 1, 2], kind="confidence").one_class


def test_the_class_factor_sums_over_three_classes_or_more():
    two = np.column_stack([P[:, 0], 1 - P[:, 0]])
    assert tn.tally(Y, P).class_factor == 3
    assert tn.tally(Y > 0, two).class_factor == 1
    assert tn.tally(Y > 0, two[:, 1]).class_factor == 1
    assert tn.tally(Y, P, kind="top-label").class_factor == 1
    assert tn.tally(Y, P, kind="confidence").class_factor == 1


@every_form
def test_two_classes_are_the_binary_problem_of_the_second(make):
    p = P[:, 0]
    both = make(Y > 0, np.column_stack([1 - p, p]))
    assert binary_of_two_classes(both).parts[0] == make(Y > 0, p).parts[0]
    assert binary_of_two_classes(both).kind == "binary"
    assert binary_of_two_classes(both).classes is None
    for other in (
        make(Y, P),
        make(Y > 0, p),
        make(Y > 0, np.column_stack([1 - p, p]), kind="top-label"),
    ):
        assert binary_of_two_classes(other) is other


@every_form
def test_zero_may_be_added_and_nothing_else(make):
    sums = make(Y, P)
    assert sums + 0 is sums
    assert sum([sums]) is sums
    for other in (1, 0.0, "0", None):
        with pytest.raises(TypeError):
            sums + other
    with pytest.raises(
        tn.InputError, match=r"got classwise of 3 classes \(0, 1, 2\) and binary of two classes"
    ):
        sums + make([0, 1], [0.2, 0.7])


@every_form
@pytest.mark.parametrize("weights", [None, np.arange(Y.size) % 3])
def test_what_was_added_can_be_subtracted(make, weights):
    def of(some):
        return make(
            Y[some], P[some], **({} if weights is None else {"sample_weight": weights[some]})
        )

    a, b = of(slice(0, 40)), of(slice(40, None))
    if weights is not None and make is tn.binned:
        with pytest.raises(tn.InputError, match="Only sums without rounding can be subtracted"):
            (a + b) - b
        return
    left = (a + b) - b
    measure = tn.ece if make is tn.binned else tn.brier
    assert (measure(left), left.n) == (measure(a), a.n)
    if make is not tn.sketch:  # whose cells keep the range of all scores that they had
        assert left.to_bytes() == a.to_bytes()
    assert (left - a).n == 0
    for bad in (lambda: a - (a + b), lambda: make([], []) - make([1], [0.5])):
        with pytest.raises(
            tn.InputError, match=r"Only rows that the sums hold can be subtracted; .* would have -"
        ):
            bad()
    with pytest.raises(
        tn.InputError, match="Only sums of the same kind can be added or subtracted"
    ):
        a - make([0, 1], [0.2, 0.7])
    with pytest.raises(tn.InputError, match="subtracted; what is left are sums that no rows have"):
        make([0, 0], [0.5, 0.5]) - make([1], [0.5])


def test_sums_of_other_forms_kinds_or_classes_are_not_equal():
    sums = tn.tally(Y, P)
    assert sums == tn.tally(Y, P)
    assert sums != tn.tally(Y, P, kind="top-label")
    assert sums != tn.tally(np.array(["a", "b", "c"])[Y], P)
    assert sums != tn.tally((Y + 1) % 3, P)
    assert sums != tn.sketch(Y, P)


@pytest.mark.parametrize(
    ("classes", "words"),
    [
        (None, "two classes"),
        ((0, 1), "2 classes (0, 1)"),
        (("a", "b", "c", "d"), "4 classes ('a', 'b', 'c', 'd')"),
        (tuple(range(5)), "5 classes (0, 1, 2, 3, …)"),
    ],
)
def test_the_first_four_classes_are_listed(classes, words):
    assert list_classes(classes) == words


def test_bins_without_rows_reach_from_0_to_1():
    for rule in (tn.EqualMass(5), tn.Isotonic(), tn.Distinct(), tn.EqualWidth(1)):
        assert edges_of(rule).tolist() == [0, 1]
    assert edges_of(tn.Edges([0.2, 0.5, 0.7])).tolist() == [0.2, 0.5, 0.7]
    sums = tn.tally([0, 0], [[0.5, 0.5], [0.75, 0.25]], kind="top-label").coarsen(tn.EqualMass(3))
    assert [part.edges.tolist() for part in sums.parts] == [[0, 0.625, 1], [0, 1]]
