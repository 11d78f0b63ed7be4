"""Answers for a player of Trap, a line for a line: `python experiments/trap/answer.py search:learned,seconds=0.025`.

Each line read is a position as text, each line written the name of an action. It uses nothing of leafwise but `game` and `player`,
so that the Python of another version's checkout can run this file: `experiments.trap.turns` plays against it.
"""

from __future__ import annotations

import sys

import leafwise


def main(arguments: list[str]) -> int:
    """Runs the command line: a player's text."""
    if len(arguments) != 1:
        print(f"expected a player, got {arguments!r}", file=sys.stderr)
        return 2
    try:
        game = leafwise.game("trap")
        player = leafwise.player(arguments[0], game)
        for line in sys.stdin:
            print(game.actions[player.choose(game.parse(line.strip()))], flush=True)
    except ValueError as problem:
        print(problem, file=sys.stderr)
        return 2
    except KeyboardInterrupt:  # who asks has been told too
        return 130
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
