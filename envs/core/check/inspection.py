"""Checks one game in this process: what is known without playing, other builds' answers, positions, and hand-made scores."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any, NamedTuple

import numpy as np

from leafwise.envs.core.check import acting, answers, together
from leafwise.envs.core.check.door import AT, Door, Row, permit, told
from leafwise.envs.core.check.fault import RuleFault, expect
from leafwise.envs.core.check.guards import guarded_tables
from leafwise.envs.core.check.note import Note
from leafwise.envs.core.check.option_files import check_option_files
from leafwise.envs.core.check.subject import Subject, subject_of, words
from leafwise.envs.core.check.walk import Walk
from leafwise.envs.core.compile.jit import BOUNDSCHECK, DISABLED
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import CHANCE

SCORED = 60
"""Positions at which every hand-made score is asked."""


class Task(NamedTuple):
    """What is to be done with a game."""

    seconds: float
    """Of processor time, for positions."""
    texts: Sequence[str] = ()
    """Positions to check besides those that play leads to."""
    rows: Sequence[Sequence[int]] = ()
    """The same as words of rows."""
    expected: Sequence[dict[str, Any]] = ()
    """What another build answered."""
    wanted: int = 0
    """For how many positions to return the answers."""
    seed: int = 1


class Found(NamedTuple):
    """What came of it."""

    positions: int
    answers: list[dict[str, Any]]
    twins: list[dict[str, Any]]
    """The answers in texts."""


def inspect_game(game: Game, task: Task, note: Note | None = None) -> Found:
    """Checks a game in this process, as it is compiled here (or not); raises RuleFault where it breaks its contract."""
    subject = _subject(game)
    check_option_files(game)
    door = Door(subject, note)
    before = digest(subject.game.tables(), subject.scratch)
    for expected in task.expected:
        answers.compare(door, expected, _build())
    rows = [np.array(row, dtype=game.dtype) for row in task.rows] + [_read(subject, text) for text in task.texts]
    walk = Walk(door, task.seed, draws=250 if DISABLED else 2000)
    seen = walk.run(task.seconds, rows) if task.seconds or rows else []
    check_scores(door, seen)
    changed = [path for path, crc in digest(subject.game.tables(), subject.scratch).items() if before.get(path) != crc]
    expect(
        not changed, "tables", "only arrays named in `scratch` to be written", f"a change of T.{', T.'.join(changed)}"
    )
    some = Random(task.seed).sample(seen, min(task.wanted, len(seen)))
    found = [answers.answer(door, row) for row in some]
    return Found(len(seen), found, [answers.with_texts(door, answer) for answer in found])


def _build() -> str:
    return (
        "in plain Python" if DISABLED else "in compiled code that checks indices" if BOUNDSCHECK else "in compiled code"
    )


def _subject(game: Game) -> Subject:
    try:
        subject = subject_of(game)
        subject.game.tables()
    except (Exception, SystemExit) as problem:
        raise RuleFault("", told(problem, game.make_tables)) from None
    return subject


def _read(subject: Subject, text: str) -> Row:
    try:
        row: Row = np.asarray(subject.parse(text, subject.game.tables())).astype(subject.game.dtype)
    except ValueError as problem:
        raise RuleFault("parse", f"expected a position, got {text!r}: {problem}") from None
    return row


def digest(T: Any, scratch: frozenset[str], path: str = "") -> dict[str, int]:
    """Returns a checksum of every array of T that is not scratch, by its path."""
    if isinstance(T, np.ndarray):
        return {} if path in scratch or path == "stop" else {path: zlib.crc32(np.ascontiguousarray(T).tobytes())}
    found: dict[str, int] = {}
    if isinstance(T, tuple):
        for name in getattr(T, "_fields", range(len(T))):
            part = getattr(T, name) if isinstance(name, str) else T[name]
            found |= digest(part, scratch, f"{path}.{name}".lstrip("."))
    return found


def check_scores(door: Door, seen: Iterable[Row]) -> None:
    """Checks that every hand-made score is a number within its bounds, at some of the positions."""
    game = door.subject.game
    rows = list(seen)
    for name in game.scores:
        rule = f"score {name}"
        try:
            evaluator = game.score(name)
            T = game.tables(evaluator)
        except (Exception, SystemExit) as problem:
            raise RuleFault(rule, told(problem, game.scores[name])) from None
        expect(evaluator.stage in game.stages, rule, f"a stage among {game.stages}", repr(evaluator.stage))
        if evaluator.value is None:
            continue
        own = frozenset({"stop", *door.subject.scratch, *(f"leaf.{field}" for field in evaluator.scratch)})
        T = guarded_tables(T, own) if door.guarded else T
        asked = [row for row in rows if game.stages[int(door.ask("stage", row))] in ("decision", evaluator.stage)]
        chance = (
            [row for row in rows if acting.player(door, row) == CHANCE]
            if evaluator.speed.sibling_values is not None
            else []
        )
        checks = (check_score, asked, SCORED), (together.check_siblings, chance, together.MOST_STAGES)
        for check, some, most in checks:
            for row in Random(1).sample(some, min(most, len(some))):
                try:
                    check(door, rule, evaluator, row, T)
                except RuleFault as fault:
                    text = door.subject.write(row, game.tables())
                    raise fault.at(text, words(row)) from None


def check_score(door: Door, rule: str, evaluator: Evaluator, row: Row, T: Any) -> None:
    """Checks one score at one position."""
    S = door.rows(2)
    S.clear(0)
    S.plain[AT] = row
    permit(S.guard, {AT}, set())
    value = door.call(rule, S.array, np.uint64(AT), T, function=evaluator.value)
    door.check_kept(rule, S, {AT: row}, 0)
    low = -math.inf if evaluator.low is None else evaluator.low
    high = math.inf if evaluator.high is None else evaluator.high
    expect(math.isfinite(value) and low <= value <= high, rule, f"a finite number in {low:g}..{high:g}", value)
