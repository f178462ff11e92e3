"""The paired bootstrap: the same resampled rows for all models."""

import numpy as np
import pytest

import trueness as tn
from trueness._input.sample import Sample
from trueness.errors import NoEstimateWarning
from trueness.infer.comparison._paired_bootstrap import ResampledTally, bootstrap_pvalue, paired_resamples


def silent(done, total):
    pass


def test_all_models_see_the_same_copies_of_the_rows():
    seen = []

    def first(count):
        seen.append(count.copy())
        return float(count @ [1, 0, 0, 0])

    def second(count):
        return float(count @ [1, 2, 0, 0])

    found = paired_resamples([first, second], 4, 500, np.random.default_rng(0), 1, silent)
    counts = np.array(seen)
    assert found.shape == (500, 2)
    assert (counts.sum(axis=1) == 4).all()
    np.testing.assert_array_equal(found[:, 1] - found[:, 0], 2 * counts[:, 1])
    # Copies are binomial: of 4 rows with chance 1/4 each.
    np.testing.assert_allclose(counts.mean(axis=0), 1, atol=4.5 * np.sqrt(0.75 / 500))
    np.testing.assert_allclose(counts.var(axis=0), 0.75, rtol=0.3)


def test_resamples_without_a_value_are_left_out_and_counted():
    def share(count):
        return float("nan") if count[0] == 0 else float(count[0])

    with pytest.warns(NoEstimateWarning, match=r"not finite in (\d+) of 40 resamples") as log:
        found = paired_resamples([share, share], 3, 40, np.random.default_rng(1), 1, silent)
    left_out = int(str(log[0].message).split(" in ")[1].split()[0])
    assert len(found) == 40 - left_out
    assert 0 < left_out < 40
    assert (found > 0).all()
    with pytest.raises(tn.InputError, match="must be finite in some resample; it is in none"):
        paired_resamples([lambda count: float("inf")], 3, 5, np.random.default_rng(1), 1, silent)
    with pytest.warns(NoEstimateWarning):  # one model without a value is enough
        found = paired_resamples([share, lambda count: 1.0], 3, 40, np.random.default_rng(1), 1, silent)
    assert len(found) == 40 - left_out


@pytest.mark.parametrize(
    ("difference", "pvalue"),
    [
        (0.0, 1.0),
        (0.5, 2 * 3 / 6),  # −2, −1 ≤ −0.5
        (1.0, 2 * 3 / 6),  # a tie counts
        (1.0 + 1e-13, 2 * 3 / 6),  # and so does one up to rounding
        (-1.0, 2 * 3 / 6),
        (-1.0 - 1e-13, 2 * 3 / 6),
        (1.5, 2 * 2 / 6),
        (-1.5, 2 * 2 / 6),
        (9.0, 2 * 1 / 6),
        (-9.0, 2 * 1 / 6),
    ],
)
@pytest.mark.all_cases
def test_the_p_value_counts_centred_differences_beyond_zero(difference, pvalue):
    """By hand: differences of −2, …, 2 around their mean, of which those at or beyond the observed one count."""
    drawn = 8.0 + np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    for unit in (2.0**-20, 1.0, 2.0**20):
        assert bootstrap_pvalue(unit * difference, unit * drawn) == pytest.approx(pvalue)


def by_tally(sample, kind, count):
    at = np.repeat(np.arange(count.size), count)
    return tn.tally(sample.y[at], sample.p[at], **({} if sample.p.ndim == 1 else {"kind": kind}))


@pytest.mark.filterwarnings("ignore::trueness.OneClassWarning")
@pytest.mark.parametrize("kind", ["binary", "classwise", "confidence", "top-label"])
def test_a_resampled_tally_is_the_tally_of_the_resampled_rows(kind):
    rng = np.random.default_rng(2)
    n = 30
    P = rng.dirichlet([1, 1, 1], n).round(1)
    P[:, 2] = 1 - P[:, 0] - P[:, 1]
    P = np.abs(P)
    y = rng.integers(0, 3, n)
    sample = Sample((y == 1).astype(int), P[:, 1]) if kind == "binary" else Sample(y, P, None, (0, 1, 2), 1e-6)
    resampled = ResampledTally(sample, kind)
    for _ in range(5):
        count = np.bincount(rng.integers(0, n, n), minlength=n)
        found, expected = resampled(count), by_tally(sample, kind, count)
        assert (found.kind, found.n) == (expected.kind, n)
        for a, b in zip(found.parts, expected.parts, strict=True):
            assert a.score.tolist() == b.score.tolist()
            assert (a.count.tolist(), a.weight.tolist()) == (b.count.tolist(), b.count.tolist())
            assert a.events.tolist() == b.events.tolist()


def test_a_class_that_is_never_predicted_has_no_cells():
    sample = Sample(np.array([0, 1]), np.array([[0.7, 0.2, 0.1], [0.6, 0.3, 0.1]]), None, (0, 1, 2), 1e-6)
    found = ResampledTally(sample, "top-label")(np.array([1, 1]))
    assert [part.size for part in found.parts] == [2, 0, 0]
