"""HELM: the statistics of each instance, in the folder of a run."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from trueness.sources.logs._confidence import Confidence, Missing
from trueness.sources.logs._sample import (
    Log,
    Report,
    Sample,
    checked_row,
    dotted,
    number_or_nan,
    object_in,
    objects_in,
    subject_of,
    typed,
)

HELM_FILE = "per_instance_stats.json"
_FIELD_TYPES = {
    "instance_id": str,
    "train_trial_index": int,
    "stats": list,
    "stats.0": dict,
    "stats.0.name": dict,
}


def samples(log: Log, report: Report) -> Iterator[Sample]:
    """HELM: the statistics of each instance, in the folder of a run."""
    subject = _read_header(log)
    splits: set[str] = set()
    for raw in objects_in(log, report):
        row = checked_row(raw, log, _FIELD_TYPES, needed=("instance_id", "stats"))
        stats = _stats(row, log)
        if stats.split not in ("", "train"):
            splits.add(stats.split)
        yield _sample(row, log, stats, subject)
    if splits and "test" not in splits:
        names = ", ".join(sorted(splits))
        log.notes.append(f"it has no instances of the split 'test': those of {names} count")


def _read_header(log: Log) -> str:
    """Fill in what the specification of the run says; the subject of all its instances."""
    file = log.path.with_name("run_spec.json")
    spec = object_in(file) if file.is_file() else {}
    if not spec:
        log.notes.append("it has no file run_spec.json: its model is unknown")
    log.model = str(dotted(spec, "adapter_spec.model") or "")
    name = str(spec.get("name") or log.path.absolute().parent.name)
    log.task = re.sub(r"[,:]?model(_deployment)?=[^,]*", "", name).strip(",:")
    return subject_of(dotted(spec, "scenario_spec.args"))


class _Stats(NamedTuple):
    """The numbers of one instance."""

    means: dict[str, Any]  # by name, of the instance itself
    split: str
    perturbed: bool


def _stats(row: Mapping[str, Any], log: Log) -> _Stats:
    """The numbers of the instance itself.

    Newer versions list beside them what perturbations did to each number.
    """
    means = {}
    split = ""
    plain_count = 0
    for stat in row["stats"]:
        name = typed(stat.get("name"), dict, log.place, "stats[].name")
        if name.get("split") and not split:
            split = str(name["split"])
        if name.get("perturbation") is not None:
            continue
        plain_count += 1
        if stat.get("count") and stat.get("mean") is not None:
            means[str(name.get("name"))] = stat["mean"]
    perturbed = row.get("perturbation") is not None or plain_count == 0
    return _Stats(means, split, perturbed)


def _sample(row: Mapping[str, Any], log: Log, stats: _Stats, subject: str) -> Sample:
    """One instance of HELM as a sample, with the means of its statistics."""
    identity = typed(row["instance_id"], str, log.place, "instance_id")
    return Sample(
        question=f"{log.task}/{identity}",
        identity=identity,
        raw={**row, "stats": stats.means},
        scores=stats.means,
        epoch=int(np.int64(row.get("train_trial_index") or 0)) + 1,
        subject=subject,
        trouble=_trouble(stats),
        confidences=_confidences(stats),
        part="" if stats.split == "train" else stats.split,
        perturbed=stats.perturbed,
    )


def _trouble(stats: _Stats) -> str:
    if stats.perturbed:
        return "a perturbed instance"
    if stats.split == "train":
        return "a training instance"
    return ""


def _confidences(stats: _Stats) -> dict[str, Confidence]:
    probability = number_or_nan(stats.means.get("max_prob"))
    if math.isnan(probability):
        return {}
    if 0 <= probability <= 1:
        return {"logprob": probability}
    return {"logprob": Missing("max_prob is outside 0 to 1")}
