"""What the rules answer at a position, to be compared: with the same rules compiled, and with a plain twin."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import numpy as np

from leafwise.envs.core.check import acting
from leafwise.envs.core.check.door import Door, Row
from leafwise.envs.core.check.fault import RuleFault, expect
from leafwise.envs.core.check.subject import words
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL
from leafwise.envs.core.lines import short

Answer = dict[str, Any]
MOST_ACTIONS = 24
"""Actions followed at a decision that has more."""
WITHIN = 1e-9
"""By how much numbers of two builds may differ, of their size."""
PLAYERS = {0: "first", 1: "second", CHANCE: "chance", TERMINAL: "nobody"}
"""How a twin calls who acts."""


def answer(door: Door, row: Row) -> Answer:
    """Returns what the rules say of a position, ready for JSON; rows are lists of words."""
    acts = acting.player(door, row)
    found: Answer = {
        "row": words(row),
        "current_player": acts,
        "stage": door.whole_number("stage", row),
        "returns": float(door.ask("returns", row)),
        "key": int(door.ask("key", row)),
    }
    if acts != CHANCE:
        for rule, viewers in (("observe", (None,)), ("observe_as", range(door.subject.game.players))):
            seen = [array for viewer in viewers for array in acting.observation(door, row, viewer).values()]
            found[rule] = [float(x) for array in seen for x in array.ravel()]
    if acts == CHANCE:
        found["chance_outcomes"] = [[p, words(successor)] for p, successor in acting.outcomes(door, row)]
        found["sample_outcome"] = [words(acting.draw(door, row, key, door.used)) for key in range(1, 4)]
    elif acts != TERMINAL:
        legal = acting.numbers(door, "legal_actions", row)
        tried = legal if len(legal) <= MOST_ACTIONS else sorted(Random(len(legal)).sample(legal, MOST_ACTIONS))
        found["legal_actions"] = legal
        found["action_cost"] = [door.whole_number("action_cost", row, np.int64(a)) for a in tried]
        found["apply_action"] = [[a, words(acting.after(door, row, a))] for a in tried]
        some = range(len(door.subject.candidates))
        found["candidates"] = [acting.numbers(door, "candidates", row, which) for which in some]
    return found


def compare(door: Door, expected: Answer, build: str) -> None:
    """Raises RuleFault where this build answers otherwise than another did, at the position of that answer."""
    row = np.array(expected["row"], dtype=door.subject.game.dtype)
    text = ""
    try:
        text = door.subject.write(row, door.subject.game.tables())
        if door.note is not None:
            door.note.position(text)
        door.fresh = door.tables()
        got = answer(door, row)
        for rule, wanted in expected.items():
            expect(
                alike(wanted, got.get(rule)),
                rule,
                f"what plain Python answers, {short(wanted)}",
                f"{short(got[rule])} {build}",
            )
    except RuleFault as fault:
        raise fault.at(text, expected["row"]) from None


def alike(first: Any, second: Any) -> bool:
    """Whether two answers are the same, numbers up to rounding."""
    if isinstance(first, (list, tuple)):
        return len(first) == len(second) and all(map(alike, first, second))
    if isinstance(first, float) or isinstance(second, float):
        return math.isclose(first, second, rel_tol=WITHIN, abs_tol=WITHIN) or (first != first and second != second)
    return bool(first == second)


def with_texts(door: Door, found: Answer) -> Answer:
    """Returns an answer for a twin, which knows positions by their texts and actions by their names."""
    game, T = door.subject.game, door.subject.game.tables()

    def text(row: Sequence[int]) -> str:
        return door.subject.write(np.array(row, dtype=game.dtype), T)

    told: Answer = {
        "row": found["row"],
        "text": text(found["row"]),
        "player": PLAYERS[found["current_player"]],
        "returns": found["returns"],
    }
    if "legal_actions" in found:
        told["legal"] = [game.actions[a] for a in found["legal_actions"]]
        told["play"] = {game.actions[a]: text(row) for a, row in found["apply_action"]}
    if "chance_outcomes" in found:
        told["outcomes"] = [[p, text(row)] for p, row in found["chance_outcomes"]]
    return told


def compare_with_twin(told: Mapping[str, Any], twin: Any) -> None:
    """Raises RuleFault where a twin says something else of a position."""
    text, rule = told["text"], "twin"
    try:
        position = twin.read(text)
        rule = "current_player"
        expect(
            told["player"] == twin.player(position),
            rule,
            f"{twin.player(position)!r} as the twin says",
            repr(told["player"]),
        )
        rule = "returns"
        worth = twin.returns(position)
        expect(alike(float(worth), told["returns"]), rule, f"{worth:.9g} as the twin says", f"{told['returns']:.9g}")
        rule = "legal_actions"
        if "legal" in told:
            legal = sorted(twin.legal(position))
            expect(
                sorted(told["legal"]) == legal, rule, f"{short(legal)} as the twin says", short(sorted(told["legal"]))
            )
            rule = "apply_action"
            for name, after in told["play"].items():
                wanted = twin.write(twin.play(position, name))
                expect(wanted == after, rule, f"{name!r} to lead to {wanted!r} as the twin says", repr(after))
        rule = "chance_outcomes"
        if "outcomes" in told:
            _compare_outcomes(told["outcomes"], twin, position)
    except RuleFault as fault:
        raise fault.at(text, told["row"]) from None
    except Exception as problem:
        raise RuleFault(
            rule, f"expected a twin that answers, got {type(problem).__name__}: {problem}", text, told["row"]
        ) from None


def _compare_outcomes(told: Sequence[Sequence[Any]], twin: Any, position: Any) -> None:
    laws: list[dict[str, float]] = [{}, {}]
    for p, text in told:
        laws[0][text] = laws[0].get(text, 0.0) + p
    for p, after in twin.outcomes(position):
        text = twin.write(after)
        laws[1][text] = laws[1].get(text, 0.0) + p
    for text in sorted({*laws[0], *laws[1]}):
        mine, theirs = laws[0].get(text, 0.0), laws[1].get(text, 0.0)
        expect(
            abs(mine - theirs) < WITHIN,
            "chance_outcomes",
            f"{text!r} with {theirs:.9g} as the twin says",
            f"{mine:.9g}",
        )
