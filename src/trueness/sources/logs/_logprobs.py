"""The log-probabilities of tokens, as chat completions and other JSON have them."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from trueness.sources.logs._sample import dotted, number_or_nan


def token_pairs(content: Sequence[Any]) -> list[tuple[str, float]]:
    """The tokens of a chat completion with their log-probabilities."""
    return [(str(token.get("token", "")), number_or_nan(token.get("logprob"))) for token in content]


def sum_of_logprobs(content: Sequence[Mapping[str, Any]]) -> float | None:
    """The log-probability of all tokens together; None without tokens."""
    if not content:
        return None
    return math.fsum(number_or_nan(token.get("logprob")) for token in content)


def sum_of_numbers(values: Sequence[Any] | None) -> float | None:
    """The sum of log-probabilities; None without any."""
    if not values:
        return None
    return math.fsum(number_or_nan(value) for value in values)


class Logprobs(NamedTuple):
    """The tokens of an answer, if they are known, and its log-probability."""

    tokens: Sequence[tuple[str, float]] = ()
    total: float | None = None


def logprobs_beside(raw: Mapping[str, Any], path: str) -> Logprobs:
    """The log-probabilities that stand beside a field, or beside an object that holds it.

    `path` is the field, with dots between the names of the objects around it. The innermost object
    with log-probabilities counts; the result is empty if there is none.
    """
    holders: list[Any] = [raw]
    for name in path.split(".")[:-1]:
        holders.append(dotted(holders[-1], name))
    for holder in reversed(holders):
        if isinstance(holder, Mapping):
            logprobs = _logprobs_of(holder.get("logprobs", holder.get("logprob")))
            if logprobs.total is not None:
                return logprobs
    return Logprobs()


def _logprobs_of(value: object) -> Logprobs:
    """The log-probabilities in a value of a log, and their sum.

    The value may be that of a chat completion, a list of numbers, or one number, which is the sum.
    Anything else gives an empty result.
    """
    if isinstance(value, Mapping):
        return _logprobs_of(value.get("content", value.get("token_logprobs")))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Logprobs(total=float(value))
    if not isinstance(value, list) or not value:
        return Logprobs()
    if all(isinstance(token, Mapping) for token in value):
        return Logprobs(token_pairs(value), sum_of_logprobs(value))
    return Logprobs(total=sum_of_numbers(value))
