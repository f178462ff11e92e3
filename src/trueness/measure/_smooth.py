"""Smooth calibration error: a kernel instead of bins."""

from typing import Unpack

from trueness._numerics.smooth import smooth_error
from trueness._tally.by_segment import measured
from trueness._tally.rows_or_sums import as_rows_or_cells
from trueness._tally.tally import Tally
from trueness.typing import ArrayLike, RowOptions


@measured
def smooth_ece(y_true: ArrayLike | Tally, y_prob: ArrayLike | None = None, **rows: Unpack[RowOptions]) -> float:
    r"""Smooth calibration error: the residuals are smoothed by a Gaussian kernel instead of binned.

    The data choose the width of the kernel: it equals the error itself.

    Parameters
    ----------
    y_true, y_prob
        As for :func:`ece`.
    **rows
        As for :func:`ece`.

    Returns
    -------
    float
        Between 0 and 1, in units of probability; accurate to 1e-6.

    Notes
    -----
    .. math:: \mathrm{smECE}_\sigma = \int_0^1 \Big| \frac1n \sum_i K_\sigma(t, p_i) (y_i - p_i) \Big| \, dt

    with the Gaussian kernel reflected at 0 and 1, at the :math:`\sigma` for which
    :math:`\mathrm{smECE}_\sigma = \sigma`. It is unique, because the left side falls in :math:`\sigma`.

    References
    ----------
    Błasiok, Nakkiran, "Smooth ECE: principled reliability diagrams via kernel smoothing", 2023.

    Examples
    --------
    >>> import trueness as tn
    >>> import warnings; warnings.simplefilter("ignore", tn.OneClassWarning)
    >>> round(tn.smooth_ece([0, 0, 0], [0.95, 0.95, 0.95]), 6)
    0.95
    """
    found = as_rows_or_cells(y_true, y_prob, rows)
    return found.average(lambda part: smooth_error(part.score, part.weight, part.events)[0])
