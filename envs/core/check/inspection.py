"""Checks one game, or one row, in this process: in plain Python, compiled with every index checked, and as it is played.

What the rules answer at a position is compared between these forms, and with a twin.
"""

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

from leafwise.envs.core.check.door import (
    CHECKED,
    PLAIN,
    PLAYED,
    WHOLE,
    Door,
    Misuse,
    Row,
    RuleFault,
    arrays_of,
    at_row,
    expect,
    fault_of,
    look_rule,
    same,
    words,
)
from leafwise.envs.core.check.walk import MOST_ACTIONS, Checker, Walk, check_siblings, check_value
from leafwise.envs.core.compile.forms import PlainForms
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL
from leafwise.envs.core.errors import short

if TYPE_CHECKING:
    from leafwise.envs.core.check.checking import Note
    from leafwise.envs.core.contract.game import Game


COMPARED = 200
"""Positions at which the forms, and a twin, are compared."""
SCORED, MOST_STAGES = 60, 12
"""Positions at which every hand-made score is asked, and chance stages at which siblings are."""
LOOKED_AT = 5000
"""Positions that are compared by what players see."""
SEED = 1
MOST_LINES = 3_000_000
"""Lines of the rules' code that may run for one row from outside: rules that would never end stop here, after some seconds."""
SYMMETRIES = 9
"""Symmetries below which such a row is also transformed, without a look at what comes of it."""


def inspect_game(
    game: Game, seconds: Mapping[str, float], texts: Sequence[str] = (), twins: bool = False, note: Note | None = None
) -> dict[str, Any]:
    """Checks a game in this process, and returns how many `positions`, and `notes`; raises RuleFault where it breaks its contract.

    `seconds` are the forms to check, in this order, and the processor time for the positions of each; `texts` are positions to
    check besides those that play leads to. With `twins` the result has what a twin is asked, answers in texts.
    """
    check_option_files(game)
    positions = 0
    notes: list[str] = []
    expected: list[Answer] = []
    asked: list[Answer] = []
    for form, time in seconds.items():
        try:
            before = _digest(game)
            door = Door(game, form, note)
        except (Exception, SystemExit) as problem:
            raise fault_of("", problem, game.make_tables) from None
        for one in expected:
            compare(door, one)
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
            expected = [answer(door, row) for row in some]
            asked = [in_words(door, row) for row in some] if twins else []
        positions = max(positions, len(seen))
        notes = notes or list(look_alikes(door, seen))
    return {"positions": positions, "twins": asked, "notes": notes}


def look_alikes(door: Door, rows: list[Row]) -> Iterator[str]:
    """Yields what is to be said of the first two decisions that look alike to who acts and are different ones to a search."""
    first: dict[tuple[Any, ...], Row] = {}
    for row in Random(SEED).sample(rows, min(LOOKED_AT, len(rows))):
        acts = door.player(row)
        if acts in (CHANCE, TERMINAL):
            continue
        seen = b"".join(array.tobytes() for array in door.observation(row).values())
        other = first.setdefault((acts, seen, *door.numbers("legal_actions", row)), row)
        if int(door.ask("key", row)) != int(door.ask("key", other)):
            both = " and ".join(repr(short(door.text(one), 160)) for one in (other, row))
            yield (
                f"note: {both} look alike to player {acts + 1}, and a search tells them apart: if that is hidden, it plays with"
                " what the player does not know"
            )
            return


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
    sound = evaluator.stages and set(evaluator.stages) <= set(game.stages)
    expect(sound, rule, f"a stage among {game.stages}", repr(evaluator.stage))
    if evaluator.value is None:
        return
    T = door.tables(own, frozenset(f"leaf.{field}" for field in evaluator.scratch))

    asked = [row for row in rows if game.stages[int(door.ask("stage", row))] in ("decision", *evaluator.stages)]
    siblings = rows if evaluator.speed.sibling_values is not None and "afterstates" in door.rules else []
    chance = [row for row in siblings if door.player(row) == CHANCE]
    for check, some, most in (check_value, asked, SCORED), (check_siblings, chance, MOST_STAGES):
        for row in Random(SEED).sample(some, min(most, len(some))):
            with at_row(door, row):
                check(door, rule, evaluator, row, T)


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

    def line(frame: FrameType, event: str, argument) -> Callable[..., Any]:
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


Answer = dict[str, Any]
WITHIN = 1e-9
"""By how much numbers of two forms may differ, of their size."""
CODE = {CHECKED: "in compiled code that checks indices", PLAYED: "in compiled code"}
PLAYERS = {0: "first", 1: "second", CHANCE: "chance", TERMINAL: "nobody"}
"""How a twin calls who acts."""


def answer(door: Door, row: Row) -> Answer:
    """Returns all that the rules say of a position; rows are lists of words."""
    acts = door.player(row)
    found: Answer = {"row": words(row), "current_player": acts, "returns": float(door.ask("returns", row))}
    if acts == CHANCE:
        found["chance_outcomes"] = [[p, words(successor)] for p, successor in door.outcomes(row)]
        found["sample_outcome"] = [words(door.draw(row, key)) for key in range(1, 4)]
    elif acts != TERMINAL:
        legal = found["legal_actions"] = door.numbers("legal_actions", row)
        found["apply_action"] = [[a, words(door.after(row, a))] for a in some_actions(legal)]
    found |= {"stage": door.whole_number("stage", row), "key": int(door.ask("key", row))}
    if acts == CHANCE:
        return found
    for view, viewer in door.looks():
        seen = door.observation(row, viewer, view).values()
        found.setdefault(look_rule(view, viewer), []).extend(
            x for array in seen for x in array.ravel().astype(float).tolist()
        )
    if "apply_action" in found:
        found["action_cost"] = [door.whole_number("action_cost", row, np.int64(a)) for a, _ in found["apply_action"]]
        some = range(len(door.game.search.candidates))
        found["candidates"] = [door.numbers("candidates", row, which) for which in some]
    return found


def compare(door: Door, expected: Answer) -> None:
    """Raises RuleFault where this form answers otherwise than plain Python did, at the position of that answer."""
    row = np.array(expected["row"], dtype=door.game.dtype)
    with at_row(door, row):
        door.stand(door.text(row))
        door.renew()
        got = answer(door, row)
        for rule, wanted in expected.items():
            plain = f"what plain Python answers, {short(wanted)}"
            expect(alike(wanted, got.get(rule)), rule, plain, f"{short(got[rule])} {CODE[door.name]}")


def alike(first: Any, second: Any) -> bool:
    """Whether two answers are the same, numbers up to rounding."""
    if isinstance(first, (list, tuple)):
        return len(first) == len(second) and all(map(alike, first, second))
    if isinstance(first, float) and math.isfinite(first):
        return math.isclose(first, second, rel_tol=WITHIN, abs_tol=WITHIN)
    return same(first, second)


def some_actions(legal: list[int]) -> list[int]:
    """Returns the actions that are tried at a decision, the same ones each time."""
    return legal if len(legal) <= MOST_ACTIONS else sorted(Random(len(legal)).sample(legal, MOST_ACTIONS))


def in_words(door: Door, row: Row) -> Answer:
    """Returns who acts at a position and where that leads, for a twin: it knows positions by texts and actions by names."""
    acts, names = door.player(row), door.game.actions
    told: Answer = {"row": words(row), "text": door.text(row), "current_player": PLAYERS[acts]}
    told["returns"] = float(door.ask("returns", row))
    if acts == CHANCE:
        told["chance_outcomes"] = law_of((p, door.text(after)) for p, after in door.outcomes(row))
    elif acts != TERMINAL:
        legal = door.numbers("legal_actions", row)
        told["legal_actions"] = sorted(names[a] for a in legal)
        told["apply_action"] = {names[a]: door.text(door.after(row, a)) for a in some_actions(legal)}
    return told


def law_of(outcomes: Iterable[tuple[float, str]]) -> dict[str, float]:
    """Returns the probability of every text."""
    law: defaultdict[str, float] = defaultdict(float)
    for p, text in outcomes:
        law[text] += p
    return law


def game_twin(game: Game) -> SimpleNamespace:
    """Returns a twin that answers by the rules of another game."""
    return SimpleNamespace(
        read=game.parse,
        write=str,
        player=lambda state: PLAYERS[state.current_player],
        returns=attrgetter("returns"),
        legal=attrgetter("legal_names"),
        play=lambda state, name: state.play(name),
        outcomes=lambda state: state.outcomes(),
    )


def compare_with_twin(told: Mapping[str, Any], twin: Any) -> None:
    """Raises RuleFault where a twin says something else of a position than `in_words`."""
    rule = "twin"
    try:
        position = twin.read(told["text"])
        asks: dict[str, Callable[[], Any]] = {
            "current_player": lambda: twin.player(position),
            "returns": lambda: float(twin.returns(position)),
            "legal_actions": lambda: sorted(twin.legal(position)),
            "apply_action": lambda: {name: twin.write(twin.play(position, name)) for name in told[rule]},
            "chance_outcomes": lambda: law_of((p, twin.write(after)) for p, after in twin.outcomes(position)),
        }
        for rule in [rule for rule in asks if rule in told]:
            wanted, got = asks[rule](), told[rule]
            if not isinstance(got, dict):
                expect(alike(wanted, got), rule, f"{short(repr(wanted))} as the twin says", short(repr(got)))
                continue
            for key in sorted({*wanted, *got}):
                here, there = wanted.get(key, 0.0), got.get(key, 0.0)
                expect(alike(here, there), rule, f"{key!r} with {here!r} as the twin says", repr(there))
    except RuleFault as fault:
        raise RuleFault(fault.rule, fault.told, told["text"], told["row"]) from None
    except Exception as problem:
        got = f"expected a twin that answers, got {type(problem).__name__}: {problem}"
        raise RuleFault(rule, got, told["text"], told["row"]) from None
