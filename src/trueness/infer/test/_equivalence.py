"""Accepting calibration: tests whose small p-value is evidence that an error is small."""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from trueness._input.arguments import (
    Seed,
    checked_fraction,
    checked_number,
    checked_word,
    whole_seed,
)
from trueness._keywords import suggests_keywords
from trueness._tally.bins import Bins
from trueness._tally.cells import pool_cells
from trueness._tally.evidence import Evidence
from trueness._tally.reading import read_rows
from trueness._tally.rows_or_sums import row_options
from trueness._tally.rules import BinsLike
from trueness._tally.sketch import Sketch
from trueness._tally.sums_of_rows import Sums
from trueness._tally.tally import Binned, Tally
from trueness.errors import FewRowsWarning, InputError, OwnRowsWarning, collected_warnings, warn
from trueness.infer.band._monotone_band import band_runs
from trueness.infer.interval._score_interval import DefaultParts, upper_limit
from trueness.infer.limits._ece import bin_gaps, too_good_in_bins
from trueness.infer.limits._observed_expected import EffectiveEvents
from trueness.infer.null._redrawn_labels import contradictions
from trueness.infer.test._calibration_test import test_of
from trueness.results import Significance
from trueness.typing import ArrayLike, Kind, Missing, WeightType

Criterion: TypeAlias = Literal["l2", "oe", "band", "ece"]
_CRITERIA = ("l2", "oe", "band", "ece")
TOO_GOOD: Final = 0.001
"""Labels whose agreement with the scores has at most this p-value are too good to be true."""
_LEVEL = 0.95
_PERCENT = "95 %"
SMOOTH: Final = "the error varies smoothly with the score"
"""What acceptance by the l2 error assumes unless each distinct score is a cell of its own."""
SHARE = 0.95
"""The share of rows whose scores the band must show to be right."""
# The p-value is sought between these error rates, to this relative accuracy: limits are defined
# below 1/2.
_SMALLEST = 1e-9
_LARGEST = 0.499
_ACCURACY = 1e-6
# Bins of a Binned that are fine enough for the l2 error.
FINE = 256


@suggests_keywords
def equivalence_test(
    y_true: ArrayLike | Tally | Sketch | Binned,
    y_prob: ArrayLike | None = None,
    *,
    within: float = 0.02,
    criterion: Criterion = "l2",
    bins: BinsLike | None = None,
    share: float | None = None,
    cluster: ArrayLike | None = None,
    seed: Seed = 0,
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
) -> Significance:
    r"""Test for calibration within a margin: a small p-value is evidence *for* calibration.

    A test of calibration that does not reject shows nothing: there may be too few rows. Here the
    null hypothesis is that the error exceeds `within`, and rejecting it shows that the error is
    small.

    Parameters
    ----------
    y_true : array-like of shape (n,), (n, L) or (B, …)
        Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
        images.
    y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
        Predicted probabilities: P(positive), one column per class or label, or dense, with classes
        second. Or sums in place of both. The labels must not have been used to fit the scores. For
        a matrix, the largest score of each row is examined; a matrix of two columns is the binary
        problem of its second column.
    within : float, default 0.02
        The margin, above 0 and at most 1, in units of probability (for 'oe': of the ratio). Choose
        it before looking at the data.
    criterion : {'l2', 'oe', 'band', 'ece'}, default 'l2'
        The quantity that must be small.

        'l2'
            The l2 calibration error, by the upper limit of :func:`trueness.ece_interval`.
        'oe'
            Observed divided by expected events must lie in 1 ± `within`, by two one-sided tests.
        'band'
            The event probability at the scores of a `share` of the rows must be within `within` of
            the score, by the monotone band of :func:`trueness.curve_band`. Assumes that the
            probability rises with the score; needs very many rows.
        'ece'
            The ECE in given bins, by its one-sided upper limit.
    bins : int, sequence of edges or bin rule, optional
        For 'ece': its bins, 10 of equal width by default. Rules that depend on the labels are
        refused.
    share : float, optional
        For 'band': the share of rows, 0.95 by default. At the ends there are never enough rows to
        show anything.
    cluster : array-like of shape (n,), optional
        A cluster name for each row; rows of one cluster may depend on each other; not for 'band'.
    seed : int or numpy.random.Generator, default 0
        For the labels that are redrawn to see whether the labels agree with the scores too well.
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
        Frequencies or sampling weights (`weight_type`); a weight of 0 leaves the row out. Weights
        must count rows for 'band', and for 'l2' from sums.
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
    Significance
        `pvalue`: the smallest :math:`\alpha` at which the one-sided limits of level :math:`1 -
        \alpha` keep the margin; 1 if not even those of level 1/2 do. `statistic`: the estimated
        error or ratio; for 'band' the share of rows that the 95 % band shows to be right. `within`:
        the margin. `condition`: what the p-value assumes of the scores, in words.

    Notes
    -----
    With the one-sided upper limit :math:`U_{1 - \alpha}` of an error :math:`\theta`, which misses
    it with probability :math:`\alpha` at most,

    .. math:: p = \inf \{ \alpha : U_{1 - \alpha} \le \text{within} \} ,

    so that :math:`p \le \alpha` has probability :math:`\alpha` at most if :math:`\theta >` within.
    The limits are those of ``trueness gate --require``, which is this test. 'band' is exact; 'oe'
    and 'ece' are conservative; 'l2' is an asymptotic test with exact limits where labels hardly
    ever contradict the scores. With clusters 'l2' is a little bold: where .05 is meant, an error
    that equals the margin is accepted in up to .072 of samples. Size and power in simulations are
    in ``docs/evidence/coverage.md``; :func:`trueness.validation_size` plans the number of rows.

    **Smoothness.** 'l2' compares rows of neighbouring scores, unless each distinct score is a cell
    of its own: it holds if the error varies smoothly with the score, as `condition` says. If each
    leaf of an overfitted tree has its own error, no test can see it without repeated scores: a true
    l2 error of 0.12 over 20,000 leaves is accepted within 0.09 in 98 % of samples of 2,000 rows. If
    rows of equal score show an error above the margin, at 99 % confidence, there is a
    :class:`trueness.errors.FewRowsWarning`.

    **Too good to be true.** Labels that agree with the scores better than chance allows (the lower
    tail of the omnibus test, at 0.001) say nothing about new rows: usually the scores were fitted
    on them. The p-value is then 1, with an :class:`trueness.errors.OwnRowsWarning`.

    References
    ----------
    S. Wellek, Testing Statistical Hypotheses of Equivalence and Noninferiority, 2010.
    D. J. Schuirmann, A comparison of the two one-sided tests procedure and the power approach for
    assessing the equivalence of average bioavailability, Journal of Pharmacokinetics and
    Biopharmaceutics 15 (1987), 657-680.

    See Also
    --------
    calibration_test : Evidence against calibration.

    Examples
    --------
    >>> import trueness as tn
    >>> from trueness import simulate
    >>> d = simulate.binary(2_000, seed=1)
    >>> test = tn.equivalence_test(d.y_true, d.y_prob, within=0.1, seed=0)
    >>> test.pvalue < 0.001
    True
    >>> tn.equivalence_test(d.y_true, d.y_prob, within=0.02, seed=0).pvalue > 0.05
    True
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
    seed = whole_seed(seed)
    evidence = read_rows(y_true, y_prob, rows, kind="confidence", cluster=cluster)
    within = checked_number(
        within, "within", "above 0 and at most 1", low=0, high=math.nextafter(1, 2)
    )
    checked_word(criterion, "criterion", _CRITERIA)
    _check_options(criterion, bins, share)
    if bins is None:
        bins = 10
    if share is None:
        share = SHARE
    kept = margin(evidence, criterion, within, bins, share)
    pvalue = kept.pvalue
    words = kept.words
    test = omnibus_of(evidence, seed) if pvalue < 1 else None
    too_good = too_good_of(evidence, test)
    if too_good is not None and too_good <= TOO_GOOD:
        pvalue = 1.0
        warn(
            "The labels agree with the scores better than chance allows "
            f"(p = {too_good:.2g}, lower tail) and are no evidence for new rows: the p-value is 1. "
            "Were the scores fitted on these rows, or are rows repeated?",
            OwnRowsWarning,
        )
        words = f"{words} The labels agree with the scores too well."
    if pvalue < 1 and kept.shown_by_ties > within:
        warn(
            "Rows that share their score with others have a typical error above "
            f"{kept.shown_by_ties:.3f} (99 % confidence), more than `within`: the error does not "
            "vary smoothly with the score, as if each leaf of a tree had its own, and the p-value "
            "does not hold.",
            FewRowsWarning,
        )
    return Significance(
        statistic=kept.estimate,
        pvalue=pvalue,
        method=f"{criterion} equivalence",
        n=kept.n,
        assumptions=f"{words} {evidence.note}".rstrip(),
        condition=kept.condition,
        too_good=too_good,
        contradicted=0 if test is None else test.contradicted,
        within=within,
    )


class Margin(NamedTuple):
    """An estimate, and the p-value for keeping its margin."""

    estimate: float
    n: int
    pvalue: float = 1.0
    words: str = ""
    condition: str = ""
    """A condition for the p-value to hold, which the rows cannot show."""
    shown_by_ties: float = 0.0
    """A lower 99 % limit for the l2 error, from rows that share their score with others."""


class _Limits(NamedTuple):
    """A quantity, its estimate, and one-sided limits as a function of their error rate."""

    name: str
    margin: Margin
    """All but the p-value and the words."""
    ends: Callable[[float], tuple[float, float]]
    """The lower and the upper limit, each of this error rate."""


def margin(
    evidence: Evidence, criterion: str, within: float, bins: BinsLike = 10, share: float = SHARE
) -> Margin:
    """The estimate of one of the criteria, and the p-value for keeping the margin `within`.

    `criterion` is 'l2' (typical error), 'oe' (observed/expected events), 'ece' (in `bins`) or
    'band' (a `share` of the rows within the margin in the monotone band). The margin lies around 1
    for 'oe' and above 0 for the others. The p-value is the smallest error rate of one-sided limits
    that keep it; it is small if the scores are shown to be close enough to calibration.

    Labels are taken at face value, even if they agree with the scores too well. There must be one
    score per row.
    """
    evidence.require_one("the test of a matrix")
    if criterion == "band":
        return _band(evidence, within, share)
    limits = _LIMITS[criterion](evidence, bins)

    def keeps(alpha: float) -> bool:
        """Whether the limits of this error rate keep the margin.

        It lies around 1 for a ratio, and above 0 for an error.
        """
        low, high = limits.ends(alpha)
        if criterion == "oe":
            return 1 - within <= low and high <= 1 + within
        return high <= within

    low, high = limits.ends(1 - _LEVEL)
    ends = f"limits {low:.3f} to {high:.3f}" if criterion == "oe" else f"upper limit {high:.4f}"
    units = evidence.units.word.capitalize()
    words = f"{limits.name}: one-sided {_PERCENT} {ends}. {units} are independent."
    if limits.margin.condition:
        words = f"{words} Holds if {limits.margin.condition}."
    return limits.margin._replace(pvalue=smallest_alpha(keeps), words=words)


def _l2(evidence: Evidence, _: BinsLike) -> _Limits:
    """The upper limits of the l2 error, by the upper end of its score interval.

    Sums whose weights do not count rows, and fewer than two rows, are refused.
    """
    by_rows = evidence.importance and evidence.has_rows
    if evidence.dependent or by_rows:
        rows = evidence.clustered
        parts = DefaultParts.of_clusters(rows)[0]
        n = rows.n
    else:
        cells = evidence.with_bins_as_cells(FINE).cells
        if not cells.whole:
            raise InputError(
                "sample_weight",
                "must be whole numbers for the l2 error of sums",
                remedy="Pass labels and scores.",
            )
        n = int(cells.weight.sum())
        if n < 2:
            raise InputError("y_true", "must have at least two rows to be judged", f"got {n}")
        parts = DefaultParts.of_cells(cells)
    high = upper_limit(parts)
    estimate = math.sqrt(max(parts.coarse.estimate, 0.0))
    condition = ""
    ties = 0.0
    if not evidence.keeps_scores:
        condition = SMOOTH
    elif parts.shared:
        condition = f"{SMOOTH} ({parts.cells.size:,} distinct scores in {n:,} rows)"
        if parts.effective is None:
            ties = math.sqrt(parts.shown_by_ties(0.01))
    kept = Margin(estimate, n, condition=condition, shown_by_ties=ties)
    return _Limits("typical error", kept, lambda alpha: (0.0, math.sqrt(min(high(alpha), 1.0))))


def _ratio(evidence: Evidence, _: BinsLike) -> _Limits:
    """The limits of observed/expected events."""
    rows = evidence.in_clusters
    part = evidence.one if rows is None else rows.cells
    assert part is not None
    events = EffectiveEvents.of(part, rows)
    n = int(part.weight.sum() if part.whole else part.count.sum())
    return _Limits("O/E", Margin(events.value, n), lambda alpha: events.limits(alpha)[:2])


def _ece(evidence: Evidence, bins: BinsLike) -> _Limits:
    """The upper limits of the ECE in these bins."""
    gaps = bin_gaps(evidence, bins)
    return _Limits("ECE", Margin(gaps.ece, gaps.n), lambda alpha: (0.0, gaps.high(alpha)))


_LIMITS: Final[Mapping[str, Callable[[Evidence, BinsLike], _Limits]]] = {
    "l2": _l2,
    "oe": _ratio,
    "ece": _ece,
}


def _band(evidence: Evidence, within: float, share: float) -> Margin:
    """Whether the monotone band shows a share of the rows to be right within a margin.

    The band contains the event rate at every score at once if that rate rises with the score. The
    estimate is the share of rows for which the 95 % band lies within `within` of the score. The
    p-value is the smallest error rate of a band that shows at least `share`. It is 1 if no rising
    function fits, and the words say so.
    """
    runs = band_runs(evidence)
    band = runs.band(_LEVEL)

    def enough(alpha: float) -> bool:
        """Whether the band of this error rate shows the share, but for rounding."""
        return runs.share_within(within, alpha) >= share - 1e-12

    shown = band.share_within(within)
    words = (
        f"The {_PERCENT} band shows {100 * shown:.3g} % of the rows to be right within {within:g}; "
        f"{100 * share:.3g} % are needed."
    )
    if not band.rising:
        words = f"{words} No rising function fits. {band.assumptions}"
        return Margin(shown, runs.n, words=words)
    pvalue = smallest_alpha(enough)
    return Margin(shown, runs.n, pvalue=pvalue, words=f"{words} {band.assumptions}")


def omnibus_of(evidence: Evidence, seed: int) -> Significance | None:
    """The omnibus test of calibration; None if it refuses the sums or their weights.

    Callers take from it the evidence that labels agree with the scores better than chance allows
    (`too_good`), and whether a label contradicts a score of 0 or 1. The equivalence p-value does
    not come from it. `seed` decides the labels that the test draws.

    Sums in at least `FINE` bins of whole rows are tested as if each row had the mean score of its
    bin; with fewer bins the result is None. More than 4,096 distinct scores are first merged with
    their neighbours to save time, and one number of events is drawn for all rows of a merged score.
    That is done only if rows are independent, weights count rows and no label contradicts a score
    of 0 or 1.
    """
    evidence = evidence.with_bins_as_cells(FINE)
    with collected_warnings():  # the limits have given them
        try:
            cells = evidence.cells
            plain = evidence.is_plain
            if plain and cells.whole and not contradictions(cells):
                pooled = Tally(evidence.view, (pool_cells(cells),), evidence.classes)
                evidence = Sums.read(pooled)
            return test_of(evidence, seed=seed)
        except InputError:
            return None


def too_good_of(evidence: Evidence, test: Significance | None) -> float | None:
    """The p-value for labels that agree with the scores better than chance allows.

    `test` is the omnibus test, which has it. Without one, sums of bins give another; otherwise
    None.
    """
    if test is not None:
        return test.too_good
    if isinstance(evidence.one, Bins):
        return too_good_in_bins(evidence.one)
    return None


def smallest_alpha(keeps: Callable[[float], bool]) -> float:
    """The p-value for keeping a margin: the smallest error rate at which limits keep it.

    `keeps` says whether the limits of an error rate do. By bisection between 1e-9, which is
    returned if those limits do, and almost 1/2: beyond, the p-value is 1.
    """
    if not keeps(_LARGEST):
        return 1.0
    low = math.log(_SMALLEST)
    high = math.log(_LARGEST)
    if keeps(_SMALLEST):
        return _SMALLEST
    while high - low > _ACCURACY:
        middle = (low + high) / 2
        if keeps(math.exp(middle)):
            high = middle
        else:
            low = middle
    return math.exp(high)


def _check_options(criterion: str, bins: BinsLike | None, share: float | None) -> None:
    """Raise for an option of another criterion, and for a share that is none."""
    for name, value, taker in (("bins", bins, "ece"), ("share", share, "band")):
        if value is not None and criterion != taker:
            demand = f"is only for `criterion={taker!r}`"
            got = f"got `criterion={criterion!r}`"
            raise InputError(name, demand, got, remedy="Leave it out.")
    if share is not None and share != 1:
        checked_fraction(share, "share")
