"""Write the two logs of the tutorial on language models; needs inspect-ai: `python write_logs.py FOLDER`.

inspect asks, scores and logs. Behind its `mockllm` a classifier of scikit-learn reads a handwritten digit and states a
confidence: answers, errors and confidences are real, and no network is needed.
"""

import lzma
import sys
from pathlib import Path

import inspect_ai
import numpy as np
from inspect_ai.dataset import Sample
from inspect_ai.log import write_eval_log
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import CORRECT, INCORRECT, NOANSWER, Score, accuracy, scorer
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

QUESTIONS, EPOCHS = 300, 3
X, digit = load_digits(return_X_y=True)
asked = slice(1797 - QUESTIONS, 1797)  # the models study 200 of the first 1,000
MODELS = {"A": GaussianNB(var_smoothing=0.5), "B": LogisticRegression(C=0.05, max_iter=1000)}


@scorer(metrics=[accuracy()])
def first_line():
    """Compare the first line of the answer with the digit; an answer that names none is not scored."""

    async def score(state, target):
        answer = state.output.completion.partition("\n")[0].strip()
        value = (
            NOANSWER if not answer.isdigit() else CORRECT if answer == target.text else INCORRECT
        )
        return Score(value=value, answer=answer)

    return score


def answers(model, epoch):
    """What a model says: in each epoch it has studied another sample of the digits."""
    rows = np.random.default_rng(epoch).choice(1_000, 200)
    chances = clone(model).fit(X[rows], digit[rows]).predict_proba(X[asked])
    for row in chances:
        stated = min(5 * round(20 * row.max()), 99)  # one says 85 %, not 83.7 %
        yield f"{row.argmax()}\nConfidence: {stated}%" if stated >= 35 else "I cannot tell."


def write_log(name, folder):
    """Let inspect ask every question in every epoch, and log it."""
    said = [list(answers(MODELS[name], epoch)) for epoch in range(EPOCHS)]
    outputs = [ModelOutput.from_content("mockllm/model", text) for epoch in said for text in epoch]
    questions = [
        Sample(input=f"Which digit is on card {i}?", target=str(d), id=i)
        for i, d in enumerate(digit[asked])
    ]
    task = inspect_ai.Task(name="digits", dataset=questions, scorer=first_line(), epochs=EPOCHS)
    model = get_model("mockllm/model", custom_outputs=outputs)
    (log,) = inspect_ai.eval(task, model=model, log_dir=str(folder), display="none", max_samples=1)
    for sample in log.samples:
        sample.events = []  # nine tenths of the bytes
    write_eval_log(log, str(folder / f"{name}.json"))
    (folder / f"{name}.json.xz").write_bytes(
        lzma.compress((folder / f"{name}.json").read_bytes(), preset=9)
    )


if __name__ == "__main__":
    for name in MODELS:
        write_log(name, Path(sys.argv[1]))
