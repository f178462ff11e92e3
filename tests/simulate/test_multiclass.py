import numpy as np
import pytest

from trueness import simulate
from trueness._numerics.quadrature import expit, integral
from trueness.errors import InputError
from trueness.simulate import LabelNoise, Temperature

UNEVEN = (0.2, 1.0, 3.0)
NOISE = LabelNoise([[0.7, 0.3, 0], [0.1, 0.6, 0.3], [0, 0, 1]])
KINDS = ("classwise", "confidence", "top-label")
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


def binned_errors(z, t, bins=500):
    """l1 and l2 distance of mean truth and mean score in bins of equal mass."""
    order = np.argsort(z)
    gaps = np.array([part.mean() for part in np.array_split((t - z)[order], bins)])
    return np.array([np.abs(gaps).mean(), np.sqrt((gaps**2).mean())])


def seen(d, kind):
    """The true errors as fine bins see them: without label noise, but with that of the truth in a bin."""
    z, t = d.y_prob, d.truth
    if kind == "classwise":
        return np.mean([binned_errors(z[:, k], t[:, k]) for k in range(z.shape[1])], axis=0)
    top, rows = z.argmax(axis=1), np.arange(len(z))
    z, t = z[rows, top], t[rows, top]
    if kind == "confidence":
        return binned_errors(z, t)
    return sum((top == k).mean() * binned_errors(z[top == k], t[top == k], 100) for k in np.unique(top))


@pytest.mark.parametrize(("classes", "alpha", "distortion"), CASES, ids=str)
def test_true_errors_agree_with_fine_bins(classes, alpha, distortion):
    d = simulate.multiclass(100_000, classes, alpha=alpha, distortion=distortion, seed=1)
    for kind in KINDS:
        true = [d.true_error(norm, kind=kind) for norm in ("l1", "l2")]
        np.testing.assert_allclose([e.value for e in true], seen(d, kind), atol=1.5e-3)
        assert max(e.uncertainty for e in true) < 1e-4
        assert true[0].value <= true[1].value
    squares = ((d.truth - d.y_prob) ** 2).sum(axis=1)
    assert d.true_squared_ece(classes) == pytest.approx(squares.mean(), abs=5 * squares.std() / np.sqrt(len(d)) + 1e-4)
    assert d.true_squared_ece(1) == pytest.approx(d.true_ece("l2", kind="confidence") ** 2)


@pytest.mark.parametrize(("classes", "alpha", "distortion"), CASES, ids=str)
def test_labels_come_as_often_as_the_truth_says(classes, alpha, distortion):
    d = simulate.multiclass(50_000, classes, alpha=alpha, distortion=distortion, seed=2)
    for k in range(classes):
        order = np.argsort(d.y_prob[:, k])
        for part in np.array_split(order, 4):
            t = d.truth[part, k]
            assert abs((d.y_true[part] == k).sum() - t.sum()) < 5.5 * np.sqrt((t * (1 - t)).sum()) + 15


def test_two_classes_are_one_binary_score():
    pair = simulate.multiclass(1, 2, alpha=(2.0, 3.0), distortion=Temperature(2))
    one = simulate.binary(1, scores=simulate.Beta(2, 3), distortion=simulate.Logit(slope=0.5))
    for norm in ("l1", "l2", 3, "max"):
        assert pair.true_ece(norm) == pytest.approx(one.true_ece(norm), abs=1e-9)
        assert pair.true_ece(norm, kind="confidence") == pytest.approx(one.true_ece(norm), abs=1e-9)
    assert pair.true_squared_ece(2) == pytest.approx(2 * one.true_squared_ece(), abs=1e-11)


def test_three_classes_agree_with_a_double_quadrature():
    d = simulate.multiclass(1, 3, distortion=Temperature(2))
    turns = np.linspace(0, np.pi / 2, 5)

    def truth(s):
        # The two others share the rest as sin² and cos²; their square roots add up to the mix.
        def over_others(a):
            return expit(s / 2 - np.log(np.sin(a) + np.cos(a))) * np.sin(2 * a)

        return integral(over_others, turns)[0]

    def gap(s):
        return np.abs(np.array([truth(x) for x in s]) - expit(s)) * 2 * expit(s) * expit(-s) ** 2

    exact = integral(gap, np.array([-40.0, -20, -10, -5, -2, -1, 0, 1, 2, 5, 10, 20]), tolerance=1e-9)[0]
    found = d.true_error()
    assert found.method == "quasi-Monte Carlo"
    assert found.value == pytest.approx(exact, abs=6 * found.uncertainty + 1e-7)


def test_even_noise_is_known_from_the_moments_of_the_largest_score():
    d = simulate.multiclass(1, 10, distortion=LabelNoise(0.2))
    harmonic = 1 / np.arange(1, 11)
    mean, square = harmonic.sum() / 10, (harmonic.sum() ** 2 + (harmonic**2).sum()) / 110
    assert d.true_ece(kind="confidence") == pytest.approx(0.2 * (mean - 0.1), abs=1e-12)
    assert d.true_squared_ece() == pytest.approx(0.04 * (square - 0.2 * mean + 0.01), abs=1e-12)
    assert d.true_ece("max", kind="top-label") == pytest.approx(0.18)
    assert d.true_squared_ece(10) == pytest.approx(0.04 * 10 * 9 / (100 * 11))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("alpha", [(1.0, 1.0, 1.0), (0.5, 2.0, 4.0)])
def test_quasi_random_points_agree_with_closed_forms(alpha, kind):
    """The same noise as a number, whose errors are known, and as a matrix, whose errors are averaged over points."""
    even = simulate.multiclass(1, alpha=alpha, distortion=LabelNoise(0.3))
    matrix = simulate.multiclass(1, alpha=alpha, distortion=LabelNoise(0.7 * np.eye(3) + 0.1))
    for norm in ("l1", "l2", "max"):
        by_points = matrix.true_error(norm, kind=kind)
        known = even.true_error(norm, kind=kind)
        assert by_points.value == pytest.approx(known.value, abs=6 * (by_points.uncertainty + known.uncertainty) + 1e-6)


def test_tiny_and_huge_alphas_give_finite_errors():
    for alpha in (1e-3, 1e3):
        d = simulate.multiclass(1000, 3, alpha=alpha, distortion=Temperature(2), seed=0)
        assert np.isfinite(d.truth).all()
        for kind in KINDS:
            assert d.true_ece(kind=kind) == pytest.approx(seen(d, kind)[0], abs=0.005)


@pytest.mark.parametrize("distortion", [None, Temperature(1.0), LabelNoise(0)])
def test_a_distortion_that_does_nothing_leaves_no_error(distortion):
    d = simulate.multiclass(10, 4, distortion=distortion, seed=0)
    assert d.y_prob.tobytes() == d.truth.tobytes()
    assert [d.true_ece(kind=kind) for kind in KINDS] == [0, 0, 0]
    assert d.true_squared_ece(4) == 0


@pytest.mark.parametrize("distortion", [None, Temperature(2), Temperature(0.7), LabelNoise(0.0009), LabelNoise(0.002)])
def test_any_prevalence_is_reached(distortion):
    n, wanted = 200_000, np.array([0.001, 0.2, 0.799])
    d = simulate.multiclass(n, prevalence=wanted, distortion=distortion, seed=4)
    noise = 5 * np.sqrt(wanted * (1 - wanted) / n)
    assert (np.abs(d.truth.mean(axis=0) - wanted) < noise + 1e-4).all()
    assert (np.abs(np.bincount(d.y_true, minlength=3) / n - wanted) < noise + 1e-4).all()


def test_an_even_prevalence_changes_nothing():
    d = simulate.multiclass(10, prevalence=[1, 1, 1, 1], distortion=Temperature(3), seed=0)
    assert d.y_prob.tobytes() == simulate.multiclass(10, 4, distortion=Temperature(3), seed=0).y_prob.tobytes()


def test_prevalence_may_be_in_any_unit():
    one, many = (simulate.multiclass(10, prevalence=p, seed=0) for p in ([0.25, 0.75], [1, 3]))
    assert one.y_prob.tobytes() == many.y_prob.tobytes()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: simulate.multiclass(5, 1), "`n_classes` must be a whole number ≥ 2; got 1"),
        (
            lambda: simulate.multiclass(5, 3, alpha=[1, 2]),
            "must agree on the number of classes, at least 2; got `n_classes` 3, `alpha` 2",
        ),
        (
            lambda: simulate.multiclass(5, prevalence=[1]),
            "must agree on the number of classes, at least 2; got `prevalence` 1",
        ),
        (lambda: simulate.multiclass(5, alpha=[[1, 2]]), "`alpha` must be a number or a vector"),
        (lambda: simulate.multiclass(5, alpha=0), "`alpha` must hold finite numbers above 0; got 0"),
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
            lambda: simulate.multiclass(5, alpha=9, prevalence=[0.9, 0.1], distortion=Temperature(1e9)),
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
