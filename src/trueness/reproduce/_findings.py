"""What must be said beside the tables: conventions, and the errors that were found."""

from trueness.reproduce._matsubara_findings import TEXT as MATSUBARA
from trueness.reproduce._sun_findings import TEXT as SUN

__all__ = ["FINDINGS", "OPENING"]

OPENING = """\
# The papers' tables and figures, computed again

Every number below "ours" was computed by this library with the command named above its table; every number below
"published" stands in the paper, in the table or figure named there. A row *agrees* when the two differ by no more
than the rounding of the printed number or, where ours was simulated, when the published one lies within the limits
"from – to", which hold the number of an infinite run with 95 % confidence. Where nothing is in print, another heading
than "published" says what ours stands beside, and such numbers are counted apart. The command writes this page itself:
`trueness reproduce all --out docs/reproduction --page docs/reproduction.md`.
"""

_GUPTA = """\
Histogram binning fits B bins of equal mass and predicts in each the share of events seen there. The paper proves
that this may be done on the same rows that place the bins, and says how far off the predictions can be. What a reader
of the paper must know:

- The boundary point of a bin must be left out of its mean (Algorithm 1 does). The proof uses ⌊·⌋ where the algorithm
  prints ⌈·⌉; both leave at least ⌊n/B⌋ − 1 rows in every bin.
- The bound √(B/2n) on the expected calibration error rests on ⌊n/B⌋ − 1 ≥ n/2B, which fails for small n (n = 3B − 1: 1
  against 1.5 − 1/2B). The theorem is true all the same; `tn.epsilon(kind="expected-ece")` returns a bound whose proof
  has no gap.
- 1,500 rows do not give a marginal ε below 0.1 as printed: it is 0.1003; 1,510 do.
- 17,500 rows for sample splitting rest on a constant that is assumed. The same promise can be proved from 5,393 rows.
- δ = 1e-20 of Algorithm 2 vanishes when it is added to a score in double precision. This library breaks ties by a
  random secondary order instead, which is exact for every δ.
- The code that was published with the paper is neither Algorithm 1 nor Algorithm 2.
- A Hoeffding bound is not the best that can be said of a binomial: with the exact distribution the promise
  ε = 0.1 needs 1,709 rows instead of 2,660.
"""

FINDINGS = {
    "matsubara": MATSUBARA,
    "sun": SUN,
    "gupta": _GUPTA,
}
