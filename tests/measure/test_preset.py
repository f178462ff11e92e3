"""Presets give the digits of the code that they are named after, written here once more from its formulas."""

from itertools import pairwise

import numpy as np
import pytest

import trueness as tn
from trueness.errors import InputError, NoEstimateWarning


def rows(n, seed, *, rounded=True):
    rng = np.random.default_rng(seed)
    p = rng.beta(2, 1, n)
    if rounded:
        p = np.round(p, 1)  # ties, zeros and ones, and scores on edges
    return (rng.random(n) < 0.7 * p + 0.1).astype(int), p


def matrix(n, k, seed):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(k, 0.5), n)
    return rng.integers(0, k, n), P


def mean_gap(pairs):
    return abs(sum(p for _, p in pairs) / len(pairs) - sum(y for y, _ in pairs) / len(pairs))


def helm(y, p):
    """Lists of nearly equal length, the first ones longer; a score on a cut belongs below."""
    ordered, n = sorted(map(float, p)), len(p)
    k = min(10, n)
    sizes = [n // k + (i < n % k) for i in range(k)]
    ends = [sum(sizes[: i + 1]) for i in range(k - 1)]
    cuts = sorted({(ordered[e - 1] + ordered[e]) / 2 for e in ends} | {1.0})
    found = {}
    for label, score in zip(y, p, strict=True):
        found.setdefault(sum(cut < score for cut in cuts), []).append((label, score))
    return sum(len(some) / n * mean_gap(some) for some in found.values())


def hle(y, p):
    order, n = np.argsort(p), len(p)
    total = 0.0
    for i in range(n // 100 - 1):
        some = order[100 * i : 100 * i + 100]
        total += 100 / n * mean_gap([(y[j], p[j]) for j in some]) ** 2
    return total**0.5


def guo(y, p):
    edges = [float(np.float32(i / 15)) for i in range(16)]
    total = 0.0
    for low, high in pairwise(edges):
        some = [(a, b) for a, b in zip(y, p, strict=True) if low < b <= high]
        total += len(some) / len(p) * mean_gap(some) if some else 0.0
    return total


def torchmetrics(y, p):
    edges = [i / 15 for i in range(16)]
    found = {}
    for label, score in zip(y, p, strict=True):
        found.setdefault(sum(edge <= score for edge in edges), []).append((label, score))
    return sum(len(some) / len(p) * mean_gap(some) for some in found.values())


@pytest.mark.parametrize("n", [4, 97, 300])
@pytest.mark.parametrize("rounded", [True, False])
def test_helm_cuts_halfway_and_never_through_a_tie(n, rounded):
    y, p = rows(n, n, rounded=rounded)
    assert tn.preset("helm")(y, p) == pytest.approx(helm(y, p), abs=1e-15)


@pytest.mark.parametrize("n", [200, 299, 450])
def test_hle_leaves_the_last_group_out_but_not_of_the_number_of_rows(n):
    y, p = rows(n, n)
    assert tn.preset("hle")(y, p) == pytest.approx(hle(y, p), abs=1e-15)


def test_hle_by_hand():
    y, p = np.repeat([1, 0, 1], 100), np.repeat([0.5, 0.75, 1.0], 100)
    assert tn.preset("hle")(y, p) == pytest.approx(((0.5**2 + 0.75**2) / 3) ** 0.5)


def test_hle_needs_a_group_and_says_when_there_is_only_the_one_that_is_left_out():
    with pytest.raises(InputError, match=r"at least 100 rows for the preset 'hle'; got 99\."):
        tn.preset("hle")(*rows(99, 0))
    with pytest.warns(NoEstimateWarning, match="150 rows are one group"):
        assert tn.preset("hle")(*rows(150, 0)) == 0


def test_guo_closes_bins_on_the_right_and_torchmetrics_on_the_left():
    y, p = rows(300, 1, rounded=False)
    assert tn.preset("guo2017")(y, p) == pytest.approx(guo(y, p), abs=1e-12)
    assert tn.preset("torchmetrics")(y, p) == pytest.approx(torchmetrics(y, p), abs=1e-12)
    # 1 has a bin of its own in torchmetrics, and 0 has none in the other.
    assert tn.preset("torchmetrics")([0, 1], [1.0, 0.95]) == pytest.approx(0.5 * 1 + 0.5 * 0.05)
    assert tn.preset("guo2017")([0, 1], [1.0, 0.95]) == pytest.approx(0.975 - 0.5)
    assert tn.preset("guo2017")([1, 1], [0.0, 0.95]) == pytest.approx(0.025)
    assert tn.preset("torchmetrics")([1, 1], [0.0, 0.95]) == pytest.approx(0.5 + 0.025)


def test_a_matrix_is_judged_by_its_largest_scores():
    c, P = matrix(300, 4, 2)
    right, top = (P.argmax(axis=1) == c).astype(int), P.max(axis=1)
    for name in ("helm", "guo2017"):
        assert tn.preset(name)(c, P) == tn.preset(name)(right, top)
    assert tn.preset("torchmetrics")(c, P) == tn.preset("torchmetrics")(
        right, top.astype(np.float32)
    )


@pytest.mark.parametrize("k", [2, 5])
def test_lm_eval_sums_squares_over_all_options_of_two_too(k):
    c, P = matrix(50, k, k)
    wanted = np.mean(np.sum((P - np.eye(k)[c]) ** 2, axis=1))
    assert tn.preset("lm-eval-brier")(c, P) == pytest.approx(wanted, abs=1e-14)


@pytest.mark.filterwarnings("ignore")  # those of the other library
def test_torchmetrics_itself():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("torchmetrics", reason="torchmetrics is not installed")
    from torchmetrics.functional.classification import (
        binary_calibration_error,
        multiclass_calibration_error,
    )

    ours = tn.preset("torchmetrics")
    y, p = rows(2_000, 3)
    p = np.where(p * 10 % 2 == 0, p, np.round(p * 15) / 15)
    for kind in (np.float64, np.float32):
        theirs = binary_calibration_error(torch.tensor(p.astype(kind)), torch.tensor(y), n_bins=15)
        assert ours(y, p.astype(kind)) == pytest.approx(
            float(theirs), abs=1e-12 if kind is np.float64 else 1e-6
        )
    c, P = matrix(2_000, 5, 4)
    theirs = multiclass_calibration_error(
        torch.tensor(P), torch.tensor(c), num_classes=5, n_bins=15
    )
    assert ours(c, P) == pytest.approx(float(theirs), abs=1e-6)


@pytest.mark.filterwarnings("ignore")  # those of the other library
def test_the_library_that_helm_calls():
    cal = pytest.importorskip("calibration", reason="uncertainty-calibration is not installed")
    for n, rounded in ((97, True), (101, False), (2_000, True)):
        y, p = rows(n, n, rounded=rounded)
        assert tn.preset("helm")(y, p) == pytest.approx(
            cal.get_ece_em(list(p), list(y), num_bins=10), abs=1e-15
        )


MISTAKES = {
    "an unknown name": (
        lambda: tn.preset("guo"),
        r"`name` must be 'helm', .*Did you mean 'guo2017'\?",
    ),
    "a matrix for hle": (
        lambda: tn.preset("hle")(*matrix(200, 3, 0)),
        "`y_prob` must fit the preset 'hle'.*a matrix",
    ),
    "a vector for a sum": (
        lambda: tn.preset("lm-eval-brier")([0, 1], [0.1, 0.9]),
        "must fit .*got a vector",
    ),
    "percentages": (
        lambda: tn.preset("hle")([0, 1] * 100, [10, 90] * 100),
        r"must lie in \[0, 1\].*percent",
    ),
    "weights": (
        lambda: tn.preset("helm")([0, 1], [0.1, 0.9], sample_weight=[1, 2]),
        "`sample_weight` must be left",
    ),
    "sums": (
        lambda: tn.preset("helm")(tn.tally([0, 1], [0.1, 0.9]), None),
        "A preset needs the rows",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_a_preset_does_not_take_is_refused(mistake):
    call, text = MISTAKES[mistake]
    with pytest.raises(InputError, match=text):
        call()


@pytest.mark.parametrize("name", ["helm", "hle", "torchmetrics", "guo2017", "lm-eval-brier"])
def test_a_preset_tells_what_it_takes_its_conventions_and_whom_to_cite(name):
    found = tn.preset(name)
    assert repr(found).startswith(f"preset({name!r}): ")
    assert "takes: " in repr(found)
    assert "code: " in repr(found)
    assert found.cite().rstrip(".")[-4:].isdigit() or "(20" in found.cite()
