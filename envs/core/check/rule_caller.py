"""Calls the rules of a game on guarded arrays, and calls each rule twice.

In plain Python the arrays refuse an index out of range, a negative index, a value that does not fit a word, and a row that the
rule may not use. Plain Python itself would count a negative index from the end and truncate words silently. Compiled code would
access whatever lies there.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from leafwise.envs.core.arrays import Array
from leafwise.envs.core.compile.errors import CompileError
from leafwise.envs.core.compile.forms import CheckedForms, PlainForms
from leafwise.envs.core.contract.rules import CHANCE, DEFAULT_VIEW, PARAMETERS, TERMINAL, copy_row

if TYPE_CHECKING:
    from leafwise.envs.core.check.checking import Heartbeat
    from leafwise.envs.core.contract.game import Game


WHOLE_NUMBERS = {int, *(np.dtype(code).type for code in np.typecodes["AllInteger"])}


Row = Array


class AccessViolation(Exception):
    """An array refuses an index or a value; the message is "expected ..., got ..."."""


class ArrayGuard:
    """The label of an array, and which rows may be read and written."""

    def __init__(self, label: str, *, writable: bool = True, exact: bool = False) -> None:
        self.label, self.writable, self.exact = label, writable, exact
        """`exact`: refuses numbers that a word cannot hold."""
        self.reads: frozenset[int] | None = None
        """Rows that may be read; None: all."""
        self.writes: frozenset[int] | None = None

    def permit(self, reads: frozenset[int], writes: frozenset[int]) -> None:
        """Sets which rows may be read and which may be written; a writable row may also be read."""
        self.reads, self.writes = reads | writes, writes

    def check(self, shape: tuple[int, ...], key: Any, write: bool) -> None:
        """Raises AccessViolation for an index that the array refuses."""
        if write and not self.writable:
            raise AccessViolation(f"expected only arrays named in `scratch` to be written, got a write to {self.label}")
        keys, verb = key if isinstance(key, tuple) else (key,), "written" if write else "read"
        if len(keys) > len(shape):
            raise AccessViolation(f"expected at most {len(shape)} indices for {self.label}, got {len(keys)}")
        for axis, k in enumerate(keys):
            if type(k) in WHOLE_NUMBERS:
                if 0 <= k < shape[axis]:
                    continue
                place = "index" if len(shape) == 1 else "row" if axis == 0 else f"index {axis}"
                raise AccessViolation(
                    f"expected {place} 0 to {shape[axis] - 1} of {self.label} to be {verb}, got {int(k)}"
                )
            if k is Ellipsis or k is None:
                return
            if isinstance(k, (bool, float, np.bool_, np.floating)):
                raise AccessViolation(f"expected a whole number as index of {self.label}, got {k!r}")
        allowed = self.writes if write else self.reads
        if allowed is not None and type(keys[0]) in WHOLE_NUMBERS and int(keys[0]) not in allowed:
            some = ", ".join(map(str, sorted(allowed)[:3])) + (", ..." if len(allowed) > 3 else "")
            raise AccessViolation(f"expected only rows ({some}) of {self.label} to be {verb}, got row {int(keys[0])}")

    def fits(self, array: Row, key: Any, value: Any) -> None:
        """Raises AccessViolation for a number that a word of the array cannot hold."""
        if not self.exact or array.dtype.kind not in "iu" or not np.isscalar(value):
            return
        number: Any = value
        if isinstance(value, (float, np.floating)) and value != np.floor(value):  # nan is not equal to itself
            raise AccessViolation(f"expected a whole number in {self.label}{_index_text(key)}, got {value}")
        low, high = np.iinfo(array.dtype).min, np.iinfo(array.dtype).max
        if not low <= int(number) <= high:
            fitting = f"a number in {low}..{high} ({array.dtype})"
            raise AccessViolation(f"expected {fitting} in {self.label}{_index_text(key)}, got {number}")

    def part(self, key: Any) -> ArrayGuard:
        """Returns the guard of a part of the array. Row k of `S` is writable if that row may be written."""
        first = key[0] if isinstance(key, tuple) else key
        is_limited = self.writes is not None and type(first) in WHOLE_NUMBERS
        writable = self.writable and (not is_limited or int(first) in (self.writes or ()))
        return ArrayGuard(f"{self.label}{_index_text(key)}", writable=writable, exact=self.exact)


def _index_text(key) -> str:
    keys = key if isinstance(key, tuple) else (key,)
    return f"[{', '.join(str(int(k)) if type(k) in WHOLE_NUMBERS else ':' for k in keys)}]"


class Guarded(np.ndarray[Any, Any]):
    """An array with a guard. A slice of it is guarded too, a computed result is not."""

    guard: ArrayGuard | None

    def __array_finalize__(self, source) -> None:
        self.guard = None

    def __getitem__(self, key):
        guard = self.guard
        if guard is None:
            return super().__getitem__(key)
        guard.check(self.shape, key, False)
        part = super().__getitem__(key)
        if isinstance(part, Guarded):
            part.guard = guard.part(key)
        return part

    def __setitem__(self, key, value) -> None:
        guard = self.guard
        if guard is not None:
            guard.check(self.shape, key, True)
            guard.fits(self, key, value)
        super().__setitem__(key, value)


def guarded(array: Row, guard: ArrayGuard) -> Row:
    """Returns a view of an array that checks every access with `guard`."""
    view = array.view(Guarded)
    view.guard = guard
    return view


def arrays_of(T: Any, path: str = "") -> Iterator[tuple[str, Row]]:
    """Yields every array of a nested tuple with its path; arrays in a tuple without field names share the path of the tuple."""
    if isinstance(T, np.ndarray):
        yield path, T
    for k, part in enumerate(T if isinstance(T, tuple) else ()):
        yield from arrays_of(part, f"{path}.{T._fields[k]}".lstrip(".") if hasattr(T, "_fields") else path)


def guarded_tables(T: Any, scratch: frozenset[str], path: str = "") -> Any:
    """Returns a nested tuple with every array guarded; only those named in `scratch` may be written."""
    if isinstance(T, np.ndarray):
        return guarded(T, ArrayGuard(f"T.{path}", writable=path in scratch))
    if not isinstance(T, tuple):
        return T
    names = getattr(T, "_fields", [""] * len(T))
    parts = [guarded_tables(part, scratch, f"{path}.{name}".strip(".")) for name, part in zip(names, T, strict=True)]
    return T._make(parts) if hasattr(T, "_make") else tuple(parts)


class JunkBlock:
    """An array filled with junk before a rule sees it: rules get `array`, `plain` has no guard.

    There are two kinds of junk, values that no game would write. A result that differs between them was not written, or was
    read before it was written.
    """

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], label: str, *, is_guarded: bool) -> None:
        kinds = b"\0\1" if dtype.kind == "b" else b"\x5a\x25"
        self.junk = [np.frombuffer(bytes([kind] * dtype.itemsize), dtype)[0] for kind in kinds]
        self.label, self.plain = label, np.empty(shape, dtype)
        self.guard = ArrayGuard(label, exact=True)
        self.array: Row = guarded(self.plain, self.guard) if is_guarded else self.plain

    def clear(self, kind: int) -> None:
        """Fills the whole array with junk of one kind, 0 or 1."""
        self.plain.fill(self.junk[kind])
        self._kind = kind

    def is_junk(self, rows: Any) -> bool:
        """Whether rows are unchanged since `clear`."""
        return bool((self.plain[rows] == self.junk[self._kind]).all())


Arrays = dict[str, Row]
AT, TO, OUT = 1, 2, 3
"""Rows of `S` that a rule gets: the position, the successor of an action, the first outcome. Row 0 is unused, so that a write
there is seen.
"""
U_AT, U_TO, U_OUT = np.uint64(AT), np.uint64(TO), np.uint64(OUT)
PLAIN, CHECKED, PLAYED = "plain", "checked", "compiled"
"""The forms of a game's rules."""
LONGEST = 160
"""Letters of a position that an error message shows."""
WRITTEN = "every word of the row to be written, the same each time", "word {} left or changed"
"""Expected and got, for a row that was filled with both kinds of junk in turn."""
SUM_WITHIN = 1e-9
"""Tolerance for the sum of probabilities."""


def copy_whole_row(S: Any, i: Any, j: Any) -> None:
    """Copies row i to row j at once: a loop over words would take most of the time in plain Python."""
    S[j] = S[i]


REPLACEMENTS = {copy_row: copy_whole_row}
"""Functions that plain Python replaces by faster ones."""


class RuleFault(Exception):
    """A rule broke its promise: `message` is "expected ..., got ...", `position` the text of the position, `row` its words."""

    everywhere = False
    """Whether the fault is independent of the position, for example a rule that does not compile."""

    def __init__(self, rule: str, message: str, position: str = "", row: Sequence[int] | None = None) -> None:
        super().__init__(rule, message, position, row)
        self.rule, self.message, self.position, self.row = rule, message, position, row

    def line(self, game: str) -> str:
        """Returns the error in one line; two lines for a function that does not compile."""
        where = self.position if len(self.position) <= LONGEST else f"{self.position[:LONGEST]}..."
        rule = f"{self.rule}: " if self.rule else ""
        return f"{game}: {rule}{self.message}" + (f", at {where!r}" if where else "")


def expect(ok: object, rule: str, expected: str, got: object) -> None:
    """Raises RuleFault, `expected ..., got ...`, unless `ok`."""
    if not ok:
        raise RuleFault(rule, f"expected {expected}, got {got}")


class RuleCaller:
    """The rules of one game in one form. In plain Python they are called on arrays that check each index (`guarded`)."""

    def __init__(
        self,
        game: Game,
        form: str,
        heartbeat: Heartbeat | None = None,
        *,
        made: PlainForms | None = None,
        symmetries: int = 0,
    ) -> None:
        self.game, self.name, self.heartbeat, self.guarded = game, form, heartbeat, form == PLAIN
        forms = made or (PlainForms(game.module, REPLACEMENTS) if form == PLAIN else CheckedForms(game.module))
        self.form: Callable[[Any], Any] = (lambda rule: rule) if form == PLAYED else forms.called
        self.symmetries = symmetries or game.symmetry_count
        parts = game.symmetries
        rules: dict[str, Any] = {**game.rules.functions(), "is_valid": game.rules.is_valid}
        rules |= {"transform": parts.transform, "transform_action": parts.transform_action}
        self.rules = {name: self.form(rule) for name, rule in rules.items() if name in PARAMETERS and rule is not None}
        """Every rule that the game has, by name."""
        text = game.text
        self.write, self.parse = self.form(text.write), self.form(text.parse)
        self.outcome_name = self.form(text.outcome_name)
        self.boxes: dict[str, dict[str, Any]] = {}
        """The boxes of each view by name; the name of a single box is ""."""
        for view in game.view_names:
            space: Any = game.observation_space(view)
            self.boxes[view] = dict(space.items()) if hasattr(space, "items") else {"": space}
        self.views = {name: self.form(view.observe_as) for name, view in game.observation.views.items()}
        self.T = game.tables()
        self.used, self.fresh = self.tables(), self.tables()
        """Tables whose scratch keeps the contents of earlier calls, and tables renewed at each position."""
        scratch = [np.asarray(array).view(np.ndarray) for path, array in arrays_of(self.fresh) if path in game.scratch]
        self._scratch = [(array, array.copy()) for array in scratch]
        self._blocks: dict[tuple[str, int], JunkBlock] = {}
        self._entries: dict[Any, Callable[..., Any]] = {}
        self._compiling_s = 0.0

    def tables(self, T: Any = None, scratch: frozenset[str] = frozenset()) -> Any:
        """Returns tables, guarded in plain Python; without `T` those of the game, with their own scratch."""
        T = self.game.tables() if T is None else T
        return guarded_tables(T, frozenset({"stop", *self.game.scratch, *scratch})) if self.guarded else T

    def renew(self) -> None:
        """Restores the scratch of `fresh` to its first contents."""
        for array, new in self._scratch:
            array[...] = new

    def clock(self) -> float:
        """Returns the processor time of this process in seconds, without first calls, which compile."""
        return time.process_time() - self._compiling_s

    def set_position(self, text: str) -> None:
        """Sets the position that the heartbeat reports for later calls."""
        if self.heartbeat is not None:
            self.heartbeat.set_position(self.name, text)

    def text(self, row: Row) -> str:
        return str(self.write(row.copy(), self.T))

    def block(self, label: str, n: int, shape: tuple[int, ...], dtype: Any) -> JunkBlock:
        """Returns the array of n rows (or words) with a label, the same one every time."""
        if (label, n) not in self._blocks:
            self._blocks[label, n] = JunkBlock((n, *shape), np.dtype(dtype), label, is_guarded=self.guarded)
        return self._blocks[label, n]

    def call(
        self,
        rule: str,
        *arguments: Any,
        function: Callable[..., Any] | None = None,
        refusals: tuple[type[BaseException], ...] = (),
    ) -> Any:
        """Calls a rule, or another `function` under its name; turns exceptions other than `refusals` into RuleFault."""
        function = function or self.rules[rule]
        entry = self._entries.get(function)
        if self.heartbeat is not None:
            self.heartbeat.record_call(rule, compiling=entry is None and not self.guarded)
        try:
            if entry is not None:
                return entry(*arguments)
            before = time.process_time()
            make_entry = None if self.guarded else getattr(function, "entry", None)
            entry = (
                function if make_entry is None else make_entry(*arguments)
            )  # asks no types any more: they stay the same
            answer = entry(*arguments)
            self._entries[function] = entry
            self._compiling_s += time.process_time() - before
            return answer
        except refusals:
            raise
        except (Exception, SystemExit) as problem:
            raise fault_of(rule, problem, function) from None

    def once(
        self,
        rule: str,
        given: Mapping[int, Row],
        *more: Any,
        T: Any = None,
        rows: int = 2,
        writes: frozenset[int] = frozenset(),
        blocks: Mapping[JunkBlock, Any] | None = None,
        kind: int = 0,
        size: str = "",
        function: Callable[..., Any] | None = None,
    ) -> tuple[Any, JunkBlock]:
        """Calls a rule once and returns its answer and `S`, of which it may write the rows in `writes`.

        `S` has `rows` rows: those in `given`, and junk. `blocks` are other arrays among the arguments `more`, with their
        contents (None: junk). `size` names where their lengths come from. By default `T` is `used` with junk of kind 0, and
        `fresh` with junk of kind 1.
        """
        S, blocks = self.block("S", rows, (self.game.width,), self.game.dtype), blocks or {}
        for block in (S, *blocks):
            block.clear(kind)
        for block, words in blocks.items():
            if words is not None:
                block.plain[:] = words
        for i, row in given.items():
            S.plain[i] = row
        S.guard.permit(frozenset(given), writes)
        T = (self.used, self.fresh)[kind] if T is None else T
        try:
            answer = self.call(rule, S.array, *more, T, function=function)
        except RuleFault as fault:
            raise _with_size(fault, size, [*blocks, *[S][: rows - TO - 1]]) if size else fault from None
        for i, row in given.items():
            if i not in writes:
                kept = S.plain[i].tobytes() == row.tobytes()
                expect(kept, rule, "the position's row to stay as it is", "a change of it")
        expect(S.is_junk(0), rule, "only its own rows to be written", "a change of row i - 1")
        return answer, S

    def twice(
        self, read: Callable[[Any, JunkBlock], Any], rule: str, given: Mapping[int, Row], *more: Any, **options: Any
    ) -> Any:
        """Calls a rule with each kind of junk, and returns both results of `read(answer, S)`."""
        return [read(*self.once(rule, given, *more, kind=kind, **options)) for kind in (0, 1)]

    def ask(self, rule: str, row: Row, *more: Any) -> Any:
        """Returns the answer of a rule that only reads; calls it once with used and once with fresh scratch."""
        first, second = self.twice(lambda answer, S: answer, rule, {AT: row}, U_AT, *more)
        same_twice = "the same answer twice (no state of its own)"
        expect(same(first, second), rule, same_twice, f"{first!r}, then {second!r}")
        return first

    def whole_number(self, rule: str, row: Row, *more: Any) -> int:
        """Returns an answer that has to be a whole number."""
        answer = self.ask(rule, row, *more)
        fits = isinstance(answer, (int, np.integer, bool, np.bool_)) or float(answer).is_integer()
        expect(fits, rule, "a whole number", repr(answer))
        return int(answer)

    def written(self, rule: str, given: Mapping[int, Row], to: int, *more: Any, rows: int) -> Row:
        """Returns the row that a rule writes, after checking that it writes every word."""
        writes = frozenset({to})
        first, second = self.twice(lambda _, S: S.plain[to].copy(), rule, given, *more, rows=rows, writes=writes)
        _expect_alike(first, second, rule, *WRITTEN)
        return first

    def valid(self, row: Row) -> bool:
        """Returns the answer of the game's `is_valid` for a row."""
        return bool(self.once("is_valid", {AT: row}, U_AT)[0])

    def start(self) -> Row:
        return self.written("initial_state", {}, AT, U_AT, rows=2)

    def player(self, row: Row) -> int:
        acts = self.whole_number("current_player", row)
        players = range(self.game.players)
        known = f"{', '.join(map(str, players))}, CHANCE ({CHANCE}) or TERMINAL ({TERMINAL})"
        expect(acts in (*players, CHANCE, TERMINAL), "current_player", known, acts)
        return acts

    def numbers(self, rule: str, row: Row, which: int | None = None) -> list[int]:
        """Returns the ids that `legal_actions` or `candidates` writes at a decision; `which` is `T.candidates`."""
        limit, lists = self.game.max_actions, []
        A, size = self.block("A", limit, (), np.int64), f"max_actions = {limit}"
        for kind, T in enumerate((self.used, self.fresh)):
            T = T if which is None else T._replace(candidates=which)
            n, _ = self.once(rule, {AT: row}, U_AT, A.array, T=T, blocks={A: None}, kind=kind, size=size)
            expect(0 <= n <= limit, rule, f"a number of actions in 0..{limit} (max_actions)", n)
            lists.append([int(a) for a in A.plain[: int(n)]])
        expect(lists[0] == lists[1], rule, "the same actions twice, each written", f"{lists[0]}, then {lists[1]}")
        return lists[0]

    def after(self, row: Row, a: int) -> Row:
        """Returns the successor of an action; also checks the rule with i and j the same row."""
        rule, action = "apply_action", np.int64(a)
        successor = self.written(rule, {AT: row}, TO, U_AT, action, U_TO, rows=3)
        _, S = self.once(rule, {AT: row}, U_AT, action, U_AT, writes=frozenset({AT}))
        _expect_alike(S.plain[AT], successor, rule, "the same row where i and j are one", "another word {}")
        return successor

    def outcomes(self, row: Row) -> list[tuple[float, Row]]:
        """Returns the probability and the row of each outcome of chance."""
        rule, limit = "chance_outcomes", self.game.max_outcomes
        P, writable = self.block("P", OUT + limit, (), np.float64), frozenset(range(OUT, OUT + limit))
        P.guard.permit(frozenset(), writable)

        def read(n, S: JunkBlock) -> tuple[list[float], Row]:
            kept = S.is_junk(TO) and P.is_junk(slice(OUT))
            expect(kept, rule, "only the rows from o on to be written", "a change of one before")
            expect(0 < n <= limit, rule, f"1 to {limit} outcomes (max_outcomes)", n)
            return P.plain[OUT : OUT + int(n)].tolist(), S.plain[OUT : OUT + int(n)].copy()

        options = {"rows": OUT + limit, "writes": writable, "blocks": {P: None}, "size": f"max_outcomes = {limit}"}
        (law, first), (again, second) = self.twice(read, rule, {AT: row}, U_AT, P.array, U_OUT, **options)
        for one, other in zip(first, second, strict=False):
            _expect_alike(one, other, rule, *WRITTEN)
        expect(law == again, rule, "the same probabilities twice", f"{law}, then {again}")
        for p in law:
            expect(0.0 < p <= 1.0 + SUM_WITHIN, rule, "probabilities above 0 and at most 1", p)
        expect(abs(sum(law) - 1.0) <= SUM_WITHIN, rule, "probabilities that sum to 1", f"{sum(law):.12g}")
        return list(zip(law, first, strict=True))

    def draw(self, row: Row, key: int, kind: int = 0) -> Row:
        """Returns one outcome, drawn from the stream of `key`."""
        rule, R = "sample_outcome", self.block("R", 2, (), np.uint64)
        _, S = self.once(rule, {AT: row}, U_AT, R.array, writes=frozenset({AT}), blocks={R: (key, 0)}, kind=kind)
        expect(R.plain[0] == key, rule, "only the counter of the stream to move", "another key")
        return S.plain[AT].copy()

    def observation(self, row: Row, player: int | None = None, view: str = DEFAULT_VIEW) -> Arrays:
        """Returns the arrays of a view by name, as `player` sees it (None: the player who acts); a single array has the name ""."""
        rule, viewer = view_rule(view, player), () if player is None else (np.int64(player),)
        label = "O" if view == DEFAULT_VIEW else f"O of {view}"
        blocks = {
            name: self.block(f"{label}.{name}".rstrip("."), 3, box.shape, box.dtype)
            for name, box in self.boxes[view].items()
        }
        for block in blocks.values():
            block.guard.permit(frozenset(), frozenset({1}))
        arrays, layout = {name: block.array for name, block in blocks.items()}, self.game.view(view).layout
        O = arrays[""] if layout is None else layout(**arrays)

        def read(answer, S: JunkBlock) -> Arrays:
            for block in blocks.values():
                alone = block.is_junk([0, 2])
                expect(alone, rule, "only observation e to be written", f"a change of another in {block.label}")
            return {name: block.plain[1].copy() for name, block in blocks.items()}

        options = {
            "blocks": dict.fromkeys(blocks.values()),
            "size": "the observation space",
            "function": self.views.get(view),
        }
        first, second = self.twice(read, rule, {AT: row}, U_AT, *viewer, O, 1, **options)
        for name, array in first.items():
            unlike = (array != second[name]) & ~((array != array) & (second[name] != second[name]))
            if unlike.any():
                place = f"{blocks[name].label}{[int(k) for k in np.argwhere(unlike)[0]]}"
                raise RuleFault(rule, f"expected every number to be written, got none in {place}")
        return first

    def viewpoints(self) -> Iterator[tuple[str, int | None]]:
        """Yields every view with every player who may look (None: the player who acts)."""
        yield DEFAULT_VIEW, None
        yield from product(self.boxes, range(self.game.players))

    def image(self, row: Row, k: int) -> Row:
        return self.written("transform", {AT: row}, TO, U_AT, k, U_TO, rows=3)

    def moved_action(self, a: int, k: int) -> int:
        """Returns the action that matches `a` under symmetry k."""
        return int(self.call("transform_action", a, k, self.used))


def view_rule(view: str, player: int | None) -> str:
    """Returns the name of the rule that shows a view to a player."""
    return f"view {view}" if view != DEFAULT_VIEW else "observe" if player is None else "observe_as"


@contextmanager
def at_row(caller: RuleCaller, row: Row, text: str = "") -> Iterator[None]:
    """Adds the position of `row` to a RuleFault of this block that has none."""
    try:
        yield
    except RuleFault as fault:
        if fault.everywhere or fault.position:
            raise
        raise RuleFault(fault.rule, fault.message, text or caller.text(row), words(row)) from None


@contextmanager
def during(what: str) -> Iterator[None]:
    """Adds what was tried, such as an action or a symmetry, to a RuleFault of this block."""
    try:
        yield
    except RuleFault as fault:
        if fault.everywhere:
            raise
        raise RuleFault(fault.rule, f"{fault.message} ({what})", fault.position, fault.row) from None


def same(first: Any, second: Any) -> bool:
    """Whether two answers are equal; nan equals nan."""
    return bool(first == second or (first != first and second != second))


def words(row: Any) -> list[int]:
    """Returns the words of a row as Python integers."""
    return np.asarray(row).tolist()


def python_function(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the plain Python function of a rule, compiled or not."""
    plain = getattr(rule, "py_func", rule)
    return getattr(plain, "__wrapped__", plain)


def is_same_definition(first: Any, second: Any) -> bool:
    """Whether two parts of games have the same definition, possibly made twice."""
    code = getattr(python_function(first), "__code__", None)
    if code is not None:
        other = getattr(python_function(second), "__code__", None)
        return other is not None and code == other and code.co_filename == other.co_filename
    if first is second or type(first) is not type(second):
        return first is second
    if is_dataclass(first) and not isinstance(first, type):
        return all(is_same_definition(getattr(first, f.name), getattr(second, f.name)) for f in fields(first))
    if isinstance(first, Mapping):
        return first.keys() == second.keys() and all(is_same_definition(first[k], second[k]) for k in first)
    if isinstance(first, (list, tuple)):
        return len(first) == len(second) and all(map(is_same_definition, first, second))
    if isinstance(first, np.ndarray):
        return first.dtype == second.dtype and np.array_equal(first, second)
    return bool(first == second)


def fault_of(rule: str, problem: BaseException, function: Callable[..., Any]) -> RuleFault:
    """Turns an exception of a rule into a RuleFault, with the last line of the game's own source in its traceback."""
    if isinstance(problem, CompileError):
        fault = RuleFault(rule, str(problem))
        fault.everywhere = True
        return fault
    file = python_function(function).__code__.co_filename
    last = next((f for f in reversed(traceback.extract_tb(problem.__traceback__)) if f.filename == file), None)
    where = f" in {Path(last.filename).name} line {last.lineno}" if last else ""
    where += f", `{last.line}`" if last and last.line else ""
    if isinstance(problem, AccessViolation):
        return RuleFault(rule, f"{problem}{where}")
    if isinstance(problem, AttributeError) and hasattr(problem.obj, "_fields"):
        fields = ", ".join(problem.obj._fields)
        expected, got = f"a field of {type(problem.obj).__name__} among ({fields})", repr(problem.name)
    elif isinstance(problem, IndexError):
        expected, got = "every index within its array", f"an {type(problem).__name__} ({problem})"
    else:
        expected, got = "an answer", " ".join(f"{type(problem).__name__}: {problem}".split())[:200].rstrip(": ")
    return RuleFault(rule, f"expected {expected}, got {got}{where}")


def _expect_alike(first: Row, second: Row, rule: str, expected: str, got: str) -> None:
    """Raises RuleFault for the first word in which two rows differ."""
    for word in np.flatnonzero(first != second):
        raise RuleFault(rule, f"expected {expected}, got {got.format(word)}")


def _with_size(fault: RuleFault, size: str, blocks: Sequence[JunkBlock]) -> RuleFault:
    """Adds to a fault which size of the game an index exceeded."""
    outside = any(f" of {block.label}" in fault.message for block in blocks) or "IndexError" in fault.message
    if fault.everywhere or not outside or "rows (" in fault.message:
        return fault
    return RuleFault(fault.rule, f"{fault.message}; the length comes from {size}", fault.position, fault.row)
