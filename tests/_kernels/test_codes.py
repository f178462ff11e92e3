"""Codes of keys: equal keys have equal codes, in the order in which they first occur."""

import numpy as np
import pytest


def encoded(kernels, words, keys=64, size=4096):
    start = np.cumsum([0, *map(len, words)], dtype=np.int64)
    text = np.frombuffer(b"".join(words) + b"\0", np.uint8)
    code, number = np.zeros(len(words), np.uint32), np.zeros(1, np.int64)
    known = (
        np.zeros((4 * keys, 4), np.uint64),
        np.zeros(keys + 1, np.int64),
        np.zeros(size, np.uint8),
    )
    done = kernels.encode_keys(start, text, code, *known, number)
    return code[:done].tolist(), int(number[0])


@pytest.mark.parametrize("length", [0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 24, 40])
def test_keys_that_differ_in_one_byte_are_two(kernels, length):
    key = bytes(range(1, length + 1))
    others = [key[:i] + b"\0" + key[i + 1 :] for i in range(length)]
    words = [key, *others, key + b"\0", *others, key]
    expected = [*range(length + 2), *range(1, length + 1), 0]
    assert encoded(kernels, words) == (expected, length + 2)


def test_it_stops_where_keys_no_longer_fit(kernels):
    words = [b"a", b"b", b"a", b"c", b"a"]
    assert encoded(kernels, words, keys=2) == ([0, 1, 0], 2)
    assert encoded(kernels, words, size=2) == ([0, 1, 0], 2)
    assert encoded(kernels, [], keys=1) == ([], 0)


def test_many_keys_have_the_codes_of_a_dictionary(kernels):
    rng = np.random.default_rng(0)
    words = [b"user-%d" % i for i in rng.integers(0, 3000, 9000)]
    place = {}
    expected = [place.setdefault(word, len(place)) for word in words]
    assert encoded(kernels, words, keys=4096, size=1 << 17) == (expected, len(place))
