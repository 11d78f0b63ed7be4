"""Turns of backgammon by trying everything, in plain Python that shares nothing with the rules."""

from __future__ import annotations

from collections.abc import Iterator

Side = tuple[int, ...]
"""Checkers at 0 (borne off), 1 to 24 and 25 (the bar), counted from their owner's side."""
Board = tuple[Side, Side]
"""Who moves, then the other."""


def single(board: Board, point: int, pips: int) -> Board | None:
    """The board after one checker's move, or None."""
    mine, theirs = list(board[0]), list(board[1])
    if not mine[point] or (mine[25] and point != 25):
        return None
    to = point - pips
    if to > 0:
        if theirs[25 - to] > 1:
            return None
        if theirs[25 - to]:
            theirs[25 - to] -= 1
            theirs[25] += 1
    else:
        if any(mine[7:]) or (to < 0 and any(mine[point + 1 :])):
            return None
        to = 0
    mine[point] -= 1
    mine[to] += 1
    return tuple(mine), tuple(theirs)


def sequences(board: Board, dice: tuple[int, ...]) -> Iterator[tuple[tuple[int, int], ...]]:
    """All ways to move by the dice in this order, as far as it goes."""
    for point in range(1, 26) if dice else ():
        after = single(board, point, dice[0])
        if after is not None:
            yield ((point, dice[0]),)
            for rest in sequences(after, dice[1:]):
                yield ((point, dice[0]), *rest)


def after(board: Board, moves: tuple[tuple[int, int], ...]) -> Board:
    for point, pips in moves:
        boards = single(board, point, pips)
        assert boards is not None
        board = boards
    return board


def turns(board: Board, high: int, low: int) -> list[tuple[tuple[int, int], ...]]:
    """All legal turns, each in every order; one without moves where nothing can move."""
    orders = [(high,) * 4] if high == low else [(high, low), (low, high)]
    boards = [moves for dice in orders for moves in sequences(board, dice)]
    longest = max(map(len, boards), default=0)
    boards = [moves for moves in boards if len(moves) == longest]
    if longest == 1 and high != low and any(moves[0][1] == high for moves in boards):
        boards = [moves for moves in boards if moves[0][1] == high]
    return boards or [()]
