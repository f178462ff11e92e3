"""Unknown keyword arguments: an error that names the nearest known one."""

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import ParamSpec, TypeVar, cast

Target = TypeVar("Target", bound=Callable[..., object])
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

# The names of other libraries, and those of ours they may stand for; the first that a function has
# is suggested.
_OTHER_NAMES = {
    **dict.fromkeys(("n_bins", "num_bins", "nbins", "bin_count"), ("bins", "n_bins", "n")),
    **dict.fromkeys(("bins", "strategy", "binning"), ("n_bins", "bins", "n", "scheme")),
    **dict.fromkeys(
        ("y_score", "y_pred", "y_proba", "y_probs", "probs", "scores", "preds", "p"),
        ("y_prob", "score"),
    ),
    **dict.fromkeys(("labels", "label", "y", "target", "targets", "outcome"), ("y_true", "label")),
    **dict.fromkeys(("weights", "weight", "w", "sample_weights"), ("sample_weight", "weight")),
    **dict.fromkeys(("random_state", "rng", "random_seed"), ("seed",)),
    **dict.fromkeys(
        ("confidence", "confidence_level", "ci", "coverage", "alpha"), ("level", "alpha")
    ),
    **dict.fromkeys(
        ("group", "groups", "clusters", "cluster_id"), ("cluster", "by", "group", "groups")
    ),
    **dict.fromkeys(("n_resamples", "resamples", "n_boot"), ("n_resamples", "resamples")),
    **dict.fromkeys(("n_bootstrap", "n_bootstraps"), ("n_resamples", "resamples")),
    **dict.fromkeys(("order", "ord"), ("norm",)),
    **dict.fromkeys(("task", "average", "multi_class", "mode"), ("kind",)),
    **dict.fromkeys(("logits", "is_logits"), ("from_logits",)),
    **dict.fromkeys(("percentage", "percents", "in_percent"), ("percent",)),
    **dict.fromkeys(("nan_policy", "dropna", "skipna"), ("missing",)),
}


def unknown_keyword(function: str, keyword: str, known: Iterable[str]) -> TypeError:
    """The error for a keyword that a function does not have.

    >>> print(unknown_keyword("ece", "n_bins", ["bins", "norm"]))
    ece() got an unexpected keyword argument 'n_bins'. Did you mean `bins=`?
    """
    from difflib import get_close_matches  # only when something is wrong

    names = list(known)
    near = [name for name in _OTHER_NAMES.get(keyword.lower(), ()) if name in names]
    near += get_close_matches(keyword.lower(), names, n=1)
    if near:
        hint = f"Did you mean `{near[0]}=`?"
    else:
        hint = f"Its arguments are {', '.join(f'`{name}`' for name in names)}."
    return TypeError(f"{function}() got an unexpected keyword argument {keyword!r}. {hint}")


def suggests_keywords(target: Target) -> Target:
    """Let a function or class suggest the nearest of its keywords for an unknown one."""
    if inspect.isclass(target):
        # For type checkers.
        setattr(target, "__init__", _checked(target.__init__, target.__name__))  # noqa: B010
        return target
    return cast(Target, _checked(target, target.__qualname__))


def _checked(function: Callable[Parameters, Result], name: str) -> Callable[Parameters, Result]:
    known = [one for one in inspect.signature(function).parameters if one not in ("self", "cls")]
    allowed = frozenset(known)

    @wraps(function)
    def checked(*arguments: Parameters.args, **keywords: Parameters.kwargs) -> Result:
        if keywords and not keywords.keys() <= allowed:
            raise unknown_keyword(name, next(one for one in keywords if one not in allowed), known)
        return function(*arguments, **keywords)

    return checked
