"""What can go wrong, and what deserves a warning: one class each."""

import sys
import warnings

__all__ = [
    "DroppedRowsWarning",
    "FewClustersWarning",
    "FewRowsWarning",
    "InputError",
    "MissingLibraryError",
    "MovedScoresWarning",
    "NoEstimateWarning",
    "NotConvergedWarning",
    "OneClassWarning",
    "OwnRowsWarning",
    "SeparableWarning",
    "TiedScoresWarning",
    "TruenessError",
    "TruenessWarning",
    "warn",
]


class TruenessError(Exception):
    """Any error that trueness raises on purpose."""


class InputError(TruenessError, ValueError):
    """An argument does not meet its demand; the message says which, where and how to mend it."""


class MissingLibraryError(TruenessError, ImportError):
    """An optional library is not installed; the message says how to install it."""


class TruenessWarning(UserWarning):
    """Any warning that trueness gives; the number is returned all the same."""


class OneClassWarning(TruenessWarning):
    """All labels are equal."""


class FewClustersWarning(TruenessWarning):
    """Rows come in so few clusters, or so much in one, that levels are not kept."""


class FewRowsWarning(TruenessWarning):
    """There are fewer rows than bins, or too few at a value or of a class."""


class DroppedRowsWarning(TruenessWarning):
    """Rows with missing values were left out, as ``missing="drop"`` asked."""


class MovedScoresWarning(TruenessWarning):
    """Scores of exactly 0 or 1 were moved inwards, because their logit is infinite."""


class NoEstimateWarning(TruenessWarning):
    """The data do not determine the number; nan is returned."""


class NotConvergedWarning(TruenessWarning):
    """A search ended before it reached the optimum; what it had is returned."""


class OwnRowsWarning(TruenessWarning):
    """A calibrator is asked about the rows it was fitted on."""


class TiedScoresWarning(TruenessWarning):
    """Scores are tied where a guarantee assumes that none are."""


class SeparableWarning(TruenessWarning):
    """The labels would push a map to infinity, or do not determine it; a finite one is returned."""


def warn(message: str, category: type[TruenessWarning]) -> None:
    """Give a warning that points at the caller's line, not at one of ours."""
    depth = 1
    while sys._getframe(depth).f_globals.get("__name__", "").partition(".")[0] == "trueness":
        if sys._getframe(depth).f_back is None:
            break
        depth += 1
    warnings.warn(message, category, stacklevel=depth + 1)
