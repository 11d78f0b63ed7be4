"""How good a leaf plays: points a game against gnubg-nn or Pubeval, which run in a process of their own, with paired dice.

    pip install gnubg-nn    # in any environment of Python 3.10 to 3.13, whose interpreter --gnubg names
    python measure.py learned --games 1000 --gnubg /path/to/python
    python measure.py learned --games 1000 --gnubg /path/to/python --pubeval

Each two games have the same dice and the seats swapped. Nothing of that program is learned from.
"""

from __future__ import annotations

import argparse
import math
import random
import subprocess
import time
from collections.abc import Callable
from statistics import NormalDist, mean, stdev

from leafwise_backgammon import GAME, rules

import leafwise
from leafwise.authoring import State

PROGRAM = """
import sys
import gnubg_nn
pub, choose = sys.argv[1] == "pub", None
for line in sys.stdin:
    name, high, low = line.split()
    board = gnubg_nn.board_from_position_id(name)
    if pub:
        found = [n + 1 for n in gnubg_nn.pub_best_move(board, int(high), int(low)) or ()]
        found = list(zip(found[::2], found[1::2]))
    else:
        found = gnubg_nn.best_move(board, int(high), int(low), 0)
    print(*(f"{start},{to}" for start, to in found), flush=True)
"""
"""What the other process runs: a position ID and two dice in, the moves out, 25 the bar and 0 off."""
Mover = Callable[[State], State]
"""What plays a turn: the position after a throw -> that after the turn."""


def by_search(leaf: str, depth: int) -> Mover:
    """Returns what plays by a search."""
    search = leafwise.Search(GAME, leafwise.leaf(GAME, leaf), depth=depth)

    def play(state: State) -> State:
        player = state.current_player
        while state.current_player == player:
            state = state.play(search(state).action)
        return state

    return play


def by_program(python: str, kind: str) -> Mover:
    """Returns what plays as the other program does."""
    program = subprocess.Popen([python, "-c", PROGRAM, kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert program.stdin is not None
    assert program.stdout is not None

    def play(state: State) -> State:
        row, player = state.row.astype(int), state.current_player
        print(str(state).split()[0], row[rules.DIE], row[rules.OTHER], file=program.stdin, flush=True)
        wanted = [list(row[rules.SIDE * p :][: rules.SIDE]) for p in (player, 1 - player)]
        for word in program.stdout.readline().split():
            start, to = map(int, word.split(","))
            wanted[0][start] -= 1
            wanted[0][max(to, 0)] += 1
            if to > 0 and wanted[1][rules.BAR - to]:
                wanted[1][rules.BAR - to] -= 1
                wanted[1][rules.BAR] += 1
        found = [end for end in ends(state, player) if sides(end, player) == wanted]
        if not found:
            raise ValueError(f"expected a legal turn from the other program, got {wanted} after {state}")
        return found[0]

    return play


def sides(state: State, player: int) -> list[list[int]]:
    """Returns the checkers of a player and of the other."""
    return [[int(n) for n in state.row[rules.SIDE * p :][: rules.SIDE]] for p in (player, 1 - player)]


def ends(state: State, player: int) -> list[State]:
    """Returns the positions that a turn can lead to."""
    if state.current_player != player:
        return [state]
    return [end for action in state.legal_actions for end in ends(state.play(action), player)]


def points(movers: tuple[Mover, Mover], seed: str) -> float:
    """Plays a game and returns the first one's points."""
    rng, state = random.Random(seed), GAME.start()
    while not state.is_terminal:
        outcomes = state.outcomes()
        state = rng.choices([after for _, after in outcomes], [p for p, _ in outcomes])[0]
        state = movers[state.current_player](state)
    return float(state.returns)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("leaf", help="a score (race), a model's name, a run folder or a file")
    parser.add_argument("--depth", type=int, default=1)
    parser.add_argument("--games", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--gnubg", help="the interpreter that has gnubg-nn; without it the other plays by race")
    parser.add_argument("--pubeval", action="store_true", help="play against Pubeval rather than gnubg-nn at 0 ply")
    words = parser.parse_args()
    own = by_search(words.leaf, words.depth)
    other = by_program(words.gnubg, "pub" if words.pubeval else "nn") if words.gnubg else by_search("race", 1)
    started, found = time.process_time(), []
    for k in range(words.games // 2):
        seed = f"{words.seed} {k}"
        found.append((points((own, other), seed) - points((other, own), seed)) / 2)
    half = NormalDist().inv_cdf(0.975) * stdev(found) / math.sqrt(len(found))
    print(
        f"{mean(found):+.3f} +- {half:.3f} points a game over {2 * len(found)} games, {time.process_time() - started:.0f} s"
    )


if __name__ == "__main__":
    main()
