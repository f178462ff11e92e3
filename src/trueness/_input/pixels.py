"""Dense scores: images of scores as a matrix with a row per pixel."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from trueness._input.columns import Column
from trueness.errors import InputError
from trueness.typing import ArrayLike, Ints


class Pixels:
    """The scores of images as a matrix.

    It has a row per pixel that counts, image by image, and a column per class. Only the rows or
    columns that are asked for are copied; an array is made of all of them where one is needed.
    """

    ndim = 2

    def __init__(self, images: NDArray[Any], kept: Ints | None = None) -> None:
        self.images = images
        self.kept = kept
        n = images.shape[0] * images.shape[2] if kept is None else kept.size
        self.shape = (n, images.shape[1])
        self.size = n * images.shape[1]
        self.dtype = images.dtype

    def __getitem__(self, key: object) -> NDArray[Any]:
        """The scores of some pixels, one row each, as indexing a matrix would give them.

        A pair of rows and columns reads one class, or some, of all pixels first.
        """
        if isinstance(key, tuple):
            rows, columns = key
            block = self.images[:, columns]
            if block.ndim == 2:
                flat: NDArray[Any] = block.reshape(-1)
            else:
                flat = np.moveaxis(block, 1, -1).reshape(-1, block.shape[1])
            if self.kept is not None:
                flat = flat[self.kept]
            return flat[rows]
        if isinstance(key, slice):
            place = np.arange(*key.indices(self.shape[0]))
        else:
            place = np.asarray(key)
        if place.dtype == bool:
            place = np.flatnonzero(place)
        if self.kept is not None:
            place = self.kept[place]
        image, pixel = np.divmod(place, self.images.shape[2])
        return np.asarray(self.images[image, :, pixel])

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self[:, :], dtype=dtype)


def take(scores: ArrayLike, chosen: NDArray[Any]) -> ArrayLike:
    """Some rows of scores; those of pixels without a copy."""
    if not isinstance(scores, Pixels):
        return scores[chosen]
    if chosen.dtype == bool:
        chosen = np.flatnonzero(chosen)
    if scores.kept is not None:
        chosen = scores.kept[chosen]
    return Pixels(scores.images, chosen)


def flatten(y: Column, p: Column) -> tuple[Column, Column]:
    """Labels and scores with a row per pixel; the scores of one channel are a vector."""
    labels = y.values
    scores = p.values
    if scores.shape[1] == 0:
        raise InputError(
            "y_prob",
            "must have at least one class on its class axis, the second",
            f"got {scores.shape}",
        )
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
        raise InputError(
            "y_true",
            demand,
            f"got {labels.shape} for scores of shape {scores.shape}",
            remedy=remedy,
        )
    if y.missing is not None or p.missing is not None:
        name = "y_true" if p.missing is None else "y_prob"
        remedy = "Give pixels without a label a code of their own, `ignore_index`."
        raise InputError(
            name, "must not be masked where it has more than two dimensions", remedy=remedy
        )
    images = scores.reshape(*scores.shape[:2], -1)
    flat: Any = images.reshape(-1) if images.shape[1] == 1 else Pixels(images)
    return Column(labels.reshape(-1)), Column(flat)


def by_pixel(values: NDArray[Any], n: int, pixels: int) -> NDArray[Any]:
    """A column with an entry per image, or in the shape of the labels, as one per pixel.

    Any other as it is.
    """
    if pixels and values.ndim > 1 and values.size == n:
        return values.reshape(-1)
    if pixels and values.shape == (n // pixels,):
        return np.repeat(values, pixels)
    return values
