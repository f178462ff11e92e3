"""The omnibus test once more, slowly: statistics by loops over cells, ranks by comparing all pairs."""

import math

import numpy as np
from scipy.special import logit, ndtri

NAMES = ("error", "width", "cells", "trend", "mean", "slope", "variance", "waves")


def weights(mean):
    """More weight for the error, the number of events and that weighted by the variance if one label is rare."""
    rare = (1 - 2 * mean) ** 2
    return (0.5 + rare, 0.5, 1, 1, 1 + rare, 1, 2 * rare, 1)


def mass_cuts(p, n_bins):
    """Cut j lies after row ⌊jn/B⌋, and a tie that it would split goes whole to the lower bin."""
    ordered, cuts = sorted(p), set()
    for j in range(1, n_bins):
        at = j * len(p) // n_bins
        above = [s for s in ordered if s > ordered[at - 1]] if at > 0 else []
        cuts |= set(above[:1])
    return cuts


def partitions(p):
    """The cell of each score in fine cells, cells of equal mass and of equal width, and coarse cells."""
    n = len(p)
    width = {b / max(5, round(n**0.4)) for b in range(1, max(5, round(n**0.4)))}
    fine = mass_cuts(p, max(5, round(n**0.5))) | width
    mass = mass_cuts(p, max(5, round(n**0.4)))
    coarse = mass_cuts(p, max(3, round(n**0.25)))
    if len(set(p)) <= 2 * (len(set(np.searchsorted(sorted(fine), p, side="right"))) + 1):
        fine = mass = set(p)
    return [np.searchsorted(sorted(cuts), p, side="right") for cuts in (fine, mass, width, coarse)]


def log_ratio(o, e):
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(o > 1e-12, o * np.log(o / np.maximum(e, 1e-290)), 0.0)


def values(labels, p, w=None, *, symmetric=False):
    """Errors, cells, trend and fourteen standardised forms of label vectors in columns, or of their residuals."""
    w = np.ones(p.size) if w is None else w
    u = labels if symmetric else labels - p[:, None]
    v, scale = w * w * p * (1 - p), w.sum() / (w @ w)
    found = [[(part == b) for b in np.unique(part)] for part in partitions(p)]
    fine, mass, width, coarse = found
    errors = []
    for cells in (mass, width):
        total = 0.0
        for at in cells:
            size = w[at].sum() * scale
            s, q = w[at] @ u[at], 0.0 if symmetric else ((w[at, None] * u[at]) ** 2).sum(axis=0)
            total = total + (s**2 - q) / max(size - 1, 1) * (size > 1)
        errors.append(total)
    cells = sum((w[at] @ u[at]) ** 2 / v[at].sum() for at in fine if v[at].sum() > 0)
    trend = 0.0
    for at in coarse:
        if symmetric:
            trend = trend + (w[at] @ u[at]) ** 2 / v[at].sum()
            continue
        rows, expected = w[at].sum(), w[at] @ p[at]
        events = w[at] @ u[at] + expected
        trend = trend + 2 * scale * (
            log_ratio(events, expected) + log_ratio(rows - events, rows - expected)
        )
    inside = (p > 0) & (p < 1)
    x = np.where(inside, logit(np.where(inside, p, 0.5)), 0.0)
    slope = np.where(inside, x - (v @ x) / v.sum(), 0.0)
    slope = slope if v @ slope**2 > 1e-12 * v.sum() else np.zeros(p.size)
    # The share of the variance below a score, and half of that at the score.
    t = np.array([v[p < s].sum() + v[p == s].sum() / 2 for s in p]) / v.sum()
    forms = [np.ones(p.size), slope, *(np.cos(np.pi * j * t) for j in range(2, 13)), p * (1 - p)]
    forms = [(a * w) @ u / max(math.sqrt(a**2 @ v), 1e-290) for a in forms]
    return np.array([*errors, cells, trend, *forms])


def statistics(found):
    """The eight statistics; forms are normal scores of their ranks, and their ends lie further out."""
    scores = []
    for row in found[4:]:
        digits = np.rint(row / max(np.abs(row).max(), 1e-290) * 1e9)
        ordered = np.sort(digits)
        rank = (
            np.searchsorted(ordered, digits, "left") + np.searchsorted(ordered, digits, "right")
        ) / 2
        score = ndtri(rank / row.size)
        last = np.sort(row)
        score[digits == ordered[-1]] += last[-1] - last[-2]
        score[digits == ordered[0]] -= last[1] - last[0]
        scores.append(score)
    squares = np.cumsum(np.array(scores[:-1]) ** 2, axis=0)
    waves = np.max([(squares[k - 1] - k) / math.sqrt(2 * k) for k in range(2, 14)], axis=0)
    return np.array([*found[:4], *np.abs([scores[0], scores[1], scores[-1]]), waves])


def ranks(row):
    """The share of values at least as large, up to rounding."""
    finite = row[np.isfinite(row)]
    slack = 1e-9 * np.abs(finite).max() if finite.size else 0.0
    ordered = np.sort(row)
    return (row.size - np.searchsorted(ordered, row - slack, "left")) / row.size


def combination(found, weights):
    """Σ w p^(−1/2) of each column, p being ranks; the largest value counts by its ratio to the second."""
    total = 0.0
    for row, weight in zip(found, weights, strict=True):
        lead, (second, largest) = np.ones(row.size), np.sort(row)[-2:]
        if second > 0:
            lead[row.argmax()] = largest / second
        total = total + weight * np.sqrt(lead / ranks(row))
    return total


def lower_tail_logs(found):
    """The sum of the logarithms of p-values from below."""
    small = [found[2], found[3], np.abs(found[4]), np.abs(found[5]), (found[4:-1] ** 2).sum(axis=0)]
    return sum(np.log(ranks(-row)) for row in small)


def answers(found, mean):
    """For scores of this mean: the p-value of the first column, those of its statistics, and that of the lower tail."""
    eight = statistics(found)
    alone = dict(zip(NAMES, (float(ranks(row)[0]) for row in eight), strict=True))
    return (
        float(ranks(combination(eight, weights(mean)))[0]),
        alone,
        float(ranks(-lower_tail_logs(found))[0]),
    )
