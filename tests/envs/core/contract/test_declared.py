"""What no game can be is refused by its constructor, in one line that names the game."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import pytest

from games.dice import GAME as DICE
from games.solitaire import GAME as SOLITAIRE
from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.game import OwnSearch
from leafwise.envs.core.contract.rules import one_stage
from leafwise.envs.core.fields import values_of

BOX = gym.spaces.Box(0, 1, (2,), np.float32)


@dataclass(frozen=True)
class NoDefault:
    n: int


@dataclass(frozen=True)
class Listed:
    n: Any = ()


@dataclass
class Open:
    n: int = 1


class Layout(NamedTuple):
    other: Any


@jit
def two(S, T):
    return 0


def plain(S, i, T):
    return 0.0


def chance(**changes: Any) -> dict[str, Any]:
    return {"rules": replace(DICE.rules, chance=replace(DICE.rules.chance, **changes))}


def rules(**changes: Any) -> dict[str, Any]:
    return {"rules": replace(DICE.rules, **changes)}


def part(name: str, **changes: Any) -> dict[str, Any]:
    return {name: replace(getattr(DICE, name), **changes)}


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"name": "Dice Race"}, "expected a name in lower case, got 'Dice Race'"),
    ({"name": ""}, "expected a name in lower case, got ''"),
    ({"title": " "}, "expected a title, got ' '"),
    ({"players": 3}, "expected 1 or 2 players, got 3"),
    ({"players": 0}, "expected 1 or 2 players, got 0"),
    ({"players": True}, "expected 1 or 2 players, got True"),
    ({"rules": None}, "expected rules as Rules, got None"),
    ({"text": lambda row, T: ""}, "expected text as Text, got <function"),
    (rules(chance=None), "expected rules.chance as Chance, got None"),
    (part("sizes", width=0), "expected a width of at least 1, got 0"),
    (part("sizes", width=2.5), "expected a width of at least 1, got 2.5"),
    (part("sizes", max_actions=0), "expected max_actions of at least 1, got 0"),
    (part("sizes", dtype=np.float32), "expected dtype as an integer type of NumPy, got <class 'numpy.float32'>"),
    (part("sizes", dtype="words"), "expected dtype as an integer type of NumPy, got 'words'"),
    (part("symmetries", count=0), "expected a count of symmetries of at least 1, got 0"),
    (chance(max_outcomes=0), "expected max_outcomes of at least 1, got 0"),
    (chance(max_stages=0), "expected max_stages of at least 1, got 0"),
    (chance(stages=("die", "face")), "expected stages that begin with 'decision', got ('die', 'face')"),
    (chance(stages=("decision", "a die", "face")), "expected stages as words in lower case, got 'a die'"),
    (chance(stages=("decision", "die", "die")), "expected stages that differ, got ('decision', 'die', 'die')"),
    (chance(stages=("decision",)), "expected a stage of chance after 'decision', got ('decision',)"),
    (chance(stage=one_stage), "expected a function stage(S, i, T) for 2 stages of chance, got None"),
    (rules(returns=two), "expected returns(S, i, T), got 'two(S, T)'"),
    (chance(sample=DICE.rules.returns), "expected sample_outcome(S, j, R, T), got 'returns(S, i, T)'"),
    (part("symmetries", transform_action=DICE.rules.observe), "expected transform_action(a, k, T), got 'observe("),
    ({"rewards": {"points": two}}, "expected the reward points(S, i, j, k, T), got 'two(S, T)'"),
    (rules(returns=1.0), "expected returns(S, i, T) as a function, got 1.0"),
    ({"draw": lambda row: None}, "expected draw with 2 parameters, got '<lambda>(row)'"),
    (part("text", parse=lambda text: None), "expected text.parse with 2 parameters, got '<lambda>(text)'"),
    ({"action_names": ("left", "left")}, "expected action names that differ, got ['left']"),
    ({"action_names": ("left", "")}, "expected action names as strings that are not empty, got ('left', '')"),
    ({"action_names": ()}, "expected action names as strings that are not empty, got ()"),
    ({"action_names": tuple("abcde")}, "expected at most 4 action names (max_actions), got 5"),
    ({"return_range": (1.0, -1.0)}, "expected return_range as (low, high), low below high, got (1.0, -1.0)"),
    ({"return_range": (0.0, np.inf)}, "expected return_range as (low, high), low below high, got (0.0, inf)"),
    ({"scores": {"a lead": DICE.scores["lead"]}}, "expected names of scores as words in lower case, got 'a lead'"),
    ({"scores": {"lead": 3}}, "expected scores['lead'] as a function, got 3"),
    ({"ais": {"best": "search"}}, "expected ais['best'] as a function, got 'search'"),
    ({"ids": {"": {}}}, "expected ids as names like 'Threes', got ''"),
    ({"ids": {"Dice": {"size": 4}}}, "expected options of id 'Dice' among (length, turns), got 'size'"),
    ({"options": {"length": 4}}, "expected options as an instance of a frozen dataclass, got {'length': 4}"),
    ({"options": Open()}, "expected options as an instance of a frozen dataclass, got Open(n=1)"),
    ({"options": NoDefault(3)}, "expected a default of the option n, got 'n'"),
    ({"options": Listed([1])}, "expected the option n as a number, text, bool or None, got [1]"),
    (part("observation", space=gym.spaces.Discrete(3)), "expected an observation space that is a Box, or a Dict of"),
    (part("observation", space=BOX, layout=Layout), "expected no layout of an observation that is a Box, got <class"),
    (
        part("observation", space=gym.spaces.Dict(grid=BOX), layout=Layout),
        "expected observation.layout as a NamedTuple with the fields grid, got ('other',)",
    ),
    (part("search", depth=0), "expected search.depth of 1 to 64, got 0"),
    (part("search", nodes=-1), "expected search.nodes of at least 0, got -1"),
    (part("search", decisions_per_depth=0), "expected search.decisions_per_depth of at least 1, got 0"),
    (
        part("search", candidates=("all", "a b")),
        "expected search.candidates as names like 'near+far', got ('all', 'a b')",
    ),
    (part("search", best="lead"), "expected search.best among search, mcts, got 'lead'"),
    (part("search", simulations=0), "expected search.simulations of at least 1, got 0"),
    (part("search", candidates=("all", "near")), "expected both of rules.candidates and search.candidates or none"),
]


@pytest.mark.parametrize(("changes", "expected"), REFUSED, ids=[expected[9:60] for _, expected in REFUSED])
def test_what_no_game_can_be_is_refused_in_one_line(changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValueError, match="expected") as refusal:
        replace(DICE, **changes)
    said = str(refusal.value)
    assert said.startswith(f"{changes.get('name', 'dice')}: {expected}"), said
    assert "\n" not in said
    assert len(said) < 400


def test_symmetries_need_their_functions() -> None:
    with pytest.raises(ValueError, match=r"^solitaire: expected symmetries.transform for 2 symmetries, got None$"):
        replace(SOLITAIRE, symmetries=type(SOLITAIRE.symmetries)(2))


def test_a_rule_that_nobody_compiled_is_named() -> None:
    from leafwise.envs.core.compile.jit import DISABLED

    if DISABLED:
        assert replace(DICE, **rules(returns=plain)).rules.returns is plain
        return
    with pytest.raises(ValueError, match=r"^dice: expected returns compiled by jit, got <function plain"):
        replace(DICE, **rules(returns=plain))


class Bare(NamedTuple):
    stop: Any


class Wrong(NamedTuple):
    stop: Any
    leaf: Any


@pytest.mark.parametrize(
    ("T", "expected"),
    [
        ((1, 2), "expected a NamedTuple from make_tables, got (1, 2)"),
        (Bare(np.zeros(1, np.uint8)), "expected a field 'leaf' of T, which make_tables returns, got 'stop'"),
        (Wrong(np.zeros(1), ()), "expected T.stop as a uint8 array of shape (1,), got array([0.])"),
    ],
)
def test_tables_without_what_searches_need(T: Any, expected: str) -> None:
    with pytest.raises(ValueError, match="expected") as refusal:
        replace(DICE, make_tables=lambda options: T).tables()
    assert str(refusal.value) == f"dice: {expected}"


def test_scratch_is_a_field_of_the_tables() -> None:
    with pytest.raises(
        ValueError, match=r"^dice: expected a field 'ship.bag' of T, .*, got 'length, turns, stop, leaf'$"
    ):
        replace(DICE, scratch=("ship.bag",)).tables()


def test_what_fits_stays_as_it_was() -> None:
    same = replace(DICE, ais={"own": OwnSearch(lambda *given: None)}, title="Another")
    assert values_of(same.options) == {"length": 4, "turns": 12}
    assert same.stages == ("decision", "die", "face")
