"""`Evidence`: what rows, weights, clusters, two columns and missing values mean, decided once."""

from functools import partial

import numpy as np
import pytest

import trueness as tn
from trueness._input.sample import read_sample
from trueness._tally.binned_scores import bin_numbers, bin_starts
from trueness._tally.reading import read_models, read_rows
from trueness._tally.row_sums import bins_of_rows
from trueness._tally.rules import BySize
from trueness._tally.sums_of_rows import Sums
from trueness._tally.tally import Binned

pytestmark = pytest.mark.filterwarnings("ignore::trueness.errors.FewClustersWarning")
Y, A, B = np.array([0, 1, 1, 0]), np.array([0.1, 0.6, 0.7, 0.4]), np.array([0.2, 0.5, 0.9, 0.3])
P3 = np.array([[0.2, 0.5, 0.3], [0.4, 0.4, 0.2], [0.1, 0.2, 0.7], [0.6, 0.3, 0.1]])
C3 = np.array([1, 1, 2, 0])


def read(y=Y, p=A, **options):
    own = {
        name: options.pop(name) for name in ("kind", "two_columns", "cluster") if name in options
    }
    return read_rows(y, p, options, **own)


def test_rows_without_weights_are_the_rows():
    found = read()
    assert (found.view, found.n, found.units.number, found.dropped) == ("binary", 4, 4, 0)
    assert (found.weights, found.whole, found.dependent, found.note) == ("none", True, False, "")
    assert found.position.tolist() == [0, 1, 2, 3]
    assert found.expanded is found
    assert found.cells.score.tolist() == sorted(A)
    assert found.means == pytest.approx((0.45, 0.5, 0.05))


@pytest.mark.parametrize(
    ("w", "weight_type", "weights", "whole", "n"),
    [
        ([2, 0, 1, 3], "auto", "whole", True, 6),
        ([2, 0, 1, 3], "importance", "fractional", False, 3),
        ([0.5, 0, 2.5, 1], "auto", "fractional", False, 3),
    ],
)
def test_weights_count_rows_or_express_importance(w, weight_type, weights, whole, n):
    found = read(sample_weight=w, weight_type=weight_type)
    assert (found.weights, found.whole, found.n, found.weight) == (weights, whole, n, sum(w))
    rows = found.expanded
    assert rows.position.tolist() == ([0, 0, 2, 3, 3, 3] if whole else [0, 2, 3])
    assert rows.sample.p.tolist() == A[rows.position].tolist()
    assert (None if rows.sample.w is None else rows.sample.w.tolist()) == (
        None if whole else [x for x in w if x]
    )


def test_fractions_count_no_rows():
    with pytest.raises(
        tn.InputError, match=r"`sample_weight` must be whole numbers .*, which count rows"
    ):
        read(sample_weight=[0.5, 0, 2.5, 1], weight_type="frequency")


def test_at_most_two_to_the_28_rows():
    with pytest.raises(
        tn.InputError, match="must sum to at most 268,435,456 rows; got 268,435,457"
    ):
        _ = read(sample_weight=[2**28, 0, 1, 0]).expanded


def test_clusters_are_numbered_from_0_and_repeat_with_their_rows():
    assert read(cluster=[7, 3, 3, 9]).cluster.tolist() == [1, 0, 0, 2]
    assert read(cluster=[7, 3, 3, 9]).units.number == 3
    assert read(
        cluster=np.array(["q", 4, None, 4], dtype=object)[[0, 1, 3, 1]]
    ).cluster.tolist() == [0, 1, 1, 1]
    found = read(cluster=["x", "y", "y", "z"], sample_weight=[2, 0, 1, 3]).expanded
    assert found.cluster.tolist() == [0, 0, 1, 2, 2, 2]
    for cluster, words in (
        ([7, 7, 7, 7], "at least 2 clusters; all 4 rows are in one"),
        (np.array([[1], {}, [2], [3], 1], dtype=object)[:4], "names that can be compared"),
        ([[1], [2], [3], [4]], r"one entry per row \(4\); got shape \(4, 1\)"),
    ):
        with pytest.raises(tn.InputError, match=words):
            read(cluster=cluster)


def test_clustered_rows_are_sorted_by_content():
    rows = read([1, 0, 1, 0, 1], [0.3, 0.3, 0.1, 0.9, 0.2], cluster=list("abbab")).clustered
    assert (rows.n, rows.clusters) == (5, 2)
    assert rows.u.sum() == pytest.approx(3 - 1.8)
    assert rows.cluster.tolist() == sorted(rows.cluster)
    for name in range(2):
        pairs = list(
            zip(rows.p[rows.cluster == name], rows.top.y[rows.cluster == name], strict=True)
        )
        assert pairs == sorted(pairs)
    again = read([1, 0, 1, 0, 1], [0.3, 0.3, 0.1, 0.9, 0.2], cluster=list("baaba")).clustered
    assert (again.p.tolist(), again.cluster.tolist()) == (rows.p.tolist(), rows.cluster.tolist())


def test_without_clusters_every_row_is_its_own():
    assert read().clustered.clusters == 4
    assert read().in_clusters is None
    assert read(cluster=[0, 0, 1, 1]).in_clusters.clusters == 2


def test_dropped_rows_are_counted_and_named():
    missing = np.where(np.arange(4) == 1, np.nan, A)
    cluster = np.array([None, "x", "y", "z"], dtype=object)
    with pytest.warns(
        tn.errors.DroppedRowsWarning, match="2 of 4 rows have a missing value and were dropped"
    ):
        found = read(p=missing, cluster=cluster, missing="drop")
    assert (found.position.tolist(), found.dropped, found.cluster.tolist()) == ([2, 3], 2, [0, 1])
    with pytest.warns(
        tn.errors.DroppedRowsWarning,
        match="1 of 4 rows has a missing value in some model and was dropped",
    ):
        both = read_models(Y, {"a": missing, "b": B}, {"missing": "drop"})
    assert [one.rows.p.tolist() for one in both.values()] == [[0.1, 0.7, 0.4], [0.2, 0.9, 0.3]]
    models = {"a": np.array([0.1, np.nan, np.nan, 0.2]), "b": np.array([np.nan, 0.1, 0.1, np.nan])}
    with pytest.raises(tn.InputError, match="at least one row without missing values in any model"):
        read_models(Y, models, {"missing": "drop"})
    assert read(missing="drop").dropped == 0


@pytest.mark.parametrize(
    ("asked", "two_columns", "view"),
    [
        (None, "binary", "binary"),
        (None, "keep", "confidence"),
        ("classwise", "binary", "binary"),
        ("classwise", "keep", "classwise"),
        ("confidence", "binary", "confidence"),
    ],
)
def test_two_columns_are_the_binary_problem_of_the_second_unless_kept(asked, two_columns, view):
    P = np.column_stack([1 - A, A])
    found = read_rows(
        Y, P, {} if asked is None else {"kind": asked}, kind="confidence", two_columns=two_columns
    )
    assert (found.view, found.two_columns) == (view, view == "binary")
    assert ("the event is the second, 1" in found.note) == (view == "binary")
    if view == "binary":
        assert found.rows.p.tolist() == A.tolist()
    sums = tn.tally(Y, P, kind=asked or "classwise")
    assert read_rows(sums, None, {}, two_columns=two_columns).two_columns == (
        two_columns != "keep" and sums.kind == "classwise"
    )


@pytest.mark.parametrize("options", [{}, {"sample_weight": [2, 0, 1, 3]}, {"from_logits": True}])
def test_the_classes_of_a_large_matrix_are_made_when_they_are_needed(options, monkeypatch):
    P = np.log(P3) if options.get("from_logits") else P3
    usual = read_rows(C3, P, options, kind="confidence").every_class
    monkeypatch.setattr("trueness._tally.classes._LARGE", 0)
    large = read_rows(C3, P, options, kind="confidence").every_class
    assert not isinstance(large.sums.parts, tuple)
    assert large.sums.parts[:] == usual.sums.parts
    assert tn.corp(large.sums) == tn.corp(usual.sums)
    assert large.binned(2) == usual.binned(2)
    names, problems = zip(*large.each_class(), strict=True)
    assert names == (0, 1, 2)
    assert [one.cells for one in problems] == list(usual.sums.parts)


def test_views_of_a_matrix():
    found = read_rows(C3, P3, {}, kind="confidence")
    assert (found.view, found.classes) == ("confidence", (0, 1, 2))
    assert (found.sample.p.tolist(), found.sample.y.tolist()) == (
        [0.5, 0.4, 0.7, 0.6],
        [1, 0, 1, 1],
    )
    assert found.matrix.p.tolist() == P3.tolist()
    assert [one.cells.events.sum() for _, one in found.each_class()] == [1, 2, 1]
    assert found.every_class.view == "classwise"
    assert read_rows(C3, P3, {"kind": "top-label"}).view == "top-label"
    with pytest.raises(
        tn.InputError, match="`kind` must be 'confidence' for a walk; got 'classwise'"
    ):
        read_rows(C3, P3, {}).require_one("a walk")


def test_sums_have_no_rows_and_bins_no_single_scores():
    sums = read_rows(tn.tally(Y, A), None, {})
    assert (sums.n, sums.rows, sums.cells.size) == (4, None, 4)
    with pytest.raises(tn.InputError, match="This needs whole rows of scores; a Tally has none"):
        _ = sums.matrix
    bins = read_rows(tn.binned(Y, A, bins=4), None, {})
    assert bins.tally is None
    with pytest.raises(tn.InputError, match="needs every distinct score; bins do not keep them"):
        bins.tally_in()
    without = Binned("binary", (bins_of_rows(read_sample(Y, A), tn.EqualWidth(2), moments=False),))
    with pytest.raises(tn.InputError, match="without second moments"):
        Sums.read(without).binned(2)
    assert "From a sketch" in read_rows(tn.sketch(Y, A), None, {}).note
    with pytest.raises(
        tn.InputError, match="`cluster` needs labels and scores; a Tally holds only sums of rows"
    ):
        read(tn.tally(Y, A), None, cluster=[0, 0, 1, 1])


def test_bins_may_depend_on_the_number_of_rows():
    found = read(sample_weight=[2, 2, 2, 2]).binned(BySize(lambda n: tn.EqualWidth(round(n))))
    assert found.parts[0].size == 8
    p = np.array([0.95, 0.2, 0.15, 0.1, 0.95])
    cells, sample = (
        tn.tally(np.zeros(5, int), p).parts[0],
        read_rows(np.arange(5) % 2, p, {}).sample,
    )
    assert bin_starts(cells, tn.EqualWidth(10)).tolist() == [0, 2, 3]
    assert bin_starts(cells, tn.EqualWidth(1)).tolist() == [0]
    assert bin_numbers(sample, tn.EqualWidth(10)).tolist() == [2, 1, 0, 0, 2]


def test_the_warning_of_one_class_is_given_once():
    found = read(np.ones(4, int))
    with pytest.warns(tn.errors.OneClassWarning, match="All 4 labels are equal"):
        _ = found.sums
    assert found.binned(2).n == 4  # a second warning would be an error
    for _ in range(2):  # that there are few rows belongs to the answer, whoever asked before
        with pytest.warns(tn.errors.FewRowsWarning, match=r"fewer rows \(4\) than bins \(5\)"):
            found.binned(5)
    found.at(np.array([0, 1])).sums  # noqa: B018


@pytest.mark.parametrize("function", [tn.ece, tn.estimate, tn.verdict, tn.curve_band])
def test_a_score_out_of_range_is_an_error_whatever_its_weight(function):
    last_is_bad = np.array([0.1, 0.6, 0.7, 1.4])
    arguments = ("ece", Y, last_is_bad) if function is tn.estimate else (Y, last_is_bad)
    with pytest.raises(tn.InputError, match=r"the first is 1\.4 at row 3"):
        function(*arguments, sample_weight=[1, 1, 1, 0])


def test_models_must_be_alike_and_errors_name_them():
    with pytest.raises(tn.InputError, match="'a' is a vector and 'b' is a matrix of 3 columns"):
        read_models(Y, {"a": A, "b": P3[:, :3] * 0 + 1 / 3}, {})
    with pytest.raises(
        tn.InputError, match="'a' is a matrix of 3 columns and 'b' is a matrix of 4 columns"
    ):
        read_models(Y, {"a": np.full((4, 3), 1 / 3), "b": np.full((4, 4), 1 / 4)}, {})
    with pytest.raises(tn.InputError, match=r"^Model 'b': .* one entry per row"):
        read_models(Y, {"a": A, "b": B[:3]}, {})
    with pytest.raises(tn.InputError, match=r"^(?!Model).* one entry per row"):
        read(p=B[:3])
    with pytest.raises(tn.InputError, match="must have the labels of every model"):
        read_models({"a": Y}, {"a": A, "b": B}, {})


def test_some_of_the_rows():
    found = read(cluster=[5, 6, 5, 7], sample_weight=[1, 2, 3, 4]).at(
        np.array([True, False, True, True])
    )
    assert (found.rows.p.tolist(), found.rows.w.tolist()) == ([0.1, 0.7, 0.4], [1, 3, 4])
    assert (found.cluster.tolist(), found.position.tolist()) == ([0, 0, 1], [0, 2, 3])
    assert read().rounded(0.1).rounded_to == 0.1
    assert read().rounded(None).rounded_to is None
    with pytest.raises(tn.InputError, match="`rounded_to` must lie strictly between 0 and 1"):
        read().rounded(2)


@pytest.mark.parametrize("weight", [1e9, 1e14])
def test_whole_weights_that_count_too_many_rows_are_not_silently_sampling_weights(weight):
    y, p = np.arange(100) % 2, np.linspace(0.01, 0.99, 100)
    w = np.full(100, weight)
    for ask in (
        partial(tn.grade_table, bins=2),
        lambda *a, **o: tn.segments(*a, {"g": y}, **o),
        tn.calibration_test,
    ):
        with pytest.raises(
            tn.InputError, match=r"`sample_weight` must sum to less than 2³⁵ .* whole numbers"
        ):
            ask(y, p, sample_weight=w)
    mapped = tn.AutoCalibration().fit(p, y, sample_weight=w).predict(p[1:])
    np.testing.assert_allclose(mapped, tn.AutoCalibration().fit(p, y).predict(p[1:]), rtol=2e-3)


def test_results_say_what_weights_were_taken_for():
    p = np.random.default_rng(5).random(60)
    y = np.arange(60) % 2
    for w, words in (
        (2, "Weights are whole numbers and count rows"),
        (1.5, "sampling weights: each row counts once"),
    ):
        rows = {"sample_weight": np.full(60, w)}
        assert words in tn.calibration_test(y, p, seed=0, **rows).assumptions
        assert words in tn.estimate("observed_expected", y, p, floor=False, **rows).note
    assert "eights" not in tn.calibration_test(y, p, seed=0, sample_weight=np.ones(60)).assumptions
