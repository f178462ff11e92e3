"""The rows that every contender gets: seeded, the same for all."""

import numpy as np

SEED = 20_230_731
FORMS = {"float64/int64": (np.float64, np.int64), "float32/uint8": (np.float32, np.uint8)}
USUAL, COMPACT = FORMS
_CHUNK = 1 << 18


def rows(n: int, form: str) -> tuple[np.ndarray, np.ndarray]:
    """Labels and scores of an overconfident model: log-odds that are half as large again as they should be.

    Made in chunks, so that making them needs hardly more memory than they do.
    """
    score_type, label_type = FORMS[form]
    rng = np.random.default_rng([SEED, n])
    y, p = np.empty(n, label_type), np.empty(n, score_type)
    for i in range(0, n, _CHUNK):
        part = slice(i, min(i + _CHUNK, n))
        log_odds = rng.normal(-0.5, 1.0, part.stop - i)
        p[part] = _probability(1.5 * log_odds)
        y[part] = rng.random(log_odds.size) < _probability(log_odds)
    return y, p


def _probability(log_odds: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-log_odds))
