"""Fields that the caller names: the text, the answer, its target and the question of a sample."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeAlias

from trueness.errors import InputError
from trueness.sources.logs._logprobs import logprobs_beside
from trueness.sources.logs._sample import Log, Sample, dotted, message_text

TargetsLike: TypeAlias = str | PathLike[str] | Mapping[Any, Any]

_KEY_COLUMNS = ("id", "target")


@dataclass(frozen=True)
class NamedFields:
    """The paths of fields, None where the caller names none, and the targets of a key."""

    text: str | None = None
    answer: str | None = None
    target: str | None = None
    identity: str | None = None
    targets: Mapping[str, str] | None = None  # by the id of the question
    key: str = ""  # what the targets come from, for messages

    @cached_property
    def any_named(self) -> bool:
        paths = (self.text, self.answer, self.target, self.identity)
        return self.targets is not None or any(path is not None for path in paths)

    @cached_property
    def judges(self) -> bool:
        """Whether answers are compared with targets, whatever a scorer said."""
        return self.target is not None or self.targets is not None

    def fill_in(self, log: Log, sample: Sample) -> Sample:
        """The sample with what the named fields say."""
        sample = self._with_text(sample)
        if self.answer is not None:
            sample = self._with_answer(sample, self.answer)
        if self.identity is not None:
            sample = self._with_identity(log, sample)
        return sample

    def _with_text(self, sample: Sample) -> Sample:
        """The sample with the text of the named field, and the log-probabilities beside it.

        Without a named field the sample's own text stays, if it has one. A sample without the field
        has no text, and its trouble says so.
        """
        if self.text is None:
            if sample.text is not None or sample.logprob is not None:
                return sample
            logprobs = logprobs_beside(sample.raw, self.answer or "answer")
            return sample._replace(tokens=logprobs.tokens, logprob=logprobs.total)
        text = dotted(sample.raw, self.text)
        if text is None:
            trouble = sample.trouble or f"no field {self.text!r}"
            return sample._replace(text=None, trouble=trouble)
        sample = sample._replace(text=message_text(text))
        logprobs = logprobs_beside(sample.raw, self.text)
        if logprobs.total is None:
            return sample
        return sample._replace(tokens=logprobs.tokens, logprob=logprobs.total)

    def _with_answer(self, sample: Sample, path: str) -> Sample:
        answer = dotted(sample.raw, path)
        if answer is None:
            return sample._replace(answer=None, trouble=sample.trouble or f"no field {path!r}")
        return sample._replace(answer=message_text(answer))

    def _with_identity(self, log: Log, sample: Sample) -> Sample:
        path = self.identity or ""
        value = dotted(sample.raw, path)
        if value is None:
            return sample._replace(trouble=sample.trouble or f"no field {path!r}")
        return sample._replace(identity=str(value), question=f"{log.task}/{value}")

    def score(self, sample: Sample) -> Mapping[str, Any]:
        """Right if the answer equals the target, or why that is not known."""
        target = self._target(sample)
        answer = sample.text if sample.answer is None else sample.answer
        if target is None:
            missing = f"no field {self.target!r}" if self.targets is None else f"not in {self.key}"
            return {"value": None, "reason": missing}
        if answer is None:
            return {"value": None, "reason": "no answer to compare"}
        return {"value": int(answer.strip() == target.strip())}

    def _target(self, sample: Sample) -> str | None:
        if self.targets is not None:
            return self.targets.get(sample.identity)
        value = dotted(sample.raw, self.target or "")
        return None if value is None else message_text(value)


def read_targets(targets: TargetsLike) -> Mapping[str, str]:
    """The right answer of each question, by its id: the answer key.

    `targets` is a mapping, or the path of a CSV file with the columns id and target. InputError if
    the file cannot be read or has other columns, or if an id has two answers.
    """
    if isinstance(targets, Mapping):
        return {str(identity): message_text(target) for identity, target in targets.items()}
    path = Path(fspath(targets))
    key: dict[str, str] = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            names = [name.strip() for name in rows.fieldnames or ()]
            if not set(_KEY_COLUMNS) <= set(names):
                got = f"it has {', '.join(names) or 'none'}"
                raise InputError("targets", "must have the columns 'id' and 'target'", got)
            rows.fieldnames = names
            for row in rows:
                _add_target(key, row["id"], row["target"], f"{path}, line {rows.line_num:,}")
    except OSError as reason:
        problem = f"{str(path)!r} cannot be read: {reason.strerror}"
        raise InputError("targets", "must be a CSV file", problem) from None
    except (csv.Error, UnicodeDecodeError) as reason:
        raise InputError("targets", "must be a CSV file in UTF-8", f"{path}: {reason}") from None
    return key


def _add_target(key: dict[str, str], identity: str | None, target: str | None, place: str) -> None:
    """Add the right answer of one id to `key`.

    Refused are rows without an id or a target, and a second target of the same id.
    """
    if identity is None or target is None:
        raise InputError(
            "targets", "must have an id and a target in each row", f"{place} lacks one"
        )
    identity = identity.strip()
    if key.get(identity, target) != target:
        got = f"{place}: {identity!r} has {key[identity]!r} and {target!r}"
        raise InputError("targets", "must give each id one target", got)
    key[identity] = target
