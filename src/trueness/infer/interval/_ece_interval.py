"""Confidence sets for the l2 calibration error: one function, a table of methods."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, Literal, NamedTuple, TypeAlias

from trueness._input.arguments import checked_resamples, checked_word
from trueness._level import Level, check_drawn_level, checked_level
from trueness._numerics.pairs import PairSums, Support, pair_sums
from trueness._numerics.streams import stream
from trueness._tally.binned_scores import (
    BinnedScores,
    bins_in_words,
    cells_per_axis,
    checked_k,
    checked_smoothness,
    default_cells,
    of_cells,
    of_matrix,
)
from trueness._tally.bins import Bins
from trueness._tally.evidence import Evidence
from trueness._tally.rules import BinRule, BinsLike, BySize, EqualWidth, as_rule, blind_to_labels
from trueness._tally.tally import Binned, Tally
from trueness.errors import FewRowsWarning, InputError, warn
from trueness.infer.interval import _resampling as resampling
from trueness.infer.interval._analytic import (
    Region,
    analytic_region,
    equal_width,
    sums_of_bins,
    zero_threshold,
)
from trueness.infer.interval._residuals import check_pairs
from trueness.infer.interval._score_interval import (
    ScoreSet,
    default_clustered_set,
    default_score_set,
    given_clustered_set,
    given_score_set,
)
from trueness.results import Interval

Method: TypeAlias = Literal[
    "score",
    "analytic",
    "bootstrap",
    "basic-bootstrap",
    "centred-bootstrap",
    "subsampling",
    "politis-romano",
    "subsampling-published",
    "hulc",
    "adaptive-hulc",
]

BOOTSTRAPS: Final[dict[str, Callable[..., tuple[float, float]]]] = {
    "bootstrap": partial(resampling.bootstrap, resampling.percentile_interval),
    "basic-bootstrap": partial(resampling.bootstrap, resampling.basic_interval),
    "centred-bootstrap": partial(resampling.bootstrap, resampling.centred_interval),
}
"""Methods that need only the sums of bins."""
RESAMPLING: Final[dict[str, Callable[..., tuple[float, float]]]] = BOOTSTRAPS | {
    "subsampling": resampling.subsampling,
    "politis-romano": resampling.subsampling,
    "subsampling-published": resampling.published_subsampling,
    "hulc": resampling.hulc,
    "adaptive-hulc": resampling.adaptive_hulc,
}

_RESAMPLES = 500
# Up to this number the bootstrap draws rows; beyond, the sums of bins.
_FEW = 2_000


def interval_of(
    evidence: Evidence,
    *,
    k: int | None = None,
    bins: BinsLike | None = None,
    level: float = 0.95,
    method: Method = "score",
    squared: bool = False,
    smoothness: float | None = None,
    resamples: int | None = None,
    support: Support = "published",
    draws: int | None = None,
    seed: int,
) -> Interval:
    """The interval of rows or sums that have been read, as :func:`trueness.ece_interval`.

    `draws` is the number of sets of labels by which 'score' decides about zero; by default it
    follows from the level.
    """
    question = checked_question(k, bins, level, method, smoothness, resamples, support)
    return _interval(evidence, question._replace(draws=draws), squared, seed)


def _interval(evidence: Evidence, question: "_Question", squared: bool, seed: int) -> Interval:
    """The interval of rows or sums by the method of the question, after these are checked.

    Rows in clusters and importance weights are taken by 'score' alone, for one score per row, and
    not as sums. With `squared` it is that of the squared error.
    """
    argument = evidence.units.argument
    if not argument and evidence.importance:
        argument = "weight_type='importance'"
    if evidence.weight_type == "importance" and not evidence.has_rows:
        got = f"a {type(evidence.given).__name__} holds only sums of rows"
        raise InputError("weight_type='importance'", "needs labels and scores", got)
    if argument and question.method != "score":
        if not evidence.units.argument and evidence.weight_type == "auto":
            demand = f"must be whole numbers for `method={question.method!r}`"
            remedy = "Importance weights are taken by `method='score'`."
            raise InputError("sample_weight", demand, remedy=remedy)
        got = f"{question.method!r} needs rows that are independent and of equal weight"
        raise InputError(argument, "is only accepted by `method='score'`", got)
    if argument and question.k > 1:
        raise InputError(
            argument, "is taken for one score per row", f"`k` must be 1; got {question.k}"
        )
    if question.k == 1:
        evidence.require_one("the interval of a matrix, or `k` more than 1")
    score_set = _METHODS[question.method](evidence, question, seed)
    region = score_set.region
    # The squared distance of a rate from a score is at most 1; that of several scores of a row, at
    # most 2.
    largest = 1.0 if question.k == 1 else 2.0
    interval = Interval(
        estimate=score_set.estimate,
        low=min(region.low, largest),
        high=min(region.high, largest),
        level=question.level,
        method=question.method,
        n=score_set.n,
        low_closed=region.low_closed,
        includes_zero=region.includes_zero,
        bins=score_set.bins,
        squared=True,
        finer=score_set.finer,
        note=" ".join(filter(None, [score_set.note, evidence.note])),
    )
    if squared:
        return interval
    return interval.root()


class _Question(NamedTuple):
    """The checked options; None where the default applies."""

    k: int
    bins: BinsLike | None
    level: float
    method: str
    smoothness: float
    resamples: int
    support: Support
    draws: int | None = None

    @property
    def alpha(self) -> float:
        return Level(self.level).alpha

    @property
    def per_axis(self) -> int | None:
        """Cells per axis for several scores per row."""
        if self.bins is None:
            return None
        return cells_per_axis(self.bins)

    def rule(self) -> BinRule | None:
        """The bin rule, which must not depend on the labels; None for the default."""
        if self.bins is None:
            return None
        return blind_to_labels(as_rule(self.bins))

    def default_width(self) -> BySize:
        """The default bins of one score per row, for methods other than 'score'."""
        return BySize(lambda n: EqualWidth(default_cells(n, 1, None, self.smoothness)))


def checked_question(
    k: int | None,
    bins: BinsLike | None,
    level: float,
    method: Method,
    smoothness: float | None,
    resamples: int | None,
    support: Support,
) -> _Question:
    """The options, checked, with defaults where none depends on the rows.

    The arguments are those of :func:`trueness.ece_interval`: the number of largest scores `k`, the
    bins, the level, the method, the smoothness that sets the bins, the number of resamples, and
    which scores are possible (`support`). An option that the method does not use is an InputError.
    The number of resamples is 500 by default.
    """
    k = checked_k(k)
    level = checked_level(level)
    checked_word(method, "method", tuple(_METHODS))
    if method == "score":
        check_drawn_level(level, "`method='score'`")
    checked_word(support, "support", ("published", "reachable"))
    if support != "published" and method != "analytic":
        demand = "is only for `method='analytic'`"
        raise InputError(
            "support", demand, f"{method!r} does not assume a distribution of the scores"
        )
    if smoothness is not None and method == "score" and k == 1:
        demand = "is not for `method='score'` with k = 1, whose cells are cut by mass as well"
        raise InputError("smoothness", demand, remedy="Leave it out, or use `method='analytic'`.")
    if resamples is not None and (method not in RESAMPLING or method == "hulc"):
        demand = "is only for the bootstraps, subsamplings and 'adaptive-hulc'"
        raise InputError("resamples", demand, f"{method!r} takes none")
    smoothness = checked_smoothness(smoothness, bins)
    draws = _RESAMPLES if resamples is None else resamples
    return _Question(k, bins, level, method, smoothness, checked_resamples(draws), support)


def _top_k_scores(evidence: Evidence, question: _Question) -> BinnedScores:
    """The cells of several scores per row."""
    if not evidence.has_one_score:
        raise InputError(
            "kind", "must be 'confidence' here, or be left out", f"got {evidence.view!r}"
        )
    return of_matrix(evidence.matrix, question.k, question.per_axis, question.smoothness)


def _score(evidence: Evidence, question: _Question, seed: int) -> ScoreSet:
    """The score set in default or in given bins, of rows with one score or several.

    It is a confidence set for the squared error. Rows in clusters or with importance weights take
    the form for clusters. Without bins in the question, default cells are used; several scores per
    row have cells of their own. Fewer than two rows are refused, since there is no pair.
    """
    if question.k > 1:
        return _given_cells(_top_k_scores(evidence, question), question, seed)
    rule = question.rule()
    if not evidence.is_plain:
        rows = evidence.clustered_for(rule)
        if rule is None:
            return default_clustered_set(rows, question.alpha, seed, question.draws)
        return given_clustered_set(rows, rule, question.alpha, seed, question.draws)
    tally = evidence.tally_in(rule)
    if rule is not None:
        return _given_cells(of_cells(tally.parts[0], rule, _classes(tally)), question, seed)
    if tally.weight < 2 and tally.parts[0].whole:
        check_pairs(1, 1, "two rows")
    return default_score_set(tally.parts[0], question.alpha, seed, question.draws)


def _given_cells(scores: BinnedScores, question: _Question, seed: int) -> ScoreSet:
    """The score set in given bins of independent rows; bins without any pair are refused."""
    return given_score_set(scores, _pair_sums(scores), question.alpha, seed)


# One form for all methods: this one draws nothing.
def _analytic(evidence: Evidence, question: _Question, seed: int) -> ScoreSet:  # noqa: ARG001
    """The published confidence set for the squared error, in cells of equal width.

    It is that of Sun, Chaudhari, Barnett and Dobriban (2025), by normal limits. If no cell holds
    two rows, there is a warning and a note, and the estimate is 0. The default width depends on the
    number of rows. `seed` is not used.
    """
    if question.k > 1:
        scores = _top_k_scores(evidence, question)
        sums = pair_sums(scores.z, scores.count, scores.hits, scores.first)
        bins = scores.bins
        classes = scores.classes
        cells = question.per_axis or default_cells(
            sums.total, question.k, classes, question.smoothness
        )
    else:
        if question.bins is None:
            rule: BySize | EqualWidth = question.default_width()
        else:
            rule = equal_width(as_rule(question.bins))
        binned = evidence.binned(rule)
        sums = sums_of_bins(binned.parts[0])
        classes = _classes(binned)
        cells = binned.parts[0].size
        bins = bins_in_words(EqualWidth(cells), sums.n.size)
    note = ""
    if (sums.n == 1).all():
        note = "No bin holds two rows, so the estimate is 0 whatever the labels."
        warn(f"{note} Use fewer `bins`.", FewRowsWarning)
    else:
        _require_pairs(sums)
    threshold = zero_threshold(
        sums.total, question.alpha, cells, classes, question.k, question.support
    )
    region = analytic_region(sums.statistic, sums.variance, sums.total, threshold, question.alpha)
    return ScoreSet(sums.statistic, region, int(sums.total), bins, note=note)


def _resampling(evidence: Evidence, question: _Question, seed: int) -> ScoreSet:
    """The set by one of the methods that resample rows.

    The bootstraps of more than 2,000 rows, and those of binned sums, draw sums of bins in place of
    rows.
    """
    if question.k > 1:
        scores = _top_k_scores(evidence, question)
    else:
        rule = evidence.rule(question.rule() or question.default_width())
        has_bins = evidence.weight > _FEW or evidence.is_binned
        if has_bins and question.method in BOOTSTRAPS:
            (part,) = evidence.binned(rule).parts
            sums = sums_of_bins(part)
            _require_pairs(sums)
            region = _resampled_region(part, question, seed)
            bins = bins_in_words(rule, sums.n.size)
            return ScoreSet(sums.statistic, region, int(sums.total), bins)
        tally = evidence.tally_in(rule)
        scores = of_cells(tally.parts[0], rule, _classes(tally))
    pairs = _pair_sums(scores)
    region = _resampled_region(resampling.RowKinds(scores), question, seed)
    return ScoreSet(pairs.statistic, region, int(pairs.total), scores.bins)


def _resampled_region(sums: resampling.RowKinds | Bins, question: _Question, seed: int) -> Region:
    """The interval of the method; an error is not negative, so values below zero are cut off."""
    method = RESAMPLING[question.method]
    low, high = method(
        sums, level=question.level, resamples=question.resamples, rng=stream(seed, "resample")
    )
    return Region(max(0.0, low), max(0.0, high), True, low <= 0)


_METHODS: Final[Mapping[str, Callable[[Evidence, _Question, int], ScoreSet]]] = {
    "score": _score,
    "analytic": _analytic,
    **dict.fromkeys(RESAMPLING, _resampling),
}


def _classes(sums: Tally | Binned) -> int | None:
    """The number of classes of sums of several scores per row; None for one score."""
    if sums.classes is None:
        return None
    return len(sums.classes)


def _pair_sums(scores: BinnedScores) -> PairSums:
    """The sums over pairs of rows that share a bin; bins without any pair are refused."""
    sums = pair_sums(scores.z, scores.count, scores.hits, scores.first)
    _require_pairs(sums)
    return sums


def _require_pairs(sums: PairSums) -> None:
    """Refuse sums without any pair of rows in a bin; warn if most rows are alone."""
    check_pairs(int((sums.n == 1).sum()), int(sums.total), "two rows", "alone in their bin")
