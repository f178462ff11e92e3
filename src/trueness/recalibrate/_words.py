"""Messages about rows in the words of a calibrator, whose arguments differ from those of a measure."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from trueness.errors import InputError

__all__ = ["own_words"]

_INSTEAD = (
    (r"Labels come first\.", "Scores come first here: fit(y_prob, y_true)."),
    (r'`missing="drop"` leaves such rows out\.', "Leave such rows out first."),
    (r"`clip_tolerance=[^`]*` allows it\.", "`np.clip(y_prob, 0, 1)` moves them back."),
    (r"`sum_tolerance=[^`]*` allows it\.", "Divide each row by its sum."),
    (r" Multiply all weights by one number: calibration errors do not change\.", ""),
)
_LOGITS = r" These look like logits: say `from_logits=True` if they are\."


# Advice for a function of labels and a vector of scores, which has no options for either.
_OF_VECTORS = (
    (r"`pos_label=(.+?)`", r"`y_true == \1`"),
    (r", or `labels=\[…\]` with the event last", ""),
    (r"`OneVsRest\(calibrator\)` and `TopLabel\(calibrator\)` take a matrix\.", "Judge one column at a time."),
)


@contextmanager
def own_words(takes_logits: bool, *, labels_first: bool = False) -> Iterator[None]:
    """Raise what is raised inside, with advice that a calibrator can follow, or (`labels_first`) one who judges it."""
    try:
        yield
    except InputError as error:
        told = str(error)
        for pattern, instead in (*_INSTEAD[1:], *_OF_VECTORS) if labels_first else _INSTEAD:
            told = re.sub(pattern, instead, told)
        who = '`input="logits"`' if takes_logits else '`TemperatureScaling(input="logits")`'
        told = re.sub(_LOGITS, f" These look like logits: {who} takes them.", told)
        if told == str(error):
            raise
        raise InputError(told) from None
