"""What moves TCE on synthetic data: sizes of bins, noise, level, test, rows, prevalence (Tables 6 to 13)."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from trueness_papers.experiment import MATSUBARA, Experiment, Outcome, Piece, Size
from trueness_papers.matsubara.beside import by_both, percent
from trueness_papers.matsubara.data import drawn, noisy
from trueness_papers.matsubara.procedures import (
    MEASURES,
    TESTS,
    Limits,
    by_code,
    by_text,
    tests_by_code,
    tests_by_text,
)
from trueness_papers.matsubara.published import SUPPLEMENT, read

__all__ = ["EXPERIMENTS", "STUDIED"]

Found = dict[str, dict[str, dict[str, float]]]
Work = tuple[Callable[..., Found], dict[str, Any]]

_TEST_PREVALENCE = {"A": 0.5, "B": 0.4}
_USUAL = Limits(300, 1200)


class Studied(NamedTuple):
    """A published table: the authors' file, its number in the paper, what is varied, and the work of a setting."""

    file: str
    number: int
    title: str
    varied: str
    vary: Callable[[str, int, Size], Work]


def _both(y: Any, p: Any, limits: Limits) -> dict[str, dict[str, float]]:
    return {"code": by_code(y, p, limits), "text": by_text(y, p, limits)}


def bin_sizes(setting: str, seed: int, limits: dict[str, list[int]], **fit: Any) -> Found:
    """Limits (N_min, N_max, bins) by label, on the same rows."""
    data = drawn(0.5, _TEST_PREVALENCE[setting], seed=seed, **fit)
    return {label: _both(data.y, data.p, Limits(*values)) for label, values in limits.items()}


def noise(setting: str, seed: int, deviations: list[float], **fit: Any) -> Found:
    """Noise on the log-odds of the predictions."""
    data = drawn(0.5, _TEST_PREVALENCE[setting], seed=seed, **fit)
    scores = noisy(data, deviations)
    return {str(s): _both(data.y, p, _USUAL) for s, p in zip(deviations, scores, strict=True)}


def levels(setting: str, seed: int, alphas: list[float], **fit: Any) -> Found:
    """The level of the tests."""
    data = drawn(0.5, _TEST_PREVALENCE[setting], seed=seed, **fit)
    return {str(alpha): _both(data.y, data.p, _USUAL._replace(alpha=alpha)) for alpha in alphas}


def kinds_of_test(setting: str, seed: int, limits: dict[str, list[int]], **fit: Any) -> Found:
    """Binomial test and t test."""
    data = drawn(0.5, _TEST_PREVALENCE[setting], seed=seed, **fit)
    found = {}
    for label, values in limits.items():
        asked = Limits(*values)
        found[label] = {
            "code": tests_by_code(data.y, data.p, asked),
            "text": tests_by_text(data.y, data.p, asked),
        }
    return found


def sizes(setting: str, seed: int, tests: list[int], **fit: Any) -> Found:
    """The number of test rows, with 7/3 as many for training."""
    found = {}
    for n in tests:
        data = drawn(0.5, _TEST_PREVALENCE[setting], n_train=n * 7 // 3, n_test=n, seed=seed, **fit)
        found[str(n)] = _both(data.y, data.p, Limits(n // 20, n // 5))
    return found


def prevalences(seed: int, shares: list[list[float]], **fit: Any) -> Found:
    """Prevalence in training and in test."""
    found = {}
    for train, test in shares:
        data = drawn(train, test, seed=seed, **fit)
        found[str(train)] = _both(data.y, data.p, _USUAL)
    return found


_BINS = (1000, 500, 100, 50, 10, 5, 1)
_LEAST = {str(n): [n, 6000, bins] for n, bins in zip((1, 6, 30, 60, 300, 600, 3000), _BINS, strict=True)}
_MOST = {str(n): [1, n, bins] for n, bins in zip((6, 30, 60, 300, 600, 3000, 6000), _BINS, strict=True)}
_TWO = {str(3000 // n): [n, 4 * n, 3000 // n] for n in (6, 30, 60, 300, 600)}
_TESTED = {str(n): [n, 4 * n, 3000 // n] for n in (6, 30, 60, 300, 600)}
_SHARES = (0.5, 0.4, 0.3, 0.2, 0.1, 0.08, 0.06, 0.04, 0.02, 0.0)


def _sizes(setting: str, seed: int, size: Size) -> Work:
    tests = [30, 60, 300, 600, 3000, 6000] + ([30_000, 60_000] if size == "full" else [])
    return sizes, {"setting": setting, "seed": seed, "tests": tests}


def _prevalences(setting: str, seed: int, size: Size) -> Work:  # noqa: ARG001
    lower = _SHARES[:-1] if setting == "A" else _SHARES[1:]
    return prevalences, {"seed": seed, "shares": list(map(list, zip(_SHARES, lower, strict=False)))}


def _fixed(function: Callable[..., Found], setting: str, seed: int, size: Size, **options: Any) -> Work:  # noqa: ARG001
    return function, {"setting": setting, "seed": seed, **options}


STUDIED = (
    Studied("minbinsize", 6, "the least number of rows in a bin", "N_min", partial(_fixed, bin_sizes, limits=_LEAST)),
    Studied("maxbinsize", 7, "the largest number of rows in a bin", "N_max", partial(_fixed, bin_sizes, limits=_MOST)),
    Studied("twobinsize", 8, "both limits of the rows in a bin", "bins", partial(_fixed, bin_sizes, limits=_TWO)),
    Studied(
        "perturbation",
        9,
        "noise on the predictions",
        "deviation",
        partial(_fixed, noise, deviations=[0.0, 0.01, 0.05, 0.1, 0.5, 1.0]),
    ),
    Studied(
        "siglevel",
        10,
        "the level of the tests",
        "alpha",
        partial(_fixed, levels, alphas=[0.001, 0.005, 0.01, 0.05, 0.1, 0.5]),
    ),
    Studied("testtype", 11, "binomial test and t test", "N_min", partial(_fixed, kinds_of_test, limits=_TESTED)),
    Studied("datasize", 12, "the number of rows", "test rows", _sizes),
    Studied("differentp", 13, "prevalence", "in training", _prevalences),
)

_NOTES = {
    "minbinsize": "N_max is 6,000. The other bins are 3,000 / N_min in number, at most 1,000.",
    "maxbinsize": "N_min is 1. The numbers of the other bins are those of Table 6, line by line.",
    "twobinsize": "N_min is 3,000 / bins and N_max four times as much.",
    "testtype": "B is the binomial test, T the t test; N_max is four times N_min.",
    "differentp": "Where the test prevalence is 0 there are no events.",
}


def _pieces(study: Studied, size: Size, seed: int) -> Sequence[Piece]:
    return [Piece(setting, *study.vary(setting, seed, size)) for setting in _TEST_PREVALENCE]


def _assemble(study: Studied, results: Mapping[str, Found], size: Size) -> Outcome:  # noqa: ARG001
    columns = TESTS if study.file == "testtype" else MEASURES
    published = {setting: read(SUPPLEMENT[f"{study.file}_{setting}"], columns) for setting in results}
    lines = [
        ((_prevalence(study, setting, label), label), by, published[setting][label])
        for setting, found in results.items()
        for label, by in found.items()
    ]
    source = f"Table {study.number}; the digits from the authors' Supplement/{study.file}_*.csv"
    title, headings = f"Table {study.number}, {study.title}", ("in test", study.varied)
    return Outcome(tuple(by_both(title, source, headings, lines, note=_NOTES.get(study.file, ""))))


def _prevalence(study: Studied, setting: str, label: str) -> str:
    if study.file != "differentp":
        return percent(_TEST_PREVALENCE[setting])
    return percent(float(label) if setting == "A" else _SHARES[_SHARES.index(float(label)) + 1])


def _experiment(study: Studied) -> Experiment:
    return Experiment(
        name=f"matsubara-table-{study.number}",
        paper=MATSUBARA,
        covers=f"Table {study.number}",
        title=study.title,
        pieces=partial(_pieces, study),
        assemble=partial(_assemble, study),
        minutes=0.05,
    )


EXPERIMENTS = tuple(map(_experiment, STUDIED))
