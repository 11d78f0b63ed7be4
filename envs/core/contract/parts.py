"""The named parts of a `Game`: sizes, observations, text, what searches take if they are not told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

Row = NDArray[Any]


def of_options(given: Any, options: Any) -> Any:
    """Returns what is given, or what it says of the options if it is a function of them."""
    return given(options) if callable(given) else given


@dataclass(frozen=True)
class Sizes:
    """How long rows and lists of actions are."""

    width: int | Callable[[Any], int]
    """Words in a row, a number or a function of the options."""
    max_actions: int
    """Action ids are below it, and so many can be legal at once."""
    dtype: Any = np.uint64
    """Of the words of a row: an unsigned or signed integer type of NumPy."""


@dataclass(frozen=True)
class Observation:
    """What learners see."""

    space: gym.spaces.Box | gym.spaces.Dict | Callable[[Any], gym.spaces.Box | gym.spaces.Dict]
    """A Box, or a Dict of boxes; or a function of the options that returns a new one."""
    layout: type[Any] | None = None
    """The NamedTuple of arrays that `rules.observe` writes to, its fields the keys of a Dict; None for a Box."""


@dataclass(frozen=True)
class Text:
    """How positions are written and read."""

    write: Callable[[Row, Any], str]
    """(row, T) -> one line of text that `parse` reads back."""
    parse: Callable[[str, Any], Row]
    """(text, T) -> row; raises ValueError in the game's words, `expected ..., got ...`."""
    outcome_name: Callable[[Row, Row, Any], str] = lambda before, after, T: ""
    """(row before, row after one chance stage, T) -> what chance did, unique among the stage's outcomes."""
    board: Callable[[Row, Any], str] | None = None
    """(row, T) -> several lines for a terminal; None: the one-line text."""
    words: Mapping[str, str] = field(default_factory=dict)
    """Words of a position that the command line takes as options too: name -> what it is, `--next 1` for `next=1`."""


class Picture(Protocol):
    """One drawing in two forms, such as `leafwise.envs.core.pictures.canvas.Canvas`."""

    def svg(self) -> str:
        """Returns SVG text."""

    def rgb(self) -> NDArray[np.uint8]:
        """Returns uint8 [height, width, 3]."""


@dataclass(frozen=True)
class SearchDefaults:
    """What a search takes unless it is told."""

    depth: int = 3
    """Decisions that a search without a clock looks ahead."""
    nodes: int = 0
    """Decisions that a search without a clock searches at most; 0: no limit."""
    decisions_per_depth: int = 1
    """Most decisions that one unit of search depth can hold (more than 1 where some actions cost 0)."""
    candidates: tuple[str, ...] = ()
    """Names of what `rules.candidates` can be told to consider, by `T.candidates`; the first is all legal actions."""


SEARCH_DEFAULTS = SearchDefaults()


@dataclass(frozen=True)
class OwnSearch:
    """A search of one game alone, which asks a leaf what rows are worth."""

    make: Callable[..., Any]
    """(game, what values rows, name, **options) -> object with `name`, `choose(state)`; options: depth, width, seconds."""
