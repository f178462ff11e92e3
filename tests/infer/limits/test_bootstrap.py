"""Bootstrap limits of a function of your own: reflected quantiles, and what is drawn."""

import math

import numpy as np
import pytest
from grids import slow

import trueness as tn

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def limits(function, *rows, **options):
    return tn.estimate(function, *rows, method="bootstrap", floor=False, **{"seed": 0, **options})


def share_of_events(tally):
    """Of one binary problem, or of the first class."""
    return float(tally.parts[0].events.sum() / tally.parts[0].weight.sum())


def some_rows(n=200):
    rng = np.random.default_rng(1)
    p = rng.choice([0.1, 0.3, 0.6, 0.9], n)
    return (rng.random(n) < p).astype(int), p


def some_classes(n=100):
    rng = np.random.default_rng(1)
    return rng.choice(3, n, p=[0.5, 0.2, 0.3]), rng.dirichlet(np.ones(3), n)


def scripted(first, drawn):
    """A measure that has these values, one after the other: of the rows, then of the resamples."""
    values = iter([first, *drawn])
    return lambda tally: next(values)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_limits_are_the_quantiles_of_999_resamples_reflected_at_the_value(level):
    found = limits(scripted(600.0, range(999)), *some_rows(), level=level)
    quantiles = 998 * (1 - level) / 2, 998 * (1 + level) / 2
    assert (found.low, found.high) == pytest.approx((1_200 - quantiles[1], 1_200 - quantiles[0]))
    assert found.standard_error == pytest.approx(math.sqrt(999 * 1_000 / 12))
    assert found.method == "basic bootstrap of rows"


def test_resamples_without_a_value_are_left_out():
    found = limits(scripted(0.5, [0.4, math.nan, 0.8] + [math.nan] * 996), *some_rows(), level=0.6)
    assert (found.low, found.high) == pytest.approx((1 - 0.72, 1 - 0.48))
    for first, drawn in ((0.5, [0.4] + [math.nan] * 998), (math.nan, [0.4, 0.8] * 500)):
        found = limits(scripted(first, drawn), *some_rows())
        assert math.isnan(found.low)
        assert "the measure is undefined for the resampled rows" in found.note


@pytest.mark.parametrize("weight", [None, np.tile([1, 2, 3, 0], 50)])
def test_rows_are_drawn_with_replacement(weight):
    y, p = some_rows()
    rate, n = np.average(y, weights=weight), 200 if weight is None else weight.sum()
    found = limits(share_of_events, y, p, sample_weight=weight)
    error = math.sqrt(rate * (1 - rate) / n)
    assert found.value == pytest.approx(rate)
    assert found.standard_error == pytest.approx(error, rel=0.1)
    assert (found.low, found.high) == pytest.approx(
        (rate - 1.96 * error, rate + 1.96 * error), abs=0.4 * error
    )
    # All resamples have as many rows, and the scores of the data with their events.
    size = limits(lambda tally: float(tally.weight), y, p, sample_weight=weight)
    assert (size.low, size.high, size.standard_error) == (n, n, 0)
    there = {(score, label) for score, label in zip(p, y, strict=True)}

    def strange(tally):
        cells = tally.parts[0]
        kinds = {(s, 1) for s, e in zip(cells.score, cells.events, strict=True) if e > 0}
        others = cells.weight - cells.events
        return float(
            len(
                (kinds | {(s, 0) for s, o in zip(cells.score, others, strict=True) if o > 0})
                - there
            )
        )

    assert limits(strange, y, p, sample_weight=weight).high == 0


def test_rows_of_a_matrix_are_drawn_whole():
    y, P = some_classes()
    rate = np.mean(y == 0)
    found = limits(share_of_events, y, P)
    assert found.standard_error == pytest.approx(math.sqrt(rate * (1 - rate) / 100), rel=0.1)
    rows = limits(lambda tally: float(sum(part.events.sum() for part in tally.parts)), y, P)
    assert (rows.low, rows.high) == (100, 100)


def error_of_clusters(values, w, cluster):
    rest = w * (values - np.average(values, weights=w))
    return math.sqrt((np.bincount(cluster, rest) ** 2).sum()) / w.sum()


@pytest.mark.parametrize("weight", [*slow(None), np.tile([0.5, 1.5, 2.0, 1.0], 50)])
@pytest.mark.parametrize("matrix", [False, *slow(True)])
def test_clusters_are_drawn_with_all_their_rows(matrix, weight):
    y, p = some_classes(200) if matrix else some_rows()
    event = (y == 0) if matrix else (y == 1)
    # Rows of a cluster agree, which makes the error four times that of independent rows.
    cluster = np.lexsort((np.arange(200), event))
    cluster = np.argsort(cluster) // 16
    shuffled = np.random.default_rng(2).permutation(200)
    found = limits(
        share_of_events, y[shuffled], p[shuffled], cluster=cluster[shuffled],
        sample_weight=None if weight is None else weight[shuffled],
    )  # fmt: skip
    w = np.ones(200) if weight is None else weight
    error = error_of_clusters(event.astype(float), w, cluster)
    assert found.method == "basic bootstrap of clusters"
    assert found.value == pytest.approx(np.average(event, weights=w))
    assert found.standard_error == pytest.approx(error, rel=0.15)


def test_sums_that_do_not_keep_rows_apart_have_no_bootstrap():
    y, p = some_rows()
    labels, P = some_classes(20)
    sums = [
        tn.binned(y, p, bins=4),
        tn.tally(y, p, sample_weight=np.full(200, 0.5)),
        tn.tally(labels, P),
    ]
    for one in sums:
        found = limits(lambda some: float(some.weight), one)
        assert math.isnan(found.low)
        assert "these sums do not keep the rows apart" in found.note
    assert limits(share_of_events, tn.tally(y, p)).standard_error == pytest.approx(
        math.sqrt(y.mean() * (1 - y.mean()) / 200), rel=0.1
    )
