import re

import numpy as np
import pytest

from trueness import simulate
from trueness.errors import InputError

GENERATORS = {
    "binary": lambda **k: simulate.binary(50, distortion=simulate.Power(2), **k),
    "binary with prevalence": lambda **k: simulate.binary(50, prevalence=0.1, **k),
    "multiclass": lambda **k: simulate.multiclass(50, 4, distortion=simulate.Temperature(2), **k),
    "binned": lambda **k: simulate.binned(50, [0.2, 0.7], [0.3, 0.6], **k),
    "outcomes": lambda **k: simulate.outcomes(np.linspace(0, 1, 50), **k),
    "demo": lambda **k: simulate.demo(50, **k),
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
def test_a_generator_is_used_up_and_the_global_state_is_not(make):
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
    with pytest.raises(
        InputError, match=re.escape(f"`seed` must be a whole number ≥ 0, a numpy Generator or None; got {seed!r}")
    ):
        make(seed=seed)


@pytest.mark.parametrize("n", [0, -3, 2.0, "10", True, None])
@pytest.mark.parametrize(
    "make",
    [
        lambda n: simulate.binary(n),
        lambda n: simulate.multiclass(n),
        lambda n: simulate.binned(n, [0.5], [0.5]),
        lambda n: simulate.demo(n),
    ],
)
def test_a_bad_number_of_rows_is_named(make, n):
    with pytest.raises(InputError, match=re.escape(f"`n` must be a whole number ≥ 1; got {n!r}.")):
        make(n)
