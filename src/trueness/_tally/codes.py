"""Codes of keys that stay the same from batch to batch."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trueness import _kernels
from trueness.typing import Ints

Codes: TypeAlias = NDArray[np.uint32]


class Dictionary:
    """Different keys in order of their codes 0, 1, …; each is a piece of bytes."""

    def __init__(self) -> None:
        self._make_room(1 << 8, 1 << 12)

    def _make_room(self, keys: int, size: int) -> None:
        self._start = np.zeros(keys + 1, np.int64)
        self._text = np.zeros(size, np.uint8)
        self._slots = np.zeros((2 * keys, 4), np.uint64)
        self._known = np.zeros(1, np.int64)

    def __len__(self) -> int:
        return int(self._known[0])

    def encode(self, start: Ints, text: NDArray[np.uint8]) -> Codes:
        """The code of each of the keys, text[start[i]:start[i + 1]]."""
        code = np.empty(start.size - 1, np.uint32)
        done = 0
        while (done := done + self._add(start[done:], text, code[done:])) < code.size:
            old_start = self._start
            old_text = self._text
            size = len(self)
            self._make_room(
                2 * (old_start.size - 1), 2 * (old_text.size + int(start[done + 1] - start[done]))
            )
            self._add(old_start[: size + 1], old_text, np.empty(size, np.uint32))
        return code

    def _add(self, start: Ints, text: NDArray[np.uint8], code: Codes) -> int:
        return _kernels.encode_keys(
            start, text, code, self._slots, self._start, self._text, self._known
        )

    def encode_numbers(self, numbers: NDArray[Any]) -> Codes:
        start = np.arange(0, numbers.nbytes + 1, numbers.itemsize)
        return self.encode(start, np.ascontiguousarray(numbers).view(np.uint8))

    def keys(self) -> tuple[Ints, NDArray[np.uint8]]:
        start = self._start[: len(self) + 1]
        return start, self._text[: start[-1]]
