"""Confidence bands around calibration curves.

Of bins, splines and loess, and of any rising curve.
"""

from collections.abc import Hashable, Sequence
from typing import Any, Literal, TypeAlias, Unpack, overload

from trueness._input.arguments import checked_word
from trueness._keywords import suggests_keywords
from trueness._tally.rows_or_sums import row_options
from trueness._tally.rules import BinsLike
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError
from trueness.infer.band._flexible_bands import CurveBandKind, flexible_band
from trueness.infer.band._monotone_band import monotone_band
from trueness.infer.band._reliability_bands import Band, reliability_bands
from trueness.results import Bands, CurveBand, MonotoneBand
from trueness.typing import ArrayLike, Kind, Missing, RowOptions, WeightType

BandMethod: TypeAlias = Literal["bins", "spline", "loess", "monotone"]
_METHODS = ("bins", "spline", "loess", "monotone")
# The methods that take each option.
_TAKEN_BY = {
    "bins": ("bins",),
    "band": ("bins", "spline", "loess"),
    "at": ("spline", "loess"),
    "knots": ("spline",),
    "cluster": ("spline", "loess"),
}


@overload
def curve_band(
    y_true: ArrayLike | Tally | Binned,
    y_prob: ArrayLike | None = None,
    *,
    method: Literal["bins"],
    bins: BinsLike = 10,
    band: Band | None = None,
    level: float = 0.95,
    **rows: Unpack[RowOptions],
) -> Bands: ...


@overload
def curve_band(
    y_true: ArrayLike | Tally,
    y_prob: ArrayLike | None = None,
    *,
    method: Literal["spline", "loess"] = "spline",
    band: CurveBandKind | None = None,
    level: float = 0.95,
    at: ArrayLike | None = None,
    knots: int | None = None,
    cluster: ArrayLike | None = None,
    **rows: Unpack[RowOptions],
) -> CurveBand: ...


@overload
def curve_band(
    y_true: ArrayLike | Tally | Sketch,
    y_prob: ArrayLike | None = None,
    *,
    method: Literal["monotone"],
    level: float = 0.95,
    **rows: Unpack[RowOptions],
) -> MonotoneBand: ...


@suggests_keywords
def curve_band(
    y_true: ArrayLike | Tally | Binned | Sketch,
    y_prob: ArrayLike | None = None,
    *,
    method: BandMethod = "spline",
    bins: BinsLike | None = None,
    band: Band | None = None,
    level: float = 0.95,
    at: ArrayLike | None = None,
    knots: int | None = None,
    cluster: ArrayLike | None = None,
    kind: Kind | None = None,
    labels: Sequence[Hashable] | None = None,
    pos_label: Hashable | None = None,
    sample_weight: ArrayLike | None = None,
    weight_type: WeightType = "auto",
    missing: Missing = "raise",
    clip_tolerance: float = 0.0,
    sum_tolerance: float | None = None,
    from_logits: bool = False,
    percent: bool = False,
    ignore_index: int | None = None,
) -> Bands | CurveBand | MonotoneBand:
    r"""Band around a calibration curve: of bins, of a smooth curve, or of any rising curve.

    Parameters
    ----------
    y_true : array-like of shape (n,), (n, L) or (B, …)
        Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
        images.
    y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
        Predicted probabilities: P(positive), one column per class or label, or dense, with classes
        second. For a matrix, ``method="bins"`` has rows for each class; the other methods examine
        the largest score of each row, and take a matrix of two columns as the binary problem of its
        second column.
    method : {'spline', 'loess', 'bins', 'monotone'}, default 'spline'
        - 'spline': logistic regression on a restricted cubic spline of the log-odds.
        - 'loess': local quadratic regression.
        - 'bins': the rate of each bin, or the rates that calibrated scores would show.
        - 'monotone': the event probability at every score, if it rises with the score. It assumes
          nothing but that and independent rows, so it can show that scores are right: "within 0.05"
          if it stays within 0.05 of the diagonal.
    bins : int, sequence of edges or bin rule, optional
        For 'bins', by default 10; as for :func:`trueness.ece`. Isotonic rules depend on the labels
        and are refused: no band around such bins keeps its level.
    band : {'pointwise', 'simultaneous', 'consistency', 'simultaneous-consistency'}, optional
        - 'pointwise', the default: `level` is that of each score, or each bin, by itself.
        - 'simultaneous': `level` is that of the whole curve, or of all bins jointly.
        - 'consistency', for 'bins': the range of each bin's rate if the scores are the true
          probabilities. Drawn around the diagonal; a rate outside is evidence against calibration.
        - 'simultaneous-consistency', for 'bins': the joint range of the rates of all bins. Any rate
          outside rejects calibration at 1 − level.

        The monotone band is simultaneous and has no choice.
    level : float, default 0.95
        Level of the band.
    at : array-like of scores, optional
        For 'spline' and 'loess': where to evaluate curve and band; by default up to 512 scores from
        the smallest to the largest. A simultaneous band holds from the smallest to the largest
        score in any case.
    knots : int, optional
        Knots of a spline, 3 to 7; by default 5.
    cluster : array-like of shape (n,), optional
        For 'spline' and 'loess': the cluster of each row, such as the patient; rows of one cluster
        may be dependent. The other bands need independent rows.
    kind : {'classwise', 'confidence', 'top-label', 'multilabel'}, optional
        How a matrix is compared with the labels. 'classwise': each column against the rest,
        averaged over classes. 'confidence': the largest probability of each row (the first, if
        tied) against whether that class is the label. 'top-label': the same for each predicted
        class, weighted by how often it is predicted. 'multilabel': each column is a binary problem
        of its own, averaged over labels; never guessed. By default 'confidence'.
    labels : sequence, optional
        The classes in column order, if they are not 0 to K−1; for a vector of scores, two classes
        with the positive one last. By default, columns whose names are the classes are matched by
        name. Otherwise the columns are in the order of the categories (of a pandas Categorical,
        Polars Enum or ordered Arrow dictionary, unused categories included) or, without categories,
        in the order of the sorted labels.
    pos_label : optional
        The label that a vector of scores predicts, if labels are not 0/1.
    sample_weight : array-like of shape (n,), optional
        Frequencies or sampling weights (`weight_type`); a weight of 0 leaves the row out. With
        'monotone', `sample_weight` must be whole numbers.
    weight_type : {'auto', 'frequency', 'importance'}, default 'auto'
        What the weights mean. 'frequency': whole numbers that count rows (a weight of 2 is two
        rows). 'importance': sampling weights in any unit; each row counts once. 'auto' takes whole
        numbers as frequencies, with a warning in functions that infer, and other weights as
        importance.
    missing : {'raise', 'drop'}, default 'raise'
        What to do with rows that have a missing value: raise an error, or drop them with a warning.
    clip_tolerance : float, default 0
        Scores outside [0, 1] by at most this much are set to 0 or 1.
    sum_tolerance : float, optional
        How far the scores of a matrix row may sum from 1. Default: 1e-6, or 2e-3 for float16.
    from_logits : bool, default False
        Whether the scores are logits; the logistic function (softmax for a matrix) is applied
        first.
    percent : bool, default False
        Whether the scores are percentages, from 0 to 100.
    ignore_index : int, optional
        The label of rows that are left out, such as 255 for pixels without a class.

    Returns
    -------
    CurveBand, Bands or MonotoneBand
        For 'spline' and 'loess' a :class:`trueness.results.CurveBand`: arrays `x`, `y` (the curve),
        `low` and `high`; nan, with a warning, if the curve has no finite estimate. For 'bins'
        :class:`trueness.results.Bands`: one row per bin, including empty bins (nan); `outside`
        marks the bins that are evidence against calibration. For 'monotone' a
        :class:`trueness.results.MonotoneBand`: arrays `score`, `low` and `high`; ``within(eps)``
        and `widest`.

    See Also
    --------
    equivalence_test : The p-value of "within", and other evidence for calibration.

    Notes
    -----
    *Splines.* With the basis :math:`s(x)` at the log-odds :math:`x` of a score, the coefficients
    :math:`b` and their covariance :math:`V` (inverse information; for clusters, and for weights
    that are not whole numbers, the sandwich), the band is

    .. math:: \mathrm{expit}\big( s(x)^\top b \pm c \sqrt{s(x)^\top V s(x)} \big) .

    A pointwise band has the normal quantile :math:`c`, as in R; Student's t with the sandwich.

    *Loess.* The curve is a weighted sum of labels, with variance :math:`\sum_i l_i(x)^2 q_i (1 -
    q_i)`, :math:`q_i` being the curve at the score of row i. The limits are the wider of ± c
    standard errors and of Wilson's for the number of independent rows that has the same variance;
    they stay within [0, 1].

    *Simultaneous curves.* :math:`c` is the quantile of the largest :math:`|t|` over all scores,
    from the length :math:`\kappa` of the path that the standardised basis takes on the unit sphere
    (Sun and Loader 1994),

    .. math:: \frac{\kappa}{\pi} e^{-c^2/2} + 2 (1 - \Phi(c)) = 1 - \text{level} ,

    or Scheffé's, if that is smaller.

    Splines and loess have bands for the mean of the curve, as `covers` of the result says. It is
    the truth if the log-odds are a spline with these knots, as for calibrated scores or a wrong
    slope; otherwise it is the best approximation (splines) or a local mean (loess), and more rows
    make it worse: ``docs/evidence/coverage-curves.md`` has the coverage. A truth with a kink,
    :math:`0.3 + 0.8 |p - 1/2|` of uniform scores, lies within simultaneous bands at 95 % in .86
    (spline) and .84 (loess) of samples of 1,000 rows, and in .64 and .56 of 4,000 (80 samples
    each). Loess does not even follow a wrong slope: with a slope of 0.6 its band contained the
    truth in .84 of samples of 1,000 rows and .02 of 4,000 (100 samples each), where splines did in
    .95 and .97. The monotone band needs no such assumption.

    *Bins.* All statements are conditional on the scores; labels of different rows are independent.

    *Rate.* With k events among N rows, [low, high] contains the rates at which neither k or more
    nor k or fewer events have a probability below (1 − level)/2. This is exact if the rows of a bin
    share one probability. If they differ, the number of events varies less than a binomial number
    with the same mean (Hoeffding 1956), and the mean of the probabilities is covered more often.

    *Consistency.* The number of events is a sum of independent draws with the probabilities
    :math:`p_i` of the bin (Poisson-binomial). The band cuts off at most (1 − level)/2 at either end
    of its distribution, which is computed exactly or, for bins with more than about 5·10⁴ distinct
    scores, from three moments.

    *Simultaneous bins.* Each of B non-empty bins gets :math:`\text{level}^{1/B}` (Šidák), which is
    exact since bins share no rows. The classes of a class-wise table do share rows, so each of K
    classes first gets 1 − (1 − level)/K (Bonferroni).

    Whole-number weights count rows. For other weights a band for the rate uses the effective number
    of rows, (Σw)²/Σw², and a consistency band the normal distribution with variance Σw²p(1 − p);
    the field `interval` says so.

    *Monotone.* The rows are cut, by their scores alone, into at most :math:`2 \sqrt n`, and never
    more than 1,000, groups of equal size. The band looks at all M runs of 1, 2, 4, 8, …
    neighbouring groups. Let a run have N rows, k of them events, and scores from a to b. If
    :math:`f` rises, then k is at least as large as a binomial number with rate :math:`f(a)`, and at
    most as large as one with rate :math:`f(b)`. So Clopper-Pearson limits of k out of N give

    .. math:: f(a) \le U , \quad f(b) \ge L , \quad
              \text{each at level } 1 - \frac{1 - \text{level}}{2M} ,

    and the band at a score is the smallest U of all runs that begin at or above it, and the largest
    L of all runs that end at or below it. This is proven at any n. It is wide: for calibrated,
    uniform scores, 95 % of rows lie within about 0.28 at 1,000 rows, 0.14 at 10,000, 0.065 at
    100,000 and 0.032 at 1,000,000.

    If the probability does not rise with the score, the band means nothing. Where `high` falls
    below `low`, no rising function fits (`rising` is False). All rows of a cell of a sketch are
    taken at their mean score.

    References
    ----------
    Harrell, "Regression modeling strategies", 2015. Sun, Loader, "Simultaneous confidence bands for
    linear regression and smoothing", Annals of Statistics, 1994.

    Clopper, Pearson, "The use of confidence or fiducial limits illustrated in the case of the
    binomial", Biometrika, 1934. Hoeffding, "On the distribution of the number of successes in
    independent trials", Annals of Mathematical Statistics, 1956. Bröcker, Smith, "Increasing the
    reliability of reliability diagrams", Weather and Forecasting, 2007.

    T. Dimitriadis, L. Dümbgen, A. Henzi, M. Puke, J. Ziegel, Honest calibration assessment for
    binary outcome predictions, Biometrika 110 (2023), 663-680.

    Examples
    --------
    >>> import numpy as np
    >>> import trueness as tn
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(500)
    >>> band = tn.curve_band(rng.random(500) < p, p, at=[0.2, 0.5, 0.8])
    >>> band.y.round(3).tolist(), band.low.round(3).tolist(), band.high.round(3).tolist()
    ([0.187, 0.471, 0.834], [0.125, 0.388, 0.755], [0.27, 0.555, 0.891])

    Ten rows of score 0.5: if it is correct, 2 to 8 events occur in at least 95 % of samples.

    >>> bands = tn.curve_band([1] * 9 + [0], [0.5] * 10, method="bins", bins=1, band="consistency")
    >>> bands.low.tolist(), bands.high.tolist(), bands.rate.tolist(), bands.outside.tolist()
    ([0.2], [0.8], [0.9], [True])

    Two scores, 1,000 rows each, both right:

    >>> y = [1] * 200 + [0] * 800 + [1] * 700 + [0] * 300
    >>> band = tn.curve_band(y, [0.2] * 1000 + [0.7] * 1000, method="monotone")
    >>> band.score.tolist(), band.low.round(3).tolist(), band.high.round(3).tolist()
    ([0.2, 0.7], [0.171, 0.664], [0.232, 0.734])
    >>> band.within(0.04), band.within(0.03)
    (True, False)
    """
    rows = row_options(
        kind,
        labels,
        pos_label,
        sample_weight,
        weight_type,
        missing,
        clip_tolerance,
        sum_tolerance,
        from_logits,
        percent,
        ignore_index,
    )
    options = {"bins": bins, "band": band, "at": at, "knots": knots, "cluster": cluster}
    _refuse_unused(checked_word(method, "method", _METHODS), options)
    around: Any = "pointwise" if band is None else band  # checked where it is used
    if method == "monotone":
        return monotone_band(y_true, y_prob, level=level, rows=rows)
    if method == "bins":
        return reliability_bands(
            y_true,
            y_prob,
            bins=10 if bins is None else bins,
            band=around,
            level=level,
            rows=rows,
        )
    return flexible_band(
        y_true,
        y_prob,
        curve=method,
        band=around,
        level=level,
        at=at,
        knots=knots,
        cluster=cluster,
        rows=rows,
    )


def _refuse_unused(method: str, options: dict[str, Any]) -> None:
    """Raise for an option that this method does not have."""
    for option, value in options.items():
        methods = _TAKEN_BY[option]
        if value is None or method in methods:
            continue
        demand = "is only for " + " and ".join(f"`method={name!r}`" for name in methods)
        raise InputError(option, demand, f"the method is {method!r}", remedy="Leave it out.")
