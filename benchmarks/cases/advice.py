"""Whether following the advice ends it, and whether a large gain is missed, by simulation.

Laws of scores and errors are those of the hold-out grid, with independent rows. The advice is asked
for `n` rows and, where it says to recalibrate, followed: its calibrator is fitted to them. As many
fresh rows are then judged with the new scores.

"Advised again" is the share of those that are told to recalibrate once more. "Missed" is the share,
among laws whose calibrated scores have a Brier score that is lower by more than 2 %, that are not
told to recalibrate.
"""

import warnings
from collections import Counter
from typing import NamedTuple

import numpy as np
from benchmark import Page, case

import trueness as tn
from cases import _holdout_laws as grid

SIZES = (500, 5_000, 20_000)
ADVISED = ("recalibrate", "correct-prior")
LARGE_GAIN = 0.02
MOST_AGAIN = 0.10
MOST_MISSED = 0.20
_POPULATION = 100_000


class Rows(NamedTuple):
    y: np.ndarray
    p: np.ndarray


class Outcome(NamedTuple):
    """What was said of one sample, and of fresh rows after following it."""

    law: str
    code: str
    advice: str
    share_to_gain: float
    """By how much the Brier score of calibrated scores would be lower, as a share."""
    again: str
    """The advice for fresh rows with the new scores; empty if there was nothing to follow."""
    code_again: str


def drawn(setting: grid.Setting, n: int, rng: np.random.Generator) -> Rows:
    p = grid.scores(setting.scores, rng.random(n), rng.random(n))
    return Rows((rng.random(n) < grid.probability(setting, p)).astype(int), p)


def share_to_gain(setting: grid.Setting) -> float:
    rng = np.random.default_rng([grid.SEED, setting.place])
    p = grid.scores(setting.scores, rng.random(_POPULATION), rng.random(_POPULATION))
    truth = grid.probability(setting, p)
    gain = ((p - truth) ** 2).mean()
    brier = gain + (truth * (1 - truth)).mean()
    return float(gain / brier) if brier > 0 else 0.0


def follow(setting: grid.Setting, n: int, run: int) -> Outcome:
    """Ask, follow the advice, and ask again."""
    rng = np.random.default_rng([grid.SEED, setting.place, n, run])
    rows = drawn(setting, n, rng)
    first = tn.assess(rows.y, rows.p)
    advice = first.advice
    again = code_again = ""
    if advice.kind in ADVISED:
        fresh = drawn(setting, n, rng)
        calibrator = advice.calibrator.fit(rows.p, rows.y)
        second = tn.assess(fresh.y, calibrator.predict(fresh.p))
        again, code_again = second.advice.kind, second.verdict.code
    return Outcome(
        law=setting.name,
        code=first.verdict.code,
        advice=advice.kind,
        share_to_gain=share_to_gain(setting),
        again=again,
        code_again=code_again,
    )


def followed(n: int, runs: int, settings: int = grid.N_SETTINGS) -> list[Outcome]:
    with warnings.catch_warnings(action="ignore", category=tn.TruenessWarning):
        return [
            follow(setting, n, run) for setting in grid.settings(settings) for run in range(runs)
        ]


def advised_again(outcomes: list[Outcome]) -> list[bool]:
    return [one.again in ADVISED for one in outcomes if one.again]


def missed(outcomes: list[Outcome]) -> list[bool]:
    """Of laws with much to gain: whether the advice was not to recalibrate.

    Scores that look like those of the other label, or like confidences, are to be checked first.
    """
    judged = [
        one for one in outcomes if one.share_to_gain > LARGE_GAIN and one.advice != "check-labels"
    ]
    return [one.advice not in ADVISED for one in judged]


@case("advice", "whether following the advice ends it", "8 min")
def advice(page: Page, quick: bool) -> None:
    page.head("rows", "samples", "advised", "advised again", "much to gain", "missed")
    page.data = {}
    for n in SIZES:
        runs = 1 if quick or n > 5_000 else 4
        outcomes = followed(n, runs, 20 if quick else grid.N_SETTINGS)
        again, lost = advised_again(outcomes), missed(outcomes)
        page.row(
            f"{n:,}",
            str(len(outcomes)),
            str(len(again)),
            f"{np.mean(again):.3f}",
            str(len(lost)),
            f"{np.mean(lost):.3f}",
        )
        page.bar(
            f"advised again at most {MOST_AGAIN:g} (n = {n:,})",
            f"{np.mean(again):.3f} of {len(again)}",
            float(np.mean(again)) <= MOST_AGAIN,
        )
        if n >= 5_000:
            page.bar(
                f"missed at most {MOST_MISSED:g} (n = {n:,})",
                f"{np.mean(lost):.3f} of {len(lost)}",
                float(np.mean(lost)) <= MOST_MISSED,
            )
        page.data[n] = [one._asdict() for one in outcomes]
        page.text(str(Counter((one.code, one.advice) for one in outcomes)))
