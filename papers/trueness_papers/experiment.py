"""`Experiment`: a published table or figure, the work it takes, and the data files it needs."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from trueness.errors import InputError
from trueness_papers.record import Size, Table

__all__ = [
    "GUPTA",
    "MATSUBARA",
    "PAPERS",
    "SUN",
    "Experiment",
    "Outcome",
    "Paper",
    "Picture",
    "Piece",
    "Size",
    "contents",
    "data_file",
    "missing_files",
]


class Paper(NamedTuple):
    """A publication."""

    key: str
    authors: str
    title: str
    year: int

    @property
    def citation(self) -> str:
        """Authors, title and year."""
        return f"{self.authors}, *{self.title}* ({self.year})"

    @property
    def short(self) -> str:
        """First author and year."""
        return f"{self.authors.split(',')[0]} {self.year}"


MATSUBARA = Paper(
    "matsubara",
    "Matsubara, Tax, Mudd, Guy",
    "TCE: a test-based approach to measuring calibration error",
    2023,
)
SUN = Paper(
    "sun",
    "Sun, Chaudhari, Barnett, Dobriban",
    "A confidence interval for the l2 expected calibration error",
    2025,
)
GUPTA = Paper(
    "gupta",
    "Gupta, Ramdas",
    "Distribution-free calibration guarantees for histogram binning without sample splitting",
    2021,
)
PAPERS = (MATSUBARA, SUN, GUPTA)


class Piece(NamedTuple):
    """A part of the work whose result is saved when it is finished.

    The function must be importable, since it may run in another process. Its arguments and its result must be plain
    enough for JSON, and equal arguments must give equal results.
    """

    key: str
    function: Callable[..., Any]
    arguments: dict[str, Any]


class Picture(NamedTuple):
    """A figure: `draw` returns a matplotlib figure."""

    name: str
    caption: str
    draw: Callable[[], Any]


@dataclass(frozen=True)
class Outcome:
    """The tables, figures and remarks of an experiment; tables and remarks about computing times are kept apart."""

    tables: tuple[Table, ...]
    pictures: tuple[Picture, ...] = ()
    remarks: tuple[str, ...] = ()
    timings: tuple[Table, ...] = ()
    timing_remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """A published experiment.

    Parameters
    ----------
    name : str
        The name on the command line: "matsubara-table-5".
    paper : Paper
    covers : str
        The tables and figures of the paper: "Table 5 and Figure 7".
    title : str
        A few words on what was done.
    pieces : function of (size, seed)
        The work, cut so that a piece takes seconds to a few minutes.
    assemble : function of (results by key, size)
        The outcome; it computes nothing that takes long.
    minutes : float
        Computing time of the full size on one core.
    needs : tuple of str
        Data files, looked up in TRUENESS_DATA.
    """

    name: str
    paper: Paper
    covers: str
    title: str
    pieces: Callable[[Size, int], Sequence[Piece]]
    assemble: Callable[[Mapping[str, Any], Size], Outcome]
    minutes: float
    needs: tuple[str, ...] = ()


_BENCHMARK = {
    2: "optical_digits",
    3: "satimage",
    4: "pen_digits",
    5: "abalone",
    9: "isolet",
    15: "coil_2000",
}
_BENCHMARK |= {21: "letter_img", 23: "webpage", 25: "mammography"}
_CONTENTS = {
    "credit_default.csv.gz": "'default of credit card clients' (Yeh & Lien 2009), number 350 at the UCI machine "
    "learning repository, as gzipped text: id, 23 features, `default_payment_next_month`",
    "imagenet_dogs.npz": "`y_true` (dog or not, 50,000 ImageNet validation images) and the P(dog) of any of `alexnet`, "
    "`vgg19`, `resnet18`, `resnet50` and `resnet152`: Dataset/DL/labels.npy and preds_00.npy to preds_04.npy, in this "
    "order, of https://github.com/facebookresearch/tce",
    "top1_confidence.npz": "`NAME_confidence` and `NAME_correct` for `cifar10_resnet50` and `imagenet_resnet152`, the "
    "pickled pairs in experiments/data of https://github.com/dh7401/T-Cal (Lee et al. 2023)",
    "cifar10_resnet50_logits.npz": "`val_logits` (5,000 × 10), `val_labels`, `test_logits` (10,000 × 10) and "
    "`test_labels` of a ResNet-50 for CIFAR-10; it is not published, and another network gives other numbers",
    "spambase.data": "spambase, number 94 at the UCI machine learning repository, unchanged",
    **{
        f"x{number}data.npz": f"{name} of imbalanced-learn's benchmark, a file of the archive that its "
        "`fetch_datasets` unpacks into scikit_learn_data/zenodo"
        for number, name in _BENCHMARK.items()
    },
}


def _find(name: str) -> Path | None:
    folder = os.environ.get("TRUENESS_DATA")
    path = Path(folder) / name if folder else None
    return path if path is not None and path.exists() else None


def missing_files(names: tuple[str, ...]) -> list[str]:
    """The data files that cannot be found."""
    return [name for name in names if _find(name) is None]


def data_file(name: str) -> Path:
    """Path of a data file that is not part of the project.

    Raises
    ------
    InputError
        If it is missing; the message says what the file contains and where that can be had.
    """
    path = _find(name)
    if path is None:
        about = contents(name)
        raise InputError(
            "TRUENESS_DATA", f"must be set to the folder that contains {name}", remedy=about
        )
    return path


def contents(name: str) -> str:
    """What a data file contains, and where that can be had, in a sentence."""
    return f"The file has {_CONTENTS[name]}." if name in _CONTENTS else ""
