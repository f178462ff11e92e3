"""Rows for property tests: ties, edges of bins, zeros and ones are as likely as anything else."""

import numpy as np
from hypothesis import strategies as st

# Scores that sit on edges of 2, 3, 4, 5, 7, 10, 15 bins, at the ends, and a float away from them.
EDGES = sorted({b / n for n in (2, 3, 4, 5, 7, 10, 15) for b in range(n + 1)})
NEAR = sorted({float(np.clip(np.nextafter(e, side), 0, 1)) for e in EDGES for side in (-1, 2)})

scores = st.one_of(
    st.sampled_from(EDGES),
    st.sampled_from(NEAR),
    st.sampled_from([0.0, 1.0, 5e-324, 1e-300, 1e-17, 0.5, 0.1, 0.3]),
    st.integers(0, 100).map(lambda i: i / 100),
    st.floats(0, 1),
)
# Every score is a float32 number.
scores32 = scores.map(lambda p: float(np.float32(p)))
labels = st.integers(0, 1)
rows = st.lists(st.tuples(labels, scores), min_size=1, max_size=40)
rows32 = st.lists(st.tuples(labels, scores32), min_size=1, max_size=40)
whole_weights = st.integers(0, 4)


def arrays(pairs):
    y, p = zip(*pairs, strict=True)
    return np.array(y), np.array(p)


@st.composite
def weighted_rows(draw, weights=whole_weights):
    """Labels, scores and weights, at least one of them positive."""
    pairs = draw(rows)
    w = draw(st.lists(weights, min_size=len(pairs), max_size=len(pairs)))
    if not any(w):
        w[draw(st.integers(0, len(w) - 1))] = 1
    return (*arrays(pairs), np.array(w, dtype=float))


@st.composite
def matrices(draw, max_classes=4):
    """Labels and a matrix of scores whose rows sum to one, with ties; labels do not count from 1."""
    k = draw(st.integers(2, max_classes))
    parts = draw(
        st.lists(
            st.lists(st.integers(0, 4), min_size=k, max_size=k).filter(any), min_size=1, max_size=25
        )
    )
    P = np.array(parts, dtype=float)
    P /= P.sum(axis=1, keepdims=True)
    y = np.array(draw(st.lists(st.integers(0, k - 1), min_size=len(P), max_size=len(P))))
    if y.min() == 1:
        y[0] = 0
    return y, P
