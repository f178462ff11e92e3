"""What is known of the rows of one model: sums, rows, clusters and weights, in every view."""

import numpy as np
import pytest

import trueness as tn
from trueness.errors import OneClassWarning
from trueness.infer._observed_rows import observe, quietly

Y, P = np.array([0, 1, 1, 0, 1, 0]), np.array([0.1, 0.6, 0.6, 0.4, 0.9, 0.2])
C = np.array([0, 1, 2, 0, 1, 2])
M = np.array([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]] * 2)
G = np.arange(6) % 3

pytestmark = pytest.mark.filterwarnings("ignore::trueness.FewClustersWarning")


def seen(y, p, cluster=None, **rows):
    return observe(y, p, rows, level=0.9, seed=3, cluster=cluster)


def same_tally(a, b):
    assert (a.kind, a.classes, a.n) == (b.kind, b.classes, b.n)
    assert len(a.parts) == len(b.parts)
    for one, other in zip(a.parts, b.parts, strict=True):
        np.testing.assert_allclose(one.score, other.score)
        np.testing.assert_allclose(one.weight.astype(float), other.weight.astype(float))
        np.testing.assert_allclose(one.events.astype(float), other.events.astype(float))


def test_a_vector_is_its_tally():
    found = seen(Y, P)
    same_tally(found.tally, tn.tally(Y, P))
    assert (found.level, found.n, found.note) == (0.9, 6, "")
    assert (found.whole, found.dependent, found.floors) == (True, False, True)
    assert found.one is found.tally.parts[0]
    assert (found.sample, found.sample_cluster, found.clustered) == (None, None, None)
    assert found.rng.random() == np.random.default_rng(3).random()


@pytest.mark.parametrize("kind", ["classwise", "confidence", "top-label"])
def test_a_matrix_is_its_tally_in_the_view_asked_for(kind):
    for found in (seen(C, M, kind=kind), observe(C, M, {}, level=0.9, seed=0, kind=kind)):
        same_tally(found.tally, tn.tally(C, M, kind=kind))
        assert (found.sample is not None) == (kind == "classwise")
        assert (found.one is None) == (kind != "confidence")
        assert found.n == 6
    chosen = observe(C, M, {"kind": "confidence"}, level=0.9, seed=0, kind="classwise")
    assert chosen.tally.kind == "confidence"


def test_two_columns_are_the_binary_problem_of_the_second_unless_a_kind_is_given():
    both = np.column_stack([1 - P, P])
    for cluster in (None, G):
        found = seen(Y, both, cluster)
        same_tally(found.tally, tn.tally(Y, P))
        assert found.note == "The two columns of scores are one binary problem: the event is the second."
        assert found.sample is None
        named = seen(Y, both, cluster, kind="confidence")
        assert (named.tally.kind, named.note) == ("confidence", "")


def test_rows_are_counted_by_whole_weights_and_not_by_others():
    whole = seen(Y, P, sample_weight=[2, 1, 0, 3, 1, 1])
    assert (whole.n, whole.whole) == (8, True)
    other = seen(Y, P, sample_weight=[0.5, 1, 0, 3, 1, 1])
    assert (other.n, other.whole) == (5, False)
    bins = seen(tn.binned(Y, P, bins=4, sample_weight=[2, 1, 0, 3, 1, 1]), None)
    assert (bins.n, bins.whole, bins.tally) == (8, True, None)
    assert bins.parts == bins.sums.parts
    assert seen(tn.binned(Y, P, bins=4, sample_weight=[0.5, 1, 0, 3, 1, 1]), None).n == 5


@pytest.mark.parametrize("weight", [None, [2, 1, 0, 3, 1, 1], [0.5, 1, 0, 3.5, 1, 1]])
def test_clusters_of_a_vector_keep_its_sums(weight):
    found = seen(Y, P, G, sample_weight=weight)
    same = tn.tally(Y, P, sample_weight=weight)
    assert found.tally.kind == "binary"
    np.testing.assert_allclose(found.one.weight.astype(float), same.parts[0].weight.astype(float))
    np.testing.assert_allclose(found.one.events.astype(float), same.parts[0].events.astype(float))
    assert found.dependent
    assert found.clustered.clusters == 3
    assert (found.clustered.weight is None) == (weight is None or weight[0] == 2)
    usual = observe(Y, P, {"sample_weight": weight}, level=0.9, seed=3, cluster=G, kind="confidence")
    same_tally(usual.tally, found.tally)


@pytest.mark.all_cases
@pytest.mark.parametrize("weight", [None, [2, 1, 0, 3, 1, 1], [0.5, 1, 0, 3.5, 1, 1]])
@pytest.mark.parametrize("kind", ["classwise", "confidence", "top-label"])
def test_clusters_of_a_matrix_keep_its_sums(kind, weight):
    found = seen(C, M, G, kind=kind, sample_weight=weight)
    expected = tn.tally(C, M, kind=kind, sample_weight=weight)
    assert (found.tally.kind, found.tally.classes) == (kind, expected.classes)
    for one, other in zip(found.tally.parts, expected.parts, strict=True):
        np.testing.assert_allclose(one.weight.astype(float), other.weight.astype(float))
        np.testing.assert_allclose(one.events.astype(float), other.events.astype(float))
    assert (found.clustered is None) == (kind != "confidence")
    assert (found.sample_cluster is None) == (kind == "confidence")
    if kind != "confidence":
        rows = np.repeat(G, weight) if weight is not None and weight[0] == 2 else G
        rows = rows if weight is None or weight[0] == 2 else G[np.array(weight) > 0]
        assert found.sample_cluster.tolist() == rows.tolist()


def test_a_sketch_is_at_the_mean_scores_of_its_cells():
    found = seen(tn.sketch(Y, P), None)
    assert found.note == "From a sketch: all scores of a cell are at their mean."
    assert found.tally.n == 6
    assert seen(tn.tally(Y, P), None).note == ""


@pytest.mark.parametrize("make", [tn.tally, tn.binned, tn.sketch])
def test_sums_hold_labels_scores_and_weights(make):
    sums = make(Y, P)
    name = type(sums).__name__
    with pytest.raises(tn.InputError, match=f"`cluster` needs labels and scores; a {name} holds only sums of rows"):
        seen(sums, None, G)
    with pytest.raises(tn.InputError, match=f"`y_prob` must be left out when a {name} is passed"):
        seen(sums, P)
    with pytest.raises(tn.InputError, match=f"`sample_weight` describes rows; this {name} already holds their sums"):
        seen(sums, None, sample_weight=np.ones(6))
    with pytest.raises(tn.InputError, match="`kind` describes rows"):
        seen(sums, None, kind="confidence")
    assert observe(sums, None, {"sample_weight": None}, level=0.9, seed=0).sums is sums


def test_sums_may_be_asked_for_the_view_that_they_have():
    sums = tn.tally(C, M, kind="confidence")
    assert observe(sums, None, {"kind": "confidence"}, level=0.9, seed=0).sums is sums
    for rows in ({"kind": "classwise"}, {"missing": "confidence"}, {"sample_weight": "confidence"}):
        with pytest.raises(tn.InputError, match="describes rows"):
            observe(sums, None, rows, level=0.9, seed=0)


def test_empty_sums_are_refused():
    with pytest.raises(tn.InputError, match=r"An empty Tally has no calibration error. Add rows to it first."):
        seen(tn.tally([], []), None)


def test_equal_labels_are_warned_of_and_quiet_calls_are_not():
    with pytest.warns(OneClassWarning):
        seen([0, 0], [0.2, 0.3])
    assert quietly(seen, [0, 0], [0.2, 0.3]).n == 2
