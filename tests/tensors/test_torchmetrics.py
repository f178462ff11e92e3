"""The calibration error as a `torchmetrics.Metric`."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
torchmetrics = pytest.importorskip("torchmetrics", reason="torchmetrics is not installed")

import trueness as tn  # noqa: E402
from trueness.torch import CalibrationErrorMetric  # noqa: E402

RNG = np.random.default_rng(3)
Y, P = torch.tensor(RNG.integers(0, 2, 500)), torch.tensor(RNG.random(500))
Z, CODES = torch.tensor(RNG.normal(size=(300, 4))), torch.tensor(RNG.integers(0, 4, 300))


def test_the_value_is_that_of_ece_to_the_last_bit():
    for norm in ("l1", "l2", "max"):
        metric = CalibrationErrorMetric(bins=15, norm=norm)
        for rows in torch.arange(500).split(77):
            metric.update(P[rows], Y[rows])
        assert metric.compute().item() == tn.ece(Y, P, bins=15, norm=norm)
    for kind in ("confidence", "top-label", "classwise"):
        metric = CalibrationErrorMetric(kind=kind, from_logits=True, n_classes=4)
        metric.update(Z, CODES)
        assert metric.compute().item() == tn.ece(CODES, Z, kind=kind, from_logits=True)


def test_forward_gives_the_batch_and_adds_it():
    metric = torchmetrics.MetricCollection({"ece": CalibrationErrorMetric()})
    first = metric(P[:200], Y[:200])["ece"]
    metric(P[200:], Y[200:])
    assert first.item() == tn.ece(Y[:200], P[:200])
    assert metric.compute()["ece"].item() == tn.ece(Y, P)
    metric.reset()
    metric.update(P[:200], Y[:200])
    assert metric.compute()["ece"] == first
    with pytest.raises(tn.InputError, match=r"must lie in \[0, 1\]"):
        metric.update(P + 1, Y)


def test_states_of_processes_are_added():
    one, other = CalibrationErrorMetric(), CalibrationErrorMetric()
    one.update(P[:123], Y[:123])
    other.update(P[123:], Y[123:])
    one.merge_state(other)
    assert one.compute().item() == tn.ece(Y, P)


def test_metrics_can_be_copied_pickled_and_saved():
    metric = CalibrationErrorMetric(bins=5)
    metric.persistent(True)
    metric.update(P, Y)
    for other in (copy.deepcopy(metric), pickle.loads(pickle.dumps(metric))):
        assert other.compute() == metric.compute()
    fresh = CalibrationErrorMetric(bins=5)
    fresh.persistent(True)
    fresh.load_state_dict(metric.state_dict())
    impossible = {name: sums - 2**40 for name, sums in metric.state_dict().items()}
    with pytest.raises(tn.InputError, match="The sums cannot be read"):
        fresh.load_state_dict(impossible)
    assert torch.equal(fresh.sums, metric.sums)


@pytest.mark.slow
def test_without_torchmetrics_the_message_says_what_to_install():
    script = "import sys; sys.modules['torchmetrics'] = None; from trueness.torch import CalibrationErrorMetric"
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert "pip install 'trueness[torchmetrics]'" in found.stderr
