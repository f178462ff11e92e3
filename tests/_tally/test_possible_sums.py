"""Stored sums that no rows have are refused, however right their checksum; sums that were merged never are."""

import numpy as np
import pytest

import trueness as tn
from trueness._tally import store

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")

Y, P = np.array([0, 1, 1, 0, 1]), np.array([0.1, 0.1, 0.7, 0.7, 1.0])
WEIGHTS = {"unweighted": None, "whole": [2, 1, 3, 1, 1], "fractional": [0.5, 2, 1.5, 4, 0.1]}
OTHER_SCORES = "a mean squared score must lie in its range"
OTHER_SQUARES = "its weights and their squares contradict each other"
OTHER_ROWS = "its rows and their weights contradict each other"


def forged(sums, name, at, number):
    """The sums with one number of their first part changed, and a right checksum."""
    fields = store.describe(sums)
    part = {
        key: np.array(value) if isinstance(value, np.ndarray) else value
        for key, value in fields["parts"][0].items()
    }
    part[name][at] = number
    form = type(sums).__name__.lower()
    data = store.pack({"what": form, **fields, "parts": [part, *fields["parts"][1:]]})
    return lambda: type(sums).from_bytes(data)


def binned(y, p, **options):
    return tn.binned(y, p, bins=4, **options)


FORGED = [
    # The columns of a table are rows, then the upper and lower bits of Σp and of Σp².
    (binned, "unweighted", "table", (0, 1, 3), 2**36, "its exact sums are too large for its rows"),
    (binned, "unweighted", "table", (0, 1, 3), 2**26, OTHER_SCORES),
    (binned, "unweighted", "table", (0, 1, 3), 0, OTHER_SCORES),
    (binned, "unweighted", "table", (0, 1, 4), 2**62, "its exact sums are too large for its rows"),
    (binned, "unweighted", "table", (3, 1, 0), 2**40, "a bin or cell has too many rows"),
    (binned, "whole", "floats", (0, 0), 2.5, "its weights are not whole numbers"),
    (binned, "fractional", "floats", (0, 4), 1e300, OTHER_SCORES),
    (binned, "fractional", "floats", (0, 4), 0.0, OTHER_SCORES),
    (binned, "fractional", "floats", (0, 5), 1.0, "a mean score must lie in its bin"),
    (binned, "fractional", "floats", (0, 1), 0.0, OTHER_SQUARES),
    (binned, "fractional", "floats", (0, 1), 1e9, OTHER_SQUARES),
    (binned, "fractional", "floats", (0, 0), 1e200, OTHER_ROWS),
    (tn.sketch, "unweighted", "table", (0, 1, 3), 2**26, OTHER_SCORES),
    (tn.sketch, "unweighted", "table", (0, 0, 4), 2**26, OTHER_SCORES),
    (tn.sketch, "unweighted", "count", (0,), 1, OTHER_ROWS),
    (tn.sketch, "whole", "squares", (0, 0), 5.0, OTHER_SQUARES),
    (tn.sketch, "fractional", "floats", (0, 0, 2), 1e100, OTHER_SCORES),
    (tn.sketch, "fractional", "squares", (0, 1), 0.0, OTHER_SQUARES),
    (tn.sketch, "fractional", "count", (0,), 1, OTHER_SQUARES),
    (tn.tally, "unweighted", "count", (0,), 2**62, OTHER_ROWS),
    (tn.tally, "unweighted", "weight", (0,), 3, OTHER_ROWS),
    (tn.tally, "whole", "weight", (0,), 2**36, "its whole weights sum to too much"),
    (tn.tally, "whole", "squares", (0,), 2.0, OTHER_SQUARES),
    (tn.tally, "fractional", "count", (0,), 2**62, r"more than 9,007,199,254,740,992 rows"),
    (tn.tally, "fractional", "count", (0,), 1, OTHER_SQUARES),
    (tn.tally, "fractional", "squares", (0,), 100.0, OTHER_SQUARES),
    (tn.tally, "fractional", "event_squares", (0,), 0.0, OTHER_SQUARES),
    (tn.tally, "fractional", "events", (0,), 0.1, OTHER_SQUARES),
    (tn.tally, "fractional", "score", (1,), 0.1, "must ascend"),
]


@pytest.mark.parametrize(("make", "weights", "name", "at", "number", "message"), FORGED)
def test_a_number_outside_its_range_is_refused(make, weights, name, at, number, message):
    sums = make(Y, P, sample_weight=WEIGHTS[weights])
    assert type(sums).from_bytes(sums.to_bytes()) == sums
    with pytest.raises(tn.InputError, match=message):
        forged(sums, name, at, number)()


@pytest.mark.parametrize("make", [tn.tally, binned, tn.sketch])
@pytest.mark.parametrize("kind", ["classwise", "multilabel"])
def test_views_of_all_rows_must_have_the_same_rows(make, kind):
    matrix = np.array([[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]])
    y = [2, 0] if kind == "classwise" else [[0, 0, 1], [1, 0, 0]]
    data = make(y, matrix, kind=kind).to_dict()
    other = make(y * 2, np.tile(matrix, (2, 1)), kind=kind).to_dict()
    data["parts"][1] = other["parts"][1]
    with pytest.raises(tn.InputError, match="its parts have different numbers of rows"):
        tn.Tally.from_dict(data) if make is tn.tally else type(
            make(y, matrix, kind=kind)
        ).from_dict(data)


def test_each_row_has_one_class():
    data = tn.tally([2, 0], [[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]]).to_dict()
    data["parts"][1]["events"] = [1, 0]
    with pytest.raises(tn.InputError, match="each row must have one class"):
        tn.Tally.from_dict(data)


def test_events_that_rounding_left_above_the_weight_are_cut():
    data = tn.tally([1, 1], [1.0, 1.0], sample_weight=[0.1, 0.2]).to_dict()
    part = data["parts"][0]
    part["events"] = [part["weight"][0] * (1 + 1e-12)]
    assert tn.log_loss(tn.Tally.from_dict(data)) == 0
    part["events"] = [part["weight"][0] * (1 + 1e-6)]
    with pytest.raises(tn.InputError, match="it has more events than rows"):
        tn.Tally.from_dict(data)


def scores(rng, n):
    """Scores whose sums round in different ways."""
    match rng.integers(5):
        case 0:
            return rng.choice([0.0, 1.0, 0.5, 5e-324, 1e-12, 1 - 2**-53, 0.1], n)
        case 1:
            return 10.0 ** -rng.uniform(0, 300, n)
        case 2:
            return 1 - 10.0 ** -rng.uniform(0, 17, n)
        case 3:
            return np.full(n, rng.random())
        case _:
            return rng.random(n)


def weights(rng, n):
    """No weights, whole and fractional ones, near and far from each other."""
    match rng.integers(6):
        case 0:
            return None
        case 1:
            return rng.integers(1, 2**20, n)
        case 2:
            return 10.0 ** rng.uniform(-50, 50, n)
        case 3:
            return np.full(n, 10.0 ** rng.uniform(-99, 99))
        case 4:
            return rng.random(n) * 1e-17 + (rng.random(n) < 0.3) + 1e-20
        case _:
            return rng.random(n) + 0.01


def pieces(rng, make):
    """Sums of a few batches that can be merged."""
    several = rng.random() < 0.5
    kind = rng.choice(["classwise", "confidence", "top-label"])
    for _ in range(rng.integers(2, 9)):
        n = int(rng.choice([1, 2, 20, 300]))
        options = {"sample_weight": weights(rng, n)}
        if several:
            y, p = rng.integers(0, 3, n), rng.dirichlet(np.full(3, rng.choice([0.1, 1, 50])), n)
            options |= {"kind": kind, "labels": [0, 1, 2]}
        else:
            y, p = (rng.random(n) < rng.choice([0, 1, 0.5, 0.001])).astype(int), scores(rng, n)
        found = make(y, p, **options)
        yield type(found).from_bytes(found.to_bytes()) if rng.random() < 0.3 else found


def merged(rng, parts):
    """Their sum, in a random order and with random brackets."""
    stack = [parts[i] for i in rng.permutation(len(parts))]
    while len(stack) > 1:
        i = rng.integers(len(stack) - 1)
        stack[i : i + 2] = [stack[i] + stack[i + 1]]
    found = stack[0]
    return found if rng.random() < 0.5 else found + found


RUNS = [*range(10), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(10, 40))]


@pytest.mark.parametrize("make", [tn.tally, binned, tn.sketch])
@pytest.mark.parametrize("seed", RUNS)
def test_merged_sums_are_never_refused(make, seed):
    rng = np.random.default_rng(seed)
    for _ in range(2 if seed < 10 else 100):
        parts = list(pieces(rng, make))
        for _ in range(3):
            sums = merged(rng, parts)
            assert type(sums).from_bytes(sums.to_bytes()) == sums
            if make is not binned:
                coarse = sums.coarsen(4)
                assert tn.sources.Binned.from_bytes(coarse.to_bytes()) == coarse
