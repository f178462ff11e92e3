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


# ---- one segment with an error of its own

SEGMENT_SIZES = (2_000, 10_000)
SEGMENTS = ("a", "b", "c", "d", "e")
SEGMENT_SHARES = (0.4, 0.25, 0.2, 0.1, 0.05)


class SegmentLaw(NamedTuple):
    """By how much the log odds of each segment are off, and by which slope those of all rows."""

    name: str
    shifts: tuple[float, float, float, float, float]
    slope: float = 1.0


SEGMENT_LAWS = (
    SegmentLaw("calibrated", (0, 0, 0, 0, 0)),
    SegmentLaw("c off by 0.4", (0, 0, 0.4, 0, 0)),
    SegmentLaw("d off by 1", (0, 0, 0, 1, 0)),
    SegmentLaw("a off by -0.5", (-0.5, 0, 0, 0, 0)),
    SegmentLaw("b and d off", (0, 0.5, 0, -0.8, 0)),
    SegmentLaw("c off, all too extreme", (0, 0, 0.6, 0, 0), 0.7),
)


class SegmentRows(NamedTuple):
    y: np.ndarray
    p: np.ndarray
    segment: np.ndarray


class SegmentOutcome(NamedTuple):
    """The advice for rows of one law, and for fresh rows after following it."""

    law: str
    advice: str
    urged: bool
    again: str
    urged_again: bool


def drawn_with_segments(law: SegmentLaw, n: int, rng: np.random.Generator) -> SegmentRows:
    logit = rng.normal(-1, 1.5, n)
    place = rng.choice(len(SEGMENTS), n, p=SEGMENT_SHARES)
    truth = 1 / (1 + np.exp(-(law.slope * logit + np.array(law.shifts)[place])))
    y = (rng.random(n) < truth).astype(int)
    return SegmentRows(y, 1 / (1 + np.exp(-logit)), np.array(SEGMENTS)[place])


def is_urged(advice: tn.results.Advice) -> bool:
    """Whether the advice is to recalibrate, and not that one may."""
    return advice.calibrator is not None and advice.gain_low > 0


def followed_scores(advice: tn.results.Advice, rows: SegmentRows, fresh: SegmentRows) -> np.ndarray:
    """The scores of fresh rows after following the advice that was given for `rows`."""
    calibrator = advice.calibrator
    if advice.kind != "recalibrate-segment":
        return calibrator.fit(rows.p, rows.y).predict(fresh.p)
    if isinstance(calibrator, tn.SegmentCalibration):
        calibrator.fit(rows.p, rows.y, by={advice.column: rows.segment})
        return calibrator.predict(fresh.p, by={advice.column: fresh.segment})
    learn = rows.segment == advice.value
    apply = fresh.segment == advice.value
    scores = fresh.p.copy()
    scores[apply] = calibrator.fit(rows.p[learn], rows.y[learn]).predict(fresh.p[apply])
    return scores


def follow_for_segments(law: SegmentLaw, n: int, run: int) -> SegmentOutcome:
    rng = np.random.default_rng([grid.SEED, SEGMENT_LAWS.index(law), n, run])
    rows = drawn_with_segments(law, n, rng)
    first = tn.assess(rows.y, rows.p, by={"segment": rows.segment}).advice
    if not is_urged(first):
        return SegmentOutcome(law.name, first.kind, urged=False, again="", urged_again=False)
    fresh = drawn_with_segments(law, n, rng)
    scores = followed_scores(first, rows, fresh)
    second = tn.assess(fresh.y, scores, by={"segment": fresh.segment}).advice
    return SegmentOutcome(law.name, first.kind, True, second.kind, is_urged(second))


@case("segment-advice", "whether following the advice about a segment ends it", "6 min")
def segment_advice(page: Page, quick: bool) -> None:
    page.head(
        "law", "rows", "samples", "urged", "for a segment", "urged again", "then for a segment"
    )
    page.data = {}
    for n in SEGMENT_SIZES[:1] if quick else SEGMENT_SIZES:
        outcomes = []
        for law in SEGMENT_LAWS:
            with warnings.catch_warnings(action="ignore", category=tn.TruenessWarning):
                runs = range(2 if quick else 20)
                of_law = [follow_for_segments(law, n, run) for run in runs]
            urged = [one for one in of_law if one.urged]
            again = [one for one in urged if one.urged_again]
            page.row(
                law.name,
                f"{n:,}",
                str(len(of_law)),
                str(len(urged)),
                str(sum(one.advice == "recalibrate-segment" for one in urged)),
                str(len(again)),
                str(sum(one.again == "recalibrate-segment" for one in again)),
            )
            outcomes.extend(of_law)
        urged = [one.urged_again for one in outcomes if one.urged]
        page.bar(
            f"urged again at most {MOST_AGAIN:g} (n = {n:,})",
            f"{np.mean(urged):.3f} of {len(urged)}",
            float(np.mean(urged)) <= MOST_AGAIN,
        )
        page.data[n] = [one._asdict() for one in outcomes]
