"""Images and other dense scores as tensors."""

import numpy as np
import pytest

import trueness as tn

torch = pytest.importorskip("torch", reason="torch is not installed")
from trueness.torch import CalibrationError, binned, binned_logits  # noqa: E402

RNG = torch.Generator().manual_seed(3)
LOGITS = torch.randn((6, 4, 5, 3), generator=RNG)
SCORES = LOGITS.double().softmax(dim=1)
LABELS = torch.randint(0, 4, (6, 5, 3), generator=RNG)
LABELS[0] = -100
FLAT = LOGITS.movedim(1, -1).flatten(0, -2)
KINDS = ("classwise", "confidence", "top-label")


@pytest.mark.parametrize("kind", KINDS)
def test_images_equal_their_pixels_in_rows(kind):
    rows = {"kind": kind, "ignore_index": -100}
    assert binned_logits(LABELS, LOGITS, **rows) == binned_logits(LABELS.flatten(), FLAT, **rows)
    flat = SCORES.movedim(1, -1).flatten(0, -2)
    assert (
        binned(LABELS, SCORES, **rows)
        == binned(LABELS.flatten(), flat, **rows)
        == tn.binned(LABELS, SCORES, **rows)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_of_images_has_the_error_of_all(kind):
    metric = CalibrationError(kind=kind, from_logits=True, n_classes=4, ignore_index=-100)
    for few in ([0, 1], [2, 3, 4], [5]):
        metric.update(LABELS[few], LOGITS[few])
    assert metric.compute().item() == tn.ece(
        LABELS, LOGITS, kind=kind, from_logits=True, ignore_index=-100
    )
    last = metric.forward(LABELS[4:], LOGITS[4:])
    assert last.item() == tn.ece(LABELS[4:], LOGITS[4:], kind=kind, from_logits=True)


def test_weights_no_images_and_one_channel():
    w = torch.ones_like(LABELS)
    w[1] = 0
    weighted = binned(LABELS, SCORES, ignore_index=-100, sample_weight=w)
    assert weighted.n == 15 * 4
    assert binned(LABELS[:0], SCORES[:0]).n == 0
    y, p = (LABELS > 1).long(), SCORES[:, :1]
    assert binned(y, p) == binned(y[:, None], p) == binned(y.flatten(), p.flatten())
    assert binned(y.flatten(), p.reshape(-1, 1)) == binned(y.flatten(), p.flatten())
    metric = CalibrationError()
    metric.update(y, p)
    assert metric.compute().item() == tn.ece(np.asarray(y).ravel(), np.asarray(p).ravel())


def test_a_bad_image_adds_nothing():
    metric, bad = CalibrationError(kind="confidence"), SCORES.clone()
    bad[3, 0, 0, 0] = 2
    with pytest.raises(tn.InputError, match=r"must lie in \[0, 1\]"):
        metric.update(LABELS.clamp(min=0), bad)
    metric.update(LABELS[1:3], SCORES[1:3])
    assert metric.binned.n == 30
