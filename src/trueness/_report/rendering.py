"""The report as an object that renders itself in every form."""

import json
from pathlib import Path
from typing import Any

from trueness._report.document import brief, markdown, text
from trueness._report.page import framed, page
from trueness._tally.atomic import as_path, replace_file
from trueness._text.strings import visible_json
from trueness.results import Series
from trueness.results._page import Contents, as_json


class Report:
    """The result of :func:`trueness.report`.

    A notebook shows the page, ``print`` shows text.
    """

    def __init__(self, contents: Contents) -> None:
        self._contents = contents

    @property
    def contents(self) -> Contents:
        """The records behind the page, whose fields may change."""
        return self._contents

    @property
    def verdict(self) -> str:
        """The conclusion in one sentence."""
        return self._contents.verdict.sentence

    @property
    def brief(self) -> str:
        """The verdict and the answers in a few lines; of several models a line each."""
        return brief(self._contents)

    @property
    def series(self) -> Series | None:
        """The files of sums as a series, from ``trueness report --each``; None otherwise."""
        return self._contents.series

    @property
    def verdicts(self) -> dict[str, str]:
        """The conclusion for each model as a code; ``docs/reference/report.md`` lists the codes."""
        return {model.name: model.verdict.code for model in self._contents.models}

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON; undefined and infinite numbers are None."""
        return as_json(self._contents)

    def to_json(self, path: str | Path | None = None) -> str:
        """The JSON text of :meth:`to_dict`; also written to `path`, if given."""
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        return _write(visible_json(text) + "\n", path)

    def to_markdown(self, path: str | Path | None = None) -> str:
        """The report as Markdown; also written to `path`, if given."""
        return _write(markdown(self._contents), path)

    def to_text(self, path: str | Path | None = None) -> str:
        """The report as plain text for a terminal; also written to `path`, if given."""
        return _write(text(self._contents), path)

    def page(self) -> str:
        """The self-contained HTML page."""
        return page(self._contents)

    def to_html(self, path: str | Path) -> Path:
        """Write :meth:`page` to a file. If that fails, an existing file stays as it was."""
        target = as_path(path)
        _write(self.page(), target)
        return target

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        names = ", ".join(map(repr, self.verdicts))
        return f"Report({names}; {self._contents.rows.used:,} rows)"

    def _repr_html_(self) -> str:
        return framed(self._contents)


def _write(content: str, path: str | Path | None) -> str:
    if path is not None:
        replace_file(as_path(path), lambda file: file.write(content.encode("utf-8")))
    return content
