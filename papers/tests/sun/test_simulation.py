import numpy as np
import pytest

from trueness.errors import InputError
from trueness_papers.sun import sun_setting


@pytest.mark.parametrize(
    ("setting", "beta", "squared"),
    [(1, 0, 1 / 12), (1, 0.5, 0.0114306), (1, 1, 0), (2, 0, 0.18007), (2, 1, 0)],
)
def test_the_squared_errors_of_two_classes(setting, beta, squared):
    d = sun_setting(setting, 5, beta=beta)
    assert d.true_squared_ece() == pytest.approx(squared, abs=5e-8 if setting == 1 else 5e-6)
    assert d.true_squared_ece(2) == pytest.approx(2 * d.true_squared_ece())
    for kind in ("classwise", "confidence", "top-label"):
        assert d.true_ece("l2", kind=kind) ** 2 == pytest.approx(d.true_squared_ece())


def test_setting_2_without_slope_has_the_second_moment_of_its_beta():
    mean, variance = 10 / 11, 2.5 / (5.5**2 * 6.5)
    assert sun_setting(2, beta=0).true_squared_ece() == pytest.approx(
        (mean - 0.5) ** 2 + variance, abs=1e-12
    )


@pytest.mark.parametrize("beta", [0, 0.03, 0.1])
def test_setting_3_is_off_by_beta_twice(beta):
    d = sun_setting(3, 5, beta=beta)
    assert d.true_squared_ece(2) == pytest.approx(2 * beta**2)
    assert d.true_squared_ece(10) == pytest.approx(2 * beta**2)
    assert d.true_squared_ece() == pytest.approx(beta**2)
    assert d.true_ece(kind="confidence") == beta
    assert d.true_ece("max", kind="top-label") == beta


@pytest.mark.parametrize(("setting", "beta"), [(1, 0.3), (2, 0.3), (3, 0.1)])
def test_rows_have_the_error_of_their_population(setting, beta):
    n = 50_000
    d = sun_setting(setting, n, beta=beta, seed=1)
    top = d.y_prob.argmax(axis=1), np.arange(n)
    squares = (d.truth - d.y_prob)[top[::-1]] ** 2
    assert d.true_squared_ece() == pytest.approx(
        squares.mean(), abs=5.5 * squares.std() / np.sqrt(n) + 1e-12
    )
    hit = (d.y_true == top[0]) - d.truth[top[::-1]]
    assert abs(hit.mean()) < 5.5 * hit.std() / np.sqrt(n)


def test_setting_2_puts_its_score_at_either_class():
    z = sun_setting(2, 10_000, beta=1, seed=0).y_prob
    assert z.mean(axis=0) == pytest.approx([0.5, 0.5], abs=5 * 0.42 / 100)


def test_the_columns_of_setting_3_have_the_error_that_fine_bins_see():
    d = sun_setting(3, 200_000, beta=0.1, seed=2)
    order = np.argsort(d.y_prob[:, 0])
    gaps = np.array([part.mean() for part in np.array_split((d.truth - d.y_prob)[order, 0], 400)])
    assert d.true_ece("l1") == pytest.approx(np.abs(gaps).mean(), abs=3e-4)
    assert d.true_ece("l2") == pytest.approx(np.sqrt((gaps**2).mean()), abs=3e-4)
    assert d.true_ece("max") == pytest.approx(0.1, abs=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sun_setting(4, beta=0), "`setting` must be 1, 2 or 3; got 4"),
        (
            lambda: sun_setting(3, beta=0.2),
            "`beta` must be a number from 0 to 0.1 in setting 3; got 0.2",
        ),
        (lambda: sun_setting(1, beta="a"), "`beta` must be a finite number; got 'a'"),
        (lambda: sun_setting(1, beta=1).true_squared_ece(3), "`k` must be at most 2"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(InputError, match=message):
        call()
