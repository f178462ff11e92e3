"""One experiment from beginning to end: compute what is missing, write tables and figures."""

import json
from pathlib import Path
from typing import Any

from trueness._progress import Progress, reporter
from trueness._tally.atomic import replace_file
from trueness._version import __version__
from trueness.errors import InputError
from trueness.reproduce._data import data_file
from trueness.reproduce._experiment import Experiment, Picture, Size
from trueness.reproduce._pieces import do_pieces
from trueness.reproduce._record import Record

__all__ = ["conduct"]


def conduct(
    experiment: Experiment,
    out: str | Path,
    *,
    size: Size = "full",
    seed: int = 0,
    jobs: int = 1,
    fresh: bool = False,
    pictures: bool = True,
    progress: Progress = True,
) -> Record:
    """Run an experiment and write `<name>.json`, `<name>.md` and its figures.

    Parameters
    ----------
    experiment : Experiment
    out : path
        A folder; it is made if it is not there. Pieces of the work are kept in its folder
        ``pieces``, and a run that was interrupted goes on with what is missing.
    size : 'quick' or 'full'
    seed : int
    jobs : int
        Processes.
    fresh : bool
        Do all the work again.
    pictures : bool
        Whether figures are drawn; they need matplotlib.
    progress : bool or function of (done, total)

    Returns
    -------
    Record
        What was written to `<name>.json`.
    """
    for name in experiment.needs:
        data_file(name)
    folder = _made(Path(out))
    store = folder / "pieces" / experiment.name / f"{size}-{seed}"
    done = do_pieces(experiment.pieces(size, seed), store, jobs=jobs, fresh=fresh, report=reporter(progress))
    outcome = experiment.assemble({key: piece.result for key, piece in done.items()}, size)
    drawn = [_drawn(picture, experiment.name, folder) for picture in outcome.pictures] if pictures else []
    record = Record(
        name=experiment.name,
        size=size,
        seed=seed,
        seconds=sum(piece.seconds for piece in done.values()),
        version=__version__,
        tables=outcome.tables,
        pictures=tuple(drawn),
        remarks=outcome.remarks,
    )
    _write(folder / f"{experiment.name}.json", json.dumps(record.to_dict(), indent=1, ensure_ascii=False) + "\n")
    _write(folder / f"{experiment.name}.md", record.to_markdown(experiment) + "\n")
    return record


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as reason:
        raise InputError(f"`out` {str(folder)!r} cannot be made a folder: {reason.strerror or reason}.") from reason
    return folder


def _drawn(picture: Picture, name: str, folder: Path) -> tuple[str, str]:
    file = f"{name}-{picture.name}.png"
    figure = picture.draw()
    replace_file(folder / file, lambda target: figure.savefig(target, format="png", dpi=110))
    _close(figure)
    return file, picture.caption


def _close(figure: Any) -> None:
    """Forget a figure: pyplot keeps every one that it made, and complains of the twenty-first."""
    import matplotlib.pyplot as plt

    plt.close(figure)


def _write(path: Path, text: str) -> None:
    replace_file(path, lambda file: file.write(text.encode()))
