"""Two models on one stream: which is better, by evidence that stays valid at every look."""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from trueness._input.arguments import checked_fraction
from trueness._keywords import suggests_keywords
from trueness._tally.evidence import Evidence
from trueness._tally.models import model_context
from trueness._tally.reading import read_models
from trueness._tally.rows_or_sums import row_options
from trueness.errors import InputError, OneClassWarning, collected_warnings
from trueness.infer.watch._look import Position, checked_eps, checked_position, plain_position
from trueness.typing import ArrayLike, Floats, Json, Kind, Missing, WeightType

# The shares of the evidence that are staked, all at once; on no row more than this part of what it
# can lose. In simulations with these six, a shift of the log-odds by .5 took 560 rows (median), and
# a wrong model was named in .03 to .04 of streams at alpha = .05.
_STAKES = np.array([0.02, 0.05, 0.1, 0.2, 0.4, 0.8])
_MOST_STAKED = 0.9
_EPS = 1e-4
_NO_LOSS = 1e-300
_FORMAT = {"what": "trueness.ModelWatch", "schema": 1}


class ModelWatch:
    r"""Which of two models has the lower log loss, by evidence that is valid at every look.

    ``Watch(compare=True)`` makes one. Every look brings new labels and the scores of both models.

    Parameters
    ----------
    alpha : float, default 0.05
        The largest probability of naming a model that is not better, over all looks for ever.
    eps : float, default 1e-4
        Scores are moved into [eps, 1 − eps], since the loss of a score of 0 can be infinite.
    name : str, default ''
        The name of what is watched.

    Attributes
    ----------
    alarm : bool
        True from the first look at which one model was shown to be better.
    better : str or None
        That model.
    n : int
        Rows so far; of clusters, clusters.
    difference : float
        Mean log loss of the second model minus that of the first, so far; nan without rows.
    position : int, float, str or None
        That of the last look.

    Notes
    -----
    With :math:`D_t` the log loss of one model minus that of the other in row t, and :math:`b_t` the
    most that the row can bring against the other, which is known before its label, the evidence is

    .. math:: E = \frac16 \sum_\lambda \prod_t \left( 1 + \\min(\lambda, 0.9 / b_t) D_t \right) ,
              \qquad \lambda \in \{.02, .05, .1, .2, .4, .8\} .

    If the expected :math:`D_t`, given everything before row t, is never above 0, the probability
    that E *ever* reaches 2/alpha is at most alpha/2; there are two directions. This is a claim
    about every row: a model that is better on average, but worse at times, may be named or not.
    Rows of one cluster count as one, by their mean. Each row counts once, and a cluster must not
    return in later looks.

    A single test of a number of rows fixed beforehand needs fewer: about a third.

    References
    ----------
    A. Ramdas, P. Grünwald, V. Vovk, G. Shafer, Game-theoretic statistics and safe anytime-valid
    inference, Statistical Science 38 (2023), 576-601. Y. J. Choe, A. Ramdas, Comparing sequential
    forecasters, Operations Research 72 (2024).

    Examples
    --------
    >>> import numpy as np
    >>> import trueness as tn
    >>> rng = np.random.default_rng(0)
    >>> watch = tn.Watch(compare=True)
    >>> for day in range(1, 31):
    ...     p = rng.uniform(0.1, 0.9, 100)
    ...     y = rng.uniform(size=100) < p
    ...     watch.update(y, {"old": np.full(100, 0.5), "new": p}, position=day)
    >>> print(watch)
    'new' has the lower log loss: evidence 1.6e+32, alarm at 40, since 4.
    """

    def __init__(self, alpha: float = 0.05, *, eps: float | None = None, name: str = "") -> None:
        self.alpha = checked_fraction(alpha, "alpha")
        self.eps = checked_eps(_EPS if eps is None else eps)
        self.name = str(name)
        self.position: Position | None = None
        self.models: tuple[str, ...] = ()
        self.better: str | None = None
        self.since: Position | None = None
        self.n = 0
        self._sum = 0.0
        self._logs = np.zeros((2, _STAKES.size))

    @suggests_keywords
    def update(
        self,
        y_true: ArrayLike,
        models: Mapping[str, ArrayLike],
        *,
        cluster: ArrayLike | None = None,
        position: Json = None,
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
    ) -> None:
        """Enter one look.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Labels.
        models : dict of two array-like of shape (n,)
            The scores of both models by name; at all looks by the same names.
        cluster : array-like of shape (n,), optional
            A cluster name for each row; rows of one cluster may depend on each other.
        position : int, float, str or date, optional
            The name of the look, which must be later than all before it. By default looks are
            numbered.
        kind : {'classwise', 'confidence', 'top-label', 'multilabel'}, optional
            How a matrix is compared with the labels. 'classwise': each column against the rest,
            averaged over classes. 'confidence': the largest probability of each row (the first, if
            tied) against whether that class is the label. 'top-label': the same for each predicted
            class, weighted by how often it is predicted. 'multilabel': each column is a binary
            problem of its own, averaged over labels; never guessed. By default 'confidence'.
        labels : sequence, optional
            The classes in column order, if they are not 0 to K−1; for a vector of scores, two
            classes with the positive one last. By default, columns whose names are the classes are
            matched by name. Otherwise the columns are in the order of the categories (of a pandas
            Categorical, Polars Enum or ordered Arrow dictionary, unused categories included) or,
            without categories, in the order of the sorted labels.
        pos_label : optional
            The label that a vector of scores predicts, if labels are not 0/1.
        sample_weight : array-like of shape (n,), optional
            Refused: every row counts once.
        weight_type : {'auto', 'frequency', 'importance'}, default 'auto'
            Has no effect, since weights are refused.
        missing : {'raise', 'drop'}, default 'raise'
            What to do with rows that have a missing value: raise an error, or drop them with a
            warning.
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

        Raises
        ------
        InputError
            If the input is wrong or the position was counted already. Then the watch is as it was.
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
        if not isinstance(models, Mapping) or len(models) != 2:
            got = f"got {type(models).__name__}"
            if isinstance(models, Mapping):
                got = f"got {len(models)} models"
            raise InputError("models", "must be a dict with the scores of two models", got)
        if isinstance(y_true, Mapping):
            raise InputError("y_true", "must be one column of labels for both models", "got a dict")
        scores = {str(name): values for name, values in models.items()}
        names = tuple(scores)
        if self.models and set(names) != set(self.models):
            expected = " and ".join(map(repr, self.models))
            got = f"got {' and '.join(map(repr, names))}"
            raise InputError("models", f"must be {expected} at all looks", got)
        if rows.get("sample_weight") is not None:
            raise InputError("sample_weight", "must be left out: every row counts once")
        place = checked_position(position, self.position)
        names = self.models or names
        with collected_warnings(OneClassWarning):  # a look may have one class
            evidence = read_models(
                y_true, scores, rows, kind="confidence", two_columns="binary", cluster=cluster
            )
            for model in evidence:
                with model_context(model):
                    _check(evidence[model])
            losses = _Losses.of(evidence[names[0]], evidence[names[1]], self.eps)
        self.models = names
        self.position = place
        self.n += losses.difference.size
        self._sum += float(losses.difference.sum())
        self._logs[0] += _growth(losses.difference, losses.fall)
        self._logs[1] += _growth(-losses.difference, losses.rise)
        for model, log in zip(self.models, self._log_evidence, strict=True):
            if self.better is None and log >= math.log(self.alarm_at):
                self.better = model
                self.since = place

    @property
    def alarm(self) -> bool:
        """Whether one model has been shown to be better."""
        return self.better is not None

    @property
    def alarm_at(self) -> float:
        """The evidence at which a model is named: 2/alpha, for there are two directions."""
        return 2 / self.alpha

    @property
    def difference(self) -> float:
        """Mean log loss of the second model minus that of the first."""
        if self.n == 0:
            return math.nan
        return self._sum / self.n

    @property
    def _log_evidence(self) -> Floats:
        """The logarithm of the evidence that each model is better."""
        return np.asarray(np.logaddexp.reduce(self._logs, axis=1) - math.log(_STAKES.size))

    @property
    def evidence(self) -> dict[str, float]:
        """By model, the evidence that it is better; empty before the first look."""
        with np.errstate(over="ignore"):
            values = np.exp(self._log_evidence).tolist()
        return dict(zip(self.models, values, strict=False))

    def to_dict(self) -> dict[str, Any]:
        """The whole state, ready for JSON; :meth:`from_dict` goes on from it."""
        return {
            **_FORMAT,
            "alpha": self.alpha,
            "eps": self.eps,
            "name": self.name,
            "position": None if self.position is None else plain_position(self.position),
            "since": None if self.since is None else plain_position(self.since),
            "models": list(self.models),
            "better": self.better,
            "n": self.n,
            "sum": self._sum,
            "log_evidence": self._logs.tolist(),
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Self:
        """The watch that :meth:`to_dict` described."""
        try:
            if {key: state[key] for key in _FORMAT} != _FORMAT:
                raise ValueError("it is of another kind")
            watch = cls(state["alpha"], eps=state["eps"], name=state["name"])
            watch.position = state["position"]
            watch.since = state["since"]
            watch.models = tuple(map(str, state["models"]))
            watch.better = state["better"]
            watch.n = int(state["n"])
            watch._sum = float(state["sum"])
            watch._logs = np.array(state["log_evidence"], np.float64)
            if watch._logs.shape != (2, _STAKES.size) or len(watch.models) not in (0, 2):
                raise ValueError("its numbers do not fit together")
        except (KeyError, TypeError, ValueError) as reason:
            got = f"{type(reason).__name__}: {reason}"
            raise InputError("state", "must be what `to_dict` gave", got) from None
        return watch

    def __str__(self) -> str:
        if not self.models:
            return "No look yet."
        alarm = f"alarm at {self.alarm_at:g}"
        if self.better is not None:
            evidence = f"evidence {self.evidence[self.better]:.2g}"
            return (
                f"{self.better!r} has the lower log loss: {evidence}, {alarm}, since {self.since}."
            )
        ahead = max(self.models, key=self.evidence.__getitem__)
        first, second = self.models
        return (
            f"Neither {first!r} nor {second!r} is shown to have the lower log loss: "
            f"evidence {self.evidence[ahead]:.2g} for {ahead!r}, {alarm} (n = {self.n:,})."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.models)} models, {self.n:,} rows>"


def _check(evidence: Evidence) -> None:
    """Raise unless the scores are probabilities of an event."""
    if not evidence.is_binary:
        demand = "must hold the probability of an event, or two columns"
        raise InputError("models", demand, f"got {len(evidence.classes or ())} classes")


class _Losses(NamedTuple):
    """The log loss of the second model minus that of the first, by row or cluster."""

    difference: Floats
    fall: Floats
    """How far below zero it can be, for these scores and any label."""
    rise: Floats
    """How far above zero."""

    @classmethod
    def of(cls, first: Evidence, second: Evidence, eps: float) -> "_Losses":
        """The losses of two models that scored the same rows; of clusters, their means.

        Scores are moved into [eps, 1 − eps].
        """
        p = np.clip(np.asarray(first.sample.p, np.float64), eps, 1 - eps)
        q = np.clip(np.asarray(second.sample.p, np.float64), eps, 1 - eps)
        of_event = np.log(p / q)
        of_non_event = np.log((1 - p) / (1 - q))
        event = np.asarray(first.sample.y) == 1
        losses = cls(
            difference=np.where(event, of_event, of_non_event),
            fall=np.maximum(-of_event, -of_non_event),
            rise=np.maximum(of_event, of_non_event),
        )
        return cls._make(map(first.units.means, losses))


def _growth(gain: Floats, worst: Floats) -> Floats:
    """The logarithm by which each stake grows."""
    limit = _MOST_STAKED / np.maximum(worst, _NO_LOSS)
    return np.array([np.log1p(np.minimum(stake, limit) * gain).sum() for stake in _STAKES])
