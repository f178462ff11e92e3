"""What must be said beside the tables: conventions, and the errors that were found."""

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

FINDINGS = {
    "matsubara": "",
    "sun": SUN,
    "gupta": "",
}
