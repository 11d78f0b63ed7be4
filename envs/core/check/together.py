"""Checks what games and leaves may do for many positions at once, against what they do for each: it may only be faster."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.check import acting
from leafwise.envs.core.check.door import AT, OUT, TO, Door, Row, permit
from leafwise.envs.core.check.fault import Fault, expect
from leafwise.envs.core.compile.fingerprint import label
from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.evaluator import Evaluator, Siblings
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL

MOST_OUTCOMES = 4
"""Outcomes of one chance stage that are looked at."""
MOST_STAGES = 12
"""Chance stages at which siblings are looked at."""
FIRST = 3
"""The first row that `afterstates` may write."""

Law = Sequence[tuple[float, Row]]


def written_afterstates(door: Door, row: Row) -> NDArray[Any]:
    """Returns the rows that `afterstates` writes at a chance stage, [n, width]."""
    rule, most = "afterstates", door.subject.game.max_actions
    found = []
    for kind, T in enumerate((door.used, door.fresh)):
        S = door.rows(FIRST + most)
        S.clear(kind)
        S.plain[AT] = row
        permit(S.guard, {AT}, set(range(FIRST, FIRST + most)))
        n = int(door.call(rule, S.array, np.uint64(AT), np.uint64(FIRST), T))
        door.check_kept(rule, S, {AT: row}, kind)
        expect(0 <= n <= most, rule, f"a number of actions in 0..{most} (max_actions)", n)
        found.append(S.plain[FIRST : FIRST + n].copy())
    expect(len(found[0]) == len(found[1]), rule, "as many rows twice", f"{len(found[0])}, then {len(found[1])}")
    return found[0]


def joined(door: Door, afterstate: Row, outcome: Row) -> Row:
    """Returns what `joined` makes of a row of `afterstates` and an outcome."""
    rule, S = "joined", door.rows(FIRST + 1)
    S.clear(0)
    S.plain[AT], S.plain[TO] = afterstate, outcome
    permit(S.guard, {AT, TO}, {FIRST})
    door.call(rule, S.array, np.uint64(AT), np.uint64(TO), np.uint64(FIRST), door.used)
    door.check_kept(rule, S, {AT: afterstate, TO: outcome}, 0)
    row: Row = S.plain[FIRST].copy()
    return row


def check_afterstates(door: Door, row: Row, law: Law) -> None:
    """Compares `afterstates` and `joined`, at a chance stage with these outcomes, with acting after each outcome."""
    if "afterstates" not in door.subject.rules:
        return
    afterstates = written_afterstates(door, row)
    for _, outcome in law[:MOST_OUTCOMES] if len(afterstates) else ():
        told = "outcomes that are decisions"
        expect(acting.player(door, outcome) >= 0, "afterstates", told, "one that is not")
        legal = acting.numbers(door, "legal_actions", outcome)
        expect(len(legal) == len(afterstates), "afterstates", f"{len(legal)} legal actions", len(afterstates))
        for a, afterstate in zip(legal, afterstates, strict=True):
            name = f"action {door.subject.game.actions[a]!r}"
            wanted, got = acting.after(door, outcome, a), joined(door, afterstate, outcome)
            if wanted.tobytes() != got.tobytes():
                told = f"the row that apply_action writes, {wanted.tolist()}"
                raise Fault("joined", f"expected {told}, got {got.tolist()} ({name})")
            acts, cost = acting.player(door, wanted), door.whole_number("action_cost", outcome, np.int64(a))
            sound = acts == CHANCE and cost == 1
            expect(sound, "afterstates", f"chance to act after {name}, which costs 1", f"player {acts}, cost {cost}")


def check_siblings(door: Door, rule: str, evaluator: Evaluator, row: Row, T: Any) -> None:
    """Compares, at a chance stage, the mean of siblings with that of leaves one by one, and with shared numbers of another."""
    law = acting.outcomes(door, row)
    _check_mean(door, rule, evaluator, row, row, T)
    if "afterstates" not in door.subject.rules:
        return
    for afterstate in written_afterstates(door, row):
        rows = [joined(door, afterstate, outcome) for _, outcome in law[:MOST_OUTCOMES]]
        for other in rows:
            _check_mean(door, rule, evaluator, other, rows[0], T)


@cache
def _mean_by_another(siblings: Siblings, name: str, room: Path) -> Any:
    """Compiles `(S, j, first, P, o, T)`: the mean at row j with the shared numbers of row `first`, which stay compiled code's own.

    Passed on through Python, a word and a whole number would come back as the same.
    """
    shared_by, mean = siblings

    @bind(name, room)
    def mean_by_another(S, j, first, P, o, T):
        return mean(S, j, shared_by(S, first, T), P, o, T)

    return mean_by_another


def _check_mean(door: Door, rule: str, evaluator: Evaluator, row: Row, first: Row, T: Any) -> None:
    """Checks the mean at a chance row; `first` is the row that the shared numbers are of."""
    assert evaluator.siblings is not None
    game = door.subject.game
    name = f"{game.name}_{label(*evaluator.siblings)}"
    function = _mean_by_another(evaluator.siblings, name, evaluator.room or game.room)
    most = game.max_outcomes
    S, P = door.rows(OUT + most), door.block("P", OUT + most, (), np.float64)
    S.clear(0)
    P.clear(0)
    S.plain[AT], S.plain[TO] = row, first
    permit(S.guard, {AT, TO}, set(range(OUT, OUT + most)))
    permit(P.guard, set(), set(range(OUT, OUT + most)))
    n, mean = door.call(rule, S.array, np.uint64(AT), np.uint64(TO), P.array, np.uint64(OUT), T, function=function)
    door.check_kept(rule, S, {AT: row, TO: first}, 0)
    if n == 0:
        return
    law = acting.outcomes(door, row)
    expect(n == len(law), rule, f"siblings to count {len(law)} outcomes", n)
    total = 0.0
    for p, leaf in law:
        total += p * _worth(door, rule, evaluator, leaf, T)
    same = mean == total or (math.isnan(mean) and math.isnan(total))
    expect(same, rule, f"the mean of leaves one by one, {total!r}, of siblings", repr(float(mean)))


def _worth(door: Door, rule: str, evaluator: Evaluator, leaf: Row, T: Any) -> float:
    """Returns what a search of a game for one takes a leaf for."""
    game = door.subject.game
    stage, acts = game.stages[door.whole_number("stage", leaf)], acting.player(door, leaf)
    expect(stage in (evaluator.stage, "decision"), rule, f"siblings of leaves at {evaluator.stage!r}", repr(stage))
    if acts != TERMINAL or evaluator.terminal == "evaluate":
        S = door.rows(2)
        S.clear(0)
        S.plain[AT] = leaf
        permit(S.guard, {AT}, set())
        value = float(door.call(rule, S.array, np.uint64(AT), T, function=evaluator.value))
        door.check_kept(rule, S, {AT: leaf}, 0)
        return value
    returns = float(door.ask("returns", leaf))
    if evaluator.terminal == "returns":
        return returns
    win, draw, loss = evaluator.terminal
    return win if returns > 0 else loss if returns < 0 else draw
