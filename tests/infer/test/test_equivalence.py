"""Equivalence tests: their limits, laws, labels too good to be true, messages; simulated size and power."""

import math
import warnings

import numpy as np
import pytest
from grids import slow
from scipy.special import expit, logit
from scipy.stats import chi2

import trueness as tn
from trueness import estimate
from trueness.infer import equivalence_test

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
CRITERIA = ("l2", "oe", "band", "ece")


def some_rows(n=400, seed=0, digits=None):
    rng = np.random.default_rng(seed)
    p = rng.random(n) if digits is None else rng.random(n).round(digits)
    return (rng.random(n) < p).astype(int), p


def pvalue(criterion, within, *rows, **options):
    return equivalence_test(*rows, criterion=criterion, within=within, seed=0, **options).pvalue


def margin(criterion, alpha, y, p, **options):
    """The smallest margin that the published limits keep at this error rate."""
    if criterion == "l2":
        return tn.ece_interval(y, p, level=1 - 2 * alpha, seed=0, **options).high
    options.pop("weight_type", None)
    if criterion == "band":
        band = tn.curve_band(y, p, level=1 - alpha, **options, method="monotone")
        order = np.argsort(band.distance)
        return band.distance[order][np.searchsorted(np.cumsum(band.share[order]), 0.95 - 1e-12)]
    found = estimate(
        {"ece": "ece", "oe": "observed_expected"}[criterion],
        y,
        p,
        level=1 - 2 * alpha,
        floor=False,
        **options,
    )
    return found.high if criterion == "ece" else max(1 - found.low, found.high - 1)


@pytest.mark.parametrize("alpha", [0.05, *slow(0.2, 0.003)])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_p_value_is_the_error_rate_at_which_the_limits_keep_the_margin(criterion, alpha):
    y, p = some_rows(digits=2)
    limit = margin(criterion, alpha, y, p)
    assert (
        pvalue(criterion, limit * (1 + 1e-5), y, p)
        <= alpha
        <= pvalue(criterion, limit * (1 - 1e-5), y, p)
    )
    assert pvalue(criterion, limit * (1 + 1e-6), y, p) == pytest.approx(alpha, rel=2e-3)


@pytest.mark.parametrize("criterion", ["l2", "oe", "ece"])
def test_importance_weights_have_no_unit(criterion):
    (y, p), w = some_rows(), 0.5 + np.arange(400) % 3
    first, second = (
        equivalence_test(
            y,
            p,
            within=0.15,
            criterion=criterion,
            weight_type="importance",
            sample_weight=unit,
            seed=0,
        )
        for unit in (w, 2 * w)
    )
    assert 0 < first.pvalue < 1
    assert (second.pvalue, second.n) == (pytest.approx(first.pvalue, rel=1e-5), 400)


@pytest.mark.parametrize("criterion", ["l2", "ece"])
@pytest.mark.parametrize("rows", ["clusters", "importance", "few events"])
def test_every_kind_of_rows_has_its_own_limits(criterion, rows):
    y, p = some_rows()
    options = {"cluster": np.arange(400) // 4}
    if rows == "importance":
        options = {"sample_weight": 0.5 + np.arange(400) % 3, "weight_type": "importance"}
    if rows == "few events":
        (y, p), options = (np.arange(200) >= 198, np.linspace(0.02, 0.4, 200)), {}
    limit = (
        margin(criterion, 0.05, y, p, **options)
        if (criterion, rows) != ("ece", "importance")
        else None
    )
    if (
        limit is None
    ):  # the limits of `estimate` take weights that are not whole numbers for effective rows
        alone = pvalue("ece", 0.1, y, p)
        assert pvalue("ece", 0.1, y, p, **options) > alone
        return
    assert pvalue(criterion, limit * (1 + 1e-6), y, p, **options) <= 0.05
    assert pvalue(criterion, limit * (1 - 1e-6), y, p, **options) >= 0.05


def test_clusters_of_one_row_are_rows_and_copies_are_no_new_evidence_for_o_over_e():
    y, p = some_rows()
    alone = pvalue("oe", 0.1, y, p)
    twice = pvalue("oe", 0.1, np.tile(y, 2), np.tile(p, 2), cluster=np.tile(np.arange(400), 2))
    assert pvalue("oe", 0.1, y, p, cluster=np.arange(400)) == pytest.approx(alone, rel=0.2)
    assert twice == pytest.approx(alone, rel=0.2)
    assert pvalue("oe", 0.1, np.tile(y, 2), np.tile(p, 2)) < alone / 2


@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_wider_margin_is_easier_to_show(criterion):
    y, p = some_rows(2_000)
    values = [pvalue(criterion, within, y, p) for within in (0.005, 0.05, 0.1, 1)]
    assert values == sorted(values, reverse=True)
    assert (values[0], values[-1]) == (1, pytest.approx(1e-9))


@pytest.mark.parametrize(
    ("criterion", "within"), [("l2", 0.2), ("oe", 0.1), ("band", 0.35), ("ece", 0.1)]
)
def test_sums_and_repeated_rows_are_the_rows(criterion, within):
    y, p = some_rows(digits=1)
    w = np.random.default_rng(1).integers(0, 4, y.size)
    repeated = pvalue(criterion, within, y.repeat(w), p.repeat(w))
    assert 1e-9 < repeated < 1
    of_rows = pvalue(criterion, within, y, p, sample_weight=w, weight_type="frequency")
    assert of_rows == pytest.approx(repeated)
    assert pvalue(criterion, within, tn.tally(y, p, sample_weight=w)) == pytest.approx(repeated)
    assert pvalue(criterion, within, tn.sketch(y.repeat(w), p.repeat(w))) == pytest.approx(
        repeated, rel=0.05
    )
    bins = tn.binned(y, p, bins=1000 if criterion == "l2" else 10, sample_weight=w)
    if criterion == "band":
        with pytest.raises(tn.InputError, match="bins do not keep them"):
            pvalue(criterion, within, bins)
    else:
        assert pvalue(criterion, within, bins) == pytest.approx(repeated, rel=0.35)


def test_swapping_the_classes_changes_neither_l2_nor_band():
    y, p = some_rows(digits=1)
    for criterion, within in (("l2", 0.1), ("band", 0.3)):
        assert pvalue(criterion, within, 1 - y, 1 - p) == pytest.approx(
            pvalue(criterion, within, y, p), rel=1e-5
        )


def test_several_columns_are_judged_by_the_largest():
    three = np.random.default_rng(0).dirichlet(np.ones(3), 200)
    right = np.random.default_rng(1).random(200) < three.max(1)
    labels = np.where(right, three.argmax(1), (three.argmax(1) + 1) % 3)
    top = equivalence_test(right.astype(int), three.max(1), within=0.3, criterion="ece", seed=0)
    assert equivalence_test(labels, three, within=0.3, criterion="ece", seed=0).pvalue == top.pvalue


def test_the_record_reads_as_evidence_for_calibration():
    y, p = some_rows(digits=2)
    found = equivalence_test(y, p, within=0.2, seed=0)
    assert str(found).startswith("calibrated within 0.2: shown at 95 % confidence, p ")
    assert str(equivalence_test(y, p, within=0.01, seed=0)).startswith(
        "calibrated within 0.01: not shown at 95 %"
    )
    assert (found.within, found.method, found.n) == (0.2, "l2 equivalence", 400)
    assert found.statistic == tn.ece_interval(y, p, seed=0).estimate
    for criterion, name in (("l2", "typical error"), ("ece", "ECE")):
        for options, rows in (({}, "Rows"), ({"cluster": np.arange(400) // 4}, "Clusters")):
            high = margin(criterion, 0.05, y, p, **options)
            found = equivalence_test(y, p, within=0.001, criterion=criterion, **options)
            assert (
                found.assumptions
                == f"{name}: one-sided 95 % upper limit {high:.4f}. {rows} are independent."
            )
    ratio = estimate("observed_expected", y, p, level=0.9, floor=False)
    found = equivalence_test(y, p, within=0.3, criterion="oe", seed=0)
    limits = f"{ratio.low:.3f} to {ratio.high:.3f}"
    assert found.assumptions == f"O/E: one-sided 95 % limits {limits}. Rows are independent."
    assert found.statistic == pytest.approx(y.sum() / p.sum())
    assert (found.n, found.contradicted, found.within) == (400, 0, 0.3)
    assert equivalence_test(y, p, criterion="ece", seed=0).statistic == pytest.approx(tn.ece(y, p))


@pytest.mark.parametrize("swap", [False, True])
def test_either_limit_of_the_ratio_can_break_the_margin(swap):
    """Rates of 0.48 for scores of 0.5, and of 0.52."""
    y, p = np.repeat([0, 1], [208, 192]), np.full(400, 0.5)
    y = 1 - y if swap else y
    found = estimate("observed_expected", y, p, level=0.9, floor=False)
    limit = max(1 - found.low, found.high - 1)
    assert limit == (found.high - 1 if swap else 1 - found.low)
    assert pvalue("oe", limit * (1 + 1e-6), y, p) <= 0.05 <= pvalue("oe", limit * (1 - 1e-6), y, p)


def test_the_band_counts_the_rows_that_it_shows_to_be_right():
    y, p = some_rows(3_000, digits=2)
    band = tn.curve_band(y, p, level=0.95, method="monotone")
    right = band.share[band.distance <= 0.15].sum()
    found = equivalence_test(y, p, within=0.15, criterion="band", share=0.5, seed=0)
    assert found.statistic == pytest.approx(right)
    words = f"The 95 % band shows {100 * right:.3g} % of the rows to be right within 0.15; 50 % are needed. "
    assert found.assumptions.startswith(words)
    assert "No rising function" not in found.assumptions
    assert found.pvalue < 0.5 < equivalence_test(y, p, within=0.15, criterion="band").pvalue
    assert equivalence_test(
        y, p, within=1, criterion="band", share=1, seed=0
    ).pvalue == pytest.approx(1e-9)
    falling = equivalence_test(1 - y, p, within=1, criterion="band", seed=0)
    assert falling.pvalue == 1
    assert "No rising function fits" in falling.assumptions


def test_defaults_are_a_margin_of_2_percent_ten_bins_and_95_percent_of_the_rows():
    y, p = some_rows()
    default = equivalence_test(y, p, seed=0)
    assert default == equivalence_test(y, p, within=0.02, criterion="l2", seed=0)
    assert default.within == 0.02
    ten, nine = (equivalence_test(y, p, criterion="ece", bins=bins) for bins in (10, 9))
    assert equivalence_test(y, p, criterion="ece") == ten != nine
    assert "; 95 % are needed." in equivalence_test(y, p, criterion="band").assumptions


def test_fractional_weights_count_rows_once():
    y, p = some_rows()
    w = 0.5 + np.arange(400) % 3
    for sums in ((y, p), (tn.binned(y, p, sample_weight=w),)):
        options = {} if len(sums) == 1 else {"sample_weight": w}
        found = equivalence_test(*sums, within=0.3, criterion="oe", seed=0, **options)
        assert (found.statistic, found.n) == (pytest.approx((w @ y) / (w @ p)), 400)
        assert found.too_good == (
            None if len(sums) == 1 else tn.calibration_test(y, p, seed=0, **options).too_good
        )
    whole = equivalence_test(
        tn.binned(y, p, sample_weight=2 * w), within=0.3, criterion="oe", seed=0
    )
    assert whole.n == 2 * w.sum()


def test_from_256_bins_on_the_l2_error_is_found_from_bins():
    y, p = some_rows(digits=2)
    fine = equivalence_test(tn.binned(y, p, bins=256), within=0.2, seed=0)
    rows = equivalence_test(y, p, within=0.2, seed=0)
    assert (fine.n, fine.statistic, fine.too_good) == (
        rows.n,
        pytest.approx(rows.statistic),
        rows.too_good,
    )
    with pytest.raises(tn.InputError, match="every distinct score; bins do not keep them"):
        equivalence_test(tn.binned(y, p, bins=255), within=0.2, seed=0)


@pytest.mark.parametrize("form", ["rows", "bins"])
@pytest.mark.parametrize("criterion", ["l2", "oe", "ece"])
def test_labels_too_good_to_be_true_are_no_evidence(criterion, form):
    p = np.repeat(np.arange(1, 10) / 10, 400)
    y = (np.arange(3600) % 10 < p * 10 - 1e-9).astype(int)
    sums = (y, p) if form == "rows" else (tn.binned(y, p, bins=10 if criterion != "l2" else 500),)
    with pytest.warns(
        tn.errors.OwnRowsWarning,
        match=r"\(p = .*, lower tail\) and are no evidence for new rows: the p-value is 1",
    ):
        found = equivalence_test(*sums, within=0.1, criterion=criterion, seed=0)
    assert found.pvalue == 1
    assert found.too_good <= 0.001
    assert "Rows are independent. " in found.assumptions
    assert found.assumptions.endswith("The labels agree with the scores too well.")


def test_coarse_bins_are_checked_by_the_lower_tail_of_their_chi_square():
    y, p = some_rows(2_000)
    found = equivalence_test(tn.binned(y, p, bins=10), within=0.1, criterion="ece", seed=0)
    cell = np.minimum((10 * p).astype(int), 9)
    s, v = np.bincount(cell, y - p), np.bincount(cell, p * (1 - p))
    assert found.too_good == pytest.approx(chi2.cdf((s**2 / v)[v >= 5].sum(), (v >= 5).sum()))
    assert found.pvalue == pytest.approx(pvalue("ece", 0.1, y, p))


def test_labels_are_redrawn_only_where_something_was_shown():
    y, p = some_rows(100, digits=2)
    y, p = np.append(y, [1, 0, 0, 1]), np.append(p, [0.0, 1.0, 1.0, 1.0])
    nothing = equivalence_test(y, p, within=0.001)
    assert (nothing.pvalue, nothing.too_good, nothing.contradicted) == (1, None, 0)
    found = equivalence_test(y, p, within=0.5, criterion="ece", seed=0)
    assert found.contradicted == tn.calibration_test(y, p, seed=0).contradicted == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(
            ({"within": w}, "`within` must be above 0 and at most 1")
            for w in (0, float("nan"), 1.5, "0.1", True)
        ),
        ({"criterion": "l1"}, "`criterion` must be 'l2', 'oe', 'band' or 'ece'; got 'l1'"),
        ({"bins": 5}, "`bins` is only for `criterion='ece'`"),
        ({"share": 0.9}, "`share` is only for `criterion='band'`"),
        ({"criterion": "band", "share": 0}, "`share` must lie strictly between 0 and 1"),
        (
            {"criterion": "band", "cluster": [1, 2]},
            "`cluster` is not accepted by the monotone band",
        ),
        ({"criterion": "band", "sample_weight": [0.5, 1]}, "`sample_weight` must be whole numbers"),
        (
            {"sample_weight": [0.5, 1], "weight_type": "frequency"},
            "`sample_weight` must be whole numbers",
        ),
        ({"seed": "one"}, "`seed` must be"),
    ],
)
def test_messages(options, message):
    with pytest.raises(tn.InputError, match=message):
        equivalence_test([0, 1], [0.2, 0.7], **options)


@pytest.mark.parametrize("criterion", ["l2", "ece"])
def test_one_row_shows_nothing(criterion):
    with pytest.raises(
        tn.InputError, match="`y_true` must have at least two rows to be judged; got 1"
    ):
        equivalence_test([1], [0.5], criterion=criterion)
    two = equivalence_test([0, 1], [0.5, 0.5], criterion=criterion)
    assert (two.n, two.pvalue) == (2, 1)
    assert (
        f"upper limit {1 if criterion == 'l2' else 0.4747:.4f}." in two.assumptions
    )  # one of two is at most 0.9747


SCORES = {
    "uniform": lambda rng, n: rng.random(n),
    "rare": lambda rng, n: rng.beta(0.5, 20, n),
    "confident": lambda rng, n: 1 - rng.beta(0.3, 8, n),
    "tied": lambda rng, n: rng.integers(1, 10, n) / 10,
}


@pytest.mark.slow
@pytest.mark.parametrize("law", SCORES)
@pytest.mark.parametrize("shift", [0.3, 1.5])
def test_an_error_as_large_as_the_margin_is_accepted_as_rarely_as_the_level_says(law, shift):
    rng, runs, n, accepted = np.random.default_rng(3), 150, 2_000, dict.fromkeys(CRITERIA, 0)
    for _ in range(runs):
        p = SCORES[law](rng, n)
        f = expit(logit(np.clip(p, 1e-9, 1 - 1e-9)) + shift)
        y, bins = (rng.random(n) < f).astype(int), np.minimum((10 * p).astype(int), 9)
        margins = {
            "l2": math.sqrt(np.mean((f - p) ** 2)),
            "oe": min(abs(f.mean() / p.mean() - 1), 1),
            "ece": np.abs(np.bincount(bins, f - p)).sum() / n,
            "band": np.sort(np.abs(f - p))[math.ceil(0.95 * n) - 1] * (1 - 1e-9),
        }
        for criterion, within in margins.items():
            accepted[criterion] += pvalue(criterion, within, y, p) <= 0.05
    most = 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)
    assert max(accepted.values()) / runs <= most, accepted


@pytest.mark.slow
def test_calibrated_scores_are_accepted_with_enough_rows():
    rng, runs, n = np.random.default_rng(4), 40, 20_000
    margins = {"l2": 0.04, "oe": 0.02, "ece": 0.02, "band": 0.15}
    accepted = dict.fromkeys(margins, 0)
    for _ in range(runs):
        p = rng.random(n)
        y = (rng.random(n) < p).astype(int)
        for criterion, within in margins.items():
            accepted[criterion] += pvalue(criterion, within, y, p) <= 0.05
    assert min(accepted.values()) / runs >= 0.8, accepted


def leaves(n, values, error=0.12, seed=1):
    """Rows of a tree each of whose leaves is wrong by `error`, up or down at random."""
    rng = np.random.default_rng(seed)
    score = rng.uniform(0.13, 0.87, values)
    truth, at = score + error * rng.choice([-1, 1], values), rng.integers(0, values, n)
    return (rng.random(n) < truth[at]).astype(int), score[at]


def test_acceptance_by_the_l2_error_says_that_it_assumes_a_smooth_error():
    y, p = leaves(2_000, 20_000)
    found = tn.equivalence_test(y, p, within=0.09, seed=0)
    assert found.pvalue < 0.05  # no test can see it
    assert (
        found.condition
        == f"the error varies smoothly with the score ({np.unique(p).size:,} distinct scores in 2,000 rows)"
    )
    assert f"Holds if {found.condition}." in str(found)
    for criterion in ("oe", "ece", "band"):
        assert tn.equivalence_test(y, p, within=0.3, criterion=criterion, seed=0).condition == ""
    few = tn.equivalence_test(y, p.round(1), within=0.09, seed=0)
    assert few.condition == ""  # each score is its own cell
    sketch = tn.equivalence_test(tn.sketch(y, p), within=0.09, seed=0)
    assert sketch.condition == "the error varies smoothly with the score"


def test_rows_of_equal_score_can_refute_that_the_error_is_smooth():
    y, p = leaves(8_000, 1_500)
    with pytest.warns(
        tn.errors.FewRowsWarning,
        match=r"share their score .* error above 0\.\d+ \(99 % .*not vary smoothly",
    ):
        assert tn.equivalence_test(y, p, within=0.08, seed=0).pvalue < 0.05
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tn.equivalence_test(y, p, within=0.15, seed=0)
        tn.equivalence_test(*leaves(8_000, 1_500, error=0.0), within=0.08, seed=0)
