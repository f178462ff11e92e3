"""The tables of a report: what stands in each cell, for every form in which it is shown."""

import math
from typing import NamedTuple

import numpy as np

from trueness._report.records import Blocks, ClassRow, Contents, Model, Remedies, Remedy, Segments, Summary, TopK
from trueness._report.words import counted, number, p_value, percent, shortened, signed
from trueness.results import Comparison, Interval, NoiseFloor

__all__ = [
    "Cell",
    "Table",
    "bin_name",
    "bins_table",
    "blocks_table",
    "classes_table",
    "comparison_table",
    "guarantee_sentence",
    "interval_text",
    "models_table",
    "remedies_sentence",
    "remedies_table",
    "segments_table",
    "summary_table",
    "top_k_table",
]


class Cell(NamedTuple):
    """The text of a cell, what it is sorted by, and whether it deserves notice."""

    text: str
    sort: float | str = ""
    flag: bool = False
    good: bool = False

    @property
    def is_number(self) -> bool:
        """Whether it lines up on the right."""
        return not isinstance(self.sort, str)


class Table(NamedTuple):
    """A head, and rows of as many cells."""

    name: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""


def _name(text: str) -> Cell:
    return Cell(text, text)


def _number(value: float | None, digits: int = 4, text: str | None = None) -> Cell:
    return Cell(number(value, digits) if text is None else text, math.nan if value is None else float(value))


def _gap(value: float) -> Cell:
    return Cell(signed(value), math.nan if math.isnan(value) else value)


def _count(n: int) -> Cell:
    return Cell(f"{n:,}", float(n))


def _p(value: float | None) -> Cell:
    text = p_value(value)
    return Cell(text.removeprefix("p = ").removeprefix("p "), math.nan if value is None else value)


def _flag(flagged: bool, word: str) -> Cell:
    return Cell(word if flagged else "", word if flagged else "", flagged)


def _share(value: float) -> Cell:
    return Cell(percent(value), value)


def interval_text(found: Interval | None) -> str:
    """The set itself."""
    if found is None:
        return "–"
    if found.high == 0:
        return "{0}"
    low = number(found.low) if found.low else "0"
    part = f"{'[' if found.low_closed else '('}{low}, {number(found.high)}]"
    return part if found.is_interval else f"{{0}} ∪ {part}"


def _floor_text(found: NoiseFloor | None, scale: float = 1, digits: int = 4) -> str:
    if found is None:
        return "–"
    ends = f"{number(found.low * scale, digits)} to {number(found.high * scale, digits)}"
    return f"calibrated: {number(found.mean * scale, digits)} ({percent(found.level)} within {ends})"


def summary_table(model: Model, multiclass: bool) -> Table:
    """One line per measure: its value, what to hold it against, what it means."""
    s = model.summary
    rows = [
        *_row_lines(s, multiclass),
        ("ECE", number(s.ece), _floor_text(s.noise_floor), "mean gap between score and rate"),
        ("l2 calibration error", *_set(s.ece_interval), "root mean squared gap, debiased"),
        ("Test of calibration", *_test(s), "could the labels have come from the scores?"),
        ("TCE", _percentage(s.tce), _tce_floor(s), "rows whose score a test refutes"),
        ("ACE", number(s.ace), "", "mean gap in bins of equal mass"),
        ("MCE", number(s.mce), "", "largest gap of a bin"),
        ("Smooth ECE", number(s.smooth_ece), "", "mean gap, smoothed, no bins"),
        ("Brier score", number(s.brier), "= miscalibration − discrimination + uncertainty", "mean squared error"),
        ("– miscalibration (MCB)", number(s.miscalibration), "0", "what recalibration would gain"),
        ("– discrimination (DSC)", number(s.discrimination), "", "gain over the base rate"),
        ("– uncertainty (UNC)", number(s.uncertainty), "", "Brier score of the base rate"),
        ("Log loss", number(s.log_loss), _infinite(s.log_loss), "mean surprise, in nats"),
        ("Slope", number(s.slope, 3), "1", "below 1: too extreme; above: too timid"),
        ("Intercept", number(s.intercept, 3), "0", "above 0: too low on average"),
        ("Observed/expected", number(s.observed_expected, 3), "1", "below 1: too high on average"),
        *_class_lines(s),
    ]
    head = ("Measure", "Value", "To hold it against", "Meaning")
    return Table("summary", head, tuple(_line(row) for row in rows))


def _line(row: tuple[str, str, str, str]) -> tuple[Cell, ...]:
    measure, value, against, meaning = row
    return (_name(measure), Cell(value, math.nan), _name(against), _name(meaning))


def _row_lines(s: Summary, multiclass: bool) -> list[tuple[str, str, str, str]]:
    what = ("Accuracy", "share of top labels that came") if multiclass else ("Prevalence", "share of events")
    mean = "Mean confidence" if multiclass else "Mean score"
    return [
        ("Rows", f"{s.n:,}", "", ""),
        (what[0], number(s.rate), "", what[1]),
        (mean, number(s.mean_score), number(s.rate), f"{what[0].lower()}, if right on average"),
    ]


def _class_lines(s: Summary) -> list[tuple[str, str, str, str]]:
    if s.classwise_ece is None:
        return []
    return [
        ("Class-wise ECE", number(s.classwise_ece), "", "mean over classes against the rest"),
        ("Brier score, all classes", number(s.multiclass_brier), "", "squared errors of all classes"),
        (
            "Log loss, all classes",
            number(s.multiclass_log_loss),
            _infinite(s.multiclass_log_loss),
            "mean surprise, in nats",
        ),
    ]


def _set(found: Interval | None) -> tuple[str, str]:
    if found is None:
        return "–", "–"
    return number(found.estimate), f"{percent(found.level)} confidence set {interval_text(found)}"


def _test(s: Summary) -> tuple[str, str]:
    return ("–", "–") if s.test is None else (p_value(s.test.pvalue), f"{s.test.method} test")


def _infinite(loss: float | None) -> str:
    return "some row got probability 0 for what happened" if loss == math.inf else ""


def _percentage(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.1f} %"


def _tce_floor(s: Summary) -> str:
    if s.tce_floor is None:
        return "–"
    low, high = s.tce_floor.low, s.tce_floor.high
    return f"calibrated: {s.tce_floor.mean:.1f} % ({percent(s.tce_floor.level)} within {low:.1f} to {high:.1f} %)"


def models_table(contents: Contents) -> Table:
    """One line per model."""
    head = ("Model", "Verdict", "ECE", "Noise floor", "l2 error", "Confidence set", "p", "Brier", "Slope", "Obs./exp.")
    rows = []
    for model in contents.models:
        s = model.summary
        floor = None if s.noise_floor is None else s.noise_floor.mean
        rows.append(
            (
                _name(model.name),
                Cell(model.verdict.code.replace("-", " "), model.verdict.code, "miscalibrated" in model.verdict.code),
                _number(s.ece),
                _number(floor),
                _number(None if s.ece_interval is None else s.ece_interval.estimate),
                _name(interval_text(s.ece_interval)),
                _p(None if s.test is None else s.test.pvalue),
                _number(s.brier if s.multiclass_brier is None else s.multiclass_brier),
                _number(s.slope, 3),
                _number(s.observed_expected, 3),
            )
        )
    return Table("models", head, tuple(rows))


def bin_name(low: float, high: float, last: bool) -> str:
    """Edges in brackets that say which of them belongs to the bin."""
    return f"[{low:.4g}, {high:.4g}{']' if last else ')'}"


def bins_table(model: Model) -> Table:
    """One line per bin; those without rows are left out."""
    b = model.bins
    damage = b.weight * np.abs(b.gap)
    total = float(np.nansum(damage))
    head = ("Bin", "Flag", "Rows", "Mean score", "Rate", f"{percent(b.level)} interval", "Gap", "Share of ECE")
    rows = []
    for i in np.flatnonzero(b.n > 0):
        name = bin_name(b.low_edge[i], b.high_edge[i], i == len(b) - 1)
        ends = f"{number(model.interval_low[i])} to {number(model.interval_high[i])}"
        rows.append(
            (
                Cell(name, float(b.low_edge[i])),
                _flag(bool(b.outside[i]), "too high" if b.gap[i] < 0 else "too low"),
                _count(int(b.n[i])),
                _number(float(b.score[i])),
                _number(float(b.rate[i])),
                Cell(ends, model.interval_low[i]),
                _gap(float(b.gap[i])),
                _share(float(damage[i]) / total if total else 0.0),
            )
        )
    empty = int((b.n == 0).sum())
    left_out = f" {counted(empty, 'bin')} without rows {'is' if empty == 1 else 'are'} left out." if empty else ""
    note = (
        f"Flagged: the rate lies outside the band that would hold all rates together with probability "
        f"{percent(b.level)} if the scores were true. Gap: rate − mean score.{left_out}"
    )
    return Table("bins", head, tuple(rows), note)


def blocks_table(found: Blocks) -> Table:
    """One line per isotonic block."""
    head = ("Block", "Rows", "Rate", "Scores", "Median score", "Refuted")
    last = len(found.n) - 1
    rows = tuple(
        (
            Cell(bin_name(found.low_edge[i], found.high_edge[i], i == last), found.low_edge[i]),
            _count(found.n[i]),
            _number(found.rate[i]),
            Cell(f"{number(found.score_min[i])} to {number(found.score_max[i])}", found.score_min[i]),
            _number(found.score_median[i]),
            _share(found.refuted[i]),
        )
        for i in range(len(found.n))
    )
    return Table("blocks", head, rows)


def segments_table(found: Segments) -> Table:
    """One line per segment, those most surely wrong first."""
    head = ("Column", "Value", "Flag", "Rows", "Mean score", "Rate", "Gap", "ECE", "p", "Adjusted p")

    def order(i: int) -> tuple[float, float]:
        one = found.rows[i]
        return (2.0 if one.adjusted_pvalue is None else one.adjusted_pvalue, -abs(one.gap) * one.n)

    rows = []
    for i in sorted(range(len(found.rows)), key=order):
        one = found.rows[i]
        rows.append(
            (
                _name(one.column),
                _name(one.value),
                _flag(one.flagged, "miscalibrated"),
                _count(one.n),
                _number(one.score),
                _number(one.rate),
                _gap(one.gap),
                _number(one.ece),
                _p(one.pvalue),
                _p(one.adjusted_pvalue),
            )
        )
    return Table("segments", head, tuple(rows), f"Tested by {found.test}.")


def remedies_table(found: Remedies, level: float) -> Table:
    """Before, then after each calibrator."""
    head = (
        "Scores",
        "Note",
        "ECE",
        "l2 error",
        f"{percent(level)} set",
        "Brier score",
        f"Gain, {percent(level)} interval",
        "Log loss",
    )
    rows = [_remedy(found.before, found.best)] + [_remedy(one, found.best) for one in found.after]
    note = (
        f"{counted(found.n, 'row')}, {found.folds} folds: each row's score comes from a fit that did not see it. "
        "Gain: by how much the Brier score falls, compared row by row."
    )
    return Table("remedies", head, tuple(rows), note)


def _remedy(one: Remedy, best: str | None) -> tuple[Cell, ...]:
    gain = "" if math.isnan(one.gain) else f"{signed(one.gain_low, 5)} to {signed(one.gain_high, 5)}"
    mark = "best" if one.name == best else ""
    return (
        _name(_capital(one.name)),
        Cell(mark, mark, good=bool(mark)),
        _number(one.ece),
        _number(None if one.ece_interval is None else one.ece_interval.estimate),
        _name(interval_text(one.ece_interval)),
        _number(one.brier),
        Cell(gain, one.gain),
        _number(one.log_loss),
    )


def _capital(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}"


def remedies_sentence(found: Remedies) -> str:
    """What the table says."""
    best = next((one for one in found.after if one.name == found.best), None)
    if best is None and found.after and all(math.isnan(one.gain) for one in found.after):
        return "The table has the calibrators before and after, on rows that they have not seen."
    if best is None:
        return "None of these calibrators surely lowers the Brier score on rows that it has not seen."
    return (
        f"{_capital(best.name)} would lower the Brier score from {_apart(found.before.brier, best.brier)} "
        f"and take the ECE from {_apart(found.before.ece, best.ece)}, on rows that it has not seen."
    )


def _apart(first: float, second: float) -> str:
    """From one number to another, with as many decimals as it takes to see a difference."""
    for digits in range(4, 10):
        texts = f"{first:.{digits}f}", f"{second:.{digits}f}"
        if texts[0] != texts[1]:
            break
    return f"{texts[0]} to {texts[1]}"


def guarantee_sentence(found: Remedies) -> str:
    """What histogram binning promises."""
    g = found.guarantee
    if g is None:
        return ""
    return (
        f"Guarantee: histogram binning with {counted(g.n_bins, 'bin')} (scheme '{g.scheme}'), fitted on all {g.n:,} "
        f"rows, is within ± {number(g.epsilon)} of the true rate in every bin at once with probability "
        f"{percent(g.level)}, and within "
        f"± {number(g.marginal)} in the bin of one new row, whatever the scores are."
    )


def classes_table(found: tuple[ClassRow, ...]) -> Table:
    """One line per class, the one that does most damage first."""
    head = ("Class", "Flag", "Share", "Mean score", "Gap", "ECE", "Damage", "p", "Adjusted p")
    rows = tuple(
        (
            _name(one.label),
            _flag(one.flagged, "miscalibrated"),
            _share(one.share),
            _number(one.score),
            _gap(one.gap),
            _number(one.ece),
            _share(one.damage),
            _p(one.pvalue),
            _p(one.adjusted_pvalue),
        )
        for one in found
    )
    return Table("classes", head, rows, "Damage: share of the class-wise ECE. Flags: adjusted by Holm's method.")


def top_k_table(found: tuple[TopK, ...]) -> Table:
    """One line per k."""
    level = percent(found[0].interval.level) if found else ""
    head = ("k", "l2 error", f"{level} set", "Bins")
    rows = tuple(
        (
            _count(one.k),
            _number(one.interval.estimate),
            _name(interval_text(one.interval)),
            _name(one.interval.bins),
        )
        for one in found
    )
    return Table("top-k", head, rows, "The k largest scores of each row, looked at together.")


def comparison_table(found: Comparison) -> Table:
    """One line per pair of models."""
    several = len(found) > 1
    head = ("First", "Second", "Result", "Difference", f"{percent(found.level)} interval", "p", "Adjusted p")
    rows = []
    for pair in found.pairs:
        flagged = pair.adjusted_pvalue <= 1 - found.level
        better = pair.first if pair.difference < 0 else pair.second
        rows.append(
            (
                _name(pair.first),
                _name(pair.second),
                Cell(f"{shortened(better, 24)} is better" if flagged else "", better if flagged else "", good=flagged),
                Cell(signed(pair.difference, 5), pair.difference),
                Cell(f"{signed(pair.low, 5)} to {signed(pair.high, 5)}", pair.low),
                _p(pair.pvalue),
                _p(pair.adjusted_pvalue),
            )
        )
    tail = " Adjusted by Holm's method." if several else ""
    return Table("comparison", head, tuple(rows), f"Squared l2 calibration error, first − second, debiased.{tail}")
