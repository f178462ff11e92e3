"""A gate judges by limits that hold, over all models, groups and quantities together."""

import numpy as np
import pytest

import trueness as tn


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    p = rng.beta(1, 2, 2_000)
    y = (rng.random(p.size) < p**1.3).astype(int)
    return y, p, rng.choice(["a", "b"], p.size)


def test_a_bound_between_the_limits_passes_unless_it_must_be_shown(rows):
    y, p, _ = rows
    (one,) = tn.gate(y, p, max_ece=0.9).findings
    assert 0 < one.low < one.estimate < one.high
    assert one.estimate == pytest.approx(tn.ece(y, p))
    between = (one.low + one.high) / 2
    assert tn.gate(y, p, max_ece=between).findings[0].outcome == "not exceeded"
    shown = tn.gate(y, p, max_ece=between, require=True).findings[0]
    assert (shown.outcome, shown.passed) == ("not certified", False)
    assert shown.pvalue == pytest.approx(
        tn.equivalence_test(y, p, within=between, criterion="ece").pvalue
    )
    assert tn.gate(y, p, max_ece=one.high + 1e-9, require=True).passed
    assert tn.gate(y, p, max_ece=one.low / 2).findings[0].outcome == "exceeded"


def test_the_l2_error_is_judged_by_the_one_sided_limits_of_its_interval(rows):
    y, p, _ = rows
    (one,) = tn.gate(y, p, max_l2=0.5, level=0.9).findings
    both = tn.ece_interval(y, p, level=0.8, seed=0)
    assert (one.estimate, one.high) == (both.estimate, both.high)
    assert one.low == (
        0 if tn.ece_interval(y, p, level=0.9, seed=0).includes_zero else both.hull[0]
    )


def test_all_models_groups_and_quantities_share_the_error_rate(rows):
    y, p, g = rows
    found = tn.gate(y, {"m": p, "n": p**1.3}, max_ece=0.05, oe_within=0.2, by={"g": g})
    assert len(found.findings) == 8
    assert {one.level for one in found.findings if one.outcome != "unknown"} == {1 - 0.05 / 8}
    assert {(one.group, one.model) for one in found.findings} == {
        (f"g = {v}", m) for v in "ab" for m in "mn"
    }
    assert found.to_frame().shape[0] == 8
    some = found.findings[0]
    ratio = next(
        one
        for one in found.findings
        if (one.quantity, one.group, one.model) == ("oe", "g = a", "m")
    )
    assert some.n == (g == "a").sum()
    assert ratio.estimate == pytest.approx(y[g == "a"].sum() / p[g == "a"].sum())
    assert ratio.ends == (0.8, 1.2)


def test_few_rows_do_not_pass(rows):
    y, p, _ = rows
    found = tn.gate(y[:15], p[:15], max_ece=0.05)
    assert found.findings[0].outcome == "unknown"
    assert "cannot be determined from 15 rows" in str(found)
    assert str(found).startswith("Cannot be decided with these rows. ECE in 10 bins")
    assert (found.outcome, found.passed) == ("investigate", False)
    assert not tn.gate(y[:15], p[:15], oe_within=0.1).passed
    with pytest.warns(tn.TruenessWarning):  # rows without an event exclude an error above 0.25
        assert tn.gate([0] * 30, [0.001] * 30, max_ece=0.03, max_l2=0.03).passed


def test_labels_that_agree_too_well_do_not_pass_with_or_without_require():
    p = np.repeat([0.25, 0.5, 0.75], 400)
    y = np.concatenate([np.arange(400) < 400 * v for v in (0.25, 0.5, 0.75)]).astype(int)
    for data in ((y, p), (tn.tally(y, p),), (tn.binned(y, p),)):
        for require in (True, False):
            found = tn.gate(*data, max_ece=0.2, require=require)
            assert (found.passed, found.findings[0].outcome) == (False, "too good")
            assert "too good to be true for new rows" in found.findings[0].reason


def test_sums_and_clusters_are_judged_like_rows(rows):
    y, p, _ = rows
    plain = tn.gate(y, p, max_ece=0.05, max_l2=0.05, oe_within=0.1)
    assert (
        tn.gate(tn.tally(y, p), max_ece=0.05, max_l2=0.05, oe_within=0.1).findings == plain.findings
    )
    (once,) = tn.gate(y, p, oe_within=0.1).findings
    (twice,) = tn.gate(
        np.repeat(y, 2), np.repeat(p, 2), cluster=np.repeat(np.arange(y.size), 2), oe_within=0.1
    ).findings
    assert twice.high - twice.low > 0.95 * (once.high - once.low)
    coarse = tn.gate(tn.binned(y, p), max_l2=0.05)
    assert coarse.findings[0].reason == "cannot be determined from sums of bins"


@pytest.mark.parametrize("option", ["max_ece", "max_l2"])
@pytest.mark.parametrize("require", [False, True])
def test_the_gate_is_at_the_limit(rows, option, require):
    y, p = rows[0][:600], rows[1][:600] ** 0.7
    (one,) = tn.gate(y, p, **{option: 0.9}, require=require).findings
    edge = one.high if require else one.low
    assert edge > 0
    assert not tn.gate(y, p, **{option: np.nextafter(edge, 0)}, require=require).passed
    assert tn.gate(y, p, **{option: edge}, require=require).passed


@pytest.mark.parametrize(
    ("option", "criterion"), [("max_ece", "ece"), ("max_l2", "l2"), ("oe_within", "oe")]
)
def test_require_is_the_equivalence_test(rows, option, criterion):
    y, p = rows[0][:600], rows[1][:600] ** 0.7
    for within, level in ((0.2, 0.97), (0.25, 0.8)):
        test = tn.equivalence_test(y, p, within=within, criterion=criterion, seed=0)
        (one,) = tn.gate(y, p, **{option: within}, require=True, level=level).findings
        assert one.pvalue == pytest.approx(test.pvalue)
        assert one.passed is (test.pvalue <= 1 - level)


@pytest.mark.parametrize(
    ("label", "score", "n", "limit"),
    [(1, 1.0, 25, 1 - 0.05 ** (1 / 25)), (0, 1e-4, 60, 1 - 0.05 ** (1 / 60) - 1e-4)],
)
def test_one_class_alone_does_not_certify_a_small_error(label, score, n, limit):
    with pytest.warns(tn.TruenessWarning):
        found = tn.gate([label] * n, [score] * n, max_ece=0.005, max_l2=0.005, require=True)
    assert [one.high for one in found.findings] == pytest.approx([limit, limit], rel=1e-6)
    assert not any(one.passed for one in found.findings)


def test_certainty_that_labels_contradict_is_mentioned():
    (one,) = tn.gate([1] * 90 + [0], [1.0] * 91, max_ece=0.1, require=True).findings
    assert str(one).endswith("although 1 label contradicts a score of exactly 0 or 1 → certified.")


def test_a_level_too_high_for_draws_has_the_lower_limit_of_the_ece(rows):
    y, p = rows[0][:600], rows[1][:600] ** 0.7
    ece, l2 = (
        tn.gate(y, p, **{key: 0.9}, level=0.99999).findings[0] for key in ("max_ece", "max_l2")
    )
    assert (l2.low, l2.high) == (ece.low, 1)


def test_every_segment_is_certified_at_its_own_level(rows):
    y, p, g = rows
    found = tn.gate(y, p, max_ece=0.2, by={"g": g}, require=True)
    alone = [
        tn.gate(y[g == v], p[g == v], max_ece=0.2, require=True).findings[0].high for v in "ab"
    ]
    assert [one.high for one in found.findings] == alone


@pytest.mark.slow
def test_the_number_of_groups_does_not_make_a_gate_unknowing():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.2, 0.8, 6_000).round(2)
    found = tn.gate(
        (rng.random(6_000) < p).astype(int), p, max_l2=0.05, by={"g": np.arange(6_000) % 30}
    )
    assert max(one.high for one in found.findings) > 0.25
    assert {one.outcome for one in found.findings} == {"not exceeded"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "A gate needs a bound"),
        ({"max_ece": 1.5}, r"`max_ece` must lie in \[0, 1\]; got 1.5"),
        ({"max_ece": 0.1, "level": 0.6}, "`level` must be at least 0.75"),
        ({"max_ece": 0.1, "bins": tn.Isotonic()}, "`bins`"),
        ({"max_ece": 0.1, "seed": -1}, "`seed`"),
    ],
)
def test_bad_arguments_are_named(rows, options, message):
    with pytest.raises(tn.InputError, match=message):
        tn.gate(*rows[:2], **options)


@pytest.mark.slow
@pytest.mark.parametrize("quantity", ["max_ece", "max_l2", "oe_within"])
def test_a_gate_fails_a_model_at_its_bound_in_one_of_twenty_at_most(quantity):
    rng, runs, failed = np.random.default_rng(8), 200, 0
    for _ in range(runs):
        p = rng.uniform(0.2, 0.8, 600)
        y = (rng.random(p.size) < p + 0.05).astype(int)
        bound = 0.05 / 0.5 if quantity == "oe_within" else 0.05
        failed += tn.gate(y, p, **{quantity: bound}).findings[0].outcome == "exceeded"
    assert failed <= 0.05 * runs + 3 * np.sqrt(0.05 * 0.95 * runs)


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_what_cannot_be_judged_does_not_pass(rows):
    y, p, _ = rows
    found = tn.gate([0] * 100, [0.0] * 100, oe_within=0.1)
    assert (found.passed, bool(found), found.findings[0].outcome) == (False, False, "unknown")
    assert found.findings[0].reason == "cannot be determined: no event is expected"
    with pytest.raises(tn.InputError, match="`cluster` needs labels and scores"):
        tn.gate(tn.tally(y, p), max_ece=0.1, cluster=np.arange(y.size))
    with pytest.raises(
        tn.InputError, match="`y_prob` must hold at least one model; the dict is empty"
    ):
        tn.gate(y, {}, max_ece=0.1)
    group = np.where(np.arange(y.size) == 0, "lonely", "rest")
    with pytest.raises(tn.InputError, match="g = lonely: "):
        tn.gate(y, p, max_ece=0.3, by={"g": group})


def test_a_gate_of_several_groups_says_that_they_share_one_error_rate():
    p = np.full(200, 0.5)
    y, group = np.arange(200) % 2, {"g": np.repeat(["a", "b"], 100)}
    found = tn.gate(y, p, oe_within=0.5, max_ece=0.4, by=group)
    lines = str(found).splitlines()
    assert lines[0].startswith("Passed. ")
    assert lines[-1] == "All 4 comparisons share one error rate of 5 %."
    assert {one.level for one in found.findings} == {0.9875}
    assert (
        tn.gate(y, p, oe_within=0.5).jointly
        == tn.gate(y, p, oe_within=0.5, by=group, require=True).jointly
        == ""
    )


def test_a_certificate_says_what_it_presumes():
    rng = np.random.default_rng(0)
    p = rng.random(4_000)
    few = p.round(1)
    smooth = ", if the error varies smoothly with the score (4,000 distinct scores in 4,000 rows)"
    for scores, words in ((p, smooth), (few, "")):
        found = tn.gate((rng.random(4_000) < scores).astype(int), scores, max_l2=0.09, require=True)
        assert found.passed
        assert found.findings[0].reason.endswith(f" ≤ 0.09){words}")


def test_errors_of_leaves_are_not_certified():
    """Every score is shared by 4 rows and has an error of its own, whose sign alternates: neighbours cancel."""
    p = np.repeat(np.linspace(0.3, 0.7, 2_000), 4)
    wrong = np.repeat(np.tile([-0.2, 0.2], 1_000), 4)
    y = (np.random.default_rng(1).random(p.size) < p + wrong).astype(int)
    found = tn.gate(y, p, max_l2=0.1, require=True).findings[0]
    assert found.high <= 0.1
    assert (found.outcome, found.pvalue) == ("not certified", 1)
    assert 0.1 < found.shown_by_ties < 0.2
    assert found.reason.endswith("so it does not vary smoothly with the score")


@pytest.mark.filterwarnings("ignore::trueness.errors.FewClustersWarning")
@pytest.mark.parametrize(
    "bounds",
    [{"max_l2": 0.03}, {"max_ece": 0.03}, {"oe_within": 0.03}, {"policy": {"max_l2": 0.03}}],
)
def test_two_clusters_cannot_decide_however_many_rows_they_have(bounds):
    rng = np.random.default_rng(5)
    p = rng.beta(2, 3, 3_000)
    cluster = rng.integers(0, 2, p.size)
    y = rng.random(p.size) < np.clip(p + np.where(cluster == 1, 0.08, -0.02), 0, 1)
    found = tn.gate(y, p, cluster=cluster, **bounds)
    assert (found.outcome, found.needed) == ("investigate", None)
    assert found.headline.endswith("allowed; 2 clusters cannot decide.")
    assert "cannot be determined from 2 clusters" in found.findings[0].reason
