"""Validation of an estimator on its training rows: hand-made loops, honest folds, messages."""

import numpy as np
import pytest
from random_streams import stream
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, TimeSeriesSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import trueness as tn

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
TREE = DecisionTreeClassifier(min_samples_leaf=5, random_state=0)
MODEL = LogisticRegression()


def validate(*arguments, **options):
    return tn.validate(*arguments, floor=False, **options)


def data(n=300, seed=0):
    return make_classification(n, n_features=6, flip_y=0.3, random_state=seed)


def test_cross_fitted_predictions_are_those_of_a_loop_and_the_tree_looks_far_better_on_its_own_rows():
    X, y = data()
    p = np.empty(y.size)
    for train, test in StratifiedKFold(4).split(X, y):
        p[test] = clone(TREE).fit(X[train], y[train]).predict_proba(X[test])[:, 1]
    found = validate(TREE, X, y, cv=StratifiedKFold(4))
    assert found.corrected["brier"].value == tn.brier(y, p)
    assert found.corrected["auc"].value == tn.auc(y, p)
    own = clone(TREE).fit(X, y).predict_proba(X)[:, 1]
    assert found.apparent["ece"].value == tn.ece(y, own)
    assert found.apparent["ece"].value < 1e-9  # leaves predict their own rates
    assert found.corrected["ece"].value > 0.1
    assert found.corrected["slope"].value < 0.5 < 0.9 < found.apparent["slope"].value
    assert (
        found.optimism["brier"]
        == found.apparent["brier"].value - found.corrected["brier"].value
        < -0.05
    )
    assert (found.method, found.refits, found.n) == ("crossfit", 4, 300)
    assert "predictions as fixed" in found.note
    assert not hasattr(TREE, "tree_")


@pytest.mark.parametrize("weighted", [False, True])
def test_the_bootstrap_subtracts_the_mean_optimism_of_resamples(weighted):
    X, y = data(60)
    w = np.random.default_rng(0).integers(1, 4, 60) if weighted else np.ones(60)
    given = {"sample_weight": w} if weighted else {}
    found = validate(MODEL, X, y, method="bootstrap", resamples=3, seed=3, **given)
    rng = stream(3, "resample")
    own = clone(MODEL).fit(X, y, w).predict_proba(X)[:, 1]
    measures = {"slope": tn.calibration_slope, "brier": tn.brier, "auc": tn.auc}
    optimism = []
    for _ in range(3):
        i = rng.integers(y.size, size=y.size)
        p = clone(MODEL).fit(X[i], y[i], w[i]).predict_proba(X)[:, 1]
        rows, every = (y[i], p[i], w[i]), (y, p, w)
        optimism.append(
            [
                m(*rows[:2], sample_weight=rows[2]) - m(*every[:2], sample_weight=w)
                for m in measures.values()
            ]
        )
    for (key, measure), mean in zip(measures.items(), np.mean(optimism, axis=0), strict=True):
        assert found.optimism[key] == pytest.approx(mean, rel=1e-6), key
        assert found.corrected[key].value == pytest.approx(
            measure(y, own, sample_weight=w) - mean, rel=1e-6
        ), key
    assert (found.method, found.refits) == ("bootstrap", 3)


def test_the_bootstrap_warns_of_models_that_memorise_and_moves_limits_within_the_range_of_the_measure():
    X, y = data(60)
    found = validate(
        DecisionTreeClassifier(random_state=0), X, y, method="bootstrap", resamples=3, seed=0
    )
    assert "memorise rows" in found.note
    ranges = {"slope": (-np.inf, np.inf), "scaled_brier": (-np.inf, 1), "log_loss": (0, np.inf)}
    for key, before, after in zip(
        found.corrected.names, found.apparent.estimates, found.corrected.estimates, strict=True
    ):
        least, most = ranges.get(key, (0, np.inf if key == "observed_expected" else 1))
        if key == "intercept":
            least = -np.inf
        moved = np.array([before.low, before.high]) - found.optimism[key]
        assert [after.low, after.high] == pytest.approx(
            np.clip(moved, least, most).tolist(), nan_ok=True
        ), key
        assert after.method == (f"{before.method}, moved" if before.bounded else "")
        assert np.isnan([after.floor, after.floor_high]).all()


class Draws(np.random.Generator):
    """A generator whose whole numbers of a resample are given; what else is drawn is not."""

    def __init__(self, draws):
        super().__init__(np.random.PCG64(0))
        self.draws, self.asked = iter(draws), []

    def integers(self, high, *more, **options):
        if more or not isinstance(options.get("size"), int):
            return super().integers(high, *more, **options)
        self.asked.append((high, options["size"]))
        return np.array(next(self.draws))


@pytest.mark.parametrize("groups", [None, np.arange(30) // 3])
def test_resamples_of_one_class_are_drawn_again_up_to_a_hundred_times(groups, monkeypatch):
    X, _ = data(30)
    y = (np.arange(30) < 3).astype(int)
    units = 30 if groups is None else 10
    alone, both = np.zeros(units, int), np.arange(units) % (4 if groups is None else 2)
    options = {"method": "bootstrap", "resamples": 1, "groups": groups}
    rng = Draws([alone, alone, both])
    monkeypatch.setattr(np.random, "default_rng", lambda *_seed: rng)
    assert validate(MODEL, X, y, **options).refits == 1
    assert rng.asked[-3:] == [(units, units)] * 3
    rng = Draws([alone] * 100)
    with pytest.raises(tn.InputError, match="100 resamples had one class only"):
        validate(MODEL, X, y, **options)


def test_groups_stay_together_in_folds_and_resamples_and_are_the_clusters_of_the_limits():
    X, y = data(200)
    groups = np.arange(200) // 4
    found = validate(MODEL, X, y, cv=5, groups=groups, seed=1)
    assert found.corrected.clusters == 50
    boot = validate(MODEL, X, y, method="bootstrap", resamples=2, groups=groups, seed=1)
    assert boot.corrected.clusters == 50
    with pytest.raises(tn.InputError, match="rows of a group together; fold 0 does not"):
        validate(MODEL, X, y, cv=KFold(5, shuffle=True, random_state=0), groups=groups)


@pytest.mark.slow
def test_folds_may_be_lists_or_masks_leave_out_the_first_rows_and_are_shuffled_by_a_seed():
    X, y = data(60)
    splits = list(StratifiedKFold(3).split(X, y))
    masks = [tuple(np.isin(np.arange(60), part) for part in fold) for fold in splits]
    in_order, by_masks = (
        validate(MODEL, X, y, cv=cv).corrected["brier"].value for cv in (splits, masks)
    )
    assert in_order == by_masks
    series = validate(MODEL, X, y, cv=TimeSeriesSplit(3))
    assert (series.corrected.n, series.apparent.n) == (45, 60)
    assert "15 of 60 rows are in no test part" in series.note
    for seed in (0, 1):
        state = int(stream(seed, "folds").integers(2**31))
        shuffled = list(StratifiedKFold(3, shuffle=True, random_state=state).split(X, y))
        by_seed, by_list = (validate(MODEL, X, y, cv=cv, seed=seed) for cv in (3, shuffled))
        assert by_seed.corrected["brier"].value == by_list.corrected["brier"].value != in_order


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (ShuffleSplit(3, test_size=0.6, random_state=0), "no row into two test parts"),
        ([(range(50), range(50, 70))], "row numbers from 0 to 59; got 50 to 69"),
        ([([-1, *range(29)], range(30, 60))], "row numbers from 0 to 59; got -1 to 28"),
        ([([*range(29), 60], range(30, 60))], "row numbers from 0 to 59; got 0 to 60"),
        ([(range(20), range(20, 40)), (range(20), range(39, 60))], "1 rows are repeated"),
        (
            [(range(20), range(20, 40)), (range(41), range(40, 60))],
            "out of the training part; fold 1 does not",
        ),
        ([], "at least one fold; it has none"),
    ],
)
def test_bad_folds_are_refused(cv, message):
    if isinstance(cv, list):
        cv = [tuple(np.array(part) for part in fold) for fold in cv]
    with pytest.raises(tn.InputError, match=message):
        validate(MODEL, *data(60), cv=cv)


def test_weights_reach_model_and_panels_and_classes_may_have_names():
    X, y = data(120)
    w = np.random.default_rng(0).integers(1, 4, 120)
    splits = list(StratifiedKFold(3).split(X, y))
    p = np.empty(120)
    for train, test in splits:
        p[test] = clone(MODEL).fit(X[train], y[train], w[train]).predict_proba(X[test])[:, 1]
    found = validate(MODEL, X, y, cv=splits, sample_weight=w)
    assert found.corrected["brier"].value == tn.brier(y, p, sample_weight=w)
    names = np.where(y == 1, "bad", "good")
    turned = validate(MODEL, X, names, cv=splits, sample_weight=w, pos_label="bad")
    assert turned.corrected["slope"].value == pytest.approx(
        found.corrected["slope"].value, rel=1e-3
    )
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


@pytest.mark.parametrize(
    ("estimator", "X", "y", "options", "message"),
    [
        wrong("must have `predict_proba`; RidgeClassifier has none", estimator=RidgeClassifier()),
        wrong("can be fitted; got a FrozenEstimator", estimator=FrozenEstimator(MODEL)),
        wrong("can be fitted; got None", estimator=None),
        wrong(
            "must be a classifier such as `LogisticRegression()`; got the class",
            estimator=LogisticRegression,
        ),
        wrong("`y` must have two classes; got 3", y=np.arange(30) % 3),
        wrong("`y` must have two classes; got 1.", y=np.zeros(30, int)),
        wrong("one entry per row", y=np.arange(20) % 2),
        wrong("`y`", y=np.where(np.arange(30) % 2, 1.0, np.nan)),
        wrong("`groups` must have one entry per row (30)", groups=np.arange(3)),
        wrong("`groups` must not have missing values", groups=[None, *range(29)]),
        wrong(
            "both classes in each training part; fold 0 does not",
            y=np.r_[1, np.zeros(29)],
            cv=KFold(3),
        ),
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


@pytest.mark.parametrize("how", [{"cv": 3}, {"method": "bootstrap", "resamples": 3}])
def test_progress_is_reported_after_each_fit(how):
    X, y = data(60)
    steps = []
    validate(MODEL, X, y, progress=lambda done, total: steps.append((done, total)), **how)
    assert steps == [(0, 3), (1, 3), (2, 3), (3, 3)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "how", [{"cv": 10}, {"method": "bootstrap", "resamples": 15}], ids=["crossfit", "bootstrap"]
)
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
            [
                [one[key].value for key in ("slope", "brier")] - true
                for one in (found.apparent, found.corrected)
            ]
        )
    apparent, corrected = np.mean(errors, axis=0)
    assert apparent[0] > 0.2
    assert apparent[1] < -0.02
    # Standard errors of the means: 0.05 and 0.006; folds train on fewer rows, so that they are a little pessimistic.
    assert abs(corrected[0]) < 0.25
    assert abs(corrected[1]) < 0.02


def test_five_folds_and_levels_of_95_percent_are_the_defaults_and_the_event_may_be_the_first_class():
    X, y = data(60)
    found = validate(MODEL, X, y, pos_label=0)
    assert found.refits == 5
    assert {found.apparent["brier"].level, found.corrected["brier"].level} == {0.95}
    splits = list(StratifiedKFold(5).split(X, y))
    found = validate(MODEL, X, y, pos_label=0, cv=splits)
    p = np.empty(60)
    for train, test in splits:
        p[test] = clone(MODEL).fit(X[train], y[train]).predict_proba(X[test])[:, 0]
    assert found.corrected["brier"].value == tn.brier(y == 0, p)
    assert found.corrected.events == (y == 0).sum()
    assert found.corrected["observed_expected"].value == pytest.approx((y == 0).sum() / p.sum())
    assert "left out" not in found.note
    assert np.isnan(found.corrected["ece"].floor)


@pytest.mark.filterwarnings("error")
def test_weights_that_a_model_does_not_take_are_a_warning():
    X, y = data(60)
    w = np.arange(60) % 3 + 1.0
    with pytest.warns(
        tn.TruenessWarning, match="used by the panels only: KNeighborsClassifier does not take it"
    ):
        found = validate(KNeighborsClassifier(), X, y, cv=StratifiedKFold(2), sample_weight=w)
    p = np.empty(60)
    for train, test in StratifiedKFold(2).split(X, y):
        p[test] = KNeighborsClassifier().fit(X[train], y[train]).predict_proba(X[test])[:, 1]
    assert found.corrected["brier"].value == tn.brier(y, p, sample_weight=w)
    validate(KNeighborsClassifier(), X, y, cv=2)  # nothing to warn of
