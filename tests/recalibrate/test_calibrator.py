"""What every calibrator does, shown on a toy: it predicts the share of events, whatever the score."""

import json
import pickle
import sys
import warnings
from datetime import UTC, date, datetime

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import trueness as tn
from trueness import InputError, OneClassWarning, OwnRowsWarning, recalibrate
from trueness.recalibrate import (
    Calibrator,
    PlattScaling,
    TemperatureScaling,
    _calibrator,
    calibrator_from_dict,
    load_calibrator,
)
from trueness.recalibrate._fitted_state import Field


class Share(Calibrator):
    _state = {"share": Field("share of events")}  # noqa: RUF012

    def __init__(self, spare=None):
        self.spare = spare

    def _fit(self, rows):
        self.share_ = float(np.average(rows.y, weights=rows.w))

    def _map(self, p):
        return np.full(p.shape, self.share_)


@pytest.fixture
def known(monkeypatch):
    """The toy as if it were one of ours."""
    monkeypatch.setattr(recalibrate, "__all__", [*recalibrate.__all__, "Share"])
    monkeypatch.setattr(recalibrate, "Share", Share, raising=False)


P, Y = [0.2, 0.4, 0.6], [0, 1, 1]


def test_weights_are_repetitions():
    weighted = Share().fit(P, Y, sample_weight=[2, 1, 0])
    assert weighted.share_ == Share().fit([0.2, 0.2, 0.4], [0, 0, 1]).share_
    assert weighted.n_rows_ == 2


def test_an_unfitted_calibrator_refuses_to_predict():
    with pytest.raises(NotFittedError):
        Share().predict(P)
    with pytest.raises(NotFittedError):
        Share().to_dict()


def test_the_fitted_rows_are_a_warning():
    fitted = Share().fit(P, Y)
    with pytest.warns(OwnRowsWarning, match="the 3 rows that the calibrator was fitted on"):
        fitted.predict(P)
    assert (fitted.predict([0.2, 0.4, 0.7]) == 2 / 3).all()


def test_one_class_is_a_warning():
    with pytest.warns(OneClassWarning, match="All 2 labels are equal"):
        Share().fit([0.1, 0.2], [1, 1])


@pytest.mark.all_cases
@pytest.mark.parametrize(
    ("p", "y", "message"),
    [
        ([0.1, 1.2], [0, 1], r"`y_prob` must lie in \[0, 1\]; 1 of 2 values does not, the first is 1.2 at row 1"),
        ([0.1, float("nan")], [0, 1], "`y_prob` must not have missing values"),
        ([0.1, 0.2], [1, 2], "`y_true` must be 0 or 1"),
        ([0, 1], [0.1, 0.2], "arguments seem swapped"),
        ([0.1, 0.2, 0.3], [0, 1], "got 2 labels and 3 scores"),
        ([[0.1, 0.9], [0.2, 0.8]], [0, 1], r"must be a vector of P\(positive\).*OneVsRest"),
        ([[0.1, 0.8], [0.2, 0.8]], [0, 1], "must sum to 1"),
        ([], [], "at least one row"),
    ],
)
def test_bad_rows_are_refused(p, y, message):
    with pytest.raises(InputError, match=message):
        Share().fit(p, y)


@pytest.mark.parametrize(
    ("p", "message"),
    [
        ([0.1, 1.2], r"must lie in \[0, 1\]"),
        ([[0.1, 0.9]], "must be a vector, as in `fit`"),
        (["a"], "must hold numbers"),
        (None, "got None"),
    ],
)
def test_bad_scores_are_refused(p, message):
    with pytest.raises(InputError, match=message):
        Share().fit(P, Y).predict(p)


def test_labels_of_any_kind():
    assert Share().fit(P, ["no", "yes", "yes"], pos_label="yes").share_ == 2 / 3


def test_a_map_survives_json_pickle_and_clone(known, tmp_path):
    fitted = Share(spare=np.float64(0.1)).fit(P, Y)
    assert json.loads(json.dumps(fitted.to_dict())) == fitted.to_dict()
    assert fitted.to_dict()["learnt"]["share"] == {"value": 2 / 3, "about": "share of events"}
    fitted.save(tmp_path / "map.json")
    for again in (Share.from_dict(fitted.to_dict()), load_calibrator(tmp_path / "map.json")):
        assert again.share_ == fitted.share_
        assert again.get_params() == {"spare": 0.1}
        with pytest.warns(OwnRowsWarning):
            again.predict(P)
    assert pickle.loads(pickle.dumps(fitted.get_params())) == {"spare": 0.1}
    assert not hasattr(clone(fitted), "share_")


@pytest.mark.all_cases
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 2}, "must have schema 1.*it has 2"),
        ({"type": "os"}, "must name a calibrator of this version as its type; got 'os'"),
        ({"type": "load_calibrator"}, "must name a calibrator"),
        ({"parameters": {}}, "its 'parameters' lacks spare"),
        ({"learnt": {"share": 1}}, "must have a 'value'"),
        ({"learnt": []}, "must be objects"),
    ],
)
def test_a_damaged_map_is_refused(known, change, message):
    with pytest.raises(InputError, match=message):
        Share.from_dict(Share().fit(P, Y).to_dict() | change)


def test_a_file_that_is_no_json_is_refused(tmp_path):
    (tmp_path / "map.json").write_text("{")
    with pytest.raises(InputError, match="must be a JSON file of a calibrator"):
        load_calibrator(tmp_path / "map.json")


def test_sample_weight_can_be_routed_and_nothing_else():
    request = Share().get_metadata_routing()
    assert set(request.fit.requests) == {"sample_weight"}
    assert not request.predict.requests


@pytest.mark.all_cases
@pytest.mark.parametrize(
    ("p", "y", "message"),
    [
        ([0, 1, 1], [0.1, 0.2, 0.3], r"seem swapped. Scores come first here: fit\(y_prob, y_true\)\.$"),
        ([0.1, float("nan")], [0, 1], r"the first at row 1\. Leave such rows out first\.$"),
        ([0.1, 0.2], [0, float("nan")], r"the first at row 1\. Leave such rows out first\.$"),
        ([-1.5, 3.2], [0, 1], r"the first is -1.5 at row 0\. These look like logits: use `TemperatureScaling"),
        ([0.5, 1.0000001], [0, 1], r"`np.clip\(y_prob, 0, 1\)` moves them back\.$"),
        ([[0.5, 0.50001], [0.5, 0.5]], [0, 1], r"Divide each row by its sum\.$"),
    ],
)
def test_remedies_are_for_callers_of_a_calibrator(p, y, message):
    with pytest.raises(InputError, match=message):
        Share().fit(p, y)


def test_logits_are_taken_where_the_calibrator_can():
    with pytest.raises(InputError, match=r"These look like logits: use `from_logits=True` if they are\.$"):
        PlattScaling().fit([-1.5, 3.2], [0, 1])
    with pytest.raises(InputError, match=r"use `from_logits=True` if they are\.$"):
        PlattScaling().fit(P, [0, 1, 0]).predict([-1.5, 3.2])


def test_tiny_weights_are_not_to_be_multiplied():
    with pytest.raises(InputError, match=r"it is 1e-200 at row 0\.$"):
        Share().fit(P, Y, sample_weight=[1e-200] * 3)


ROWS = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.4, 0.1, 0.5]])
NAMES = ["a", "b", "c"]


@pytest.mark.parametrize("frames", ["pandas", "polars"])
@pytest.mark.parametrize("labels", [["c", "a", "b", "c", "b"], [2, 0, 1, 2, 1]])
def test_columns_come_in_the_order_of_fit(frames, labels):
    library = pytest.importorskip(frames, reason=f"{frames} is not installed")
    frame = library.DataFrame(dict(zip(NAMES, ROWS.T, strict=True)))
    fitted = TemperatureScaling().fit(frame, labels)
    for known in (fitted, TemperatureScaling.from_dict(json.loads(json.dumps(fitted.to_dict())))):
        assert known.columns_ == ("a", "b", "c")
        assert (known.predict(frame[:2]) == fitted.predict(ROWS[:2])).all()
        with pytest.raises(InputError, match="columns of `fit` in another order; the order must be 'a', 'b', 'c'"):
            known.predict(frame[["b", "a", "c"]])
        other = library.DataFrame(dict(zip("xyz", ROWS.T, strict=True)))
        with pytest.raises(InputError, match="must have the columns of `fit`, 'a', 'b', 'c'; got 'x', 'y', 'z'"):
            known.predict(other)


def test_columns_named_after_classes_come_in_their_order():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    fitted = TemperatureScaling().fit(ROWS, ["c", "a", "b", "c", "b"])
    frame = pandas.DataFrame(ROWS[:2], columns=NAMES)
    assert (fitted.predict(frame) == fitted.predict(pandas.DataFrame(ROWS[:2]))).all()
    with pytest.raises(InputError, match="in another order"):
        fitted.predict(frame[["c", "b", "a"]])


def test_a_map_remembers_where_and_when_it_was_fitted(monkeypatch):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    monkeypatch.setattr(_calibrator, "today", lambda: "2026-01-31")
    fitted = PlattScaling().fit(pandas.Series([0.2, 0.6, 0.4], name="risk"), pandas.Series([0, 0, 1], name="churned"))
    again = calibrator_from_dict(json.loads(fitted.to_json()))
    for known in (fitted, again):
        assert (known.score_names_, known.label_name_, known.n_rows_) == (("risk",), "churned", 3)
        assert (known.date_, known.version_) == ("2026-01-31", tn.__version__)
        assert known.feature_names_in_.tolist() == known.get_feature_names_out().tolist() == ["risk"]
        assert known.n_features_in_ == 1
    plain = PlattScaling().fit([0.2, 0.6, 0.4], [0, 0, 1])
    assert not hasattr(plain, "feature_names_in_")
    assert plain.get_feature_names_out().tolist() == ["plattscaling0"]


def test_the_date_is_that_of_greenwich():
    assert _calibrator.today() in {datetime.now(UTC).date().isoformat(), date.today().isoformat()}


def test_the_text_of_a_map_is_what_is_saved(tmp_path):
    fitted = PlattScaling().fit([0.2, 0.6, 0.4], [0, 0, 1])
    fitted.save(tmp_path / "map.json")
    assert (tmp_path / "map.json").read_text() == fitted.to_json()


def test_a_map_is_a_transformer_and_a_classifier_of_scores():
    fitted = PlattScaling().fit([0.2, 0.6, 0.4], [0, 0, 1])
    new = np.array([0.1, 0.7])
    assert (fitted.transform(new) == fitted.predict(new)).all()
    assert (fitted.predict_proba(new) == np.column_stack([1 - fitted.predict(new), fitted.predict(new)])).all()
    matrix = TemperatureScaling().fit(ROWS, [2, 0, 1, 2, 1])
    assert (matrix.predict_proba(ROWS[:2]) == matrix.predict(ROWS[:2])).all()
    with pytest.warns(OwnRowsWarning):
        assert (PlattScaling().fit_transform([0.2, 0.6, 0.4], [0, 0, 1])[:2] == fitted.predict([0.2, 0.6])).all()


def test_a_single_column_is_a_vector():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    fitted = PlattScaling().fit(pandas.DataFrame({"p": [0.2, 0.6, 0.4]}), [0, 0, 1])
    assert fitted.score_names_ == ("p",)
    expected = PlattScaling().fit([0.2, 0.6, 0.4], [0, 0, 1]).predict([0.1, 0.7])
    for new in (np.array([[0.1], [0.7]]), pandas.DataFrame({"p": [0.1, 0.7]})):
        assert (fitted.predict(new) == expected).all()


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


@pytest.mark.filterwarnings("ignore::trueness.OneClassWarning")
def test_a_single_row_may_be_predicted_again_and_two_may_not():
    assert Share().fit([0.2], [1]).predict([0.2]).tolist() == [1.0]
    with pytest.warns(OwnRowsWarning, match="the 2 rows"):
        Share().fit([0.2, 0.4], [0, 1]).predict([0.2, 0.4])


@pytest.mark.parametrize("n", [511, 512, 1300])
def test_many_fitted_rows_are_recognised_and_others_are_not(n):
    p = np.linspace(0, 1, n)
    fitted = Share().fit(p, np.arange(n) % 2)
    with pytest.warns(OwnRowsWarning):
        fitted.predict(p)
    for other in (p[::-1], p[1:], np.sqrt(p)):
        assert fitted.predict(other).shape == other.shape


@pytest.mark.parametrize(
    ("n", "text"),
    [(1, "a"), (3, "a, b, c"), (4, "a, b, c, d"), (5, "a, b, c and 2 more"), (1004, "a, b, c and 1,001 more")],
)
def test_a_few_names_are_joined_and_the_others_counted(n, text):
    assert _calibrator.join_names([*"abcd", *"e" * 1000][:n]) == text


def test_warnings_of_many_fits_are_given_once_with_the_names_of_the_fits():
    collected = _calibrator.WarningsByName("Class", "Classes")
    for name in ("x", "y"):
        with collected.of(name):
            Share().fit([0.1, 0.2], [1, 1])
    with pytest.warns(OneClassWarning, match="^Classes 'x', 'y'; the first says: All 2 labels are equal") as given:
        collected.give()
    assert len(given) == 1
    alone = _calibrator.WarningsByName("Class", "Classes")
    with alone.of("x"):
        Share().fit([0.1, 0.2], [1, 1])
    with pytest.warns(OneClassWarning, match="^Class 'x': All 2 labels are equal"):
        alone.give()


def test_warnings_of_others_are_passed_on():
    collected = _calibrator.WarningsByName("Class", "Classes")
    with pytest.warns(DeprecationWarning, match="old"), collected.of("x"):
        warnings.warn("old", DeprecationWarning, stacklevel=1)
    collected.give()


@pytest.mark.parametrize("value", [True, "1", None, float("nan"), float("inf"), 10**400, 3])
def test_a_number_is_finite_and_meets_the_demand(value):
    with pytest.raises(InputError, match="`x` must be below 3; got"):
        _calibrator.check_number("x", value, "be below 3", lambda number: number < 3)


def test_numbers_of_all_kinds_are_accepted():
    for value in (0, -2.5, np.int64(2), np.float32(1.5), sys.float_info.max):
        assert _calibrator.check_number("x", value, "be a number", lambda _: True) is None
    narrow, wide = (PlattScaling(ridge=kind(0.5)).fit([0.2, 0.6, 0.4], [0, 0, 1]) for kind in (np.float32, float))
    assert narrow.slope_ == wide.slope_


def test_names_of_columns_that_transform_returns():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    plain = TemperatureScaling().fit(ROWS, [2, 0, 1, 2, 1])
    assert plain.n_features_in_ == 3
    assert plain.get_feature_names_out().tolist() == [f"temperaturescaling{k}" for k in range(3)]
    assert plain.get_feature_names_out(["a", "b", "c"]).tolist() == NAMES
    named = TemperatureScaling().fit(pandas.DataFrame(ROWS, columns=NAMES), [2, 0, 1, 2, 1])
    assert named.get_feature_names_out().tolist() == named.feature_names_in_.tolist() == NAMES
    assert named.get_feature_names_out(["x", "y", "z"]).tolist() == ["x", "y", "z"]
