"""Classifier and calibrator together: who is fitted on which rows, and which metadata reach them."""

import pickle
import warnings

import numpy as np
import pytest
from joblib import parallel_config
from scipy.special import expit, softmax
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    TimeSeriesSplit,
    cross_val_predict,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.metadata_routing import MetadataRouter
from toy_calibrators import Shares

import trueness as tn
from trueness import InputError, TruenessWarning, recalibrate
from trueness.errors import MovedScoresWarning
from trueness.recalibrate import CalibratedClassifier, OneVsRest, TopLabel

RNG = np.random.default_rng(7)
N = 400
X = RNG.normal(size=(N, 3))
Y = (X[:, 0] + X[:, 1] ** 2 + RNG.normal(size=N) > 1).astype(int)
Y3 = np.digitize(X[:, 0] + RNG.normal(size=N), [-0.5, 0.5])
NEW = RNG.normal(size=(50, 3))
W = RNG.integers(1, 4, N).astype(float)


def out_of_fold(estimator, y, method="predict_proba", cv=5):
    return cross_val_predict(estimator, X, y, cv=cv, method=method)


def test_the_calibrator_is_fitted_on_out_of_fold_scores_and_the_classifier_on_all_rows():
    fitted = CalibratedClassifier(GaussianNB(), Shares(4)).fit(X, Y)
    scores = out_of_fold(GaussianNB(), Y)[:, 1]
    assert fitted.calibrators_[0].shares_.tolist() == Shares(4).fit(scores, Y).shares_.tolist()
    wanted = fitted.calibrators_[0].predict(GaussianNB().fit(X, Y).predict_proba(NEW)[:, 1])
    assert fitted.predict_proba(NEW)[:, 1].tolist() == wanted.tolist()
    assert fitted.oof_uncalibrated_[:, 1].tolist() == scores.tolist()


@pytest.mark.parametrize("y", [Y, Y3], ids=["binary", "multiclass"])
@pytest.mark.parametrize("ensemble", [False, True])
def test_scikit_learn_agrees_on_platt_scaling(ensemble, y):
    platt = recalibrate.PlattScaling(from_logits=True, targets="platt")
    ours = CalibratedClassifier(LogisticRegression(), platt, ensemble=ensemble).fit(X, y)
    theirs = CalibratedClassifierCV(
        LogisticRegression(), method="sigmoid", cv=5, ensemble=ensemble
    ).fit(X, y)
    assert ours.predict_proba(NEW) == pytest.approx(theirs.predict_proba(NEW), abs=1e-4)


@pytest.mark.parametrize("y", [Y, Y3], ids=["binary", "multiclass"])
@pytest.mark.parametrize("ensemble", [False, True])
def test_scikit_learn_agrees_on_isotonic_calibration(ensemble, y):
    isotonic = recalibrate.IsotonicCalibration()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruenessWarning)
        ours = CalibratedClassifier(GaussianNB(), isotonic, ensemble=ensemble).fit(X, y)
    theirs = CalibratedClassifierCV(GaussianNB(), method="isotonic", cv=5, ensemble=ensemble).fit(
        X, y
    )
    assert ours.predict_proba(NEW) == pytest.approx(theirs.predict_proba(NEW), abs=1e-6)


def test_an_ensemble_is_the_mean_of_its_pairs():
    fitted = CalibratedClassifier(GaussianNB(), Shares(2), cv=KFold(3), ensemble=True).fit(X, Y)
    found = []
    for train, test in KFold(3).split(X):
        model = GaussianNB().fit(X[train], Y[train])
        calibrator = Shares(2).fit(model.predict_proba(X[test])[:, 1], Y[test])
        found.append(calibrator.predict(model.predict_proba(NEW)[:, 1]))
    assert fitted.predict_proba(NEW)[:, 1] == pytest.approx(np.mean(found, axis=0), abs=1e-12)
    assert len(fitted.estimators_) == len(fitted.calibrators_) == 3


@pytest.mark.parametrize("ensemble", [False, True])
def test_out_of_fold_probabilities_come_from_other_folds_alone(ensemble):
    fitted = CalibratedClassifier(GaussianNB(), Shares(4), cv=KFold(4), ensemble=ensemble).fit(X, Y)
    scores = out_of_fold(GaussianNB(), Y, cv=KFold(4))[:, 1]
    for rest, test in KFold(4).split(X):
        wanted = Shares(4).fit(scores[rest], Y[rest]).predict(scores[test])
        assert fitted.oof_proba_[test, 1].tolist() == wanted.tolist()


@pytest.mark.parametrize("ensemble", [False, True])
def test_a_time_series_is_scored_by_classifiers_of_the_past(ensemble):
    w = RNG.uniform(0.5, 2, N)
    cv = TimeSeriesSplit(3)  # 100 rows each; the first are in no test part
    fitted = CalibratedClassifier(GaussianNB(), Shares(2), cv=cv, ensemble=ensemble).fit(X, Y, w)
    scores, maps = np.full(N, np.nan), []
    for train, test in cv.split(X):
        scores[test] = GaussianNB().fit(X[train], Y[train], w[train]).predict_proba(X[test])[:, 1]
        maps.append(Shares(2).fit(scores[test], Y[test], w[test]))
    every = maps if ensemble else [Shares(2).fit(scores[100:], Y[100:], w[100:])]
    assert [one.shares_.tolist() for one in fitted.calibrators_] == [
        one.shares_.tolist() for one in every
    ]
    assert np.array_equal(fitted.oof_uncalibrated_[:, 1], scores, equal_nan=True)
    others = np.r_[100:200, 300:400]
    wanted = Shares(2).fit(scores[others], Y[others], w[others]).predict(scores[200:300])
    assert fitted.oof_proba_[200:300, 1].tolist() == wanted.tolist()
    assert np.isnan(fitted.oof_proba_).sum(axis=0).tolist() == [100, 100]


def test_a_frozen_classifier_and_a_time_series_calibrate_every_row():
    model = GaussianNB().fit(NEW, np.arange(50) % 2)
    fitted = CalibratedClassifier(FrozenEstimator(model), Shares(4), cv=TimeSeriesSplit(3)).fit(
        X, Y
    )
    scores = model.predict_proba(X)[:, 1]
    assert fitted.calibrators_[0].shares_.tolist() == Shares(4).fit(scores, Y).shares_.tolist()
    assert not np.isnan(fitted.oof_uncalibrated_).any()
    assert np.isnan(fitted.oof_proba_[:, 1]).sum() == 100


def test_moved_scores_are_told_once_per_fit():
    trees = DecisionTreeClassifier(max_depth=3, random_state=0)  # leaves of one class
    inner = CalibratedClassifier(trees, recalibrate.TemperatureScaling(from_logits=True), cv=3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make_pipeline(
            StandardScaler(), CalibratedClassifier(inner, recalibrate.PlattScaling(), cv=2)
        ).fit(X, Y)
        tn.validate(inner, X, Y, cv=2, floor=False)
    assert [one.category for one in caught] == [MovedScoresWarning] * 2


def test_the_label_of_a_row_has_no_part_in_its_own_calibration():
    changed = Y.copy()
    changed[0] = 1 - changed[0]
    frozen = FrozenEstimator(GaussianNB().fit(NEW, np.arange(50) % 2))
    a, b = (CalibratedClassifier(frozen, Shares(4), cv=KFold(4)).fit(X, y) for y in (Y, changed))
    assert a.oof_proba_[0].tolist() == b.oof_proba_[0].tolist()
    assert a.oof_proba_[100:].tolist() != b.oof_proba_[100:].tolist()


def test_a_frozen_classifier_is_not_refitted():
    model = GaussianNB().fit(NEW, np.arange(50) % 2)
    fitted = CalibratedClassifier(FrozenEstimator(model), Shares(4)).fit(X, Y)
    scores = model.predict_proba(X)[:, 1]
    assert fitted.calibrators_[0].shares_.tolist() == Shares(4).fit(scores, Y).shares_.tolist()
    assert fitted.oof_uncalibrated_[:, 1].tolist() == scores.tolist()
    assert fitted.classes_.tolist() == [0, 1]


def test_a_frozen_classifier_may_know_classes_that_did_not_come():
    model = FrozenEstimator(GaussianNB().fit(X, Y3))
    two = Y3 < 2
    with pytest.warns(tn.errors.OneClassWarning, match="Class 2: All"):
        fitted = CalibratedClassifier(model, Shares(2)).fit(X[two], Y3[two])
    assert fitted.predict_proba(NEW).shape == (50, 3)


@pytest.mark.parametrize("names", [[0, 1, 2], ["b", "c", "a"], [5, 7, 9]])
def test_several_classes_are_calibrated_one_against_the_rest(names):
    y = np.array(names)[Y3]
    fitted = CalibratedClassifier(GaussianNB(), Shares(3)).fit(X, y)
    assert isinstance(fitted.calibrators_[0], OneVsRest)
    assert (
        fitted.calibrators_[0].classes_ == tuple(fitted.classes_.tolist()) == tuple(sorted(names))
    )
    wanted = OneVsRest(Shares(3)).fit(out_of_fold(GaussianNB(), y), y, labels=sorted(names))
    full = GaussianNB().fit(X, y).predict_proba(NEW)
    assert fitted.predict_proba(NEW).tolist() == wanted.predict(full).tolist()
    best = fitted.predict_proba(NEW).argmax(axis=1)
    assert fitted.predict(NEW).tolist() == fitted.classes_[best].tolist()


@pytest.mark.filterwarnings("ignore::trueness.errors.FewRowsWarning")
@pytest.mark.parametrize(
    "calibrator", [tn.recalibrate.VectorScaling(), TopLabel(Shares(3)), OneVsRest(Shares(3))]
)
@pytest.mark.parametrize("y", [Y, Y3], ids=["binary", "multiclass"])
def test_calibrators_of_matrices_get_one(calibrator, y):
    fitted = CalibratedClassifier(GaussianNB(), calibrator).fit(X, y)
    assert fitted.predict_proba(NEW).shape == (50, y.max() + 1)
    assert fitted.predict_proba(NEW).sum(axis=1) == pytest.approx(1)
    assert fitted.oof_proba_.sum(axis=1) == pytest.approx(1)
    assert type(fitted.calibrators_[0]) is type(calibrator)


def test_margins_are_logits_and_read_as_log_odds_where_probabilities_are_wanted():
    margins = out_of_fold(LinearSVC(), Y, "decision_function")
    platt = tn.PlattScaling(from_logits=True)
    logits = CalibratedClassifier(LinearSVC(), platt).fit(X, Y)
    assert logits.calibrators_[0].slope_ == platt.fit(margins, Y).slope_
    both = CalibratedClassifier(LinearSVC(), OneVsRest(platt)).fit(
        X, Y
    )  # each column knows the margin
    assert both.predict_proba(NEW) == pytest.approx(logits.predict_proba(NEW), abs=1e-4)
    assert logits.oof_uncalibrated_[:, 1].tolist() == expit(margins).tolist()
    read = CalibratedClassifier(LinearSVC(), Shares(3)).fit(X, Y)
    assert (
        read.calibrators_[0].shares_.tolist() == Shares(3).fit(expit(margins), Y).shares_.tolist()
    )
    many = CalibratedClassifier(LinearSVC(), Shares(3)).fit(X, Y3)
    wanted = softmax(out_of_fold(LinearSVC(), Y3, "decision_function"), axis=1)
    assert many.oof_uncalibrated_ == pytest.approx(wanted, abs=1e-15)


@pytest.mark.parametrize("model", [LogisticRegression(), GaussianNB()])
@pytest.mark.parametrize("y", [Y, Y3], ids=["binary", "multiclass"])
def test_logits_of_a_matrix_mean_the_probabilities(model, y):
    # A ridge without measure leaves the temperature at 1.
    fitted = CalibratedClassifier(
        model, tn.recalibrate.StructuredScaling(ridge=1e12, from_logits=True)
    ).fit(X, y)
    assert fitted.predict_proba(NEW) == pytest.approx(
        clone(model).fit(X, y).predict_proba(NEW), abs=1e-6
    )


def test_probabilities_of_zero_are_moved_with_a_warning_where_logits_are_wanted():
    with pytest.warns(MovedScoresWarning, match="Probabilities of 0 were moved to 1e-12"):
        fitted = CalibratedClassifier(
            KNeighborsClassifier(2), tn.PlattScaling(from_logits=True)
        ).fit(X, Y)
    with pytest.warns(MovedScoresWarning):
        assert np.isfinite(fitted.predict_proba(NEW)).all()


def test_weights_reach_classifier_and_calibrator():
    fitted = CalibratedClassifier(GaussianNB(), Shares(4), cv=KFold(4)).fit(X, Y, W)
    scores = np.empty(N)
    for train, test in KFold(4).split(X):
        scores[test] = GaussianNB().fit(X[train], Y[train], W[train]).predict_proba(X[test])[:, 1]
    assert fitted.calibrators_[0].shares_.tolist() == Shares(4).fit(scores, Y, W).shares_.tolist()
    full = GaussianNB().fit(X, Y, W)
    assert fitted.estimators_[0].theta_.tolist() == full.theta_.tolist()


def test_any_partition_can_be_the_folds():
    groups = np.arange(N) % 8
    splits = list(GroupKFold(4).split(X, Y, groups))
    fitted = CalibratedClassifier(GaussianNB(), Shares(4), cv=splits).fit(X, Y)
    with parallel_config("threading"):
        again = CalibratedClassifier(GaussianNB(), Shares(4), cv=splits, n_jobs=2).fit(X, Y)
    assert fitted.oof_proba_.tolist() == again.oof_proba_.tolist()


def test_the_classifier_is_cloned_pickled_and_shown():
    fitted = CalibratedClassifier(GaussianNB(), Shares(4)).fit(X, Y)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.predict_proba(NEW).tolist() == fitted.predict_proba(NEW).tolist()
    assert not hasattr(clone(fitted), "classes_")
    assert "GaussianNB" in fitted._repr_html_()
    assert fitted.get_params()["calibrator__n_bins"] == 4


class Odd(ClassifierMixin, BaseEstimator):
    def __init__(self, width=None):
        self.width = width

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.zeros(len(X))


class OddProba(Odd):
    def predict_proba(self, X):
        return np.ones((len(X), self.width))


@pytest.mark.parametrize(
    ("classifier", "y", "message"),
    [
        (
            CalibratedClassifier(calibrator=Shares(), ensemble=2),
            Y,
            "`ensemble` must be True or False; got 2",
        ),
        (
            CalibratedClassifier(calibrator=3),
            Y,
            "`calibrator` must be a calibrator such as `AutoCalibration",
        ),
        (
            CalibratedClassifier(calibrator=OneVsRest(Shares(), normalize=False)),
            Y,
            "must give rows that sum to one",
        ),
        (
            CalibratedClassifier(calibrator=Shares()),
            np.zeros(N),
            "`y` must have at least two classes; got one class, 0",
        ),
        (CalibratedClassifier(calibrator=Shares()), None, "`y` must be given"),
        (
            CalibratedClassifier(),
            np.where(np.arange(N) == 3, np.nan, Y),
            "`y` must not have missing .* row 3. Leave such",
        ),
        (
            CalibratedClassifier(),
            X[:, 0],
            "`y` must be a vector of classes. Unknown label type: continuous",
        ),
        (CalibratedClassifier(), X, "`y` must be a vector of classes. "),
        (CalibratedClassifier(), Y[:9], "`X` and `y` must have one entry per row. Found"),
        (
            CalibratedClassifier(cv=1),
            Y,
            r"`cv` must be a whole number ≥ 2, a splitter or an .*\(train, test\); got 1",
        ),
        (CalibratedClassifier(cv=True), Y, "`cv` must be a whole number ≥ 2.*; got True"),
        (CalibratedClassifier(cv=2.5), Y, "`cv` must be a whole number ≥ 2.*; got 2.5"),
        (
            CalibratedClassifier(cv="prefit"),
            Y,
            r"got 'prefit'. Pass a fitted classifier as `FrozenEstimator\(cl",
        ),
        (
            CalibratedClassifier(cv=N + 1),
            Y,
            f"`cv` must split the {N} rows into folds; it cannot: ",
        ),
        (CalibratedClassifier(cv=[]), Y, "`cv` must have at least two folds; it has 0"),
        (
            CalibratedClassifier(cv=[(1, 2), (2, 400)]),
            Y,
            "`cv` must have row numbers from 0 to 399; got 2 to 400",
        ),
        (
            CalibratedClassifier(cv=[(1, 2), ([2, 1], 1)]),
            Y,
            "test rows out of the training part; fold 1 does not",
        ),
        (
            CalibratedClassifier(LinearRegression()),
            Y,
            "`estimator` must be .*; LinearRegression is a regressor. Use",
        ),
        (
            CalibratedClassifier(GaussianNB),
            Y,
            r"got the class GaussianNB. `GaussianNB\(\)` makes an instance",
        ),
        (
            CalibratedClassifier("forest"),
            Y,
            r"`estimator` must be a classifier such as .*, or None; got 'forest'",
        ),
        (
            CalibratedClassifier(calibrator=Shares(), cv=ShuffleSplit(3)),
            Y,
            "`cv` must put no row into two test parts",
        ),
        (
            CalibratedClassifier(GaussianNB(), Shares()),
            np.arange(N) == 3,
            "must have the classes False, True once fit",
        ),
        (
            CalibratedClassifier(Odd(), Shares()),
            Y,
            "must have `predict_proba` or `decision_function`; it has neither",
        ),
        (
            CalibratedClassifier(OddProba(3), Shares()),
            Y,
            r"`estimator.predict_proba` must return shape \(80, 2\)",
        ),
        (
            CalibratedClassifier(FrozenEstimator(GaussianNB().fit(X, Y)), Shares(), ensemble=True),
            Y,
            "`ensemble` must be False for a FrozenEstimator",
        ),
        (
            CalibratedClassifier(FrozenEstimator(GaussianNB().fit(X, Y)), Shares()),
            Y3,
            "`y` must hold classes of the frozen estimator; 2 is none",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:The least populated class")
def test_bad_arguments_are_refused(classifier, y, message):
    with pytest.raises(InputError, match=message):
        classifier.fit(X, y)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.zeros(N), f"`sample_weight` must have a weight above zero; all {N} are zero"),
        (W[:5], "`sample_weight` must have one entry per row"),
        (-W, "`sample_weight` must be finite and at least 0"),
    ],
)
def test_bad_weights_are_refused(weight, message):
    with pytest.raises(InputError, match=message):
        CalibratedClassifier(calibrator=Shares()).fit(X, Y, weight)


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore"
)  # scikit-learn's data are separable, small and of one class now and then
@pytest.mark.parametrize("ensemble", [False, True])
def test_checks_of_scikit_learn_pass(ensemble):
    check_estimator(CalibratedClassifier(cv=2, ensemble=ensemble), on_skip=None)


GROUPS = RNG.permutation(N) % 12


@pytest.fixture
def routing():
    with config_context(enable_metadata_routing=True):
        yield


class Recorder(ClassifierMixin, BaseEstimator):
    """A classifier that keeps what its `fit` was given."""

    def fit(self, X, y, sample_weight=None, offset=None, label=None):
        self.given_ = {"sample_weight": sample_weight, "offset": offset, "label": label}
        self.rows_ = X[:, 0]
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        p = 1 / (1 + np.exp(-X[:, 0]))
        return np.column_stack([1 - p, p])


@pytest.mark.usefixtures("routing")
def test_the_router_knows_classifier_calibrator_and_splitter():
    model = GaussianNB().set_fit_request(sample_weight=True)
    found = CalibratedClassifier(model, Shares(), cv=GroupKFold(3)).get_metadata_routing()
    assert isinstance(found, MetadataRouter)
    told = str(found)
    assert all(name in told for name in ("'estimator'", "'calibrator'", "'splitter'"))
    assert found.consumes("fit", ["sample_weight", "groups", "offset"]) == {
        "sample_weight",
        "groups",
    }


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("ensemble", [False, True])
@pytest.mark.parametrize("asked", [True, False])
def test_a_request_for_weights_is_honoured(asked, ensemble):
    model = Recorder().set_fit_request(sample_weight=asked)
    fitted = CalibratedClassifier(model, Shares(4), cv=3, ensemble=ensemble).fit(
        X, Y, sample_weight=W
    )
    for part in fitted.estimators_:
        weights = part.given_["sample_weight"]
        if asked:
            row = dict(zip(X[:, 0], W, strict=True))
            assert weights.tolist() == [row[x] for x in part.rows_]
        else:
            assert weights is None


@pytest.mark.usefixtures("routing")
def test_the_calibrator_gets_weights_unless_it_declines_them():
    model = FrozenEstimator(GaussianNB().fit(X, Y))
    p = model.predict_proba(X)[:, 1]
    weighted = CalibratedClassifier(model, Shares(4)).fit(X, Y, sample_weight=W).calibrators_[0]
    assert weighted.shares_.tolist() == Shares(4).fit(p, Y, W).shares_.tolist()
    plain = Shares(4).set_fit_request(sample_weight=False)
    unweighted = CalibratedClassifier(model, plain).fit(X, Y, sample_weight=W).calibrators_[0]
    assert unweighted.shares_.tolist() == Shares(4).fit(p, Y).shares_.tolist()


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("splitter", [GroupKFold(4), StratifiedGroupKFold(3)])
def test_groups_reach_the_splitter(splitter):
    routed = CalibratedClassifier(GaussianNB(), Shares(4), cv=splitter).fit(X, Y, groups=GROUPS)
    folds = list(splitter.split(X, Y, GROUPS))
    listed = CalibratedClassifier(GaussianNB(), Shares(4), cv=folds).fit(X, Y)
    assert routed.oof_proba_.tolist() == listed.oof_proba_.tolist()


@pytest.mark.slow
@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("ensemble", [False, True])
def test_scikit_learn_routes_the_same(ensemble):
    model, cv = (
        LogisticRegression().set_fit_request(sample_weight=True),
        list(GroupKFold(4).split(X, Y, GROUPS)),
    )
    ours = CalibratedClassifier(
        model, tn.PlattScaling(from_logits=True, targets="platt"), cv=cv, ensemble=ensemble
    )
    theirs = CalibratedClassifierCV(model, cv=cv, ensemble=ensemble)
    found, wanted = (
        m.set_fit_request(sample_weight=True).fit(X, Y, sample_weight=W).predict_proba(X)
        for m in (ours, theirs)
    )
    assert found == pytest.approx(wanted, abs=1e-4)


@pytest.mark.usefixtures("routing")
def test_a_search_passes_weights_and_groups_through():
    model = CalibratedClassifier(
        Recorder().set_fit_request(sample_weight=True), Shares(4), cv=GroupKFold(2)
    )
    model.set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
    search = GridSearchCV(model, {"calibrator__n_bins": [2, 4]}, cv=GroupKFold(3))
    search.fit(X, Y, sample_weight=W, groups=GROUPS)
    assert search.best_estimator_.estimators_[0].given_["sample_weight"].tolist() == W.tolist()


def test_without_routing_further_arguments_go_to_the_classifier_cut_by_rows():
    kept = [
        "day",
        b"day",
        {1: 1},
        [1, 2],
        np.ones((2, N)),
        3,
        None,
        np.array(3.0),
        *[dict.fromkeys(range(N)), "x" * N],
    ]
    for label in kept:
        fitted = CalibratedClassifier(Recorder(), Shares(4), cv=3, ensemble=True)
        fitted.fit(X, Y, W, offset=X[:, :1] if label is None else X[:, 0].tolist(), label=label)
        for part in fitted.estimators_:
            assert np.ravel(part.given_["offset"]).tolist() == part.rows_.tolist()
            assert part.given_["label"] is label


def test_groups_without_routing_are_refused_with_the_two_ways_out():
    model = CalibratedClassifier(GaussianNB(), Shares(), cv=GroupKFold(3))
    with pytest.raises(
        InputError, match=r"`groups` needs metadata routing; it is disabled\. `sklearn\.set_config"
    ):
        model.fit(X, Y, groups=GROUPS)


@pytest.mark.parametrize("on", [False, True])
def test_a_splitter_of_groups_needs_them(on):
    with (
        config_context(enable_metadata_routing=on),
        pytest.raises(
            InputError,
            match=r"`groups` must be given for cv=GroupKFold\(…\); got none\. .*cv=list\(GroupKF",
        ),
    ):
        CalibratedClassifier(GaussianNB(), Shares(), cv=GroupKFold(3)).fit(X, Y)


@pytest.mark.parametrize("cv", [2, np.int64(2), None])
def test_two_folds_are_enough_and_none_means_five(cv):
    fitted = CalibratedClassifier(GaussianNB(), Shares(4), cv=cv, ensemble=True).fit(X, Y)
    assert len(fitted.estimators_) == (cv or 5)


def test_a_warning_of_the_fit_points_at_the_callers_line():
    X, y = np.random.default_rng(0).random((60, 1)), np.arange(60) % 2
    with pytest.warns(tn.errors.MovedScoresWarning) as said:
        tn.CalibratedClassifier(KNeighborsClassifier(1), tn.PlattScaling(), cv=2).fit(X, y)
    assert {one.filename for one in said} == {__file__}


def test_a_fitted_classifier_prints_its_map():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = (rng.random(400) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    unfitted = CalibratedClassifier(GaussianNB(), "platt")
    assert str(unfitted) == repr(unfitted)
    assert "PlattScaling(). Slope " in str(unfitted.fit(X, y))
    several = CalibratedClassifier(GaussianNB(), "platt", ensemble=True).fit(X, y)
    assert f"{len(several.calibrators_)} maps, one per fold; the first: " in str(several)
