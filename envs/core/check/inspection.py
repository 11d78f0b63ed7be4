"""Checks one game, or one row, in this process: in plain Python, compiled with every index checked, and as it is played."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from random import Random
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from leafwise.envs.core.check import answers, together
from leafwise.envs.core.check.door import CHECKED, PLAIN, WHOLE, Door, Row, RuleFault, at_row, expect, fault_of
from leafwise.envs.core.check.guards import Misuse, arrays_of
from leafwise.envs.core.check.position import Checker
from leafwise.envs.core.check.walk import Walk
from leafwise.envs.core.compile.forms import PlainForms
from leafwise.envs.core.contract.rules import CHANCE

if TYPE_CHECKING:
    from leafwise.envs.core.check.checking import Note
    from leafwise.envs.core.contract.game import Game

COMPARED = 200
"""Positions at which the forms, and a twin, are compared."""
SCORED, MOST_STAGES = 60, 12
"""Positions at which every hand-made score is asked, and chance stages at which siblings are."""
SEED = 1
MOST_LINES = 3_000_000
"""Lines of the rules' code that may run for one row from outside: rules that would never end stop here, after some seconds."""
SYMMETRIES = 9
"""Symmetries below which such a row is also transformed, without a look at what comes of it."""


def inspect_game(
    game: Game, seconds: Mapping[str, float], texts: Sequence[str] = (), twins: bool = False, note: Note | None = None
) -> dict[str, Any]:
    """Checks a game in this process, and returns how many `positions`; raises RuleFault where it breaks its contract.

    `seconds` are the forms to check, in this order, and the processor time for the positions of each; `texts` are positions to
    check besides those that play leads to. With `twins` the result has what a twin is asked, answers in texts.
    """
    check_option_files(game)
    positions = 0
    expected: list[answers.Answer] = []
    asked: list[answers.Answer] = []
    for form, time in seconds.items():
        try:
            before = _digest(game)
            door = Door(game, form, note)
        except (Exception, SystemExit) as problem:
            raise fault_of("", problem, game.make_tables) from None
        for one in expected:
            answers.compare(door, one)
        rows = [_read(door, text) for text in texts]
        try:
            seen = _walk(door, time, rows)
        except RuleFault as fault:
            if PLAIN in seconds and form == CHECKED and fault.row and "IndexError" in fault.told:
                row = np.array(fault.row, dtype=game.dtype)  # plain Python says which array it was
                _walk(Door(game, PLAIN, note), 0.0, [row])
            raise
        written = [path for (path, crc), (_, new) in zip(before, _digest(game), strict=True) if crc != new]
        change = f"a change of T.{', T.'.join(written)}"
        expect(not written, "tables", "only arrays named in `scratch` to be written", change)
        if form == PLAIN:
            some = Random(SEED).sample(seen, min(COMPARED, len(seen)))
            expected = [answers.answer(door, row) for row in some]
            asked = [answers.with_texts(door, one) for one in expected] if twins else []
        positions = max(positions, len(seen))
    return {"positions": positions, "twins": asked}


def _walk(door: Door, seconds: float, rows: list[Row]) -> list[Row]:
    """Returns the positions that were checked: none where there is no time, and no row is given."""
    seen = Walk(door, SEED).run(seconds, rows) if seconds or rows else []
    for name in door.game.scores:
        _check_score(door, name, seen)
    return seen


def _read(door: Door, text: str) -> Row:
    game = door.game
    try:
        row: Row = np.asarray(door.parse(text, door.T)).astype(game.dtype)
    except ValueError as problem:
        raise RuleFault("parse", f"expected a position, got {text!r}: {problem}") from None
    return row


def _digest(game: Game) -> list[tuple[str, int]]:
    """Returns the path and a checksum of every array of a game's tables that is not scratch."""
    own = [(path, array) for path, array in arrays_of(game.tables()) if path not in {"stop", *game.scratch}]
    return [(path, zlib.crc32(np.ascontiguousarray(array).tobytes())) for path, array in own]


def _check_score(door: Door, name: str, rows: list[Row]) -> None:
    """Checks that a hand-made score is a number within its bounds, and its siblings, at some of the positions."""
    game, rule = door.game, f"score {name}"
    try:
        evaluator = game.score(name)
        own = game.tables(evaluator)
    except (Exception, SystemExit) as problem:
        raise fault_of(rule, problem, game.scores[name]) from None
    expect(evaluator.stage in game.stages, rule, f"a stage among {game.stages}", repr(evaluator.stage))
    if evaluator.value is None:
        return
    T = door.tables(own, frozenset(f"leaf.{field}" for field in evaluator.scratch))

    def check_value(row: Row) -> None:
        value = together.worth(door, rule, evaluator, row, T)
        low = -math.inf if evaluator.low is None else evaluator.low
        high = math.inf if evaluator.high is None else evaluator.high
        expect(math.isfinite(value) and low <= value <= high, rule, f"a finite number in {low:g}..{high:g}", value)

    def check_siblings(row: Row) -> None:
        together.check_siblings(door, rule, evaluator, row, T)

    asked = [row for row in rows if game.stages[int(door.ask("stage", row))] in ("decision", evaluator.stage)]
    chance = rows if evaluator.speed.sibling_values is not None else []
    chance = [row for row in chance if door.player(row) == CHANCE]
    for check, some, most in (check_value, asked, SCORED), (check_siblings, chance, MOST_STAGES):
        for row in Random(1).sample(some, min(most, len(some))):
            with at_row(door, row):
                check(row)


@cache
def _opened() -> list[bool]:
    """Returns what gets an entry whenever this file is opened, from now on: such a hook stays."""
    opened: list[bool] = []

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and arguments and arguments[0] == __file__:
            opened.append(True)

    sys.addaudithook(hook)
    return opened


def check_option_files(game: Game) -> None:
    """Raises RuleFault where a text that an option is given is opened as a file: options are told by files of others too.

    This module's own file stands for any.
    """
    for name, value in game.defaults.items():
        if not isinstance(value, str):
            continue
        _opened().clear()
        with contextlib.suppress(Exception):  # most games refuse such an option, which is as well
            probed = game.variant(**{name: os.fspath(__file__)})
            probed.tables()
            probed.start()
        closed = f"the file that the option {name} names to stay closed (a field with `from_file` has its text)"
        expect(not _opened(), "options", closed, "one that was opened")


class RowReader:
    """Reads rows from outside where a game does not say which are valid: as plain Python, before compiled code sees them.

    Its arrays refuse every index outside and every negative one, and a row is held to all that is asked of a position.
    """

    def __init__(self, game: Game) -> None:
        self._game, self._forms = game, PlainForms(made=WHOLE)

    def fault(self, row: Row) -> RuleFault | None:
        """Returns which promise the rules break at a row, None if they can read it and go on from it."""
        door = Door(self._game, PLAIN, made=self._forms, symmetries=1)
        with _budget(self._forms.codes):
            try:
                Checker(door, Random(0)).check(row)
                for k in range(1, min(self._game.symmetry_count, SYMMETRIES)):
                    door.image(row, k)
            except RuleFault as fault:
                return fault
        return None


@contextlib.contextmanager
def _budget(codes: set[Any]) -> Iterator[None]:
    """Counts the lines that run of some functions, and raises Misuse in them after too many."""
    left = MOST_LINES

    def line(frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
        nonlocal left
        left -= 1
        if left < 0:
            raise Misuse(f"expected an answer within {MOST_LINES:,} lines, got none")
        return line

    before = sys.gettrace()
    sys.settrace(lambda frame, event, argument: line if frame.f_code in codes else None)
    try:
        yield
    finally:
        sys.settrace(before)
