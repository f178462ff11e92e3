"""Answers of language models, read from logs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._text.numbers import count
from trueness.results._record import Record


@dataclass(frozen=True)
class Answers(Record):
    """Answers of language models: whether each is right, its confidence, and its question."""

    label: NDArray[np.int64]
    """1 if the answer is right, else 0."""
    confidence: NDArray[np.float64]
    """The confidence in the answer, a probability."""
    question: NDArray[np.object_]
    """The question of each answer: a cluster, as answers to one question depend on each other."""
    epoch: NDArray[np.int64]
    """Which of several answers to the question it is, from 1."""
    task: NDArray[np.object_]
    """The task of the harness."""
    subject: NDArray[np.object_]
    """The subject, category or topic of the question, where the log has one; else empty."""
    source: NDArray[np.object_]
    """Where the confidence comes from, in words."""
    model: NDArray[np.object_]
    """The model; empty if the log does not name it."""
    answer: NDArray[np.object_]
    """The answer that was extracted, or the number of the option; empty if the log has none."""
    right_option: NDArray[np.int64]
    """The number of the right option, from 0; -1 if there is none or more than one."""
    options: NDArray[np.float64] | None
    """The probabilities of all options, a row per answer; None unless all questions have equally
    many."""
    missing: dict[str, int]
    """Samples that do not count, by reason."""
    notes: tuple[str, ...]
    """What else is worth knowing about the logs."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """The further fields that were asked for, as arrays."""

    _columns = (
        "label",
        "confidence",
        "question",
        "epoch",
        "task",
        "subject",
        "source",
        "model",
        "answer",
        "right_option",
    )

    @property
    def cluster(self) -> NDArray[np.object_]:
        """The question of each answer."""
        return self.question

    @property
    def by(self) -> dict[str, NDArray[np.object_]]:
        """The columns among source, model, task and subject that split the answers differently."""
        columns: dict[str, NDArray[np.object_]] = {}
        for name in ("source", "model", "task", "subject"):
            values = getattr(self, name)
            # Two columns split alike if no pair of their values needs more groups than each of
            # them.
            alike = any(
                len(set(zip(values, column, strict=True))) == len(set(column)) == len(set(values))
                for column in columns.values()
            )
            if len(set(values)) > 1 and not alike:
                columns[name] = values
        return columns

    def origins(self) -> list[dict[str, Any]]:
        """Each source of confidences of each model and task, with counts and means."""
        keys = list(zip(self.source.tolist(), self.model.tolist(), self.task.tolist(), strict=True))
        lines = []
        for key in sorted(set(keys)):
            chosen = np.array([other == key for other in keys])
            source, model, task = key
            lines.append(
                {
                    "source": source,
                    "model": model,
                    "task": task,
                    "n": int(chosen.sum()),
                    "questions": len(set(self.question[chosen].tolist())),
                    "accuracy": float(self.label[chosen].mean()),
                    "mean_confidence": float(self.confidence[chosen].mean()),
                }
            )
        return lines

    def __str__(self) -> str:
        """How many answers were read, where confidences come from, and what was not counted."""
        n = len(self.label)
        sources = sorted({str(source) for source in self.source.tolist()})
        lost = ", ".join(f"{reason}: {number:,}" for reason, number in self.missing.items())
        confidence = "No confidences were read."
        if any(sources):
            confidence = f"Confidence: {'; '.join(sources)}."
        questions = count(len(set(self.question.tolist())), "question")
        lines = [f"{count(n, 'answer')} to {questions}. {confidence}"]
        if lost:
            lines.append(f"Not counted: {lost}.")
        return "\n".join([*lines, *self.notes])
