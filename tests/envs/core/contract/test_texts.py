"""What the texts of all games have in common: words, integers, boards of marks in any shape, refusals in one line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import leafwise
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import below, new_stream
from leafwise.envs.core.contract.texts import (
    SIDES,
    before_fields,
    last_player,
    marked,
    need,
    typed_cells,
    whole_number,
    words_by_name,
    written,
)
from leafwise.envs.core.play.by_name import is_board, move_names

# What the rooms' texts share: words, whole numbers, boards of marks, refusals in one line.


def test_a_refusal_says_what_was_expected_and_what_came() -> None:
    need(True, "anything")
    with pytest.raises(ValueError, match=r"^expected a card, got 'x' in 'x y'$"):
        need(False, "a card", "x", "x y")
    with pytest.raises(ValueError, match=r"^expected a turn, got none$"):
        need(False, "a turn")
    with pytest.raises(ValueError, match=r"^expected at most 3, got 4$"):
        need(False, "at most 3", 4)
    with pytest.raises(ValueError, match=r"^expected a tile, got '9{80}'$"):
        need(False, "a tile", "9" * 5000)


def test_a_refusal_names_the_game_once() -> None:
    for name in leafwise.games():
        with pytest.raises(ValueError, match=f"^{name}: expected ") as problem:
            leafwise.game(name).parse("nonsense")
        assert str(problem.value).count(f"{name}: ") == 1


@pytest.mark.parametrize("word", ["", "-1", "1.5", "1_0", "½", "٣", "1234567"])
def test_whole_numbers_are_short_and_plain(word: str) -> None:
    assert whole_number("042", "a turn") == 42
    with pytest.raises(ValueError, match=f"^expected a turn as a whole number, got {word!r}$"):
        whole_number(word, "a turn")


def test_words_have_a_name_and_come_once() -> None:
    assert words_by_name(["b=2", "a="], ("a", "b")) == {"a": "", "b": "2"}
    assert written({"a": 1, "b": "", "c": 0, "d": "x,y"}) == "a=1 d=x,y"
    for words in ("c=1", "a", "a=1 a=2"):
        with pytest.raises(ValueError, match=r"^expected fields among a, b, each once, got '"):
            words_by_name(words.split(), ("a", "b"))


def test_marks_are_read_row_by_row() -> None:
    assert marked("x./.o", [2, 2], SIDES, "2 rows of 2 cells", "cells") == [1, 0, 0, 2]
    with pytest.raises(ValueError, match=r"^expected 2 rows of 2 cells separated by '/', got 'x\.'$"):
        marked("x.", [2, 2], SIDES, "2 rows of 2 cells", "cells")
    with pytest.raises(ValueError, match=r"^expected cells among '\.', 'x', 'o', got '#' in 'x#'$"):
        marked("x#", [2], SIDES, "2 cells", "cells")


def pair(marks: np.uint64) -> bool:
    """Returns whether the two lowest cells are both marked."""
    return int(marks) & 3 == 3


@pytest.mark.parametrize(
    ("sides", "loose", "problem"),
    [
        ((0b1, 0b110), -1, "expected as many x as o, or one more, got 1 x and 2 o in 'board'"),
        ((0b11, 0b1100), -1, "expected no move after a pair of x, got 'board'"),
        ((0b111, 0b11000), 0b100, "expected one last mark that closed every pair, got 'board'"),
    ],
)
def test_who_marked_last_follows_from_the_marks(sides: tuple[int, int], loose: int, problem: str) -> None:
    def last(sides: tuple[int, int], loose: int) -> int:
        return last_player(np.array(sides, dtype=np.uint64), loose, pair, "pair", "mark that closed", "board")

    assert last((0b100, 0b1000), -1) == 1
    assert last((0b111, 0b11000), -1) == 0
    with pytest.raises(ValueError, match=f"^{problem}$"):
        last(sides, loose)


def test_a_state_names_its_outcomes() -> None:
    state = leafwise.game("threes").parse("0 0 0 0/0 3 0 0/0 0 0 0/0 0 0 0 next=2 deck=4,3,4").play("up")
    named = state.outcomes_by_name()
    assert list(named) == ["2@3,1"]
    assert [state.outcome_name(after) for after in named.values()] == list(named)
    with pytest.raises(ValueError, match="expected a chance stage"):
        leafwise.game("trilobite").start().outcomes_by_name()


# Boards as people type them: every shape of a position is read as that position, and what can be read in two ways is refused.


GAMES = [
    leafwise.game("trilobite"),
    leafwise.game("trilobite", board="7x6", k=4),
    leafwise.game("trilobite", board="4x5"),
    leafwise.game("cassis", n=4),
    leafwise.game("cassis"),
    leafwise.game("cassis", n=8),
    leafwise.game("trap", size=5),
    leafwise.game("trap", size=9),
    leafwise.game("threes"),
]


def positions(game: Game) -> Iterator[State]:
    """Yields positions of random games, finished ones too."""
    stream = new_stream(3)
    state = game.start().settle(stream)
    for _ in range(60):
        yield state
        if state.is_terminal:
            state = game.start().settle(stream)
            continue
        state = state.play(state.legal_actions[int(below(stream, len(state.legal_actions)))]).settle(stream)


def cells_of(state: State) -> tuple[list[list[str]], str]:
    """Returns the cells in a position's text, and the words after the board."""
    board, words = before_fields(str(state), ("setup", "throw", "draw"))
    cut = str.split if state.game.name == "threes" else list
    return [cut(row) for row in board.strip().split("/")], " ".join(["", *words])


def number_of(game: Game, cell: str) -> str:
    """Returns a cell's number in arrays."""
    if game.name == "threes":
        return cell
    return {".": "0", "x": "1", "o": "2", "#": "-1", "1": "1", "2": "2"}[cell]


LETTERS = "abcdefghi"
SHAPES: dict[str, Callable[[list[list[str]]], str]] = {
    "lines": lambda rows: "\n".join(" ".join(row) for row in rows),
    "spaced": lambda rows: " / ".join(" ".join(row) for row in rows),
    "written \\n": lambda rows: "\\n".join(" ".join(row) for row in rows),
    "windows": lambda rows: "\r\n".join(" ".join(row) for row in rows) + "\r\n",
    "commas": lambda rows: "\n".join(", ".join(row) for row in rows),
    "tight commas": lambda rows: "/".join(",".join(row) for row in rows),
    "tabs": lambda rows: "\n\n".join("\t".join(row) for row in rows),
    "semicolons": lambda rows: "; ".join(" ".join(row) for row in rows),
    "bars": lambda rows: "\n".join(f"| {' | '.join(row)} |" for row in rows),
    "bars and rules": lambda rows: "\n---+---+---\n".join("|".join(row) for row in rows),
    "boxes": lambda rows: "+---+\n" + "\n+---+\n".join(f"|{'|'.join(row)}|" for row in rows) + "\n+---+",
    "lists": lambda rows: repr(rows),
    "tuples": lambda rows: repr(tuple(map(tuple, rows))),
    "texts": lambda rows: repr([" ".join(row) for row in rows]),
    "flat list": lambda rows: repr([cell for row in rows for cell in row]),
    "bare lists": lambda rows: "[" + ", ".join(f"[{', '.join(row)}]" for row in rows) + "]",
}
FULL: dict[str, Callable[[list[list[str]]], str]] = {
    "numbered lines": lambda rows: "\n".join(f"{len(rows) - k} {' '.join(row)}" for k, row in enumerate(rows)),
    "numbered columns": lambda rows: "\n".join(
        [*(" ".join(row) for row in rows), "  " + " ".join(LETTERS[: len(rows[0])])]
    ),
    "both": lambda rows: "\n".join(
        ["  " + " ".join(LETTERS[: len(rows[0])]), *(f"{k + 1}: {' '.join(row)}" for k, row in enumerate(rows))]
    ),
}
MARKS: dict[str, Callable[[list[list[str]]], str]] = {
    "capitals": lambda rows: "\n".join("".join(row) for row in rows).upper(),
    "dashes": lambda rows: "\n".join(" ".join(row) for row in rows).replace(".", "-"),
    "underscores": lambda rows: "/".join("".join(row) for row in rows).replace(".", "_"),
    "empty between bars": lambda rows: "\n".join(f"|{'|'.join(row)}|" for row in rows).replace(".", " "),
}
NUMBERS: dict[str, Callable[[np.ndarray], str]] = {
    "numpy prints": str,
    "numpy repr": repr,
    "numpy floats": lambda array: str(array.astype(np.float64)),
    "numpy bytes": lambda array: repr(array.astype(np.int8)),
    "numpy lists": lambda array: repr(array.tolist()),
    "json": lambda array: repr(array.tolist()).replace(" ", ""),
    "float lists": lambda array: repr(array.astype(float).tolist()),
}


@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_every_shape_of_a_position_is_that_position(game: Game) -> None:
    for state in positions(game):
        rows, words = cells_of(state)
        full = len({len(row) for row in rows}) == 1
        shapes = SHAPES | (FULL if full else {}) | ({} if game.name == "threes" else MARKS)
        typed = {name: write(rows) for name, write in shapes.items()}
        numbers = [[number_of(game, cell) for cell in row] for row in rows]
        if full:
            array = np.array(numbers, dtype=np.int64)
            typed |= {name: write(array) for name, write in NUMBERS.items()}
        else:
            typed["ragged"] = repr([[int(cell) for cell in row] for row in numbers])
        for name, text in typed.items():
            if name == "empty between bars" and any(set(row) == {"."} for row in rows) and len(rows[-1]) == 1:
                continue
            assert game.parse(text + words) == state, f"{name}: {text + words!r}"
            assert is_board(text + words) or len(rows) == 1, text


def test_blanks_are_empty_cells_where_nothing_else_is() -> None:
    game = leafwise.game("trilobite")
    assert game.parse("   \n o \nxxo") == game.parse(".../.o./xxo")
    for text in ("xx/oo/xx", ". .\n.o.\nxxo", "...\n.o.\nxx"):
        with pytest.raises(ValueError, match="expected 3 rows of 3 cells"):
            game.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "1 2\n2 2\n1 2",  # either line of numbers may stand above or below the board
        "1 0 2\n2 1 1",  # numbers before the rows, or behind them
    ],
)
def test_what_can_be_read_in_two_ways_is_refused(text: str) -> None:
    symbols = {"0": 0, "1": 1, "2": 2}
    with pytest.raises(ValueError, match="expected a board that can be read in one way, got "):
        typed_cells(text, [2, 2], [symbols])
    assert typed_cells("1 2\n1 2\n1 2", [2, 2], [symbols]) == [1, 2, 1, 2]  # both ways say the same


def test_letters_are_no_tiles_of_threes() -> None:
    game = leafwise.game("threes")
    for text in ("12 12/0 0 0 0/0 0 0 0/0 0 0 0", "0123/0123/0123/0123", "white 0 0 0/0 0 0 0/0 0 0 0/0 0 0 0"):
        with pytest.raises(ValueError, match=r"^threes: expected "):
            game.parse(text)
    board = "blue red . 3\nRed - _ 6\n0 0 0 0\n0 0 0 Blue"
    assert game.parse(board) == game.parse("1 2 0 3/2 0 0 6/0 0 0 0/0 0 0 1")


LOW, HIGH = "1 2 0 3/3 3 6 6/0 0 3 0/6 3 1 2", "48 2 0 3/3 3 6 6/0 0 3 0/6 3 1 2"


@pytest.mark.parametrize(
    ("options", "board", "typed", "shown"),
    [
        ({}, LOW, "blue", "1"),
        ({}, LOW, "RED", "2"),
        ({}, LOW, "white", "3"),
        ({}, LOW, "3+", "3"),
        ({}, HIGH, "3+", "+"),
        ({}, HIGH, "white", None),
        ({"bonus_p": 0.0}, HIGH, "white", "3"),
        ({"hint": "colour"}, LOW, "white", None),
        ({"hint": "colour"}, HIGH, "White", "white"),
        ({"hint": "colour"}, HIGH, "3+", "white"),
        ({"hint": "exact"}, HIGH, "white", None),
        ({"hint": "exact"}, HIGH, "3+", None),
    ],
)
def test_colours_of_the_next_tile(options: dict[str, object], board: str, typed: str, shown: str | None) -> None:
    game = leafwise.game("threes", **options)
    text = f"{board} next={typed} deck=3,3,3"
    if shown is None:
        with pytest.raises(ValueError, match=r"^threes: expected next="):
            game.parse(text)
    else:
        assert game.parse(text) == game.parse(f"{board} next={shown} deck=3,3,3")


def test_columns_and_edges_in_their_usual_spellings() -> None:
    four = leafwise.game("trilobite", board="7x6", k=4)
    for text in ("4453", "4 4 5 3", "4,4,5,3", "4, 4, 5, 3", "ddec", "D D E C", "d,d,e,c"):
        assert [four.action(name) for name in move_names(four, text)] == [3, 3, 4, 2], text
        assert not is_board(text)
    sim = leafwise.game("cassis")
    for text in ("0-1 2-5", "0-1, 5-2", "0-1,2-5", "01 52", "01,25", "0,1 2,5", "(0,1) (2,5)", "(0, 1), (2, 5)", "{0,1},{5,2}",
                 "0–1 2–5", "AB CF", "a-b, f-c", "0:1 2:5"):  # fmt: skip
        assert [sim.actions[sim.action(name)] for name in move_names(sim, text)] == ["0-1", "2-5"], text
        assert not is_board(text)
    with pytest.raises(ValueError, match="expected an action among 0-1"):
        sim.action("1-6")
    trap = leafwise.game("trap", size=5)
    for text in ("SE 1,1 1,2", "SE, 1,1, 1,2", "SE 1,1, 1,2,"):
        assert move_names(trap, text) == ["SE", "1,1", "1,2"]


def test_boards_of_more_than_56_cells_stay_refused() -> None:
    for board in ("8x8", "9x7"):
        with pytest.raises(ValueError, match="at most 56 cells"):
            leafwise.game("trilobite", board=board)
    with pytest.raises(ValueError, match=re.escape("expected 3 rows of 3 cells separated by '/', got ")):
        leafwise.game("trilobite").parse("\n".join(["........"] * 8))
