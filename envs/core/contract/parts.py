"""What a game says beside its rules: sizes, observations, texts, what searches take if they are not told, players of its own.

Each is a field of `Game`, in `game`. What depends on the variant is a function of the options.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple, Protocol

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.contract.texts import parse_words, write_words
from leafwise.envs.core.ranges import Range

Row = NDArray[Any]
MAX_DEPTH = 64
"""How far searches look ahead at most."""


def of_options(given: Any, options: Any) -> Any:
    """Returns what is given, or what it says of the options if it is a function of them."""
    return given(options) if callable(given) else given


@dataclass(frozen=True)
class Sizes:
    """How long rows and lists of actions are."""

    width: int | Callable[[Any], int]
    """Words in a row, a number or a function of the options."""
    max_actions: Annotated[int, Range(1)]
    """Action ids are below it, and so many can be legal at once."""
    dtype: Any = np.uint64
    """Of the words of a row: an unsigned or signed integer type of NumPy."""


@dataclass(frozen=True)
class StepInfo:
    """What `info` of a game's environments tells besides the mask."""

    always: Callable[[NDArray[Any], Any], Mapping[str, NDArray[Any]]]
    """(rows [n, width], T) -> arrays [n] by key; asked at every step, so it has to be fast."""
    at_end: Callable[[Row, Any], Mapping[str, Any]]
    """(row, T) -> what is told besides where an episode ends: plain values or dicts of them."""
    keys: Mapping[str, str]
    """All keys, and what they are."""


class Labels(NamedTuple):
    """What consecutive entries of an observation are, along its first axis; over further axes lie the cells of a board."""

    names: tuple[str, ...]
    """One for each entry, unique in the observation."""
    meaning: str
    """What their numbers say."""


@dataclass(frozen=True)
class Observation:
    """What learners see."""

    space: gym.spaces.Box | gym.spaces.Dict | Callable[[Any], gym.spaces.Box | gym.spaces.Dict]
    """A Box, or a Dict of boxes; or a function of the options that returns a new one."""
    layout: type[Any] | None = None
    """The NamedTuple of arrays that `rules.observe` writes to, its fields the keys of a Dict; None for a Box."""
    labels: Callable[[Any], Mapping[str, tuple[Labels, ...]]] | None = None
    """options -> what every entry is, by key of a Dict, "" for a Box; None: nothing is told."""
    info: StepInfo | None = None
    """What environments tell in `info` besides the mask."""


class Tables(NamedTuple):
    """The `T` of a game that looks nothing up."""

    stop: NDArray[np.uint8]
    leaf: Any


def plain_tables(options: Any) -> Tables:
    """Returns the `T` of a game that looks nothing up."""
    return Tables(np.zeros(1, dtype=np.uint8), ())


@dataclass(frozen=True)
class About:
    """What people are told of a game's environments; all of it may be left out."""

    actions: str = ""
    observation: str = ""
    """What the observation leaves out or adds."""
    ends: str = ""
    """When an episode ends."""
    rewards: Mapping[str, str] = field(default_factory=dict)
    """By name, the difference of returns first."""
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Text:
    """How positions are written and read; if nothing is said, as the words of the row."""

    write: Callable[[Row, Any], str] = write_words
    """(row, T) -> one line of text that `parse` reads back."""
    parse: Callable[[str, Any], Row] = parse_words
    """(text, T) -> row; raises ValueError in the game's words, `expected ..., got ...`."""
    outcome_name: Callable[[Row, Row, Any], str] = lambda before, after, T: write_words(after, T)
    """(row before, row after one chance stage, T) -> what chance did, unique among the stage's outcomes."""
    outcome_words: Callable[[Row, Row, Any], str] | None = None
    """The same in words for people: "weak 0" for S2; None: the name."""
    action_words: Callable[[Row, int, Any], str] | None = None
    """(row, action id, T) -> what a legal action is there, for people: "use food 1 (+1 life)" for use3; None: its name."""
    board: Callable[[Row, Any], str] | None = None
    """(row, T) -> several lines for a terminal; None: the one-line text."""
    legend: Callable[[Row, Any], str] | None = None
    """(row, T) -> lines that say what the codes in a position's text stand for; None: there are none."""
    points: Callable[[Row, Any], float] | None = None
    """(row, T) -> what the game's booklet would score if it ended here; None: the return."""
    action: Callable[[str], str] = str
    """What a person may type for an action -> its name: other spellings, `5-0` for `0-5`; asked of texts that are no names."""
    words: Mapping[str, str] = field(default_factory=dict)
    """Words of a position that the command line takes as options too: name -> what it is, `--next 1` for `next=1`."""
    about: About = About()
    """Actions, rewards, ends and options in words."""


class Picture(Protocol):
    """One drawing in two forms, such as `leafwise.envs.core.pictures.canvas.Canvas`."""

    def svg(self) -> str:
        """Returns SVG text."""

    def rgb(self) -> NDArray[np.uint8]:
        """Returns uint8 [height, width, 3]."""


@dataclass(frozen=True)
class SearchDefaults:
    """What a search takes unless it is told."""

    depth: Annotated[int, Range(1, MAX_DEPTH)] = 3
    """Decisions that a search without a clock looks ahead."""
    nodes: Annotated[int, Range(0)] = 0
    """Decisions that a search without a clock searches at most; 0: no limit."""
    simulations: Annotated[int, Range(1)] = 1000
    """Simulations of a tree search without a clock."""
    decisions_per_depth: Annotated[int, Range(1)] = 1
    """Most decisions that one unit of search depth can hold (more than 1 where some actions cost 0)."""
    candidates: tuple[str, ...] = ()
    """Names of what `rules.candidates` can be told to consider, by `T.candidates`; the first is all legal actions."""
    best: str = "search"
    """What the player `best` searches with: `search`, `mcts`, or the name of an `OwnSearch` of the game."""


@dataclass(frozen=True)
class OwnSearch:
    """A search of one game alone, which asks a leaf what rows are worth."""

    make: Callable[..., Any]
    """(game, what values rows, name, **options) -> object with `name`, `choose(state)`."""
    options: Mapping[str, Callable[[str], Any]] = field(
        default_factory=lambda: {"depth": int, "width": int, "seconds": float}
    )
    """Its options, and what reads each from a player's text."""
    compiled: bool = False
    """Whether `make` gets the evaluator itself, for code that is compiled with it, rather than a function of rows [n, width]."""


@dataclass(frozen=True)
class Programs:
    """Players of one game that share a name and differ in a word after it: `course:easy`, `course:hard`."""

    make: Callable[..., Any]
    """(game, name, words after the colon) -> object with `name`, `choose(state)`."""
    words: tuple[str, ...]
    """Those that need nothing said besides, and run no code but the game's own: what lists show."""
    levels: Mapping[str, str] = field(default_factory=dict)
    """Level of play -> the word of the player that is of that level in this game; other levels are as everywhere."""

    def __call__(self, game: Any, name: str, words: list[str]) -> Any:
        """Returns the player that the words name; raises ValueError for words that it does not know."""
        return self.make(game, name, words)

    def runs_code(self, words: list[str]) -> bool:
        """Whether the words name a program, as a path does, rather than one of those that the game brings along."""
        return not set(words[:1]) <= set(self.words)
