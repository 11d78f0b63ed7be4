"""A game in one variant: its rules (`rules`) and everything else that it defines.

Sizes, observations, texts, defaults of searches, and the game's own players are fields of `Game`. Fields that depend on the
variant are functions of the options. A `Game` with an impossible definition is refused when it is made. `state` has its
positions.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import importlib
import inspect
import json
import math
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import index
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Protocol, TypeVar
from weakref import WeakValueDictionary

import numpy as np

from leafwise.envs.core.arrays import Array, Bytes
from leafwise.envs.core.compile.jit import DISABLED, ResolvedEntry, bind, ignore_leaf
from leafwise.envs.core.contract.evaluator import Evaluator, nothing_more, with_own_copy
from leafwise.envs.core.contract.rules import (
    CALLED,
    DEFAULT_VIEW,
    DEFAULTS,
    NO_CHANCE,
    PARAMETERS,
    STAND_INS,
    Chance,
    Compiled,
    Rules,
    Symmetries,
    completed_symmetries,
    make_observe,
)
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.contract.texts import parse_words, write_words
from leafwise.envs.core.errors import UserError, asked_of_plugin, short
from leafwise.envs.core.fields import NoOptions, marked, values_of
from leafwise.envs.core.ranges import OneOf, Range, check_fields, need_among, need_in

if TYPE_CHECKING:
    import gymnasium as gym

    from leafwise.envs.core.check.inspection import RowReader
    from leafwise.envs.core.play.companion import Companion


Row = Array
MAX_DEPTH = 64
"""The largest depth of a search."""


def of_options(given: Any, options: Any) -> Any:
    """Returns `given`, or its result for the options if it is a function of them."""
    return given(options) if callable(given) else given


@dataclass(frozen=True)
class Sizes:
    """The lengths of rows and of lists of actions."""

    width: int | Callable[[Any], int]
    """Words in a row, an integer or a function of the options."""
    max_actions: Annotated[int, Range(1)]
    """Number of action ids: they are 0 to `max_actions - 1`."""
    dtype: Any = np.uint64
    """The type of the words of a row: an unsigned or signed integer type of NumPy."""


@dataclass(frozen=True)
class StepInfo:
    """What a game's environments put into `info` besides the mask."""

    always: Callable[[Array, Any], Mapping[str, Array]]
    """(rows [n, width], T) -> arrays [n] by key; called at every step, so it has to be fast."""
    at_end: Callable[[Row, Any], Mapping[str, Any]]
    """(row, T) -> further entries at the end of an episode: plain values or dicts of them."""
    keys: Mapping[str, str]
    """All keys, with a description of each."""


class Labels(NamedTuple):
    """Names and meaning of consecutive entries of an observation, along its first axis; further axes are the cells of a board."""

    names: tuple[str, ...]
    """One name for each entry, unique in the observation."""
    meaning: str
    """What the numbers mean."""
    order: str = ""
    """Description and order of the entries, if their names would be a long list: "cells, row by row"."""


@dataclass(frozen=True)
class View:
    """One way to see a game: what its environments show with `observation=NAME`.

    By convention "planes" is a board for convolutions, [channels, rows, columns], and "onehot" a vector for games without a
    board.
    """

    space: gym.spaces.Box | gym.spaces.Dict | Callable[[Any], gym.spaces.Box | gym.spaces.Dict]
    """The observation space, as in `Observation`."""
    observe_as: Compiled
    """`(S, i, player, O, e, T)`: writes what player 0 or 1 sees of row i to O[e], whoever acts."""
    labels: Callable[[Any], Mapping[str, tuple[Labels, ...]]] | None = None
    layout: type[Any] | None = None
    observe: Compiled | None = None
    """`(S, i, O, e, T)`: writes what the player who acts sees; made from `observe_as` by default."""


@dataclass(frozen=True)
class Observation:
    """What learners see."""

    space: gym.spaces.Box | gym.spaces.Dict | Callable[[Any], gym.spaces.Box | gym.spaces.Dict]
    """A Box, or a Dict of boxes; or a function of the options that returns a new one."""
    layout: type[Any] | None = None
    """The NamedTuple of arrays that `rules.observe` writes to, with the keys of the Dict as fields; None for a Box."""
    labels: Callable[[Any], Mapping[str, tuple[Labels, ...]]] | None = None
    """options -> labels of all entries, by key of a Dict, "" for a Box; None: there are none."""
    info: StepInfo | None = None
    """What environments put into `info` besides the mask."""
    views: Mapping[str, View] = field(default_factory=dict)
    """Further ways to see the game, by name: "planes", "onehot"."""


class Tables(NamedTuple):
    """The `T` of a game without lookup tables."""

    stop: Bytes
    leaf: Any


def plain_tables(options: Any) -> Tables:
    """Returns the `T` of a game without lookup tables."""
    return Tables(np.zeros(1, dtype=np.uint8), ())


@dataclass(frozen=True)
class About:
    """Texts for people about a game's environments; all are optional."""

    actions: str = ""
    observation: str = ""
    """What the observation leaves out or adds."""
    ends: str = ""
    """When an episode ends."""
    rewards: Mapping[str, str] = field(default_factory=dict)
    """Descriptions by name, the difference of returns first."""
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Text:
    """How positions are written and read; by default as the words of the row."""

    write: Callable[[Row, Any], str] = write_words
    """(row, T) -> one line of text that `parse` reads back."""
    parse: Callable[[str, Any], Row] = parse_words
    """(text, T) -> row; raises ValueError in the game's terms, `expected ..., got ...`."""
    outcome_name: Callable[[Row, Row, Any], str] = lambda before, after, T: write_words(after, T)
    """(row before, row after one chance stage, T) -> the name of the outcome, unique among the stage's outcomes."""
    outcome_words: Callable[[Row, Row, Any], str] | None = None
    """The outcome in words for people: "weak 0" for S2; None: the name."""
    action_words: Callable[[Row, int, Any], str] | None = None
    """(row, action id, T) -> a legal action in words for people: "use food 1 (+1 life)" for use3; None: its name."""
    board: Callable[[Row, Any], str] | None = None
    """(row, T) -> several lines for a terminal; None: the one-line text."""
    colours: Mapping[str, str] = field(default_factory=dict)
    """Colours of the board's symbols on a terminal: regular expression -> "red", "green", "yellow", "blue", "magenta" or "cyan"."""
    legend: Callable[[Row, Any], str] | None = None
    """(row, T) -> lines that explain the codes in a position's text; None: there are none."""
    points: Callable[[Row, Any], float] | None = None
    """(row, T) -> the game's own score if it ended here, which people see; None: the return."""
    action: Callable[[str], str] = str
    """What a person typed for an action -> the action's name. It is called only for texts that are not names, for other spellings
    such as `5-0` for `0-5`.
    """
    whole_turns: bool = False
    """Whether people think in whole turns of several actions, `8/5 6/5`: all decisions until chance or the other player acts."""
    words: Mapping[str, str] = field(default_factory=dict)
    """Words of a position that are also options on the command line: name -> description, `--next 1` for `next=1`."""
    about: About = About()
    """Actions, rewards, ends and options in words."""
    figures: tuple[str, ...] = ()
    """Names of the numbers that `rules.figures` writes."""
    tables: Callable[[Any], dict[str, Any]] | None = None
    """(T) -> what pages need to write and read positions, as JSON: names, words, places in the row; None: nothing."""


class Picture(Protocol):
    """A drawing in two formats, such as `leafwise.envs.core.pictures.Canvas`."""

    def svg(self) -> str:
        """Returns SVG text."""

    def rgb(self, width: int = 0) -> Bytes:
        """Returns uint8 [height, width, 3]; 0 means the drawing's own width."""


@dataclass(frozen=True)
class SearchDefaults:
    """Defaults of searches in a game."""

    depth: Annotated[int, Range(1, MAX_DEPTH)] = 3
    """Decisions that a search without a time limit looks ahead."""
    nodes: Annotated[int, Range(0)] = 0
    """Decisions that a search without a time limit visits at most; 0: no limit."""
    simulations: Annotated[int, Range(1)] = 1000
    """Simulations of a Monte Carlo tree search without a time limit."""
    decisions_per_depth: Annotated[int, Range(1)] = 1
    """The largest number of decisions in one unit of search depth (more than 1 if some actions cost 0)."""
    candidates: tuple[str, ...] = ()
    """Names of the sets of actions that a search may consider. `T.candidates` is the number of the chosen set, which
    `rules.candidates` reads; set 0 has all legal actions."""
    best: str = "search"
    """The search of the player `best`: `search`, `mcts`, or the name of an `OwnSearch` of the game."""


@dataclass(frozen=True)
class OwnSearch:
    """A search of one game alone, which values rows with a leaf."""

    make: Callable[..., Any]
    """(game, function or evaluator that values rows, name, **options) -> object with `name`, `choose(state)`."""
    options: Mapping[str, Callable[[str], Any]] = field(
        default_factory=lambda: {"depth": int, "width": int, "seconds": float}
    )
    """Its options, and the function that reads each from a player's text."""
    compiled: bool = False
    """Whether `make` gets the evaluator itself, to compile it in, instead of a function of rows [n, width]."""


@dataclass(frozen=True)
class Programs:
    """Players of one game that share a name and differ in a word after it: `course:easy`, `course:hard`."""

    make: Callable[..., Any]
    """(game, name, words after the colon) -> object with `name`, `choose(state)`."""
    words: tuple[str, ...]
    """The words that need no further options and run only the game's own code; lists show these."""
    levels: Mapping[str, str] = field(default_factory=dict)
    """Level of play -> the word of the game's player of that level; other levels are as in all games."""

    def __call__(self, game, name: str, words: list[str]):
        """Returns the player that the words name; raises ValueError for unknown words."""
        return self.make(game, name, words)

    def runs_code(self, words: list[str]) -> bool:
        """Whether the words name a foreign program, such as a path, instead of one that the game brings along."""
        return not set(words[:1]) <= set(self.words)


@dataclass(frozen=True)
class ExactSolver:
    """The exact solver of a game, which is imported at its first use."""

    make: Callable[..., Any] | str
    """(game, table_mb) -> an object with `game`, `stop`, `solve(state, actions)` and `known()`, like `Solver` of
    `leafwise.envs.core.play.solver`; or where to import that function, as MODULE:NAME.
    """
    memory_mb: Callable[[Any], float] = lambda options: 0.0
    """options -> the least MB of memory that it needs, asked before it starts; raises ValueError for a variant that it does not
    solve.
    """
    labels: Callable[..., Any] | str | None = None
    """(game, table_mb) -> `LabelSolver`, or where to import that: a solver with a limit of nodes (`selfplay --exact-nodes`)."""

    def __call__(self, game: Game, name: str, words: list[str]) -> Any:
        """Returns the player that uses it, at a level if the words name one; see `solver_player`."""
        return importlib.import_module("leafwise.envs.core.play.solver").solver_player(game, name, words)


R = TypeVar("R")


class ReturnRange:
    """The field `return_range` of `Game`: set as two numbers or as a function of the options, read as two numbers."""

    def __get__(self, game: Game | None, owner: type[Game]) -> tuple[float, float]:
        return (-1.0, 1.0) if game is None else of_options(vars(game)["return_range"], game.options)

    def __set__(self, game: Game, given: tuple[float, float] | Callable[[Any], tuple[float, float]]) -> None:
        vars(game)["return_range"] = given


@dataclass(frozen=True)
class Game:
    """One game in one variant. `GAME` of the game's folder has the default options; `variant(...)` returns other variants.

    Fields that depend on the variant are functions of `options`. Raises ValueError for fields that contradict the contract.
    """

    name: str
    """Lower-case name, which is also the name of the game's folder: `leafwise.game(name)`."""
    title: str
    """One line for people."""
    module: str
    """The game's module, which has this game as attribute GAME (pass `__name__`)."""
    players: int
    """1 or 2; returns of two-player games are player 0's and zero-sum."""
    rules: Rules
    sizes: Sizes
    observation: Observation
    make_tables: Callable[[Any], Any] = plain_tables
    """options -> the NamedTuple `T`, with at least `stop` (uint8 [1]) and `leaf` (weights, () by default)."""
    action_names: tuple[str, ...] | Callable[[Any], tuple[str, ...]] | None = None
    """Names of the action ids, or a function of the options; None: the ids."""
    text: Text = field(default_factory=Text)
    draw: Callable[[Row, Any], Picture] | None = None
    """(row, T) -> a drawing, usually a `leafwise.envs.core.pictures.Canvas`; None: a drawing of the text."""
    scratch: tuple[str, ...] = ()
    """Fields of `T` that compiled code writes to: every caller of `tables` gets its own; "ship.B" is a field of a field."""
    symmetries: Symmetries = field(default_factory=Symmetries)
    search: SearchDefaults = field(default_factory=SearchDefaults)
    options: Any = field(default_factory=NoOptions)
    """The variant: a frozen dataclass of JSON-able values, checked by its `__post_init__`; every field has a default."""
    scores: Mapping[str, Callable[[Any], Evaluator]] = field(default_factory=dict)
    """Hand-made evaluators: name -> (options -> Evaluator); the first is the default. A game without any gets the score
    `returns`."""
    rewards: Mapping[str, Callable[..., Any] | None] = field(default_factory=dict)
    """Rewards besides the change of the return: compiled (S, i, j, k, T) -> float for player 0. None instead of a function: the
    change of the return, under this name.

    Row i is the decision, j the row right after the action, k the next decision or the end.
    """
    return_range: ReturnRange = ReturnRange()
    """Lowest and highest return of player 0, (-1, 1) by default, or a function of the options that returns both."""
    features: Mapping[str, Any] = field(default_factory=dict)
    """What networks see, by kind: "ntuple" (`CellFeatures`), "sparse" (`SparseFeatures`), "grid" (`GridFeatures`)."""
    ais: Mapping[str, Callable[[Game, str, list[str]], Any] | OwnSearch | Programs] = field(default_factory=dict)
    """Players of this game alone: name -> (game, name, words after the colon) -> object with `name` and `choose(state)`. Instead
    of this function it may be an `OwnSearch`, `Programs`, or an `ExactSolver`, usually with the name "solver".

    A player that draws random numbers takes them from its `stream`; see `leafwise.envs.core.play.players`. If the words may name
    code to run, use `Programs`: such words are then accepted only from the command line and from Python.
    """
    companion: Companion | None = None
    """How people follow a game that is played elsewhere."""
    ids: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Gymnasium ids (without namespace and version) -> options."""

    def __post_init__(self) -> None:
        check_declared(self)
        compile_default = bind(self.room, inline=True)  # compiles a default rule for this game
        object.__setattr__(self, "rules", self.rules.completed(compile_default))
        object.__setattr__(self, "symmetries", completed_symmetries(self.symmetries, compile_default))
        completed = {
            name: replace(view, observe=compile_default(make_observe(self.rules.current_player, view.observe_as)))
            for name, view in self.observation.views.items()
            if view.observe is None
        }
        if completed:
            object.__setattr__(
                self, "observation", replace(self.observation, views={**self.observation.views, **completed})
            )
        if not self.scores:
            leaf = Evaluator("returns", compile_default(nothing_more), to_go=True, low=0.0, high=0.0)
            object.__setattr__(self, "scores", {"returns": lambda options: leaf})
        others: list[Compiled] = [self.symmetries.transform, self.symmetries.transform_action]
        others += [rule for view in self.observation.views.values() for rule in (view.observe_as, view.observe) if rule]
        for name, function in self.rules.functions().items():
            ignore_leaf(function, called_from_python=name in CALLED)
        for function in others:
            ignore_leaf(function)

    def variant(self, /, **options: Any) -> Game:
        """Returns this game with other options, from any source: it opens no file.

        Raises ValueError for options that it does not take.
        """
        for name in options:
            if name not in self.defaults:
                known = ", ".join(self.defaults) or "none"
                raise UserError(f"{self.name}: expected options among ({known}), got {name!r:.80}")
        try:
            changed = asked_of_plugin(lambda: replace(self.options, **options))
            hash(changed)
        except TypeError as problem:  # from a dataclass that does not check types
            message = f"{self.name}: expected options of their types, got {options!r:.80}: {problem}"
            raise UserError(message) from problem
        if changed == self.options:
            return self
        key = changed, repr(changed)  # 1 and 1.0 are equal, but their texts differ
        if (game := self._variants.get(key)) is None:
            game = self._variants[key] = replace(self, options=changed, return_range=vars(self)["return_range"])
            vars(game)["_variants"] = self._variants
        return game

    @cached_property
    def _variants(self) -> WeakValueDictionary[tuple[Any, str], Game]:
        """Its variants in use, so that asking again returns the same object with its tables."""
        return WeakValueDictionary({(self.options, repr(self.options)): self})

    @cached_property
    def calls(self) -> Any:
        """The compiled rules by name, for single calls with rows and `thread_tables`; argument types are determined once."""
        return SimpleNamespace(**{name: ResolvedEntry(rule) for name, rule in self.rules.functions().items()})

    @cached_property
    def view_calls(self) -> dict[str, Any]:
        """The `observe_as` of each view for single calls, like `calls`."""
        return {name: ResolvedEntry(self.view(name).observe_as) for name in self.view_names}

    @cached_property
    def with_defaults(self) -> Game:
        """The game with its default options; networks compile their code for it once for all variants."""
        return self.variant(**self.defaults)

    @cached_property
    def width(self) -> int:
        """Words in a row."""
        return int(of_options(self.sizes.width, self.options))

    @property
    def dtype(self) -> Any:
        """The type of the words of a row."""
        return self.sizes.dtype

    @property
    def max_actions(self) -> int:
        """Number of action ids: they are 0 to `max_actions - 1`."""
        return self.sizes.max_actions

    @property
    def max_outcomes(self) -> int:
        """The largest number of successors of one chance stage; 0 without chance."""
        return self.rules.chance.max_outcomes

    @property
    def max_stages(self) -> int:
        """The largest number of consecutive chance stages between two decisions."""
        return self.rules.chance.max_stages

    @property
    def stages(self) -> tuple[str, ...]:
        """Names of the stages, decisions first."""
        return self.rules.chance.stages

    @cached_property
    def symmetry_count(self) -> int:
        """Number of symmetries, with the identity."""
        return int(of_options(self.symmetries.count, self.options))

    @property
    def default_score(self) -> str:
        """The name of the first score; "" if there is none."""
        return next(iter(self.scores), "")

    @property
    def view_names(self) -> tuple[str, ...]:
        """Names of the views; the first is the game's own observation."""
        return DEFAULT_VIEW, *self.observation.views

    def view(self, name: str = DEFAULT_VIEW) -> View:
        """Returns a view by name; raises ValueError for an unknown name."""
        need_among(name, self.view_names, "an observation", self.name)
        default = self.observation
        if name == DEFAULT_VIEW:
            return View(default.space, self.rules.observe_as, default.labels, default.layout, self.rules.observe)
        return default.views[name]

    def rules_seen(self, view: str) -> Rules:
        """Returns the rules with the observation of a view; raises ValueError for an unknown view."""
        chosen = self.view(view)
        assert chosen.observe is not None  # set in __post_init__
        return replace(self.rules, observe=chosen.observe, observe_as=chosen.observe_as)

    def observation_space(self, view: str = DEFAULT_VIEW) -> gym.spaces.Box | gym.spaces.Dict:
        """Returns a new space of a view's observations; raises ValueError for an impossible space."""
        chosen = self.view(view)
        space = copy.deepcopy(of_options(chosen.space, self.options))
        _check(self, _space(chosen.layout, space))
        return space

    @property
    def solver(self) -> ExactSolver | None:
        """The exact solver for `leafwise solve`, players, hints and reviews; None: there is none."""
        return next((made for made in self.ais.values() if isinstance(made, ExactSolver)), None)

    @property
    def stake(self) -> float:
        """The largest absolute return of a two-player game: network values and match points are shares of it."""
        return max(map(abs, self.return_range))

    @property
    def reward_names(self) -> tuple[str, ...]:
        """Names of the rewards; the first is the difference of returns."""
        return ("returns" if "score" in self.rewards else "score", *self.rewards)

    @property
    def given_options(self) -> dict[str, Any]:
        """The options that differ from the defaults."""
        return {name: value for name, value in values_of(self.options).items() if self.defaults[name] != value}

    @cached_property
    def defaults(self) -> Mapping[str, Any]:
        """The options and their default values."""
        return MappingProxyType(values_of(type(self.options)()))

    @property
    def rule_options(self) -> tuple[str, ...]:
        """Options that networks do not see: a model of one variant serves another that differs only in these."""
        return marked(self.options, "rule_only")

    @property
    def network_options(self) -> dict[str, Any]:
        """The options that differ from the defaults, without `rule_options`: those that a network depends on."""
        return {name: value for name, value in self.given_options.items() if name not in self.rule_options}

    def takes_leaves_of(self, other: Game) -> bool:
        """Whether a leaf of another variant can value positions of this one: they differ at most in `rule_options`."""
        return self is other or (self.module == other.module and self.network_options == other.network_options)

    @cached_property
    def shared_tables(self) -> Any:
        """`T` as `make_tables` returns it, made once per variant. Only read it: it includes arrays that compiled code writes to."""
        T = self.make_tables(self.options)
        check_tables(self, T)
        return T

    @property
    def thread_tables(self) -> Any:
        """`T` for single calls of rules and texts, with this thread's own scratch."""
        if not self.scratch:
            return self.shared_tables
        if not hasattr(self._of_threads, "tables"):
            self._of_threads.tables = self.tables()
        return self._of_threads.tables

    @cached_property
    def _of_threads(self):
        return threading.local()

    @cached_property
    def _row_reader(self) -> RowReader:
        from leafwise.envs.core.check.inspection import RowReader

        return RowReader(self)

    def tables(self, evaluator: Evaluator | None = None, candidates: str | None = None) -> Any:
        """Returns `T` with its own stop byte and scratch, and the evaluator's weights; large tables are shared.

        `candidates` names the actions that searches consider. Raises ValueError for an unknown name, and for an evaluator of
        another game or variant, whose compiled code would read beyond the rows.
        """
        if evaluator is not None and evaluator.game is not None and not self.takes_leaves_of(evaluator.game):
            raise UserError(f"evaluator {evaluator.name!r}: expected one for {self!r}, got one for {evaluator.game!r}")
        leaf = () if evaluator is None else reduce(with_own_copy, evaluator.scratch, evaluator.weights)
        T = reduce(with_own_copy, self.scratch, self.shared_tables)
        T = T._replace(stop=np.zeros(1, dtype=np.uint8), leaf=leaf)
        if candidates is None:
            return T
        need_among(candidates, self.search.candidates, "candidates", self.name)
        return T._replace(candidates=self.search.candidates.index(candidates))

    @cached_property
    def actions(self) -> tuple[str, ...]:
        """Names of the action ids."""
        names = of_options(self.action_names, self.options)
        return tuple(map(str, range(self.max_actions))) if names is None else tuple(names)

    def rows(self, n: int) -> Array:
        """Returns n empty rows, shape [n, width]."""
        return np.zeros((n, self.width), dtype=self.dtype)

    def score(self, name: str | None = None) -> Evaluator:
        """Returns the hand-made evaluator `name` (default: the first); raises ValueError for an unknown name."""
        name = name or self.default_score
        need_among(name, self.scores, "a score", self.name)
        return replace(self.scores[name](self.options), game=self)

    def action(self, name: str | int) -> int:
        """Returns the id of an action, given by id or by any spelling of its name; raises ValueError if there is none."""
        if isinstance(name, str):
            if name in self.actions:
                return self.actions.index(name)
            if (known := self.asked(lambda: self.text.action(name))) in self.actions:
                return self.actions.index(known)
        elif hasattr(name, "__index__") and not isinstance(name, bool):
            with contextlib.suppress(TypeError):  # an array of several numbers
                if 0 <= (a := index(name)) < len(self.actions):
                    return a
        some = ", ".join(self.actions[:12]) + (", ..." if len(self.actions) > 12 else "")
        raise UserError(f"{self.name}: expected an action among {some}, got {name!r}")

    def start(self) -> State:
        """Returns the state at the very start (a chance stage in games that begin with a shuffle)."""
        rows = self.rows(1)
        self.rules.initial_state(rows, np.uint64(0), self.tables())
        return State.unchecked(self, rows[0])

    def new(self, seed: int) -> State:
        """Returns the first decision of a game, with chance drawn from `seed`, 0 to 2**64 - 1."""
        return self.start().settle(new_stream(seed))

    def parse(self, text: str) -> State:
        """Returns the state that `text` describes; raises ValueError in the game's terms."""
        if not isinstance(text, str):
            raise UserError(f"{self.name}: expected text, got {type(text).__name__}")
        return self.asked(lambda: State(self, self.text.parse(text, self.thread_tables)))

    def asked(self, work: Callable[[], R]) -> R:
        """Runs `work`, a call of the game's text functions; their refusals become UserErrors that begin with the game's name."""
        return asked_of_plugin(work, f"{self.name}: ")

    @property
    def room(self) -> Path:
        """The folder (or file) of the game's sources."""
        source = getattr(importlib.import_module(self.module), "__file__", None)
        if source is None:  # typed at a prompt or in a notebook: nothing is kept on disk
            return Path(f"<{self.module}>")
        path = Path(source)
        return path.parent if path.name == "__init__.py" else path

    def __repr__(self) -> str:
        options = "".join(f", {k}={v!r}" for k, v in self.given_options.items())
        return f"leafwise.game({self.name!r}{options})"

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Game) and self.module == other.module and self.options == other.options
        )

    def __hash__(self) -> int:
        return hash((self.module, self.options))

    def __reduce__(self):
        return _rebuild, (self.module, self.given_options)


def _rebuild(module: str, options: dict[str, Any]) -> Game:
    return importlib.import_module(module).GAME.variant(**options)


# Impossible definitions are refused in one line that says what was expected. No rule is run: whether rules keep the promises of
# `rules` is checked by `leafwise.check_game`.

Needs = Iterator[tuple[object, str, object]]
"""Conditions in order: whether each holds, what was expected, what came."""
REWARD = "S, i, j, k, T"
TRANSFORMS = ("transform", "transform_action")
PARTS = {
    "rules": Rules, "sizes": Sizes, "observation": Observation, "text": Text, "symmetries": Symmetries,
    "search": SearchDefaults,
}  # fmt: skip
POSITIVE = Range(1)
GYM_NAME = r"[A-Za-z][\w.]*"
CANDIDATES = r"[a-z][a-z0-9_+]*"
WORD = r"[a-z][a-z0-9_]*"


def check_is_game(game: object, who: str) -> None:
    """Raises ValueError, in the name of `who`, for anything but a `Game`."""
    if not isinstance(game, Game):
        raise UserError(f"{who}: expected a Game, as leafwise.game(name) returns, got {short(repr(game))}")


def check_declared(game: Game) -> None:
    """Raises ValueError, naming the game, for an impossible definition; runs no rule and makes no tables."""
    for part in (_front, _options, _sizes, _observation, _functions, _chance, _names, _search):
        _check(game, part(game))


def check_tables(game: Game, T: Any) -> None:
    """Raises ValueError for tables that no search can use."""
    _check(game, _tables(game, T))


def _check(game: Game, needs: Needs) -> None:
    for holds, expected, got in needs:
        if not holds:
            raise UserError(f"{game.name}: expected {expected}, got {short(repr(got), 200)}")


def _front(game: Game) -> Needs:
    yield _is_word(game.name), "a name in lower case", game.name
    yield isinstance(game.module, str) and game.module, "module as the name of a module", game.module
    for name, kind in PARTS.items():
        yield isinstance(getattr(game, name), kind), f"{name} as {kind.__name__}", getattr(game, name)
    yield isinstance(game.rules.chance, Chance), "rules.chance as Chance", game.rules.chance
    yield game.players in OneOf((1, 2)), "1 or 2 players", game.players
    yield isinstance(game.title, str) and game.title.strip(), "a title", game.title
    ends = game.return_range
    finite = isinstance(ends, tuple) and len(ends) == 2 and all(math.isfinite(end) for end in ends)
    yield finite and ends[0] < ends[1], "return_range as (low, high), low below high", ends


def _tables(game: Game, T) -> Needs:
    yield isinstance(T, tuple) and hasattr(T, "_fields"), "a NamedTuple from make_tables", T
    for name in ("stop", "leaf", *game.scratch):
        part = T
        for step in name.split("."):
            fields = getattr(part, "_fields", ())
            yield step in fields, f"a field {name!r} of T, which make_tables returns", ", ".join(fields)
            part = getattr(part, step)
    fits = isinstance(T.stop, np.ndarray) and (T.stop.dtype, T.stop.shape) == (np.uint8, (1,))
    yield fits, "T.stop as a uint8 array of shape (1,)", T.stop


def _is_word(name: object) -> bool:
    return isinstance(name, str) and re.fullmatch(WORD, name) is not None


def _words(what: str, names: Iterable[Any]) -> Needs:
    return ((_is_word(name), f"{what} as words in lower case", name) for name in names)


def _options(game: Game) -> Needs:
    options = game.options
    frozen = getattr(getattr(type(options), "__dataclass_params__", None), "frozen", False)
    yield frozen, "options as an instance of a frozen dataclass", options
    for one in dataclasses.fields(options):
        yield one.default is not dataclasses.MISSING, f"a default of the option {one.name}", one.name
    for name, value in values_of(options).items():
        try:
            json.dumps(value)
            hash(value)
        except TypeError:
            yield False, f"the option {name} as a number, text, bool or None", value


def _sizes(game: Game) -> Needs:
    check_fields(game.sizes, game.name)
    need_in(of_options(game.sizes.width, game.options), POSITIVE, "a width", game.name, int)
    try:
        kind = np.dtype(game.dtype).kind
    except TypeError:
        kind = "?"
    yield kind in "iu", "dtype as an integer type of NumPy", game.dtype
    count = of_options(game.symmetries.count, game.options)
    need_in(count, POSITIVE, "a count of symmetries", game.name, int)
    for name in TRANSFORMS:
        given = getattr(game.symmetries, name)
        yield count == 1 or given not in DEFAULTS, f"symmetries.{name} for {count} symmetries", None


def _functions(game: Game) -> Needs:
    compiled = {**game.rules.functions(), **{name: getattr(game.symmetries, name) for name in TRANSFORMS}}
    rules_by_name = {name: (rule, PARAMETERS[name]) for name, rule in compiled.items() if rule not in STAND_INS}
    rules_by_name |= {f"the reward {name}": (rule, REWARD) for name, rule in game.rewards.items() if rule is not None}
    views = game.observation.views.items()
    rules_by_name |= {
        f"observe_as of the view {name}": (view.observe_as, PARAMETERS["observe_as"]) for name, view in views
    }
    if game.rules.is_valid is not None:
        rules_by_name["is_valid"] = game.rules.is_valid, PARAMETERS["is_valid"]
    for name, (rule, parameters) in rules_by_name.items():
        yield callable(rule), f"{name}({parameters}) as a function", rule
        yield DISABLED or hasattr(rule, "py_func") or name == "is_valid", f"{name} compiled by jit", rule
        yield _takes(rule, parameters.count(",") + 1), f"{name}({parameters})", _signature(rule)
    plain: dict[str, tuple[Any, int]] = {
        "make_tables": (game.make_tables, 1), "text.write": (game.text.write, 2),
        "text.parse": (game.text.parse, 2), "text.outcome_name": (game.text.outcome_name, 3),
    }  # fmt: skip
    if game.draw is not None:
        plain["draw"] = game.draw, 2
    for name, (function, n) in plain.items():
        yield callable(function), f"{name} as a function", function
        yield _takes(function, n), f"{name} with {n} parameters", _signature(function)


def _signature(function) -> str:
    source = getattr(function, "py_func", function)
    try:
        return f"{getattr(source, '__name__', source)}{inspect.signature(source)}"
    except (ValueError, TypeError):
        return repr(function)


def _takes(function, parameters: int) -> bool:
    """Whether a function can be called with so many positional arguments."""
    try:
        inspect.signature(getattr(function, "py_func", function)).bind(*range(parameters))
    except TypeError:
        return False
    except ValueError:  # a built-in function without a signature
        return True
    return True


def _chance(game: Game) -> Needs:
    chance = game.rules.chance
    stages = chance.stages
    yield isinstance(stages, tuple) and stages[:1] == ("decision",), "stages that begin with 'decision'", stages
    yield from _words("stages", stages)
    yield len(set(stages)) == len(stages), "stages that differ", stages
    both = (chance.afterstates is None) == (chance.apply_outcome is None)
    yield both, "both of afterstates and apply_outcome or none", chance.afterstates or chance.apply_outcome
    alone = chance.afterstates is None or (game.players == 1 and game.search.decisions_per_depth == 1)
    yield alone, "afterstates of a single-player game, whose actions all cost 1", chance.afterstates
    if chance is NO_CHANCE or chance.outcomes in DEFAULTS or chance.max_outcomes == chance.max_stages == 0:
        return
    need_in(chance.max_outcomes, POSITIVE, "max_outcomes", game.name, int)
    need_in(chance.max_stages, POSITIVE, "max_stages", game.name, int)
    yield len(stages) > 1, "a stage of chance after 'decision'", stages
    has_stage = len(stages) == 2 or chance.stage not in STAND_INS
    yield has_stage, f"a function stage(S, i, T) for {len(stages) - 1} stages of chance", None


def _names(game: Game) -> Needs:
    names = of_options(game.action_names, game.options)
    names = ("0",) if names is None else names
    strings = isinstance(names, (tuple, list)) and all(isinstance(name, str) and name.strip() for name in names)
    yield strings and names, "action names as strings that are not empty", names
    yield len(names) <= game.max_actions, f"at most {game.max_actions} action names (max_actions)", len(names)
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    yield not twice, "action names that differ", twice[:5]
    for what in ("scores", "rewards", "features", "ais"):
        given = getattr(game, what)
        yield isinstance(given, Mapping), f"{what} as a mapping", given
        yield from _words(f"names of {what}", given)
        for name, make in given.items() if what in ("scores", "ais") else ():
            yield callable(make) or isinstance(make, OwnSearch), f"{what}[{name!r}] as a function", make
    yield from _words("text.words", game.text.words)
    known = values_of(game.options)
    yield isinstance(game.ids, Mapping), "ids as a mapping", game.ids
    for name, options in game.ids.items():
        yield isinstance(options, Mapping), f"options of id {name!r} as a mapping", options
        yield re.fullmatch(GYM_NAME, str(name)), "ids as names like 'Threes'", name
        for option in options:
            yield option in known, f"options of id {name!r} among ({', '.join(known) or 'none'})", option


def _observation(game: Game) -> Needs:
    """Yields the needs of a given space; a space made by a function is checked when it is made, to import Gymnasium later."""
    views = game.observation.views
    sound = isinstance(views, Mapping) and all(isinstance(view, View) for view in views.values())
    yield sound and DEFAULT_VIEW not in views, "observation.views by names other than 'default', each a View", views
    yield from _words("names of observation.views", views)
    seen: list[Observation | View] = [game.observation, *views.values()]
    for one in seen:
        if not callable(one.space):
            yield from _space(one.layout, one.space)


def _space(layout: type[Any] | None, space: Any) -> Needs:
    import gymnasium as gym

    if isinstance(space, gym.spaces.Box):
        yield layout is None, "no layout of an observation that is a Box", layout
        return
    boxes = isinstance(space, gym.spaces.Dict) and all(isinstance(box, gym.spaces.Box) for box in space.values())
    yield boxes, "an observation space that is a Box, or a Dict of boxes", space
    fields = getattr(layout, "_fields", ())
    expected = f"observation.layout as a NamedTuple with the fields {', '.join(space)}"
    yield set(fields) == set(space), expected, fields or layout


def _search(game: Game) -> Needs:
    check_fields(game.search, game.name, "search.{}".format)
    names_of_searches = [name for name, make in game.ais.items() if isinstance(make, OwnSearch)]
    need_among(game.search.best, ("search", "mcts", *names_of_searches), "search.best", game.name)
    names = game.search.candidates
    yield isinstance(names, tuple), "search.candidates as a tuple", names
    sound = all(isinstance(name, str) and re.fullmatch(CANDIDATES, name) for name in names)
    yield sound, "search.candidates as names like 'near+far'", names
    yield len(set(names)) == len(names), "search.candidates that differ", names
    both = (game.rules.candidates is None) == (not names)
    yield both, "both of rules.candidates and search.candidates or none", names
