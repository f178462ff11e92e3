"""Two models on one stream: a slow reference, laws, messages, and false alarms over all looks."""

import json
import math
import pickle

import numpy as np
import pytest

import trueness as tn
from trueness.infer import ModelWatch


def looks(seed=0, days=6, n=50, noise=0.3):
    rng = np.random.default_rng(seed)
    for _ in range(days):
        p = rng.uniform(0.1, 0.9, n)
        worse = np.clip(p + rng.normal(0, noise, n), 0, 1)
        yield (rng.random(n) < p).astype(int), {"good": p, "poor": worse}


def slow_evidence(days, eps=1e-4):
    """E that the first model is better, by the formula, row by row."""
    total = 0.0
    for stake in (0.02, 0.05, 0.1, 0.2, 0.4, 0.8):
        wealth = 1.0
        for y, models in days:
            for label, a, b in zip(y, *models.values(), strict=True):
                a, b = (min(max(p, eps), 1 - eps) for p in (a, b))
                loss_a, loss_b = (-math.log(p if label else 1 - p) for p in (a, b))
                worst = max(math.log(b / a), math.log((1 - b) / (1 - a)))
                share = min(stake, 0.9 / worst) if worst > 0 else stake
                wealth *= 1 + share * (loss_b - loss_a)
        total += wealth / 6
    return total


def test_the_evidence_is_that_of_the_formula_in_both_directions():
    days = list(looks())
    watch = tn.Watch(compare=True)
    for y, models in days:
        watch.update(y, models)
    assert isinstance(watch, ModelWatch)
    assert watch.evidence["good"] == pytest.approx(slow_evidence(days), rel=1e-9)
    turned = [(y, {"poor": m["poor"], "good": m["good"]}) for y, m in days]
    assert watch.evidence["poor"] == pytest.approx(slow_evidence(turned), rel=1e-9)
    clipped = [np.clip(m["poor"], 1e-4, 1 - 1e-4) for _, m in days]
    losses = [tn.log_loss(y, p) for (y, _), p in zip(days, clipped, strict=True)]
    own = [tn.log_loss(y, m["good"]) for y, m in days]
    assert watch.difference == pytest.approx(np.mean(losses) - np.mean(own))


def test_looks_and_the_order_of_names_do_not_matter():
    days = list(looks())
    many, one = tn.Watch(compare=True), tn.Watch(compare=True)
    for y, models in days:
        many.update(y, dict(reversed(models.items())))
    together = {name: np.concatenate([m[name] for _, m in days]) for name in ("good", "poor")}
    one.update(np.concatenate([y for y, _ in days]), together)
    for name in together:
        assert many.evidence[name] == pytest.approx(one.evidence[name])
    assert many.n == one.n == 300


def test_a_better_model_is_named_with_the_first_look_that_showed_it():
    watch = tn.Watch(compare=True)
    assert str(watch) == "No look yet."
    for day, (y, models) in enumerate(looks(days=20, n=100, noise=1.0)):
        watch.update(y, models, position=day)
        if not watch.alarm:
            assert "Neither" in str(watch)
    assert (watch.better, watch.alarm) == ("good", True)
    assert 0 <= watch.since < 19
    assert "'good' has the lower log loss" in str(watch)


def test_equal_models_have_no_evidence_and_clusters_count_once():
    y, models = next(looks())
    watch = tn.Watch(compare=True)
    watch.update(y, {"a": models["good"], "b": models["good"]})
    assert watch.evidence == {"a": pytest.approx(1), "b": pytest.approx(1)}
    twice = tn.Watch(compare=True)
    rows = np.repeat(np.arange(50), 2)
    twice.update(y[rows], {name: p[rows] for name, p in models.items()}, cluster=rows)
    once = tn.Watch(compare=True)
    once.update(y, models)
    assert twice.evidence["good"] == pytest.approx(once.evidence["good"])
    assert twice.n == 50


def test_the_state_goes_on_after_json_and_pickle():
    first, second, third = looks(days=3)
    watch = tn.Watch(compare=True, name="x")
    watch.update(*first, position="2025-01")
    for again in (
        ModelWatch.from_dict(json.loads(json.dumps(watch.to_dict()))),
        pickle.loads(pickle.dumps(watch)),
    ):
        again.update(*second, position="2025-02")
        again.update(*third, position="2025-03")
        whole = tn.Watch(compare=True, name="x")
        for look, month in zip((first, second, third), (1, 2, 3), strict=True):
            whole.update(*look, position=f"2025-0{month}")
        assert again.to_dict() == whole.to_dict()
    with pytest.raises(tn.InputError, match="`state` must be what `to_dict` gave"):
        ModelWatch.from_dict({"what": "else"})


def test_a_watch_of_one_model_is_as_it_was():
    assert type(tn.Watch()) is tn.Watch
    assert type(pickle.loads(pickle.dumps(tn.Watch(0.1)))) is tn.Watch
    with pytest.raises(tn.InputError, match="`compare` must be True or False"):
        tn.Watch(compare="yes")
    with pytest.raises(TypeError, match="alternatives"):
        tn.Watch(compare=True, alternatives=[(0.1, 1.0)])


@pytest.mark.parametrize(
    ("y", "models", "options", "message"),
    [
        ([0, 1], {"a": [0.1, 0.2]}, {}, "`models` must be a dict with the scores of two models"),
        ([0, 1], [0.1, 0.2], {}, "`models` must be a dict .*; got list"),
        ([0, 1], {"a": [0.1, 0.2], "c": [0.1, 0.2]}, {}, "`models` must be .a. and .b. at all"),
        ([0, 1], {"a": [0.1, 2], "b": [0.1, 0.2]}, {}, "Model .a.: `y_prob` must lie in"),
        ({"a": [0, 1]}, {"a": [0.1, 0.2], "b": [0.1, 0.2]}, {}, "`y_true` must be one column"),
        (
            [0, 1],
            {"a": [0.1, 0.2], "b": [0.1, 0.2]},
            {"sample_weight": [1, 2]},
            "`sample_weight` must be left out",
        ),
        ([0, 1], {"a": [0.1, 0.2], "b": [0.1, 0.2]}, {"position": 1}, "must be later than"),
    ],
)
def test_a_wrong_look_is_refused_and_changes_nothing(y, models, options, message):
    watch = tn.Watch(compare=True)
    watch.update([0, 1], {"a": [0.1, 0.7], "b": [0.3, 0.6]}, position=1)
    before = watch.to_dict()
    with pytest.raises(tn.InputError, match=message):
        watch.update(y, models, **options)
    assert watch.to_dict() == before


@pytest.mark.slow
def test_false_names_over_all_looks_are_rarer_than_alpha():
    """Models that are equally wrong at every row: the losses differ, their expectations do not."""
    rng = np.random.default_rng(2)
    runs = 400
    named = 0
    for _ in range(runs):
        watch = tn.Watch(compare=True)
        for _ in range(20):
            q = np.full(100, 0.5)
            gap = rng.uniform(0.05, 0.3, 100)
            watch.update(rng.random(100) < q, {"a": q + gap, "b": q - gap})
        named += watch.alarm
    assert named / runs <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)
