"""The opening table of Connect Four: known values, agreement within, and with the solver without it."""

import json
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import leafwise
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.play.solver import SolverPlayer
from leafwise.envs.trilobite import solver as openings
from leafwise.envs.trilobite.solver import SCATTER, TrilobiteSolver, lookup
from leafwise.experiments.trilobite import openings as study
from leafwise.models.files import save_tensors

CONNECT_FOUR = leafwise.game("trilobite", board="7x6", k=4)
TABLE = openings.read_openings()
ARRAYS: dict[str, NDArray[Any]] = {"keys": TABLE.keys, "left": TABLE.left, "scores": TABLE.scores}
PLIES = 42 - TABLE.left.astype(int)


def position(key: int) -> State:
    """Decodes a key: each column of 7 bits is the mover's chips plus all chips."""
    chips = filled = 0
    for column in range(7):
        number = (key >> 7 * column & 127) + 1
        height = number.bit_length() - 1
        filled |= (2**height - 1) << 7 * column
        chips |= (number - 2**height) << 7 * column
    sides = [chips, chips ^ filled][:: -1 if filled.bit_count() % 2 else 1]
    return State(CONNECT_FOUR, np.array(sides, dtype=np.uint64))


SCORES = {position(key): score for key, score in zip(TABLE.keys.tolist(), TABLE.scores.tolist(), strict=True)}


def score(state: State) -> int | None:
    """Returns the table's value of a position or its mirror image."""
    return SCORES.get(state, SCORES.get(state.transformed(1)))


def test_the_first_moves_are_worth_what_is_known() -> None:
    """Columns 1 to 7 have the values -2 -1 0 1 0 -1 -2, as in the published solution of Connect Four."""
    solution = TrilobiteSolver(CONNECT_FOUR, 4).solve(CONNECT_FOUR.start())
    assert list((solution.action_scores or {}).values()) == [-2, -1, 0, 1, 0, -1, -2]
    assert solution.best_actions == ("4",)


def test_the_solver_answers_the_first_moves_without_a_search() -> None:
    player, known = SolverPlayer(CONNECT_FOUR, table_mb=4), 0
    for state in SCORES:
        if 42 - str(state).count(".") < int(TABLE.about["lines"]):
            after = state.play(player.choose(state))
            if score(after) is not None:  # the table holds the solver's own lines, and every first move
                known += 1
                assert player.solver.known()["nodes"] < 1000, str(state)
                assert -(score(after) or 0) == score(state)
    assert known >= 12


def test_no_move_is_worth_more_than_its_position() -> None:
    known = [(score(state.play(name)), value) for state, value in SCORES.items() for name in state.legal_names]
    compared = [-after <= value for after, value in known if after is not None]
    assert all(compared)
    assert len(compared) > 30


def test_a_sample_is_what_the_solver_finds_by_itself() -> None:
    solver, player = TrilobiteSolver(CONNECT_FOUR, by_heart=False), SolverPlayer(CONNECT_FOUR, table_mb=64)
    last = [state for state in SCORES if 42 - str(state).count(".") == PLIES.max()]
    for state in Random(1).sample(last, 2):
        at, sign = state, 1  # some plies of best play on, where a search is short
        while str(at).count(".") > 32 and not at.is_terminal:
            at, sign = at.play(player.choose(at)), -sign
        assert solver.solve(at, "none").score == sign * SCORES[state]


def test_the_table_is_small_and_says_how_it_was_made() -> None:
    assert openings.FILE.stat().st_size < 1_000_000
    assert len(set(TABLE.keys.tolist())) == len(TABLE.keys) == TABLE.about["positions"]
    assert TABLE.about["command"].startswith("python -m leafwise.experiments.trilobite.openings")
    assert (np.diff(TABLE.left.astype(int)) >= 0).all()


def test_a_solver_by_itself_knows_nothing_by_heart() -> None:
    for by_heart in (True, False):
        solver = TrilobiteSolver(CONNECT_FOUR, 4, by_heart=by_heart)
        solver.scores(CONNECT_FOUR.rows(0))
        known = lookup(TABLE.keys[-1] * SCATTER, np.uint64(solver.memory.size[0]), solver.memory)
        assert bool(known) is by_heart
    assert TrilobiteSolver(leafwise.game("trilobite", board="7x6", k=5), 4).openings is None


def test_openings_that_a_search_displaced_are_known_again() -> None:
    solver, start = TrilobiteSolver(CONNECT_FOUR, 4), CONNECT_FOUR.start()
    assert solver.solve(start, "move").nodes < 1000
    solver.memory.table[:] = 0
    solver.memory.size[1] += 1  # as a search that stored something
    assert solver.value(CONNECT_FOUR.parse("......./......./......./xo...../oxxo.../xooxx..")) in (-1, 0, 1)
    solution = solver.solve(start, "move")
    assert (solution.score, solution.nodes < 1000) == (1, True)


def test_the_study_goes_on_with_what_is_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, kept = tmp_path / "openings.safetensors", PLIES <= 2
    save_tensors(file, {name: array[kept] for name, array in ARRAYS.items()}, TABLE.about)
    assert study.main(["--out", str(tmp_path), "--plies", "1", "--lines", "1", "--table-mb", "16"]) == 0
    assert json.loads(capsys.readouterr().out)["positions"] == kept.sum()
    again = openings.read_openings(file)
    continued, known = ((table.keys.tolist(), table.scores.tolist()) for table in (again, TABLE))
    assert dict(zip(*continued, strict=True)).items() <= dict(zip(*known, strict=True)).items()
    assert study.main(["--out", str(tmp_path), "--plies", "3", "--lines", "2"]) == 2
    assert "expected 0 <= --plies <= --lines < 14, got 3 and 2" in capsys.readouterr().err
    save_tensors(file, ARRAYS, {**TABLE.about, "k": 5})
    with pytest.raises(ValueError, match="expected a table of"):
        openings.read_openings(file)
