"""Tensors of logits: softmax and sums in one pass, in chunks."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import trueness as tn

torch = pytest.importorskip("torch", reason="torch is not installed")

from trueness.torch._class_sums import class_sums  # noqa: E402
from trueness.torch._dispatch import logistic  # noqa: E402
from trueness.torch._edges import ruler_of  # noqa: E402
from trueness.torch._rows import Layout, TensorRows  # noqa: E402

CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
KINDS = ["confidence", "classwise", "top-label"]


def some_rows(n, k, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    z = 2 * torch.randn(n, k, generator=generator)
    z[::5, 0] = -torch.inf
    z[1::7] = z[1::7].round()  # ties
    return torch.randint(0, k, (n,), generator=generator), z.to(dtype)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("shape", [(0, 3), (1, 2), (2_000, 2), (300, 1_000), (3, 70_000)])
def test_sums_are_those_of_the_library_bit_for_bit(kind, dtype, shape):
    if kind != "confidence" and shape[1] > 10_000:
        shape = (3, 300)
    y, z = some_rows(*shape, dtype)
    assert tn.torch.binned_logits(y, z, kind=kind) == tn.binned(y, z, kind=kind, from_logits=True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(2_000, 2), (300, 1_000)])
@pytest.mark.parametrize("bins", [10, [0, 0.01, 0.5, 1]], ids=repr)
def test_operations_count_what_the_library_counts(kind, shape, bins):
    y, z = some_rows(*shape)
    sums = class_sums(TensorRows(y, z, logits=True), Layout(ruler_of(bins), kind))
    expected = np.array([part.table for part in tn.binned(y, z, bins=bins, kind=kind, from_logits=True).parts])
    assert sums.faults.tolist() == [0] * 5
    np.testing.assert_array_equal(sums.table.numpy()[..., 0], expected[..., 0])
    scores = sums.table.numpy() @ [0, 2.0**-26, 2.0**-53, 0, 0]
    np.testing.assert_allclose(scores, expected @ [0, 2.0**-26, 2.0**-53, 0, 0], rtol=1e-12, atol=1e-13)


def test_a_vector_of_logits_goes_through_the_logistic_function():
    z = torch.linspace(-40, 40, 1_001)
    y = (z > 1).to(torch.int64)
    assert tn.torch.binned_logits(y, z) == tn.binned(y, z, from_logits=True)
    np.testing.assert_allclose(logistic(z).numpy(), torch.sigmoid(z.double()).numpy(), rtol=1e-15)


def test_a_tie_goes_to_the_smallest_class():
    z = torch.tensor([[0.0, 3.0, 3.0], [3.0, 0.0, 3.0]])
    right = tn.torch.binned_logits(torch.tensor([1, 0]), z)
    wrong = tn.torch.binned_logits(torch.tensor([2, 2]), z)
    assert right.parts[0].events.sum() == 2
    assert wrong.parts[0].events.sum() == 0
    rows, layout = TensorRows(torch.tensor([1, 2]), z, logits=True), Layout(ruler_of(10), "confidence")
    assert class_sums(rows, layout).table[..., 1, 0].sum() == 1


def test_rows_without_a_softmax_are_counted_and_never_summed():
    nan, inf = float("nan"), float("inf")
    z = torch.tensor([[1.0, 2.0], [nan, 1.0], [inf, 1.0], [-inf, -inf], [-inf, 1.0], [0.0, 0.0]])
    rows = TensorRows(torch.tensor([0, 0, 0, 0, 1, 2]), z, logits=True)
    sums = class_sums(rows, Layout(ruler_of(10), "confidence"))
    assert sums.faults.tolist() == [3, 1, 0, 0, 0]
    assert int(sums.table[..., 0].sum()) == 2


BAD = [
    (float("nan"), "Rows of `logits` must have no nan, no .inf and at least one finite entry; 1 of 70,000 does not, "),
    (float("inf"), "1 of 70,000 does not, the first at row 69,?999"),
]


@pytest.mark.parametrize(("value", "message"), BAD)
def test_the_message_says_which_row_of_all_rows(value, message):
    y, z = some_rows(70_000, 4)
    z[69_999, 2] = value
    with pytest.raises(tn.InputError, match=message):
        tn.torch.binned_logits(y, z)


def test_a_label_that_is_no_class_is_refused():
    y, z = some_rows(70_000, 4)
    y[68_000] = 4
    with pytest.raises(
        tn.InputError, match=r"class codes 0 to 3, .*; 1 of 70,000 labels is not, the first is 4 at row 68000"
    ):
        tn.torch.binned_logits(y, z)


def test_confidences_outside_the_edges_are_refused():
    y, z = some_rows(100, 4)
    with pytest.raises(tn.InputError, match=r"`bins` must cover every score; its edges run from 0 to 0.3"):
        tn.torch.binned_logits(y, z, bins=[0, 0.3])


SCRIPT = """
import torch, trueness as tn
def peak():  # not ru_maxrss, which a new process has from the one that started it
    with open("/proc/self/status") as file:
        return int(file.read().split("VmHWM:")[1].split()[0])
z, y = torch.zeros(20_000, 1_000, dtype=torch.bfloat16), torch.zeros(20_000, dtype=torch.int64)
z += torch.arange(1_000) % 17
tn.torch.binned_logits(y[:100], z[:100])
before = peak()
tn.torch.binned_logits(y, z)
print(peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs the peak of memory that Linux tells")
def test_no_matrix_of_probabilities_is_made():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    # The logits have 2·10⁷ entries: 160 MB as float64, 80 MB as float32. Peak memory is in KB on Linux; libraries that
    # are imported meanwhile take up to half of that.
    assert int(done.stdout) < 60_000


TIED = [2, 3, 31, 257, 1_000, 2_048, 2_049, 8_193, 70_001, 128_256]


@CUDA
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("k", TIED)
def test_equal_largest_logits_are_found_where_the_first_stands(k, dtype):
    from trueness.torch._logit_kernel import tops

    generator = torch.Generator().manual_seed(k)
    n = 300
    z = (torch.randn(n, k, generator=generator) * 2).to(dtype)
    # Bfloat16 ties by itself; here the maximum also stands in two to four random places, in any two blocks.
    for _ in range(3):
        z[torch.arange(n), torch.randint(0, k, (n,), generator=generator)] = z.max(dim=1).values
    z[0], z[1, 1:] = -torch.inf, -torch.inf
    z[2, k - 1] = torch.inf
    z[3] = torch.inf
    z[4], z[5, k // 2] = torch.nan, torch.nan
    z[6] = 1.0
    expected = torch.from_numpy(z.double().numpy().argmax(axis=1))
    labels = torch.where(torch.arange(n) % 2 == 0, expected, torch.randint(0, k, (n,), generator=generator))
    confidence, correct, place = (column.cpu() for column in tops(labels.cuda(), z.cuda(), besides="place"))
    bad = torch.zeros(n, dtype=torch.bool)
    bad[torch.tensor([0, 2, 3, 4, 5])] = True
    assert torch.equal(confidence.isnan(), bad)
    assert torch.equal(place[~bad].long(), expected[~bad])
    assert torch.equal(correct[~bad].bool(), (labels == expected)[~bad])
    kept = tn.torch.binned_logits(torch.where(bad, -100, labels).cuda(), z.cuda(), ignore_index=-100)
    assert kept.parts[0].events.sum() == int((labels == expected)[~bad].sum())


@CUDA
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("shape", [(0, 3), (1, 2), (5_000, 2), (999, 37), (3_000, 1_000), (70, 70_001)])
def test_kernels_count_what_the_library_counts(kind, dtype, shape):
    y, z = some_rows(*shape, dtype)
    found = tn.torch.binned_logits(y.cuda(), z.cuda(), kind=kind)
    expected = tn.binned(y, z.double(), kind=kind, from_logits=True)
    for a, b in zip(found.parts, expected.parts, strict=True):
        assert a.count.sum() == b.count.sum()
        assert abs(a.count - b.count).sum() <= 2  # a confidence beside an edge
        np.testing.assert_allclose(a.sum_score.sum(), b.sum_score.sum(), rtol=2**-18)


@CUDA
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("k", [10, 66, 1_000, 1_001, 4_000, 5_000])
def test_sums_by_class_on_cuda_have_the_same_bits_in_any_order_and_split(dtype, k):
    y, z = (column.cuda() for column in some_rows(500, k, dtype))
    whole = tn.torch.binned_logits(y, z, kind="classwise", moments=False)
    metric = tn.torch.CalibrationError(kind="classwise", from_logits=True, n_classes=k, device="cuda")
    for some in torch.randperm(500, device="cuda").split(170):
        metric.update(y[some], z[some])
    assert metric.binned == whole


@CUDA
@pytest.mark.parametrize("k", [5, 40, 3_000, 50_257])
def test_a_batch_on_cuda_is_added_to_those_before_it(k):
    y, z = (column.cuda() for column in some_rows(200, k, torch.float32))
    y[::7], y[3] = -100, k
    options = {"kind": "confidence", "from_logits": True, "ignore_index": -100, "device": "cuda"}
    metric, fresh = (tn.torch.CalibrationError(**options) for _ in range(2))
    metric.update(y, z)
    before = metric._sums.flat.clone()
    metric.update(y, z)
    assert torch.equal(metric._sums.flat, 2 * before)
    with pytest.raises(tn.InputError, match="2 labels did not"):
        metric.compute()
    fresh.update(torch.cat([y, y]), torch.cat([z, z]))
    assert torch.equal(metric._sums.flat, fresh._sums.flat)
