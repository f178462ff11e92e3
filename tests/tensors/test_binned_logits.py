"""Tensors of logits: softmax and sums in one pass, in chunks."""

import numpy as np
import pytest

import trueness as tn

torch = pytest.importorskip("torch", reason="torch is not installed")

CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
KINDS = ["confidence", "classwise", "top-label"]
NAN, INF = float("nan"), float("inf")


def some_rows(n, k, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    z = 2 * torch.randn(n, k, generator=generator)
    z[::5, 0] = -INF
    z[1::7] = z[1::7].round()  # ties
    return torch.randint(0, k, (n,), generator=generator), z.to(dtype)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_sums_are_those_of_the_library_bit_for_bit(kind, dtype):
    for shape in (
        (0, 3),
        (1, 2),
        (600, 2),
        (40, 300),
        (3, 20_000) if kind == "confidence" else (3, 70),
    ):
        y, z = some_rows(*shape, dtype)
        assert tn.torch.binned_logits(y, z, kind=kind) == tn.binned(
            y, z, kind=kind, from_logits=True
        )


def many_entries(n, k, dtype=torch.float32):
    """More than are read at once."""
    return torch.arange(n) % k, (torch.arange(n * k) * 7 // 5 % 37 / 8).to(dtype).view(n, k)


def test_chunks_add_up(monkeypatch):
    y, z = many_entries(1_100, 1_000, torch.bfloat16)
    assert tn.torch.binned_logits(y, z) == tn.binned(y, z, kind="confidence", from_logits=True)
    y, z = many_entries(50, 100_000)
    monkeypatch.setenv("TRUENESS_TORCH", "operations")
    assert_close(
        tn.torch.binned_logits(y, z), tn.binned(y, z, kind="confidence", from_logits=True), 1e-12
    )


@pytest.mark.parametrize("kind", KINDS)
def test_operations_count_what_the_library_counts(kind, monkeypatch):
    monkeypatch.setenv("TRUENESS_TORCH", "operations")
    for shape in ((1_000, 2), (100, 60)):
        for bins in (10, [0, 0.01, 0.5, 1]):
            y, z = some_rows(*shape)
            found = tn.torch.binned_logits(y, z, kind=kind, bins=bins)
            assert_close(found, tn.binned(y, z, bins=bins, kind=kind, from_logits=True), 1e-12)


def assert_close(found, expected, rtol, moved=0):
    """The same counts, but for `moved` scores beside an edge, and sums."""
    for a, b in zip(found.parts, expected.parts, strict=True):
        assert a.count.sum() == b.count.sum()
        assert a.events.sum() == b.events.sum()
        assert abs(a.count - b.count).sum() <= moved
        if not moved:
            np.testing.assert_array_equal(a.events, b.events)
            np.testing.assert_allclose(a.sum_score, b.sum_score, rtol=rtol, atol=1e-13)
        np.testing.assert_allclose(a.sum_score.sum(), b.sum_score.sum(), rtol=rtol)


def test_a_vector_of_logits_goes_through_the_logistic_function(device):
    z = torch.cat([torch.linspace(-40, 40, 1_001), torch.tensor([INF, -INF])])
    y = (z > 1).to(torch.int64)
    expected = tn.binned(y, z, from_logits=True)
    found = tn.torch.binned_logits(y.to(device), z.to(device))
    assert device == "cuda" or found == expected
    assert_close(found, expected, 1e-12)
    assert tn.torch.binned_logits(y[-2:].to(device), z[-2:].to(device)) == tn.binned(
        [1, 0], [1.0, 0.0]
    )


def test_a_tie_goes_to_the_smallest_class(device, request):
    z = torch.tensor([[0.0, 3.0, 3.0], [3.0, 0.0, 3.0]], device=device)
    right = tn.torch.binned_logits(torch.tensor([1, 0], device=device), z)
    wrong = tn.torch.binned_logits(torch.tensor([2, 2], device=device), z)
    assert (right.parts[0].events.sum(), wrong.parts[0].events.sum()) == (2, 0)
    # The loops compare probabilities, which may tie where logits do not.
    z = torch.tensor([[-1e-20, 0.0, -5.0], [0.0, -1e-20, -5.0]], dtype=torch.float64, device=device)
    near = tn.torch.binned_logits(torch.tensor([0, 0], device=device), z)
    assert near.parts[0].events.sum() == (2 if "loops" in request.node.name else 1)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_the_ignored_label_are_left_out_whatever_they_hold(device, kind):
    for weight, ignored in ((None, -100), (None, 2), (torch.arange(200.0) / 7, 255)):
        y, z = some_rows(200, 6, torch.float64)
        y[::3] = ignored
        z[::6] = NAN
        z[3::6] = INF
        kept = y != ignored
        options = {
            "kind": kind,
            "sample_weight": None if weight is None else weight[kept].to(device),
        }
        expected = tn.torch.binned_logits(y[kept].to(device), z[kept].to(device), **options)
        options["sample_weight"] = None if weight is None else weight.to(device)
        found = tn.torch.binned_logits(y.to(device), z.to(device), ignore_index=ignored, **options)
        assert found.n == expected.n
        assert (
            found == expected
            if weight is None
            else tn.ece(found) == pytest.approx(tn.ece(expected), rel=1e-13)
        )
        found = tn.torch.binned(
            y.to(device), torch.softmax(z, 1).to(device), ignore_index=ignored, **options
        )
        assert tn.ece(found) == pytest.approx(tn.ece(expected), rel=1e-12)
        nothing = torch.full_like(y, ignored).to(device)
        assert tn.torch.binned_logits(nothing, z.to(device), ignore_index=ignored, **options).n == 0


def test_bad_rows_are_refused_by_their_number_among_all_rows(device):
    y, z = (column.to(device) for column in many_entries(215, 20_000))
    y[0], y[5] = -100, 20_000
    z[0], z[214, 2] = NAN, INF
    message = (
        r"no nan, no \+inf and at least one finite entry; 1 of 215 does not, the first at row 214"
    )
    with pytest.raises(tn.InputError, match=message):
        tn.torch.binned_logits(y, z, ignore_index=-100)
    z[1] = -INF
    with pytest.raises(tn.InputError, match="2 of 215 do not, the first at row 1"):
        tn.torch.binned_logits(y, z, ignore_index=-100)
    z[:2], z[214, 2] = 0, 0
    with pytest.raises(
        tn.InputError, match=r"0 to 19999, .*; 2 of 215 labels are not, the first is -100 at row 0"
    ):
        tn.torch.binned_logits(y, z)


BAD = [
    ([0, 1], [[0.0, -INF], [-INF, -INF]], "1 of 2 does not, the first at row 1"),
    ([0, 1], [[0.0, INF], [NAN, 1.0]], "2 of 2 do not, the first at row 0"),
    ([0, 0.5], [[0.0, 1.0], [1.0, 1.0]], r"1 of 2 labels is not, the first is 0.5 at row 1"),
    ([0, 1], [0.5, NAN], "`logits` must not be nan; 1 of 2 are, the first at row 1"),
    ([0, 2], [0.5, 0.5], "`y_true` must hold class codes 0 to 1"),
    (
        [0, 1],
        [[0.0, 1.0], [0.0, 0.0]],
        r"`bins` must cover every score; its edges run from 0 to 0.6",
    ),
]


@pytest.mark.parametrize(("labels", "logits", "message"), BAD)
def test_bad_values_are_refused_by_name_and_row(device, labels, logits, message):
    y, z = torch.tensor(labels, device=device), torch.tensor(logits, device=device)
    with pytest.raises(tn.InputError, match=message):
        tn.torch.binned_logits(y, z, bins=[0, 0.6] if "edges" in message else 10)


@CUDA
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("k", [2, 3, 31, 33, 257, 1_000, 2_048, 2_049, 8_193, 70_001, 128_256])
def test_equal_largest_logits_are_found_where_the_first_stands(k, dtype):
    generator = torch.Generator().manual_seed(k)
    n = 300
    z = (torch.randn(n, k, generator=generator) * 2).to(dtype)
    # Bfloat16 ties by itself; here the maximum also stands in two to four random places, in any two pieces.
    for _ in range(3):
        z[torch.arange(n), torch.randint(0, k, (n,), generator=generator)] = z.max(dim=1).values
    z[1, 1:], z[6] = -INF, 1.0
    first = torch.from_numpy(z.double().numpy().argmax(axis=1))
    labels = torch.where(
        torch.arange(n) % 2 == 0, first, torch.randint(0, k, (n,), generator=generator)
    )
    metric = tn.torch.CalibrationError(kind="confidence", from_logits=True, device="cuda")
    metric.update(labels.cuda(), z.cuda())
    assert metric.binned.n == n
    assert metric.binned.parts[0].events.sum() == int((labels == first).sum())
    if k < 10_000:
        found = tn.torch.binned_logits(labels.cuda(), z.cuda(), kind="top-label")
        assert [part.count.sum() for part in found.parts] == torch.bincount(
            first, minlength=k
        ).tolist()
    z[0], z[2, k - 1], z[3], z[4], z[5, k // 2] = -INF, INF, INF, NAN, NAN
    metric.update(labels.cuda(), z.cuda())
    with pytest.raises(tn.InputError, match="5 rows did not"):
        metric.compute()


@CUDA
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(
    "shape", [(0, 3), (1, 2), (5_000, 2), (999, 37), (3_000, 1_000), (70, 70_001)]
)
def test_kernels_count_what_the_library_counts(kind, dtype, shape):
    y, z = some_rows(*shape, dtype)
    found = tn.torch.binned_logits(y.cuda(), z.cuda(), kind=kind)
    assert_close(found, tn.binned(y, z.double(), kind=kind, from_logits=True), 2**-18, moved=2)


@CUDA
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("k", [5, 40, 1_001, 5_000])
def test_sums_on_cuda_have_the_same_bits_in_any_order_and_split(k, dtype):
    y, z = (column.cuda() for column in some_rows(500, k, dtype))
    y[::7] = -100
    for kind in KINDS:
        options = {"kind": kind, "ignore_index": -100}
        whole = tn.torch.binned_logits(y, z, moments=False, **options)
        metric = tn.torch.CalibrationError(from_logits=True, n_classes=k, device="cuda", **options)
        for some in torch.randperm(500, device="cuda").split(170):
            metric.update(y[some], z[some])
        assert metric.binned == whole
        metric.update(torch.where(y == y[1], k, y), z)
        with pytest.raises(tn.InputError, match="labels did not"):
            metric.compute()
