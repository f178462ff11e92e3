"""Compare trueness with its peers: one command, one interleaved run, tables of ratios.

python benchmarks/run.py --out benchmarks/results.md
"""

import argparse
import json
import os
import sys
import time
import warnings
from pathlib import Path

# Idle OpenMP threads (torch's) would otherwise spin, and their CPU time be charged to whoever runs next.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import plan
from bars import bars
from contenders import TASKS
from harness.fallback import fallback
from harness.machine import description
from harness.memory import peak_extra
from harness.overhead import overhead
from harness.progress import Progress
from harness.startup import startup
from harness.table import measured
from markdown import page
from outcome import Outcome


def main() -> int:
    asked = _arguments()
    warnings.simplefilter("ignore")
    begin = time.perf_counter()
    chosen = plan.quick() if asked.quick else plan.full()
    outcome = Outcome(description(), asked.quick, notes=list(chosen.notes))
    with Progress(chosen.n_steps) as progress:
        _measure(chosen, outcome, progress)
    outcome.seconds = time.perf_counter() - begin
    text = page(outcome)
    print(text)
    if asked.out:
        asked.out.write_text(text, encoding="utf-8")
    if asked.json:
        asked.json.write_text(json.dumps(outcome.to_dict(), indent=1), encoding="utf-8")
    return int(asked.strict and any(bar.kept is False for bar in bars(outcome)))


def _measure(chosen: plan.Plan, outcome: Outcome, progress: Progress) -> None:
    progress.step("10 rows")
    outcome.ten_rows = overhead()
    progress.step("start")
    outcome.startup = startup(*chosen.startup_rounds, progress.tick)
    for task, n, form in chosen.races:
        progress.step(f"{task}, {n:,} rows, {form}")
        outcome.tables.append(measured(TASKS[task], n, form, chosen.pace, tick=progress.tick))
    progress.step("ece with the NumPy kernels")
    outcome.fallback = fallback(chosen.fallback_rows, chosen.pace)
    for case in chosen.memory:
        progress.step(f"memory of {case.contender}: {case.task}, {case.n:,} rows, {case.form}")
        table = outcome.table(case.task, case.n, case.form)
        row = table and table.row(case.contender)
        if row and row.cpu is not None:
            row.extra = peak_extra(case)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds and smaller sizes: about a minute")
    parser.add_argument("--out", type=Path, help="write the tables there as Markdown")
    parser.add_argument("--json", type=Path, help="write everything measured there")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a bar fails")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
