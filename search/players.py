"""Players named by a short text: `random`, `greedy:openness`, `search:openness,depth=3,seconds=0.1`, `rollout:n=100`.

- `greedy` looks one decision ahead and breaks ties at random, as the opponent of that name in environments does;
  `greedy:openness,ties=first` plays the first best action.
- `best` searches with the shipped network if there is one, else with the game's default score. The game names the search that is
  strongest in it; `best:depth=2` is depth-limited search with that leaf.
- `level:easy`, `level:medium`, `level:hard` and `level:best` play two-player games. A level is the strongest player with a share of
  its moves drawn at random: the exact solver in variants with a Gymnasium id and a solver, elsewhere `best`. A game may name other
  players for levels (Trap: the course's three opponents). `python -m leafwise.experiments.levels` measures how often a level beats
  the next one, for `levels.toml`.
- `mcts:LEAF,seconds=0.01` or `mcts:LEAF,simulations=1000` searches by simulations (`leafwise.search.mcts`); `prior=` is policy
  (the leaf's own), values, uniform, or a trained policy: `sb3:FILE.zip`, a run folder.
- `search:rollout:n=20,policy=greedy:rows,depth=2`: the options of a roll-out go to the leaf, the others to the search.
- `program:COMMAND,seconds=1` plays the moves of an external program (`leafwise.envs.core.play.program`).
"""

from __future__ import annotations

import re
import threading
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np

from leafwise.envs.core.arrays import Words
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game, OwnSearch
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import below, new_stream, uniform
from leafwise.envs.core.errors import Forfeit, UserError, asked_of_plugin, short
from leafwise.envs.core.files import read_text
from leafwise.envs.core.play.players import (
    ByName,
    Chooser,
    UnknownPlayer,
    compiled_greedy,
    named_ai,
    room_level,
    room_players,
    rows_needed,
    split,
)
from leafwise.envs.core.play.program import PROGRAM, program_player
from leafwise.envs.core.play.solver import LEVELS, SolverPlayer
from leafwise.envs.core.ranges import need_among
from leafwise.envs.registry import MORE_PLAYERS, variant_id
from leafwise.search.engine import Search, Stopped
from leafwise.search.frontier import bound_values
from leafwise.search.mcts import PRIORS, Mcts, MctsResult, Policy
from leafwise.search.result import Result
from leafwise.search.rollout import OPTIONS as ROLLOUT_OPTIONS
from leafwise.search.rollout import is_rollout, parse_rollout
from leafwise.search.search_options import MctsOptions, SearchOptions, read_options, readers

LeafSource = Callable[[Game, str], Evaluator]
PolicySource = Callable[[Game, str], Policy]
"""(game, name or path) -> Evaluator; raises ValueError."""


OPTIONS, MCTS_OPTIONS = readers(SearchOptions), readers(MctsOptions)
"""Options of `Search` and `Mcts` that the text of a player may name, and the function that reads each."""
LOADING_SECONDS = 1.0
"""Seconds after which a search that loads its code is stopped."""
LEAF_OPTIONS: dict[str, tuple[str, ...]] = {
    "rollout": tuple(ROLLOUT_OPTIONS),
    "sb3": ("normalize",),
    "onnx": ("threads",),
}
"""Options that belong to the leaf, not to the search, by the prefix of the leaf's name."""


class Player(Protocol):
    """Chooses actions. If it has a method `begin()`, that is called when another game begins.

    A player that draws at random has its random numbers in `stream`; `draws = False` says that it does not use them.
    """

    name: str

    def choose(self, state: State) -> int:
        """Returns the id of a legal action at a decision."""


def draws(who: Any) -> bool:
    """Whether a player draws at random. One that does not, and has no time limit, plays the same in the same position."""
    return bool(getattr(who, "draws", hasattr(who, "stream")))


class RandomPlayer:
    """Plays every legal action equally often."""

    def __init__(self, seed: int = 0, name: str = "random") -> None:
        self.name = name
        self.stream = new_stream(seed)

    def choose(self, state: State) -> int:
        if not (isinstance(state, State) and state.legal_actions):
            raise UserError(f"{self.name}: expected a State at a decision, got {short(repr(state))}")
        return state.legal_actions[int(below(self.stream, len(state.legal_actions)))]


class SearchPlayer(ByName):
    """Plays the best action of a search."""

    def __init__(self, search: Search, name: str) -> None:
        self.name = name
        self.search = search
        self.result: Result | None = None
        """The last result of the search."""

    def choose(self, state: State) -> int:
        self.result = self.search(state)
        action = self.result.action
        if action is None:
            raise UserError(f"{self.name}: expected a decision, got a chance stage: {state}")
        return action


class GreedyPlayer(SearchPlayer):
    """Plays the action that is best one decision ahead; ties are broken at random.

    In two-player games it draws as the compiled opponent of environments does: equal streams give equal moves.
    """

    def __init__(self, game: Game, evaluator: Evaluator, seed: int, name: str) -> None:
        super().__init__(Search(game, evaluator, depth=1), name)
        self.stream = new_stream(seed)
        self._act: Callable[..., Any] | None = None
        if game.players == 2 and evaluator.value is not None and not evaluator.python_only:
            rows = 1 + rows_needed(game)
            self._act = compiled_greedy(game, evaluator)
            self._S, self._P, self._T = game.rows(rows), np.zeros(rows), game.tables(evaluator)
            self._A = np.zeros(game.max_actions, dtype=np.int64)

    def choose(self, state: State) -> int:
        if self._act is None:
            return self._best_of_search(state)
        if not isinstance(state, State) or state.game != self.search.game or state.is_terminal or state.is_chance:
            return super().choose(state)  # its error says what is wrong
        self._S[0] = state.row
        first = np.uint64(0), np.uint64(1)
        return int(self._act(self._S, *first, self._A, self._P, self.stream, self._T))

    def _best_of_search(self, state: State) -> int:
        """Returns a best action by the search, drawn as the compiled choice draws it; for evaluators in Python."""
        choice, best, ties = super().choose(state), -np.inf, 0
        assert self.result is not None
        for a, worth in self.result.values.items():
            if worth > best or ties == 0:
                choice, best, ties = a, worth, 1
            elif worth == best:
                ties += 1
                if below(self.stream, ties) == 0:
                    choice = a
        return choice


class MctsPlayer(ByName):
    """Plays the most visited action, or the one that is proven the best."""

    def __init__(self, search: Mcts, name: str) -> None:
        self.name = name
        self.search = search
        self.result: MctsResult | None = None
        """The last result of the search."""

    def begin(self) -> None:
        """Forgets the previous game."""
        self.search.forget()

    def choose(self, state: State) -> int:
        self.result = None  # its line is not wanted any more
        self.result = self.search(state)
        return self.result.chosen

    @property
    def stream(self) -> Words:
        """The random numbers of the search; setting them starts a new tree."""
        return self.search.tree.stream

    @stream.setter
    def stream(self, stream: Words) -> None:
        self.search.draw_from(stream)


def search_of(who: Any) -> Any:
    """Returns a player's search if it has `stop` and `evaluator`, else None; for a `Weakened` player that of the player it
    weakens."""
    search = getattr(getattr(who, "strong", who), "search", None)
    return search if hasattr(search, "stop") and hasattr(search, "evaluator") else None


LEVEL, BEST = "level", "best"
"""The prefix of players of a level; the player that searches with the best leaf by the game's defaults, and the name of that
leaf."""


LEVELS_FILE = Path(__file__).with_name("levels.toml")


class Weakened(ByName):
    """Plays as another player does, except for a share of moves that are drawn at random."""

    def __init__(self, strong: Chooser, blunders: float, seed: int, name: str) -> None:
        self.strong, self.blunders, self.name = strong, blunders, name
        self.stream = new_stream(seed)

    @property
    def stream(self) -> Words:
        """Its random numbers, shared with the player that it weakens."""
        return self._stream

    @stream.setter
    def stream(self, stream: Words) -> None:
        self._stream = stream
        if hasattr(self.strong, "stream"):
            self.strong.stream = stream

    @property
    def draws(self) -> bool:
        """Whether it or the player that it weakens draws at random."""
        return self.blunders > 0 or bool(getattr(self.strong, "draws", hasattr(self.strong, "stream")))

    def choose(self, state: State) -> int:
        """Returns the id of a legal action at a decision."""
        if uniform(self.stream) < self.blunders:
            return state.legal_actions[int(below(self.stream, len(state.legal_actions)))]
        return self.strong.choose(state)


def check_level(game: Game, level: str) -> None:
    """Raises ValueError for an unknown level or a single-player game."""
    if game.players != 2:
        raise UserError(f"expected a level in a two-player game, got {game.name!r}")
    need_among(level, LEVELS, "level")


def level_player(game: Game, level: str, seed: int, name: str, best: Callable[[], Chooser]) -> Any:
    """Returns the player of a level; `best` makes the search. Raises ValueError as `check_level` does."""
    check_level(game, level)
    if ai := room_level(game, level):
        chosen = named_ai(game, ai)
        chosen.name = name
        return chosen
    if solver := solver_player(game, level, seed, name):
        return solver
    return Weakened(best(), LEVELS[level], seed, name)


def solver_player(game: Game, level: str, seed: int, name: str) -> SolverPlayer | None:
    """Returns the exact solver as a player of a level; None if there is none, or none that is known to be fast enough."""
    if variant_id(game) is None or not (game.room / "solver.py").exists():
        return None
    try:
        return SolverPlayer(game, level, seed, name=name)
    except UserError:  # the solver is for smaller variants
        return None


@cache
def _measured() -> Mapping[str, Any]:
    return tomllib.loads(read_text(LEVELS_FILE)) if LEVELS_FILE.exists() else {}


def measured(game: Game) -> dict[str, dict[str, float]]:
    """Returns, by level, the `share` of the points that it wins against the next one, with `ci_low`, `ci_high` and `games`.

    {} for a variant that was not measured.
    """
    shares: dict[str, dict[str, float]] = _measured().get(variant_id(game) or "", {})
    return shares


def level_lines(game: Game) -> list[str]:
    """Returns a line for each level: how it plays, and its share of the points against the next one."""
    shares, names = measured(game), list(LEVELS)
    lines = []
    for level, stronger in zip(names, [*names[1:], ""], strict=True):
        blunders = f"{LEVELS[level]:.0%} of its moves at random" if LEVELS[level] else "no move at random"
        if ai := room_level(game, level):
            blunders = f"the player {ai}"
        points = ""
        if level in shares:
            entry = shares[level]
            points = f"; takes {entry['share']:.1%} of the points from {stronger} ({entry['ci_low']:.1%} to {entry['ci_high']:.1%})"
        lines.append(f"{level}: {blunders}{points}")
    return lines


def hand_made(game: Game, name: str) -> Evaluator:
    """Returns a hand-made score of the game or a roll-out by its name; the leaf source without models."""
    return parse_rollout(game, name) if is_rollout(name) else game.score(None if name == BEST else name)


def no_policy(game: Game, name: str) -> Policy:
    """Raises ValueError for any prior; the policy source without models."""
    raise UserError(f"expected a prior among {', '.join(PRIORS)}, got {name!r}")


def player(
    text: str, game: Game, seed: int = 0, leaf: LeafSource = hand_made, policy: PolicySource = no_policy
) -> Player:
    """Returns the player that `text` names; raises ValueError that says what was expected.

    `leaf` returns the evaluator of a leaf's name, `policy` the function of a prior's name; `leafwise.player` passes functions that
    also load models.
    """
    who = _player(text, game, seed, leaf, policy)
    if isinstance(who, ByName):
        who.by_name = text, game
    return who


def _player(text: str, game: Game, seed: int, leaf: LeafSource, policy: PolicySource) -> Player:
    """Makes the player of a text."""
    kind, _, rest = text.partition(":")
    words = split(rest)
    if kind == LEVEL:
        try:
            return level_player(game, rest, seed, text, lambda: player(BEST, game, seed, leaf))
        except UserError as problem:
            raise UserError(f"player {text!r}: {problem}") from None
    is_search = kind in (BEST, "greedy", "search", "mcts", "rollout") or isinstance(game.ais.get(kind), OwnSearch)
    if is_search and ":" in text and not rest.partition(",")[0].strip("\"' "):
        raise UserError(f"player {text!r}: expected a leaf or an option after {kind}:, got none")
    if kind == BEST:
        by_depth = game.search.best == "mcts" and any(word.startswith("depth=") for word in words)
        kind, words = "search" if by_depth else game.search.best, [BEST, *words]
    if kind == "random" and not rest:
        return RandomPlayer(seed, text)
    if kind == PROGRAM:
        return program_player(game, text, seed)
    ai: Player | None = named_ai(game, text)
    if ai is not None:
        if hasattr(ai, "stream"):
            ai.stream = new_stream(seed)
        return ai
    own_search = game.ais.get(kind)
    if isinstance(own_search, OwnSearch):
        name = leaf_name(words) or game.default_score
        try:
            options = read_options(words, own_search.options)
            evaluator = leaf(game, name)
            values = evaluator if own_search.compiled else bound_values(game, evaluator)
            make = partial(own_search.make, game, values, text, **options)
            return cast(Player, asked_of_plugin(make))
        except UserError as problem:
            raise UserError(f"player {text!r}: {problem}") from None
    if kind not in ("greedy", "search", "mcts", "rollout"):
        known = "".join(f", {name}" for names in room_players(game).values() for name in names)
        levels = ", level:easy" if game.players == 2 else ""
        raise UnknownPlayer(
            f"expected a player like random, greedy:SCORE, {', '.join(MORE_PLAYERS)}{levels}{known}, got {text!r}"
        )
    if kind == "rollout":  # a search of depth 1 with that leaf
        words = split(text)
    name = leaf_name(words) or game.default_score
    if kind == "greedy":
        if words not in ([], ["ties=random"], ["ties=first"]):
            raise UserError(f"player {text!r}: expected ties=random or ties=first, got {','.join(words)!r}")
        if words != ["ties=first"]:
            return GreedyPlayer(game, leaf(game, name), seed, text)
        words = []
    try:
        if kind == "mcts":
            options = read_options(words, MCTS_OPTIONS, OPTIONS if text.startswith(BEST) else ())
            if (prior := options.get("prior", "values")) not in PRIORS:
                options["prior"] = policy(game, prior.strip("\"'"))
            return MctsPlayer(Mcts(game, leaf(game, name), seed=seed, **options), text)
        options = read_options(words if kind == "search" else ["depth=1", *words], OPTIONS)
    except UserError as problem:
        raise UserError(f"player {text!r}: {problem}") from None
    return SearchPlayer(Search(game, leaf(game, name), all_values=False, **options), text)


def leaf_name(words: list[str]) -> str:
    """Removes the name of a leaf and its options from the front of `words` and returns them; "" if there is none."""
    if not words or re.fullmatch(r"[a-z_0-9]+=.*", words[0]):
        return ""
    name = words.pop(0)
    leaf_options = LEAF_OPTIONS.get(name.partition(":")[0], ())
    while words and words[0].partition("=")[0] in leaf_options:
        name += ("," if ":" in name else ":") + words.pop(0)
    return name


def load_code(who: Any, state: State) -> None:
    """Calls a player or a search once, so that loading its code for such positions is excluded from its time.

    Code is loaded once for decisions and once for chance nodes. A player with `is_loaded` is not called; others may forfeit. A
    search is stopped after a second, since a single value may take long.
    """
    if getattr(who, "is_loaded", False):
        return
    if choose := getattr(who, "choose", None):
        with suppress(Forfeit):
            choose(state)
        return
    timer = threading.Timer(LOADING_SECONDS, who.stop)
    timer.daemon = True
    timer.start()
    with suppress(Stopped):
        who(state)
    timer.cancel()
