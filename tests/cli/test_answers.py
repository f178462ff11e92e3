"""Commands read logs of evaluations like any table."""

import csv
import io
import json
import shlex

import numpy as np
import pytest
from eval_logs import (
    generated_row,
    inspect_sample,
    lm_eval_row,
    write_eval,
    write_inspect_json,
    write_lines,
)

import trueness as tn


def samples(right, seed, n=30, epochs=2):
    rng = np.random.default_rng(seed)
    return [
        inspect_sample(
            i,
            "C" if rng.random() < right else "I",
            epoch=e,
            metadata={"confidence": float(p), "who": "x"},
        )
        for e in range(1, epochs + 1)
        for i, p in enumerate(rng.choice([0.5, 0.7, 0.9], n))
    ]


@pytest.fixture
def logs(tmp_path):
    write_eval(tmp_path / "a.eval", samples(0.7, 1), model="mock/a")
    write_eval(tmp_path / "b.eval", samples(0.4, 2)[:-3], model="mock/b")
    return tmp_path


def table(result):
    assert result.exit_code == 0, result.stderr
    return list(csv.DictReader(io.StringIO(result.stdout)))


def test_measure_takes_answers_with_questions_as_clusters(call, logs):
    result = call("measure", "a.eval", "--format", "json")
    found = tn.sources.eval_log(logs / "a.eval")
    data = json.loads(result.stdout)
    assert data["data"]["cluster"] == "question"
    (model,) = data["models"]
    assert model["measures"]["ece"] == pytest.approx(tn.ece(found.label, found.confidence))
    own = tn.estimate("ece", found.label, found.confidence, cluster=found.cluster, seed=0)
    assert model["measures"]["ece_low"] == pytest.approx(own.low)
    assert (
        "60 answers to 30 questions. Confidence: confidence recorded with the score."
        in result.stderr
    )


def test_sources_are_not_pooled_unless_asked_and_then_not_silently(call, logs):
    write_lines(
        logs / "samples_t.jsonl", [lm_eval_row(i, [-1.0, -2.0], str(i % 2)) for i in range(20)]
    )
    result = call("measure", "a.eval", "samples_t.jsonl", "--format", "csv", "--no-intervals")
    lines = table(result)
    assert [line["group"] for line in lines] == [
        "confidence recorded with the score",
        "softmax of the options' log-likelihoods",
    ]
    assert "groups by source: they are not pooled" in result.stderr
    result = call(
        "measure",
        "a.eval",
        "samples_t.jsonl",
        "--by",
        "metadata.topic",
        "--no-intervals",
        "--missing",
        "drop",
    )
    assert (
        "Confidences of different sources are pooled: confidence recorded with the score; softmax"
        in result.stderr
    )


def test_models_with_several_sources_each_are_crossed(call, logs):
    lines = [lm_eval_row(i, [-1.0, -2.0], str(i % 2)) for i in range(20)]
    write_lines(logs / "samples_t.jsonl", lines)
    found = table(
        call("measure", "a.eval", "b.eval", "samples_t.jsonl", "--format", "csv", "--no-intervals")
    )
    assert {line["by"] for line in found} == {"origin"}
    assert [line["group"] for line in found] == [
        "confidence recorded with the score, mock/a, sums",
        "confidence recorded with the score, mock/b, sums",
        "softmax of the options' log-likelihoods, t",
    ]


def test_models_are_compared_on_the_questions_and_epochs_that_both_answered(call, logs):
    result = call("compare", "a.eval", "b.eval", "--format", "csv", "--measure", "brier")
    (line,) = table(result)
    assert "3 rows have no partner with the same question and epoch" in result.stderr
    a, b = (tn.sources.eval_log(logs / f"{name}.eval") for name in "ab")
    at = {(q, e): i for i, (q, e) in enumerate(zip(a.question, a.epoch, strict=True))}
    rows = [at[q, e] for q, e in zip(b.question, b.epoch, strict=True)]
    labels = {"mock/a": a.label[rows], "mock/b": b.label}
    scores = {"mock/a": a.confidence[rows], "mock/b": b.confidence}
    own = tn.compare(labels, scores, measure="brier", cluster=b.question)["mock/a", "mock/b"]
    assert (line["first"], line["second"]) == ("mock/a", "mock/b")
    assert float(line["difference"]) == pytest.approx(own.difference)
    assert float(line["pvalue"]) == pytest.approx(own.pvalue)
    assert float(line["first_estimate"]) == pytest.approx(
        tn.brier(labels["mock/a"], scores["mock/a"])
    )


def test_one_model_in_two_logs_is_compared_by_file_and_one_log_is_refused(call, fails, logs):
    write_eval(logs / "c.eval", samples(0.5, 3), model="mock/a")
    (line,) = table(call("compare", "a.eval", "c.eval", "--format", "csv", "--no-intervals"))
    assert (line["first"], line["second"]) == ("a", "c")
    assert "must be logs of two models or more to compare; got 'a'" in fails("compare", "a.eval")


def test_logs_whose_questions_differ_under_one_id_are_not_paired(fails, logs):
    write_eval(
        logs / "c.eval", [one | {"input": "Another?"} for one in samples(0.5, 3)], model="mock/c"
    )
    assert "must have the same questions; 'sums/0' differs" in fails("compare", "a.eval", "c.eval")


@pytest.mark.slow
def test_answers_are_written_and_read_again(call, fails, logs):
    result = call("answers", "a.eval", "b.eval", "--by", "metadata.topic", "-o", "x.parquet")
    assert result.exit_code == 0, result.stderr
    own = table(call("measure", "a.eval", "b.eval", "--by", "model", "--format", "csv"))
    again = table(
        call("measure", "x.parquet", "--cluster", "question", "--by", "model", "--format", "csv")
    )
    assert [line["ece"] for line in again] == [line["ece"] for line in own]
    call("answers", "a.eval", "-o", "x.csv")
    assert (
        (logs / "x.csv")
        .read_text()
        .startswith("label,confidence,question,epoch,task,subject,source,model")
    )
    assert "`--output` must end in .parquet or .arrow or .csv or .jsonl" in fails(
        "answers", "a.eval", "-o", "x.txt"
    )


def test_confidences_and_labels_by_pattern_and_by_field(call, logs):
    rows = [generated_row(i, f"4. Sure: {50 + i}", float(i % 2)) for i in range(40)]
    write_lines(logs / "samples_g.jsonl", rows)
    quick = ("--format", "csv", "--no-intervals")

    def ece(*arguments):
        return next(
            float(line["confidence" if "--prob" not in arguments else "a.p"])
            for line in table(call("measure", *arguments, *quick))
            if line["measure"] == "ece"
        )

    expected = tn.ece([i % 2 for i in range(40)], [(50 + i) / 100 for i in range(40)])
    assert ece("samples_g.jsonl", "--confidence", r"regex:Sure: (\d+)") == pytest.approx(expected)
    write_lines(logs / "own.jsonl", [{"a": {"ok": i % 2, "p": i / 40}} for i in range(40)])
    named = ece("own.jsonl", "--label", "a.ok", "--prob", "a.p")
    assert named == ece("own.jsonl", "--label-field", "a.ok", "--confidence-field", "a.p")


def test_a_field_that_no_answer_has_is_named(fails, logs):
    for command in (
        ["measure", "a.eval", "--cluster", "nope"],
        ["answers", "a.eval", "--by", "nope", "-o", "x.csv"],
    ):
        assert "No answer of a.eval has a field 'nope'" in fails(*command)
    assert not (logs / "x.csv").exists()


def test_logs_of_lm_eval_are_compared_although_they_keep_no_input(call, tmp_path):
    for name in "ab":
        rows = [lm_eval_row(i, [-1.0 - i % 7, -2.0], "0", acc=float(i % 7 < 2)) for i in range(40)]
        (tmp_path / name).mkdir()
        write_lines(tmp_path / name / "samples_t.jsonl", rows)
        write_lines(tmp_path / name / "results.json", [{"model_name": name}])
    files = ["a/samples_t.jsonl", "b/samples_t.jsonl"]
    (line,) = table(call("compare", *files, "--format", "csv", "--no-intervals"))
    assert float(line["difference"]) == 0


def test_a_misspelt_source_is_refused_in_the_words_of_the_command(fails, logs):
    message = fails("measure", "a.eval", "--confidence", "logprobs")
    assert message.startswith(
        "`--confidence` must be a source of confidences or a field of the samples; "
    )
    assert message.endswith("Did you mean 'logprob'?")


@pytest.mark.parametrize("name", ["platt-scaling", "temperature-scaling"])
def test_any_map_is_fitted_on_a_log(call, logs, name):
    result = call("fit", "a.eval", "--calibrator", name, "-o", "map.json")
    assert result.exit_code == 0, result.stderr
    assert "fitted on 60 rows" in result.stderr


def test_a_gate_and_a_tally_read_logs(call, logs):
    assert call("gate", "a.eval", "--max-ece", "0.9").exit_code == 0
    result = call("tally", "a.eval", "b.eval", "-o", "x.tally")
    assert result.exit_code == 0, result.stderr
    total = tn.Accumulator.load(logs / "x.tally")
    names = [f"confidence recorded with the score, mock/{one}, sums" for one in "ab"]
    assert (total.n, total.by, list(total.groups)) == (117, "origin", names)
    # The sums of two models are judged as the rows are: each by itself.
    for one in ("a.eval", "b.eval"), ("x.tally",):
        lines = json.loads(call("gate", *one, "--max-ece", "0.9", "--format", "json").stdout)[
            "findings"
        ]
        assert [line["n"] for line in lines] == [60, 57]


@pytest.mark.slow
def test_a_report_says_where_confidences_come_from(call, logs):
    spoilt = [inspect_sample(99, "C", error={"message": "x"}), *samples(0.2, 5)]
    write_inspect_json(logs / "c.json", spoilt, model="mock/c")
    result = call("report", "c.json", "--format", "markdown", "--no-intervals")
    assert result.exit_code == 0, result.stderr
    section = result.stdout.partition("## Where the confidences come from")[2].partition("\n## ")[0]
    assert "confidence recorded with the score" in section
    assert "mock/c" in section
    assert "Samples that do not count: errored (1)." in section
    # Few right answers with confidences above a half are no reason to suspect the wrong column.
    assert "confidences of the predicted class" not in result.stdout
    page = call("report", "c.json", "a.eval", "-o", "x.html", "--no-intervals")
    assert page.exit_code == 0, page.stderr
    html = (logs / "x.html").read_text()
    assert html.count('id="confidences"') == 1
    assert "groups by model" in page.stderr


@pytest.mark.slow
def test_a_report_of_a_log_has_risk_against_coverage_and_the_certified_threshold(call, tmp_path):
    sure = np.repeat([0.99, 0.6], 300)
    right = np.random.default_rng(0).random(600) < sure
    lines = [
        json.dumps({"ok": bool(a), "sure": b}) for a, b in zip(right, sure.tolist(), strict=True)
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(lines))
    result = call(
        "report",
        "log.jsonl",
        "--label-field",
        "ok",
        "--confidence-field",
        "sure",
        "--format",
        "json",
    )
    found = json.loads(result.stdout)["models"][0]["decisions"]
    assert (
        found["risk"]["aurc"]["value"] == tn.risk_coverage(right, sure, kind="correct").aurc.value
    )
    assert (found["benefit"], found["accept"]["threshold"]) == (None, 0.99)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["json", "eval"])
def test_a_log_of_100_megabytes_takes_little_more_memory_than_a_small_one(peak_of, tmp_path, form):
    write = write_inspect_json if form == "json" else write_eval
    events = [{"event": "model", "data": "x" * 100_000}] * 10
    peaks = []
    for n in (2, 100):
        rows = [one | {"events": events} for one in samples(0.7, 1, n=n, epochs=1)]
        write(tmp_path / f"{n}.{form}", rows)
        done, peak = peak_of("answers", f"{n}.{form}", "-o", f"{n}.csv")
        assert done.returncode == 0, done.stderr
        peaks.append(peak)
    assert peaks[1] - peaks[0] < 40_000  # kilobytes


def test_a_map_is_not_applied_to_a_log_and_names_of_files_keep_their_case(call, fails, logs):
    assert call("fit", "a.eval", "--calibrator", "platt", "-o", "map.json").exit_code == 0
    said = fails("apply", "a.eval", "--calibrator", "map.json", "-o", "o.csv")
    assert said == (
        "a.eval is a log of an evaluation; a map is applied to rows. "
        "`trueness answers a.eval -o answers.csv` writes rows."
    )


def test_texts_are_compared_with_the_targets_of_a_key(call, fails, tmp_path):
    rows = [{"id": f"q{i}", "out": f"{i % 2} ", "p": 0.5 + i / 20} for i in range(8)]
    write_lines(tmp_path / "x.jsonl", rows)
    (tmp_path / "key.csv").write_text("id,target\n" + "".join(f"q{i},1\n" for i in range(7)))
    fields = ("--text-field", "out", "--id-field", "id", "--confidence-field", "p")
    result = call("answers", "x.jsonl", *fields, "--targets", "key.csv", "-o", "x.csv")
    assert result.exit_code == 0, result.stderr
    assert "not in key.csv" in result.stderr
    lines = list(csv.DictReader(io.StringIO((tmp_path / "x.csv").read_text())))
    assert [int(line["label"]) for line in lines] == [i % 2 for i in range(7)]
    assert [float(line["confidence"]) for line in lines] == [row["p"] for row in rows[:7]]
    (tmp_path / "other.csv").write_text("id,target\na,1\n")
    said = fails("measure", "x.jsonl", *fields, "--targets", "other.csv")
    assert said.startswith(
        "`--targets` must have the ids of the logs; it has 'a', and x.jsonl 'q0'"
    )
    assert "`--id-field` names" in said
    both = ("--targets", "key.csv", "--target-field", "out")
    assert "`--targets` stands in place of `--target-field`" in fails("measure", "x.jsonl", *both)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "verbs"),
    [
        (("--label", "a.ok", "--prob", "a.p"), ["fit", "apply"]),
        (
            ("--label-field", "a.ok", "--confidence-field", "a.p", "--by", "topic"),
            ["fit", "answers", "apply"],
        ),
    ],
)
def test_the_lines_that_a_report_suggests_run_as_they_stand(call, tmp_path, options, verbs):
    """A map is applied to a table: a new log is made one first, with the columns of the map."""
    rng = np.random.default_rng(3)
    sure = rng.random(2_000).round(3)
    topic = np.where(rng.random(2_000) < 0.3, "maths", "music")
    right = rng.random(2_000) < np.where(topic == "maths", sure**3, sure**1.5)
    lines = [
        {"a": {"ok": bool(ok), "p": p}, "topic": about}
        for ok, p, about in zip(right, sure.tolist(), topic.tolist(), strict=True)
    ]
    write_lines(tmp_path / "own.jsonl", lines)
    write_lines(tmp_path / "new.jsonl", lines[:50])
    result = call("report", "own.jsonl", *options, "--no-intervals", "-o", "page.html")
    suggested = [line.strip() for line in result.stdout.splitlines() if "trueness " in line]
    assert [line.split()[1] for line in suggested] == verbs
    for line in suggested:
        done = call(*shlex.split(line)[1:])
        assert done.exit_code == 0, (line, done.stderr)
    (written,) = tmp_path.glob("calibrated.*")
    rows = written.read_text().splitlines()
    assert sum("0." in row for row in rows) == 50
    assert "_calibrated" in rows[0]
