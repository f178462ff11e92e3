"""What every calibrator must do, asked of each that there is, made without arguments."""

import ast
import json
import pickle
import re

import numpy as np
import pytest
import sklearn
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_checks

from trueness import InputError, recalibrate, simulate
from trueness.recalibrate import Calibrator, calibrator_from_dict

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")

CLASSES = [
    found
    for found in (getattr(recalibrate, name) for name in recalibrate.__all__)
    if isinstance(found, type) and issubclass(found, Calibrator) and found is not Calibrator
]
# What the ones that hold others hold when not told.
HOLDS = {"OneVsRest": "PlattScaling", "TopLabel": "HistogramBinning"}


# Where rows are dealt out by lot, which comes first matters, and a row of weight 2 stays in one part: laws of order and
# weight are asked of the same method without lots.
WITHOUT_LOTS = {"ScalingBinning": {"split": "none"}}
LEAST_ROWS = {"ScalingBinning": 3}


def cases():
    for cls in CLASSES:
        for shape in ("vector", "matrix") if cls._shape == "any" else (cls._shape,):
            yield pytest.param(cls, shape, id=f"{cls.__name__}-{shape}")


CASES = list(cases())
every = pytest.mark.parametrize(("cls", "shape"), CASES)
every_class = pytest.mark.parametrize("cls", [pytest.param(c.values[0], id=c.id) for c in CASES])

_VECTOR = simulate.binary(600, scores=simulate.Beta(2, 3), distortion=simulate.Logit(slope=0.6, shift=0.4), seed=1)
_MATRIX = simulate.multiclass(600, alpha=[2.0, 1.0, 1.5], distortion=simulate.Temperature(2.0), seed=2)
EDGE = {
    "vector": np.array([0.0, 1.0, 0.5, 5e-324, 1 - 2**-53, 0.3]),
    "matrix": np.array([[0, 0, 1.0], [0, 1, 0], [0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3], [0.2, 0.3, 0.5]]),
}


def data(shape, n=400):
    """Scores and labels of the first rows."""
    made = _VECTOR if shape == "vector" else _MATRIX
    return np.array(made.y_prob[:n]), np.array(made.y_true[:n])


def new(shape):
    """Scores that no calibrator was fitted on, with both ends."""
    made = _VECTOR if shape == "vector" else _MATRIX
    return np.concatenate([made.y_prob[400:], EDGE[shape]])


def seeded(cls, **parameters):
    made = cls(**parameters)
    return made.set_params(seed=0) if "seed" in made.get_params() else made


def without_lots(cls):
    return seeded(cls, **WITHOUT_LOTS.get(cls.__name__, {}))


def assert_probabilities(found, shape):
    assert found.dtype == np.float64
    assert np.isfinite(found).all()
    assert ((found >= 0) & (found <= 1)).all()
    if shape == "matrix":
        assert found.sum(axis=1) == pytest.approx(1, abs=1e-9)


def close(found, wanted):
    # Sums in another order differ in the last bits, and what is fitted by iteration in some more.
    assert found == pytest.approx(wanted, abs=1e-6)


@every
def test_it_works_without_arguments(cls, shape):
    p, y = data(shape)
    made = cls()
    assert made.fit(p, y) is made
    found = made.predict(new(shape))
    assert found.shape == new(shape).shape
    assert_probabilities(found, shape)


@every
def test_scores_of_zero_and_one_are_accepted_in_fit_and_predict(cls, shape):
    p, y = data(shape, 100)
    p = np.concatenate([p, EDGE[shape], EDGE[shape]])
    y = np.concatenate([y, np.arange(2 * len(EDGE[shape])) % 2])
    assert_probabilities(cls().fit(p, y).predict(new(shape)), shape)


@every
def test_equal_scores_are_accepted(cls, shape):
    p, y = data(shape, 60)
    p[:] = p[0]
    assert_probabilities(cls().fit(p, y).predict(new(shape)), shape)


@every
def test_one_class_is_accepted(cls, shape):
    p, _ = data(shape, 60)
    for label in (0, 1):
        assert_probabilities(cls().fit(p, np.full(60, label)).predict(new(shape)), shape)


@pytest.mark.all_cases
@every
@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_rows_are_enough_or_refused_with_the_number_needed(cls, shape, n):
    p, _ = data(shape)
    if n < LEAST_ROWS.get(cls.__name__, 1):
        with pytest.raises(InputError, match=f"needs at least {LEAST_ROWS[cls.__name__]} rows; got {n}"):
            cls().fit(p[:n], [0, 1][:n])
    else:
        assert_probabilities(cls().fit(p[:n], [0, 1][:n]).predict(new(shape)), shape)


@every
def test_scores_without_rows_have_predictions_without_rows(cls, shape):
    found = cls().fit(*data(shape)).predict(new(shape)[:0])
    assert found.shape == new(shape)[:0].shape


@every
def test_the_order_of_rows_does_not_matter(cls, shape):
    p, y = data(shape)
    order = np.random.default_rng(0).permutation(y.size)
    made = without_lots(cls)
    close(made.fit(p[order], y[order]).predict(new(shape)), clone(made).fit(p, y).predict(new(shape)))


@every
def test_weight_is_repetition(cls, shape):
    p, y = data(shape, 200)
    w = np.random.default_rng(0).integers(0, 4, y.size)
    made = without_lots(cls)
    weighted = made.fit(p, y, w).predict(new(shape))
    close(weighted, clone(made).fit(p.repeat(w, axis=0), y.repeat(w)).predict(new(shape)))


@every
def test_weights_of_one_change_nothing(cls, shape):
    p, y = data(shape)
    made = seeded(cls)
    close(made.fit(p, y, np.ones(y.size)).predict(new(shape)), clone(made).fit(p, y).predict(new(shape)))


@every
def test_a_second_fit_forgets_the_first(cls, shape):
    p, y = data(shape)
    made = seeded(cls)
    made.fit(p[:50], y[:50])
    assert made.fit(p, y).predict(new(shape)).tolist() == clone(made).fit(p, y).predict(new(shape)).tolist()


@every
def test_a_row_is_predicted_alike_alone_and_in_company(cls, shape):
    fitted = seeded(cls).fit(*data(shape))
    together = fitted.predict(new(shape))
    alone = np.concatenate([fitted.predict(new(shape)[i : i + 1]) for i in range(len(together))])
    assert alone == pytest.approx(together, abs=1e-14)


@every
def test_containers_of_all_kinds_are_the_same_numbers(cls, shape):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    p, y = data(shape, 80)
    p = p.astype(np.float32)
    w = np.arange(80) % 3 + 1.0
    made = seeded(cls)
    wanted = made.fit(p, y, w).predict(new(shape))
    names = [f"c{i}" for i in range(3)]
    frames = {
        "vector": [(pandas.Series, pandas.Series), (polars.Series, polars.Series)],
        "matrix": [(lambda a: pandas.DataFrame(a, columns=names), pandas.Series),
                   (lambda a: polars.DataFrame(a, schema=names), polars.Series)],
    }[shape]  # fmt: skip
    for scores, column in [(np.asarray, np.asarray), (np.asfortranarray, np.asarray), *frames]:
        found = clone(made).fit(scores(p), column(y), column(w)).predict(scores(new(shape)))
        # Columns that lie apart in memory are added up in another order.
        assert found == pytest.approx(wanted, abs=1e-9)
    listed = clone(made).fit(p.tolist(), y.tolist(), w.tolist()).predict(new(shape).tolist())
    # Row sums of float32 probabilities are one within 1e-6, as those of their float64 values are.
    close(listed, wanted)


@every
def test_arguments_are_not_modified(cls, shape):
    p, y = data(shape)
    w, scores = np.ones(y.size), new(shape)
    kept = [a.copy() for a in (p, y, w, scores)]
    for array in (p, y, w, scores):
        array.flags.writeable = False
    made = cls()
    before = repr(made.get_params())
    made.fit(p, y, w).predict(scores)
    assert repr(made.get_params()) == before
    assert all(np.array_equal(a, b) for a, b in zip((p, y, w, scores), kept, strict=True))


@pytest.mark.all_cases
@every
def test_json_and_pickle_predict_the_same_bits(cls, shape):
    fitted = seeded(cls).fit(*data(shape))
    wanted = fitted.predict(new(shape)).tolist()
    text = json.dumps(fitted.to_dict(), allow_nan=False)
    for again in (calibrator_from_dict(json.loads(text)), cls.from_dict(json.loads(text))):
        assert again.predict(new(shape)).tolist() == wanted
        assert again.to_dict() == fitted.to_dict()
    assert pickle.loads(pickle.dumps(fitted)).predict(new(shape)).tolist() == wanted


@every
def test_every_stored_number_is_explained(cls, shape):
    learnt = cls().fit(*data(shape)).to_dict()["learnt"]
    assert all(len(entry["about"]) > 5 for entry in learnt.values())


@every_class
def test_parameters_are_stored_unchanged(cls):
    made = cls()
    assert vars(made) == made.get_params(deep=False)
    copy = clone(made).set_params(**made.get_params())
    assert repr(copy.get_params()) == repr(made.get_params())


@every
def test_a_clone_is_unfitted_and_refuses_to_predict(cls, shape):
    made = clone(cls().fit(*data(shape)))
    for method in (lambda: made.predict(new(shape)), made.to_dict):
        with pytest.raises(NotFittedError):
            method()


@every_class
def test_weights_and_nothing_else_are_routed(cls):
    assert set(cls().get_metadata_routing().fit.requests) == {"sample_weight"}
    assert not cls().get_metadata_routing().predict.requests
    with config_context(enable_metadata_routing=True):
        assert cls().set_fit_request(sample_weight=True).get_metadata_routing().fit.requests == {"sample_weight": True}


@every_class
def test_a_notebook_shows_the_estimator(cls):
    assert cls.__name__ in cls()._repr_html_()


@pytest.mark.all_cases
@every
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda p, y: (p * 2, y), r"`y_prob` must lie in \[0, 1\]"),
        (lambda p, y: (p * np.nan, y), "`y_prob` must not have missing values"),
        (lambda p, y: (p[:5], y), r"one entry per row; got 400 labels and 5 (rows of )?scores"),
        (lambda p, y: (p, y + 5), "`y_true` must"),
        (lambda p, y: (p[:0], y[:0]), "must have at least one row"),
        (lambda p, y: (p[None], y), "`y_prob` must have one or two dimensions|one entry per row"),
    ],
)
def test_bad_rows_are_refused(cls, shape, spoil, message):
    with pytest.raises(InputError, match=message):
        cls().fit(*spoil(*data(shape)))


@pytest.mark.all_cases
@every
def test_bad_weights_are_refused(cls, shape):
    with pytest.raises(InputError, match="`sample_weight` must be finite and at least 0"):
        cls().fit(*data(shape), -np.ones(400))


@every
def test_scores_of_another_shape_than_in_fit_are_refused(cls, shape):
    fitted = cls().fit(*data(shape))
    other = EDGE["matrix" if shape == "vector" else "vector"]
    demand = "must be a vector, as in `fit`" if shape == "vector" else "must be a matrix of 3 columns, as in `fit`"
    with pytest.raises(InputError, match=demand):
        fitted.predict(other)
    if shape == "matrix":
        with pytest.raises(InputError, match=demand):
            fitted.predict([[0.5, 0.5]])


@pytest.mark.all_cases
@every_class
def test_a_shape_that_it_does_not_take_is_refused_with_a_way_out(cls):
    if cls._shape == "any":
        pytest.skip("it takes both")
    other, way_out = ("matrix", "OneVsRest") if cls._shape == "vector" else ("vector", "np.column_stack")
    with pytest.raises(InputError, match=way_out):
        cls().fit(*data(other))


ASKED = [
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_estimators_unfitted",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_transformers_unfitted",
    "check_valid_tag_types",
]
_FEATURES = "fits a matrix of features, real numbers of any size; a score is a probability. Here: "
NOT_ASKED = {
    "check_all_zero_sample_weights_error": _FEATURES + "the message is tested with `accept`",
    "check_array_api_input": _FEATURES + "arrays are converted to NumPy",
    "check_complex_data": _FEATURES + "`y_prob` must hold numbers, tested with the containers",
    "check_dict_unchanged": _FEATURES + "test_a_row_is_predicted_alike_alone_and_in_company",
    "check_dont_overwrite_parameters": _FEATURES + "test_arguments_are_not_modified",
    "check_dtype_object": _FEATURES + "test_containers_of_all_kinds_are_the_same_numbers",
    "check_estimator_sparse_array": "a sparse matrix of probabilities has no use",
    "check_estimator_sparse_matrix": "a sparse matrix of probabilities has no use",
    "check_estimator_sparse_tag": "a sparse matrix of probabilities has no use",
    "check_estimators_dtypes": _FEATURES + "test_containers_of_all_kinds_are_the_same_numbers",
    "check_estimators_empty_data_messages": _FEATURES + "test_bad_rows_are_refused",
    "check_estimators_fit_returns_self": _FEATURES + "test_it_works_without_arguments",
    "check_estimators_nan_inf": _FEATURES + "test_bad_rows_are_refused",
    "check_estimators_overwrite_params": _FEATURES + "test_arguments_are_not_modified",
    "check_estimators_pickle": _FEATURES + "test_json_and_pickle_predict_the_same_bits",
    "check_f_contiguous_array_estimator": _FEATURES + "test_containers_of_all_kinds_are_the_same_numbers",
    "check_fit1d": "one dimension is what most calibrators take",
    "check_fit2d_1feature": _FEATURES + "test_a_single_column_is_a_vector",
    "check_fit2d_1sample": _FEATURES + "test_one_or_two_rows_are_enough_or_refused_with_the_number_needed",
    "check_fit2d_predict1d": _FEATURES + "test_scores_of_another_shape_than_in_fit_are_refused",
    "check_fit_check_is_fitted": _FEATURES + "test_a_clone_is_unfitted_and_refuses_to_predict",
    "check_fit_idempotent": _FEATURES + "test_a_second_fit_forgets_the_first",
    "check_fit_score_takes_y": "the second argument is called y_true, as in scikit-learn's metrics",
    "check_methods_sample_order_invariance": _FEATURES + "test_a_row_is_predicted_alike_alone_and_in_company",
    "check_methods_subset_invariance": _FEATURES + "test_a_row_is_predicted_alike_alone_and_in_company",
    "check_n_features_in": _FEATURES + "test_a_map_remembers_where_and_when_it_was_fitted",
    "check_n_features_in_after_fitting": _FEATURES + "test_a_map_remembers_where_and_when_it_was_fitted",
    "check_pipeline_consistency": _FEATURES + "test_a_map_in_a_pipeline_returns_the_frame_that_was_chosen",
    "check_positive_only_tag_during_fit": _FEATURES + "test_bad_rows_are_refused",
    "check_readonly_memmap_input": _FEATURES + "test_arguments_are_not_modified",
    "check_sample_weight_equivalence_on_dense_data": _FEATURES + "test_weight_is_repetition",
    "check_sample_weights_list": _FEATURES + "test_containers_of_all_kinds_are_the_same_numbers",
    "check_sample_weights_not_an_array": _FEATURES + "test_containers_of_all_kinds_are_the_same_numbers",
    "check_sample_weights_not_overwritten": _FEATURES + "test_arguments_are_not_modified",
    "check_sample_weights_pandas_series": _FEATURES + "test_containers_of_all_kinds_are_the_same_numbers",
    "check_sample_weights_shape": _FEATURES + "test_bad_weights_are_refused",
    "check_transformer_data_not_an_array": _FEATURES + "test_containers_of_all_kinds_are_the_same_numbers",
    "check_transformer_general": _FEATURES + "test_a_map_is_a_transformer_and_a_classifier_of_scores",
    "check_transformer_n_iter": _FEATURES + "steps of Newton's method are in `n_iter_`",
    "check_transformer_preserve_dtypes": "predictions have double precision",
}


@every_class
@pytest.mark.parametrize("name", ASKED)
def test_checks_of_scikit_learn_pass(cls, name):
    check = getattr(estimator_checks, name, None)
    if check is None:
        pytest.skip(f"scikit-learn {sklearn.__version__} has no {name}")
    check(cls.__name__, cls())


@pytest.mark.skipif(not sklearn.__version__.startswith("1.9."), reason="the lists are those of scikit-learn 1.9")
@every_class
def test_every_check_of_scikit_learn_is_run_or_has_a_reason_not_to(cls):
    asked = {c.func.__name__ for _, c in estimator_checks.estimator_checks_generator(cls())}
    assert asked <= {*ASKED, *NOT_ASKED}


@pytest.mark.all_cases
@pytest.mark.parametrize("cls", CLASSES)
def test_defaults_are_the_documented_ones(cls):
    made = cls().get_params(deep=False)
    for name, default in made.items():
        line = re.search(rf"^ *(?:\w+, )*{name}(?:, \w+)* : (.+)$", cls.__doc__, re.MULTILINE)
        assert line, name
        told = re.search(r"default (.+)$", line.group(1))
        if default is None:
            assert "optional" in line.group(1) or "None" in line.group(1), name
        elif name in ("y_min", "y_max"):
            assert told.group(1) == "0 and 1"
            assert (made["y_min"], made["y_max"]) == (0, 1)
        else:
            value = ast.literal_eval(told.group(1))
            assert default == value, name
            assert isinstance(default, bool) == isinstance(value, bool)
