"""Whole numbers of any size up to 63 bits, small ones in few bytes (LEB128)."""

import numpy as np

from trueness.errors import InputError
from trueness.typing import Ints

__all__ = ["packed", "unpacked"]

_MOST_BYTES = 9  # 63 bits
_SHIFTS = np.arange(_MOST_BYTES, dtype=np.uint64) * np.uint64(7)


def packed(numbers: Ints) -> bytes:
    """Seven bits to a byte, the lowest first; the top bit says that more follow.

    Examples
    --------
    >>> packed(np.array([0, 127, 128])).hex()
    '007f8001'
    """
    groups = (numbers.astype(np.uint64)[:, None] >> _SHIFTS) & np.uint64(127)
    used = np.where(groups > 0, np.arange(1, _MOST_BYTES + 1), 0).max(axis=1, initial=1)
    place = np.arange(_MOST_BYTES)
    groups |= np.where(place < used[:, None] - 1, np.uint64(128), np.uint64(0))
    return bytes(groups[place < used[:, None]].astype(np.uint8))


def unpacked(data: memoryview, count: int) -> tuple[Ints, memoryview]:
    r"""The first `count` numbers, and the bytes after them.

    Examples
    --------
    >>> numbers, rest = unpacked(memoryview(bytes.fromhex("007f800105")), 3)
    >>> numbers.tolist(), rest.tobytes()
    ([0, 127, 128], b'\x05')
    """
    if count == 0:
        return np.zeros(0, dtype=np.int64), data
    octets = np.frombuffer(data[: count * _MOST_BYTES], dtype=np.uint8)
    ends = np.flatnonzero(octets < 128)[:count]
    if ends.size < count:
        raise InputError("The sums cannot be read: a number is cut off or has more than 63 bits.")
    starts = np.concatenate([[0], ends[:-1] + 1])
    length = ends - starts + 1
    if int(length.max()) > _MOST_BYTES or bool(((octets[ends] == 0) & (length > 1)).any()):
        raise InputError("The sums cannot be read: a number is not written as trueness writes it.")
    used = octets[: int(ends[-1]) + 1]
    place = np.arange(used.size) - np.repeat(starts, length)
    terms = (used & np.uint8(127)).astype(np.uint64) << _SHIFTS[place]
    return np.add.reduceat(terms, starts).astype(np.int64), data[used.size :]
