"""What a run measures: the sizes, and how long."""

from dataclasses import dataclass

from contenders import TASKS
from harness.machine import available_memory
from harness.memory import Case
from harness.rounds import Pace
from harness.rows import COMPACT, USUAL

HUGE, HUGE_NEEDS = 10**8, 6 * 10**9


@dataclass(frozen=True)
class Plan:
    """Sizes and rounds."""

    races: tuple[tuple[str, int, str], ...]
    memory: tuple[Case, ...]
    pace: Pace
    startup_rounds: tuple[int, int]
    fallback_rows: int = 10**6
    notes: tuple[str, ...] = ()

    @property
    def n_steps(self) -> int:
        return len(self.races) + len(self.memory) + 3


def quick() -> Plan:
    races = (
        *(("ece", n, USUAL) for n in (10, 10**4, 10**6)),
        ("ece", 10**6, COMPACT),
        ("ace", 10**6, USUAL),
        ("tce", 2_000, USUAL),
    )
    memory = tuple(Case("ece", "trueness", n, USUAL) for n in (10**4, 10**6))
    return Plan(races, memory, Pace(rounds=7, fewest=3, budget_s=0.3, slow_s=0.5), startup_rounds=(5, -1))


def full() -> Plan:
    fits = (available_memory() or 0) >= HUGE_NEEDS
    races = (
        *(("ece", n, USUAL) for n in (10, 10**4, 10**5, 10**6, 10**7)),
        *(("ece", n, COMPACT) for n in (10**6, 10**7, *([HUGE] if fits else []))),
        *(("ace", n, USUAL) for n in (10**4, 10**6, 10**7)),
        *(("tce", n, USUAL) for n in (50_000, 10**6, 10**7)),
    )
    notes = () if fits else (f"10⁸ rows were left out: they take {HUGE_NEEDS / 1e9:.0f} GB of free memory",)
    return Plan(races, tuple(_memory(races)), Pace(), startup_rounds=(21, 2), notes=notes)


def _memory(races: tuple[tuple[str, int, str], ...]) -> list[Case]:
    """Trueness at every size of the binned measures; the peers from a million rows up, where it matters."""
    return [
        Case(task, contender.name, n, form)
        for task, n, form in races
        for contender in TASKS[task].contenders
        if n <= contender.most_rows and (contender.name == "trueness" or _peers_too(task, n, form))
        if contender.name != "p.sum() + y.sum()" and "unchecked" not in contender.name
    ]


def _peers_too(task: str, n: int, form: str) -> bool:
    return form == USUAL and n in {"ece": (10**6, 10**7), "ace": (10**7,)}.get(task, ())
