"""Weights of rows: the library's own weighted sums, by every pass there is."""

import math

import numpy as np
import pytest
from hypothesis import given
from strategies import weighted_rows

import trueness as tn

torch = pytest.importorskip("torch", reason="torch is not installed")

from trueness.torch._dispatch import _ENTRIES, as_binned, device_sums, on_host  # noqa: E402
from trueness.torch._edges import ruler_of  # noqa: E402
from trueness.torch._rows import Layout, TensorRows  # noqa: E402
from trueness.torch._sums import BAD_WEIGHT, score_sums  # noqa: E402
from trueness.torch._weights import add_compensated  # noqa: E402

CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
VIEWS = ["binary", "confidence", "classwise", "top-label"]
WEIGHTS = ["whole", "fractional", "bool", "half"]


def some_rows(view, from_logits, dtype=torch.float64, n=3_000, k=5, seed=0):
    generator = torch.Generator().manual_seed(seed)
    if view == "binary":
        z = 2 * torch.randn(n, generator=generator, dtype=torch.float64)
        y = torch.rand(n, generator=generator) < 0.4
        return y, (z if from_logits else torch.sigmoid(z)).to(dtype)
    z = 2 * torch.randn(n, k, generator=generator, dtype=torch.float64)
    z[:, 1] -= 50  # a class that nobody predicts
    y = torch.randint(0, k, (n,), generator=generator)
    return y, (z if from_logits else torch.softmax(z, 1)).to(dtype)


def some_weights(what, n=3_000):
    w = torch.rand(n, generator=torch.Generator().manual_seed(9), dtype=torch.float64) * 4
    if what == "half":
        return w.half()
    w = w if what == "fractional" else w.floor()
    return w.bool() if what == "bool" else w


def by_operations(y, p, w, view, from_logits, bins=10):
    """The pass for devices, on whatever device the rows are."""
    layout = Layout(ruler_of(bins), "classwise" if view == "binary" else view)
    sums = on_host(device_sums(TensorRows(y, p, w.double(), logits=from_logits), layout))
    assert not sums.faults.any()
    return as_binned(sums, layout, None if view == "binary" else p.shape[1])


def by_library(y, p, w, view, from_logits, bins=10):
    options = {"from_logits": True} if from_logits else {}
    options |= {} if view == "binary" else {"kind": view}
    return tn.binned(y, p, sample_weight=w, bins=bins, **options)


def assert_close(found, expected, rtol=1e-12):
    assert (found.kind, found.classes, found.n) == (expected.kind, expected.classes, expected.n)
    for a, b in zip(found.parts, expected.parts, strict=True):
        np.testing.assert_array_equal(a.count, b.count)
        assert (a.whole, a.floats is None) == (b.whole, b.floats is None)
        if a.floats is not None:
            np.testing.assert_allclose(a.floats, b.floats, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("from_logits", [False, True], ids=["scores", "logits"])
@pytest.mark.parametrize("what", WEIGHTS)
def test_weighted_sums_are_those_of_the_library(view, from_logits, what):
    y, p = some_rows(view, from_logits)
    w = some_weights(what)
    expected = by_library(y, p, w, view, from_logits)
    kind = {} if view == "binary" else {"kind": view}
    make = tn.torch.binned_logits if from_logits else tn.torch.binned
    assert make(y, p, sample_weight=w, **kind) == expected
    assert_close(by_operations(y, p, w, view, from_logits), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("view", ["confidence", "classwise"])
def test_narrow_logits_are_weighted_too(dtype, view, monkeypatch):
    monkeypatch.setitem(_ENTRIES, view, 2_000)
    y, z = some_rows(view, True, dtype)
    w = some_weights("fractional")
    w[:800] = 0  # two chunks of bfloat16 that have no weight
    expected = by_library(y, z, w, view, True)
    assert_close(tn.torch.binned_logits(y, z, kind=view, sample_weight=w), expected)
    assert_close(by_operations(y, z, w, view, True), expected)


@pytest.mark.parametrize("bins", [2, 10, [0, 0.1, 0.13, 0.9, 1]], ids=repr)
@given(columns=weighted_rows())
def test_a_weight_is_a_repetition(bins, columns):
    y, p, w = map(torch.from_numpy, columns)
    times = w.long()
    layout = Layout(ruler_of(bins))
    once = score_sums(TensorRows(y.repeat_interleave(times), p.repeat_interleave(times)), layout)
    weighted = score_sums(TensorRows(y, p, w), layout)
    table = once.table[0].double()
    both = table.sum(dim=1)
    assert torch.equal(weighted.weighted[0, :, 1], both[:, 0])
    assert torch.equal(weighted.weighted[0, :, 3], table[:, 1, 0])
    unit = torch.tensor([2.0**-26, 2.0**-53], dtype=torch.float64)
    np.testing.assert_allclose(weighted.weighted[0, :, 4], both[:, 1:3] @ unit, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(weighted.weighted[0, :, 6], table[:, 1, 1:3] @ unit, rtol=1e-12, atol=1e-13)


def test_many_rows_in_one_cell_lose_no_digits():
    n = 300_000
    p = torch.rand(n, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    w = torch.rand(n, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    sums = score_sums(TensorRows(torch.ones(n), p, w), Layout(ruler_of(1)))
    assert sums.weighted[0, 0, 4].item() == pytest.approx(math.fsum((w * p).tolist()), rel=1e-13)


def test_rounding_is_kept_beside_the_sum():
    total = torch.zeros(2, 1, dtype=torch.float64)
    for value in (1.0, *[1e-17] * 1000):
        add_compensated(total, torch.tensor([value], dtype=torch.float64))
    assert total.sum().item() == pytest.approx(1 + 1e-14, rel=1e-16)


def test_rows_of_no_weight_are_looked_at_and_left_out():
    y, p, w = torch.tensor([0, 1, 1]), torch.tensor([0.25, 0.5, 0.75]), torch.tensor([1.0, 0.0, 2.0])
    assert tn.torch.binned(y, p, sample_weight=w).n == 2
    with pytest.raises(tn.InputError, match=r"must lie in \[0, 1\]; 1 of 3 values does not"):
        tn.torch.binned(y, p + w.eq(0), sample_weight=w)
    assert tn.torch.binned(y[:0], p[:0], sample_weight=w[:0]) == tn.binned([], [])


def test_bad_weights_are_counted_and_never_summed():
    nan, inf = float("nan"), float("inf")
    w = torch.tensor([1.0, nan, -1.0, inf, 1e101, 0.5], dtype=torch.float64)
    sums = score_sums(TensorRows(torch.zeros(6), torch.full((6,), 0.5), w), Layout(ruler_of(1)))
    assert sums.faults[BAD_WEIGHT] == 4
    assert sums.weighted[0, 0].tolist() == [2, 1.5, 1.25, 0, 0.75, 0.375, 0, 1]


BAD = [
    ([1.0, float("nan"), 1.0], "`sample_weight` must not have missing values; 1 of 3"),
    (
        [1.0, 1.0, -2.0],
        r"`sample_weight` must be finite and at least 0; 1 of 3 weights is not, the first is -2.* row 2",
    ),
    ([0.0, 0.0, 0.0], "`sample_weight` must have a weight above zero; all 3 are zero"),
    ([1.0, 2.0], r"`sample_weight` must have one entry per row \(3\); got shape \(2,\)"),
    ([[1.0], [2.0], [1.0]], r"one entry per row \(3\); got shape \(3, 1\)"),
    ([1j, 1j, 1j], "`sample_weight` must be numbers; got complex64"),
]


@pytest.mark.parametrize(("weights", "message"), BAD)
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=CUDA)])
def test_weights_that_cannot_be_are_refused(weights, message, device):
    y, p = torch.tensor([0, 1, 1], device=device), torch.tensor([0.25, 0.5, 0.75], device=device)
    w = torch.tensor(weights, device=device)
    with pytest.raises(tn.InputError, match=message):
        tn.torch.binned(y, p, sample_weight=w)
    with pytest.raises(tn.InputError, match=message):
        tn.torch.binned_logits(y, p, sample_weight=w)


def test_weights_are_tensors_of_the_same_device():
    y, p = torch.tensor([0, 1]), torch.tensor([0.25, 0.5])
    with pytest.raises(tn.InputError, match="`sample_weight` must be a tensor; got list"):
        tn.torch.binned(y, p, sample_weight=[1, 2])
    with pytest.raises(tn.InputError, match="`sample_weight` must hold values; got a tensor on the device 'meta'"):
        tn.torch.binned(y, p, sample_weight=p.to("meta"))


@CUDA
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("from_logits", [False, True], ids=["scores", "logits"])
@pytest.mark.parametrize("what", WEIGHTS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_a_gpu_gives_the_weighted_numbers_of_the_library(view, from_logits, what, dtype):
    y, p = some_rows(view, from_logits, dtype, n=20_000)
    w = some_weights(what, 20_000)
    kind = {} if view == "binary" else {"kind": view}
    make = tn.torch.binned_logits if from_logits else tn.torch.binned
    found = make(y.cuda(), p.cuda(), sample_weight=w.cuda(), **kind)
    expected = by_library(y, p, w, view, from_logits)
    if dtype == torch.float64 or not from_logits or view in ("binary", "classwise"):
        assert_close(found, expected)
    else:  # softmax in float32: a confidence beside an edge may fall on its other side
        assert found.weight == pytest.approx(expected.weight, rel=1e-12)
        assert tn.ece(found) == pytest.approx(tn.ece(expected), rel=1e-5)
        repeated = make(y.cuda(), p.cuda(), **kind)
        once = make(y.cuda(), p.cuda(), sample_weight=torch.ones_like(w).cuda(), **kind)
        assert tn.ece(once) == pytest.approx(tn.ece(repeated), rel=1e-12)


@CUDA
def test_bad_weights_on_a_gpu_raise_at_the_end_or_at_once():
    y, p = (column.cuda() for column in some_rows("confidence", True))
    w = torch.ones(3_000, device="cuda")
    w[1_234] = -1
    metric = tn.torch.CalibrationError(kind="confidence", from_logits=True, device="cuda")
    metric.update(y, p, sample_weight=w)
    with pytest.raises(tn.InputError, match=r"`sample_weight` must be finite, .*; 1 weights were not"):
        metric.compute()
    metric = tn.torch.CalibrationError(kind="confidence", from_logits=True, device="cuda", validate=True)
    with pytest.raises(tn.InputError, match=r"`sample_weight` must be finite .* the first is -1.* at row 1234"):
        metric.update(y, p, sample_weight=w)
