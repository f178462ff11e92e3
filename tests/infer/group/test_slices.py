"""The worst slices: every cell of the columns and their pairs, tested together, with limits that hold for the worst."""

import math
import warnings
from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy.special import expit, logit

import trueness as tn
from trueness.errors import InputError


def rows(n=900, seed=0, **planted):
    rng = np.random.default_rng(seed)
    columns = {
        "region": rng.choice(["east", "north", "south", "west"], n),
        "kind": rng.choice(["a", "b", "c"], n),
        "age": rng.normal(40, 12, n).round(),
    }
    p = rng.uniform(0.1, 0.6, n).round(4)
    shift = np.zeros(n)
    for value, size in planted.items():
        shift += size * (columns["region"] == value)
    return (rng.random(n) < expit(logit(p) + shift)).astype(int), p, columns


def shortest(below, first):
    """The number with the fewest decimals between two neighbours."""
    for digits in range(-3, 12):
        edge = math.floor(round(first * 10**digits, 6)) / 10**digits
        if below < edge <= first:
            return edge
    return first


def cells(columns, p, least):
    """Every slice by its rule, the obvious way: the rows of each value and of each pair of values."""
    cut = {}
    for name, values in [*columns.items(), ("score", p)]:
        if values.dtype.kind == "f":
            highest = np.sort(values)[[math.ceil(k * values.size / 5) - 1 for k in (1, 2, 3, 4)]]
            group = (values[:, np.newaxis] > highest).sum(axis=1)
            parts = [values[group == k] for k in range(5)]
            between = [(a.max(), b.min()) for a, b in pairwise(parts)]
            first = ["", *(f"{shortest(*ends):.6g}" for ends in between)]
            rules = [
                f"{name} < {first[1]}",
                *(f"{a} ≤ {name} < {b}" for a, b in pairwise(first[1:])),
            ]
            cut[name] = {
                rule: group == k for k, rule in enumerate([*rules, f"{name} ≥ {first[4]}"])
            }
        else:
            cut[name] = {f"{name} = {value}": values == value for value in np.unique(values)}
    found = {rule: some for values in cut.values() for rule, some in values.items()}
    for a, b in combinations(cut.values(), 2):
        found |= {f"{r} and {s}": one & two for r, one in a.items() for s, two in b.items()}
    return {rule: some for rule, some in found.items() if some.sum() >= least}


def test_every_cell_of_columns_and_pairs_is_a_slice_with_the_numbers_of_its_rows():
    y, p, columns = rows()
    found = tn.worst_slices(y, p, columns, min_rows=20, most=10_000, resamples=19, seed=0)
    expected = cells(columns, p, 20)
    assert set(found.rule) == set(expected)
    assert found.tried == len(found) == len(expected)
    for one in found.rows():
        some = expected[one["rule"]]
        assert one["rows"] == some.sum()
        assert one["observed"] == y[some].sum()
        assert one["expected"] == pytest.approx(p[some].sum())
        assert one["gap"] == pytest.approx((y - p)[some].mean())
        assert one["gap_low"] <= one["gap"] <= one["gap_high"]
    assert found.overall_gap == pytest.approx((y - p).mean())
    assert (np.diff(found.adjusted_p) >= 0).all()


def test_a_planted_slice_is_named_first_and_what_it_contains_is_not_distinct():
    y, p, columns = rows(3_000, north=0.9)
    found = tn.worst_slices(y, p, columns, seed=0)
    assert (found.rule[0], found.finding[0]) == ("region = north", "under-predicted")
    assert found.distinct[0]
    assert found.differs[0]
    assert found.flagged.sum() > 1
    assert found.distinct.sum() == 1
    assert found.all_flagged == found.flagged.sum()
    assert found.worst_gap_high >= found.gap_high[0] >= found.gap[0] > found.gap_low[0] > 0
    assert found.worst_impact_high < found.worst_gap_high
    assert not found.calibrated_within(found.gap[0])
    assert found.calibrated_within(found.worst_gap_high)
    assert "region = north" in str(found)
    assert found.share[0] == pytest.approx(
        (
            (y - p)[columns["region"] == "north"].sum() ** 2
            - (p * (1 - p))[columns["region"] == "north"].sum()
        )
        / (columns["region"] == "north").sum()
        / ((y - p) ** 2).sum()
    )


def test_an_error_of_all_rows_is_no_error_of_a_slice():
    y, p, columns = rows(3_000, east=0.5, north=0.5, south=0.5, west=0.5)
    found = tn.worst_slices(y, p, columns, seed=0)
    assert found.flagged[:10].all()
    assert not found.differs.any()


def test_the_order_of_rows_and_columns_does_not_matter_and_swapped_labels_mirror_the_gaps():
    y, p, columns = rows(400, north=0.9)
    found = tn.worst_slices(y, p, columns, resamples=19, seed=0)
    order = np.random.default_rng(1).permutation(y.size)
    again = tn.worst_slices(
        y[order], p[order], {k: v[order] for k, v in columns.items()}, resamples=19, seed=0
    )
    assert again.to_dict() == found.to_dict()
    other = tn.worst_slices(1 - y, 1 - p, columns, resamples=19, seed=0, most=500)
    there = dict(zip(other.rule, other.gap, strict=True))
    same = [i for i, rule in enumerate(found.rule) if "score" not in rule]
    np.testing.assert_allclose([there[found.rule[i]] for i in same], -found.gap[same])


OTHER_NAMES = str.maketrans("uvwxyzklmn", "RQPONMZYXW")
NUMBERS = (
    "n",
    "gap",
    "gap_low",
    "gap_high",
    "adjusted_p",
    "overall_p",
    "flagged",
    "distinct",
    "differs",
)


def numbers_by_rule(found, names):
    """The numbers of each slice, found under other names of its values."""
    rules = (frozenset(one.partition(" = ")[0] + one.partition(" = ")[2].translate(names) for one in r.split(" and "))
             for r in found.rule)  # fmt: skip
    columns = (getattr(found, name).astype(float).tolist() for name in NUMBERS)
    return dict(zip(rules, zip(*columns, strict=True), strict=True))


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
@pytest.mark.parametrize("clustered", [True, False], ids=["clusters", "rows"])
@pytest.mark.parametrize("options", [{"depth": 2}, {"depth": 3}], ids=str)
def test_neither_the_order_of_columns_nor_names_matter(tied, clustered, options):
    rng = np.random.default_rng(4)
    n = 600
    p = rng.choice([0.1, 0.3, 0.5, 0.7], n) if tied else rng.random(n)
    columns = {
        "a": rng.choice(list("uvw"), n),
        "b": rng.choice(list("xyz"), n),
        "c": rng.choice(list("klmn"), n),
    }
    y = (rng.random(n) < p * np.where(columns["a"] == "u", 1.3, 1)).astype(int)
    cluster = rng.integers(0, 60, n)

    def slices(columns, names="", **more):
        if clustered:
            more = {"cluster": cluster} | more
        found = tn.worst_slices(
            y, p, columns, resamples=99, seed=0, min_rows=20, most=1000, **options, **more
        )
        return numbers_by_rule(found, names)

    before = slices(columns, OTHER_NAMES)
    renamed = {
        name: np.array([one.translate(OTHER_NAMES) for one in values])
        for name, values in columns.items()
    }
    others = [
        slices(dict(reversed(columns.items())), OTHER_NAMES),
        slices(renamed),
    ]
    if clustered:
        others.append(slices(columns, OTHER_NAMES, cluster=-cluster))
    for other in others:
        assert other.keys() == before.keys()
        for rule, numbers in before.items():
            assert other[rule] == pytest.approx(numbers, rel=1e-6, abs=1e-9, nan_ok=True), rule


def test_conditions_are_named_in_the_order_of_the_columns():
    y, p, columns = rows(400, north=0.9)
    for given in (columns, dict(reversed(columns.items()))):
        found = tn.worst_slices(y, p, given, resamples=19, seed=0, most=1000)
        order = {name: i for i, name in enumerate([*given, "score"])}
        for names in found.column:
            place = [order[name] for name in names.split(" × ")]
            assert place == sorted(place)


@pytest.mark.parametrize("depth", [1, 2])
def test_a_weight_of_two_is_the_row_twice(depth):
    y, p, columns = rows(300, north=0.9)
    w = np.arange(300) % 3
    twice = np.repeat(np.arange(300), w)
    a = tn.worst_slices(
        y, p, columns, sample_weight=w, min_rows=6, depth=depth, resamples=19, seed=0, most=500
    )
    b = tn.worst_slices(
        y[twice],
        p[twice],
        {k: v[twice] for k, v in columns.items()},
        min_rows=6,
        depth=depth,
        seed=0,
        most=500,
    )
    there = {rule: i for i, rule in enumerate(b.rule)}
    same = [i for i, rule in enumerate(a.rule) if rule in there]
    assert len(same) == len(a) > 5  # the same cuts of age and score
    assert sum("age" in rule and "score" not in rule for rule in a.rule) >= 5
    at = [there[a.rule[i]] for i in same]
    for name in ("observed", "expected", "gap"):
        np.testing.assert_allclose(getattr(a, name)[same], getattr(b, name)[at])


def test_deep_slices_are_found_in_one_half_and_judged_on_the_other():
    rng = np.random.default_rng(3)
    columns = {f"x{j}": rng.integers(0, 3, 12_000) for j in range(6)}
    p = rng.uniform(0.1, 0.6, 12_000)
    deep = (columns["x0"] == 1) & (columns["x2"] == 0) & (columns["x4"] == 2)
    y = rng.random(p.size) < expit(logit(p) + 1.5 * deep)
    found = tn.worst_slices(y, p, columns, depth=3, resamples=99, seed=0)
    assert found.rule[0] == "x0 = 1 and x2 = 0 and x4 = 2"
    assert 0.4 * deep.sum() < found.n[0] < 0.6 * deep.sum()
    assert "one half of the rows" in " ".join(found.notes)
    assert math.isnan(found.worst_gap_high)
    assert "calibrated within" not in str(found)
    assert not found.calibrated_within(1.0)


def test_missing_values_constant_columns_and_names_are_reported():
    y, p, columns = rows(600)
    columns["age"][:100] = np.nan
    columns["region"] = np.where(np.arange(600) < 90, None, columns["region"].astype(object))
    columns["fixed"], columns["id"] = np.zeros(600), np.arange(600).astype(str)
    columns["score"] = np.tile(["low", "high"], 300)
    found = tn.worst_slices(y, p, columns, depth=1, most=500, resamples=19, seed=0)
    assert dict(zip(found.rule, found.n, strict=True))["age is missing"] == 100
    assert dict(zip(found.rule, found.n, strict=True))["region is missing"] == 90
    assert any(rule.startswith("(score) < ") for rule in found.rule)
    assert "score = low" in found.rule
    assert "'fixed' has the same value in all rows, so it gives no slices." in found.notes
    assert "'id' was left out: none of its 600 values has 50 rows." in found.notes
    assert str(found).startswith(f"{found.sentence}\nslice ")
    assert str(found).endswith("\n".join(found.notes))


def test_weights_are_beside_the_rows_and_a_note_tells_them_apart():
    y, p, columns = rows(400)
    asked = {"depth": 1, "resamples": 19, "seed": 0, "min_rows": 20}
    found = tn.worst_slices(
        y, p, columns, sample_weight=np.where(columns["region"] == "north", 3, 1), **asked
    )
    north = found.rule.index("region = north")
    assert found.weight[north] == 3 * found.n[north]
    np.testing.assert_allclose(found.gap, (found.observed - found.expected) / found.weight)
    assert any("by weight" in note for note in found.notes)
    plain = tn.worst_slices(y, p, columns, **asked)
    assert plain.weight.tolist() == plain.n.tolist()
    assert not any("by weight" in note for note in plain.notes)


def test_slices_of_the_half_that_is_judged_have_the_least_number_of_rows():
    y, p, columns = rows(900)
    found = tn.worst_slices(y, p, columns, min_rows=30, resamples=19, seed=0, depth=3)
    assert found.n.min() >= 30
    assert "rows too, are of the other 450." in " ".join(found.notes)


def test_limits_that_exclude_zero_without_a_flag_are_explained():
    y, p, columns = rows(600, north=0.5)
    apart = []
    for seed in range(12):
        found = tn.worst_slices(y, p, columns, depth=1, resamples=19, seed=seed)
        excludes = (found.gap_low > 0) | (found.gap_high < 0)
        apart.append((excludes & ~found.flagged).any())
        assert any("in different ways" in note for note in found.notes) == apart[-1]
    assert set(apart) == {True, False}


def test_too_few_clusters_are_the_reason_given():
    y, p, columns = rows(400)
    with (
        pytest.warns(tn.errors.FewClustersWarning),
        pytest.raises(InputError, match="rows and 20 clusters of equal size"),
    ):
        tn.worst_slices(y, p, columns, cluster=np.arange(400) % 2, seed=0)


def test_clusters_are_drawn_whole():
    y, p, columns = rows(400, north=0.9)
    five = np.repeat(np.arange(400), 5)
    copies = {k: v[five] for k, v in columns.items()}
    alone = tn.worst_slices(y, p, columns, min_rows=30, resamples=99, seed=0)
    whole = tn.worst_slices(
        y[five], p[five], copies, cluster=five, min_rows=150, resamples=99, seed=0
    )
    naive = tn.worst_slices(y[five], p[five], copies, min_rows=150, resamples=99, seed=0)
    assert "signs of clusters" in whole.method
    wide, narrow, real = (
        float(np.mean(one.gap_high - one.gap_low)) for one in (whole, naive, alone)
    )
    assert narrow < 0.6 * real
    assert wide == pytest.approx(real, rel=0.25)


def test_where_labels_cannot_be_redrawn_tails_and_holm_serve_and_the_record_says_so(monkeypatch):
    y, p, columns = rows(1_500, north=0.7)
    drawn = tn.worst_slices(y, p, columns, most=500, seed=0)
    monkeypatch.setattr("trueness.infer.group._slices._MOST_WORK", 0)
    found = tn.worst_slices(y, p, columns, most=500, seed=0)
    assert "Holm" in found.method
    assert found.draws == 0
    there = {rule: i for i, rule in enumerate(found.rule)}
    at = [there[rule] for rule in drawn.rule]
    np.testing.assert_allclose(found.gap[at], drawn.gap)
    assert (found.adjusted_p[at] >= drawn.adjusted_p - 0.03).all()
    assert (found.gap_high[at] - found.gap_low[at] >= drawn.gap_high - drawn.gap_low - 1e-12).all()
    assert found.rule[0] == "region = north"
    assert found.differs[0]


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_sums_of_one_group_by_give_the_slices_of_the_rows(engine):
    pl = pytest.importorskip("polars")
    y, p, columns = rows(2_000, north=0.9)
    del columns["age"]
    frame = pl.DataFrame({**columns, "y": y, "p": p.round(2)}).lazy()
    if engine == "duckdb":
        frame = pytest.importorskip("duckdb").from_arrow(frame.collect().to_arrow())
    groups = tn.scan_groups(frame, by=list(columns), label="y", prob="p", bins=None)
    found = tn.worst_slices(groups, columns=groups.names, most=500, seed=0)
    whole = tn.worst_slices(y, p.round(2), columns, most=500, seed=0)
    there = {rule: i for i, rule in enumerate(found.rule)}
    same = [i for i, rule in enumerate(whole.rule) if "score" not in rule]
    assert len(same) > 10
    at = [there[whole.rule[i]] for i in same]
    assert found.n[at].tolist() == whole.n[same].tolist()
    np.testing.assert_allclose(found.gap[at], whole.gap[same], atol=1e-12)
    assert found.rule[0] == whole.rule[0] == "region = north"
    assert (found.gap_high[at] >= whole.gap_high[same] - 1e-9).all()
    with pytest.raises(InputError, match="`y_true` must be labels for depth 3"):
        tn.worst_slices(groups, columns=groups.names, depth=3)
    with pytest.raises(InputError, match="`columns` must name the 2 columns of the groups"):
        tn.worst_slices(groups, columns=["a"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": None}, "`columns` must be a dict of columns or a frame; got None"),
        ({"columns": {}}, "`columns` must hold at least one column; the dict is empty"),
        ({"columns": {"a": [1, 2]}}, "`columns` must have one entry per row; 'a' has shape"),
        ({"depth": 0}, "`depth` must be"),
        ({"min_rows": 0}, "`min_rows` must be"),
        (
            {"min_rows": 5_000},
            "`columns` must have values shared by at least 5,000 rows, but not by all; none has",
        ),
        ({"level": 0.3}, "`level` must lie strictly between"),
    ],
)
def test_bad_arguments_are_named(options, message):
    y, p, columns = rows(60)
    with pytest.raises(InputError, match="(?s)" + message.replace("(", r"\(")):
        tn.worst_slices(y, p, **{"columns": columns, **options})


LAWS = ("uniform", "extreme", "rare", "rounded", "weights", "clusters")


def law(name, n, rng):
    """Labels and scores that are calibrated, and options."""
    p = {
        "extreme": lambda: rng.beta(0.2, 0.2, n).clip(1e-9, 1 - 1e-9),
        "rare": lambda: rng.beta(0.5, 12, n),
        "rounded": lambda: rng.integers(1, 10, n) / 10,
    }.get(name, lambda: rng.uniform(0.05, 0.95, n))()
    if name != "clusters":
        weights = {"sample_weight": rng.exponential(size=n)} if name == "weights" else {}
        return rng.random(n) < p, p, weights
    cluster = np.arange(n) // 4
    common = rng.random(n)[cluster]
    return np.where(rng.random(n) < 0.5, common, rng.random(n)) < p, p, {"cluster": cluster}


@pytest.mark.slow
@pytest.mark.parametrize(("width", "n", "runs"), [(10, 400, 100), (50, 300, 25)])
def test_a_calibrated_model_is_flagged_in_at_most_5_percent_of_runs(width, n, runs):
    flagged = []
    for name in LAWS:
        for run in range(runs):
            rng = np.random.default_rng((run, width))
            columns = {
                f"x{j}": rng.integers(0, 4, n) if j % 2 else rng.normal(size=n)
                for j in range(width)
            }
            y, p, options = law(name, n, rng)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = tn.worst_slices(
                    y, p, columns, min_rows=25, resamples=39, seed=run, **options
                )
            flagged.append(found.joint_p <= 0.05)
    flagged = np.array(flagged).reshape(len(LAWS), runs)
    # One-sided 99.9 % ranges of the binomial distribution about 5 %.
    assert flagged.mean() <= 0.05 + 3.1 * math.sqrt(0.05 * 0.95 / flagged.size)
    assert flagged.mean(axis=1).max() <= 0.05 + 3.9 * math.sqrt(0.05 * 0.95 / runs)


@pytest.mark.slow
@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_limits_of_the_slice_that_is_looked_at_cover(shift):
    covered = []
    for run in range(200):
        rng = np.random.default_rng((run, 5))
        columns = {f"x{j}": rng.integers(0, 4, 1_200).astype(str) for j in range(8)}
        p = rng.uniform(0.1, 0.7, 1_200).round(4)
        q = expit(
            logit(p) + shift * ((columns["x1"] == "1").astype(float) - (columns["x3"] == "2"))
        )
        found = tn.worst_slices(rng.random(p.size) < q, p, columns, resamples=99, seed=run)
        true = (q - p)[cells(columns, p, 1)[found.rule[0]]].mean()
        covered.append(found.gap_low[0] <= true <= found.gap_high[0])
    assert np.mean(covered) >= 0.92


@pytest.mark.parametrize(("level", "draws"), [(0.95, 499), (0.99, 1_999), (0.995, 3_999)])
def test_a_higher_level_has_more_draws(level, draws):
    """At least twenty of them are beyond the level."""
    rng = np.random.default_rng(0)
    p = rng.random(120)
    y = (rng.random(120) < p).astype(int)
    columns = {"a": np.repeat(list("abcdef"), 20), "b": np.tile(list("xy"), 60)}
    found = tn.worst_slices(y, p, columns, level=level, min_rows=5)
    assert found.draws == draws


@pytest.mark.parametrize(("n", "least"), [(400, 50), (50_000, 50), (60_000, 60)])
def test_a_slice_has_fifty_rows_or_one_in_a_thousand(n, least):
    p = np.tile(np.linspace(0.1, 0.9, 100), n // 100)
    y = np.arange(n) % 2
    assert tn.worst_slices(y, p, {"half": np.arange(n) // 2 % 2}, depth=1).min_rows == least


def test_a_slice_of_certain_scores_has_a_p_value_without_a_warning_of_numpy():
    """Scores of exactly 1 have no variance, hence no skewness; one that was wrong proves an error."""
    rng = np.random.default_rng(0)
    segment = np.repeat(["a", "b", "c"], 300)
    p = np.where(segment == "a", 1.0, rng.random(900))
    y = (rng.random(900) < p).astype(int)
    with warnings.catch_warnings(action="error", category=RuntimeWarning):
        right = tn.worst_slices(y, p, {"segment": segment})
        y[3] = 0
        wrong = tn.worst_slices(y, p, {"segment": segment})
    assert not any(right.flagged)
    assert wrong.rows()[0]["rule"] == "segment = a"
    assert wrong.rows()[0]["flagged"]


@pytest.mark.parametrize("score", [1e-27, 1e-9, 1 - 1e-9])
def test_a_slice_where_hardly_an_event_is_expected_is_found_if_many_come(score):
    rng = np.random.default_rng(0)
    p = np.append(rng.random(900), np.full(300, score))
    many = np.arange(300) % 4 == 0
    y = np.append(rng.random(900) < p[:900], many if score < 0.5 else ~many)
    segment = np.repeat(["a", "b", "c", "rare"], 300)
    found = tn.worst_slices(y.astype(int), p, {"segment": segment}, depth=1, resamples=199)
    flagged = [row["rule"] for row in found.rows() if row["flagged"]]
    assert "segment = rare" in flagged
    assert not {"segment = a", "segment = b", "segment = c"} & set(flagged)


def test_slices_without_an_expected_event_do_not_hide_one_that_is_off():
    """Of 40 slices 39 expect 1e-12 events and see none; the errors of the other are still found."""
    rng = np.random.default_rng(1)
    p = np.append(rng.random(400), np.full(39 * 60, 1e-14))
    y = np.append(rng.random(400) < p[:400] ** 2, np.zeros(39 * 60, bool))
    segment = np.append(np.full(400, "common"), np.repeat([f"rare {i}" for i in range(39)], 60))
    found = tn.worst_slices(y.astype(int), p, {"segment": segment}, depth=1, resamples=199)
    assert any(row["rule"] == "segment = common" and row["flagged"] for row in found.rows())
    assert not any("rare" in row["rule"] and row["flagged"] for row in found.rows())
