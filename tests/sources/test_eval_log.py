"""Logs of evaluation harnesses against obvious parsers, and every trap of theirs."""

import json
import math
import os
import re
import struct
import sys
import time
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.special
from eval_logs import (
    generated_row,
    helm_row,
    inspect_sample,
    lm_eval_row,
    openai_rows,
    with_tokens,
    write_eval,
    write_helm,
    write_inspect_json,
    write_lines,
)
from time_limit import time_limit

import trueness as tn
from trueness.sources import eval_log
from trueness.sources.logs.formats import _inspect_archive as archive

DATA = Path(os.environ.get("TRUENESS_DATA", ""), "evals")
stored = pytest.mark.skipif(
    not (DATA / "README.md").is_file(), reason="TRUENESS_DATA must have a folder evals"
)


def pairs(found):
    return list(zip(found.label.tolist(), found.confidence.tolist(), strict=True))


# The rate of false alarms


def draw_stated(rng, off=0.0, questions=200, samples=5):
    """Labels and six stated values; a question is easy or hard for all its samples, and half repeat one value."""
    p = rng.choice([0.5, 0.6, 0.7, 0.8, 0.9, 0.95], (questions, samples))
    repeated = rng.random(questions) < 0.5
    p[repeated] = p[repeated, :1]
    shared, own = rng.normal(size=(questions, 1)), rng.normal(size=(questions, samples))
    luck = scipy.special.ndtr(math.sqrt(0.4) * shared + math.sqrt(0.6) * own)
    return (luck < p - off).astype(int).ravel(), p.ravel()


@pytest.mark.slow
def test_verdicts_and_comparisons_of_200_questions_with_5_samples_keep_their_level():
    """At 0.05; 500 runs have a standard error of 0.01. With 1,000 runs, 0.050 and 0.037 were rejected."""
    rng, runs = np.random.default_rng(5), 500
    question = np.repeat(np.arange(200), 5)
    rejected = np.zeros((runs, 2), dtype=bool)
    for i in range(runs):
        y, p = draw_stated(rng)
        rejected[i, 0] = tn.calibration_test(y, p, cluster=question, seed=i).pvalue <= 0.05
        (y, p), (other, q) = draw_stated(rng, 0.1), draw_stated(rng, 0.1)
        compared = tn.compare({"a": y, "b": other}, {"a": p, "b": q}, cluster=question)
        rejected[i, 1] = compared["a", "b"].pvalue <= 0.05
    assert (rejected.mean(axis=0) < 0.05 + 3 * 0.01).all()
    assert (rejected.mean(axis=0) > 0.05 - 3 * 0.01).all()


# Against slow parsers that know one format each


@stored
def test_a_stored_log_of_lm_eval_gives_its_own_accuracy_and_brier_score():
    (samples,) = (DATA / "lm-eval").glob("samples_toy_mc_*.jsonl")
    (results,) = (DATA / "lm-eval").glob("results_*.json")
    own = json.loads(results.read_text())["results"]["toy_mc"]
    found = eval_log(samples)
    rows = [json.loads(line) for line in samples.read_text().splitlines()]
    for row, label, p, options in zip(
        rows, found.label, found.confidence, found.options, strict=True
    ):
        powers = [math.exp(float(one[0])) for one in row["filtered_resps"]]
        chances = [power / sum(powers) for power in powers]
        assert options.tolist() == pytest.approx(chances, abs=1e-15)
        assert p == pytest.approx(max(chances), abs=1e-15)
        assert label == row["acc"] == (chances.index(max(chances)) == int(row["target"]))
    assert found.label.mean() == own["acc,none"]
    one_hot = np.eye(found.options.shape[1])[found.right_option]
    brier = ((found.options - one_hot) ** 2).sum(axis=1).mean()
    assert brier == pytest.approx(own["brier_score,none"], abs=1e-12)
    with pytest.warns(tn.errors.OneClassWarning):
        assert tn.brier(found.right_option, found.options) == pytest.approx(
            own["brier_score,none"], abs=1e-12
        )
    assert found.question.tolist() == [row["doc_hash"] for row in rows]
    assert found.subject.tolist() == [row["doc"]["subject"] for row in rows]


@stored
def test_a_stored_log_of_inspect_has_the_probability_of_the_answer_of_each_epoch():
    zipped = pytest.importorskip("backports.zstd.zipfile")
    (path,) = (DATA / "inspect").glob("*.eval")
    found = eval_log(path)
    with zipped.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.startswith("samples/")]
        samples = [json.loads(archive.read(name)) for name in names]
    for i, sample in enumerate(samples):
        score, (token,) = (
            sample["scores"]["choice"],
            sample["output"]["choices"][0]["logprobs"]["content"],
        )
        assert found.label[i] == (score["value"] == "C")
        assert found.confidence[i] == pytest.approx(math.exp(token["logprob"]), abs=1e-15)
        assert (found.question[i], found.epoch[i]) == (f"mc/{sample['id']}", sample["epoch"])
        assert found.answer[i] == token["token"] == score["answer"]
        assert "ABCD"[found.right_option[i]] == sample["target"]
        assert found.options[i].tolist() == pytest.approx(
            [math.exp(t["logprob"]) for t in token["top_logprobs"]]
        )
    assert len(found.label) == len(samples) == 24


@stored
def test_stored_stated_confidences_are_those_of_the_text():
    (path,) = (DATA / "inspect").glob("*_verbal_*.json")
    samples = json.loads(path.read_text())["samples"]
    stated = [
        (s, s["output"]["completion"].partition("Confidence: ")[2].rstrip("%")) for s in samples
    ]
    expected = [(int(s["scores"]["conf"]["value"] == "C"), float(p) / 100) for s, p in stated if p]
    for how in ("auto", "metadata.confidence", "stated", r"regex:Confidence: (\d+)"):
        found = eval_log(path, confidence=how)
        assert pairs(found) == expected
        assert found.missing == {"no confidence": len(samples) - len(expected)}


@stored
def test_a_stored_run_of_helm_without_log_probabilities_is_refused():
    folder = DATA / "helm" / "hellaswag-pythia-1b"
    with pytest.raises(
        tn.errors.InputError, match=r"max_prob is 1 everywhere: HELM kept no log-probabilities: 10"
    ):
        eval_log(folder)
    rows = json.loads((folder / "per_instance_stats.json").read_text())
    own = {
        row["instance_id"]: {s["name"]["name"]: s.get("mean") for s in row["stats"]} for row in rows
    }
    found = eval_log(
        folder, confidence_field="stats.exact_match", scorer="quasi_prefix_exact_match"
    )
    labels = {
        question.rpartition("/")[2]: label
        for question, label in zip(found.question, found.label, strict=True)
    }
    assert labels == {key: stats["quasi_prefix_exact_match"] for key, stats in own.items()}


@stored
def test_an_old_public_log_without_confidences_is_refused_with_the_way_out():
    with pytest.raises(tn.errors.InputError, match=r"no confidence: 3. `confidence` says where"):
        eval_log(DATA / "inspect" / "arc_qwen.json")


def test_records_of_openai_evals_are_joined_by_sample(tmp_path):
    answers = [
        (True, "4", -0.1),
        (False, "5", -1.0),
        (None, "4", -0.2),
        (True, "", -0.3),
        (True, "4", None),
    ]
    found = eval_log(write_lines(tmp_path / "x.jsonl", openai_rows(answers)))
    assert pairs(found) == [(1, math.exp(-0.1)), (0, math.exp(-1.0))]
    assert found.missing == {"not scored": 1, "no answer": 1, "no confidence": 1}
    assert set(found.model) == {"gpt-x"}
    assert found.question[1] == "sums.dev.v0/sums.dev.1"
    *rows, end = openai_rows([(True, "4", -0.1), (True, "5", math.nan)])
    wrong = rows[3] | {"data": rows[3]["data"] | {"correct": False}}
    found = eval_log(write_lines(tmp_path / "x.jsonl", [*rows, wrong, end]))
    assert found.label.tolist() == [0]
    assert found.missing == {"a log-probability is nan": 1}
    assert "1 samples are repeated; the last of each counts." in found.notes


def test_a_run_of_helm_keeps_test_instances_as_they_were(tmp_path):
    rows = [helm_row("a", 1, 0.8), helm_row("b", 0, 0.4), helm_row("a", 1, 0.7, trial=1)]
    rows += [
        helm_row("a", 0, 0.9, perturbation={"name": "typos"}),
        helm_row("c", 1, 0.9, split="train"),
    ]
    rows += [helm_row("d", 1, 0.9, split="valid"), helm_row("e", 0.5, 0.6)]
    found = eval_log(write_helm(tmp_path / "run", rows))
    assert pairs(found) == [
        (1, pytest.approx(0.8)),
        (0, pytest.approx(0.4)),
        (1, pytest.approx(0.7)),
    ]
    assert found.epoch.tolist() == [1, 1, 2]
    assert found.missing == {
        "a perturbed instance": 1,
        "a training instance": 1,
        "an instance of the split 'valid'": 1,
        "a score other than 0 and 1": 1,
    }
    assert (set(found.task), set(found.model), set(found.subject)) == (
        {"mmlu:subject=anatomy"},
        {"org/m"},
        {"anatomy"},
    )
    assert set(found.source) == {"max_prob of HELM"}
    odd = eval_log(
        write_helm(
            tmp_path / "odd", [helm_row("a", 1, 0.8), helm_row("b", 1, -0.1), helm_row("c", 0, 0)]
        )
    )
    assert pairs(odd) == [(1, 0.8), (0, 0.0)]
    assert odd.missing == {"max_prob is outside 0 to 1": 1}


def test_other_json_is_read_by_named_fields(tmp_path):
    rows = [{"id": i, "out": {"ok": i % 2 == 0, "p": i / 4}, "model": "m"} for i in range(4)]
    names = {"label_field": "out.ok", "confidence_field": "out.p", "question_field": "id"}
    lines = eval_log(write_lines(tmp_path / "x.jsonl", rows), fields=["model"], **names)
    (tmp_path / "y.json").write_text(json.dumps(rows, indent=1))
    array = eval_log(tmp_path / "y.json", fields=["model"], **names)
    for found in (lines, array):
        assert pairs(found) == [(1, 0.0), (0, 0.25), (1, 0.5), (0, 0.75)]
        assert found.fields["model"].tolist() == ["m"] * 4
    with pytest.raises(
        tn.errors.InputError, match="is not a log of lm-eval, inspect, HELM or OpenAI evals"
    ):
        eval_log(tmp_path / "x.jsonl")
    with pytest.raises(tn.errors.InputError, match=r"no field 'q': 4"):
        eval_log(tmp_path / "x.jsonl", **names | {"question_field": "q"})
    for content, words in [
        ('[{"id": 1}, 3]', "element 1: it must be of type dict"),
        ("null", "line 1: it must be"),
    ]:
        (tmp_path / "y.json").write_text(content)
        with pytest.raises(tn.errors.InputError, match=words):
            eval_log(tmp_path / "y.json", **names)
    with pytest.raises(tn.errors.InputError, match="`path` must name at least one log"):
        eval_log([])


def test_one_answer_is_counted_in_the_singular(tmp_path):
    path = write_lines(tmp_path / "x.jsonl", [{"ok": True, "p": 0.5}])
    found = eval_log(path, label_field="ok", confidence_field="p")
    assert str(found).startswith("1 answer to 1 question. ")


def test_a_question_that_the_caller_names_may_have_many_answers(tmp_path):
    rows = [{"ok": i % 2, "p": 0.5, "q": f"q{i // 3}"} for i in range(6)]
    names = {"label_field": "ok", "confidence_field": "p", "question_field": "q"}
    found = eval_log(write_lines(tmp_path / "x.jsonl", rows), **names)
    assert found.label.tolist() == [0, 1, 0, 1, 0, 1]
    assert found.cluster.tolist() == ["x/q0"] * 3 + ["x/q1"] * 3
    samples = [inspect_sample(i, "C", metadata={"confidence": 0.5}) for i in range(4)]
    path = write_inspect_json(
        tmp_path / "y.json", [one | {"metadata": {"topic": "t"}} for one in samples]
    )
    assert eval_log(path, question_field="metadata.topic").cluster.tolist() == ["sums/t"] * 4


# Traps of lm-eval


def test_likelihoods_as_numbers_or_text_and_one_array_are_the_same(tmp_path):
    rows = [lm_eval_row(i, [-1.0, -2.0, -float(i)], i % 3, acc=1.0) for i in range(3)]
    rows = [
        row | {"acc": float((row["target"] == "2") if i == 0 else row["target"] == "0")}
        for i, row in enumerate(rows)
    ]
    text = eval_log(write_lines(tmp_path / "samples_a.jsonl", rows))
    older = [
        row | {"filtered_resps": [[float(a), False] for a, _ in row["filtered_resps"]]}
        for row in rows
    ]
    (tmp_path / "samples_b.jsonl").write_text(json.dumps(older, indent=2))
    assert pairs(eval_log(tmp_path / "samples_b.jsonl")) == pairs(text)
    assert text.confidence[0] == pytest.approx(1 / (1 + math.exp(-1) + math.exp(-2)))


def test_a_target_may_be_a_number_a_text_or_several(tmp_path):
    logs = [-1.0, -2.0, -3.0]
    rows = [
        lm_eval_row(0, logs, "o"),
        lm_eval_row(1, logs, "[0, 2]"),
        lm_eval_row(2, logs, "1"),
        lm_eval_row(3, logs, "7"),
    ]
    found = eval_log(write_lines(tmp_path / "samples_a.jsonl", rows))
    assert found.label.tolist() == [1, 1, 0]
    assert found.right_option.tolist() == [0, -1, 1]
    assert found.missing == {"the target is not one of the options": 1}


def test_a_target_that_is_both_a_number_and_a_text_is_read_as_the_accuracies_say(tmp_path):
    def row(i, target, acc):
        own = lm_eval_row(i, [-1.0, -2.0, -3.0], target, acc=acc)
        for k, text in enumerate(("1", "2", "0")):
            own["arguments"][f"gen_args_{k}"]["arg_1"] = f" {text}"
        return own

    by_text = [row(0, "1", 1.0), row(1, "2", 0.0), row(2, "0", 0.0)]
    by_number = [row(0, "0", 1.0), row(1, "2", 0.0), row(2, "1", 0.0)]
    found = eval_log(write_lines(tmp_path / "samples_a.jsonl", by_text))
    assert (found.label.tolist(), found.right_option.tolist()) == ([1, 0, 0], [0, 1, 2])
    found = eval_log(write_lines(tmp_path / "samples_b.jsonl", by_number))
    assert (found.label.tolist(), found.right_option.tolist()) == ([1, 0, 0], [0, 2, 1])


def test_likelihoods_without_the_question_are_left_out(tmp_path):
    own = lm_eval_row(0, [-1.0, -2.0, -5.0, -6.0], "0", acc=1.0, acc_mutual_info=0.0)
    for k in (2, 3):
        own["arguments"][f"gen_args_{k}"]["arg_0"] = ""
    found = eval_log(write_lines(tmp_path / "samples_a.jsonl", [own]))
    assert found.confidence[0] == pytest.approx(1 / (1 + math.exp(-1)))
    with pytest.raises(tn.errors.InputError, match="`scorer` must rank options by a probability"):
        eval_log(tmp_path / "samples_a.jsonl", scorer="acc_mutual_info")


def test_an_accuracy_that_is_ranked_by_length_has_confidences_that_are(tmp_path):
    # By likelihood the first option; by character the last: -2.4 / 3 = -0.8.
    rows = [
        lm_eval_row(i, [-1.0, -2.0, -2.4], "2", acc=0.0, acc_norm=1.0, acc_bytes=1.0)
        for i in range(2)
    ]
    path = write_lines(tmp_path / "samples_a.jsonl", rows)
    assert eval_log(path).label.tolist() == [0, 0]
    powers = [math.exp(-1.0), math.exp(-1.0), math.exp(-0.8)]
    for options in ({"scorer": "acc_norm"}, {"confidence": "options-per-byte"}):
        found = eval_log(path, **options)
        assert pairs(found) == [(1, pytest.approx(powers[2] / sum(powers)))] * 2
    with pytest.raises(tn.errors.InputError, match="which ranks the options by that"):
        eval_log(path, scorer="acc_norm", confidence="options")


def test_an_accuracy_that_contradicts_the_likelihoods_is_counted_not_used(tmp_path):
    rows = [lm_eval_row(0, [-1.0, -2.0], "0", acc=0.0), lm_eval_row(1, [-1.0, -2.0], "0", acc=1.0)]
    found = eval_log(write_lines(tmp_path / "samples_a.jsonl", rows))
    assert found.label.tolist() == [1]
    assert found.missing == {
        "the accuracy is not that of the option with the largest confidence": 1
    }


def test_likelihoods_that_are_infinite_or_nan(tmp_path):
    rows = [
        lm_eval_row(i, logs, "0")
        for i, logs in enumerate([[-1.0, "-inf"], ["-inf", "-inf"], ["nan", -1.0]])
    ]
    found = eval_log(write_lines(tmp_path / "samples_a.jsonl", rows))
    assert pairs(found) == [(1, 1.0)]
    assert found.missing == {
        "no option has a finite log-likelihood": 1,
        "a log-likelihood is nan": 1,
    }


def test_several_filters_must_be_chosen_among(tmp_path):
    rows = [generated_row(i, f"#### {i} Confidence: 80%", 1.0, filter="strict") for i in range(3)]
    rows += [generated_row(i, f"{i}. Confidence: 60%", 0.0, filter="flexible") for i in range(3)]
    path = write_lines(tmp_path / "samples_a.jsonl", rows)
    with pytest.raises(
        tn.errors.InputError, match=r"several filters .*: flexible, strict.*'exact_match,flexible'"
    ):
        eval_log(path)
    both = [lm_eval_row(0, [-1.0, -2.0], "0", acc=1.0, filter=name) for name in ("a", "b")]
    with pytest.raises(tn.errors.InputError, match="'acc,a'"):
        eval_log(write_lines(tmp_path / "samples_b.jsonl", both))
    assert pairs(eval_log(path, scorer="exact_match,strict")) == [(1, 0.8)] * 3
    assert pairs(eval_log(path, scorer="exact_match,flexible")) == [(0, 0.6)] * 3


def test_a_confidence_is_sought_in_the_response_and_not_in_what_a_filter_left(tmp_path):
    rows = [
        generated_row(i, f"{i} Confidence: {60 + i}%", 1.0, filtered_resps=[str(i)])
        for i in range(3)
    ]
    rows += [
        generated_row(3, "7", 1.0, resps=[["7 Confidence: 90%", "8 Confidence: 80%"]])
    ]  # which of them is it?
    path = write_lines(tmp_path / "samples_a.jsonl", rows)
    for confidence in ("stated", r"regex:(\d+)%"):
        found = eval_log(path, confidence=confidence)
        assert found.confidence.tolist() == [0.6, 0.61, 0.62]
        assert found.answer.tolist() == ["0", "1", "2"]
        assert found.missing == {"no confidence": 1}


def test_an_accuracy_that_the_harness_did_not_give_is_not_made_from_the_target(tmp_path):
    rows = [
        lm_eval_row(i, [-1.0, -2.0], "0", acc=acc)
        for i, acc in enumerate([1.0, None, math.nan, 0.5, 1.0])
    ]
    del rows[4]["acc"]
    found = eval_log(write_lines(tmp_path / "samples_a.jsonl", rows))
    assert found.label.tolist() == [1]
    assert found.missing == {"not scored": 3, "a score other than 0 and 1": 1}


def test_the_likelihood_of_the_right_answer_alone_is_no_confidence(tmp_path):
    row = lm_eval_row(0, [-1.0], "word", acc=1.0)
    with pytest.raises(
        tn.errors.InputError, match="the likelihood of the right answer, not of the answer given: 1"
    ):
        eval_log(write_lines(tmp_path / "samples_a.jsonl", [row]))


# Traps of inspect


def test_scores_in_every_form(tmp_path):
    values = [
        "C",
        "I",
        1,
        0.0,
        True,
        "yes",
        {"score": 1, "confidence": 0.5},
        "P",
        "N",
        float("nan"),
        0.3,
        [1],
        None,
    ]
    samples = [
        inspect_sample(i, value, metadata={"confidence": 0.5}) for i, value in enumerate(values)
    ]
    samples += [
        inspect_sample(20, error={"message": "time out"}),
        inspect_sample(21, scores=None),
        inspect_sample(22, text=""),
    ]
    unscored = inspect_sample(23, float("nan"), metadata={"confidence": 0.5})
    unscored["scores"]["judge"]["reason"] = "grader_failed"
    found = eval_log(write_inspect_json(tmp_path / "x.json", [*samples, unscored]))
    assert found.label.tolist() == [1, 0, 1, 0, 1, 1, 1]
    assert found.missing == {
        "not scored": 3,
        "partly right (P)": 1,
        "no answer (N)": 1,
        "a score other than 0 and 1": 1,
        "a score that is neither a number nor C, I, P or N: '[1]'": 1,
        "errored": 1,
        "no answer": 1,
        "not scored (grader_failed)": 1,
    }
    assert eval_log(tmp_path / "x.json", correct_from=0.3).label.tolist() == [
        1,
        0,
        1,
        0,
        1,
        1,
        1,
        1,
        0,
        1,
    ]


def test_a_100_that_only_the_harness_wrote_does_not_count(tmp_path):
    def sample(i, p, text):
        return inspect_sample(i, {"score": "C", "confidence": p}, text=text)

    texts = [
        (80, "4. Confidence: 80%"),
        (60, "I am 60% sure: 4"),
        (100, "4"),
        (100, "4. Confidence: 100%"),
    ]
    path = write_inspect_json(
        tmp_path / "x.json", [sample(i, p, text) for i, (p, text) in enumerate(texts)]
    )
    found = eval_log(path)
    assert found.confidence.tolist() == [0.8, 0.6, 1.0]
    assert found.missing == {"a confidence of 100 % that the answer does not state": 1}
    # If no text repeats its confidence, it comes from elsewhere: kept, and mentioned.
    path = write_inspect_json(
        tmp_path / "y.json", [sample(i, p, "four") for i, p in enumerate([80, 70, 100])]
    )
    found = eval_log(path)
    assert found.confidence.tolist() == [0.8, 0.7, 1.0]
    assert any("1 confidences are exactly 1 without being stated" in note for note in found.notes)


def test_of_repeated_samples_the_last_counts(tmp_path):
    one, two = (inspect_sample(1, value, metadata={"confidence": 0.5}) for value in ("C", "I"))
    path = write_inspect_json(tmp_path / "x.json", [one, two])
    assert eval_log(path).label.tolist() == [0]
    with pytest.warns(UserWarning, match="Duplicate name"):
        write_eval(tmp_path / "x.eval", [one, two])
    found = eval_log(tmp_path / "x.eval")
    assert found.label.tolist() == [0]
    assert "1 members are repeated" in found.notes[0]


def test_a_retried_run_replaces_its_samples_and_another_run_does_not(tmp_path):
    first = [inspect_sample(i, "I", metadata={"confidence": 0.5}) for i in range(3)]
    again = [inspect_sample(i, "C", metadata={"confidence": 0.5}) for i in range(2)]
    write_inspect_json(tmp_path / "b.json", first, created="2026-01-01")
    write_inspect_json(tmp_path / "a.json", again, created="2026-01-02")
    found = eval_log(tmp_path)
    assert sorted(found.label.tolist()) == [0, 1, 1]
    assert "2 samples are repeated; the last of each counts." in found.notes
    write_inspect_json(tmp_path / "c.json", again, task_id="other")
    found = eval_log(tmp_path)
    assert len(found.label) == 5
    assert len(set(found.cluster)) == 3


def test_a_run_of_lm_eval_that_was_started_again_replaces_its_samples(tmp_path):
    for i, (shots, acc) in enumerate([(0, 0.0), (0, 1.0), (5, 1.0)]):
        stamp = f"2026-01-0{i + 1}T00-00-00.000000"
        rows = [lm_eval_row(k, [-1.0, -2.0], int(not acc), acc=acc) for k in range(3)]
        write_lines(tmp_path / f"samples_t_{stamp}.jsonl", rows)
        results = {"model_name": "m", "configs": {"t": {"task": "t", "num_fewshot": shots}}}
        (tmp_path / f"results_{stamp}.json").write_text(json.dumps(results))
    found = eval_log(tmp_path)
    assert found.label.tolist() == [1] * 6
    assert "3 samples are repeated; the last of each counts." in found.notes


@pytest.mark.parametrize("nested", [False, True])
def test_archives_of_either_layout_and_compression(tmp_path, nested):
    samples = [
        inspect_sample("a/b", "C", epoch=2, metadata={"confidence": 0.25}),
        inspect_sample("c", "I", metadata={"confidence": 1.0}),
    ]
    found = eval_log(write_eval(tmp_path / "x.eval", samples, nested=nested))
    assert pairs(found) == [(1, 0.25), (0, 1.0)]
    assert found.epoch.tolist() == [2, 1]
    packed = pytest.importorskip("backports.zstd.zipfile")
    again = eval_log(
        write_eval(tmp_path / "renamed", samples, zipped=packed, method=93, nested=nested)
    )
    assert pairs(again) == pairs(found)


def test_the_probability_of_an_answer_is_that_of_its_tokens(tmp_path):
    tokens = [
        ("ANSWER", 0.9),
        (":", 0.8),
        (" D", 0.7, {" D": 0.7, "A": 0.2, "D": 0.05, "B": 0.02, "C": 0.03}),
        (". Done", 0.6),
    ]
    one = with_tokens(
        inspect_sample(1, "C", text="ANSWER: D. Done", answer="D", choices=list("wxyz")), tokens
    )
    two = with_tokens(
        inspect_sample(2, "I", text="New York", answer="New York"), [("New", 0.5), (" York", 0.5)]
    )
    lost = with_tokens(inspect_sample(3, "I", text="x", answer="Paris"), [("x", 0.5)])
    found = eval_log(write_inspect_json(tmp_path / "x.json", [one, two, lost]))
    assert pairs(found) == [(1, pytest.approx(0.7)), (0, pytest.approx(0.25))]
    assert found.missing == {"the answer is not among the tokens with log-probabilities": 1}
    found = eval_log(tmp_path / "x.json", confidence="options")
    assert found.options.tolist() == [pytest.approx([0.2, 0.02, 0.03, 0.75])]


def test_several_scorers_must_be_chosen_among(tmp_path):
    both = inspect_sample(1, "C", metadata={"confidence": 0.5})
    both["scores"]["other"] = {"value": {"a": "I", "b": "C"}, "metadata": {"confidence": 0.75}}
    path = write_inspect_json(tmp_path / "x.json", [both])
    with pytest.raises(
        tn.errors.InputError, match=r"`scorer` must say which scores .* it has judge, other"
    ):
        eval_log(path)
    assert pairs(eval_log(path, scorer="judge")) == [(1, 0.5)]
    assert pairs(eval_log(path, scorer="other.a")) == [(0, 0.75)]
    with pytest.raises(
        tn.errors.InputError, match=r"must be one of those of .*: judge, other; got 'jugde'"
    ):
        eval_log(path, scorer="jugde")


def test_samples_that_lack_the_scorer_are_not_scored_and_scorers_are_not_pooled(tmp_path):
    half = {"confidence": 0.5}
    samples = [inspect_sample(i, "CI"[i % 2], metadata=half, scorer="a") for i in range(3)]
    samples += [inspect_sample(3, "C", metadata=half, scorer="b")]
    path = write_inspect_json(tmp_path / "x.json", samples)
    with pytest.raises(
        tn.errors.InputError, match=r"`scorer` must say which scores .* it has a, b"
    ):
        eval_log(path)
    found = eval_log(path, scorer="a")
    assert found.label.tolist() == [1, 0, 1]
    assert found.missing == {"not scored": 1}
    run = write_helm(tmp_path / "run", [helm_row("a", 1, 0.8, f1=1), helm_row("b", 0, 0.4)])
    assert eval_log(run, scorer="f1").missing == {"not scored": 1}


# Confidences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Confidence: 90 %", 0.9),
        ("confidence level is 0.85", 0.85),
        ('{"answer": 4, "confidence": 0.7}', 0.7),
        ("**Confidence:** 8/10", 0.8),
        ("Confidence: very likely", 0.9),
        ("I am 75% certain.", 0.75),
        ("Confidence: 20%. On reflection, confidence: 60%", 0.6),
        ("Confidence: .9", 0.9),
        ("Confidence: 7 out of 10", 0.7),
        ("Confidence: 4 of 5", 0.8),
        ("Confidence: 0,85", 0.85),
        ("Confidence: 85,5 %", 0.855),
        ("Confidence: 1e-3", 0.001),
        ("Confidence: 50/50", 0.5),
        ("Confidence: ~80%", 0.8),
        ("My confidence is about 80%", 0.8),
        ("<confidence>80%</confidence>", 0.8),
        (r"Confidence: \boxed{95%}", 0.95),
        ("I say so with 90% confidence.", 0.9),
        (r"\boxed{95}", None),
        ("a 95% confidence interval", None),
        ("It grew by 20%\nConfidence: unknown", None),
        ("confidence" + " " * 100_000, None),  # in no time
        ("Confidence: 8/" + "9" * 400, None),
        ("Confidence: 8/0", None),
        ("Confidence: 60-80%", None),
        ("Confidence: 60\n- 80%", None),
        ("no idea", None),
    ],
)
def test_stated_confidences(tmp_path, text, expected):
    path = write_lines(
        tmp_path / "samples_a.jsonl",
        [generated_row(0, text, 1.0), generated_row(1, "Confidence: 1 %", 0.0)],
    )
    found = eval_log(path)
    assert found.confidence.tolist() == ([] if expected is None else [pytest.approx(expected)]) + [
        0.01
    ]


LONG = {
    "digits": "1" * 100_000,
    "digits and points": "1." * 50_000,
    "exponents": "1e" * 50_000,
    "blanks after a number": "5" + " " * 100_000,
    "blanks after a percentage": "5%" + " " * 100_000 + "confidenc",
    "blanks after a share": "5 out of" + " " * 100_000,
    "blanks after the word": "confidence" + " " * 100_000,
    "brackets after the word": "confidence" + "\\boxed{(" * 10_000,
    "half a range": "5 to " * 20_000,
}


@pytest.mark.skipif(sys.platform == "win32", reason="needs alarms")
@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_the_time_to_read_a_text_grows_with_its_length(tmp_path, text):
    """A run of 2,000 digits took minutes, where a hundred thousand take a few hundredths of a second."""
    rows = [generated_row(0, "Confidence: 80 %", 1), generated_row(1, text, 1)]
    with time_limit(20):
        found = eval_log(write_lines(tmp_path / "samples_t.jsonl", rows), confidence="stated")
    assert found.confidence[0] == 0.8


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs alarms")
def test_many_answers_to_one_question_are_counted_not_compared_in_pairs(tmp_path):
    n = 60_000
    samples = [
        inspect_sample("q", "C", epoch=i + 1, answer=str(i // 2), text="x") for i in range(n)
    ]
    path = write_inspect_json(tmp_path / "x.json", samples)
    with time_limit(40):  # pairs take minutes
        found = eval_log(path, confidence="agreement")
    assert found.confidence.tolist() == [1 / (n - 1)] * n


@pytest.mark.parametrize(
    ("field", "expected"),
    [(".9", 0.9), ("7 out of 10", 0.7), ("0,85", 0.85), ("about 80 %.", 0.8), ("50/50", 0.5)],
)
def test_confidences_of_fields_are_read_as_those_of_texts_are(tmp_path, field, expected):
    path = write_lines(tmp_path / "x.jsonl", [{"ok": 1, "p": field}])
    found = eval_log(path, label_field="ok", confidence_field="p")
    assert found.confidence.tolist() == [pytest.approx(expected)]


def test_words_stand_for_probabilities_that_the_user_can_see_and_change(tmp_path):
    path = write_lines(tmp_path / "samples_a.jsonl", [generated_row(0, "Confidence: likely", 1.0)])
    found = eval_log(path)
    assert found.confidence.tolist() == [tn.sources.CONFIDENCE_WORDS["likely"]]
    assert any("1 confidences are words" in note for note in found.notes)
    assert eval_log(path, words={"Likely": 0.6}).confidence.tolist() == [0.6]
    with pytest.raises(tn.errors.InputError, match="`words` must give each word a probability"):
        eval_log(path, words={"likely": 60})


def test_bare_numbers_are_percentages_if_most_exceed_1_and_those_of_the_other_scale_are_unclear(
    tmp_path,
):
    def log(values):
        rows = [{"ok": 1, "p": value} for value in values]
        return eval_log(write_lines(tmp_path / "x.jsonl", rows), label_field="ok", confidence="p")

    assert log([0, 0.5, 1]).confidence.tolist() == [0, 0.5, 1]
    found = log([0, 1, 50, 60, 0.9, "40%", "3/4", 101, True])
    assert found.confidence.tolist() == [0, 0.01, 0.5, 0.6, 0.4, 0.75]
    assert found.missing == {
        "a confidence below 1 among percentages: its scale is unclear": 1,
        "the confidence is outside 0 to 100 %": 1,
        "no confidence": 1,
    }
    assert "confidences are percentages" in found.notes[0]
    for values in ([0, 0.05, 0.95, 1.0000001], [0, 1, 1, 2]):
        found = log(values)
        assert found.confidence.tolist() == values[:3]
        assert found.missing == {"a confidence above 1 among fractions: its scale is unclear": 1}
    found = log([9, 8, 10, 3, "9/10"])
    assert found.confidence.tolist() == [0.9]
    assert found.missing == {
        "a bare confidence in a log where all are at most 10: its scale is unclear": 4
    }


def test_agreement_is_counted_on_the_other_samples_only(tmp_path):
    answers = {"a": ["4", "4", " 4 ", "5"], "b": ["x", "y"], "c": ["z"]}
    samples = [
        inspect_sample(q, "C" if text.strip() in "4x" else "I", epoch=i + 1, text=text, answer=text)
        for q, texts in answers.items()
        for i, text in enumerate(texts)
    ]
    found = eval_log(write_inspect_json(tmp_path / "x.json", samples))
    assert set(found.source) == {"share of the other samples that agree"}
    assert pairs(found) == [(1, 2 / 3)] * 3 + [(0, 0.0), (1, 0.0), (0, 0.0)]
    assert found.missing == {
        "fewer than two answers to the question: no share of agreeing samples": 1
    }


def test_each_log_has_its_own_source_and_the_columns_that_split_are_known(tmp_path):
    write_inspect_json(
        tmp_path / "a.json",
        [inspect_sample(i, "C", metadata={"confidence": 0.5}) for i in range(3)],
    )
    write_lines(tmp_path / "samples_t.jsonl", [lm_eval_row(i, [-1.0, -2.0], "0") for i in range(4)])
    found = eval_log(tmp_path)
    assert list(found.by) == ["source", "subject"]  # task and model split as the source does
    assert [(one["source"], one["n"]) for one in found.origins()] == [
        ("confidence recorded with the score", 3),
        ("softmax of the options' log-likelihoods", 4),
    ]


def test_progress_is_reported_in_bytes(tmp_path):
    path = write_lines(
        tmp_path / "samples_t.jsonl", [lm_eval_row(i, [-1.0, -2.0], "0") for i in range(4)]
    )
    steps = []
    eval_log(path, progress=lambda done, total: steps.append((done, total)))
    size = path.stat().st_size
    assert steps[-1] == (size, size)
    assert steps == sorted(steps)


# Damage


def damaged(path):
    with pytest.raises(tn.errors.InputError) as caught:
        eval_log(path)
    return str(caught.value)


@pytest.mark.parametrize("cut", [30, 300, 900])
def test_a_log_that_was_cut_names_the_file_and_the_place(tmp_path, cut):
    samples = [inspect_sample(i, "C", metadata={"confidence": 0.5}) for i in range(3)]
    path = write_inspect_json(tmp_path / "x.json", samples)
    path.write_bytes(path.read_bytes()[: cut if cut < 900 else -300])
    if cut < 100:  # what is left looks like no log at all
        with pytest.raises(tn.errors.InputError, match="is not a log"):
            eval_log(path)
        return
    message = damaged(path)
    assert "x.json ends early" in message
    assert ("samples[2]" in message) == (cut == 900)


def test_a_line_that_is_not_json_is_named(tmp_path):
    path = write_lines(
        tmp_path / "samples_a.jsonl", [lm_eval_row(i, [-1.0, -2.0], "0") for i in range(3)]
    )
    path.write_bytes(path.read_bytes()[:-40])
    assert "samples_a.jsonl, line 3, is not JSON: truncated or damaged" in damaged(path)


def test_a_damaged_archive_names_the_member(tmp_path):
    samples = [inspect_sample(i, "C", metadata={"confidence": 0.5}) for i in range(3)]
    path = write_eval(tmp_path / "x.eval", samples, method=zipfile.ZIP_STORED)
    good = path.read_bytes()
    at = good.index(b'"epoch": 1', good.index(b"samples/1_epoch_1.json"))
    path.write_bytes(good[:at] + b'"epoch": 7' + good[at + 10 :])
    assert "member 'samples/1_epoch_1.json', cannot be unpacked: truncated or damaged" in damaged(
        path
    )
    path.write_bytes(good[: len(good) // 2])
    assert "x.eval cannot be read as a zip file: truncated or damaged" in damaged(path)
    write_eval(path, samples, members=[("samples/z_epoch_1.json", '{"id": ')])
    assert "member 'samples/z_epoch_1.json', is not JSON" in damaged(path)
    write_eval(path, samples, members=[("samples/z_epoch_1.json", "{}")])
    assert "member 'samples/z_epoch_1.json': field 'id' is missing" in damaged(path)


@pytest.mark.parametrize(
    "name", ["../../x.json", "/etc/x.json", "samples\\..\\x.json", "samples/\x1b[2J_epoch_1.json"]
)
def test_hostile_names_of_members_are_refused_and_nothing_is_written(tmp_path, name):
    sample = inspect_sample(1, "C", metadata={"confidence": 0.5})
    path = write_eval(tmp_path / "x.eval", [sample], members=[(name, json.dumps(sample))])
    message = damaged(path)
    assert "a name that leads outside of it or is hidden" in message
    assert message.isprintable()
    assert [one.name for one in tmp_path.iterdir()] == ["x.eval"]


def with_declared_size(path, member, size):
    """The archive, whose directory says that a member has this many bytes."""
    data = bytearray(path.read_bytes())
    at = data.rindex(b"PK\x01\x02", 0, data.rindex(member.encode()))
    data[at + 24 : at + 28] = struct.pack("<I", size)
    path.write_bytes(data)
    return path


def test_a_member_that_claims_a_huge_size_is_refused(tmp_path):
    path = write_eval(tmp_path / "x.eval", [inspect_sample(1)], method=zipfile.ZIP_STORED)
    with_declared_size(path, "samples/1_epoch_1.json", 2**31)
    assert (
        "member 'samples/1_epoch_1.json', must unpack with those before it to at most"
        in damaged(path)
    )


@pytest.mark.slow
def test_a_small_archive_cannot_fill_a_memory(tmp_path):
    """A file of 88 KB took 2.3 GB: its one sample had 29 million empty objects, of three bytes each."""
    sample = inspect_sample(1, "C", metadata={"confidence": 0.5})
    path = write_eval(tmp_path / "x.eval", [sample | {"more": [{}] * 10_000_000}])
    assert path.stat().st_size < 200_000
    message = damaged(path)
    assert "x.eval, member 'samples/1_epoch_1.json', must unpack" in message
    assert re.search(
        r"to at most \d\d,\d{3},\d{3} bytes, by the size of the file; it has 40,\d{3},\d{3}\.",
        message,
    )
    assert "`inspect log dump` writes a log as JSON" in message


def test_all_members_of_an_archive_share_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "_ROOM", 3_000)
    monkeypatch.setattr(archive, "_RATIO", 1)
    samples = [
        inspect_sample(i, "C", metadata={"confidence": 0.5}, pad=" " * 1_000) for i in range(9)
    ]
    assert eval_log(write_eval(tmp_path / "x.eval", samples[:1])).label.tolist() == [1]
    message = damaged(write_eval(tmp_path / "x.eval", samples))
    assert re.search(
        r"member 'samples/\d_epoch_1.json', must unpack with those before it to at most \d,\d{3} bytes",
        message,
    )


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, 93])
def test_a_member_that_has_more_than_it_says_is_refused_without_unpacking_it(tmp_path, method):
    zipped = (
        zipfile if method == zipfile.ZIP_DEFLATED else pytest.importorskip("backports.zstd.zipfile")
    )
    sample = inspect_sample(1, "C", metadata={"confidence": 0.5}) | {"more": " " * 40_000_000}
    path = write_eval(tmp_path / "x.eval", [sample], method=method, zipped=zipped)
    with_declared_size(path, "samples/1_epoch_1.json", 1_000)
    tracemalloc.start()
    try:
        assert (
            "member 'samples/1_epoch_1.json', cannot be unpacked: truncated or damaged"
            in damaged(path)
        )
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_methods_that_unpack_without_a_limit_are_refused(tmp_path, method):
    path = write_eval(tmp_path / "x.eval", [inspect_sample(1)], method=method)
    assert f"must be stored, deflated or packed by zstd; got {method}" in damaged(path)


def test_another_schema_is_refused_by_its_field(tmp_path):
    path = write_inspect_json(tmp_path / "x.json", [inspect_sample(1)], version=3)
    assert "field 'version' must be at most 2" in damaged(path)
    write_eval(tmp_path / "x.eval", [inspect_sample(1)], version="b")
    assert "x.eval, member 'header.json': field 'version'" in damaged(tmp_path / "x.eval")
    path.write_text('{"version": 2, "eval": {"model": 1}, "status": "x", "samples": []}')
    assert "field 'eval.task' must be of type str; got NoneType" in damaged(path)
    write_lines(
        tmp_path / "samples_a.jsonl",
        [{"doc_id": 0, "resps": 4, "arguments": {}, "filtered_resps": "x"}],
    )
    assert "line 1: field 'filtered_resps' must be of type list; got str" in damaged(
        tmp_path / "samples_a.jsonl"
    )
    helm = write_helm(tmp_path / "run", [{"instance_id": "a", "stats": [{"name": "exact_match"}]}])
    assert "element 0: field 'stats.0.name' must be of type dict; got str" in damaged(helm)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"output": [1]}, "samples[1]: field 'output' must be of type dict; got list"),
        (
            {"output": {"choices": [3]}},
            "samples[1]: field 'output.choices.0' must be of type dict; got int",
        ),
        ({"epoch": "two"}, "samples[1]: field 'epoch' must be of type int; got str"),
        (
            {"messages": [7]},
            "samples[1]: a field has another type than inspect writes: damaged, or another schema",
        ),
    ],
)
def test_a_field_of_another_type_is_named_with_its_place(tmp_path, change, words):
    one, two = (inspect_sample(i, "C", metadata={"confidence": 0.5}) for i in range(2))
    assert words in damaged(write_inspect_json(tmp_path / "x.json", [one, two | change]))


def test_runs_that_did_not_finish_say_so(tmp_path):
    samples = [inspect_sample(1, "C", metadata={"confidence": 0.5})]
    found = eval_log(write_inspect_json(tmp_path / "x.json", samples, status="cancelled"))
    assert any("did not finish: its status is 'cancelled'" in note for note in found.notes)
    rows = [row for row in openai_rows([(True, "4", -0.1)]) if "final_report" not in row]
    assert "has no final report" in eval_log(write_lines(tmp_path / "y.jsonl", rows)).notes[0]


def test_zstd_needs_a_backport_before_python_3_14(tmp_path, monkeypatch):
    import importlib
    import sys

    packed = pytest.importorskip("backports.zstd.zipfile")
    if sys.version_info >= (3, 14):
        pytest.skip("Python itself reads zstd")
    path = write_eval(tmp_path / "x.eval", [inspect_sample(1)], zipped=packed, method=93)
    real = importlib.import_module

    def without(name, *more):
        if name.startswith(("backports", "zstandard")):
            raise ImportError(name)
        return real(name, *more)

    monkeypatch.setattr(importlib, "import_module", without)
    with pytest.raises(
        tn.errors.MissingLibraryError, match=r"x.eval is compressed with zstd.*trueness\[evals\]"
    ):
        eval_log(path)


def test_a_large_log_is_read_piece_by_piece(tmp_path):
    """Elements that are cut by the pieces of a megabyte, letters of several bytes, and blanks."""
    long = "é😀" * 60_000
    samples = [inspect_sample(i, "C", text=f"{long} Confidence: {50 + i}%") for i in range(5)]
    path = tmp_path / "x.json"
    header = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}}
    path.write_text(
        json.dumps(header | {"samples": samples}, ensure_ascii=False, indent=2), encoding="utf-8"
    )
    assert eval_log(path).confidence.tolist() == [0.5, 0.51, 0.52, 0.53, 0.54]


def test_the_last_place_of_an_answer_counts_and_of_those_after_the_word_answer_the_last(tmp_path):
    long = "the answer. and " * 6 + "yes"
    tokens = [
        (long, 0.9),
        (" ", 0.5),
        (f"Answer: {long}", 0.8),
        (" or ", 0.5),
        (long, 0.7),
        ("t ", 0.5),
        ("A", 0.6),
    ]
    for answer, probability in ((long, 0.8), ("A", 0.6), ("or", 0.5)):
        sample = with_tokens(inspect_sample(1, text="x", answer=answer), tokens)
        found = tn.sources.eval_log(
            write_inspect_json(tmp_path / "log.json", [sample]), confidence="logprob"
        )
        assert found.confidence[0] == pytest.approx(probability)


def test_an_answer_that_repeats_itself_takes_time_in_proportion_to_its_length(tmp_path):
    def seconds(n):
        text = "a " * (n // 2)
        sample = with_tokens(
            inspect_sample(1, text="x", answer=f"{text[: n // 2]}b"), [(text, 0.5)]
        )
        path = write_inspect_json(tmp_path / f"{n}.json", [sample])
        start = time.process_time()
        with pytest.raises(tn.InputError, match="not among the tokens"):
            tn.sources.eval_log(path, confidence="logprob")
        return time.process_time() - start

    assert seconds(400_000) < 64 * max(seconds(25_000), seconds(25_000))
