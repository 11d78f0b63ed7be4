"""The exact solver of Cassis against a naive twin, and on every position, computed backwards from the last ones."""

import threading
import time
from random import Random

import numpy as np
import pytest

import leafwise
from leafwise.envs.cassis.solver import CassisSolver, canonical_form
from leafwise.envs.core.play.solver import Solution
from twins.cassis import Twin


@pytest.mark.parametrize(("n", "most_left"), [(3, 3), (4, 6), (5, 9), (6, 9), (7, 10), (8, 11)])
def test_values_equal_the_twin_s(n: int, most_left: int) -> None:
    game = leafwise.game("cassis", n=n)
    solver, twin, rng = CassisSolver(game), Twin(game.options), Random(n)
    for _ in range(15):
        p = twin.random_position(rng, len(twin.edges) - rng.randint(1, most_left))
        if len(twin.free(p)) > most_left + 1:
            continue
        state = game.parse(twin.write(p))
        values = {f"{a}-{b}": twin.value_of(p, (a, b)) for a, b in twin.free(p)}
        solution = solver.solve(state)
        best = tuple(name for name in values if values[name] == max(values.values()))
        assert solution.action_values == values, str(state)
        assert (solution.value, solution.score, solution.best_actions) == (twin.value(p), None, best)
        assert solver.solve(state, "best").best_actions == best
        assert solver.solve(state, "none").best_actions[0] in best
        assert solver.solve(state, "move").line == solver.solve(state, "none").line[:1]
        player = state.current_player
        for name in solution.line:
            state = state.play(name)
        assert state.is_terminal
        assert (state.returns if player == 0 else -state.returns) == twin.value(p)


@pytest.mark.parametrize(("n", "positions"), [(3, 4), (4, 18), (5, 136), (6, 2_250)])
def test_the_solver_agrees_on_every_position(n: int, positions: int) -> None:
    game = leafwise.game("cassis", n=n)
    rows, values = dict[int, np.ndarray](), dict[int, int]()

    def value(state: leafwise.State, turn: int) -> int:
        """Returns what a position is worth to who moves, player 0 for turn 1."""
        if state.is_terminal and state.returns:
            return int(state.returns) * turn
        mover, other = canonical_form(state.row[::turn], game.tables())
        board = int(mover | other << np.uint64(28))
        if board not in values:
            rows[board] = np.array([mover, other][::turn])
            values[board] = max((-value(state.play(a), -turn) for a in state.legal_actions), default=0)
        return values[board]

    value(game.start(), 1)
    assert len(values) == positions
    solver = CassisSolver(game)
    for board, row in rows.items():
        assert solver.solve(leafwise.State(game, row), "none").value == values[board]


def test_moves_map_back_through_a_renaming() -> None:
    game = leafwise.game("cassis", n=7)
    solver, twin, rng, T = CassisSolver(game), Twin(game.options), Random(2), game.tables()
    renamed = game.symmetries.transform_action
    for _ in range(10):
        state = game.parse(twin.write(twin.random_position(rng, 6)))
        best = solver.solve(state).best_actions
        for k in (5, 1717, 5039):
            image = {game.actions[renamed(game.action(name), k, T)] for name in best}
            assert set(solver.solve(state.transformed(k)).best_actions) == image


@pytest.mark.parametrize("n", [7, 8])
def test_who_begins_loses_on_large_boards(n: int) -> None:
    game = leafwise.game("cassis", n=n)
    solver = CassisSolver(game)
    assert [solver.solve(at, "none").value for at in (game.start(), game.start().play("0-1"))] == [-1, 1]


def test_finished_positions() -> None:
    for n, text, value in ((3, "xo/x", 0), (6, "xx.../xoo./.../../.", 1)):
        game = leafwise.game("cassis", n=n)
        solution = CassisSolver(game).solve(game.parse(text))
        assert (solution.value, solution.best_actions, solution.line) == (value, (), ())


def test_a_stop_ends_the_search() -> None:
    game = leafwise.game("cassis", n=8)
    solver, answer = CassisSolver(game), list[Solution]()

    def work() -> None:
        while not answer or answer[-1].complete:  # until the stop comes in the middle
            solver.memory.table[:] = 0
            answer.append(solver.solve(game.start()))

    thread = threading.Thread(target=work)
    thread.start()
    while not answer or answer[-1].complete:
        time.sleep(0.02)
        solver.stop[0] = 1
    thread.join(60)
    assert answer[-1].bounds in ((-1, 1), (-1, -1))
    assert solver.known()["nodes"] >= 0


def test_wrong_input() -> None:
    game = leafwise.game("cassis")
    with pytest.raises(ValueError, match=r"^cassis: expected a table of at least 1 MB, got 0.5$"):
        CassisSolver(game, 0.5)
    with pytest.raises(ValueError, match=r"expected a position of this game, got "):
        CassisSolver(game).solve(leafwise.game("cassis", n=7).start())
