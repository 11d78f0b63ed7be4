"""Options of searches and answers of leaves: whatever type they come in, taken as what they say or refused in one line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
import torch

import leafwise
from games import dice
from games.refusals import one_line
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.fields import types_of
from leafwise.envs.core.ranges import Range, limits_of
from leafwise.search import Search
from leafwise.search.mcts import Mcts
from leafwise.search.players import SearchPlayer, player
from leafwise.search.search_options import MctsOptions, SearchOptions

GAME = dice.GAME
OTHER_TYPES: dict[str, list[Any]] = {
    "int": ["2", 2.0, True, np.float64(2), [2], 1j],
    "float": ["1", True, float("nan"), [1.0], 1j, 10**400],
    "bool": [1, 0, "no", "", np.int64(1)],
    "str": ["sun", 1, ["wall"]],
}
OTHERS: dict[str, list[Any]] = {
    "ordering": ["table", None, 3, ("luck",), [1], [["table"]]],
    "candidates": ["best", 3, ["a"]],
    "prior": ["best", 1, ""],
}
"""What options do not take whose types say too little."""


def wrong(options: Any) -> Iterator[tuple[str, Any]]:
    """Yields each option with values of other types, and those next to its range."""
    types, limits = types_of(options), limits_of(options)
    for one in fields(options):
        kind, _, or_none = types[one.name].partition(" ")
        values = OTHERS.get(one.name) or [*OTHER_TYPES[kind], *([] if or_none else [None])]
        limit = limits.get(one.name)
        yield from ((one.name, value) for value in values)
        if isinstance(limit, Range):
            yield from ((one.name, value) for value in (limit.low - 1, 2 * limit.high + 1))


def refused(make: Callable[..., Any], *arguments: Any, **options: Any) -> str:
    """Returns the one line that refuses options."""
    with pytest.raises(ValueError, match=r"^(search|mcts|dice): expected ") as told:
        make(*arguments, **options)
    assert "\n" not in str(told.value)
    return str(told.value)


@pytest.mark.parametrize(
    ("kind", "options", "more"), [(Search, SearchOptions, {}), (Mcts, MctsOptions, {"simulations": 9})]
)
def test_options_of_other_types_or_out_of_range_are_refused(kind: Any, options: Any, more: dict[str, Any]) -> None:
    for name, value in wrong(options):
        assert ", got " in refused(kind, GAME, GAME.score(), **{**more, name: value}), (name, value)


@pytest.mark.parametrize("kind", [Search, Mcts])
def test_what_is_no_game_or_no_leaf_is_refused(kind: Any) -> None:
    assert "expected a Game, as leafwise.game(name) returns, got 'dice'" in refused(kind, "dice", GAME.score())
    line = refused(kind, GAME, "lead")
    assert "expected an Evaluator, as leafwise.leaf(game, model) makes of a model, got str" in line


def test_what_is_no_position_is_refused_by_searches_and_players() -> None:
    trilobite = leafwise.game("trilobite")
    makes: list[Callable[[Any], Any]] = [Search(GAME, GAME.score()), Mcts(GAME, GAME.score(), simulations=9)]
    texts = ("random", "greedy", "search:lines,depth=1", "mcts:lines,simulations=9", "solver")
    makes += [leafwise.player(text, trilobite).choose for text in texts]
    for make in makes:
        for position in (None, "start", leafwise.game("cassis")):
            with pytest.raises(leafwise.UserError, match=r": expected a .*, got ") as told:
                make(position)
            assert "\n" not in str(told.value)
    over = trilobite.parse(".../oo./xxx")
    for text in texts:
        with pytest.raises(leafwise.UserError, match=r": expected a "):
            leafwise.player(text, trilobite).choose(over)


@pytest.mark.parametrize("text", [None, 3, b"greedy", ["greedy"], dice])
def test_what_is_no_name_is_refused(text: Any) -> None:
    trilobite = leafwise.game("trilobite")
    opponent: Any = 3 if text is None else text  # None is the default
    calls: tuple[Callable[[], Any], ...] = (
        lambda: leafwise.player(text, trilobite),
        lambda: leafwise.evaluate(trilobite, "random", games=2, opponent=opponent),
        lambda: leafwise.arena(trilobite, ["random", text], games=2),
        lambda: leafwise.units_of(trilobite, text),
        lambda: leafwise.reference(text),
    )
    for call in calls:
        with pytest.raises(leafwise.UserError, match=r"expected .*, got "):
            call()


def test_numbers_of_numpy_are_taken_and_go_on_as_pythons_own() -> None:
    plain = Search(GAME, GAME.score(), 2, pruning=True, table_mb=1, nodes=50, all_values=False, width=3)
    given: dict[str, Any] = {
        "pruning": np.bool_(True),
        "table_mb": np.float32(1),
        "nodes": np.uint16(50),
        "all_values": np.False_,
        "width": np.array(3),
    }
    same = Search(GAME, GAME.score(), np.int8(2), **given)  # type: ignore[arg-type]
    assert same.options == plain.options
    assert {type(value) for value in vars(same.options).values()} == {int, float, bool, str, tuple, type(None)}
    state = GAME.new(4)
    assert same(state).values == plain(state).values
    given = {"simulations": np.int32(40), "temperature": np.float64(0.4), "reuse": np.False_, "seed": np.uint64(2)}
    tree = Mcts(GAME, GAME.score(), simulations=40, temperature=0.4, reuse=False, seed=2)
    assert Mcts(GAME, GAME.score(), **given).options == tree.options


WRONG_ANSWERS: dict[str, tuple[Callable[[int], Any], str]] = {
    "gradient": (lambda n: torch.zeros(n, requires_grad=True), "Tensor: Can't call numpy"),
    "half": (lambda n: torch.zeros(n, dtype=torch.bfloat16), "Tensor: "),
    "complex": (lambda n: np.zeros(n, dtype=np.complex64), "got numbers of type complex64"),
    "text": (lambda n: ["1.0"] * n, "got numbers of type <U3"),
    "nothing": (lambda n: None, "got shape ()"),
    "nothings": (lambda n: [None] * n, "got nan"),
    "nan": (lambda n: np.full(n, np.nan), "got nan"),
    "ragged": (lambda n: [[1.0], 2.0], "list: "),
    "column": (lambda n: np.zeros((n, 1)), ", 1)"),
    "one": (lambda n: 0.0, "got shape ()"),
    "dates": (lambda n: np.zeros(n, dtype="M8[s]"), "got numbers of type datetime64[s]"),
}
SHAPELESS = ("column", "nan", "nothings", "one")
"""Answers that a policy has wrong in another way."""


@pytest.mark.parametrize("name", WRONG_ANSWERS)
def test_what_a_leaf_answers_is_one_real_number_a_row(name: str) -> None:
    answer, message = WRONG_ANSWERS[name]
    evaluator = Evaluator("hope", None, batch=lambda rows, T: answer(len(rows)))
    state = GAME.new(1)
    asks: list[Callable[[], Any]] = [
        lambda: Search(GAME, evaluator, 1)(state),
        lambda: Mcts(GAME, evaluator, simulations=4)(state),
        lambda: state.value(evaluator),
    ]
    for ask in asks:
        with pytest.raises(ValueError, match=r"^evaluator 'hope': expected .*values?.*, got ") as told:
            ask()
        assert message in str(told.value)
        assert "\n" not in str(told.value)


@pytest.mark.parametrize("name", sorted(set(WRONG_ANSWERS) - {"column", "one"}))
def test_what_a_policy_answers_is_one_real_number_an_action(name: str) -> None:
    answer, message = WRONG_ANSWERS[name]
    search = Mcts(GAME, GAME.score(), simulations=4, prior=lambda rows, T: answer(len(rows)))
    with pytest.raises(
        ValueError, match=r"^mcts: expected \(1, \d+\) numbers of at least 0 with a finite sum from the policy, got "
    ) as told:
        search(GAME.new(1))
    assert message in str(told.value) or name in SHAPELESS


def test_numbers_of_other_types_are_taken() -> None:
    answers: list[Callable[[int], Any]] = [
        lambda n: torch.arange(n, dtype=torch.float32),
        lambda n: list(range(n)),
        lambda n: np.arange(n, dtype=np.float16),
        lambda n: np.array([*map(float, range(n))], dtype=object),
    ]
    leaves = [Evaluator("hope", None, batch=lambda rows, T, answer=answer: answer(len(rows))) for answer in answers]
    assert len({Search(GAME, leaf, 1)(GAME.new(1)).value for leaf in leaves}) == 1


@pytest.mark.parametrize("text", ["search:lead,seconds=1e300", "mcts:lead,seconds=1e300", "mcts:lead,seconds=nan"])
def test_a_players_clock_has_an_end(text: str) -> None:
    with one_line(r"expected seconds above 0 and at most 1,000,000, got "):
        leafwise.player(text, GAME)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (Search, {"width": 0}, r"expected width of 1 to 2\*\*62, got 0"),
        (Search, {"nodes": -1}, "expected nodes of 0 to 1,000,000,000,000,000, got -1"),
        (Search, {"cutoff": 0.1, "nodes": 5}, "expected a cutoff or nodes, got 0.1 and 5"),
        (Search, {"ordering": ("luck",)}, "expected an ordering among table, values, killers, got 'luck'"),
        (Search, {"table_mb": -1}, "expected table_mb of 0 to 65,536, got -1"),
        (Search, {"threads": 257}, "expected threads of 1 to 256, got 257"),
        (Mcts, {"gumbel": 4, "seconds": 1.0}, "expected gumbel together with simulations, got gumbel=4 alone"),
        (Mcts, {"prior": "best"}, "expected a prior among uniform, values, policy or a function of rows, got 'best'"),
    ],
)
def test_a_search_says_what_it_expects(kind: Any, options: dict[str, Any], message: str) -> None:
    with one_line(message):
        kind(GAME, GAME.score(), **options)


def test_a_player_s_text_holds_the_options() -> None:
    found = player("search:lead,depth=4,pruning=1,table_mb=1,width=2,nodes=500,threads=2", GAME)
    assert isinstance(found, SearchPlayer)
    told = found.search.options
    assert (told.depth, told.pruning, told.table_mb, told.width, told.nodes, told.threads) == (4, True, 1.0, 2, 500, 2)
    assert found.choose(GAME.new(900_001)) in GAME.new(900_001).legal_actions
    batched = player("search:lead,depth=2,batched=1", GAME)
    assert isinstance(batched, SearchPlayer)
    assert batched.search.options.batched
    with one_line(r"player .*: expected 0 or 1 for pruning, got 'yes'"):
        player("search:lead,pruning=yes", GAME)


def of_other_variants() -> list[tuple[str, dict[str, Any], Callable[[], Evaluator]]]:
    """Returns games with options, and leaves of another variant or game."""
    return [
        ("trilobite", {"board": "7x6", "k": 4}, lambda: leafwise.load("trilobite")),
        ("trilobite", {}, lambda: leafwise.load("trilobite7x6")),
        ("cassis", {"n": 8}, lambda: leafwise.leaf("cassis", "learned")),
        ("cassis", {"n": 8}, lambda: leafwise.leaf("cassis", "rollout:n=2")),
        ("cassis", {"n": 8}, lambda: leafwise.leaf("cassis", lambda seen: np.zeros(len(seen)))),
        ("trap", {"size": 5}, lambda: leafwise.score("trap", "reach_open")),
        ("threes", {}, lambda: leafwise.load("trap")),
    ]


@pytest.mark.parametrize(("name", "options", "make"), of_other_variants())
def test_a_leaf_of_another_variant_is_refused(
    name: str, options: dict[str, Any], make: Callable[[], Evaluator]
) -> None:
    game, leaf = leafwise.game(name, **options), make()
    with one_line(r"evaluator .*: expected one for leafwise.game\(.*\), got one for leafwise.game\(.*\)"):
        leafwise.Search(game, leaf, depth=1)
    with one_line("evaluator .*: expected one for "):
        leafwise.Mcts(game, leaf, simulations=2)
    with one_line("evaluator .*: expected one for "):
        game.new(1).value(leaf)


@pytest.mark.parametrize(
    ("name", "options", "leaf"),
    [
        ("friday", {"level": 4}, "friday"),
        ("friday", {"level": 4}, "pirates"),
        ("trap", {"self_trap": "deferred"}, "trap"),
    ],
)
def test_a_leaf_takes_variants_that_it_cannot_tell_apart(name: str, options: dict[str, Any], leaf: str) -> None:
    game = leafwise.game(name, **options)
    known = leafwise.leaf(leafwise.game(name), leaf)
    state = game.new(1)
    assert state.value(known) == state.value(leafwise.leaf(game, leaf))
