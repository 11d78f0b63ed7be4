"""Options of searches and answers of leaves: whatever type they come in, taken as what they say or refused in one line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import leafwise
from games import dice
from games.refusals import one_line
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.search import Search
from leafwise.search.mcts import Mcts
from leafwise.search.players import SearchPlayer, player

GAME = dice.GAME
SECONDS = ["1", True, 1e300, float("nan"), 0, -1, 1j, [1.0], 10**400]
CANDIDATES = ["best", 3, ["a"]]
CLOCK = [None, "sun", 1, ["wall"]]
WRONG: dict[str, list[Any]] = {
    "depth": ["2", 2.0, True, 0, np.float64(2), [2], 1j],
    "seconds": SECONDS,
    "all_values": ["x", 1, 0, "", None, np.int64(1)],
    "pruning": [1, "no", 0.0],
    "table_mb": ["1", True, float("nan"), -1, 1e9, 1j],
    "ordering": ["table", None, 3, ("luck",), [1], [["table"]]],
    "star2": ["no", 1, None],
    "deepening": [1, None],
    "cutoff": [None, "0.1", True, 1, float("nan"), 1j],
    "nodes": [1.0, "9", True, -1],
    "rare": [None, "0", 2.0, True],
    "width": [0, 1.0, "2", True],
    "candidates": CANDIDATES,
    "batched": [1, "yes"],
    "threads": [None, 0, 1.0, "2", True],
    "clock": CLOCK,
    "whole_rows": [1, None],
    "symmetric": ["no", None],
}
WRONG_MCTS: dict[str, list[Any]] = {
    "simulations": [0, 1.0, "9", True, 1e9],
    "seconds": SECONDS,
    "exploration": [None, "1", -1, float("inf"), True, 1j],
    "scale": [None, "best", 1, ["span"]],
    "prior": ["best", 1, ""],
    "temperature": [None, 0, "1", float("nan"), True],
    "gumbel": [None, -1, 1.0, "2", True],
    "proofs": [1, "no", None],
    "reuse": [0, "", None],
    "memory_mb": [None, 0, "64", True, 1e300],
    "at_once": [None, 0, 1.0, "2", True],
    "candidates": CANDIDATES,
    "clock": CLOCK,
    "seed": [None, -1, 1.0, "1", True, 2**64],
}


def refused(make: Callable[..., Any], *arguments: Any, **options: Any) -> str:
    """Returns the one line that refuses options."""
    with pytest.raises(ValueError, match=r"^(search|mcts|dice): expected ") as told:
        make(*arguments, **options)
    assert "\n" not in str(told.value)
    return str(told.value)


@pytest.mark.parametrize("name", WRONG)
def test_a_search_refuses_options_of_other_types_in_one_line(name: str) -> None:
    for value in WRONG[name]:
        assert ", got " in refused(Search, GAME, GAME.score(), **{name: value})


@pytest.mark.parametrize("name", WRONG_MCTS)
def test_a_tree_search_does_too(name: str) -> None:
    for value in WRONG_MCTS[name]:
        assert ", got " in refused(Mcts, GAME, GAME.score(), **{"simulations": 9, name: value})


def test_every_option_is_tried() -> None:
    assert set(WRONG) == set(vars(Search(GAME, GAME.score(), 1).options))
    assert set(WRONG_MCTS) == set(vars(Mcts(GAME, GAME.score(), simulations=1).options))


@pytest.mark.parametrize("kind", [Search, Mcts])
def test_what_is_no_game_or_no_leaf_is_refused(kind: Any) -> None:
    assert "expected a Game, as leafwise.game(name) returns, got 'dice'" in refused(kind, "dice", GAME.score())
    line = refused(kind, GAME, "lead")
    assert "expected an Evaluator, as leafwise.leaf(game, model) makes of a model, got str" in line


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
        ValueError, match=r"^mcts: expected of a policy \(1, \d+\) numbers of at least 0 with a finite sum, got "
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
    leaves = [Evaluator("hope", None, batch=lambda rows, T, answer=answer: answer(len(rows))) for answer in answers]  # type: ignore[misc]
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
        (Mcts, {"gumbel": 4, "seconds": 1.0}, "expected gumbel of at least 0, with simulations, got 4"),
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
