"""Every option of every public function: a value of another kind is refused by the name of the option."""

import inspect
import warnings

import inputs
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from time_limit import time_limit

import trueness as tn

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")

P, Y, GROUP = inputs.P, inputs.Y, inputs.CLASS
FRAME = pd.DataFrame({"y": Y, "p": P, "g": GROUP})
READ = {"source": FRAME, "label": "y", "prob": "p"}
FEATURES = np.column_stack([P, GROUP]).astype(float)
ODD = {
    "an array": np.array([1, 2]),
    "text": "nonsense",
    "None": None,
    "nan": float("nan"),
    "pd.NA": pd.NA,
    "a huge number": 10**400,
    "a dict": {"a": 1},
}
# Valid calls of functions that fuzz/inputs.py leaves to fuzz/files.py.
FILES = {
    "apply_calibrator": {
        "frame": FRAME,
        "calibrator": tn.PlattScaling().fit(0.01 + 0.98 * P, Y),
        "prob": "p",
    },
    "scan": READ,
    "scan_groups": {**READ, "by": "g"},
    "validate": {
        "estimator": LogisticRegression(),
        "X": FEATURES,
        "y": Y,
        "cv": 2,
        "floor": False,
        "progress": False,
    },
}
DATA = {"y_true", "y_prob", "models", "sums", "sketch", "curves", "source", "frame", "by", "grades"}
# Rules of bins speak of the argument that they are usually passed as, and a label of the column that holds it. The first
# column of events says how many rows there are, so that the second is refused if it has more.
ELSEWHERE = {
    "edges": ("bins",),
    "n": ("bins",),
    "bins": ("n",),
    "pos_label": ("label",),
    "horizons": ("horizon",),
    "y": ("lower", "q"),
    "followup": ("event",),
    "successes": ("trials",),
}
FUNCTIONS = [
    one for one in (*inputs.FUNCTIONS, *inputs.CALIBRATORS, *FILES) if one != "load_calibrator"
]


def odd_options(name):
    """The options of a function that do not hold its data, each with every value but its default."""
    parameters = inspect.signature(inputs.public(name)).parameters.values()
    named = [one for one in parameters if one.kind is not one.VAR_KEYWORD and one.name not in DATA]
    return [
        (one.name, kind) for one in named for kind, value in ODD.items() if value is not one.default
    ]


def fault_of(name, option, value):
    """What is wrong with the answer; empty for a result, or an error of ours that names the option."""
    arguments = FILES[name] if name in FILES else inputs.valid_arguments(name)
    try:
        with warnings.catch_warnings(), time_limit(20):
            warnings.simplefilter("ignore")
            str(inputs.Call(name, arguments | {option: value}, (option,)).run())
    except tn.TruenessError as error:
        names = (f"`{option}", *(f"`{other}`" for other in ELSEWHERE.get(option, ())))
        named = any(one in str(error) for one in names)
        return "" if named else f"it is not named: {error}"
    except Exception as error:  # anything but a refusal is the fault looked for
        return f"{type(error).__name__}: {error}"
    return ""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_option_of_another_kind_is_refused_by_its_name(name):
    faults = {
        f"{option}, {kind}": fault_of(name, option, ODD[kind]) for option, kind in odd_options(name)
    }
    assert not {one: fault for one, fault in faults.items() if fault}
