"""What the rules answer at a position, to be compared: between forms of the same rules, and with a twin."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from operator import attrgetter
from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from leafwise.envs.core.check.door import CHECKED, PLAYED, Door, Row, RuleFault, at_row, expect, same, words
from leafwise.envs.core.check.position import MOST_ACTIONS
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL
from leafwise.envs.core.lines import short

if TYPE_CHECKING:
    from leafwise.envs.core.contract.game import Game

Answer = dict[str, Any]
WITHIN = 1e-9
"""By how much numbers of two forms may differ, of their size."""
CODE = {CHECKED: "in compiled code that checks indices", PLAYED: "in compiled code"}
PLAYERS = {0: "first", 1: "second", CHANCE: "chance", TERMINAL: "nobody"}
"""How a twin calls who acts."""


def moves(door: Door, row: Row) -> Answer:
    """Returns what the rules say of who acts at a position and of where that leads; rows are lists of words."""
    acts = door.player(row)
    found: Answer = {"row": words(row), "current_player": acts, "returns": float(door.ask("returns", row))}
    if acts == CHANCE:
        found["chance_outcomes"] = [[p, words(successor)] for p, successor in door.outcomes(row)]
    elif acts != TERMINAL:
        legal = found["legal_actions"] = door.numbers("legal_actions", row)
        tried = legal if len(legal) <= MOST_ACTIONS else sorted(Random(len(legal)).sample(legal, MOST_ACTIONS))
        found["apply_action"] = [[a, words(door.after(row, a))] for a in tried]
    return found


def answer(door: Door, row: Row) -> Answer:
    """Returns all that the rules say of a position."""
    found = moves(door, row)
    found |= {"stage": door.whole_number("stage", row), "key": int(door.ask("key", row))}
    if "chance_outcomes" in found:
        found["sample_outcome"] = [words(door.draw(row, key)) for key in range(1, 4)]
        return found
    for rule, viewers in (("observe", (None,)), ("observe_as", range(door.game.players))):
        seen = [array for viewer in viewers for array in door.observation(row, viewer).values()]
        found[rule] = [x for array in seen for x in array.ravel().astype(float).tolist()]
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


def with_texts(door: Door, found: Answer) -> Answer:
    """Returns an answer for a twin, which knows positions by their texts and actions by their names."""
    game = door.game

    def text(row: Sequence[int]) -> str:
        return door.text(np.array(row, dtype=game.dtype))

    said: Answer = {"row": found["row"], "text": text(found["row"]), "returns": found["returns"]}
    said["player"] = PLAYERS[found["current_player"]]
    if "legal_actions" in found:
        said["legal"] = [game.actions[a] for a in found["legal_actions"]]
        said["play"] = {game.actions[a]: text(row) for a, row in found["apply_action"]}
    if "chance_outcomes" in found:
        said["outcomes"] = [[p, text(row)] for p, row in found["chance_outcomes"]]
    return said


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
    """Raises RuleFault where a twin says something else of a position."""
    rule = "twin"
    try:
        position = twin.read(told["text"])
        rule, acts = "current_player", twin.player(position)
        expect(told["player"] == acts, rule, f"{acts!r} as the twin says", repr(told["player"]))
        rule, worth = "returns", twin.returns(position)
        expect(alike(float(worth), told["returns"]), rule, f"{worth:.9g} as the twin says", f"{told['returns']:.9g}")
        if "legal" in told:
            rule, legal, mine = "legal_actions", sorted(twin.legal(position)), sorted(told["legal"])
            expect(mine == legal, rule, f"{short(legal)} as the twin says", short(mine))
            rule = "apply_action"
            for name, after in told["play"].items():
                wanted = twin.write(twin.play(position, name))
                expect(wanted == after, rule, f"{name!r} to lead to {wanted!r} as the twin says", repr(after))
        if "outcomes" in told:
            rule = "chance_outcomes"
            law: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
            for p, text in told["outcomes"]:
                law[text][0] += p
            for p, after in twin.outcomes(position):
                law[twin.write(after)][1] += p
            for text, (p, other) in sorted(law.items()):
                expect(abs(p - other) < WITHIN, rule, f"{text!r} with {other:.9g} as the twin says", f"{p:.9g}")
    except RuleFault as fault:
        raise RuleFault(fault.rule, fault.told, told["text"], told["row"]) from None
    except Exception as problem:
        got = f"expected a twin that answers, got {type(problem).__name__}: {problem}"
        raise RuleFault(rule, got, told["text"], told["row"]) from None
