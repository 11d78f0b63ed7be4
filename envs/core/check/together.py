"""Checks what games and leaves may do for many positions at once, against what they do for each: it may only be faster."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.check import acting
from leafwise.envs.core.check.door import AT, OUT, TO, Door, Row, permit
from leafwise.envs.core.check.fault import RuleFault, expect
from leafwise.envs.core.contract.evaluator import Evaluator
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


def apply_outcome(door: Door, afterstate: Row, outcome: Row) -> Row:
    """Returns what `apply_outcome` makes of a row of `afterstates` and an outcome."""
    rule, S = "apply_outcome", door.rows(FIRST + 1)
    S.clear(0)
    S.plain[AT], S.plain[TO] = afterstate, outcome
    permit(S.guard, {AT, TO}, {FIRST})
    door.call(rule, S.array, np.uint64(AT), np.uint64(TO), np.uint64(FIRST), door.used)
    door.check_kept(rule, S, {AT: afterstate, TO: outcome}, 0)
    row: Row = S.plain[FIRST].copy()
    return row


def check_afterstates(door: Door, row: Row, law: Law) -> None:
    """Compares `afterstates` and `apply_outcome`, at a chance stage with these outcomes, with acting after each outcome."""
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
            wanted, got = acting.after(door, outcome, a), apply_outcome(door, afterstate, outcome)
            if wanted.tobytes() != got.tobytes():
                told = f"the row that apply_action writes, {wanted.tolist()}"
                raise RuleFault("apply_outcome", f"expected {told}, got {got.tolist()} ({name})")
            acts, cost = acting.player(door, wanted), door.whole_number("action_cost", outcome, np.int64(a))
            sound = acts == CHANCE and cost == 1
            expect(sound, "afterstates", f"chance to act after {name}, which costs 1", f"player {acts}, cost {cost}")


def check_siblings(door: Door, rule: str, evaluator: Evaluator, row: Row, T: Any) -> None:
    """Compares, at a chance stage, what siblings say of each afterstate with the means of leaves one by one."""
    if "afterstates" not in door.subject.rules:
        return
    outcomes = [outcome for _, outcome in acting.outcomes(door, row)[:MOST_OUTCOMES]]
    for afterstate in written_afterstates(door, row):
        n, means = _raised(door, rule, evaluator, afterstate, outcomes, -math.inf, T)
        if n == 0:
            continue
        laws = [acting.outcomes(door, apply_outcome(door, afterstate, outcome)) for outcome in outcomes]
        leaves = sum(map(len, laws))
        expect(n == leaves, rule, f"siblings to count {leaves} leaves", n)
        for law, mean in zip(laws, means, strict=True):
            total = 0.0
            for p, leaf in law:
                total += p * _worth(door, rule, evaluator, leaf, T)
            same = mean == total or (math.isnan(mean) and math.isnan(total))
            expect(same, rule, f"the mean of leaves one by one, {total!r}, of siblings", repr(mean))
        kept = _raised(door, rule, evaluator, afterstate, outcomes, math.inf, T)[1]
        expect(min(kept) == math.inf, rule, "siblings to leave what is higher", repr(min(kept)))


def _raised(
    door: Door, rule: str, evaluator: Evaluator, afterstate: Row, outcomes: Sequence[Row], known: float, T: Any
) -> tuple[int, list[float]]:
    """Returns how many leaves siblings count, and what they raise `known` to for each outcome."""
    end = OUT + len(outcomes)
    rows, own = end + 1 + door.subject.game.max_outcomes, set(range(OUT, end))
    S, M, P = door.rows(rows), door.block("M", rows, (), np.float64), door.block("P", rows, (), np.float64)
    for block in (S, M, P):
        block.clear(0)
    S.plain[AT], S.plain[OUT:end], M.plain[OUT:end] = afterstate, outcomes, known
    permit(S.guard, {AT, *own}, set(range(end, rows)))
    permit(M.guard, set(), own)
    permit(P.guard, set(), set(range(end, rows)))
    where = np.uint64(AT), np.uint64(OUT), np.uint64(end)
    n = int(door.call(rule, S.array, *where, M.array, P.array, T, function=evaluator.speed.sibling_values))
    kept = {AT: afterstate, **dict(enumerate(outcomes, OUT))}
    door.check_kept(rule, S, kept, 0)
    M.check_margins(rule, 0)
    return n, M.plain[OUT:end].tolist()


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
