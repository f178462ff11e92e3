"""Bin rules: how scores are cut into bins."""

import reprlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trueness import _kernels
from trueness._input.arguments import checked_whole, checked_word
from trueness._keywords import suggests_keywords
from trueness._numerics.least_cuts import least_cuts
from trueness._tally.cells import Cells
from trueness.errors import InputError, did_you_mean
from trueness.typing import ArrayLike, Floats, Ints

# The largest number of bins of equal width, each of which is stored and drawn, empty or not.
MOST_BINS = 1 << 20
# The largest number of bins of equal mass, of which there are no more than distinct scores.
MOST_MASS_BINS = 1 << 24
_MOST_CLASS_BINS = 1 << 23  # the bins of all classes together: 32 for each of 2¹⁸ words
_MOST_COMPARED = 2_000  # distinct scores of which all cuts are compared: 64 MB
_INT64_SUM = 1 << 32  # below it, the product of any two parts of the sum fits into 64 bits
_DISTINCT = "`Distinct()` makes a bin of every distinct score."


_OTHER_BINS = {
    **dict.fromkeys(("quantile", "quantiles", "mass", "frequency"), "tn.EqualMass(10)"),
    **dict.fromkeys(("uniform", "width"), "bins=10"),
    "isotonic": "tn.Isotonic()",
}


class Groups(NamedTuple):
    """The cells of each bin: bin b has those from ``start[b]`` up to ``start[b + 1]``."""

    edges: Floats
    start: Ints


class BySize(NamedTuple):
    """A rule that depends on the number of rows (their total weight)."""

    rule: Callable[[float], "BinRule"]


class BinRule(ABC):
    """How scores are cut into bins.

    A rule is immutable and does not depend on the order of the rows.
    """

    _options: tuple[str, ...] = ()
    splits_ties = False  # whether rows of equal score enter one by one, so that their order matters

    def __init__(self) -> None:
        super().__init__()  # no options, unless a rule has its own

    def __init_subclass__(cls) -> None:
        suggests_keywords(cls)

    def _keep(self, **options: object) -> None:
        self.__dict__.update(options)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a bin rule is immutable: make another {type(self).__name__} instead")

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._options)
        return f"{type(self).__name__}({options})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and repr(other) == repr(self)

    def __hash__(self) -> int:
        return hash(repr(self))

    @abstractmethod
    def group(self, cells: Cells) -> Groups:
        """Cut the cells into bins."""

    @property
    def fixed_edges(self) -> Floats | None:
        """The edges, when they do not depend on the data."""
        return None

    @property
    def n_requested(self) -> int:
        """The requested number of bins; 0 if the data decide."""
        return int(getattr(self, "n", 0))


BinsLike: TypeAlias = int | Sequence[float] | ArrayLike | BinRule


def as_rule(bins: BinsLike) -> BinRule:
    """Read `bins=`: an int means equal width, a sequence of numbers means edges."""
    if type(bins) is int:  # first, and cached: most calls say a number
        return _equal_width(bins)
    if isinstance(bins, BinRule):
        return bins
    if isinstance(bins, np.integer):
        return EqualWidth(int(bins))
    if (
        isinstance(bins, str | bool | float | np.floating | np.bool_)
        or bins is None
        or not hasattr(bins, "__len__")
    ):
        remedy = did_you_mean(str(bins).partition(":")[0], (), _OTHER_BINS).replace("'", "`")
        demand = "must be a whole number ≥ 1, a sequence of edges or a bin rule"
        raise InputError("bins", demand, f"got {bins!r}", remedy=remedy)
    return Edges(bins)


@lru_cache(maxsize=64)
def _equal_width(n: int) -> "EqualWidth":
    return EqualWidth(n)


def blind_to_labels(rule: BinRule) -> BinRule:
    """The rule, unless it depends on the labels.

    That would bring back the bias that debiasing removes.
    """
    if isinstance(rule, Isotonic | BlockIsotonic):
        raise InputError("bins", "must not depend on the labels", f"{rule!r} does")
    return rule


def edges_of(rule: BinRule) -> Floats:
    """The edges of bins that have no rows."""
    if rule.fixed_edges is None:
        return np.array([0.0, 1.0])
    return rule.fixed_edges


def check_class_bins(n: int, n_classes: int) -> None:
    """Raise if `n` bins of each class are too many to store."""
    if n_classes > 1 and n * n_classes > _MOST_CLASS_BINS:
        most_bins = _MOST_CLASS_BINS // n_classes
        demand = (
            f"must be at most {most_bins:,} with {n_classes:,} classes, {_MOST_CLASS_BINS:,} for "
            "all of them"
        )
        raise InputError("bins", demand, f"got {n:,}", remedy=_DISTINCT)


@lru_cache(maxsize=64)
def _width_edges(n: int) -> Floats:
    # Division, not linspace: b / n rounds to the very float that "0.07" denotes, so a score
    # equal to an edge always falls in the bin on its right.
    edges = np.arange(n + 1) / n
    edges.flags.writeable = False
    return edges


class _Fixed(BinRule):
    """A rule whose edges are known before the data."""

    def group(self, cells: Cells) -> Groups:
        """Where the cells of each bin begin; an error if a score is outside the edges."""
        edges = self.fixed_edges
        assert edges is not None
        outside = cells.score[[0, -1]] if cells.size else edges[:0]
        outside = outside[(outside < edges[0]) | (outside > edges[-1])]
        if outside.size:
            refuse_uncovered(edges, float(outside[0]))
        start = np.searchsorted(cells.score, edges, side="left")
        start[-1] = cells.size
        return Groups(edges, start.astype(np.int64))


def refuse_uncovered(edges: Floats, score: float) -> None:
    got = f"its edges run from {edges[0]:g} to {edges[-1]:g} and a score is {score!r}"
    raise InputError("bins", "must cover every score", got)


class EqualWidth(_Fixed):
    """`n` bins of equal width on [0, 1].

    Bin b is [(b − 1)/n, b/n), the last one closed on both sides; edges are the
    floats ``b / n``.

    Parameters
    ----------
    n : int
        Number of bins.

    Examples
    --------
    >>> import trueness as tn
    >>> tn.ece([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], bins=tn.EqualWidth(2)) == tn.ece(
    ...     [0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], bins=2)
    True
    """

    _options = __match_args__ = ("n",)
    n: int

    def __init__(self, n: int) -> None:
        self._keep(n=checked_whole(n, "bins", MOST_BINS, _DISTINCT))

    @property
    def fixed_edges(self) -> Floats:
        """The floats b / n."""
        return _width_edges(self.n)


class Edges(_Fixed):
    """Bins between given edges, closed on the left, the last one on both sides.

    Parameters
    ----------
    edges : sequence of float
        Strictly increasing, inside [0, 1]. A score outside the edges is an error.

    Examples
    --------
    >>> import trueness as tn
    >>> tn.bin_table([0, 1, 1], [0.05, 0.4, 0.9], bins=tn.Edges([0, 0.1, 1])).n.tolist()
    [1, 2]
    """

    _options = ("edges",)
    edges: Floats

    def __init__(self, edges: ArrayLike) -> None:
        """Check and copy the edges; errors name the argument `bins`."""
        try:
            array = np.asarray(edges)
            # Strings would be read as numbers, complex ones cut, masked entries taken for what they
            # hide.
            if array.dtype.kind not in "biufO" or np.ma.is_masked(edges):
                raise TypeError
            checked = array.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            raise InputError(
                "bins", "as edges must be numbers", f"got {reprlib.repr(edges)}"
            ) from None
        if checked.ndim != 1 or checked.size < 2:
            raise InputError(
                "bins",
                "as edges must be a sequence of at least 2 numbers",
                f"got shape {checked.shape}",
            )
        if (
            not np.isfinite(checked).all()
            or checked[0] < 0
            or checked[-1] > 1
            or (np.diff(checked) <= 0).any()
        ):
            got = f"got {np.array2string(checked, threshold=8)}"
            raise InputError("bins", "as edges must increase strictly inside [0, 1]", got)
        checked = checked + 0.0  # -0.0 becomes 0.0
        checked.flags.writeable = False
        self._keep(edges=checked)

    @property
    def fixed_edges(self) -> Floats:
        return self.edges

    @property
    def n_requested(self) -> int:
        """One fewer than the edges."""
        return int(self.edges.size) - 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Edges) and np.array_equal(self.edges, other.edges)

    def __hash__(self) -> int:
        return hash(self.edges.tobytes())


class EqualMass(BinRule):
    """Up to `n` bins with the same number of rows each.

    Cut j lies after row ⌊jN/n⌋ in the order of the scores. Equal scores are never split: a group of
    ties that a cut would split goes whole to the lower bin, and empty bins vanish. With weights,
    cut j lies after unit ⌊jW/n⌋ of weight if the weights are whole numbers that sum to less than
    2³⁵, else at jW/n.

    Parameters
    ----------
    n : int
        Number of bins.

    Examples
    --------
    >>> import trueness as tn
    >>> tn.bin_table([0, 1, 0, 1, 1], [0.1, 0.2, 0.2, 0.2, 0.9], bins=tn.EqualMass(2)).n.tolist()
    [4, 1]
    """

    _options = __match_args__ = ("n",)
    n: int

    def __init__(self, n: int) -> None:
        self._keep(n=checked_whole(n, "n", MOST_MASS_BINS, _DISTINCT))

    def ranks(self, n_rows: int) -> Ints:
        """The rows after which the cuts lie, ⌊jN/n⌋, strictly between 0 and N.

        A row of weight 2 is two rows.
        """
        n = max(1, min(self.n, n_rows))  # from N bins on, there is a cut after every row
        every, rest = divmod(n_rows, n)
        j = np.arange(1, n, dtype=np.int64)
        return j * every + j * rest // n  # jN itself may exceed 64 bits

    def group(self, cells: Cells) -> Groups:
        """Cut after the cell that contains unit ⌊jW/n⌋ of the weight."""
        return _groups_from(cells, self.first_cells(np.cumsum(cells.weight)))

    def first_cells(self, reached: NDArray[Any]) -> Ints:
        """The first cell of each bin, from the cumulative weights of the cells."""
        if reached.dtype.kind == "i":
            units = self.ranks(int(reached[-1]))
        else:
            # Sums of the same weights in another unit may differ in the last digits.
            units = np.arange(1, self.n) * reached[-1] / self.n * (1 - 1e-12)
        cuts = np.searchsorted(reached, units, side="left") + 1
        return np.unique(np.concatenate([[0], cuts[cuts < reached.size]]))


class MassAndWidth(BinRule):
    """Bins cut at the cuts of `mass` bins of equal mass and the edges of `width` of equal width.

    Equal mass alone joins scores that lie far apart where scores are rare, and errors of both signs
    can cancel there; equal width alone leaves most rows of concentrated scores in one bin.

    Parameters
    ----------
    mass, width : int
        Number of bins of each kind; roughly mass + width bins contain rows.

    Examples
    --------
    >>> import trueness as tn
    >>> p = [0.01, 0.02, 0.03, 0.04, 0.05, 0.6, 0.9]
    >>> tn.bin_table([0, 0, 0, 0, 1, 1, 1], p, bins=tn.measure.MassAndWidth(2, 2)).n.tolist()
    [3, 2, 2]
    """

    _options = __match_args__ = ("mass", "width")
    mass: int
    width: int

    def __init__(self, mass: int, width: int) -> None:
        most_mass = checked_whole(mass, "mass", MOST_MASS_BINS, _DISTINCT)
        self._keep(mass=most_mass, width=checked_whole(width, "width", MOST_BINS, _DISTINCT))

    def group(self, cells: Cells) -> Groups:
        """Cut wherever either rule cuts; bins without rows vanish."""
        by_mass = EqualMass(self.mass).first_cells(np.cumsum(cells.weight))
        by_width = np.searchsorted(cells.score, _width_edges(self.width)[1:-1], side="left")
        return _groups_from(cells, np.union1d(by_mass, by_width[by_width < cells.size]))


class Distinct(BinRule):
    """One bin for every distinct score."""

    def group(self, cells: Cells) -> Groups:
        """Cut between any two cells."""
        return _groups_from(cells, np.arange(cells.size))


class Isotonic(BinRule):
    """The blocks of the isotonic regression of labels on scores (pool adjacent violators).

    Ties are pooled first. Event rates increase strictly from bin to bin.

    Parameters
    ----------
    error : callable, optional
        The error D of a bin in Definition 3 of Matsubara et al. (2023): the bins are then those
        with the least Σ N_b/N · D_b among all whose rates do not fall. A function ``error(events,
        n)`` of two arrays, the events and rows of bins, that returns the error of each. By default
        the variance of the labels, r(1 − r) for a rate r, for which these are the blocks of
        isotonic regression; they are for every other concave function of r, too. Others are found
        by comparing all bins, for at most 2,000 distinct scores.

    References
    ----------
    Ayer, Brunk, Ewing, Reid, Silverman, "An empirical distribution function for sampling with
    incomplete information", Annals of Mathematical Statistics, 1955.

    Matsubara, Tax, Mudd, Guy, "TCE: a test-based approach to measuring calibration error",
    Uncertainty in Artificial Intelligence, 2023.

    Examples
    --------
    The variance, and the variance with a price for every bin:

    >>> import trueness as tn
    >>> y, p = [0, 1, 0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    >>> tn.bin_table(y, p, bins=tn.Isotonic()).n.tolist()
    [1, 3, 2]
    >>> def priced(events, n):
    ...     return (events / n) * (1 - events / n) + 0.2 / n
    >>> tn.bin_table(y, p, bins=tn.Isotonic(error=priced)).n.tolist()
    [4, 2]
    """

    error: Callable[[Any, Any], Any] | None

    def __init__(self, error: Callable[[Any, Any], Any] | None = None) -> None:
        if error is not None and not callable(error):
            raise InputError(
                "error", "must be a function of the events and rows of bins", f"got {error!r}"
            )
        self._keep(error=error, _options=() if error is None else ("error",))

    def group(self, cells: Cells) -> Groups:
        """Pool while a block's rate is not below the next one's.

        For another error, compare all cuts.
        """
        if self.error is None:
            return _groups_from(cells, _kernels.pava(cells.weight, cells.events))
        if cells.size > _MOST_COMPARED:
            demand = (
                f"is for at most {_MOST_COMPARED:,} distinct scores, whose cuts are all compared"
            )
            raise InputError(
                "error",
                demand,
                f"got {cells.size:,}",
                remedy="Round the scores, or leave `error` out.",
            )
        return _groups_from(cells, least_cuts(cells.weight, cells.events, self._checked_error))

    def _checked_error(self, events: NDArray[Any], n: NDArray[Any]) -> Floats:
        """The user's error of each bin; an error unless it is a finite number for each."""
        assert self.error is not None
        errors = np.asarray(self.error(events, n))
        if (
            errors.shape != n.shape
            or errors.dtype.kind not in "biuf"
            or not np.isfinite(errors).all()
        ):
            got = f"it returned {reprlib.repr(errors.tolist())} for {n.size:,} bins"
            raise InputError("error", "must return a finite number for each bin", got)
        return errors.astype(np.float64)


class BlockIsotonic(BinRule):
    """Isotonic blocks whose sizes stay within limits (PAVA-BC, Matsubara et al. 2023).

    Where no scores tie, these are the bins of Algorithms 2 and 3 of the paper, and :func:`tce`,
    which uses them by default, is its Algorithm 1. Rows enter in the order of their scores, each as
    its own block. The last two blocks merge if together they have at most `n_min` rows, or if they
    have at most `n_max` and the left rate is not below the right one. The last `n_min` rows are
    kept back; they join the last block if `n_max` allows, else form a block. At the end,
    neighbouring blocks of equal rate are joined. Equal scores are pooled before they enter (see
    `ties`).

    Parameters
    ----------
    n_min : int, optional
        Minimum number of rows per block, at most N; by default max(1, ⌊N/20⌋). With 0 no rows are
        kept back and only `n_max` limits the blocks; with N there is one bin.
    n_max : int, optional
        Maximum number of rows per block, at least `n_min`; by default max(⌊N/5⌋, 2 n_min − 1).
        Blocks keep both limits (without ties) if `n_max` is at least 2 n_min − 1. Below that
        `n_max` still holds, but the last block but one may have fewer than `n_min` rows: it cannot
        take the rows kept back, and they form a block of their own.
    fuse : bool, default True
        Join neighbouring blocks of equal rate, as Algorithm 3 does by drawing edges only where the
        fitted value changes. Joined blocks may exceed `n_max`: with rare events, several blocks
        without an event are one bin. With False every block of Algorithm 2 is a bin, as in the
        authors' code.
    ties : {'pool', 'split', 'printed'}, default 'pool'
        With 'pool', rows of equal score enter together, and the size limits hold up to one group of
        ties: the rows kept back are the groups that do not lie wholly within the first N − n_min
        rows; a group larger than `n_max` is a block of its own; and a block that would stay below
        `n_min`, because the next group is too large to join, joins its left neighbour if `n_max`
        allows, else that group. With 'split', rows enter one by one in stable order, and blocks may
        end inside a group of ties, as in the authors' code. With 'printed', Algorithms 2 and 3 and
        equation (2) are followed to the letter: rows enter one by one, and all rows of a score fall
        into the bin that contains it, whatever its size then; an edge inside a group of ties is
        their score, which begins the next bin. 'split' and 'printed' depend on the order of rows
        with equal scores, which a :class:`Tally` does not have. Without ties all three give the
        same bins.

    References
    ----------
    Matsubara, Tax, Mudd, Guy, "TCE: a test-based approach to measuring calibration
    error", Uncertainty in Artificial Intelligence, 2023.

    Examples
    --------
    >>> import trueness as tn
    >>> y = [0, 0, 1, 0, 1, 1, 0, 1, 1, 1]
    >>> p = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    >>> tn.bin_table(y, p, bins=tn.BlockIsotonic(n_min=2, n_max=5)).n.tolist()
    [2, 2, 3, 3]

    Two blocks without an event are one bin, or two:

    >>> y = [0, 0, 0, 0, 1, 1]
    >>> p = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    >>> for fuse in (True, False):
    ...     tn.bin_table(y, p, bins=tn.BlockIsotonic(1, 2, fuse=fuse)).n.tolist()
    [4, 2]
    [2, 2, 2]

    A block that ends inside a group of ties, as the paper prints it:

    >>> printed = tn.BlockIsotonic(1, 2, ties="printed")
    >>> table = tn.bin_table([0, 0, 1, 1], [0.25, 0.5, 0.5, 0.75], bins=printed)
    >>> table.low_edge.tolist(), table.n.tolist()
    ([0.0, 0.5], [1, 3])
    """

    _options = ("n_min", "n_max", "fuse", "ties")
    n_min: int | None
    n_max: int | None
    fuse: bool
    ties: Literal["pool", "split", "printed"]

    def __init__(
        self,
        n_min: int | None = None,
        n_max: int | None = None,
        *,
        fuse: bool = True,
        ties: Literal["pool", "split", "printed"] = "pool",
    ) -> None:
        if not isinstance(fuse, bool):
            raise InputError("fuse", "must be True or False", f"got {fuse!r}")
        checked_word(ties, "ties", ("pool", "split", "printed"))
        self._keep(
            n_min=None if n_min is None else checked_whole(n_min, "n_min", least=0),
            n_max=None if n_max is None else checked_whole(n_max, "n_max"),
            fuse=fuse,
            ties=ties,
            splits_ties=ties != "pool",
        )

    def limits(self, n_rows: int) -> tuple[int, int]:
        """The limits for a number of rows."""
        n_min = max(1, n_rows // 20) if self.n_min is None else self.n_min
        n_max = max(n_rows // 5, 2 * n_min - 1, 1) if self.n_max is None else self.n_max
        if n_max < n_min:
            raise InputError("n_max", f"must be at least `n_min` ({n_min:,})", f"got {n_max:,}")
        if n_min > n_rows:
            raise InputError(
                "n_min", f"must be at most the number of rows ({n_rows:,})", f"got {n_min:,}"
            )
        return n_min, n_max

    def group(self, cells: Cells) -> Groups:
        """Pool within the limits."""
        if not cells.whole:
            demand = (
                "must be whole numbers that sum to less than 2³⁵ for `BlockIsotonic`, which "
                "counts rows"
            )
            raise InputError(
                "sample_weight", demand, "others need bins that do not, such as `EqualMass(10)`"
            )
        n_min, n_max = self.limits(int(cells.weight.sum()))
        weight, events = (
            np.asarray(column, dtype=np.int64) for column in (cells.weight, cells.events)
        )
        start = _kernels.block_pava(weight, events, n_min, n_max)
        groups = _groups_from(cells, _fused(cells, start) if self.fuse else start)
        if self.ties != "printed":
            return groups
        # Several blocks that end within one score leave one edge.
        edges = np.unique(np.append(groups.edges[:-1], 0.0))
        return Groups(
            np.append(edges, 1.0), np.append(np.searchsorted(cells.score, edges), cells.size)
        )


def _fused(cells: Cells, start: Ints) -> Ints:
    """The blocks that begin at the cells `start`, with neighbours of equal rate joined."""
    weight = np.add.reduceat(cells.weight, start)
    events = np.add.reduceat(cells.events, start)
    # Python's whole numbers have no limit.
    whole = np.int64 if weight.sum() < _INT64_SUM else object
    weight = weight.astype(whole)
    events = events.astype(whole)
    change = events[1:] * weight[:-1] != events[:-1] * weight[1:]
    return np.asarray(start[np.concatenate([[True], change])])


def _groups_from(cells: Cells, first: Ints) -> Groups:
    """Bins that begin at the cells `first`.

    Edges midway between neighbouring scores, 0 and 1 at the ends.
    """
    first = np.asarray(first, dtype=np.int64)
    inner = midpoints(cells.score[first[1:] - 1], cells.score[first[1:]])
    edges = np.concatenate([[0.0], inner, [1.0]])
    return Groups(edges, np.concatenate([first, [cells.size]]))


def midpoints(below: Floats, above: Floats) -> Floats:
    """Edges between `below` and `above`; `above` itself if no float lies between them."""
    middle = below + (above - below) / 2
    return np.where(middle > below, middle, above)
