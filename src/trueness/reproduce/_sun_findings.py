"""What must be said beside the tables of Sun et al. 2025."""

__all__ = ["TEXT"]

TEXT = """\
The paper gives a confidence set for the l2 error of the k largest scores of a row, from a debiased estimate T of its
square, and compares it in three simulated settings with the bootstrap, subsampling and adaptive HulC. The results of
these simulations are figures, from which nothing is quoted here. Where a table below has a column "reference", its
numbers were measured beforehand by the published procedure, with 20,000 data sets of each β: they are not the paper's.
All methods see the same data sets. β = 1 is calibrated in settings 1 and 2, β = 0 in setting 3.

**What holds.** The published interval (`analytic`) covers within a few hundredths of what it says over most of the
three settings, and is the shortest of the published ones.

**Where it does not.**

- *Zero.* Zero is in the set if T is below z σ₀/(n √w), where σ₀ supposes scores that fill every cell. Uniform scores
  that are calibrated are refuted too often (50 rows in 10 bins: about 0.13 at nominal 0.1), concentrated ones hardly
  ever (`sun-zero-rule`), and then errors are not seen either. An exact test, with labels drawn from the scores, never
  exceeds its level and needs no σ₀; our `score` interval decides on zero by it.
- *Just above zero* it covers more than it says, since σ̂₁² of (7) tends to twice the variance of √n T for calibrated
  scores with many rows in a bin (`sun-zero-rule`, last column). In setting 2 with 100 rows it covers less than it says
  around β = 0.25 to 0.4.
- *σ₀ for 1 < k < K.* The domain of the integral (10), z₁ ≥ … ≥ z_k ≥ 0 and k/K ≤ Σz ≤ 1, is larger than what the k
  largest of K probabilities can reach; that also needs Σz + (K − k) z_k ≥ 1. Both are limits: cells at the edge of the
  domain are counted whole, so that with 8 cells per axis and 3 classes the true spread is above either, and with 10
  classes and the paper's cells it is below, most cells having few rows (`sun-zero-rule`, second table). The figures
  show both as `analytic` and `analytic, reachable`.
- *Print.* In (6) the transposes of the covariance are exchanged: it is the mean of U Uᵀ minus Ū Ūᵀ. Definition (1)
  sorts the scores of a row even for k = K, where full calibration keeps the order of the classes. For levels of 1/2 and
  less z_α is not positive and (8) is no interval; we refuse them.

**The competitors.** As published, subsampling draws with replacement and adds √(b/n) (q − T) without exchanging the
tails; Politis and Romano draw without and exchange them. The right version is shorter, and covers less in setting 2.
The percentile bootstrap covers hardly ever near zero, because a row that is drawn twice makes a pair with itself and
moves every resample upwards; moved back to the estimate (`centred bootstrap`) it covers more than it says, with little
power. The published lengths of resampled intervals count what lies below zero, where no error can be, and those of
`analytic` do not. "In short" has both ratios: cut at zero, the advantage of the published interval is smaller.

**The bias.** T divides by N − 1 and is unbiased for the binned error but for rows that are alone in their cell. T-Cal
divides by N: with 100 rows and the paper's 20 cells the mean of its statistic is 10.2 to 10.9 % below the true squared
error in setting 1 and 4.8 to 16.8 % in setting 2, that of T 0.3 to 1.0 % and 0.3 to 7.0 %, nearly all of which is lost
to the bins (`sun-remark-b8`; the means are exact). That matters for an estimate, not for a test whose null
distribution is drawn with the same divisor.

**Bins.** The rule n^{2/(4s + d)} for smoothness s and d dimensions gives 6 and 16 bins for 100 and 1,000 rows at s = 1;
the paper's simulations have 20 and 50 cells of [0, 1], of which the upper half is reached. `sun-bin-count` shows what
that costs in precision, and what fewer bins cost where the error oscillates.

**The authors' code** (`sylydya/CI-ECE`, as far as its versions could be read; `sun-stored-code`). The generator of
settings 1 and 2 has log-odds 1 + β logit z where the notebook's true errors have β logit z. The notebook takes the last
subsample for the estimate of the whole sample. Scores equal to 1 are in no bin but counted in n (`sun-tables-1-2` has a
model with 328 of them; the estimate changes in the fourth digit). The grid of setting 3 ends at β = 0.095, ours at 0.1.

**Tables 1 and 2** are intervals for image classifiers before and after scaling. We run the procedure on a ResNet-50
(CIFAR-10) and a ResNet-152 (ImageNet) and quote no printed number, since nothing says that these are the outputs that
the paper used. The intervals do not say that a scaling helped: for that, compare two scores of the same rows in pairs
(`trueness.compare`).
"""
