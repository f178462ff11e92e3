"""What a classifier is given besides rows and labels, and for whom: scikit-learn's metadata."""

from typing import Any, NamedTuple

import numpy as np
from sklearn import get_config
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, get_routing_for_object, process_routing
from sklearn.utils.validation import has_fit_parameter

from trueness.errors import InputError, TruenessWarning, warn
from trueness.typing import Floats, Ints

__all__ = ["Routed", "of_rows", "routed", "router"]

_GROUPS = (
    "`sklearn.set_config(enable_metadata_routing=True)` lets `fit(X, y, groups=groups)` hand them over; without it, "
    "`cv=list({name}(…).split(X, y, groups))` holds the folds themselves."
)


class Routed(NamedTuple):
    """Who gets what in `fit`."""

    estimator: dict[str, Any]
    """Arguments of the classifier's `fit`."""
    weights: Floats | None
    """Weights for the calibrator."""
    splitter: dict[str, Any]
    """Arguments of the splitter's `split`."""


def router(owner: Any, estimator: Any, calibrator: Any, cv: Any) -> MetadataRouter:
    """Who inside takes part in `fit`."""
    found = MetadataRouter(owner=owner).add_self_request(owner)
    to_fit = MethodMapping().add(caller="fit", callee="fit")
    found.add(estimator=estimator, method_mapping=to_fit).add(calibrator=calibrator, method_mapping=to_fit)
    return found.add(splitter=cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))


def routed(owner: Any, estimator: Any, cv: Any, w: Floats | None, others: dict[str, Any]) -> Routed:
    """Deal out what `fit` was given: as requested if routing is enabled, else as scikit-learn did before."""
    if get_config()["enable_metadata_routing"]:
        found = process_routing(owner, "fit", sample_weight=w, **others)
        routes = Routed(
            dict(found.estimator.fit), found.calibrator.fit.get("sample_weight"), dict(found.splitter.split)
        )
        takes = get_routing_for_object(estimator).consumes("fit", ["sample_weight"])
    else:
        takes = has_fit_parameter(estimator, "sample_weight")
        if "groups" in others and not has_fit_parameter(estimator, "groups"):
            raise InputError(
                "groups", "must come with metadata routing", "it is off", remedy=_GROUPS.format(name="GroupKFold")
            )
        routes = Routed(others | ({"sample_weight": w} if takes and w is not None else {}), w, {})
    if w is not None and not takes and not _can_take(estimator):
        warn(
            f"`sample_weight` goes to the calibrator only: {type(estimator).__name__} does not take it.",
            TruenessWarning,
        )
    _check_groups(cv, routes.splitter)
    return routes


def of_rows(arguments: dict[str, Any], rows: Ints, n: int) -> dict[str, Any]:
    """The arguments for some of n rows: those that have an entry per row are cut."""
    return {name: _safe_indexing(value, rows) if _one_per_row(value, n) else value for name, value in arguments.items()}


def _can_take(estimator: Any) -> bool:
    """Whether it is the estimator's own wish to have no weights, or of no matter."""
    return isinstance(estimator, FrozenEstimator) or bool(has_fit_parameter(estimator, "sample_weight"))


def _check_groups(cv: Any, given: dict[str, Any]) -> None:
    wants = hasattr(cv, "split") and get_routing_for_object(cv).consumes("split", ["groups"])
    if wants and given.get("groups") is None:
        name = type(cv).__name__
        raise InputError("groups", f"must be given for cv={name}(…)", "got none", remedy=_GROUPS.format(name=name))


def _one_per_row(value: Any, n: int) -> bool:
    if isinstance(value, str | bytes | dict) or not (hasattr(value, "__len__") or hasattr(value, "shape")):
        return False
    shape = getattr(value, "shape", None) or np.shape(value)[:1]
    return bool(shape) and shape[0] == n
