"""What every simulated setting of the papers has in common."""

import pickle
import re

import numpy as np
import pytest

from trueness.errors import InputError
from trueness_papers.matsubara import normal_feature
from trueness_papers.sun import sun_setting

GENERATORS = {
    "sun 1": lambda n=50, **k: sun_setting(1, n, beta=0.5, **k),
    "sun 2": lambda n=50, **k: sun_setting(2, n, beta=0.5, **k),
    "sun 3": lambda n=50, **k: sun_setting(3, n, beta=0.05, **k),
    "matsubara": lambda n=50, **k: normal_feature(n, **k),
}
generators = pytest.mark.parametrize("make", GENERATORS.values(), ids=GENERATORS.keys())


def bytes_of(d):
    return [column.tobytes() for column in d.table().values()]


@generators
def test_the_same_seed_gives_the_same_bytes(make):
    assert bytes_of(make(seed=7)) == bytes_of(make(seed=7))
    assert bytes_of(make(seed=7)) == bytes_of(make(seed=np.random.default_rng(7)))
    assert bytes_of(make(seed=7)) != bytes_of(make(seed=8))


@generators
def test_a_generator_is_advanced_and_the_global_state_is_not(make):
    before = np.random.get_state()[1].tobytes()  # noqa: NPY002
    rng = np.random.default_rng(7)
    assert bytes_of(make(seed=rng)) != bytes_of(make(seed=rng))
    assert np.random.get_state()[1].tobytes() == before  # noqa: NPY002


@generators
def test_rows_have_the_shapes_and_types_that_measures_take(make):
    d = make(seed=0)
    assert d.y_true.shape == (50,)
    assert d.y_true.dtype == np.int64
    assert d.y_prob.dtype == d.truth.dtype == np.float64
    assert d.y_prob.shape == d.truth.shape
    classes = d.y_prob.shape[1] if d.y_prob.ndim == 2 else 2
    assert set(d.y_true.tolist()) <= set(range(classes))
    for p in (d.y_prob, d.truth):
        assert ((p >= 0) & (p <= 1)).all()
        if p.ndim == 2:
            np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-12)


@generators
@pytest.mark.parametrize("seed", [-1, 1.5, "x", True])
def test_a_bad_seed_is_named(make, seed):
    with pytest.raises(InputError, match=re.escape(f"got {seed!r}")):
        make(seed=seed)


@generators
@pytest.mark.parametrize("n", [0, -3, 2.0, "10", True, None])
def test_a_bad_number_of_rows_is_named(make, n):
    with pytest.raises(InputError, match=re.escape(f"`n` must be a whole number ≥ 1; got {n!r}.")):
        make(n)


@generators
def test_data_survive_pickling(make):
    d = make(seed=0)
    copy = pickle.loads(pickle.dumps(d))
    assert copy.true_ece() == d.true_ece()
    assert copy.y_prob.tobytes() == d.y_prob.tobytes()


def test_the_feature_is_a_column_of_the_table():
    assert list(normal_feature(3).table()) == ["y", "p", "truth", "x"]
