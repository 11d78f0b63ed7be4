"""Plays games and keeps every decision: observation, mask, action, reward, the search's value, the game's result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import GOLDEN, below, mix, new_stream, uniform
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.gym.observation import Observer
from leafwise.envs.core.play.players import play_out
from leafwise.models.players import player
from leafwise.search.players import GreedyPlayer, Player, SearchPlayer
from leafwise.training.evaluation.arena import BATCH
from leafwise.training.evaluation.openings import PLAYER, derived
from leafwise.training.execution import check_places, executor_for
from leafwise.training.runs import SELECTION_SEED

OBSERVATIONS, FINAL = "observations", "final_observations"
"""The arrays of what is seen at each decision and at each end; where it is several arrays by name, `observations.NAME`."""
MOST_GAMES = 1_000_000
EXPLORATION = 0.1
"""Share of random moves where nothing is said and chance does not tell one game from another."""
FIELDS = {
    "masks": "int8 [n, A]: 1 for each legal action",
    "actions": "int64 [n]: the action played",
    "choices": "int64 [n]: the action that the player chose; another than the one played where a random move was due",
    "rewards": "float64 [n]: the acting player's gain up to its next decision or the end, as the environment pays it",
    "values": "float64 [n]: the search's value for the player who acts, in the leaf's unit; nan for a player that tells none",
    "results": "float64 [n]: the return of the whole game for the player who acts",
    "terminations": "bool [n]: whether this is the player's last decision of the game",
    FINAL: "[terminations]: what the player sees at the end, one entry for each True of terminations, in their order",
    "players": "int8 [n]: who acts, 0 or 1",
    "games": "int64 [n]: the game, an index into seeds",
    "seeds": "int64 [games]: the seed of each game; `env.reset(seed=...)` starts the same",
}
"""The other arrays, for n decisions in the order in which they were made, and what they hold."""


@dataclass(frozen=True)
class Dataset:
    """Decisions of whole games, and how they came about."""

    arrays: dict[str, NDArray[Any]]
    """Observations and the arrays of `FIELDS`."""
    about: dict[str, Any] = field(default_factory=dict)
    """JSON-able: game, options, player, opponent, exploration, the names of actions, what the arrays hold, the version."""

    def __len__(self) -> int:
        return len(self.arrays["actions"])


class Decision(NamedTuple):
    """One decision of a game."""

    state: State
    action: int
    choice: int
    value: float


def check(
    game: Game,
    text: str,
    games: int,
    first_seed: int,
    opponent: str,
    exploration: float,
    processes: int,
    cluster: str = "",
) -> None:
    """Raises ValueError, saying what was expected, if `collect_dataset` cannot do this."""
    if not 1 <= games <= MOST_GAMES:
        raise UserError(f"dataset: expected 1 to {MOST_GAMES:,} games, got {games!r}")
    check_places(processes, cluster)
    if not 0 <= first_seed <= SELECTION_SEED - games:
        raise UserError(
            f"dataset: expected seeds for training, 0 to {SELECTION_SEED - 1:,}, got {first_seed!r} to {first_seed + games - 1!r}"
        )
    if not 0 <= exploration <= 1:
        raise UserError(f"dataset: expected exploration, a share of random moves, of 0 to 1, got {exploration!r}")
    if opponent and game.players == 1:
        raise UserError(f"dataset: expected no opponent in {game.name!r}, a game for one player, got {opponent!r}")
    for name in (text, opponent):
        if name:
            player(name, game)


def default_exploration(game: Game) -> float:
    """Returns the share of random moves where nothing is said: none where chance makes every game another."""
    return 0.0 if len(game.stages) > 1 else EXPLORATION


def collect_dataset(
    game: Game,
    text: str = "best",
    games: int = 100,
    first_seed: int = 0,
    *,
    opponent: str = "",
    exploration: float | None = None,
    processes: int = 1,
    cluster: str = "",
    progress: Callable[[int], None] = lambda done: None,
    partial_on_interrupt: bool = False,
) -> Dataset:
    """Returns the decisions of games played by a player, in a game for two by itself on both sides.

    Args:
        text: the player, as `leafwise.player` takes it.
        first_seed: seed of the first game; the others follow. The result depends on it, not on the number of processes.
        opponent: who plays the other side instead; its decisions are left out, and the player sits first in every other game.
        exploration: share of the player's moves that are random (default: none, 0.1 in games without chance, which would all be
            one game).
        processes: how many processes play, as `leafwise.executor_for` has it.
        cluster: the Ray cluster that plays instead, as `leafwise.executor_for` has it.
        progress: is told how many games are done.
        partial_on_interrupt: Ctrl-C returns the games that have ended by then, if there are any.

    Raises ValueError for what cannot be done, before a game is played.
    """
    share = default_exploration(game) if exploration is None else exploration
    check(game, text, games, first_seed, opponent, share, processes, cluster)
    pieces = [range(k, min(k + BATCH, games)) for k in range(0, games, BATCH)]
    work = partial(play_piece, game, text, opponent, share, first_seed)
    parts: list[dict[str, NDArray[Any]]] = []
    try:
        with executor_for(work, processes, cluster, len(pieces)) as executor:
            for part in executor.in_order((piece[0], piece) for piece in pieces):
                parts.append(part)
                progress(min(len(parts) * BATCH, games))
    except KeyboardInterrupt:
        if not (partial_on_interrupt and parts):
            raise
    games = min(len(parts) * BATCH, games)
    arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    arrays["seeds"] = np.arange(first_seed, first_seed + games, dtype=np.int64)
    about = {
        "game": game.name,
        "options": game.given_options,
        "player": text,
        "opponent": opponent,
        "exploration": share,
        "actions": list(game.actions),
        "fields": {OBSERVATIONS: "what the environment shows", **FIELDS},
        "version": version("leafwise"),
    }
    return Dataset(arrays, about)


def play_piece(
    game: Game, text: str, opponent: str, exploration: float, first_seed: int, numbers: Sequence[int]
) -> dict[str, NDArray[Any]]:
    """Plays the games of these numbers with players made anew; returns their arrays, all but the seeds."""
    own = player(text, game, seed=first_seed + numbers[0])
    other = player(opponent, game, seed=first_seed + numbers[0] + 1) if opponent else None
    observer, parts = Observer(game), []
    for number in numbers:
        seats: list[Player | None] = [own, own]
        if other is not None:
            seats[1 - number % 2] = None
        decisions, end = play(game, seats, other, first_seed + number, exploration)
        if decisions:  # the opponent may win before the player has a turn
            parts.append(arrays_of(observer, decisions, end, number))
    if not parts:
        raise UserError(f"dataset: expected a game in which {text!r} has a turn, got none of seeds from {first_seed}")
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def play(
    game: Game, seats: Sequence[Player | None], other: Player | None, seed: int, exploration: float
) -> tuple[list[Decision], State]:
    """Plays one game; returns the decisions of the players that sit in `seats`, and how it ended.

    Its chance is that of `env.reset(seed=seed)`; `other` plays where nobody sits, and draws as the environment's opponent does.
    """
    stream, moves = new_stream(seed), new_stream(int(mix(np.uint64(seed) ^ GOLDEN)))
    both = streams_of_both(game, seed, stream) if game.players == 2 and other is None else None
    for who in filter(None, (*seats, other)):
        if begin := getattr(who, "begin", None):
            begin()
        draw_from(who, new_stream(derived(seed, PLAYER)))
    decisions: list[Decision] = []

    def choose(state: State) -> int:
        own = seats[state.current_player]
        if own is None:
            assert other is not None
            draw_from(other, stream)
            return other.choose(state)
        if both is not None:
            draw_from(own, both[state.current_player])
        choice, value = decide(own, state)
        action = choice
        if exploration and uniform(moves) < exploration:
            action = state.legal_actions[int(below(moves, len(state.legal_actions)))]
        decisions.append(Decision(state, action, choice, value))
        return action

    return decisions, play_out(game.start(), choose, lambda state: state.settle(stream))


def streams_of_both(game: Game, seed: int, stream: NDArray[np.uint64]) -> list[NDArray[np.uint64]]:
    """Returns the random numbers of a player that plays both sides, by seat; `stream` is that of chance.

    Either side is the other's opponent in an environment, and draws what that would draw: both in a game without chance; with
    chance the second side alone, whose draws come between those of chance.
    """
    if game.max_stages:
        return [new_stream(derived(seed, PLAYER)), stream]
    return [new_stream(seed), new_stream(seed)]


def draw_from(who: Player, stream: NDArray[np.uint64]) -> None:
    """Lets a player that draws take its random numbers from a stream; environments do so before every decision."""
    if hasattr(who, "stream"):
        who.stream = stream


def decide(own: Player, state: State) -> tuple[int, float]:
    """Returns a player's action, and its search's value for the player who acts; nan if it tells none."""
    if not isinstance(own, SearchPlayer):
        return own.choose(state), np.nan
    if isinstance(own, GreedyPlayer):
        return own.choose(state), own.search(state).value
    found = own.search(state)
    assert found.action is not None
    return found.action, found.value


def arrays_of(observer: Observer, decisions: Sequence[Decision], end: State, number: int) -> dict[str, NDArray[Any]]:
    """Returns the arrays of one game."""
    n, result = len(decisions), end.returns
    players = np.array([decision.state.current_player for decision in decisions], dtype=np.int8)
    last = np.zeros(n, dtype=np.bool_)
    last[[np.flatnonzero(players == seat)[-1] for seat in set(players.tolist())]] = True
    rows = [*(decision.state.row for decision in decisions), *[end.row] * last.sum()]
    seen = observer(np.array(rows), viewers=np.concatenate([players, players[last]]))
    sign, rewards = np.where(players == 1, -1.0, 1.0), np.zeros(n)
    for seat in (0, 1):
        own = np.flatnonzero(players == seat)
        rewards[own] = sign[own] * np.diff(np.append(seen.returns[own], result))
    named = {f".{name}": array for name, array in seen.obs.items()} if isinstance(seen.obs, dict) else {"": seen.obs}
    return {
        **{f"{OBSERVATIONS}{name}": array[:n] for name, array in named.items()},
        **{f"{FINAL}{name}": array[n:] for name, array in named.items()},
        "masks": seen.mask[:n],
        "actions": np.array([decision.action for decision in decisions], dtype=np.int64),
        "choices": np.array([decision.choice for decision in decisions], dtype=np.int64),
        "rewards": rewards,
        "values": np.array([decision.value for decision in decisions]),
        "results": sign * result,
        "terminations": last,
        "players": players,
        "games": np.full(n, number, dtype=np.int64),
    }
