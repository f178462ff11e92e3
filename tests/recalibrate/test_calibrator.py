"""What every calibrator does with rows and scores: it takes them, or refuses them with the place and the way out."""

import json
import pickle
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from toy_calibrators import Shares

import trueness as tn
from trueness import InputError, IsotonicCalibration, OneVsRest, PlattScaling, TemperatureScaling
from trueness.errors import OneClassWarning, OwnRowsWarning
from trueness.recalibrate import VectorScaling, calibrator_from_dict, load_calibrator

P, Y = [0.2, 0.4, 0.6], [0, 1, 1]
ROWS = np.array(
    [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.4, 0.1, 0.5]]
)
CLASSES = [2, 0, 1, 2, 1]
NAMES = ["a", "b", "c"]


def test_rows_without_weight_are_left_out_and_others_are_repetitions():
    weighted = Shares(1).fit(P, Y, sample_weight=[2, 1, 0])
    assert weighted.shares_ == Shares(1).fit([0.2, 0.2, 0.4], [0, 0, 1]).shares_ == [1 / 3]
    assert weighted.n_rows_ == 2


def test_an_unfitted_calibrator_refuses_to_predict():
    for method in (
        lambda c: c.predict(P),
        lambda c: c.to_dict(),
        lambda c: c.to_sql(),
        lambda c: c.to_onnx(),
    ):
        with pytest.raises(NotFittedError):
            method(PlattScaling())


@pytest.mark.parametrize("n", [2, 511, 512, 1300])
def test_the_fitted_rows_are_a_warning_and_others_are_not(n):
    p = np.linspace(0, 1, n)
    fitted = Shares().fit(p, np.arange(n) % 2)
    with pytest.warns(OwnRowsWarning, match=f"the {n:,} rows that the calibrator was fitted on"):
        fitted.predict(p)
    for other in (p[::-1], p[1:], p**0.5 / 2):
        assert fitted.predict(other).shape == other.shape


@pytest.mark.filterwarnings("ignore::trueness.errors.OneClassWarning")
def test_a_single_row_may_be_predicted_again():
    assert Shares().fit([0.2], [1]).predict([0.2]).tolist() == [1.0]


@pytest.mark.filterwarnings("ignore::trueness.errors.SeparableWarning")
@pytest.mark.parametrize(
    ("y", "w", "n"),
    [
        ([0, 0, 0], None, 3),
        ([1, 1, 1], None, 3),
        ([1, 1, 1], [1, 2, 3], 3),
        ([0, 1, 0], [1, 0, 2], 2),
    ],
)
def test_labels_that_are_all_equal_are_counted_in_a_warning(y, w, n):
    for calibrator, p in (
        (Shares(), P),
        (VectorScaling(l2=1.0), ROWS[:3, :2] / ROWS[:3, :2].sum(1)[:, None]),
    ):
        with pytest.warns(
            OneClassWarning, match=f"^All {n} labels are equal: the calibrator sees one class only"
        ):
            calibrator.fit(p, y, w, labels=[0, 1])
    for other in ([0, 0, 1], [1, 0, 0], [1, 1, 0]):
        Shares().fit(P, other, [1, 2, 3])


@pytest.mark.parametrize(
    ("p", "y", "message"),
    [
        (
            [0.1, 1.2],
            [0, 1],
            r"`y_prob` must lie in \[0, 1\]; 1 of 2 values does not, the first is 1.2 at row 1",
        ),
        (
            [0.1, float("nan")],
            [0, 1],
            r"`y_prob` must not have missing .* at row 1\. Leave such rows out first\.$",
        ),
        ([0.1, 0.2], [0, float("nan")], r"the first at row 1\. Leave such rows out first\.$"),
        ([0.1, 0.2], [1, 2], "`y_true` must be 0 or 1"),
        (
            [0, 1, 1],
            [0.1, 0.2, 0.3],
            r"arguments seem swapped\. Scores come first here: fit\(y_prob, y_true\)\.$",
        ),
        ([0.1, 0.2, 0.3], [0, 1], "got 2 labels and 3 scores"),
        (
            [[0.1, 0.9], [0.2, 0.8]],
            [0, 1],
            r"vector of P\(positive\) for this calibrator; got shape \(2, 2\)\. `OneV",
        ),
        ([[0.1, 0.8], [0.2, 0.8]], [0, 1], "must sum to 1"),
        ([], [], "at least one row"),
        (
            [-1.5, 3.2],
            [0, 1],
            r"the first is -1.5 at row 0\. These look like logits: use `TemperatureScaling",
        ),
        ([0.5, 1.0000001], [0, 1], r"`np.clip\(y_prob, 0, 1\)` moves them back\.$"),
        ([[0.5, 0.50001], [0.5, 0.5]], [0, 1], r"Divide each row by its sum\.$"),
    ],
)
def test_bad_rows_are_refused_with_remedies_for_callers_of_a_calibrator(p, y, message):
    with pytest.raises(InputError, match=message):
        Shares().fit(p, y)


@pytest.mark.parametrize(
    ("p", "message"),
    [
        ([0.1, 1.2], r"must lie in \[0, 1\]"),
        ([[0.1, 0.9]], r"must be a vector, as in `fit`; got shape \(1, 2\)"),
        (np.full((2, 2, 1), 0.5), r"must be a vector, as in `fit`; got shape \(2, 2, 1\)"),
        (["a"], "must hold numbers"),
        (None, "got None"),
    ],
)
def test_bad_scores_are_refused(p, message):
    with pytest.raises(InputError, match=message):
        Shares().fit(P, Y).predict(p)


def test_a_matrix_needs_the_columns_of_the_fit_and_rows_that_sum_to_one():
    fitted = TemperatureScaling().fit(ROWS, CLASSES)
    for scores in (np.full((5, 2), 0.5), np.array([0.5])):
        with pytest.raises(
            InputError, match="must be a matrix of 3 columns, as in `fit`; got shape"
        ):
            fitted.predict(scores)
    good = np.array([[0.2, 0.3, 0.5 + 9e-7], [0.2, 0.3, 0.5 - 9e-7]])
    assert fitted.predict(good).shape == (2, 3)
    assert fitted.predict(np.zeros((0, 3))).shape == (0, 3)
    for bad in ([[0.2, 0.3, 0.5 + 2e-6]], [[0.2, 0.3, 0.5 - 2e-6]]):
        with pytest.raises(InputError, match="must sum to 1"):
            fitted.predict(bad)
    with pytest.raises(
        InputError,
        match=r"must be a matrix, one column per class, .*; it is a vector\. `np\.column_st",
    ):
        OneVsRest().fit(P, Y)


LOGITS = TemperatureScaling(from_logits=True)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            [0.0, 2e300],
            r"as logits must be within ±1e\+300; 1 of 2 is not, the first is 2e\+300 at row 1",
        ),
        ([-2e300, 3e300, 1], r"within ±1e\+300; 2 of 3 are not, the first is -2e\+300 at row 0"),
        ([0.0, np.inf], "as logits must be finite; 1 of 2 is not, the first is inf at row 1"),
        (
            np.array([0.0, -np.inf], np.float32),
            "as logits must be finite; 1 of 2 is not, the first is -inf at row 1",
        ),
        ([0.0, np.nan], "must not have missing values; 1 of 2"),
        (np.array([0.0, np.nan], np.float32), "must not have missing values; 1 of 2"),
        (np.zeros((2, 2, 1)), r"`y_prob` must be a vector, as in `fit`; got shape \(2, 2, 1\)"),
    ],
)
def test_logits_must_be_finite_and_leave_room_for_a_temperature(values, message):
    with pytest.raises(InputError, match=message):
        LOGITS.fit([-1.0, 2.0, 0.5], [0, 1, 0]).predict(np.asarray(values))


@pytest.mark.parametrize(
    "values",
    [
        np.array([1e300, -1e300]),
        np.array([3e38, 3e38, 3e38], np.float32),
        np.array([6e4, 6e4, -6e4], np.float16),
        np.zeros(0, np.float32),
    ],
)
def test_the_largest_logits_are_accepted(values):
    found = LOGITS.fit([-1.0, 2.0, 0.5], [0, 1, 0]).predict(values)
    assert found.tolist() == (values > 0).astype(float).tolist()


def test_labels_of_logits_are_checked_beside_their_shape():
    logits = np.array([[2.0, -3.0, 1.0], [0.0, 5.0, -1.0], [1.0, 2.0, 0.0]])
    fitted = VectorScaling(from_logits=True, l2=1.0).fit(
        logits, ["c", "a", "b"], labels=["a", "b", "c"]
    )
    assert fitted.classes_ == ("a", "b", "c")
    by_number = VectorScaling(from_logits=True, l2=1.0).fit(logits, [2, 0, 1])
    assert fitted.scale_.tolist() == by_number.scale_.tolist()
    with pytest.raises(InputError, match="got 3 labels and 2 scores"):
        PlattScaling(from_logits=True).fit([2.0, -3.0], [0, 1, 1])


def test_labels_of_any_kind():
    assert Shares(1).fit(P, ["no", "yes", "yes"], pos_label="yes").shares_.tolist() == [2 / 3]


def test_logits_are_taken_where_the_calibrator_can():
    for call in (
        lambda: PlattScaling().fit([-1.5, 3.2], [0, 1]),
        lambda: PlattScaling().fit(P, [0, 1, 0]).predict([-1.5, 3.2]),
    ):
        with pytest.raises(
            InputError, match=r"These look like logits: use `from_logits=True` if they are\.$"
        ):
            call()


def test_tiny_weights_are_not_to_be_multiplied():
    with pytest.raises(InputError, match=r"it is 1e-200 at row 0\.$"):
        Shares().fit(P, Y, sample_weight=[1e-200] * 3)


def test_a_map_survives_json_pickle_and_clone(tmp_path):
    fitted = IsotonicCalibration(prior=np.float64(0.5)).fit(P, Y)
    assert json.loads(json.dumps(fitted.to_dict())) == fitted.to_dict()
    fitted.save(tmp_path / "map.json")
    assert (tmp_path / "map.json").read_text() == fitted.to_json()
    for again in (
        IsotonicCalibration.from_dict(fitted.to_dict()),
        load_calibrator(tmp_path / "map.json"),
    ):
        assert again.values_.tolist() == fitted.values_.tolist()
        assert again.get_params() == fitted.get_params()
        with pytest.warns(OwnRowsWarning):
            again.predict(P)
    assert pickle.loads(pickle.dumps(fitted)).predict([0.3]) == fitted.predict([0.3])
    assert not hasattr(clone(fitted), "values_")


def test_a_map_remembers_where_and_when_it_was_fitted():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    fitted = PlattScaling().fit(
        pandas.Series([0.2, 0.6, 0.4], name="risk"), pandas.Series([0, 0, 1], name="churned")
    )
    again = calibrator_from_dict(json.loads(fitted.to_json()))
    today = datetime.now(UTC).date()
    for known in (fitted, again):
        assert (known.score_names_, known.label_name_, known.n_rows_) == (("risk",), "churned", 3)
        assert known.date_ in {
            today.isoformat(),
            (today - timedelta(days=1)).isoformat(),
        }  # midnight may pass
        assert known.version_ == tn.__version__
        assert (
            known.feature_names_in_.tolist() == known.get_feature_names_out().tolist() == ["risk"]
        )
        assert known.n_features_in_ == 1
    plain = PlattScaling().fit([0.2, 0.6, 0.4], [0, 0, 1])
    assert not hasattr(plain, "feature_names_in_")
    assert plain.get_feature_names_out().tolist() == ["plattscaling0"]


@pytest.mark.parametrize("frames", ["pandas", "polars"])
@pytest.mark.parametrize("labels", [["c", "a", "b", "c", "b"], CLASSES])
def test_columns_come_in_the_order_of_fit(frames, labels):
    library = pytest.importorskip(frames, reason=f"{frames} is not installed")
    frame = library.DataFrame(dict(zip(NAMES, ROWS.T, strict=True)))
    fitted = TemperatureScaling().fit(frame, labels)
    for known in (fitted, TemperatureScaling.from_dict(json.loads(json.dumps(fitted.to_dict())))):
        assert known.columns_ == known.score_names_ == ("a", "b", "c")
        assert (known.predict(frame[:2]) == fitted.predict(ROWS[:2])).all()
        with pytest.raises(
            InputError, match="columns of `fit` in another order; the order must be 'a', 'b', 'c'"
        ):
            known.predict(frame[["b", "a", "c"]])
        other = library.DataFrame(dict(zip("xyz", ROWS.T, strict=True)))
        with pytest.raises(
            InputError, match="must have the columns of `fit`, 'a', 'b', 'c'; got 'x', 'y', 'z'"
        ):
            known.predict(other)


def test_columns_of_an_array_come_by_position_unless_they_are_named_after_classes():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    fitted = TemperatureScaling().fit(ROWS, ["c", "a", "b", "c", "b"])
    frame = pandas.DataFrame(ROWS[:2], columns=NAMES)
    for same in (
        frame,
        pandas.DataFrame(ROWS[:2]),
        frame.set_axis([*"xyz"], axis=1),
        frame.set_axis([7, 8, 9], axis=1),
    ):
        assert (fitted.predict(same) == fitted.predict(ROWS[:2])).all()
    with pytest.raises(InputError, match="in another order"):
        fitted.predict(frame[["c", "b", "a"]])
    numbered = TemperatureScaling().fit(pandas.DataFrame(ROWS, columns=[7, 8, 9]), CLASSES)
    assert (numbered.columns_, numbered.score_names_) == ((7, 8, 9), None)


@pytest.mark.parametrize(("n", "end"), [(8, "'c7'"), (9, "'c7', …")])
def test_the_first_eight_columns_are_named(n, end):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(rng.dirichlet(np.ones(n), 30), columns=[f"c{k}" for k in range(n)])
    fitted = TemperatureScaling().fit(
        frame, np.r_[frame.to_numpy()[:20].argmax(axis=1), rng.integers(0, n, 10)]
    )
    with pytest.raises(InputError, match="has the columns of `fit` in another order") as refused:
        fitted.predict(frame[frame.columns[::-1]])
    assert str(refused.value).rstrip(".").endswith(end)
    with pytest.raises(
        InputError, match=r"must have the columns of `fit`.*; got 'd0', 'd1', .* 'd7'. Pass"
    ):
        fitted.predict(frame.set_axis([f"d{k}" for k in range(n)], axis=1))


def test_a_single_column_is_a_vector():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    fitted = PlattScaling().fit(pandas.DataFrame({"p": [0.2, 0.6, 0.4]}), [0, 0, 1])
    assert fitted.score_names_ == ("p",)
    expected = PlattScaling().fit([0.2, 0.6, 0.4], [0, 0, 1]).predict([0.1, 0.7])
    for new in (np.array([[0.1], [0.7]]), pandas.DataFrame({"p": [0.1, 0.7]})):
        assert (fitted.predict(new) == expected).all()


def test_a_map_is_a_transformer_and_a_classifier_of_scores():
    fitted = PlattScaling().fit([0.2, 0.6, 0.4], [0, 0, 1])
    new = np.array([0.1, 0.7])
    assert (fitted.transform(new) == fitted.predict(new)).all()
    assert (
        fitted.predict_proba(new) == np.column_stack([1 - fitted.predict(new), fitted.predict(new)])
    ).all()
    matrix = TemperatureScaling().fit(ROWS, CLASSES)
    assert (matrix.predict_proba(ROWS[:2]) == matrix.predict(ROWS[:2])).all()
    with pytest.warns(OwnRowsWarning):
        assert (
            PlattScaling().fit_transform([0.2, 0.6, 0.4], [0, 0, 1])[:2]
            == fitted.predict([0.2, 0.6])
        ).all()


def test_names_of_columns_that_transform_returns():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    plain = TemperatureScaling().fit(ROWS, CLASSES)
    assert plain.n_features_in_ == 3
    assert plain.get_feature_names_out().tolist() == [f"temperaturescaling{k}" for k in range(3)]
    assert plain.get_feature_names_out(["a", "b", "c"]).tolist() == NAMES
    named = TemperatureScaling().fit(pandas.DataFrame(ROWS, columns=NAMES), CLASSES)
    assert named.get_feature_names_out().tolist() == named.feature_names_in_.tolist() == NAMES
    assert named.get_feature_names_out(["x", "y", "z"]).tolist() == ["x", "y", "z"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_map_in_a_pipeline_returns_the_frame_that_was_chosen(library):
    frames = pytest.importorskip(library, reason=f"{library} is not installed")
    frame = frames.DataFrame({"p": [0.2, 0.6, 0.4]})
    pipeline = make_pipeline(PlattScaling()).set_output(transform=library).fit(frame, [0, 0, 1])
    new = frames.DataFrame({"p": [0.1, 0.7]})
    found = pipeline.transform(new)
    assert isinstance(found, frames.DataFrame)
    assert list(found.columns) == ["p"]
    assert found["p"].to_list() == pipeline.predict(new).tolist()


def test_sample_weight_can_be_routed_and_nothing_else():
    request = Shares().get_metadata_routing()
    assert set(request.fit.requests) == {"sample_weight"}
    assert not request.predict.requests


@pytest.mark.parametrize("value", [True, "1", None, float("nan"), float("inf"), 10**400, -1])
def test_a_number_is_finite_and_meets_the_demand(value):
    with pytest.raises(InputError, match="`prior` must be a finite number ≥ 0; got"):
        IsotonicCalibration(prior=value).fit(P, Y)


def test_numbers_of_all_kinds_are_accepted():
    for value in (0, 2.5, np.int64(2), np.float32(1.5), 1e300):
        IsotonicCalibration(prior=value).fit(P, Y)


@pytest.mark.parametrize(
    ("n", "text"),
    [
        (1, "^Class 'a': All"),
        (4, "^Classes 'a', 'b', 'c', 'd'; "),
        (5, "'a', 'b', 'c' and 2 more; "),
    ],
)
def test_warnings_of_many_fits_are_given_once_with_the_names_of_the_fits(n, text):
    """The first n classes have no rows."""
    rows = np.full((3, n + 2), 1 / (n + 2))
    with pytest.warns(OneClassWarning, match=text) as given:
        OneVsRest(Shares(1)).fit(rows, ["y", "z", "z"], labels=[*"abcdefgh"[:n], "y", "z"])
    assert len(given) == 1


def test_a_map_of_ones_own_has_no_formula_and_may_scale_before_bins():
    fitted = tn.ScalingBinning(2, scaler=Shares(4), split="none").fit(
        np.linspace(0.05, 0.95, 40), np.arange(40) % 2
    )
    for own in (Shares(2).fit(P, Y), fitted, tn.OneVsRest(Shares(2)).fit(ROWS, CLASSES)):
        columns = None if own.n_classes_ is None else NAMES
        with pytest.raises(
            InputError, match="cannot be written as one formula: it is a class of your own"
        ):
            own.to_sql(column=columns)
