"""Tensors of scores: every pass gives the library's own sums."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import arrays, rows, rows32

import trueness as tn

torch = pytest.importorskip("torch", reason="torch is not installed")

from trueness.torch._class_sums import class_sums  # noqa: E402
from trueness.torch._edges import ruler_of  # noqa: E402
from trueness.torch._rows import Layout, TensorRows  # noqa: E402
from trueness.torch._sums import score_sums  # noqa: E402

FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
LABELS = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
BINS = [1, 2, 7, 10, 100, [0, 0.1, 0.13, 0.9, 1], tn.EqualWidth(15), tn.Edges([0.0, 1 / 3, 1.0])]
CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def by_operations(y, p, bins):
    """The pass for devices without a kernel, on the CPU."""
    sums = score_sums(TensorRows(y, p), Layout(ruler_of(bins)))
    assert sums.faults.tolist() == [0] * 5
    return sums.table[0].numpy()


def some_rows(n=3_000, seed=0):
    generator = torch.Generator().manual_seed(seed)
    p = torch.rand(n, dtype=torch.float64, generator=generator) ** 6
    p[:12] = torch.linspace(0, 1, 12, dtype=torch.float64)
    return torch.rand(n, generator=generator) < p, p


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("bins", BINS, ids=repr)
def test_sums_are_those_of_the_library_bit_for_bit(dtype, bins):
    y, p = some_rows()
    p = p.to(dtype)
    expected = tn.binned(y, p, bins=bins)
    assert tn.torch.binned(y, p, bins=bins) == expected
    np.testing.assert_array_equal(by_operations(y, p, bins), expected.parts[0].table)


@pytest.mark.parametrize("bins", [2, 3, 7, 10, 15])
@given(pairs=rows)
def test_operations_agree_with_the_loops_at_every_edge(bins, pairs):
    y, p = arrays(pairs)
    table = by_operations(torch.from_numpy(y), torch.from_numpy(p), bins)
    np.testing.assert_array_equal(table, tn.binned(y, p, bins=bins).parts[0].table)


@pytest.mark.parametrize("bins", [2, 3, 7, 10, 15])
@given(pairs=rows32)
def test_float32_is_placed_as_the_float64_that_it_is(bins, pairs):
    y, p = arrays(pairs)
    narrow = torch.from_numpy(p).float()
    expected = tn.binned(y, p, bins=bins).parts[0].table
    np.testing.assert_array_equal(by_operations(torch.from_numpy(y), narrow, bins), expected)


@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=50))
def test_tiny_float32_scores_are_cut_at_the_same_bit(scores):
    p = torch.tensor(scores, dtype=torch.float32)
    y = torch.zeros(p.shape, dtype=torch.uint8)
    np.testing.assert_array_equal(by_operations(y, p, 10), tn.binned(y, p).parts[0].table)


@pytest.mark.parametrize("dtype", LABELS, ids=str)
def test_labels_of_every_type_mean_the_same(dtype):
    y, p = some_rows()
    assert tn.torch.binned(y.to(dtype), p) == tn.binned(y, p)
    np.testing.assert_array_equal(by_operations(y.to(dtype), p, 10), tn.binned(y, p).parts[0].table)


def test_tensors_that_are_strided_negated_or_part_of_a_graph_are_read_as_they_are():
    y, p = some_rows()
    expected = tn.binned(y[::3], p[::3])
    assert tn.torch.binned(y[::3], p.requires_grad_()[::3]) == expected
    assert tn.torch.binned(y.flip(0), p.flip(0)) == tn.torch.binned(y, p)


@pytest.mark.parametrize("n", [0, 1])
def test_few_rows(n):
    y, p = some_rows()
    assert tn.torch.binned(y[:n], p[:n]) == tn.binned(y[:n], p[:n])
    assert by_operations(y[:n], p[:n], 10)[..., 0].sum() == n


def test_minus_zero_is_zero():
    y, p = torch.tensor([1, 0]), torch.tensor([-0.0, 0.0])
    np.testing.assert_array_equal(by_operations(y, p, 10), tn.binned(y, p).parts[0].table)


@pytest.mark.parametrize("kind", ["classwise", "confidence", "top-label"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("bins", [10, [0, 0.2, 0.7, 1]], ids=repr)
def test_matrices_of_probabilities(kind, dtype, bins):
    generator = torch.Generator().manual_seed(3)
    p = torch.softmax(torch.randn(500, 7, dtype=torch.float64, generator=generator), 1).to(dtype)
    p[0] = torch.tensor([0.5, 0.5, 0, 0, 0, 0, 0])
    y = torch.randint(0, 7, (500,), generator=generator)
    expected = tn.binned(y, p, bins=bins, kind=kind)
    assert tn.torch.binned(y, p, bins=bins, kind=kind) == expected
    sums = class_sums(TensorRows(y, p), Layout(ruler_of(bins), kind))
    np.testing.assert_array_equal(sums.table.numpy(), [part.table for part in expected.parts])
    assert sums.faults.tolist() == [0] * 5


def test_faults_are_counted_and_never_summed():
    y = torch.tensor([0, 1, 2, 1, 0, -1])
    p = torch.tensor([0.5, float("nan"), 0.5, 1.5, 0.95, 0.5])
    sums = score_sums(TensorRows(y, p), Layout(ruler_of([0, 0.9])))
    assert sums.faults.tolist() == [2, 2, 1, 0, 0]
    np.testing.assert_array_equal(sums.table[0].numpy(), tn.binned([0], [0.5], bins=[0, 0.9]).parts[0].table)
    rows = torch.tensor([[0.5, 0.5], [0.5, 0.6], [float("nan"), 1.0], [0.0, 1.0]])
    sums = class_sums(TensorRows(torch.tensor([0, 1, 1, 2]), rows), Layout(ruler_of(10)))
    assert sums.faults.tolist() == [1, 1, 0, 1, 0]
    assert int(sums.table[..., 0].sum()) == 2


def test_without_moments_squares_are_zero():
    y, p = some_rows()
    table = score_sums(TensorRows(y, p), Layout(ruler_of(10), moments=False)).table[0].numpy()
    expected = tn.binned(y, p).parts[0].table.copy()
    expected[..., 3:] = 0
    np.testing.assert_array_equal(table, expected)


MESSAGES = [
    (lambda y, p: ([0, 1], p), r"`y_true` must be a tensor; got list\. `trueness\.binned` takes"),
    (lambda y, p: (y, p.numpy()), "`y_prob` must be a tensor; got ndarray"),
    (lambda y, p: (p, y), "`y_prob` must be float64, float32, float16 or bfloat16; got int64"),
    (lambda y, p: (p, p), "`y_true` must be 0 or 1; 3 of 3 labels are not"),
    (lambda y, p: (y[:2], p), "one entry per row; got 2 labels and 3 rows"),
    (lambda y, p: (y, p[:, None, None]), r"`y_prob` must have shape \(n,\) or \(n, K\); got \(3, 1, 1\)"),
    (lambda y, p: (y, p[:, None]), "one column per class, at least 2"),
    (lambda y, p: (y, p.to("meta")), "must be on one device; got cpu and meta|device 'meta'"),
    (lambda y, p: (y, p.to_sparse()), "must be a dense tensor"),
    (lambda y, p: (y, torch.tensor([0.1, float("nan"), 0.2])), "`y_prob` must not have missing values; 1 of 3"),
    (lambda y, p: (y, torch.tensor([0.1, 0.2, 1.5])), r"must lie in \[0, 1\]; 1 of 3 values does not.* row 2"),
    (
        lambda y, p: (torch.tensor([0, 2, 1]), p),
        "`y_true` must be 0 or 1; 1 of 3 labels is not, the first is 2 at row 1",
    ),
]


@pytest.mark.parametrize(("change", "message"), MESSAGES)
def test_bad_tensors_are_refused_by_name(change, message):
    y, p = change(torch.tensor([0, 1, 1]), torch.tensor([0.1, 0.6, 0.9]))
    with pytest.raises(tn.InputError, match=message):
        tn.torch.binned(y, p)


def test_options_that_cannot_be_are_refused():
    y, p = torch.tensor([0, 1]), torch.tensor([0.1, 0.75])
    with pytest.raises(tn.InputError, match=r"`bins` must have fixed edges .* got EqualMass\(n=5\)"):
        tn.torch.binned(y, p, bins=tn.EqualMass(5))
    with pytest.raises(tn.InputError, match="`kind` must be 'classwise', 'confidence' or 'top-label'; got 'binary'"):
        tn.torch.binned(y, p, kind="binary")
    with pytest.raises(tn.InputError, match=r"edges run from 0 to 0.5 and a score is 0.75"):
        tn.torch.binned(y, p.double(), bins=[0, 0.5])


@CUDA
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("bins", BINS, ids=repr)
@pytest.mark.parametrize("moments", [True, False])
def test_kernels_sum_what_the_loops_sum(dtype, bins, moments):
    y, p = some_rows(100_003)
    p = p.to(dtype)
    expected = tn.binned(y, p, bins=bins).parts[0].table.copy()
    expected[..., 3:] *= moments
    for label in (y, y.to(torch.uint8), y.to(torch.int64)):
        found = tn.torch.binned(label.cuda(), p.cuda(), bins=bins, moments=moments)
        np.testing.assert_array_equal(found.parts[0].table, expected)
