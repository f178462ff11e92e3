"""Histogram binning: the event rate of each bin, with a guarantee from theorems or labels."""

import math
from dataclasses import field
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from trueness._input.arguments import Seed, checked_fraction, checked_whole, checked_word
from trueness._input.sample import Sample
from trueness._numerics.proportions import clopper_pearson
from trueness._numerics.steps import ranks
from trueness._tally.cells import Cells
from trueness._tally.row_sums import bins_of_rows
from trueness._tally.rules import MOST_BINS, EqualWidth
from trueness.errors import FewRowsWarning, InputError, TiedScoresWarning, warn
from trueness.recalibrate import _planning as planning
from trueness.recalibrate._calibration_set import CalibrationSet
from trueness.recalibrate._calibrator import Calibrator, with_parameters
from trueness.recalibrate._formula import PythonOnly, Steps
from trueness.recalibrate._saving import Field, array, boolean, fractions, one_of, whole
from trueness.results import Guarantee
from trueness.typing import Bools, Floats, Ints

_BREAKS_TIES = "`scheme='randomized'` breaks ties at random and keeps the guarantee."
# The largest sum of whole weights: beyond it, sums of floats skip whole numbers; and where each
# repetition is drawn.
_MOST_TOTAL = 1 << 52
_MOST_REPEATED = 10**7
# Streams of random numbers from one seed: `predict` must not repeat the draws of `fit`.
_FIT, _PREDICT = (
    0,
    1,
)
_per_bin = fractions(lambda c: c.n_bins_)
_inner = fractions(lambda c: c.n_bins_ - 1)
_all_edges = fractions(lambda c: c.n_bins_ + 1, rising=True)


@with_parameters
class HistogramBinning(Calibrator):
    r"""Histogram binning: the event rate of each equal-mass bin, with a guarantee.

    The guarantee holds for any distribution of the rows.

    Parameters
    ----------
    n_bins : int or 'auto', default 10
        Number of bins. 'auto' takes the most bins that keep `epsilon`. Without `epsilon` it follows
        figure 2 of Gupta and Ramdas (2021): 5 bins for 1,000 rows, 10 for 5,000 and 22 for 20,000,
        with power laws in between and the square root of the number of rows beyond.
    scheme : {'umd', 'randomized', 'original', 'split', 'fixed-width'}, default 'umd'
        'umd' (algorithm 1): bins and rates from the same rows, without the rows at the boundaries;
        for scores without ties. 'randomized' (algorithm 2): the same with ties broken at random, in
        `fit` and in `predict`; for any scores. 'original' (Zadrozny and Elkan): the row at a
        boundary counts in the bin below. 'split': bins from one part of the rows, rates from the
        other. 'fixed-width': bins of equal width.
    epsilon : float, optional
        For ``n_bins="auto"``: the allowed error of all bins simultaneously, by Hoeffding's bound.
    alpha : float, default 0.1
        For `epsilon`: the probability with which it may be exceeded.
    split : float, default 0.5
        For ``scheme="split"``: the fraction of the rows that places the bins.
    seed : int, Generator or None, default 0
        For 'randomized' and 'split'. With an int, `fit` and `predict` give the same numbers each
        time; the tie-break in `predict` then depends on a row's position in the array, so rows
        predicted one at a time all get the same one. With None or a Generator every call draws
        anew, as the theorem assumes.

    Notes
    -----
    With n rows sorted by score, bins are cut at the rows of rank ⌈b(n + 1)/B⌉. With fewer than 2B
    rows there are ⌊n/2⌋ bins, with a warning.

    The theorem for 'umd' and 'original' assumes scores without ties. Ties give a warning. If rows
    share the score of a boundary, there is no guarantee, because such rows belong to a bin whose
    averaged labels do not represent them. Ties inside bins are harmless. Each tied row counts with
    the mean label of its score, so the order of the rows never matters. A weight of 2 counts the
    row twice and is a tie; fractional weights have no ranks and are accepted by 'fixed-width' only.
    Whole weights may sum to 2⁵²; for 'randomized' and 'split', to 10⁷ or the number of rows.

    'randomized' also moves each value by up to δ = 1e-9, so that no two bins share one; its
    guarantee includes δ.

    References
    ----------
    C. Gupta and A. Ramdas, Distribution-free calibration guarantees for histogram binning without
    sample splitting, ICML 2021.

    B. Zadrozny and C. Elkan, Obtaining calibrated probability estimates from decision trees and
    naive Bayesian classifiers, ICML 2001.

    Examples
    --------
    Row 4 of 7 is the boundary; three labels on each side are averaged.

    >>> from trueness.recalibrate import HistogramBinning
    >>> y_prob, y_true = [0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 0.9], [0, 0, 1, 1, 1, 1, 0]
    >>> cal = HistogramBinning(n_bins=2).fit(y_prob, y_true)
    >>> cal.edges_.tolist(), cal.predict([0.39, 0.4, 1.0]).round(3).tolist()
    ([0.0, 0.4, 1.0], [0.333, 0.667, 0.667])
    """

    _state: ClassVar = {
        "scheme": Field("how the bins were made", one_of(planning.SCHEMES)),
        "n_bins": Field("number of bins", whole(1)),
        "n": Field("number of rows; a row of weight 2 counts twice", whole(1)),
        "edges": Field("bin b is [edges[b], edges[b + 1]), the last one closed", _all_edges),
        "ties": Field(
            "of each inner edge: rows on it are above if their random number reaches it",
            _inner,
            True,
        ),
        "values": Field("prediction of each bin", _per_bin),
        "counts": Field(
            "labels averaged in each bin, boundary rows only with 'original'; "
            "(Σw)²/Σw² for fractional weights",
            array(lambda c: c.n_bins_, dtypes=("int64", "float64"), least=0),
        ),
        "rates": Field(
            "mean label without boundary rows; the overall rate if there are none", _per_bin
        ),
        "tied": Field("rows that share their score with another", whole()),
        "tied_edges": Field("inner edges whose score several rows share", whole()),
        "whole": Field("whether every weight was a whole number", boolean),
    }

    n_bins: int | Literal["auto"] = field(default=10, kw_only=False)
    scheme: planning.Scheme = field(default="umd", kw_only=False)
    epsilon: float | None = None
    alpha: float = 0.1
    split: float = 0.5
    seed: int | np.random.Generator | None = 0

    def guarantee(self, alpha: float = 0.1, *, bound: planning.Bound = "hoeffding") -> Guarantee:
        """A bound on the distance between predictions and the event rates of their bins.

        Parameters
        ----------
        alpha : float, default 0.1
            Probability with which the guarantee may fail.
        bound : {'hoeffding', 'exact', 'clopper-pearson', 'bernstein'}, default 'hoeffding'
            'hoeffding' is as published. 'exact' uses the binomial distribution at its worst rate.
            'clopper-pearson' and 'bernstein' use the labels, which helps if events are rare or
            frequent; 'bernstein' is for comparison only. Choose before looking: the smallest of
            several bounds is not a valid bound.

        Returns
        -------
        Guarantee
            For all bins simultaneously, for the bin of a new row, and for the expected error, each
            with its theorem.

        Examples
        --------
        >>> import numpy as np
        >>> from trueness.recalibrate import HistogramBinning
        >>> rng = np.random.default_rng(0)
        >>> p = rng.random(2900)
        >>> cal = HistogramBinning(n_bins=10).fit(p, rng.random(2900) < 0.1 * p)
        >>> for bound in ("hoeffding", "exact", "clopper-pearson"):
        ...     print(bound, round(cal.guarantee(bound=bound).epsilon, 4))
        hoeffding 0.0957
        exact 0.0761
        clopper-pearson 0.0558
        """
        check_is_fitted(self)
        alpha = checked_fraction(alpha, "alpha")
        bound = checked_word(bound, "bound", tuple(_INSIDE))  # type: ignore[assignment]  # a word
        inside = self.counts_ - self._boundary_rows()  # the theorem is about labels between them
        used = self._reachable()
        every = (inside, self.rates_, self.values_)
        counts, rates, values = (column[used].astype(np.float64) for column in every)
        n = self.n_
        B = counts.size
        scheme = self.scheme_
        _refuse_ties(self, B)
        if not self.whole_ and bound != "hoeffding":
            got = f"got {bound!r}, which counts labels"
            raise InputError("bound", "must be 'hoeffding' when weights are not whole numbers", got)
        if scheme in _PUBLISHED and bound in ("hoeffding", "exact"):
            conditional, marginal = (
                planning.epsilon(n, B, kind=kind, alpha=alpha, scheme=scheme, bound=bound)
                for kind in planning.KINDS[:2]
            )
        else:
            all_bins = planning.per_bin(alpha, B) if bound == "exact" else alpha / B
            conditional, marginal = (
                _largest_error(counts, rates, values, bound, d) for d in (all_bins, alpha)
            )
        # Given the bins of a split, they are as fixed as bins of equal width.
        expected = math.nan
        if self.whole_ and scheme == "split":
            expected = planning.expected_ece(int(counts.sum()), B, "fixed-width")
        elif self.whole_:
            expected = planning.expected_ece(n, B, scheme)
        texts = _theorem(self, bound), _assumptions(self), bound, scheme
        return Guarantee(conditional, marginal, expected, alpha, *texts, n=n, n_bins=B)

    def _check_parameters(self) -> None:
        """Raise unless the parameters are valid together; `epsilon` needs automatic bins."""
        checked_fraction(self.alpha, "alpha")
        planning.checked_split(self.split, self.scheme)
        if not isinstance(self.n_bins, str) or self.n_bins != "auto":
            checked_whole(self.n_bins, "n_bins", MOST_BINS)
            if self.epsilon is not None:
                got = f"got epsilon={self.epsilon!r} with {self.n_bins} bins"
                raise InputError("epsilon", "is only for `n_bins='auto'`", got)
        elif self.epsilon is not None:
            checked_fraction(self.epsilon, "epsilon")
            if self.scheme == "fixed-width":
                demand = (
                    "must be None for `scheme='fixed-width'`, where the rows in a bin depend on "
                    "the scores"
                )
                raise InputError("epsilon", demand, f"got {self.epsilon!r}")

    def _fit(self, rows: CalibrationSet) -> None:
        """Place the bins by the scheme, and keep the counts and event rates of each.

        Fractional weights are an error for all schemes but 'fixed-width', and bins without labels
        are warned of.
        """
        self.scheme_ = self.scheme
        self.whole_ = rows.w is None or bool((rows.w == np.floor(rows.w)).all())
        if not self.whole_ and self.scheme != "fixed-width":
            demand = f"must be whole numbers for `scheme={self.scheme!r}`, which cuts bins at ranks"
            raise InputError(
                "sample_weight", demand, remedy="`scheme='fixed-width'` takes any weights."
            )
        self._check_total(rows)
        self.n_ = int(rows.w.sum()) if rows.w is not None and self.whole_ else rows.y.size
        self.n_bins_ = self._bins_for(self.n_)
        self.ties_: Floats | None = None
        if self.scheme == "fixed-width":
            self._fit_fixed(rows)
        else:
            self._fit_ranks(rows)
        empty = int((self.counts_[self._reachable()] == 0).sum())
        if empty and self.scheme in ("split", "fixed-width"):
            what = "has no labels and predicts" if empty == 1 else "have no labels and predict"
            warn(
                f"{empty:,} of {self.n_bins_:,} bins {what} the overall event rate.", FewRowsWarning
            )

    def _check_total(self, rows: CalibrationSet) -> None:
        """Raise if whole weights sum to more than the scheme can draw or sum exactly.

        Nothing is checked without weights, or with fractional ones.
        """
        if rows.w is None or not self.whole_:
            return
        total = float(rows.w.sum())
        repeats = self.scheme in ("randomized", "split")
        limit = max(_MOST_REPEATED, rows.y.size) if repeats else _MOST_TOTAL
        if total > limit:
            if repeats:
                why = "which draws each repetition of a row"
            else:
                why = "beyond which float sums are not exact"
            demand = f"must sum to at most {limit:,} for `scheme={self.scheme!r}`, {why}"
            raise InputError("sample_weight", demand, f"got {total:,.6g}")

    def _reachable(self) -> Bools:
        """The bins that a score can fall into.

        No score is between equal edges, unless ties are broken at random.
        """
        if self.ties_ is None:
            return np.append(np.diff(self.edges_[:-1]) > 0, True)
        return np.ones(self.n_bins_, bool)

    def _boundary_rows(self) -> Ints:
        """Boundary rows among the labels averaged in each bin.

        With 'original', every bin but the last has one.
        """
        return (self.scheme_ == "original") * (np.arange(self.n_bins_) < self.n_bins_ - 1).astype(
            np.int64
        )

    def _bins_for(self, n: int) -> int:
        """The number of bins for n rows: as asked for, or as many as rows allow, with a warning."""
        wanted = self._requested_bins(n)
        bin_limit = MOST_BINS if self.scheme == "fixed-width" else max(1, n // 2)
        if self.scheme == "split":
            bin_limit = min(bin_limit, planning.cut_rows(n, self.split) + 1)
        if wanted > bin_limit:
            finding = f"{n:,} rows are too few for {wanted:,} bins with a label each"
            warn(f"{finding}; {bin_limit:,} bins are used.", FewRowsWarning)
        return min(wanted, bin_limit)

    def _requested_bins(self, n: int) -> int:
        """The number of bins that the parameters ask for; 'auto' depends on n and on `epsilon`.

        An `epsilon` that n rows cannot reach with a single bin is an error that says how many rows
        it needs.
        """
        if self.n_bins != "auto":
            return int(self.n_bins)
        if self.epsilon is None:
            return min(planning.usual_bins(n), MOST_BINS)
        options = {"alpha": self.alpha, "scheme": self.scheme, "split": self.split}
        allowed = planning.max_bins(n, self.epsilon, **options)  # type: ignore[arg-type]
        if allowed == 0:
            needed_rows = planning.sample_size(1, self.epsilon, **options)  # type: ignore[arg-type]
            needs = f"an epsilon of {self.epsilon:g} needs {needed_rows:,} rows for a single bin"
            raise InputError(
                "epsilon", f"must be larger: with alpha = {self.alpha:g}, {needs}", f"got {n:,}"
            )
        return min(allowed, MOST_BINS)

    def _set_rates(self, events: NDArray[Any], weight: NDArray[Any], overall: float) -> None:
        rates = np.divide(events, weight, out=np.full(self.n_bins_, overall), where=weight > 0)
        self.rates_ = np.clip(rates, 0.0, 1.0)  # mean labels of ties are rounded
        self.values_: Floats = self.rates_.copy()

    def _fit_ranks(self, rows: CalibrationSet) -> None:
        """Cut the bins at ranks of the scores, and keep their edges, counts and event rates.

        Tied scores are warned of where the theorem of the scheme has no ties. 'original' counts the
        label of the boundary to the bin below; 'randomized' adds a little noise to each rate.
        """
        cells = rows.cells()
        self.tied_ = int(cells.weight[cells.weight > 1].sum()) if cells.size < self.n_ else 0
        if self.tied_ and self.scheme in ("umd", "original"):
            tied = f"{self.tied_:,} of {self.n_:,} rows share their score with another"
            theorem = f"the theorem for scheme={self.scheme!r} assumes no ties"
            warn(f"{tied}, but {theorem}. {_BREAKS_TIES}", TiedScoresWarning)
        rng = _generator(self.seed, _FIT)
        if self.scheme == "split":
            cuts = split_cuts(cells, self.n_bins_, planning.cut_rows(self.n_, self.split), rng)
        elif self.scheme == "randomized":
            cuts = rank_cuts(cells, self.n_bins_, rng)
        else:
            cuts = rank_cuts(cells, self.n_bins_, None)
        self.edges_ = cuts.edges
        self.ties_ = cuts.ties
        self.counts_ = cuts.counts
        at_edge = np.searchsorted(cells.score, cuts.edges[1:-1])
        self.tied_edges_ = int((cells.weight[at_edge] > 1).sum())
        self._set_rates(cuts.events, cuts.counts, float(cells.events.sum() / self.n_))
        if self.scheme == "original":
            below = slice(0, self.n_bins_ - 1)
            self.counts_ = cuts.counts + self._boundary_rows()
            self.values_[below] = (cuts.events[below] + cuts.boundary_labels) / self.counts_[below]
        elif self.scheme == "randomized":
            self.values_ = (self.values_ + planning.DELTA * rng.random(self.n_bins_)) / (
                1 + planning.DELTA
            )

    def _fit_fixed(self, rows: CalibrationSet) -> None:
        """Cut the bins at equal distances, and keep the counts and event rates of each.

        With fractional weights the count of a bin is its effective number of rows, (Σw)² / Σw².
        """
        bins = bins_of_rows(Sample(rows.y, rows.p, rows.w), EqualWidth(self.n_bins_))
        self.tied_ = self.tied_edges_ = 0
        self.edges_ = np.array(bins.edges)
        with np.errstate(invalid="ignore"):
            size: Any = bins.weight if self.whole_ else np.nan_to_num(bins.weight**2 / bins.squares)
        self.counts_ = size.astype(np.int64) if self.whole_ else size
        self._set_rates(bins.events, bins.weight, float(bins.events.sum() / bins.weight.sum()))

    def _formula(self) -> Steps | PythonOnly:
        if self.ties_ is None or not self.ties_.size:
            return Steps(self.edges_[1:-1], self.values_)
        reason = "with scheme='randomized', scores equal to an edge are placed by random numbers"
        return PythonOnly(self._in_random_order, reason)

    def _in_random_order(self, p: NDArray[Any]) -> Floats:
        """A row with the score of an edge is below it if its random number is smaller."""
        assert self.ties_ is not None
        inner = self.edges_[1:-1]
        place = ranks(inner, p)
        at_edge = np.flatnonzero((place > 0) & (inner[np.maximum(place, 1) - 1] == p))
        # One number for every row, tied or not, so that a row's tie-break depends on its position
        # alone.
        drawn = _generator(self.seed, _PREDICT).random(p.size)[at_edge]
        first = np.searchsorted(inner, p[at_edge], side="left")
        for start in np.unique(first):
            mine = first == start
            stop = int(place[at_edge[mine][0]])
            place[at_edge[mine]] = start + np.searchsorted(
                self.ties_[start:stop], drawn[mine], side="right"
            )
        return np.asarray(self.values_[place])


def _generator(seed: Seed, stream: int) -> np.random.Generator:
    if isinstance(seed, np.random.Generator):
        return seed
    if seed is None:
        return np.random.default_rng()
    return np.random.default_rng([int(seed), stream])


class Cuts(NamedTuple):
    """Bins [edges[b], edges[b + 1]), the last one closed, and the labels inside them."""

    edges: Floats  # 0, the scores of the boundary points, 1
    ties: Floats | None
    """A random number for each boundary point, which orders it among points of equal score; None if
    unused."""
    counts: Ints  # number of labels inside each bin, without boundary points
    events: Floats
    boundary_labels: Floats


def boundary_ranks(n: int, n_bins: int) -> Ints:
    """The ranks of n points at which bins begin and end: 0, ⌈Δ⌉, ⌈2Δ⌉, …, n + 1, Δ = (n + 1) / B.

    B is `n_bins`. Computed with integers: the rounding of floats could raise a ceiling by one.
    """
    # Products of large weights do not fit into int64.
    kind = np.int64 if (n + 1) * n_bins < 1 << 62 else object
    return np.asarray(-(-np.arange(n_bins + 1, dtype=kind) * (n + 1) // n_bins), dtype=np.int64)


def rank_cuts(cells: Cells, n_bins: int, rng: np.random.Generator | None = None) -> Cuts:
    """Cut points at ranks of their scores; the points at the cuts count in no bin.

    A cell holds the points of one score. The ranks are those of :func:`boundary_ranks`. The result
    has the edges, for each bin the number of points and of events inside it, and the label of each
    boundary point. `rng` puts points of equal score in random order. Without it, each has the mean
    label of its cell, which is the average over random orders and does not depend on the order of
    the rows.
    """
    through = np.cumsum(cells.weight)
    n = int(through[-1])
    ranks = boundary_ranks(n, n_bins)
    inner = ranks[1:-1]
    cell = np.searchsorted(through, inner, side="left")
    # Points of the same score before the boundary point.
    ahead = inner - 1 - (through[cell] - cells.weight[cell])
    if rng is None:
        label = cells.events[cell] / cells.weight[cell]
        within = ahead * label
        ties = None
    else:
        within, label, ties = _in_random_order(cells, cell, ahead, rng)
    reached = np.cumsum(cells.events)
    before = reached[cell] - cells.events[cell] + within
    events = np.append(before, reached[-1]) - np.concatenate([[0.0], before + label])
    edges = np.concatenate([[0.0], cells.score[cell], [1.0]])
    return Cuts(edges, ties, np.diff(ranks) - 1, events, label.astype(np.float64))


def _in_random_order(
    cells: Cells, cell: Ints, ahead: Ints, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """The order of points of equal score around each boundary, drawn at random.

    `cell` is the cell in which each boundary point lies, and `ahead` how many points of this cell
    come before it. The result has, for each boundary: the events among these, the label of the
    boundary point (0 or 1), and its random number from 0 to 1, which breaks ties in future.
    """
    within, label, ties = np.zeros((3, cell.size))
    # Cells are visited in ascending order of score, so the draws do not depend on the order or
    # repetition of rows.
    starts = np.flatnonzero(np.diff(cell, prepend=-1))
    for start, stop in zip(starts, np.append(starts, cell.size)[1:], strict=True):
        count = int(cells.weight[cell[start]])
        events = int(cells.events[cell[start]])
        labels = rng.permutation(np.arange(count) < events)
        positions = ahead[start:stop]
        within[start:stop] = np.concatenate([[0], np.cumsum(labels)])[positions]
        label[start:stop] = labels[positions]
        ties[start:stop] = np.sort(rng.random(count))[positions]
    return within, label, ties


def split_cuts(cells: Cells, n_bins: int, n_cut: int, rng: np.random.Generator) -> Cuts:
    """Cut at ranks of the scores of `n_cut` points drawn at random, and count the others.

    A cell holds the points of one score, with whole weights as numbers of points. The result has
    the edges, for each bin the number of the other points and of their events, and the label of
    each boundary point.
    """
    n = int(cells.weight.sum())
    # Points in ascending order of (score, label), so that the draw does not depend on the order of
    # the rows.
    cell_of_label = np.repeat(np.arange(cells.size), cells.weight.astype(np.int64))
    first = np.cumsum(cells.weight) - cells.weight
    label = np.arange(n) - first[cell_of_label] >= (cells.weight - cells.events)[cell_of_label]
    drawn = rng.permutation(n) < n_cut
    inner = boundary_ranks(n_cut, n_bins)[1:-1] - 1
    cutting = cells.score[cell_of_label[drawn]][inner]
    place = np.searchsorted(cutting, cells.score[cell_of_label[~drawn]], side="right")
    counts = np.bincount(place, minlength=n_bins)
    events = np.bincount(place, weights=label[~drawn], minlength=n_bins).astype(np.float64)
    return Cuts(
        np.concatenate([[0.0], cutting, [1.0]]),
        None,
        counts,
        events,
        label[drawn][inner].astype(np.float64),
    )


def _refuse_ties(fitted: HistogramBinning, n_bins: int) -> None:
    """Raise where the guarantee does not hold: tied boundaries, or fewer than two rows per bin."""
    # If each boundary score occurs once, the rows strictly between two of them are independent
    # draws from that interval, tied or not. A boundary score that occurs twice has mass of its own,
    # which belongs to the bin above but is not represented by the labels inside.
    if fitted.tied_edges_ and fitted.scheme_ in ("umd", "original"):
        demand = (
            f"`scheme={fitted.scheme_!r}` has no guarantee if several rows share the score of a "
            "boundary"
        )
        finding = f"they do at {fitted.tied_edges_:,} of {n_bins - 1:,} boundaries"
        raise InputError(
            "",
            demand,
            f"{finding} ({fitted.tied_:,} of {fitted.n_:,} rows are tied)",
            remedy=_BREAKS_TIES,
        )
    if fitted.scheme_ in _PUBLISHED and fitted.n_ < 2 * n_bins:
        raise InputError(
            "", "A guarantee needs at least two rows per bin", f"got {fitted.n_:,} in all"
        )


def _largest_error(counts: Floats, rates: Floats, values: Floats, bound: str, d: float) -> float:
    """The largest distance, over bins, between a prediction and a possible event rate of its bin.

    Possible are the rates within the limits of the `bound`, which fails in each bin with a
    probability of at most `d`. `counts` and `rates` are labels and event rates of the bins,
    `values` their predictions. A bin without labels (with Bernstein's bound, with one) may have any
    rate.
    """
    low = np.zeros(counts.size)
    high = np.ones(counts.size)
    is_counted = counts > (1 if bound == "bernstein" else 0)
    low[is_counted], high[is_counted] = _rate_interval(
        bound, counts[is_counted], rates[is_counted], d
    )
    return float(np.maximum(values - low, high - values).max())


def _rate_interval(bound: str, n: Floats, rate: Floats, d: float) -> tuple[Floats, Floats]:
    """Limits of the event rate of each bin at error probability d, by the bound of this name.

    `n` and `rate` have an entry per bin. Clopper and Pearson's limits are computed as such; the
    other bounds reach equally far up and down, cut off at 0 and 1.
    """
    if bound == "clopper-pearson":
        return clopper_pearson(np.rint(n * rate), n, 1 - d)
    if bound == "hoeffding":
        reach = np.sqrt(math.log(2 / d) / (2 * n))
    elif bound == "exact":
        sizes, size_of_bin = np.unique(n, return_inverse=True)
        reach = np.array([planning.size_epsilon(int(size), d) for size in sizes])[size_of_bin]
    else:
        # Maurer and Pontil (2009), Theorem 4, on both sides; the variance is the unbiased one.
        log = math.log(4 / d)
        reach = np.sqrt(2 * rate * (1 - rate) / (n - 1) * log) + 7 * log / (3 * (n - 1))
    return np.maximum(rate - reach, 0.0), np.minimum(rate + reach, 1.0)


_PUBLISHED = {
    "umd": "Theorem 3 (conditional) and Theorem 4 with δ = 0 (marginal)",
    "randomized": f"Theorem 4 with δ = {planning.DELTA:g}",
    "original": "Corollary 1 (conditional) and the same step from Theorem 4 (marginal)",
}
_INSIDE = {
    "hoeffding": "Hoeffding's inequality in each bin, given the labels per bin, with a union bound "
    "(conditional)",
    "exact": "The binomial distribution at its worst rate in each bin, given the labels per bin",
    "clopper-pearson": "Clopper-Pearson intervals of the labels inside each bin, with a union "
    "bound (conditional)",
    "bernstein": "Empirical Bernstein bounds (Maurer and Pontil 2009) in each bin, with a union "
    "bound (conditional)",
}


def _theorem(fitted: HistogramBinning, bound: str) -> str:
    """Which theorem a guarantee rests on, in a sentence.

    With fractional weights it says that the expected error has no bound.
    """
    ranked = fitted.scheme_ in _PUBLISHED
    text = _INSIDE[bound]
    if ranked:
        published = f"{_PUBLISHED[fitted.scheme_]} of Gupta and Ramdas (2021)"
        text = published if bound == "hoeffding" else f"{text}; bins as in {published}"
    if not fitted.whole_:
        return f"{text}. The expected error has no bound for fractional weights."
    if ranked:
        size = "Σ (N + 1) / 4N(n + 1) over bins of N labels"
    else:
        size = "B/2(m + 1) + B(m/(m + 1))^m/(m + 1), m labels"
    return f"{text}. Expected error: the root of {size}, valid for every n."


def _assumptions(fitted: HistogramBinning) -> str:
    """What a guarantee assumes, in a sentence; scheme, ties and weights of the fit add to it."""
    text = (
        "Rows are independent draws from the distribution of future rows, and were not used to "
        "train the classifier"
    )
    if fitted.scheme_ in ("umd", "original"):
        text += "; the distribution of scores has no point mass at a boundary"
        if fitted.tied_:
            text += f" ({fitted.tied_:,} rows are tied inside bins)"
    if fitted.scheme_ == "randomized":
        text += "; scores may be discrete, with ties broken at random now and in future"
    if fitted.scheme_ in ("split", "fixed-width"):
        text += (
            "; the statements hold given the bins and their numbers of labels, the expected error "
            "on average"
        )
    if not fitted.whole_:
        text += "; inside a bin, weights are independent of labels"
    return f"{text}. Event rates are per bin, even where two bins share a value."
