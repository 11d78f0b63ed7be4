"""Checks one game, or one row, in this process, and compares its forms with each other and with a twin implementation."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from operator import attrgetter
from random import Random
from types import FrameType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from leafwise.envs.core.check.rule_caller import (
    CHECKED,
    PLAIN,
    PLAYED,
    REPLACEMENTS,
    AccessViolation,
    Row,
    RuleCaller,
    RuleFault,
    arrays_of,
    at_row,
    expect,
    fault_of,
    same,
    view_rule,
    words,
)
from leafwise.envs.core.check.walk import MOST_ACTIONS, Checker, Walk, check_siblings, check_value
from leafwise.envs.core.compile.forms import PlainForms
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL
from leafwise.envs.core.errors import short

if TYPE_CHECKING:
    from leafwise.envs.core.check.checking import Heartbeat
    from leafwise.envs.core.contract.game import Game


COMPARED = 200
"""Positions at which the forms, and a twin, are compared."""
SCORED, MOST_STAGES = 60, 12
"""Positions at which every hand-made score is called, and chance stages at which its sibling values are compared."""
OBSERVED = 5000
"""Positions among which observations are compared."""
SEED = 1
MOST_LINES = 3_000_000
"""Lines of the rules' code that may run for one row from outside; it stops endless rules after some seconds."""
SYMMETRIES = 9
"""Such a row is also transformed by symmetries below this number, to see that the rule runs."""


def inspect_game(
    game: Game,
    seconds: Mapping[str, float],
    texts: Sequence[str] = (),
    twins: bool = False,
    heartbeat: Heartbeat | None = None,
) -> dict[str, Any]:
    """Checks a game in this process and returns the number of `positions`, and `notes`; raises RuleFault for a broken promise.

    `seconds` maps the forms to check, in this order, to processor time for the positions of each. `texts` are further
    positions. With `twins` the result holds the questions for a twin, with the answers as text.
    """
    check_option_files(game)
    positions = 0
    notes: list[str] = []
    expected: list[Answer] = []
    twin_answers: list[Answer] = []
    for form, time in seconds.items():
        try:
            before = _digest(game)
            caller = RuleCaller(game, form, heartbeat)
        except (Exception, SystemExit) as problem:
            raise fault_of("", problem, game.make_tables) from None
        for answers in expected:
            compare(caller, answers)
        rows = [_read(caller, text) for text in texts]
        try:
            seen = _walk(caller, time, rows)
        except RuleFault as fault:
            if PLAIN in seconds and form == CHECKED and fault.row and "IndexError" in fault.message:
                row = np.array(fault.row, dtype=game.dtype)  # plain Python says which array it was
                _walk(RuleCaller(game, PLAIN, heartbeat), 0.0, [row])
            raise
        written = [path for (path, crc), (_, new) in zip(before, _digest(game), strict=True) if crc != new]
        change = f"a change of T.{', T.'.join(written)}"
        expect(not written, "tables", "only arrays named in `scratch` to be written", change)
        if form == PLAIN:
            sample = Random(SEED).sample(seen, min(COMPARED, len(seen)))
            expected = [answer(caller, row) for row in sample]
            twin_answers = [in_words(caller, row) for row in sample] if twins else []
        positions = max(positions, len(seen))
        notes = notes or list(look_alikes(caller, seen))
    return {"positions": positions, "twins": twin_answers, "notes": notes}


def look_alikes(caller: RuleCaller, rows: list[Row]) -> Iterator[str]:
    """Yields a note about the first two decisions that look alike to the player and have different keys in a search."""
    first: dict[tuple[Any, ...], Row] = {}
    for row in Random(SEED).sample(rows, min(OBSERVED, len(rows))):
        acts = caller.player(row)
        if acts in (CHANCE, TERMINAL):
            continue
        seen = b"".join(array.tobytes() for array in caller.observation(row).values())
        other = first.setdefault((acts, seen, *caller.numbers("legal_actions", row)), row)
        if int(caller.ask("key", row)) != int(caller.ask("key", other)):
            both = " and ".join(repr(short(caller.text(one), 160)) for one in (other, row))
            yield (
                f"note: {both} look alike to player {acts + 1}, and a search tells them apart: if that is hidden, it plays with"
                " what the player does not know"
            )
            return


def _walk(caller: RuleCaller, seconds: float, rows: list[Row]) -> list[Row]:
    """Returns the positions that were checked; none if there is no time and no row."""
    seen = Walk(caller, SEED).run(seconds, rows) if seconds or rows else []
    for name in caller.game.scores:
        _check_score(caller, name, seen)
    return seen


def _read(caller: RuleCaller, text: str) -> Row:
    game = caller.game
    try:
        row: Row = np.asarray(caller.parse(text, caller.T)).astype(game.dtype)
    except ValueError as problem:
        raise RuleFault("parse", f"expected a position, got {text!r}: {problem}") from None
    return row


def _digest(game: Game) -> list[tuple[str, int]]:
    """Returns the path and a checksum of every array of a game's tables that is not scratch."""
    constant = [(path, array) for path, array in arrays_of(game.tables()) if path not in {"stop", *game.scratch}]
    return [(path, zlib.crc32(np.ascontiguousarray(array).tobytes())) for path, array in constant]


def _check_score(caller: RuleCaller, name: str, rows: list[Row]) -> None:
    """Checks, at some positions, that a hand-made score is within its bounds and agrees with its sibling values."""
    game, rule = caller.game, f"score {name}"
    try:
        evaluator = game.score(name)
        tables = game.tables(evaluator)
    except (Exception, SystemExit) as problem:
        raise fault_of(rule, problem, game.scores[name]) from None
    sound = evaluator.stages and set(evaluator.stages) <= set(game.stages)
    expect(sound, rule, f"a stage among {game.stages}", repr(evaluator.stage))
    if evaluator.value is None:
        return
    T = caller.tables(tables, frozenset(f"leaf.{field}" for field in evaluator.scratch))

    decisions = [row for row in rows if game.stages[int(caller.ask("stage", row))] in ("decision", *evaluator.stages)]
    siblings = rows if evaluator.speed.sibling_values is not None and "afterstates" in caller.rules else []
    chance = [row for row in siblings if caller.player(row) == CHANCE]
    for check, rows_of_check, limit in (check_value, decisions, SCORED), (check_siblings, chance, MOST_STAGES):
        for row in Random(SEED).sample(rows_of_check, min(limit, len(rows_of_check))):
            with at_row(caller, row):
                check(caller, rule, evaluator, row, T)


@cache
def _opened() -> list[bool]:
    """Returns a list that grows whenever this file is opened; the audit hook for it cannot be removed."""
    opened: list[bool] = []

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and arguments and arguments[0] == __file__:
            opened.append(True)

    sys.addaudithook(hook)
    return opened


def check_option_files(game: Game) -> None:
    """Raises RuleFault if the game opens the text of an option as a file, since other people's files may hold options.

    The file of this module is the test case.
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
    """Reads rows from outside for a game without `is_valid`, in plain Python, before compiled code sees them.

    Its arrays refuse every index out of range and every negative one, and the row has to pass all checks of a position.
    """

    def __init__(self, game: Game) -> None:
        self._game, self._forms = game, PlainForms(made=REPLACEMENTS)

    def fault(self, row: Row) -> RuleFault | None:
        """Returns the promise that the rules break at a row; None if they can read it and go on from it."""
        caller = RuleCaller(self._game, PLAIN, made=self._forms, symmetries=1)
        with _budget(self._forms.codes):
            try:
                Checker(caller, Random(0)).check(row)
                for k in range(1, min(self._game.symmetry_count, SYMMETRIES)):
                    caller.image(row, k)
            except RuleFault as fault:
                return fault
        return None


@contextlib.contextmanager
def _budget(codes: set[Any]) -> Iterator[None]:
    """Counts the lines that run in some functions, and raises AccessViolation in them when there are too many."""
    left = MOST_LINES

    def line(frame: FrameType, event: str, argument) -> Callable[..., Any]:
        nonlocal left
        left -= 1
        if left < 0:
            raise AccessViolation(f"expected an answer within {MOST_LINES:,} lines, got none")
        return line

    before = sys.gettrace()
    sys.settrace(lambda frame, event, argument: line if frame.f_code in codes else None)
    try:
        yield
    finally:
        sys.settrace(before)


Answer = dict[str, Any]
WITHIN = 1e-9
"""Relative tolerance for numbers of two forms."""
CODE = {CHECKED: "in compiled code that checks indices", PLAYED: "in compiled code"}
PLAYERS = {0: "first", 1: "second", CHANCE: "chance", TERMINAL: "nobody"}
"""Names of the players in the answers of a twin."""


def answer(caller: RuleCaller, row: Row) -> Answer:
    """Returns all that the rules answer at a position; rows are lists of words."""
    acts = caller.player(row)
    answers: Answer = {"row": words(row), "current_player": acts, "returns": float(caller.ask("returns", row))}
    if acts == CHANCE:
        answers["chance_outcomes"] = [[p, words(successor)] for p, successor in caller.outcomes(row)]
        answers["sample_outcome"] = [words(caller.draw(row, key)) for key in range(1, 4)]
    elif acts != TERMINAL:
        legal = answers["legal_actions"] = caller.numbers("legal_actions", row)
        answers["apply_action"] = [[a, words(caller.after(row, a))] for a in some_actions(legal)]
    answers |= {"stage": caller.whole_number("stage", row), "key": int(caller.ask("key", row))}
    if acts == CHANCE:
        return answers
    for view, viewer in caller.viewpoints():
        seen = caller.observation(row, viewer, view).values()
        answers.setdefault(view_rule(view, viewer), []).extend(
            x for array in seen for x in array.ravel().astype(float).tolist()
        )
    if "apply_action" in answers:
        answers["action_cost"] = [
            caller.whole_number("action_cost", row, np.int64(a)) for a, _ in answers["apply_action"]
        ]
        choices = range(len(caller.game.search.candidates))
        answers["candidates"] = [caller.numbers("candidates", row, which) for which in choices]
    return answers


def compare(caller: RuleCaller, expected: Answer) -> None:
    """Raises RuleFault if this form answers differently from plain Python at the position of `expected`."""
    row = np.array(expected["row"], dtype=caller.game.dtype)
    with at_row(caller, row):
        caller.set_position(caller.text(row))
        caller.renew()
        got = answer(caller, row)
        for rule, wanted in expected.items():
            plain = f"what plain Python answers, {short(wanted)}"
            expect(alike(wanted, got.get(rule)), rule, plain, f"{short(got[rule])} {CODE[caller.name]}")


def alike(first: Any, second: Any) -> bool:
    """Whether two answers are equal, numbers up to rounding."""
    if isinstance(first, (list, tuple)):
        return len(first) == len(second) and all(map(alike, first, second))
    if isinstance(first, float) and math.isfinite(first):
        return math.isclose(first, second, rel_tol=WITHIN, abs_tol=WITHIN)
    return same(first, second)


def some_actions(legal: list[int]) -> list[int]:
    """Returns the actions to try at a decision, the same ones each time."""
    return legal if len(legal) <= MOST_ACTIONS else sorted(Random(len(legal)).sample(legal, MOST_ACTIONS))


def in_words(caller: RuleCaller, row: Row) -> Answer:
    """Describes a position for a twin, with texts of positions and names of actions: who acts, and all successors."""
    acts, names = caller.player(row), caller.game.actions
    answers: Answer = {"row": words(row), "text": caller.text(row), "current_player": PLAYERS[acts]}
    answers["returns"] = float(caller.ask("returns", row))
    if acts == CHANCE:
        answers["chance_outcomes"] = law_of((p, caller.text(after)) for p, after in caller.outcomes(row))
    elif acts != TERMINAL:
        legal = caller.numbers("legal_actions", row)
        answers["legal_actions"] = sorted(names[a] for a in legal)
        answers["apply_action"] = {names[a]: caller.text(caller.after(row, a)) for a in some_actions(legal)}
    return answers


def law_of(outcomes: Iterable[tuple[float, str]]) -> dict[str, float]:
    """Returns the total probability of every text."""
    law: defaultdict[str, float] = defaultdict(float)
    for p, text in outcomes:
        law[text] += p
    return law


def game_twin(game: Game) -> SimpleNamespace:
    """Wraps another `Game` as a twin."""
    return SimpleNamespace(
        read=game.parse,
        write=str,
        player=lambda state: PLAYERS[state.current_player],
        returns=attrgetter("returns"),
        legal=attrgetter("legal_names"),
        play=lambda state, name: state.play(name),
        outcomes=lambda state: state.outcomes(),
    )


def compare_with_twin(answers: Mapping[str, Any], twin: Any) -> None:
    """Raises RuleFault if a twin contradicts the answers of `in_words`."""
    rule = "twin"
    try:
        position = twin.read(answers["text"])
        questions: dict[str, Callable[[], Any]] = {
            "current_player": lambda: twin.player(position),
            "returns": lambda: float(twin.returns(position)),
            "legal_actions": lambda: sorted(twin.legal(position)),
            "apply_action": lambda: {name: twin.write(twin.play(position, name)) for name in answers[rule]},
            "chance_outcomes": lambda: law_of((p, twin.write(after)) for p, after in twin.outcomes(position)),
        }
        for rule in [rule for rule in questions if rule in answers]:
            wanted, got = questions[rule](), answers[rule]
            if not isinstance(got, dict):
                expect(alike(wanted, got), rule, f"{short(repr(wanted))} as the twin says", short(repr(got)))
                continue
            for key in sorted({*wanted, *got}):
                expected_value, value = wanted.get(key, 0.0), got.get(key, 0.0)
                expect(
                    alike(expected_value, value), rule, f"{key!r} with {expected_value!r} as the twin says", repr(value)
                )
    except RuleFault as fault:
        raise RuleFault(fault.rule, fault.message, answers["text"], answers["row"]) from None
    except Exception as problem:
        got = f"expected a twin that answers, got {type(problem).__name__}: {problem}"
        raise RuleFault(rule, got, answers["text"], answers["row"]) from None
