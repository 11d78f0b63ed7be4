"""`check_game` finds every planted fault with its message, and no fault in the sound games."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from games import coins, dice, nim, planted
from leafwise.authoring import Rules, jit
from leafwise.envs.core.check.checking import ContractError, inspect_in_process
from leafwise.envs.core.check.inspection import inspect_game
from leafwise.envs.core.check.rule_caller import CHECKED, PLAIN, RuleFault
from leafwise.envs.core.contract.game import Game


def inspect(fault: planted.Fault) -> None:
    """Checks a game, in a separate process if the fault needs one."""
    if fault.is_apart:
        inspect_in_process(fault.game, fault.task, call_s=4.0)
    else:
        inspect_game(fault.game, **fault.task)


@pytest.mark.parametrize("name", planted.TABLE)
def test_a_fault_gets_its_sentence(name: str) -> None:
    fault = planted.TABLE[name]
    with pytest.raises((RuleFault, ContractError)) as caught:
        inspect(fault)
    line = caught.value.line(fault.game.name) if isinstance(caught.value, RuleFault) else str(caught.value)
    assert re.match(f"{fault.game.name}: {fault.said}", line), line
    assert line.count("\n") == ("does not compile" in fault.said), line
    assert len(line) < 400 or "\n" in line


def test_there_are_enough() -> None:
    assert len(planted.TABLE) >= 84


@pytest.mark.parametrize(
    ("game", "seconds", "texts", "least"),
    [
        (coins.GAME, {PLAIN: 0.5}, [], 31),
        (coins.GAME, {CHECKED: 0.5}, [], 31),
        (planted.VALID, {PLAIN: 0.5}, [], 31),
        (planted.VALID, {CHECKED: 0.5}, [], 31),
        (dice.GAME, {PLAIN: 8.0}, [], 101),
        (planted.THREES, {PLAIN: 0.0}, planted.TEXTS, len(planted.TEXTS) + 1),
        (planted.LEARNED, {PLAIN: 0.0}, planted.TEXTS, len(planted.TEXTS) + 1),
    ],
)
def test_a_sound_game_has_no_fault(game: Game, seconds: dict[str, float], texts: list[str], least: int) -> None:
    assert inspect_game(game, seconds, texts)["positions"] >= least


@jit
def sees_nothing(S, i, O, e, T):
    O[e, :] = 0


def test_decisions_that_look_alike_and_differ_to_a_search_are_noted() -> None:
    rules = nim.initial_state, nim.current_player, nim.legal_actions, nim.apply_action, nim.returns
    blind = replace(nim.GAME, rules=Rules(*rules, observe=sees_nothing))
    (note,) = inspect_game(blind, {PLAIN: 0.3})["notes"]
    assert re.search("^note: '.*' and '.*' look alike to player [12], and a search tells them apart", note)
    assert not inspect_game(nim.GAME, {PLAIN: 0.3})["notes"]
