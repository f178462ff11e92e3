"""Logs that the harnesses write here, where they are installed, and the code of docs/howto/evaluation-logs.md."""

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import trueness as tn
from trueness.sources import eval_log

PAGE = (Path(__file__).parents[1] / "docs" / "howto" / "evaluation-logs.md").read_text(
    encoding="utf-8"
)
YAML = """task: toy
dataset_path: json
dataset_kwargs:
  data_files:
    test: {data}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{q}}}}"
doc_to_target: gold
doc_to_choice: "{{{{choices}}}}"
"""


def block(language, title):
    return re.search(rf"^## {title}.*?^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[1]


@pytest.fixture(scope="module")
def lm_eval_log(tmp_path_factory):
    """The samples and results of lm-eval's dummy model, with the metrics of our page."""
    pytest.importorskip("lm_eval", reason="lm-eval is not installed")
    folder = tmp_path_factory.mktemp("lm_eval")
    rows = [{"q": f"{i}?", "choices": ["a", "bb", "ccc"], "gold": i % 3} for i in range(12)]
    (folder / "d.jsonl").write_text("\n".join(map(json.dumps, rows)))
    more = block("yaml", "A metric for lm-evaluation-harness")
    (folder / "toy.yaml").write_text(YAML.format(data=folder / "d.jsonl") + more)
    plain = "metric_list:\n  - metric: acc\n  - metric: acc_norm\n  - metric: brier_score\n"
    (folder / "plain.yaml").write_text(
        YAML.format(data=folder / "d.jsonl").replace("toy", "plain") + plain
    )
    (folder / "calibration.py").write_text(block("python", "A metric for lm-evaluation-harness"))
    command = [
        sys.executable,
        "-m",
        "lm_eval",
        "--model",
        "dummy",
        "--tasks",
        "toy,plain",
        "--include_path",
        folder,
    ]
    command += ["--log_samples", "--output_path", folder / "out"]
    own = {"HF_HUB_OFFLINE": "1", "PYTHONPATH": str(Path(tn.__file__).parents[1])}
    subprocess.run(
        command, check=True, cwd=folder, capture_output=True, timeout=240, env=os.environ | own
    )
    (results,) = (folder / "out").rglob("results_*.json")
    return results.parent, json.loads(results.read_text())["results"]


@pytest.mark.slow
def test_lm_evals_own_brier_score_and_accuracies_come_from_its_log(lm_eval_log):
    folder, own = lm_eval_log
    (samples,) = folder.glob("samples_plain_*.jsonl")
    found = eval_log(samples)
    assert tn.brier(found.right_option, found.options) == pytest.approx(
        own["plain"]["brier_score,none"], abs=1e-12
    )
    assert found.label.mean() == pytest.approx(own["plain"]["acc,none"], abs=1e-12)
    assert eval_log(samples, scorer="acc_norm").label.mean() == pytest.approx(
        own["plain"]["acc_norm,none"], abs=1e-12
    )


@pytest.mark.slow
def test_the_metric_of_our_page_is_in_the_results_of_lm_eval(lm_eval_log):
    folder, own = lm_eval_log
    (samples,) = folder.glob("samples_toy_*.jsonl")
    found, ranked = eval_log(samples), eval_log(samples, confidence="options")
    assert set(found.source) == {"confidence recorded with the score"}
    assert found.confidence.tolist() == pytest.approx(ranked.confidence.tolist(), abs=1e-12)
    assert tn.ece(found.label, found.confidence) == pytest.approx(
        own["toy"]["calibration_error,none"], abs=1e-12
    )


@pytest.fixture
def inspect_ai(monkeypatch):
    """inspect, with a stand-in for the tokens that it would download."""
    package = pytest.importorskip("inspect_ai", reason="inspect-ai is not installed")
    tiktoken = pytest.importorskip("tiktoken")

    class Letters:
        def encode(self, text, **_):
            return list(text.encode())

    monkeypatch.setattr(tiktoken, "get_encoding", lambda _: Letters())
    monkeypatch.setattr(tiktoken, "encoding_for_model", lambda _: Letters())
    return package


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # those of inspect
@pytest.mark.parametrize("form", ["eval", "json"])
def test_the_scorer_of_our_page_keeps_confidences_that_the_log_gives_back(
    inspect_ai, tmp_path, form
):
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, get_model

    names = {}
    exec(block("python", "A scorer for inspect"), names)  # the code of our own page
    said = [("4", 90), ("5", 60), ("4", None), ("4", 80), ("x", 80), ("4", 100)] * 2
    texts = [text if p is None else f"{text}\nConfidence: {p}%" for text, p in said]
    outputs = [ModelOutput.from_content("mockllm/model", text) for text in texts]
    task = inspect_ai.Task(
        dataset=[
            Sample(input=f"Q{i}?", target="4", id=f"q{i}", metadata={"topic": f"t{i % 2}"})
            for i in range(6)
        ],
        scorer=names["stated_confidence"](),
        epochs=2,
    )
    model = get_model("mockllm/model", custom_outputs=outputs)
    (log,) = inspect_ai.eval(
        task, model=model, log_dir=str(tmp_path), log_format=form, display="none", max_samples=1
    )
    assert log.status == "success"
    (path,) = tmp_path.iterdir()
    found = eval_log(path, fields=["metadata.topic"])
    expected = sorted((int(text == "4"), p / 100) for text, p in said if p is not None)
    assert sorted(zip(found.label.tolist(), found.confidence.tolist(), strict=True)) == expected
    assert found.missing == {"no confidence": 2}
    assert set(found.fields["metadata.topic"]) == {"t0", "t1"}
    assert sorted(set(found.epoch.tolist())) == [1, 2]
    stated = eval_log(path, confidence="stated")
    assert stated.confidence.tolist() == found.confidence.tolist()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # those of inspect
def test_log_probabilities_of_inspects_multiple_choice(inspect_ai, tmp_path):
    from inspect_ai.dataset import Sample
    from inspect_ai.model import Logprob, Logprobs, ModelOutput, TopLogprob, get_model
    from inspect_ai.scorer import choice
    from inspect_ai.solver import multiple_choice

    def output(letter, p):
        others = {one: (1 - p) / 3 for one in "ABCD" if one != letter} | {letter: p}
        tops = [TopLogprob(token=one, logprob=math.log(x)) for one, x in others.items()]
        answer = ModelOutput.from_content("mockllm/model", f"ANSWER: {letter}")
        tokens = [
            Logprob(token="ANSWER: ", logprob=-0.5),
            Logprob(token=letter, logprob=math.log(p), top_logprobs=tops),
        ]
        answer.choices[0].logprobs = Logprobs(content=tokens)
        return answer

    said = [("A", 0.7), ("B", 0.4), ("C", 0.9)]
    task = inspect_ai.Task(
        dataset=[
            Sample(input=f"Q{i}?", choices=list("wxyz"), target="AAC"[i], id=i) for i in range(3)
        ],
        solver=multiple_choice(),
        scorer=choice(),
    )
    model = get_model("mockllm/model", custom_outputs=[output(*one) for one in said])
    inspect_ai.eval(task, model=model, log_dir=str(tmp_path), display="none", max_samples=1)
    found = eval_log(next(tmp_path.iterdir()))
    assert list(zip(found.answer, found.label.tolist(), strict=True)) == [
        ("A", 1),
        ("B", 0),
        ("C", 1),
    ]
    assert found.confidence.tolist() == pytest.approx([0.7, 0.4, 0.9])
    assert found.right_option.tolist() == [0, 0, 2]
    assert found.options[1].tolist() == pytest.approx([0.2, 0.4, 0.2, 0.2])


def test_the_recipe_for_inspect_is_python():
    compile(block("python", "A scorer for inspect"), "page", "exec")
    compile(block("python", "A metric for lm-evaluation-harness"), "page", "exec")
