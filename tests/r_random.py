"""R's default uniform generator, and three-class example data drawn with it.

R and Python run the same Mersenne-Twister; they differ in how a seed becomes 624 words of state
and in how a word becomes a number between 0 and 1.
"""

import random


def _lcg(seed):
    return (69069 * seed + 1) % 2**32


def r_runif(seed, n):
    """`set.seed(seed); runif(n)` of R."""
    for _ in range(50):
        seed = _lcg(seed)
    words = []
    for _ in range(625):
        seed = _lcg(seed)
        words.append(seed)
    words[0] = (
        624  # the position: all 624 words of state are used up, so the first draw renews them
    )
    position, state = words[0], words[1:]

    twister = random.Random()
    twister.setstate((3, (*state, position), None))
    return [
        _inside_unit_interval(twister.getrandbits(32) * 2.3283064365386963e-10) for _ in range(n)
    ]


def _inside_unit_interval(value):
    half_step = 0.5 * 2.328306437080797e-10
    if value <= 0.0:
        return half_step
    if 1.0 - value <= 0.0:
        return 1.0 - half_step
    return value


def r_example(seed=30, rows=150, columns=3):
    """Labels and normalised rows of `matrix(runif(rows * columns), ncol = columns)`.

    The label of a row is the column of its maximum, so every top label is right.
    """
    draws = r_runif(seed, rows * columns)
    y, P = [], []
    for i in range(rows):
        row = [draws[i + rows * j] for j in range(columns)]  # R fills matrices by column
        y.append(row.index(max(row)))
        P.append([value / sum(row) for value in row])
    return y, P
