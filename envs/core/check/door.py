"""Calls a game's rules with arrays of their own that show every misuse, and asks each rule twice."""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.check.blocks import Block
from leafwise.envs.core.check.fault import RuleFault, expect
from leafwise.envs.core.check.guards import Guard, Guarded, Misuse, guarded_tables
from leafwise.envs.core.check.note import Note
from leafwise.envs.core.check.subject import Subject, boxes, python_function
from leafwise.envs.core.compile.errors import CompileError
from leafwise.envs.core.compile.jit import DISABLED

Row = NDArray[Any]
AT, TO, OUT = 1, 2, 3
"""Rows of `S` that a rule is given: the position, where an action leads, the first outcome. Row 0 is nobody's."""
KEEP_ALL: frozenset[int] = frozenset()


class Door:
    """The rules of one game; `guarded` says whether arrays check each index themselves (in plain Python)."""

    def __init__(self, subject: Subject, note: Note | None, *, guarded: bool = DISABLED) -> None:
        self.subject, self.note, self.guarded = subject, note, guarded
        self.used = self.tables()
        """Tables that are used for everything, whose scratch holds what earlier calls left."""
        self.fresh = self.used
        self._blocks: dict[tuple[str, int], Block] = {}
        self._called: set[str] = set()
        self._compiling_s = 0.0

    def clock(self) -> float:
        """Returns this process's time in seconds, without what first calls took: they compile."""
        return time.process_time() - self._compiling_s

    def tables(self) -> Any:
        """Returns tables with scratch of their own."""
        T = self.subject.game.tables()
        return guarded_tables(T, self.subject.scratch | {"stop"}) if self.guarded else T

    def block(self, label: str, n: int, shape: tuple[int, ...], dtype: Any, *, exact: bool = True) -> Block:
        """Returns the array of a label that has n rows (or words), the same one every time."""
        if (label, n) not in self._blocks:
            self._blocks[label, n] = Block((n, *shape), dtype, label, is_guarded=self.guarded, exact=exact)
        return self._blocks[label, n]

    def rows(self, n: int) -> Block:
        """Returns `S` with n rows."""
        return self.block("S", n, (self.subject.game.width,), self.subject.game.dtype)

    def call(self, rule: str, *arguments: Any, function: Callable[..., Any] | None = None) -> Any:
        """Calls a rule, or another function under such a name; raises RuleFault for whatever it raises."""
        function = function or self.subject.rules[rule]
        first = rule not in self._called
        if self.note is not None:
            self.note.calling(rule, compiling=first and not self.guarded)
        before = time.process_time() if first else 0.0
        try:
            answer = function(*arguments)
        except Misuse as problem:
            raise RuleFault(rule, f"{problem}{_where(problem, function)}") from None
        except CompileError as problem:
            fault = RuleFault(rule, str(problem))
            fault.everywhere = True
            raise fault from None
        except (Exception, SystemExit) as problem:
            raise RuleFault(rule, told(problem, function)) from None
        if first:
            self._called.add(rule)
            self._compiling_s += time.process_time() - before
        return answer

    def ask(self, rule: str, row: Row, *more: Any) -> Any:
        """Returns what a rule that only reads answers at a row, asked once with used and once with fresh scratch."""
        answers = []
        for kind, T in enumerate((self.used, self.fresh)):
            S = self.rows(2)
            S.clear(kind)
            S.plain[AT] = row
            permit(S.guard, {AT}, set())
            answers.append(self.call(rule, S.array, np.uint64(AT), *more, T))
            self.check_kept(rule, S, {AT: row}, kind)
        expect(
            same(*answers), rule, "the same answer twice (no state of its own)", f"{answers[0]!r}, then {answers[1]!r}"
        )
        return answers[0]

    def whole_number(self, rule: str, row: Row, *more: Any) -> int:
        """Returns an answer that is to be a whole number."""
        answer = self.ask(rule, row, *more)
        fits = isinstance(answer, (int, np.integer, bool, np.bool_)) or float(answer).is_integer()
        expect(fits, rule, "a whole number", repr(answer))
        return int(answer)

    def check_kept(self, rule: str, S: Block, kept: dict[int, Row], kind: int) -> None:
        """Raises RuleFault if a row that is not the rule's to write has changed."""
        S.check_margins(rule, kind)
        for i, row in kept.items():
            expect(S.plain[i].tobytes() == row.tobytes(), rule, "the position's row to stay as it is", "a change of it")
        expect((S.plain[0] == S.whole[0]).all(), rule, "only its own rows to be written", "a change of row i - 1")


def valid(door: Door, row: Row) -> bool:
    """Returns what the game's `is_valid` says of a row."""
    S = door.rows(2)
    S.clear(0)
    S.plain[AT] = row
    permit(S.guard, {AT}, set())
    answer = door.call("is_valid", S.array, np.uint64(AT), door.used)
    door.check_kept("is_valid", S, {AT: row}, 0)
    return bool(answer)


def permit(guard: Guard, reads: set[int], writes: set[int]) -> None:
    """Says which rows a rule may read and write; what it may write it may read."""
    guard.reads, guard.writes = frozenset(reads | writes), frozenset(writes)


def same(first: Any, second: Any) -> bool:
    """Whether two answers are the same; nan is nan."""
    if isinstance(first, (float, np.floating)) and math.isnan(first):
        return math.isnan(second)
    return bool(first == second)


def told(problem: BaseException, function: Callable[..., Any]) -> str:
    """Returns what an exception of a rule is to a person."""
    if isinstance(problem, AttributeError) and hasattr(problem.obj, "_fields"):
        fields = ", ".join(problem.obj._fields)
        return f"expected a field of {type(problem.obj).__name__} among ({fields}), got {problem.name!r}" + _where(
            problem, function
        )
    if isinstance(problem, IndexError):
        return f"expected every index within its array, got an {type(problem).__name__} ({problem}){_where(problem, function)}"
    words = " ".join(f"{type(problem).__name__}: {problem}".split())[:200].rstrip(": ")
    return f"expected an answer, got {words}{_where(problem, function)}"


def _where(problem: BaseException, function: Callable[..., Any]) -> str:
    """Returns the line of the game's own source that an exception passed last, if it is known."""
    file = python_function(function).__code__.co_filename
    frames = [frame for frame in traceback.extract_tb(problem.__traceback__) if frame.filename == file]
    if not frames:
        return ""
    last = frames[-1]
    return f" in {Path(last.filename).name} line {last.lineno}" + (f", `{last.line}`" if last.line else "")


def bare(array: Any) -> NDArray[Any]:
    """Returns an array without its guard."""
    return np.asarray(array).view(np.ndarray) if isinstance(array, Guarded) else np.asarray(array)


def observation_blocks(door: Door) -> dict[str, Block]:
    """Returns the arrays of three observations by name, of which the middle one is asked for."""
    return {
        name: door.block(f"O.{name}".rstrip("."), 3, box.shape, box.dtype) for name, box in boxes(door.subject).items()
    }
