"""`Experiment`: work in pieces that can be kept, and what is made of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from trueness.reproduce._paper import Paper
from trueness.reproduce._table import Table

__all__ = ["Experiment", "Outcome", "Picture", "Piece", "Size"]

Size = Literal["quick", "full"]


class Piece(NamedTuple):
    """A part of the work that is kept when it is done.

    The function must be importable (it may run in another process), its arguments and
    what it returns plain enough for JSON; the same arguments give the same numbers.
    """

    key: str
    function: Callable[..., Any]
    arguments: dict[str, Any]


class Picture(NamedTuple):
    """A figure: `draw` returns a matplotlib figure."""

    name: str
    caption: str
    draw: Callable[[], Any]


@dataclass(frozen=True)
class Outcome:
    """What an experiment found: tables, pictures, and remarks in whole sentences."""

    tables: tuple[Table, ...]
    pictures: tuple[Picture, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """A published experiment.

    Parameters
    ----------
    name : str
        What is typed: "matsubara-table-5".
    paper : Paper
    covers : str
        The tables and figures of the paper: "Table 5 and Figure 7".
    title : str
        What was done, in a few words.
    pieces : function of (size, seed)
        The work, cut so that a piece takes seconds to a few minutes.
    assemble : function of (results by key, size)
        The outcome; it computes nothing that takes long.
    minutes : float
        Computing time of the full size on one core.
    needs : tuple of str
        Data files, found through TRUENESS_DATA.
    """

    name: str
    paper: Paper
    covers: str
    title: str
    pieces: Callable[[Size, int], Sequence[Piece]]
    assemble: Callable[[Mapping[str, Any], Size], Outcome]
    minutes: float
    needs: tuple[str, ...] = field(default=())
