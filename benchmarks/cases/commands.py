"""The commands as one waits for them: CPU seconds in fresh processes, beside an earlier version of the library."""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from benchmark import Page, case

import trueness as tn

ROWS = 10_000
COMMANDS = {
    "trueness --help": ("--help",),
    "trueness measure": ("measure", "rows.csv"),
    "trueness measure --no-intervals": ("measure", "rows.csv", "--no-intervals"),
    "trueness report": ("report", "rows.csv", "-o", "page.html"),
    "trueness test": ("test", "rows.csv"),
    "trueness gate": ("gate", "rows.csv", "--max-ece", "0.1"),
}


@case("commands", "The commands, in fresh processes", "1 min")
def commands(page: Page, quick: bool, *, before: str = "") -> None:
    """CPU time of each command; with `before`, the `src` folder of another checkout, the two in turns."""
    here = str(Path(tn.__file__).parents[1])
    versions = {"CPU": here} | ({"CPU before": before} if before else {})
    page.text(
        f"{ROWS:,} rows of simulated data in a CSV file; modules are compiled already. Medians of interleaved runs."
    )
    page.head("command", *versions, *(["ratio"] if before else []))
    with tempfile.TemporaryDirectory() as folder:
        write_rows(folder)
        for name, arguments in COMMANDS.items():
            taken: dict[str, list[float]] = {version: [] for version in versions}
            for i in range(2 if quick else 8):
                for version, source in versions.items():
                    seconds = cpu_of_command(arguments, source, folder)
                    if i:  # the first run compiles
                        taken[version].append(seconds)
            found = {version: statistics.median(each) for version, each in taken.items()}
            ratio = [f"{found['CPU'] / found['CPU before']:.2f}"] if before else []
            page.row(f"`{name}`", *(f"{seconds:.2f} s" for seconds in found.values()), *ratio)


def write_rows(folder: str) -> None:
    """The file that the commands read."""
    d = tn.simulate.demo(ROWS)
    lines = (f"{y},{p!r}\n" for y, p in zip(d.y_true.tolist(), d.y_prob.tolist(), strict=True))
    Path(folder, "rows.csv").write_text("y,p\n" + "".join(lines))


def cpu_of_command(arguments: tuple[str, ...], source: str, folder: str) -> float:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPATH": source, "PYTHONPYCACHEPREFIX": str(Path(folder, "bytecode"))}
    start = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [sys.executable, "-m", "trueness", *arguments]
    subprocess.run(words, env=environment, cwd=folder, capture_output=True, check=False)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return end.ru_utime - start.ru_utime + end.ru_stime - start.ru_stime


SIZES = (10_000, 1_000_000)
JUDGED = ("rows.parquet", "--label", "y", "--prob", "p")
ROUTED = ("--cheap", "y", "--confidence", "p", "--strong", "strong", "--loss", "0.1")
EVERY_COMMAND = {
    "report": ("report", *JUDGED, "-o", "page.html"),
    "document": ("document", *JUDGED, "--style", "clinical", "-o", "document.html"),
    "measure": ("measure", *JUDGED),
    "test": ("test", *JUDGED),
    "segments": ("segments", *JUDGED, "--by", "region", "--by", "shop"),
    "slices": ("slices", *JUDGED, "--by", "region,shop"),
    "grades": ("grades", *JUDGED, "--bins", "low=0.2,middle=0.5,high=1"),
    "compare": ("compare", *JUDGED, "--prob", "q"),
    "gate": ("gate", *JUDGED, "--max-l2", "0.1", "--receipt", "receipt.json"),
    "verify": ("verify", "receipt.json"),
    "decide": ("decide", *JUDGED, "--cost-fp", "1", "--cost-fn", "4"),
    "route": ("route", "rows.parquet", *ROUTED),
    "watch": ("watch", "state.json", *JUDGED),
    "tally": ("tally", *JUDGED, "-o", "rows.tally"),
    "plot": ("plot", *JUDGED, "-o", "picture.png"),
    "plan validation": ("plan", "validation", "--prevalence", "0.1", "--c-statistic", "0.8"),
    "next": ("next", "rows.parquet", "--prob", "p", "--budget", "100", "-o", "next.csv"),
    "fit": ("fit", *JUDGED, "-o", "map.json"),
    "apply": ("apply", "rows.parquet", "--calibrator", "map.json", "-o", "mapped.parquet"),
    "export": ("export", "map.json", "-o", "map.sql"),
}
"""Each command once, in an order in which the files that one writes are there for the next."""


@case("command-times", "Every command on ten thousand and on a million rows", "3 min")
def command_times(page: Page, quick: bool) -> None:
    """CPU time of each command, start included, one thread."""
    page.text("Seconds of processor time, start included, one thread; a Parquet file, one model.")
    sizes = SIZES[:1] if quick else SIZES
    page.head("command", *(f"{n:,} rows" for n in sizes))
    with tempfile.TemporaryDirectory() as folder:
        seconds = {n: seconds_of_commands(n, Path(folder, str(n))) for n in sizes}
    for name in EVERY_COMMAND:
        page.row(f"`{name}`", *(f"{seconds[n][name]:.1f}" for n in sizes))


def seconds_of_commands(n: int, folder: Path) -> dict[str, float]:
    """CPU seconds of each command on n rows, by name."""
    folder.mkdir()
    d = tn.simulate.demo(n)
    rng = np.random.default_rng(0)
    columns = {
        "y": d.y_true,
        "p": d.y_prob,
        "q": d.columns["recalibrated"],
        "strong": rng.random(n) < 0.95,
        "region": rng.choice(["north", "east", "south", "west"], n),
        "shop": rng.integers(0, 40, n).astype(str),
    }
    pl.DataFrame(columns).write_parquet(folder / "rows.parquet")
    os.environ |= {"POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    source = str(Path(tn.__file__).parents[1])
    cpu_of_command(EVERY_COMMAND["test"], source, str(folder))  # compiles the modules
    return {
        name: cpu_of_command(words, source, str(folder)) for name, words in EVERY_COMMAND.items()
    }
