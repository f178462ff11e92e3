"""`scan` and `scan_groups`: the sums of rows in frames, files, databases and clusters."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from trueness._input.arguments import checked_whole
from trueness._keywords import suggests_keywords
from trueness._tally.group_keys import without_small
from trueness._tally.rules import BinsLike
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError
from trueness.sources.engines._frames import PathEngine
from trueness.sources.engines._group_sums import sums_by_group
from trueness.sources.engines._question import (
    check_question,
)
from trueness.sources.engines._row_keys import uncollected
from trueness.typing import Kind, Missing

Sums: TypeAlias = Tally | Binned | Sketch
"""What every measure takes in place of rows."""

Source: TypeAlias = Any
"""Files, a frame, a query or a table; each library has types of its own."""


@suggests_keywords
def scan(
    source: Source,
    *,
    label: str,
    prob: str | Sequence[str],
    weight: str | None = None,
    bins: BinsLike | Literal["sketch"] | None = 10,
    kind: Kind | None = None,
    labels: Sequence[Hashable] | None = None,
    pos_label: Hashable | None = None,
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
    >>> sketch = tn.scan(rows, label="y", prob="p", bins="sketch")
    >>> sketch == tn.sketch([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9])
    True
    """
    if by is not None:
        raise TypeError(
            "`scan` takes no `by`; use `trueness.scan_groups` for the sums of each group."
        )
    question = check_question(
        label=label,
        prob=prob,
        weight=weight,
        by=None,
        kind=kind,
        labels=labels,
        pos_label=pos_label,
        missing=missing,
        sum_tolerance=sum_tolerance,
        cluster=cluster,
        buckets=buckets,
    )
    sums: Sums = sums_by_group(source, question, bins, engine)[()]
    return sums


@suggests_keywords
def scan_groups(
    source: Source,
    *,
    by: str | Sequence[str],
    label: str,
    prob: str | Sequence[str],
    weight: str | None = None,
    bins: BinsLike | Literal["sketch"] | None = 10,
    kind: Kind | None = None,
    labels: Sequence[Hashable] | None = None,
    pos_label: Hashable | None = None,
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
    >>> day = ["mon", "tue", "mon", "tue"]
    >>> rows = pl.LazyFrame({"p": [0.1, 0.2, 0.8, 0.9], "y": [0, 0, 1, 1], "day": day})
    >>> tn.scan_groups(rows, by="day", label="y", prob="p")
    {'mon': Binned(binary, 2 rows, 10 bins), 'tue': Binned(binary, 2 rows, 10 bins)}
    """
    if by is None:
        raise InputError("by", "must be the name of a column or a list of names", "got None")
    question = check_question(
        label=label,
        prob=prob,
        weight=weight,
        by=by,
        kind=kind,
        labels=labels,
        pos_label=pos_label,
        missing=missing,
        sum_tolerance=sum_tolerance,
        cluster=cluster,
        buckets=buckets,
    )
    leaves_out = checked_whole(min_rows, "min_rows") > 1  # before the rows are read
    groups = sums_by_group(source, question, bins, engine)
    if leaves_out:  # every group has a row
        groups = without_small(groups, min_rows)
    with uncollected():
        keys: list[Hashable] = list(groups)
        if isinstance(by, str):
            keys = [key[0] for key in groups]
        return GroupSums(by, dict(zip(keys, groups.values(), strict=True)))


class GroupSums(dict[Hashable, Sums]):
    """The sums of each group."""

    def __init__(self, by: str | Sequence[str], groups: Mapping[Hashable, Sums]) -> None:
        super().__init__(groups)
        self.names = (by,) if isinstance(by, str) else tuple(by)
        """The columns whose values are the keys."""

    def roll_up(self, by: str | Sequence[str]) -> "GroupSums":
        """The sums of larger groups: those of some of the columns.

        Parameters
        ----------
        by : str or list of str
            Columns to keep. Keys are values for one name, and tuples for a list.

        Returns
        -------
        dict
            As from :func:`scan_groups`, with `names` and `roll_up` of its own.

        Examples
        --------
        >>> import polars as pl
        >>> import trueness as tn
        >>> groups = {"country": ["FR", "FR", "US"], "app": [1, 2, 1]}
        >>> rows = pl.DataFrame({"y": [0, 1, 1], "p": [0.2, 0.7, 0.9], **groups})
        >>> groups = tn.scan_groups(rows, by=["country", "app"], label="y", prob="p", bins="sketch")
        >>> {country: sums.n for country, sums in groups.roll_up("country").items()}
        {'FR': 2, 'US': 1}
        """
        kept = [by] if isinstance(by, str) else list(by)
        if not kept or len(set(kept)) < len(kept) or not set(kept) <= set(self.names):
            raise InputError("by", f"must name different ones of {list(self.names)}", f"got {by!r}")
        places = [self.names.index(name) for name in kept]
        groups: list[tuple[Hashable, Sums]] = []
        for key, sums in self.items():
            parts = key if isinstance(key, tuple) else (key,)
            values = tuple(parts[i] for i in places)
            groups.append((values[0] if isinstance(by, str) else values, sums))
        return GroupSums(by, added_up(groups))


def added_up(groups: Iterable[tuple[Hashable, Any]]) -> dict[Hashable, Any]:
    """The sums of each key."""
    total: dict[Hashable, Any] = {}
    for key, sums in groups:
        total[key] = total[key] + sums if key in total else sums
    return total
