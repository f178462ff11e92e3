"""What may be passed, and the way out for everything else."""

import pytest

import trueness as tn

torch = pytest.importorskip("torch", reason="torch is not installed")

from trueness.torch import CalibrationError, binned, binned_logits  # noqa: E402

Y, Z = torch.tensor([0, 1, 2, 2]), torch.arange(12.0).view(4, 3)
ONE, HALF = torch.tensor([1]), torch.tensor([0.5])
MESSAGES = [
    (
        lambda: binned_logits([0, 1], Z),
        r"`y_true` must be a tensor; got list\. `trueness\.binned` takes",
    ),
    (lambda: binned(Y, Z.numpy()), "`y_prob` must be a tensor; got ndarray"),
    (lambda: binned_logits(Y, Z.long()), "`logits` must be float64, .* got int64"),
    (
        lambda: binned_logits(Y.to(torch.complex64), Z),
        "must be bool, integers or whole floats; got complex64",
    ),
    (
        lambda: binned_logits(Y, Z.to_sparse()),
        "`logits` must be a dense tensor; got layout torch.sparse_coo",
    ),
    (
        lambda: binned_logits(Y.to("meta"), Z),
        "`y_true` must hold values; got a tensor on the device 'meta'",
    ),
    (
        lambda: binned(Y[:2], Z),
        "`y_true` and `y_prob` must have one entry per row; got 2 labels and 4 rows",
    ),
    (lambda: binned(Y, Z[:, :0]), "one column per class, at least 2"),
    (
        lambda: binned_logits(Y, Z[:, :, None]),
        r"got \(4, 3, 1\)\. With classes in the second dimension: `log",
    ),
    (
        lambda: binned_logits(Y[:, None], Z[:, None]),
        r"\. `logits\.flatten\(0, -2\)` and `y_true\.flatten\(\)` have a row",
    ),
    (
        lambda: binned_logits(torch.eye(3)[Y], Z),
        r"got \(4, 3\)\. `y_true\.argmax\(dim=1\)` makes labels of one",
    ),
    (
        lambda: binned_logits(Y[:, None], Z),
        r"shape \(n,\); got \(4, 1\)\. `y_true\.flatten\(\)` makes a vector",
    ),
    (
        lambda: binned_logits(Y[0], Z[0, 0]),
        r"`logits` must have shape \(n,\) or \(n, K\); got \(\)",
    ),
    (
        lambda: binned(ONE, HALF, bins=tn.EqualMass(5)),
        r"`bins` must have fixed edges .* got EqualMass\(n=5\)",
    ),
    (
        lambda: binned(ONE, HALF, kind="binary"),
        "must be 'classwise', 'confidence' or 'top-label'; got 'binary'",
    ),
    (
        lambda: binned(ONE, HALF, ignore_index=True),
        "`ignore_index` must be a whole number or None; got True",
    ),
    (lambda: binned(ONE, HALF, sum_tolerance=0.1), "is only for rows of probabilities of shape"),
    (lambda: binned(Y, Z, sum_tolerance=2), "must be a number between 0 and 1; got 2"),
    (
        lambda: binned(torch.arange(10), torch.eye(10), bins=10**6),
        "at most 838,860 with 10 classes",
    ),
    (lambda: CalibrationError(sum_tolerance=0.1), "not for logits or kind='binary'"),
    (
        lambda: CalibrationError(kind="classwise", n_classes=10**6),
        "must be at most 8 with 1,000,000 classes",
    ),
    (
        lambda: CalibrationError(kind="multi"),
        "'binary', 'confidence', 'top-label' or 'classwise'; got 'multi'",
    ),
    (
        lambda: CalibrationError(kind="top-label"),
        "must be a whole number ≥ 2 for kind='top-label'; got None",
    ),
    (
        lambda: CalibrationError(norm="rms"),
        "`norm` must be 'l1', 'l2', 'max' or a number ≥ 1; got 'rms'",
    ),
]


@pytest.mark.parametrize(("act", "message"), MESSAGES)
def test_what_cannot_be_is_refused_by_name(act, message):
    with pytest.raises(tn.InputError, match=message):
        act()


def test_the_lines_that_messages_advise_pair_labels_with_their_logits():
    generator = torch.Generator().manual_seed(0)
    y, z = torch.randint(0, 6, (24,), generator=generator), torch.randn(24, 6, generator=generator)
    expected = binned_logits(y, z)
    image = z.view(2, 3, 4, 6).movedim(-1, 1)
    assert binned_logits(y.view(2, 3, 4).flatten(), image.movedim(1, -1).flatten(0, -2)) == expected
    assert binned_logits(y.view(4, 6).flatten(), z.view(4, 6, 6).flatten(0, -2)) == expected


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_labels_on_another_device_are_refused():
    with pytest.raises(
        tn.InputError,
        match=r"one device; got cpu and cuda:0\. `y_true\.to\(logits\.device\)` moves it",
    ):
        binned_logits(Y, Z.cuda())
