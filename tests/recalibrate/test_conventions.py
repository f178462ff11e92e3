"""What every calibrator must do, asked of each that there is, made without arguments."""

import ast
import json
import pickle
import re

import numpy as np
import pytest
import sklearn
from grids import fast
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
# Where rows are dealt out by lot, which comes first matters, and a row of weight 2 stays in one part: laws of order and
# weight are asked of the same method without lots.
WITHOUT_LOTS = {"ScalingBinning": {"split": "none"}}
LEAST_ROWS = {"ScalingBinning": 3}


def cases():
    for cls in CLASSES:
        for shape in ("vector", "matrix") if cls._shape == "any" else (cls._shape,):
            # The automatic map of a matrix takes as long to learn as all others together.
            costly = cls.__name__ == "AutoCalibration" and shape == "matrix"
            yield pytest.param(
                cls, shape, id=f"{cls.__name__}-{shape}", marks=pytest.mark.slow if costly else ()
            )


CASES = list(cases())
every = pytest.mark.parametrize(("cls", "shape"), CASES)
BY_NAME = {case.id: case.values for case in CASES}
every_class = pytest.mark.parametrize("cls", [pytest.param(c.values[0], id=c.id) for c in CASES])

_VECTOR = simulate.binary(
    600, scores=simulate.Beta(2, 3), distortion=simulate.Logit(slope=0.6, shift=0.4), seed=1
)
_MATRIX = simulate.multiclass(
    600, alpha=[2.0, 1.0, 1.5], distortion=simulate.Temperature(2.0), seed=2
)
EDGE = {
    "vector": np.array([0.0, 1.0, 0.5, 5e-324, 1 - 2**-53, 0.3]),
    "matrix": np.array(
        [[0, 0, 1.0], [0, 1, 0], [0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3], [0.2, 0.3, 0.5]]
    ),
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
    assert made.predict(new(shape)[:0]).shape == new(shape)[:0].shape
    assert all(len(entry["about"]) > 5 for entry in made.to_dict()["learnt"].values())
    assert cls.__name__ in cls()._repr_html_()
    with pytest.raises(NotFittedError):
        clone(made).predict(new(shape))


@every
def test_scores_of_zero_and_one_are_accepted_in_fit_and_predict(cls, shape):
    p, y = data(shape, 100)
    p = np.concatenate([p, EDGE[shape], EDGE[shape]])
    y = np.concatenate([y, np.arange(2 * len(EDGE[shape])) % 2])
    assert_probabilities(cls().fit(p, y).predict(new(shape)), shape)


@every
def test_one_class_and_equal_scores_are_accepted(cls, shape):
    p, y = data(shape, 60)
    labels = range(p.shape[1]) if p.ndim == 2 else None
    for label in (0, 1):
        fitted = cls().fit(p, np.full(60, label), labels=labels)
        assert_probabilities(fitted.predict(new(shape)), shape)
    p[:] = p[0]
    assert_probabilities(cls().fit(p, y).predict(new(shape)), shape)


@every
@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_rows_are_enough_or_refused_with_the_number_needed(cls, shape, n):
    p, _ = data(shape)
    if n < LEAST_ROWS.get(cls.__name__, 1):
        with pytest.raises(
            InputError, match=f"needs at least {LEAST_ROWS[cls.__name__]} rows; got {n}"
        ):
            cls().fit(p[:n], [0, 1][:n])
    else:
        assert_probabilities(cls().fit(p[:n], [0, 1][:n]).predict(new(shape)), shape)


@every
def test_the_order_of_rows_does_not_matter(cls, shape):
    p, y = data(shape)
    order = np.random.default_rng(0).permutation(y.size)
    made = without_lots(cls)
    close(
        made.fit(p[order], y[order]).predict(new(shape)), clone(made).fit(p, y).predict(new(shape))
    )


@every
def test_weight_is_repetition(cls, shape):
    p, y = data(shape, 200)
    w = np.random.default_rng(0).integers(0, 4, y.size)
    made = without_lots(cls)
    weighted = made.fit(p, y, w).predict(new(shape))
    close(weighted, clone(made).fit(p.repeat(w, axis=0), y.repeat(w)).predict(new(shape)))


@every
def test_a_second_fit_forgets_the_first(cls, shape):
    p, y = data(shape)
    made = seeded(cls)
    made.fit(p[:50], y[:50])
    assert (
        made.fit(p, y).predict(new(shape)).tolist()
        == clone(made).fit(p, y).predict(new(shape)).tolist()
    )


@every
def test_a_row_is_predicted_alike_alone_and_in_company(cls, shape):
    fitted = seeded(cls).fit(*data(shape))
    together = fitted.predict(new(shape))
    alone = np.concatenate([fitted.predict(new(shape)[i : i + 1]) for i in range(len(together))])
    assert alone == pytest.approx(together, abs=1e-14)


@pytest.mark.parametrize(
    ("cls", "shape"), fast(BY_NAME, "PlattScaling-vector", "VectorScaling-matrix", several=True)
)
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


@every
def test_json_and_pickle_predict_the_same_bits(cls, shape):
    fitted = seeded(cls).fit(*data(shape))
    wanted = fitted.predict(new(shape)).tolist()
    text = json.dumps(fitted.to_dict(), allow_nan=False)
    for again in (calibrator_from_dict(json.loads(text)), cls.from_dict(json.loads(text))):
        assert again.predict(new(shape)).tolist() == wanted
        assert again.to_dict() == fitted.to_dict()
    assert pickle.loads(pickle.dumps(fitted)).predict(new(shape)).tolist() == wanted


@every_class
def test_parameters_are_stored_unchanged(cls):
    made = cls()
    assert vars(made) == made.get_params(deep=False)
    copy = clone(made).set_params(**made.get_params())
    assert repr(copy.get_params()) == repr(made.get_params())


@every_class
def test_weights_and_nothing_else_are_routed(cls):
    assert set(cls().get_metadata_routing().fit.requests) == {"sample_weight"}
    assert not cls().get_metadata_routing().predict.requests
    with config_context(enable_metadata_routing=True):
        assert cls().set_fit_request(sample_weight=True).get_metadata_routing().fit.requests == {
            "sample_weight": True
        }


SPOILT = [
    (lambda p, y: (p * 2, y), r"`y_prob` must lie in \[0, 1\]"),
    (lambda p, y: (p * np.nan, y), "`y_prob` must not have missing values"),
    (lambda p, y: (p[:5], y), r"one entry per row; got 400 labels and 5 (rows of )?scores"),
    (lambda p, y: (p, y + 5), "`y_true` must"),
    (lambda p, y: (p[:0], y[:0]), "must have at least one row"),
    (lambda p, y: (p[None], y), "`y_prob` must have one or two dimensions|one entry per row"),
]


@every
def test_bad_rows_are_refused(cls, shape):
    for spoil, message in SPOILT:
        with pytest.raises(InputError, match=message):
            cls().fit(*spoil(*data(shape)))


@every
def test_scores_of_another_shape_than_in_fit_are_refused(cls, shape):
    fitted = cls().fit(*data(shape))
    other = EDGE["matrix" if shape == "vector" else "vector"]
    demand = (
        "must be a vector, as in `fit`"
        if shape == "vector"
        else "must be a matrix of 3 columns, as in `fit`"
    )
    with pytest.raises(InputError, match=demand):
        fitted.predict(other)
    if shape == "matrix":
        with pytest.raises(InputError, match=demand):
            fitted.predict([[0.5, 0.5]])


@every_class
def test_a_shape_that_it_does_not_take_is_refused_with_a_way_out(cls):
    if cls._shape == "any":
        pytest.skip("it takes both")
    other, way_out = (
        ("matrix", "OneVsRest") if cls._shape == "vector" else ("vector", "np.column_stack")
    )
    with pytest.raises(InputError, match=way_out):
        cls().fit(*data(other))


ASKED = re.findall(
    r"\w+",
    """
    do_not_raise_errors_in_init_or_set_params estimator_cloneable estimator_repr estimator_tags_renamed
    estimators_unfitted get_params_invariance mixin_order no_attributes_set_in_init
    parameters_default_constructible set_params transformers_unfitted valid_tag_types
    """,
)
# These fit matrices of features, real numbers of any size, where a score is a probability (the tests above ask the same
# of scores), or sparse matrices, or call the second argument y.
NOT_ASKED = re.findall(
    r"\w+",
    """
    all_zero_sample_weights_error array_api_input complex_data dict_unchanged dont_overwrite_parameters
    dtype_object estimator_sparse_array estimator_sparse_matrix estimator_sparse_tag estimators_dtypes
    estimators_empty_data_messages estimators_fit_returns_self estimators_nan_inf estimators_overwrite_params
    estimators_pickle f_contiguous_array_estimator fit1d fit2d_1feature fit2d_1sample fit2d_predict1d
    fit_check_is_fitted fit_idempotent fit_score_takes_y methods_sample_order_invariance
    methods_subset_invariance n_features_in n_features_in_after_fitting pipeline_consistency
    positive_only_tag_during_fit readonly_memmap_input sample_weight_equivalence_on_dense_data
    sample_weights_list sample_weights_not_an_array sample_weights_not_overwritten
    sample_weights_pandas_series sample_weights_shape transformer_data_not_an_array transformer_general
    transformer_n_iter transformer_preserve_dtypes
    """,
)


@every_class
@pytest.mark.parametrize("name", ASKED)
def test_checks_of_scikit_learn_pass(cls, name):
    check = getattr(estimator_checks, f"check_{name}", None)
    if check is None:
        pytest.skip(f"scikit-learn {sklearn.__version__} has no {name}")
    check(cls.__name__, cls())


@pytest.mark.skipif(
    not sklearn.__version__.startswith("1.9."), reason="the lists are those of scikit-learn 1.9"
)
@every_class
def test_every_check_of_scikit_learn_is_run_or_has_a_reason_not_to(cls):
    asked = {
        c.func.__name__.removeprefix("check_")
        for _, c in estimator_checks.estimator_checks_generator(cls())
    }
    assert asked <= {*ASKED, *NOT_ASKED}


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


@pytest.mark.parametrize(
    "calibrator",
    [
        recalibrate.VectorScaling(limits=True),
        recalibrate.VectorScaling(limits=True, l2=0.1),
        recalibrate.MatrixScaling(eps=1e-3),
        recalibrate.DirichletCalibration(eps=1e-3),
        recalibrate.TemperatureScaling(limits=True),
    ],
    ids=str,
)
def test_rows_with_scores_of_zero_are_mapped_as_each_row_alone(calibrator):
    p = np.array(
        [
            [0, 0.4, 0.6],
            [0, 0.7, 0.3],
            [0.2, 0.5, 0.3],
            [0.3, 0, 0.7],
            [0.5, 0.5, 0],
            [0.1, 0.6, 0.3],
        ]
    )
    fitted = calibrator.fit(p, [2, 1, 0, 2, 0, 1])
    together = fitted.predict(p)
    alone = np.concatenate([fitted.predict(row[np.newaxis]) for row in p])
    np.testing.assert_allclose(together, alone, rtol=1e-12)
    np.testing.assert_allclose(together.sum(axis=1), 1)
