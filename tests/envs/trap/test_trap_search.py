"""One joint tree of moves, throws and landings: its values approach the exact ones; the throws that it considers."""

import time
from collections.abc import Callable
from itertools import product
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import leafwise
from leafwise import Search
from leafwise.envs.core.contract.state import State
from leafwise.envs.trap import GAME
from leafwise.envs.trap.baselines.course import PlayerAI
from leafwise.envs.trap.baselines.course.starter.Grid import Grid
from leafwise.envs.trap.solver import TrapSolver
from leafwise.training.evaluation.arena import evaluate
from twins.trap import Twin, crowded, crowded_state


@pytest.mark.long
@pytest.mark.parametrize("leaf", ["is", "reach"])
def test_values_tend_to_the_exact_ones(leaf: str) -> None:
    game = GAME.variant(size=3, max_turns=1000)
    solver = TrapSolver(game)
    for text in (".1./.../.2.", "1../.../..2", "1#./.../.2.", ".1./.2./..."):
        state = game.parse(text)
        exact = solver.solve(state, "none").value
        assert exact is not None
        errors = []
        for depth in (4, 12, 16):
            result = Search(game, game.score(leaf), depth, all_values=False, deepening=True, star2=True)(state)
            errors.append(abs(result.value - exact))
        assert errors[1] < 0.07 < errors[0]
        assert errors[2] < 0.004


def considered(state: State, candidates: str) -> set[str]:
    result = Search(state.game, state.game.score("is"), 1, candidates=candidates)(state)
    return set(result.action_values)


@pytest.mark.parametrize("game", [GAME, GAME.variant(size=9)], ids=repr)
def test_candidates_are_what_they_are_called(game: leafwise.Game) -> None:
    twin, rng = Twin(game.options), Random(2)
    for _ in range(12):
        moving = crowded_state(game, 14, rng)
        assert considered(moving, "near") == set(moving.legal_names)
        state = moving.play(moving.legal_names[0])
        if state.is_terminal:
            continue
        p = twin.read(str(state))
        (y, x), other = p.players[p.turn % 2], p.players[1 - p.turn % 2]
        near = {f"{c[0]},{c[1]}": c for c in twin.around(other) if c != (y, x)}
        passes = {f"{c[0]},{c[1]}" for c in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)) if c in p.traps}
        assert considered(state, "near") == {name for name, c in near.items() if c not in p.traps}
        assert considered(state, "all") == set(state.legal_names)
        wider = considered(state, "near+traps")
        assert set(near) <= wider <= set(near) | passes
        assert len(wider - set(near)) <= 1
        assert bool(wider & passes) == bool(passes)


def test_unknown_candidates() -> None:
    with pytest.raises(ValueError, match=r"^trap: expected candidates among all, near, near\+traps, got 'far'$"):
        Search(GAME, GAME.score(), 1, candidates="far")
    with pytest.raises(ValueError, match=r"^cassis: expected candidates among none, got 'near'$"):
        Search(leafwise.game("cassis"), leafwise.score("cassis"), 1, candidates="near")


@pytest.mark.long
def test_the_search_plays_as_a_program_of_the_course_within_its_time() -> None:
    ai = PlayerAI(seconds=0.4)
    ai.setPlayerNum(2)
    grid = Grid(7).move((1, 3), 1).move((6, 3), 2).trap((5, 3))
    started = time.perf_counter()
    move = ai.getMove(grid)
    assert move in grid.get_neighbors((6, 3), only_available=True)
    target = ai.getTrap(grid.move(move, 2))
    assert target not in {(1, 3), move}
    assert time.perf_counter() - started > 0.3  # it used its time
    forced = Grid(7).move((0, 0), 2).trap((0, 1)).trap((1, 0)).move((5, 5), 1)
    started, busy = time.perf_counter(), time.process_time()
    assert ai.getMove(forced) == (1, 1)
    assert time.process_time() - busy < 0.2  # there was nothing to think about
    assert ai.getTrap(forced.move((1, 1), 2)) != (5, 5)
    assert time.perf_counter() - started > 0.3  # so that the throw had more of the turn


def bare(cells: list[str]) -> SimpleNamespace:
    """A board with only `map`."""
    codes = {".": 0, "#": -1, "1": 1, "2": 2}
    return SimpleNamespace(map=np.array([[codes[mark] for mark in line] for line in cells], dtype=np.int8))


def shown(cells: list[str]) -> SimpleNamespace:
    """A board with only `getMap()`, which returns lists of floats."""
    return SimpleNamespace(getMap=lambda: bare(cells).map.astype(float).tolist())


def whole(cells: list[str]) -> Grid:
    """The course's own board."""
    grid = Grid(len(cells))
    grid.map = bare(cells).map.astype(float)
    return grid


FULL = ["2##....", "###....", "##1####", "#######", "#######", "#######", "#######"]


@pytest.fixture(scope="module")
def learned() -> PlayerAI:
    return PlayerAI(seconds=0.02)


@pytest.mark.parametrize("board", [bare, shown, whole])
def test_the_learned_player_answers_any_board(learned: PlayerAI, board: Callable[[list[str]], Any]) -> None:
    assert learned.player.name == "search:best,candidates=near+traps,rare=0.25,seconds=0.01"
    assert learned.search.evaluator.name == "trap"
    rng = Random(1)
    for number, traps in product((1, 2), (0, 20, 35)):
        learned.setPlayerNum(np.int64(number))  # type: ignore[arg-type]
        cells = crowded(7, traps, rng).split("/")
        places = {mark: (y, x) for y, line in enumerate(cells) for x, mark in enumerate(line)}
        own_cell, other_cell = places[str(number)], places[str(3 - number)]
        learned.setPosition(np.array(own_cell))  # type: ignore[arg-type]
        move = learned.getMove(board(cells))
        free = [c for c in Twin(GAME.options).around(own_cell) if cells[c[0]][c[1]] == "."]
        assert move in free if free else move == own_cell
        target = learned.getTrap(board(cells))
        assert target not in {own_cell, other_cell}
        assert 0 <= min(target) <= max(target) < 7
        assert [type(k) for k in (*move, *target)] == [int] * 4


@pytest.mark.long
@pytest.mark.parametrize("size", [3, 4, 5, 6, 8, 9])
def test_it_plays_with_the_best_leaf_on_every_board(size: int) -> None:
    player = PlayerAI(seconds=0.02, size=size)
    assert player.search.evaluator.name == (GAME.default_score if size < 5 else f"trap-size{size}")
    player.setPlayerNum(1)
    cells = ["1" + "." * (size - 1), *["." * size] * (size - 2), "." * (size - 1) + "2"]
    assert player.getMove(bare(cells)) in {(0, 1), (1, 0), (1, 1)}
    assert player.getTrap(bare(cells)) not in {(0, 0), (size - 1, size - 1)}


def test_the_learned_player_throws_when_all_is_won(learned: PlayerAI) -> None:
    learned.setPlayerNum(1)
    y, x = learned.getTrap(bare(FULL))
    assert FULL[y][x] == "."  # the opponent is stuck: any cell will do
    y, x = learned.getTrap(bare([line.replace(".", "#") for line in FULL]))
    assert FULL[y][x] in "#."
    assert learned.getMove(bare([line.replace("1", "#") for line in FULL[:6]] + ["...1..."])) in {(6, 2), (6, 4)}


def test_rare_outcomes_are_valued_at_once() -> None:
    state = GAME.parse("...1.../......./..#..../.....#./......./......./...2... turn=3 throw")
    at_once, shallow = (Search(GAME, GAME.score(), depth, rare=rare)(state) for depth, rare in ((2, 1.0), (1, 0.0)))
    uncertain = [a for a in state.legal_actions if len(state.play(a).outcomes()) > 1]
    assert len(uncertain) == 44
    assert [at_once.values[a] for a in uncertain] == pytest.approx([shallow.values[a] for a in uncertain])
    exact, none_rare = (Search(GAME, GAME.score(), 3, rare=rare)(state).values for rare in (0.0, 1e-9))
    assert none_rare == pytest.approx(exact)
    result = Search(GAME, GAME.score(), 3, rare=0.25, candidates="near")(state)
    leaf = Search(GAME, GAME.score(), 2, rare=0.25, candidates="near")
    for action, value in result.values.items():
        outcomes = state.play(action).outcomes()  # after the throw the other player acts
        worth = sum(p * (leaf(after).value if p >= 0.25 else after.value(GAME.score())) for p, after in outcomes)
        assert value == pytest.approx(-worth)


def test_it_beats_the_course_s_players() -> None:
    for rival in ("course:hard", "course:is"):
        result = evaluate(GAME, "search:reach,depth=4,candidates=near,star2=1", 16, 900_000, opponent=rival)
        assert result.mean > 0, rival
