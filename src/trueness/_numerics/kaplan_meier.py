"""The Kaplan-Meier estimate of staying uncensored, for inverse probability of censoring weights."""

import numpy as np

from trueness.typing import Bools, Floats


def uncensored_before(time: Floats, censored: Bools, at: Floats) -> Floats:
    r"""The probability of being uncensored just before each time `at`.

    .. math:: \hat G(t-) = \prod_{s < t} \left(1 - \frac{c_s}{n_s - d_s}\right)

    with :math:`n_s` rows that are followed at least until :math:`s`, :math:`d_s` events of any kind
    and :math:`c_s` censorings at :math:`s`: events come before censorings of the same time.
    """
    order = np.argsort(time, kind="stable")
    distinct, first = np.unique(time[order], return_index=True)
    censorings = np.add.reduceat(censored[order].astype(np.float64), first)
    ended = np.diff(np.append(first, time.size)).astype(np.float64)
    followed = time.size - first.astype(np.float64)
    exposed = followed - (ended - censorings)
    stays = 1 - np.divide(censorings, exposed, out=np.zeros_like(exposed), where=exposed > 0)
    after = np.concatenate([[1.0], np.cumprod(stays)])
    return np.asarray(after[np.searchsorted(distinct, at, side="left")], np.float64)
