"""The panel of a validation, its numbers with their uncertainty as a table and as text.

Also of internal validation.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from trueness._text.numbers import (
    clusters_in_words,
    count,
    level_percent,
    number,
    percent,
    signed,
    span,
)
from trueness._text.strings import align, capitalized, grouped, uncapitalized, wrap
from trueness.errors import InputError
from trueness.results._inference import Estimate, Significance, amount_in_words
from trueness.results._record import Record, html_cell, html_table, html_text

Answer: TypeAlias = Any
"""The `Estimate` of a measure, or the `Significance` of a test."""

PanelStyle: TypeAlias = Literal["tripod"]

_WIDTH = 80
_CURVES = {
    "spline": "restricted cubic splines of the log-odds",
    "loess": "local regression (loess)",
}
# Each test, and its statistic.
_TESTS = {
    "spiegelhalter": ("Spiegelhalter's test", "z"),
    "cox": ("Cox's test of slope 1 and intercept 0", "chi-squared"),
}
# How measures are introduced in the methods.
_PURPOSES = {
    (
        "observed_expected",
        "intercept",
    ): (
        "agreement on average by the ratio of observed to expected events, and by the intercept "
        "of a logistic model with the log-odds of the prediction as offset (calibration in the "
        "large)"
    ),
    (
        "slope",
        "free_intercept",
    ): "the spread of the predictions by the slope of a logistic model of the outcome on "
    "those log-odds, reported with the intercept of the same model",
    (
        "ici",
        "e50",
        "e90",
        "emax",
    ): (
        "agreement over the range of predictions by the distances between predictions and a "
        "flexible calibration curve ({curve}): their mean (ICI), median (E50), 90th percentile "
        "(E90) and maximum (Emax)"
    ),
    (
        "ece",
    ): "agreement within groups of similar predictions by the expected calibration error (ECE)",
    (
        "brier",
        "scaled_brier",
        "log_loss",
    ): "overall accuracy by proper scores (Brier score, scaled Brier score, log loss)",
    ("auc",): "discrimination, for orientation, by the area under the ROC curve (AUC, c-statistic)",
}
WRONG_CERTAINTIES = "since labels contradict scores of exactly 0 or 1"
"""Why the statistic of a test is infinite."""
_DONE = (
    "the number of rows and of events in the analysis",
    "the measures of calibration and accuracy, and what each is for",
    "every estimate with its confidence limits or its value for a calibrated model",
)
_TRAINING_ROWS = (
    "whether any of these rows were used to develop, tune or select the model; if so, results "
    "corrected for optimism: `tn.validate`"
)
_PLOT = "a calibration plot with a flexible curve, its band and the distribution of the predictions"
_PLOT_TO_ADD = f"{_PLOT}: `tn.plot.ReliabilityDisplay`"
_UPDATE = "whether the model was updated or recalibrated"
_UPDATE_TO_ADD = f"{_UPDATE}, and the results before and after: `tn.compare`"
_SUBGROUPS_TO_ADD = (
    "the same results in key subgroups and, with several centres, by centre: `tn.segments`"
)
_TO_ADD = (
    _PLOT_TO_ADD,
    _TRAINING_ROWS,
    "how the sample size was arrived at: `tn.validation_size`",
    "how missing values were handled",
    "whether classes were weighted or resampled in training, and how predictions were corrected "
    "for it: `tn.prior_shift`, `tn.recalibrate.prior_correction`",
    _UPDATE_TO_ADD,
    _SUBGROUPS_TO_ADD,
)


@dataclass(frozen=True)
class Panel(Record, Mapping[str, Estimate | Significance]):
    """Estimates of one model on one set of rows, in reading order, by key.

    A mapping: ``panel["slope"]`` is an :class:`Estimate`, ``panel["spiegelhalter"]`` a
    :class:`Significance`. :func:`trueness.panel` makes one.

    Examples
    --------
    >>> slope = Estimate("slope", 0.9, 0.72, 1.09, 0.95, "profile likelihood", 400,
    ...     "Slope on the logit.", ideal=1)
    >>> panel = Panel(("slope",), (slope,), (), 400, 80, 0.2, 0.95)
    >>> panel["slope"].low
    0.72
    >>> print(panel)
    Calibration panel: 400 rows, 80 events (20 %)
    <BLANKLINE>
            value       95 % limits  if calibrated
    slope  0.9000  0.7200 to 1.0900  1
    """

    _columns = ("names", "estimates", "tests")

    names: tuple[str, ...]
    """The key of each estimate."""
    estimates: tuple[Estimate, ...]
    """The measures with their limits or noise floors."""
    tests: tuple[Significance, ...]
    """Tests of calibration, with their method as key."""
    n: int
    """Rows; a row of weight 2 counts as two if all weights are whole numbers."""
    events: float
    """Events among them; for weights that are not whole numbers, their weight."""
    prevalence: float
    """Share of events."""
    level: float
    """Confidence level of all limits."""
    curve: str = "spline"
    """The calibration curve behind ICI, E50, E90 and Emax."""
    n_certain: int = 0
    """Scores of exactly 0 or 1, which slope, intercepts and the calibration curve leave out."""
    n_certain_wrong: float = 0
    """Those among them whose label contradicts the score; of sampling weights, their weight."""
    clusters: int | None = None
    """Number of clusters, or of buckets of clusters; None for independent rows."""
    note: str = ""
    """What else to know about the rows."""
    in_buckets: bool = False
    """Whether the rows are sums that keep buckets of clusters, and `clusters` counts the
    buckets."""

    def __getitem__(self, key: str) -> Answer:
        if key not in tuple(self):
            raise KeyError(f"{key!r}; there are {', '.join(self)}")
        return (*self.estimates, *self.tests)[tuple(self).index(key)]

    def __iter__(self) -> Iterator[str]:
        yield from self.names
        yield from (test.method for test in self.tests)

    def __len__(self) -> int:
        return len(self.names) + len(self.tests)

    def _entries(self) -> dict[str, Any]:
        """Fields by name; estimates and tests by their keys."""
        plain = {name: value for name, value in super()._entries().items() if name != "names"}
        entries = {key: self[key]._entries() for key in self}
        tests = {test.method: entries.pop(test.method) for test in self.tests}
        return plain | {"estimates": entries, "tests": tests}

    def columns(self) -> dict[str, list[Any]]:
        """One row per estimate and test."""
        fields = (
            "low",
            "high",
            "level",
            "standard_error",
            "floor",
            "floor_high",
            "ideal",
            "pvalue",
        )
        lines = []
        for key, estimate in zip(self.names, self.estimates, strict=True):
            line = {"key": key, "measure": estimate.measure, "value": estimate.value}
            line |= {field: getattr(estimate, field, math.nan) for field in fields}
            lines.append(line | {"method": estimate.method, "note": estimate.note})
        for test in self.tests:
            line = {"key": test.method, "measure": _test_name(test), "value": test.statistic}
            line |= {field: getattr(test, field, math.nan) for field in fields}
            lines.append(line | {"method": test.method, "note": ""})
        names = ("key", "measure", "value", *fields, "method", "note")
        return {name: [line[name] for line in lines] for name in names}

    def _repr_html_(self) -> str:
        head, *lines = self._table()
        notes = map(html_text, [*self._test_sentences(), *self._notes()])
        return html_cell([html_text(self._title()), html_table(head, lines), *notes])

    def _table(self) -> list[list[str]]:
        """A line for each measure below the titles: value, limits, and what to expect."""
        level = level_percent(self.level)
        table = [["", "value", f"{level} limits", "if calibrated"]]
        for key, estimate in zip(self.names, self.estimates, strict=True):
            limits = span(estimate.low, estimate.high) if estimate.bounded else "–"
            table.append(
                [estimate.measure, number(estimate.value), limits, _reference(key, estimate, level)]
            )
        return table

    def _title(self) -> str:
        return f"Calibration panel: {self.rows_in_words()}"

    def _test_sentences(self) -> list[str]:
        return [
            f"{_test_name(t)} {number(t.statistic, 2)}, {t.pvalue_in_words}." for t in self.tests
        ]

    def __str__(self) -> str:
        """The title, the table, the tests and the notes."""
        text = align(self._table(), [False, True, True, False])
        lines = [
            wrap(self._title(), _WIDTH),
            "",
            *(line.rstrip() for line in text.splitlines()),
            "",
        ]
        return "\n".join(
            lines + [wrap(note, _WIDTH) for note in [*self._test_sentences(), *self._notes()]]
        ).rstrip()

    def text(self, style: PanelStyle = "tripod") -> str:
        """Methods and results as text for a paper, and what else TRIPOD+AI asks to report.

        References
        ----------
        G. S. Collins et al., TRIPOD+AI statement: updated guidance for reporting clinical
        prediction models that use regression or machine learning methods, BMJ 385 (2024), e078378.
        """
        check_style(style)
        return report_text(self._methods(), self._results(), _DONE, _TO_ADD)

    def text_of_training_rows(self, methods: str, results: str) -> str:
        """The same for predictions of training rows, with what was done about their optimism."""
        done = (*_DONE, "how results were corrected for optimism, and how large it was")
        to_add = [item for item in _TO_ADD if item is not _TRAINING_ROWS]
        return report_text(
            f"{methods} {self._methods()}", f"{self._results()} {results}", done, to_add
        )

    def rows_in_words(self, joint: str = ", ") -> str:
        """How many rows, clusters and events there are."""
        events = f"events of weight {amount_in_words(self.events)}"
        if float(self.events).is_integer():
            events = count(int(self.events), "event")
        rows = count(self.n, "row")
        if self.clusters is not None:
            rows += f" in {clusters_in_words(self.clusters, self.in_buckets)}"
        return f"{rows}{joint}{events} ({percent(self.prevalence)})"

    def _notes(self, *, bounded: bool = False) -> list[str]:
        """The notes of the estimates, each once and with the measures it is about.

        Then that of the panel.
        """
        by_note = grouped(
            (e.note, e.measure) for e in self.estimates if e.note and (e.bounded or not bounded)
        )
        sentences = []
        for note, measures in by_note.items():
            sentences.append(f"{_listed(measures)}: {uncapitalized(note)}")
        if self.note:
            sentences.append(self.note)
        return sentences

    def _methods(self) -> str:
        """How calibration was assessed, as a paragraph for a paper.

        Sentences on limits, floors and clusters are there only where the panel has them.
        """
        curve = _CURVES.get(self.curve, self.curve)
        purposes = []
        for keys, text in _PURPOSES.items():
            if set(keys) & set(self.names):
                purposes.append(text.format(curve=curve))
        sentences = [
            f"Calibration was assessed in {self.rows_in_words(' with ')}: {'; '.join(purposes)}."
        ]
        by_method = grouped((e.method, e.measure) for e in self.estimates if e.bounded)
        methods = [f"{_listed(measures)}: {method}" for method, measures in by_method.items()]
        if methods:
            level = self._level_in_text()
            sentences.append(f"Confidence limits are two-sided at {level} ({'; '.join(methods)}).")
        floors = [e.measure for e in self.estimates if not e.bounded and not math.isnan(e.floor)]
        if floors:
            sentences.append(
                f"{_listed(floors)} are positive even for a perfectly calibrated model, so that "
                "no interval is given; they are compared with the mean and the "
                f"{self._level_in_text()} quantile that a calibrated model "
                "with the same predictions would show."
            )
        if self.clusters is not None:
            sentences.append("Limits allow for dependence within clusters.")
        for note in self._notes(bounded=True):
            sentences.append(capitalized(note))
        return " ".join(sentences)

    def _results(self) -> str:
        """What was found, as a paragraph for a paper: measures grouped by purpose, then tests."""
        described = [key for keys in _PURPOSES for key in keys]
        groups = [*_PURPOSES, tuple(key for key in self.names if key not in described)]
        sentences = []
        for keys in groups:
            sentences.append("; ".join(self._finding(key) for key in keys if key in self.names))
        for test in self.tests:
            name, statistic = _TESTS.get(test.method, (test.method, "a statistic"))
            shown = number(test.statistic, 2)
            if math.isinf(test.statistic):
                shown = f"{shown}, {WRONG_CERTAINTIES}"
            sentences.append(f"{name} gave {statistic} = {shown} ({test.pvalue_in_words})")
        return " ".join(f"{capitalized(text)}." for text in filter(None, sentences))

    def _finding(self, key: str) -> str:
        """A measure in words: with its confidence interval, its noise floor, or neither."""
        estimate = self[key]
        level = self._level_in_text()
        if not math.isnan(estimate.value):
            estimated = f"was {_short(estimate.value)}"
        else:
            estimated = "had no finite estimate"
        value = f"{estimate.measure} {estimated}"
        if estimate.bounded:
            return f"{value} ({level} CI {span(estimate.low, estimate.high, _short)})"
        if math.isnan(estimate.floor):
            return value
        return (
            f"{value} (if calibrated: {_short(estimate.floor)}, {level} below "
            f"{_short(estimate.floor_high)})"
        )

    def _level_in_text(self) -> str:
        """The level as papers write it, which no line break can tear apart."""
        return level_percent(self.level).replace(" ", "")


def check_style(style: str) -> None:
    """Raise unless it is a style that text is written in."""
    if style != "tripod":
        raise InputError("style", "must be 'tripod'", f"got {style!r}")


def text_on_page(panel: Panel, *, curve: bool, segments: bool, remedies: bool) -> str:
    """The text of a panel for a page, which shows a curve, segments or calibrators, or lacks them.

    What the page shows is listed as shown, not as missing.
    """
    beside = []
    to_add = list(_TO_ADD)
    if curve:
        beside.append(_PLOT)
        to_add.remove(_PLOT_TO_ADD)
    if segments:
        beside.append("observed and predicted events in subgroups")
        to_add.remove(_SUBGROUPS_TO_ADD)
    if remedies:
        beside.append("the results before and after recalibration, on held-out rows")
        to_add[to_add.index(_UPDATE_TO_ADD)] = _UPDATE
    return report_text(panel._methods(), panel._results(), _DONE, to_add, beside)


def report_text(
    methods: str,
    results: str,
    done: Sequence[str],
    to_add: Sequence[str],
    beside: Sequence[str] = (),
) -> str:
    """Two paragraphs, and the list of what is in them, beside them on a page, and still missing."""
    checklist = []
    lists = {"Reported above:": done, "On the same page:": beside, "To be added:": to_add}
    for head, items in lists.items():
        if items:
            *others, last = items
            lines = [head, *(f"- {item};" for item in others), f"- {last}."]
            checklist += [wrap(line, _WIDTH, hanging=line.startswith("-")) for line in lines]
    paragraphs = [wrap(f"Methods. {methods}", _WIDTH), wrap(f"Results. {results}", _WIDTH)]
    return "\n\n".join(
        [*paragraphs, "What TRIPOD+AI asks to report about calibration", "\n".join(checklist)]
    )


def _short(value: float) -> str:
    return number(value, 3)


def _test_name(test: Significance) -> str:
    name, statistic = _TESTS.get(test.method, (test.method, ""))
    if statistic == "z":
        return f"{name.removesuffix(' test')} {statistic}"
    return f"{name}, {statistic}".rstrip(", ")


def _reference(key: str, estimate: Estimate, level: str) -> str:
    """What a calibrated model would show."""
    if not math.isnan(estimate.ideal):
        return f"{estimate.ideal:g}"
    if math.isnan(estimate.floor):
        if key == "auc":
            return "(discrimination)"
        return ""
    return f"{number(estimate.floor)}, {level} below {number(estimate.floor_high)}"


def _listed(words: list[str]) -> str:
    if len(words) == 1:
        return words[0]
    return f"{', '.join(words[:-1])} and {words[-1]}"


def _count_text(n: int | None) -> str:
    return "–" if n is None else f"{n:,}"


# Whose apparent values a text repeats.
_KEY_RESULTS = ("slope", "brier", "auc")


@dataclass(frozen=True)
class Validation(Record):
    """Apparent and corrected panels of an estimator, and their difference, the optimism.

    :func:`trueness.validate` makes one.
    """

    _columns = ("apparent", "corrected", "optimism")

    apparent: Panel
    """The estimator fitted on all rows and evaluated on the same rows."""
    corrected: Panel
    """'crossfit': the panel of predictions for rows that were not used to fit them. 'bootstrap':
    the apparent panel minus the optimism."""
    optimism: Mapping[str, float] = field(hash=False)
    """Apparent − corrected value of each measure, by key."""
    method: str
    """'crossfit' or 'bootstrap'."""
    refits: int
    """Number of folds or resamples: how often the estimator was fitted, besides on all rows."""
    note: str = ""
    """What the limits of the corrected panel mean."""

    @property
    def n(self) -> int:
        """Rows of the corrected panel."""
        return self.corrected.n

    @property
    def level(self) -> float:
        """Confidence level of all limits."""
        return self.corrected.level

    def text(self, style: PanelStyle = "tripod") -> str:
        """The internal validation in sentences for a paper, as :meth:`Panel.text` writes them."""
        check_style(style)
        methods = (
            f"The model was validated internally with {self._refits_in_words()}: results are "
            f"{self._correction()}."
        )
        changes = []
        for key, estimate in zip(self.apparent.names, self.apparent.estimates, strict=True):
            if key in _KEY_RESULTS:
                optimism = f"(optimism {signed(self.optimism[key], 3)})"
                changes.append(f"{estimate.measure} {number(estimate.value, 3)} {optimism}")
        results = f"On the training rows themselves the results were: {', '.join(changes)}."
        return self.corrected.text_of_training_rows(f"{methods} {self.note}", results)

    def columns(self) -> dict[str, list[Any]]:
        """One row per measure."""
        keys = list(self.corrected.names)
        after = self.corrected.estimates
        return {
            "key": keys,
            "measure": [estimate.measure for estimate in after],
            "apparent": [estimate.value for estimate in self.apparent.estimates],
            "optimism": [self.optimism[key] for key in keys],
            "corrected": [estimate.value for estimate in after],
            "low": [estimate.low for estimate in after],
            "high": [estimate.high for estimate in after],
            "floor": [estimate.floor for estimate in after],
        }

    def _repr_html_(self) -> str:
        head, *lines = self._table()
        parts = [html_text(self._title()), html_table(head, lines), html_text(self._footnote())]
        return html_cell(parts)

    def __str__(self) -> str:
        lines = align(self._table(), [False, True, True, True, True]).splitlines()
        return "\n".join(
            [wrap(self._title(), _WIDTH), "", *lines, "", wrap(self._footnote(), _WIDTH)]
        )

    def _title(self) -> str:
        return f"Validation by {self._refits_in_words()}: {self.corrected.rows_in_words()}"

    def _footnote(self) -> str:
        text = f"Corrected: {self._correction()}. {self.note}"
        if any(not e.bounded and not math.isnan(e.floor) for e in self.corrected.estimates):
            text += " Floor: the mean for a calibrated model with the same predictions."
        return text.rstrip()

    def _refits_in_words(self) -> str:
        refits = "folds" if self.method == "crossfit" else "bootstrap resamples"
        return f"{self.refits:,} {refits}"

    def _correction(self) -> str:
        if self.method == "crossfit":
            return "from the pooled predictions of models that were not fitted on the row"
        return (
            "apparent minus optimism (Harrell), the mean over resamples of the value on the "
            "resample minus the value on all rows"
        )

    def _table(self) -> list[list[str]]:
        """A line for each measure below the titles: apparent, optimism, corrected, limits."""
        table = [["", "apparent", "optimism", "corrected", f"{level_percent(self.level)} limits"]]
        pairs = zip(
            self.corrected.names, self.apparent.estimates, self.corrected.estimates, strict=True
        )
        for key, before, after in pairs:
            floor = "–" if math.isnan(after.floor) else f"floor {number(after.floor)}"
            limits = span(after.low, after.high) if after.bounded else floor
            optimism = signed(self.optimism[key])
            table.append(
                [after.measure, number(before.value), optimism, number(after.value), limits]
            )
        return table


@dataclass(frozen=True)
class ValidationSize(Record):
    """Rows that a validation needs: for each criterion, and for all of them.

    The columns `criterion`, `target`, `size` and `events` have one entry per criterion.

    Examples
    --------
    >>> print(ValidationSize(905, ("O/E",), ("95 % limits 1.00 apart",), (905,), (17,), 0.018,
    ...     0.8, 0.95, 0.8))
    criterion  target                  rows  events
    O/E        95 % limits 1.00 apart   905      17
    <BLANKLINE>
    905 rows meet all criteria, if 1.8 % of them are events.
    """

    _columns = ("criterion", "target", "size", "events")

    n: int | None
    """Rows that meet all criteria; None if no number that was tried does."""
    criterion: tuple[str, ...]
    """What is estimated, tested or accepted."""
    target: tuple[str, ...]
    """How precisely, or what must be detected, in words."""
    size: tuple[int | None, ...]
    """Rows that each criterion needs; None if no number that was tried is enough."""
    events: tuple[int | None, ...]
    """The events expected among them."""
    prevalence: float
    """The event rate."""
    c_statistic: float
    """The c-statistic (area under the ROC curve); nan if unknown."""
    level: float
    """Confidence level of the limits; tests reject at 1 − level."""
    power: float
    """Probability with which tests should detect what they are planned for."""
    notes: tuple[str, ...] = ()
    """What else to know."""

    def columns(self) -> dict[str, list[Any]]:
        """One row per criterion."""
        columns = {
            "criterion": self.criterion,
            "target": self.target,
            "rows": self.size,
            "events": self.events,
        }
        return {name: list(values) for name, values in columns.items()}

    def __str__(self) -> str:
        sizes = map(_count_text, self.size)
        events = map(_count_text, self.events)
        rows = zip(self.criterion, self.target, sizes, events, strict=True)
        text = align([("criterion", "target", "rows", "events"), *rows], (False, False, True, True))
        return "\n".join([text, "", self.in_words(), *self.notes])

    def in_words(self) -> str:
        """The rows that meet all criteria, or that none do, as a sentence."""
        rate = level_percent(float(f"{self.prevalence:.3g}"))
        if self.n is not None:
            return f"{self.n:,} rows meet all criteria, if {rate} of them are events."
        largest = max((size for size in self.size if size is not None), default=None)
        if largest is None:
            rest = ""
        else:
            rest = f"; {largest:,} rows meet the others, if {rate} of them are events"
        return f"No number of rows that was tried meets all criteria{rest}."
