"""Asks what a position leads to: legal actions, successors, outcomes, draws, observations and images, each row once and again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.check.door import AT, OUT, TO, Door, Row, observation_blocks, permit
from leafwise.envs.core.check.fault import RuleFault, expect
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL

SUM_WITHIN = 1e-9


def start(door: Door) -> Row:
    """Returns the start."""
    rows = []
    for kind, T in enumerate((door.used, door.tables())):
        S = door.rows(2)
        S.clear(kind)
        permit(S.guard, set(), {AT})
        door.call("initial_state", S.array, np.uint64(AT), T)
        door.check_kept("initial_state", S, {}, kind)
        rows.append(S.plain[AT].copy())
    _check_written("initial_state", rows)
    return rows[0]


def player(door: Door, row: Row) -> int:
    """Returns who acts."""
    acts = door.whole_number("current_player", row)
    players = list(range(door.subject.game.players))
    known = f"{', '.join(map(str, players))}, CHANCE ({CHANCE}) or TERMINAL ({TERMINAL})"
    expect(acts in (*players, CHANCE, TERMINAL), "current_player", known, acts)
    return acts


def numbers(door: Door, rule: str, row: Row, which: int | None = None) -> list[int]:
    """Returns the ids that `legal_actions` or `candidates` writes at a decision; `which` candidates is `T.candidates`."""
    most, found = door.subject.game.max_actions, []
    for kind, T in enumerate((door.used, door.fresh)):
        S, A = door.rows(2), door.block("A", most, (), np.int64)
        S.clear(kind)
        A.clear(kind)
        S.plain[AT] = row
        permit(S.guard, {AT}, set())
        if which is not None:
            T = T._replace(candidates=which)
        try:
            n = door.call(rule, S.array, np.uint64(AT), A.array, T)
        except RuleFault as fault:
            raise _with_size(fault, f"max_actions = {most}", "A") from None
        door.check_kept(rule, S, {AT: row}, kind)
        A.check_margins(rule, kind)
        expect(0 <= n <= most, rule, f"a number of actions in 0..{most} (max_actions)", n)
        found.append([int(a) for a in A.plain[: int(n)]])
    expect(found[0] == found[1], rule, "the same actions twice, each written", f"{found[0]}, then {found[1]}")
    return found[0]


def after(door: Door, row: Row, a: int) -> Row:
    """Returns where an action leads; tried in the row itself too."""
    rows = []
    for kind, T in enumerate((door.used, door.fresh)):
        S = door.rows(3)
        S.clear(kind)
        S.plain[AT] = row
        permit(S.guard, {AT}, {TO})
        door.call("apply_action", S.array, np.uint64(AT), np.int64(a), np.uint64(TO), T)
        door.check_kept("apply_action", S, {AT: row}, kind)
        rows.append(S.plain[TO].copy())
    _check_written("apply_action", rows)
    S = door.rows(2)
    S.clear(0)
    S.plain[AT] = row
    permit(S.guard, {AT}, {AT})
    door.call("apply_action", S.array, np.uint64(AT), np.int64(a), np.uint64(AT), door.used)
    door.check_kept("apply_action", S, {}, 0)
    word = _first_difference(rows[0], S.plain[AT])
    expect(word is None, "apply_action", "the same row where i and j are one", f"another word {word}")
    return rows[0]


def outcomes(door: Door, row: Row) -> list[tuple[float, Row]]:
    """Returns the probabilities and successors of a chance stage."""
    rule, most = "chance_outcomes", door.subject.game.max_outcomes
    found: list[tuple[list[float], list[Row]]] = []
    for kind, T in enumerate((door.used, door.fresh)):
        S, P = door.rows(OUT + most), door.block("P", OUT + most, (), np.float64)
        S.clear(kind)
        P.clear(kind)
        S.plain[AT] = row
        permit(S.guard, {AT}, set(range(OUT, OUT + most)))
        permit(P.guard, set(), set(range(OUT, OUT + most)))
        try:
            n = door.call(rule, S.array, np.uint64(AT), P.array, np.uint64(OUT), T)
        except RuleFault as fault:
            raise _with_size(fault, f"max_outcomes = {most}", "S", "P") from None
        door.check_kept(rule, S, {AT: row}, kind)
        P.check_margins(rule, kind)
        kept = (S.plain[2] == S.whole[0]).all() and (P.plain[:OUT] == P.whole[0]).all()
        expect(kept, rule, "only the rows from o on to be written", "a change of one before")
        expect(0 < n <= most, rule, f"1 to {most} outcomes (max_outcomes)", n)
        n = int(n)
        found.append(([float(p) for p in P.plain[OUT : OUT + n]], [r.copy() for r in S.plain[OUT : OUT + n]]))
    for first, second in zip(found[0][1], found[1][1], strict=False):
        _check_written(rule, [first, second])
    expect(found[0][0] == found[1][0], rule, "the same probabilities twice", f"{found[0][0]}, then {found[1][0]}")
    law = found[0][0]
    for p in law:
        expect(0.0 < p <= 1.0 + SUM_WITHIN, rule, "probabilities above 0 and at most 1", p)
    expect(abs(sum(law) - 1.0) <= SUM_WITHIN, rule, "probabilities that sum to 1", f"{sum(law):.12g}")
    return list(zip(*found[0], strict=True))


def draw(door: Door, row: Row, key: int, T: Any) -> Row:
    """Returns one outcome drawn from the stream of a key."""
    rule, S, R = "sample_outcome", door.rows(2), door.block("R", 2, (), np.uint64)
    S.clear(0)
    R.clear(0)
    S.plain[AT] = row
    R.plain[:] = key, 0
    permit(S.guard, {AT}, {AT})
    door.call(rule, S.array, np.uint64(AT), R.array, T)
    door.check_kept(rule, S, {}, 0)
    R.check_margins(rule, 0)
    expect(R.plain[0] == key, rule, "only the counter of the stream to move", "another key")
    drawn: Row = S.plain[AT].copy()
    return drawn


def observation(door: Door, row: Row, player: int | None = None) -> dict[str, NDArray[Any]]:
    """Returns the observation by name, as a player sees it (None: who acts); of a single array the name is ""."""
    rule, viewer = ("observe", ()) if player is None else ("observe_as", (np.int64(player),))
    seen: list[dict[str, NDArray[Any]]] = []
    for kind, T in enumerate((door.used, door.fresh)):
        S, blocks = door.rows(2), observation_blocks(door)
        S.clear(kind)
        S.plain[AT] = row
        permit(S.guard, {AT}, set())
        for block in blocks.values():
            block.clear(kind)
            permit(block.guard, set(), {1})
        layout = door.subject.layout
        arrays = {name: block.array for name, block in blocks.items()}
        O = arrays[""] if layout is None else layout(**arrays)
        try:
            door.call(rule, S.array, np.uint64(AT), *viewer, O, 1, T)
        except RuleFault as fault:
            raise _with_size(fault, "the observation space", "O") from None
        door.check_kept(rule, S, {AT: row}, kind)
        for block in blocks.values():
            block.check_margins(rule, kind)
            others = (block.plain[[0, 2]] == block.whole[0]).all()
            expect(others, rule, "only observation e to be written", f"a change of another in {block.label}")
        seen.append({name: block.plain[1].copy() for name, block in blocks.items()})
    for name, array in seen[0].items():
        _check_seen(rule, name, array, seen[1][name])
    return seen[0]


def _check_seen(rule: str, name: str, first: NDArray[Any], second: NDArray[Any]) -> None:
    unlike = (first != second) & ~((first != first) & (second != second))
    if unlike.any():
        place = [int(k) for k in np.argwhere(unlike)[0]]
        raise RuleFault(rule, f"expected every number to be written, got none in {f'O.{name}'.rstrip('.')}{place}")


def image(door: Door, row: Row, k: int) -> Row:
    """Returns a row under symmetry k."""
    rows = []
    for kind, T in enumerate((door.used, door.fresh)):
        S = door.rows(3)
        S.clear(kind)
        S.plain[AT] = row
        permit(S.guard, {AT}, {TO})
        door.call("transform", S.array, np.uint64(AT), k, np.uint64(TO), T)
        door.check_kept("transform", S, {AT: row}, kind)
        rows.append(S.plain[TO].copy())
    _check_written("transform", rows)
    return rows[0]


def _check_written(rule: str, rows: list[Row]) -> None:
    """Raises RuleFault if two rows differ that were filled with different junk: a word was left as it was."""
    word = _first_difference(*rows)
    expect(
        word is None, rule, "every word of the row to be written, the same each time", f"word {word} left or changed"
    )


def _first_difference(first: Row, second: Row) -> int | None:
    found = np.flatnonzero(first != second)
    return int(found[0]) if len(found) else None


def _with_size(fault: RuleFault, size: str, *labels: str) -> RuleFault:
    """Returns a fault that says which size of the game an index went beyond."""
    outside = any(f" of {label}" in fault.told for label in labels) or "IndexError" in fault.told
    if fault.everywhere or not outside or "rows (" in fault.told:
        return fault
    return RuleFault(fault.rule, f"{fault.told}; the length comes from {size}", fault.position, fault.row)
