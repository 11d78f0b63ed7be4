"""Checks what games and leaves may do for many positions at once, against what they do for each: it may only be faster."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.check.door import AT, OUT, TO, U_AT, U_OUT, U_TO, Door, Row, expect, same
from leafwise.envs.core.check.guards import Block
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL

MOST_OUTCOMES = 4
"""Outcomes of one chance stage that are looked at."""
FIRST = 3
"""The first row that `afterstates` may write."""


def written_afterstates(door: Door, row: Row) -> NDArray[Any]:
    """Returns the rows that `afterstates` writes at a chance stage, [n, width]."""
    rule, most = "afterstates", door.game.max_actions
    own = frozenset(range(FIRST, FIRST + most))

    def read(n: Any, S: Block) -> NDArray[Any]:
        expect(0 <= int(n) <= most, rule, f"a number of actions in 0..{most} (max_actions)", int(n))
        return S.plain[FIRST : FIRST + int(n)].copy()

    first, second = door.twice(read, rule, {AT: row}, U_AT, np.uint64(FIRST), rows=FIRST + most, writes=own)
    expect(len(first) == len(second), rule, "as many rows twice", f"{len(first)}, then {len(second)}")
    rows: NDArray[Any] = first
    return rows


def apply_outcome(door: Door, afterstate: Row, outcome: Row) -> Row:
    """Returns what `apply_outcome` makes of a row of `afterstates` and an outcome."""
    given, where = {AT: afterstate, TO: outcome}, (U_AT, U_TO, np.uint64(FIRST))
    _, S = door.once("apply_outcome", given, *where, rows=FIRST + 1, writes=frozenset({FIRST}))
    row: Row = S.plain[FIRST].copy()
    return row


def check_afterstates(door: Door, row: Row, law: Sequence[tuple[float, Row]]) -> None:
    """Compares `afterstates` and `apply_outcome`, at a chance stage with these outcomes, with acting after each outcome."""
    if "afterstates" not in door.rules:
        return
    afterstates = written_afterstates(door, row)
    for _, outcome in law[:MOST_OUTCOMES] if len(afterstates) else ():
        expect(door.player(outcome) >= 0, "afterstates", "outcomes that are decisions", "one that is not")
        legal = door.numbers("legal_actions", outcome)
        expect(len(legal) == len(afterstates), "afterstates", f"{len(legal)} legal actions", len(afterstates))
        for a, afterstate in zip(legal, afterstates, strict=True):
            name = f"action {door.game.actions[a]!r}"
            wanted, got = door.after(outcome, a), apply_outcome(door, afterstate, outcome)
            written = f"the row that apply_action writes, {wanted.tolist()}"
            expect(wanted.tobytes() == got.tobytes(), "apply_outcome", written, f"{got.tolist()} ({name})")
            acts, cost = door.player(wanted), door.whole_number("action_cost", outcome, np.int64(a))
            sound = acts == CHANCE and cost == 1
            expect(sound, "afterstates", f"chance to act after {name}, which costs 1", f"player {acts}, cost {cost}")


def check_siblings(door: Door, rule: str, evaluator: Evaluator, row: Row, T: Any) -> None:
    """Compares, at a chance stage, what siblings say of each afterstate with the means of leaves one by one."""
    if "afterstates" not in door.rules:
        return
    outcomes = [outcome for _, outcome in door.outcomes(row)[:MOST_OUTCOMES]]
    for afterstate in written_afterstates(door, row):
        n, means = _raised(door, rule, evaluator, afterstate, outcomes, -math.inf, T)
        if n == 0:
            continue
        laws = [door.outcomes(apply_outcome(door, afterstate, outcome)) for outcome in outcomes]
        leaves = sum(map(len, laws))
        expect(n == leaves, rule, f"siblings to count {leaves} leaves", n)
        for law, mean in zip(laws, means, strict=True):
            total = 0.0
            for p, leaf in law:
                total += p * _worth(door, rule, evaluator, leaf, T)
            expect(same(mean, total), rule, f"the mean of leaves one by one, {total!r}, of siblings", repr(mean))
        kept = _raised(door, rule, evaluator, afterstate, outcomes, math.inf, T)[1]
        expect(min(kept) == math.inf, rule, "siblings to leave what is higher", repr(min(kept)))


def _raised(
    door: Door, rule: str, evaluator: Evaluator, afterstate: Row, outcomes: Sequence[Row], known: float, T: Any
) -> tuple[int, list[float]]:
    """Returns how many leaves siblings count, and what they raise `known` to for each outcome."""
    end = OUT + len(outcomes)
    rows, own = end + 1 + door.game.max_outcomes, frozenset(range(OUT, end))
    scratch = frozenset(range(end, rows))
    M, P = door.block("M", rows, (), np.float64), door.block("P", rows, (), np.float64)
    M.guard.permit(frozenset(), own)
    P.guard.permit(frozenset(), scratch)
    values, given = np.full(rows, M.junk[0]), {AT: afterstate, **dict(enumerate(outcomes, OUT))}
    values[OUT:end] = known
    arguments = U_AT, U_OUT, np.uint64(end), M.array, P.array
    function = door.form(evaluator.speed.sibling_values)
    n, _ = door.once(
        rule, given, *arguments, T=T, rows=rows, writes=scratch, blocks={M: values, P: None}, function=function
    )
    return int(n), M.plain[OUT:end].tolist()


def worth(door: Door, rule: str, evaluator: Evaluator, row: Row, T: Any) -> float:
    """Returns what a leaf says of a row."""
    return float(door.once(rule, {AT: row}, U_AT, T=T, function=door.form(evaluator.value))[0])


def _worth(door: Door, rule: str, evaluator: Evaluator, leaf: Row, T: Any) -> float:
    """Returns what a search of a game for one takes a leaf for."""
    stage, acts = door.game.stages[door.whole_number("stage", leaf)], door.player(leaf)
    expect(stage in (evaluator.stage, "decision"), rule, f"siblings of leaves at {evaluator.stage!r}", repr(stage))
    if acts != TERMINAL or evaluator.terminal == "evaluate":
        return worth(door, rule, evaluator, leaf, T)
    returns = float(door.ask("returns", leaf))
    if evaluator.terminal == "returns":
        return returns
    win, draw, loss = evaluator.terminal
    return win if returns > 0 else loss if returns < 0 else draw
