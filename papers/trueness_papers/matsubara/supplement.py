"""TCE on synthetic data: bin sizes, noise, level, test, number of rows, prevalence (Tables 6 to 13)."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from trueness_papers.experiment import MATSUBARA, Experiment, Outcome, Piece, Size
from trueness_papers.matsubara.procedures import (
    MEASURES,
    ROUNDING,
    TESTS,
    Line,
    Options,
    by_both,
    comparison,
    percent,
    tests_by_code,
    tests_by_text,
)
from trueness_papers.matsubara.published import SUPPLEMENT, read, read_printed
from trueness_papers.matsubara.simulation import Stop, add_noise, authors_rows
from trueness_papers.record import Row, Table

__all__ = ["FIT", "TABLES_6_TO_13"]

Results = dict[str, dict[str, dict[str, float]]]
Work = tuple[Callable[..., Results], dict[str, Any]]

_TEST_PREVALENCE = {"A": 0.5, "B": 0.4}
_USUAL = Options(300, 1200)


class Study(NamedTuple):
    """A published table: the authors' file, the experiment, the table's number, what is varied, and the work."""

    file: str
    name: str
    number: int
    title: str
    varied: str
    vary: Callable[[str, int, Size], Work]


def bin_sizes(setting: str, seed: int, limits: dict[str, list[int]], **fit: Any) -> Results:
    """Options (N_min, N_max, bins) by label, on the same rows."""
    data = authors_rows(0.5, _TEST_PREVALENCE[setting], seed=seed, **fit)
    return {label: by_both(data.y, data.p, Options(*values)) for label, values in limits.items()}


def noise(setting: str, seed: int, deviations: list[float], **fit: Any) -> Results:
    """Noise on the log-odds of the predictions."""
    data = authors_rows(0.5, _TEST_PREVALENCE[setting], seed=seed, **fit)
    scores = add_noise(data, deviations)
    return {str(s): by_both(data.y, p, _USUAL) for s, p in zip(deviations, scores, strict=True)}


def levels(setting: str, seed: int, alphas: list[float], **fit: Any) -> Results:
    """Levels of the tests."""
    data = authors_rows(0.5, _TEST_PREVALENCE[setting], seed=seed, **fit)
    return {str(alpha): by_both(data.y, data.p, _USUAL._replace(alpha=alpha)) for alpha in alphas}


def kinds_of_test(setting: str, seed: int, limits: dict[str, list[int]], **fit: Any) -> Results:
    """Binomial test and t test."""
    data = authors_rows(0.5, _TEST_PREVALENCE[setting], seed=seed, **fit)
    found = {}
    for label, values in limits.items():
        found[label] = {
            "code": tests_by_code(data.y, data.p, Options(*values)),
            "text": tests_by_text(data.y, data.p, Options(*values), fuse=True),
            "blocks": tests_by_text(data.y, data.p, Options(*values), fuse=False),
        }
    return found


def sizes(setting: str, seed: int, tests: list[int], **fit: Any) -> Results:
    """Numbers of test rows, with 7/3 as many for training."""
    found = {}
    for n in tests:
        data = authors_rows(
            0.5, _TEST_PREVALENCE[setting], n_train=n * 7 // 3, n_test=n, seed=seed, **fit
        )
        found[str(n)] = by_both(data.y, data.p, Options(n // 20, n // 5))
    return found


def prevalences(seed: int, shares: list[list[float]], **fit: Any) -> Results:
    """Prevalence in training and in test."""
    found = {}
    for train, test in shares:
        data = authors_rows(train, test, seed=seed, **fit)
        found[str(train)] = by_both(data.y, data.p, _USUAL)
    return found


_BINS = (1000, 500, 100, 50, 10, 5, 1)
_LEAST = {
    str(n): [n, 6000, bins] for n, bins in zip((1, 6, 30, 60, 300, 600, 3000), _BINS, strict=True)
}
_MOST = {
    str(n): [1, n, bins] for n, bins in zip((6, 30, 60, 300, 600, 3000, 6000), _BINS, strict=True)
}
_TWO = {str(3000 // n): [n, 4 * n, 3000 // n] for n in (6, 30, 60, 300, 600)}
_TESTED = {str(n): [n, 4 * n, 3000 // n] for n in (6, 30, 60, 300, 600)}
_SHARES = (0.5, 0.4, 0.3, 0.2, 0.1, 0.08, 0.06, 0.04, 0.02, 0.0)


def _sizes(setting: str, seed: int, size: Size) -> Work:
    tests = [30, 60, 300, 600, 3000, 6000] + ([30_000, 60_000] if size == "full" else [])
    return sizes, {"setting": setting, "seed": seed, "tests": tests}


def _prevalences(setting: str, seed: int, size: Size) -> Work:  # noqa: ARG001
    lower = _SHARES[:-1] if setting == "A" else _SHARES[1:]
    return prevalences, {"seed": seed, "shares": list(map(list, zip(_SHARES, lower, strict=False)))}


def _fixed(
    function: Callable[..., Results],
    setting: str,
    seed: int,
    size: Size,  # noqa: ARG001
    **options: Any,
) -> Work:
    return function, {"setting": setting, "seed": seed, **options}


STUDIES = (
    Study(
        "minbinsize",
        "matsubara-table-6",
        6,
        "the minimum bin size",
        "N_min",
        partial(_fixed, bin_sizes, limits=_LEAST),
    ),
    Study(
        "maxbinsize",
        "matsubara-table-7",
        7,
        "the maximum bin size",
        "N_max",
        partial(_fixed, bin_sizes, limits=_MOST),
    ),
    Study(
        "twobinsize",
        "matsubara-table-8",
        8,
        "both limits of the bin size",
        "bins",
        partial(_fixed, bin_sizes, limits=_TWO),
    ),
    Study(
        "perturbation",
        "matsubara-table-9",
        9,
        "noise on the predictions",
        "deviation",
        partial(_fixed, noise, deviations=[0.0, 0.01, 0.05, 0.1, 0.5, 1.0]),
    ),
    Study(
        "siglevel",
        "matsubara-table-10",
        10,
        "the level of the tests",
        "alpha",
        partial(_fixed, levels, alphas=[0.001, 0.005, 0.01, 0.05, 0.1, 0.5]),
    ),
    Study(
        "testtype",
        "matsubara-table-11",
        11,
        "binomial test and t test",
        "N_min",
        partial(_fixed, kinds_of_test, limits=_TESTED),
    ),
    Study("datasize", "matsubara-table-12", 12, "the number of rows", "test rows", _sizes),
    Study("differentp", "matsubara-table-13", 13, "prevalence", "in training", _prevalences),
)

_CUTS = (
    "Bold, TCE(Q), ACE and MCE(Q) by the text: where the code rounds linspace(0, 1, B + 1) · N down, some cuts "
    "between quantile bins lie one row lower."
)
_JOINED = "Bold, TCE(P) by the text: Algorithm 3 joins neighbouring blocks of equal rate."
_NOTES = {
    "minbinsize": f"N_max is 6,000. There are 3,000 / N_min other bins, at most 1,000. {_CUTS}",
    "maxbinsize": f"N_min is 1. The numbers of other bins are those of Table 6. {_CUTS} {_JOINED}",
    "twobinsize": "N_min is 3,000 / bins and N_max four times as much. The paper labels the settings by the range of "
    "the number of bins, bins / 2 to 2 · bins (once as [10, 20] instead of [5, 20], and [3, 10] for 2.5 to 10). "
    f"{_CUTS} {_JOINED}",
    "siglevel": "The text of Appendix C.1 announces levels from 0.0001 to 0.1; the table has these.",
    "testtype": "B: binomial test, T: t test; N_max is four times N_min. Bold, T: the code divides by the variance "
    f"where the standard deviation belongs. {_CUTS.replace('TCE(Q), ACE and MCE(Q)', 'TCE(Q)-B')} {_JOINED}",
    "datasize": f"The caption exchanges N_min and N_max; they are N/20 and N/5. {_JOINED}",
    "differentp": f"With a test prevalence of 0 there are no events, and by the text a single bin. {_JOINED}",
}


def _pieces(study: Study, size: Size, seed: int) -> Sequence[Piece]:
    return [Piece(setting, *study.vary(setting, seed, size)) for setting in _TEST_PREVALENCE]


def _assemble(study: Study, results: Mapping[str, Results], size: Size) -> Outcome:  # noqa: ARG001
    columns = TESTS if study.file == "testtype" else MEASURES
    lines = []
    for setting, found in results.items():
        block = SUPPLEMENT[f"{study.file}_{setting}"]
        authors, printed = read(block, columns), read_printed(block, columns)
        for label, by in found.items():
            labels = (_prevalence(study, setting, label), label)
            lines.append(Line(labels, by["text"], by["code"], authors[label], printed[label]))
    source = f"Table {study.number}; authors' code: Supplement/{study.file}_*.csv"
    title, headings = f"Table {study.number}, {study.title}", ("in test", study.varied)
    return Outcome((comparison(title, source, headings, lines, note=_NOTES.get(study.file, "")),))


def _prevalence(study: Study, setting: str, label: str) -> str:
    if study.file != "differentp":
        return percent(_TEST_PREVALENCE[setting])
    return percent(float(label) if setting == "A" else _SHARES[_SHARES.index(float(label)) + 1])


def _experiment(study: Study) -> Experiment:
    return Experiment(
        name=study.name,
        paper=MATSUBARA,
        covers=f"Table {study.number}",
        title=study.title,
        pieces=partial(_pieces, study),
        assemble=partial(_assemble, study),
        minutes=0.05,
    )


TABLES_6_TO_13 = tuple(map(_experiment, STUDIES))


# ------------------------------------------------------------- where the fit stops

_STOPS: dict[Stop, str] = {
    "then": "as scikit-learn did: the sum of the losses falls by a relative 2.2e-9",
    "converged": "at the optimum (tolerance 1e-9)",
    "now": "as scikit-learn does: the gradient of the mean loss is below 1e-4",
}


_PROCEDURES = {
    "code": "the authors' code",
    "blocks": "the text, but every block of Algorithm 2 a bin",
    "text": "the text to the letter: edges by Algorithm 3, which joins blocks of equal rate",
}


def count_agreeing(stop: Stop, settings: str, size: Size, seed: int) -> dict[str, int]:
    """How many numbers agree with the published ones, by each procedure, and how many are `known`."""
    agreeing = dict.fromkeys((*_PROCEDURES, "known"), 0)
    for study in STUDIES:
        for setting in settings:
            function, arguments = study.vary(setting, seed, size)
            published = read(
                SUPPLEMENT[f"{study.file}_{setting}"],
                TESTS if study.file == "testtype" else MEASURES,
            )
            for label, by in function(**arguments, stop=stop).items():
                agreeing["known"] += len(by["code"])
                for procedure in _PROCEDURES:
                    differences = [
                        abs(value - published[label][name]) for name, value in by[procedure].items()
                    ]
                    agreeing[procedure] += sum(difference <= ROUNDING for difference in differences)
    return agreeing


def _fit_pieces(size: Size, seed: int) -> Sequence[Piece]:
    settings = "AB" if size == "full" else "A"
    arguments = {"settings": settings, "size": size, "seed": seed}
    return [Piece(stop, count_agreeing, {"stop": stop, **arguments}) for stop in _STOPS]


def _assemble_fit(results: Mapping[str, Any], size: Size) -> Outcome:
    part = "" if size == "full" else " (a part of them)"
    title = f"How many of the {results['then']['known']} numbers of Tables 6 to 13{part} agree with the published ones"
    stops = tuple(Row((words,), results[stop]["code"]) for stop, words in _STOPS.items())
    procedures = tuple(Row((words,), results["then"][key]) for key, words in _PROCEDURES.items())
    tables = (
        Table(title, "", ("the logistic regression stops",), stops, digits=0),
        Table(f"{title}, by procedure", "", ("computed by",), procedures, digits=0),
    )
    return Outcome(tables, remarks=(_version(),))


def _version() -> str:
    from sklearn import __version__

    return f"The last line of the first table was computed with scikit-learn {__version__}."


FIT = Experiment(
    name="matsubara-fit",
    paper=MATSUBARA,
    covers="Tables 6 to 13, the fit",
    title="how many published digits depend on where the fit stops",
    pieces=_fit_pieces,
    assemble=_assemble_fit,
    minutes=0.5,
)
