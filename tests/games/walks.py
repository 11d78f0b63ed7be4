"""Positions of random games, for tests of searches."""

from functools import cache
from random import Random

from leafwise.authoring import Game, State, new_stream


@cache
def positions(g: Game, count: int) -> list[State]:
    """Returns different random decisions, from the start of games to their end; fewer if there are no more."""
    rng, seed = Random(5), 900_000
    states: dict[State, None] = {}
    while len(states) < count and seed < 900_000 + 10 * count:
        stream = new_stream(seed)
        state = g.new(seed)
        while not state.is_terminal:
            if rng.random() < 0.3:
                states[state] = None
            state = state.play(rng.choice(state.legal_actions)).settle(stream)
        seed += 1
    return list(states)[:count]
