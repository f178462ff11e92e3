"""``trueness export`` writes what `apply` computes, for programs that have no trueness."""

from typing import get_args

import duckdb
import numpy as np
import pytest

import trueness as tn
from trueness.cli._export import DIALECTS
from trueness.recalibrate._calibrator import Dialect


@pytest.fixture
def maps(multiclass, tmp_path):
    """Two maps in files: of one score, and of three."""
    y, P = multiclass
    one = tn.PlattScaling().fit(P[:, 1], y == 1)
    several = tn.TemperatureScaling().fit(P, y)
    one.save(tmp_path / "one.json")
    several.save(tmp_path / "several.json")
    return P[:9], one, several


def test_sql_adds_the_columns_of_apply_under_their_names(call, maps, tmp_path):
    P, one, several = maps
    rows = duckdb.connect()
    rows.execute(
        "CREATE TABLE scores AS SELECT * FROM (VALUES "
        + ", ".join(str(tuple(r)) for r in P.tolist())
        + ") AS t(a, b, c)"
    )
    assert call("export", "one.json", "--prob", "b", "-o", "one.sql").exit_code == 0
    found = rows.sql(f"SELECT {(tmp_path / 'one.sql').read_text()} FROM scores").fetchnumpy()
    np.testing.assert_allclose(found.pop("b_calibrated"), one.predict(P[:, 1]), atol=1e-12)
    assert not found
    listed = call("export", "several.json", "--prob-columns", "a, b,c").stdout
    found = rows.sql(f"SELECT {listed} FROM scores").fetchnumpy()
    assert list(found) == ["a_calibrated", "b_calibrated", "c_calibrated"]
    np.testing.assert_allclose(
        np.column_stack(list(found.values())), several.predict(P), atol=1e-12
    )
    query = call("export", "several.json", "--prob-columns", "a,b,c", "--table", "scores").stdout
    again = rows.sql(query).fetchnumpy()
    np.testing.assert_allclose(again["c_calibrated"], several.predict(P)[:, 2], atol=1e-12)


def test_names_are_those_of_fit_and_are_quoted_as_the_dialect_does(call, maps):
    assert call("export", "one.json").stdout.endswith(' AS "p_calibrated"\n')
    assert call("export", "one.json", "--dialect", "spark", "--prob", "a`b").stdout.endswith(
        " AS `a``b_calibrated`\n"
    )
    assert get_args(Dialect) == DIALECTS


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_an_onnx_model_gives_what_apply_gives(call, maps, tmp_path, dtype):
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    P, one, several = maps
    for name, fitted, scores in (("one", one, P[:, 1]), ("several", several, P)):
        assert call("export", f"{name}.json", "--dtype", dtype, "-o", f"{name}.onnx").exit_code == 0
        (found,) = runtime.InferenceSession(tmp_path / f"{name}.onnx").run(
            None, {"scores": scores.astype(dtype)}
        )
        np.testing.assert_allclose(
            found, fitted.predict(scores), atol=1e-12 if dtype == "float64" else 1e-6
        )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["several.json"],
            "several.json: --prob-columns must name the 3 columns of the scores; got ().",
        ),
        (
            ["one.json", "--prob-columns", "a,b"],
            "one.json: --prob must name the column of the scores",
        ),
        (
            ["several.json", "--prob-columns", "a,,b"],
            "must name columns separated by commas; got 'a,,b'",
        ),
        (
            ["one.json", "--prob", "a", "--prob-columns", "a,b"],
            "Give --prob or --prob-columns, not both.",
        ),
        (["one.json", "-o", "one.onnx", "--dialect", "spark"], "--dialect is for --format sql."),
        (["one.json", "--dtype", "float32"], "--dtype is for --format onnx."),
        (["one.json", "--format", "onnx"], "binary: name a file"),
        (["one.json", "-o", "map.txt"], "must end in .sql or .onnx"),
        (["none.json"], "'none.json' cannot be read: No such file"),
        (["one.json", "-o", "one.json", "--format", "sql"], "is the file that is read"),
    ],
)
def test_what_cannot_be_written_is_refused_by_name(fails, maps, words, message):
    assert message in fails("export", *words)


def test_a_map_without_a_formula_is_refused_and_the_old_file_stays(fails, multiclass, tmp_path):
    y, P = multiclass
    tn.HistogramBinning(n_bins=2, scheme="randomized", seed=0).fit(P[:, 1], y == 1).save(
        tmp_path / "random.json"
    )
    (tmp_path / "old.onnx").write_text("old")
    assert "random.json: " in fails("export", "random.json", "-o", "old.onnx")
    assert (tmp_path / "old.onnx").read_text() == "old"


def test_a_translated_map_has_the_names_of_its_dialect(call, tmp_path):
    pytest.importorskip("sqlglot")
    fitted = tn.PlattScaling().fit([0.1, 0.3, 0.4, 0.8], [0, 1, 0, 1])
    fitted.save(tmp_path / "map.json")
    words = ["export", "map.json", "--prob", "the score", "--dialect"]
    assert call(*words, "mysql").stdout.endswith(" AS `the score_calibrated`\n")
    assert call(*words, "tsql").stdout.endswith(" AS [the score_calibrated]\n")
    assert 'FROM "predictions"' in call(*words, "snowflake", "--table", "predictions").stdout
