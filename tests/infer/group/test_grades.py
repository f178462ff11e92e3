"""Tables by rating grade: binomial and Vasicek limits by hand, lights, order, laws."""

import numpy as np
import pytest
from scipy import stats

import trueness as tn

CUTS = {"A": 0.005, "B": 0.02, "C": 1}


def portfolio(events=(3, 17, 15)):
    """2,000 rows of PD 0.2 %, 1,000 of 1 % and 400 of 5 %, with this many events."""
    sizes = (2000, 1000, 400)
    y = np.concatenate([np.arange(n) < k for n, k in zip(sizes, events, strict=True)])
    return y.astype(int), np.repeat([0.002, 0.01, 0.05], sizes)


def test_a_grade_has_the_tails_and_limits_of_the_binomial_distribution():
    table = tn.grade_table(*portfolio(), bins=CUTS, level=0.9)
    for one, (k, n, pd) in zip(
        table, [(3, 2000, 0.002), (17, 1000, 0.01), (15, 400, 0.05)], strict=True
    ):
        law = stats.binom(n, pd)
        assert (one.n, one.events) == (n, k)
        assert (one.score, one.expected) == pytest.approx((pd, n * pd))
        assert one.pvalue == pytest.approx(law.sf(k - 1))
        assert one.pvalue_few == pytest.approx(law.cdf(k))
        assert one.pvalue_two_sided == pytest.approx(min(1, 2 * min(law.sf(k - 1), law.cdf(k))))
        assert (one.amber_above * n, one.red_above * n) == pytest.approx(
            (law.ppf(0.95), law.ppf(0.999))
        )
        assert (one.limit_low * n, one.limit_high * n) == pytest.approx(
            (law.ppf(0.05), law.ppf(0.95))
        )
        exact = stats.binomtest(k, n).proportion_ci(0.9)
        assert (one.low, one.high) == pytest.approx((exact.low, exact.high))
        assert (one.ratio, one.ratio_low) == pytest.approx((k / n / pd, exact.low / pd))
    assert [one.light for one in table] == ["no power", "amber", "green"]
    assert (table.total.n, table.total.events, table.total.expected) == pytest.approx(
        (3400, 35, 34)
    )


@pytest.mark.parametrize("k", range(1, 12))
def test_the_light_is_the_one_that_the_limits_say(k):
    law = stats.binom(40, 0.05)
    one = tn.grade_table(np.arange(40) < k, np.full(40, 0.05), bins={"only": 1})["only"]
    noticed = stats.binom(law.args[0], 2 * law.args[1]).sf(law.ppf(0.95))
    calm = "green" if noticed >= 0.5 else "no power"
    assert one.power == pytest.approx(noticed)
    assert one.light == ("red" if k > law.ppf(0.999) else "amber" if k > law.ppf(0.95) else calm)
    assert one.few == (law.cdf(k) <= 0.05)


def test_with_asset_correlation_the_limits_are_vasiceks_quantiles():
    y, p = portfolio((3, 17, 60))
    table = tn.grade_table(y, p, bins=CUTS, correlation=0.12)
    for one, pd in zip(table, [0.002, 0.01, 0.05], strict=True):
        for limit, level in (
            (one.amber_above, 0.95),
            (one.red_above, 0.999),
            (one.limit_high, 0.975),
        ):
            z = stats.norm.ppf(level)
            by_hand = stats.norm.cdf((stats.norm.ppf(pd) + np.sqrt(0.12) * z) / np.sqrt(0.88))
            assert limit == pytest.approx(by_hand)
        low = stats.norm.cdf(
            (stats.norm.ppf(pd) - np.sqrt(0.12) * stats.norm.ppf(0.975)) / np.sqrt(0.88)
        )
        assert one.limit_low == pytest.approx(low)
    assert table["B"].red_above == pytest.approx(0.0903258313)
    assert [one.light for one in table] == ["no power", "no power", "amber"]
    # One factor moves all grades, so that the quantile of the total is the mean of theirs.
    mean = np.average([one.red_above for one in table], weights=[2000, 1000, 400])
    assert table.total.red_above == pytest.approx(mean)
    assert "asset correlation 0.12" in table.rule


def test_notes_name_the_lights_that_chance_within_a_small_grade_would_change():
    few = np.arange(50) < 2, np.full(50, 0.01)
    large, finite = (
        tn.grade_table(*few, bins={"A": 1}, correlation=0.12, portfolio=kind)
        for kind in ("infinite", "finite")
    )
    assert (large["A"].light, finite["A"].light) == ("amber", "no power")
    assert large["A"].pvalue == finite["A"].pvalue > 0.1
    assert any("A would be green" in note for note in large.notes)


def test_p_values_are_adjusted_by_holms_method_without_empty_grades():
    y, p = portfolio()
    table = tn.grade_table(y, p, bins={"A": 0.005, "B": 0.02, "C": 0.1, "D": 1})
    alone = [one.pvalue for one in table][:3]
    assert table["B"].adjusted_pvalue == pytest.approx(3 * alone[1])
    assert (table["D"].n, table["D"].light, table["D"].few) == (0, "", False)
    assert np.isnan([table["D"].rate, table["D"].pvalue, table["D"].adjusted_pvalue]).all()


def test_a_score_equal_to_a_cut_off_belongs_to_the_grade_above_and_the_last_to_its_own():
    table = tn.grade_table([0, 1, 0, 1], [0.05, 0.1, 0.1, 0.5], bins={"low": 0.1, "high": 0.5})
    assert [one.n for one in table] == [1, 3]
    with pytest.raises(KeyError, match="there are low, high, total"):
        table["middle"]


def test_a_column_of_grades_is_sorted_by_mean_score_or_by_its_categories():
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    y, p, grades = [0, 1, 0, 1], [0.3, 0.4, 0.01, 0.2], ["C", "C", "A", "B"]
    assert [one.grade for one in tn.grade_table(y, p, grades=grades)] == ["A", "B", "C"]
    order = ["C", "Z", "B", "A"]
    for column in (
        pd.Categorical(grades, categories=order, ordered=True),
        pd.Series(pd.Categorical(grades, categories=order, ordered=True)),
        pl.Series(grades, dtype=pl.Enum(order)),
    ):
        table = tn.grade_table(y, p, grades=column)
        assert [(one.grade, one.n) for one in table] == [("C", 2), ("Z", 0), ("B", 1), ("A", 1)]
        assert any(
            "Predicted PDs are inverted: B below C, A below B" in note for note in table.notes
        )
    unordered = pd.Series(pd.Categorical(grades, categories=order))
    assert [one.grade for one in tn.grade_table(y, p, grades=unordered)] == ["A", "B", "C"]


def test_grades_by_column_and_by_cut_off_are_the_same():
    y, p = portfolio()
    by_name = tn.grade_table(y, p, grades=np.repeat(["A", "B", "C"], [2000, 1000, 400]))
    by_score = tn.grade_table(y, p, bins=CUTS)
    assert by_name.to_dict() == by_score.to_dict()
    assert [one.grade for one in tn.grade_table(y, p)] == ["0.002", "0.01", "0.05"]
    assert [one.grade for one in tn.grade_table(y, p, bins=[0, 0.005, 1])] == [
        "[0, 0.005)",
        "[0.005, 1]",
    ]


def test_rows_sums_order_and_repetition_give_the_same_table():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 20, 500)
    y = (rng.random(500) < p).astype(int)
    expected = tn.grade_table(y, p, bins=CUTS, correlation=0.1, portfolio="finite").to_dict()
    shuffled = rng.permutation(500)
    halves = tn.tally(y[:200], p[:200]) + tn.tally(y[200:], p[200:])
    assert (
        tn.grade_table(
            y[shuffled], p[shuffled], bins=CUTS, correlation=0.1, portfolio="finite"
        ).to_dict()
        == expected
    )
    assert (
        tn.grade_table(halves, bins=CUTS, correlation=0.1, portfolio="finite").to_dict() == expected
    )
    times = rng.integers(0, 4, 500)
    weighted = tn.grade_table(y, p, bins=CUTS, sample_weight=times)
    repeated = tn.grade_table(np.repeat(y, times), np.repeat(p, times), bins=CUTS)
    for a, b in zip((*weighted, weighted.total), (*repeated, repeated.total), strict=True):
        assert (a.grade, a.n, a.light, a.few) == (b.grade, b.n, b.light, b.few)
        numbers = [name for name, value in b.to_dict().items() if isinstance(value, float)]
        assert [getattr(a, name) for name in numbers] == pytest.approx(
            [getattr(b, name) for name in numbers], rel=1e-9
        )
    assert weighted.offset.low == pytest.approx(repeated.offset.low)


def test_sums_of_merged_grades_are_those_of_their_parts():
    y, p = portfolio()
    fine, coarse = tn.grade_table(y, p, bins=CUTS), tn.grade_table(y, p, bins={"AB": 0.02, "C": 1})
    for name in ("n", "weight", "events", "expected"):
        assert getattr(coarse["AB"], name) == pytest.approx(
            getattr(fine["A"], name) + getattr(fine["B"], name)
        )
    assert coarse["C"].to_dict() | {"adjusted_pvalue": 0} == fine["C"].to_dict() | {
        "adjusted_pvalue": 0
    }
    assert (coarse.total.rate, coarse.offset.value) == pytest.approx(
        (fine.total.rate, fine.offset.value)
    )


def test_bins_alone_have_no_offset_and_sketches_say_what_they_approximate():
    y, p = portfolio()
    edges = [0, *CUTS.values()]
    binned = tn.grade_table(tn.binned(y, p, bins=edges), bins=CUTS)
    assert binned.grades == tn.grade_table(y, p, bins=CUTS).grades
    assert not binned.offset.bounded
    assert "distinct score" in binned.offset.note
    sketch = tn.grade_table(tn.sketch(y, p), bins=CUTS)
    assert [one.events for one in sketch] == [3, 17, 15]
    assert "mean score" in sketch.notes[0]


def test_the_offset_makes_the_expected_events_equal_to_the_observed():
    rng = np.random.default_rng(1)
    p = rng.beta(1, 20, 2000)
    y = rng.random(2000) < 2 * p
    table = tn.grade_table(y, p, bins=CUTS)
    odds = p / (1 - p) * np.exp(table.offset.value)
    assert (odds / (1 + odds)).sum() == pytest.approx(y.sum())
    assert table.offset.low < table.offset.value < table.offset.high
    assert table.offset.value == pytest.approx(tn.calibration_intercept(y, p))


def test_without_any_event_the_offset_has_one_limit():
    with pytest.warns(tn.errors.OneClassWarning):
        table = tn.grade_table(np.zeros(100), np.full(100, 0.01), bins={"A": 1})
    assert table.offset.value == -np.inf
    assert table.offset.high < 2
    assert table["A"].high == pytest.approx(1 - 0.025 ** (1 / 100))


def test_inversions_are_named():
    table = tn.grade_table(*portfolio((12, 5, 20)), bins=CUTS)
    assert table.inversions == (("A", "B"),)
    assert "B below A" in str(table)


def test_fractional_weights_count_by_their_effective_number():
    y, p = portfolio()
    half = tn.grade_table(y, p, bins=CUTS, sample_weight=np.full(y.size, 0.5))
    whole = tn.grade_table(y, p, bins=CUTS)
    for a, b in zip(half, whole, strict=True):
        assert (a.events, a.expected) == pytest.approx((b.events / 2, b.expected / 2))
        assert (a.rate, a.low, a.high, a.pvalue) == pytest.approx((b.rate, b.low, b.high, b.pvalue))
        assert b.amber_above <= a.amber_above < b.amber_above + 1 / b.n
        assert a.light == b.light or a.power > 0.5 > b.power  # parts of an event
    assert any("effective number" in note for note in half.notes)


def test_a_score_of_zero_with_an_event_is_red():
    one = tn.grade_table([0, 1, 0], [0.0, 0.0, 0.0], bins={"safe": 1})["safe"]
    assert (one.light, one.pvalue, one.ratio) == ("red", 0, np.inf)


def test_a_missing_grade_is_an_error_or_dropped():
    y, p, grades = [0, 1, 0], [0.1, 0.2, 0.1], ["A", None, "A"]
    with pytest.raises(
        tn.InputError,
        match="`grades` must not have missing values; 1 of 3 rows has one, the first at row 1",
    ):
        tn.grade_table(y, p, grades=grades)
    with pytest.warns(tn.TruenessWarning) as given:
        table = tn.grade_table(y, p, grades=grades, missing="drop")
    assert table.total.n == 2
    assert "1 of 3 rows has no grade" in str([one.message for one in given])


Y, P = [0, 1, 1], [0.1, 0.2, 0.9]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"bins": {"A": 0.1, "B": 0.1, "C": 1}},
            "`bins` must have upper cut-offs that ascend from above 0; 'B' has 0.1 after 'A' with 0.1",
        ),
        ({"bins": {"A": 0.5, "B": 0.1, "C": 1}}, "'B' has 0.1 after 'A' with 0.5"),
        ({"bins": {"A": 0, "B": 1}}, "'A' has 0 and no score is below"),
        (
            {"bins": {"A": 0.1, "B": 1.2}},
            r"`bins` must have upper cut-offs in \[0, 1\]; that of 'B' is 1.2",
        ),
        ({"bins": {"A": float("nan")}}, "that of 'A' is nan"),
        ({"bins": {"A": "0.1"}}, "that of 'A' is '0.1'"),
        ({"bins": {}}, "`bins` must name at least one grade; the dict is empty"),
        ({"bins": {1: 0.1, "1": 1}}, "`bins` must have different names; '1' is there twice"),
        (
            {"bins": {"A": 0.1, "B": 0.5}},
            "`bins` must cover every score; .* Give the last grade the cut-off 1.",
        ),
        ({"bins": [0, 0.5, 0.2, 1]}, "`bins` as edges must increase strictly"),
        ({"bins": tn.Isotonic()}, "`bins` must not depend on the labels"),
        ({"grades": ["A", "B"]}, r"`grades` must have one entry per row \(3\); got shape \(2,\)"),
        ({"grades": {"A": 0.1, "B": 1}}, "got a dict. Named cut-offs go to `bins=`."),
        ({"grades": [[1], [2], [3]]}, "`grades` must have one entry per row"),
        (
            {"grades": ["A", "B", "C"], "bins": 2},
            "`bins` must be left out if there is a column of grades.",
        ),
        ({"bins": 2, "correlation": 1}, r"`correlation` must lie in \[0, 1\); got 1."),
        ({"bins": 2, "correlation": -0.1}, r"`correlation` must lie in \[0, 1\); got -0.1."),
        (
            {"bins": 2, "portfolio": "small"},
            "`portfolio` must be 'infinite' or 'finite'; got 'small'.",
        ),
        (
            {"bins": 2, "lights": (0.999, 0.95)},
            "`lights` must have a lower level for amber than for red",
        ),
        ({"bins": 2, "lights": 0.95}, "`lights` must be two levels, for amber and red; got 0.95."),
        ({"bins": 2, "level": 95}, "`level` must lie strictly between"),
    ],
)
def test_arguments_that_make_no_sense(options, message):
    with pytest.raises(tn.InputError, match=message):
        tn.grade_table(Y, P, **options)


def test_sums_have_no_rows_for_a_column_and_classes_no_single_score():
    with pytest.raises(tn.InputError, match="`grades` needs rows; a Tally has none"):
        tn.grade_table(tn.tally(Y, P), grades=["A", "A", "B"])
    three = np.full((3, 3), 1 / 3)
    for options in ({"bins": CUTS}, {"grades": ["A", "A", "B"]}):
        with pytest.raises(
            tn.InputError, match="`y_prob` must be the probability of an event, or have two columns"
        ):
            tn.grade_table([0, 1, 2], three, **options)
    with pytest.raises(
        tn.InputError,
        match="Grades must be given by a column or by cut-offs; there are 60 distinct scores",
    ):
        tn.grade_table(np.arange(60) % 2, np.arange(60) / 60)


def test_the_printed_table_fits_100_columns_and_states_its_rule():
    y, p = portfolio()
    text = str(
        tn.grade_table(
            y,
            p,
            bins={"a very long name for a grade of the master scale": 0.005, "B": 0.02, "C": 1},
        )
    )
    assert max(map(len, text.splitlines())) <= 100
    flat = " ".join(text.split())
    assert "green up to the 95 % limit" in flat
    assert "red above the 99.9 % limit" in flat
    assert "rows are independent" in flat
    assert "Central tendency: observed 1.03 %, predicted 1.00 %" in flat
    assert "makes them equal" in flat


def test_a_table_as_frame_and_dict():
    pytest.importorskip("pandas")
    table = tn.grade_table(*portfolio(), bins=CUTS)
    frame = table.to_frame()
    assert frame["grade"].tolist() == ["A", "B", "C"]
    assert frame["pvalue"].tolist() == [one.pvalue for one in table]
    data = table.to_dict()
    assert data["light"] == ["no power", "amber", "green"]
    assert data["total"]["n"] == len(portfolio()[0])
    assert data["offset"]["measure"] == "central-tendency offset"
    with pytest.raises(KeyError):
        table["D"]


def test_the_total_is_judged_at_the_mean_score_of_all_rows():
    total = tn.grade_table(*portfolio((3, 17, 25)), bins=CUTS, level=0.9).total
    law, exact = stats.binom(3400, 34 / 3400), stats.binomtest(45, 3400).proportion_ci(0.9)
    assert (total.grade, total.weight, total.light) == ("total", 3400, "amber")
    assert (total.score, total.rate) == pytest.approx((0.01, 45 / 3400))
    assert (total.pvalue, total.pvalue_few) == pytest.approx((law.sf(44), law.cdf(45)))
    assert total.adjusted_pvalue == total.pvalue
    assert (total.low, total.high) == pytest.approx((exact.low, exact.high))
    assert (total.ratio, total.ratio_low, total.ratio_high) == pytest.approx(
        (45 / 34, exact.low / 0.01, exact.high / 0.01)
    )
    assert (total.amber_above * 3400, total.red_above * 3400) == pytest.approx(
        (law.ppf(0.95), law.ppf(0.999))
    )


def test_unequal_weights_are_worth_their_effective_number_of_rows():
    y, p = np.repeat([0, 1, 0, 1], [30, 10, 25, 15]), np.full(80, 0.3)
    w = 0.5 + np.arange(80) % 3
    one = tn.grade_table(y, p, bins={"only": 1}, sample_weight=w, level=0.9)["only"]
    rows, rate = w.sum() ** 2 / (w @ w), (w @ y) / w.sum()
    k = rows * rate
    assert (one.n, one.weight, one.events, one.expected) == pytest.approx(
        (80, w.sum(), w @ y, 0.3 * w.sum())
    )
    assert one.low == pytest.approx(stats.beta.ppf(0.05, k, rows - k + 1))
    assert one.high == pytest.approx(stats.beta.isf(0.05, k + 1, rows - k))
    assert one.pvalue == pytest.approx(stats.beta.cdf(0.3, k, rows - k + 1))
    assert one.pvalue_few == pytest.approx(stats.beta.sf(0.3, k + 1, rows - k))


def test_p_values_average_the_binomial_over_the_factor():
    y, p = portfolio((3, 17, 30))
    z = np.linspace(-8, 8, 801)
    weight = stats.norm.pdf(z) / stats.norm.pdf(z).sum()
    for portfolio_ in ("infinite", "finite"):
        table = tn.grade_table(y, p, bins=CUTS, correlation=0.1, portfolio=portfolio_)
        for one, (k, n, pd) in zip(
            table, [(3, 2000, 0.002), (17, 1000, 0.01), (30, 400, 0.05)], strict=True
        ):
            given = stats.norm.cdf((stats.norm.ppf(pd) + np.sqrt(0.1) * z) / np.sqrt(0.9))
            assert one.pvalue == pytest.approx(weight @ stats.binom.sf(k - 1, n, given), rel=1e-4)
            assert one.pvalue_few == pytest.approx(weight @ stats.binom.cdf(k, n, given), rel=1e-4)
            if portfolio_ == "finite":
                for limit, level in (
                    (one.amber_above, 0.95),
                    (one.red_above, 0.999),
                    (one.limit_high, 0.975),
                ):
                    most = round(limit * n)
                    assert weight @ stats.binom.cdf(most, n, given) >= level
                    assert weight @ stats.binom.cdf(most - 1, n, given) < level
        assert (
            "The limits of the offset and Jeffreys' test take rows as independent." in table.notes
        )
    assert tn.grade_table(y, p, bins=CUTS).notes == ()


def test_up_to_50_distinct_scores_are_grades_of_their_own():
    p = np.arange(50) / 60
    table = tn.grade_table(np.arange(50) % 2, p)
    assert [one.grade for one in table] == [f"{score:.6g}" for score in p]
    assert table["0.0166667"].n == 1
    with pytest.raises(tn.InputError, match="there are 51 distinct scores"):
        tn.grade_table(np.arange(51) % 2, np.arange(51) / 60)


def test_scores_that_agree_in_six_digits_are_named_in_full():
    table = tn.grade_table([0, 1, 0], [0.12345678, 0.12345679, 0.5])
    assert [one.grade for one in table] == ["0.12345678", "0.12345679", "0.5"]


def test_intervals_of_scores_are_closed_on_the_left_and_the_last_on_both_sides():
    table = tn.grade_table([0, 1, 0, 1], [0.1, 0.5, 0.75, 1.0], bins=[0, 0.5, 0.75, 1])
    assert [(one.grade, one.n) for one in table] == [
        ("[0, 0.5)", 1),
        ("[0.5, 0.75)", 1),
        ("[0.75, 1]", 2),
    ]


def test_edges_that_leave_scores_out_have_no_last_grade_to_extend():
    with pytest.raises(tn.InputError, match="must cover every score") as error:
        tn.grade_table([0, 1], [0.2, 0.9], bins=[0, 0.5])
    assert "last grade" not in str(error.value)


@pytest.mark.filterwarnings("ignore::trueness.errors.OneClassWarning")
def test_all_events_and_certain_scores_have_infinite_or_unknown_offsets():
    every = tn.grade_table(np.ones(100), np.full(100, 0.9), bins={"A": 1}).offset
    assert (every.value, every.high) == (np.inf, np.inf)
    assert -2 < every.low < np.inf
    assert np.isnan(every.standard_error)
    certain = tn.grade_table([0, 1, 1], [0.0, 1.0, 1.0], bins={"A": 1}).offset
    assert np.isnan(certain.value)
    assert certain.note == "3 scores of exactly 0 or 1 are left out."
    some = tn.grade_table([0, 1, 1, 0], [0.0, 0.4, 0.6, 0.3], bins={"A": 1}).offset
    assert some.note == "1 scores of exactly 0 or 1 are left out."
    assert (some.method, some.n) == ("likelihood ratio", 4)
    assert some.standard_error > 0
    weighted = tn.grade_table(
        [0, 1, 1, 0], [0.2, 0.4, 0.6, 0.3], bins={"A": 1}, sample_weight=[0.5, 1, 1, 1]
    )
    assert weighted.offset.method == "Wald, sandwich variance"
    assert weighted.offset.note == ""


def test_empty_grades_are_kept_without_numbers_and_do_not_invert():
    y, p = portfolio((12, 5, 20))
    table = tn.grade_table(y, p, bins={"A": 0.005, "none": 0.008, "B": 0.02, "C": 1})
    none = table["none"]
    assert (none.n, none.weight, none.expected, none.events, none.light, none.few) == (
        0,
        0,
        0,
        0,
        "",
        False,
    )
    for name in (
        "score",
        "rate",
        "low",
        "high",
        "ratio",
        "pvalue",
        "adjusted_pvalue",
        "amber_above",
        "limit_low",
    ):
        assert np.isnan(getattr(none, name)), name
    assert table.inversions == (("A", "B"),)


def test_grades_in_an_order_against_their_scores_are_noted():
    pandas = pytest.importorskip("pandas")
    grades = pandas.Categorical(
        ["A"] * 3 + ["B"] * 3 + ["C"] * 3, categories=["A", "B", "C"], ordered=True
    )
    table = tn.grade_table([0, 1, 0] * 3, np.repeat([0.3, 0.1, 0.2], 3), grades=grades)
    assert table.notes == ("Predicted PDs are inverted: B below A.",)
    assert table.inversions == ()
    free = tn.grade_table([0, 1, 0] * 3, np.repeat([0.3, 0.1, 0.3], 3), grades=list("CCCAAABBB"))
    assert [one.grade for one in free] == ["A", "B", "C"]


def test_three_classes_are_counted_in_the_message():
    with pytest.raises(tn.InputError, match="or have two columns; got 3 classes"):
        tn.grade_table([0, 1, 2], np.full((3, 3), 1 / 3), bins=CUTS)
    with pytest.raises(tn.InputError, match="or have two columns; got 3 classes"):
        tn.grade_table([0, 1, 2], np.full((3, 3), 1 / 3), grades=["A", "A", "B"])


def test_without_expected_events_a_ratio_is_infinite_or_unknown():
    safe = tn.grade_table([0, 0, 1, 0], [0.0, 0.0, 0.5, 0.5], bins={"safe": 0.1, "other": 1})[
        "safe"
    ]
    assert np.isnan([safe.ratio, safe.ratio_low, safe.ratio_high]).all()
    assert (safe.light, safe.pvalue) == ("no power", 1)


def test_grades_of_one_row_count():
    table = tn.grade_table([1, 0, 1], [0.125, 0.5, 0.75])
    assert [(one.n, one.score, one.rate) for one in table] == [
        (1, 0.125, 1),
        (1, 0.5, 0),
        (1, 0.75, 1),
    ]
    assert table.inversions == (("0.125", "0.5"),)
    assert [one.pvalue for one in table] == pytest.approx([0.125, 1, 0.75])
    assert [one.adjusted_pvalue for one in table] == pytest.approx([0.375, 1, 1])


def test_fractional_weights_by_column_are_those_by_cut_off():
    y, p = portfolio()
    weight = 0.5 + np.arange(y.size) % 2
    column = np.array(["A", "B", "C"])[np.searchsorted([0.005, 0.02], p)]
    by_column = tn.grade_table(y, p, grades=column, sample_weight=weight)
    assert [one.to_dict() for one in by_column] == [
        pytest.approx(one.to_dict())
        for one in tn.grade_table(y, p, bins=CUTS, sample_weight=weight)
    ]


def test_an_ordered_column_keeps_categories_without_rows():
    pandas = pytest.importorskip("pandas")
    grades = pandas.Categorical(["A", "A", "C"], categories=["A", "B", "C"], ordered=True)
    table = tn.grade_table([0, 1, 1], [0.1, 0.2, 0.9], grades=grades)
    assert [(one.grade, one.n) for one in table] == [("A", 2), ("B", 0), ("C", 1)]


@pytest.mark.filterwarnings("ignore::trueness.errors.FewRowsWarning")
def test_there_may_be_a_thousand_grades():
    assert len(tn.grade_table([0, 1], [0.2, 0.7], bins=1_000).grades) == 1_000
    with pytest.raises(tn.InputError, match="`bins` must be at most 1,000 grades; got 1,001"):
        tn.grade_table([0, 1], [0.2, 0.7], bins=1_001)


def test_jeffreys_test_is_the_posterior_probability_below_the_pd():
    table = tn.grade_table(*portfolio((3, 17, 15)), bins=CUTS)
    for one, (k, n, pd) in zip(
        table, [(3, 2000, 0.002), (17, 1000, 0.01), (15, 400, 0.05)], strict=True
    ):
        assert one.pvalue_jeffreys == pytest.approx(stats.beta.cdf(pd, k + 0.5, n - k + 0.5))


@pytest.mark.filterwarnings("ignore::trueness.errors.OneClassWarning")
def test_no_event_where_a_tenth_is_expected_is_not_green():
    table = tn.grade_table([0] * 100, [0.001] * 100, bins={"AAA": 1})
    assert table["AAA"].light == "no power"
    assert table["AAA"].power < 0.1
    many = tn.grade_table([0] * 20_000, [0.001] * 20_000, bins={"AAA": 1})
    assert many["AAA"].light == "green"
    assert many["AAA"].few


@pytest.mark.parametrize("portfolio_", ["infinite", "finite"])
def test_with_a_correlation_limits_of_a_rate_invert_the_one_factor_model(portfolio_):
    """By a plain sum over a fine grid of the factor."""
    y = np.arange(300) < 6
    table = tn.grade_table(
        y, np.full(300, 0.01), bins={"A": 1}, correlation=0.15, portfolio=portfolio_, margin=0.9
    )
    one = table["A"]
    z = np.linspace(-9, 9, 4_001)
    weight = stats.norm.pdf(z) * (z[1] - z[0])

    def given(pd):
        return stats.norm.cdf((stats.norm.ppf(pd) + np.sqrt(0.15) * z) / np.sqrt(0.85))

    assert weight @ stats.binom.sf(5, 300, given(one.low)) == pytest.approx(0.025, rel=1e-6)
    assert weight @ stats.binom.cdf(6, 300, given(one.high)) == pytest.approx(0.025, rel=1e-6)
    conservative = given(one.conservative)
    assert weight @ stats.binom.cdf(6, 300, conservative) == pytest.approx(0.1, rel=1e-6)
    assert one.ratio_high == pytest.approx(one.high / 0.01)
    alone = tn.grade_table(y, np.full(300, 0.01), bins={"A": 1})["A"]
    assert one.low < alone.low < alone.high < one.high
    assert table.total.high == pytest.approx(one.high, rel=1e-6)


def test_the_margin_is_the_upper_limit_of_the_rate():
    table = tn.grade_table(*portfolio((3, 17, 0)), bins=CUTS, margin=0.75)
    assert table["A"].conservative == pytest.approx(stats.beta.ppf(0.75, 4, 1997))
    assert table["C"].conservative == pytest.approx(1 - 0.25 ** (1 / 400))
    assert "Margin of conservatism" in str(table)
    assert np.isnan(tn.grade_table(*portfolio(), bins=CUTS)["A"].conservative)
    with pytest.raises(tn.InputError, match="`margin` must lie strictly between 0 and 1"):
        tn.grade_table(*portfolio(), bins=CUTS, margin=1)


@pytest.mark.parametrize("grades", [None, "column"])
def test_periods_have_the_rates_of_their_rows_and_a_long_run_average(grades):
    y, p = portfolio()
    year = np.where(np.arange(y.size) % 3 == 0, 2023, 2024)
    year[p == 0.05] = 2024  # C has no rows in 2023
    names = np.array(["A", "B", "C"])[np.searchsorted([0.005, 0.02], p)]
    options = {"bins": CUTS} if grades is None else {"grades": names}
    found = tn.grade_table(y, p, period=year, **options).periods
    assert found.period == ("2023",) * 4 + ("2024",) * 4
    assert found.grade == ("A", "B", "C", "total") * 2
    for period, grade, n, events, rate in zip(
        found.period, found.grade, found.n, found.events, found.rate, strict=True
    ):
        rows = (year == int(period)) & ((names == grade) | (grade == "total"))
        assert (n, events) == (rows.sum(), y[rows].sum())
        assert np.isnan(rate) if n == 0 else rate == pytest.approx(y[rows].mean())
    rates = dict(zip(zip(found.period, found.grade, strict=True), found.rate, strict=True))
    average = (rates["2023", "A"] + rates["2024", "A"]) / 2
    assert found.long_run["A"] == pytest.approx(average)
    assert found.long_run["C"] == rates["2024", "C"]
    assert "long run" in str(found)
    assert tn.grade_table(y, p, **options).periods is None


def test_periods_follow_rows_that_are_left_out():
    y, p = portfolio()
    year = np.where(np.arange(y.size) % 3 == 0, 2023, 2024)
    weight = (np.arange(y.size) % 2).astype(int)
    names = np.array(["A", "B", "C"])[np.searchsorted([0.005, 0.02], p)]
    kept = weight > 0
    found = tn.grade_table(y, p, grades=names, period=year, sample_weight=weight).periods
    alone = tn.grade_table(y[kept], p[kept], grades=names[kept], period=year[kept]).periods
    assert (found.grade, found.n) == (alone.grade, alone.n)
    assert found.rate == pytest.approx(alone.rate, nan_ok=True)


def test_periods_need_rows_and_an_entry_for_each():
    y, p = portfolio()
    with pytest.raises(tn.InputError, match="`period` needs rows; a Tally has none"):
        tn.grade_table(tn.tally(y, p), bins=CUTS, period=[1])
    with pytest.raises(tn.InputError, match="`period` must have one entry per row"):
        tn.grade_table(y, p, bins=CUTS, period=[1, 2])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::trueness.errors.OneClassWarning")
def test_limits_of_a_rate_under_correlation_hold_as_often_as_their_level_says():
    rng = np.random.default_rng(17)
    truth, n, rho, runs = 0.02, 250, 0.12, 1_500
    limits = {}
    held = 0
    for _ in range(runs):
        scaled = (stats.norm.ppf(truth) + np.sqrt(rho) * rng.normal()) / np.sqrt(1 - rho)
        events = int(rng.binomial(n, stats.norm.cdf(scaled)))
        if events not in limits:
            y = np.arange(n) < events
            table = tn.grade_table(y, np.full(n, truth), bins={"A": 1}, correlation=rho)
            limits[events] = (table["A"].low, table["A"].high)
        low, high = limits[events]
        held += low <= truth <= high
    assert held / runs >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / runs)


def test_a_grade_in_which_every_row_defaulted_has_the_limit_one():
    y = np.array([1, 1, 1, 0, 0, 0, 0])
    p = np.repeat([0.6, 0.1], [3, 4])
    found = tn.grade_table(y, p, grades=np.repeat(["b", "a"], [3, 4]), margin=0.9).to_dict()
    assert found["high"] == [pytest.approx(0.6023646), 1.0]
    assert found["conservative"][1] == 1.0


@pytest.mark.parametrize("weight", [None, [1, 2, 3], [0.5, 1.5, 2.5]])
def test_an_empty_category_is_a_grade_without_rows_whatever_the_weights(weight):
    pandas = pytest.importorskip("pandas")
    grades = pandas.Categorical(["A", "C", "C"], categories=["A", "B", "C"], ordered=True)
    table = tn.grade_table([0, 1, 1], [0.1, 0.2, 0.9], grades=grades, sample_weight=weight)
    empty = table["B"]
    assert (empty.n, empty.weight, empty.events, empty.expected) == (0, 0, 0, 0)
    assert np.isnan([empty.score, empty.rate, empty.low, empty.pvalue]).all()
    assert table.total.weight == (3 if weight is None else sum(weight))
