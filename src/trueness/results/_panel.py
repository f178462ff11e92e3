"""The panel: the numbers by which a validation is judged, each with its uncertainty, as a table and as text."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from trueness._text.numbers import clusters_in_words, count, level_percent, number, percent, span
from trueness._text.strings import align, wrap
from trueness.errors import InputError
from trueness.results._estimate import Estimate
from trueness.results._inference import Significance
from trueness.results._record import Record, html_table

PanelStyle: TypeAlias = Literal["tripod"]

_WIDTH = 80
_CURVES = {"spline": "restricted cubic splines of the log-odds", "loess": "local regression (loess)"}
# Each test, and its statistic.
_TESTS = {
    "spiegelhalter": ("Spiegelhalter's test", "z"),
    "cox": ("Cox's test of slope 1 and intercept 0", "chi-squared"),
}
# How measures are introduced in the methods.
_PURPOSES = {
    ("observed_expected", "intercept"): "agreement on average by the ratio of observed to expected events, and by the "
    "intercept of a logistic model with the log-odds of the prediction as offset (calibration in the large)",
    ("slope", "free_intercept"): "the spread of the predictions by the slope of a logistic model of the outcome on "
    "those log-odds, reported with the intercept of the same model",
    ("ici", "e50", "e90", "emax"): "agreement over the range of predictions by the distances between predictions and a "
    "flexible calibration curve ({curve}): their mean (ICI), median (E50), 90th percentile (E90) and maximum (Emax)",
    ("ece",): "agreement within groups of similar predictions by the expected calibration error (ECE)",
    ("brier", "scaled_brier", "log_loss"): "overall accuracy by proper scores (Brier score, scaled Brier score, log "
    "loss)",
    ("auc",): "discrimination, for orientation, by the area under the ROC curve (AUC, c-statistic)",
}
_DONE = (
    "the number of rows and of events in the analysis",
    "the measures of calibration and accuracy, and what each is for",
    "every estimate with its confidence limits or its value for a calibrated model",
)
_TRAINING_ROWS = (
    "whether any of these rows were used to develop, tune or select the model; if so, results corrected for optimism: "
    "`tn.validate`"
)
_TO_ADD = (
    "a calibration plot with a flexible curve, its band and the distribution of the predictions: "
    "`tn.plot.ReliabilityDisplay`",
    _TRAINING_ROWS,
    "how the sample size was arrived at: `tn.validation_size`",
    "how missing values were handled",
    "whether classes were weighted or resampled in training, and how predictions were corrected for it: "
    "`tn.prior_shift`, `tn.prior_correction`",
    "whether the model was updated or recalibrated, and the results before and after: `tn.compare`",
    "the same results in key subgroups and, with several centres, by centre: `tn.segments`",
)


@dataclass(frozen=True)
class Panel(Record, Mapping[str, Estimate | Significance]):
    """Estimates of one model on one set of rows, in reading order, by key.

    A mapping: ``panel["slope"]`` is an :class:`Estimate`, ``panel["spiegelhalter"]`` a :class:`Significance`.
    :func:`trueness.panel` makes one.

    Examples
    --------
    >>> slope = Estimate("slope", 0.9, 0.72, 1.09, 0.95, "profile likelihood", 400, "Slope on the logit.", ideal=1)
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
    n_certain: float = 0
    """Scores of exactly 0 or 1, which slope, intercepts and the calibration curve leave out."""
    n_certain_wrong: float = 0
    """Those among them whose label contradicts the score."""
    clusters: int | None = None
    """Number of clusters, or of buckets of clusters; None for independent rows."""
    note: str = ""
    """What else to know about the rows."""
    in_buckets: bool = False
    """Whether the rows are sums that keep buckets of clusters, and `clusters` counts the buckets."""

    def __getitem__(self, key: str) -> Any:
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
        found = {name: value for name, value in super()._entries().items() if name != "names"}
        entries = {key: self[key]._entries() for key in self}
        tests = {test.method: entries.pop(test.method) for test in self.tests}
        return found | {"estimates": entries, "tests": tests}

    def columns(self) -> dict[str, list[Any]]:
        """One row per estimate and test."""
        fields = ("low", "high", "level", "standard_error", "floor", "floor_high", "ideal", "pvalue")
        columns: dict[str, list[Any]] = {"key": list(self)}
        columns["measure"] = [*(e.measure for e in self.estimates), *(_test_name(t) for t in self.tests)]
        columns["value"] = [*(e.value for e in self.estimates), *(t.statistic for t in self.tests)]
        every: tuple[Estimate | Significance, ...] = (*self.estimates, *self.tests)
        columns |= {field: [getattr(one, field, math.nan) for one in every] for field in fields}
        columns["method"] = [one.method for one in every]
        columns["note"] = [*(e.note for e in self.estimates), *("" for _ in self.tests)]
        return columns

    def _repr_html_(self) -> str:
        head, *lines = self._table()
        return html_table(self._title(), head, lines, [*self._test_sentences(), *self._notes()])

    def _table(self) -> list[list[str]]:
        level = level_percent(self.level)
        table = [["", "value", f"{level} limits", "if calibrated"]]
        for key, estimate in zip(self.names, self.estimates, strict=True):
            limits = span(estimate.low, estimate.high) if estimate.bounded else "–"
            table.append([estimate.measure, number(estimate.value), limits, _reference(key, estimate, level)])
        return table

    def _title(self) -> str:
        return f"Calibration panel: {self.rows_in_words()}"

    def _test_sentences(self) -> list[str]:
        return [f"{_test_name(t)} {number(t.statistic, 2)}, {t.pvalue_in_words}." for t in self.tests]

    def __str__(self) -> str:
        text = align(self._table(), [False, True, True, False])
        lines = [wrap(self._title(), _WIDTH), "", *(line.rstrip() for line in text.splitlines()), ""]
        return "\n".join(lines + [wrap(note, _WIDTH) for note in [*self._test_sentences(), *self._notes()]]).rstrip()

    def text(self, style: PanelStyle = "tripod") -> str:
        """Methods and results as text for a paper, and a list of what else TRIPOD+AI requires about calibration.

        References
        ----------
        G. S. Collins et al., TRIPOD+AI statement: updated guidance for reporting clinical prediction models that use
        regression or machine learning methods, BMJ 385 (2024), e078378.
        """
        check_style(style)
        return report_text(self._methods(), self._results(), _DONE, _TO_ADD)

    def text_of_training_rows(self, methods: str, results: str) -> str:
        """The same for predictions of training rows, with what was done about their optimism."""
        done = (*_DONE, "how results were corrected for optimism, and how large it was")
        to_add = [item for item in _TO_ADD if item is not _TRAINING_ROWS]
        return report_text(f"{methods} {self._methods()}", f"{self._results()} {results}", done, to_add)

    def rows_in_words(self, joint: str = ", ") -> str:
        """How many rows, clusters and events there are."""
        whole = float(self.events).is_integer()
        events = count(int(self.events), "event") if whole else f"events of weight {self.events:,.5g}"
        events = f"{events} ({percent(self.prevalence)})"
        clusters = "" if self.clusters is None else f" in {clusters_in_words(self.clusters, self.in_buckets)}"
        return f"{count(self.n, 'row')}{clusters}{joint}{events}"

    def _notes(self, *, bounded: bool = False) -> list[str]:
        """The notes of the estimates, each once and with the measures it is about; then that of the panel."""
        about = _grouped((e.note, e.measure) for e in self.estimates if e.note and (e.bounded or not bounded))
        own = [f"{_listed(measures)}: {note[0].lower()}{note[1:]}" for note, measures in about.items()]
        return own + ([self.note] if self.note else [])

    def _methods(self) -> str:
        curve = _CURVES.get(self.curve, self.curve)
        purposes = [text.format(curve=curve) for keys, text in _PURPOSES.items() if set(keys) & set(self.names)]
        sentences = [f"Calibration was assessed in {self.rows_in_words(' with ')}: {'; '.join(purposes)}."]
        by_method = _grouped((e.method, e.measure) for e in self.estimates if e.bounded)
        limits = "; ".join(f"{_listed(measures)}: {method}" for method, measures in by_method.items())
        if limits:
            sentences.append(f"Confidence limits are two-sided at {self._level_in_text()} ({limits}).")
        floors = [e.measure for e in self.estimates if not e.bounded and not math.isnan(e.floor)]
        if floors:
            sentences.append(
                f"{_listed(floors)} are positive even for a perfectly calibrated model, so that no interval is given; "
                f"they are compared with the mean and the {self._level_in_text()} quantile that a calibrated model "
                "with the same predictions would show."
            )
        if self.clusters is not None:
            sentences.append("Limits allow for dependence within clusters.")
        return " ".join([*sentences, *(f"{note[0].upper()}{note[1:]}" for note in self._notes(bounded=True))])

    def _results(self) -> str:
        known = {key for keys in _PURPOSES for key in keys}
        groups = [*_PURPOSES, tuple(key for key in self.names if key not in known)]
        sentences = ["; ".join(self._finding(key) for key in keys if key in self.names) for keys in groups]
        for test in self.tests:
            name, statistic = _TESTS.get(test.method, (test.method, "a statistic"))
            sentences.append(f"{name} gave {statistic} = {number(test.statistic, 2)} ({test.pvalue_in_words})")
        return " ".join(f"{text[0].upper()}{text[1:]}." for text in filter(None, sentences))

    def _finding(self, key: str) -> str:
        estimate, level = self[key], self._level_in_text()
        estimated = f"was {_short(estimate.value)}" if not math.isnan(estimate.value) else "had no finite estimate"
        value = f"{estimate.measure} {estimated}"
        if estimate.bounded:
            return f"{value} ({level} CI {span(estimate.low, estimate.high, _short)})"
        if math.isnan(estimate.floor):
            return value
        return f"{value} (if calibrated: {_short(estimate.floor)}, {level} below {_short(estimate.floor_high)})"

    def _level_in_text(self) -> str:
        """The level as papers write it, which no line break can tear apart."""
        return level_percent(self.level).replace(" ", "")


def check_style(style: str) -> None:
    """Raise unless it is a style that text is written in."""
    if style != "tripod":
        raise InputError("style", "must be 'tripod'", f"got {style!r}")


def report_text(methods: str, results: str, done: Sequence[str], to_add: Sequence[str]) -> str:
    """Two paragraphs, and the list of what is and what is not in them."""
    lists = ["Reported above:", *(f"- {item};" for item in done), "To be added:", *(f"- {item};" for item in to_add)]
    checklist = [wrap(line, _WIDTH, hanging=line.startswith("-")) for line in lists]
    for last in (len(done), -1):
        checklist[last] = f"{checklist[last][:-1]}."
    paragraphs = [wrap(f"Methods. {methods}", _WIDTH), wrap(f"Results. {results}", _WIDTH)]
    return "\n\n".join([*paragraphs, "What TRIPOD+AI asks to report about calibration", "\n".join(checklist)])


def _short(value: float) -> str:
    return number(value, 3)


def _test_name(test: Significance) -> str:
    name, statistic = _TESTS.get(test.method, (test.method, ""))
    return f"{name.removesuffix(' test')} {statistic}" if statistic == "z" else f"{name}, {statistic}".rstrip(", ")


def _reference(key: str, estimate: Estimate, level: str) -> str:
    """What a calibrated model would show."""
    if not math.isnan(estimate.ideal):
        return f"{estimate.ideal:g}"
    if math.isnan(estimate.floor):
        return "(discrimination)" if key == "auc" else ""
    return f"{number(estimate.floor)}, {level} below {number(estimate.floor_high)}"


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Measures by what is said of them."""
    found: dict[str, list[str]] = {}
    for said, measure in pairs:
        found.setdefault(said, []).append(measure)
    return found


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
