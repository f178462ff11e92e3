"""Types of arguments and arrays, for type checkers and editors."""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ArrayLike",
    "Bools",
    "Floats",
    "IntervalMethod",
    "Ints",
    "Kind",
    "Missing",
    "Norm",
    "Numbers",
    "RowOptions",
    "WeightType",
]

ArrayLike: TypeAlias = Any
"""An array, a list, a Series, a frame or a tensor."""

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Numbers: TypeAlias = NDArray[np.float64] | NDArray[np.int64]

Norm: TypeAlias = Literal["l1", "l2", "max"] | float
Kind: TypeAlias = Literal["classwise", "confidence", "top-label", "multilabel"]
Missing: TypeAlias = Literal["raise", "drop"]
WeightType: TypeAlias = Literal["auto", "frequency", "importance"]
IntervalMethod: TypeAlias = Literal["exact", "wilson", "jeffreys"]


class RowOptions(TypedDict, total=False):
    """Options that describe the rows, the same for every measure.

    :func:`trueness.ece` documents them.
    """

    kind: Kind
    labels: Sequence[Any] | None
    pos_label: Any
    sample_weight: ArrayLike | None
    weight_type: WeightType
    missing: Missing
    clip_tolerance: float
    sum_tolerance: float | None
    from_logits: bool
    percent: bool
    ignore_index: int | None
