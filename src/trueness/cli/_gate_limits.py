"""What a gate can judge: each quantity with its one-sided confidence limits, and what they show."""

import math
import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import trueness as tn
from trueness._input.arguments import generator
from trueness._tally.cells import Cells
from trueness._tally.evidence import Evidence
from trueness._tally.multiclass import binary_of_two_columns, two_columns_in_words
from trueness._tally.rows_or_sums import sample_and_kind
from trueness._tally.rules import BinRule
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally
from trueness._text.bins import rule_in_words
from trueness._text.numbers import count, number, p_value
from trueness.errors import InputError
from trueness.infer._clustered_rows import clustered_rows
from trueness.infer.limits._ece import ece_limits_of
from trueness.infer.limits._observed_expected import observed_expected_interval
from trueness.infer.test._equivalence import TOO_GOOD, cells_at_their_mean, margin, omnibus_of, too_good_of

Quantity: TypeAlias = Literal["ece", "l2", "oe"]
_HIGHEST = 0.9999
"""The highest level of a confidence set of the l2 error."""
_FEW_ROWS = 20
_GROSS_FACTOR, _GROSS_ERROR = 2.0, 0.25
"""Limits that allow the bound times this, and an error of at least this, show nothing."""


class Limits(NamedTuple):
    """A quantity, and limits that hold with the level of the gate, each on its own."""

    estimate: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Data:
    """Labels and scores of one model as the library takes them, or sums in place of the labels."""

    y_true: Any
    y_prob: Any = None
    options: Any = field(default_factory=dict)
    """The options that describe rows."""
    cluster: Any = None
    importance: bool = False
    seed: int = 0

    @property
    def top(self) -> bool:
        """Whether several classes are judged by their largest score."""
        sums = isinstance(self.y_true, Tally | Sketch | Binned)
        return bool(self.y_true.kind == "confidence" if sums else self.y_prob.ndim == 2)

    def as_binary(self) -> "tuple[Data, str]":
        """Two columns of scores as the binary problem of the second, and a sentence about it; others unchanged."""
        if self.y_prob is None or self.y_prob.ndim != 2 or self.y_prob.shape[1] != 2:
            return self, ""
        sample, _ = sample_and_kind(self.y_true, self.y_prob, self.options)
        second = binary_of_two_columns(sample)
        cluster = self.cluster if sample.rows is None or self.cluster is None else self.cluster[sample.rows]
        options = {} if second.w is None else {"sample_weight": second.w}
        data = replace(self, y_true=second.y, y_prob=second.p, options=options, cluster=cluster)
        return data, two_columns_in_words(sample.classes or ())

    @property
    def _all(self) -> dict[str, Any]:
        """Options of the functions that take clusters and importance weights."""
        weights = {"weight_type": "importance"} if self.importance else {}
        return {**self.options, **weights, "cluster": self.cluster, "seed": self.seed}

    def ece(self, rule: BinRule, level: float) -> Limits:
        """The ECE in given bins."""
        sums = self.y_true
        if isinstance(sums, Binned) and rule.fixed_edges is None:
            raise InputError("bins", "must be edges that the sums have", f"got {rule!r}")
        found = ece_limits_of(self.evidence, bins=rule, level=level, rng=generator(self.seed))
        return Limits(found.estimate, found.low, found.high, found.n)

    def l2(self, level: float) -> Limits | None:
        """The l2 error; None for sums of few bins. Zero is decided by the test at the level itself, not at twice it."""
        sums = self.y_true
        if isinstance(sums, Binned):
            sums = cells_at_their_mean(sums)
            if sums is None:
                return None
        interval: Any = tn.ece_interval
        two_sided = 2 * level - 1
        if two_sided > _HIGHEST:
            # Too many groups for random draws. The ECE of any bins is at most the l2 error, so its lower limit holds.
            both = interval(sums, self.y_prob, **self._all)
            low = ece_limits_of(self.evidence, level=level, rng=generator(self.seed)).low
            return Limits(both.estimate, low, 1.0, both.n)
        both = interval(sums, self.y_prob, level=two_sided, **self._all)
        low, high = both.hull
        if low > 0 and interval(sums, self.y_prob, level=level, **self._all).includes_zero:
            low = 0.0
        return Limits(both.estimate, low, high, both.n)

    def observed_expected(self, level: float) -> Limits:
        """Observed divided by expected events."""
        clustered = None
        sums = self.y_true
        if self.cluster is not None:
            clustered = clustered_rows(sums, self.y_prob, self.cluster, self.options, importance=self.importance)
        if not isinstance(sums, Tally | Sketch | Binned):
            kind: Any = {"kind": "confidence"} if self.top else {}
            sums = tn.tally(sums, self.y_prob, **kind, **self.options)
        part = (sums.as_tally() if isinstance(sums, Sketch) else sums).parts[0]
        found = observed_expected_interval(part, level, clustered)
        whole = part.exact if isinstance(part, Cells) else part.whole
        return Limits(found.value, found.low, found.high, int(sums.weight) if whole else sums.n)

    @cached_property
    def evidence(self) -> Evidence:
        """The rows, read once."""
        weights: Literal["importance", "frequency"] = "importance" if self.importance else "frequency"
        return Evidence.of(
            self.y_true, self.y_prob, self.options, kind="confidence", cluster=self.cluster, weight_type=weights
        )

    @cached_property
    def significance(self) -> "tn.Significance | None":
        """The omnibus test; None if the sums are too coarse, or weights rule it out."""
        return omnibus_of(self.evidence, generator(self.seed))

    @property
    def too_good(self) -> float | None:
        """The p-value for labels that agree with the scores better than chance allows; None if there is none."""
        return too_good_of(self.evidence, self.significance)


@dataclass(frozen=True)
class Criterion:
    """A quantity and how far it may go."""

    quantity: Quantity
    bound: float
    rule: BinRule | None = None
    """The bins of the ECE."""

    @property
    def name(self) -> str:
        """The quantity in a table."""
        return {"ece": "ECE", "l2": "l2 error", "oe": "O/E"}[self.quantity]

    @property
    def words(self) -> str:
        """The quantity in full."""
        if self.quantity == "ece":
            return f"ECE in {rule_in_words(self.rule)}"
        return {"l2": "l2 calibration error", "oe": "observed/expected"}[self.quantity]

    @property
    def demand(self) -> str:
        """The bound."""
        return f"within 1 ± {self.bound:g}" if self.quantity == "oe" else f"≤ {self.bound:g}"

    @property
    def ends(self) -> tuple[float, float]:
        """Smallest and largest value allowed."""
        return (1 - self.bound, 1 + self.bound) if self.quantity == "oe" else (-math.inf, self.bound)

    def undecided(self, limits: Limits) -> bool:
        """Whether the data could hardly have shown a gross violation: limits neither keep the bound nor exclude one."""
        least, most = self.ends
        if least <= limits.low and limits.high <= most:
            return False
        if limits.n < _FEW_ROWS:
            return True
        if self.quantity == "oe":
            return limits.low < least / _GROSS_FACTOR or limits.high > most * _GROSS_FACTOR
        return limits.high > max(most * _GROSS_FACTOR, _GROSS_ERROR)

    def limits(self, data: Data, level: float, *, require: bool) -> Limits | None:
        """The limits that the gate compares with the bound; None if the sums do not give them."""
        if self.quantity == "ece":
            assert self.rule is not None
            return data.ece(self.rule, level)
        if self.quantity == "l2":
            return data.l2(level)
        # To certify a range takes one test on each side, both at the full level; to leave it on either side, half each.
        return data.observed_expected(2 * level - 1 if require else level)

    def pvalue(self, data: Data) -> float:
        """The p-value of the equivalence test: of an error as large as the bound, or larger."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tn.TruenessWarning)  # the limits have given them
            return margin(data.evidence, self.quantity, self.bound, 10 if self.rule is None else self.rule).pvalue


class Verdict(NamedTuple):
    """What follows for one criterion."""

    code: Literal["certified", "not certified", "exceeded", "not exceeded", "too good", "unknown"]
    reason: str
    pvalue: float | None = None
    """That of the equivalence test, if one was made."""

    @property
    def passed(self) -> bool:
        return self.code in ("certified", "not exceeded")


def judge(
    criterion: Criterion, limits: Limits | None, data: Data, level: float, *, require: bool, alone: float
) -> Verdict:
    """Compare limits with the bound.

    To certify, the whole interval must keep the bound, and labels must not agree with the scores too well: this is
    :func:`trueness.equivalence_test`, whose p-value is then at most 1 − level. Otherwise
    the quantity passes unless the whole interval lies beyond the bound, or limits of the level `alone`, that of a
    single quantity, show that a gross violation could have been missed.
    """
    if limits is None:
        return Verdict("unknown", "cannot be determined from sums of bins")
    least, most = criterion.ends
    beyond = limits.low > most or limits.high < least
    if not (require or beyond) and criterion.undecided(limits):
        own = limits if level == alone else criterion.limits(data, alone, require=False)
    else:
        own = None
    if own is not None and criterion.undecided(own):
        reason = _comparison(criterion, own, alone, lower=False)
        return Verdict("unknown", f"cannot be determined from {count(own.n, 'row')}: {reason}")
    if not require:
        return Verdict("exceeded" if beyond else "not exceeded", _comparison(criterion, limits, level, lower=True))
    pvalue = criterion.pvalue(data)
    if not (least <= limits.low and limits.high <= most):
        why = _comparison(criterion, limits, level, lower=beyond)
        return Verdict("not certified", f"not shown to keep it, {p_value(pvalue)} ({why})", pvalue)
    too_good = data.too_good
    if too_good is not None and too_good <= TOO_GOOD:
        return Verdict("too good", f"too good to be true for new rows: {p_value(too_good)} (lower tail)", 1.0)
    why = _comparison(criterion, limits, level, lower=False)
    return Verdict("certified", f"shown to keep it, {p_value(pvalue)} ({why}){_impossible(data)}", pvalue)


def _impossible(data: Data) -> str:
    """A remark on labels that contradict certain scores: an error may be small and yet the certainty wrong."""
    test = data.significance
    number = 0 if test is None else test.contradicted
    if test is None or number == 0:
        return ""
    if test.alone:  # rounding may have made the scores 0 and 1
        return f", although {count(number, 'label')} contradict{'s' * (number == 1)} a score of exactly 0 or 1"
    which = "label is" if number == 1 else "labels are"
    return f", although {number:,} {which} impossible under a score of exactly 0 or 1"


def _comparison(criterion: Criterion, limits: Limits, level: float, *, lower: bool) -> str:
    """The limits beside the bound, in words."""
    percent = f"{100 * level:.4g} %"
    if criterion.quantity == "oe":
        low, high = (f"{end:.3g}" for end in criterion.ends)
        return f"{percent} limits {limits.low:.3f} to {limits.high:.3f}, allowed {low} to {high}"
    limit, side = (limits.low, "lower") if lower else (limits.high, "upper")
    sign = ">" if limit > criterion.bound else "≤"
    return f"{side} {percent} limit {number(limit)} {sign} {criterion.bound:g}"
