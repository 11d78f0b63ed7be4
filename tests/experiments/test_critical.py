"""The critical positions of Connect Four, and programs that are asked for their moves."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from leafwise.envs.trilobite.solver import TrilobiteSolver
from leafwise.experiments.study import LineProgram
from leafwise.experiments.trilobite.critical import __main__ as study
from leafwise.experiments.trilobite.critical import positions

ROWS = positions.read()
LATE = [p for p in ROWS if p.plies >= 28]
LEFTMOST = """
import sys
for line in sys.stdin:
    moves = line.strip()
    print(next(c for c in "1234567" if moves.count(c) < 6), flush=True)
"""


def command(script: str) -> str:
    """Returns the command that runs a script with this Python."""
    return shlex.join([sys.executable, "-c", script])


def test_the_file_holds_positions_that_are_critical() -> None:
    assert Path(positions.__file__).with_name(positions.FILE).stat().st_size < 200_000
    assert {p.kind for p in ROWS} == set(positions.KINDS)
    assert len({(p.kind, p.moves) for p in ROWS}) == len(ROWS) >= 1_800
    for p in ROWS:
        legal = [positions.CONNECT_FOUR.actions[a] for a in p.state.legal_actions]
        assert [positions.CONNECT_FOUR.actions[k] for k, letter in enumerate(p.columns) if letter != "."] == legal
        assert p.value == next(letter for letter in "WDL" if letter in p.columns)
        assert p.value == "D" if p.kind == positions.OPENING else p.kept_by < len(legal)


def test_late_positions_are_solved_alike_by_a_table_of_another_size() -> None:
    solver = TrilobiteSolver(positions.CONNECT_FOUR, 8)
    assert len(LATE) > 100
    for p in LATE[::3]:
        values = solver.solve(p.state).action_values
        letters = [positions.LETTERS[values[a]] if a in values else "." for a in positions.CONNECT_FOUR.actions]
        assert "".join(letters) == p.columns, p.moves


def test_a_position_in_which_every_move_loses_is_not_critical() -> None:
    open_three = positions.after("2233")  # the first has two in a row with both ends open: any third chip there wins
    assert positions.row_of(positions.Config(), positions.OPENING, open_three, (1, 1, 2, 2)) is None
    assert positions.after("22334").legal_actions == (0, 1, 2, 3, 4, 5, 6)


def test_a_program_is_judged_and_plays() -> None:
    some, opening = LATE[:20], positions.PositionRow(positions.OPENING, "44444" + "1122766", "D", "DLLLLLL")
    with LineProgram(command(LEFTMOST)) as program:
        known = study.go_on(lambda: study.timed_player("", program), study.Perfect, {}, some, [opening], 0)
        assert known is not None
        expected = "".join(str(int(p.columns[p.state.legal_actions[0]] == p.value)) for p in some)
        assert known["kept"] == expected
        assert known["ms"] > 0
        ends = study.go_on(lambda: study.timed_player("", program), study.Perfect, known, some, [opening], 0)
    assert ends is not None
    assert (ends["empty"], len(ends["openings"])) == ("", 2)
    assert set(ends["openings"]) <= set("WDL")
    lines = study.kept_table(some, {"leftmost": known}, some[0].kind)  # type: ignore[arg-type]
    assert f"| {expected.count('1') / 20:.1%} (" in lines[-1]


def test_a_player_has_a_row_when_it_has_answered_all() -> None:
    known = {"kept": "1" * len(LATE), "ms": 1.0}
    assert study.go_on(lambda: study.timed_player("nobody"), study.Perfect, known, LATE, [], 0) is None
    assert study.kept_table(ROWS, {"x": known}, "played")[-1].startswith("|---")  # type: ignore[arg-type]


def test_the_first_openings_are_of_all_lengths_alike() -> None:
    openings = [p for p in ROWS if p.kind == positions.OPENING]
    some = study.mixed(openings)
    assert sorted(p.moves for p in some) == sorted(p.moves for p in openings)
    assert [p.plies for p in some[:10]] == [8, 9, 10, 11, 12] * 2
    line = study.games_table({"x": {"kept": "1", "openings": "DLDD", "empty": "WL"}})[-1]  # type: ignore[arg-type]
    assert "| 4 | 0 / 3 / 1 | 37.5% (" in line
    assert line.endswith("| 1 of 2 |")


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("print('8', flush=True); input()", "^expected a column from .* at an empty line, got '8'$"),
        ("pass", "^expected a column from .* at an empty line, got the end of the program$"),
        ("import time; time.sleep(60)", "^expected a column from .* at an empty line within 1 s, got none$"),
    ],
)
def test_a_wrong_answer_is_one_line(script: str, message: str) -> None:
    with LineProgram(command(script), timeout=1) as program, pytest.raises(ValueError, match=message):
        study.timed_player("", program)[0]("", positions.CONNECT_FOUR.start())


def test_what_was_found_with_another_model_is_not_known(tmp_path: Path) -> None:
    here, model = study.known(study.Config(out=tmp_path))
    assert {"search:lines,depth=2", "search:learned,depth=2"} <= set(here)
    assert here["search:learned,depth=2"]["model"] == model
    scores = json.loads(Path(study.__file__).with_name("scores.json").read_text())
    scores["results"]["search:learned,depth=2"]["model"] = "another"
    (tmp_path / "scores.json").write_text(json.dumps(scores))
    later, _ = study.known(study.Config(out=tmp_path))
    assert set(here) - set(later) == {"search:learned,depth=2"}
