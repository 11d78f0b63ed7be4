"""A second Trilobite, written from the rules in plain Python; tests compare with it."""

from __future__ import annotations

import random

Board = tuple[tuple[int, ...], ...]
"""Columns from left to right, each the players' chips from the floor up."""


def empty(width: int) -> Board:
    return ((),) * width


def drop(board: Board, column: int, player: int) -> Board:
    return board[:column] + (board[column] + (player,),) + board[column + 1 :]


def wins(board: Board, column: int, k: int) -> bool:
    """Whether the top chip of a column lies in a line of k."""
    row = len(board[column]) - 1
    player = board[column][row]

    def run(dx: int, dy: int) -> int:
        x, y, n = column + dx, row + dy, 0
        while 0 <= x < len(board) and 0 <= y < len(board[x]) and board[x][y] == player:
            x, y, n = x + dx, y + dy, n + 1
        return n

    return any(run(dx, dy) + run(-dx, -dy) + 1 >= k for dx, dy in ((1, 0), (0, 1), (1, 1), (1, -1)))


def legal(board: Board, height: int) -> list[int]:
    return [c for c, column in enumerate(board) if len(column) < height]


def score(board: Board, height: int, k: int, memo: dict[Board, int]) -> int:
    """The mover's score: (cells + 1 - m) // 2 for a win with m chips before the winning one."""
    if board not in memo:
        chips = sum(map(len, board))
        memo[board] = max((move_score(board, c, height, k, chips, memo) for c in legal(board, height)), default=0)
    return memo[board]


def move_score(board: Board, column: int, height: int, k: int, chips: int, memo: dict[Board, int]) -> int:
    after = drop(board, column, chips % 2)
    if wins(after, column, k):
        return (len(board) * height + 1 - chips) // 2
    return -score(after, height, k, memo)


def random_position(rng: random.Random, width: int, height: int, k: int, chips: int) -> tuple[str, Board]:
    """Plays at random to a position that is not decided: (columns played from 1 on, board)."""
    while True:
        board, played = empty(width), ""
        for n in range(chips):
            column = rng.choice(legal(board, height))
            board = drop(board, column, n % 2)
            if wins(board, column, k):
                break
            played += str(column + 1)
        else:
            return played, board
