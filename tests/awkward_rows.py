"""Rows that pictures must survive."""

import numpy as np

from trueness import simulate


def usual(n=600, seed=1):
    d = simulate.binary(n, distortion=simulate.Logit(slope=0.5), seed=seed)
    return d.y_true, d.y_prob


def rare(n=20_000):
    rng = np.random.default_rng(3)
    p = 1 / (1 + np.exp(-rng.normal(-7.2, 1.2, n)))
    return (rng.random(n) < p).astype(int), p


def matrix(n=300, k=3, seed=4):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(k), n)
    return np.array([rng.choice(k, p=row) for row in P]), P


AWKWARD = {
    "usual": usual(),
    "ten rows": usual(10, seed=3),
    "one row": ([1], [0.3]),
    "rare": rare(),
    "common": (1 - rare()[0], 1 - rare()[1]),
    "zero and one": (np.arange(60) % 3 == 0, (np.arange(60) % 2).astype(float)),
    "constant": (np.arange(50) % 3 == 0, np.full(50, 0.4)),
    "constant zero": (np.zeros(20, int), np.zeros(20)),
    "no event": (np.zeros(40, int), np.linspace(0.01, 0.9, 40)),
}
