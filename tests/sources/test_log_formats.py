"""Logs of other tools and of any JSON, made by hand as their formats are documented, against obvious parsers."""

import json
import math
import random
from importlib.metadata import EntryPoint

import numpy as np
import pytest
from eval_logs import write_lines
from mutated_logs import ODD, fault_of, places, replaced, write

import trueness as tn
from trueness.sources import eval_log
from trueness.sources.logs.formats import _plugins as plugin_formats


def pairs(found):
    return list(zip(found.label.tolist(), found.confidence.tolist(), strict=True))


def refusal(path, **options):
    with pytest.raises(tn.errors.InputError) as error:
        eval_log(path, **options)
    return str(error.value)


# Chat-completion batches


def completion(identity, texts, logs=(), **more):
    """A line of the output of a batch: one completion per text, each of tokens with these logs."""
    choices = []
    for i, text in enumerate(texts):
        tokens = [{"token": text[k : k + 1], "logprob": log} for k, log in enumerate(logs)]
        message = {"role": "assistant", "content": text, "refusal": None}
        content = {"content": tokens} if logs else None
        choices.append(
            {"index": i, "message": message, "logprobs": content, "finish_reason": "stop"}
        )
    body = {"id": "c", "object": "chat.completion", "model": "gpt-x", "choices": choices}
    response = {"status_code": 200, "request_id": "r", "body": body}
    return {"id": "b", "custom_id": identity, "response": response, "error": None} | more


def write_key(path, targets):
    rows = "\n".join(f'{identity},"{target}"' for identity, target in targets.items())
    path.write_text(f"id,target\n{rows}\n")
    return path


def test_a_batch_is_judged_by_a_key_and_its_confidence_is_the_product_of_all_tokens(tmp_path):
    rows = [completion("a", ["4"], [-0.1]), completion("b", ["17"], [-0.2, -0.5])]
    rows += [completion("c", [" 9 "], [-0.3, -0.1, -0.1])]
    failed = {"status_code": 429, "request_id": "r", "body": {"error": {"code": "rate_limit"}}}
    rows += [completion("d", ["1"], response=failed), completion("e", ["1"], [-1.0])]
    rows += [completion("f", [], response=None, error={"code": "expired", "message": "late"})]
    log = write_lines(tmp_path / "batch.jsonl", rows)
    key = {"a": "4", "b": "18", "c": "9", "d": "1", "f": "1"}
    found = eval_log(log, targets=write_key(tmp_path / "key.csv", key))
    expected = []
    for line in log.read_text().splitlines():
        row = json.loads(line)
        body = (row["response"] or {}).get("body", {})
        if "choices" in body and row["custom_id"] in key:
            (choice,) = body["choices"]
            right = choice["message"]["content"].strip() == key[row["custom_id"]]
            logs = [token["logprob"] for token in choice["logprobs"]["content"]]
            expected.append((int(right), pytest.approx(math.exp(sum(logs)))))
    assert pairs(found) == expected
    assert found.missing == {
        "the request failed (status 429)": 1,
        "the request failed (expired)": 1,
        f"not scored (not in {tmp_path / 'key.csv'})": 1,
    }
    assert set(found.model) == {"gpt-x"}
    assert set(found.source) == {"probability of the answer's tokens"}


def test_a_batch_of_an_older_vllm_and_a_key_in_python_are_read_alike(tmp_path):
    row = completion("a", ["4"], [-0.1])
    older = row | {"response": row["response"]["body"]}
    for name, line in (("new", row), ("old", older)):
        found = eval_log(write_lines(tmp_path / f"{name}.jsonl", [line]), targets={"a": 4})
        assert pairs(found) == [(1, pytest.approx(math.exp(-0.1)))]


def test_completions_of_one_request_agree_with_each_other(tmp_path):
    rows = [completion("a", ["4", "4", "5"]), completion("b", ["1", "2", "2"])]
    log = write_lines(tmp_path / "batch.jsonl", rows)
    found = eval_log(log, targets={"a": "4", "b": "2"}, confidence="agreement")
    assert pairs(found) == [(1, 0.5), (1, 0.5), (0, 0), (0, 0), (1, 0.5), (1, 0.5)]
    assert found.epoch.tolist() == [1, 2, 3, 1, 2, 3]
    assert found.answer.tolist() == ["4", "4", "5", "1", "2", "2"]


def test_a_key_without_any_id_of_the_log_is_refused_and_says_both(tmp_path):
    log = write_lines(tmp_path / "batch.jsonl", [completion("a", ["4"], [-0.1])])
    assert f"it has 'x', and {log} 'a'" in refusal(log, targets={"x": "4"})
    assert "must have the columns" in refusal(log, targets=write_lines(tmp_path / "k.csv", [{}]))
    twice = tmp_path / "twice.csv"
    twice.write_text("id,target\na,1\na,2\n")
    assert "line 3: 'a' has '1' and '2'" in refusal(log, targets=twice)
    assert "No such file" in refusal(log, targets=tmp_path / "none.csv")


def test_requests_are_no_log(tmp_path):
    request = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {}}
    log = write_lines(tmp_path / "in.jsonl", [request])
    assert "is not a log" in refusal(log)


# Any JSON, by the fields that the caller names


def test_rows_texts_answers_and_targets_of_any_json_are_named_by_their_paths(tmp_path):
    rows = [
        {"q": i, "out": {"text": f"I say {i % 3}. Confidence: {60 + i} %", "final": i % 3}}
        | {"gold": "1"}
        for i in range(6)
    ]
    log = tmp_path / "other.json"
    log.write_text(
        json.dumps({"about": {"x": [1]}, "results": {"n": 6, "results": rows}}, indent=1)
    )
    named = {"rows_field": "results.results", "text_field": "out.text"}
    named |= {"answer_field": "out.final", "target_field": "gold"}
    expected = [(int(str(r["out"]["final"]) == r["gold"]), (60 + r["q"]) / 100) for r in rows]
    assert pairs(eval_log(log, **named)) == expected
    stated = eval_log(log, confidence=r"regex:Confidence: (\d+)", **named)
    assert pairs(stated) == expected
    lines = write_lines(tmp_path / "other.jsonl", rows)
    assert pairs(eval_log(lines, **(named | {"rows_field": None}))) == expected
    chunks = [{"results": {"results": rows[:2]}}, {"results": {"results": rows[2:]}}]
    lines = write_lines(tmp_path / "chunks.jsonl", chunks)
    assert pairs(eval_log(lines, **named)) == expected


def test_ids_make_questions_and_answers_with_one_id_are_samples_of_it(tmp_path):
    rows = [{"id": i // 3, "say": "ABA"[i % 3] if i < 3 else "BBA"[i % 3]} for i in range(6)]
    log = write_lines(tmp_path / "x.jsonl", rows)
    named = {"text_field": "say", "id_field": "id", "targets": {0: "A", 1: "B"}}
    found = eval_log(log, confidence="agreement", **named)
    assert pairs(found) == [(1, 0.5), (0, 0), (1, 0.5), (1, 0.5), (1, 0.5), (0, 0)]
    assert found.question.tolist() == ["x/0"] * 3 + ["x/1"] * 3
    assert found.epoch.tolist() == [1, 2, 3] * 2


@pytest.mark.parametrize(
    "beside",
    [
        {"logprobs": {"content": [{"token": "4", "logprob": -0.25}]}},
        {"logprobs": [{"token": "4", "logprob": -0.25}]},
        {"logprobs": [-0.125, -0.125]},
        {"logprob": -0.25},
    ],
)
@pytest.mark.parametrize("depth", [0, 1])
def test_log_probabilities_stand_beside_the_text_or_what_holds_it(tmp_path, beside, depth):
    row = {"message": {"content": "4"}} | beside if depth else {"content": "4"} | beside
    path = "out.message.content" if depth else "out.content"
    log = write_lines(tmp_path / "x.jsonl", [{"out": row, "y": "4"}])
    found = eval_log(log, text_field=path, target_field="y", confidence="logprob")
    assert pairs(found) == [(1, pytest.approx(math.exp(-0.25)))]


def test_options_that_contradict_each_other_or_name_nothing_are_refused(tmp_path):
    log = write_lines(tmp_path / "x.jsonl", [{"say": "4", "y": "4", "p": 0.5}])
    both = {"label_field": "y", "target_field": "y", "text_field": "say"}
    assert "stands in place of `label_field`" in refusal(log, **both)
    assert "`target_field` must be a string" in refusal(log, target_field=3)
    assert "is not a log" in refusal(log, targets={"a": "4"}, text_field="say")
    assert "no field 'nowhere': 1" in refusal(log, text_field="nowhere", target_field="y")
    assert "no field 'none': 1" in refusal(
        log, text_field="say", answer_field="none", target_field="y"
    )
    assert "has no object at 'rows'" in refusal(
        log, rows_field="rows", label_field="y", confidence_field="p"
    )
    whole = tmp_path / "whole.json"
    whole.write_text('{\n"rows": []}')
    assert "`rows_field` names the array" in refusal(whole, text_field="say", target_field="y")
    batch = write_lines(tmp_path / "batch.jsonl", [completion("a", ["4"], [-0.1])])
    assert "`targets` says which answers are right" in refusal(batch)
    named = {"rows_field": "p.q", "label_field": "y", "confidence_field": "p"}
    assert "an object with 'q' expected" in refusal(log, **named)


# promptfoo


def promptfoo_row(i, output, success, repeat=0, **more):
    return {
        "promptIdx": 0,
        "testIdx": i,
        "testCase": {"vars": {"q": i}, "metadata": {"topic": "sums"}},
        "provider": {"id": "openai:gpt-x", "label": ""},
        "prompt": {"raw": f"What is {i}?", "label": "p"},
        "vars": {"q": i},
        "response": {"output": output, "logProbs": [-0.1, -0.2]},
        "success": success,
        "score": float(success),
        "failureReason": 0 if success else 1,
        "gradingResult": {"pass": success, "score": float(success), "reason": "…"},
        "namedScores": {"tone": 1},
        "repeat": repeat,
    } | more


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_promptfoo(tmp_path, form):
    rows = [promptfoo_row(i, f"{i}. Confidence: {50 + i} %", i % 2 == 0) for i in range(4)]
    rows += [promptfoo_row(9, None, False, failureReason=2, error="timeout")]
    log = tmp_path / f"results.{form}"
    if form == "jsonl":
        write_lines(log, rows)
    else:
        results = {"version": 3, "timestamp": "2026-01-01", "prompts": [{"raw": "…"}]}
        whole = {"evalId": "eval-1", "results": results | {"results": rows, "stats": {}}}
        log.write_text(json.dumps(whole | {"config": {}}, indent=2))
    stated = eval_log(log, confidence="stated")
    assert pairs(stated) == [(int(r["success"]), (50 + r["testIdx"]) / 100) for r in rows[:4]]
    assert stated.missing == {"errored": 1}
    assert set(stated.subject) == {"sums"}
    assert set(stated.model) == {"openai:gpt-x"}
    assert eval_log(log).confidence.tolist() == pytest.approx([math.exp(-0.3)] * 4)
    assert eval_log(log, scorer="tone").label.tolist() == [1] * 4


def test_repeats_of_promptfoo_are_samples_of_one_question(tmp_path):
    rows = [promptfoo_row(0, text, True) for text in ("4", "4", "5")]
    found = eval_log(write_lines(tmp_path / "r.jsonl", rows), confidence="agreement")
    assert found.confidence.tolist() == [0.5, 0.5, 0]


# deepeval


def deepeval_case(i, output, **passed):
    metrics = [
        {"name": name, "threshold": 0.5, "success": value, "score": 0.7}
        for name, value in passed.items()
    ]
    case = {"name": f"case {i}", "input": f"Q{i}", "actualOutput": output, "expectedOutput": "4"}
    return case | {"success": all(passed.values()), "metricsData": metrics, "order": i}


@pytest.mark.parametrize("latest", [False, True])
def test_deepeval(tmp_path, latest):
    cases = [deepeval_case(i, f"4. Confidence: {70 + i} %", Right=i != 1) for i in range(3)]
    run = {"testCases": cases, "conversationalTestCases": [], "metricsScores": []}
    log = tmp_path / "test_run.json"
    log.write_text(json.dumps({"testRunData": run, "testRunLink": None} if latest else run))
    expected = [
        (int(case["metricsData"][0]["success"]), (70 + case["order"]) / 100) for case in cases
    ]
    assert pairs(eval_log(log)) == expected
    by_target = eval_log(log, target_field="expectedOutput", confidence="stated")
    assert by_target.label.tolist() == [0, 0, 0]


def test_several_metrics_of_deepeval_must_be_chosen_among(tmp_path):
    cases = [deepeval_case(0, "4 Confidence: 70 %", Right=True, Kind=False)]
    log = tmp_path / "run.json"
    log.write_text(json.dumps({"testCases": cases, "metricsScores": []}))
    assert "it has Right, Kind" in refusal(log)
    assert eval_log(log, scorer="Kind").label.tolist() == [0]
    assert eval_log(log, label_field="success").label.tolist() == [0]


# langfuse


def trace(i, right, sure, **more):
    scores = [{"id": "s", "name": "right", "value": right, "dataType": "BOOLEAN"}]
    if sure is not None:
        scores += [{"id": "t", "name": "confidence", "value": sure, "dataType": "NUMERIC"}]
    about = {"id": f"t{i}", "timestamp": "2026-01-01T00:00:00Z", "name": "qa", "projectId": "p"}
    messages = [{"role": "user", "content": f"Q{i}"}]
    output = {"role": "assistant", "content": f"{i}"}
    return about | {"input": messages, "output": output, "scores": scores} | more


@pytest.mark.parametrize("form", ["array", "lines", "page"])
def test_langfuse(tmp_path, form):
    traces = [trace(i, i % 2, 0.5 + i / 10) for i in range(4)] + [trace(4, 1, None)]
    log = tmp_path / "traces.json"
    if form == "lines":
        write_lines(log, traces)
    else:
        log.write_text(json.dumps(traces if form == "array" else {"data": traces, "meta": {}}))
    found = eval_log(log)
    expected = []
    for one in traces[:4]:
        scores = {score["name"]: score["value"] for score in one["scores"]}
        expected.append((scores["right"], scores["confidence"]))
    assert pairs(found) == expected
    assert found.missing == {"no confidence": 1}
    assert found.answer.tolist() == ["0", "1", "2", "3"]


def test_scores_of_langfuse_may_be_words_and_lists_but_not_ids(tmp_path):
    words = [{"name": "grade", "dataType": "CATEGORICAL", "stringValue": "incorrect", "value": 1}]
    rows = [trace(0, 1, 0.5, scores=[*words, {"name": "confidence", "value": 0.25}])]
    assert pairs(eval_log(write_lines(tmp_path / "w.jsonl", rows))) == [(0, 0.25)]
    rows = [trace(0, 1, 0.5, scores={"right": [1], "confidence": [0.75]})]
    assert pairs(eval_log(write_lines(tmp_path / "l.jsonl", rows))) == [(1, 0.75)]
    rows = [trace(0, 1, 0.5, scores=["id-1"])]
    assert "has the ids of scores" in refusal(write_lines(tmp_path / "i.jsonl", rows))


# lighteval


def write_details(path, rows):
    pl = pytest.importorskip("polars")
    path.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(rows).write_parquet(path)
    return path


def choice_row(i, logs, gold):
    doc = {"id": str(i), "query": "Q", "choices": [" a", " bb"], "gold_index": gold}
    right = float(np.argmax(logs) == gold)
    response = {"text": [], "logprobs": logs, "input_tokens": [1, 2]}
    doc |= {"task_name": "t|0", "specific": {"subject": "law"}}
    return {"doc": doc, "metric": {"acc": right}, "model_response": response}


def test_options_of_lighteval(tmp_path):
    rows = [choice_row(0, [-1.0, -2.0], 0), choice_row(1, [-0.5, -0.25], 0)]
    time = "2026-01-01T00-00-00.0"
    log = write_details(tmp_path / f"details/org/m/{time}/details_t|0_{time}.parquet", rows)
    found = eval_log(log)
    for i, row in enumerate(rows):
        powers = np.exp(row["model_response"]["logprobs"])
        assert found.options[i] == pytest.approx(powers / powers.sum())
        assert found.confidence[i] == pytest.approx(max(powers) / powers.sum())
        assert found.label[i] == row["metric"]["acc"]
    assert found.right_option.tolist() == [0, 0]
    assert set(found.model) == {"org/m"}
    assert found.question.tolist() == ["t|0/0", "t|0/1"]
    assert set(found.subject) == {"law"}
    assert pairs(eval_log(tmp_path)) == pairs(found)


def test_texts_of_lighteval(tmp_path):
    rows = []
    for i, texts in enumerate((["4 Confidence: 80 %"], ["5 Confidence: 60 %"])):
        doc = {"id": str(i), "query": "Q", "choices": ["4"], "gold_index": [0]}
        response = {"text": texts, "logprobs": []}
        rows.append({"doc": doc, "metric": {"em": 1 - i}, "model_response": response})
    found = eval_log(write_details(tmp_path / "details_x.parquet", rows))
    assert pairs(found) == [(1, 0.8), (0, 0.6)]


# UQLM


def test_uqlm(tmp_path):
    data = {
        "prompts": ["a", "b", "c"],
        "responses": ["4", "5", "6"],
        "sampled_responses": [["4", "4", "3"], ["5", "1", "2"], ["6", "6", "6"]],
        "exact_match": [2 / 3, 1 / 3, 1.0],
    }
    log = tmp_path / "uq.json"
    log.write_text(json.dumps({"data": data, "metadata": {"temperature": 1.0}}))
    targets = {"a": "4", "b": "7", "c": "6"}
    found = eval_log(log, targets=targets)
    labels = [
        int(response == targets[prompt])
        for prompt, response in zip(data["prompts"], data["responses"], strict=True)
    ]
    assert pairs(found) == list(zip(labels, data["exact_match"], strict=True))
    agreement = eval_log(log, targets=targets, confidence="agreement")
    assert agreement.confidence.tolist() == pytest.approx(data["exact_match"])
    two = data | {"semantic_negentropy": [0.5, 0.25, 0.75]}
    log.write_text(json.dumps({"data": two, "metadata": {}}))
    found = eval_log(log, targets=targets, confidence="semantic_negentropy")
    assert found.confidence.tolist() == [0.5, 0.25, 0.75]
    log.write_text(json.dumps({"data": data | {"exact_match": [1]}, "metadata": {}}))
    assert "must have one entry per response" in refusal(log, targets=targets)


# Formats of other packages


class Reader:
    @staticmethod
    def recognise(path, start):
        return start.startswith(b"MINE")

    @staticmethod
    def read(path):
        for line in path.read_text().splitlines()[1:]:
            question, label, confidence = line.split()
            yield {"question": question, "label": int(label), "confidence": float(confidence)}


@pytest.fixture
def plugins(monkeypatch):
    def install(*readers):
        class Entry(EntryPoint):
            def load(self):
                reader = dict(readers)[self.name]
                if isinstance(reader, Exception):
                    raise reader
                return reader

        entries = [Entry(name, f"package:{name}", "trueness.logs") for name, _ in readers]
        monkeypatch.setattr(plugin_formats, "entry_points", lambda group: entries)
        plugin_formats._plugins.cache_clear()

    yield install
    plugin_formats._plugins.cache_clear()


def test_another_package_adds_a_format_by_an_entry_point(tmp_path, plugins):
    log = tmp_path / "log.mine"
    log.write_text("MINE\na 1 0.75\nb 0 0.5\n")
    plugins(("mine", Reader))
    found = eval_log(log)
    assert pairs(found) == [(1, 0.75), (0, 0.5)]
    assert found.question.tolist() == ["log/a", "log/b"]
    log.write_text("MINE\na x 0.75\n")
    assert "log.mine" in refusal(log)


def test_a_reader_that_cannot_be_loaded_is_left_out_with_a_warning(tmp_path, plugins):
    log = tmp_path / "log.mine"
    log.write_text("MINE\na 1 0.75\n")
    plugins(("broken", ImportError("no module")), ("mine", Reader))
    with pytest.warns(tn.errors.TruenessWarning, match="'broken' .* cannot be loaded: no module"):
        assert pairs(eval_log(log)) == [(1, 0.75)]


# Agreement of few samples


def test_agreement_of_few_samples_is_corrected_by_one_factor_from_50_questions_on(tmp_path):
    rng = np.random.default_rng(1)
    rows, counts = [], []
    for i in range(60):
        drawn = rng.choice(list("ABC"), 4, p=rng.dirichlet([1, 1, 1])).tolist()
        counts += [drawn.count(one) for one in drawn]
        rows += [{"id": i, "say": one, "y": "A"} for one in drawn]
    counts = np.array(counts)
    named = {"text_field": "say", "id_field": "id", "target_field": "y"}
    found = eval_log(write_lines(tmp_path / "x.jsonl", rows), confidence="agreement", **named)
    factor = ((counts - 1) / 3).mean() / (counts / 4).mean()
    assert found.confidence == pytest.approx(factor * counts / 4)
    assert f"times {factor:.3f}" in found.notes[0]
    assert "not correctness" in found.notes[0]
    assert set(found.source) == {"share of the samples that agree, corrected for few samples"}
    few = eval_log(write_lines(tmp_path / "y.jsonl", rows[:80]), confidence="agreement", **named)
    assert few.confidence == pytest.approx((counts[:80] - 1) / 3)


def off_by(stated, truth):
    """The mean distance of a confidence from the mean truth of all rows that state it."""
    _, place = np.unique(stated.round(9), return_inverse=True)
    gaps = np.bincount(place, truth) - np.bincount(place, stated)
    return np.abs(gaps).sum() / len(truth)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [[0.3] * 5, [1] * 5, [0.5] * 2, [0.1] * 20])
@pytest.mark.parametrize("samples", [2, 3, 5, 10, 20])
def test_agreement_of_few_samples_is_corrected(tmp_path, alpha, samples):
    """Of 2,000 questions of one law; off by at most .049 in twenty settings, without the factor by .42."""
    rng = np.random.default_rng(7)
    chances = rng.dirichlet(alpha, 2000)
    drawn = np.array([rng.choice(len(alpha), samples, p=p) for p in chances])
    rows = [{"id": i, "say": str(a), "y": "0"} for i, few in enumerate(drawn) for a in few]
    named = {"text_field": "say", "id_field": "id", "target_field": "y"}
    found = eval_log(write_lines(tmp_path / "x.jsonl", rows), confidence="agreement", **named)
    truth = np.take_along_axis(chances, drawn, 1).ravel()
    counts = (drawn[:, :, None] == drawn[:, None, :]).sum(2).ravel()
    of_others = (counts - 1) / (samples - 1)
    assert off_by(found.confidence, truth) < 0.06
    assert off_by(found.confidence, truth) < off_by(of_others, truth) + 0.005


# Damaged and hostile


def hostile_logs():
    yield "batch.jsonl", [completion("a", ["4"], [-0.1])], {"targets": {"a": "4"}}
    yield "promptfoo.jsonl", [promptfoo_row(0, "Confidence: 60 %", True)], {}
    cases = {"testCases": [deepeval_case(0, "Confidence: 60 %", Right=True)], "metricsScores": []}
    yield "deepeval.json", cases, {}
    yield "langfuse.jsonl", [trace(0, 1, 0.5)], {}
    data = {"prompts": ["a"], "responses": ["4"], "sampled_responses": [["4"]], "s": [0.5]}
    yield "uqlm.json", {"data": data, "metadata": {}}, {"targets": {"a": "4"}}


HOSTILE = [*hostile_logs()]


def faults_of(folder, name, content, options, mutants):
    for path, value in mutants:
        file = write(folder / name, replaced(content, path, value))
        fault = fault_of(file, options)
        if fault:
            yield f"{path} = {str(value)[:30]!r}: {fault}"


def mutants_of(content):
    return [(path, value) for path in places(content) for value in ODD]


@pytest.mark.parametrize(("name", "content", "options"), HOSTILE)
def test_other_formats_with_another_value_are_read_or_refused_by_name(
    tmp_path, name, content, options
):
    mutants = random.Random(1).sample(mutants_of(content), 25)
    assert not [*faults_of(tmp_path, name, content, options, mutants)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "content", "options"), HOSTILE)
def test_other_formats_with_any_other_value_are_read_or_refused_by_name(
    tmp_path, name, content, options
):
    assert not [*faults_of(tmp_path, name, content, options, mutants_of(content))]


@pytest.mark.parametrize(("name", "content", "options"), HOSTILE)
def test_other_formats_that_were_cut_are_refused_by_name(tmp_path, name, content, options):
    file = write(tmp_path / name, content)
    text = file.read_text()
    for cut in range(0, len(text) - 2, len(text) // 10):
        file.write_text(text[:cut])
        assert fault_of(file, options) == ""
