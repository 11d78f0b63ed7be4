"""Immutable positions for people, tests and tools, with every call checked.

Rules trust their caller; `State` checks actions, and checks rows from outside before compiled code sees them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from leafwise.envs.core.arrays import Array, Bytes, Words
from leafwise.envs.core.contract.evaluator import answered
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL
from leafwise.envs.core.contract.stream import is_stream
from leafwise.envs.core.errors import UserError, short
from leafwise.envs.core.pictures import text_picture
from leafwise.envs.core.ranges import Range, need_in

if TYPE_CHECKING:
    from leafwise.envs.core.contract.game import Game, Picture, Row

R = TypeVar("R")
FIRST, SECOND = np.uint64(0), np.uint64(1)


def check_is_state(state: object, game: Game, who: str) -> None:
    """Raises ValueError, in the name of `who`, for anything but a position of this game."""
    if not isinstance(state, State):
        raise UserError(f"{who}: expected a State, as game.new(seed) returns, got {short(repr(state))}")
    if state.game is not game and state.game != game:
        raise UserError(f"{who}: expected a position of {game!r}, got one of {state.game!r}")


class State:
    """A position: a game and one row of it. It never changes; every step returns a new state.

    `str(state)` is text that `game.parse` reads back; `repr(state)` evaluates to the state.
    """

    game: Game
    row: Array
    """Its words [width], of `game.dtype`; read-only."""
    _rows: Array
    """The row in the form that rules take, [1, width]."""

    def __init__(self, game: Game, row: Array) -> None:
        """Takes a row from any source; raises ValueError if the rules cannot go on from it.

        `game.rules.is_valid` decides that, or else one pass of the rules in plain Python.
        """
        if not hasattr(game, "rules"):  # no isinstance: the module of `Game` imports this one
            raise UserError(f"state: expected a Game, as leafwise.game(name) returns, got {short(repr(game))}")
        self._set_rows(game, checked_row(game, row)[None])

    @classmethod
    def unchecked(cls, game: Game, row: Array) -> State:
        """Returns the position of a row that the rules themselves have written; copies it, and does not check it.

        With an invalid row compiled code would access memory anywhere: pass all other rows to `State(game, row)`.
        """
        return cls._of(game, np.array(row, dtype=game.dtype, ndmin=2))

    @classmethod
    def _of(cls, game: Game, rows: Array) -> State:
        """Returns the position of rows [1, width] that nothing else writes to."""
        state = cls.__new__(cls)
        state._set_rows(game, rows)
        return state

    def _set_rows(self, game: Game, rows: Array) -> None:
        self.game, self._rows, self.row = game, rows, rows[0]
        self.row.flags.writeable = False

    def rows(self, extra: int = 0) -> Array:
        """Returns a copy of the row for rules to write to, shape [1 + extra, width]; the rows after it are empty."""
        rows = self.game.rows(1 + extra)
        rows[0] = self.row
        return rows

    @cached_property
    def current_player(self) -> int:
        """0, 1, CHANCE (-1) or TERMINAL (-4)."""
        return int(self.game.calls.current_player(self._rows, FIRST, self.game.thread_tables))

    @property
    def is_chance(self) -> bool:
        """Whether chance acts next."""
        return self.current_player == CHANCE

    @property
    def is_terminal(self) -> bool:
        """Whether the game is over."""
        return self.current_player == TERMINAL

    @property
    def stage(self) -> str:
        """The name of the stage, one of `game.stages`."""
        return self.game.stages[int(self.game.calls.stage(self._rows, FIRST, self.game.thread_tables))]

    @property
    def returns(self) -> float:
        """Player 0's undiscounted return so far."""
        return float(self.game.calls.returns(self._rows, FIRST, self.game.thread_tables))

    @cached_property
    def legal_actions(self) -> tuple[int, ...]:
        """Ids of the legal actions, ascending; empty if nobody decides."""
        if self.is_chance or self.is_terminal:
            return ()
        buffer = np.zeros(self.game.max_actions, dtype=np.int64)
        n = self.game.calls.legal_actions(self._rows, FIRST, buffer, self.game.thread_tables)
        return tuple(buffer[:n].tolist())

    @property
    def legal_names(self) -> tuple[str, ...]:
        """Names of the legal actions."""
        return tuple(self.game.actions[a] for a in self.legal_actions)

    def play(self, action: str | int) -> State:
        """Returns the state after an action, given by name or id; chance may act next.

        Raises ValueError if the action is not legal here.
        """
        a = self.game.action(action)
        if a not in self.legal_actions:
            name = self.game.actions[a]
            if self.is_terminal:
                raise UserError(f"{self.game.name}: expected no action in a finished game, got {name!r}")
            if self.is_chance:
                raise UserError(
                    f"{self.game.name}: expected an outcome of chance ({self.stage}), got the action {name!r}"
                )
            legal = self.legal_names
            expected = ", ".join(legal[:20]) + (f" and {len(legal) - 20} more" if len(legal) > 20 else "")
            raise UserError(f"{self.game.name}: expected a legal action ({expected}), got {name!r}")
        rows = self.rows(1)
        self.game.calls.apply_action(rows, FIRST, a, SECOND, self.game.thread_tables)
        return State._of(self.game, rows[1:])

    def outcomes(self) -> list[tuple[float, State]]:
        """Returns the successors of a chance stage with their probabilities; raises ValueError elsewhere."""
        self._need_chance()
        rows = self.rows(self.game.max_outcomes)
        P = np.zeros(1 + self.game.max_outcomes)
        n = int(self.game.calls.chance_outcomes(rows, FIRST, P, SECOND, self.game.thread_tables))
        return [(float(P[o]), State.unchecked(self.game, rows[o])) for o in range(1, n + 1)]

    def _need_chance(self) -> None:
        if not self.is_chance:
            raise UserError(f"{self.game.name}: expected a chance stage, got {self.stage!r}")

    def outcome_name(self, after: State) -> str:
        """Returns the name of the outcome of this chance stage that leads to `after`."""
        check_is_state(after, self.game, self.game.name)
        return self._ask_game(self.game.text.outcome_name, after.row)

    def outcome_words(self, after: State) -> str:
        """Returns the outcome of this chance stage that leads to `after`, in words for people."""
        check_is_state(after, self.game, self.game.name)
        return self._ask_game(self.game.text.outcome_words or self.game.text.outcome_name, after.row)

    def action_words(self, action: str | int) -> str:
        """Returns a legal action, given by name or id, in words for people."""
        a, words = self.game.action(action), self.game.text.action_words
        return self.game.actions[a] if words is None else self._ask_game(words, a)

    def outcomes_by_name(self) -> dict[str, State]:
        """Returns the successors of a chance stage by the names of their outcomes; raises ValueError elsewhere."""
        return {self.outcome_name(after): after for _, after in self.outcomes()}

    def sample(self, stream: Words) -> State:
        """Returns the state after one chance stage, drawn from `stream`, which advances.

        Raises ValueError elsewhere, and for anything but a stream of `new_stream`.
        """
        self._need_chance()
        return self._draw_chance(stream, one=True)

    def settle(self, stream: Words) -> State:
        """Returns the next decision (or the end), with all chance stages before it drawn from `stream`."""
        return self._draw_chance(stream, one=False) if self.is_chance else self

    def _draw_chance(self, stream: Words, *, one: bool) -> State:
        """Returns the state after one chance stage, or after all stages before the next decision (or the end)."""
        if not is_stream(stream):
            raise UserError(f"{self.game.name}: expected a stream, uint64 [2], got {short(stream)}")
        rows, calls, T = self.rows(), self.game.calls, self.game.thread_tables
        while True:
            calls.sample_outcome(rows, FIRST, stream, T)
            player = int(calls.current_player(rows, FIRST, T))
            if one or player != CHANCE:
                state = State._of(self.game, rows)
                state.current_player = player
                return state

    def transformed(self, symmetry: int) -> State:
        """Returns the state under one of the game's symmetries; 0 is the identity. Raises ValueError for one that it lacks."""
        symmetry = need_in(symmetry, Range(0, self.game.symmetry_count - 1), "a symmetry", self.game.name, int)
        rows = self.rows(1)
        self.game.symmetries.transform(rows, FIRST, symmetry, SECOND, self.game.thread_tables)
        return State.unchecked(self.game, rows[1])

    def value(self, evaluator: Any) -> float:
        """Returns an evaluator's value of this row, for the player who acts, or at a chance stage for player 0.

        Raises ValueError for what is no evaluator.
        """
        if not hasattr(evaluator, "scratch"):  # no isinstance: the module of `Evaluator` imports this one
            raise UserError(f"{self.game.name}: expected an Evaluator, got {short(repr(evaluator))}")
        T = self.game.tables(evaluator)
        if evaluator.value is None:
            expected = f"evaluator {evaluator.name!r}: expected one value"
            return float(answered(evaluator.batch(self.rows(), T), (1,), expected)[0])
        return float(evaluator.value(self.rows(), FIRST, T))

    def _picture(self) -> Picture:
        draw = self.game.draw
        return text_picture(self.board()) if draw is None else draw(self.row, self.game.thread_tables)

    def svg(self) -> str:
        """Returns a picture as SVG text."""
        return self._picture().svg()

    def rgb(self, width: int = 0) -> Bytes:
        """Returns a picture as uint8 [height, width, 3]; 0 means the drawing's own width.

        Raises ValueError for a width outside 0 to 4,000 pixels.
        """
        return self._picture().rgb(need_in(width, Range(0, 4000), "width", self.game.name, int))

    def board(self) -> str:
        """Returns the position as several lines of text for a terminal."""
        return self._ask_game(self.game.text.board or self.game.text.write)

    def _repr_svg_(self) -> str:
        return self.svg()

    def legend(self) -> str:
        """Returns lines that explain the codes of the text and the board; "" if there are none."""
        return "" if self.game.text.legend is None else self._ask_game(self.game.text.legend)

    @property
    def points(self) -> float:
        """The game's own score if it ended here, as people count it; by default the return so far."""
        count = self.game.text.points
        return self.returns if count is None else self._ask_game(count)

    def _ask_game(self, function: Callable[..., R], *more) -> R:
        """Calls a text function of the game with this row, and with `more` arguments."""
        return self.game.asked(lambda: function(self.row, *more, self.game.thread_tables))

    def __str__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        return self._ask_game(self.game.text.write)

    def __repr__(self) -> str:
        return f"{self.game!r}.parse({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self.game == other.game and bool(np.array_equal(self.row, other.row))

    def __hash__(self) -> int:
        return hash((self.game.name, self.row.tobytes()))

    def __copy__(self) -> State:
        return self

    def __deepcopy__(self, known) -> State:
        return self

    def __reduce__(self):
        return State, (self.game, np.array(self.row))


# Rows from outside the package, given by users, files, requests or pickles: they are checked before compiled code sees them.


def checked_row(game: Game, given: Any) -> Array:
    """Returns a copy of a row [width] of `game.dtype`; raises ValueError if the rules cannot go on from it."""
    row = _as_words(game, given)
    is_valid = game.rules.is_valid
    if is_valid is not None:
        if not is_valid(row[None], FIRST, game.thread_tables):
            raise _refused(game, row, "")
    elif (fault := game._row_reader.fault(row)) is not None:
        raise _refused(game, row, f": {fault.rule}: {fault.message}")
    return row


def _as_words(game: Game, given) -> Array:
    """Converts `given` to words of the game's type; raises ValueError if a number would change."""
    try:
        array = np.asarray(given)
        words = array.astype(game.dtype) if array.dtype.kind in "biuO" else None
    except (TypeError, ValueError, OverflowError):
        raise _not_words(game, given) from None
    if words is None:
        raise _not_words(game, given)
    if words.shape != (game.width,):
        raise UserError(f"{game.name}: expected a row of {game.width} words, got shape {words.shape}")
    if array.dtype != words.dtype and array.tolist() != words.tolist():
        raise _not_words(game, given)
    return words


def _not_words(game: Game, given) -> UserError:
    return UserError(f"{game.name}: expected a row of words of type {np.dtype(game.dtype)}, got {short(given)}")


def _refused(game: Game, row: Array, why: str) -> UserError:
    return UserError(f"{game.name}: expected a valid row, got {short(row.tolist())}{why}")


def reads_back(write: Callable[[Row, Any], str], parse: Callable[[str, Any], Row]) -> Callable[..., bool]:
    """Returns an `is_valid` for a game: a row is valid if `parse` reads its text back as the same row.

    The text must contain everything in a row, and `parse` must raise ValueError for every invalid text.
    """

    def is_valid(S: Array, i, T) -> bool:
        row = np.array(S[i])
        try:
            return bool(np.array_equal(parse(write(row, T), T), row))
        except (ValueError, LookupError, ArithmeticError):
            return False

    return is_valid
