"""SQL expressions reproduce `predict`, in DuckDB and in SQLite."""

import sqlite3

import numpy as np
import pytest
from formulas import BETA_OF_LOGITS, FORMULAS
from scipy.special import softmax
from travelling_maps import MATRICES, REFUSED, VECTORS, fitted, name_of, scores_for

import trueness as tn
from trueness.recalibrate._formula import Softmax
from trueness.recalibrate._sql import sql_of

duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
pytest.importorskip("pyarrow", reason="PyArrow is not installed")

AWKWARD = 'p "x` y'


def in_duckdb(expressions, columns):
    import pyarrow

    rows = pyarrow.table(columns)
    texts = ", ".join(f"{text} AS q{k}" for k, text in enumerate(expressions))
    with duckdb.connect() as connection:
        connection.register("scores", rows)
        found = connection.sql(f"SELECT {texts} FROM scores").fetchall()
    return np.array(found, dtype=float)


def in_sqlite(expressions, columns):
    with sqlite3.connect(":memory:") as connection:
        try:
            connection.execute("SELECT ln(exp(1.0))")
        except sqlite3.OperationalError:
            pytest.skip("SQLite was compiled without mathematical functions")
        names = ", ".join('"{}" REAL'.format(name.replace('"', '""')) for name in columns)
        connection.execute(f"CREATE TABLE scores ({names})")
        rows = zip(*(values.tolist() for values in columns.values()), strict=True)
        marks = ", ".join("?" * len(columns))
        connection.executemany(f"INSERT INTO scores VALUES ({marks})", rows)
        return np.array(connection.execute(f"SELECT {', '.join(expressions)} FROM scores").fetchall(), dtype=float)


ENGINES = {"duckdb": in_duckdb, "sqlite": in_sqlite}
every_engine = pytest.mark.parametrize("dialect", ENGINES)


def assert_equals_predict(calibrator, dialect, n):
    made = fitted(calibrator)
    scores = scores_for(made, n)
    if scores.ndim == 1:
        columns, expressions = {AWKWARD: scores}, [made.to_sql(dialect, column=AWKWARD)]
    else:
        columns = {f"{AWKWARD}{k}": scores[:, k].copy() for k in range(scores.shape[1])}
        expressions = list(made.to_sql(dialect, column=list(columns)).values())
    found = ENGINES[dialect](expressions, columns).reshape(scores.shape)
    np.testing.assert_allclose(found, made.predict(scores), rtol=0, atol=1e-12)


@every_engine
@pytest.mark.parametrize("calibrator", VECTORS + MATRICES, ids=name_of)
def test_an_expression_equals_predict(calibrator, dialect):
    assert_equals_predict(calibrator, dialect, 200)


@pytest.mark.slow
@every_engine
@pytest.mark.parametrize("calibrator", VECTORS + MATRICES, ids=name_of)
def test_an_expression_equals_predict_on_many_scores(calibrator, dialect):
    assert_equals_predict(calibrator, dialect, 100_000)


@every_engine
@pytest.mark.parametrize("calibrator", [tn.PlattScaling(), tn.HistogramBinning(), tn.IsotonicCalibration()])
def test_scores_that_predict_refuses_are_null(calibrator, dialect):
    expression = fitted(calibrator).to_sql(dialect)
    found = ENGINES[dialect]([expression], {"p": np.array([np.nan, -0.1, 1.1, np.inf, 0.5])})
    assert np.isnan(found[:, 0]).tolist() == [True] * 4 + [False]


def test_null_stays_null():
    with duckdb.connect() as connection:
        expression = fitted(tn.PlattScaling()).to_sql()
        assert connection.sql(f"SELECT {expression} FROM (SELECT NULL::DOUBLE AS p)").fetchall() == [(None,)]


@pytest.mark.parametrize(("calibrator", "reason"), REFUSED, ids=lambda v: name_of(v) if hasattr(v, "fit") else "")
def test_maps_that_are_no_formula_are_refused(calibrator, reason):
    made = fitted(calibrator)
    columns = None if made.n_classes_ is None else list("abc")
    with pytest.raises(tn.InputError, match=f"cannot be written as one formula: .*{reason}"):
        made.to_sql(column=columns)


def test_identifiers_and_numbers_are_written_as_each_dialect_reads_them():
    made = tn.PriorCorrection(weight=2.0).fit([0.1, 0.9], [0, 1])
    guard = "CASE WHEN {0} >= {1} AND {0} <= {2} THEN {0} / ({0} + {3} * ({2} - {0})) END"
    plain = ("0.0e0", "1.0e0", "2.0e0")
    assert made.to_sql("duckdb", column='a"b') == guard.format('"a""b"', *plain)
    assert made.to_sql("sqlite", column="a`b") == guard.format('"a`b"', *plain)
    cast = f"CAST({guard} AS double precision)"
    assert made.to_sql("postgresql", column="p") == cast.format('"p"', *plain)
    assert made.to_sql("spark", column="a`b") == guard.format("`a``b`", "0.0D", "1.0D", "2.0D")
    assert made.to_sql("bigquery", column="a`b\\") == guard.format("`a\\`b\\\\`", *plain)


def test_many_steps_are_found_by_few_comparisons():
    made = tn.IsotonicCalibration(interpolation="step")
    k = np.arange(1_000) / 1_000
    made = made.fit(np.repeat(k, 2), np.zeros(2_000, int) + (np.repeat(k, 2) > 0.5))
    made.low_ = made.high_ = made.centre_ = k
    made.values_ = k
    depth = deepest = 0
    for word in made.to_sql().split():
        depth += (word == "CASE") - (word == "END")
        deepest = max(deepest, depth)
    assert deepest <= 12


def test_the_column_is_the_one_of_the_fit():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    p = pandas.Series([0.2, 0.4, 0.6, 0.8], name="risk")
    assert '"risk"' in tn.PlattScaling().fit(p, [0, 1, 0, 1]).to_sql()
    assert '"p"' in tn.PlattScaling().fit(p.to_numpy(), [0, 1, 0, 1]).to_sql()
    made = tn.TemperatureScaling().fit(pandas.DataFrame({"a": 1 - p, "b": p}), [0, 1, 0, 1])
    assert set(made.to_sql()) == {"0", "1"}
    with pytest.raises(tn.InputError, match=r"`column` must name the 2 columns of the scores; got 'p'\."):
        made.to_sql(column="p")
    with pytest.raises(tn.InputError, match="`dialect` must be 'duckdb'"):
        made.to_sql("oracle")


@pytest.mark.all_cases
@pytest.mark.parametrize("case", FORMULAS, ids=lambda case: case.name)
def test_an_expression_computes_its_formula(case):
    scores = case.scores
    columns = {"p": scores} if scores.ndim == 1 else {name: scores[:, k] for k, name in enumerate("abc")}
    found = in_sqlite(sql_of(case.formula, list(columns), "sqlite"), columns).reshape(scores.shape)
    np.testing.assert_allclose(found, case.map(scores), rtol=0, atol=1e-12)


def test_logits_may_be_negative_and_those_too_large_are_null():
    by_name = {case.name: case for case in FORMULAS}
    line = sql_of(by_name["line, a=0.0, b=0.0, from_logits=True"].formula, ["p"], "sqlite")
    found = in_sqlite(line, {"p": np.array([-1e300, -2.0, 2.0, 1e300, -1e301, 1e301])})[:, 0]
    assert np.isnan(found).tolist() == [False] * 4 + [True] * 2
    limited = by_name["matrix of logits"].formula._replace(largest=50.0)
    columns = {"a": np.array([-50.0, -51, 0]), "b": np.array([0.0, 0, 51]), "c": np.array([50.0, 0, 0])}
    assert np.isnan(in_sqlite(sql_of(limited, list("abc"), "sqlite"), columns)[:, 0]).tolist() == [False, True, True]


def test_beta_calibration_of_single_classes_is_written_for_probabilities_only():
    with pytest.raises(tn.InputError, match="for probabilities only; it was fitted with from_logits=True"):
        sql_of(BETA_OF_LOGITS.formula, list("abc"), "duckdb")


def test_differences_of_large_logits_are_exact():
    """0.3 · 10¹⁵ has no room for what 10¹⁵ + 1 has more; the difference of the logits does."""
    formula = Softmax(0.3 * np.eye(3), np.array([0.0, 0.5, 0.0]), from_logits=True)
    columns = {"a": np.array([1e15 + 1]), "b": np.array([1e15]), "c": np.array([1e15 - 2])}
    found = in_sqlite(sql_of(formula, list("abc"), "sqlite"), columns)
    assert found[0] == pytest.approx(softmax([0.3, 0.5, -0.6]), abs=1e-12)


@pytest.mark.all_cases
@pytest.mark.parametrize("column", ["", [""], [3], 3, ["a", "b"], []])
def test_a_column_needs_one_name(column):
    made = tn.PriorCorrection(weight=2.0).fit([0.1, 0.9], [0, 1])
    with pytest.raises(tn.InputError, match="`column` must name the column of the scores; got"):
        made.to_sql(column=column)
