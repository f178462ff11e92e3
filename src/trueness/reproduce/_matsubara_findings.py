"""What must be said beside the tables of Matsubara et al. 2023."""

__all__ = ["TEXT"]

TEXT = """\
TCE is the percentage of predictions that a two-sided binomial test at the 5 % level, on the labels of their bin,
refutes. (P) stands for bins by PAVA-BC, (Q) for quantile bins (ten if nothing else is said), (V) for plain PAVA.

**Where the published numbers stand.** The paper's numbers are quoted with the digits that the authors stored in
their repository (facebookresearch/tce, folder Result, and the output of its notebooks). Its files
are named for what is varied; which of Tables 6 to 13 prints which file follows the order of the notebook S1_GDA. In
one place the paper and the file are known to differ: Table 5 has MCE(Q) = 0.0102 for ResNet152, the file 0.0101,
the predictions 0.0101.

**Text and code are two procedures.** The published numbers were computed by the code, which departs from the text
in four points. Every table below is therefore given twice, unless both procedures give the same.

1. *Quantile bins.* The text cuts N rows into B bins of equal size. The code cuts at `int(j / B * N)` in floating
   point, which moves some cuts by one row: 1740 becomes 1739 for N = 6,000 and B = 100. In Table 8 that changes
   TCE(Q) from 31.2833 to 32.2833 and from 57.8500 to 56.7667: one row in one cut moves a whole percentage point.
2. *The upper end.* PAVA-BC keeps the last N_min rows back and joins them to the last block if the block then has at
   most N_max rows. The code asks whether 2 N_min ≤ N_max instead, whatever the block has, so that a bin can exceed
   N_max (`matsubara-scale` counts how often). No published number that we could recompute depends on it.
3. *Equal scores.* The text is silent; the code splits them by the order of the rows, so that TCE is not a function
   of the data: 50 orders of the same 1,000 rows give 47 values between 1.3 and 25.4 % (`matsubara-scale`). This
   library pools equal scores first. On the two ImageNet models, which have ties, both give the published values.
4. *The t test* of Table 11 divides by the variance k/N (1 − k/N) where the standard deviation belongs (and rejects
   every prediction of a bin whose labels are all equal). The published TCE(P)-T for calibrated data is 37.8000; the
   t test gives 7.3500, the binomial test 7.2833. The table's lesson, that the t test rejects far more than the
   binomial one, is an artefact: done properly the two agree within 3.3 points in every line.

**How exactly the numbers come back.** The data are drawn by NumPy's legacy generator with seed 0, labels before
features, so the very rows can be drawn again. By the procedure of the code all 732 numbers of Tables 6 to 13 and all
36 of Table 2 agree to the last digit. That needs the logistic regression to end where it ended then: scikit-learn
minimised the sum of the losses by L-BFGS and stopped when the sum fell by less than 2.2e-9 of itself, a few millionths
away from the optimum. At the optimum itself 723 of the 732 numbers come out; as scikit-learn ends today, two thirds
(`matsubara-fit`). A TCE has more digits than a fit can carry.

**Errors in the description.**

- *Prevalence.* The authors' file of Table 2 labels three rows 01-01, 01-00 and 01-02, and the notebook draws 1 %. Their
  numbers are those of a training prevalence of 2 % and test prevalences of 2 %, 0 % and 4 %, to every digit, and the
  first two stand again in Table 13 under 2 %; the prevalences of the labels give other numbers (TCE(P) 3.4 instead
  of 13.1 for the first).
- *Data.* The text has class means of ±1; the code draws x | y ~ N(±0.5, 2²). The posterior that follows is
  expit(log(π/(1 − π)) + x/4); the sign and the slope in the text are others. With means of ±1 the first number of
  Table 2 is 12.3 instead of 7.3.
- *Algorithm 3* draws an edge only where the fitted value changes, so neighbouring blocks of equal rate become one
  bin: 30,000 rows for ResNet152, where N_max is 10,000. The code keeps the blocks. TCE is the same here.
- *Algorithm 2* as printed cannot keep N_min when N_max < 2 N_min − 1: a last block of N_min − 1 rows may not take
  up the N_min rows kept back. This library refuses such limits.
- *Table 12* has N_min and N_max the wrong way round in its caption; they are N/20 and N/5.
- *The script that makes the ImageNet predictions* adds up the probabilities of a whole batch, not of a picture, and
  writes files without the header that the notebook expects: as it is stored it cannot have made the stored
  predictions.

**What the tables do not show.**

- *One data set each.* The numbers of Table 2 are single draws. For the calibrated model (50 % and 50 %) 95 % of
  other data sets of the same law have a TCE(P) between about 2 and 23 (the last part of `matsubara-table-2`):
  differences of a few points between models or settings are noise. Ask for the noise floor.
- *TCE does not go to zero for a calibrated model; it goes to 100 %.* With more rows the test of a bin sharpens
  while the bin stays as wide, so that ever more predictions differ from the bin's rate. For uniform scores in ten
  quantile bins TCE(Q) is about 13, 51, 84 and 95 % for a thousand to a million rows, as a short calculation
  predicts from ten thousand on (`matsubara-scale`); Table 12 shows the beginning of it (10.9, 31.7 and 45.8 % for
  6,000, 30,000 and 60,000 rows). ECE of the same data falls to zero. A TCE must be read with its N and its bins,
  and compared at equal N only.
- *Time.* Testing every prediction by itself, as the code does, took the authors 72 s for 50,000 rows; whole ranges
  of predictions can be decided at once, with the same decisions, in milliseconds (`matsubara-table-5`).

**Not run without the data.** Table 1 with Figures 2 to 4 and Tables 3, 4 and 14 need files of imbalanced-learn's
benchmark, and spambase; where they are absent the experiments say so, and `matsubara-bins` shows the comparison of
Table 1 on synthetic data. Each data set is an experiment of its own (`matsubara-uci-…`), and the number of test rows
and of events among them tells whether the rows stand in the order of the authors. Gradient boosting of another
scikit-learn version need not give the published digits.
"""
