"""`assess`: one object that answers every question about one model."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trueness._assess.absent import absent_answers
from trueness._assess.asked import (
    ADVICE,
    BINS,
    CLASSES,
    COVERAGE,
    ESTIMATE,
    FLOOR,
    GATE,
    INTERVAL,
    PANEL,
    POWER,
    PRIOR_SHIFT,
    REMEDIES,
    SEGMENTS,
    SLICES,
    TEST,
    VERDICT,
    Asked,
)
from trueness._assess.held_out import cross_fitted
from trueness._assess.makers import MAKERS
from trueness._assess.reading import asked_of
from trueness._assess.words import in_words
from trueness._input.arguments import (
    Seed,
    checked_resamples,
    labels_and_scores,
)
from trueness._input.segment_columns import GROUPS
from trueness._keywords import suggests_keywords
from trueness._level import check_drawn_level, checked_level
from trueness._tally.accumulator import Accumulator
from trueness._tally.evidence import AnySums
from trueness._tally.rows_or_sums import row_options
from trueness._tally.rules import BinsLike
from trueness.errors import InputError
from trueness.infer.comparison._compare import compare_of, require_same_rows
from trueness.infer.decision._gate import checked_bounds
from trueness.results import (
    Advice,
    BinTable,
    Comparison,
    Coverage,
    Estimate,
    Gate,
    Interval,
    NoiseFloor,
    Panel,
    PriorShift,
    Remedies,
    Segments,
    Significance,
    Slices,
    Verdict,
)
from trueness.results._record import html_cell
from trueness.results._verdict import DetectionPower
from trueness.typing import ArrayLike, Columns, Kind, Missing, WeightType

if TYPE_CHECKING:
    from trueness.recalibrate._calibrator import Calibrator


class Assessment:
    """The answers to every question about one model; each is found when it is first asked.

    Make it with :func:`trueness.assess`. A number depends on the rows, the level and the seed: not
    on what was asked before, nor on whether it is asked here, of a function of the same name, or
    read off a report.

    Where the rows do not allow an answer it is None, and `notes` says why.
    """

    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    def __getstate__(self) -> dict[str, Any]:
        """Rows and settings, not the memo."""
        kept = self._asked
        return {
            "rows": kept.rows,
            "level": kept.level,
            "seed": kept.seed,
            "rule": kept.rule,
            "draws": kept.draws,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._asked = Asked(makers=MAKERS, **state)

    @property
    def asked(self) -> Asked:
        """The questions behind it, for reports."""
        return self._asked

    # ---- what it is

    @property
    def level(self) -> float:
        """The confidence level of every answer."""
        return self._asked.level

    @property
    def seed(self) -> int:
        """The seed of every random draw."""
        return self._asked.seed

    @property
    def n(self) -> int:
        """Rows; a row of weight 2 counts as two if weights count rows."""
        return self._asked.rows.evidence.n

    def at(self, *, level: float | None = None) -> "Assessment":
        """The same rows at another level; what was drawn and summed is shared."""
        if level is None:
            return self
        return Assessment(self._asked.but(level=checked_assessment_level(level)))

    @property
    def notes(self) -> tuple[str, ...]:
        """What was decided about the rows, and why some answers are None."""
        return (*self._asked.view("confidence").notes, *absent_answers(self._asked))

    # ---- questions

    @property
    def verdict(self) -> Verdict:
        """Whether the scores are calibrated; of several labels or classes, whether all are."""
        return self._asked.ask(VERDICT)

    @property
    def test(self) -> Significance | None:
        """The omnibus test of calibration, as :func:`trueness.calibration_test`."""
        return self._asked.possible(TEST)

    @property
    def interval(self) -> Interval | None:
        """The confidence set of the l2 error, as :func:`trueness.ece_interval`."""
        return self._asked.possible(INTERVAL)

    def estimate(
        self, measure: str | Callable[..., float], *, kind: Kind | None = None, **options: object
    ) -> Estimate:
        """A measure with its limits or its noise floor, as :func:`trueness.estimate`.

        A measure that these rows do not determine is nan, and its note says why. Without an option
        of its own, bins are those of the assessment. `kind` is the view of a matrix.
        """
        return self._asked.ask(ESTIMATE, measure=measure, kind=self._asked.kind(kind), **options)

    def floor(
        self,
        measure: str | Callable[..., float],
        *,
        kind: Kind | None = None,
        resamples: int | None = None,
        **options: object,
    ) -> NoiseFloor:
        """What a calibrated model would show, as :func:`trueness.noise_floor`."""
        return self._asked.ask(
            FLOOR,
            measure=measure,
            kind=self._asked.kind(kind),
            resamples=None if resamples is None else checked_resamples(resamples),
            **options,
        )

    @property
    def coverage(self) -> Coverage | None:
        """The share of outcomes inside intervals, or at most at quantiles, beside what was stated.

        None for anything else than these :class:`trueness.events.Events`.
        """
        return self._asked.ask(COVERAGE)

    @property
    def bins(self) -> BinTable:
        """The bins with the limits of their rates, as :func:`trueness.bin_table`."""
        return self._asked.ask(BINS)

    @property
    def power(self) -> DetectionPower | None:
        """What miscalibration these rows would have shown."""
        return self._asked.possible(POWER)

    @property
    def prior_shift(self) -> PriorShift | None:
        """One factor on the odds of all scores, as :func:`trueness.prior_shift`."""
        return self._asked.possible(PRIOR_SHIFT)

    @property
    def panel(self) -> Panel | None:
        """The numbers of a validation, as :func:`trueness.panel`.

        None for a matrix and for sums of bins.
        """
        return self._asked.possible(PANEL)

    @property
    def segments(self) -> Segments | None:
        """Every value of the columns `by`, as :func:`trueness.segments`."""
        return self._asked.possible(SEGMENTS)

    @property
    def slices(self) -> Slices | None:
        """The worst slices of two columns and more, as :func:`trueness.worst_slices`."""
        return self._asked.possible(SLICES)

    @property
    def classes(self) -> "Mapping[str, Assessment] | None":
        """An assessment of each class against the rest, or of each label; None for one problem.

        Each has the level at which Holm's method judges it, so that the verdicts hold jointly at
        this level.
        """
        problems = self._asked.ask(CLASSES)
        if not problems:
            return None
        return {name: Assessment(problem) for name, problem in problems.items()}

    @property
    def remedies(self) -> Remedies | None:
        """The scores beside each suitable calibrator, on rows that it was not fitted on.

        None for sums and few rows.
        """
        return self._asked.ask(REMEDIES)

    @property
    def advice(self) -> Advice:
        """What to do: a step, its reason and, where a map would help, the calibrator to fit."""
        return self._asked.ask(ADVICE)

    def cross_fitted(self, calibrator: "Calibrator | str | None") -> "Assessment":
        """An assessment of the scores that the calibrator gives to rows it was not fitted on.

        Each fifth of the rows is scored by a copy that was fitted to the others, clusters kept
        together; the fit is the one of `remedies`. Of more than 100,000 rows, as many are drawn;
        the calibrator itself, or that of this name, stays unfitted. None is `AutoCalibration()`.
        """
        return Assessment(cross_fitted(self._asked, calibrator))

    def gate(
        self,
        *,
        max_ece: float | None = None,
        max_l2: float | None = None,
        oe_within: float | None = None,
        require: bool = False,
        bins: BinsLike | None = None,
    ) -> Gate:
        """Whether errors keep their bounds, as :func:`trueness.gate`."""
        rule = self._asked.rule if bins is None else bins
        bounds = checked_bounds(max_ece, max_l2, oe_within, 10 if rule is None else rule)
        return self._asked.ask(GATE, bounds=bounds, require=require)

    def compare(
        self, other: "Assessment", measure: str | Callable[..., float] = "squared_ece"
    ) -> Comparison:
        """The difference to another model of the same rows, as :func:`trueness.compare`.

        'self' minus 'other'.
        """
        given: object = other
        if not isinstance(given, Assessment):
            got = f"got a {type(given).__name__}"
            raise InputError("other", "must be an assessment of the same rows", got)
        models = {"self": self._asked.view("confidence"), "other": other._asked.view("confidence")}
        require_same_rows(models)
        comparison: Comparison = compare_of(
            models, measure, level=self.level, seed=self.seed, choose=True
        )
        return comparison

    # ---- how it reads

    def to_dict(self) -> dict[str, Any]:
        """Verdict, test, set, power, bins, segments, level, seed and notes as plain values."""
        named = ("verdict", "test", "interval", "power", "bins", "segments")
        records = {name: getattr(self, name) for name in named}
        plain = {name: record and record.to_dict() for name, record in records.items()}
        return {
            "n": self.n,
            "level": self.level,
            "seed": self.seed,
            **plain,
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        return str(in_words(self._asked))

    def __repr__(self) -> str:
        return f"<Assessment of {self.n:,} rows at level {self.level:g}, seed {self.seed}>"

    def _repr_html_(self) -> str:
        return html_cell([in_words(self._asked).html])


@labels_and_scores
@suggests_keywords
def assess(
    y_true: ArrayLike | AnySums | Accumulator,
    y_prob: ArrayLike | None = None,
    *,
    by: Columns | None = None,
    crossed: int = 1,
    cluster: ArrayLike | None = None,
    bins: BinsLike | None = None,
    level: float = 0.95,
    seed: Seed = 0,
    rounded_to: float | None = None,
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
) -> Assessment:
    """One model, every question: whether it is calibrated, how far off, and where.

    The rows are checked and copied; nothing else is computed until it is asked.

    Parameters
    ----------
    y_true : array-like of shape (n,), (n, L) or (B, …)
        Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
        images.
    y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
        Predicted probabilities: P(positive), one column per class or label, or dense, with classes
        second. Or sums in place of both; the groups of an Accumulator are segments.
    by : array-like, mapping of columns or frame, optional
        Columns that divide the rows into segments and, two and more of them, into slices.
    crossed : int, default 1
        The most columns to cross: with 2, every pair of values of two columns is a segment, too.
    cluster : array-like of shape (n,), optional
        A cluster name for each row; rows of one cluster may depend on each other.
    bins : int, sequence of edges or bin rule, optional
        The bins of measures and of the table of bins; by default 10 of equal width, or those of the
        sums.
    level : float, default 0.95
        Confidence level of all limits, and one minus the error rate of every decision.
    seed : int or numpy.random.Generator, default 0
        For all random draws; a Generator supplies one number. `a.seed` has it.
    rounded_to : float, optional
        The unit to which the scores were rounded, as for :func:`calibration_test`.
    kind : {'classwise', 'confidence', 'top-label', 'multilabel'}, optional
        How a matrix is compared with the labels. 'classwise': each column against the rest,
        averaged over classes. 'confidence': the largest probability of each row (the first, if
        tied) against whether that class is the label. 'top-label': the same for each predicted
        class, weighted by how often it is predicted. 'multilabel': each column is a binary problem
        of its own, averaged over labels; never guessed. Without `kind`, each question about a
        matrix has the view of the function of its name: the top label, or every class.
    labels : sequence, optional
        The classes in column order, if they are not 0 to K−1; for a vector of scores, two classes
        with the positive one last. By default, columns whose names are the classes are matched by
        name. Otherwise the columns are in the order of the categories (of a pandas Categorical,
        Polars Enum or ordered Arrow dictionary, unused categories included) or, without categories,
        in the order of the sorted labels.
    pos_label : optional
        The label that a vector of scores predicts, if labels are not 0/1.
    sample_weight : array-like of shape (n,), optional
        Frequencies or sampling weights (`weight_type`); a weight of 0 leaves the row out.
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
    Assessment
        `verdict`, `test`, `interval`, `estimate(measure)`, `floor(measure)`, `bins`, `power`,
        `panel`, `segments`, `slices`, `classes`, `remedies`, `advice`, `cross_fitted(calibrator)`,
        `gate(…)`; ``print`` shows the first of them.

    Examples
    --------
    >>> import trueness as tn
    >>> data = tn.simulate.demo()
    >>> a = tn.assess(data.y_true, data.y_prob)
    >>> a.verdict.code
    'miscalibrated'
    >>> a.estimate("ece").low == tn.estimate("ece", data.y_true, data.y_prob).low
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
    asked = asked_of(
        y_true,
        y_prob,
        rows,
        by=by,
        crossed=crossed,
        cluster=cluster,
        bins=bins,
        level=checked_assessment_level(level),
        seed=seed,
        rounded_to=rounded_to,
        slice_groups=GROUPS,
        copied=True,
    )
    return Assessment(asked)


def checked_assessment_level(level: float) -> float:
    """The level, unless an assessment would need too many draws for it."""
    checked = checked_level(level)
    check_drawn_level(checked, "an assessment")
    return checked
