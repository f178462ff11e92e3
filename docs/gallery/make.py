"""Small pictures of the gallery, and every display for awkward data on a light and a dark background.

    python docs/gallery/make.py --every every

draws every display. The gallery itself, docs/gallery/index.md, is drawn when the site is built, and
so are the small pictures at its top: one for each cell that has a `thumbnail`, a line of words.
"""

import argparse
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

import trueness as tn
from trueness import plot, simulate

GROUNDS = {"light": "default", "dark": "dark_background"}
LONG = "gradient boosted trees, 2,000 rounds, monotone constraints, retrained every night on the last ninety days"


class Case(NamedTuple):
    """Rows, and the text that goes with them."""

    y: Any
    p: Any
    options: dict[str, Any] = {}  # noqa: RUF012  # never changed

    @property
    def one(self) -> Any:
        """The scores of one model."""
        return next(iter(self.p.values())) if isinstance(self.p, dict) else self.p


def simulated(n: int, seed: int = 1, slope: float = 0.6, **options: Any) -> Case:
    """Overconfident scores."""
    d = simulate.binary(n, distortion=simulate.Logit(slope=slope), seed=seed, **options)
    return Case(d.y_true, d.y_prob)


def rare(n: int = 200_000) -> Case:
    """One event in a thousand rows, and scores twice as large as they should be."""
    rng = np.random.default_rng(3)
    p = 1 / (1 + np.exp(-rng.normal(-7.6, 1.2, n)))
    return Case((rng.random(n) < p).astype(int), np.clip(2 * p, 0, 1))


def ten_classes(n: int = 5000) -> Case:
    """Scores of ten classes, too sure."""
    rng = np.random.default_rng(4)
    logits = rng.normal(0, 1.4, (n, 10))
    truth = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = (rng.random(n)[:, None] > np.cumsum(truth, axis=1)[:, :-1]).sum(axis=1)
    sure = np.exp(1.6 * logits)
    return Case(y, sure / sure.sum(axis=1, keepdims=True))


def six_models(n: int = 4000, names: list[str] | None = None) -> Case:
    """One set of labels, six sets of scores."""
    d = simulate.binary(n, seed=5)
    logit = np.log(d.y_prob / (1 - d.y_prob))
    moved = {
        "calibrated": logit,
        "too sure": 1.8 * logit,
        "too shy": 0.5 * logit,
        "too low": logit - 0.7,
        "too high": logit + 0.7,
        "crooked": logit + 0.6 * np.sin(3 * logit),
    }
    found = {name: 1 / (1 + np.exp(-value)) for name, value in moved.items()}
    return Case(d.y_true, dict(zip(names or found, found.values(), strict=False)))


def missing() -> Case:
    """Every twentieth score is not there."""
    case = simulated(2000)
    p = case.p.copy()
    p[::20] = np.nan
    return Case(case.y, p, {"missing": "drop"})


def zero_one() -> Case:
    """A classifier that says yes or no."""
    rng = np.random.default_rng(6)
    p = (rng.random(500) < 0.4).astype(float)
    return Case((rng.random(500) < 0.15 + 0.7 * p).astype(int), p)


CASES: dict[str, Callable[[], Case]] = {
    "usual": lambda: simulated(3000),
    "ten rows": lambda: simulated(10, seed=3),
    "a million rows": lambda: simulated(1_000_000),
    "rare events": rare,
    "scores 0 and 1": zero_one,
    "constant scores": lambda: Case(np.arange(200) % 3 == 0, np.full(200, 0.4)),
    "ten classes": ten_classes,
    "missing dropped": missing,
    "long names": lambda: six_models(names=[LONG, LONG.replace("2,000", "500"), "x" * 90]),
    "six models": six_models,
}


def _reliability(case: Case, **options: Any) -> Any:
    return plot.ReliabilityDisplay.from_predictions(
        case.y, case.p, **options, **case.options
    ).plot()


def _one_class(case: Case) -> dict[str, Any]:
    matrix = np.ndim(case.one) == 2
    return {"kind": "confidence", **case.options} if matrix else case.options


def _tested(case: Case, **options: Any) -> Any:
    return plot.TestReliabilityDisplay.from_predictions(
        case.y, case.one, **options, **_one_class(case)
    ).plot()


def _bins(case: Case) -> Any:
    return plot.BinsDisplay.from_predictions(case.y, case.one, **_one_class(case)).plot()


def _walk(case: Case) -> Any:
    return plot.CumulativeDisplay.from_predictions(case.y, case.p, **_one_class(case)).plot()


def _forest(case: Case) -> Any:
    return plot.IntervalDisplay.from_predictions(case.y, case.p, **case.options).plot()


DISPLAYS: dict[str, Callable[[Case], Any]] = {
    "binned": _reliability,
    "one bin": lambda case: _reliability(case, bins=1),
    "bars": lambda case: plot.ReliabilityDisplay.from_predictions(
        case.y, case.p, band="simultaneous-consistency", **case.options
    ).plot(style="bars"),
    "isotonic": lambda case: _reliability(case, curve="isotonic"),
    "smooth": lambda case: _reliability(case, curve="smooth"),
    "spline": lambda case: _reliability(case, curve="spline"),
    "loess": lambda case: _reliability(case, curve="loess", band="simultaneous"),
    "tested": _tested,
    "bins": _bins,
    "walk": _walk,
    "forest": _forest,
    "net benefit": lambda case: plot.NetBenefitDisplay.from_predictions(
        case.y, case.p, **case.options
    ).plot(),
    "risk": lambda case: plot.RiskCoverageDisplay.from_predictions(
        case.y, case.p, **case.options
    ).plot(),
}


@contextmanager
def ground(name: str) -> Iterator[None]:
    """A style, and nothing left of it afterwards."""
    with plt.style.context(GROUNDS[name]), warnings.catch_warnings():
        warnings.simplefilter("ignore", tn.TruenessWarning)
        yield
    plt.close("all")


def save(display: Any, path: Path, dpi: int) -> None:
    """Write a small PNG: 64 colours are enough for lines."""
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    display.figure_.savefig(path, dpi=dpi)
    with Image.open(path) as picture:
        picture.convert("RGB").quantize(96).save(path, optimize=True)
    sys.stdout.write(f"{path}\n")


def draw_every(out: Path, only: str | None) -> None:
    """Every display for every case."""
    for case_name, make in CASES.items():
        case = make()
        for name, draw in DISPLAYS.items():
            if name == "bars" and isinstance(case.p, dict):
                continue
            if only is None or only in (case_name, name):
                for shade in GROUNDS:
                    with ground(shade):
                        save(
                            draw(case),
                            out / shade / f"{name} - {case_name}.png".replace(" ", "_"),
                            dpi=70,
                        )


class Cell(NamedTuple):
    """A code cell of the gallery."""

    heading: str
    """The heading above it."""
    thumbnail: str
    """The words below its small picture; empty if it has none."""
    code: str


def cells(page: str) -> Iterator[Cell]:
    """The code cells of a page, in order."""
    heading = ""
    pattern = r"^#+ ([^\n]*)$|^```\{code-cell\} ipython3\n(?:---\n(.*?)^---\n)?(.*?)^```$"
    for found in re.finditer(pattern, page, re.MULTILINE | re.DOTALL):
        title, options, code = found.groups()
        if title is not None:
            heading = title
            continue
        words = re.search(r"^thumbnail: ([^\n]*)$", options or "", re.MULTILINE)
        yield Cell(heading, words[1] if words else "", code)


def anchor(heading: str) -> str:
    """The address of a heading on its page."""
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")


CARD = """\
:::{{grid-item-card}} {words}
:link: "#{anchor}"
:img-top: {picture}
:img-alt: {words}
:::
"""


def write_thumbnails(page: Path, folder: Path) -> None:
    """Run the cells of the gallery, and write a small picture of each and the grid of all."""
    folder.mkdir(exist_ok=True)
    names: dict[str, Any] = {}
    cards = []
    for i, cell in enumerate(cells(page.read_text(encoding="utf-8"))):
        with ground("light"), redirect_stdout(StringIO()):
            exec(cell.code, names)  # the page itself
            if cell.thumbnail:
                picture = folder / f"{i}.png"
                figure = plt.gcf()
                figure.savefig(picture, dpi=320 / figure.get_figwidth())
                card = CARD.format(
                    words=cell.thumbnail,
                    anchor=anchor(cell.heading),
                    picture=f"{folder.name}/{picture.name}",
                )
                cards.append(card)
    head = "::::{grid} 2 3 4 4\n:gutter: 2\n:class-container: thumbnails\n"
    (folder / "grid.inc").write_text("\n".join([head, *cards, "::::", ""]), encoding="utf-8")


def main() -> None:
    """Read the arguments and draw."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--every",
        type=Path,
        required=True,
        help="draw every display for every case into this folder",
    )
    parser.add_argument("--only", help="one case or one display")
    asked = parser.parse_args()
    draw_every(asked.every, asked.only)


if __name__ == "__main__":
    main()
