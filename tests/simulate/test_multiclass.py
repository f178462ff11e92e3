import numpy as np
import pytest
from grids import slow

from trueness import simulate
from trueness.errors import InputError
from trueness.simulate import LabelNoise, Temperature

UNEVEN = (0.2, 1.0, 3.0)
NOISE = LabelNoise([[0.7, 0.3, 0], [0.1, 0.6, 0.3], [0, 0, 1]])
CASES = [
    (2, 1.0, Temperature(2)),
    (2, (1.0, 3.0), Temperature(2)),
    (2, (1.0, 3.0), LabelNoise([[0.9, 0.1], [0.4, 0.6]])),
    (3, 1.0, Temperature(2)),
    (3, UNEVEN, Temperature(0.5)),
    (3, UNEVEN, LabelNoise(0.2)),
    (3, UNEVEN, NOISE),
    (10, 0.3, LabelNoise(0.5)),
]


@pytest.mark.parametrize(("classes", "alpha", "distortion"), CASES, ids=str)
def test_labels_come_as_often_as_the_truth_says(classes, alpha, distortion):
    d = simulate.multiclass(50_000, classes, alpha=alpha, distortion=distortion, seed=2)
    for k in range(classes):
        order = np.argsort(d.y_prob[:, k])
        for part in np.array_split(order, 4):
            t = d.truth[part, k]
            assert (
                abs((d.y_true[part] == k).sum() - t.sum()) < 5.5 * np.sqrt((t * (1 - t)).sum()) + 15
            )


@pytest.mark.parametrize("distortion", [None, Temperature(1.0), LabelNoise(0)])
def test_a_distortion_that_does_nothing_leaves_no_error(distortion):
    d = simulate.multiclass(10, 4, distortion=distortion, seed=0)
    assert d.y_prob.tobytes() == d.truth.tobytes()
    assert d.true_ece("max", kind="top-label") == d.true_squared_ece(4) == 0


@pytest.mark.parametrize(
    "distortion",
    [None, LabelNoise(0.002), *slow(Temperature(1.2), Temperature(0.7), LabelNoise(0.0009))],
)
def test_any_prevalence_is_reached(distortion):
    n, wanted = 200_000, np.array([0.001, 0.2, 0.799])
    d = simulate.multiclass(n, prevalence=wanted, distortion=distortion, seed=4)
    noise = 5 * np.sqrt(wanted * (1 - wanted) / n)
    assert (np.abs(d.truth.mean(axis=0) - wanted) < noise + 1e-4).all()
    assert (np.abs(np.bincount(d.y_true, minlength=3) / n - wanted) < noise + 1e-4).all()


def test_an_even_prevalence_changes_nothing():
    d = simulate.multiclass(10, prevalence=[1, 1, 1, 1], distortion=Temperature(3), seed=0)
    assert (
        d.y_prob.tobytes()
        == simulate.multiclass(10, 4, distortion=Temperature(3), seed=0).y_prob.tobytes()
    )


def test_prevalence_may_be_in_any_unit():
    one, many = (simulate.multiclass(10, prevalence=p, seed=0) for p in ([0.25, 0.75], [1, 3]))
    assert one.y_prob.tobytes() == many.y_prob.tobytes()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: simulate.multiclass(5, 1),
            "must agree on the number of classes, at least 2; got `n_classes` 1",
        ),
        (lambda: simulate.multiclass(5, 2.5), "`n_classes` must be a whole number ≥ 1; got 2.5"),
        (
            lambda: simulate.multiclass(5, 3, distortion=Temperature(2)).true_ece(),
            "`population` must have finitely many scores, .* these are Dirichlet scores. Compare `truth` with",
        ),
        (
            lambda: simulate.multiclass(5, 3, alpha=[1, 2]),
            "must agree on the number of classes, at least 2; got `n_classes` 3, `alpha` 2",
        ),
        (
            lambda: simulate.multiclass(5, prevalence=[1]),
            "must agree on the number of classes, at least 2; got `prevalence` 1",
        ),
        (lambda: simulate.multiclass(5, alpha=[[1, 2]]), "`alpha` must be a number or a vector"),
        (
            lambda: simulate.multiclass(5, alpha=0),
            "`alpha` must hold finite numbers above 0; got 0",
        ),
        (lambda: simulate.multiclass(5, alpha="a"), "`alpha` must hold numbers only; got str"),
        (
            lambda: simulate.multiclass(5, prevalence=[0.5, -0.5]),
            r"`prevalence` must hold finite numbers above 0; got \[0.5, -0.5\]",
        ),
        (
            lambda: simulate.multiclass(5, distortion=simulate.Power(2)),
            "`distortion` must be None, Temperature or LabelNoise; got Power",
        ),
        (
            lambda: simulate.multiclass(5, 4, distortion=NOISE),
            "`distortion` must have one row of `flip` per class, 4; got 3",
        ),
        (
            lambda: simulate.multiclass(5, prevalence=[0.01, 0.99], distortion=LabelNoise(0.1)),
            r"`prevalence` must be attainable with LabelNoise\(0.1\)",
        ),
        (
            lambda: simulate.multiclass(5, prevalence=[0.9, 0.1], distortion=LabelNoise(1.0)),
            r"`prevalence` must be attainable with LabelNoise\(1\)",
        ),
        (
            lambda: simulate.multiclass(
                5, alpha=9, prevalence=[0.9, 0.1], distortion=Temperature(1e9)
            ),
            r"`prevalence` must be attainable with Temperature.* A smaller `alpha`",
        ),
        (lambda: Temperature(0), "`value` must be a number above 0; got 0"),
        (lambda: LabelNoise(1.5), "`flip` must be a number from 0 to 1, or a matrix; got 1.5"),
        (lambda: LabelNoise([[0.5, 0.5]]), r"`flip` must be a square matrix; got shape \(1, 2\)"),
        (lambda: LabelNoise([[0.5, 0.4], [0, 1]]), "Rows of `flip` must sum to 1"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(InputError, match=message):
        call()
