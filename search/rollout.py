"""Roll-outs as a leaf: the value of a position is the mean return of games played out from it.

`rollout:n=20,policy=random,seed=0`: n games, by random moves or by `greedy:SCORE`. The random numbers of a row come from its key
and the seed. The value is thus a function of the row: transpositions and repeated searches agree.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from leafwise.envs.core.arrays import Array, Floats, Ints, Words
from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL, Compiled, Rules
from leafwise.envs.core.contract.stream import below, mix
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.play.players import compiled_greedy, rows_needed
from leafwise.envs.core.ranges import Range, ranged
from leafwise.search.search_options import read_options

GAMES = 20
"""Default number of games per value."""
MAX_GAMES = 1_000_000
OPTIONS = {"n": int, "policy": str, "seed": int}
ZERO, ONE = np.uint64(0), np.uint64(1)


class RolloutWeights(NamedTuple):
    """The evaluator's part of `T`."""

    games: int
    seed: np.uint64
    tables: Any
    """The `T` of the policy's score; () for random moves."""
    stream: Words
    """Scratch: the random numbers of one row."""
    actions: Ints
    """Scratch: legal actions."""
    rows: Array
    """Scratch: the game that is played, and rows for a greedy choice."""
    P: Floats
    """Scratch: probabilities of those rows."""


@cache
def make_rollout(rules: Rules, greedy_action: Compiled | None, room: Path) -> Compiled:
    """Compiles a game's `rollout_value`, with random moves or a greedy choice."""
    current_player, apply_action, returns = rules.current_player, rules.apply_action, rules.returns
    sample_outcome, key = rules.sample_outcome, rules.key
    legal_actions, by_score = rules.legal_actions, greedy_action is not None

    @bind(room, inline=True)
    def choose(S, i, R, T):
        """Returns the best action of row i by the score one decision ahead, or a random one drawn from stream R."""
        W = T.leaf
        if by_score:
            return greedy_action(S, i, i + ONE, W.actions, W.P, R, W.tables)  # type: ignore[misc]
        return W.actions[below(R, legal_actions(S, i, W.actions, T))]

    @bind(room)
    def rollout_value(S, i, T):
        """Returns the mean return of games played out from row i of S [rows, width], for the player who acts; 0 once stopped."""
        W = T.leaf
        game_rows, R = W.rows, W.stream
        R[0], R[1] = mix(np.uint64(key(S, i, T)) ^ mix(W.seed)), ZERO
        total = 0.0
        for _ in range(W.games):
            for w in range(S.shape[1]):
                game_rows[ZERO, w] = S[i, w]
            # To the end of the game, unless it is stopped
            player = current_player(game_rows, ZERO, T)
            while player != TERMINAL:
                if T.stop[0]:
                    return 0.0
                if player == CHANCE:
                    sample_outcome(game_rows, ZERO, R, T)
                else:
                    apply_action(game_rows, ZERO, choose(game_rows, ZERO, R, T), ZERO, T)
                player = current_player(game_rows, ZERO, T)
            total += returns(game_rows, ZERO, T)
        mean = total / W.games
        return -mean if current_player(S, i, T) == 1 else mean

    return rollout_value


@ranged("rollout")
def rollout(
    game: Game,
    n: Annotated[int, Range(1, MAX_GAMES, unit="games")] = GAMES,
    policy: str = "random",
    seed: Annotated[int, Range(0, 2**64 - 1)] = 0,
) -> Evaluator:
    """Returns an evaluator whose value is the mean return of `n` games, played to the end and not discounted.

    Args:
        n: number of games that are played to the end to value a position.
        policy: how the players choose in these games: `random`, `greedy` or `greedy:SCORE`.
        seed: seed of the random numbers, which also depend on the position.

    Raises ValueError for other options.
    """
    kind, _, name = policy.partition(":")
    if kind not in ("random", "greedy") or policy in ("random:", "greedy:") or (kind == "random" and name):
        raise UserError(f"rollout: expected policy random, greedy or greedy:SCORE, got {policy!r}")
    score = game.score(name) if kind == "greedy" else None
    rows = 1 + (rows_needed(game) if score else 0)
    stated = [("n", n, None), ("policy", policy, "random"), ("seed", seed, 0)]
    return Evaluator(
        "rollout:" + ",".join(f"{option}={value}" for option, value, default in stated if value != default),
        make_rollout(game.rules, compiled_greedy(game, score) if score else None, game.room),
        RolloutWeights(
            games=n,
            seed=np.uint64(seed),
            tables=game.tables(score) if score else (),
            stream=np.zeros(2, dtype=np.uint64),
            actions=np.zeros(game.max_actions, dtype=np.int64),
            rows=game.rows(rows),
            P=np.zeros(rows),
        ),
        low=game.return_range[0],
        high=game.return_range[1],
        scratch=("stream", "actions", "rows", "P", *(f"tables.{name}" for name in game.scratch if score)),
        python_only=True,
        game=game,
    )


def is_rollout(text: str) -> bool:
    """Whether the name of a leaf is that of a roll-out."""
    return text.partition(":")[0] == "rollout"


def parse_rollout(game: Game, text: str) -> Evaluator:
    """Returns the evaluator of a name like `rollout:n=20,policy=greedy:SCORE,seed=0`; raises ValueError for other options."""
    try:
        options = read_options(filter(None, text.partition(":")[2].split(",")), OPTIONS)
    except UserError as problem:
        raise UserError(f"leaf {text!r}: {problem}") from None
    return rollout(game, **options)
