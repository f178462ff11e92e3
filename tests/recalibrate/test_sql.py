"""SQL expressions reproduce `predict`, in DuckDB and in SQLite."""

import re
import sqlite3

import numpy as np
import pytest
from grids import slow
from scipy.special import softmax
from travelling_maps import (
    MATRICES,
    MATRIX_OF_LOGITS,
    REFUSED,
    VECTORS,
    fitted,
    name_of,
    scores_for,
)

import trueness as tn

duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
pytest.importorskip("pyarrow", reason="PyArrow is not installed")

AWKWARD = 'p "x` y'


def pyarrow_table(columns):
    import pyarrow

    return pyarrow.table(columns)


def in_duckdb(expressions, columns):
    rows = pyarrow_table(columns)
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
        return np.array(
            connection.execute(f"SELECT {', '.join(expressions)} FROM scores").fetchall(),
            dtype=float,
        )


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


@pytest.mark.parametrize("dialect", ["sqlite", *slow("duckdb")])
@pytest.mark.parametrize("calibrator", VECTORS + MATRICES, ids=name_of)
def test_an_expression_equals_predict(calibrator, dialect):
    assert_equals_predict(calibrator, dialect, 200)


@pytest.mark.slow
@every_engine
@pytest.mark.parametrize("calibrator", VECTORS + MATRICES, ids=name_of)
def test_an_expression_equals_predict_on_many_scores(calibrator, dialect):
    assert_equals_predict(calibrator, dialect, 100_000)


@pytest.mark.parametrize(
    "calibrator",
    [tn.OneVsRest(tn.IsotonicCalibration()), tn.recalibrate.VectorScaling()],
    ids=name_of,
)
def test_a_query_of_a_table_equals_predict(calibrator):
    made = fitted(calibrator)
    scores = scores_for(made, 200)
    columns = {f"{AWKWARD}{k}": scores[:, k].copy() for k in range(scores.shape[1])}
    wanted = made.predict(scores)
    new = [f"{name}_calibrated" for name in columns]
    with duckdb.connect() as connection:
        connection.from_arrow(pyarrow_table(columns)).create("scores")
        found = connection.sql(
            made.to_sql(column=list(columns), table=["main", "scores"])
        ).fetchnumpy()
        applied = tn.recalibrate.apply_calibrator(
            connection.table("scores"), made, prob=list(columns)
        )
        assert applied.columns == [*columns, *new]
        for each in (found, applied.fetchnumpy()):
            np.testing.assert_allclose(
                np.stack([each[name] for name in new], 1), wanted, rtol=0, atol=1e-12
            )
    with pytest.raises(
        tn.InputError, match=r"`table` must be the name of a table, or its parts as a list; got ''"
    ):
        made.to_sql(column=list(columns), table="")


def test_a_query_writes_the_map_of_each_class_once():
    rng = np.random.default_rng(0)
    p = softmax(2 * rng.normal(size=(2000, 5)), axis=1)
    made = tn.OneVsRest(tn.IsotonicCalibration()).fit(
        p, (p.cumsum(axis=1) > rng.random((2000, 1))).argmax(axis=1)
    )
    columns = [f"p{k}" for k in range(5)]
    assert 5 * len(made.to_sql(column=columns, table="scores")) < sum(
        map(len, made.to_sql(column=columns).values())
    )
    assert len(made.to_sql("postgresql", column=columns, table="scores")) < 40_000


@every_engine
@pytest.mark.parametrize(
    "calibrator", [one for one in MATRICES if getattr(one, "from_logits", False)], ids=name_of
)
def test_of_large_logits_an_expression_is_right_to_their_rounding(calibrator, dialect):
    rng = np.random.default_rng(0)
    made = fitted(calibrator)
    for size in (1e2, 1e4, 1e6):
        logits = size * rng.uniform(-1, 1, (500, 1)) + rng.normal(0, 3, (500, made.n_classes_))
        columns = {f"z{k}": logits[:, k].copy() for k in range(made.n_classes_)}
        found = ENGINES[dialect](list(made.to_sql(dialect, column=list(columns)).values()), columns)
        np.testing.assert_allclose(
            found, made.predict(logits), rtol=0, atol=max(1e-12, 1e-16 * size)
        )


@pytest.mark.parametrize(
    "names", [{"column": "a\0b"}, {"table": "a\0b"}, {"table": ["main", "\0"]}], ids=str
)
def test_a_name_with_a_nul_is_not_written(names):
    with pytest.raises(
        tn.InputError, match="Columns and tables in SQL must have names without NUL; got"
    ):
        fitted(tn.PlattScaling()).to_sql(**names)


@every_engine
def test_steps_of_a_falling_curve_equal_predict(dialect):
    p = np.linspace(0.01, 0.99, 400)
    y = np.random.default_rng(3).random(400) < 1 - p
    made = tn.ScalingBinning(n_bins=7).fit(p, y)
    scores = np.linspace(0, 1, 301)
    assert np.unique(made.predict(scores)).size == 7
    found = ENGINES[dialect]([made.to_sql(dialect)], {"p": scores})[:, 0]
    np.testing.assert_allclose(found, made.predict(scores), rtol=0, atol=1e-12)


@every_engine
@pytest.mark.parametrize(
    "calibrator", [tn.PlattScaling(), tn.HistogramBinning(), tn.IsotonicCalibration()]
)
def test_scores_that_predict_refuses_are_null(calibrator, dialect):
    expression = fitted(calibrator).to_sql(dialect)
    found = ENGINES[dialect]([expression], {"p": np.array([np.nan, -0.1, 1.1, np.inf, 0.5])})
    assert np.isnan(found[:, 0]).tolist() == [True] * 4 + [False]


@pytest.mark.parametrize("calibrator", [tn.PlattScaling(), tn.HistogramBinning()])
def test_text_is_read_as_numbers_in_sqlite_and_other_text_is_null(calibrator):
    """`.import --csv` makes columns of text."""
    made = fitted(calibrator)
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE scores (p TEXT)")
        texts = ["0.502", "2e-1", "1", "0", "", "nan", "0.5x", "2"]
        connection.executemany("INSERT INTO scores VALUES (?)", [(text,) for text in texts])
        found = [
            value for (value,) in connection.execute(f"SELECT {made.to_sql('sqlite')} FROM scores")
        ]
    assert found[:4] == pytest.approx(made.predict([0.502, 0.2, 1, 0]).tolist(), abs=1e-12)
    assert found[4:] == [None] * 4


def test_null_stays_null():
    with duckdb.connect() as connection:
        expression = fitted(tn.PlattScaling()).to_sql()
        assert connection.sql(
            f"SELECT {expression} FROM (SELECT NULL::DOUBLE AS p)"
        ).fetchall() == [(None,)]


@pytest.mark.parametrize(
    ("calibrator", "reason"), REFUSED, ids=lambda v: name_of(v) if hasattr(v, "fit") else ""
)
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
    real = guard.replace("WHEN ", "WHEN {0} = {4} AND ").format(
        'CAST("a`b" AS REAL)', *plain, '"a`b"'
    )
    assert made.to_sql("sqlite", column="a`b") == real
    cast = f"CAST({guard} AS double precision)"
    assert made.to_sql("postgresql", column="p") == cast.format('"p"', *plain)
    assert made.to_sql("spark", column="a`b") == guard.format("`a``b`", "0.0D", "1.0D", "2.0D")
    assert made.to_sql("bigquery", column="a`b\\") == guard.format("`a\\`b\\\\`", *plain)


def test_the_column_is_the_one_of_the_fit():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    p = pandas.Series([0.2, 0.4, 0.6, 0.8], name="risk")
    assert '"risk"' in tn.PlattScaling().fit(p, [0, 1, 0, 1]).to_sql()
    assert '"p"' in tn.PlattScaling().fit(p.to_numpy(), [0, 1, 0, 1]).to_sql()
    made = tn.TemperatureScaling().fit(pandas.DataFrame({"a": 1 - p, "b": p}), [0, 1, 0, 1])
    assert set(made.to_sql()) == {"0", "1"}
    with pytest.raises(
        tn.InputError, match=r"`column` must name the 2 columns of the scores; got 'p'\."
    ):
        made.to_sql(column="p")
    with pytest.raises(tn.InputError, match="`dialect` must be 'duckdb'"):
        made.to_sql("sybase")


@pytest.mark.parametrize("column", ["", [""], [3], 3, ["a", "b"], []])
def test_a_column_needs_one_name(column):
    made = tn.PriorCorrection(weight=2.0).fit([0.1, 0.9], [0, 1])
    with pytest.raises(tn.InputError, match="`column` must name the column of the scores; got"):
        made.to_sql(column=column)


def test_many_steps_are_found_by_few_comparisons():
    k = np.arange(1_000) / 1_000
    text = tn.VennAbers().fit(k, (k > 0.5) ^ (np.arange(1_000) % 7 == 0)).to_sql()
    depth = deepest = 0
    for word in text.split():
        depth += (word == "CASE") - (word == "END")
        deepest = max(deepest, depth)
    assert text.count("WHEN") > 60
    assert deepest <= 12


@pytest.mark.filterwarnings("ignore::trueness.errors.SeparableWarning")
@pytest.mark.parametrize(
    "scaler",
    [
        tn.PlattScaling(),
        tn.TemperatureScaling(),
        tn.recalibrate.QuadraticScaling(),
        tn.HistogramBinning(4),
        tn.PriorCorrection(),
        tn.IsotonicCalibration(),
    ],
    ids=name_of,
)
@pytest.mark.parametrize("turned", [False, True])
def test_steps_of_a_scaled_score_are_where_its_scaler_reaches_an_edge(scaler, turned):
    rng = np.random.default_rng(0)
    p = rng.beta(0.7, 0.9, 200)
    y = (rng.random(200) < p**0.5).astype(int)
    made = tn.ScalingBinning(5, split="none", scaler=scaler).fit(p, 1 - y if turned else y)
    text = made.to_sql("sqlite")
    edges = np.array([float(one) for one in re.findall(r" < ([-+.e\d]+)", text)])
    scores = np.concatenate(
        [rng.random(50), [0, 1, 5e-324], edges, np.nextafter(edges, 0), np.nextafter(edges, 1)]
    )
    assert edges.size or (turned and len(set(made.predict(scores))) == 1)
    assert in_sqlite([text], {"p": scores})[:, 0].tolist() == made.predict(scores).tolist()


def test_maps_whose_form_depends_on_what_was_learnt_are_refused_where_they_have_none():
    p = np.linspace(0.02, 0.98, 300)
    bent = (np.abs(p - 0.5) > 0.3).astype(int)
    for free in (
        tn.SplineCalibration(monotone=False),
        tn.recalibrate.QuadraticScaling(monotone=False),
    ):
        with pytest.raises(
            tn.InputError, match="as one formula: what it makes steps of is not monotone"
        ):
            tn.ScalingBinning(3, split="none", scaler=free).fit(p, bent).to_sql()
    limits = fitted(tn.recalibrate.VectorScaling(limits=True))
    assert limits.to_sql(column=list("abc"))
    limits.scale_ = np.array([1.0, -1.0, 1.0])
    with pytest.raises(tn.InputError, match="which class wins depends on which others are 0"):
        limits.to_sql(column=list("abc"))
    with pytest.raises(
        tn.InputError, match="it normalizes logits first; fit it on probabilities instead"
    ):
        fitted(tn.recalibrate.DirichletCalibration(from_logits=True)).to_sql(column=list("abc"))


def test_logits_may_be_negative_and_those_too_large_are_null():
    line = fitted(tn.PlattScaling(from_logits=True)).to_sql("sqlite")
    found = in_sqlite([line], {"p": np.array([-1e300, -2.0, 2.0, 1e300, -1e301, 1e301])})[:, 0]
    assert np.isnan(found).tolist() == [False] * 4 + [True] * 2
    matrix = fitted(tn.recalibrate.MatrixScaling(from_logits=True)).to_sql(
        "sqlite", column=list("abc")
    )
    columns = {
        "a": np.array([-1e6, -1.1e6, 0]),
        "b": np.array([0.0, 0, 1.1e6]),
        "c": np.array([1e6, 0, 0]),
    }
    assert np.isnan(in_sqlite(list(matrix.values()), columns)[:, 0]).tolist() == [False, True, True]


def test_differences_of_large_logits_are_exact():
    """10¹⁵ / 3 has no room for what 10¹⁵ + 1 has more; the difference of the logits does."""
    rows = tn.simulate.multiclass(50, 3, seed=0)
    made = tn.TemperatureScaling(from_logits=True).fit(np.log(rows.y_prob), rows.y_true)
    made.temperature_ = 3.0
    columns = {"a": np.array([1e15 + 1]), "b": np.array([1e15]), "c": np.array([1e15 - 2])}
    found = in_sqlite(list(made.to_sql("sqlite", column=list("abc")).values()), columns)
    assert found[0] == pytest.approx(softmax([1 / 3, 0, -2 / 3]), abs=1e-12)


def test_beta_calibration_of_single_classes_is_written_for_probabilities_only():
    with pytest.raises(
        tn.InputError, match="for probabilities only; it was fitted with from_logits=True"
    ):
        fitted(MATRIX_OF_LOGITS).to_sql(column=list("abc"))
