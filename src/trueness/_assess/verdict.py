"""`verdict`: whether one model is calibrated, in a record and in words."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Unpack

from trueness._assess.assessment import assessment_of
from trueness._input.arguments import Seed, labels_and_scores
from trueness._tally.accumulator import Accumulator
from trueness._tally.rows_or_sums import takes_rows
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally
from trueness.errors import FewClustersWarning, InputError, OneClassWarning, collected_warnings
from trueness.results import Verdict
from trueness.typing import ArrayLike, RowOptions


@labels_and_scores
@partial(takes_rows, kind="confidence")
def verdict(
    y_true: ArrayLike | Tally | Sketch | Binned | Accumulator,
    y_prob: ArrayLike | None = None,
    *,
    by: Any = None,
    crossed: int = 1,
    cluster: ArrayLike | None = None,
    level: float = 0.95,
    seed: Seed = 0,
    rounded_to: float | None = None,
    **rows: Unpack[RowOptions],
) -> Verdict:
    """Decide whether scores are calibrated, and say how certain that is.

    This is the verdict of :func:`trueness.report`, without the page.

    Parameters
    ----------
    y_true, y_prob
        As for :func:`trueness.ece`, or sums in place of both; the groups of an Accumulator are
        segments. For a matrix, the largest score of each row is judged and every class beside it; a
        matrix of two columns is the binary problem of its second column.
    by : array-like, mapping of columns or frame, optional
        Columns that divide the rows into segments, which are judged jointly.
    crossed : int, default 1
        The most columns to cross: with 2, every pair of values of two columns is a segment, too.
    level : float, default 0.95
        One minus the probability of a false answer to each question: whether all rows are
        calibrated, whether all segments are (jointly), and whether all classes are. Labels that
        agree too well with the scores are called so in at most 0.1 % of calibrated data sets.
    seed : int or numpy.random.Generator, default 0
        For redrawn labels.
    rounded_to : float, optional
        The unit to which the scores were rounded, as for :func:`trueness.calibration_test`: labels
        that contradict a score of exactly 0 or 1 are then possible.
    cluster, **rows
        As for :func:`trueness.estimate`.

    Returns
    -------
    Verdict
        `code`: 'miscalibrated', 'nearly-calibrated' (an error is shown, but small: typically at
        most 0.01, and certainly below 0.04), 'no-evidence', 'too-few-rows' (a miscalibration that matters would
        be noticed with probability below 0.8), 'too-good' (the labels agree with the scores better
        than chance allows) or 'undetermined'. `sentence` says it in words; the other fields are the
        grounds.

    Examples
    --------
    >>> import trueness as tn
    >>> data = tn.simulate.demo()
    >>> found = tn.verdict(data.y_true, data.y_prob)
    >>> found.code, found.headline
    ('miscalibrated', 'Not calibrated: the predictions are overconfident (too extreme) and too high on average.')
    """
    if isinstance(y_prob, Mapping):
        each = "{name: tn.verdict(y_true, one) for name, one in y_prob.items()}"
        remedy = f"Judge each, {each}, or pass the dict to `tn.report`."
        raise InputError(
            "y_prob",
            "must be the scores of one model",
            f"got a dict of {len(y_prob)}",
            remedy=remedy,
        )
    how: Any = {"by": by, "crossed": crossed, "cluster": cluster, "level": level, "seed": seed}
    # The verdict says so itself.
    with collected_warnings(OneClassWarning, FewClustersWarning):
        a = assessment_of(y_true, y_prob, rows, rounded_to=rounded_to, **how)
    return a.verdict
