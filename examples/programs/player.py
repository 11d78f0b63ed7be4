"""A program that plays Trilobite, and other games at random. It needs only Python: no Leafwise, no package.

leafwise play trilobite --board 7x6 --k 4 --opponent "program:python examples/programs/player.py"
"""

import json
import random
import sys


def board_of(state):
    """Returns the rows of a position, the top one first: `./x/o` is three rows of one cell."""
    return [list(row) for row in state.split()[0].split("/")]


def wins(board, k, column, mark):
    """Whether a chip in a column makes a line of k."""
    row = max(y for y in range(len(board)) if board[y][column] == ".")

    def run(y, x, down, right):
        count = 0
        while 0 <= y + down < len(board) and 0 <= x + right < len(board[0]) and board[y + down][x + right] == mark:
            y, x, count = y + down, x + right, count + 1
        return count

    ways = ((0, 1), (1, 0), (1, 1), (1, -1))
    return any(run(row, column, *way) + 1 + run(row, column, -way[0], -way[1]) >= k for way in ways)


def choose(game, options, position, rng):
    """Returns a winning move, else one that blocks the other player's win, else a random move."""
    moves = position["moves"]
    if game == "trilobite":
        board, mark_of_player = board_of(position["state"]), "xo"[position["player"]]
        for target in (mark_of_player, "xo".replace(mark_of_player, "")):
            for move in moves:
                if wins(board, options.get("k", 3), int(move) - 1, target):
                    return move
    return rng.choice(moves)


def main():
    game, options, position, rng = "", {}, {}, random.Random(0)
    for line in sys.stdin:
        request = json.loads(line)
        if request["ask"] == "hello":
            answer = {"ready": 1, "name": "player.py"} if request["protocol"] == 1 else {"error": "expected version 1"}
        elif request["ask"] == "new":
            game, options, rng = request["game"], request["options"], random.Random(request["seed"])
            answer = {"ready": 1}
        elif request["ask"] == "go":
            answer = {"move": choose(game, options, position, rng)}
        elif request["ask"] == "quit":
            return
        else:
            position = request if request["ask"] == "position" else position
            continue
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
