"""Remedies and advice: what to do about the scores, as records that a user can ask for."""

import json
import re
import warnings

import numpy as np
import pytest

import trueness as tn
from trueness import recalibrate

KINDS = {
    "leave",
    "recalibrate",
    "recalibrate-segment",
    "correct-prior",
    "collect",
    "check-labels",
    "check-clusters",
    "new-rows",
    "need-rows",
}


@pytest.fixture(autouse=True)
def without_warnings():
    with warnings.catch_warnings(action="ignore", category=tn.TruenessWarning):
        yield


def drawn(n=2_000, seed=1, wrong=lambda p: p):
    """Scores, and labels of a rate that depends on them."""
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 1.5, n)
    return (rng.random(n) < wrong(p)).astype(int), p


def odds_times(factor):
    return lambda p: factor * p / (1 - p + factor * p)


def too_extreme(p):
    return 0.5 + 0.55 * (p - 0.5)


def in_one_region():
    """A calibrated model, but for a twentieth of the rows, whose labels do not depend on the scores."""
    region = np.where(np.arange(2_000) % 20 == 0, "south", "north")
    y, p = drawn(2_000, wrong=lambda p: np.where(region == "south", 0.4, p))
    return {"y_true": y, "y_prob": p, "by": {"region": region}}


def as_many_events_as_expected():
    """Labels that vary less than chance allows."""
    p = np.tile([0.2, 0.4, 0.5, 0.6, 0.8], 400)
    y = np.concatenate([np.arange(400) < round(400 * one) for one in (0.2, 0.4, 0.5, 0.6, 0.8)])
    return {"y_true": y.reshape(5, 400).T.ravel().astype(int), "y_prob": p}


def pair(*labels_and_scores):
    return dict(zip(("y_true", "y_prob"), labels_and_scores, strict=True))


def in_three_clusters():
    y, p = drawn(300)
    return pair(y, p) | {"cluster": np.arange(300) % 3}


CASES = {
    "leave": lambda: pair(*drawn(20_000)),
    "recalibrate": lambda: pair(*drawn(wrong=too_extreme)),
    "recalibrate-segment": in_one_region,
    "correct-prior": lambda: pair(*drawn(4_000, wrong=odds_times(4))),
    "collect": lambda: pair(*drawn(60)),
    "check-labels": lambda: pair(*drawn(wrong=lambda p: 1 - p)),
    "check-clusters": in_three_clusters,
    "new-rows": as_many_events_as_expected,
    "need-rows": lambda: {"y_true": tn.binned(*drawn(wrong=too_extreme))},
}


@pytest.mark.parametrize("kind", CASES)
def test_each_kind_of_advice_is_given_where_it_belongs(kind):
    found = tn.assess(**CASES[kind]()).advice
    assert found.kind == kind
    assert found.reason
    assert json.loads(json.dumps(found.to_dict()))["kind"] == kind
    assert str(found).startswith(found.phrase)


def test_every_kind_has_a_case():
    assert CASES.keys() == KINDS


@pytest.mark.parametrize("kind", ["recalibrate", "recalibrate-segment", "correct-prior"])
def test_the_calibrator_of_the_advice_is_unfitted_and_mends_the_rows(kind):
    rows = CASES[kind]()
    found = tn.assess(**rows).advice
    assert not hasattr(found.calibrator, "n_rows_")
    y, p = rows["y_true"], rows["y_prob"]
    if found.column is not None:
        part = rows["by"][found.column] == found.value
        y, p = y[part], p[part]
    fitted = found.calibrator.fit(p, y)
    assert tn.brier(y, fitted.predict(p)) < tn.brier(y, p)
    stored = found.to_dict()["calibrator"]
    assert (
        getattr(recalibrate, stored["type"])(**stored["parameters"]).get_params()
        == found.calibrator.get_params()
    )


def test_the_gain_of_the_advice_is_that_of_the_remedy():
    a = tn.assess(*drawn(wrong=too_extreme))
    best = a.remedies.most_promising
    assert best.name == a.remedies.best
    assert (a.advice.gain, a.advice.gain_low, a.advice.gain_high) == (
        best.gain,
        best.gain_low,
        best.gain_high,
    )
    assert a.advice.gain_low > 0


def test_remedies_are_measured_on_the_held_out_scores():
    y, p = drawn(wrong=too_extreme)
    a = tn.assess(y, p)
    platt = next(one for one in a.remedies.after if one.name == "Platt scaling")
    after = a.cross_fitted(tn.PlattScaling())
    assert after.estimate("brier").value == pytest.approx(platt.brier, rel=1e-12)
    assert after.estimate("ece").value == pytest.approx(platt.ece, rel=1e-12)
    assert (after.interval.low, after.interval.high) == pytest.approx(
        (platt.ece_interval.low, platt.ece_interval.high), rel=1e-9
    )
    gain = a.compare(after, "brier").pairs[0]
    assert (gain.difference, gain.low, gain.high) == pytest.approx(
        (platt.gain, platt.gain_low, platt.gain_high)
    )


def test_held_out_rows_are_scored_by_a_map_that_was_not_fitted_on_them():
    class Memory(tn.PlattScaling):
        """Says 0.9 of rows that it was fitted on, 0.2 of all others."""

        def _fit(self, rows):
            super()._fit(rows)
            self.seen = set(np.asarray(rows.p).ravel().tolist())

        def predict(self, y_prob):
            return np.array(
                [0.9 if one in self.seen else 0.2 for one in np.asarray(y_prob).tolist()]
            )

    y, p = drawn(500)
    after = tn.assess(y, p).cross_fitted(Memory())
    assert after.bins.score[after.bins.n > 0].tolist() == [pytest.approx(0.2)]
    assert after.n == 500


def test_segments_of_held_out_scores_are_those_of_the_rows():
    rows = in_one_region()
    after = tn.assess(**rows).cross_fitted(tn.PlattScaling())
    counts = {value: int((rows["by"]["region"] == value).sum()) for value in ("north", "south")}
    assert dict(zip(after.segments.value, after.segments.n, strict=True)) == counts
    south = rows["by"]["region"] == "south"
    events = after.segments.rate[list(after.segments.value).index("south")] * south.sum()
    assert events == pytest.approx(rows["y_true"][south].sum())


@pytest.mark.slow
def test_clusters_stay_together_and_order_and_names_do_not_matter():
    y, p = drawn(400, wrong=too_extreme)
    cluster = np.arange(400) // 4
    a = tn.assess(y, p, cluster=cluster)
    order = np.random.default_rng(3).permutation(400)
    names = np.array([f"patient {one}" for one in cluster])
    b = tn.assess(y[order], p[order], cluster=names[order])
    assert [one.brier for one in a.remedies.after] == pytest.approx(
        [one.brier for one in b.remedies.after]
    )


@pytest.mark.slow
def test_a_page_gives_the_advice_of_the_assessment():
    a = tn.assess(**in_one_region())
    (model,) = tn.report(a, progress=False).to_dict()["models"]
    action = model["answers"]["action"]
    assert (action["phrase"], action["detail"]) == (a.advice.phrase, a.advice.reason)
    assert model["remedies"] == a.remedies.to_dict()


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (lambda: tn.assess(tn.tally(*drawn())), "calibrators need labels and scores"),
        (lambda: tn.assess(*drawn(12)), "20 rows and 5 clusters are the fewest"),
        (lambda: tn.assess(**in_three_clusters()), "20 rows and 5 clusters are the fewest"),
        (
            lambda: tn.assess(np.eye(30, 2, dtype=int), np.full((30, 2), 0.5), kind="multilabel"),
            "each label has its own",
        ),
    ],
)
def test_rows_that_cannot_be_split_have_no_remedies_and_a_note(made, why):
    a = made()
    assert a.remedies is None
    assert any(note.startswith(f"There are no remedies: {why}") for note in a.notes)
    with pytest.raises(
        tn.InputError, match="at least 20 rows of one problem, in at least 5 clusters"
    ):
        a.cross_fitted(tn.PlattScaling())


@pytest.mark.slow
def test_advice_on_several_labels_is_about_the_worst():
    rng = np.random.default_rng(5)
    p = rng.random((600, 2))
    y = (rng.random((600, 2)) < np.column_stack([p[:, 0], too_extreme(p[:, 1])])).astype(int)
    a = tn.assess(y, p, kind="multilabel")
    assert a.advice.phrase.startswith("For 1: ")
    assert (a.advice.kind, a.advice.value) == ("recalibrate", "1")


def test_the_advice_to_check_the_clusters_says_how():
    y, p = drawn(wrong=lambda p: p)
    pairs = np.arange(len(y)) % 2
    lines = str(tn.assess(y, p, cluster=pairs)).splitlines()
    place = lines.index("  What to do     Check the clusters")
    assert "np.unique(cluster, return_counts=True)" in lines[place + 1]
    assert lines[place + 2].strip() == "tn.report(y_true, y_prob, cluster=another_column)"


def test_the_first_screen_says_what_to_do():
    a = tn.assess(*drawn(wrong=too_extreme))
    lines = str(a).splitlines()
    place = lines.index(f"  What to do     {a.advice.phrase}")
    assert lines[place + 1].strip() == "calibrator = tn.AutoCalibration().fit(y_prob, y_true)"


def test_advice_with_a_calibrator_inside_another_has_plain_values():
    inside = tn.OneVsRest(tn.IsotonicCalibration())
    found = tn.results.Advice("recalibrate", "Recalibrate", "Why.", calibrator=inside).to_dict()
    inner = found["calibrator"]["parameters"]["calibrator"]
    assert inner["type"] == "IsotonicCalibration"
    assert inner["parameters"]["interpolation"] == "linear"


def shifted_in_one_region():
    """A calibrated model, but for a tenth of the rows, whose odds are three times as high."""
    region = np.where(np.arange(6_000) % 10 == 0, "south", "north")
    y, p = drawn(6_000, wrong=lambda p: np.where(region == "south", odds_times(3)(p), p))
    return {"y_true": y, "y_prob": p, "by": {"region": region}}


def test_a_map_by_the_column_of_a_segment_is_advised_with_its_gain():
    rows = shifted_in_one_region()
    found = tn.assess(**rows).advice
    assert (found.kind, found.column, found.value) == ("recalibrate-segment", "region", "south")
    assert isinstance(found.calibrator, tn.SegmentCalibration)
    assert 0 < found.gain_low < found.gain < found.gain_high
    assert "On held-out rows a map by region lowers the Brier score by" in found.reason
    y, p, region = rows["y_true"], rows["y_prob"], rows["by"]["region"]
    half = np.arange(y.size) % 20 < 10
    fitted = found.calibrator.fit(p[half], y[half], by={"region": region[half]})
    after = fitted.predict(p[~half], by={"region": region[~half]})
    saved = tn.brier(y[~half], p[~half]) - tn.brier(y[~half], after)
    assert found.gain_low < saved < found.gain_high


@pytest.mark.slow
def test_the_page_gives_the_line_that_fits_a_map_by_the_column():
    found = tn.report(**shifted_in_one_region(), progress=False)
    answers = found.to_dict()["models"][0]["answers"]
    assert answers["action"]["command"].startswith(
        "calibrator = tn.SegmentCalibration().fit(y_prob, y_true, by={'region': region})\n"
    )
    assert answers["cost"]["phrase"].endswith("% of the Brier score")
    assert "off by one factor" not in found.to_markdown()


@pytest.mark.slow
def test_the_advised_map_by_a_column_stands_in_the_table_before_and_after():
    found = tn.report(**shifted_in_one_region(), progress=False)
    model = found.to_dict()["models"][0]
    row = model["remedies"]["after"][-1]
    advised = model["answers"]["action"]["numbers"]
    assert (row["name"], row["gain"]) == ("a map by region", advised["saved"]["gain"])
    assert row["ece_interval"]["estimate"] == advised["after"]
    text = " ".join(found.to_markdown().split())
    assert "| A map by region | **recommended** |" in text
    assert "A map by region would lower the Brier score" in text
    assert "SegmentCalibration().fit(y_prob, y_true)" not in text


@pytest.mark.slow
def test_one_map_by_the_column_mends_scores_that_are_too_extreme_and_off_in_one_region():
    """Not one map for all rows now, and another for the region later."""
    region = np.where(np.arange(2_000) % 5 == 0, "south", "north")

    def wrong(p):
        odds = (p / (1 - p)) ** 0.7 * np.where(region == "south", 1.8, 1)
        return odds / (1 + odds)

    y, p = drawn(2_000, wrong=wrong)
    found = tn.assess(y, p, by={"region": region}).advice
    assert (found.kind, found.value) == ("recalibrate-segment", "south")
    new_y, new_p = drawn(2_000, seed=2, wrong=wrong)
    after = found.calibrator.fit(p, y, by={"region": region}).predict(new_p, by={"region": region})
    again = tn.assess(new_y, after, by={"region": region}).advice
    assert not again.gain_low > 0


def test_a_segment_whose_map_shows_no_gain_may_be_left():
    found = tn.assess(**in_one_region()).advice
    assert found.phrase == "Recalibration of region = south is optional"
    assert found.gain_low < 0 < found.gain


@pytest.mark.slow
def test_a_map_for_all_rows_is_advised_where_nearly_all_rows_are_one_segment():
    """As for 1,163 of 1,190 applicants: the others are right, too few for a map of their own."""
    region = np.where(np.arange(8_000) % 10 == 0, "south", "north")
    y, p = drawn(8_000, wrong=lambda p: np.where(region == "north", odds_times(2)(p), p))
    a = tn.assess(y, p, by={"region": region})
    assert a.segments.value[0] == "north"
    assert a.segments.differs[0]
    assert a.advice.kind == "recalibrate"
    assert a.advice.gain_low > 0


@pytest.mark.slow
def test_a_map_for_all_rows_is_not_advised_where_one_segment_makes_them_wrong():
    """So many rows of one region are off that a map for all rows gains; one by region gains more."""
    region = np.where(np.arange(8_000) % 4 == 0, "south", "north")
    y, p = drawn(8_000, wrong=lambda p: np.where(region == "south", odds_times(3)(p), p))
    a = tn.assess(y, p, by={"region": region})
    all_rows = a.remedies.most_promising
    assert all_rows.gain_low > 0
    assert (a.advice.kind, a.advice.value) == ("recalibrate-segment", "south")
    assert a.advice.gain > all_rows.gain
    assert "weighted" not in tn.report(a, progress=False).to_markdown()


def test_a_map_saves_at_most_all_of_a_score():
    """99 of 100 labels are 1 whatever the score: the limits of the gain reach beyond the score."""
    rng = np.random.default_rng(0)
    p = np.clip(rng.normal(0.5, 0.2, 100), 0.01, 0.99)
    y = np.ones(100, int)
    y[p.argmin()] = 0
    found = tn.assess(y, p).advice
    assert found.gain_high > tn.brier(y, p)
    assert re.search(r"confidence: [\d.]+ to 100 %", found.reason)
