"""TCE with PAVA-BC bins."""

import numpy as np

from contenders import published_tce
from contenders.contender import Call, Contender, Task


def trueness(y: np.ndarray, p: np.ndarray) -> Call:
    import trueness as tn

    tce = tn.tce
    return lambda: tce(y, p)


def published(y: np.ndarray, p: np.ndarray) -> Call:
    import scipy.stats  # noqa: F401 (so that the clock does not see the import)

    return lambda: published_tce.tce(y, p)


TCE = Task(
    "tce",
    "TCE, PAVA-BC bins, binomial test at 5 %",
    (
        Contender("trueness", "trueness", trueness, is_peer=False),
        Contender("published algorithm", "scipy", published, most_rows=50_000, note="transcribed; a binomtest per row"),
    ),
)
