"""Chat-completion batches of OpenAI and vLLM: a line per request."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from trueness.sources.logs._logprobs import sum_of_logprobs, token_pairs
from trueness.sources.logs._sample import (
    Log,
    Report,
    Sample,
    dotted,
    message_text,
    records_at,
    typed,
)


def samples(log: Log, report: Report) -> Iterator[Sample]:
    """The output of a batch: a line per request, with one or several completions."""
    log.task = log.path.stem
    for row in records_at(log, report):
        yield from _completions(row, log)


def _completions(row: Mapping[str, Any], log: Log) -> Iterator[Sample]:
    """A sample for each completion of a request."""
    identity = typed(row.get("custom_id"), str, log.place, "custom_id")
    question = f"{log.task}/{identity}"
    response = row.get("response") or {}
    body = response.get("body") or {}
    if "choices" in response:  # earlier versions of vLLM have no body
        body = response
    failure = _failure(row, response, body)
    if failure:
        yield Sample(question=question, identity=identity, raw=row, trouble=failure)
        return
    for i, choice in enumerate(body["choices"]):
        message = choice.get("message") or {}
        content = cast(Sequence[Any], dotted(choice, "logprobs.content") or [])
        refusal = message.get("refusal")
        yield Sample(
            question=question,
            identity=identity,
            raw=row,
            model=str(body.get("model") or ""),
            text=message_text(message.get("content", choice.get("text"))),
            epoch=i + 1,
            trouble="the model refused to answer" if refusal else "",
            tokens=token_pairs(content),
            logprob=sum_of_logprobs(content),
        )


def _failure(row: Mapping[str, Any], response: Mapping[str, Any], body: Mapping[str, Any]) -> str:
    """Why a request has no completion; empty if it has one."""
    status = response.get("status_code", 200)
    if status != 200:
        return f"the request failed (status {str(status)[:3]})"
    error = row.get("error") or body.get("error")
    if error:
        code = error.get("code") if isinstance(error, Mapping) else None
        return f"the request failed ({str(code or 'error')[:40]})"
    if not body.get("choices"):
        return "the request failed (no completion)"
    return ""
