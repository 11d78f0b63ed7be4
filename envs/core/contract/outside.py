"""Rows from outside the package: what a user, a file, a request or a pickle gives is checked before compiled code sees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.errors import UserError
from leafwise.envs.core.lines import short

if TYPE_CHECKING:
    from leafwise.envs.core.contract.game import Game
    from leafwise.envs.core.contract.parts import Row

ROW = np.uint64(0)


def checked_row(game: Game, given: Any) -> NDArray[Any]:
    """Returns a row [width] of `game.dtype`, a copy; raises ValueError for one that the rules cannot go on from."""
    row = _words(game, given)
    is_valid = game.rules.is_valid
    if is_valid is not None:
        if not is_valid(row[None], ROW, game.thread_tables):
            raise _refused(game, row, "")
    elif (fault := game._row_reader.fault(row)) is not None:
        raise _refused(game, row, f": {fault.rule}: {fault.told}")
    return row


def _words(game: Game, given: Any) -> NDArray[Any]:
    """Returns what is given as words, each the same number."""
    try:
        array = np.asarray(given)
        words = array.astype(game.dtype) if array.dtype.kind in "biuO" else None
    except (TypeError, ValueError, OverflowError):
        raise _no_words(game, given) from None
    if words is None:
        raise _no_words(game, given)
    if words.shape != (game.width,):
        raise UserError(f"{game.name}: expected a row of {game.width} words, got shape {words.shape}")
    if array.dtype != words.dtype and array.tolist() != words.tolist():
        raise _no_words(game, given)
    return words


def _no_words(game: Game, given: Any) -> UserError:
    return UserError(f"{game.name}: expected a row of words of type {np.dtype(game.dtype)}, got {short(given)}")


def _refused(game: Game, row: NDArray[Any], why: str) -> UserError:
    return UserError(f"{game.name}: expected a row that the rules can go on from, got {short(row.tolist())}{why}")


def reads_back(write: Callable[[Row, Any], str], parse: Callable[[str, Any], Row]) -> Callable[..., bool]:
    """Returns an `is_valid` for a game whose texts tell all of a row, and whose `parse` refuses all that cannot be.

    A row is valid if its text reads back as that row.
    """

    def is_valid(S: NDArray[Any], i: Any, T: Any) -> bool:
        row = np.array(S[i])
        try:
            return bool(np.array_equal(parse(write(row, T), T), row))
        except (ValueError, LookupError, ArithmeticError):
            return False

    return is_valid
