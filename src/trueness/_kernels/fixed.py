r"""Scores as whole numbers: the form in which sums do not depend on their order.

A score :math:`p` in [0, 1] counts as :math:`q = \lfloor 2^{53} p \rfloor`, kept in two parts,
:math:`q = 2^{27}\,\mathrm{hi} + \mathrm{lo}`, so that sums of either part over 2³⁵ rows fit 64
bits.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

HI_SCALE: Final = 2.0**26
LO_SCALE: Final = 2.0**27


def parts(p: NDArray[np.floating[Any]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Upper 26 and lower 27 bits of each score in [0, 1], as whole numbers in float64.

    hi = ⌊p·2²⁶⌋ and lo = ⌊(p·2²⁶ − hi)·2²⁷⌋. Every step but the last floor is exact.

    >>> hi, lo = parts(np.array([0.5, 2.0**-53]))
    >>> hi.tolist(), lo.tolist()
    ([33554432.0, 0.0], [0.0, 1.0])
    """
    scaled = np.multiply(p, HI_SCALE, dtype=np.float64)
    hi = np.floor(scaled)
    scaled -= hi
    scaled *= LO_SCALE
    return hi, np.floor(scaled, out=scaled)


def square_parts(p: NDArray[np.floating[Any]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Upper and lower bits of the float64 product p·p; see :func:`parts`."""
    return parts(np.multiply(p, p, dtype=np.float64))


def fixed_value(hi: NDArray[np.int64], lo: NDArray[np.int64]) -> NDArray[np.float64]:
    """The sums of scores as floats, from the sums of their upper and lower parts.

    >>> fixed_value(np.array([2**26, 2**25]), np.array([0, 2**26])).tolist()
    [1.0, 0.5000000074505806]
    """
    return hi * (1 / HI_SCALE) + lo * (1 / (HI_SCALE * LO_SCALE))
