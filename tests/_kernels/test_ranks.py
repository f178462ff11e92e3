import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import scores

from trueness._kernels.library import BAD_SCORE


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@given(edges=st.lists(scores), p=st.lists(scores, max_size=20))
def test_it_is_binary_search_from_the_right(kernels, dtype, edges, p):
    edges, p = np.sort(np.array(edges, np.float64)), np.array([*p, *edges], dtype)
    status, found = kernels.ranks(edges, p)
    assert status == 0
    assert found.dtype == np.int64
    assert found.tolist() == [int((edges <= score).sum()) for score in p.astype(np.float64)]


@pytest.mark.parametrize("n", [10, 10**5])
@pytest.mark.parametrize("k", [0, 1, 300, 70_000])
def test_crowded_and_many_edges_are_found_too(kernels, n, k):
    rng = np.random.default_rng(k)
    edges, p = np.sort(rng.beta(0.1, 0.3, k)), rng.beta(0.1, 0.3, n)
    p[: min(k, n) // 2] = edges[: min(k, n) // 2]
    assert np.array_equal(kernels.ranks(edges, p)[1], np.searchsorted(edges, p, "right"))


@pytest.mark.parametrize("bad", [-0.1, 1.1, np.nan, np.inf])
def test_a_bad_score_is_reported(kernels, bad):
    assert kernels.ranks(np.array([0.5]), np.array([0.1, bad]))[0] == BAD_SCORE


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("k", [0, 1, 2, 3, 9, 16, 17, 300])
def test_steps_are_the_values_at_the_ranks(kernels, dtype, k):
    rng = np.random.default_rng(k)
    edges, values = np.sort(rng.random(k).astype(dtype).astype(np.float64)), rng.random(k + 1)
    edges[1 : k // 3] = edges[0] if k else 0.0  # of equal edges the last one decides
    p = np.concatenate([rng.random(1500), edges, [0.0, -0.0, 1.0]]).astype(dtype)
    status, found = kernels.steps(edges, values, p)
    assert status == 0
    assert found.dtype == np.float64
    assert np.array_equal(found, values[np.searchsorted(edges, p, "right")])


@pytest.mark.parametrize("bad", [-0.1, 1.1, np.nan, np.inf])
def test_a_bad_score_has_no_step(kernels, bad):
    assert (
        kernels.steps(np.array([0.5]), np.array([0.1, 0.9]), np.array([0.1, bad]))[0] == BAD_SCORE
    )
