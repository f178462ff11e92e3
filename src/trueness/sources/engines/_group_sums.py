"""The sums of the rows of each group: in memory, by batches, or by queries of an engine."""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from trueness._tally.bins import Bins
from trueness._tally.cells import Cells
from trueness._tally.grid import GridCells
from trueness._tally.rows_or_sums import binned, sketch, tally
from trueness._tally.rules import BinRule, Distinct, Edges, EqualMass, edges_of
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError
from trueness.sources.engines import _gather as gather
from trueness.sources.engines import _group_by as queries
from trueness.sources.engines._bad_rows import explain_bad_rows
from trueness.sources.engines._batches import sums_of_batches
from trueness.sources.engines._cluster_buckets import fold_buckets, largest_clusters, with_buckets
from trueness.sources.engines._frames import PathEngine, open_frame
from trueness.sources.engines._gather import FINE_GRID, Columns, Group
from trueness.sources.engines._question import (
    Question,
    Rule,
    check_bins,
    check_group_bins,
    column_error,
)
from trueness.sources.engines._row_expressions import LEAST_EXPONENT, Rows, check_columns, rows_of

_FEW_EDGES = 64  # with more, comparing with each costs more than a second group-by
_ENGINES = {"polars", "duckdb", "_duckdb", "narwhals", "pyarrow", "pyspark", "py4j", "grpc"}
_ENGINES |= {"dask", "distributed", "ibis", "psycopg"}


def sums_by_group(
    source: Any, question: Question, bins: Any, engine: PathEngine
) -> dict[Group, Any]:
    """The sums of each group, by the first of three ways that the source allows.

    A frame in memory without groups is summed at once; engines that hand out batches are summed
    batch by batch; others are asked by a group-by, with a column of buckets if there are clusters.
    """
    rule = check_bins(bins)
    if question.cluster is not None:
        _refuse_moving_edges(rule)
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


def _refuse_moving_edges(rule: Rule) -> None:
    """Refuse bins whose edges depend on the rows: those of two buckets could not be added."""
    if isinstance(rule, str | Distinct) or rule.fixed_edges is not None:
        return
    demand = "must have fixed edges with `cluster`"
    remedy = "Use 'sketch', which serves any bins."
    raise InputError("bins", demand, f"got {rule!r}", remedy=remedy)


@contextmanager
def _engine_errors(source: Any) -> Iterator[None]:
    """Turn the errors of engines into an InputError that says what could not be read, and why."""
    try:
        yield
    except Exception as reason:  # engines have no error class in common
        packages = {base.__module__.partition(".")[0] for base in type(reason).__mro__}
        is_of_engine = not packages.isdisjoint(_ENGINES)
        if not is_of_engine and not isinstance(reason, OSError | NotImplementedError):
            raise
        demand = f"`source` {_source_in_words(source)} cannot be read: {_why(reason)}"
        raise InputError("", demand) from reason


def _source_in_words(source: Any) -> str:
    """A source as messages name it: its first path, or the type of an object in memory."""
    sources = list(source) if isinstance(source, list | tuple) and source else [source]
    if not isinstance(sources[0], str | os.PathLike):
        return f"({type(source).__name__})"
    first = repr(os.fspath(sources[0]))
    if len(sources) == 1:
        return first
    return f"{first} (or one of the {len(sources) - 1} other files)"


def _why(reason: Exception) -> str:
    """The first lines of an error: later ones repeat options, or are another machine's trace."""
    lines = [line.strip().removesuffix(":") for line in str(reason).splitlines()]
    first_lines = [line for line in lines if line][:3]
    return ("; ".join(first_lines) or type(reason).__name__)[:300].removesuffix(".")


def _group_by(frame: Any, question: Question, rule: Rule) -> dict[Group, Any]:
    """The sums of each group by queries that the engine answers."""
    if frame.implementation.is_polars():
        frame = frame.lazy()  # Polars fuses lazy steps; eagerly, each would copy every row
    rows = rows_of(frame, question)
    if isinstance(rule, str):
        return _sketch_groups(rows)
    has_many_edges = isinstance(rule, Edges) and rule.n_requested > _FEW_EDGES
    if rule.fixed_edges is not None and (rows.weighted or not has_many_edges):
        return _bin_groups_in_one_pass(rows, rule)
    if isinstance(rule, EqualMass | Edges) and not rows.weighted:
        sums = _bin_groups_in_two_passes(rows, rule)
    else:
        sums = _sums_of_groups(*_answer(queries.distinct_query(rows), rows), rows, gather.cells_of)
    if isinstance(rule, EqualMass) and not question.by and sums[()].n == 0:
        demand = "must have at least one row to make bins of equal mass"
        raise InputError("source", demand, "it has none")
    if isinstance(rule, Distinct):
        return sums
    return {key: _coarsened(of_group, rule) for key, of_group in sums.items()}


def _coarsened(sums: Any, rule: Rule) -> Any:
    if isinstance(sums, Binned):
        return sums
    return sums.coarsen(rule)


def _bin_groups_in_one_pass(rows: Rows, rule: BinRule) -> dict[Group, Any]:
    query = queries.binned_query(rows, queries.bin_of_score(rule))
    numbers, groups = _answer(query, rows)
    gather.refuse_outside(numbers, rule, rows)
    check_group_bins(rule, rows.n_parts, len(set(groups)))
    return _sums_of_groups(numbers, groups, rows, lambda part: gather.bins_of(part, rule))


def _in_memory(frame: Any, question: Question, rule: Rule) -> dict[Group, Any] | None:
    """The sums of a frame in memory; None if a value is bad, which the group-by then explains."""
    if not isinstance(frame, nw.DataFrame) or question.by:
        return None

    def column(name: str) -> Any:
        return frame.get_column(name).to_native()

    options: dict[str, Any] = {"labels": question.labels, "pos_label": question.pos_label}
    if question.weight is not None:
        options["sample_weight"] = column(question.weight)
    if question.cluster is not None:
        options |= {"cluster": column(question.cluster), "buckets": question.buckets}
    if question.binary:
        scores = column(question.scores[0])
    else:
        scores = nw.to_native(frame.select(*[frame.get_column(name) for name in question.scores]))
        options |= {"kind": question.view, "sum_tolerance": question.tolerance}
    try:
        return {(): _summed(rule)(column(question.label), scores, **options)}
    except InputError:
        return None


def _summed(rule: Rule) -> Any:
    """The function that sums rows in memory by a rule."""
    if isinstance(rule, str):
        return sketch
    if isinstance(rule, Distinct):
        return tally
    return partial(binned, bins=rule)


def _sketch_groups(rows: Rows) -> dict[Group, Any]:
    """The sketch of each group.

    Groups whose weights turn out to be whole numbers are asked again, for exact sums.
    """
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
        got = f"all {int(numbers['n'][unweighed].sum()):,} are zero"
        raise _weight_error(rows, "must have a weight above zero", got)
    return numbers, groups


def _weight_error(rows: Rows, demand: str, got: str, remedy: str = "") -> InputError:
    return column_error("weight", str(rows.question.weight), demand, got, remedy)


def _sums_of_groups(
    numbers: Columns, groups: list[Group], rows: Rows, make: Any
) -> dict[Group, Any]:
    if rows.weighted:
        for key, of_group in gather.each_group(numbers, groups, rows):
            _refuse_tiny_weights(gather.good_rows(of_group)["e"], key, rows)
    return _sums_of(gather.parts_by_group(numbers, groups, rows, make), rows)


def _refuse_tiny_weights(exponents: Any, key: Group, rows: Rows) -> None:
    """Refuse weights whose products with squares of scores would be rounded to zero."""
    if not exponents.size or exponents.max() >= LEAST_EXPONENT:
        return
    where = f" in group {', '.join(map(repr, key))}" if key else ""
    demand = f"must have its largest weight above 2**{LEAST_EXPONENT}"
    got = f"it is about 2**{exponents.max()}{where}"
    remedy = "Multiply all weights by one number: calibration errors do not change."
    raise _weight_error(rows, demand, got, remedy)


_SUMS_OF_PARTS: dict[type, Any] = {Cells: Tally, GridCells: Sketch, Bins: Binned}


def _sums_of(parts_of_groups: Mapping[Group, tuple[Any, ...]], rows: Rows) -> dict[Group, Any]:
    """The sums of each group that has rows.

    Without `by`, those of all rows, even if there are none.
    """
    sums = {}
    for key, parts in parts_of_groups.items():
        make = _SUMS_OF_PARTS[type(parts[0])]
        of_group = make(rows.question.view, parts, rows.classes)
        if of_group.n or not rows.by:
            sums[key] = of_group
    return sums


def _bin_groups_in_two_passes(rows: Rows, rule: EqualMass | Edges) -> dict[Group, Any]:
    """Bins from a fine grid; only in cells that an edge cuts are distinct scores needed."""
    query = queries.binned_query(rows, queries.cell_of_width(FINE_GRID.n), ends=("least",))
    fine = gather.parts_by_group(*_answer(query, rows), rows, gather.FineCells)
    scores = _scores_in_cut_cells(fine, rows, rule)
    bins = {}
    for key, parts in fine.items():
        scores_of_parts = scores.get(key, (Cells.empty(),) * len(parts))
        pieces = zip(parts, scores_of_parts, strict=True)
        bins[key] = tuple(_bins_of_pieces(part, cells, rule) for part, cells in pieces)
    return _sums_of(bins, rows)


def _bins_of_pieces(part: Any, cells: Cells, rule: EqualMass | Edges) -> Bins:
    if not part.cell.size:
        return Bins.empty(edges_of(rule))
    return gather.bins_from_pieces(part, cells, rule)


def _scores_in_cut_cells(
    fine: Mapping[Group, tuple[Any, ...]], rows: Rows, rule: EqualMass | Edges
) -> dict[Group, tuple[Cells, ...]]:
    """The distinct scores in the cells of the fine grid that an edge of the rule cuts."""
    cut = [gather.cells_with_cuts(part, rule) for parts in fine.values() for part in parts]
    if not cut:
        return {}
    cells = np.unique(np.concatenate(cut))
    if not cells.size:
        return {}
    if cells[-1] == FINE_GRID.n - 1:
        cells = np.append(cells, FINE_GRID.n)  # a score of 1 lies one past the grid
    scores = gather.collect(queries.distinct_query(rows, cells, FINE_GRID.n), rows)
    return gather.parts_by_group(*scores, rows, gather.cells_of)
