"""Remedies: calibrators, each fitted on some folds and measured on the others, and what to copy to use one."""

import ast
import math
import shlex
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np

from trueness import recalibrate
from trueness._input.sample import Sample
from trueness._level import Level
from trueness._numerics.streams import stream
from trueness._report.records import Course, Guarantee, Provenance, Remedies, Remedy
from trueness._report.subject import Notes, Options, collect_warnings
from trueness._tally.evidence import Evidence
from trueness._tally.rules import EqualMass
from trueness.errors import MovedScoresWarning, SeparableWarning
from trueness.infer.comparison._compare import compare_of
from trueness.infer.interval._ece_interval import interval_of
from trueness.measure import bin_table, brier, ece, log_loss
from trueness.recalibrate._auto_candidates import LEAST_CHANCE, chance_of_gain
from trueness.results import PriorShift
from trueness.typing import Floats, Ints

_FOLDS = 5
_MOST_ROWS = 100_000
_SCORES, _LEAST_DRAWN = 4 * 10**6, 1_000
"""Scores of a matrix that calibrators are tried on, and the rows they are tried on at least."""
_MOST_CLUSTERED = 50_000  # signs are drawn row by row
_LEAST_ROWS = 20
_FEW_ROWS = 1_000  # up to here rows are dealt into folds twice, so that chance in the deal matters less
_BINS = 10
_ROWS_PER_BIN, _ROWS_PER_RANGE = 200, 50
AUTOMATIC = "automatic calibration"
"""Name of the map to use unless there is a reason for another one."""
PRIOR_CORRECTION = "prior correction"
"""Name of the map that is tried if a prior shift was shown."""
# Class and parameters of every map; parts of the automatic one have the names that it gives them.
_MAPS: dict[str, tuple[str, dict[str, Any]]] = {
    PRIOR_CORRECTION: ("PriorCorrection", {}),
    AUTOMATIC: ("AutoCalibration", {}),
    "Platt scaling": ("PlattScaling", {}),
    "beta calibration": ("BetaCalibration", {}),
    "quadratic scaling": ("QuadraticScaling", {}),
    "signed quadratic scaling": ("QuadraticScaling", {"signed": True}),
    "spline": ("SplineCalibration", {}),
    "isotonic regression": ("IsotonicCalibration", {}),
    "histogram binning": ("HistogramBinning", {}),
    "structured vector scaling": ("StructuredScaling", {"structure": "vector"}),
    "structured matrix scaling": ("StructuredScaling", {"structure": "matrix"}),
    "temperature scaling": ("TemperatureScaling", {}),
}
_VECTOR = (AUTOMATIC, "Platt scaling", "isotonic regression", "histogram binning")
_MATRIX = (AUTOMATIC, "structured vector scaling", "temperature scaling")
_LEAST_SHARE = 0.1  # of a part of the automatic map that is tried by itself
# Beyond, parameters per class, or the many fits of the automatic map, would take longer than everything else.
_MANY_CLASSES, _MOST_AUTOMATIC = 50, 10_000


class _Task(NamedTuple):
    """The rows to split, and how to measure them."""

    data: Evidence
    options: Options
    notes: Notes
    folds: list[Ints]
    """The fold of each row, in each deal: folds have equally many rows, or equally many whole clusters."""


def remedies(
    data: Evidence, options: Options, shift: PriorShift | None = None, *, miscalibrated: bool = False
) -> Remedies | None:
    """The scores before and after each suitable calibrator; None if there are too few rows to split.

    A prior shift that was shown adds the prior correction. Once the scores are known to be `miscalibrated`, a map
    is recommended as soon as it is expected to gain, in the Brier score or else in the log loss.
    """
    sample = data.matrix
    if sample.y.size < _LEAST_ROWS or data.units < _FOLDS:
        return None
    maps, ends = ("All maps but histogram binning", "0 or 1") if sample.p.ndim == 1 else ("These maps", "0")
    moved = f"{maps} need logits, which scores of exactly {ends} do not have: these were moved inwards."
    notes = Notes({MovedScoresWarning: moved})
    if sample.p.ndim == 1 and np.ptp(sample.p) == 0:
        notes = Notes({MovedScoresWarning: moved, SeparableWarning: "All scores are equal: a map only shifts them."})
    place, cluster = _order_of_content(sample, data.cluster)
    task = _task(data, place, cluster, options, notes)
    names = _map_names(sample)
    parts = _parts(task) if AUTOMATIC in names else ()
    mixed = [one["name"] for one in parts if one["share"] >= _LEAST_SHARE and one["name"] in _MAPS]
    corrected = [PRIOR_CORRECTION] if shift is not None and shift.shown else []
    with collect_warnings(notes):
        before = _remedy("as they are", "", [task.data], task)
    tried = {}
    for name in dict.fromkeys([*corrected, *names[:1], *mixed, *names]):
        found = notes.attempt(f"{name[0].upper()}{name[1:]}", partial(_cross_fitted, name, task))
        if found is not None:
            tried[name] = replace(found[0], parts=parts if name == AUTOMATIC else ()), found[1]
    after = [remedy for remedy, _ in tried.values()]
    one_class = bool((sample.y == sample.y.flat[0]).all())  # then no map can be judged, and each has a gain for certain
    best = None if one_class else _best(tried, task, miscalibrated=miscalibrated)
    infinite = [one.name for one in (before, *after) if one.log_loss == math.inf]
    zero = "an observed outcome had predicted probability 0."
    return Remedies(
        before=before,
        after=tuple(after),
        best=best,
        folds=_FOLDS,
        deals=len(task.folds),
        n=int(task.data.matrix.y.size),
        guarantee=_guarantee(sample, options.level, notes, clustered=data.dependent),
        notes=(*notes.sentences, *(f"Log loss ∞, {name}: {zero}" for name in infinite)),
    )


def _best(tried: dict[str, tuple[Remedy, Evidence]], task: _Task, *, miscalibrated: bool) -> str | None:
    """The map with the lowest Brier score, if it is probably better; or a preferred one as good as it.

    Where the scores are known to be miscalibrated and no map lowers the Brier score, the log loss decides. A map with
    an infinite log loss is passed over if another one gains. Preferred is the prior correction, since one factor on
    the odds leaves the order of the rows alone and its cause can be named; then the automatic map, whose lead or lag
    among maps of equal merit is chance.
    """
    chance, score = 0.5 if miscalibrated else LEAST_CHANCE, "brier"
    better = {name: one for name, one in tried.items() if one[0].chance > chance}
    if miscalibrated and not better:
        better, score = {name: one for name, one in tried.items() if one[0].log_loss_chance > chance}, "log_loss"
    better = {name: one for name, one in better.items() if math.isfinite(one[0].log_loss)} or better
    best = min(better, key=lambda name: float(getattr(better[name][0], score)), default=None)
    if best is None:
        return None
    for name in (PRIOR_CORRECTION, AUTOMATIC):
        if name in better and (name == best or not _gain(better[name][1], better[best][1], task, score)[1] > 0):
            return name
    return best


def _map_names(sample: Sample) -> tuple[str, ...]:
    """The maps to try in any case."""
    if sample.p.ndim == 1:
        return _VECTOR
    n, k = sample.p.shape
    quick = {AUTOMATIC: n * k**2 <= _MOST_AUTOMATIC, "structured vector scaling": k <= _MANY_CLASSES}
    return tuple(name for name in _MATRIX if quick.get(name, True))


def _parts(task: _Task) -> tuple[dict[str, Any], ...]:
    """The maps of which the automatic one, fitted on all rows, consists."""
    fitted = task.notes.attempt("The automatic map", partial(_fitted, AUTOMATIC, task, task.data))
    if fitted is None:
        return ()
    shares = zip(fitted.candidates_, fitted.weights_.tolist(), strict=True)
    return tuple({"name": name, "share": share} for name, share in sorted(shares, key=lambda one: -one[1]))


def _order_of_content(rows: Sample, cluster: Ints | None = None) -> tuple[Ints, Ints | None]:
    """Rows in order of score, label and weight, within clusters numbered by content, and the cluster of each.

    Folds and draws then do not depend on the order in which rows were passed.
    """
    # A projection stands for a matrix. It is summed in the same order for every row, unlike a product of matrices.
    random = np.random.default_rng(0)
    score = rows.p
    if rows.p.ndim == 2:
        by, step = random.standard_normal(rows.p.shape[1]), max(1, _SCORES // rows.p.shape[1])
        score = np.concatenate([(rows.p[i : i + step] * by).sum(axis=1) for i in range(0, len(rows.p), step)])
    keys = [rows.y, score] if rows.w is None else [rows.w, rows.y, score]
    place = np.lexsort(keys)
    if cluster is None:
        return place, None
    # Equal rows have the same mark, and clusters with the same rows can be exchanged.
    new = np.any([np.diff(key[place]) != 0 for key in keys], axis=0)
    content = np.empty(place.size, np.int64)
    content[place] = np.concatenate([[0], np.cumsum(new)])
    mark = np.zeros(int(cluster.max()) + 1, np.uint64)
    np.add.at(mark, cluster, np.random.default_rng(0).integers(2**63, size=place.size, dtype=np.uint64)[content])
    number = np.argsort(np.argsort(mark, kind="stable"), kind="stable")[cluster]
    place = np.lexsort((content, number))
    return place, np.asarray(number[place])


def _task(data: Evidence, place: Ints, cluster: Ints | None, options: Options, notes: Notes) -> _Task:
    """The rows at `place`, whose clusters are given, or some of them."""
    n, columns = place.size, 1 if data.matrix.p.ndim == 1 else data.matrix.p.shape[1]
    most = min(_MOST_CLUSTERED if data.dependent else _MOST_ROWS, max(_LEAST_DRAWN, _SCORES // columns))
    if n > most:
        notes.add(f"Calibrators were tried on {most:,} of the {n:,} rows, drawn at random.")
        some = np.sort(stream(options.seed, "subset").choice(n, most, replace=False))
        place, cluster = place[some], None if cluster is None else np.unique(cluster[some], return_inverse=True)[1]
    data = replace(data.at(place), cluster=cluster)
    cluster, rng = data.cluster, stream(options.seed, "folds")
    units = min(n, most) if cluster is None else int(cluster.max()) + 1
    folds = [rng.permutation(np.arange(units) % _FOLDS) for _ in range(2 if n <= _FEW_ROWS else 1)]
    return _Task(data, options, notes, folds if cluster is None else [np.asarray(fold[cluster]) for fold in folds])


def _calibrator(name: str, rows: Sample, seed: int) -> Any:
    kind, parameters = _MAPS[name]
    make: Callable[..., Any] = getattr(recalibrate, kind)
    if kind != "HistogramBinning":
        return make(**parameters)
    scheme, n_bins = _scheme(rows), _histogram_bins(int(rows.y.size))
    if rows.w is not None and bool((rows.w % 1 != 0).any()):  # ranks need whole rows
        scheme = "fixed-width"
    return make(n_bins, scheme, seed=seed) if scheme == "randomized" else make(n_bins, scheme)


def _histogram_bins(n: int) -> int:
    """Ten bins, or fewer to have 200 rows in each; at least two."""
    return max(2, min(_BINS, n // _ROWS_PER_BIN))


def _scheme(rows: Sample) -> str:
    """'umd' if there are no ties, which its guarantee requires; otherwise ties are broken at random."""
    return "umd" if rows.w is None and np.unique(rows.p).size == rows.y.size else "randomized"


def _fitted(name: str, task: _Task, learn: Evidence) -> Any:
    # The automatic map splits the rows once more, by clusters too.
    dependence = {} if learn.cluster is None or name != AUTOMATIC else {"cluster": learn.cluster}
    rows, calibrator = learn.matrix, _calibrator(name, task.data.matrix, task.options.seed)
    return calibrator.fit(rows.p, rows.y, sample_weight=rows.w, **dependence)


def _cross_fitted(name: str, task: _Task) -> tuple[Remedy, Evidence]:
    """A map, and the scores that it gave to held-out rows."""
    rows, deals = task.data.matrix, []
    for fold in task.folds:
        out: Floats = np.empty(rows.p.shape)
        for i in range(_FOLDS):
            test = fold == i
            out[test] = _fitted(name, task, task.data.at(~test)).predict(rows.p[test])
        sample = Sample(rows.y, out, rows.w, rows.classes, max(rows.tolerance, 1e-6))
        deals.append(replace(task.data, rows=sample, given=None, memory={}))
    found = _remedy(name, repr(_calibrator(name, rows, task.options.seed)), deals, task)

    def gains(score: str) -> dict[str, Any]:
        gain, low, high = np.mean([_gain(task.data, one, task, score) for one in deals], axis=0).tolist()
        chance = chance_of_gain(gain, low, high, task.options.level)
        return {"gain": gain, "gain_low": low, "gain_high": high, "chance": chance}

    gained = task.notes.attempt("The gain of a calibrator", lambda: gains("brier"))
    if gained is not None:
        found = replace(found, **gained)
        if math.isfinite(found.log_loss) and math.isfinite(log_loss(task.data.classwise or task.data.sums)):
            found = replace(found, log_loss_chance=gains("log_loss")["chance"])
    return found, deals[0]


def _gain(before: Evidence, after: Evidence, task: _Task, score: str) -> tuple[float, float, float]:
    """The reduction of a proper score, compared row by row, with its interval."""
    models = {"before": before.every_class, "after": after.every_class}
    (pair,) = compare_of(models, score, level=task.options.level, seed=task.options.seed).pairs
    return pair.difference, pair.low, pair.high


def _remedy(name: str, code: str, deals: list[Evidence], task: _Task) -> Remedy:
    """The means over deals; the confidence set of the first."""
    scored = [one.sums if one.classwise is None else one.classwise for one in deals]
    interval = partial(interval_of, deals[0], level=task.options.level, seed=task.options.seed)
    ranges = EqualMass(max(4, min(_BINS, int(task.data.matrix.y.size) // _ROWS_PER_RANGE)))
    table = bin_table(deals[0].sums, bins=ranges, level=task.options.level)
    return Remedy(
        name=name,
        calibrator=code,
        ece=float(np.mean([ece(one.sums, bins=task.options.rule) for one in deals])),
        ece_interval=task.notes.attempt(f"The confidence set of {name}", interval),
        brier=float(np.mean([brier(one) for one in scored])),
        log_loss=float(np.mean([log_loss(one) for one in scored])),
        course=Course.of(table, table.low, table.high, least=1),
    )


def _guarantee(sample: Sample, level: float, notes: Notes, *, clustered: bool) -> Guarantee | None:
    """The guarantee of uniform-mass binning of all rows; it needs independent rows, and two in every bin."""
    if clustered:
        notes.add("There is no guarantee for histogram binning: it requires independent rows.")
        return None
    if sample.p.ndim != 1 or sample.w is not None:
        return None
    n, n_bins = int(sample.y.size), _histogram_bins(int(sample.y.size))
    if n < 2 * n_bins:
        return None
    scheme: Any = _scheme(sample)
    epsilon: Callable[..., float] = partial(recalibrate.epsilon, n, n_bins, alpha=Level(level).alpha, scheme=scheme)
    kinds = ("conditional", "marginal")
    both = notes.attempt("The guarantee of histogram binning", lambda: [float(epsilon(kind=kind)) for kind in kinds])
    return None if both is None else Guarantee(n, n_bins, scheme, both[0], level, both[1])


_MAP = "map.json"
_SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet", ".arrow", ".npz")


def fit_command(calibrator: str, origin: Provenance, model: str) -> str:
    """How to fit the map and to apply it: on the command line if the rows were read there, otherwise in Python."""
    fit = origin.commands.get(model)
    cluster = origin.cluster if calibrator.startswith("AutoCalibration(") else ""
    if fit == "":
        return ""
    if fit is None:
        arguments = ", ".join(filter(None, [origin.arguments, cluster]))
        return f"calibrator = tn.{calibrator}.fit({arguments})\ncalibrated = calibrator.predict(new_scores)"
    suffix = PurePath(origin.file or "").suffix
    suffix = suffix if suffix in _SUFFIXES else ".csv"
    apply = f"trueness apply new{suffix} --calibrator {_MAP} -o calibrated{suffix}"
    return f"{f'{fit} {cluster}'.rstrip()} {as_options(calibrator)} -o {_MAP}\n{apply}"


def segment_command(origin: Provenance, model: str) -> str:
    """The same for the rows of one segment, which are to be selected first."""
    command, file = fit_command("AutoCalibration()", origin, model), origin.file or ""
    if model not in origin.commands:
        return command and f"# y_prob, y_true: the rows of this segment alone\n{command}"
    part = f"segment{PurePath(file).suffix}"
    command = command.replace(f" {shlex.quote(file)} ", f" {part} ", 1)
    return command and f"# {part}: the rows of this segment alone\n{command}"


def as_options(calibrator: str) -> str:
    """A calibrator as options of ``trueness fit``."""
    call = ast.parse(calibrator, mode="eval").body
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Name)
    name = "".join(f"-{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(call.func.id))
    options = ""
    for keyword in call.keywords:
        value = ast.literal_eval(keyword.value)
        if keyword.arg != "seed":
            options += f" --set {keyword.arg}={value}"
        elif value:  # 0 is the default of the command
            options += f" --seed {value}"
    return f"--calibrator {name}{options}"
