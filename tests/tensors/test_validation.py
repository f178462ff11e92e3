"""What may be passed: labels of every type, rows that are left out, and the way out for everything else."""

import numpy as np
import pytest

import trueness as tn

torch = pytest.importorskip("torch", reason="torch is not installed")

from trueness.torch._dispatch import device_sums  # noqa: E402
from trueness.torch._edges import ruler_of  # noqa: E402
from trueness.torch._rows import Layout, TensorRows  # noqa: E402

CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
DEVICES = ["cpu", pytest.param("cuda", marks=CUDA)]
KINDS = ["confidence", "classwise", "top-label"]
ONE = torch.tensor([1])
LABELS = [
    *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.uint16, torch.uint32, torch.uint64),
    *(torch.float64, torch.float32, torch.float16, torch.bfloat16),
]


def some_scores(n=500, seed=0):
    generator = torch.Generator().manual_seed(seed)
    p = torch.rand(n, dtype=torch.float64, generator=generator)
    return (torch.rand(n, generator=generator) < p).long(), p


def some_logits(n=400, k=6, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, k, (n,), generator=generator), torch.randn(n, k, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", LABELS, ids=str)
def test_labels_of_every_type_mean_the_same(dtype, device):
    y, p = some_scores()
    assert tn.torch.binned(y.to(dtype).to(device), p.to(device)) == tn.binned(y, p)
    y, z = some_logits(k=2 if dtype == torch.bool else 6)
    found = tn.torch.binned_logits(y.to(dtype).to(device), z.to(device))
    assert (
        found.parts[0].events.tolist() == tn.binned(y, z, kind="confidence", from_logits=True).parts[0].events.tolist()
    )


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("bad", [0.5, float("nan"), float("inf"), -1.0, 1e30])
def test_floats_that_are_no_labels_are_refused(bad, device):
    y, p = some_scores()
    y = y.float()
    y[17] = bad
    missing = "`y_true` must not have missing values; 1 of 500"
    with pytest.raises(tn.InputError, match=missing if bad != bad else "must be 0 or 1; 1 of 500 .* at row 17"):
        tn.torch.binned(y.to(device), p.to(device))
    y, z = some_logits()
    y = y.float()
    y[17] = bad
    with pytest.raises(
        tn.InputError, match=r"class codes 0 to 5, .*; 1 of 400 labels is not, the first is .* at row 17"
    ):
        tn.torch.binned_logits(y.to(device), z.to(device))


AWKWARD = {
    "part of a graph": lambda t: t.clone().requires_grad_() * 1 if t.is_floating_point() else t,
    "every second row": lambda t: torch.stack([t, t], dim=1).flatten(0, 1)[::2],
    "transposed": lambda t: t.mT.contiguous().mT if t.ndim == 2 else t,
    "a parameter": lambda t: torch.nn.Parameter(t, requires_grad=False),
    "negated without a copy": lambda t: torch._neg_view(-t) if t.is_floating_point() else t,
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("change", AWKWARD.values(), ids=AWKWARD)
def test_tensors_are_read_as_they_are(change, device):
    y, p = some_scores()
    w = torch.arange(500.0, dtype=torch.float64)
    assert tn.torch.binned(change(y.to(device)), change(p.to(device))) == tn.binned(y, p)
    found = tn.torch.binned(change(y.to(device)), change(p.to(device)), sample_weight=change(w.to(device)))
    assert tn.ece(found) == pytest.approx(tn.ece(y, p, sample_weight=w), rel=1e-12)
    y, z = some_logits()
    found = tn.torch.binned_logits(change(y.to(device)), change(z.to(device)))
    assert tn.ece(found) == pytest.approx(tn.ece(y, z, kind="confidence", from_logits=True), rel=1e-12)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", KINDS)
def test_one_row_shown_many_times(kind, device):
    z = torch.tensor([[0.0, 1.0, 3.0]], device=device).expand(200, 3)
    y = torch.tensor([2], device=device).expand(200)
    found = tn.torch.binned_logits(y, z, kind=kind, sample_weight=torch.ones(1, device=device).expand(200))
    assert found.n == 200
    assert tn.torch.binned_logits(y, z, kind=kind).n == 200


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", KINDS)
def test_no_rows(kind, device):
    y, z = torch.zeros(0, dtype=torch.int64, device=device), torch.zeros(0, 3, device=device)
    expected = tn.binned(y.cpu(), z.cpu(), kind=kind)
    assert tn.torch.binned(y, z, kind=kind) == expected
    assert tn.torch.binned_logits(y, z, kind=kind) == expected
    assert tn.torch.binned_logits(y, z, kind=kind, sample_weight=z[:, 0], ignore_index=-100) == expected


MESSAGES = [
    (lambda y, z: (y, z[:, :, None]), r"got \(4, 3, 1\)\. With classes in the second dimension: `logits\.movedim"),
    (lambda y, z: (y[:, None], z[:, None]), r"got \(4, 1, 3\)\. `logits\.flatten\(0, -2\)` and `y_true\.flatten\(\)`"),
    (
        lambda y, z: (y[:, None].expand(4, 5), z[:, :, None].expand(4, 3, 5)),
        r"got \(4, 3, 5\)\. `logits\.movedim\(1, -1\)\.flatten\(0, -2\)` and `y_true\.flatten\(\)` have a row for each",
    ),
    (
        lambda y, z: (torch.eye(3)[y], z),
        r"shape \(n,\); got \(4, 3\)\. `y_true\.argmax\(dim=1\)` makes labels of one-hot",
    ),
    (lambda y, z: (y[:, None], z), r"shape \(n,\); got \(4, 1\)\. `y_true\.flatten\(\)` makes a vector of it"),
    (lambda y, z: (y[0], z[0, 0]), r"`logits` must have shape \(n,\) or \(n, K\); got \(\)"),
    (lambda y, z: (y[0], z), r"`y_true` must have shape \(n,\); got \(\)"),
    (lambda y, z: (y, z.to(torch.complex64)), "`logits` must be float64, .* got complex64"),
    (lambda y, z: (y.to(torch.complex64), z), "`y_true` must be bool, integers or whole floats; got complex64"),
    (lambda y, z: (y, z.to(torch.float8_e5m2)), "`logits` must be float64, .* got float8_e5m2"),
    (lambda y, z: (y, z.to_sparse()), "`logits` must be a dense tensor; got layout torch.sparse_coo"),
    (lambda y, z: (y.to_sparse(), z), "`y_true` must be a dense tensor; got layout torch.sparse_coo"),
    (lambda y, z: (y.to("meta"), z), "`y_true` must hold values; got a tensor on the device 'meta'"),
    (lambda y, z: (y, z.long()), "`logits` must be float64, .* got int64"),
]


@pytest.mark.parametrize(("change", "message"), MESSAGES)
def test_bad_tensors_are_refused_by_name(change, message):
    y, z = change(torch.tensor([0, 1, 2, 2]), torch.arange(12.0).view(4, 3))
    with pytest.raises(tn.InputError, match=message):
        tn.torch.binned_logits(y, z)


def test_the_lines_that_messages_advise_pair_labels_with_their_logits():
    y, z = some_logits(24, 6)
    expected = tn.torch.binned_logits(y, z)
    image = z.view(2, 3, 4, 6).movedim(-1, 1)
    assert tn.torch.binned_logits(y.view(2, 3, 4).flatten(), image.movedim(1, -1).flatten(0, -2)) == expected
    text = z.view(4, 6, 6)
    assert tn.torch.binned_logits(y.view(4, 6).flatten(), text.flatten(0, -2)) == expected


@pytest.mark.filterwarnings("ignore:.*quantiz")
def test_quantized_tensors_are_refused():
    p = torch.quantize_per_tensor(torch.tensor([0.25, 0.5]), 0.25, 0, torch.quint8)
    with pytest.raises(tn.InputError, match=r"`y_prob` must be float64, .* got quint8"):
        tn.torch.binned(torch.tensor([0, 1]), p)


@CUDA
def test_labels_on_another_device_are_refused():
    y, z = some_logits()
    with pytest.raises(
        tn.InputError, match=r"one device; got cpu and cuda:0\. `y_true\.to\(logits\.device\)` moves it"
    ):
        tn.torch.binned_logits(y, z.cuda())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ignored", [-100, 2, 255])
def test_rows_of_the_ignored_label_are_left_out_whatever_they_hold(kind, weighted, ignored, device):
    y, z = some_logits()
    w = torch.arange(400.0) / 7 if weighted else None
    y[::3] = ignored
    z[::6] = float("nan")
    z[3::6] = float("inf")
    kept = y != ignored
    options = {"kind": kind, "sample_weight": None if w is None else w[kept].to(device)}
    expected = tn.torch.binned_logits(y[kept].to(device), z[kept].to(device), **options)
    options["sample_weight"] = None if w is None else w.to(device)
    found = tn.torch.binned_logits(y.to(device), z.to(device), ignore_index=ignored, **options)
    assert found.n == expected.n == int((kept & (w > 0 if weighted else kept)).sum())
    assert tn.ece(found) == pytest.approx(tn.ece(expected), rel=1e-13)
    assert weighted or found == expected
    p = torch.softmax(z, dim=1).to(device)
    found = tn.torch.binned(y.to(device), p, ignore_index=ignored, **options)
    assert tn.ece(found) == pytest.approx(tn.ece(expected), rel=1e-12)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("bins", [1, 10, 100, 3_000, [0, 0.1, 0.13, 0.9, 1]], ids=repr)
def test_ignored_rows_of_a_vector_are_left_out(bins, device):
    y, p = some_scores(70_001)
    y[::3] = -100
    p[::6] = float("nan")
    kept = y != -100
    found = tn.torch.binned(y.to(device), p.to(device), bins=bins, ignore_index=-100)
    assert found == tn.binned(y[kept], p[kept], bins=bins)
    z = torch.logit(p)
    found = tn.torch.binned_logits(y.to(device), z.to(device), bins=bins, ignore_index=-100)
    assert found.n == int(kept.sum())


def test_operations_leave_ignored_rows_out():
    y, z = some_logits()
    y[::3] = 77
    z[::6] = float("nan")
    keep = y != 77
    for kind in KINDS:
        layout = Layout(ruler_of(10), kind)
        found = device_sums(TensorRows(y, z, ignored=77, logits=True), layout)
        expected = device_sums(TensorRows(y[keep], z[keep], logits=True), layout)
        assert torch.equal(found.flat, expected.flat)
    found = device_sums(TensorRows(y, torch.softmax(z, 1), ignored=77), Layout(ruler_of(10)))
    assert int(found.faults.sum()) == 0


@pytest.mark.parametrize("device", DEVICES)
def test_without_ignore_index_such_labels_are_faults_and_with_it_rows_keep_their_numbers(device):
    y, z = some_logits()
    y[0] = y[100] = -100
    with pytest.raises(tn.InputError, match="2 of 400 labels are not, the first is -100 at row 0"):
        tn.torch.binned_logits(y.to(device), z.to(device))
    z[0] = float("nan")
    z[300] = float("nan")
    with pytest.raises(tn.InputError, match="1 of 400 does not, the first at row 300"):
        tn.torch.binned_logits(y.to(device), z.to(device), ignore_index=-100)
    p = torch.softmax(z, dim=1)
    p[300] = 2.0
    with pytest.raises(tn.InputError, match=r"must lie in \[0, 1\]; 6 of 2,400 values do not.*row 300"):
        tn.torch.binned(y.to(device), p.to(device), ignore_index=-100)


def test_every_row_may_be_ignored():
    y, z = torch.full((3,), -100), torch.zeros(3, 2)
    assert tn.torch.binned_logits(y, z, ignore_index=-100).n == 0
    assert tn.torch.binned_logits(y, z, ignore_index=-100, sample_weight=torch.ones(3)).n == 0
    with pytest.raises(tn.InputError, match="`ignore_index` must be a whole number or None; got True"):
        tn.torch.binned_logits(y, z, ignore_index=True)


def near_ties():
    """Logits that differ by less than softmax in float64 can show."""
    return torch.tensor([[-1e-20, 0.0, -5.0], [0.0, -1e-20, -5.0]], dtype=torch.float64)


def test_a_tie_of_probabilities_is_broken_by_logits_on_devices_and_by_place_on_the_cpu():
    y = torch.tensor([0, 0])
    sums = device_sums(TensorRows(y, near_ties(), logits=True), Layout(ruler_of(10), "confidence"))
    assert sums.table[..., 1, 0].sum() == 1
    assert np.sum(tn.torch.binned_logits(y, near_ties()).parts[0].events) == 2


def test_rows_of_bfloat16_need_a_tolerance():
    torch.manual_seed(0)
    z = torch.randn(200, 50)
    p, y = torch.softmax(z, 1).bfloat16(), z.argmax(1)
    with pytest.raises(tn.InputError, match=r"must sum to 1 within 1e-06; .* `sum_tolerance="):
        tn.torch.binned(y, p)
    expected = tn.binned(y, p.float().numpy(), sum_tolerance=0.02)
    assert tn.torch.binned(y, p, sum_tolerance=0.02) == expected
    on_a_device = device_sums(TensorRows(y, p, tolerance=0.02), Layout(ruler_of(10)))
    assert not on_a_device.faults.any()
    metric = tn.torch.CalibrationError(kind="confidence", sum_tolerance=0.02)
    metric.update(y, p)
    assert metric.binned.n == 200


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (
            lambda: tn.torch.binned(ONE, torch.tensor([0.5]), sum_tolerance=0.1),
            "is only for rows of probabilities of shape",
        ),
        (lambda: tn.torch.binned(ONE, torch.tensor([[0.5, 0.5]]), sum_tolerance=2), "must be a number between 0 and 1"),
        (lambda: tn.torch.CalibrationError(sum_tolerance=0.1), "not for logits or kind='binary'"),
        (lambda: tn.torch.binned(ONE, torch.tensor([torch.nan])), r"Select the other rows first, such as `y_prob\[~"),
        (lambda: tn.torch.binned(ONE + 1, torch.tensor([0.5])), "`y_true == 2` makes 0/1 of them, if 2 is the event"),
        (lambda: tn.torch.binned(torch.tensor([1, 2]), torch.tensor([0.5, 0.5])), "`y_true == 2` makes 0/1 of them"),
    ],
)
def test_remedies_are_for_tensors(act, message):
    with pytest.raises(tn.InputError, match=message):
        act()


def test_a_vector_of_logits_may_be_infinite():
    logits = torch.tensor([torch.inf, -torch.inf])
    assert tn.torch.binned_logits(torch.tensor([1, 0]), logits) == tn.binned([1, 0], [1.0, 0.0])
