"""The general calibration error with a loss of one's own."""

import pytest

import trueness as tn


def test_a_users_own_loss_sees_the_bin():
    seen = []

    def loss(bin_):
        seen.append(bin_)
        return 1.0

    assert tn.gce([0, 1, 1, 0], [0.25, 0.25, 0.75, 0.8], bins=4, loss=loss) == 1
    assert [(b.low_edge, b.high_edge, b.n, b.events) for b in seen] == [(0.25, 0.5, 2, 1), (0.75, 1, 2, 1)]
    assert seen[1].scores.tolist() == [0.75, 0.8]
    assert seen[0].score_weights.tolist() == [2]


def test_a_loss_that_returns_no_number_is_an_error():
    with pytest.raises(tn.InputError, match="returned None for bin 0"):
        tn.gce([0, 1], [0.2, 0.3], bins=1, loss=lambda b: None)
    with pytest.raises(tn.InputError, match="`loss` must be 'absolute'"):
        tn.gce([0, 1], [0.2, 0.3], bins=1, loss="cubic")
