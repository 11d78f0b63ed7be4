"""What a game must declare and what it may leave out: impossible games are refused, and left-out fields have defaults."""

from __future__ import annotations

import dataclasses
import pickle
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import pytest

from games.dice import GAME as DICE
from games.nim import GAME
from games.solitaire import GAME as SOLITAIRE
from leafwise.authoring import Evaluator, Speed, View
from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.game import Game, OwnSearch
from leafwise.envs.core.contract.rules import one_stage
from leafwise.envs.core.fields import values_of
from leafwise.search import Search


def test_a_variant_in_use_is_not_made_anew_and_that_of_another_game_is_another() -> None:
    variant = SOLITAIRE.variant(copies=2)
    assert variant.variant(copies=2) is SOLITAIRE.variant(copies=2) is variant
    assert variant.variant(**SOLITAIRE.defaults) is SOLITAIRE
    assert replace(SOLITAIRE, title="other").variant(copies=2).title == "other"


# What no game can be is refused by its constructor, in one line that names the game.


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


VIEW = View(BOX, GAME.rules.observe_as)


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
    ({"module": 3}, "expected module as the name of a module, got 3"),
    ({"ids": None}, "expected ids as a mapping, got None"),
    ({"ids": {"Dice": 3}}, "expected options of id 'Dice' as a mapping, got 3"),
    (part("search", candidates=None), "expected search.candidates as a tuple, got None"),
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
    (
        part("observation", views={"default": VIEW}),
        "expected observation.views by names other than 'default', each a V",
    ),
    (
        part("observation", views={"planes": BOX}),
        "expected observation.views by names other than 'default', each a View",
    ),
    (
        part("observation", views={"a view": VIEW}),
        "expected names of observation.views as words in lower case, got 'a v",
    ),
    (
        part("observation", views={"planes": replace(VIEW, observe_as=two)}),
        "expected observe_as of the view planes(S, i, player, O, e, T), got 'two(S, T)'",
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


# A game that says no more than it must has texts, pictures, names, a score, and is stepped and searched like any other.


def test_it_is_written_read_and_drawn() -> None:
    start = GAME.start()
    assert (str(start), GAME.actions, start.legal_names) == ("7 0", ("0", "1", "2"), ("0", "1", "2"))
    assert GAME.parse("7 0") == start
    assert pickle.loads(pickle.dumps(start)) == start
    assert "7 0" in start.svg()
    assert start.rgb().shape[2] == 3
    assert start.board() == "7 0"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7", r"nim: expected a row of 2 words, got shape \(1,\)"),
        ("7 0 0", r"nim: expected a row of 2 words, got shape \(3,\)"),
        ("seven 0", "nim: expected hexadecimal numbers, got 'seven 0'"),
        ("", "nim: expected hexadecimal numbers, got ''"),
        ("ffffffffffffffff 0", "nim: .*"),
    ],
)
def test_a_text_that_is_no_row_is_refused(text: str, expected: str) -> None:
    with pytest.raises(ValueError, match=f"^{expected}$"):
        GAME.parse(text)


@pytest.mark.long
def test_it_is_searched_to_the_end() -> None:
    result = Search(GAME, GAME.score(), depth=7)(GAME.start())
    assert (result.name, result.value) == ("2", 1.0)  # three of seven: four are lost
    assert Search(GAME, GAME.score(), depth=1)(GAME.start()).value == 0.0


def test_a_game_must_say_seven_things() -> None:
    needed = [
        field.name
        for field in dataclasses.fields(Game)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]
    assert needed == ["name", "title", "module", "players", "rules", "sizes", "observation"]
    assert len(dataclasses.fields(Game)) <= 22


# An evaluator that says what cannot be is refused when it is made.


@jit
def value(S, i, T):
    return 0.0


@jit
def sibling_values(S, k, o, end, M, P, T):
    return 0


TOGETHER = Speed(sibling_values=sibling_values)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"low": 0.0}, "expected low and high or neither, got one of them"),
        ({"value": None}, "expected a value, a batch or both, got none"),
        ({"speed": TOGETHER, "to_go": True}, "expected a value without to_go for sibling_values, got to_go"),
        (
            {"speed": TOGETHER, "value": None, "batch": lambda rows, T: rows[:, 0]},
            "expected a value without to_go for sibling_values, got none",
        ),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=rf"^evaluator 'leaf': {message}$"):
        Evaluator("leaf", **{"value": value, **given})


def test_speed_is_optional() -> None:
    assert Evaluator("leaf", value).speed == Speed(None, None, False)
