"""The general calibration error with a loss of one's own."""

import numpy as np
import pytest

import trueness as tn


def test_a_users_own_loss_sees_the_bin():
    seen = []

    def loss(bin_):
        seen.append(bin_)
        return 1.0

    assert tn.gce([0, 1, 1, 0], [0.25, 0.25, 0.75, 0.8], bins=4, loss=loss) == 1
    assert [(b.low_edge, b.high_edge, b.n, b.events) for b in seen] == [
        (0.25, 0.5, 2, 1),
        (0.75, 1, 2, 1),
    ]
    assert seen[1].scores.tolist() == [0.75, 0.8]
    assert seen[0].score_weights.tolist() == [2]


def test_defaults_are_the_absolute_loss_in_ten_bins_at_the_level_of_5_percent():
    rng = np.random.default_rng(0)
    p = rng.random(300).round(2)
    y = (rng.random(300) < p**2).astype(int)
    assert (
        tn.gce(y, p)
        == tn.gce(y, p, bins=10, loss="absolute", norm="l1")
        == pytest.approx(tn.ece(y, p), rel=1e-12)
    )
    default = tn.gce(y, p, loss="rejection")
    assert default == tn.gce(y, p, loss="rejection", bins=10, alpha=0.05, test="binomial")
    assert default == pytest.approx(tn.tce(y, p, bins=10), rel=1e-12)
    assert default not in (0, 100)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_loss_sees_every_number_of_its_bin(weighted):
    rng = np.random.default_rng(1)
    p = np.concatenate([rng.random(30) * 0.3, 0.6 + rng.random(30) * 0.4]).round(2)
    y, w = rng.integers(0, 2, 60), rng.uniform(0.2, 2, 60) if weighted else np.ones(60)
    seen = []
    tn.gce(
        y, p, bins=5, loss=lambda b: seen.append(b) or 0.0, sample_weight=w if weighted else None
    )
    filled = [b for b in range(5) if ((p >= b / 5) & (p < (b + 1) / 5)).any()]
    assert len(filled) < 5
    assert [(b.low_edge, b.high_edge) for b in seen] == [(b / 5, (b + 1) / 5) for b in filled]
    for b, found in zip(filled, seen, strict=True):
        here = (p >= b / 5) & ((p < (b + 1) / 5) | (b == 4))
        assert found.n == here.sum()
        assert found.weight == pytest.approx(w[here].sum(), rel=1e-12)
        assert found.events == pytest.approx(w[here] @ y[here], rel=1e-12)
        assert found.rate == pytest.approx(np.average(y[here], weights=w[here]), rel=1e-12)
        assert found.score == pytest.approx(np.average(p[here], weights=w[here]), rel=1e-12)
        assert found.scores.tolist() == np.unique(p[here]).tolist()
        assert found.score_weights == pytest.approx(
            [w[here & (p == s)].sum() for s in found.scores], rel=1e-12
        )
