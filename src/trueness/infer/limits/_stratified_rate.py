"""A rate of events from labels that were drawn inside strata."""

import math

import numpy as np

from trueness._level import Level
from trueness._numerics.proportions import clopper_pearson
from trueness._numerics.students_t import t_over_normal
from trueness._numerics.units import Units
from trueness.errors import InputError
from trueness.infer.limits._limits import Limits
from trueness.typing import Bools, Floats, Ints

_PRIOR = 2.0
"""Labels that the expected rate of a stratum counts for, so that a stratum without an event has a
variance."""


def stratified_rate(
    y: Floats,
    *,
    has_label: Bools,
    p: Floats,
    judge: Floats,
    stratum: Ints,
    level: float,
    units: Units,
) -> Limits:
    r"""The rate of events :math:`\sum_h W_h \bar y_h` over strata h, with limits.

    All arrays have one entry per row: the label `y`, of any value where `has_label` is false; the
    score `p`; the judge's number between 0 and 1; the number of its stratum. A stratum of rows
    without a label is an error.

    Limits are Clopper-Pearson's of as many rows as have the rate's variance. With
    :math:`q_h = (\sum y + 2 m_h) / (n_h + 2)` and :math:`m_h` the mean score, or that of score
    and judge, whichever varies more, the variance is :math:`\sum W_h^2 q_h (1 - q_h) / n_h` and the
    variance between strata divided by the number of rows.
    """
    size = np.bincount(stratum).astype(np.float64)
    labels = np.bincount(stratum, has_label, size.size)
    unlabelled = np.flatnonzero((labels == 0) & (size > 0))
    if unlabelled.size:
        demand = "must be a human label in each stratum of `human_prob`"
        raise InputError("y_human", demand, f"stratum {unlabelled[0]} has none")
    # Rows that were dropped may leave a stratum empty.
    is_filled = size > 0
    size = np.maximum(size, 1.0)
    labels = np.maximum(labels, 1.0)
    weight = np.where(is_filled, size / size[is_filled].sum(), 0.0)
    events = np.bincount(stratum, np.where(has_label, y, 0.0), size.size)
    score = np.bincount(stratum, p, size.size) / size
    blended = np.bincount(stratum, (p + judge) / 2, size.size) / size
    expected = np.where(score * (1 - score) > blended * (1 - blended), score, blended)
    q = (events + _PRIOR * np.clip(expected, 0, 1)) / (labels + _PRIOR)
    value = float(weight @ (events / labels))
    middle = float(weight @ q)
    between = float(weight @ (q - middle) ** 2) / y.size
    variance = float((weight**2 * q * (1 - q) / labels).sum()) + between
    residual = np.where(has_label, y - (events / labels)[stratum], 0.0)
    variance *= units.at(has_label).rows_per_unit(residual[has_label], level)
    # The variance of each stratum is estimated: Student's t instead of the normal law.
    freedom = max(float(has_label.sum()) - float(is_filled.sum()), 1.0)
    variance *= t_over_normal(Level(level).tail, freedom) ** 2
    rows = middle * (1 - middle) / variance if variance > 0 else float(y.size)
    low, high = clopper_pearson(value * rows, rows, level)
    method = "by strata, effective Clopper-Pearson"
    return Limits(float(low), float(high), method, math.sqrt(variance), value=value)
