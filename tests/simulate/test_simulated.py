import pickle
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
def test_a_bad_seed_is_named(make):
    for seed in (-1, 1.5, "x", True):
        message = f"`seed` must be a whole number ≥ 0, a numpy Generator or None; got {seed!r}"
        with pytest.raises(InputError, match=re.escape(message)):
            make(seed=seed)


@pytest.mark.parametrize(
    "make",
    [
        simulate.binary,
        simulate.multiclass,
        lambda n: simulate.binned(n, [0.5], [0.5]),
        simulate.demo,
    ],
)
def test_a_bad_number_of_rows_is_named(make):
    for n in (0, -3, 2.0, "10", True, None):
        with pytest.raises(
            InputError, match=re.escape(f"`n` must be a whole number ≥ 1; got {n!r}.")
        ):
            make(n)


def test_repr_is_one_line():
    assert repr(simulate.binary(10, seed=0)) == "Simulated('Beta(1, 1), calibrated', n=10)"
    assert (
        repr(simulate.multiclass(10, 4, seed=0))
        == "Simulated('Dirichlet(1), calibrated', n=10, K=4)"
    )
    assert len(simulate.binary(10)) == 10


def test_it_cannot_be_changed():
    with pytest.raises(AttributeError):
        simulate.binary(3).y_true = np.zeros(3)


@pytest.mark.parametrize(
    "d",
    [
        simulate.binary(5, distortion=simulate.Power(2), prevalence=0.1, seed=0),
        simulate.binned(5, [0.1], [0.3], seed=0),
        simulate.multiclass(5, seed=0),
    ],
    ids=lambda d: d.name,
)
def test_it_survives_pickling(d):
    copy = pickle.loads(pickle.dumps(d))
    assert copy.true_ece() == d.true_ece()
    assert copy.y_prob.tobytes() == d.y_prob.tobytes()


def test_the_columns_of_the_table_are_named():
    assert list(simulate.binary(3).table()) == ["y", "p", "truth"]
    assert list(simulate.multiclass(3, 2).table()) == ["y", "p0", "p1", "truth0", "truth1"]
    assert list(simulate.demo(3).table()) == ["y", "overconfident", "truth", "recalibrated"]
    assert all(column.shape == (3,) for column in simulate.multiclass(3).table().values())


@pytest.mark.parametrize("norm", ["rms", 0.5, None, float("nan")])
def test_a_bad_norm_is_named(norm):
    with pytest.raises(InputError, match="`norm` must be 'l1', 'l2', 'max' or a number ≥ 1; got"):
        simulate.binary(3).true_ece(norm)


def test_a_bad_kind_is_named():
    with pytest.raises(
        InputError, match="`kind` must be 'classwise', 'confidence' or 'top-label'; got 'top'"
    ):
        simulate.multiclass(3).true_ece(kind="top")


@pytest.mark.parametrize(
    ("d", "k", "message"),
    [
        (simulate.binary(3), 2, "`k` must be at most 1, the number of scores in a row; got 2"),
        (simulate.multiclass(3, 4), 5, "`k` must be at most 4"),
        (simulate.multiclass(3, 4), 0, "`k` must be a whole number ≥ 1; got 0"),
    ],
)
def test_a_bad_k_is_named(d, k, message):
    with pytest.raises(InputError, match=message):
        d.true_squared_ece(k)
