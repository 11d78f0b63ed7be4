"""Measures a leaf of backgammon: points a game against gnubg-nn or Pubeval with paired dice, or the loss of its decisions.

    pip install gnubg-nn    # in any environment of Python 3.10 to 3.13; --gnubg names its interpreter
    python measure.py learned --games 1000 --gnubg /path/to/python
    python measure.py learned --games 1000 --gnubg /path/to/python --pubeval
    python measure.py learned --depth 2 --decisions 2000 --gnubg /path/to/python

The games of a pair have the same dice and swapped seats. A decision's loss is the difference between the best and the played turn
by gnubg-nn at 2 ply, in points a game of 28 decisions; the loss of gnubg-nn at 0 ply in the same positions is printed beside it.
The other programs run in their own process, and no network learns from them.
"""

from __future__ import annotations

import argparse
import math
import random
import subprocess
import time
from collections.abc import Callable, Sequence
from statistics import NormalDist, mean, stdev

from leafwise_backgammon import GAME, rules

import leafwise
from leafwise.authoring import State

PROGRAM = """
import sys
import gnubg_nn
kind = sys.argv[1]

def equity(p):
    return 2 * p[0] - 1 + p[1] + p[2] - p[3] - p[4]

for line in sys.stdin:
    name, high, low, *ends = line.split()
    board = gnubg_nn.board_from_position_id(name)
    if kind == "judge":
        _, listed = gnubg_nn.best_move(board, int(high), int(low), 2, b"X", 0, 0, 1)
        worth = [-equity(gnubg_nn.probabilities(gnubg_nn.board_from_position_id(end), 2)) for end in ends]
        best = max([*worth, *(entry[3] for entry in listed)])
        print(*(best - value for value in worth), flush=True)
        continue
    if kind == "pub":
        moves = [n + 1 for n in gnubg_nn.pub_best_move(board, int(high), int(low)) or ()]
        moves = list(zip(moves[::2], moves[1::2]))
    else:
        moves = gnubg_nn.best_move(board, int(high), int(low), 0)
    print(*(f"{start},{to}" for start, to in moves), flush=True)
"""
"""Code of the other process: it reads a position ID and two dice, and prints the moves, 25 the bar and 0 off. As a judge it also
reads the IDs after some turns, and prints their losses."""
DECISIONS = 28
"""Decisions of one player in a game."""
Mover = Callable[[State], State]
"""Plays a turn: the position after a throw -> the position after the turn."""


def by_search(leaf: str, depth: int, width: int = 0) -> Mover:
    """Returns a mover that searches; with `width` it searches whole turns, the best ones deeper."""
    text = f"turns:{leaf},depth={depth},width={width}" if width else f"search:{leaf},depth={depth}"
    search = leafwise.player(text, GAME)

    def play(state: State) -> State:
        player = state.current_player
        while state.current_player == player:
            state = state.play(search.choose(state))
        return state

    return play


def started(python: str, kind: str) -> Callable[..., list[str]]:
    """Starts the other program; returns a function that asks it about a position after a throw."""
    program = subprocess.Popen([python, "-c", PROGRAM, kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert program.stdin is not None
    assert program.stdout is not None
    questions, answers = program.stdin, program.stdout

    def ask(state: State, *ends: State) -> list[str]:
        names = [str(end).split()[0] for end in (state, *ends)]
        print(names[0], state.row[rules.DIE], state.row[rules.OTHER], *names[1:], file=questions, flush=True)
        return answers.readline().split()

    return ask


def by_program(python: str, kind: str) -> Mover:
    """Returns a mover that plays as the other program."""
    ask = started(python, kind)

    def play(state: State) -> State:
        row, player = state.row.astype(int), state.current_player
        wanted = [list(row[rules.SIDE * p :][: rules.SIDE]) for p in (player, 1 - player)]
        for word in ask(state):
            start, to = map(int, word.split(","))
            wanted[0][start] -= 1
            wanted[0][max(to, 0)] += 1
            if to > 0 and wanted[1][rules.BAR - to]:
                wanted[1][rules.BAR - to] -= 1
                wanted[1][rules.BAR] += 1
        matching = [end for end in ends(state, player) if sides(end, player) == wanted]
        if not matching:
            raise ValueError(f"expected a legal turn from the other program, got {wanted} after {state}")
        return matching[0]

    return play


def sides(state: State, player: int) -> list[list[int]]:
    """Returns the checkers of a player and of the other."""
    return [[int(n) for n in state.row[rules.SIDE * p :][: rules.SIDE]] for p in (player, 1 - player)]


def ends(state: State, player: int) -> list[State]:
    """Returns the possible positions after a turn."""
    if state.current_player != player:
        return [state]
    return [end for action in state.legal_actions for end in ends(state.play(action), player)]


def decisions(mover: Mover, n: int, seed: int) -> list[State]:
    """Returns positions after a throw with at least two turns, from a player's games against itself."""
    rng, state, positions = random.Random(seed), GAME.start(), []
    while len(positions) < n:
        if state.is_terminal:
            state = GAME.start()
        outcomes = state.outcomes()
        state = rng.choices([after for _, after in outcomes], [p for p, _ in outcomes])[0]
        if len(ends(state, state.current_player)) > 1:
            positions.append(state)
        state = mover(state)
    return positions


def print_losses(mover: Mover, python: str, n: int, seed: int) -> None:
    """Prints the loss of decisions, and the processor time of a turn."""
    positions, other, judge = (
        decisions(by_search("learned", 1), n, seed),
        by_program(python, "nn"),
        started(python, "judge"),
    )
    mover(positions[0])  # compiled before the clock runs
    begun = time.process_time()
    chosen = [mover(state) for state in positions]
    spent = 1000 * (time.process_time() - begun) / n
    losses = []
    for state, end in zip(positions, chosen, strict=True):
        both = (end, other(state))
        losses.append([0.0, 0.0] if end.is_terminal else [DECISIONS * float(loss) for loss in judge(state, *both)])
    ours, theirs = zip(*losses, strict=True)
    more = [one - two for one, two in losses]
    print("loss, points a game:", with_interval(ours))
    print("loss of gnubg-nn at 0 ply:", with_interval(theirs))
    print("difference:", with_interval(more))
    print(f"{n} decisions, {spent:.2f} ms a turn")


def with_interval(values: Sequence[float]) -> str:
    """Returns a mean with its interval."""
    return f"{mean(values):+.3f} +- {NormalDist().inv_cdf(0.975) * stdev(values) / math.sqrt(len(values)):.3f}"


def points(movers: tuple[Mover, Mover], seed: str) -> float:
    """Plays a game and returns the first player's points."""
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
    parser.add_argument("--width", type=int, default=0, help="search whole turns, this many of them deeper")
    parser.add_argument("--games", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--gnubg", help="the interpreter with gnubg-nn; without it the opponent plays by race")
    parser.add_argument("--pubeval", action="store_true", help="play against Pubeval rather than gnubg-nn at 0 ply")
    parser.add_argument(
        "--decisions", type=int, default=0, help="measure the loss of this many decisions instead of games"
    )
    words = parser.parse_args()
    if words.decisions and not words.gnubg:
        parser.error("expected --gnubg with --decisions, got none")
    mover = by_search(words.leaf, words.depth, words.width)
    if words.decisions:
        print_losses(mover, words.gnubg, words.decisions, words.seed)
        return
    other = by_program(words.gnubg, "pub" if words.pubeval else "nn") if words.gnubg else by_search("race", 1)
    begun, results = time.process_time(), []
    for k in range(words.games // 2):
        seed = f"{words.seed} {k}"
        results.append((points((mover, other), seed) - points((other, mover), seed)) / 2)
    print(f"{with_interval(results)} points a game over {2 * len(results)} games, {time.process_time() - begun:.0f} s")


if __name__ == "__main__":
    main()
