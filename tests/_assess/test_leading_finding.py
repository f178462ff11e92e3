"""Headline, size, place, advice and p-value speak of the finding that decided."""

from dataclasses import replace

import numpy as np
import pytest

import trueness as tn


def too_extreme_in_the_north(seed=3, n=6_000):
    """Right over all rows; in the north too extreme, in the south as much too moderate."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.1, 0.9, n)
    region = np.where(np.arange(n) % 2 == 0, "north", "south")
    slope = np.where(region == "north", 0.7, 1.4)
    log_odds = slope * np.log(p / (1 - p))
    y = (rng.random(n) < 1 / (1 + np.exp(-log_odds))).astype(int)
    return y, p, region


@pytest.fixture(scope="module")
def by_slope():
    y, p, region = too_extreme_in_the_north()
    return tn.assess(y, p, by={"region": region})


@pytest.mark.slow
def test_where_only_segments_are_off_the_size_and_the_p_value_are_theirs(by_slope):
    verdict = by_slope.verdict
    assert not verdict.rejected
    flags = verdict.flags[0]
    assert flags.slope_low < flags.slope < flags.slope_high
    assert verdict.error == flags.size()
    assert f"slope {flags.slope:.2f} in {flags.worst} (" in verdict.error
    y, p, region = too_extreme_in_the_north()
    brief = tn.report(y, {"a": p, "b": np.round(p, 2)}, by={"region": region}, progress=False).brief
    assert "segments p" in brief
    assert f"slope {flags.slope:.2f} in {flags.worst}" in brief


def test_a_finding_by_the_slope_shows_the_slope(by_slope):
    segments = by_slope.segments
    for finding, words, slope in zip(
        segments.finding, segments.findings, segments.slope, strict=True
    ):
        assert words.startswith(f"{finding} (slope {slope:.2f}, ")
        assert words in str(segments)
    y, p, region = too_extreme_in_the_north()
    north = segments.slope[segments.value.index("north")]
    assert north == pytest.approx(
        tn.calibration_slope(y[region == "north"], p[region == "north"]), rel=1e-6
    )


def test_observed_over_expected_leads_only_where_it_excludes_one():
    rng = np.random.default_rng(2)
    p = rng.beta(0.5, 30, 40_000)
    log_odds = 1.5 * np.log(p / (1 - p))
    moved = 1 / (1 + np.exp(-log_odds))
    moved *= p.mean() / moved.mean()
    verdict = tn.verdict((rng.random(p.size) < moved).astype(int), p)
    ratio = verdict.observed_expected
    assert verdict.rejected
    assert ratio.low <= 1 <= ratio.high
    assert verdict.error.startswith("typically ")


@pytest.mark.slow
def test_the_advised_segment_is_the_place_and_the_size():
    rng = np.random.default_rng(1)
    p = rng.uniform(0.05, 0.95, 4_000)
    region = np.where(np.arange(p.size) % 10 == 0, "south", "north")
    rate = np.where(region == "south", p / 2, p)
    y = (rng.random(p.size) < rate).astype(int)
    found = tn.report(y, p, by={"region": region}, progress=False).to_dict()["models"][0]["answers"]
    assert found["action"]["phrase"] == "Recalibrate by region"
    assert found["where"]["phrase"] == "In region = south"
    assert "percentage points in region = south (" in found["how_far"]["phrase"]


def test_limits_that_exclude_zero_without_a_flag_are_explained():
    """Limits are of the gaps alone; the test also asks for slopes, so it needs a little more."""
    rng = np.random.default_rng(0)
    region = np.where(np.arange(2_000) % 2 == 0, "north", "south")
    p = rng.uniform(0.1, 0.9, region.size)
    in_north = np.flatnonzero(region == "north")
    y = (rng.random(region.size) < p).astype(int)
    explained = []
    for row in in_north[y[in_north] == 0][:60]:
        y[row] = 1  # one event more in the north each time
        found = tn.segments(y, p, {"region": region}, resamples=99)
        excluded = (found.gap_low > 0) | (found.gap_high < 0)
        explained.append(bool((excluded & ~found.flagged).any()))
        words = "Not flagged although the limits of the gap exclude 0: region = north."
        assert explained[-1] == (words in str(found))
    assert any(explained)
    assert found.flagged[list(found.value).index("north")]


def test_too_few_rows_have_the_estimate_of_observed_over_expected():
    rng = np.random.default_rng(4)
    p = rng.uniform(0.05, 0.6, 40)
    verdict = tn.verdict((rng.random(40) < p).astype(int), p)
    assert verdict.code == "too-few-rows"
    ratio = verdict.observed_expected
    words = f"observed/expected {ratio.value:.2f} ({ratio.low:.2f} to {ratio.high:.2f})"
    assert words in verdict.evidence


def test_scores_that_hardly_tell_rows_apart_are_called_so():
    rng = np.random.default_rng(5)
    p = rng.uniform(0.1, 0.4, 4_000)
    flat = tn.verdict((rng.random(p.size) < 0.25 + 0.1 * (p - 0.25)).astype(int), p)
    assert "the scores hardly tell rows apart (AUC 0.5" in flat.evidence
    steep = tn.verdict((rng.random(p.size) < 0.8 * p).astype(int), p)
    assert steep.rejected
    assert "tell rows apart" not in steep.evidence


@pytest.mark.slow
def test_scores_in_few_bins_of_equal_width_are_shown_in_bins_of_equal_mass():
    rng = np.random.default_rng(6)
    p = rng.uniform(0.1, 0.35, 3_000)
    y = (rng.random(p.size) < p).astype(int)
    found = tn.report(y, p, intervals=False, progress=False).to_dict()["models"][0]
    assert len(found["bins"]["n"]) == 10
    assert min(found["bins"]["n"]) == 300
    assert any(note.startswith("The scores lie in 3 of 10 bins") for note in found["notes"])
    wide = tn.report(y, 2.5 * p, intervals=False, progress=False).to_dict()["models"][0]
    assert wide["bins"]["low_edge"][1] == 0.1


@pytest.mark.slow
def test_a_map_that_was_shown_to_gain_is_named_beside_one_that_was_not():
    rng = np.random.default_rng(7)
    p = rng.uniform(0.05, 0.95, 1_000)
    fixes = tn.assess((rng.random(p.size) < 0.5 + 0.5 * (p - 0.5)).astype(int), p).remedies
    clear = fixes.most_promising
    assert clear.gain_low > 0
    assert fixes.other_gain(clear, 0.95) == ""
    doubtful = replace(clear, gain_low=-0.01)
    others = tuple(replace(one, gain_low=-0.01) for one in fixes.after[1:])
    one_gains = replace(fixes, after=(doubtful, fixes.after[1], *others[1:]))
    words = one_gains.other_gain(doubtful, 0.95)
    assert words.startswith(f" Of the {len(fixes.after)} maps that were tried, ")
    assert f"{fixes.after[1].name} lowers the Brier score by" in words
    none_gains = replace(fixes, after=(doubtful, *others))
    assert none_gains.other_gain(doubtful, 0.95) == ""


@pytest.mark.slow
def test_the_slope_of_a_segment_does_not_lead_where_all_rows_are_off():
    y, p, region = too_extreme_in_the_north()
    rng = np.random.default_rng(8)
    slope = np.where(region == "north", 0.35, 0.8)
    y = (rng.random(p.size) < 1 / (1 + (p / (1 - p)) ** -slope)).astype(int)
    found = tn.report(y, p, by={"region": region}, progress=False).to_dict()["models"][0]
    assert found["verdict"]["headline"].startswith("Not calibrated: the predictions are overconf")
    assert found["answers"]["how_far"]["phrase"].startswith("Typically ")
    assert found["answers"]["where"]["sections"][0] != "segments"
