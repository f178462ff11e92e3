"""The true errors of Dirichlet scores: fine bins, double quadrature, closed forms."""

import numpy as np
import pytest

from trueness import simulate
from trueness._numerics.quadrature import expit, integral
from trueness.errors import InputError
from trueness.simulate import LabelNoise, Temperature
from trueness_papers.dirichlet import with_true_errors

UNEVEN = (0.2, 1.0, 3.0)
NOISE = LabelNoise([[0.7, 0.3, 0], [0.1, 0.6, 0.3], [0, 0, 1]])
KINDS = ("classwise", "confidence", "top-label")
CASES = [
    (2, (1.0, 3.0), Temperature(2)),
    (2, (1.0, 3.0), LabelNoise([[0.9, 0.1], [0.4, 0.6]])),
    (3, UNEVEN, Temperature(0.5)),
    (3, UNEVEN, LabelNoise(0.2)),
    (3, UNEVEN, NOISE),
    (10, 0.3, LabelNoise(0.5)),
]


def several(*arguments, **options):
    return with_true_errors(simulate.multiclass(*arguments, **options))


def true_error(d, norm, kind):
    return d.population.true_error({"l1": 1, "l2": 2, "max": np.inf}[norm], kind)


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
    return sum(
        (top == k).mean() * binned_errors(z[top == k], t[top == k], 100) for k in np.unique(top)
    )


@pytest.mark.parametrize(("classes", "alpha", "distortion"), CASES, ids=str)
def test_true_errors_agree_with_fine_bins(classes, alpha, distortion):
    d = several(100_000, classes, alpha=alpha, distortion=distortion, seed=1)
    for kind in KINDS:
        true = [true_error(d, norm, kind) for norm in ("l1", "l2")]
        np.testing.assert_allclose([e.value for e in true], seen(d, kind), atol=1.5e-3)
        assert max(e.uncertainty for e in true) < 1e-4
        assert true[0].value <= true[1].value
    squares = ((d.truth - d.y_prob) ** 2).sum(axis=1)
    assert d.true_squared_ece(classes) == pytest.approx(
        squares.mean(), abs=5 * squares.std() / np.sqrt(len(d)) + 1e-4
    )
    assert d.true_squared_ece(1) == pytest.approx(d.true_ece("l2", kind="confidence") ** 2)


def test_two_classes_are_one_binary_score():
    pair = several(1, 2, alpha=(2.0, 3.0), distortion=Temperature(2))
    one = simulate.binary(1, scores=simulate.Beta(2, 3), distortion=simulate.Logit(slope=0.5))
    for norm in ("l1", "l2", 3, "max"):
        assert pair.true_ece(norm) == pytest.approx(one.true_ece(norm), abs=1e-9)
        assert pair.true_ece(norm, kind="confidence") == pytest.approx(one.true_ece(norm), abs=1e-9)
    assert pair.true_squared_ece(2) == pytest.approx(2 * one.true_squared_ece(), abs=1e-11)


def test_three_classes_agree_with_a_double_quadrature():
    d = several(1, 3, distortion=Temperature(2))
    turns = np.linspace(0, np.pi / 2, 5)

    def truth(s):
        # The two others share the rest as sin² and cos²; their square roots add up to the mix.
        def over_others(a):
            return expit(s / 2 - np.log(np.sin(a) + np.cos(a))) * np.sin(2 * a)

        return integral(over_others, turns)[0]

    def gap(s):
        return np.abs(np.array([truth(x) for x in s]) - expit(s)) * 2 * expit(s) * expit(-s) ** 2

    exact = integral(
        gap, np.array([-40.0, -20, -10, -5, -2, -1, 0, 1, 2, 5, 10, 20]), tolerance=1e-9
    )[0]
    found = true_error(d, "l1", "classwise")
    assert found.method == "quasi-Monte Carlo"
    assert found.value == pytest.approx(exact, abs=6 * found.uncertainty + 1e-7)


def test_even_noise_is_known_from_the_moments_of_the_largest_score():
    d = several(1, 10, distortion=LabelNoise(0.2))
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
    even = several(1, alpha=alpha, distortion=LabelNoise(0.3))
    matrix = several(1, alpha=alpha, distortion=LabelNoise(0.7 * np.eye(3) + 0.1))
    for norm in ("l1", "l2", "max"):
        by_points = true_error(matrix, norm, kind)
        known = true_error(even, norm, kind)
        assert by_points.value == pytest.approx(
            known.value, abs=6 * (by_points.uncertainty + known.uncertainty) + 1e-6
        )


def test_tiny_and_huge_alphas_give_finite_errors():
    for alpha in (1e-3, 1e3):
        d = several(1000, 3, alpha=alpha, distortion=Temperature(2), seed=0)
        assert np.isfinite(d.truth).all()
        for kind in KINDS:
            assert d.true_ece(kind=kind) == pytest.approx(seen(d, kind)[0], abs=0.005)


@pytest.mark.parametrize("pieces", [2, 3, 10, 200])
def test_the_largest_piece_of_a_broken_stick(pieces):
    d = several(1, pieces, distortion=LabelNoise(1.0))
    assert d.true_ece(kind="confidence") == pytest.approx(
        (1 / np.arange(1, pieces + 1)).sum() / pieces - 1 / pieces
    )


def test_calibrated_scores_have_no_error_and_a_bad_k_is_named():
    assert several(1, 4).true_ece(kind="top-label") == several(1, 4).true_squared_ece(4) == 0
    with pytest.raises(
        InputError, match="`k` must be 1 or 4, for which the true error is known; got 2"
    ):
        several(3, 4).true_squared_ece(2)
