"""The panel: what it is made of, how it reads, rows and sums, clusters and weights."""

import json
import math

import numpy as np
import pytest

import trueness as tn

KEYS = (
    *(
        "observed_expected",
        "intercept",
        "slope",
        "free_intercept",
        "brier",
        "scaled_brier",
        "log_loss",
        "auc",
    ),
    *("ici", "e50", "e90", "emax", "ece"),
)

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def some_rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    p = np.round(rng.uniform(0.02, 0.98, n), 2)
    return (rng.random(n) < p**1.5).astype(int), p


@pytest.fixture(scope="module")
def found():
    return tn.panel(*some_rows(), seed=0)


def test_each_number_is_that_of_its_measure_and_has_limits_or_a_floor(found):
    y, p = some_rows()
    assert (*found.names, *(test.method for test in found.tests)) == (*KEYS, "spiegelhalter", "cox")
    for key, measure in {
        "intercept": "calibration_intercept",
        "slope": "calibration_slope",
    }.items():
        assert found[key].value == pytest.approx(getattr(tn.measure, measure)(y, p), rel=1e-9)
    for key in (
        "observed_expected",
        "brier",
        "scaled_brier",
        "log_loss",
        "auc",
        "ici",
        "e50",
        "e90",
        "emax",
        "ece",
    ):
        assert found[key].value == pytest.approx(getattr(tn.measure, key)(y, p), rel=1e-9), key
    for key in KEYS:
        estimate = found[key]
        assert estimate.bounded or not math.isnan(estimate.floor), key
        assert not estimate.bounded or estimate.low <= estimate.value <= estimate.high, key
        assert estimate.level == 0.95
    assert (found.n, found.events, found.prevalence) == (300, y.sum(), y.mean())
    assert found["spiegelhalter"] == tn.calibration_test(y, p, method="spiegelhalter", seed=0)


def test_a_panel_is_a_mapping_a_frame_and_a_dict(found):
    assert list(found) == [*KEYS, "spiegelhalter", "cox"]
    assert dict(found)["auc"] is found["auc"]
    assert len(found) == len(KEYS) + 2
    with pytest.raises(KeyError, match=r"sloppe.*there are observed_expected"):
        found["sloppe"]
    frame = found.to_frame("pandas")
    assert list(frame["key"]) == list(found)
    assert frame.set_index("key").loc["slope", "low"] == found["slope"].low
    assert frame.set_index("key").loc["spiegelhalter", "pvalue"] == found["spiegelhalter"].pvalue
    plain = found.to_dict()
    assert plain["estimates"]["slope"]["value"] == found["slope"].value
    json.dumps(plain)


def test_the_table_fits_80_columns_and_names_both_intercepts(found):
    text = str(found)
    assert max(map(len, text.splitlines())) <= 80
    assert "Calibration panel: 300 rows" in text
    assert "calibration in the large" in text
    assert "intercept (free slope)" in text
    assert "Spiegelhalter" in text


def test_the_text_for_a_paper_has_methods_results_and_what_is_to_be_added(found):
    text = found.text(style="tripod")
    assert max(map(len, text.splitlines())) <= 80
    flat = " ".join(text.split())
    assert "Methods. Calibration was assessed in 300 rows" in flat
    assert "95% CI" in flat
    assert "ICI was" in flat
    assert "if calibrated:" in flat
    assert "TRIPOD+AI" in text
    assert "`tn.validation_size`" in text
    assert "Spiegelhalter's test gave z = " in flat
    assert "intercept 0 gave chi-squared = " in flat
    with pytest.raises(tn.InputError, match="`style` must be 'tripod'; got 'apa'"):
        found.text("apa")


def test_the_smallest_p_value_of_redrawn_labels_reads_as_at_most():
    y, p = np.ones(12, int), np.linspace(0.01, 0.05, 12)
    text = str(tn.panel([*y, 0], [*p, 0.02], floor=False, seed=0))
    assert text.count("p ≤ 0.001, simulated.") == 2


def test_sums_and_rows_and_whole_weights_agree(found):
    y, p = some_rows()
    assert repr(tn.panel(tn.tally(y, p), seed=0)) == repr(found)
    w = np.random.default_rng(1).integers(0, 3, y.size)
    weighted = tn.panel(y, p, sample_weight=w, floor=False, seed=0)
    repeated = tn.panel(y.repeat(w), p.repeat(w), floor=False, seed=0)
    for key in KEYS:
        assert weighted[key].value == pytest.approx(repeated[key].value, rel=1e-9), key
        assert weighted[key].low == pytest.approx(repeated[key].low, rel=1e-6, nan_ok=True), key
    assert (weighted.n, weighted.events) == (repeated.n, repeated.events)


def test_fractional_weights_and_sketches_have_a_panel():
    y, p = some_rows()
    half = tn.panel(y, p, sample_weight=np.full(y.size, 0.5), seed=0)
    assert half["slope"].value == pytest.approx(tn.calibration_slope(y, p))
    assert half["slope"].bounded
    sketch = tn.panel(tn.sketch(y, p), seed=0)
    assert sketch["slope"].value == pytest.approx(tn.calibration_slope(y, p), abs=1e-3)


def test_clusters_widen_the_limits():
    y, p = some_rows()
    plain = tn.panel(y, p, floor=False)
    clustered = tn.panel(
        np.tile(y, 4), np.tile(p, 4), cluster=np.tile(np.arange(y.size), 4), floor=False, seed=0
    )
    assert clustered.clusters == y.size
    for key in ("observed_expected", "slope", "brier", "auc"):
        assert clustered[key].high - clustered[key].low > 0.8 * (
            plain[key].high - plain[key].low
        ), key
    assert "in 300 clusters" in str(clustered)
    assert list(clustered)[-1] == "spiegelhalter"
    half = tn.panel(
        y,
        p,
        sample_weight=np.tile([0.5, 1.5], 150),
        cluster=np.arange(300) // 3,
        floor=False,
        seed=0,
    )
    assert half["slope"].bounded
    assert half.clusters == 100
    floors = tn.panel(y, p, cluster=np.arange(300) // 3, seed=0)
    assert "takes rows as independent" in floors["ici"].note
    assert "takes rows as independent" not in floors["slope"].note


def test_scores_of_0_and_1_are_counted_in_table_and_text():
    y, p = some_rows()
    found = tn.panel([*y, 0, 1, 1], [*p, 0.0, 1.0, 0.0], floor=False)
    assert (found.n_certain, found.n_certain_wrong) == (3, 1)
    sentence = "3 scores of exactly 0 or 1 are left out"
    assert sentence in " ".join(str(found).split())
    assert sentence in " ".join(found.text().split())


def test_several_classes_and_bins_are_refused():
    with pytest.raises(tn.InputError, match="probability of one class"):
        tn.panel([0, 1, 2], np.eye(3))
    with pytest.raises(tn.InputError, match="bins do not keep them"):
        tn.panel(tn.binned(*some_rows(60)))


def test_one_class_leaves_nan_and_the_rest():
    found = tn.panel([0, 0, 0], [0.1, 0.2, 0.3], seed=0)
    assert math.isnan(found["auc"].value)
    assert math.isnan(found["slope"].value)
    assert found["observed_expected"].value == 0
    assert found["observed_expected"].high > 1
    assert "had no finite estimate" in " ".join(found.text().split())
    assert "3 rows, 0 events (0 %)" in str(found)
    assert "Emax: no calibration curve can be fitted to these rows." in " ".join(str(found).split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 1.5}, "`level`"),
        ({"curve": "cubic"}, "`curve` must be 'spline' or 'loess'"),
        ({"seed": -1}, "`seed`"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(tn.InputError, match=message):
        tn.panel([0, 1], [0.3, 0.6], **options)


def test_rows_events_and_prevalence_are_counted_by_their_weights():
    y, p = some_rows(60)
    for weight, rows in (([2, 1, 0], 60), ([0.5, 1.5, 0], 40)):
        w = np.tile(weight, 20)
        found = tn.panel(y, p, sample_weight=w, floor=False)
        assert (found.n, found.events) == (rows, pytest.approx(w @ y))
        assert found.prevalence == pytest.approx(w @ y / w.sum())
        assert (found.level, found.curve, found.clusters) == (0.95, "spline", None)
    assert tn.panel(y, p, level=0.8, floor=False)["slope"].level == 0.8
