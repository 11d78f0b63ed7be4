"""Hand-made scores of Threes: worked values to the given digits, and twins written from the formulas."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

import leafwise
from leafwise.envs.core.contract.state import State

THREES = leafwise.game("threes")

# board: score, openness, openness_wegner, rows_cli
WORKED = {
    "1 2 0 3/3 3 6 6/0 0 3 0/6 3 1 2": (42, 16, 16, 1_558_386),
    "3 6 12 24/6 12 24 48/1 1 2 2/2 1 1 2": (480, 11, 13, 1_433_262),
    "0 0 0 0/0 3 0 0/0 0 0 0/0 0 0 0": (3, 30, 45, 1_599_457),
    "1 1 1 1/2 2 2 2/1 1 1 1/2 2 2 2": (0, 24, 48, 1_606_213),
    "1 3 1 3/3 1 3 1/1 3 1 3/3 1 3 1": (24, -16, -80, 1_561_513),
    "768 384 192 96/12 24 48 96/6 3 2 1/1 2 0 3": (30_255, 11, 15, 1_275_738),
    "48 24 12 6/3 1 2 0/3 0 1 0/2 0 0 0": (366, 19, 35, 1_560_718),
    "96 3 2 1/12 6 1 0/3 2 0 0/1 0 0 0": (771, 16, 26, 1_551_569),
    "3072 1536 768 384/24 48 96 192/12 6 3 3/1 1 2 2": (265_722, 8, 7, 1_008_408),
}
LADDER = [0, 1, 2, *(3 * 2**k for k in range(13))]
ROWS_CLI = {"empty": 270.0, "merge": 700.0, "one_two": 0.0, "mono": (4.0, 47.0), "sum": (3.5, 11.0)}
ROWS = {
    "empty": 674.4283942265,
    "merge": 253.7959629528,
    "one_two": 945.2717132825,
    "mono": (2.5603675951, 48.0754995342),
    "sum": (0.7000574088, 127.8762441482),
}


def value(text: str, score: str) -> float:
    return THREES.parse(text).value(THREES.score(score))


@pytest.mark.parametrize("text", WORKED)
def test_worked_values(text: str) -> None:
    points, openness, wegner, rows_cli = WORKED[text]
    assert THREES.parse(text).returns == points
    assert value(text, "total_score") == points
    assert value(text, "openness") == openness
    assert value(text, "openness_wegner") == wegner
    assert round(value(text, "rows_cli")) == rows_cli
    assert value(text, "empty_spaces") == text.split("deck")[0].replace("/", " ").split().count("0")


def grid(text: str) -> list[list[int]]:
    """Returns ranks by row and column."""
    return [[LADDER.index(int(word)) for word in line.split()] for line in text.split("/")]


SIDES = {"left": (0, -1), "right": (0, 1), "up": (-1, 0), "down": (1, 0)}


def side(ranks: list[list[int]], r: int, c: int, name: str) -> int | None:
    """Returns the rank beside a cell, None at the wall."""
    y, x = r + SIDES[name][0], c + SIDES[name][1]
    return ranks[y][x] if 0 <= y < 4 and 0 <= x < 4 else None


def openness_twin(text: str, empty: int, merge: int, trap: int, twice: int) -> int:
    ranks, total = grid(text), 0
    for r in range(4):
        for c in range(4):
            rank = ranks[r][c]
            if rank == 0:
                total += empty
                continue
            around = {name: side(ranks, r, c, name) for name in SIDES}
            for other in around.values():
                total += merge * ((rank >= 3 and other == rank) or {rank, other} == {1, 2})
            for pair in (("left", "right"), ("up", "down")):
                walls_in = [around[s] is None or ((around[s] or 0) >= 3 and (around[s] or 0) > rank) for s in pair]
                total += trap * all(walls_in)
            total += twice * (rank >= 3 and rank + 1 in around.values())
    return total


def wegner_twin(text: str) -> int:
    ranks = grid(text)
    total = openness_twin(text, 3, 2, -5, 2)
    highest = max(map(max, ranks))
    if highest <= 4:
        return total
    for r in range(4):
        for c in range(4):
            rank, edges = ranks[r][c], (c in (0, 3)) + (r in (0, 3))
            around = [side(ranks, r, c, name) for name in SIDES]
            if rank == highest:
                total += 3 * edges
            elif rank == highest - 1 and highest in around:
                total += 1 + edges
            elif rank == highest - 2:
                sides = [name for name in ("left", "right", "up", "down") if side(ranks, r, c, name) == highest - 1]
                if sides:
                    y, x = r + SIDES[sides[0]][0], c + SIDES[sides[0]][1]
                    total += highest in [side(ranks, y, x, name) for name in SIDES]
    return total


def line_twin(line: list[int], w: dict) -> float:
    tiles = [rank for rank in line if rank]
    runs, k = 0, 0
    while k < len(tiles):
        length = 1
        while k + length < len(tiles) and tiles[k + length] == tiles[k]:
            length += 1
        runs += length if length >= 2 else 0
        k += length
    left = right = 0.0
    power, weight = w["mono"]
    for a, b in pairwise(line):
        if a > b:
            left += a**power - b**power
        else:
            right += b**power - a**power
    one_two = sum({a, b} == {1, 2} for a, b in pairwise(line))
    heavy = sum(rank ** w["sum"][0] for rank in tiles)
    total = 200_000 + w["empty"] * line.count(0) + w["merge"] * runs + w["one_two"] * one_two
    return float(total - weight * min(left, right) - w["sum"][1] * heavy)


def rows_twin(text: str, weights: dict) -> float:
    ranks = grid(text)
    return sum(line_twin(line, weights) for line in [*ranks, *(list(column) for column in zip(*ranks, strict=True))])


def random_boards(n: int) -> list[str]:
    """Returns boards of all fill levels and heights, with more equal and neighbouring ranks than chance gives."""
    rng = Random(11)
    boards = []
    for _ in range(n):
        top, empty = rng.randint(3, 15), rng.random() * 0.7
        low = top - 2 if rng.random() < 0.4 else rng.randint(0, top - 2)  # the three highest ranks side by side
        tiles = [0 if rng.random() < empty else rng.choice([1, 2, rng.randint(max(1, low), top)]) for _ in range(16)]
        boards.append("/".join(" ".join(str(LADDER[t]) for t in tiles[k : k + 4]) for k in (0, 4, 8, 12)))
    return boards


SINGLE = 0.5
"""Line values reach millions and are kept in single precision."""
BOARDS = [*WORKED, *random_boards(500)]


TWINS = {
    "openness": lambda text: openness_twin(text, 2, 1, -1, 1),
    "openness_wegner": wegner_twin,
    "total_score": lambda text: sum(3 ** (rank - 2) for line in grid(text) for rank in line if rank >= 3),
    "empty_spaces": lambda text: sum(line.count(0) for line in grid(text)),
    "rows": lambda text: pytest.approx(rows_twin(text, ROWS), rel=2e-7, abs=SINGLE),
    "rows_cli": lambda text: pytest.approx(rows_twin(text, ROWS_CLI), rel=2e-7, abs=SINGLE),
}


@pytest.mark.parametrize("score", TWINS)
def test_scores_agree_with_their_formulas(score: str) -> None:
    evaluator = THREES.score(score)
    for text in BOARDS:
        assert THREES.parse(text).value(evaluator) == TWINS[score](text), text


def test_what_a_finished_game_is_worth() -> None:
    over: State = THREES.parse("1 3 1 3/3 1 3 1/1 3 1 3/3 1 3 1")
    assert over.is_terminal
    for name in ("openness", "openness_wegner", "total_score", "empty_spaces"):
        assert THREES.score(name).terminal == "evaluate"
    for name in ("rows", "rows_cli"):
        assert THREES.score(name).terminal == (0.0, 0.0, 0.0)
    assert {THREES.score(name).stage for name in THREES.scores} == {"draw"}
