"""One joint tree of moves, throws and landings: its values tend to the exact ones; the throws that it considers."""

from __future__ import annotations

import time
from random import Random

import pytest

import leafwise
from leafwise import Search
from leafwise.envs.core.state import State
from leafwise.envs.trap import GAME
from leafwise.envs.trap.course import PlayerAI
from leafwise.envs.trap.course.grid import Grid
from leafwise.envs.trap.solver import Solver
from twins.trap import Twin


def crowded(size: int, traps: int, rng: Random) -> str:
    marks = ["1", "2", *"#" * traps, *"." * (size * size - traps - 2)]
    rng.shuffle(marks)
    return "/".join("".join(marks[k : k + size]) for k in range(0, size * size, size))


@pytest.mark.parametrize("leaf", ["is", "reach"])
def test_values_tend_to_the_exact_ones(leaf: str) -> None:
    game = GAME.variant(size=3, max_turns=1000)
    solver = Solver(game)
    for text in (".1./.../.2.", "1../.../..2", "1#./.../.2.", ".1./.2./..."):
        state = game.parse(text)
        exact = solver.solve(state, "none").value
        assert exact is not None
        errors = []
        for depth in (4, 12, 16):
            found = Search(game, game.score(leaf), depth, all_values=False, deepening=True, star2=True)(state)
            errors.append(abs(found.value - exact))
        assert errors[1] < 0.07 < errors[0]
        assert errors[2] < 0.004


def test_values_tend_to_the_exact_ones_on_4x4() -> None:
    game, rng = GAME.variant(size=4, max_turns=1000), Random(4)
    solver = Solver(game)
    errors: dict[int, list[float]] = {2: [], 8: [], 12: []}
    for _ in range(6):
        state = game.parse(crowded(4, 9, rng))
        if state.is_terminal:
            continue
        exact = solver.solve(state, "none").value
        assert exact is not None
        for depth, found in errors.items():
            value = Search(game, game.score(), depth, all_values=False, deepening=True, star2=True)(state).value
            found.append(abs(value - exact))
    assert max(errors[2]) > 0.3
    assert max(errors[8]) < 0.4
    assert max(errors[12]) < 0.05


def considered(state: State, candidates: str) -> set[str]:
    found = Search(state.game, state.game.score("is"), 1, candidates=candidates)(state)
    return set(found.action_values)


@pytest.mark.parametrize("game", [GAME, GAME.variant(size=9)], ids=repr)
def test_candidates_are_what_they_are_called(game: leafwise.Game) -> None:
    twin, rng, seen = Twin(game.options), Random(2), 0
    for _ in range(30):
        moving = game.parse(crowded(game.options["size"], 14, rng))
        if moving.is_terminal:
            continue
        assert considered(moving, "near") == set(moving.legal_names)
        state = moving.play(moving.legal_names[0])
        if state.is_terminal:
            continue
        seen += 1
        p = twin.read(str(state))
        near = [c for c in twin.around(p.players[1]) if c != p.players[0]]
        names = {f"{y},{x}" for y, x in near if (y, x) not in p.traps}
        assert considered(state, "near") == names
        assert considered(state, "all") == set(state.legal_names)
        y, x = p.players[0]
        passes = {f"{c[0]},{c[1]}" for c in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)) if c in p.traps}
        wider = considered(state, "near+traps")
        every = {f"{y},{x}" for y, x in near}
        assert wider - every <= passes
        assert every <= wider
        assert len(wider - every) <= 1
        assert bool(wider & passes) == bool(passes)
    assert seen > 10


def test_unknown_candidates() -> None:
    with pytest.raises(ValueError, match=r"^trap: expected candidates among all, near, near\+traps, got 'far'$"):
        Search(GAME, GAME.score(), 1, candidates="far")
    with pytest.raises(ValueError, match=r"^trilobite: expected candidates among none, got 'near'$"):
        Search(leafwise.game("trilobite"), leafwise.score("trilobite"), 1, candidates="near")


def test_the_search_plays_as_a_program_of_the_course_within_its_time() -> None:
    ai = PlayerAI(seconds=0.4)
    ai.setPlayerNum(2)
    grid = Grid(7).move((1, 3), 1).move((6, 3), 2).trap((5, 3))
    started = time.perf_counter()
    move = ai.getMove(grid)
    assert move in grid.get_neighbors((6, 3), only_available=True)
    target = ai.getTrap(grid.move(move, 2))
    assert target in grid.get_neighbors((1, 3), only_available=True)
    assert time.perf_counter() - started > 0.2  # it used its time


def test_it_beats_the_course_s_players() -> None:
    from leafwise.training.arena import evaluate

    for rival in ("course:hard", "course:is"):
        found = evaluate(GAME, "search:reach,depth=4,candidates=near,star2=1", 16, 900_000, opponent=rival)
        assert found.mean > 0, rival
