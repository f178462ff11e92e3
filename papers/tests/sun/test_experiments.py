"""Sun et al. 2025: the small sizes run, and their numbers are right."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

from trueness import calibration_test, ece_interval
from trueness._numerics.streams import stream
from trueness_papers import EXPERIMENTS
from trueness_papers.page import read_records, section
from trueness_papers.sun import sun_setting
from trueness_papers.sun.authors_code import stored_code_coverage
from trueness_papers.sun.bias import expected_statistics, true_with_intercept
from trueness_papers.sun.coverage import limits, simulate_coverage
from trueness_papers.sun.figures import Point, draw_coverage, draw_length
from trueness_papers.sun.intervals import judge_improved, judge_published
from trueness_papers.sun.printed import implied_region, largest_test_set
from trueness_papers.sun.simulation import (
    LEVEL,
    SETTINGS,
    generator_for,
    simulate_run,
    true_squared_error,
)
from trueness_papers.sun.t_cal import BinSums, compare_power, rejections, simulate_rows

RESULTS = Path(__file__).parents[2] / "results"
NAMES = [name for name in EXPERIMENTS if name.startswith("sun-")]


def ours(record, title):
    (table,) = (table for table in record.tables if table.title.startswith(title))
    return {row.labels: row.ours for row in table.rows}


@pytest.mark.parametrize("name", NAMES)
def test_a_quick_run_has_tables_figures_and_whole_sentences(name, recorded):
    record = recorded(name)
    assert record.tables
    assert all(remark.endswith(".") for remark in record.remarks)
    text = section(EXPERIMENTS[name], record)
    assert "nan" not in text
    for table in record.tables:
        assert table.rows
        found = [row.estimate(column) for row in table.rows for column in (None, "improved")]
        assert all(
            math.isfinite(one.value) and one.low <= one.value <= one.high
            for one in found
            if one is not None
        )
        assert all(row.estimate() is not None for row in table.rows)


@pytest.mark.parametrize("name", ["sun-figures-3-4-5", "sun-remark-b8", "sun-zero-rule"])
def test_references_lie_within_limits(name, recorded):
    """Limits hold with 95 % each, and the seed is fixed: a quarter of 19 or 20 outside has a chance below 0.003."""
    found = [row.agrees(table.within) for table in recorded(name).tables for row in table.rows]
    known = [one for one in found if one is not None]
    assert known
    assert known.count(False) < max(1, len(known) / 4)


def test_the_percentile_bootstrap_fails_where_the_intervals_do_not(recorded):
    coverage = ours(recorded("sun-figures-8-9-10"), "Figure 8")
    calibrated = {
        labels[-1]: value for labels, value in coverage.items() if labels[:2] == ("1", "1")
    }
    assert (
        calibrated["text: bootstrap"] <= 0.5
    )  # 20 data sets, of which 0.1 are covered: 11 have a chance of 1e-6
    for method in ("improved: score", "text: analytic", "text: Politis-Romano", "corrected: HulC"):
        assert (
            calibrated[method] >= 0.55
        )  # 20 data sets, 0.85 or more covered: fewer than 11 have a chance of 1e-3


def test_every_method_of_the_paper_is_there(recorded):
    for name, figure in (("sun-figures-3-4-5", "Figure 5"), ("sun-figures-8-9-10", "Figure 10")):
        found = {labels[-1] for labels in ours(recorded(name), figure)}
        by_the_text = {
            f"text: {method}"
            for method in ("analytic", "bootstrap", "Politis-Romano", "adaptive HulC")
        }
        assert by_the_text | {"code: subsampling", "improved: score"} <= found
    power = ours(recorded("sun-t-cal"), "Power")
    assert {labels[:2] for labels in power} == {
        ("100", "1"),
        ("100", "2"),
        ("1,000", "1"),
        ("1,000", "2"),
    }
    assert {"interval, k = 1", "T-Cal", "T-Cal, one threshold"} <= {labels[-1] for labels in power}


def test_large_errors_are_seen(recorded):
    power = ours(recorded("sun-figures-8-9-10"), "Figure 10")
    seen = {labels[-1]: value for labels, value in power.items() if labels[:2] == ("1", "0")}
    assert {seen[name] for name in ("improved: score", "text: analytic", "text: bootstrap")} == {
        1.0
    }
    power = ours(recorded("sun-t-cal"), "Power")
    assert min(value for labels, value in power.items() if labels[:3] == ("100", "1", "0")) > 0.9


def test_lengths_have_the_percentiles_of_the_paper(recorded):
    (table,) = (t for t in recorded("sun-figures-3-4-5").tables if t.title.startswith("Figure 4"))
    lines = (
        "text: analytic",
        "text: bootstrap",
        "code: subsampling",
        "text: adaptive HulC",
    )  # of the paper's figure
    assert all(row.low is not None for row in table.rows if row.labels[-1] in lines)
    plt = pytest.importorskip("matplotlib.pyplot", reason="figures need matplotlib")
    points = [
        Point(s, 0.5, 0.1, "analytic", 200, 0.9, 0.25, 0.04, 0.03, 0.06, 0.001, 0.04)
        for s in SETTINGS
    ]
    figure = draw_length(points, 100)
    (bar,) = (c for c in figure.axes[0].containers if c.get_label() == "analytic")
    (segment,) = bar.lines[2][0].get_segments()
    assert segment[:, 1] == pytest.approx([0.03, 0.06])
    plt.close(figure)


@pytest.mark.parametrize("cells", [20, 10])
@pytest.mark.parametrize("setting", [1, 2])
def test_t_cal_is_that_of_the_library(setting, cells):
    """The statistics of `calibration_test(method='t-cal' or 'exact', k=2)`, on the full simplex."""
    (z,), (y,) = simulate_rows(setting, 100, 0.5, 1, np.random.default_rng(3))
    fine = BinSums.of_rows(z, y[np.newaxis], 20)
    bins = fine if cells == 20 else fine.joined()
    matrix, labels = np.stack([z, 1 - z], axis=1), np.where(y, 0, 1)
    for method, debiased in (("t-cal", False), ("exact", True)):
        one = calibration_test(labels, matrix, method=method, k=2, bins=cells, resamples=9, seed=0)
        assert bins.statistic(debiased=debiased)[0] == pytest.approx(one.statistic, rel=1e-9)


def test_the_tests_beside_t_cal_reject_as_the_library_does():
    for index in (0, 20):
        (z,), (y,) = simulate_rows(
            1, 100, SETTINGS[1].betas[index], 1, np.random.default_rng(index)
        )
        found = rejections(z, y, 20, 0.05, np.random.default_rng(0))
        matrix, labels = np.stack([z, 1 - z], axis=1), np.where(y, 0, 1)
        for name, k, bins in (
            ("interval, k = 1", 1, 20),
            ("interval, k = K", 2, 20),
            ("interval, k = K, m", 2, 10),
        ):
            one = ece_interval(labels, matrix, method="analytic", k=k, bins=bins, level=LEVEL)
            assert found[name] is not one.includes_zero
        assert found["T-Cal"] is found["exact, k = K"] is (index == 0)
    counts = compare_power(1, 100, 0, 3, 2, 0)
    assert (counts["T-Cal"][1], counts["T-Cal, one threshold"][1]) == (2, 3)


def test_the_printed_intervals_are_those_of_the_algorithm(recorded):
    record = recorded("sun-printed-tables")
    assert record.agreement == (30, 30)
    assert "as printed in 30 of 30 intervals" in record.tables[0].note
    # (8) by hand: T = 0.0754², the half-width is 0.0830² − T, and T minus it is 0.0669².
    assert implied_region(0.0754, 0.0830, 10_000, 50, 10).low == pytest.approx(
        2 * 0.0754**2 - 0.0830**2
    )


def test_the_alzheimer_interval_includes_zero_for_few_rows_only():
    most = largest_test_set(0.0452, 20, 2)
    assert most == 512
    assert [implied_region(0.0452, 0.0827, n, 20, 2).includes_zero for n in (most, most + 1)] == [
        True,
        False,
    ]
    assert implied_region(0.0452, 0.0827, most, 20, 2).low == 0


def test_the_zero_rule_is_far_from_its_level_for_concentrated_scores(recorded):
    level = ours(recorded("sun-zero-rule"), "Calibrated")
    assert level["Beta(50, 1)", "100", "20", "published rule"] <= 0.02
    # 1,000 data sets at about 0.131: four deviations.
    assert level["uniform", "50", "10", "published rule"] == pytest.approx(0.131, abs=0.043)
    assert level["Beta(0.3, 60)", "100", "6", "sd / σ₀"] < 0.1


def test_the_estimate_is_nearly_unbiased_and_t_cal_is_not(recorded):
    bias = ours(recorded("sun-remark-b8"), "Relative bias")
    assert bias["1", "100", "0.5", "T, bias in %"] == pytest.approx(-0.96, abs=0.01)
    assert bias["1", "100", "0.5", "T-Cal, bias in %"] == pytest.approx(-10.86, abs=0.01)


def test_the_limit_laws_are_approached(recorded):
    found = ours(recorded("sun-limit-laws"), "Limiting")
    for measure in ("sd of z", "mean σ̂₁² / σ₁²"):  # 1 in the limit, and above before it
        few, more = (found["β = 0.5", *size, measure] for size in (("100", "20"), ("1,000", "64")))
        assert few > more > 0.95
    # 200 data sets: four standard errors.
    assert found["calibrated", "1,000", "64", "sd of z"] == pytest.approx(
        1, abs=4 / math.sqrt(2 * 200)
    )
    for law in ("calibrated", "β = 0.5"):
        for truth in ("coverage of E T", "coverage of ECE²"):
            assert found[law, "1,000", "64", truth] == pytest.approx(0.9, abs=0.085)


def test_the_claims_of_the_text_are_numbers(recorded):
    claims = ours(recorded("sun-figures-3-4-5"), "Claims")
    assert {setting for _, setting in claims} == {"1", "2", "3"}
    for setting in "123":
        assert (
            claims["bootstrap: lowest coverage", setting]
            < claims["analytic: lowest coverage", setting]
        )
        for method in ("subsampling", "adaptive HulC"):
            assert claims[f"{method}: largest loss of power against analytic", setting] > 0


@pytest.mark.parametrize(
    ("name", "figure"), [("sun-figures-3-4-5", "Figure 4"), ("sun-figures-8-9-10", "Figure 9")]
)
def test_the_stored_lengths_of_the_published_interval_are_the_shortest_but_for_one(name, figure):
    lengths = ours(read_records(RESULTS)[name], figure)
    ratios = {"bootstrap": [], "subsampling": [], "adaptive HulC": []}
    for labels, analytic in lengths.items():
        if labels[-1] == "text: analytic":
            for method, found in ratios.items():
                by = "code" if method == "subsampling" else "text"
                found.append(lengths[*labels[:-1], f"{by}: {method}"] / analytic)
    assert min(len(found) for found in ratios.values()) == 63
    assert min(min(ratios[method]) for method in ("subsampling", "adaptive HulC")) > 1
    assert min(ratios["bootstrap"]) > (1 if figure == "Figure 4" else 0.98)
    assert all(2 < max(found) < 6 for found in ratios.values())
    text = [
        lengths[*labels[:-1], "text: Politis-Romano"] / value
        for labels, value in lengths.items()
        if labels[0] == "2" and labels[-1] == "text: analytic"
    ]
    shorter = sum(ratio < 1 for ratio in text)
    assert (len(text), shorter) == (21, 21 if figure == "Figure 4" else 0)


def test_the_subsampling_of_the_text_is_shorter_in_setting_2():
    """At β = 0.5, on the same 60 data sets, it is 0.8 times as long; that of the authors' code, 1.6 times."""
    found = simulate_coverage("published", 2, 100, 10, 60, 0)
    length = found["analytic"]["length"]
    assert (
        found["Politis-Romano"]["length"]
        < 0.9 * length
        < 1.4 * length
        < found["subsampling"]["length"]
    )
    assert found["Politis-Romano"]["coverage"] < 0.9


def test_figure_8_and_the_claims_of_appendix_c1_on_the_stored_results():
    record = read_records(RESULTS)["sun-figures-8-9-10"]
    coverage, power = ours(record, "Figure 8"), ours(record, "Figure 10")
    low, gains = dict.fromkeys(("analytic", "bootstrap", "subsampling", "adaptive HulC"), 0), []
    for (*place, method), share in coverage.items():
        name = method.partition(": ")[2]
        if name in low:  # 21 β of three settings, 1,000 data sets each
            limit = binomtest(round(1_000 * share), 1_000).proportion_ci(0.95, "exact").high
            low[name] += limit < 0.9
            gains.append(power[*place, "text: adaptive HulC"] - power[*place, "text: analytic"])
            assert power[*place, "code: subsampling"] <= power[*place, "text: analytic"]
            assert name != "analytic" or limit > 0.9 or place[0] == "2"
    assert low == {"analytic": 2, "bootstrap": 63, "subsampling": 0, "adaptive HulC": 0}
    assert len(gains) == 63 * 4
    assert max(gains) == pytest.approx(0.024)


@pytest.mark.slow
def test_the_orders_of_remark_2_1(recomputed):
    """Variance m/n² + 1/n of one score per row, and bias m⁻² of a Lipschitz error (the truth is 1/2 everywhere)."""
    found = ours(recomputed("sun-bin-count"), "Numbers of bins")
    fits = []
    for n in ("100", "1,000"):
        spread = {
            int(bins.split()[0]): sd**2
            for (law, rows, bins, what), sd in found.items()
            if law.startswith("over-confident") and rows == n and what == "sd / true"
        }
        fits.append(
            np.polyfit(*zip(*((m, v) for m, v in spread.items() if m <= 100), strict=True), 1)
        )
    (slope, floor), (less, lower) = fits
    assert 60 < slope / less < 160
    assert 6 < floor / lower < 16
    for cells in (10, 20, 40):
        one = expected_statistics(1, 0.0, 1_000, cells)
        assert one.true - one.binned == pytest.approx(1 / (12 * cells**2), rel=1e-6)


def test_the_rule_for_bins_is_marked(recorded):
    labels = {labels[:3] for labels in ours(recorded("sun-bin-count"), "Numbers of bins")}
    assert ("5 oscillations of 0.15", "1,000", "16 (the rule)") in labels
    found = ours(recorded("sun-bin-count"), "Numbers of bins")
    few, many = (
        found["5 oscillations of 0.15", "1,000", bins, "bias / true"] for bins in ("4", "50")
    )
    assert few < -0.9
    assert abs(many) < 0.2


def test_real_models(recorded):
    record = recorded("sun-tables-1-2")
    scaled = ours(record, "Logits")
    assert scaled["1", "none", "published", "estimate"] == pytest.approx(0.0326, abs=1e-4)
    assert scaled["1", "temperature", "published", "estimate"] == pytest.approx(0.0252, abs=1e-4)
    confidences = ours(record, "Confidences")
    kept = confidences["imagenet_resnet152", "published", "76 (the rule)", "estimate"]
    dropped = confidences[
        "imagenet_resnet152", "published code: drops 1", "76 (the rule)", "estimate"
    ]
    assert kept == pytest.approx(0.05877, abs=1e-5)
    assert dropped == pytest.approx(0.05879, abs=1e-5)
    assert any("imagenet_resnet152 328" in remark for remark in record.remarks)


def test_the_stored_intercept_is_an_error_of_its_own(recorded):
    errors = ours(recorded("sun-stored-code"), "True l2 error")
    assert errors["1", "1", "intercept 0"] == 0
    assert errors["1", "1", "intercept 1"] == pytest.approx(0.0318, abs=1e-4)
    coverage = ours(recorded("sun-stored-code"), "Coverage")
    assert coverage["1", "0.5", "subsampling around a subsample"] < 0.6
    assert coverage["1", "0.5", "subsampling around T"] > 0.9


@pytest.mark.parametrize("setting", [1, 2])
@pytest.mark.parametrize("beta", [0.0, 0.3, 0.8])
def test_expected_errors_are_those_of_the_law(setting, beta):
    found = expected_statistics(setting, beta, 100, 20)
    assert found.true == pytest.approx(true_squared_error(setting, beta), rel=1e-9)
    assert found.true > found.binned > found.estimate > found.t_cal
    many = expected_statistics(setting, beta, 10**7, 2000)
    assert (many.binned, many.estimate, many.t_cal) == pytest.approx((found.true,) * 3, rel=2e-3)
    assert true_with_intercept(setting, beta, 0.0) == pytest.approx(found.true, rel=1e-5)


def test_true_error_with_an_intercept_by_simulation():
    rng = np.random.default_rng(1)
    c = np.maximum(u := rng.random(400_000), 1 - u)
    odds = 0.5 * np.log(c / (1 - c))
    truth = (1 / (1 + np.exp(-odds - 1)) + 1 / (1 + np.exp(-odds + 1))) / 2
    assert true_with_intercept(1, 0.5, 1.0) == pytest.approx(((truth - c) ** 2).mean(), rel=0.02)


@pytest.mark.parametrize("setting", [1, 2, 3])
def test_the_methods_are_those_of_the_library(setting):
    """The same cells, and for the published interval the same set, as through the front door."""
    law, n = SETTINGS[setting], 100
    for index in (3, 20):
        data = simulate_run(5, setting, n, index, 0)
        arguments = (
            data,
            setting,
            true_squared_error(setting, law.betas[index]),
            lambda _: stream(7, "resample"),
        )
        found = dict(judge_published(*arguments)) | dict(judge_improved(*arguments))
        k = law.k
        front = {"analytic": {"method": "analytic"}, "score": {"seed": stream(7, "resample")}}
        for name, options in front.items():
            bins = None if name == "score" else law.cells[n]
            one = ece_interval(
                data.y_true, data.y_prob, k=k, bins=bins, level=LEVEL, squared=True, **options
            )
            assert found[name].length == pytest.approx(one.high - one.low)
            assert found[name].power is not one.includes_zero
        if law.k > 1:  # for one score of a row the library has the rows in another order
            options = {"method": "subsampling-published", "bins": law.cells[n], "seed": 7}
            one = ece_interval(data.y_true, data.y_prob, k=k, level=LEVEL, squared=True, **options)
            assert found["subsampling"].above_zero == pytest.approx(one.high - one.low)


def test_every_run_has_data_of_its_own_whatever_else_is_drawn():
    again, other = (simulate_run(0, 1, 50, 3, run).y_prob for run in (4, 5))
    assert (simulate_run(0, 1, 50, 3, 4).y_prob == again).all()
    assert not (again == other).any()
    assert generator_for(0, 1, 50, 3, 4, 1).random() != generator_for(0, 1, 50, 3, 4, 2).random()
    few, more = (simulate_coverage("improved", 1, 100, 4, runs, 0)["score"] for runs in (2, 3))
    assert (few["runs"], more["runs"]) == (2, 3)
    third = 3 * more["length"] - 2 * few["length"]
    assert min(third, few["shortest"]) < more["length"] < max(third, few["longest"])


def test_error_bars_are_exact_limits():
    plt = pytest.importorskip("matplotlib.pyplot", reason="figures need matplotlib")
    points = [
        Point(s, 0.5, 0.1, "analytic", 200, 0.9, 0.25, 0.04, 0.03, 0.06, 0.001, 0.04)
        for s in SETTINGS
    ]
    figure = draw_coverage(points, limits, 100)
    first = figure.axes[0]
    (bar,) = (c for c in first.containers if c.get_label() == "analytic")
    (segment,) = bar.lines[2][0].get_segments()
    exact = binomtest(180, 200).proportion_ci(0.95, "exact")
    assert segment[:, 1] == pytest.approx([exact.low, exact.high], abs=1e-9)
    assert [panel.get_title().split(":")[0] for panel in figure.axes[:3]] == [
        "setting 1",
        "setting 2",
        "setting 3",
    ]
    plt.close(figure)


def test_pieces_are_plain():
    assert json.loads(json.dumps(stored_code_coverage(1, 10, 2, 0)))["runs"] == 2


def test_settings_are_those_of_the_paper():
    assert [len(law.betas) for law in SETTINGS.values()] == [21, 21, 21]
    assert [true_squared_error(number, law.calibrated) for number, law in SETTINGS.items()] == [
        0,
        0,
        0,
    ]
    assert true_squared_error(1, 0) == pytest.approx(1 / 12)
    assert true_squared_error(2, 0) == pytest.approx(0.18007, abs=5e-6)
    assert true_squared_error(3, 0.1) == pytest.approx(0.02)
    assert sun_setting(3, 5, beta=0.1, seed=0).y_prob.shape == (5, SETTINGS[3].classes)
