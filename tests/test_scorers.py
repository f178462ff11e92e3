"""Measures as scikit-learn scorers."""

import numpy as np
import pytest
import sklearn
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.svm import LinearSVC

import trueness as tn
from trueness.infer._catalogue import MEASURES

RNG = np.random.default_rng(19)
X = RNG.normal(size=(300, 2))
Y = (X[:, 0] + RNG.logistic(size=300) > 0).astype(int)
WORDS = np.array(["no", "yes"])[Y]
THREE = np.array(["b", "c", "a"])[np.digitize(X[:, 1] + RNG.normal(size=300), [-0.5, 0.5])]


@pytest.mark.parametrize(
    "name", [name for name in tn.scorers.__all__ if name not in ("Scorer", "scorer")]
)
@pytest.mark.parametrize("y", [Y, WORDS], ids=["0 and 1", "words"])
def test_a_scorer_is_the_measure_with_its_sign(name, y):
    model = LogisticRegression().fit(X, y)
    sign = 1 if name in ("scaled_brier", "auc") else -1
    expected = sign * getattr(tn.measure, name)(Y, model.predict_proba(X)[:, 1])
    assert getattr(tn.scorers, name)(model, X, y) == expected


def test_each_measure_of_which_a_value_is_better_is_a_scorer():
    public = {key for key, one in MEASURES.items() if one.better and key in tn.measure.__all__}
    assert public == set(tn.scorers.__all__) - {"Scorer", "scorer"}


def test_several_classes_are_scored_by_the_matrix():
    model = LogisticRegression().fit(X, THREE)
    score = tn.scorers.scorer(tn.ece, kind="confidence", bins=5)(model, X, THREE)
    assert score == -tn.ece(
        THREE, model.predict_proba(X), labels=["a", "b", "c"], kind="confidence", bins=5
    )


def test_scorers_work_in_cross_validation_and_search():
    both = {"brier": tn.scorers.brier, "ece": tn.scorers.ece}
    found = cross_validate(LogisticRegression(), X, WORDS, cv=3, scoring=both)
    assert (found["test_brier"] < 0).all()
    assert (found["test_ece"] < 0).all()
    search = GridSearchCV(
        LogisticRegression(), {"C": [1e-6, 1.0]}, scoring=tn.scorers.brier, cv=3
    ).fit(X, Y)
    assert search.best_params_ == {"C": 1.0}


def test_the_ece_alone_rewards_a_constant_and_the_brier_score_does_not():
    constant, model = DummyClassifier(strategy="prior").fit(X, Y), LogisticRegression().fit(X, Y)
    assert tn.scorers.ece(constant, X, Y) > tn.scorers.ece(model, X, Y)
    assert tn.scorers.brier(constant, X, Y) < tn.scorers.brier(model, X, Y)


def test_weights_are_routed_when_requested():
    w = RNG.integers(1, 4, size=300)
    model = LogisticRegression().fit(X, Y)
    assert tn.scorers.brier(model, X, Y, w) == -tn.brier(
        Y, model.predict_proba(X)[:, 1], sample_weight=w
    )
    with sklearn.config_context(enable_metadata_routing=True):
        weighted = tn.scorers.scorer(tn.brier).set_score_request(sample_weight=True)
        estimator = LogisticRegression().set_fit_request(sample_weight=False)
        found = cross_validate(estimator, X, Y, cv=2, scoring=weighted, params={"sample_weight": w})
        plain = cross_validate(estimator, X, Y, cv=2, scoring=tn.scorers.brier)
    assert (found["test_score"] != plain["test_score"]).all()


def test_an_estimator_without_probabilities_is_refused():
    with pytest.raises(
        tn.InputError, match="`estimator` must have the method `predict_proba`; LinearSVC has none"
    ):
        tn.scorers.ece(LinearSVC().fit(X, Y), X, Y)


@pytest.mark.parametrize(
    "bad", [[0, 1], [0, 2], [0.0, float("nan")], ["no", None], ["No", "Yes"], [True, False]]
)
def test_labels_that_the_estimator_does_not_know_are_refused(bad):
    model = LogisticRegression().fit(X, WORDS)
    with pytest.raises(tn.InputError, match="`y_true` must"):
        tn.scorers.brier(model, X, np.array(bad, dtype=object)[Y])
    coded = LogisticRegression().fit(X, Y)
    assert tn.scorers.brier(coded, X, Y == 1) == tn.scorers.brier(coded, X, Y.astype(float)) < 0
