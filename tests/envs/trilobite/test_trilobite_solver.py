"""The exact solver of Trilobite against a naive twin, known values, and its own guarantees."""

import threading
import time
from random import Random

import numpy as np
import pytest

import leafwise
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream, next_u64
from leafwise.envs.core.play.solver import UNKNOWN, Solution, exact_labels
from leafwise.envs.trilobite import solver as module
from leafwise.envs.trilobite.solver import TrilobiteSolver
from twins.trilobite import Twin

CONNECT_FOUR = leafwise.game("trilobite", board="7x6", k=4)


def after(game: Game, moves: str) -> State:
    state = game.start()
    for name in moves:
        state = state.play(name)
    return state


BOARDS = (
    "3x3 3 0 8", "4x3 3 0 11", "3x5 3 0 12", "4x4 3 4 12", "4x4 4 5 15", "5x4 4 9 19", "5x5 5 14 24", "7x6 4 32 41", "7x6 5 32 41",
    "8x7 4 46 54", "7x8 5 46 54", "8x3 5 13 22", "3x8 4 12 22",
)  # fmt: skip
"""Board, k, least and most chips."""


@pytest.mark.parametrize("line", BOARDS)
def test_scores_equal_the_twin_s(line: str) -> None:
    board, *numbers = line.split()
    k, least, most = map(int, numbers)
    game = leafwise.game("trilobite", board=board, k=k)
    solver, twin, rng = TrilobiteSolver(game, 4), Twin(game.options), Random(f"{board} {k}")
    for _ in range(8):
        moves, p = twin.random_board(rng, rng.randint(least, most))
        state = after(game, moves)
        solution = solver.solve(state)
        scores = {str(c + 1): twin.score_of(p, c) for c in twin.free(p)}
        best = tuple(name for name in scores if scores[name] == max(scores.values()))
        score = twin.score(p)
        assert solution.complete
        assert solution.action_scores == scores, moves
        assert (solution.score, solution.value, solution.bounds) == (score, np.sign(score), (score, score))
        assert solution.action_values == {name: np.sign(score) for name, score in scores.items()}
        assert solution.best_actions == solver.solve(state, "best").best_actions == best
        assert solver.solve(state, "none").best_actions[0] in best
        assert solver.solve(state, "move").line == solver.solve(state, "none").line[:1]
        mirror = solver.solve(state.transformed(1))
        assert mirror.action_scores == {str(len(game.actions) + 1 - int(a)): s for a, s in scores.items()}
        player, chips = state.current_player, len(moves)
        for name in solution.line:
            state = state.play(name)
        assert state.is_terminal
        assert (state.returns if player == 0 else -state.returns) == np.sign(score)
        left = twin.width * twin.height + 1 - (chips + len(solution.line) - 1)
        assert left // 2 == abs(score) or score == 0  # as soon as the score says


@pytest.mark.parametrize(
    "line", ["3x3 3 0", "3x5 3 0", "4x3 3 1", "4x4 3 1", "4x4 4 0", "5x5 3 1", "5x5 4 0", "7x6 3 1"]
)
def test_values_of_empty_boards(line: str) -> None:
    board, k, value = line.split()
    game = leafwise.game("trilobite", board=board, k=int(k))
    assert TrilobiteSolver(game).solve(game.start(), "none").value == int(value)


KNOWN = """
1343445252221232 -1  172611561352617527 11  27214671133226111223 0  336736645715624557727561312 -7
24276732327224675574476 4  563444244372376174615316 -2  62626652745176226217153 4  171362617571264463463316271 -3
6733523421222672 2  4375454563515134547166 -1  52734252274414467367141 -9  4666672754567717654314 2
44561662661121763522 -11  14321627317272645644711 2  35556215225363177275 9  2311764452615641 -13
552354651517 0  3522645754467 -12  262754616712 5  13717734564674 -2
6754231124236 -11  7673457453554 -13  55166267533114 3  15571465353521 -2
1115512435326 -2  531745314556 14  166343635636 2  1516133643553 7
354513556 15  164264642 4  221125751 2  764761326 -2
"""
"""Connect Four positions with their scores, on which two independent public solvers agree."""


def test_scores_of_connect_four_positions() -> None:
    solver = TrilobiteSolver(CONNECT_FOUR)
    rows = np.array([after(CONNECT_FOUR, moves).row for moves in KNOWN.split()[::2]])
    assert solver.scores(rows).tolist() == [int(score) for score in KNOWN.split()[1::2]]


def test_finished_positions() -> None:
    won = TrilobiteSolver(CONNECT_FOUR, 4).solve(after(CONNECT_FOUR, "1212121"))
    assert (won.value, won.score, won.best_actions, won.line, won.depth) == (-1, -18, (), (), 0)
    small = leafwise.game("trilobite")
    drawn = TrilobiteSolver(small, 4).solve(small.parse("xox/xox/oxo"))
    assert (drawn.value, drawn.score) == (0, 0)


def test_a_growing_table_forgets_nothing() -> None:
    memory = TrilobiteSolver(CONNECT_FOUR, 16).memory
    stream, left = new_stream(5), 20
    hashes = [np.uint64(next_u64(stream)) for _ in range(2000)]
    bits = np.uint64(module.FIRST_BITS)
    for n, h in enumerate(hashes):
        module.remember(h, bits, -(n % 20), n % 20, left, memory)
    known = {h: module.lookup(h, bits, memory) for h in hashes}
    assert all(known.values())
    for _ in range(2):
        module.grow(memory)
        bits += np.uint64(1)
        assert {h: module.lookup(h, bits, memory) for h in hashes} == known
    assert memory.size.tolist() == [module.FIRST_BITS + 2, 0]


def test_a_stop_ends_the_search_and_tells_what_is_known() -> None:
    solver = TrilobiteSolver(CONNECT_FOUR, by_heart=False)
    answer: list[Solution] = []
    thread = threading.Thread(target=lambda: answer.append(solver.solve(CONNECT_FOUR.start())))
    thread.start()
    while solver.known()["nodes"] < 100_000:
        time.sleep(0.01)
    assert solver.known()["bounds"] == (-21, 21)
    solver.stop[0] = 1
    thread.join(60)
    (solution,) = answer
    assert not solution.complete
    assert (solution.value, solution.score, solution.bounds) == (None, None, (-21, 21))
    assert (solution.best_actions, solution.action_values, solution.line) == ((), {}, ())
    assert solver.solve(after(CONNECT_FOUR, "444444222222")).complete


def test_wrong_input() -> None:
    with pytest.raises(ValueError, match=r"^trilobite: expected a table of at least 4 MB, got 1$"):
        TrilobiteSolver(CONNECT_FOUR, 1)
    for state, actions, message in (
        (
            leafwise.game("trilobite").start(),
            "all",
            r"expected a position of this game, got leafwise.game\('trilobite'\)",
        ),
        (CONNECT_FOUR.start(), "some", r"^expected actions among all, best, none, move, got 'some'$"),
    ):
        with pytest.raises(ValueError, match=message):
            TrilobiteSolver(CONNECT_FOUR, 4).solve(state, actions)


def test_labels_are_the_solver_s_values_as_far_back_as_a_limit_of_nodes_goes() -> None:
    rng = Random(8)
    first: list[int] = []
    states: list[State] = []
    for _ in range(6):
        state, start = CONNECT_FOUR.start(), len(states)
        while not state.is_terminal:
            first.append(start)
            states.append(state)
            state = state.play(rng.choice(state.legal_actions))
    labels, solver = exact_labels(CONNECT_FOUR, 8), TrilobiteSolver(CONNECT_FOUR, 8)
    array, begins = np.array([state.row for state in states]), np.array(first)
    few, many = labels(array, begins, 1), labels(array, begins, 30_000)
    for scores in (few, many):
        for k, state in enumerate(states):
            if scores[k] == UNKNOWN:
                assert (scores[first[k] : k] == UNKNOWN).all()
            elif str(state).count(".") < 24:
                assert scores[k] == solver.value(state)
    assert 0 < (few != UNKNOWN).sum() < (many != UNKNOWN).sum() < len(states)
    with pytest.raises(ValueError, match="expected a game whose solver can be given a limit of nodes, got 'cassis'"):
        exact_labels(leafwise.game("cassis"), 8)
