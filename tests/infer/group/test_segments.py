"""Segments are tested jointly and exactly, and the order of rows, names and weights do not matter."""

import math
import warnings
from itertools import product

import numpy as np
import pytest
from grids import slow
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtr
from scipy.stats import beta

import trueness as tn
from trueness.errors import InputError

scores = st.sampled_from([0.0, 0.03, 0.1, 0.25, 0.5, 0.8, 0.97, 1.0])
data = st.lists(
    st.tuples(scores, st.booleans(), st.sampled_from("abcd"), st.sampled_from("xyz")),
    min_size=1,
    max_size=40,
)


def columns(rows):
    p, y, a, b = (np.array(values) for values in zip(*rows, strict=True))
    return y.astype(int), p, {"a": a, "b": b}


def by_name(found):
    return {(c, v): row for c, v, row in zip(found.column, found.value, found.rows(), strict=True)}


def tail(events, p):
    """The two-sided tail by enumeration of all labels."""
    weight = np.array(
        [np.prod(np.where(labels, p, 1 - p)) for labels in product([0, 1], repeat=len(p))]
    )
    counts = np.array([sum(labels) for labels in product([0, 1], repeat=len(p))])
    return min(1.0, 2 * min(weight[counts <= events].sum(), weight[counts >= events].sum()))


def exact_adjusted(y, p, by):
    """Step-down max-T with the exact null distribution: every label vector with its probability."""
    masks = {(name, v): values == v for name, values in by.items() for v in np.unique(values)}
    tables = {key: [tail(k, p[some]) for k in range(some.sum() + 1)] for key, some in masks.items()}
    observed = {key: tables[key][y[some].sum()] for key, some in masks.items()}
    order = sorted(observed, key=observed.get)
    vectors = np.array(list(product([0, 1], repeat=y.size)))
    weight = np.where(vectors, p, 1 - p).prod(axis=1)
    tails = {
        key: np.array(tables[key])[vectors[:, some].sum(axis=1)] for key, some in masks.items()
    }
    adjusted, running = {}, 0.0
    for i, key in enumerate(order):
        least = np.min([tails[other] for other in order[i:]], axis=0)
        running = max(running, weight[least <= observed[key]].sum())
        adjusted[key] = running
    return observed, adjusted


def test_pvalues_are_those_of_all_label_vectors():
    rng = np.random.default_rng(5)
    p = np.array([0.03, 0.2, 0.2, 0.35, 0.5, 0.7, 0.1, 0.05, 0.6, 0.9])
    y = np.array([1, 1, 1, 1, 0, 1, 1, 0, 0, 1])
    by = {"a": np.repeat(["u", "v", "w"], [4, 4, 2]), "b": rng.choice(["x", "z"], 10)}
    observed, adjusted = exact_adjusted(y, p, by)
    found = by_name(tn.segments(y, p, by, resamples=19_999, seed=0))
    for key, one in found.items():
        assert one["pvalue"] == pytest.approx(observed[key], abs=1e-12)
        error = np.sqrt(adjusted[key] * (1 - adjusted[key]) / 20_000)
        assert one["adjusted_pvalue"] == pytest.approx(adjusted[key], abs=4.5 * error + 1e-4)


@given(rows=data, seed=st.integers(0, 10))
def test_neither_the_order_of_rows_nor_names_matter(rows, seed):
    y, p, by = columns(rows)
    found = by_name(tn.segments(y, p, by, resamples=99, seed=1))
    order = np.random.default_rng(seed).permutation(y.size)
    names = dict(zip("abcd", np.random.default_rng(seed).permutation(list("mnop")), strict=True))
    renamed = {"a": np.array([names[v] for v in by["a"]])[order], "b": by["b"][order]}
    other = by_name(tn.segments(y[order], p[order], renamed, resamples=99, seed=1))
    for (column, value), row in found.items():
        same = other[column, names[value] if column == "a" else value]
        for key in set(row) - {"value", "column", "finding"}:
            assert same[key] == pytest.approx(row[key], rel=1e-6, abs=1e-9, nan_ok=True), key


@given(rows=data, weights=st.lists(st.integers(0, 3), min_size=40, max_size=40))
def test_a_weight_of_two_is_the_row_twice(rows, weights):
    y, p, by = columns(rows)
    w = np.array(weights[: y.size])
    if w.sum() == 0:
        return
    weighted = by_name(tn.segments(y, p, by, sample_weight=w, resamples=99, seed=0))
    repeated = by_name(
        tn.segments(
            np.repeat(y, w),
            np.repeat(p, w),
            {k: np.repeat(v, w) for k, v in by.items()},
            resamples=99,
            seed=0,
        )
    )
    assert weighted.keys() == repeated.keys()
    for key, row in repeated.items():
        for name in set(row) - {"value", "column", "n", "finding"}:
            assert weighted[key][name] == pytest.approx(
                row[name], rel=1e-6, abs=1e-9, nan_ok=True
            ), name


@given(rows=data)
def test_swapping_the_classes_swaps_the_signs(rows):
    y, p, by = columns(rows)
    found = by_name(tn.segments(y, p, by, resamples=19, seed=0))
    other = by_name(tn.segments(1 - y, 1 - p, by, resamples=19, seed=0))
    for key, row in found.items():
        swapped = other[key]
        assert swapped["pvalue"] == pytest.approx(row["pvalue"], abs=1e-12)
        assert swapped["gap"] == pytest.approx(-row["gap"], abs=1e-12)
        assert swapped["gap_low"] == pytest.approx(-row["gap_high"], abs=1e-9)
        assert swapped["shrunk_gap"] == pytest.approx(-row["shrunk_gap"], abs=1e-6)


@pytest.fixture(scope="module")
def shops():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 9, 12_000)
    shop = np.repeat([f"s{i:02d}" for i in range(1, 61)], 200)
    y = (rng.random(p.size) < np.where(shop == "s55", np.minimum(1, 2.2 * p), p)).astype(int)
    return y, p, shop


def test_one_of_sixty_segments_is_flagged(shops):
    y, p, shop = shops
    found = tn.segments(y, p, {"shop": shop}, seed=0)
    assert len(found) == 60
    assert [v for v, flag in zip(found.value, found.flagged, strict=True) if flag] == ["s55"]
    assert (found.value[0], found.finding[0]) == ("s55", "under-predicted")
    assert found.ratio_low[0] > 1.25
    assert (
        found.joint_pvalue == found.adjusted_pvalue[0] < 1e-3
    )  # a proven tail goes below 1/(R + 1)


def test_a_segment_whose_errors_cancel_is_flagged_by_its_slope():
    rng = np.random.default_rng(1)  # the test of the other half is not at its limit
    p = rng.random(6_000)
    half = np.where(np.arange(p.size) % 6 == 0, "odd", "even")
    log_odds = np.log(p / (1 - p))
    y = rng.random(p.size) < np.where(half == "odd", 1 / (1 + np.exp(-0.4 * log_odds)), p)
    found = tn.segments(y, p, half, seed=0)
    odd = found.value.index("odd")
    assert found.pvalue[odd] > 0.05
    assert found.flagged[odd]
    assert found.finding[odd] == "too extreme"
    assert not found.flagged[1 - odd]


def test_limits_hold_without_any_event():
    found = tn.segments(np.zeros(60), np.full(60, 1e-4), np.repeat("all", 60), seed=0)
    assert found.gap_high[0] == pytest.approx(1 - 0.025 ** (1 / 60) - 1e-4)
    assert (found.gap_low[0], found.ratio_low[0]) == (pytest.approx(-1e-4), 0.0)
    assert found.shrunk_high[0] > found.shrunk_gap[0] > found.shrunk_low[0]


def test_a_label_that_its_score_rules_out_has_p_zero():
    y, p = np.array([1] * 90 + [0] + [0, 1] * 20), np.array([1.0] * 91 + [0.5] * 40)
    found = tn.segments(y, p, np.repeat(["certain", "even"], [91, 40]), seed=0)
    at = found.value.index("certain")
    assert found.pvalue[at] == found.adjusted_pvalue[at] == 0
    assert found.adjusted_pvalue[1 - at] == 1


def test_pvalues_do_not_stop_at_the_number_of_draws_nor_at_rounding_error():
    y, p = np.ones(400), np.full(400, 0.3)
    found = tn.segments(
        np.append(y, [0, 1]), np.append(p, [0.5, 0.5]), np.repeat(["a", "b"], [400, 2]), seed=0
    )
    at = found.value.index("a")
    assert found.pvalue[at] == pytest.approx(2 * 0.3**400, rel=1e-6)
    assert found.adjusted_pvalue[at] <= 4.01 * found.pvalue[at]


@pytest.mark.parametrize("bins", [20, *slow("distinct", "sketch")])
def test_groups_of_an_accumulator_are_segments(shops, bins):
    y, p, shop = shops
    sums = tn.Accumulator(bins=bins, by="shop")
    for part in np.array_split(np.arange(y.size), 3):
        sums.update(y[part], p[part], group=shop[part])
    found, rows = (
        by_name(tn.segments(sums, seed=0)),
        by_name(tn.segments(y, p, {"shop": shop}, seed=0)),
    )
    assert found.keys() == rows.keys()
    for key, row in rows.items():
        exact = bins == "distinct"
        for name in ("n", "events", "expected", "gap"):
            assert found[key][name] == pytest.approx(row[name], rel=1e-6, abs=1e-9)
        for name in (
            "gap_low",
            "ratio_high",
        ):  # mean scores of cells say a little less about the labels
            assert found[key][name] == pytest.approx(
                row[name], rel=1e-6 if exact else 0.02, abs=1e-9
            )
        assert found[key]["adjusted_pvalue"] == pytest.approx(
            row["adjusted_pvalue"], abs=1e-12 if exact else 0.2
        )
        assert found[key]["pvalue"] == pytest.approx(row["pvalue"], abs=1e-12 if exact else 0.02)
    assert found["shop", "s55"]["flagged"]


def test_groups_of_several_columns_are_segments_and_crossings(shops):
    polars = pytest.importorskip("polars")
    y, p, shop = (values[:3_000] for values in shops)
    day = np.where(np.arange(y.size) % 3 == 0, "sun", "mon")
    frame = polars.DataFrame({"y": y, "p": p, "shop": shop, "day": day})
    groups = tn.scan_groups(frame, by=["shop", "day"], label="y", prob="p", bins=tn.Distinct())
    found = by_name(tn.segments(groups, by=["shop", "day"], crossed=2, seed=0))
    rows = by_name(tn.segments(y, p, {"shop": shop, "day": day}, crossed=2, seed=0))
    assert found.keys() == rows.keys()
    assert ("shop × day", "s01 × sun") in found
    for key, row in rows.items():
        assert found[key]["pvalue"] == pytest.approx(row["pvalue"], abs=1e-12)
        assert found[key]["adjusted_pvalue"] == pytest.approx(row["adjusted_pvalue"], abs=1e-12)


def test_fractional_weights_count_by_their_squares():
    rng = np.random.default_rng(4)
    p = rng.random(3_000)
    y, group = rng.random(p.size) < p, rng.integers(0, 10, p.size).astype(str)
    equal = by_name(tn.segments(y, p, group, sample_weight=np.full(p.size, 0.3), seed=0))
    plain = by_name(tn.segments(y, p, group, seed=0))
    for key, row in plain.items():
        assert equal[key]["pvalue"] == pytest.approx(
            row["pvalue"], abs=0.06
        )  # a continuous tail for a lattice
        assert equal[key]["gap_low"] == pytest.approx(row["gap_low"], abs=1e-9)
        assert equal[key]["shrunk_gap"] == pytest.approx(row["shrunk_gap"], abs=1e-9)
    heavy = by_name(
        tn.segments(
            y, p, group, sample_weight=np.where(np.arange(p.size) % 100 == 0, 500.5, 1), seed=0
        )
    )
    wider = [
        heavy[key]["gap_high"] - heavy[key]["gap_low"] > 3 * (row["gap_high"] - row["gap_low"])
        for key, row in plain.items()
    ]
    assert all(wider)


def test_clusters_widen_limits_and_spare_copies():
    rng = np.random.default_rng(7)
    p = np.repeat(rng.random(300), 8)
    y, cluster = np.repeat(rng.random(300) < p[::8], 8), np.repeat(np.arange(300), 8)
    group = np.repeat(rng.integers(0, 6, 300), 8)
    alone, aware = (
        tn.segments(y, p, group, seed=0),
        tn.segments(y, p, group, cluster=cluster, seed=0),
    )
    assert alone.joint_pvalue < 0.01  # eight copies of each row look like proof
    assert aware.joint_pvalue > 0.05
    one, other = by_name(alone), by_name(aware)
    assert all(
        other[k]["gap_high"] - other[k]["gap_low"] > 2 * (one[k]["gap_high"] - one[k]["gap_low"])
        for k in one
    )
    order = rng.permutation(y.size)
    names = rng.permutation(1_000)[cluster]
    shuffled = tn.segments(y[order], p[order], group[order], cluster=names[order], seed=0)
    assert shuffled.adjusted_pvalue.tolist() == aware.adjusted_pvalue.tolist()


def test_few_clusters_are_named():
    y, p = np.tile([0, 1], 60), np.full(120, 0.5)
    found = tn.segments(
        y, p, np.repeat(["few", "many"], [20, 100]), cluster=np.arange(120) // 4, seed=0
    )
    assert found.notes == (
        "Equivalent to fewer than 20 clusters of equal size, so flags are less reliable: by = few.",
    )


def test_a_flag_whose_limits_include_no_gap_is_explained():
    """Of rare events with sampling weights the limits of a rate are wider than the test."""
    rng = np.random.default_rng(0)
    group = np.array(["a", "b", "c", "d", "e"])[rng.integers(0, 5, 4_000)]
    p = rng.beta(0.3, 8, 4_000)
    weight = rng.lognormal(0, 1, 4_000)
    y = (rng.random(4_000) < np.where(group == "a", 0.6 * p, p)).astype(int)
    found = tn.segments(y, p, group, sample_weight=weight, seed=0)
    at = found.value.index("a")
    assert found.flagged[at]
    assert found.ratio_low[at] < 1 < found.ratio_high[at]
    assert any("limits of observed/expected include 1: by = a." in note for note in found.notes)


def test_few_clusters_in_all_are_a_warning():
    y, p = np.tile([0, 1], 60), np.full(120, 0.5)
    with pytest.warns(
        tn.errors.FewClustersWarning,
        match="There are 12 clusters, worth 12.0 of equal size. Below 20",
    ):
        tn.segments(y, p, np.arange(120) % 2, cluster=np.arange(120) // 10, seed=0)


def test_a_matrix_is_seen_through_its_largest_scores():
    P = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.4, 0.35, 0.25]] * 10)
    y = np.tile([0, 1, 0], 10)
    found = tn.segments(y, P, np.tile(["a", "b", "a"], 10), seed=0)
    a = found.value.index("a")
    assert (found.events[a], found.expected[a]) == (20, pytest.approx(11.0))


def test_messages():
    y, p = [0, 1], [0.5, 0.5]
    with pytest.raises(
        InputError, match="`by` must be a column, a dict of columns or a frame; got None"
    ):
        tn.segments(y, p)
    with pytest.raises(InputError, match="`by` must have one entry per row; 'by' has shape"):
        tn.segments(y, p, ["a"])
    with pytest.raises(InputError, match="`crossed` must be a whole number ≥ 1"):
        tn.segments(y, p, ["a", "b"], crossed=0)
    with pytest.raises(InputError, match="must have groups; this Accumulator has none"):
        tn.segments(tn.Accumulator())
    with pytest.raises(InputError, match="`y_true` must hold at least one group; there is none"):
        tn.segments(tn.Accumulator(by="day"))
    with pytest.raises(InputError, match="`by` must name the 2 columns of the groups; got 'day'"):
        tn.segments({("mon", 1): tn.tally(y, p)}, by="day")
    with pytest.raises(InputError, match="`y_true` must be labels if `y_prob`, `cluster`"):
        tn.segments({"mon": tn.tally(y, p)}, p)
    with pytest.raises(InputError, match="these have one per class"):
        tn.segments({"mon": tn.tally([0, 1, 2], np.eye(3))})


def test_it_prints_as_a_table_and_converts(shops):
    y, p, shop = shops
    found = tn.segments(y, p, {"shop": shop}, seed=0)
    sentence, _, worst, *_ = str(found).splitlines()
    assert sentence == (
        "1 of 60 segments flagged; jointly p = 0.00019. Different from the error of all rows: shop = s55."
    )
    assert worst.startswith("shop    s55")
    assert found.to_dict()["value"][0] == "s55"
    assert set(found.rows()[0]) >= {"column", "value", "n", "shrunk_gap", "cost", "finding"}
    assert found.to_frame().shape == (60, 25)


def false_flags(make, runs, **options):
    """How many of `runs` calibrated data sets have a flagged segment at 0.1."""
    flags = 0
    for seed in range(runs):
        y, p, by, cluster = make(np.random.default_rng(seed))
        flags += tn.segments(
            y, p, by, cluster=cluster, level=0.9, resamples=199, seed=seed, **options
        ).flagged.any()
    return flags


def overlapping(rng):
    p = rng.beta(0.3, 20, 500)
    by = {
        "small": rng.integers(0, 160, p.size).astype(str),
        "few": rng.integers(0, 4, p.size),
        "high": p > np.median(p),
    }
    return rng.random(p.size) < p, p, by, None


def clustered(rng):
    centre = rng.normal(size=100)
    cluster = np.repeat(np.arange(100), rng.integers(1, 8, 100))
    p = 1 / (1 + np.exp(1 - 0.7 * centre[cluster] - rng.normal(size=cluster.size)))
    # A Gaussian copula with equal correlation inside a cluster keeps the margins.
    u = ndtr(
        np.sqrt(0.4) * rng.normal(size=100)[cluster] + np.sqrt(0.6) * rng.normal(size=cluster.size)
    )
    by = {"row": rng.integers(0, 5, p.size), "cluster": rng.integers(0, 4, 100)[cluster]}
    return u < p, p, by, cluster


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "options"),
    [(overlapping, {}), (overlapping, {"crossed": 2}), (clustered, {})],
    ids=["rows", "crossed", "clusters"],
)
def test_any_false_flag_is_as_rare_as_promised(make, options):
    runs = 400
    most = runs * 0.1 + 3 * np.sqrt(runs * 0.1 * 0.9)
    assert false_flags(make, runs, **options) <= most


def test_a_segment_with_the_error_of_all_rows_is_flagged_and_does_not_differ():
    rng = np.random.default_rng(5)
    p, sex, place = (
        rng.uniform(0.1, 0.5, 4_000),
        rng.choice(["1", "2"], 4_000),
        rng.choice(list("abcdefgh"), 4_000),
    )
    y = rng.random(4_000) < expit(0.8 * logit(p) + 0.4 + 0.8 * (place == "b"))
    found = by_name(tn.segments(y, p, {"sex": sex, "place": place}, seed=0))
    assert all(found[key]["flagged"] for key in (("sex", "1"), ("sex", "2"), ("place", "b")))
    assert [key for key, row in found.items() if row["differs"]] == [("place", "b")]
    assert min(found["sex", "1"]["overall_pvalue"], found["sex", "2"]["overall_pvalue"]) > 0.1


def test_overall_p_values_are_those_of_labels_drawn_and_fitted_again():
    rng = np.random.default_rng(2)
    p, by = np.repeat([0.2, 0.4, 0.7], 60), np.tile(["a", "b"], 90)
    y = (rng.random(180) < expit(logit(p) + 0.5 + 0.5 * (by == "a"))).astype(int)
    found = tn.segments(y, p, by, resamples=1_999, seed=0)
    slope = tn.calibration_slope(y, p)
    start = brentq(lambda a: (y - expit(a + slope * logit(p))).sum(), -9, 9)
    fitted = expit(start + slope * logit(p))
    x, at, v = logit(p), by == "a", fitted * (1 - fitted)
    away = x[at] - np.average(x[at], weights=v[at])

    def statistics(y):
        """The gap and the slope of "a" after a step of Newton's method towards the line of all rows."""
        design = np.stack([np.ones(180), x])
        step = np.linalg.solve((design * v) @ design.T, design @ (y - fitted))
        rest = y - fitted - v * (design.T @ step)
        return np.array([rest[at].sum(), (rest[at] * away).sum()])

    drawn = np.array([statistics(rng.random(180) < fitted) for _ in range(2_000)])
    scale = drawn.std(axis=0)
    share = (np.abs(drawn / scale).max(axis=1) >= np.abs(statistics(y) / scale).max()).mean()
    # "b" has the statistics of "a" with the other sign, nearly; its slope is about another mean.
    assert found.overall_pvalue.min() == pytest.approx(share, abs=0.04)
    assert 0.01 < share < 0.5


@pytest.mark.filterwarnings("ignore::trueness.errors.OneClassWarning")
def test_without_an_overall_error_nothing_differs():
    one = tn.segments(
        np.ones(40), np.full(40, 0.5), np.repeat(["a", "b"], 20), resamples=19, seed=0
    )
    assert np.isnan(one.overall_pvalue).all()
    assert not one.differs.any()
    assert str(one).startswith("2 of 2 segments flagged; jointly p < 0.0001.\n")
    whole = tn.segments([0, 1] * 40, [0.2, 0.4] * 40, np.repeat("all", 80), resamples=19, seed=0)
    assert (whole.overall_pvalue.tolist(), whole.differs.tolist()) == ([1.0], [False])
    assert str(whole).startswith(
        "1 of 1 segment flagged; jointly p = 0.00038. None differs from the error of all rows."
    )


@pytest.mark.slow
@pytest.mark.parametrize("clusters", [False, True])
def test_segments_that_share_the_error_of_all_rows_rarely_differ(clusters):
    runs, found = 300, 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        n = 1_200
        cluster = np.arange(n) // 4
        p = rng.beta(1, 3, n)
        u = ndtr(
            np.sqrt(0.3) * rng.normal(size=n // 4)[cluster] + np.sqrt(0.7) * rng.normal(size=n)
        )
        y = (u if clusters else rng.random(n)) < expit(0.5 + 0.7 * logit(p))
        by = {"a": rng.integers(0, 8, n), "high": p > 0.2}
        one = tn.segments(
            y, p, by, cluster=cluster if clusters else None, level=0.9, resamples=199, seed=seed
        )
        found += one.differs.any()
    assert found <= runs * 0.1 + 3 * math.sqrt(runs * 0.1 * 0.9)


@pytest.mark.slow
@pytest.mark.parametrize("shift", [0.0, 0.6])
@pytest.mark.parametrize("size", [20, 200])
def test_limits_hold_for_the_segment_that_is_shown_first(shift, size):
    runs, covered = 300, 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        p, by = rng.beta(1, 2, 40 * size), np.repeat(np.arange(40), size)
        q = expit(logit(p) + shift * rng.normal(size=40)[by])
        found = tn.segments(rng.random(p.size) < q, p, by.astype(str), resamples=19, seed=seed)
        at = by == int(found.value[0])
        covered += found.gap_low[0] <= (q - p)[at].mean() <= found.gap_high[0]
    assert covered / runs >= 0.92


@pytest.mark.parametrize("weight", [None, 1.5, 0.1])
def test_a_wrong_label_under_a_rounded_score_does_not_flag_a_segment(weight):
    rng = np.random.default_rng(7)
    p = rng.beta(0.7, 2, 600)
    y = (rng.random(600) < p).astype(int)
    group = np.char.add("s", (np.arange(600) % 20).astype(str))
    at = group == "s7"
    p[at], y[at] = 1.0, 1
    y[7] = 0
    rows = {} if weight is None else {"sample_weight": np.full(600, weight)}
    rounded = tn.segments(y, p.round(2), {"group": group}, seed=0, rounded_to=0.01, **rows)
    literal = tn.segments(y, p, {"group": group}, seed=0, **rows)
    assert not rounded.flagged.any()
    assert "half of `rounded_to`" in rounded.assumptions
    assert literal.value[int(np.flatnonzero(literal.flagged)[0])] == "s7"
    assert "rounded" not in literal.assumptions
    y[7] = 1
    assert not tn.segments(y, p, {"group": group}, seed=0, **rows).flagged.any()


def test_the_record_says_when_near_ties_are_drawn_together(monkeypatch):
    rng = np.random.default_rng(0)
    p = rng.random(200)
    data = rng.random(200) < p, p, {"a": np.arange(200) % 2}
    plain = tn.segments(*data, resamples=39, seed=0).assumptions
    assert "drawn from the scores; rows" in plain
    monkeypatch.setattr("trueness.infer.group._segment_tests._MOST_LABELS", 100)
    assert tn.segments(*data, resamples=39, seed=0).assumptions == plain.replace(
        "scores;", "scores, near ties together;"
    )


@pytest.mark.parametrize(
    "weight", [None, np.array([0.5, 2.0])[np.arange(120) % 2]], ids=["rows", "weights"]
)
@pytest.mark.parametrize("form", ["distinct", "sketch"])
def test_sums_of_groups_have_the_segments_of_their_rows(form, weight):
    rng = np.random.default_rng(0)
    p = rng.integers(1, 16, 120) / 16
    y, a = rng.random(120) < p, np.array(list("xyz"))[np.arange(120) % 3]
    sums = tn.Accumulator(form, by="a")
    sums.update(y, p, group=a, **({} if weight is None else {"sample_weight": weight}))
    found, rows = (
        tn.segments(sums, seed=0),
        tn.segments(y, p, {"a": a}, sample_weight=weight, seed=0),
    )
    order, other = np.argsort(found.value), np.argsort(rows.value)
    for name in ("n", "weight", "score", "rate", "gap", "ratio"):
        np.testing.assert_allclose(
            getattr(found, name)[order], getattr(rows, name)[other], rtol=1e-6
        )


def clopper_pearson(k, n, level):
    tail = (1 - level) / 2
    return (beta.ppf(tail, k, n - k + 1) if k > 0 else 0.0), (
        beta.ppf(1 - tail, k + 1, n - k) if k < n else 1.0
    )


def effective_rows(y, p, w, cluster):
    """Rows of equal weight that a segment is worth, by its weights and by the variance of cluster sums."""
    n = w.sum() ** 2 / (w**2).sum()
    if cluster is None:
        return n
    gap, names = np.average(y - p, weights=w), np.unique(cluster)
    sizes = np.array([w[cluster == g].sum() for g in names])
    variance = (w**2 * p * (1 - p)).sum()
    if y.min() == y.max() or variance == 0:
        return min(n, w.sum() ** 2 / (sizes**2).sum())
    sums = np.array([(w * (y - p))[cluster == g].sum() for g in names])
    return n / max(1, ((sums - sizes * gap) ** 2).sum() / variance)


def reduction(y, p, w, size):
    """The variance of a label as a multiple of that given its score, if there are events enough."""
    mean, rate = np.average(p, weights=w), np.average(y, weights=w)
    given = np.average(p * (1 - p), weights=w)
    if size * given < 5:
        return 1.0
    left = np.average((y - p - (rate - mean)) ** 2, weights=w)
    return max(1.0, min(mean * (1 - mean) / given, rate * (1 - rate) / left))


def test_copies_of_rows_with_a_score_of_0_widen_its_limits():
    y, p, by = np.repeat([0, 0, 0, 1], 15), np.zeros(60), np.repeat("a", 60)
    rows = tn.segments(y, p, by, cluster=np.arange(60), resamples=19, seed=0)
    copies = tn.segments(
        np.repeat(y, 8),
        np.zeros(480),
        np.repeat("a", 480),
        cluster=np.repeat(np.arange(60), 8),
        seed=0,
    )
    assert (copies.gap_low[0], copies.gap_high[0]) == pytest.approx(
        (rows.gap_low[0], rows.gap_high[0])
    )


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_numbers_of_a_segment_by_hand(weighted, clustered):
    rng = np.random.default_rng(6)
    p, by = rng.beta(1, 3, 200).round(2), rng.choice(list("abcd"), 200, p=[0.1, 0.7, 0.1, 0.1])
    y = (rng.random(200) < p).astype(int)
    y[by == "c"], y[by == "d"] = 0, 1
    p[by == "a"] = 0.0
    w = rng.uniform(0.2, 3, 200) if weighted else np.ones(200)
    cluster = np.repeat(np.arange(50), 4) if clustered else None
    options = {"sample_weight": w} if weighted else {}
    found = tn.segments(y, p, by, cluster=cluster, level=0.9, resamples=199, seed=0, **options)
    for value, row in zip(found.value, found.rows(), strict=True):
        at = by == value
        score, rate = np.average(p[at], weights=w[at]), np.average(y[at], weights=w[at])
        size = effective_rows(y[at], p[at], w[at], None if cluster is None else cluster[at])
        size *= reduction(y[at], p[at], w[at], size)
        low, high = clopper_pearson(rate * size, size, 0.9 ** (1 / 4))  # four segments together
        sums = {
            "n": at.sum(),
            "weight": w[at].sum(),
            "events": (w * y)[at].sum(),
            "expected": (w * p)[at].sum(),
        }
        gaps = {"gap": rate - score, "gap_low": low - score, "gap_high": high - score}
        ratios = dict(zip(("ratio", "ratio_low", "ratio_high"), (rate, low, high), strict=True))
        ratios = {name: one / score if value != "a" else math.nan for name, one in ratios.items()}
        cost = w[at].sum() / w.sum() * row["shrunk_gap"] ** 2
        for name, number in {
            **sums,
            "score": score,
            "rate": rate,
            **gaps,
            **ratios,
            "cost": cost,
        }.items():
            assert row[name] == pytest.approx(number, rel=1e-7, abs=1e-12, nan_ok=True), (
                value,
                name,
            )
    assert (np.diff(found.cost) <= 0).all()
    assert found.joint_pvalue == found.adjusted_pvalue.min()
    assert found.flagged.tolist() == (found.adjusted_pvalue <= found.alpha).tolist()
    assert (found.alpha, found.level) == (pytest.approx(0.1), 0.9)


def test_shrunk_gaps_of_a_column_do_not_depend_on_other_columns():
    rng = np.random.default_rng(2)
    p, a, b = rng.uniform(0.1, 0.6, 300), rng.choice(list("uvw"), 300), rng.choice(list("xy"), 300)
    y = rng.random(300) < p
    both, alone = (
        by_name(tn.segments(y, p, {"a": a, "b": b}, seed=0)),
        by_name(tn.segments(y, p, {"b": b}, seed=0)),
    )
    for key, row in alone.items():
        for name in ("shrunk_gap", "shrunk_low", "shrunk_high", "cost"):
            assert both[key][name] == pytest.approx(row[name], rel=1e-12)


@pytest.mark.parametrize(("level", "draws"), [(0.9, 999), (0.98, 999), (0.981, 1052), (0.99, 1999)])
def test_the_draws_are_twenty_over_alpha_less_one_and_999_at_least(level, draws):
    found = tn.segments([0, 1] * 10, [0.5] * 20, ["a"] * 20, level=level, seed=0)
    assert found.draws == draws
    assert (
        f"{draws:,} sets of labels drawn from the scores; rows are independent" in found.assumptions
    )
    assert (
        tn.segments([0, 1] * 10, [0.5] * 20, ["a"] * 20, level=level, resamples=19, seed=0).draws
        == 19
    )


def test_a_seed_is_all_that_decides_and_the_level_of_the_joint_test_is_kept_apart():
    rng = np.random.default_rng(2)
    p, a = rng.uniform(0.1, 0.6, 300), rng.choice(list("uvw"), 300)
    y = rng.random(300) < p
    one, other = (tn.segments(y, p, a, level=level, resamples=99, seed=0) for level in (0.8, 0.95))
    assert by_name(one).keys() == by_name(other).keys()
    assert sorted(one.adjusted_pvalue) == sorted(other.adjusted_pvalue)


def test_assumptions_with_clusters():
    y, p = np.tile([0, 1], 60), np.full(120, 0.5)
    found = tn.segments(y, p, np.arange(120) % 2, cluster=np.arange(120) // 4, resamples=99, seed=0)
    assert found.assumptions == (
        "Gap and slope of all segments (2), jointly: step-down max-T, 99 sets of labels drawn from the scores, and 99 "
        "sets of random signs of the 30 clusters; the larger p-value counts. Clusters are independent, rows of one "
        "cluster need not be; the level needs many clusters."
    )


@pytest.mark.parametrize(
    ("few", "more"), [(1, ""), (6, ""), (7, " and 1 more"), (9, " and 3 more")]
)
def test_at_most_six_segments_with_few_clusters_are_named(few, more):
    segment = np.append(np.repeat(np.arange(few), 10), np.full(100, 99)).astype(str)
    n = segment.size
    found = tn.segments(
        np.arange(n) % 2, np.full(n, 0.5), segment, cluster=np.arange(n), resamples=19, seed=0
    )
    names = ", ".join(f"by = {i}" for i in range(min(few, 6)))
    assert found.notes[-1].endswith(f"so flags are less reliable: {names}{more}.")


@pytest.mark.parametrize(("size", "named"), [(19, True), (20, False)])
def test_twenty_clusters_of_equal_size_are_enough(size, named):
    segment = np.repeat(["few", "many"], [size, 100])
    n = segment.size
    found = tn.segments(
        np.arange(n) % 2, np.full(n, 0.5), segment, cluster=np.arange(n), resamples=19, seed=0
    )
    assert bool(found.notes) == named


@pytest.mark.filterwarnings("ignore::trueness.errors.OneClassWarning")
def test_few_clusters_by_weight_are_a_warning_that_says_so():
    y, p, w = np.tile([0, 1], 60), np.full(120, 0.5), np.where(np.arange(120) < 4, 100.5, 1)
    with pytest.warns(
        tn.errors.FewClustersWarning,
        match=r"There are 30 clusters, worth 1\.7 of equal weight\. Below 20",
    ):
        tn.segments(
            y,
            p,
            np.arange(120) % 2,
            cluster=np.arange(120) // 4,
            sample_weight=w,
            resamples=19,
            seed=0,
        )


def test_groups_have_default_names_and_missing_keys_a_segment():
    a, b = tn.tally([0, 1], [0.2, 0.6]), tn.tally([1, 1, 0], [0.3, 0.5, 0.6])
    assert set(tn.segments({"x": a, None: b}, resamples=19, seed=0).column) == {"group"}
    assert set(tn.segments({"x": a, None: b}, resamples=19, seed=0).value) == {"x", "(missing)"}
    assert set(tn.segments({"x": a, "y": b}, by="shop", resamples=19, seed=0).column) == {"shop"}
    assert set(tn.segments({("x",): a, ("y",): b}, by=["shop"], resamples=19, seed=0).column) == {
        "shop"
    }
    assert set(tn.segments({("x",): a, ("y",): b}, resamples=19, seed=0).column) == {"group"}
    pairs = by_name(tn.segments({("x", 1): a, ("y", 1): b}, resamples=19, seed=0))
    assert set(pairs) == {("column 1", "x"), ("column 1", "y"), ("column 2", "1")}
    assert pairs["column 2", "1"]["n"] == 5
    assert len(tn.segments({("x", 1): a, ("y", 1): b}, resamples=19, crossed=2, seed=0)) == 5
    assert tn.segments({"x": a, "y": b}, resamples=19, level=0.9, seed=0).alpha == pytest.approx(
        0.1
    )


def test_messages_about_sums():
    t = tn.tally([0, 1], [0.2, 0.6])
    with pytest.raises(
        InputError, match="`y_true` must be labels, or a dict of sums; the value of 'x' is a list"
    ):
        tn.segments({"x": [0, 1]})
    with pytest.raises(InputError, match="`by` must name the 2 columns of the groups; got "):
        tn.segments({("x", 1): t}, by=["a", "b", "c"])
    with pytest.raises(InputError, match="`by` must name the 1 columns of the groups"):
        tn.segments({"x": t}, by=["a", "b"])
    sums = tn.Accumulator("distinct", by="shop")
    sums.update([0, 1], [0.2, 0.6], group=["u", "v"])
    with pytest.raises(
        InputError, match="`by` must be None for an Accumulator; its groups are called 'shop'"
    ):
        tn.segments(sums, by="shop")
    for options in ({"cluster": [1, 2]}, {"sample_weight": [1, 2]}):
        with pytest.raises(
            InputError, match="`y_true` must be labels if `y_prob`, `cluster` or an option"
        ):
            tn.segments({"x": t}, **options)


def test_a_binned_group_has_its_rows_at_their_mean_score():
    rng = np.random.default_rng(0)
    p = rng.random(300)
    y, by = rng.random(300) < p, np.array(list("xyz"))[np.arange(300) % 3]
    for weight in (None, rng.uniform(0.5, 2, 300)):
        w = np.ones(300) if weight is None else weight
        sums = {
            v: tn.binned(
                y[by == v],
                p[by == v],
                bins=4,
                sample_weight=w[by == v] if weight is not None else None,
            )
            for v in "xyz"
        }
        found = by_name(tn.segments(sums, resamples=19, seed=0))
        mean, b = np.empty(300), np.minimum((4 * p).astype(int), 3)
        for v in "xyz":
            for i in range(4):
                at = (by == v) & (b == i)
                mean[at] = np.average(p[at], weights=w[at])
        rows = by_name(
            tn.segments(y, mean, {"group": by}, sample_weight=weight, resamples=19, seed=0)
        )
        assert found.keys() == rows.keys()
        for key, row in rows.items():
            for name in (
                "n",
                "weight",
                "events",
                "expected",
                "gap",
                "gap_low",
                "gap_high",
                "ratio_low",
            ):
                assert found[key][name] == pytest.approx(row[name], rel=1e-6, abs=1e-9), name
            if weight is None:
                assert found[key]["pvalue"] == pytest.approx(row["pvalue"], rel=1e-6)


@pytest.mark.parametrize("clusters", [19, 20])
def test_fewer_than_twenty_clusters_are_a_warning(clusters):
    y, cluster = np.arange(4 * clusters) % 2, np.repeat(np.arange(clusters), 4)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tn.segments(
            y, np.full(y.size, 0.5), np.repeat("a", y.size), cluster=cluster, resamples=19, seed=0
        )
    assert [one.category for one in caught] == [tn.errors.FewClustersWarning] * (clusters < 20)


def test_rows_that_are_dropped_leave_their_segments_and_clusters():
    rng = np.random.default_rng(0)
    p, by, cluster = rng.random(200), rng.choice(list("abc"), 200), np.arange(200) // 2
    y = (rng.random(200) < p).astype(int)
    gone = np.arange(200) % 7 == 0
    with pytest.warns(tn.errors.DroppedRowsWarning, match="29 of 200 rows"):
        found = tn.segments(
            y, np.where(gone, np.nan, p), by, cluster=cluster, missing="drop", resamples=19, seed=0
        )
    rest = tn.segments(y[~gone], p[~gone], by[~gone], cluster=cluster[~gone], resamples=19, seed=0)
    assert by_name(found).keys() == by_name(rest).keys()
    for key, row in by_name(rest).items():
        assert {
            k: v for k, v in by_name(found)[key].items() if k != "slope_pvalue"
        } == pytest.approx({k: v for k, v in row.items() if k != "slope_pvalue"})


def test_segments_of_equal_cost_are_in_the_order_of_their_names():
    y, p = np.tile([0, 1, 1, 0, 1], 30), np.tile([0.2, 0.5, 0.7, 0.3, 0.6], 30)
    found = tn.segments(y, p, np.repeat(["c", "a", "b"], 50), resamples=19, seed=0)
    assert found.value == ("a", "b", "c")
    assert len(set(found.cost)) == len(set(found.adjusted_pvalue)) == 1


def test_many_rows_per_score_take_no_longer_than_few():
    """Their exact law would have 10⁵ frequencies for each of 200 scores."""
    p = np.linspace(0.1, 0.9, 200)
    y = np.arange(200) % 2
    found = tn.segments(
        y, p, {"g": np.arange(200) // 100}, sample_weight=np.full(200, 10_000_000), seed=0
    )
    assert found.expected.sum() == pytest.approx(1e9)
    assert (found.adjusted_pvalue < 0.01).all()


def test_sums_of_a_number_and_of_the_same_text_are_two_segments():
    one, two = tn.tally([0, 1] * 50, [0.3, 0.6] * 50), tn.tally([0, 1] * 60, [0.3, 0.6] * 60)
    for number, text in ((1, "1"), (None, "(missing)")):
        found = tn.segments({number: one, text: two}, by="g", seed=0)
        assert dict(zip(found.value, found.n.tolist(), strict=True)) == {text: 100, repr(text): 120}


@pytest.mark.parametrize(("level", "draws"), [(0.95, "999"), (0.99, "1,999"), (0.995, "3,999")])
def test_segments_at_a_higher_level_have_more_draws(level, draws):
    rng = np.random.default_rng(0)
    p = rng.random(120)
    y = (rng.random(120) < p).astype(int)
    found = tn.segments(y, p, {"a": np.repeat(list("abcdef"), 20)}, level=level)
    assert f" {draws} sets of labels drawn" in found.assumptions


@pytest.mark.parametrize("score", [1e-6, 1e-27, 1e-60])
def test_the_shrunk_gap_of_scores_next_to_zero_is_near_the_gap_that_many_events_show(score):
    """71 events in 784 rows of such a score: their gap stays, and is not lost to rounding."""
    rng = np.random.default_rng(0)
    p = rng.random(1_500)
    y = (rng.random(1_500) < p).astype(int)
    few = np.arange(784) < 71
    found = tn.segments(
        np.append(y, few),
        np.append(p, np.full(784, score)),
        {"group": np.repeat(["a", "b", "c", "none"], [500, 500, 500, 784])},
    )
    (row,) = [row for row in found.rows() if row["value"] == "none"]
    assert row["shrunk_gap"] == pytest.approx(71 / 784, rel=0.1)
    assert row["shrunk_low"] < 71 / 784 < row["shrunk_high"]
    assert row["cost"] == pytest.approx(784 / 2_284 * row["shrunk_gap"] ** 2)


@pytest.mark.parametrize(("score", "label"), [(0.0, 1), (1.0, 0)])
def test_a_single_label_that_contradicts_a_rounded_score_is_possible(score, label):
    y = np.append(np.full(30, 1 - label), [label, 0, 1])
    p = np.append(np.full(31, score), [0.3, 0.6])
    by = np.repeat(["sure", "other"], [31, 2])
    plain = by_name(tn.segments(y, p, by, resamples=99, seed=0))
    found = tn.segments(y, p, by, resamples=99, seed=0, rounded_to=0.01)
    name = found.column[0], "sure"
    assert plain[name]["pvalue"] == 0
    assert by_name(found)[name]["pvalue"] > 0.01
    assert "moved by up to half of `rounded_to`" in found.assumptions
    right = tn.segments(np.append(y[:30], [1 - label, 0, 1]), p, by, resamples=99, seed=0,
                        rounded_to=0.01)  # fmt: skip
    assert "moved" not in right.assumptions
