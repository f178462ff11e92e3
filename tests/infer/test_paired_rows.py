"""The rows that several models scored: weights, clusters, missing values, limits and messages."""

import numpy as np
import pytest

import trueness as tn
from trueness._input.sample import Sample
from trueness.infer import _paired_rows
from trueness.infer._paired_rows import PairedRows, bin_numbers, check_models, read_rows, top_scores, warn_few_rows

Y, A, B = np.array([0, 1, 1, 0]), np.array([0.1, 0.6, 0.7, 0.4]), np.array([0.2, 0.5, 0.9, 0.3])


def read(models=None, cluster=None, *, importance=False, **rows):
    return read_rows(Y, models or {"a": A, "b": B}, cluster, rows, kind="confidence", importance=importance)


def test_rows_without_weights_are_the_rows():
    found = read()
    assert (found.n, found.units, found.dropped, found.cluster, found.weight) == (4, 4, 0, None, None)
    assert found.row.tolist() == [0, 1, 2, 3]
    assert found.samples["b"].p.tolist() == B.tolist()


def test_whole_weights_repeat_rows_and_clusters():
    found = read(cluster=["x", "y", "y", "z"], sample_weight=[2, 0, 1, 3])
    assert found.row.tolist() == [0, 0, 2, 3, 3, 3]
    assert found.samples["a"].p.tolist() == [0.1, 0.1, 0.7, 0.4, 0.4, 0.4]
    assert found.samples["a"].w is None
    assert found.cluster.tolist() == [0, 0, 1, 2, 2, 2]
    assert (found.n, found.units, found.weight) == (6, 3, None)


def test_importance_weights_are_kept_and_rows_of_weight_zero_left_out():
    found = read(importance=True, sample_weight=[0.5, 0, 2.5, 1])
    assert found.row.tolist() == [0, 2, 3]
    assert found.weight.tolist() == found.samples["b"].w.tolist() == [0.5, 2.5, 1]
    assert found.samples["b"].p.tolist() == [0.2, 0.9, 0.3]
    every = read(importance=True, sample_weight=[0.5, 1, 2.5, 1])
    assert every.weight.tolist() == [0.5, 1, 2.5, 1]
    assert read(importance=True).weight is None


def test_weights_that_repeat_too_many_rows_are_refused(monkeypatch):
    monkeypatch.setattr(_paired_rows, "_MOST_ROWS", 6)
    assert read(sample_weight=[2, 0, 1, 3]).n == 6
    with pytest.raises(tn.InputError, match="`sample_weight` must sum to at most 6 rows; got 7"):
        read(sample_weight=[2, 1, 1, 3])


def test_at_most_two_to_the_28_rows():
    with pytest.raises(tn.InputError, match="must sum to at most 268,435,456 rows; got 268,435,457"):
        read(sample_weight=[2**28, 0, 1, 0])


@pytest.mark.filterwarnings("ignore::trueness.DroppedRowsWarning")
def test_weights_of_zero_only_are_refused():
    first, second = np.array([np.nan, 0.5, 0.9, 0.3]), np.array([0.5, np.nan, 0.9, 0.3])
    for importance in (False, True):
        with pytest.raises(tn.InputError, match="`sample_weight` must be above 0 in at least one row"):
            read({"a": first, "b": second}, sample_weight=[1, 1, 0, 0], importance=importance, missing="drop")


@pytest.mark.parametrize(
    ("models", "words"),
    [({"a": A}, "with `cluster`: they count rows.$"), ({"a": A, "b": B}, "to compare models: .* For")],
)
def test_fractional_weights_that_should_count_rows_are_refused(models, words):
    with pytest.raises(tn.InputError, match=f"`sample_weight` must be whole numbers {words}"):
        read(models, sample_weight=[0.5, 1, 1, 1])


def test_dropped_rows_are_counted_and_named():
    missing = A.copy()
    missing[1] = np.nan
    with pytest.warns(tn.DroppedRowsWarning, match="2 of 4 rows have a missing value in some model and were dropped"):
        found = read({"a": missing, "b": B}, [None, "x", "y", "x"], missing="drop")
    assert (found.row.tolist(), found.dropped, found.cluster.tolist()) == ([2, 3], 2, [0, 1])
    assert found.samples["a"].p.tolist() == [0.7, 0.4]
    with pytest.warns(tn.DroppedRowsWarning, match="1 of 4 rows have a missing value and were dropped"):
        read({"a": missing}, missing="drop")
    with pytest.raises(tn.InputError, match="at least one row without missing values in any model"):
        read({"a": np.array([0.1, np.nan, np.nan, 0.2]), "b": np.array([np.nan, 0.1, 0.1, np.nan])}, missing="drop")
    kept = read({"a": A}, missing="drop")
    assert kept.dropped == 0


def test_clusters_are_numbered_from_0():
    assert read(cluster=[7, 3, 3, 9]).cluster.tolist() == [1, 0, 0, 2]
    assert read(cluster=np.array(["q", 4, None, 4], dtype=object)[[0, 1, 3, 1]]).cluster.tolist() == [0, 1, 1, 1]
    assert read(cluster=[7, 3, 3, 9]).units == 3
    with pytest.raises(tn.InputError, match="at least 2 clusters; all 4 rows are in one"):
        read(cluster=[7, 7, 7, 7])
    with pytest.raises(tn.InputError, match="names that can be compared"):
        read(cluster=np.array([[1], {}, [2], [3], 1], dtype=object)[:4])
    with pytest.raises(tn.InputError, match=r"one entry per row \(4\); got shape \(4, 1\)"):
        read(cluster=[[1], [2], [3], [4]])


def test_one_cluster_has_one_unit():
    rows = PairedRows({}, "confidence", np.arange(3), np.array([0, 0, 0]))
    assert (rows.n, rows.units, rows.dropped) == (3, 1, 0)


def test_models_must_be_alike():
    P3 = np.full((4, 3), 1 / 3)
    with pytest.raises(tn.InputError, match="'a' is a vector and 'b' is a matrix of 3 columns"):
        read_rows([0, 1, 1, 0], {"a": A, "b": P3}, None, {}, kind="confidence")
    with pytest.raises(tn.InputError, match="'a' is a matrix of 3 columns and 'b' is a matrix of 4 columns"):
        read_rows([0, 1, 1, 0], {"a": P3, "b": np.full((4, 4), 1 / 4)}, None, {}, kind="confidence")


@pytest.mark.parametrize(
    ("models", "words"),
    [
        ([A, B], "must be a dict of names and scores.*got list.$"),
        ({}, "at least 2 models to compare; got 0"),
        ({"a": A}, "at least 2 models to compare; got 1"),
        ({"a": A, 1: B}, "must have strings as names; got 1. Use '1'"),
        ({"a": A, "b": tn.tally(Y, B)}, "'b' is a Tally, which holds only sums of rows"),
    ],
)
def test_models_are_two_or_more_scores_by_name(models, words):
    with pytest.raises(tn.InputError, match=words):
        check_models(models)
    check_models({"a": A, "b": B})


def test_the_largest_score_of_a_row_and_whether_its_class_is_the_label():
    P = np.array([[0.2, 0.5, 0.3], [0.4, 0.4, 0.2], [0.1, 0.2, 0.7]])
    top = top_scores(Sample(np.array([1, 1, 2]), P))
    assert (top.p.tolist(), top.y.tolist()) == ([0.5, 0.4, 0.7], [1, 0, 1])
    vector = Sample(Y, A)
    assert top_scores(vector) is vector


def test_fewer_rows_than_bins_are_warned_of():
    with pytest.warns(tn.FewRowsWarning, match=r"fewer rows \(4\) than bins \(5\)"):
        warn_few_rows(4, tn.EqualMass(5))
    warn_few_rows(5, tn.EqualMass(5))


def test_bins_are_numbered_over_those_with_rows():
    sample = Sample(np.zeros(5, dtype=int), np.array([0.95, 0.2, 0.15, 0.1, 0.95]))
    assert bin_numbers(sample, tn.EqualWidth(10)).tolist() == [2, 1, 0, 0, 2]


def test_the_kind_of_the_options_comes_before_the_usual_one():
    P3 = np.array([[0.2, 0.5, 0.3], [0.4, 0.4, 0.2], [0.1, 0.2, 0.7]])
    for asked, kind in ((None, "confidence"), ("top-label", "top-label"), ("classwise", "classwise")):
        assert read_rows([1, 1, 2], {"a": P3}, None, {"kind": asked}, kind="confidence").kind == kind
    assert read_rows([1, 1, 2], {"a": P3}, None, {}, kind="classwise").kind == "classwise"


def test_errors_name_the_model_unless_there_is_only_one_without_a_name():
    with pytest.raises(tn.InputError, match=r"^Model 'b': .* one entry per row"):
        read({"a": A, "b": B[:3]})
    with pytest.raises(tn.InputError, match=r"^(?!Model).* one entry per row"):
        read({"": B[:3]})
