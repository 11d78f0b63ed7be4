"""Cases of the contract suite: every registered game, the two test games, some variants, and positions of each."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Any, TypeVar

from games import dice, solitaire
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.registry import game, games

T = TypeVar("T")

GAMES: list[Game] = list(dict.fromkeys([*map(game, games()), dice.GAME, solitaire.GAME]))

VARIANTS: dict[str, list[dict[str, Any]]] = {
    "trap": [{"size": 3, "self_trap": "deferred"}, {"size": 4, "max_turns": 12}, {"size": 9}],
    "threes": [
        {"bonus_value": "window3", "hint": "window3"},
        {"bonus_value": "window3", "bonus_p": 0.5},
        {"bonus_value": "window3", "hint": "exact", "top": "continue", "bonus_p": 0.5},
        {"hint": "colour", "bonus_p": 0.25, "entry": "any_empty_edge"},
        {"bonus_schedule": "slot21", "top": "no_merge_6144"},
    ],
    "dice": [{"length": 5, "turns": 3}],
    "friday": [
        {"level": 3, "scared_stacking": "one", "double_needs_source": False},
        {"empty_aging": "reshuffle_only", "destroy": "immediate", "start_life": 31},
    ],
    "solitaire": [{"copies": 1, "discards": 0}],
}
"""Variants to run besides the defaults and the Gymnasium ids."""

LARGE = {"starship"}
"""Games whose other ids are only larger. A plain twin would take minutes; the tests of their rooms play them."""

CASES: list[Game] = list(
    dict.fromkeys(
        g.variant(**options)
        for g in GAMES
        for options in [{}, *(() if g.name in LARGE else g.ids.values()), *VARIANTS.get(g.name, [])]
    )
)

MAX_SYMMETRIES = 24
"""Maximum number of symmetries to try."""

PER_KIND = 20
"""Number of positions of each kind: stage or finished, from random play or from unusual positions."""


@cache
def twin(g: Game) -> Any:
    """Returns the naive twin of a game; each game must have one in tests/twins."""
    return importlib.import_module(f"twins.{g.name}").Twin(g.options)


@cache
def some_symmetries(g: Game) -> tuple[int, ...]:
    """Returns every symmetry, or the first, the last and a random few if there are more than `MAX_SYMMETRIES`."""
    if g.symmetry_count <= MAX_SYMMETRIES:
        return tuple(range(g.symmetry_count))
    between = Random(g.symmetry_count).sample(range(1, g.symmetry_count - 1), MAX_SYMMETRIES - 2)
    return (0, *sorted(between), g.symmetry_count - 1)


@cache
def positions(g: Game) -> tuple[State, ...]:
    """Returns positions of every stage, from random games and from a few plies after unusual positions."""
    kept: dict[tuple[str, bool, bool], dict[State, None]] = {}
    rng = Random(7)

    def keep(state: State, unusual: bool) -> None:
        kept.setdefault((state.stage, state.is_terminal, unusual), {})[state] = None

    for seed in range(900_000, 900_008):
        walk(g.start(), seed, 150, lambda state: keep(state, False))
    for k, text in enumerate(twin(g).unusual(rng)):
        walk(g.parse(text), 900_100 + k, 5, lambda state: keep(state, True))
    drawn = [s for kind in kept.values() for s in rng.sample(list(kind), min(PER_KIND, len(kind)))]
    return tuple(dict.fromkeys(drawn))


def walk(state: State, seed: int, decisions: int, visit: Any) -> None:
    """Plays at random to the end or for some decisions; calls `visit` with every state, chance nodes too."""
    rng, stream = Random(seed), new_stream(seed)
    while decisions and not state.is_terminal:
        visit(state)
        if state.is_chance:
            state = state.sample(stream)
        else:
            state = state.play(rng.choice(state.legal_actions))
            decisions -= 1
    visit(state)


def some(items: Sequence[T], limit: int = 12) -> list[T]:
    """Returns all items, or `limit` random ones if there are many: some games have hundreds of actions."""
    return list(items) if len(items) <= 2 * limit else sorted(Random(len(items)).sample(items, limit))  # type: ignore[type-var]


def decisions_of(g: Game) -> list[State]:
    """Returns the positions in which a player acts."""
    return [s for s in positions(g) if s.legal_actions]
