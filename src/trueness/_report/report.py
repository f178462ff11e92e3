"""The report as an object: asked with labels and scores, it shows itself in every form."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from trueness._input.arguments import Seed, generator
from trueness._progress import Progress, reporter
from trueness._report.gather import MOST_BINS, gather
from trueness._report.markdown import markdown
from trueness._report.page import framed, page
from trueness._report.records import Contents, as_json
from trueness._report.rows import read
from trueness._report.segments import read_by
from trueness._report.terminal import text
from trueness._tally.atomic import replace_file
from trueness._tally.rows_or_sums import takes_rows
from trueness._tally.rules import BinsLike, as_rule, blind_to_labels
from trueness.errors import InputError
from trueness.typing import ArrayLike, RowOptions

__all__ = ["Report", "report"]


class Report:
    """What :func:`trueness.report` found.

    In a notebook it shows the page, ``print`` shows text.
    """

    def __init__(self, contents: Contents) -> None:
        self._contents = contents

    @property
    def verdict(self) -> str:
        """The answer in one sentence."""
        return self._contents.verdict.sentence

    @property
    def verdicts(self) -> dict[str, str]:
        """The answer for each model, in a word: see the codes in ``docs/report.md``."""
        return {model.name: model.verdict.code for model in self._contents.models}

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON: a number that is undefined or infinite is None."""
        return as_json(self._contents)

    def to_json(self, path: str | Path | None = None) -> str:
        """The text of :meth:`to_dict`, also written to `path` if there is one."""
        return _written(json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n", path)

    def to_markdown(self, path: str | Path | None = None) -> str:
        """The report as Markdown, also written to `path` if there is one."""
        return _written(markdown(self._contents), path)

    def to_text(self, path: str | Path | None = None) -> str:
        """The report as plain text for a terminal, also written to `path` if there is one."""
        return _written(text(self._contents), path)

    def page(self) -> str:
        """The HTML page: one file, with nothing to be fetched from elsewhere."""
        return page(self._contents)

    def to_html(self, path: str | Path) -> Path:
        """Write :meth:`page` to a file; a failed write leaves what was there."""
        target = Path(path)
        _written(self.page(), target)
        return target

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        names = ", ".join(map(repr, self.verdicts))
        return f"Report({names}; {self._contents.rows.used:,} rows)"

    def _repr_html_(self) -> str:
        return framed(self._contents)


def _written(content: str, path: str | Path | None) -> str:
    if path is not None:
        replace_file(Path(path), lambda file: file.write(content.encode("utf-8")))
    return content


@takes_rows
def report(
    y_true: ArrayLike,
    y_prob: ArrayLike | dict[str, ArrayLike],
    *,
    by: Any = None,
    cluster: ArrayLike | None = None,
    bins: BinsLike = 10,
    level: float = 0.95,
    seed: Seed = 0,
    title: str | None = None,
    progress: Progress = True,
    **rows: Unpack[RowOptions],
) -> Report:
    """Whether probabilities are true, how sure we are, where they are wrong, and what would fix them.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        What happened: 0/1, bool, or class labels.
    y_prob : array-like of shape (n,) or (n, K), or dict of them
        What was predicted; several models as a dict of names and scores of the same rows.
    by : array-like of shape (n,), dict of such, or frame, optional
        Columns whose values make segments, each of which is tested. Numbers with more than 12 different values are
        cut into five groups; of other columns the 39 largest values are kept apart.
    cluster : array-like of shape (n,), optional
        A name for each row; rows of one name may depend on each other (answers to one prompt, visits of one patient).
        Confidence sets, tests, comparisons and gains allow for that, and calibrators are fitted on other clusters than
        they are measured on. Noise floors, the TCE, and the intervals and flags of bins do not; the report says so of
        each.
    bins : int, sequence of edges or bin rule, default 10
        As for :func:`trueness.ece`, up to 1,000. Rules that look at the labels are refused. The page offers others.
    level : float, default 0.95
        Level of every interval, band and decision; more than 1/2.
    seed : int or numpy.random.Generator, default 0
        Seed of everything that is drawn; a generator gives one.
    title : str, optional
        Heading of the page.
    progress : bool or callable, default True
        Whether a bar is shown on a terminal if it takes long, or a function of (done, total).
    **rows
        As for :func:`trueness.ece`, but for `kind`: a matrix is looked at by its top label and class by class.
        ``missing="drop"`` drops a row for all models.

    Returns
    -------
    Report
        `verdict`, and the whole in five forms: ``to_html(path)``, ``to_markdown()``, ``to_json()``, ``print`` and, in
        a notebook, itself.

    Notes
    -----
    Nothing is computed here: every number is that of a public function, called with this `level` and `seed`, and
    ``docs/report.md`` says which. With very many rows less is drawn: noise floors of more than 20,000 distinct scores
    redraw labels fewer than 999 times, tests of more than some 200,000 use the cumulative test in place of the exact
    one, and calibrators are tried on 200,000 rows. The report says so.

    Warnings of the library become notes of the report.

    Examples
    --------
    >>> import trueness as tn
    >>> data = tn.simulate.demo(2_000)
    >>> found = tn.report(data.y_true, data.y_prob)
    >>> found.verdicts
    {'scores': 'miscalibrated'}
    >>> round(found.to_dict()["models"][0]["summary"]["ece"], 4) == round(tn.ece(data.y_true, data.y_prob), 4)
    True
    """
    rule = blind_to_labels(as_rule(bins))
    if rule.asked > MOST_BINS:
        raise InputError("bins", f"must be at most {MOST_BINS:,} for a report", f"got {rule.asked:,}")
    if title is not None and not isinstance(title, str):
        raise InputError("title", "must be a string or None", f"got {title!r}")
    chosen_level, chosen_seed, tell = _level(level), _seed(seed), reporter(progress)
    found = read(y_true, y_prob, rows, cluster)
    columns = read_by(by, y_true, found.kept)
    return Report(gather(found, columns, rule, chosen_level, chosen_seed, title, tell))


# A matrix is looked at in every way that there is: `kind` is the one option of rows that is not taken.
_signature = inspect.signature(report)
_shown = [one for name, one in _signature.parameters.items() if name != "kind"]
report.__signature__ = _signature.replace(parameters=_shown)  # type: ignore[attr-defined]


def _level(level: Any) -> float:
    if isinstance(level, bool) or not isinstance(level, int | float | np.floating) or not 0.5 < level < 1:
        raise InputError("level", "must lie strictly between 0.5 and 1", f"got {level!r}")
    return float(level)


def _seed(seed: Seed) -> int:
    """One number, so that every call of the report can be repeated alone."""
    if isinstance(seed, int | np.integer) and not isinstance(seed, bool) and seed >= 0:
        return int(seed)
    return int(generator(seed).integers(2**32))
