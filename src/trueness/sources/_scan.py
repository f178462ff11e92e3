"""`scan` and `scan_groups`: the sums of rows in frames, files, databases and clusters."""

import os
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, Literal, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np

from trueness._input.arguments import checked_whole
from trueness._keywords import suggests_keywords
from trueness._tally.bins import Bins
from trueness._tally.cells import Cells
from trueness._tally.grid import GridCells
from trueness._tally.group_keys import without_small
from trueness._tally.rows_or_sums import binned, sketch, tally
from trueness._tally.rules import BinsLike, Distinct, Edges, EqualMass, edges_of
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError
from trueness.sources import _gather as gather
from trueness.sources import _group_by as queries
from trueness.sources._batches import sums_of_batches
from trueness.sources._cluster_buckets import fold_buckets, largest_clusters, with_buckets
from trueness.sources._frames import PathEngine, open_frame
from trueness.sources._gather import FINE_GRID, Columns, Group
from trueness.sources._question import (
    Question,
    Rule,
    check_bins,
    check_group_bins,
    check_question,
    column_error,
)
from trueness.sources._row_expressions import (
    LEAST_EXPONENT,
    Rows,
    check_columns,
    explain_bad_rows,
    rows_of,
)
from trueness.sources._row_keys import uncollected
from trueness.typing import Kind, Missing

Sums: TypeAlias = Tally | Binned | Sketch
"""What every measure takes in place of rows."""

_FEW_EDGES = 64  # with more, comparing with each costs more than a second group-by
_ENGINES = {"polars", "duckdb", "_duckdb", "narwhals", "pyarrow", "pyspark", "py4j", "grpc"}
_ENGINES |= {"dask", "distributed", "ibis", "psycopg"}


@suggests_keywords
def scan(
    source: Any,
    *,
    label: str,
    prob: str | Sequence[str],
    weight: str | None = None,
    bins: BinsLike | Literal["sketch"] | None = 10,
    kind: Kind | None = None,
    labels: Sequence[Any] | None = None,
    pos_label: Any = None,
    missing: Missing = "raise",
    sum_tolerance: float | None = None,
    cluster: str | None = None,
    buckets: int = 64,
    engine: PathEngine = "auto",
    by: None = None,
) -> Sums:
    """Sum rows in place: in a frame, a file, a database or on a cluster.

    The engine computes the sums; they replace labels and scores in every measure, and add. Without
    weights they equal, bit for bit, what :func:`trueness.binned`, :func:`trueness.tally` or
    :func:`trueness.sketch` return in memory.

    Parameters
    ----------
    source : frame, relation, path, pattern or list of paths
        Polars, DuckDB, PySpark (classic or Connect), Dask, Ibis, pandas, PyArrow and any other
        frame that narwhals reads; or files: Parquet, Arrow, CSV, TSV or JSON lines, never read
        whole.
    label : str
        Column of outcomes: 0/1, bool, class codes, or strings (see `labels`).
    prob : str or list of str
        Column of P(positive), or one column per class.
    weight : str, optional
        Column of row weights. Weights are frequencies: a weight of 2 counts the row twice.
    bins : int, sequence of edges, bin rule, 'sketch' or None, default 10
        An int means that many bins of equal width on [0, 1]. None or ``Distinct()`` keeps every
        distinct score and returns a `Tally`, which suffices for every measure but grows with the
        number of distinct scores. ``"sketch"`` returns a `Sketch` of bounded size, which gives
        every measure approximately.
    kind : {'classwise', 'confidence', 'top-label'}, optional
        How several score columns are compared with the labels. 'classwise' (default): each column
        against the rest, averaged over classes. 'confidence': the largest score of each row against
        whether that class is the label. 'top-label': the same for each predicted class.
    labels : sequence, optional
        The classes in column order; for one score column, two labels with the event last. By
        default, columns are matched by name, by the category order of an Enum or a pandas
        Categorical, or by the sorted labels.
    pos_label : optional
        The label that the scores refer to. Finding the other label takes an extra pass; `labels`
        needs none.
    missing : {'raise', 'drop'}, default 'raise'
        Whether NULL and nan raise an error, or are dropped with a warning that counts them.
    sum_tolerance : float, optional
        How far the scores of a row may sum from one; 1e-6 by default.
    cluster : str, optional
        Column of cluster names, text or whole numbers; rows of one cluster (a user, a patient) may
        depend on each other. The sums are then kept for each bucket of clusters, and every interval
        and test from them allows for the dependence. Bins need fixed edges, several score columns
        ``kind='confidence'``.
    buckets : 32, 64, 128 or 256, default 64
        Number of buckets. A cluster has the same bucket on every engine; sums add if they have the
        same number.
    engine : {'auto', 'polars', 'duckdb'}, default 'auto'
        The library that reads a path; by default Polars if it is installed, else DuckDB, which
        reads Parquet and CSV.
    by : None
        Not used: for groups, call :func:`scan_groups`.

    Returns
    -------
    Binned, Tally or Sketch
        Depending on `bins`.

    Raises
    ------
    InputError
        If a column does not exist or a value is bad; the message counts the rows, since engines do
        not number them.

    See Also
    --------
    scan_groups : The same for each group of rows.
    trueness.binned, trueness.tally, trueness.sketch : The same for arrays.

    Notes
    -----
    A score is placed as binary search on the float64 edges would place it; float32 columns are
    widened first. Sums are of whole numbers, in units of 2⁻⁵³ per score, and hold for 2³⁵ rows per
    bin. Sums of weights keep twelve digits. Equal-mass bins without weights take two passes and no
    sort; so does, in a group-by, a sketch of rows with whole-number weights, whose sums are then
    exact.

    Examples
    --------
    >>> import polars as pl
    >>> import trueness as tn
    >>> rows = pl.LazyFrame({"p": [0.1, 0.2, 0.8, 0.9], "y": [0, 0, 1, 1]})
    >>> round(tn.ece(tn.scan(rows, label="y", prob="p", bins=2), bins=2), 6)
    0.15
    >>> tn.scan(rows, label="y", prob="p", bins="sketch") == tn.sketch([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9])
    True
    """
    if by is not None:
        raise TypeError(
            "`scan` takes no `by`; use `trueness.scan_groups` for the sums of each group."
        )
    rows = (
        label,
        prob,
        weight,
        None,
        kind,
        labels,
        pos_label,
        missing,
        sum_tolerance,
        cluster,
        buckets,
    )
    sums: Sums = _sums_by_group(source, check_question(*rows), bins, engine)[()]
    return sums


@suggests_keywords
def scan_groups(
    source: Any,
    *,
    by: str | Sequence[str],
    label: str,
    prob: str | Sequence[str],
    weight: str | None = None,
    bins: BinsLike | Literal["sketch"] | None = 10,
    kind: Kind | None = None,
    labels: Sequence[Any] | None = None,
    pos_label: Any = None,
    missing: Missing = "raise",
    sum_tolerance: float | None = None,
    cluster: str | None = None,
    buckets: int = 64,
    min_rows: int = 1,
    engine: PathEngine = "auto",
) -> "GroupSums":
    """Sum the rows of each group in place.

    Parameters
    ----------
    by : str or list of str
        Column or columns whose values define the groups.
    source : frame, relation, path, pattern or list of paths
        Polars, DuckDB, PySpark (classic or Connect), Dask, Ibis, pandas, PyArrow and any other
        frame that narwhals reads; or files: Parquet, Arrow, CSV, TSV or JSON lines, never read
        whole.
    label : str
        Column of outcomes: 0/1, bool, class codes, or strings (see `labels`).
    prob : str or list of str
        Column of P(positive), or one column per class.
    weight : str, optional
        Column of row weights. Weights are frequencies: a weight of 2 counts the row twice.
    bins : int, sequence of edges, bin rule, 'sketch' or None, default 10
        An int means that many bins of equal width on [0, 1]. None or ``Distinct()`` keeps every
        distinct score and returns a `Tally`, which suffices for every measure but grows with the
        number of distinct scores. ``"sketch"`` returns a `Sketch` of bounded size, which gives
        every measure approximately.
    kind : {'classwise', 'confidence', 'top-label'}, optional
        How several score columns are compared with the labels. 'classwise' (default): each column
        against the rest, averaged over classes. 'confidence': the largest score of each row against
        whether that class is the label. 'top-label': the same for each predicted class.
    labels : sequence, optional
        The classes in column order; for one score column, two labels with the event last. By
        default, columns are matched by name, by the category order of an Enum or a pandas
        Categorical, or by the sorted labels.
    pos_label : optional
        The label that the scores refer to. Finding the other label takes an extra pass; `labels`
        needs none.
    missing : {'raise', 'drop'}, default 'raise'
        Whether NULL and nan raise an error, or are dropped with a warning that counts them.
    sum_tolerance : float, optional
        How far the scores of a row may sum from one; 1e-6 by default.
    cluster : str, optional
        Column of cluster names, text or whole numbers; rows of one cluster (a user, a patient) may
        depend on each other. The sums are then kept for each bucket of clusters, and every interval
        and test from them allows for the dependence. Bins need fixed edges, several score columns
        ``kind='confidence'``.
    buckets : 32, 64, 128 or 256, default 64
        Number of buckets. A cluster has the same bucket on every engine; sums add if they have the
        same number.
    engine : {'auto', 'polars', 'duckdb'}, default 'auto'
        The library that reads a path; by default Polars if it is installed, else DuckDB, which
        reads Parquet and CSV.
    by : None
        Not used: for groups, call :func:`scan_groups`.
    min_rows : int, default 1
        Groups of fewer rows are left out, so that no small cell is disclosed; a warning says how
        many rows they have.

    Returns
    -------
    dict
        The sums of each group. The keys are the values of one column named as a string, or tuples
        of values for a list; NULL and nan are the key None. A group without a complete row is left
        out. Its attribute ``names`` has the columns.

    See Also
    --------
    scan : The same for all rows together.
    Accumulator.merge, Accumulator.subtract : Add such sums, group by group, or take them away.

    Examples
    --------
    >>> import polars as pl
    >>> import trueness as tn
    >>> rows = pl.LazyFrame({"p": [0.1, 0.2, 0.8, 0.9], "y": [0, 0, 1, 1], "day": ["mon", "tue", "mon", "tue"]})
    >>> tn.scan_groups(rows, by="day", label="y", prob="p")
    {'mon': Binned(binary, 2 rows, 10 bins), 'tue': Binned(binary, 2 rows, 10 bins)}
    """
    if by is None:
        raise InputError("by", "must be the name of a column or a list of names", "got None")
    rows = (
        label,
        prob,
        weight,
        by,
        kind,
        labels,
        pos_label,
        missing,
        sum_tolerance,
        cluster,
        buckets,
    )
    question, some = (
        check_question(*rows),
        checked_whole(min_rows, "min_rows") > 1,
    )  # before the rows are read
    groups = _sums_by_group(source, question, bins, engine)
    groups = without_small(groups, min_rows) if some else groups  # every group has a row
    with uncollected():
        return GroupSums(
            by, {key[0] if isinstance(by, str) else key: sums for key, sums in groups.items()}
        )


class GroupSums(dict[Hashable, Sums]):
    """The sums of each group."""

    def __init__(self, by: str | Sequence[str], groups: Mapping[Hashable, Sums]) -> None:
        super().__init__(groups)
        self.names = (by,) if isinstance(by, str) else tuple(by)
        """The columns whose values are the keys."""


def _sums_by_group(
    source: Any, question: Question, bins: Any, engine: PathEngine
) -> dict[Group, Any]:
    rule = check_bins(bins)
    if (
        question.cluster is not None
        and not isinstance(rule, str | Distinct)
        and rule.fixed_edges is None
    ):
        remedy = "Use 'sketch', which serves any bins."
        raise InputError(
            "bins", "must have fixed edges with `cluster`", f"got {rule!r}", remedy=remedy
        )
    with _engine_errors(source), ExitStack() as stack:
        frame = open_frame(source, question, engine, stack)
        schema = check_columns(frame, question)
        sums = _in_memory(frame, question, rule) or sums_of_batches(frame, question, schema, rule)
        if sums is not None:
            return sums
        if question.cluster is None:
            return _group_by(frame, question, rule)
        largest = largest_clusters(frame, question, schema)
        return fold_buckets(_group_by(*with_buckets(frame, question), rule), largest, question)


@contextmanager
def _engine_errors(source: Any) -> Iterator[None]:
    """Turn the errors of engines into an InputError that says what could not be read, and why."""
    try:
        yield
    except Exception as reason:  # engines have no error class in common
        homes = {base.__module__.partition(".")[0] for base in type(reason).__mro__}
        if not isinstance(reason, OSError | NotImplementedError) and homes.isdisjoint(_ENGINES):
            raise
        several = list(source) if isinstance(source, list | tuple) and source else [source]
        named = isinstance(several[0], str | os.PathLike)
        what = repr(os.fspath(several[0])) if named else f"({type(source).__name__})"
        more = (
            f" (or one of the {len(several) - 1} other files)" if named and len(several) > 1 else ""
        )
        # Later lines repeat a reader's options, or are the trace of another machine.
        lines = [
            line.strip().removesuffix(":") for line in str(reason).splitlines() if line.strip()
        ][:3]
        why = ("; ".join(lines) or type(reason).__name__)[:300].removesuffix(".")
        raise InputError("", f"`source` {what}{more} cannot be read: {why}") from reason


def _group_by(frame: Any, question: Question, rule: Rule) -> dict[Group, Any]:
    """The sums of each group by queries that the engine answers."""
    # Polars fuses lazy steps; eagerly, each would copy every row.
    frame = frame.lazy() if frame.implementation.is_polars() else frame
    rows = rows_of(frame, question)
    if isinstance(rule, str):
        return _sketch_groups(rows)
    is_long = isinstance(rule, Edges) and rule.n_requested > _FEW_EDGES
    if rule.fixed_edges is not None and (rows.weighted or not is_long):
        numbers, groups = _answer(queries.binned_query(rows, queries.bin_of_score(rule)), rows)
        gather.refuse_outside(numbers, rule, rows)
        check_group_bins(rule, rows.n_parts, len(set(groups)))
        return _sums_of_groups(numbers, groups, rows, lambda part: gather.bins_of(part, rule))
    if isinstance(rule, EqualMass | Edges) and not rows.weighted:
        sums = _bin_groups_in_two_passes(rows, rule)
    else:
        sums = _sums_of_groups(*_answer(queries.distinct_query(rows), rows), rows, gather.cells_of)
    if isinstance(rule, EqualMass) and not question.by and sums[()].n == 0:
        raise InputError(
            "source", "must have at least one row to make bins of equal mass", "it has none"
        )
    done = isinstance(rule, Distinct)
    return {
        key: one if done or isinstance(one, Binned) else one.coarsen(rule)
        for key, one in sums.items()
    }


def _in_memory(frame: Any, question: Question, rule: Rule) -> dict[Group, Any] | None:
    """The sums of a frame in memory; None if a value is bad, which the group-by then explains."""
    if not isinstance(frame, nw.DataFrame) or question.by:
        return None
    columns: dict[str, Any] = {name: frame.get_column(name).to_native() for name in frame.columns}
    matrix = nw.to_native(frame.select(*[frame.get_column(name) for name in question.scores]))
    y = columns[question.label]
    p = columns[question.scores[0]] if question.binary else matrix
    options: dict[str, Any] = {"labels": question.labels, "pos_label": question.pos_label}
    if question.weight is not None:
        options["sample_weight"] = columns[question.weight]
    if question.cluster is not None:
        options |= {"cluster": columns[question.cluster], "buckets": question.buckets}
    if not question.binary:
        options |= {"kind": question.view, "sum_tolerance": question.tolerance}
    make: Any = (
        sketch
        if isinstance(rule, str)
        else tally
        if isinstance(rule, Distinct)
        else partial(binned, bins=rule)
    )
    try:
        return {(): make(y, p, **options)}
    except InputError:
        return None


def _sketch_groups(rows: Rows) -> dict[Group, Any]:
    numbers, groups = _answer(queries.grid_query(rows), rows)
    if rows.weighted and gather.fit_in_integers(numbers):
        # Whether weights are whole numbers, so that their sums are exact, is known only now.
        whole = gather.parts_by_group(numbers, groups, rows, gather.have_whole_weights)
        if any(map(any, whole.values())):
            numbers, groups = gather.collect(queries.grid_query(rows, whole=True), rows)
    return _sums_of_groups(numbers, groups, rows, gather.grid_of)


def _answer(query: Any, rows: Rows) -> tuple[Columns, list[Group]]:
    """The answer to a query, once bad rows are explained or dropped.

    Weights that are all 0 are refused.
    """
    numbers, groups = gather.collect(query, rows)
    if (gather.marks(numbers) == queries.BAD).any():
        explain_bad_rows(rows.source, rows.question)
    unweighed = gather.marks(numbers) == queries.UNWEIGHED
    if unweighed.any() and not gather.good_rows(numbers)["n"].size:
        n = int(numbers["n"][unweighed].sum())
        raise column_error(
            "weight",
            str(rows.question.weight),
            "must have a weight above zero",
            f"all {n:,} are zero",
        )
    return numbers, groups


def _sums_of_groups(
    numbers: Columns, groups: list[Group], rows: Rows, make: Any
) -> dict[Group, Any]:
    for key, mine in gather.each_group(numbers, groups, rows) if rows.weighted else ():
        exponents = gather.good_rows(mine)["e"]
        if exponents.size and exponents.max() < LEAST_EXPONENT:
            where = f" in group {', '.join(map(repr, key))}" if key else ""
            demand = f"must have its largest weight above 2**{LEAST_EXPONENT}"
            got = f"it is about 2**{exponents.max()}"
            remedy = "Multiply all weights by one number: calibration errors do not change."
            raise column_error("weight", str(rows.question.weight), demand, got + where, remedy)
    return _sums_of(gather.parts_by_group(numbers, groups, rows, make), rows)


def _sums_of(parts: Mapping[Group, tuple[Any, ...]], rows: Rows) -> dict[Group, Any]:
    """The sums of each group that has rows.

    Without `by`, those of all rows, even if there are none.
    """
    kinds: dict[type, Any] = {Cells: Tally, GridCells: Sketch, Bins: Binned}
    sums = {
        key: kinds[type(found[0])](rows.question.view, found, rows.classes)
        for key, found in parts.items()
    }
    return {key: one for key, one in sums.items() if one.n or not rows.by}


def _bin_groups_in_two_passes(rows: Rows, rule: EqualMass | Edges) -> dict[Group, Any]:
    numbers, groups = _answer(
        queries.binned_query(rows, queries.cell_of_width(FINE_GRID.n), ends=("least",)), rows
    )
    fine = gather.parts_by_group(numbers, groups, rows, gather.FineCells)
    cut = [gather.cells_with_cuts(part, rule) for parts in fine.values() for part in parts]
    only = np.unique(np.concatenate([*cut, np.zeros(0, dtype=np.int64)]))
    if only.size and only[-1] == FINE_GRID.n - 1:
        only = np.append(only, FINE_GRID.n)  # a score of 1 lies one past the grid
    cells: dict[Group, tuple[Cells, ...]] = {}
    if only.size:
        scores = gather.collect(queries.distinct_query(rows, only, FINE_GRID.n), rows)
        cells = gather.parts_by_group(*scores, rows, gather.cells_of)
    found = {}
    for key, parts in fine.items():
        found[key] = tuple(
            gather.bins_from_pieces(part, score, rule)
            if part.cell.size
            else Bins.empty(edges_of(rule))
            for part, score in zip(
                parts, cells.get(key, (Cells.empty(),) * len(parts)), strict=True
            )
        )
    return _sums_of(found, rows)
