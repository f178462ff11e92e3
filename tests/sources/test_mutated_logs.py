"""Logs in which one value was replaced are read, or refused with the name of the file: never with a raw error."""

import random

import pytest
from eval_logs import (
    generated_row,
    helm_row,
    inspect_header,
    inspect_sample,
    lm_eval_row,
    openai_rows,
    with_tokens,
)
from mutated_logs import ODD, fault_of, places, replaced, write

import trueness as tn


def tokens(identity):
    return with_tokens(
        inspect_sample(identity, text="ANSWER: A", answer="A", choices=["a", "b"], target="A"),
        [("ANSWER: ", 0.9), ("A", 0.8, {"A": 0.8, "B": 0.1})],
    )


def lm_eval(i):
    return lm_eval_row(i, [-1.0, -2.5], i % 2, acc=1 - i % 2, acc_norm=1)


def logs():
    """A file's name, its content, and the options to read it with."""
    sums = [
        inspect_sample(i, "CI"[i % 2], text=f"It is 4. Confidence: {60 + i} %") for i in range(3)
    ]
    sure = [inspect_sample(i, "CI"[i % 2], metadata={"confidence": 0.5 + i / 10}) for i in range(3)]
    yield "samples_t_2026-01-01T00-00-00.000000.jsonl", [lm_eval(i) for i in range(3)], {}
    written = [generated_row(i, f"4. Confidence: {60 + i} %", i % 2) for i in range(3)]
    yield "samples_g_2026-01-01T00-00-00.000000.jsonl", written, {}
    yield "inspect.json", inspect_header() | {"samples": sums}, {}
    yield "fields.json", inspect_header() | {"samples": sure}, {"fields": ["metadata.topic"]}
    yield "tokens.json", inspect_header() | {"samples": [tokens(i) for i in range(3)]}, {}
    alike = [inspect_sample(1, epoch=i, answer="4") for i in range(1, 4)]
    yield "agreement.json", inspect_header() | {"samples": alike}, {}
    yield "per_instance_stats.json", [helm_row(f"id{i}", i % 2, 0.6 + i / 10) for i in range(3)], {}
    yield (
        "openai.jsonl",
        [*openai_rows([(True, "4", -0.1), (False, "5", -0.5), (True, "4", -0.2)])],
        {},
    )
    rows = [{"grade": {"right": i % 2}, "sure": 0.6 + i / 10, "id": i} for i in range(3)]
    named = {"label_field": "grade.right", "confidence_field": "sure", "question_field": "id"}
    yield "other.jsonl", rows, named


LOGS = list(logs())


def faults_of_mutants(folder, number, seed):
    draw = random.Random(seed)
    for _ in range(number):
        name, content, options = draw.choice(LOGS)
        path, value = draw.choice([*places(content)]), draw.choice(ODD)
        if fault := fault_of(write(folder / name, replaced(content, path, value)), options):
            yield f"{name}, {path} = {str(value)[:30]!r}: {fault}"


@pytest.mark.parametrize("log", LOGS, ids=[name for name, *_ in LOGS])
def test_the_logs_that_are_changed_are_read(log, tmp_path):
    name, content, options = log
    assert tn.sources.eval_log(write(tmp_path / name, content), **options).label.size == 3


def test_a_log_with_another_value_is_read_or_refused_by_its_name(tmp_path):
    faults = [*faults_of_mutants(tmp_path, 600, seed=1)]
    assert not faults, "\n".join(faults)
