"""Games, players and leaves for OpenSpiel (extra `openspiel`): `pyspiel.load_game("leafwise_threes")`.

leafwise.openspiel.register("threes")
game = pyspiel.load_game("leafwise_threes")
bot = leafwise.openspiel.bot("search:best,depth=2")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.gym.observation import Observer
from leafwise.envs.core.ranges import Range, need_in
from leafwise.envs.registry import game as find_game
from leafwise.models.leaves import named_leaf
from leafwise.models.players import player as named_player

try:
    import pyspiel
    from open_spiel.python.algorithms import mcts
    from open_spiel.python.observation import IIGObserverForPublicInfoGame
except ModuleNotFoundError as missing:
    raise ImportError(f"leafwise.openspiel needs {missing.name}: pip install 'leafwise[openspiel]'") from None

if TYPE_CHECKING:
    from leafwise.envs.core.contract.game import Game

__all__ = ["bot", "evaluator", "position", "register"]

LONGEST = 100_000
"""Default of `max_game_length`: decisions and outcomes of chance."""


def register(game: str | Game, name: str = "", *, max_game_length: int = LONGEST) -> str:
    """Registers a game with OpenSpiel and returns its name there: `leafwise_threes`, or `name`. A variant needs a `name`.

    `max_game_length` is the maximum number of decisions; some algorithms allocate memory for as many. Raises ValueError for a name
    that OpenSpiel has already.
    """
    own_game: Game = find_game(game) if isinstance(game, str) else game
    name = name or f"leafwise_{own_game.name}"
    length = need_in(max_game_length, Range(1, 2**31 - 1), "max_game_length", kind=int)
    if name in pyspiel.registered_names():
        raise UserError(
            f"expected a name that OpenSpiel does not have, got {name!r}: name a variant, register(game, 'leafwise_...')"
        )
    low, high = (
        float(bound) if np.isfinite(bound) else float(np.copysign(1e9, bound)) for bound in own_game.return_range
    )
    alone, kinds = own_game.players == 1, pyspiel.GameType
    kind = kinds(
        short_name=name, long_name=own_game.title, dynamics=kinds.Dynamics.SEQUENTIAL,
        chance_mode=kinds.ChanceMode.EXPLICIT_STOCHASTIC if own_game.max_outcomes else kinds.ChanceMode.DETERMINISTIC,
        information=kinds.Information.PERFECT_INFORMATION,
        utility=kinds.Utility.GENERAL_SUM if alone else kinds.Utility.ZERO_SUM, reward_model=kinds.RewardModel.TERMINAL,
        max_num_players=own_game.players, min_num_players=own_game.players, provides_information_state_string=True,
        provides_information_state_tensor=False, provides_observation_string=True, provides_observation_tensor=True,
        parameter_specification={},
    )  # fmt: skip
    info = pyspiel.GameInfo(
        num_distinct_actions=len(own_game.actions), max_chance_outcomes=own_game.max_outcomes, num_players=own_game.players,
        min_utility=low, max_utility=high, max_game_length=length, **({} if alone else {"utility_sum": 0.0}),
    )  # fmt: skip

    class LeafwiseGame(pyspiel.Game):
        """The game in the form of OpenSpiel."""

        def __init__(self, params: Any = None) -> None:
            super().__init__(kind, info, params or {})

        def new_initial_state(self, state: Any = None) -> SpielState:
            return SpielState(self, _described_position(own_game, state))

        def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> Any:
            if iig_obs_type is None or (iig_obs_type.public_info and not iig_obs_type.perfect_recall):
                return SpielObserver(own_game, params)
            return IIGObserverForPublicInfoGame(iig_obs_type, params)

    pyspiel.register_game(kind, LeafwiseGame)
    return name


def _described_position(game: Game, description: Any) -> State:
    """Returns the position of a dict or struct `{"position": text}`; without one the start."""
    if description is None:
        return game.start()
    return game.parse(str((description if isinstance(description, dict) else description.to_dict())["position"]))


class SpielState(pyspiel.State):
    """A position in the form of OpenSpiel."""

    def __init__(self, game: Any, state: State) -> None:
        super().__init__(game)
        self.state = state
        """The position."""
        self._outcomes: Any = None

    def outcomes(self) -> list[tuple[float, State]]:
        """Returns the outcomes of a chance node."""
        if self._outcomes is None or self._outcomes[0] is not self.state:
            self._outcomes = self.state, self.state.outcomes()
        outcomes: list[tuple[float, State]] = self._outcomes[1]
        return outcomes

    def current_player(self) -> int:
        return self.state.current_player  # CHANCE and TERMINAL have OpenSpiel's numbers

    def is_terminal(self) -> bool:
        return self.state.is_terminal

    def _legal_actions(self, player: int) -> list[int]:
        return list(self.state.legal_actions)

    def chance_outcomes(self) -> list[tuple[int, float]]:
        return [(k, p) for k, (p, _) in enumerate(self.outcomes())]

    def _apply_action(self, action: int) -> None:
        self.state = self.outcomes()[action][1] if self.state.is_chance else self.state.play(action)

    def _action_to_string(self, player: int, action: int) -> str:
        if self.state.is_chance:
            return self.state.outcome_name(self.outcomes()[action][1])
        return self.state.game.actions[action]

    def returns(self) -> list[float]:
        worth = self.state.returns if self.state.is_terminal else 0.0
        return [worth] if self.state.game.players == 1 else [worth, -worth]

    def _to_struct(self) -> dict[str, str]:
        return {"position": str(self.state)}

    def __str__(self) -> str:
        return str(self.state)


class SpielObserver:
    """The observation of a player as one tensor."""

    def __init__(self, game: Game, params: Any) -> None:
        if params:
            raise UserError(f"expected no parameters of an observation, got {params!r}")
        self._look, space = Observer(game), game.observation_space()
        parts: Any = space.items() if hasattr(space, "items") else [("observation", space)]
        sizes = {name: (int(np.prod(box.shape)), box.shape) for name, box in parts}
        self.tensor = np.zeros(sum(size for size, _ in sizes.values()), dtype=np.float32)
        self.dict, begin = {}, 0
        for name, (size, shape) in sizes.items():
            self.dict[name] = self.tensor[begin : begin + size].reshape(shape)
            begin += size

    def set_from(self, state: SpielState, player: int) -> None:
        obs = self._look(state.state.row[None], viewers=np.array([player], dtype=np.int8)).obs
        for name, array in (obs if isinstance(obs, dict) else {"observation": obs}).items():
            self.dict[name][...] = array[0]

    def string_from(self, state: SpielState, player: int) -> str:
        return str(state)


def position(state: Any) -> State:
    """Returns the position of a state of a registered game; raises ValueError for a state of another game."""
    if not isinstance(state, SpielState):
        raise UserError(f"expected a state of a game that leafwise.openspiel registered, got {type(state).__name__}")
    return state.state


class SpielBot(pyspiel.Bot):
    """A player in the form of OpenSpiel."""

    def __init__(self, text: str, seed: int) -> None:
        super().__init__()
        self._text, self._seed = text, seed
        self._who: Any = None

    def restart(self) -> None:
        if begin := getattr(self._who, "begin", None):
            begin()

    def restart_at(self, state: Any) -> None:
        self.restart()

    def step(self, state: Any) -> int:
        here = position(state)
        if self._who is None:
            self._who = named_player(self._text, here.game, self._seed)
        return int(self._who.choose(here))


def bot(player: str, seed: int = 0) -> SpielBot:
    """Returns the player of a text as a `pyspiel.Bot`, for games that `register` made.

    The bot raises ValueError at its first move if the text names no player of that game.
    """
    return SpielBot(player, seed)


class SpielEvaluator(mcts.Evaluator):
    """A leaf in the form of OpenSpiel's tree search: the return of player 0, and its negative for player 1."""

    def __init__(self, leaf: str | Evaluator) -> None:
        self._named, self._leaf = leaf, leaf if isinstance(leaf, Evaluator) else None

    def _value(self, state: State) -> float:
        """Returns the value of a position to player 0; chance and decisions before a stage of the leaf are enumerated."""
        if state.is_terminal:
            return state.returns
        leaf = self.leaf(state)
        sign = -1.0 if state.current_player == 1 else 1.0
        if state.stage in leaf.stages:
            return sign * state.value(leaf) + (state.returns if leaf.to_go else 0.0)
        if state.is_chance:
            return sum(p * self._value(after) for p, after in state.outcomes())
        return sign * max(sign * self._value(state.play(a)) for a in state.legal_actions)

    def leaf(self, state: State) -> Evaluator:
        """Returns the leaf, made at first use."""
        if self._leaf is None:
            self._leaf = named_leaf(state.game, str(self._named))
        return self._leaf

    def evaluate(self, state: Any) -> Any:
        worth = self._value(position(state))
        return np.array([worth, -worth] if state.num_players() == 2 else [worth])

    def prior(self, state: Any) -> list[tuple[int, float]]:
        here = position(state)
        if here.is_chance:
            return list(state.chance_outcomes())
        legal, leaf = here.legal_actions, self.leaf(here)
        weights = np.ones(len(legal))
        if leaf.policy is not None:
            P = np.zeros(here.game.max_actions)
            leaf.policy(here.rows(), np.uint64(0), P, here.game.tables(leaf))
            logits = P[list(legal)]
            weights = np.exp(logits - logits.max())
        return [(a, float(p)) for a, p in zip(legal, weights / weights.sum(), strict=True)]


def evaluator(leaf: str | Evaluator) -> SpielEvaluator:
    """Returns a leaf, a name or an `Evaluator`, for OpenSpiel's tree search.

    The prior is the leaf's policy, or uniform if it has none. A name that no leaf has raises ValueError at the first position.
    """
    return SpielEvaluator(leaf)
