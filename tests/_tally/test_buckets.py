"""Sums per bucket of clusters: the bucket of a name, addition, storage, and what intervals and tests make of them."""

import hashlib
import re

import numpy as np
import pytest
from grids import slow

import trueness as tn
from trueness._tally.buckets import CHOICES, bucket_of
from trueness.errors import InputError

MAKERS = {"tally": tn.tally, "binned": tn.binned, "sketch": tn.sketch}


def rows(n=600, clusters=90, seed=0):
    rng = np.random.default_rng(seed)
    p = np.round(rng.beta(1, 2, n), 2)
    user = np.sort(rng.integers(0, clusters, n))
    together = rng.random(clusters)[user]
    y = (np.where(rng.random(n) < 0.5, together, rng.random(n)) < p).astype(int)
    return y, p, user


def buckets_of(user, number=64):
    return np.array([bucket_of(name, number) for name in user.tolist()])


@pytest.mark.parametrize("name", [0, 7, -3, 2**63, "7", "", "ü", "a b"])
def test_a_bucket_is_the_first_byte_of_the_digest_of_the_text(name):
    byte = int(hashlib.md5(str(name).encode()).hexdigest()[:2], 16)
    assert [bucket_of(name, number) for number in CHOICES] == [byte % number for number in CHOICES]


def test_whole_numbers_and_their_digits_are_one_cluster():
    y, p, user = rows()
    found = tn.tally(y, p, cluster=user)
    for same in (user.astype(str), user.astype(np.int8), list(map(str, user)), user.astype(object)):
        assert tn.tally(y, p, cluster=same) == found


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_each_bucket_has_the_sums_of_its_rows(make):
    y, p, user = rows()
    found = make(y, p, cluster=user)
    assert found.parts == make(y, p).parts
    of_row = buckets_of(user)
    for bucket, part in enumerate(found.buckets.parts):
        at = of_row == bucket
        assert part == make(y[at], p[at]).parts[0]
    assert found.largest_cluster == np.bincount(user).max()
    assert make(y, p).largest_cluster is None


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("weights", ["whole", *slow(None, "fractions")])
def test_sums_of_days_add_and_are_stored(make, weights):
    y, p, user = rows()
    w = None if weights is None else (np.arange(y.size) % 4) / (1 if weights == "whole" else 7)
    options = {} if w is None else {"sample_weight": w}
    whole = make(y, p, cluster=user, **options)
    halves = [
        make(y[at], p[at], cluster=user[at], **{name: v[at] for name, v in options.items()})
        for at in (slice(None, None, 2), slice(1, None, 2))
    ]
    added = halves[0] + halves[1]
    if weights is None or (
        weights == "whole" and make is not tn.binned
    ):  # weighted bins are floats
        assert added.buckets.parts == whole.buckets.parts
        assert added.parts == whole.parts
    assert (
        whole.largest_cluster
        <= added.largest_cluster
        <= sum(half.largest_cluster for half in halves)
    )
    if weights == "fractions" or (weights and make is tn.binned):
        with pytest.raises(
            tn.InputError, match="Only sums without rounding can be subtracted; these are of"
        ):
            added - halves[1]
    else:  # the size of the largest cluster stays an upper bound
        left = added - halves[1]
        assert (left.parts, left.buckets.parts) == (halves[0].parts, halves[0].buckets.parts)
        assert halves[0].largest_cluster <= left.largest_cluster <= added.largest_cluster
    kind = type(whole)
    assert kind.from_bytes(whole.to_bytes()) == kind.from_dict(whole.to_dict()) == whole
    assert kind.from_bytes(added.to_bytes()) == added


def test_the_largest_cluster_of_many_sums_is_at_most_the_fullest_bucket():
    y, p, user = rows()
    pieces = np.array_split(np.arange(y.size), 12)
    added = sum(tn.tally(y[at], p[at], cluster=user[at]) for at in [*pieces, *pieces, *pieces])
    assert added.largest_cluster == 3 * np.bincount(buckets_of(user)).max()


@pytest.mark.parametrize("bins", [4, 10, tn.EqualMass(5), [0, 0.11, 0.5, 1]], ids=str)
def test_coarser_bins_keep_the_buckets(bins):
    y, p, user = rows()
    of_tally, of_sketch = (
        tn.tally(y, p, cluster=user).coarsen(bins),
        tn.sketch(y, p, cluster=user).coarsen(bins),
    )
    assert of_tally == of_sketch == tn.binned(y, p, cluster=user, bins=bins)
    assert sum(part.totals.rows for part in of_tally.buckets.parts) == y.size


def test_sums_of_other_buckets_are_refused_by_name():
    y, p, user = rows(60)
    found = tn.sketch(y, p, cluster=user)
    with pytest.raises(
        tn.InputError, match=r"`buckets` must be the same in .* subtracted; got 64 and 128"
    ):
        found + tn.sketch(y, p, cluster=user, buckets=128)
    with pytest.raises(
        tn.InputError, match=r"cannot be added to, or subtracted from, sums without"
    ):
        found - tn.sketch(y, p)
    assert found + tn.sketch([], []) == found == tn.sketch([], []) + found


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cluster": [0.5, 1.5]}, r"`cluster` must hold text or whole numbers.*got 0.5 \(float\)"),
        ({"cluster": [True, False]}, "`cluster` must hold text or whole numbers"),
        ({"cluster": ["a", None]}, "`cluster` must not have missing values"),
        ({"cluster": ["a"]}, r"`cluster` must have one entry per row \(2\)"),
        (
            {"cluster": ["a", "b"], "buckets": 50},
            "`buckets` must be one of 32, 64, 128, 256; got 50",
        ),
        ({"cluster": ["a", "b"], "buckets": True}, "`buckets` must be one of"),
    ],
)
def test_bad_clusters_are_refused_by_name(options, message):
    with pytest.raises(tn.InputError, match=message):
        tn.tally([0, 1], [0.2, 0.7], **options)


def test_clusters_need_one_score_per_row():
    scores = np.array([[0.2, 0.3, 0.5], [0.6, 0.2, 0.2]])
    with pytest.raises(tn.InputError, match="`kind` must be 'confidence' with `cluster`"):
        tn.tally([0, 1], scores, cluster=["a", "b"])
    assert tn.tally([0, 1], scores, kind="confidence", cluster=["a", "b"]).largest_cluster == 1


def test_rows_with_missing_values_take_their_clusters_along():
    y, p, user = rows(60)
    gaps = np.where(np.arange(60) % 7 == 0, np.nan, p)
    with pytest.warns(tn.errors.DroppedRowsWarning):
        found = tn.tally(y, gaps, cluster=user, missing="drop")
    kept = ~np.isnan(gaps)
    assert found == tn.tally(y[kept], p[kept], cluster=user[kept])


def test_an_accumulator_keeps_buckets_in_each_group(tmp_path):
    y, p, user = rows()
    day = np.arange(y.size) % 3
    seen = tn.Accumulator(by="day", buckets=64)
    for at in np.array_split(np.arange(y.size), 4):
        seen.update(y[at], p[at], group=day[at], cluster=user[at])
    assert seen.total.buckets.parts == tn.sketch(y, p, cluster=user).buckets.parts
    seen.save(tmp_path / "x.tally")
    back = tn.Accumulator.load(tmp_path / "x.tally")
    assert (back.groups, back.buckets) == (seen.groups, 64)
    back.merge(dict(seen.groups))
    with pytest.raises(tn.InputError, match="`buckets` is 64 here and None there"):
        back.merge({0: tn.sketch(y, p)})
    with pytest.raises(tn.InputError, match="`cluster` must be passed with every batch"):
        back.update(y, p, group=0)
    with pytest.raises(
        tn.InputError, match="`cluster` needs an Accumulator that was made with `buckets`"
    ):
        tn.Accumulator().update(y, p, cluster=user)


MEASURES = (
    "ece",
    "brier",
    "log_loss",
    "observed_expected",
    "calibration_slope",
    "auc",
    "scaled_brier",
    "squared_ece",
)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_limits_are_those_of_rows_whose_clusters_are_the_buckets(measure):
    y, p, user = rows()
    by_hand = tn.estimate(measure, y, p, cluster=buckets_of(user), floor=False, seed=0)
    for sums in (tn.tally(y, p, cluster=user), tn.sketch(y, p, cluster=user)):
        found = tn.estimate(measure, sums, floor=False, seed=0)
        np.testing.assert_allclose(
            [found.value, found.low, found.high, found.n],
            [by_hand.value, by_hand.low, by_hand.high, y.size],
            rtol=1e-6,
        )


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_wide_bins_take_the_buckets_too():
    y, p, user = rows()
    sums = tn.binned(y, p, cluster=user)
    by_hand = tn.estimate("ece", y, p, cluster=buckets_of(user), floor=False, seed=0)
    found = tn.estimate("ece", sums, floor=False, seed=0)
    # Scores of a bin are at their mean, which only the second moments notice.
    assert (found.low, found.high) == pytest.approx((by_hand.low, by_hand.high), rel=0.01)
    for measure in ("l2", "observed_expected"):
        plain, found = (
            tn.estimate(measure, one, floor=False, seed=0) for one in (tn.binned(y, p), sums)
        )
        assert found.high > plain.high


@pytest.mark.parametrize("method", ["exact", "ks", "kuiper", "spiegelhalter"])
@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_tests_have_the_statistic_of_rows_whose_clusters_are_the_buckets(method):
    y, p, user = rows()
    sums = tn.tally(y, p, cluster=user)
    by_hand = tn.calibration_test(
        y, p, cluster=buckets_of(user), method=method, resamples=399, seed=0
    )
    found = tn.calibration_test(sums, method=method, resamples=399, seed=0)
    assert found.statistic == pytest.approx(by_hand.statistic, rel=1e-9)
    assert found.n == y.size
    # Two sets of 399 draws: four standard errors of a share.
    assert abs(found.pvalue - by_hand.pvalue) < 0.15


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_gate_verdict_and_equivalence_take_the_buckets():
    y, p, user = rows()
    sums, codes = tn.tally(y, p, cluster=user), buckets_of(user)
    bounds = {"max_ece": 0.2, "max_l2": 0.3, "oe_within": 0.5, "require": True, "seed": 0}
    for mine, theirs in zip(
        tn.gate(sums, **bounds).findings,
        tn.gate(y, p, cluster=codes, **bounds).findings,
        strict=True,
    ):
        assert (mine.low, mine.high) == pytest.approx((theirs.low, theirs.high), rel=1e-9)
    assert tn.verdict(sums, seed=0).clustered
    by_hand = tn.equivalence_test(y, p, cluster=codes, within=0.2, seed=0).pvalue
    assert tn.equivalence_test(sums, within=0.2, seed=0).pvalue == pytest.approx(by_hand, rel=1e-6)


def test_a_watch_divides_by_the_largest_cluster():
    y, p, user = rows()
    clustered, plain = tn.Watch(), tn.Watch()
    clustered.update(tn.tally(y, p, cluster=user))
    plain.update(tn.tally(y, p), largest_cluster=int(np.bincount(user).max()))
    assert clustered.evidence == plain.evidence


def test_what_cannot_allow_for_clusters_refuses_them():
    y, p, user = rows()
    sums = tn.tally(y, p, cluster=user)
    with pytest.raises(tn.InputError, match="'mon' has buckets of clusters"):
        tn.calibration_series({"mon": sums, "tue": sums})
    with pytest.raises(tn.InputError, match="needs independent rows"):
        tn.calibration_test(sums, method="cox")
    with pytest.raises(tn.InputError, match="needs every distinct score"):
        tn.calibration_test(tn.binned(y, p, cluster=user))
    with pytest.warns(tn.TruenessWarning, match="Buckets of clusters are not used here"):
        tn.curve_band(sums, method="bins")


def spoilt(data, **changes):
    return tn.Tally.from_dict({**data, **changes})


def test_spoilt_buckets_are_refused():
    y, p, user = rows(60)
    data = tn.tally(y, p, cluster=user).to_dict()
    with pytest.raises(tn.InputError, match="should have 32 or 64 or 128 or 256 parts and has 63"):
        spoilt(data, parts=data["parts"][1:])
    for size in (-1, 0, 61, 1.5):
        with pytest.raises(tn.InputError, match="no bucket holds its largest cluster"):
            spoilt(data, largest_cluster=size)


@pytest.mark.slow
@pytest.mark.parametrize("buckets", [64, 256])
@pytest.mark.parametrize(
    "sizes", [[5] * 400, [20] * 200, [400] + [10] * 300], ids=["5", "20", "one giant"]
)
@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_the_level_is_kept(sizes, buckets):
    rng, rejected, runs = np.random.default_rng(1), 0, 150
    for run in range(runs):
        user = np.repeat(np.arange(len(sizes)), sizes)
        p = rng.beta(1, 3, user.size)
        together = rng.random(len(sizes))[user]
        y = (np.where(rng.random(user.size) < 0.5, together, rng.random(user.size)) < p).astype(int)
        sums = tn.sketch(y, p, cluster=user + 10_000 * run, buckets=buckets)
        rejected += tn.calibration_test(sums, resamples=199, seed=run).pvalue <= 0.05
    # At a level of 0.065 more happen once in a thousand cases.
    assert rejected <= runs * 0.065 + 3.1 * np.sqrt(runs * 0.065 * 0.935)


def test_a_number_of_buckets_needs_clusters():
    for make in (tn.tally, tn.sketch, tn.binned):
        with pytest.raises(InputError, match="`buckets` needs `cluster`; got 32 without clusters"):
            make([0, 1], [0.2, 0.7], buckets=32)


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_one_bucket_has_no_limits_and_a_panel_counts_buckets():
    p = np.linspace(0.02, 0.98, 400)
    y = np.arange(400) % 2
    one = tn.estimate("observed_expected", tn.sketch(y, p, cluster=np.zeros(400, int)))
    assert np.isnan([one.low, one.high]).all()
    known = tn.sketch(y, p, cluster=np.arange(400) // 2)
    assert re.search(r"400 rows in \d+ buckets of clusters, ", str(tn.panel(known, seed=0)))
    assert "400 rows in 200 clusters, " in str(tn.panel(y, p, cluster=np.arange(400) // 2, seed=0))
