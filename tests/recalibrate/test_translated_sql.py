"""SQL of further warehouses: translated, marked as not executed, and the same map where it can be read back."""

import duckdb
import numpy as np
import pytest

import trueness as tn

sqlglot = pytest.importorskip("sqlglot")
OTHERS = ("snowflake", "redshift", "databricks", "trino", "clickhouse", "mysql", "tsql", "oracle")


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    p = rng.beta(2, 2, 400)
    return tn.PlattScaling().fit(p, rng.uniform(size=400) < p**2)


@pytest.mark.parametrize("dialect", OTHERS)
def test_a_translation_says_that_it_was_not_executed_and_reads_back(fitted, dialect):
    text = fitted.to_sql(dialect, column="the score")
    mark = "/* translated by sqlglot, not executed by trueness: check some rows */ "
    assert text.startswith(mark)
    (back,) = sqlglot.transpile(text.removeprefix(mark), read=dialect, write="duckdb")
    scores = np.array([0.1, 0.5, 0.9])
    values = ", ".join(f"({score!r}::double)" for score in scores.tolist())
    rows = duckdb.sql(f'select {back} from (values {values}) as t("the score")').fetchall()
    # FLOAT is double precision in T-SQL; sqlglot reads it back as single.
    close = 1e-6 if dialect == "tsql" else 1e-12
    np.testing.assert_allclose([row[0] for row in rows], fitted.predict(scores), rtol=close)
