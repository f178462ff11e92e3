"""Guarantees fail no more often than they say, on scores of every kind with known event rates.

Every distribution is laid out on t in [0, 1], uniform: a score is a step or curve of t, and the event rate of a bin is
the mean of the rate function over the t that fall into it. Atoms are stretches of t; the random part of a tie says
where in the stretch a row is, so that bins of the randomised scheme are intervals of t as well.
"""

import math
import warnings
from itertools import product

import numpy as np
import pytest
from scipy.stats import beta, binom

from trueness import TruenessWarning
from trueness.recalibrate import HistogramBinning, epsilon

ALPHA = 0.1
BOUNDS = ("hoeffding", "exact", "clopper-pearson", "bernstein")
_FINE = np.linspace(0, 1, 20_001)


class Continuous:
    """Score s(t) increasing, rate r(t); the integral of r by fine steps."""

    def __init__(self, to_score, to_t, rate):
        self.to_score, self.to_t, self.rate = to_score, to_t, rate
        middle = (_FINE[1:] + _FINE[:-1]) / 2
        self.integral = np.concatenate([[0], np.cumsum(rate(middle)) / middle.size])

    def draw(self, n, rng):
        t = rng.random(n)
        return self.to_score(t), (rng.random(n) < self.rate(t)).astype(int)

    def ends(self, cal):
        return self.to_t(cal.edges_)

    def masses_and_rates(self, cal):
        ends = self.ends(cal)
        mass = np.diff(ends)
        return mass, np.diff(np.interp(ends, _FINE, self.integral)) / np.where(mass > 0, mass, 1)


class Atoms(Continuous):
    """Scores `at` with probabilities `mass` and event rates `rate`."""

    def __init__(self, at, mass, rate):
        self.at, self.mass, self.by_atom = (np.asarray(a, float) for a in (at, mass, rate))
        self.below = np.concatenate([[0], np.cumsum(self.mass)])
        self.events = np.concatenate([[0], np.cumsum(self.mass * self.by_atom)])

    def draw(self, n, rng):
        which = rng.choice(self.at.size, n, p=self.mass)
        return self.at[which], (rng.random(n) < self.by_atom[which]).astype(int)

    def masses_and_rates(self, cal):
        inner = cal.edges_[1:-1]
        cut = self.below[np.searchsorted(self.at, inner)]
        if cal.ties_ is not None:
            cut = cut + cal.ties_ * self.mass[np.searchsorted(self.at, inner)]
        ends = np.concatenate([[0], cut, [1]])
        mass = np.diff(ends)
        return mass, np.diff(np.interp(ends, self.below, self.events)) / np.where(mass > 0, mass, 1)


def same(t):
    return t


def exact(n, d):
    """How far the mean of n labels is off with probability d at most, whatever their rate."""
    return max(1 - d, 0.5) if n == 1 else epsilon(n, 1, alpha=d, kind="marginal", bound="exact")


def worst_rate():
    """A rate at which bins of 19 labels are off by more than ε(19) − 1e-9 almost as often as they may be."""
    e = exact(19, ALPHA)
    rates = np.clip(np.arange(20) / 19 - e + 1e-9, 0, 1)
    k = np.arange(20)
    off = (binom.pmf(k, 19, rates[:, None]) * (np.abs(k / 19 - rates[:, None]) > e - 1e-8)).sum(
        axis=1
    )
    return float(rates[np.argmax(off)])


WORST = worst_rate()
CONTINUOUS = {
    "continuous": Continuous(same, same, lambda t: 0.2 + 0.6 * t**2),
    "skewed": Continuous(lambda t: t**9, lambda s: s ** (1 / 9), lambda t: 0.3 * t**6),
    "one half": Continuous(same, same, lambda t: np.full(t.shape, 0.5)),
    "worst": Continuous(same, same, lambda t: np.full(t.shape, WORST)),
    "alternating": Continuous(same, same, lambda t: (np.floor(200 * t) % 2).astype(float)),
}
DISCRETE = {
    "three atoms": Atoms([0.2, 0.5, 0.9], [0.3, 0.5, 0.2], [0.6, 0.1, 0.9]),
    "one atom": Atoms([0.5], [1.0], [0.4]),
    "rounded": Atoms(np.arange(101) / 100, np.full(101, 1 / 101), np.arange(101) % 3 / 2),
    "heavy end": Atoms([0.0, 0.3, 1.0], [0.05, 0.05, 0.9], [1.0, 0.0, 0.5]),
}
CLAIMS = [
    *product(("umd", "original"), CONTINUOUS),
    *product(("randomized", "split", "fixed-width"), [*CONTINUOUS, *DISCRETE]),
]


def quietly_fitted(calibrator, p, y):
    """Fitted; ties and labels all alike are part of the game."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruenessWarning)
        return calibrator.fit(p, y)


def failures(scheme, source, *, n, B, runs, seed):
    """How often each bound failed, for all bins at once and for the bin of a new row; and the l2 errors."""
    rng = np.random.default_rng(seed)
    counts = {(bound, kind): 0 for bound in BOUNDS for kind in ("conditional", "marginal")}
    errors, promised = [], 0.0
    for _ in range(runs):
        p, y = source.draw(n, rng)
        cal = quietly_fitted(HistogramBinning(B, scheme, seed=rng), p, y)
        mass, rate = source.masses_and_rates(cal)
        off = np.where(mass > 0, np.abs(cal.values_ - rate), 0.0)
        new = rng.choice(mass.size, p=mass / mass.sum())
        errors.append(np.sqrt(mass @ off**2))
        for bound in BOUNDS:
            found = cal.guarantee(ALPHA, bound=bound)
            counts[bound, "conditional"] += bool((off > found.epsilon + 1e-12).any())
            counts[bound, "marginal"] += bool(off[new] > found.marginal + 1e-12)
            promised = found.expected_ece
    return counts, np.array(errors), promised


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "name"), CLAIMS)
def test_a_guarantee_fails_as_often_as_alpha_says_at_most(scheme, name):
    runs = 400
    source = CONTINUOUS.get(name) or DISCRETE[name]
    # 79 rows in 4 bins: 19 labels inside each. A split has fewer in its half, so it gets more rows.
    n, B = (160, 4) if scheme == "split" else (79, 4)
    counts, errors, promised = failures(
        scheme, source, n=n, B=B, runs=runs, seed=[len(name), len(scheme)]
    )
    # The chance of a false alarm is 1e-5 in each of some 300 comparisons.
    most = binom.isf(1e-5, runs, ALPHA)
    assert {case: count for case, count in counts.items() if count > most} == {}
    assert errors.mean() - 4 * errors.std() / np.sqrt(runs) <= promised


@pytest.mark.slow
@pytest.mark.parametrize("name", CONTINUOUS)
@pytest.mark.parametrize("share", [0.5, 0.2])
def test_the_planned_bound_for_a_split_holds(name, share):
    runs, n, B, source = 300, 160, 4, CONTINUOUS[name]
    every, one = (
        epsilon(n, B, scheme="split", kind=kind, split=share)
        for kind in ("conditional", "marginal")
    )
    rng = np.random.default_rng(len(name))
    failed = np.zeros(2, int)
    for _ in range(runs):
        cal = quietly_fitted(
            HistogramBinning(B, "split", split=share, seed=rng), *source.draw(n, rng)
        )
        mass, rate = source.masses_and_rates(cal)
        off = np.abs(cal.values_ - rate)
        failed += (off > every + 1e-12).any(), off[rng.choice(B, p=mass)] > one + 1e-12
    assert (failed <= binom.isf(1e-5, runs, ALPHA)).all()


@pytest.mark.slow
def test_a_bound_that_is_too_small_is_caught():
    # At the worst rate the exact marginal bound is almost used up: what these simulations can tell.
    counts, _, _ = failures("umd", CONTINUOUS["worst"], n=79, B=4, runs=800, seed=0)
    assert counts["exact", "marginal"] > binom.isf(0.999, 800, 0.8 * ALPHA)
    rng = np.random.default_rng(1)
    short, planned = 0, epsilon(79, 4, kind="marginal", bound="exact")
    for _ in range(800):
        cal = HistogramBinning(4).fit(*CONTINUOUS["worst"].draw(79, rng))
        mass, rate = CONTINUOUS["worst"].masses_and_rates(cal)
        new = rng.choice(4, p=mass)
        short += abs(cal.values_[new] - rate[new]) > 0.7 * planned
    assert short > binom.isf(1e-5, 800, ALPHA)


@pytest.mark.slow
def test_umd_with_ties_breaks_the_guarantee_that_randomized_keeps():
    # Three of four bins are one atom whose rows alternate between bins; UMD predicts all of them by the last one.
    source = Atoms([0.3, 0.6], [0.5, 0.5], [0.0, 1.0])
    rng = np.random.default_rng(0)
    worst = 0
    for _ in range(200):
        p, y = source.draw(79, rng)
        cal = quietly_fitted(HistogramBinning(3), p, y)
        mass, rate = source.masses_and_rates(cal)
        worst += bool((np.where(mass > 0, np.abs(cal.values_ - rate), 0) > 0.35).any())
    assert worst > binom.isf(1e-5, 200, ALPHA)


def interval(bound, n, rate, d):
    """The rates that n labels with this mean do not rule out; a bin without labels rules out none."""
    if n == 0 or (bound == "bernstein" and n == 1):
        return 0.0, 1.0
    if bound == "clopper-pearson":
        k = round(n * rate)
        low = 0.0 if k == 0 else beta.ppf(d / 2, k, n - k + 1)
        return low, 1.0 if k == n else beta.ppf(1 - d / 2, k + 1, n - k)
    reach = {
        "hoeffding": math.sqrt(math.log(2 / d) / (2 * n)),
        "exact": exact(n, d),
        "bernstein": math.sqrt(2 * rate * (1 - rate) * n / max(n - 1, 1) * math.log(4 / d) / n)
        + 7 * math.log(4 / d) / (3 * max(n - 1, 1)),
    }[bound]
    return max(rate - reach, 0.0), min(rate + reach, 1.0)


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.filterwarnings("ignore::trueness.errors.FewRowsWarning")
def test_an_error_inside_bins_is_the_distance_to_the_furthest_rate_that_is_left(bound):
    # Five bins of equal width with 40, 25, 1, 0 and 30 labels, of which 20, 24, 1, none and 3 are events.
    counts, events = [40, 25, 1, 0, 30], [20, 24, 1, 0, 3]
    p = np.repeat([0.1, 0.3, 0.5, 0.7, 0.9], counts)
    y = np.concatenate([np.arange(n) < k for n, k in zip(counts, events, strict=True)]).astype(int)
    for some in (slice(0, 65), slice(0, 96)):  # only the first two bins, and all
        B = 2 if some.stop == 65 else 5
        edge = 0.4 if B == 2 else 1.0
        found = (
            HistogramBinning(B, "fixed-width")
            .fit(p[some] / edge, y[some])
            .guarantee(0.2, bound=bound)
        )
        overall = sum(events[:B]) / sum(counts[:B])
        for got, d in (
            (found.epsilon, 1 - 0.8 ** (1 / B) if bound == "exact" else 0.2 / B),
            (found.marginal, 0.2),
        ):
            off = []
            for n, k in zip(counts[:B], events[:B], strict=True):
                value = k / n if n else overall
                low, high = interval(bound, n, value, d)
                off += [value - low, high - value]
            assert got == pytest.approx(max(off), rel=1e-9)
        empty = (sum(counts[:B]) / (sum(counts[:B]) + 1)) ** sum(counts[:B])
        assert found.expected_ece == pytest.approx(
            math.sqrt(B * (0.5 + empty) / (sum(counts[:B]) + 1))
        )


@pytest.mark.parametrize("bound", ["clopper-pearson", "bernstein"])
@pytest.mark.parametrize("scheme", ["umd", "original"])
def test_labels_between_boundaries_bound_the_error_of_ranked_bins(scheme, bound):
    rng = np.random.default_rng(3)
    p = np.sort(rng.random(59))
    y = (rng.random(59) < p**2).astype(int)
    cal = HistogramBinning(3, scheme).fit(p, y)
    found = cal.guarantee(0.2, bound=bound)
    parts = y[:19], y[20:39], y[40:]  # rows of rank 20 and 40 are the boundaries
    for got, d in (found.epsilon, 0.2 / 3), (found.marginal, 0.2):
        off = []
        for value, part in zip(cal.values_, parts, strict=True):
            low, high = interval(bound, 19, part.mean(), d)
            off += [value - low, high - value]
        assert got == pytest.approx(max(off), rel=1e-9)


GUPTA = "of Gupta and Ramdas (2021)"
THEOREMS = [
    (
        "umd",
        "hoeffding",
        f"Theorem 3 (conditional) and Theorem 4 with δ = 0 (marginal) {GUPTA}. Expected",
    ),
    ("randomized", "hoeffding", f"Theorem 4 with δ = 1e-09 {GUPTA}. Expected"),
    (
        "original",
        "hoeffding",
        f"Corollary 1 (conditional) and the same step from Theorem 4 (marginal) {GUPTA}. Exp",
    ),
    (
        "umd",
        "exact",
        "The binomial distribution at its worst rate in each bin, given the labels per bin; bins as in",
    ),
    (
        "original",
        "clopper-pearson",
        "Clopper-Pearson intervals of the labels inside each bin, with a union bound",
    ),
    (
        "randomized",
        "bernstein",
        "Empirical Bernstein bounds (Maurer and Pontil 2009) in each bin, with a union bou",
    ),
    (
        "split",
        "hoeffding",
        "Hoeffding's inequality in each bin, given the labels per bin, with a union bound (con",
    ),
    (
        "fixed-width",
        "exact",
        "The binomial distribution at its worst rate in each bin, given the labels per bin. Exp",
    ),
]


@pytest.mark.parametrize(("scheme", "bound", "theorem"), THEOREMS)
def test_a_guarantee_names_its_own_theorem(scheme, bound, theorem):
    rng = np.random.default_rng(0)
    p = rng.random(60)
    found = (
        HistogramBinning(3, scheme, seed=0)
        .fit(p, (rng.random(60) < p).astype(int))
        .guarantee(bound=bound)
    )
    assert found.theorem.startswith(theorem)
    ranked = scheme in ("umd", "randomized", "original")
    assert found.theorem.count(GUPTA) == ranked
    size = (
        "Σ (N + 1) / 4N(n + 1) over bins of N labels"
        if ranked
        else "B/2(m + 1) + B(m/(m + 1))^m/(m + 1), m labels"
    )
    assert found.theorem.endswith(f". Expected error: the root of {size}, valid for every n.")
    parts = {
        "no point mass at a boundary": scheme in ("umd", "original"),
        "ties broken at random now and in future": scheme == "randomized",
        "given the bins and their numbers of labels": scheme in ("split", "fixed-width"),
        "rows are tied inside bins": False,
        "weights are independent of labels": False,
    }
    assert {text: text in found.assumptions for text in parts} == parts


def test_a_guarantee_for_weights_that_are_no_numbers_of_rows_has_no_expected_error():
    cal = HistogramBinning(2, "fixed-width").fit(
        [0.1, 0.2, 0.8, 0.9], [0, 1, 1, 0], [0.5, 1.5, 1, 1]
    )
    assert cal.guarantee().theorem.endswith(
        ". The expected error has no bound for fractional weights."
    )


def test_two_rows_per_bin_are_enough():
    for scheme in ("umd", "original", "randomized"):
        p, y = np.arange(1, 7) / 7, [0, 1, 0, 1, 1, 0]
        assert HistogramBinning(3, scheme, seed=0).fit(p, y).guarantee().n_bins == 3
