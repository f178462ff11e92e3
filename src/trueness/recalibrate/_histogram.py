"""Histogram binning: the score of a row becomes the event rate of its bin, with a guarantee."""

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from trueness._input.arguments import check_seed, checked_whole, checked_word
from trueness._input.sample import Sample
from trueness._numerics.steps import ranks, steps
from trueness._tally.row_sums import bins_of_rows, cells_of_rows
from trueness._tally.rules import MOST_BINS, EqualWidth
from trueness.errors import FewRowsWarning, InputError, TiedScoresWarning, warn
from trueness.recalibrate._boundaries import rank_cuts, split_cuts
from trueness.recalibrate._calibration_set import Rows
from trueness.recalibrate._calibrator import Calibrator
from trueness.recalibrate._fitted_state import check_array, check_edges, check_learnt_whole, check_shares, refuse_learnt
from trueness.recalibrate._guarantee import Fitted, promise
from trueness.recalibrate._planning import (
    DELTA,
    SCHEMES,
    Bound,
    Scheme,
    checked_alpha,
    checked_epsilon,
    checked_split,
    cut_rows,
    max_bins,
    sample_size,
    usual_bins,
)
from trueness.results import Guarantee
from trueness.typing import Bools, Floats, Ints

__all__ = ["HistogramBinning"]

BOUNDS = ("hoeffding", "exact", "clopper-pearson", "bernstein")

_MOST_TOTAL = 1 << 52
"""What whole weights may add up to: beyond, sums of floats skip whole numbers."""
_MOST_REPEATED = 10**7
"""The same where each repetition of a row is drawn for itself."""

# Streams of random numbers from one seed: what fit draws must not come back in predict.
_FIT, _PREDICT = 0, 1


class HistogramBinning(Calibrator):
    r"""Bins of equal mass, each with its event rate, and a guarantee that holds for any distribution.

    Parameters
    ----------
    n_bins : int or 'auto', default 10
        How many bins. 'auto' takes the most that keep `epsilon`; without one, the number that the paper's figure 2
        advises: 5 bins for 1,000 rows, 10 for 5,000 and 22 for 20,000, in between and beyond growing like a power of
        the number of rows (beyond like its root).
    scheme : {'umd', 'randomized', 'original', 'split', 'fixed-width'}, default 'umd'
        'umd' (algorithm 1): bins and rates from the same rows; the rows at the boundaries count in no rate. Demands
        scores without ties. 'randomized' (algorithm 2): the same with ties put in random order, in `fit` and in
        `predict`; for scores of any kind. 'original' (Zadrozny and Elkan): the row at a boundary counts in the bin
        below. 'split': bins from one part of the rows, rates from the other. 'fixed-width': bins of equal width.
    epsilon : float, optional
        For ``n_bins="auto"``: the error of every bin at once that is allowed, by Hoeffding's bound.
    alpha : float, default 0.1
        For `epsilon`: how often it may be exceeded.
    split : float, default 0.5
        For ``scheme="split"``: the share of the rows that places the bins.
    seed : int, Generator or None
        For 'randomized' and 'split'. With an int, `fit` and `predict` give the same numbers each time; the tie-break of
        a row in `predict` then depends on its position in the array, so rows predicted one at a time all get the same.
        With None or a Generator every call draws anew, as the theorem has it.

    Attributes
    ----------
    edges_ : array of shape (n_bins_ + 1,)
        Bin b is [edges_[b], edges_[b + 1]), the last one closed. The first edge is 0 and the last 1, so every score
        has a bin.
    values_ : array of shape (n_bins_,)
        What is predicted in each bin. A bin without labels has the event rate of all rows.
    counts_ : array of shape (n_bins_,)
        Labels averaged in each bin (boundary rows left out); for weights that are not whole numbers (Σw)²/Σw².

    Notes
    -----
    With n rows in order of their scores, bins are cut at the rows of rank ⌈b(n + 1)/B⌉. With fewer than 2B rows there
    are ⌊n/2⌋ bins, with a warning.

    The theorem behind 'umd' and 'original' assumes scores without ties. Ties are a warning, and there is no guarantee
    where rows share the score of a boundary: a bin then begins with rows that no label inside speaks for. Ties inside
    bins do no harm, since given the boundaries the labels between them are independent all the same. Each tied row
    counts with the mean label of its score, so the order of the rows never matters. A weight of 2 is the row twice, and
    so a tie; weights that are not whole numbers have no ranks, and only 'fixed-width' takes them.
    Whole weights may add up to 2⁵²; to 10⁷, or the number of rows, for 'randomized' and 'split'.

    'randomized' also moves each value by up to δ = 1e-9, so that no two bins share one; its guarantee includes δ.

    References
    ----------
    C. Gupta and A. Ramdas, Distribution-free calibration guarantees for histogram binning without sample splitting,
    ICML 2021.

    B. Zadrozny and C. Elkan, Obtaining calibrated probability estimates from decision trees and naive Bayesian
    classifiers, ICML 2001.

    Examples
    --------
    Row 4 of 7 is the boundary; three labels on each side are averaged.

    >>> from trueness.recalibrate import HistogramBinning
    >>> cal = HistogramBinning(n_bins=2).fit([0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 0.9], [0, 0, 1, 1, 1, 1, 0])
    >>> cal.edges_.tolist(), cal.predict([0.39, 0.4, 1.0]).round(3).tolist()
    ([0.0, 0.4, 1.0], [0.333, 0.667, 0.667])
    """

    _learnt: ClassVar[dict[str, str]] = {
        "scheme": "how the bins were made",
        "n_bins": "number of bins",
        "n": "rows; one of weight 2 is two",
        "edges": "bin b is [edges[b], edges[b + 1]), the last one closed",
        "ties": "random part of each inner edge: a row of that very score is in the bin above if its own is as large; "
        "null if scores alone decide",
        "values": "what is predicted in each bin",
        "counts": "labels averaged in each bin, boundary rows left out; (Σw)²/Σw² for weights that are not whole",
        "rates": "mean of those labels; for a bin without labels that of all rows",
        "tied": "rows that share their score with another",
        "tied_edges": "inner edges whose score several rows share",
        "whole": "whether every weight was a whole number",
    }

    scheme_: str
    n_bins_: int
    n_: int
    edges_: Floats
    ties_: Floats | None
    values_: Floats
    counts_: NDArray[Any]
    rates_: Floats
    tied_: int
    tied_edges_: int
    whole_: bool

    def __init__(
        self,
        n_bins: int | Literal["auto"] = 10,
        scheme: Scheme = "umd",
        *,
        epsilon: float | None = None,
        alpha: float = 0.1,
        split: float = 0.5,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self.n_bins = n_bins
        self.scheme = scheme
        self.epsilon = epsilon
        self.alpha = alpha
        self.split = split
        self.seed = seed

    def guarantee(self, alpha: float = 0.1, *, bound: Bound = "hoeffding") -> Guarantee:
        """How far the values can be from the event rates of their bins.

        Parameters
        ----------
        alpha : float, default 0.1
            How often the guarantee may fail.
        bound : {'hoeffding', 'exact', 'clopper-pearson', 'bernstein'}, default 'hoeffding'
            'hoeffding' is as published. 'exact' uses the binomial distribution at its worst rate. 'clopper-pearson' and
            'bernstein' look at the labels, which helps where events are rare or frequent; the second is for comparison,
            since labels are 0 and 1. Choose before looking: the least of several bounds is no bound.

        Returns
        -------
        Guarantee
            For every bin at once, for the bin of a new row, and for the expected error, each with its theorem.

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
        alpha, bound = checked_alpha(alpha), checked_word(bound, "bound", BOUNDS)  # type: ignore[assignment]
        met = self._met()
        fitted = Fitted(
            self.scheme_,
            self.n_,
            self.counts_[met].astype(np.float64),
            self.rates_[met],
            self.values_[met],
            self.tied_,
            self.tied_edges_,
            self.whole_,
        )
        return promise(fitted, alpha, bound)

    def _check_parameters(self) -> None:
        checked_word(self.scheme, "scheme", SCHEMES)
        checked_alpha(self.alpha)
        checked_split(self.split, self.scheme)
        check_seed(self.seed)
        if self.n_bins != "auto":
            if checked_whole(self.n_bins, "n_bins") > MOST_BINS:
                raise InputError("n_bins", f"must be at most {MOST_BINS:,}", f"got {self.n_bins:,}")
            if self.epsilon is not None:
                raise InputError(
                    "epsilon", "is for n_bins='auto'", f"got epsilon={self.epsilon!r} with {self.n_bins} bins"
                )
        elif self.epsilon is not None:
            checked_epsilon(self.epsilon)
            if self.scheme == "fixed-width":
                raise InputError(
                    "epsilon",
                    "must be None for scheme='fixed-width', whose bins hold what the scores decide",
                    f"got {self.epsilon!r}",
                )

    def _check_learnt(self) -> None:
        if self.scheme_ not in SCHEMES:
            refuse_learnt(self, "scheme", "the name of a scheme", self.scheme_)
        if not isinstance(self.whole_, bool):
            refuse_learnt(self, "whole", "true or false", self.whole_)
        check_learnt_whole(self, "n_bins", "n", least=1)
        check_learnt_whole(self, "tied", "tied_edges")
        check_edges(self, size=self.n_bins_ + 1)
        check_shares(self, self.n_bins_, "values", "rates")
        check_array(self, "counts", (self.n_bins_,), kinds="if")
        if (self.counts_ < 0).any():
            refuse_learnt(self, "counts", "at least 0", self.counts_)
        if self.ties_ is not None:
            check_shares(self, self.n_bins_ - 1, "ties")

    def _fit(self, rows: Rows) -> None:
        self.scheme_ = self.scheme
        self.whole_ = rows.w is None or bool((rows.w == np.floor(rows.w)).all())
        if not self.whole_ and self.scheme != "fixed-width":
            raise InputError(
                "sample_weight",
                f"must be whole numbers for scheme={self.scheme!r}, which cuts bins at ranks. "
                "scheme='fixed-width' takes any weights",
            )
        self._check_total(rows)
        self.n_ = int(rows.w.sum()) if rows.w is not None and self.whole_ else rows.y.size
        self.n_bins_ = self._bins_for(self.n_)
        self.ties_ = None
        if self.scheme == "fixed-width":
            self._fit_fixed(rows)
        else:
            self._fit_ranks(rows)
        self._warn_about_empty_bins()

    def _check_total(self, rows: Rows) -> None:
        if rows.w is None or not self.whole_:
            return
        total, repeats = float(rows.w.sum()), self.scheme in ("randomized", "split")
        most = max(_MOST_REPEATED, rows.y.size) if repeats else _MOST_TOTAL
        if total > most:
            why = "which draws each repetition of a row" if repeats else "beyond which floats do not count"
            raise InputError(
                "sample_weight", f"must sum to at most {most:,} for scheme={self.scheme!r}, {why}", f"got {total:,.6g}"
            )

    def _warn_about_empty_bins(self) -> None:
        empty = int((self.counts_[self._met()] == 0).sum())
        if empty and self.scheme in ("split", "fixed-width"):
            what = "has no label and predicts" if empty == 1 else "have no label and predict"
            warn(f"{empty:,} of {self.n_bins_:,} bins {what} the event rate of all rows.", FewRowsWarning)

    def _met(self) -> Bools:
        """Which bins some score is in: none is between equal edges, unless random parts tell them apart."""
        return np.append(np.diff(self.edges_[:-1]) > 0, True) if self.ties_ is None else np.ones(self.n_bins_, bool)

    def _bins_for(self, n: int) -> int:
        wanted = self._wanted(n)
        most = MOST_BINS if self.scheme == "fixed-width" else max(1, n // 2)
        if self.scheme == "split":
            most = min(most, cut_rows(n, self.split) + 1)
        if wanted > most:
            warn(
                f"{n:,} rows are too few for {wanted:,} bins with a label each; there are {most:,} bins.",
                FewRowsWarning,
            )
        return min(wanted, most)

    def _wanted(self, n: int) -> int:
        if self.n_bins != "auto":
            return int(self.n_bins)
        if self.epsilon is None:
            return min(usual_bins(n), MOST_BINS)
        options = {"alpha": self.alpha, "scheme": self.scheme, "split": self.split}
        found = max_bins(n, self.epsilon, **options)  # type: ignore[arg-type]
        if found == 0:
            least = sample_size(1, self.epsilon, **options)  # type: ignore[arg-type]
            raise InputError(
                "epsilon",
                f"must be larger for so few rows: {self.epsilon:g} at alpha = {self.alpha:g} takes {least:,} "
                "for a single bin",
                f"got {n:,}",
            )
        return min(found, MOST_BINS)

    def _fit_ranks(self, rows: Rows) -> None:
        cells = cells_of_rows(Sample(rows.y, rows.p, rows.w))
        self.tied_ = int(cells.weight[cells.weight > 1].sum()) if cells.size < self.n_ else 0
        if self.tied_ and self.scheme in ("umd", "original"):
            warn(
                f"{self.tied_:,} of {self.n_:,} rows share their score with another: the theorem of "
                f"scheme={self.scheme!r} assumes that none do. scheme='randomized' breaks ties at random and keeps the "
                "guarantee.",
                TiedScoresWarning,
            )
        rng = _generator(self.seed, _FIT) if self.scheme in ("split", "randomized") else None
        if self.scheme == "split":
            assert rng is not None
            cuts = split_cuts(cells, self.n_bins_, cut_rows(self.n_, self.split), rng)
        else:
            cuts = rank_cuts(cells, self.n_bins_, rng)
        self.edges_, self.ties_, self.counts_ = cuts.edges, cuts.ties, cuts.counts
        at_edge = np.searchsorted(cells.score, cuts.edges[1:-1])
        self.tied_edges_ = int((cells.weight[at_edge] > 1).sum())
        self._keep_rates(cuts.events, cuts.counts, float(cells.events.sum() / self.n_))
        if self.scheme == "original":
            below = slice(0, self.n_bins_ - 1)
            self.values_[below] = (cuts.events[below] + cuts.boundary_labels) / (cuts.counts[below] + 1)
        elif self.scheme == "randomized":
            assert rng is not None
            self.values_ = (self.values_ + DELTA * rng.random(self.n_bins_)) / (1 + DELTA)

    def _fit_fixed(self, rows: Rows) -> None:
        bins = bins_of_rows(Sample(rows.y, rows.p, rows.w), EqualWidth(self.n_bins_))
        self.tied_ = self.tied_edges_ = 0
        self.edges_ = np.array(bins.edges)
        with np.errstate(invalid="ignore"):
            size: Any = bins.weight if self.whole_ else np.nan_to_num(bins.weight**2 / bins.squares)
        self.counts_ = size.astype(np.int64) if self.whole_ else size
        self._keep_rates(bins.events, bins.weight, float(bins.events.sum() / bins.weight.sum()))

    def _keep_rates(self, events: NDArray[Any], weight: NDArray[Any], all_rows: float) -> None:
        rates = np.divide(events, weight, out=np.full(self.n_bins_, all_rows), where=weight > 0)
        self.rates_ = np.clip(rates, 0.0, 1.0)  # shares of tied labels are rounded
        self.values_ = self.rates_.copy()

    def _map(self, p: NDArray[Any]) -> Floats:
        inner = self.edges_[1:-1]
        if self.ties_ is None or not inner.size:
            return steps(inner, self.values_, p)
        place = ranks(inner, p)
        self._break_ties(p, place, np.flatnonzero((place > 0) & (inner[np.maximum(place, 1) - 1] == p)))
        return np.asarray(self.values_[place])

    def _break_ties(self, p: NDArray[Any], place: Ints, at_edge: Ints) -> None:
        """Move rows whose score is that of an edge, and whose random part is smaller than the edge's, down."""
        assert self.ties_ is not None
        if at_edge.size == 0:
            return
        inner, rng = self.edges_[1:-1], _generator(self.seed, _PREDICT)
        # One number for every row, tied or not: a row's tie-break is a matter of its place in the array alone.
        own = rng.random(p.size)[at_edge]
        first = np.searchsorted(inner, p[at_edge], side="left")
        for start in np.unique(first):
            mine = first == start
            stop = int(place[at_edge[mine][0]])
            place[at_edge[mine]] = start + np.searchsorted(self.ties_[start:stop], own[mine], side="right")


def _generator(seed: Any, stream: int) -> np.random.Generator:
    if isinstance(seed, np.random.Generator):
        return seed
    return np.random.default_rng(None if seed is None else [int(seed), stream])
