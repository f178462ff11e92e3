"""The commands as one waits for them: CPU seconds in fresh processes, beside an earlier version of the library."""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

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
