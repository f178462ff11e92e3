"""Types of arguments and arrays, for type checkers and editors."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ArrayLike",
    "Bools",
    "Classifier",
    "Columns",
    "Floats",
    "IntervalMethod",
    "Ints",
    "Json",
    "Kind",
    "Missing",
    "Norm",
    "Numbers",
    "Option",
    "RowOptions",
    "WeightType",
]

ArrayLike: TypeAlias = Any
"""An array, a list, a Series, a frame or a tensor."""

Json: TypeAlias = "str | float | bool | Sequence[Json] | Mapping[str, Json] | None"
"""A plain value: text, a number, a truth value, None, or lists and dicts of these."""

Option: TypeAlias = Any
"""An option that is passed on; the function that receives it checks it."""

Columns: TypeAlias = ArrayLike | Mapping[str, ArrayLike]
"""One column, columns by name, or a frame."""

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Numbers: TypeAlias = NDArray[np.float64] | NDArray[np.int64]

Norm: TypeAlias = Literal["l1", "l2", "max"] | float
Kind: TypeAlias = Literal["classwise", "confidence", "top-label", "multilabel"]
Missing: TypeAlias = Literal["raise", "drop"]
WeightType: TypeAlias = Literal["auto", "frequency", "importance"]
IntervalMethod: TypeAlias = Literal["exact", "wilson", "jeffreys"]


class Classifier(Protocol):
    """A fitted classifier, as scikit-learn has them."""

    @property
    def classes_(self) -> ArrayLike:
        """The classes, in the order of the columns of `predict_proba`."""

    def predict_proba(self, X: ArrayLike, /) -> ArrayLike:
        """The probability of each class, a row of them for each row of `X`."""


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
