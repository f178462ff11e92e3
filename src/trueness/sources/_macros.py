"""Macros for DuckDB that sum rows inside the database, for work in SQL."""

__all__ = ["duckdb_macros"]

# A score counts as ⌊2⁵³ p⌋, a whole number, so that its sum does not depend on the order of the rows. The bin of a
# score is found by comparing it with the nearest edge, since the product of score and number of bins is rounded.
_MACROS = """
CREATE OR REPLACE MACRO tally(rows, label, prob) AS TABLE
SELECT CAST(prob AS DOUBLE) AS prob, CAST(label AS INTEGER) AS label, count(*) AS n
FROM query_table(rows)
GROUP BY ALL
ORDER BY ALL;

CREATE OR REPLACE MACRO calibration_bins(rows, label, prob, bins) AS TABLE
WITH cells AS (
    SELECT CAST(prob AS DOUBLE) AS p, CAST(label AS INTEGER) AS y, floor(p * bins + 0.5) AS nearest
    FROM query_table(rows)
)
SELECT CAST(least(nearest - CAST(p < nearest / bins AS INTEGER), bins - 1) AS INTEGER) AS bin,
    count(*) AS n,
    sum(y) AS events,
    CAST(sum(CAST(floor(p * 9007199254740992) AS HUGEINT)) AS DOUBLE) / 9007199254740992.0 / count(*) AS score,
    sum(y) / count(*) AS rate
FROM cells
GROUP BY bin
ORDER BY bin;
"""


def duckdb_macros() -> str:
    """SQL that defines the table macros `tally` and `calibration_bins` in DuckDB.

    ``tally(rows, label, prob)`` counts the rows of each distinct score and label of a table or view, whose name is a
    string; labels are 0/1 or boolean. Its columns are arguments of :func:`trueness.tally`: every measure of that is
    the same, to the last bit, as the measure of the rows. ``calibration_bins(rows, label, prob, bins)`` has the number
    of rows, events, mean score and event rate of each bin of equal width that is not empty; the numbers of rows and
    events are those of :func:`trueness.bin_table`, the means within rounding.

    Nothing is checked: a missing score or one outside [0, 1] is refused by :func:`trueness.tally`, but makes a bin of
    its own in `calibration_bins`. From Python, :func:`trueness.scan` sums a relation in DuckDB and checks it too.

    Returns
    -------
    str
        Two statements, for ``connection.execute``.

    Examples
    --------
    >>> import duckdb
    >>> import trueness as tn
    >>> connection = duckdb.connect()
    >>> _ = connection.execute(tn.sources.duckdb_macros())
    >>> _ = connection.execute("CREATE TABLE day AS FROM (VALUES (0, 0.25), (1, 0.25), (1, 0.75), (1, 0.75)) t(y, p)")
    >>> sums = connection.sql("FROM tally('day', y, p)").fetchnumpy()
    >>> tn.ece(tn.tally(sums["label"], sums["prob"], sample_weight=sums["n"]), bins=2)
    0.25
    >>> connection.sql("FROM calibration_bins('day', y, p, 2)").fetchall()
    [(0, 2, 1, 0.25, 0.5), (1, 2, 2, 0.75, 1.0)]
    """
    return _MACROS
