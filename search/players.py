"""Players named by a short text: `random`, `greedy:openness`, `search:openness,depth=3,seconds=0.1`, `rollout:n=100`.

`greedy` looks one decision ahead and breaks ties at random, as the opponent of that name in environments does;
`greedy:openness,ties=first` plays the first best action.

`best` searches with the shipped network where there is one, else with the game's default score, in the way that is strongest in the
game; `best:depth=2` is depth-limited search with that leaf;
`level:easy`, `level:medium`, `level:hard` and `level:best` are in two-player games the strongest player there is, a share of whose
moves is drawn at random: the exact solver in the variants that have an id with Gymnasium and a solver, elsewhere the search
`best`. A game may name players of its own for some levels (Trap: the course's three opponents). What a level takes from the
next one is measured by `python -m leafwise.experiments.levels` and stands in `levels.toml`.
`mcts:LEAF,seconds=0.01` or `mcts:LEAF,simulations=1000` searches by simulations (`leafwise.search.mcts`); `prior=` is policy
(the leaf's own), values, uniform, or a trained policy: `sb3:FILE.zip`, a run's folder.
`search:rollout:n=20,policy=greedy:rows,depth=2`: the options of a roll-out go to the leaf, the others to the search.
`program:COMMAND,seconds=1` plays what anybody's program answers (`leafwise.envs.core.play.program`).
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
from leafwise.envs.core.errors import Forfeit, UserError, asked_of_plugin
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
"""Options of `Search` and `Mcts` that a player's text may hold, and what reads them."""
LOADING_SECONDS = 1.0
"""Seconds after which a search that loads its code is stopped."""
LEAF_OPTIONS: dict[str, tuple[str, ...]] = {
    "rollout": tuple(ROLLOUT_OPTIONS),
    "sb3": ("normalize",),
    "onnx": ("threads",),
}
"""Options that belong to the leaf, not to the search, by the front of the leaf's name."""


class Player(Protocol):
    """Chooses actions. One that has a method `begin()` is told by it that another game begins.

    One that draws has its random numbers in `stream`; `draws = False` says that it makes no use of them.
    """

    name: str

    def choose(self, state: State) -> int:
        """Returns the id of a legal action at a decision."""


def draws(who: Any) -> bool:
    """Whether a player draws at random: without a clock, one that does not plays the same in the same position."""
    return bool(getattr(who, "draws", hasattr(who, "stream")))


class RandomPlayer:
    """Plays every legal action equally often."""

    def __init__(self, seed: int = 0, name: str = "random") -> None:
        self.name = name
        self.stream = new_stream(seed)

    def choose(self, state: State) -> int:
        return state.legal_actions[int(below(self.stream, len(state.legal_actions)))]


class SearchPlayer(ByName):
    """Plays the best action of a search."""

    def __init__(self, search: Search, name: str) -> None:
        self.name = name
        self.search = search
        self.found: Result | None = None
        """What the search last answered."""

    def choose(self, state: State) -> int:
        self.found = self.search(state)
        action = self.found.action
        if action is None:
            raise UserError(f"{self.name}: expected a decision, got a chance stage: {state}")
        return action


class GreedyPlayer(SearchPlayer):
    """Plays the action that is best one decision ahead; ties are broken at random.

    In two-player games it draws as the compiled opponent of environments does: from equal streams come equal moves.
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
            return self._best_found(state)
        if state.game != self.search.game or state.is_terminal or state.is_chance:
            return super().choose(state)  # which says what is wrong
        self._S[0] = state.row
        first = np.uint64(0), np.uint64(1)
        return int(self._act(self._S, *first, self._A, self._P, self.stream, self._T))

    def _best_found(self, state: State) -> int:
        """Returns a best action where only the search can ask the leaf, drawn as the compiled choice draws it."""
        choice, best, ties = super().choose(state), -np.inf, 0
        assert self.found is not None
        for a, worth in self.found.values.items():
            if worth > best or ties == 0:
                choice, best, ties = a, worth, 1
            elif worth == best:
                ties += 1
                if below(self.stream, ties) == 0:
                    choice = a
        return choice


class MctsPlayer(ByName):
    """Plays the action that most simulations took, or that is proven the best."""

    def __init__(self, search: Mcts, name: str) -> None:
        self.name = name
        self.search = search
        self.found: MctsResult | None = None
        """What the search last answered."""

    def begin(self) -> None:
        """Forgets the game before."""
        self.search.forget()

    def choose(self, state: State) -> int:
        self.found = None  # nobody asks for its line now
        self.found = self.search(state)
        return self.found.chosen

    @property
    def stream(self) -> Words:
        """The random numbers of the search; with others it begins a new tree."""
        return self.search.tree.stream

    @stream.setter
    def stream(self, stream: Words) -> None:
        self.search.draw_from(stream)


def search_of(who: Any) -> Any:
    """Returns the search that a player plays by, if it can be stopped (`stop`) and tells its leaf (`evaluator`), else None.

    That of a player who blunders at times is that of who it is else.
    """
    found = getattr(getattr(who, "strong", who), "search", None)
    return found if hasattr(found, "stop") and hasattr(found, "evaluator") else None


LEVEL, BEST = "level", "best"
"""Players of a level; and the player that searches with the best leaf there is, by the game's defaults, and that leaf."""


LEVELS_FILE = Path(__file__).with_name("levels.toml")


class Weakened(ByName):
    """Plays as another player does, but for a share of its moves, which are drawn at random."""

    def __init__(self, strong: Chooser, blunders: float, seed: int, name: str) -> None:
        self.strong, self.blunders, self.name = strong, blunders, name
        self.stream = new_stream(seed)

    @property
    def stream(self) -> Words:
        """Its random numbers, which are also those of the player that it weakens."""
        return self._stream

    @stream.setter
    def stream(self, stream: Words) -> None:
        self._stream = stream
        if hasattr(self.strong, "stream"):
            self.strong.stream = stream

    @property
    def draws(self) -> bool:
        """Whether some of its moves are drawn, or those of the player that it weakens."""
        return self.blunders > 0 or bool(getattr(self.strong, "draws", hasattr(self.strong, "stream")))

    def choose(self, state: State) -> int:
        """Returns the id of a legal action at a decision."""
        if uniform(self.stream) < self.blunders:
            return state.legal_actions[int(below(self.stream, len(state.legal_actions)))]
        return self.strong.choose(state)


def check_level(game: Game, level: str) -> None:
    """Raises ValueError for a level that there is not, or a single-player game."""
    if game.players != 2:
        raise UserError(f"expected a level in a two-player game, got {game.name!r}")
    need_among(level, LEVELS, "level")


def level_player(game: Game, level: str, seed: int, name: str, best: Callable[[], Chooser]) -> Any:
    """Returns the player of a level; `best` makes the search. Raises ValueError as `check_level` does."""
    check_level(game, level)
    if own := room_level(game, level):
        chosen = named_ai(game, own)
        chosen.name = name
        return chosen
    if solver := solver_player(game, level, seed, name):
        return solver
    return Weakened(best(), LEVELS[level], seed, name)


def solver_player(game: Game, level: str, seed: int, name: str) -> SolverPlayer | None:
    """Returns the exact solver as a player of a level; None where there is none, or none that is known to be in time."""
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
    """Returns what each level but the last takes from the next in a variant: `share` of the points, `ci_low`, `ci_high`, `games`.

    {} where nothing was measured.
    """
    found: dict[str, dict[str, float]] = _measured().get(variant_id(game) or "", {})
    return found


def level_lines(game: Game) -> list[str]:
    """Returns a line per level: what it is, and what it takes from the next one."""
    shares, names = measured(game), list(LEVELS)
    lines = []
    for level, stronger in zip(names, [*names[1:], ""], strict=True):
        blunders = f"{LEVELS[level]:.0%} of its moves at random" if LEVELS[level] else "no move at random"
        if own := room_level(game, level):
            blunders = f"the player {own}"
        points = ""
        if level in shares:
            told = shares[level]
            points = f"; takes {told['share']:.1%} of the points from {stronger} ({told['ci_low']:.1%} to {told['ci_high']:.1%})"
        lines.append(f"{level}: {blunders}{points}")
    return lines


def hand_made(game: Game, name: str) -> Evaluator:
    """Returns a hand-made score of the game, or a roll-out: the leaf source that knows no models."""
    return parse_rollout(game, name) if is_rollout(name) else game.score(None if name == BEST else name)


def no_policy(game: Game, name: str) -> Policy:
    """Refuses a prior that is neither uniform nor of one-ply values: the policy source that knows no models."""
    raise UserError(f"expected a prior among {', '.join(PRIORS)}, got {name!r}")


def player(
    text: str, game: Game, seed: int = 0, leaf: LeafSource = hand_made, policy: PolicySource = no_policy
) -> Player:
    """Returns the player that `text` names; raises ValueError with what was expected.

    `leaf` turns the leaf's name into an evaluator, `policy` that of a prior into one; `leafwise.player` passes some that also
    load models.
    """
    who = _player(text, game, seed, leaf, policy)
    if isinstance(who, ByName):
        who.by_name = text, game
    return who


def _player(text: str, game: Game, seed: int, leaf: LeafSource, policy: PolicySource) -> Player:
    """Makes the player."""
    kind, _, rest = text.partition(":")
    words = split(rest)
    if kind == LEVEL:
        try:
            return level_player(game, rest, seed, text, lambda: player(BEST, game, seed, leaf))
        except UserError as problem:
            raise UserError(f"player {text!r}: {problem}") from None
    if kind == BEST:
        deep = game.search.best == "mcts" and any(word.startswith("depth=") for word in words)
        kind, words = "search" if deep else game.search.best, [BEST, *words]
    if kind == "random" and not rest:
        return RandomPlayer(seed, text)
    if kind == PROGRAM:
        return program_player(game, text, seed)
    own: Player | None = named_ai(game, text)
    if own is not None:
        if hasattr(own, "stream"):
            own.stream = new_stream(seed)
        return own
    search = game.ais.get(kind)
    if isinstance(search, OwnSearch):
        name = leaf_name(words) or game.default_score
        try:
            options = read_options(words, search.options)
            found = leaf(game, name)
            values = found if search.compiled else bound_values(game, found)
            make = partial(search.make, game, values, text, **options)
            return cast(Player, asked_of_plugin(make))
        except UserError as problem:
            raise UserError(f"player {text!r}: {problem}") from None
    if kind not in ("greedy", "search", "mcts", "rollout"):
        known = "".join(f", {name}" for names in room_players(game).values() for name in names)
        levels = ", level:easy" if game.players == 2 else ""
        raise UnknownPlayer(
            f"expected a player like random, greedy:SCORE, {', '.join(MORE_PLAYERS)}{levels}{known}, got {text!r}"
        )
    if kind == "rollout":  # a search of its own depth 1 with that leaf
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
            options = read_options(words, MCTS_OPTIONS)
            if (prior := options.get("prior", "values")) not in PRIORS:
                options["prior"] = policy(game, prior.strip("\"'"))
            return MctsPlayer(Mcts(game, leaf(game, name), seed=seed, **options), text)
        options = read_options(words if kind == "search" else ["depth=1", *words], OPTIONS)
    except UserError as problem:
        raise UserError(f"player {text!r}: {problem}") from None
    return SearchPlayer(Search(game, leaf(game, name), all_values=False, **options), text)


def leaf_name(words: list[str]) -> str:
    """Takes the name of a leaf from the front of `words`, with options of its own; "" if there is none."""
    if not words or re.fullmatch(r"[a-z_0-9]+=.*", words[0]):
        return ""
    name = words.pop(0)
    own = LEAF_OPTIONS.get(name.partition(":")[0], ())
    while words and words[0].partition("=")[0] in own:
        name += ("," if ":" in name else ":") + words.pop(0)
    return name


def load_code(who: Any, state: State) -> None:
    """Has a player or a search answer once, so that loading its code for positions of this kind (decisions, or chance) is no part
    of its time.

    A player that says `is_loaded` is asked nothing, and may forfeit. A search is stopped after a second, where a single value
    takes long.
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
