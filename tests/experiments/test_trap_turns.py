"""The study of Trap's search of whole turns meets what it says, also a program of one's own."""

import io
import json
import shlex
import sys
from pathlib import Path

import pytest

import leafwise
from leafwise.experiments.trap import answer
from leafwise.experiments.trap.clock import Config as ClockConfig
from leafwise.experiments.trap.clock import grid_of, timed_turns
from leafwise.experiments.trap.turns import Answering, Config, main, matches

PROGRAM = (
    "import sys, leafwise\n"
    "for line in sys.stdin: print(leafwise.game('trap').parse(line.strip()).legal_names[0], flush=True)"
)
"""The first legal action, which is no player's of leafwise."""


def test_the_matches_of_the_parts() -> None:
    found = list(matches(Config(seconds=(0.005,), player="ours", called="ours")))
    assert [match.opponent for match in found] == [
        "turns:reach_open,seconds=0.005,clock=cpu",
        "search:reach_open,seconds=0.0025,clock=cpu,table_mb=4,candidates=near+traps,rare=0.25",
        "search:learned,seconds=0.025,clock=cpu,table_mb=4,candidates=near+traps,rare=0.25",
        "search:reach_open,seconds=0.025,clock=cpu,table_mb=4,candidates=near+traps,rare=0.25",
        "ours",
    ]
    assert not list(matches(Config(parts=("player",))))
    with pytest.raises(ValueError, match="parts"):
        list(matches(Config(parts=("width",))))


def test_a_program_answers_line_for_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    state = leafwise.game("trap").start()
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{state}\n"))
    assert answer.main(["random"]) == 0
    assert capsys.readouterr().out.strip() in state.legal_names
    assert answer.main([]) == 2
    assert answer.main(["nobody"]) == 2


def test_games_against_a_program(tmp_path: Path) -> None:
    words = ["--parts", "player", "--player", shlex.join([sys.executable, "-c", PROGRAM]), "--called", "the first"]
    words += ["--model", "reach", "--turn-seconds", "0.002", "--games", "2", "--first-seed", "920000"]
    assert main([*words, "--out", str(tmp_path), "--data", str(tmp_path)]) == 0
    (found,) = json.loads((tmp_path / "turns.json").read_text()).values()
    assert max(found["scores"]) == 1.0
    assert "| 2 ms a turn, against the first | 2 |" in (tmp_path / "turns.md").read_text()
    mute = Answering(shlex.join([sys.executable, "-c", "input(); print('nowhere')"]))
    with pytest.raises(ValueError, match=r"^expected an action from .* at .* turn=0, got 'nowhere'$"):
        mute.choose(leafwise.game("trap").start())
    mute.close()


def test_turns_are_timed() -> None:
    spent = timed_turns(ClockConfig(turns=3, seconds=0.02))
    assert len(spent) == 3
    assert min(spent) > 0
    state = leafwise.game("trap").parse("1....../......./..#..../......./......./......./......2 turn=1")
    grid = grid_of(state)
    assert (grid.find(1), grid.find(2), grid.getCellValue((2, 2))) == ((0, 0), (6, 6), -1)
    assert len(grid.getAvailableCells()) == 46
