"""Weights, groups and other metadata reach those who ask for them."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedGroupKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.metadata_routing import MetadataRouter
from toy_calibrators import Shares

from trueness import InputError, TruenessWarning
from trueness.recalibrate import CalibratedClassifier, PlattScaling
from trueness.recalibrate._base_classifier import as_probabilities, base_scores, of_rows

RNG = np.random.default_rng(3)
N = 240
X = RNG.normal(size=(N, 2))
Y = (X[:, 0] + RNG.normal(size=N) > 0).astype(int)
W = RNG.integers(1, 5, N).astype(float)
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
    assert found.consumes("fit", ["sample_weight", "groups", "offset"]) == {"sample_weight", "groups"}


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("ensemble", [False, True])
@pytest.mark.parametrize("asked", [True, False])
def test_a_request_for_weights_is_honoured(asked, ensemble):
    model = Recorder().set_fit_request(sample_weight=asked)
    fitted = CalibratedClassifier(model, Shares(4), cv=3, ensemble=ensemble).fit(X, Y, sample_weight=W)
    for part in fitted.estimators_:
        weights = part.given_["sample_weight"]
        if asked:
            row = dict(zip(X[:, 0], W, strict=True))
            assert weights.tolist() == [row[x] for x in part.rows_]
        else:
            assert weights is None


@pytest.mark.usefixtures("routing")
def test_weights_that_nobody_decided_on_are_refused_by_scikit_learn():
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        CalibratedClassifier(GaussianNB(), Shares()).fit(X, Y, sample_weight=W)


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


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("ensemble", [False, True])
def test_scikit_learn_routes_the_same(ensemble):
    model, cv = LogisticRegression().set_fit_request(sample_weight=True), list(GroupKFold(4).split(X, Y, GROUPS))
    ours = CalibratedClassifier(model, PlattScaling(from_logits=True, targets="platt"), cv=cv, ensemble=ensemble)
    theirs = CalibratedClassifierCV(model, cv=cv, ensemble=ensemble)
    found, wanted = (
        m.set_fit_request(sample_weight=True).fit(X, Y, sample_weight=W).predict_proba(X) for m in (ours, theirs)
    )
    assert found == pytest.approx(wanted, abs=1e-4)


@pytest.mark.usefixtures("routing")
def test_a_search_passes_weights_and_groups_through():
    model = CalibratedClassifier(Recorder().set_fit_request(sample_weight=True), Shares(4), cv=GroupKFold(2))
    model.set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
    search = GridSearchCV(model, {"calibrator__n_bins": [2, 4]}, cv=GroupKFold(3))
    search.fit(X, Y, sample_weight=W, groups=GROUPS)
    assert search.best_estimator_.estimators_[0].given_["sample_weight"].tolist() == W.tolist()


@pytest.mark.usefixtures("routing")
def test_metadata_that_nobody_requests_is_refused_by_scikit_learn():
    with pytest.raises(TypeError, match="groups"):
        CalibratedClassifier(GaussianNB(), Shares()).fit(X, Y, groups=GROUPS)


def test_without_routing_a_classifier_gets_weights_if_it_takes_them():
    fitted = CalibratedClassifier(Recorder(), Shares(4), cv=3).fit(X, Y, W)
    assert fitted.estimators_[0].given_["sample_weight"].tolist() == W.tolist()
    with pytest.warns(TruenessWarning, match="by the calibrator only: KNeighborsClassifier does not take it"):
        CalibratedClassifier(KNeighborsClassifier(), Shares(4)).fit(X, Y, W)


def test_without_routing_further_arguments_go_to_the_classifier_cut_by_rows():
    fitted = CalibratedClassifier(Recorder(), Shares(4), cv=3, ensemble=True).fit(X, Y, offset=X[:, 0], label="day")
    for part in fitted.estimators_:
        assert part.given_["offset"].tolist() == part.rows_.tolist()
        assert part.given_["label"] == "day"


def test_groups_without_routing_are_refused_with_the_two_ways_out():
    model = CalibratedClassifier(GaussianNB(), Shares(), cv=GroupKFold(3))
    with pytest.raises(InputError, match=r"`groups` needs metadata routing; it is disabled\. `sklearn\.set_config"):
        model.fit(X, Y, groups=GROUPS)


@pytest.mark.parametrize("on", [False, True])
def test_a_splitter_of_groups_needs_them(on):
    with (
        config_context(enable_metadata_routing=on),
        pytest.raises(
            InputError, match=r"`groups` must be given for cv=GroupKFold\(…\); got none\. .*cv=list\(GroupKF"
        ),
    ):
        CalibratedClassifier(GaussianNB(), Shares(), cv=GroupKFold(3)).fit(X, Y)


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_arguments_with_one_entry_per_row_are_subset_and_others_kept(kind):
    passed = {"w": kind([5, 6, 7]), "two": [1, 2], "word": "abc", "number": 3, "none": None, "scalar": np.array(3.0)}
    found = of_rows(passed, np.array([0, 2]), 3)
    assert list(found.pop("w")) == [5, 7]
    assert all(found[name] is passed[name] for name in ("two", "word", "number", "none", "scalar"))


class Given(ClassifierMixin, BaseEstimator):
    """A classifier that returns what it was made with."""

    def __init__(self, p=None, margins=None):
        self.p, self.margins = p, margins
        self.classes_ = np.arange(2 if p is None else np.shape(p)[1])
        if p is not None:
            self.predict_proba = lambda X: p
        if margins is not None:
            self.classes_ = np.arange(2 if np.ndim(margins) == 1 else np.shape(margins)[1])
            self.decision_function = lambda X: margins


def test_scores_of_two_classes_are_those_of_the_second():
    model = Given(p=[[0.2, 0.8], [0.5, 0.5]])
    assert base_scores(model, None, np.arange(2), "probabilities", matrix=False).tolist() == [0.8, 0.5]
    assert base_scores(model, None, np.arange(2), "probabilities", matrix=True).tolist() == model.p
    assert base_scores(model, None, np.arange(2), "logits", matrix=False) == pytest.approx([np.log(4), 0.0])
    both = base_scores(model, None, np.arange(2), "logits", matrix=True)
    assert both == pytest.approx(np.array([[-np.log(2), np.log(2)], [0.0, 0.0]]))


def test_scores_of_three_classes_are_a_matrix():
    model = Given(p=[[0.2, 0.7, 0.1]])
    assert base_scores(model, None, np.arange(3), "probabilities", matrix=True).tolist() == model.p
    assert base_scores(model, None, np.arange(3), "logits", matrix=True) == pytest.approx(np.log(model.p))


def test_margins_are_logits_if_there_are_any():
    both = Given(p=[[0.2, 0.8]], margins=[3.0])
    assert base_scores(both, None, np.arange(2), "logits", matrix=False).tolist() == [3.0]
    assert base_scores(both, None, np.arange(2), "probabilities", matrix=False).tolist() == [0.8]
    margins = Given(margins=[np.log(4)])
    assert base_scores(margins, None, np.arange(2), "probabilities", matrix=False) == pytest.approx([0.8])
    assert base_scores(margins, None, np.arange(2), "probabilities", matrix=True) == pytest.approx(
        np.array([[0.2, 0.8]])
    )
    three = Given(margins=np.log([[1.0, 2.0, 5.0]]))
    assert base_scores(three, None, np.arange(3), "probabilities", matrix=True) == pytest.approx(
        np.array([[0.125, 0.25, 0.625]])
    )


def test_only_probabilities_below_the_least_are_moved():
    at_limit = Given(p=[[1e-12, 1 - 1e-12]])
    wanted = [np.log(1 - 1e-12) - np.log(1e-12)]
    assert base_scores(at_limit, None, np.arange(2), "logits", matrix=False) == pytest.approx(wanted)
    with pytest.warns(TruenessWarning, match=r"Probabilities of 0 were moved to 1e-12, because their logit is inf"):
        found = base_scores(Given(p=[[0.0, 1.0]]), None, np.arange(2), "logits", matrix=False)
    assert found == pytest.approx([-np.log(1e-12)])
    assert base_scores(Given(p=np.ones((0, 2))), None, np.arange(2), "logits", matrix=False).size == 0


def test_scores_become_probabilities_of_all_classes():
    assert as_probabilities(np.array([0.25, 1.0]), "probabilities").tolist() == [[0.75, 0.25], [0.0, 1.0]]
    assert as_probabilities(np.array([np.log(3)]), "logits") == pytest.approx(np.array([[0.25, 0.75]]))
    assert as_probabilities(np.log([[1.0, 3.0]]), "logits") == pytest.approx(np.array([[0.25, 0.75]]))


@pytest.mark.parametrize("cv", [2, np.int64(2), None])
def test_two_folds_are_enough_and_none_means_five(cv):
    fitted = CalibratedClassifier(GaussianNB(), Shares(4), cv=cv, ensemble=True).fit(X, Y)
    assert len(fitted.estimators_) == (cv or 5)


def test_a_frozen_classifier_needs_no_weights():
    model = FrozenEstimator(KNeighborsClassifier().fit(X, Y))
    fitted = CalibratedClassifier(model, Shares(4)).fit(X, Y, W)  # without a warning
    p = model.predict_proba(X)[:, 1]
    assert fitted.calibrators_[0].shares_.tolist() == Shares(4).fit(p, Y, W).shares_.tolist()


def test_words_and_tables_of_options_are_not_cut():
    passed = {"bytes": b"abc", "dict": {1: 1, 2: 2, 3: 3}, "matrix": np.ones((3, 2)), "wide": np.ones((2, 3))}
    found = of_rows(passed, np.array([0, 2]), 3)
    assert found["matrix"].shape == (2, 2)
    assert all(found[name] is passed[name] for name in ("bytes", "dict", "wide"))
