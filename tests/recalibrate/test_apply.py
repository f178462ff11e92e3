"""A map gives the same scores in every kind of frame."""

import numpy as np
import pytest

import trueness as tn

P = np.array([0.0, 0.2, 0.5, 0.9, 1.0])


@pytest.fixture(scope="module")
def platt():
    d = tn.simulate.demo(500, seed=1)
    return tn.PlattScaling().fit(d.y_prob, d.y_true)


@pytest.mark.parametrize("kind", ["polars", "lazy", "pandas", "pyarrow", "duckdb"])
def test_scores_are_those_of_predict(platt, kind):
    polars = pytest.importorskip("polars", reason="Polars is not installed")
    frame = polars.DataFrame({"risk": [*P, None], "mapped": range(6)})
    if kind == "lazy":
        frame = frame.lazy()
    elif kind == "pandas":
        frame = frame.to_pandas().set_index(np.arange(6)[::-1])
    elif kind == "pyarrow":
        frame = frame.to_arrow()
    elif kind == "duckdb":
        duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
        frame = duckdb.from_arrow(frame.to_arrow())
    found = tn.recalibrate.apply_calibrator(frame, platt, prob="risk")
    assert type(found) is type(frame)
    found = found.collect() if kind == "lazy" else found.pl() if kind == "duckdb" else found
    names = found.column_names if kind == "pyarrow" else list(found.columns)
    assert names == ["risk", "mapped", "risk_calibrated"]
    values = np.array(
        found["risk_calibrated"].to_pylist() if kind == "pyarrow" else found["risk_calibrated"],
        float,
    )
    np.testing.assert_allclose(values, [*platt.predict(P), np.nan], atol=1e-12)


def test_a_matrix_has_as_many_new_columns():
    polars = pytest.importorskip("polars", reason="Polars is not installed")
    d = tn.simulate.multiclass(300, 3, seed=0)
    fitted = tn.TemperatureScaling().fit(polars.DataFrame(d.y_prob, schema=list("abc")), d.y_true)
    frame = polars.DataFrame(d.y_prob[:9], schema=list("abc"))
    found = tn.recalibrate.apply_calibrator(frame, fitted)
    np.testing.assert_array_equal(found[:, 3:].to_numpy(), fitted.predict(d.y_prob[:9]))
    assert found.columns[3:] == ["a_calibrated", "b_calibrated", "c_calibrated"]
    with pytest.raises(tn.InputError, match="`name` must be None for a matrix"):
        tn.recalibrate.apply_calibrator(frame, fitted, name="q")


def test_columns_must_be_there_and_new_ones_not(platt):
    polars = pytest.importorskip("polars", reason="Polars is not installed")
    frame = polars.DataFrame({"p": P})
    with pytest.raises(
        tn.InputError, match="`prob` must be given: the map was fitted on scores without names"
    ):
        tn.recalibrate.apply_calibrator(frame, platt)
    with pytest.raises(tn.InputError, match="must name columns of the frame; it has no 'q'"):
        tn.recalibrate.apply_calibrator(frame, platt, prob="q")
    with pytest.raises(tn.InputError, match="the frame has 'p' already"):
        tn.recalibrate.apply_calibrator(frame, platt, prob="p", name="p")
    with pytest.raises(tn.InputError, match="`frame` must be a Polars, pandas or PyArrow frame"):
        tn.recalibrate.apply_calibrator([0.1], platt, prob="p")


def test_a_column_called_calibrated_is_kept():
    polars = pytest.importorskip("polars", reason="Polars is not installed")
    fitted = tn.PriorCorrection(weight=3).fit([0.1, 0.9], [0, 1])
    frame = polars.DataFrame(
        {"p": [0.0, 0.5, 0.75], "calibrated": [7, 8, 9], "calibrated_": [1, 2, 3]}
    )
    found = tn.recalibrate.apply_calibrator(frame, fitted, prob="p", name="q")
    assert found.to_dict(as_series=False) == {
        **frame.to_dict(as_series=False),
        "q": [0.0, 0.25, 0.5],
    }
    plain = tn.recalibrate.apply_calibrator(frame[["p"]], fitted, prob="p", name="calibrated")
    assert plain.columns == ["p", "calibrated"]
    assert plain["calibrated"].to_list() == [0.0, 0.25, 0.5]


@pytest.mark.parametrize("kind", ["polars", "pandas"])
def test_two_columns_are_a_matrix(kind):
    library = pytest.importorskip(kind, reason=f"{kind} is not installed")
    p = np.array([0.2, 0.6, 0.4])
    fitted = tn.TemperatureScaling().fit(np.column_stack([1 - p, p]), [0, 0, 1])
    frame = library.DataFrame({"a": [0.7, 0.1, None], "b": [0.3, 0.9, 0.5]})
    found = tn.recalibrate.apply_calibrator(frame, fitted, prob=["a", "b"])
    wanted = fitted.predict([[0.7, 0.3], [0.1, 0.9]])
    for k, name in enumerate(["a_calibrated", "b_calibrated"]):
        column = np.array(found[name].to_list(), float)
        assert column[:2].tolist() == wanted[:, k].tolist()
        assert np.isnan(column[2])
    with pytest.raises(tn.InputError, match="`name` must be None for a matrix"):
        tn.recalibrate.apply_calibrator(frame, fitted, prob=["a", "b"], name="q")
    with pytest.raises(
        tn.InputError, match=r"`prob` must name the 2 columns of the scores; got 'a'"
    ):
        tn.recalibrate.apply_calibrator(frame, fitted, prob="a")


def test_a_frame_without_scores_gets_none():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    fitted = tn.PriorCorrection(weight=3).fit([0.1, 0.9], [0, 1])
    found = tn.recalibrate.apply_calibrator(
        pandas.DataFrame({"p": [np.nan, np.nan]}), fitted, prob="p"
    )
    assert found["p_calibrated"].isna().all()
