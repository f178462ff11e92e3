"""The few loops that decide the speed, each behind one name.

Every kernel exists twice: in NumPy (:mod:`trueness._kernels.reference`, which documents it) and in C
(:mod:`trueness._kernels.compiled`). The compiled one is used if its library could be built, unless the
environment variable ``TRUENESS_KERNELS`` is ``reference``.
"""

import os

from trueness._kernels import library
from trueness._kernels.library import BAD_LABEL, BAD_SCORE, BAD_SUM, BAD_WEIGHT, OUTSIDE_EDGES

if library.available() and os.environ.get("TRUENESS_KERNELS") != "reference":
    from trueness._kernels.compiled import (
        bin_sums,
        block_pava,
        cell_sums,
        cells,
        classwise_sums,
        events,
        grid_moments,
        grouped_bin_sums,
        logit_tops,
        mass_sums,
        pava,
        ranks,
        sketch_sums,
        softmax,
        softmax_sums,
        steps,
        top1,
        venn_abers,
        weighted_bin_sums,
        weighted_cells,
    )

    _implementation = "compiled"
else:
    from trueness._kernels.reference import (
        bin_sums,
        block_pava,
        cell_sums,
        cells,
        classwise_sums,
        events,
        grid_moments,
        grouped_bin_sums,
        logit_tops,
        mass_sums,
        pava,
        ranks,
        sketch_sums,
        softmax,
        softmax_sums,
        steps,
        top1,
        venn_abers,
        weighted_bin_sums,
        weighted_cells,
    )

    _implementation = "reference"

__all__ = [
    "BAD_LABEL",
    "BAD_SCORE",
    "BAD_SUM",
    "BAD_WEIGHT",
    "OUTSIDE_EDGES",
    "bin_sums",
    "block_pava",
    "cell_sums",
    "cells",
    "classwise_sums",
    "events",
    "grid_moments",
    "grouped_bin_sums",
    "implementation",
    "logit_tops",
    "mass_sums",
    "pava",
    "ranks",
    "sketch_sums",
    "softmax",
    "softmax_sums",
    "steps",
    "top1",
    "venn_abers",
    "weighted_bin_sums",
    "weighted_cells",
]


def implementation() -> str:
    """Which kernels are in use: ``"compiled"`` or ``"reference"``.

    Returns
    -------
    str
        The implementation.
    """
    return _implementation
