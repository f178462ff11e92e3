"""`calibration_test`: whether scores are calibrated, by any test."""

from collections.abc import Hashable, Sequence

from trueness._assess.asked import TEST
from trueness._assess.reading import asked_of
from trueness._input.arguments import Seed, checked_word
from trueness._keywords import suggests_keywords
from trueness._tally.rows_or_sums import row_options
from trueness._tally.rules import BinsLike
from trueness._tally.tally import Tally
from trueness.errors import InputError
from trueness.infer.test._calibration_test import METHODS, TestMethod, refuse_unused
from trueness.results import Significance
from trueness.typing import ArrayLike, Kind, Missing, WeightType


@suggests_keywords
def calibration_test(
    y_true: ArrayLike | Tally,
    y_prob: ArrayLike | None = None,
    *,
    method: TestMethod = "omnibus",
    bins: BinsLike | None = None,
    cluster: ArrayLike | None = None,
    k: int | None = None,
    resamples: int | None = None,
    level: float = 0.95,
    seed: Seed = 0,
    fitted: bool = False,
    rounded_to: float | None = None,
    kind: Kind | None = None,
    labels: Sequence[Hashable] | None = None,
    pos_label: Hashable | None = None,
    sample_weight: ArrayLike | None = None,
    weight_type: WeightType = "auto",
    missing: Missing = "raise",
    clip_tolerance: float = 0.0,
    sum_tolerance: float | None = None,
    from_logits: bool = False,
    percent: bool = False,
    ignore_index: int | None = None,
) -> Significance:
    r"""Test whether scores are calibrated: whether each event had its predicted probability.

    A small p-value is evidence against calibration. A large one is no evidence for it: there may be
    too few rows, or the test may have no power against the error there is.

    Parameters
    ----------
    y_true : array-like of shape (n,), (n, L) or (B, …)
        Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
        images.
    y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
        Predicted probabilities: P(positive), one column per class or label, or dense, with classes
        second. Or a :class:`trueness.Tally` in place of both. The labels must not have been used to
        fit the scores (except with `fitted`).
    method : str, default 'omnibus'
        'omnibus'
            Eight statistics at once, for errors of unknown kind: 'error' and 'width', :math:`T` of
            'exact' in cells of equal mass and of equal width; 'cells', squared residuals in fine
            cells over their variance; 'trend', the deviance in coarse cells; 'mean' and 'slope',
            the two parts of 'cox'; 'variance', :math:`\sum p (1 - p) (y - p)`; 'waves', cosines
            along the scores (``docs/methods/omnibus-test.md``). All come from the same redrawn
            labels. Their p-values :math:`p_j` are combined by :math:`\sum w_j p_j^{-1/2}`, and the
            sum is ranked among the redrawn labels: the level holds at any n. The statistic is the
            smallest :math:`p_j`; `strongest` says whose. A label that a score of exactly 0 or 1
            rules out gives p = 0. See Notes.
        'exact'
            Debiased squared error :math:`T` of :func:`trueness.squared_ece`, upper tail, compared
            with labels redrawn from the scores. Keeps its level at any n. Default bins: max(5,
            round(n^0.4)) of equal mass. Above 4,096 distinct scores, nearly equal scores of a bin
            are drawn together, as one binomial number; this changes the level by less than 0.001.
        'analytic'
            The same :math:`T` as :math:`z = n \sqrt{w}\, T / \sigma_0`, cells of volume :math:`w`,
            upper tail of the normal distribution (Sun et al. 2025, Theorem 3.3): p ≤ α where
            Algorithm 1 leaves zero out. Equal width only; default max(2, round(n^{2/(4 + d)}))
            cells per axis with d = min(k, K − 1), or 1 for a vector.
        't-cal'
            :math:`\frac1n \sum_b [(\sum u)^2 - \sum u^2] / n_b`, u = y − p, compared with redrawn
            labels (Lee et al. 2023). Default bins: max(2, round(n^0.4)) of equal width.
        'adaptive-t-cal'
            't-cal' with 2, 4, …, :math:`2^B` bins, :math:`B = \lceil 2 \log_2 (n / \sqrt{\log n})
            \rceil`; the smallest p-value times B, at most 1. The statistic is that of the
            resolution with the smallest p-value.
        'ks', 'kuiper'
            With :math:`C(s) = \frac1n \sum_{p_i \le s} (y_i - p_i)` over the distinct scores, and 0
            before the first: the largest :math:`|C|`; the range of :math:`C`. Divided by
            :math:`\sigma = \frac1n \sqrt{\sum p (1 - p)}`, they are compared with Brownian motion
            on [0, 1].
        'spiegelhalter'
            :math:`z = \sum (y - p)(1 - 2p) / \sqrt{\sum (1 - 2p)^2 p (1 - p)}`, two-sided: whether
            the Brier score is what the scores predict. Scores of 1/2 have no influence.
        'cox'
            Score test of slope 1 and intercept 0 in :math:`\mathrm{logit}\,P(Y = 1) = a +
            b\,\mathrm{logit}\,p`, with the information at (1, 0): chi-squared, 2 degrees of freedom
            (1 if there is one distinct score).
        'hosmer-lemeshow'
            :math:`\sum_b (O_b - E_b)^2 / (n_b \bar p_b (1 - \bar p_b))` over :math:`g` non-empty
            groups: chi-squared, :math:`g` degrees of freedom. Default: 10 groups of equal mass.
        'quantiles'
            For quantile forecasts (:func:`trueness.events.quantiles`) of independent rows: the
            shares of the gaps between the quantiles by Pearson's statistic, the location and the
            spread of the outcomes among them, each against gaps redrawn from the stated levels; the
            smallest rank is ranked again. Exact at any n.
    bins : int, sequence of edges or bin rule, optional
        For 'exact', 'analytic', 't-cal' and 'hosmer-lemeshow'. Rules that depend on the labels are
        refused.
    cluster : array-like of shape (n,), optional
        A cluster name for each row; rows of one cluster may depend on each other. For 'omnibus',
        'exact', 'ks', 'kuiper' and 'spiegelhalter', from labels and scores; whole-number weights
        only. See Notes.
    k : int, optional
        For 'omnibus', 'exact', 'analytic', 't-cal' and a matrix: how many of the largest scores of
        a row are tested. Default 1. 'omnibus' tests each of them by itself (see Notes). The others
        test them jointly: u is a vector, its products are inner products, and the cells are those
        of :func:`trueness.squared_ece`, an int `bins` per axis (the mK of Sun et al.); k = K is
        then full calibration, with all classes in class order. Of tied scores the first column
        counts as the larger, so that the order of tied classes matters. A matrix of two columns is
        the binary problem of its second column unless `k` or `kind` is given; ``k=1`` is the top
        label.
    resamples : int, optional
        Number of sets of labels redrawn from the scores. The default is 999, and at least 100 B − 1
        for 'adaptive-t-cal', so that 0.01 can be reached. 'ks', 'kuiper', 'spiegelhalter', 'cox'
        and 'hosmer-lemeshow' redraw labels only if this is given, or if their limiting distribution
        is not accurate: see Notes.
    level : float, default 0.95
        The level of the decision: 'omnibus' then draws at least 20 / (1 − level) sets of labels, as
        :func:`ece_interval` and :func:`verdict` do, so that all three read the same p-value.
        Without `resamples`, 4,999 and then 19,999 are drawn, for independent rows and one score per
        row, while the 99 % Monte-Carlo interval of the p-value contains 1 − level.
    seed : int or numpy.random.Generator, default 0
        For redrawn labels and random signs: see Notes for what it fixes.
    fitted : bool, default False
        For 'hosmer-lemeshow': the rows were used to fit the scores by a logistic regression, which
        leaves :math:`g - 2` degrees of freedom.
    rounded_to : float, optional
        For 'omnibus': the unit to which the scores were rounded, such as 0.01, or 1/30 for the
        votes of 30 trees. Rounding may have made scores 0 and 1; see Notes. Not for
        `kind='top-label'`.
    kind : {'classwise', 'confidence', 'top-label', 'multilabel'}, optional
        How a matrix is compared with the labels. 'classwise': each column against the rest,
        averaged over classes. 'confidence': the largest probability of each row (the first, if
        tied) against whether that class is the label. 'top-label': the same for each predicted
        class, weighted by how often it is predicted. 'multilabel': each column is a binary problem
        of its own, averaged over labels; never guessed. By default 'confidence'. But the default
        for a matrix is 'confidence'; other kinds need the method 'omnibus'. A matrix of two columns
        is the binary problem of its second column, unless `k` or a `kind` other than 'classwise' is
        given.
    labels : sequence, optional
        The classes in column order, if they are not 0 to K−1; for a vector of scores, two classes
        with the positive one last. By default, columns whose names are the classes are matched by
        name. Otherwise the columns are in the order of the categories (of a pandas Categorical,
        Polars Enum or ordered Arrow dictionary, unused categories included) or, without categories,
        in the order of the sorted labels.
    pos_label : optional
        The label that a vector of scores predicts, if labels are not 0/1.
    sample_weight : array-like of shape (n,), optional
        Frequencies or sampling weights (`weight_type`); a weight of 0 leaves the row out.
    weight_type : {'auto', 'frequency', 'importance'}, default 'auto'
        What the weights mean. 'frequency': whole numbers that count rows (a weight of 2 is two
        rows). 'importance': sampling weights in any unit; each row counts once. 'auto' takes whole
        numbers as frequencies, with a warning in functions that infer, and other weights as
        importance.
    missing : {'raise', 'drop'}, default 'raise'
        What to do with rows that have a missing value: raise an error, or drop them with a warning.
    clip_tolerance : float, default 0
        Scores outside [0, 1] by at most this much are set to 0 or 1.
    sum_tolerance : float, optional
        How far the scores of a matrix row may sum from 1. Default: 1e-6, or 2e-3 for float16.
    from_logits : bool, default False
        Whether the scores are logits; the logistic function (softmax for a matrix) is applied
        first.
    percent : bool, default False
        Whether the scores are percentages, from 0 to 100.
    ignore_index : int, optional
        The label of rows that are left out, such as 255 for pixels without a class.

    Returns
    -------
    Significance
        `statistic`, `pvalue`, `method`, `n` and, in words, `assumptions`: those of the p-value, and
        the defaults used. `pvalue_error` is the Monte-Carlo error of the p-value, 0 if it is not
        from redrawn labels. For 'omnibus' also `alone`, the p-value of each statistic, `strongest`,
        the one with the smallest, in words; `contradicted`, the number of rows whose label a score
        of exactly 0 or 1 rules out; and `too_good`, the p-value of the lower tail. An option that
        the method does not use is an error.

    Notes
    -----
    Levels and powers in simulations are in ``docs/evidence/coverage.md``.

    **Redrawn labels.** :math:`Y^*_i` is 1 with probability :math:`p_i`, and the p-value is
    :math:`(1 + \#\{T^* \ge T\}) / (R + 1)` with :math:`R` redraws: never 0, and
    :math:`P(\text{pvalue} \le \alpha) \le \alpha` for calibrated scores at any n, with equality,
    except for ties, if :math:`\alpha (R + 1)` is whole. For 'adaptive-t-cal' all resolutions share
    the redrawn labels; the correction for their number makes it conservative.

    **Limiting distributions** need enough rows that influence the statistic. 'ks', 'kuiper',
    'spiegelhalter' and 'cox' therefore redraw labels, 999 times, unless Lyapunov's ratio
    :math:`\sum |c|^3 E|y - p|^3 / (\sum c^2 p (1 - p))^{3/2}` of each sum :math:`\sum c (y - p)`
    that they use is at most 0.2; for c = 1 and rare events this means at least 25 expected events.
    'ks' and 'kuiper' also redraw if few distinct scores carry the variance,
    :math:`(\sum v)^2 / \sum v^2 < 100` for the variances v of their events: a path of few steps
    reaches less far than Brownian motion. 'hosmer-lemeshow' redraws unless weights count rows and
    the variance of the events is at least 5 in every group. More than 2·10⁸ labels keep the
    approximation, and so do sums whose rows of one score have different weights; `assumptions` then
    warns. 'analytic' never redraws: at 0.01 it rejects three times too often for uniform scores, at
    any n, and never for rare events, because its null deviation assumes that scores fill [0, 1].

    **Too good to be true.** `too_good` is small if the labels agree with the scores better than
    independent labels would: the same statistics, each ranked from below, combined in the same way,
    with an exact level of its own. Usually the scores were fitted on these rows; duplicated rows
    and quotas are other causes.

    **Clusters.** Dependent rows make every plain test reject too often. With `cluster` the same
    statistic (for 'exact', :math:`T` without pairs of rows of one cluster, as for
    :func:`trueness.ece_interval`) is compared with its values for random signs of the residuals y −
    p of each cluster, and for redrawn labels, which matter if few events are expected; the larger
    p-value is reported. No method is then exact: they need many clusters, none of which dominates.
    Below 20 effective clusters, :math:`(\sum n_g)^2 / \sum n_g^2` of their sizes, there is a
    :class:`trueness.errors.FewClustersWarning`: tests at 0.1 may then reject 0.22 of calibrated
    data sets with rare events.

    **Small p-values** of 'omnibus' do not stop at the floor 1/(R + 1) of redrawn labels: there, and
    only there, the reported p-value may be a bound by Chernoff's inequality that is proven for
    every n, so that the level still holds. With clusters no tail is proven, and the floor remains.

    **Scores of exactly 0 or 1** have no variance; a label that contradicts one is impossible under
    calibration. If all scores are 0 or 1, the p-value is 1 if all labels agree, and otherwise the
    smallest the method can give: 0, or 1/(R + 1). Among other scores, 'omnibus' gives p = 0 and
    says which labels are impossible. With `rounded_to`, scores of 0 and 1 that labels contradict
    are moved to the share of their labels, by at most half the unit, and the p-value of the moved
    scores is reported, without `too_good`. For single methods the formulas apply: 'cox' takes its
    limit, which is infinite (p-value 0), as is 'hosmer-lemeshow' if a whole group is contradicted;
    the others add the difference of 1.

    **Weights** that are whole numbers count rows. With other weights 'omnibus' draws one label per
    row and weighs its statistics; if only sums are passed, rows of one score must have equal
    weights. 'ks', 'kuiper', 'spiegelhalter', 'cox' and 'hosmer-lemeshow' do the same where they
    redraw labels, and otherwise use the null variance :math:`\sum w^2 p (1 - p)`; the others refuse
    such weights. In clusters only 'omnibus' takes them, of :class:`trueness.events.Events`.

    **Matrices.** By default the question is whether the largest score is the probability that its
    class is right; a matrix of two columns is the binary problem of the second. 'omnibus' also
    takes `kind='classwise'` (every class against the rest, and the largest score),
    `kind='top-label'` (the largest score, for each predicted class) and `k` (the r-th largest score
    as the probability that its class is right, for r up to k). One class is drawn per row, all
    columns are ranked on the same draws, and the sum of their combinations and their largest
    deviance are ranked again: the level is exact. `alone` then has the p-value of each column, and
    `strongest` names the decisive one. The :math:`p_j` are ranks among other draws, which do not
    depend on `seed`. If the R = 999 draws that are counted give a p-value above 1/(R + 1) and at
    most 0.2, up to M = 9,999 are, and with g of them at least as extreme it is :math:`(g + 1 + (1 -
    R/M)^{g + 1} M/R) / (M + 1)`: the level stays exact. Time and memory are bounded: 20,000 cells
    in all columns; fewer than 999 draws, but at least 199, if more than 2·10⁸ classes or 4·10⁷
    statistics would be drawn, and no further ones above a tenth of that.

    **A seed** fixes the p-value of a set of rows: their order, that of the classes and the unit of
    fractional weights do not change it. Of equal scores of a row, the first class counts as the
    larger, as for :func:`trueness.ece`; for 'omnibus' with `k` or 'classwise' only if the classes
    have equal scores in all rows. Cells of k = K are ordered too.

    **Labels.** With `kind='multilabel'` every label is tested by itself, and so is every class of
    images with `kind='classwise'`. Labels of one row may depend on each other, which the scores do
    not tell; so the joint p-value is the smallest one times the number of labels. `alone` has the
    p-value of each label, `adjusted` the same after Holm's correction. Images are clusters by
    default.

    **Swapping the classes** does not change 'kuiper', 'spiegelhalter' and 'cox'. It changes 'ks',
    whose path then starts at the other end, and binned methods if a score lies on an edge or a tie
    on a cut.

    References
    ----------
    D. R. Cox, Two further applications of a model for binary regression, Biometrika 45 (1958).
    D. W. Hosmer, S. Lemeshow, Goodness of fit tests for the multiple logistic regression model,
    Communications in Statistics 9 (1980).
    D. J. Spiegelhalter, Probabilistic prediction in patient management and clinical trials,
    Statistics in Medicine 5 (1986).
    I. Arrieta-Ibarra, P. Gujral, J. Tannen, M. Tygert, C. Xu, Metrics of calibration for
    probabilistic predictions, Journal of Machine Learning Research 23 (2022).
    D. Lee, X. Huang, H. Hassani, E. Dobriban, T-Cal: an optimal test for the calibration of
    predictive models, Journal of Machine Learning Research 24 (2023).
    Y. Sun, P. Chaudhari, I. Barnett, E. Dobriban, A confidence interval for the l2 expected
    calibration error, 2025.

    Examples
    --------
    Forty events among a hundred rows of score 0.5: :math:`|C| = 0.1`, two null standard deviations.

    >>> from trueness import calibration_test
    >>> test = calibration_test([1] * 40 + [0] * 60, [0.5] * 100, method="ks", seed=0)
    >>> round(test.statistic, 6), round(test.pvalue, 4)
    (0.1, 0.0566)

    A model that predicts 0.95 and is wrong one time in four:

    >>> test = calibration_test([1, 1, 1, 0] * 25, [0.95] * 100, seed=0)
    >>> test.pvalue < 1e-6, test.strongest
    (True, 'observed against expected events')
    """
    rows = row_options(
        kind,
        labels,
        pos_label,
        sample_weight,
        weight_type,
        missing,
        clip_tolerance,
        sum_tolerance,
        from_logits,
        percent,
        ignore_index,
    )
    checked_word(method, "method", METHODS)
    if rounded_to is not None:
        refuse_unused("rounded_to", method)
        if rows.get("kind") == "top-label":
            raise InputError(
                "rounded_to", "is not used by `kind='top-label'`", remedy="Leave it out."
            )
    a = asked_of(
        y_true, y_prob, rows, cluster=cluster, level=level, seed=seed, rounded_to=rounded_to
    )
    return a.ask(TEST, method=method, bins=bins, k=k, resamples=resamples, fitted=fitted)
