"""Dense predictions: scores of shape (B, C, …), read as a matrix with a row per pixel, without a copy of all."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._input.columns import Column
from trueness.errors import InputError
from trueness.typing import Ints


class Pixels:
    """The scores of images as a matrix: a row per pixel that counts, image by image, and a column per class.

    Only the rows or columns that are asked for are copied; an array is made of all of them where one is needed.
    """

    ndim = 2

    def __init__(self, images: NDArray[Any], kept: Ints | None = None) -> None:
        self.images, self.kept = images, kept
        n = images.shape[0] * images.shape[2] if kept is None else kept.size
        self.shape, self.size, self.dtype = (n, images.shape[1]), n * images.shape[1], images.dtype

    def __getitem__(self, key: Any) -> NDArray[Any]:
        if isinstance(key, tuple):
            rows, columns = key
            few = self.images[:, columns]
            found = few.reshape(-1) if few.ndim == 2 else np.moveaxis(few, 1, -1).reshape(-1, few.shape[1])
            return (found if self.kept is None else found[self.kept])[rows]
        at = np.arange(*key.indices(self.shape[0])) if isinstance(key, slice) else np.asarray(key)
        at = np.flatnonzero(at) if at.dtype == bool else at
        image, pixel = np.divmod(at if self.kept is None else self.kept[at], self.images.shape[2])
        return np.asarray(self.images[image, :, pixel])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self[:, :], dtype=dtype)


def take(scores: Any, some: NDArray[Any]) -> Any:
    """Some rows of scores; those of pixels without a copy."""
    if not isinstance(scores, Pixels):
        return scores[some]
    some = np.flatnonzero(some) if some.dtype == bool else some
    return Pixels(scores.images, some if scores.kept is None else scores.kept[some])


def flatten(y: Column, p: Column) -> tuple[Column, Column]:
    """Labels and scores with a row per pixel; the scores of one channel are a vector."""
    labels, scores = y.values, p.values
    pixels = scores.shape[:1] + scores.shape[2:]
    if labels.shape == scores.shape and scores.shape[1] == 1:
        labels = labels[:, 0]
    if labels.shape != pixels:
        demand = f"must have the shape of `y_prob` without its class axis, the second: {pixels}"
        remedy = ""
        if labels.shape == scores.shape[:-1]:
            remedy = "If classes stand last, `np.moveaxis(y_prob, -1, 1)` puts them second."
        elif labels.shape == scores.shape:
            remedy = "For P(positive) of each pixel, `y_prob[:, None]` adds the class axis."
        raise InputError("y_true", demand, f"got {labels.shape} for scores of shape {scores.shape}", remedy=remedy)
    if y.missing is not None or p.missing is not None:
        name = "y_true" if p.missing is None else "y_prob"
        remedy = "Give pixels without a label a code of their own, `ignore_index`."
        raise InputError(name, "must not be masked where it has more than two dimensions", remedy=remedy)
    images = scores.reshape(*scores.shape[:2], -1)
    flat: Any = images.reshape(-1) if images.shape[1] == 1 else Pixels(images)
    return Column(labels.reshape(-1)), Column(flat)


def by_pixel(values: NDArray[Any], n: int, pixels: int) -> NDArray[Any]:
    """A column with an entry per image, or in the shape of the labels, as one per pixel; any other as it is."""
    if pixels and values.ndim > 1 and values.size == n:
        return values.reshape(-1)
    return np.repeat(values, pixels) if pixels and values.shape == (n // pixels,) else values
