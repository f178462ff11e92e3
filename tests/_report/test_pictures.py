"""The pictures of the page, and the sums from which its script computes every bin that it offers."""

import re
from itertools import pairwise

import numpy as np
import pytest
from _report.conftest import answers, charts, embedded, entry, texts
from grids import slow

import trueness as tn


def of_sums(y, p, kind=tn.tally, **options):
    """A report without calibrators and intervals."""
    return tn.report(kind(y, p), intervals=False, **options)


def axes_of(p, y=None, kind=tn.tally):
    """The axes that fit the scores, each ten times; they are those from 0 to 1 if the scores fill them."""
    p, y = np.repeat(p, 10), None if y is None else np.repeat(y, 10)
    y = (np.random.default_rng(1).random(p.size) < p).astype(int) if y is None else y
    view = embedded(of_sums(y, p, kind))
    return view["near"] or view["whole"]


def error_of(view, kind, n):
    """What the script computes, in Python."""
    runs = [slice(a, b) for a, b in pairwise(view["rules"][kind][str(n)]["start"])]
    score = [sum(view["high"][run]) * 2.0**-26 + sum(view["low"][run]) * 2.0**-53 for run in runs]
    excess = np.array([sum(view["events"][run]) for run in runs]) - np.array(score)
    return float(np.abs(excess).sum()) / sum(view["weight"] or view["n"])


@pytest.mark.filterwarnings("ignore::trueness.errors.TruenessWarning")
@pytest.mark.parametrize("rows", ["edges", "few"])
def test_every_offered_number_of_bins_is_exact_and_has_its_own_band(binary, edges, rows):
    y, p = (
        edges
        if rows == "edges"
        else ([0, 1, 1, 0, 1, 0, 0], [0.0, 1 / 3, 1.0, 0.29, 0.57, 0.57, 1.0])
    )
    report = binary if rows == "edges" else of_sums(y, p)
    view, tally = embedded(report), tn.tally(y, p)
    offered = report.to_dict()["settings"]["offered"]
    assert len(view["n"]) < 2 * sum(offered)
    assert sum(view["n"]) == len(y)
    assert sum(view["events"]) == sum(y)
    for n in offered:
        for kind, rule in (("width", tn.EqualWidth(n)), ("mass", tn.EqualMass(n))):
            found, wanted = (
                view["rules"][kind][str(n)],
                tn.curve_band(tally, bins=rule, band="simultaneous-consistency", method="bins"),
            )
            assert error_of(view, kind, n) == tn.ece(tally, bins=rule)
            filled = wanted.n > 0
            for end, limit in (("least", wanted.low), ("most", wanted.high)):
                np.testing.assert_allclose(
                    np.array(found[end], float)[filled], limit[filled], atol=1e-6
                )
            assert found["outside"] == np.flatnonzero(wanted.outside).tolist()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::trueness.errors.FewRowsWarning")
def test_what_is_asked_for_is_offered(edges):
    y, p = [0, 1, 1], [0.1, 0.5, 0.9]
    given = of_sums(y, p, bins=500)
    view = embedded(given)
    assert (view["rule"], view["bins"]) == ("given", "500")
    assert error_of(view, "given", 500) == pytest.approx(tn.ece(y, p, bins=500), abs=1e-15)
    assert 500 not in given.to_dict()["settings"]["offered"]
    report = of_sums(*edges, bins=tn.EqualMass(13), level=0.9)
    assert 13 in report.to_dict()["settings"]["offered"]
    seven, table = embedded(report)["rules"]["width"]["7"], tn.bin_table(*edges, bins=7, level=0.9)
    np.testing.assert_allclose(seven["low"], table.low, atol=1e-6)
    np.testing.assert_allclose(seven["high"], table.high, atol=1e-6)


def test_fractional_weights_have_bands_too(edges):
    tally = tn.tally(*edges, sample_weight=np.random.default_rng(0).random(600) + 0.5)
    found = embedded(tn.report(tally, intervals=False))["rules"]["width"]["10"]
    wanted = tn.curve_band(tally, bins=10, band="simultaneous-consistency", method="bins")
    np.testing.assert_allclose(found["least"], wanted.low, atol=1e-6)


@pytest.mark.slow
def test_bands_from_pooled_scores_are_at_most_a_count_off():
    rng = np.random.default_rng(5)
    p = rng.beta(0.5, 2, 20_000)
    y = (rng.random(p.size) < p).astype(int)
    view = embedded(of_sums(y, p))
    for n in (2, 10, 50):
        wanted = tn.curve_band(
            y, p, bins=tn.EqualMass(n), band="simultaneous-consistency", method="bins"
        )
        one = view["rules"]["mass"][str(n)]
        assert np.all(np.abs(np.array(one["least"]) - wanted.low) * wanted.n < 1.1)
        assert np.all(np.abs(np.array(one["most"]) - wanted.high) * wanted.n < 1.1)


@pytest.mark.parametrize(
    ("scale", "most"), [(1, 1.0), pytest.param(0.3, 0.4, marks=pytest.mark.slow)]
)
def test_axes_show_where_the_scores_are(scale, most):
    axes = axes_of(np.random.default_rng(0).random(2_000) * scale)
    assert (axes["scale"], axes["low"], axes["high"]) == ("linear", 0, pytest.approx(most))
    assert sum(axes["histogram"]) == 20_000
    if scale == 1:
        assert axes["labels"] == ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]


@pytest.mark.slow
def test_rare_events_have_logarithmic_axes_that_end_where_less_than_a_tenth_of_an_event_is_expected():
    p = np.geomspace(1e-7, 0.1, 200)
    axes = axes_of(p)
    assert (axes["scale"], axes["low"], axes["high"]) == (
        "log",
        5e-5,
        pytest.approx(0.1),
    )  # 0.1 / 2,000
    assert axes["labels"] == ["0.01 %", "0.1 %", "1 %", "10 %"]
    assert sum(axes["histogram"]) == 2_000
    assert np.count_nonzero(axes["histogram"]) == 50


@pytest.mark.slow
def test_confidences_near_one_are_looked_at_closely():
    axes = axes_of(1 - np.random.default_rng(0).random(2_000) * 0.1)
    assert (axes["scale"], axes["low"], axes["high"]) == ("linear", pytest.approx(0.85), 1)
    assert axes["labels"][-2:] == ["97 %", "100 %"]


@pytest.mark.parametrize("side", ["rare", *slow("frequent")])
def test_scores_over_many_decades_have_logarithmic_or_logit_axes(side):
    rare = 1 / (1 + np.exp(-np.random.default_rng(0).normal(-8, 3, 2_000)))
    axes = axes_of(rare if side == "rare" else 1 - rare)
    assert axes["scale"] == ("log" if side == "rare" else "logit")
    assert ("0.1 %" if side == "rare" else "99.9 %") in axes["labels"]
    assert sum(axes["histogram"]) == 20_000
    assert np.count_nonzero(axes["histogram"]) > 40


@pytest.mark.slow
def test_certain_scores_and_bins_keep_linear_axes():
    assert axes_of(np.r_[np.zeros(90), np.linspace(0.01, 0.99, 10)])["scale"] == "linear"
    p = np.random.default_rng(0).random(2_000) * 0.1
    bins = axes_of(p, (p > 0.05).astype(int), tn.binned)
    assert bins["scale"] == "linear"
    assert sum(bins["histogram"]) == pytest.approx(20_000)


@pytest.mark.filterwarnings("ignore::trueness.errors.TruenessWarning")
@pytest.mark.parametrize("score", [0.0, *slow(1.0, 1e-12, 1 - 1e-12, 3e-9)])
def test_a_single_score_has_axes(score):
    axes = axes_of(np.full(20, score), y=np.full(20, round(score)))
    assert axes["low"] <= score <= axes["high"]
    assert len(axes["ticks"]) >= 4


@pytest.mark.slow
def test_the_worst_range_is_told_in_percent_and_no_other(off, calibrated):
    svg, where = charts(off, "reliability")[0], entry(off)["answers"]["where"]["numbers"]
    says, happens = f"says {100 * where['score']:.1f} %,", f"happens {100 * where['rate']:.1f} %"
    assert texts(svg, "remark") == [says, happens]
    assert texts(svg, "tick")[:4] == ["0 %", "0 %", "20 %", "20 %"]
    assert texts(svg, "axis") == ["predicted probability", "how often it happened"]
    assert texts(charts(calibrated[2], "reliability")[0], "remark") == []


def test_an_annotation_stays_within_the_frame():
    rng = np.random.default_rng(0)
    p = 1 - rng.beta(1, 20, 5_000) * 0.9
    svg = charts(of_sums((rng.random(5_000) < p - 0.03).astype(int), p), "reliability")[0]
    remarks = [node for node in svg.iter("text") if node.get("class") == "remark"]
    assert remarks
    assert all(68 <= float(node.get("x")) <= 68 + 380 - 8.4 * len(node.text) for node in remarks)


def test_a_top_label_is_right_or_not(multiclass):
    assert texts(charts(multiclass, "reliability")[0], "axis") == [
        "confidence",
        "how often it was right",
    ]
    assert texts(charts(multiclass, "blocks")[0], "axis") == [
        "scores of the block",
        "how often it was right",
    ]


def test_a_line_joins_only_neighbouring_bins_with_some_rows():
    p = np.repeat([0.05, 0.15, 0.25, 0.35, 0.75, 0.85], [20, 20, 1, 20, 20, 20])
    svg = charts(of_sums(np.arange(p.size) % 2, p), "reliability")[0]
    lines = [node.get("points").split() for node in svg.iter("polyline")]
    assert [len(line) for line in lines] == [
        2,
        2,
    ]  # neither to the bin of one row nor over the empty ones
    assert len([node for node in svg.iter("g") if "bin" in node.get("class", "").split()]) == 6


@pytest.mark.slow
def test_rare_events_begin_with_bins_of_equal_mass_and_are_told_apart():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 700, 20_000)
    y = (rng.random(p.size) < 2.5 * p).astype(int)
    found = of_sums(y, p)
    model, page = entry(found), found.page()
    assert model["summary"]["ece"] == tn.ece(y, p)
    assert any("picture and table show 10 bins of equal mass" in note for note in model["notes"])
    assert "Reliability diagram of 10 bins" in page
    assert "axes are logarithmic" in page
    svg = charts(found, "reliability")[0]
    says, happens = (float(text.split()[1]) for text in texts(svg, "remark"))
    assert says < happens < 5


def bars(svg):
    """The lines of a forest plot by name: class, and both ends of the bar in units of the axis."""
    ticks = [
        node
        for node in svg.iter("text")
        if node.get("class") == "tick" and node.get("text-anchor") == "middle"
    ]
    (a, at), (b, to) = (
        (float(node.text.replace("−", "-")), float(node.get("x"))) for node in (ticks[0], ticks[-1])
    )
    found = {}
    for group in (node for node in svg.iter("g") if "bin" in node.get("class", "").split()):
        line = next((node for node in group.iter("line") if node.get("class") == "error"), None)
        ends = (
            []
            if line is None
            else [a + (b - a) * (float(line.get(x)) - at) / (to - at) for x in ("x1", "x2")]
        )
        found[next(group.iter("text")).text] = (group.get("class"), pytest.approx(ends, abs=0.02))
    return found


def test_the_bar_of_the_error_has_an_axis_and_names_its_marks(off):
    svg, n = charts(off, "forest")[0], entry(off)["answers"]["how_far"]["numbers"]
    low, high, chance = (100 * n[key] for key in ("low", "high", "chance_high"))
    wanted = {"typical error": ("bin tone", [low, high]), "ECE": ("bin", [])}
    assert bars(svg) == wanted | {"ECE by chance": ("bin chance", [0, chance])}
    assert texts(svg, "axis") == ["percentage points"]
    assert f"{low:.1f} to {high:.1f}" in svg.get("aria-label")


def test_a_forest_plot_shows_the_segments_with_their_limits(off):
    rows = entry(off)["segments"]["rows"]
    wanted = {
        f"region = {one['value']}": (one["gap_low"], one["gap_high"], one["differs"])
        for one in rows
    }
    svg = charts(off, "forest")[1]
    assert [one["flagged"] for one in rows] == [True, True]
    for name, (kind, ends) in bars(svg).items():
        assert ends == [100 * wanted[name][0], 100 * wanted[name][1]]
        assert kind == ("bin flagged" if wanted[name][2] else "bin flagged hollow")


@pytest.mark.slow
def test_segments_of_rare_events_are_compared_by_ratios():
    p = np.repeat([0.01, 0.02], 2_000)
    y = np.zeros(4_000, dtype=int)
    y[:20], y[2_000:2_040] = 1, 1
    found = tn.report(y, p, by={"half": np.arange(4_000) // 2_000}, intervals=False)
    assert [texts(svg, "axis") for svg in charts(found, "forest")] == [["observed / expected"]] * 2
    assert "axes are logarithmic" in found.page()


def drawn(svg):
    """The points of each curve, as scores and rates."""
    lines = [node.get("points").split() for node in svg.iter("polyline")]
    places = [
        np.array([[float(part) for part in point.split(",")] for point in line]) for line in lines
    ]
    return [((xy - [68, 392]) / [380, -380]).T for xy in places]


def test_the_rows_are_drawn_before_and_after_the_map(off, demo):
    (svg,), fixes = charts(off, "courses"), entry(off)["remedies"]
    before, after = drawn(svg)
    table = tn.bin_table(demo.y_true, demo.y_prob, bins=tn.EqualMass(10))
    np.testing.assert_allclose(before, [table.score, table.rate], atol=1e-4)
    best = next(one for one in fixes["after"] if one["calibrator"] == "AutoCalibration()")
    np.testing.assert_allclose(after, [best["course"]["score"], best["course"]["rate"]], atol=1e-4)
    assert np.abs(after[1] - after[0]).mean() < np.abs(before[1] - before[0]).mean()


def test_all_models_are_drawn_in_one_diagram_and_have_estimate_and_limits_of_the_same_error(two):
    curves = charts(two, "courses")[-1]
    for shown, model in zip(drawn(curves), two.to_dict()["models"], strict=True):
        bins = {key: np.array(model["bins"][key], float) for key in ("n", "score", "rate")}
        some = bins["n"] >= 5
        np.testing.assert_allclose(shown, [bins["score"][some], bins["rate"][some]], atol=1e-4)
    error, slope, ratio = charts(two, "forest")[-3:]
    assert [texts(one, "axis") for one in (slope, ratio)] == [["slope"], ["observed / expected"]]
    for i, name in enumerate(("fine", "off")):
        n = answers(two, i)["how_far"]["numbers"]
        assert bars(error)[name] == (f"bin hue-{i}", [100 * n["low"], 100 * n["high"]])


@pytest.mark.filterwarnings("ignore::trueness.errors.TruenessWarning")
def test_ratio_axes_have_ticks_apart_where_no_event_came():
    p = np.random.default_rng(0).beta(1, 60, 200)
    svg = charts(tn.report(np.zeros(200, int), p, intervals=False), "forest")[0]
    at = [float(node.get("x")) for node in svg.iter("text") if "tick" in node.get("class", "")]
    assert len(at) >= 3
    assert min(np.diff(sorted(at))) > 30
    verdict = tn.verdict(np.zeros(200, int), p)
    assert re.fullmatch(r"at most [0-9.]+ times as many events as predicted", verdict.error)
