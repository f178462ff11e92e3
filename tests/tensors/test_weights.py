"""Weights of rows: the library's own weighted sums, by every pass there is."""

import math

import numpy as np
import pytest
from hypothesis import given
from strategies import weighted_rows

import trueness as tn

torch = pytest.importorskip("torch", reason="torch is not installed")

VIEWS = ["binary", "confidence", "classwise", "top-label"]
NAN, INF = float("nan"), float("inf")


def some_rows(view, from_logits, dtype=torch.float64, n=500, k=5):
    generator = torch.Generator().manual_seed(0)
    if view == "binary":
        z = 2 * torch.randn(n, generator=generator, dtype=torch.float64)
        y = torch.rand(n, generator=generator) < 0.4
        return y, (z if from_logits else torch.sigmoid(z)).to(dtype)
    z = 2 * torch.randn(n, k, generator=generator, dtype=torch.float64)
    z[:, 1] -= 50  # a class that nobody predicts
    y = torch.randint(0, k, (n,), generator=generator)
    return y, (z if from_logits else torch.softmax(z, 1)).to(dtype)


def some_weights(n=500):
    """Fractional, whole and narrow ones, and yes or no."""
    w = torch.rand(n, generator=torch.Generator().manual_seed(9), dtype=torch.float64) * 4
    return w, w.floor(), w.half(), w.floor().bool()


def assert_close(found, expected, rtol=1e-12):
    assert (found.kind, found.classes, found.n) == (expected.kind, expected.classes, expected.n)
    for a, b in zip(found.parts, expected.parts, strict=True):
        np.testing.assert_array_equal(a.count, b.count)
        assert (a.whole, a.floats is None) == (b.whole, b.floats is None)
        if a.floats is not None:
            np.testing.assert_allclose(a.floats, b.floats, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("from_logits", [False, True], ids=["scores", "logits"])
def test_weighted_sums_are_those_of_the_library(device, view, from_logits):
    n = 20_000 if device == "cuda" else 500
    y, p = some_rows(view, from_logits, n=n)
    make = tn.torch.binned_logits if from_logits else tn.torch.binned
    options = {} if view == "binary" else {"kind": view}
    logits = {"from_logits": True} if from_logits else {}
    for w, bins in zip(some_weights(n), (10, [0, 0.1, 0.13, 0.9, 1], 30, 10), strict=True):
        expected = tn.binned(y, p, sample_weight=w, bins=bins, **options, **logits)
        found = make(y.to(device), p.to(device), sample_weight=w.to(device), bins=bins, **options)
        assert_close(found, expected)


def test_narrow_scores_and_rows_without_squares(device):
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        y, p = some_rows("binary", False, dtype)
        w = some_weights()[0]
        expected = tn.binned(y, p, sample_weight=w)
        found = tn.torch.binned(y.to(device), p.to(device), sample_weight=w.to(device))
        assert_close(found, expected)
        plain = (
            tn.torch.binned(y.to(device), p.to(device), sample_weight=w.to(device), moments=False)
            .parts[0]
            .floats
        )
        np.testing.assert_allclose(
            np.delete(plain, 4, 1), np.delete(expected.parts[0].floats, 4, 1), rtol=1e-12
        )
        assert not plain[:, 4].any()


@given(columns=weighted_rows())
def test_a_weight_is_a_repetition(columns):
    y, p, w = map(torch.from_numpy, columns)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRUENESS_TORCH", "operations")
        for bins in (10, [0, 0.1, 0.13, 0.9, 1]):
            once = tn.torch.binned(
                y.repeat_interleave(w.long()), p.repeat_interleave(w.long()), bins=bins
            ).parts[0]
            found = tn.torch.binned(y, p, sample_weight=w, bins=bins).parts[0]
            np.testing.assert_array_equal(found.weight, once.count)
            np.testing.assert_array_equal(found.events, once.events)
            np.testing.assert_allclose(found.sum_score, once.sum_score, rtol=1e-12, atol=1e-13)


def test_many_rows_in_one_cell_lose_no_digits(device):
    n = 50_000
    p, w = (
        torch.rand(n, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
        for seed in (1, 2)
    )
    found = tn.torch.binned(
        torch.ones(n, device=device), p.to(device), sample_weight=w.to(device), bins=1
    )
    assert found.parts[0].sum_score[0] == pytest.approx(math.fsum((w * p).tolist()), rel=1e-13)


def test_rounding_is_kept_beside_the_sum():
    metric = tn.torch.CalibrationError(bins=1)
    for value in (*[1e-16] * 50, 1.0, *[1e-16] * 50):
        metric.update(
            torch.tensor([1]),
            torch.tensor([0.5]),
            sample_weight=torch.tensor([value], dtype=torch.float64),
        )
    assert metric.binned.weight == pytest.approx(1 + 1e-14, rel=1e-16)


def test_rows_of_no_weight_are_looked_at_and_left_out(device):
    y, p = torch.tensor([0, 1, 1], device=device), torch.tensor([0.25, 0.5, 0.75], device=device)
    w = torch.tensor([1.0, 0.0, 2.0], device=device)
    assert tn.torch.binned(y, p, sample_weight=w).n == 2
    with pytest.raises(tn.InputError, match=r"must lie in \[0, 1\]; 1 of 3 values does not"):
        tn.torch.binned(y, p + w.eq(0), sample_weight=w)
    assert tn.torch.binned(y[:0], p[:0], sample_weight=w[:0]) == tn.binned([], [])


BAD = [
    ([1.0, NAN, 1.0], "`sample_weight` must not have missing values; 1 of 3"),
    (
        [1.0, 1.0, -2.0],
        r"must be finite and at least 0; 1 of 3 weights is not, the first is -2.* row 2",
    ),
    (
        [1.0, INF, 2.0],
        r"must be finite and at least 0; 1 of 3 weights is not, the first is inf at row 1",
    ),
    ([0.0, 0.0, 0.0], "`sample_weight` must have a weight above zero; all 3 are zero"),
    ([1.0, 2.0], r"`sample_weight` must have one entry per row \(3\); got shape \(2,\)"),
    ([[1.0], [2.0], [1.0]], r"one entry per row \(3\); got shape \(3, 1\)"),
    ([1j, 1j, 1j], "`sample_weight` must be numbers; got complex64"),
    (None, "`sample_weight` must be a tensor; got list"),
    ("meta", "`sample_weight` must hold values; got a tensor on the device 'meta'"),
]


@pytest.mark.parametrize(("weights", "message"), BAD)
def test_weights_that_cannot_be_are_refused(device, weights, message):
    y, p = torch.tensor([0, 1, 1], device=device), torch.tensor([0.25, 0.5, 0.75], device=device)
    w = (
        torch.tensor(weights, device=device)
        if isinstance(weights, list)
        else p.to("meta")
        if weights
        else [1, 2, 1]
    )
    for make in (tn.torch.binned, tn.torch.binned_logits):
        with pytest.raises(tn.InputError, match=message):
            make(y, p, sample_weight=w)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_bad_weights_on_a_gpu_raise_at_the_end_or_at_once():
    for view in ("binary", "confidence", "classwise"):
        y, p = (column.cuda() for column in some_rows(view, True))
        w = torch.ones(500, device="cuda")
        w[234] = -1
        options = {"kind": view, "from_logits": True, "n_classes": 5, "device": "cuda"}
        metric = tn.torch.CalibrationError(**options)
        metric.update(y, p, sample_weight=w)
        with pytest.raises(
            tn.InputError, match=r"`sample_weight` must be finite, .*; 1 weights were not"
        ):
            metric.compute()
        metric = tn.torch.CalibrationError(**options, validate=True)
        with pytest.raises(
            tn.InputError, match=r"`sample_weight` must be finite .* the first is -1.* at row 234"
        ):
            metric.update(y, p, sample_weight=w)
