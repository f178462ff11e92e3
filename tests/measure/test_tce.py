"""The bins behind the test-based calibration error."""

import numpy as np
import pytest
from hypothesis import given, settings
from strategies import arrays, rows

import trueness as tn
from trueness.measure._tce import bins_with_rejections

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


@settings(max_examples=40)
@given(pairs=rows)
@pytest.mark.parametrize("rule", [tn.BlockIsotonic(), tn.EqualWidth(4), tn.EqualMass(3)], ids=str)
def test_the_rejected_share_is_the_tce_and_empty_bins_are_left_out(rule, pairs):
    y, p = arrays(pairs)
    found = bins_with_rejections(tn.tally(y, p).parts[0], rule, 0.05, "binomial")
    assert found.tce == tn.tce(y, p, bins=rule)
    table = tn.bin_table(y, p, bins=rule)
    filled = table.n > 0
    assert found.n.tolist() == table.n[filled].tolist()
    assert found.rate.tolist() == table.rate[filled].tolist()
    assert found.low_edge.tolist() == table.low_edge[filled].tolist()


def test_densities_follow_the_scores():
    p = np.concatenate([np.full(900, 0.1), np.linspace(0.1, 0.4, 100)])
    found = bins_with_rejections(tn.tally(np.arange(1000) % 2, p).parts[0], tn.EqualWidth(1), 0.05, "t")
    assert found.places[0, 0] == pytest.approx(0.1, abs=0.01)
    assert found.places[0, -1] == pytest.approx(0.4, abs=0.01)
    assert found.density[0].argmax() == 0
    assert found.density[0].max() == 1
    constant = bins_with_rejections(tn.tally([0, 1], [0.3, 0.3]).parts[0], tn.EqualWidth(1), 0.05, "t")
    assert set(constant.places[0]) == {0.3}


def test_a_record_can_be_written_as_plain_python():
    import json

    found = bins_with_rejections(tn.tally([0, 1], [0.2, 0.9]).parts[0], tn.EqualWidth(2), 0.05, "t")
    assert json.loads(json.dumps(found.to_dict()))["n"] == [1, 1]


@pytest.mark.parametrize("seed", range(20))
def test_t_tests_of_weighted_rows_with_equal_labels_reject_every_score_but_one(seed):
    """The effective number of events is that of rows, to the last bit."""
    y, p = np.repeat([0, 1], 9), np.repeat([1e-10, 1 - 1e-10], 9)
    w = np.random.default_rng(seed).random(18)
    assert tn.tce(y, p, sample_weight=w, bins=2, test="t") == pytest.approx(100)


def test_a_score_of_1_is_rejected_by_any_number_of_rows_without_events():
    with pytest.warns(tn.OneClassWarning):
        assert tn.tce([0, 0], [1.0, 0.3], sample_weight=[10**8] * 2, bins=1) == 100
