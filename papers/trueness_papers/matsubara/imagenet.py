"""Recognising dogs in ImageNet: six measures of each network in the data file, and times (Table 5 and Figure 7)."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import process_time
from typing import Any

import numpy as np

from trueness import BlockIsotonic, EqualMass
from trueness.measure import ace, ece, mce, tce
from trueness_papers.experiment import (
    MATSUBARA,
    Experiment,
    Outcome,
    Picture,
    Piece,
    Size,
    data_file,
)
from trueness_papers.matsubara.diagrams import rejection_diagram, reliability_diagrams
from trueness_papers.matsubara.procedures import Line, Options, by_code, code_bins, comparison
from trueness_papers.matsubara.published import (
    IMAGENET,
    IMAGENET_PRINTED,
    IMAGENET_SECONDS,
    SIX,
    WITHOUT_QUANTILE,
    read,
    read_printed,
)
from trueness_papers.record import Row, Table

__all__ = ["TABLE_FIVE", "plain_binomial"]

_FILE = "imagenet_dogs.npz"
_MODELS = {
    "alexnet": "AlexNet",
    "vgg19": "VGG19",
    "resnet18": "ResNet18",
    "resnet50": "ResNet50",
    "resnet152": "ResNet152",
}
_PLAIN = "resnet152"
_ROUNDS = {"quick": 3, "full": 25}


def _predictions(model: str) -> tuple[Any, Any]:
    with np.load(data_file(_FILE)) as data:
        # A sum of softmax entries can exceed 1 by rounding; the authors' code cuts it, too.
        return data["y_true"].astype(np.int64), np.minimum(data[model].astype(np.float64), 1)


def _held() -> list[str]:
    """The networks whose predictions the data file has."""
    with np.load(data_file(_FILE)) as data:
        return [model for model in _MODELS if model in data.files]


def measure_model(model: str, rounds: int) -> dict[str, Any]:
    """All measures by both procedures, and the shortest computing time of each."""
    y, p = _predictions(model)
    options = Options(y.size // 20, y.size // 5)
    quantiles = EqualMass(10)
    measures: dict[str, Callable[[], float]] = {
        "TCE(P)": lambda: tce(y, p),
        "TCE(Q)": lambda: tce(y, p, bins=quantiles),
        "ECE": lambda: ece(y, p),
        "ACE": lambda: ace(y, p),
        "MCE": lambda: mce(y, p),
        "MCE(Q)": lambda: mce(y, p, bins=quantiles),
    }
    code = by_code(y, p, options)
    return {
        "text": {name: measure() for name, measure in measures.items()},
        "code": {name: code[name] for name in SIX},
        "seconds": {name: _shortest(measure, rounds) for name, measure in measures.items()},
        "apart": tce(y, p, bins=BlockIsotonic(fuse=False)),
        "largest": int(_sizes(y, p, fuse=False).max()),
        "largest fused": int(_sizes(y, p, fuse=True).max()),
    }


def _sizes(y: Any, p: Any, *, fuse: bool) -> Any:
    from trueness.measure import bin_table

    return bin_table(y, p, bins=BlockIsotonic(fuse=fuse)).n


def _shortest(measure: Callable[[], float], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = process_time()
        measure()
        times.append(process_time() - start)
    return min(times)


def plain_binomial(model: str, part: int, parts: int) -> dict[str, float]:
    """TCE(P) in the plainest way: `scipy.stats.binomtest` for each prediction of one part of the rows."""
    from scipy.stats import binomtest

    y, p = _predictions(model)
    order = np.argsort(p, kind="stable")
    y, p = y[order], p[order]
    first = code_bins(y, Options(y.size // 20, y.size // 5))["P"]
    last = np.append(first[1:], y.size)
    events = np.add.reduceat(y, first)
    begin, end = part * y.size // parts, (part + 1) * y.size // parts
    start = process_time()
    rejected = 0
    for i, bin_of in zip(
        range(begin, end),
        np.searchsorted(first, np.arange(begin, end), side="right") - 1,
        strict=True,
    ):
        size = int(last[bin_of] - first[bin_of])
        rejected += binomtest(int(events[bin_of]), size, float(p[i])).pvalue <= 0.05
    return {"rejected": int(rejected), "rows": end - begin, "seconds": process_time() - start}


def _pieces(size: Size, seed: int) -> Sequence[Piece]:  # noqa: ARG001  # nothing is drawn
    held = _held()
    pieces = [
        Piece(model, measure_model, {"model": model, "rounds": _ROUNDS[size]}) for model in held
    ]
    if size == "full" and _PLAIN in held:
        parts = 4
        for part in range(parts):
            arguments = {"model": _PLAIN, "part": part, "parts": parts}
            pieces.append(Piece(f"plain-{part}", plain_binomial, arguments))
    return pieces


def _assemble(results: Mapping[str, Any], size: Size) -> Outcome:  # noqa: ARG001
    authors, printed = read(IMAGENET, SIX), read_printed(IMAGENET_PRINTED, WITHOUT_QUANTILE)
    held = [model for model in _MODELS if model in results]
    lines = [
        Line(
            (_MODELS[model],),
            results[model]["text"],
            results[model]["code"],
            authors[model],
            printed[model],
        )
        for model in held
    ]
    lines += [
        Line(
            (name,),
            authors=authors[model],
            printed=printed[model],
            note=f"not run here: no `{model}` in {_FILE}",
        )
        for model, name in _MODELS.items()
        if model not in held
    ]
    note = "MCE(Q) of ResNet152 is printed as 0.0102 and stored as 0.0101"
    note += f"; ours is {results[_PLAIN]['code']['MCE(Q)']:.6f}." if _PLAIN in held else "."
    if len(held) < len(_MODELS):
        note += " Networks that were not run: their predictions are Dataset/DL/preds_0*.npy in facebookresearch/tce."
    table = comparison(
        "Table 5", "Table 5; authors' code: DL/summary.csv", ("model",), lines, note=note
    )
    plain = [value for key, value in results.items() if key.startswith("plain")]
    return Outcome(
        (table, _fused(results, held)),
        _pictures(held),
        _share_of_plain(plain),
        timings=(_seconds([results[model]["seconds"] for model in held], plain),),
        timing_remarks=_ratio_to_plain(results, plain),
    )


def _seconds(seconds: Sequence[Mapping[str, float]], plain: Sequence[Mapping[str, float]]) -> Table:
    printed = dict(zip(SIX, IMAGENET_SECONDS.split(), strict=True))
    rows = []
    for measure in SIX:
        ours = float(np.mean([of_model[measure] for of_model in seconds]))
        rows.append(Row((measure, "this library"), ours, printed=printed[measure]))
    if plain:
        total = sum(part["seconds"] for part in plain)
        rows.insert(1, Row(("TCE(P)", "binomtest for every prediction"), total, note="ResNet152"))
    return Table(
        "Seconds for 50,000 predictions, mean over models",
        "Table 5, TCE(Q) from the authors' DL/summary.csv; on another machine, and with the drawing of a diagram for "
        "TCE(P), ECE and ACE",
        ("measure", "by"),
        tuple(rows),
        note="Ours: processor time on the machine that wrote this page, best of several runs.",
    )


def _fused(results: Mapping[str, Any], held: Sequence[str]) -> Table:
    rows = []
    for model in held:
        name, found = _MODELS[model], results[model]
        for words, value, largest in (
            ("blocks", found["apart"], found["largest"]),
            ("Algorithm 3", found["text"]["TCE(P)"], found["largest fused"]),
        ):
            rows.append(Row((name, words, f"{largest:,}"), value))
    return Table(
        "TCE(P) with blocks as bins, and with edges only where the fitted value changes (Algorithm 3)",
        "",
        ("model", "bins", "size of the largest bin"),
        tuple(rows),
        note="N_max is 10,000.",
    )


def _share_of_plain(plain: Sequence[Mapping[str, float]]) -> tuple[str, ...]:
    if not plain:
        return ()
    share = 100 * sum(part["rejected"] for part in plain) / sum(part["rows"] for part in plain)
    return (
        f"Every prediction of ResNet152 through `scipy.stats.binomtest`: {share:.4f} % rejected, as above.",
    )


def _ratio_to_plain(
    results: Mapping[str, Any], plain: Sequence[Mapping[str, float]]
) -> tuple[str, ...]:
    if not plain:
        return ()
    times = sum(part["seconds"] for part in plain) / results[_PLAIN]["seconds"]["TCE(P)"]
    return (
        f"`scipy.stats.binomtest` for every prediction takes {times:,.0f} times the processor time of `tce`.",
    )


def _pictures(held: Sequence[str]) -> tuple[Picture, ...]:
    pictures = []
    for model in held:
        name = _MODELS[model]
        caption = f"{name}: test-based reliability diagram, as Figure 7 (left)."
        pictures.append(Picture(model, caption, partial(_diagram, model)))
        caption = f"{name}: reliability diagrams of ECE and ACE, as Figure 7 (middle and right)."
        pictures.append(Picture(f"{model}-ece-ace", caption, partial(_reliability, model)))
    return tuple(pictures)


def _diagram(model: str) -> Any:
    y, p = _predictions(model)
    return rejection_diagram(y, p, _MODELS[model])


def _reliability(model: str) -> Any:
    return reliability_diagrams(*_predictions(model))


TABLE_FIVE = Experiment(
    name="matsubara-table-5",
    paper=MATSUBARA,
    covers="Table 5 and Figure 7",
    title="dogs in ImageNet, and computing times",
    pieces=_pieces,
    assemble=_assemble,
    minutes=1,
    needs=(_FILE,),
)
