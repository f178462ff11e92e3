"""The panel: the numbers by which clinicians and credit analysts judge a model, each with its uncertainty."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from trueness._input.arguments import Seed, checked_word, generator
from trueness._level import checked_level
from trueness._tally.cells import Cells
from trueness._tally.evidence import Evidence
from trueness._tally.rows_or_sums import takes_rows
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Tally
from trueness.errors import InputError, collected_warnings, quietly
from trueness.infer._estimate import estimates_of
from trueness.infer.limits._curve_errors import CURVE_ERRORS
from trueness.infer.test._calibration_test import test_of
from trueness.measure._flexible_curve import METHODS, FlexibleMethod
from trueness.measure._slope import inside_cells
from trueness.results import Estimate, Panel, Significance
from trueness.typing import ArrayLike, RowOptions

NAMES = (
    *("observed_expected", "intercept", "slope", "free_intercept", "brier", "scaled_brier", "log_loss", "auc"),
    *CURVE_ERRORS,
    "ece",
)
"""The keys of the estimates, in reading order."""


@takes_rows
def panel(
    y_true: ArrayLike | Tally | Sketch,
    y_prob: ArrayLike | None = None,
    *,
    level: float = 0.95,
    cluster: ArrayLike | None = None,
    curve: FlexibleMethod = "spline",
    floor: bool = True,
    seed: Seed = None,
    **rows: Unpack[RowOptions],
) -> Panel:
    r"""The measures of a clinical or credit validation, each with confidence limits or a noise floor.

    Parameters
    ----------
    y_true, y_prob
        As for :func:`trueness.ece`, or a :class:`trueness.Tally` or :class:`trueness.Sketch` in place of both. A matrix
        must have two columns, of which the second is the score.
    curve : {'spline', 'loess'}, default 'spline'
        The calibration curve of ICI, E50, E90 and Emax: logistic regression on a restricted cubic spline of the
        log-odds, or local quadratic regression.
    floor : bool, default True
        Whether to draw labels for the noise floors, which takes most of the time.
    seed : int or numpy.random.Generator, optional
        For noise floors.
    level, cluster, **rows
        As for :func:`trueness.estimate`.

    Returns
    -------
    Panel
        A mapping, with ``str``, ``to_frame()``, ``to_dict()`` and ``text(style="tripod")``. Its keys are
        ``observed_expected``; ``intercept`` with the slope fixed at 1 (calibration in the large); ``slope``, and
        ``free_intercept`` of the same model; the proper scores ``brier``, ``scaled_brier`` and ``log_loss``; ``auc``,
        for orientation; ``ici``, ``e50``, ``e90`` and ``emax``, the mean, median, 90th percentile and maximum of the
        distance between scores and calibration curve; ``ece`` in ten bins of equal width; and, as
        :class:`trueness.Significance`, the tests ``spiegelhalter`` and ``cox``, with clusters only the first.

    Notes
    -----
    Each estimate names its method. Scores of exactly 0 and 1 have infinite log-odds: slope, intercepts and splines
    leave them out, and the panel counts them. Numbers agree with R's ``rms::val.prob``, except that its Emax, E90 and
    Eavg come from ``lowess``, and that its C leaves out scores of 0 and 1 and truncates the others to multiples of
    0.0002.

    References
    ----------
    E. W. Steyerberg et al., Assessing the performance of prediction models: a framework for traditional and novel
    measures, Epidemiology 21 (2010), 128-138.
    B. Van Calster et al., A calibration hierarchy for risk models was defined: from utopia to empirical data, Journal
    of Clinical Epidemiology 74 (2016), 167-176.

    Examples
    --------
    >>> import numpy as np
    >>> import trueness as tn
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(2, 6, 1_000)
    >>> y = rng.random(p.size) < p
    >>> panel = tn.panel(y, p, seed=0)
    >>> panel["slope"].low < 1 < panel["slope"].high
    True
    >>> panel["ici"].value < panel["ici"].floor_high
    True
    """
    level, rng = checked_level(level), generator(seed)
    checked_word(curve, "curve", METHODS)
    evidence = Evidence.of(y_true, y_prob, rows, cluster=cluster)
    tally = evidence.tally_in()
    if tally.kind != "binary":
        demand = "must be the probability of one class, or have two columns"
        remedy = "Pass one column and `y_true == that_class`."
        raise InputError("y_prob", demand, "a matrix has a panel per class", remedy=remedy)
    with collected_warnings():
        # Rows have been warned about when they were read; scores of 0 and 1 and missing estimates are in the notes.
        found = estimates_of(NAMES, evidence, level=level, floor=floor, rng=rng, curve=curve)
        few = ("spiegelhalter",) if evidence.whole else ()  # with clusters, for weights that count rows
        methods: Any = ("spiegelhalter", "cox") if evidence.in_clusters is None else few
        tests = tuple(test_of(evidence, method=method, rng=rng) for method in methods)
    clusters = None if evidence.in_clusters is None else evidence.in_clusters.clusters
    return panel_of_answers(found, tests, tally.parts[0], level, curve, clusters, in_buckets=evidence.rows is None)


def panel_of_answers(
    found: Mapping[str, Estimate],
    tests: tuple[Significance, ...],
    cells: Cells,
    level: float,
    curve: FlexibleMethod = "spline",
    clusters: int | None = None,
    *,
    in_buckets: bool = False,
) -> Panel:
    """The panel of estimates and tests that are already known."""
    inside, total, events = inside_cells(cells), float(cells.totals.weight), cells.totals.events
    counts = (round(total) if cells.whole else cells.totals.rows, events, float(events) / total)
    answers, certain = tuple(found[name] for name in NAMES), (inside.certain, inside.wrong)
    in_buckets = in_buckets and clusters is not None
    return Panel(NAMES, answers, tests, *counts, level, curve, *certain, clusters, in_buckets=in_buckets)


def panel_values(tally: Tally, names: Sequence[str], curve: FlexibleMethod) -> dict[str, float]:
    """The values of estimates of a panel, without limits, floors and warnings."""
    settings: Any = {"limits": False, "floor": False, "rng": np.random.default_rng(0), "curve": curve}
    found = quietly(estimates_of, names, Evidence.of_sums(tally), **settings)
    return {name: one.value for name, one in found.items()}
