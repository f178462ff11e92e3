"""The format of a log, recognised by its content, and its reader."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

from trueness.sources.logs._sample import Log, Report, Sample
from trueness.sources.logs.formats import _chat_batch as chat_batch
from trueness.sources.logs.formats import _deepeval as deepeval
from trueness.sources.logs.formats import _helm as helm
from trueness.sources.logs.formats import _inspect as inspect
from trueness.sources.logs.formats import _langfuse as langfuse
from trueness.sources.logs.formats import _lighteval as lighteval
from trueness.sources.logs.formats import _lm_eval as lm_eval
from trueness.sources.logs.formats import _openai_evals as openai_evals
from trueness.sources.logs.formats import _plugins as plugins
from trueness.sources.logs.formats import _promptfoo as promptfoo
from trueness.sources.logs.formats import _uqlm as uqlm
from trueness.sources.tables._text import BLANK

Reader: TypeAlias = Callable[[Log, Report], Iterator[Sample]]
_ZIP_START = b"PK\x03\x04"
_PARQUET_START = b"PAR1"
# What each format has at the start of a file, behind blanks: all of these must match.
_SIGNS: tuple[tuple[str, tuple[bytes, ...]], ...] = (
    (
        "openai",
        (rb'^\{\s*"spec"\s*:\s*\{', rb'"(run_config|eval_name|base_eval|completion_fns)"'),
    ),
    ("helm", (rb'^\[\s*\{\s*"(instance_id|train_trial_index|perturbation|stats)"\s*:',)),
    ("lm-eval", (rb"^[\[{]", rb'"doc_id"\s*:', rb'"(resps|filtered_resps|arguments)"\s*:')),
    ("inspect", (rb"^\{", rb'"eval"\s*:\s*\{', rb'"(version|status)"\s*:')),
    ("chat batch", (rb"^\{", rb'"custom_id"\s*:', rb'"response"\s*:')),
    (
        "promptfoo",
        (
            rb"^\{",
            rb'"results"\s*:\s*\{\s*"(version|timestamp|results|prompts)"\s*:',
            rb'"(prompts|evalId|stats|testIdx|failureReason)"\s*:',
        ),
    ),
    ("promptfoo", (rb"^\{", rb'"promptIdx"\s*:\s*\d', rb'"testIdx"\s*:\s*\d', rb'"success"\s*:')),
    (
        "deepeval",
        (
            rb"^\{",
            rb'"testCases"\s*:\s*\[',
            rb'"(actualOutput|metricsData|metricsScores|testRunData)"\s*:',
        ),
    ),
    (
        "langfuse",
        (
            rb"^[\[{]",
            rb'"input"\s*:',
            rb'"output"\s*:',
            rb'"scores"\s*:\s*[\[{]',
            rb'"(htmlPath|observations|traceId|trace_id|projectId|project_id|bookmarked)"\s*:',
        ),
    ),
    (
        "uqlm",
        (
            rb'^\{\s*"data"\s*:\s*\{\s*"(prompts|responses)"\s*:\s*\[',
            rb'"(responses|sampled_responses|prompts)"',
        ),
    ),
)
_INSPECT_MEMBERS = rb"(_journal/|samples/|header\.json)"
_START_SIZE = 4096
# A file of one line, such as a whole log of inspect, is searched this far.
_LONGEST_FIRST_LINE = 1 << 24


def recognise(path: Path) -> str:
    """The name of the harness that wrote a file, found from its content; '' for other files.

    A pipe is never recognised, as it can be read only once. Readers of other packages are asked
    last.
    """
    if path.name == helm.HELM_FILE:
        return "helm"
    if path.is_fifo():  # a pipe can be read only once
        return ""
    start = _start_of(path)
    if start.startswith(_ZIP_START):
        is_log = path.suffix == ".eval" or re.search(_INSPECT_MEMBERS, start)
        return "inspect" if is_log else ""
    if start.startswith(_PARQUET_START) and lighteval.is_lighteval(path):
        return "lighteval"
    text = start.lstrip(BLANK)
    for harness, signs in _SIGNS:
        if all(re.search(sign, text) for sign in signs):
            return harness
    return plugins.plugin_of(path, start)


def _start_of(path: Path) -> bytes:
    """The first bytes, and of JSON the whole first line; nothing if the file cannot be read."""
    try:
        with path.open("rb") as file:
            start = file.read(_START_SIZE)
            is_json = start.lstrip(BLANK).startswith((b"{", b"["))
            if is_json and b"\n" not in start[:-1]:
                start += file.readline(_LONGEST_FIRST_LINE)
    except OSError:
        return b""
    return start


def samples_of(log: Log, report: Report) -> Iterator[Sample]:
    """The samples of a log in order."""
    reader = _READERS.get(log.harness, plugins.samples)
    return reader(log, report)


_READERS: dict[str, Reader] = {
    "lm-eval": lm_eval.samples,
    "inspect": inspect.samples,
    "helm": helm.samples,
    "openai": openai_evals.samples,
    "chat batch": chat_batch.samples,
    "promptfoo": promptfoo.samples,
    "deepeval": deepeval.samples,
    "langfuse": langfuse.samples,
    "lighteval": lighteval.samples,
    "uqlm": uqlm.samples,
}
