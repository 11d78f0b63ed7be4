"""Lists the answers of the whole API along one game: `python -m contract.playthrough` prints the listing of every case.

With a seed as its argument it prints endless listings of random games from that seed on; a line `END` closes each. Tests compare
the listing with stored files, with a run of plain Python, and with a build that checks every index.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from itertools import count
from random import Random
from zlib import crc32

import numpy as np

from contract.cases import CASES, some, some_symmetries, twin
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import FIRST, State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.gym.observation import new_observations, reader

SEED = 900_000
DETAILED = 30
"""Number of rows listed in full; later ones have only their text and the action or outcome."""
SHOWN_OUTCOMES = 6
END = "end of a listing\n"


def number(x: float) -> str:
    return f"{x:.9g}"


def shortened(words: list[str]) -> str:
    """Returns the words, or the first 60 and a checksum if there are more than 200."""
    text = " ".join(words)
    if len(words) <= 200:
        return text
    return f"{' '.join(words[:60])} ... {len(words)} words, crc32 {crc32(text.encode()):08x}"


def playthrough(game: Game, seed: int = SEED) -> str:
    """Returns the listing of one random game: each position's text and the answers of the API, indented."""
    rng, stream, state = Random(seed), new_stream(seed), game.start()
    lines = [repr(game), f"actions: {shortened(list(game.actions))}", f"stages: {' '.join(game.stages)}"]
    for k in range(400):
        lines += ["", f"[{k}] {state}"]
        if k < DETAILED or state.is_terminal:
            lines += [f"  {line}" for line in details(game, state)]
        if state.is_terminal:
            break
        if state.is_chance:
            after = state.sample(stream)
            lines.append(f"  -- chance: {game.text.outcome_name(state.row, after.row, game.tables())}")
            state = after
        else:
            name = rng.choice(state.legal_names)
            lines.append(f"  -- {name}")
            state = state.play(name)
    return "\n".join(lines) + "\n"


@cache
def evaluators(game: Game) -> list[Evaluator]:
    return [game.score(name) for name in game.scores]


def listing(game: Game, seed: int = SEED) -> str:
    """Returns the listing of a game and of a few positions that are rare in random play."""
    states = [game.parse(text) for text in twin(game).unusual(Random(seed))][:8]
    return playthrough(game, seed) + "".join(f"{line}\n" for s in states for line in [str(s), *details(game, s)])


def details(game: Game, state: State) -> list[str]:
    """Returns the answers of the API in a position, one a line."""
    T, rows = game.tables(), np.array([state.row])
    O = new_observations(game, 1)
    game.rules.observe(rows, FIRST, O, FIRST, T)
    lines = [
        f"row: {shortened([f'{int(word):x}' for word in state.row])}",
        f"player: {state.current_player}, stage: {state.stage}, returns: {number(state.returns)}",
        f"key: {int(game.rules.key(rows, FIRST, T)):016x}",
    ]
    seen = reader(O)()
    for name, array in seen.items() if isinstance(seen, dict) else [("observation", seen)]:
        lines.append(f"{name}: {shortened([number(float(x)) for x in array.ravel()])}")
    leaves = [e for e in evaluators(game) if state.stage in ("decision", *e.stages)]
    lines += [f"score {e.name}: {number(state.value(e))}" for e in leaves]
    images = {k: state.transformed(k) for k in some_symmetries(game) if k}
    lines += [f"symmetry {k}: {image}" for k, image in images.items()][:2]
    if len(state.legal_actions) > len(some(state.legal_actions)):
        lines.append(f"{len(state.legal_actions)} legal actions")
    for a in some(state.legal_actions):
        cost = int(game.rules.action_cost(rows, FIRST, a, T))
        turned = " ".join(game.actions[game.symmetries.transform_action(a, k, T)] for k in images)
        lines.append(f"action {game.actions[a]} ({cost}; {turned}): {state.play(a)}")
    if state.is_chance:
        outcomes = state.outcomes()
        lines.append(f"{len(outcomes)} outcomes")
        for p, after in outcomes[:SHOWN_OUTCOMES]:
            lines.append(f"outcome {game.text.outcome_name(state.row, after.row, T)} ({number(p)}): {after}")
    return lines


def listings_from(seed: int) -> Iterator[str]:
    """Yields endless listings of random games, of each case in turn."""
    for k in count(seed):
        for case in CASES:
            yield listing(case, k)


if __name__ == "__main__":
    if sys.argv[1:]:
        for text in listings_from(int(sys.argv[1])):
            sys.stdout.write(text + END)
    for case in CASES:
        sys.stdout.write(listing(case))
