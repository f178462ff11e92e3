"""Demands on every record."""

import json
from dataclasses import is_dataclass

import pytest

import trueness as tn
from trueness import results
from trueness.infer import cumulative_walk, reliability_bands

Y, P = [0, 0, 1, 1, 1], [0.1, 0.2, 0.8, 0.9, 0.9]


@pytest.mark.parametrize("name", results.__all__)
def test_every_record_is_a_frozen_dataclass_with_a_text_of_its_own(name):
    record = getattr(results, name)
    assert is_dataclass(record)
    assert record.__dataclass_params__.frozen
    assert record.__str__ is not object.__str__


@pytest.mark.parametrize(
    "ask",
    [
        tn.bin_table,
        reliability_bands,
        tn.estimation_error,
        tn.corp,
        tn.reliability_curve,
        cumulative_walk,
        tn.validity_curve,
        lambda y, p: tn.noise_floor(tn.ece, p, y_true=y, resamples=19, seed=1),
        lambda y, p: tn.calibration_test(y, p, seed=1),
        lambda y, p: tn.compare(y, {"a": p, "b": [0.5] * len(p)}, measure="brier"),
    ],
)
@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_records_print_a_text_and_become_json(ask):
    record = ask(Y, P)
    assert f"{type(record).__name__}(" not in str(record)
    assert json.dumps(record.to_dict())


def test_a_record_within_a_record_becomes_a_dict():
    walk = cumulative_walk(Y, P)
    assert walk.to_dict()["ks"] == walk.ks.to_dict()


def test_small_records_print_a_sentence():
    assert str(tn.corp(Y, P)).startswith("brier score 0.0220 = miscalibration")
    assert str(tn.estimation_error(Y, P, bins=2)) == ("within-bin error 0.0000 in total, 0.0000 on average over 2 bins")
    assert tn.corp(Y, P).to_dict()["n"] == 5


def test_records_cannot_be_changed():
    with pytest.raises(AttributeError):
        tn.corp(Y, P).score = 0
