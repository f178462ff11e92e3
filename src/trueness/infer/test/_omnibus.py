"""The omnibus test of calibration, many statistics of the same redrawn labels.

See docs/methods/omnibus-test.md.
"""

import math
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit, gammaincc, logit

from trueness._numerics.roots import bracketed_root
from trueness._numerics.streams import stream
from trueness._tally.cells import Cells, segment_sums
from trueness.infer.null._redrawn_labels import (
    contradictions,
    contradictions_in_words,
    impossible_in_words,
    impossible_outcome,
    moved_inside,
    moved_scores,
)
from trueness.infer.test._method import Entries, Options, Outcome
from trueness.infer.test._omnibus_statistics import (
    FORMS,
    MANY,
    NAMES,
    WORDS,
    Statistics,
    evidence,
    log_odds,
    log_ratio,
)
from trueness.typing import Floats, Ints

# Values that differ by less than this part of the largest are equal: the same labels in another
# order of summation.
_EQUAL = 1e-9
# Of statistics with the same p-value, the first of these is called the strongest.
_EASIEST_FIRST = ("mean", "slope", "variance", "trend", "waves", "error", "width", "cells")
SOME = 0.5
"""From this p-value on, a statistic is no evidence at all, and none is called the strongest."""
# Exponents beyond this overflow.
_LARGEST = 1300.0
# The largest number of labels that are drawn for the lower tail.
_MOST_LABELS = 5 * 10**7


class OmnibusTest(NamedTuple):
    """The result of the omnibus test."""

    pvalue: float
    alone: dict[str, float]
    """The p-value of each statistic alone, by its name; empty if labels are impossible."""
    too_good: float | None
    """The p-value for labels that agree with the scores better than chance allows; None if it is
    not known."""
    draws: int
    """Sets of labels that were drawn."""
    contradicted: int = 0
    """Rows whose label a score of exactly 0 or 1 rules out."""
    impossible: str = ""
    """These labels, in words."""
    unit: float | None = None
    """The unit of rounded scores, if scores of 0 and 1 had to be moved by half of it."""

    @property
    def strongest(self) -> str:
        """The name of the statistic with the smallest p-value of its own.

        Of several, the one that is easiest to explain.
        """
        return min(_EASIEST_FIRST, key=self.alone.__getitem__)


def omnibus(cells: Cells, options: Options) -> Outcome:
    """The omnibus test of independent rows, as a method of :func:`trueness.calibration_test`."""
    draws = options.resamples or 999
    result = omnibus_test(cells, draws, options.seed, options.entries, options.rounded_to)
    if cells.size <= MANY:
        exactly = "exact at any n"
    else:
        exactly = "exact within 0.001, near ties being drawn together"
    assumptions = (
        f"Rows are independent; the level is {exactly}: "
        f"{draws:,} sets of labels were drawn from the scores."
    )
    return omnibus_outcome(result, assumptions)


def omnibus_outcome(result: OmnibusTest, assumptions: str) -> Outcome:
    """The result of the omnibus test as an outcome, with its details in words.

    `assumptions` are the first words. The outcome has the smallest p-value of a single statistic as
    its statistic, and the p-value of all together. Its details are the number of rows whose label
    contradicts a score of 0 or 1, the p-values of the single statistics, the p-value for labels
    that agree too well, and the statistic with the strongest evidence ("" if its p-value is 0.5 or
    more).

    If labels contradict a score of exactly 0 or 1 and the scores were not rounded, there are no
    such statistics: the outcome says only that these labels are impossible.
    """
    if not result.alone:
        return impossible_outcome(result.impossible, result.contradicted)
    strongest = WORDS[result.strongest]
    smallest = min(result.alone.values())
    words = f"{assumptions}{strongest_in_words(strongest, smallest, 'alone')}"
    if result.pvalue < smallest:
        words += " The p-value, which is smaller, is a proven bound."
    if result.unit is not None:
        words = f"{impossible_in_words(result.impossible, result.unit)} {words}"
    details = {
        "contradicted": result.contradicted,
        "alone": result.alone,
        "too_good": result.too_good,
    }
    details["strongest"] = strongest if smallest < SOME else ""
    return Outcome(smallest, result.pvalue, words, 1 / (result.draws + 1), details)


def strongest_in_words(strongest: str, pvalue: float, which: str) -> str:
    """The sentence about the strongest evidence, after a space; empty from p = 0.5 on.

    `strongest` names it, and `which` says what its p-value is that of.
    """
    if pvalue < SOME:
        return f" Strongest evidence: {strongest} (p = {pvalue:.3g} {which})."
    return ""


def omnibus_test(
    cells: Cells,
    draws: int,
    seed: int,
    entries: Entries | None = None,
    rounded_to: float | None = None,
) -> OmnibusTest:
    """The omnibus test of calibration: many statistics, compared with labels drawn from the scores.

    `cells` are the sums per distinct score. `draws` sets of labels are drawn; `seed` decides which.
    `entries` is None if weights count rows; otherwise it holds the rows by score and weight, and
    their labels are drawn.

    A label that a score of exactly 0 or 1 rules out has probability zero: the p-value is 0, and the
    result has no p-values of single statistics. But if the scores are known to be rounded to
    multiples of `rounded_to`, scores of 0 and 1 are moved by up to half of it, and the test goes
    on.

    Without `entries` the result is remembered with the cells: an interval and a p-value may ask for
    the same test.
    """
    if entries is not None:
        return _test_of_labels(cells, draws, seed, entries, rounded_to)
    question = "omnibus", draws, rounded_to, seed
    if question not in cells.memory:
        cells.memory[question] = _test_of_labels(cells, draws, seed, None, rounded_to)
    return cells.memory[question]  # type: ignore[no-any-return]  # the memory holds anything


def _test_of_labels(
    cells: Cells, draws: int, seed: int, entries: Entries | None, rounded_to: float | None
) -> OmnibusTest:
    """The omnibus test, made anew: first whether the labels are possible at all.

    The arguments are the sums per distinct score, the number of sets of labels to draw, the seed,
    the rows if their weights do not count rows (`entries`), and the unit of rounded scores or None.

    Labels that contradict a score of exactly 0 or 1 give a p-value of 0 at once. If the scores were
    rounded, these scores are moved by up to half the unit and tested. The result then has no
    `too_good` (p-value for labels that agree too well), because moved scores agree with their
    labels too well.
    """
    counted = cells
    if entries is not None:
        counted = Cells(entries.z, entries.rows, entries.rows, entries.hits)
    contradicted = contradictions(counted)
    if not contradicted:
        return _test_of_possible_labels(cells, draws, seed, entries)
    words = contradictions_in_words(counted)
    if rounded_to is None:
        return OmnibusTest(0.0, {}, None, draws, contradicted, words)
    if entries is None:
        cells = moved_inside(cells, rounded_to)
    else:
        # By the share of rows, not of weights: cells must begin where their rows do.
        z = moved_scores(entries.z, entries.rows, entries.hits, rounded_to)
        entries = entries._replace(z=z)
        cells = Cells(np.unique(z), cells.count, cells.weight, cells.events)
    moved = omnibus_test(cells, draws, seed, entries)
    # Scores moved to the share of their labels agree with them too well.
    return moved._replace(
        too_good=None, contradicted=contradicted, impossible=words, unit=rounded_to
    )


def _test_of_possible_labels(
    cells: Cells, draws: int, seed: int, entries: Entries | None
) -> OmnibusTest:
    """The omnibus test, if no label contradicts a score of 0 or 1.

    P-values are ranks of the observed labels among `draws` sets of labels drawn from the scores.
    They are those of each statistic, of all together (`pvalue`), and of labels that agree with the
    scores too well (`too_good`). `entries` holds the rows if their weights do not count rows.

    If `pvalue` is the smallest possible rank, a proven bound replaces it if that is smaller (not
    with `entries`). If `too_good` is, a rank among ten times as many draws may replace it. The
    level still holds: below that rank the result is small only if the other p-value is, which is
    valid by itself.
    """
    grouped = cells
    if entries is not None:
        # The cells of weighted rows have equal numbers of rows.
        grouped = Cells(cells.score, cells.count, cells.count, np.zeros_like(cells.count))
    statistics = Statistics(grouped, entries)
    labels = stream(seed, "labels")
    values = statistics.observed_and_drawn(draws, labels)
    alone, combined = combined_pvalues(evidence(values), statistics.weights)
    pvalue = float(combined[0])
    too_good = lower_tail(values)
    if entries is None and pvalue * (draws + 1) < 1.5:
        pvalue = min(pvalue, _proven_bound(cells, statistics))
    more_draws = 10 * (draws + 1) - 1
    affordable = statistics.entries.rows.size * more_draws <= _MOST_LABELS
    if too_good * (draws + 1) < 1.5 and affordable:
        more_values = statistics.observed_and_drawn(more_draws, labels)
        too_good = min(too_good, lower_tail(more_values))
    by_name = dict(zip(NAMES, alone[:, 0].tolist(), strict=True))
    return OmnibusTest(pvalue, by_name, too_good, draws)


def _proven_bound(cells: Cells, statistics: Statistics) -> float:
    """A p-value of calibration that is proven, however small it is: see :func:`tail_bound`.

    The groups are all rows, the fine and the coarse cells of the statistics. The directions are
    those of the slope and of Spiegelhalter's test; with very many distinct scores there are none.
    """
    whole = np.zeros(1, dtype=np.int64)
    if cells.size > MANY_DIRECTIONS:  # sums over cells are enough, and entries have them
        z, rows, _, hits = statistics.entries
        fine = statistics.first[statistics.fine_at]
        coarse = statistics.first[statistics.coarse_at]
        return tail_bound(Cells(z, rows, rows, hits), (whole, fine, coarse), ())
    directions = log_odds(cells.score, statistics.centre), 1 - 2 * cells.score
    return tail_bound(cells, (whole, *statistics.partitions), directions)


def power_function(
    cells: Cells, alpha: float, *, null_draws: int = 999, seed: int
) -> Callable[..., float]:
    """The power of the omnibus test of these scores, as a function of the true probabilities.

    `cells` are the sums per distinct score. The returned function takes the true probabilities, one
    per cell, and the number of sets of labels that are drawn from them, by default 199. It gives
    the share of these sets that the test rejects at level `alpha`.

    All sets are compared with the same `null_draws` sets drawn from the scores. A power of 0.5 from
    199 sets has a standard error of 0.035.
    """
    statistics = Statistics(cells)
    rng = stream(seed, "labels")
    null = statistics.drawn(null_draws, rng)
    of_null = evidence(null, null)

    def combined(values: Floats) -> Floats:
        """All statistics of each set of labels together, from their p-values among the null."""
        pairs = zip(evidence(values, null), of_null, strict=True)
        pvalues = [ranks(statistic, among) for statistic, among in pairs]
        return combination(-np.log(pvalues), statistics.weights)

    combined_null = combined(null)

    def power(alternative: Floats, draws: int = 199) -> float:
        """The share of sets of labels, drawn from these probabilities, that are rejected."""
        drawn = statistics.drawn(draws, rng, statistics.mean_of_entries(cells, alternative))
        return float(np.mean(ranks(combined(drawn), combined_null) <= alpha))

    return power


def combined_pvalues(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The p-values of sets of labels, each ranked among all of them.

    `values` are the statistics, of shape (statistics, sets); large ones are evidence against
    calibration. The observed labels are one of the sets. First come the p-values of each statistic,
    of the same shape. Then come those of all statistics together, of shape (sets,): p-values are
    combined by the weighted sum of their inverse square roots, with these `weights`, and the sums
    are ranked.
    """
    alone = np.array([ranks(statistic) for statistic in values])
    return alone, ranks(combination(extremeness(values), weights))


def extremeness(values: Floats, among: Floats | None = None) -> Floats:
    """The negative logarithms of the p-values of statistics of shape (statistics, sets).

    Each column has the statistics of one set of labels; large ones are evidence against
    calibration. The p-value is the share of sets with a value at least as large: of all sets or,
    with `among`, of the sets there and the one at hand.

    Ranks alone would not distinguish sets that are each largest in one statistic. Hence the largest
    set has the logarithm of its value over the second largest added. With `among`, the logarithm of
    a value over the largest there is added if it is larger. Nothing is added if that other value is
    not positive.
    """
    if among is not None:
        pairs = zip(values, among, strict=True)
        logs = -np.log([ranks(statistic, null) for statistic, null in pairs])
        largest = among.max(axis=1, keepdims=True)
        leads = np.maximum(values, largest) / np.where(largest > 0, largest, 1)
        return logs + np.log(np.where(largest > 0, leads, 1))
    logs = -np.log([ranks(statistic) for statistic in values])
    second, largest = np.sort(values, axis=1)[:, -2:].T
    # There is no lead over a value that is not positive.
    has_lead = second > 0
    lead = np.log(np.where(has_lead, largest, 1)) - np.log(np.where(has_lead, second, 1))
    leader = values.argmax(axis=1)
    logs[np.arange(lead.size), leader] += lead
    return logs


def lower_tail(values: Floats) -> float:
    """The p-value of the first set of labels for agreeing with the scores too well.

    `values` are the statistics of sets of labels, one set per column; the first is the observed
    one. Small statistics are evidence here. Each is ranked among all sets, the p-values of a set
    are multiplied, and the product is ranked among those of all sets.
    """
    pvalues = [ranks(-statistic) for statistic in sizes(values)]
    return float(ranks(-np.log(pvalues).sum(axis=0))[0])


def sizes(values: Floats) -> Floats:
    """The statistics that are small if labels agree well with the scores, in rows.

    From values of sets of labels in columns. The debiased errors are not among them: they are
    lowest where large residuals of both signs cancel.
    """
    forms = values[FORMS:-1]
    mean_and_slope = np.abs(forms[:2])
    return np.vstack([values[2:FORMS], mean_and_slope, (forms**2).sum(axis=0)])


def combination(logs: Floats, weights: Floats) -> Floats:
    """The weighted sum of the inverse square roots of p-values, one for each set of labels.

    `logs` are the negative logarithms of the p-values, of shape (statistics, sets).
    """
    return weights @ np.exp(np.minimum(logs, _LARGEST) / 2)


def ranks(values: Floats, among: Floats | None = None) -> Floats:
    """The p-value of each value: the share of all values that are at least as large.

    With `among`, each value is ranked among these and itself. Values that differ by rounding are
    equal: by less than a tiny share of the largest finite value in size.
    """
    ordered = np.sort(values if among is None else among)
    finite = ordered[np.isfinite(ordered)]
    slack = 0.0
    if finite.size:
        slack = _EQUAL * max(abs(finite[0]), abs(finite[-1]))
    itself = 0 if among is None else 1
    at_least = ordered.size - np.searchsorted(ordered, values - slack, side="left")
    return (at_least + itself) / (ordered.size + itself)


MANY_DIRECTIONS = 10**5
"""With more distinct scores than this, directions would take longer than they are worth."""


def tail_bound(cells: Cells, partitions: Sequence[Ints], directions: Sequence[Floats]) -> float:
    r"""A p-value of calibration for independent rows, proven for every n.

    `partitions` are first cells of groups, one of them being the whole, and `directions` one number
    per distinct score. Neither may depend on the labels.

    **Cells.** For the O events of N labels with mean probability p, :math:`P(D \ge x) \le e^{-x}`
    on each side of Np (Chernoff), with :math:`D = O \log \frac{O}{Np} + (N - O) \log \frac{N -
    O}{N(1 - p)}`. Both sides together, D is stochastically at most log 2 + E, E exponential: the
    sum over B cells is at most B log 2 plus a Gamma(B) number, and the largest exceeds x with
    probability at most :math:`2 B e^{-x}`.

    **Directions.** For :math:`S = \sum a_i (y_i - p_i)`, every t > 0 gives
    :math:`P(S \ge s) \le \exp(\sum \log(1 - p_i + p_i e^{t a_i}) - t \sum a_i p_i - t s)`.

    All bounds are combined by Bonferroni's inequality.
    """
    bounds = [bound for first in partitions for bound in _bounds_of_cells(cells, first)]
    bounds += [_bound_of_direction(cells, a) for a in directions]
    # Smaller bounds become the smallest positive number: the labels are not impossible.
    return min(1.0, max(len(bounds) * min(bounds), sys.float_info.min))


def _bounds_of_cells(cells: Cells, first: Ints) -> list[float]:
    """Bounds on the p-value of calibration from groups of neighbouring scores.

    `cells` are the sums per distinct score and `first` is the first cell of each of the B groups.
    The divergence D of a group is O log(O / E) + (N − O) log((N − O) / (N − E)), with O of its N
    labels events and E expected. One bound is from the sum of the divergences: the probability that
    a Gamma(B) number reaches this sum less B log 2. If there are several groups, another bound is 2
    B exp(−D) for the largest D. For the proof see "Cells" of :func:`tail_bound`.
    """
    p = cells.score
    n = cells.weight.astype(np.float64)
    hits = cells.events.astype(np.float64)
    events, non_events, expected, expected_non_events = (
        np.asarray(segment_sums(part, first), dtype=np.float64)
        for part in (hits, n - hits, n * p, n * (1 - p))
    )
    divergence = log_ratio(events, expected) + log_ratio(non_events, expected_non_events)
    size = first.size
    whole = float(gammaincc(size, max(0.0, float(divergence.sum()) - size * math.log(2))))
    if size == 1:
        return [whole]
    return [whole, 2 * size * math.exp(-float(divergence.max()))]


def _bound_of_direction(cells: Cells, a: Floats) -> float:
    """A two-sided bound on the p-value of S = Σ a(y − p) over rows of scores p and labels y.

    `a` has one number per cell. The bound is 2 exp(Σ log(1 − p + p e^(ta)) − t Σ ap − t|S|) for a
    good t, with the sign of `a` such that S is positive; see "Directions" of :func:`tail_bound`. It
    is 1 if S is 0, or can be nothing else.
    """
    p = cells.score
    n = cells.weight
    inside = (p > 0) & (p < 1) & (a != 0)
    p = p[inside]
    n = n[inside]
    a = a[inside]
    total = float(((cells.events[inside] - n * p) * a).sum())
    variance = float((n * p * (1 - p) * a * a).sum())
    if total == 0 or variance == 0:
        return 1.0
    a = a * math.copysign(1, total)
    total = abs(total)
    t = _best_t(p, n, a, total, variance)
    ta = t * a
    # For large u, log(1 − p + p e^u) = u + log(p + (1 − p) e^−u).
    q = np.where(ta > 0, p, 1 - p)
    size = np.abs(ta)
    logs = np.where(ta > 0, ta, 0.0) + np.log(q + (1 - q) * np.exp(-size))
    exponent = float((n * (logs - ta * p)).sum()) - t * total
    return math.exp(min(0.0, math.log(2) + exponent))


def _best_t(p: Floats, n: Ints, a: Floats, total: float, variance: float) -> float:
    """The t of about the smallest bound on the probability that Σ a(y − p) is `total` or more.

    The bound is exp(Σ log(1 − p + p e^(ta)) − t Σ ap − t · total), for any t > 0. `p` are scores,
    each of `n` labels y, `a` their coefficients, and `variance` is that of the sum. `total` is
    positive.

    The best t is the root of the derivative of the exponent, found on a logarithmic scale. Because
    any t gives a bound, an end of the search is returned if the best t lies outside.
    """
    x = logit(p)

    def shortfall(log_t: float) -> float:
        """The derivative of the bound's exponent by t, which increases.

        Σ a(y − p) as expected under tilted scores, less the observed sum.
        """
        return float((n * a * (expit(x + math.exp(log_t) * a) - p)).sum()) - total

    # The best t is near s / V for small deviations, and t a has the size of a log-odds for large
    # ones.
    largest = float(np.abs(a).max())
    high = math.log(1e3 / largest)
    low = min(math.log(total) - math.log(variance), math.log(1e-2 / largest)) - 1
    if shortfall(high) <= 0:
        return math.exp(high)
    if shortfall(low) >= 0:
        return math.exp(low)
    return math.exp(bracketed_root(shortfall, low, high, xtol=1e-6))
