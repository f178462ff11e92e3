"""The test of Sun et al. (2025): the unbiased squared error over its limiting null deviation."""

import math

from scipy.special import ndtr

from trueness._numerics.pairs import null_variance, pair_sums
from trueness._tally.binned_scores import of_cells
from trueness._tally.cells import Cells
from trueness._tally.rules import EqualWidth
from trueness.errors import InputError
from trueness.infer._finding import Ask, Finding, whole

__all__ = ["analytic"]


def analytic(cells: Cells, ask: Ask) -> Finding:
    """The z of T, upper tail."""
    n = int(whole(cells, "`method='analytic'`").weight.sum())
    rule = ask.rule or EqualWidth(max(2, round(n**0.4)))
    if not isinstance(rule, EqualWidth):
        raise InputError(
            "bins",
            "must be of equal width for `method='analytic'`, whose null deviation assumes it",
            f"got {rule!r}. `method='exact'` takes any bins that do not look at labels",
        )
    scores = of_cells(cells, rule, None)
    estimate = pair_sums(scores.z, scores.count, scores.hits, scores.first).statistic
    z = n * estimate / math.sqrt(rule.n * null_variance(ask.classes))
    assumed = (
        "Rows are independent; many rows in every cell of the whole range of scores, none of them empty: where "
        f"scores concentrate, the level is not kept. Bins: {rule!r}. Upper tail of the normal distribution."
    )
    return Finding(z, float(ndtr(-z)), assumed)
