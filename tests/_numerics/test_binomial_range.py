import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from trueness._numerics.binomial import pvalue
from trueness._numerics.binomial_range import Box, surely_decided


@settings(max_examples=150, deadline=None)
@given(
    k=st.integers(0, 40),
    others=st.integers(0, 40),
    wide=st.tuples(st.integers(0, 4), st.integers(0, 4)) | st.tuples(st.just(20), st.integers(0, 3)),
    p=st.floats(0, 1),
    reach=st.floats(0, 0.1),
    alpha=st.sampled_from([0.01, 0.05, 0.3]),
)
def test_what_is_surely_decided_is_decided_so_everywhere_within_the_limits(k, others, wide, p, reach, alpha):
    q = min(p + reach, 1.0)
    counts = [(a, b) for a in range(k, k + wide[0] + 1) for b in range(others, others + wide[1] + 1) if a + b > 0]
    rows = [a + b for a, b in counts] or [0]
    box = Box(
        *((np.array([low]), np.array([high])) for low, high in (
            (k, k + wide[0]), (others, others + wide[1]), (min(rows), max(rows)), (p, q)
        ))
    )  # fmt: skip
    (rejects,), (accepts,) = surely_decided(box, alpha)
    assert not (rejects and accepts)
    for a, b in counts:
        found = pvalue(a, a + b, np.linspace(p, q, 9)) <= alpha
        assert not rejects or found.all()
        assert not accepts or not found.any()


def test_known_counts_and_rates_are_nearly_all_decided():
    rng = np.random.default_rng(0)
    n, p = rng.integers(50, 5000, 400), rng.random(400)
    k = rng.binomial(n, rng.random(400))
    rejects, accepts = surely_decided(Box((k, k), (n - k, n - k), (n, n), (p, p)), 0.05)
    exact = pvalue(k, n, p) <= 0.05
    assert (rejects | accepts).mean() > 0.99
    assert exact[rejects].all()
    assert not exact[accepts].any()


def test_many_rows_of_doubtful_bins_leave_few_scores_open():
    """30,000 of 100,000 rows are events, and up to 2,000 more of either kind; scores 6 deviations away are decided."""
    p = np.linspace(0.25, 0.35, 201)
    k, others = np.full(p.size, 30_000), np.full(p.size, 70_000)
    box = Box((k, k + 2_000), (others, others + 2_000), (k + others, k + others + 4_000), (p, p))
    rejects, accepts = surely_decided(box, 0.05)
    assert rejects[(p < 30 / 102 - 0.009) | (p > 32 / 102 + 0.009)].all()
    assert not accepts.any()
