"""The answers in logs as a table of columns."""

from collections.abc import Iterable
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from trueness.results import Answers
from trueness.sources.tables._numpy import Arrays
from trueness.sources.tables._table import import_polars


def objects(values: Iterable[Any]) -> NDArray[np.object_]:
    """An array of any values, lists included."""
    # Without the None at the end, NumPy would make a matrix of lists of equal length.
    return np.array([*values, None], dtype=object)[:-1]


class AnswersTable(Arrays):
    """Answers as a table of columns."""

    # The origin is the source, model and task together, whatever other files are read.
    columns = (*Answers._columns, "origin")

    def __init__(self, name: str, answers: Answers) -> None:
        """Keep the columns of some answers; their probabilities of options are a column each."""
        arrays = {column: getattr(answers, column) for column in Answers._columns}
        arrays["origin"] = _origins(answers)
        if answers.options is not None:
            for i, probabilities in enumerate(answers.options.T):
                arrays[f"option_{i}"] = probabilities
        super().__init__(name, arrays | dict(answers.fields))
        self.answers = answers
        self.note = str(answers).replace("\n", " ")

    def save(self, file: BinaryIO, form: str) -> None:
        """Write all columns as Parquet, Arrow IPC, CSV or JSON lines."""
        columns = {name: self.array(name).tolist() for name in self.names}
        frame = import_polars(self.name).DataFrame(columns)
        writers = {
            ".parquet": frame.write_parquet,
            ".arrow": frame.write_ipc,
            ".csv": frame.write_csv,
            ".jsonl": frame.write_ndjson,
        }
        writers[form](file)


def _origins(answers: Answers) -> NDArray[np.object_]:
    """The source, model and task of each answer, as far as they are known, as one text."""
    origins = []
    for parts in zip(answers.source, answers.model, answers.task, strict=True):
        origins.append(", ".join(str(part) for part in parts if str(part)))
    return objects(origins)
