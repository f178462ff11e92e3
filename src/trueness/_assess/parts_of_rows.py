"""Makers of the answers about parts of the rows: segments, slices and classes."""

from collections.abc import Mapping

import numpy as np

from trueness._assess.asked import TEST, Asked
from trueness._assess.rows import ModelRows
from trueness._assess.statement import in_own_words
from trueness._level import Level
from trueness._numerics.holm import holm
from trueness.errors import quietly
from trueness.infer.group._segments import classes_of, describe_segments, draws_for, segments_of
from trueness.infer.group._slices import SlicePlan, slices_of
from trueness.results import Segments, Slices
from trueness.results._segments import ClassRow
from trueness.typing import Floats


def segments(a: Asked, resamples: int | None = None) -> Segments | None:
    """All segments, tested jointly; None without columns."""
    rows = a.rows
    if rows.groups is not None:
        return describe_segments(rows.groups, a.level, resamples, a.seed, rows.evidence.rounded_to)
    if not rows.columns:
        return None
    evidence = a.view("confidence")
    tested = segments_of(evidence, rows.columns, level=a.level, resamples=resamples, seed=a.seed)
    return in_own_words(evidence, tested)


def slices(
    a: Asked,
    *,
    most: int = 100,
    depth: int = 2,
    least: int | None = None,
    resamples: int | None = None,
) -> Slices | None:
    """The worst slices; None with fewer than two columns."""
    if not a.rows.slice_columns:
        return None
    plan = SlicePlan(a.seed, a.level, most, depth, least, resamples)
    evidence = a.view("confidence")
    return in_own_words(evidence, slices_of(evidence, a.rows.slice_columns, plan))


def class_rows(a: Asked) -> tuple[ClassRow, ...] | None:
    """Every class of a matrix against the rest, the largest ECE first."""
    evidence = a.view("confidence")
    if evidence.classwise is None or not evidence.is_top_label:
        return None
    alpha = Level(a.level).alpha
    return classes_of(evidence, bins=a.rule, level=a.level, alpha=alpha, seed=a.seed)


def classes(a: Asked) -> dict[str, Asked]:
    """Each class against the rest, or each label, judged at the level of Holm's method.

    Empty for one problem.
    """
    problems = _problems(a)
    if not problems:
        return {}
    return joint_levels({name: a.but(rows=rows) for name, rows in problems.items()}, a.level)


def joint_levels(problems: Mapping[str, Asked], level: float) -> dict[str, Asked]:
    """Several problems at the levels of Holm's method, so that all verdicts hold jointly."""
    alpha = Level(level).alpha
    strictest = Level.of_alpha(alpha / len(problems)).confidence
    # As many draws for each, so that p-values and confidence sets of any level agree.
    draws = draws_for(len(problems), alpha)
    pvalues = []
    for problem in problems.values():
        test = quietly(problem.but(level=strictest, draws=draws).possible, TEST)
        # A problem whose test is not possible counts as one that shows nothing.
        pvalues.append(1.0 if test is None else test.pvalue)
    levels = _holm_levels(np.array(pvalues), alpha)
    judged = {}
    for name, own_level in zip(problems, levels, strict=True):
        judged[name] = problems[name].but(level=own_level, draws=draws)
    return judged


def _problems(a: Asked) -> dict[str, ModelRows]:
    """The rows of each class or label; empty for one problem."""
    evidence = a.view("confidence")
    problems = evidence.problems()
    if problems is None:
        return {}
    columns = a.rows.columns
    slice_columns = a.rows.slice_columns
    if not evidence.has_labels:  # the segments of a matrix are those of its top label
        columns = ()
        slice_columns = ()
    return {
        str(name): ModelRows(problem, columns=columns, slice_columns=slice_columns)
        for name, problem in problems.items()
    }


def _holm_levels(pvalues: Floats, alpha: float) -> list[float]:
    """The level at which Holm's method judges each p-value.

    In ascending order p ≤ α/(m − i) is rejected, up to the first that is larger.
    """
    number = pvalues.size
    rejected = int((holm(pvalues) <= alpha).sum())
    levels = np.empty(number)
    for place, which in enumerate(np.argsort(pvalues, kind="stable")):
        left = number - min(place, rejected)
        levels[which] = Level.of_alpha(alpha / left).confidence
    return levels.tolist()
