"""Tensors of scores: every pass gives the library's own sums."""

import os
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from strategies import arrays, rows

import trueness as tn

torch = pytest.importorskip("torch", reason="torch is not installed")

FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
LABELS = [
    *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.uint16, torch.uint32, torch.uint64),
    *FLOATS,
]
BINS = [
    1,
    7,
    10,
    20,
    100,
    300,
    [0, 0.1, 0.13, 0.9, 1],
    tn.EqualWidth(15),
    tn.Edges([0.0, 1 / 3, 1.0]),
]
KINDS = ["classwise", "confidence", "top-label"]


def some_rows(n=3_000, seed=0):
    generator = torch.Generator().manual_seed(seed)
    p = torch.rand(n, dtype=torch.float64, generator=generator) ** 6
    p[:12] = torch.linspace(0, 1, 12, dtype=torch.float64)
    p[20:80] = 1.7 * 2.0 ** -torch.arange(1, 61, dtype=torch.float64)
    return torch.rand(n, generator=generator) < p, p


def some_matrix(n=500, k=7, seed=3):
    generator = torch.Generator().manual_seed(seed)
    p = torch.softmax(torch.randn(n, k, dtype=torch.float64, generator=generator), 1)
    p[0] = torch.tensor([0.5, 0.5] + [0.0] * (k - 2))
    return torch.randint(0, k, (n,), generator=generator), p


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_sums_are_those_of_the_library_bit_for_bit(device, dtype):
    y, p = some_rows(100_003 if device == "cuda" else 1_000)
    p = p.to(dtype)
    for bins in BINS:
        expected = tn.binned(y, p, bins=bins)
        assert tn.torch.binned(y.to(device), p.to(device), bins=bins) == expected
        plain = tn.torch.binned(y.to(device), p.to(device), bins=bins, moments=False).parts[0].table
        np.testing.assert_array_equal(plain[..., :3], expected.parts[0].table[..., :3])
        assert not plain[..., 3:].any()


@given(pairs=rows)
def test_operations_agree_with_the_loops_at_every_edge(pairs):
    y, p = map(torch.from_numpy, arrays(pairs))
    for bins in (3, 10, 15):
        for score in (p, p.float()):
            expected = tn.binned(y, score.double(), bins=bins)
            with mock.patch.dict(os.environ, TRUENESS_TORCH="operations"):
                assert tn.torch.binned(y, score, bins=bins) == expected


def test_labels_of_every_type_mean_the_same(device):
    y, p = some_rows(100)
    codes, q = some_matrix(100)
    expected, of_matrix = tn.binned(y, p), tn.binned(codes, q, kind="confidence")
    for dtype in LABELS:
        assert tn.torch.binned(y.to(dtype).to(device), p.to(device)) == expected
        if dtype != torch.bool:
            found = tn.torch.binned(codes.to(dtype).to(device), q.to(device), kind="confidence")
            assert found == of_matrix


def test_few_rows_and_minus_zero(device):
    y, p = (column.to(device) for column in some_rows())
    for n in (0, 1):
        assert tn.torch.binned(y[:n], p[:n]) == tn.binned(y[:n].cpu(), p[:n].cpu())
    y, p = torch.tensor([1, 0], device=device), torch.tensor([-0.0, 0.0], device=device)
    assert tn.torch.binned(y, p) == tn.binned([1, 0], [0.0, 0.0])
    y, p = y[:0], torch.zeros(0, 3, device=device)
    for kind in KINDS:
        expected = tn.binned(y.cpu(), p.cpu(), kind=kind)
        assert tn.torch.binned(y, p, kind=kind) == expected
        assert tn.torch.binned_logits(y, p, kind=kind) == expected
        assert (
            tn.torch.binned_logits(y, p, kind=kind, sample_weight=p[:, 0], ignore_index=-100)
            == expected
        )


@pytest.mark.parametrize("kind", KINDS)
def test_matrices_of_probabilities(device, kind):
    y, p = some_matrix()
    for dtype in (torch.float64, torch.float32):
        for bins in (10, [0, 0.2, 0.7, 1]):
            narrow = p.to(dtype)
            expected = tn.binned(y, narrow, bins=bins, kind=kind)
            assert (
                tn.torch.binned(y.to(device), narrow.to(device), bins=bins, kind=kind) == expected
            )


AWKWARD = {
    "part of a graph": lambda t: t.clone().requires_grad_() * 1 if t.is_floating_point() else t,
    "every second row": lambda t: torch.stack([t, t], dim=1).flatten(0, 1)[::2],
    "transposed": lambda t: t.mT.contiguous().mT if t.ndim == 2 else t,
    "a parameter": lambda t: torch.nn.Parameter(t, requires_grad=False),
    "negated without a copy": lambda t: torch._neg_view(-t) if t.is_floating_point() else t,
    "one row many times": lambda t: t[:1].expand(t.shape),
}


@pytest.mark.filterwarnings("ignore:All 500 labels are equal")
@pytest.mark.parametrize("change", AWKWARD.values(), ids=AWKWARD)
def test_tensors_are_read_as_they_are(device, change):
    y, p = some_rows(500)
    w = torch.arange(1.0, 501.0, dtype=torch.float64)
    y, p, w = (change(column.to(device)) for column in (y.long(), p, w))
    plain = [column.detach().cpu().clone() for column in (y, p, w)]
    assert tn.torch.binned(y, p) == tn.binned(*plain[:2])
    found = tn.torch.binned(y, p, sample_weight=w)
    assert tn.ece(found) == pytest.approx(tn.ece(*plain[:2], sample_weight=plain[2]), rel=1e-12)
    y, z = (change(column.to(device)) for column in some_matrix())
    found = tn.torch.binned_logits(y, z)
    expected = tn.ece(y.cpu(), z.detach().cpu().clone(), kind="confidence", from_logits=True)
    assert tn.ece(found) == pytest.approx(expected, rel=1e-12)


def test_ignored_rows_of_a_vector_are_left_out(device):
    y, p = some_rows(2_001)
    y = y.long()
    y[::3] = -100
    p[::6] = float("nan")
    kept = y != -100
    for bins in (1, 10, 100, [0, 0.1, 0.13, 0.9, 1]):
        found = tn.torch.binned(y.to(device), p.to(device), bins=bins, ignore_index=-100)
        assert found == tn.binned(y[kept], p[kept], bins=bins)
    found = tn.torch.binned_logits(y.to(device), torch.logit(p).to(device), ignore_index=-100)
    assert found.n == int(kept.sum())
    label = y.clamp(min=0).to(torch.uint8).to(device)
    found = tn.torch.binned(
        label, p.nan_to_num().to(device), ignore_index=-255
    )  # no byte is, but 1 would be its wrap
    assert found.n == 2_001


def test_rows_of_bfloat16_need_a_tolerance(device):
    y, p = some_matrix(200, 50)
    p = p.bfloat16()
    with pytest.raises(tn.InputError, match=r"must sum to 1 within 1e-06; .* `sum_tolerance="):
        tn.torch.binned(y.to(device), p.to(device))
    expected = tn.binned(y, p.float().numpy(), sum_tolerance=0.02)
    assert tn.torch.binned(y.to(device), p.to(device), sum_tolerance=0.02) == expected
    metric = tn.torch.CalibrationError(kind="confidence", sum_tolerance=0.02, device=device)
    metric.update(y.to(device), p.to(device))
    assert metric.binned.n == 200


NAN = float("nan")
BAD = [
    (
        [0, 1, 1],
        [0.1, NAN, 0.2],
        "`y_prob` must not have missing values; 1 of 3.*Select the other rows first, such as",
    ),
    ([0, 1, 1], [0.1, 0.2, 1.5], r"must lie in \[0, 1\]; 1 of 3 values does not.* row 2"),
    ([0, 1, 1], [-0.25, 0.2, 0.5], r"must lie in \[0, 1\]; 1 of 3 values does not.* row 0"),
    ([0, 2, 1], [0.1, 0.2, 0.5], "must be 0 or 1; 1 of 3 labels is not, the first is 2 at row 1"),
    ([0, -1, 1], [0.1, 0.2, 0.5], "must be 0 or 1; 1 of 3 labels is not, the first is -1 at row 1"),
    ([2, 2, 1], [0.1, 0.2, 0.5], "`y_true == 2` makes 0/1 of them, if 2 is the event"),
    ([0.0, 0.5, 1], [0.1, 0.2, 0.5], "must be 0 or 1; 1 of 3 .* at row 1"),
    ([0.0, 1e30, 1], [0.1, 0.2, 0.5], "must be 0 or 1; 1 of 3 .* at row 1"),
    ([0.0, NAN, 1], [0.1, 0.2, 0.5], "`y_true` must not have missing values; 1 of 3"),
    ([0, 1, 1], [0.1, 0.2, 0.95], r"edges run from 0 to 0.9 and a score is 0.95"),
    (
        [0, 1, 1],
        [[0.5, 0.5], [0.5, 0.6], [1.0, 0.0]],
        "must sum to 1 within 1e-06; 1 of 3 does not",
    ),
    (
        [0, 1, 1],
        [[0.5, 0.5], [0.5, 0.5005], [0.5, 0.51]],
        "must sum to 1 within 0.002; 1 of 3 does not",
    ),
    ([0, 1, 2], [[0.5, 0.5], [0.5, 0.5], [0.9, 0.1]], "`y_true` must hold class codes 0 to 1"),
    (
        [0, 1, 1],
        [[0.5, 0.5], [0.5, 0.5], [1.25, -0.25]],
        r"must lie in \[0, 1\]; 2 of 6 values do not.* row 2",
    ),
]


@pytest.mark.parametrize(("labels", "scores", "message"), BAD)
def test_bad_values_are_refused_by_name_and_row(device, labels, scores, message):
    dtype = torch.float16 if "0.002" in message else torch.float64
    y, p = torch.tensor(labels, device=device), torch.tensor(scores, dtype=dtype, device=device)
    with pytest.raises(tn.InputError, match=message):
        tn.torch.binned(y, p, bins=[0, 0.9] if "edges" in message else 10)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_rows_left_out_on_a_gpu_are_counted_and_never_summed():
    y, p = torch.tensor([0, 1, 2, 1, 0, -1, 0]), torch.tensor([0.5, NAN, 0.5, 1.5, 0.95, 0.5, -0.5])
    for moments in (False, True):
        metric = tn.torch.CalibrationError(bins=[0, 0.9], moments=moments, device="cuda")
        metric.update(y.cuda(), p.cuda())
        sums = metric.state_dict()["sums"].cpu()
        assert sums[-5:].tolist() == [3, 2, 1, 0, 0]
        assert sums[:10].view(2, 5)[:, 0].tolist() == [1, 0]
