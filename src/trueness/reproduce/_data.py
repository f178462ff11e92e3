"""Files of real predictions and data, which the papers used and this project does not carry."""

import os
from pathlib import Path

from trueness.errors import InputError

__all__ = ["absent", "data_file"]

_WHAT = {
    "credit_default.csv.gz": "'default of credit card clients' (Yeh & Lien 2009), number 350 at the UCI machine "
    "learning repository, as gzipped text: id, 23 features, `default_payment_next_month`",
    "imagenet_dogs.npz": "`y_true` (dog or not, ImageNet validation) and the P(dog) of `alexnet` and `resnet152`",
    "top1_confidence.npz": "top-1 confidence and correctness of CIFAR-10 and ImageNet models",
    "cifar10_resnet50_logits.npz": "logits and labels of CIFAR-10 by a ResNet-50, validation and test",
    "spambase.data": "spambase, number 94 at the UCI machine learning repository, as it is there",
    **{
        f"x{number}data.npz": f"{name} of imbalanced-learn's benchmark, a file of the archive that its "
        "`fetch_datasets` unpacks into scikit_learn_data/zenodo"
        for number, name in (
            (2, "optical_digits"),
            (3, "satimage"),
            (4, "pen_digits"),
            (5, "abalone"),
            (9, "isolet"),
            (15, "coil_2000"),
            (21, "letter_img"),
            (23, "webpage"),
            (25, "mammography"),
        )
    },
}


def _folder() -> Path | None:
    named = os.environ.get("TRUENESS_DATA")
    return Path(named) if named else None


def absent(names: tuple[str, ...]) -> list[str]:
    """Those of the files that are not there."""
    folder = _folder()
    return [name for name in names if folder is None or not (folder / name).exists()]


def data_file(name: str) -> Path:
    """Where the file is, or an error that says what it is and where it is looked for."""
    folder = _folder()
    if folder is None or not (folder / name).exists():
        about = f" It has {_WHAT[name]}." if name in _WHAT else ""
        raise InputError(f"The experiment needs {name}: set TRUENESS_DATA to the folder that has it.{about}")
    return folder / name
