"""Validation of an estimator on its training rows: hand-made loops, honest folds, messages."""

from types import SimpleNamespace

import numpy as np
import pytest

import trueness as tn

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, TimeSeriesSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from trueness.recalibrate._validate import _check_folds, _folds, _moved, _resample, _training_rows
from trueness.results import Estimate

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
TREE = DecisionTreeClassifier(min_samples_leaf=5, random_state=0)
MODEL = LogisticRegression()
RNG = np.random.default_rng


def validate(*arguments, **options):
    return tn.validate(*arguments, floor=False, **options)


def data(n=300, seed=0):
    return make_classification(n, n_features=6, flip_y=0.3, random_state=seed)


def test_cross_fitted_predictions_are_those_of_a_loop_and_the_tree_looks_far_better_on_its_own_rows():
    X, y = data()
    p = np.empty(y.size)
    for train, test in StratifiedKFold(4).split(X, y):
        p[test] = clone(TREE).fit(X[train], y[train]).predict_proba(X[test])[:, 1]
    found = validate(TREE, X, y, cv=4, seed=None)
    assert found.corrected["brier"].value == tn.brier(y, p)
    assert found.corrected["auc"].value == tn.auc(y, p)
    own = clone(TREE).fit(X, y).predict_proba(X)[:, 1]
    assert found.apparent["ece"].value == tn.ece(y, own)
    assert found.apparent["ece"].value < 1e-9  # leaves predict their own rates
    assert found.corrected["ece"].value > 0.1
    assert found.corrected["slope"].value < 0.5 < 0.9 < found.apparent["slope"].value
    assert found.optimism["brier"] == found.apparent["brier"].value - found.corrected["brier"].value < -0.05
    assert (found.method, found.refits, found.n) == ("crossfit", 4, 300)
    assert "predictions as fixed" in found.note
    assert not hasattr(TREE, "tree_")


def test_the_bootstrap_subtracts_the_mean_optimism_of_resamples():
    X, y = data(120)
    found = validate(MODEL, X, y, method="bootstrap", resamples=5, seed=3)
    rng = np.random.default_rng(3)
    own = clone(MODEL).fit(X, y).predict_proba(X)[:, 1]
    tn.panel(y, own, seed=rng, floor=False)  # the limits of the ECE draw
    optimism = []
    for _ in range(5):
        i = rng.integers(y.size, size=y.size)
        p = clone(MODEL).fit(X[i], y[i]).predict_proba(X)[:, 1]
        optimism.append([m(y[i], p[i]) - m(y, p) for m in (tn.calibration_slope, tn.brier, tn.auc)])
    for key, of, measure in zip(
        ("slope", "brier", "auc"), np.mean(optimism, axis=0), (tn.calibration_slope, tn.brier, tn.auc), strict=True
    ):
        assert found.optimism[key] == pytest.approx(of, rel=1e-6), key
        assert found.corrected[key].value == pytest.approx(measure(y, own) - of, rel=1e-6), key
    assert found.corrected["slope"].low < found.corrected["slope"].value < found.corrected["slope"].high
    assert (found.method, found.refits) == ("bootstrap", 5)
    assert "memorise" not in found.note
    deep = tn.validate(DecisionTreeClassifier(random_state=0), X, y, method="bootstrap", resamples=3, seed=0)
    assert "memorise rows" in deep.note


def test_groups_stay_together_in_folds_and_resamples_and_are_the_clusters_of_the_limits():
    X, y = data(200)
    groups = np.arange(200) // 4
    found = validate(MODEL, X, y, cv=5, groups=groups, seed=1)
    assert found.corrected.clusters == 50
    boot = validate(MODEL, X, y, method="bootstrap", resamples=2, groups=groups, seed=1)
    assert boot.corrected.clusters == 50
    with pytest.raises(tn.InputError, match="rows of a group together; fold 0 does not"):
        validate(MODEL, X, y, cv=KFold(5, shuffle=True, random_state=0), groups=groups)


def test_folds_may_be_a_list_or_leave_out_the_first_rows_but_not_repeat_any():
    X, y = data(120)
    splits = list(StratifiedKFold(3).split(X, y))
    as_list, as_int = validate(MODEL, X, y, cv=splits), validate(MODEL, X, y, cv=3)
    assert as_list.corrected["brier"].value == as_int.corrected["brier"].value
    series = validate(MODEL, X, y, cv=TimeSeriesSplit(3))
    assert (series.corrected.n, series.apparent.n) == (90, 120)
    assert "30 of 120 rows are in no test part" in series.note
    with pytest.raises(tn.InputError, match="no row into two test parts"):
        validate(MODEL, X, y, cv=ShuffleSplit(3, test_size=0.6, random_state=0))
    with pytest.raises(tn.InputError, match="row numbers from 0 to 119; got 110 to 129"):
        validate(MODEL, X, y, cv=[(np.arange(110), np.arange(110, 130))])
    with pytest.raises(tn.InputError, match="test rows out of the training part"):
        validate(MODEL, X, y, cv=[(np.arange(120), np.arange(60)), (np.arange(60), np.arange(60, 120))])


def test_weights_reach_model_and_panels_and_classes_may_have_names():
    X, y = data(120)
    w = np.random.default_rng(0).integers(1, 4, 120)
    splits = list(StratifiedKFold(3).split(X, y))
    p = np.empty(120)
    for train, test in splits:
        p[test] = clone(MODEL).fit(X[train], y[train], w[train]).predict_proba(X[test])[:, 1]
    found = validate(MODEL, X, y, cv=3, sample_weight=w)
    assert found.corrected["brier"].value == tn.brier(y, p, sample_weight=w)
    names = np.where(y == 1, "bad", "good")
    turned = validate(MODEL, X, names, cv=3, sample_weight=w, pos_label="bad")
    assert turned.corrected["slope"].value == pytest.approx(found.corrected["slope"].value, rel=1e-3)
    assert turned.corrected.events == found.corrected.events


def test_a_result_reads_as_a_table_and_as_a_frame():
    X, y = data(120)
    found = tn.validate(MODEL, X, y, cv=3, seed=0)
    text = str(found)
    assert "floor 0.0" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "Validation by 3 folds: 120 rows" in text
    paper = " ".join(found.text().split())
    assert "validated internally with 3 folds" in paper
    assert f"slope {found.apparent['slope'].value:.3f} (optimism" in paper
    assert "results were corrected for optimism" in paper
    assert "`tn.validate`" not in paper
    with pytest.raises(tn.InputError, match="`style` must be 'tripod'"):
        found.text("apa")
    frame = found.to_frame("pandas")
    assert list(frame["key"]) == list(found.corrected.names)
    assert found.to_dict()["optimism"]["slope"] == found.optimism["slope"]


def wrong(message, *, estimator=MODEL, X=None, y=None, **options):
    return pytest.param(estimator, X, y, options, message, id=message[:40])


@pytest.mark.all_cases
@pytest.mark.parametrize(
    ("estimator", "X", "y", "options", "message"),
    [
        wrong("must have `predict_proba`; RidgeClassifier has none", estimator=RidgeClassifier()),
        wrong("can be fitted; got a FrozenEstimator", estimator=FrozenEstimator(MODEL)),
        wrong("can be fitted; got None", estimator=None),
        wrong("must be a classifier such as `LogisticRegression()`; got the class", estimator=LogisticRegression),
        wrong("`y` must have two classes; got 3", y=np.arange(30) % 3),
        wrong("`y` must have two classes; got 1.", y=np.zeros(30, int)),
        wrong("one entry per row", y=np.arange(20) % 2),
        wrong("`y`", y=np.where(np.arange(30) % 2, 1.0, np.nan)),
        wrong("`groups` must have one entry per row (30)", groups=np.arange(3)),
        wrong("`groups` must not have missing values", groups=[None, *range(29)]),
        wrong("both classes in each training part; fold 0 has one", y=np.r_[1, np.zeros(29)], cv=KFold(3)),
        wrong("`sample_weight` must have one entry per row (30)", sample_weight=[1.0]),
        wrong("`pos_label` must be 0 or 1; got 2", pos_label=2),
        wrong("`method` must be 'crossfit' or 'bootstrap'", method="loo"),
        wrong("`resamples` is used by `method='bootstrap'` only", resamples=10),
        wrong("`cv` is used by `method='crossfit'` only", method="bootstrap", cv=3),
        wrong("`cv` must be a whole number ≥ 2", cv=1),
        wrong("`cv` must split the 30 rows", cv=20),
        wrong("`level` must lie strictly between", level=2),
    ],
)
def test_bad_input_is_named(estimator, X, y, options, message):
    rng = np.random.default_rng(0)
    X = rng.random((30, 2)) if X is None else X
    y = np.arange(30) % 2 if y is None else y
    with pytest.raises(tn.InputError) as error:
        tn.validate(estimator, X, y, **options)
    assert message in str(error.value)


def test_progress_is_reported_after_each_fit():
    X, y = data(60)
    steps = []
    validate(MODEL, X, y, cv=3, progress=lambda done, total: steps.append((done, total)))
    assert steps == [(0, 3), (1, 3), (2, 3), (3, 3)]


@pytest.mark.slow
@pytest.mark.parametrize("how", [{"cv": 10}, {"method": "bootstrap", "resamples": 15}], ids=["crossfit", "bootstrap"])
def test_most_of_the_optimism_of_a_regression_is_removed(how):
    rng = np.random.default_rng(0)
    model = LogisticRegression(C=1e6, max_iter=300)
    beta = np.r_[np.full(4, 0.6), np.zeros(8)]

    def draw(n):
        X = rng.normal(size=(n, 12))
        return X, (rng.random(n) < 1 / (1 + np.exp(0.8 - X @ beta))).astype(int)

    new_X, new_y = draw(10_000)
    errors = []
    for run in range(15):
        X, y = draw(150)
        p = clone(model).fit(X, y).predict_proba(new_X)[:, 1]
        true = np.array([tn.calibration_slope(new_y, p), tn.brier(new_y, p)])
        found = validate(model, X, y, seed=run, **how)
        errors.append(
            [[one[key].value for key in ("slope", "brier")] - true for one in (found.apparent, found.corrected)]
        )
    apparent, corrected = np.mean(errors, axis=0)
    assert apparent[0] > 0.2
    assert apparent[1] < -0.02
    # Standard errors of the means: 0.05 and 0.006; folds train on fewer rows, so that they are a little pessimistic.
    assert abs(corrected[0]) < 0.25
    assert abs(corrected[1]) < 0.02


@pytest.mark.parametrize("rarer", [0, 1])
def test_a_training_part_needs_one_row_of_each_class(rarer):
    events = np.full(12, 1 - rarer)
    events[[0, 6]] = rarer
    rows = SimpleNamespace(y=events, events=events, group=None)
    _check_folds([(np.arange(6), np.arange(6, 12)), (np.arange(6, 12), np.arange(6))], rows)
    with pytest.raises(tn.InputError, match="fold 1 has one class only"):
        _check_folds([(np.arange(6), np.arange(6, 12)), (np.arange(7, 12), np.arange(6))], rows)


@pytest.mark.parametrize("flipped", [False, True])
def test_resamples_of_one_class_are_drawn_again(flipped):
    y = (np.arange(4) == 3) ^ flipped
    draws = iter([[0, 1, 2, 0], [3, 3, 3, 3], [0, 3, 1, 2], [1, 1, 1, 1]])
    rows = SimpleNamespace(y=y, events=y, group=None)
    found = _resample(rows, SimpleNamespace(integers=lambda high, size: np.array(next(draws))))
    assert found.tolist() == [0, 3, 1, 2]


@pytest.mark.parametrize("group", [None, np.arange(9) // 3])
def test_a_hundred_resamples_of_one_class_are_too_many(group):
    calls = []

    def integers(high, size):
        calls.append((high, size))
        return np.zeros(size, int)

    y = np.arange(9) > 2
    rows = SimpleNamespace(y=y, events=y, group=group)
    with pytest.raises(tn.InputError, match="100 resamples had one class only"):
        _resample(rows, SimpleNamespace(integers=integers))
    assert calls == [(9, 9) if group is None else (3, 3)] * 100


def test_whole_groups_are_resampled():
    group = np.array([2, 0, 1, 0, 2, 1, 1])
    y = np.array([0, 1, 0, 0, 1, 1, 0])
    rows = SimpleNamespace(y=y, events=y == 1, group=group)
    drawn = _resample(rows, SimpleNamespace(integers=lambda high, size: np.array([0, 2, 0])))
    assert drawn.tolist() == [1, 3, 0, 4, 1, 3]


def test_the_bootstrap_weighs_rows():
    X, y = data(30, seed=3)
    w = np.random.default_rng(0).integers(1, 4, 30)
    found = validate(MODEL, X, y, method="bootstrap", resamples=2, seed=3, sample_weight=w)
    rng = np.random.default_rng(3)
    own = clone(MODEL).fit(X, y, w).predict_proba(X)[:, 1]
    tn.panel(y, own, seed=rng, floor=False, sample_weight=w)  # the limits of the ECE draw
    differences = []
    for _ in range(2):
        i = rng.integers(30, size=30)
        p = clone(MODEL).fit(X[i], y[i], w[i]).predict_proba(X)[:, 1]
        differences.append([m(y[i], p[i], sample_weight=w[i]) - m(y, p, sample_weight=w) for m in (tn.brier, tn.auc)])
    for key, mean in zip(("brier", "auc"), np.mean(differences, axis=0), strict=True):
        assert found.optimism[key] == pytest.approx(mean, rel=1e-6), key


def test_limits_are_moved_by_the_optimism_within_the_range_of_the_measure():
    def moved(key, low, high, optimism):
        made = _moved(key, Estimate(key, (low + high) / 2, low, high, 0.95, "t", 9, "", floor=0.1), optimism)
        assert made.value == pytest.approx((low + high) / 2 - optimism)
        assert np.isnan([made.floor, made.floor_high, made.excess]).all()
        assert made.method == "t, moved"
        return pytest.approx((made.low, made.high))

    for key in ("brier", "auc", "ici", "e50", "e90", "emax", "ece"):
        assert moved(key, 0.25, 0.5, 0.125) == (0.125, 0.375)
        assert moved(key, 0.25, 0.5, 0.375) == (0, 0.125)
        assert moved(key, 0.25, 0.5, -0.625) == (0.875, 1)
    for key in ("observed_expected", "log_loss"):
        assert moved(key, 0.25, 0.5, 0.375) == (0, 0.125)
        assert moved(key, 0.25, 0.5, -2) == (2.25, 2.5)
    assert moved("scaled_brier", 0.25, 0.5, -0.625) == (0.875, 1)
    assert moved("scaled_brier", 0.25, 0.5, 2) == (-1.75, -1.5)
    assert moved("slope", 0.25, 0.5, 2) == (-1.75, -1.5)
    assert moved("slope", 0.25, 0.5, -2) == (2.25, 2.5)
    nan = float("nan")
    assert _moved("mce", Estimate("MCE", 0.5, nan, nan, 0.95, "", 9, ""), 0.1).method == ""


def test_progress_of_the_bootstrap_is_reported_after_each_fit():
    X, y = data(60)
    steps = []
    validate(MODEL, X, y, method="bootstrap", resamples=2, progress=lambda *step: steps.append(step))
    assert steps == [(0, 2), (1, 2), (2, 2)]


def test_five_folds_and_levels_of_95_percent_are_the_defaults_and_the_event_may_be_the_first_class():
    X, y = data(60)
    found = validate(MODEL, X, y, pos_label=0)
    assert found.refits == 5
    assert {found.apparent["brier"].level, found.corrected["brier"].level} == {0.95}
    p = np.empty(60)
    for train, test in StratifiedKFold(5).split(X, y):
        p[test] = clone(MODEL).fit(X[train], y[train]).predict_proba(X[test])[:, 0]
    assert found.corrected["brier"].value == tn.brier(y == 0, p)
    assert found.corrected.events == (y == 0).sum()
    assert found.corrected["observed_expected"].value == pytest.approx((y == 0).sum() / p.sum())
    assert "left out" not in found.note
    assert np.isnan(found.corrected["ece"].floor)


def folds_of(cv, n=60, seed=None):
    X, y = data(n)
    rows = SimpleNamespace(X=X, y=y, events=y == 1, group=None)
    return [(train.tolist(), test.tolist()) for train, test in _folds(cv, rows, seed is not None, RNG(seed))]


def test_a_seed_shuffles_the_folds():
    in_order = [(train.tolist(), test.tolist()) for train, test in StratifiedKFold(5).split(*data(60))]
    assert folds_of(None) == folds_of(5) == in_order
    assert folds_of(5, seed=1) == folds_of(5, seed=1)
    assert folds_of(5, seed=1) != folds_of(5, seed=2)
    for train, test in folds_of(5, seed=1):
        assert sorted(train + test) == list(range(60))
        assert test != list(range(test[0], test[-1] + 1))


def test_folds_may_be_masks_and_row_numbers_end_with_the_rows():
    first, rows = np.arange(60) < 30, list(range(60))
    assert folds_of([(first, ~first), (~first, first)]) == [(rows[:30], rows[30:]), (rows[30:], rows[:30])]
    for cv, message in (
        ([([-1, *rows[:29]], rows[30:])], "row numbers from 0 to 59; got -1 to 28"),
        ([([*rows[:29], 60], rows[30:])], "row numbers from 0 to 59; got 0 to 60"),
        ([(rows[:20], rows[20:40]), (rows[:20], rows[39:])], "1 rows are repeated"),
        ([(rows[:20], rows[20:40]), (rows[:41], rows[40:])], "out of the training part; fold 1 does not"),
        ([], "at least one fold; it has none"),
    ):
        with pytest.raises(tn.InputError, match=message):
            folds_of(cv)


@pytest.mark.filterwarnings("error")
def test_weights_that_a_model_does_not_take_are_a_warning():
    X, y = data(60)
    w = np.arange(60) % 3 + 1.0
    with pytest.warns(tn.TruenessWarning, match="used by the panels only: KNeighborsClassifier does not take it"):
        found = validate(KNeighborsClassifier(), X, y, cv=2, sample_weight=w)
    p = np.empty(60)
    for train, test in StratifiedKFold(2).split(X, y):
        p[test] = KNeighborsClassifier().fit(X[train], y[train]).predict_proba(X[test])[:, 1]
    assert found.corrected["brier"].value == tn.brier(y, p, sample_weight=w)
    assert _training_rows(KNeighborsClassifier(), X, y, None, None, None).w is None  # nothing to warn of
