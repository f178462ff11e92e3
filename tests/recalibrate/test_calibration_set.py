"""Rows and scores are accepted or refused with the number, the place and the way out."""

import numpy as np
import pytest

from trueness import InputError, OneClassWarning
from trueness.recalibrate._calibration_set import (
    CalibrationSet,
    accept_probabilities,
    accept_rows,
    accept_scores,
    check_column_order,
    column_names,
    group_codes,
    score_names,
    single_column,
)

M = np.array([[0.2, 0.8], [0.7, 0.3], [0.5, 0.5]])


def test_parts_have_equal_shares_of_rows_and_events_and_lose_none():
    rng = np.random.default_rng(0)
    rows = CalibrationSet(rng.random(23), (np.arange(23) < 9).astype(int), rng.random(23), None)
    parts = rows.split(4, 1)
    assert len(parts) == 4
    sizes, events = [part.y.size for part in parts], [part.y.sum() for part in parts]
    assert max(sizes) - min(sizes) <= 1 >= max(events) - min(events)
    own = dict(zip(rows.p, zip(rows.y, rows.w, strict=True), strict=True))
    assert sorted(np.concatenate([part.p for part in parts])) == sorted(rows.p)
    assert all(own[p] == (y, w) for part in parts for p, y, w in zip(*part[:3], strict=True))
    again, other = rows.split(4, 1), rows.split(4, 2)
    assert all((a.p == b.p).all() for a, b in zip(parts, again, strict=True))
    assert any(a.p.tolist() != b.p.tolist() for a, b in zip(parts, other, strict=True))
    # Each part keeps the order of the rows.
    assert all((np.diff(np.flatnonzero(np.isin(rows.p, part.p))) > 0).all() for part in parts)
    assert all(part.p.tolist() == rows.p[np.isin(rows.p, part.p)].tolist() for part in parts)


def test_rows_without_weight_are_left_out():
    found = accept_rows([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1], [1.0, 0.0, 0.5, 2.0])
    assert (found.p.tolist(), found.y.tolist(), found.w.tolist()) == ([0.1, 0.3, 0.4], [0, 0, 1], [1.0, 0.5, 2.0])
    assert found.weights.tolist() == found.w.tolist()
    plain = accept_rows([0.1, 0.2], [0, 1], None)
    assert (plain.w, plain.weights.tolist()) == (None, [1.0, 1.0])


@pytest.mark.all_cases
@pytest.mark.parametrize(
    ("y", "w", "n"),
    [([0, 0, 0], None, 3), ([1, 1, 1], None, 3), ([1, 1, 1], [1, 2, 3], 3), ([0, 1, 0], [1, 0, 2], 2)],
)
def test_labels_that_are_all_equal_are_counted_in_a_warning(y, w, n):
    with pytest.warns(OneClassWarning, match=f"^All {n} labels are equal: the calibrator sees one class only"):
        accept_rows([0.1, 0.2, 0.3], y, w)
    with pytest.warns(OneClassWarning, match=f"^All {n} labels are equal"):
        accept_rows(np.column_stack([M[:, 0], M[:, 1]]), y, w, shape="matrix")


def test_one_label_that_differs_is_enough():
    for y in ([0, 0, 1], [1, 0, 0], [1, 1, 0]):
        for w in (None, [1, 2, 3]):
            assert accept_rows([0.1, 0.2, 0.3], y, w).y.tolist() == y


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floats_keep_their_type_and_whole_numbers_become_floats(dtype):
    assert accept_rows(np.array([0.25, 0.5], dtype), [0, 1], None).p.dtype == dtype
    assert accept_scores(np.array([0, 1])).dtype == np.float64
    assert accept_scores(np.array([3, -4], dtype), scale="logits").dtype == dtype


def test_scores_have_one_or_two_dimensions():
    deep = np.full((2, 2, 1), 0.5)
    for accept in (accept_probabilities, lambda scores: accept_scores(scores, scale="logits")):
        with pytest.raises(InputError, match=r"`y_prob` must have one or two dimensions; got 3 \(shape \(2, 2, 1\)\)"):
            accept(deep)
    with pytest.raises(InputError, match=r"`y_prob` must be a vector, as in `fit`; got shape \(2, 2, 1\)"):
        accept_scores(deep)


def test_scores_have_the_columns_of_the_fit():
    assert accept_scores(M, classes=2).tolist() == M.tolist()
    for scores, shape in ((M, r"\(3, 2\)"), (np.array([0.5]), r"\(1,\)")):
        with pytest.raises(InputError, match=f"must be a matrix of 3 columns, as in `fit`; got shape {shape}"):
            accept_scores(scores, classes=3)
    with pytest.raises(InputError, match=r"must be a vector, as in `fit`; got shape \(3, 2\)"):
        accept_scores(M)


def test_rows_sum_to_one_but_for_a_millionth():
    good = np.array([[0.5, 0.5 + 9e-7], [0.5, 0.5 - 9e-7]])
    assert accept_probabilities(good).tolist() == good.tolist()
    for bad in ([[0.5, 0.5 + 2e-6]], [[0.5, 0.5 - 2e-6]]):
        with pytest.raises(InputError, match="must sum to 1"):
            accept_probabilities(np.array(bad))
    assert accept_probabilities(np.array([0.0, 1.0])).tolist() == [0.0, 1.0]
    assert accept_probabilities(np.zeros((0, 2))).shape == (0, 2)
    for alone in (1.5, -0.5):
        with pytest.raises(InputError, match=r"must lie in \[0, 1\]; 1 of 1"):
            accept_probabilities(np.array([alone]))


@pytest.mark.all_cases
@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.array([0.0, 2e300]), r"as logits must be within ±1e\+300; 1 of 2 is not, the first is 2e\+300 at row 1"),
        (np.array([1e300, 2e300]), r"within ±1e\+300; 1 of 2 is not, the first is 2e\+300 at row 1"),
        (np.array([-2e300, 3e300, 1]), r"within ±1e\+300; 2 of 3 are not, the first is -2e\+300 at row 0"),
        (np.array([0.0, np.inf]), "as logits must be finite; 1 of 2 is not, the first is inf at row 1"),
        (np.array([0.0, -np.inf], np.float32), "as logits must be finite; 1 of 2 is not, the first is -inf at row 1"),
        (np.array([[0.0, 1.0], [-np.inf, 2.0]]), "finite; 1 of 4 is not, the first is -inf at row 1, column 0"),
        (np.array([0.0, np.nan]), "must not have missing values; 1 of 2"),
        (np.array([0.0, np.nan], np.float32), "must not have missing values; 1 of 2"),
    ],
)
def test_logits_must_be_finite_and_leave_room_for_a_temperature(values, message):
    with pytest.raises(InputError, match=message):
        accept_scores(values, scale="logits", classes=None if values.ndim == 1 else 2)


@pytest.mark.parametrize(
    "values",
    [
        np.array([1e300, -1e300]),
        np.array([3e38, 3e38, 3e38], np.float32),
        np.array([6e4, 6e4, -6e4], np.float16),
        np.zeros(0),
        np.zeros(0, np.float32),
    ],
)
def test_the_largest_logits_are_accepted(values):
    assert accept_scores(values, scale="logits") is values


def test_names_of_columns_are_those_of_frames():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    polars = pytest.importorskip("polars", reason="Polars is not installed")
    frame = pandas.DataFrame(M, columns=["a", "b"])
    assert column_names(frame) == column_names(polars.from_pandas(frame)) == ("a", "b")
    assert column_names(frame.set_axis([7, 8], axis=1)) == (7, 8)
    assert column_names(pandas.DataFrame(M)) is None
    assert column_names(frame.set_axis([1.5, 2.5], axis=1)) is None
    assert column_names(M) is None
    assert score_names(frame) == ("a", "b")
    assert score_names(frame.set_axis([7, 8], axis=1)) is None
    assert score_names(frame["a"]) == ("a",)
    assert score_names(M) is None


def test_a_single_column_is_a_vector_and_nothing_else_is_changed():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    assert single_column(M[:, :1]).tolist() == M[:, 0].tolist()
    assert single_column(pandas.DataFrame({"a": M[:, 0]})).tolist() == M[:, 0].tolist()
    row = np.array([[[0.5]]])
    for same in (M, M[:, 0], M.T[:1], row, [[0.5]], pandas.DataFrame(M)):
        assert single_column(same) is same


def test_groups_are_numbered_and_must_be_one_per_row():
    assert group_codes(["b", "a", "b"], "cluster", 3).tolist() == [1, 0, 1]
    with pytest.raises(InputError, match=r"`cluster` must have one entry per row \(1,000\); got shape \(2,\)"):
        group_codes([1, 2], "cluster", 1000)
    with pytest.raises(InputError, match=r"`cluster` must have one entry per row \(2\); got shape \(2, 2\)"):
        group_codes(np.zeros((2, 2)), "cluster", 2)


@pytest.mark.parametrize(("n", "end"), [(8, "'c7'"), (9, "'c7', …")])
def test_the_first_eight_columns_are_named(n, end):
    fitted = tuple(f"c{k}" for k in range(n))
    with pytest.raises(InputError, match="has the columns of `fit` in another order") as refused:
        check_column_order(fitted[::-1], fitted, fitted)
    assert str(refused.value).rstrip(".").endswith(end)
    other = tuple(f"d{k}" for k in range(n))
    with pytest.raises(InputError, match="must have the columns of `fit`") as refused:
        check_column_order(other, fitted, fitted)
    assert "got 'd0', 'd1', 'd2', 'd3', 'd4', 'd5', 'd6', 'd7'." in str(refused.value)


def test_columns_with_other_names_than_the_classes_are_taken_by_position():
    assert check_column_order(("x", "y"), None, ("a", "b")) is None
    assert check_column_order(("a", "b"), None, ("a", "b")) is None
    assert check_column_order(None, ("a", "b"), ("a", "b")) is None
    with pytest.raises(InputError, match="another order; the order must be 'a', 'b'"):
        check_column_order(("b", "a"), None, ("a", "b"))


def test_a_shape_that_a_calibrator_does_not_take_has_a_way_out():
    with pytest.raises(InputError, match=r"must be a vector of P\(positive\) for this calibrator; got shape \(3, 2\)"):
        accept_rows(M, [0, 1, 1], None)
    with pytest.raises(
        InputError, match=r"must be a matrix, one column per class, .*; it is a vector\. `np\.column_st"
    ):
        accept_rows(M[:, 0], [0, 1, 1], None, shape="matrix")
    for scores in (M, M[:, 0]):
        assert accept_rows(scores, [0, 1, 1], None, shape="any").p.tolist() == scores.tolist()


def test_labels_of_logits_are_checked_beside_their_shape():
    logits = np.array([[2.0, -3.0, 1.0], [0.0, 5.0, -1.0]])
    found = accept_rows(logits, ["c", "a"], None, labels=["a", "b", "c"], scale="logits", shape="any")
    assert found.p.tolist() == logits.tolist()
    assert (found.y.tolist(), found.classes) == ([2, 0], ("a", "b", "c"))
    with pytest.raises(InputError, match="got 3 labels and 2 scores"):
        accept_rows([2.0, -3.0], [0, 1, 1], None, scale="logits")
