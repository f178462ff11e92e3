"""The panel: the measures of a validation in one table."""

from typing import Unpack

import numpy as np

from trueness._assess.assessment import asked_of
from trueness._input.arguments import Seed, checked_word
from trueness._tally.rows_or_sums import takes_rows
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Tally
from trueness.errors import InputError
from trueness.measure._flexible_curve import METHODS, FlexibleMethod
from trueness.results import Panel
from trueness.typing import ArrayLike, RowOptions


@takes_rows
def panel(
    y_true: ArrayLike | Tally | Sketch,
    y_prob: ArrayLike | None = None,
    *,
    level: float = 0.95,
    cluster: ArrayLike | None = None,
    curve: FlexibleMethod = "spline",
    floor: bool = True,
    seed: Seed = 0,
    **rows: Unpack[RowOptions],
) -> Panel:
    r"""The measures of a clinical or credit validation, each with confidence limits or a noise floor.

    Parameters
    ----------
    y_true, y_prob
        As for :func:`trueness.ece`, or a :class:`trueness.Tally` or :class:`trueness.sources.Sketch` in
        place of both. A matrix must have two columns, of which the second is the score.
    curve : {'spline', 'loess'}, default 'spline'
        The calibration curve of ICI, E50, E90 and Emax: logistic regression on a restricted cubic
        spline of the log-odds, or local quadratic regression.
    floor : bool, default True
        Whether to draw labels for the noise floors, which takes most of the time.
    seed : int or numpy.random.Generator, optional
        For noise floors.
    level, cluster, **rows
        As for :func:`trueness.estimate`.

    Returns
    -------
    Panel
        A mapping, with ``str``, ``to_frame()``, ``to_dict()`` and ``text(style="tripod")``. Its
        keys are ``observed_expected``; ``intercept`` with the slope fixed at 1 (calibration in the
        large); ``slope``, and ``free_intercept`` of the same model; the proper scores ``brier``,
        ``scaled_brier`` and ``log_loss``; ``auc``, for orientation; ``ici``, ``e50``, ``e90`` and
        ``emax``, the mean, median, 90th percentile and maximum of the distance between scores and
        calibration curve; ``ece`` in ten bins of equal width; and, as
        :class:`trueness.results.Significance`, the tests ``spiegelhalter`` and ``cox``, with clusters only
        the first.

    Notes
    -----
    Each estimate names its method. Scores of exactly 0 and 1 have infinite log-odds: slope,
    intercepts and splines leave them out, and the panel counts them. Numbers agree with R's
    ``rms::val.prob``, except that its Emax, E90 and Eavg come from ``lowess``, and that its C
    leaves out scores of 0 and 1 and truncates the others to multiples of 0.0002.

    References
    ----------
    E. W. Steyerberg et al., Assessing the performance of prediction models: a framework for
    traditional and novel measures, Epidemiology 21 (2010), 128-138.
    B. Van Calster et al., A calibration hierarchy for risk models was defined: from utopia to
    empirical data, Journal of Clinical Epidemiology 74 (2016), 167-176.

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
    checked_word(curve, "curve", METHODS)
    if not isinstance(floor, bool | np.bool_):
        raise InputError("floor", "must be True or False", f"got {floor!r}")
    a = asked_of(y_true, y_prob, rows, cluster=cluster, level=level, seed=seed)
    evidence = a.view("classwise")
    evidence.tally_in()  # refuses sums of bins
    if evidence.view != "binary":
        demand = "must be the probability of one class, or have two columns"
        remedy = "Pass one column and `y_true == that_class`."
        raise InputError("y_prob", demand, "a matrix has a panel per class", remedy=remedy)
    found: Panel = a.ask("panel", curve=curve, floor=floor)
    return found
