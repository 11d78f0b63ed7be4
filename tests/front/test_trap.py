"""Trap at the command line: the odds of throws, programs that forfeit, exact values."""

import subprocess
import sys
from pathlib import Path

import pytest
from front.console import Shell, make_shell, shows
from PIL import Image

import leafwise


def test_play_and_record_show_what_chance_may_do(shell: Shell, tmp_path: Path) -> None:
    answer = shell("play trap --opponent course:easy --depth 1", typed="S\n5,3\nq\n")
    assert answer.status == 0
    shows(answer.out, "player 1 to throw", "odds: 5,3 85 %, 4,3 2.14 %", "course:easy plays")
    assert answer.out.count("odds: ") == 2  # the opponent's throw too
    for words, frames in (("", 7), ("--chance", 10)):
        command = (
            f"record trap --player random --opponent random --moves 6 --out {tmp_path}/game.gif --overwrite {words}"
        )
        assert shell(command).status == 0
        with Image.open(tmp_path / "game.gif") as image:
            assert getattr(image, "n_frames", 1) == frames


def test_a_program_that_forfeits_ends_the_game(shell: Shell, tmp_path: Path) -> None:
    program = tmp_path / "PlayerAI.py"
    methods = "\n    ".join(f"def {name}(self, value): raise OSError('broken')" for name in ("getMove", "getTrap"))
    program.write_text(f"class PlayerAI:\n    {methods}\n    setPosition = setPlayerNum = lambda self, value: None\n")
    answer = shell("play trap --opponent", f"course:{program}", "--depth", "1", typed="S\n5,3\n")
    assert answer.status == 0
    shows(answer.out, "player 2 forfeits: ", "OSError: broken")
    out = str(tmp_path / "game.gif")
    assert "broken" in shell("record trap --player", f"course:{program}", "--out", out).refusal


def test_solve_gives_values_between_loss_and_win(shell: Shell) -> None:
    answer = shell("solve trap --size 3 --moves '' --json").json
    assert answer["value"] == pytest.approx(0.901856, abs=1e-6)
    assert set(answer["best_actions"]) == {"SE", "SW"}
    shows(shell("solve trap --size 3 --moves '.1./#../.2. turn=0'").out, "value  win for the player to move")
    output = shell("solve trap --size 3 --max-turns 5 --moves '.1./.../.2. turn=4'").out
    assert "value  draw for the player to move" in output
    assert "note" not in output
    shows(shell("solve trap --size 3 --moves ''").out, "note   as without the draw, which is 36 turns away")
    assert "expected an exact solver for size 3 or 4, got 7" in shell("solve trap --moves ''").refusal


# What the course's students use: a player to begin with, its measurement, its faults


SIMPLE = """
class PlayerAI:
    turns = 0

    def setPosition(self, pos): self.pos = pos
    def setPlayerNum(self, num): self.num = num

    def getMove(self, grid):
        self.turns += 1
        {trouble}
        return grid.get_neighbors(self.pos, only_available=True)[0]

    def getTrap(self, grid):
        return grid.getAvailableCells()[0]
"""


def program(folder: Path, trouble: str = "pass", name: str = "PlayerAI.py") -> str:
    """Writes a program; returns the player's text."""
    (folder / name).write_text(SIMPLE.replace("{trouble}", trouble))
    return f"course:{folder / name}"


def test_new_course_writes_a_player_that_runs(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "my player"
    answer = shell("new --course", str(folder))
    assert answer.status == 0
    assert f"leafwise eval trap 'course:{folder}/PlayerAI.py' --opponent course:easy --games 20" in answer.out
    assert {path.name for path in folder.iterdir()} == {"BaseAI.py", "Grid.py", "PlayerAI.py", "README.md", "Utils.py"}
    run = [sys.executable, "-W", "error", "PlayerAI.py"]
    output = subprocess.run(run, cwd=folder, check=True, capture_output=True, text=True).stdout
    assert output.startswith("I move to (1, 2) and throw at (5, 3)\nin ")
    again = shell("new --course", str(folder)).refusal
    assert again.startswith("error: expected a new or an empty folder for --course, got one with ")
    assert "got a file" in shell("new --course", str(folder / "Grid.py")).refusal
    assert "expected the name of a game, or --course FOLDER, got both" in shell("new x --course", str(folder)).refusal
    assert "expected the name of a game, or --course FOLDER, got neither" in shell("new").refusal
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    assert shell("new --course .").status == 0
    assert (empty / "PlayerAI.py").exists()


def test_eval_tells_points_and_times_of_both(shell: Shell, tmp_path: Path) -> None:
    words = ("eval", "trap", program(tmp_path), "--opponent", "random", "--games", "4")
    output = shell(*words).out
    result = shell(*words, "--json").json
    assert f"lost: {result['points']:g} of 4 points (a draw is half a point)" in output
    assert result["points"] == result["wins"] + result["draws"] / 2
    assert output.count("  turns   ") == 2
    for whose in ("", "opponent_"):
        assert 0 < result[f"{whose}seconds_per_turn"] <= result[f"{whose}longest_turn_seconds"] < 5
    assert result["faults"] == []
    assert "by a fault" not in output


def test_a_fault_costs_the_game_and_is_told(shell: Shell, tmp_path: Path) -> None:
    words = ("eval", "trap", program(tmp_path, "1 / (3 - self.turns)"), "--opponent", "random", "--games", "4")
    answer = shell(*words)
    assert answer.status == 0
    lines = answer.out.splitlines()
    at = next(k for k, line in enumerate(lines) if line.startswith("  lost    "))
    assert lines[at].endswith("ZeroDivisionError: division by zero (line 10 of PlayerAI.py, getMove, turn 3)")
    assert lines[at + 1].startswith("          the first of them, seed 1000000, in the first seat:")
    report = "\n".join(lines[at + 2 :])
    assert "    Traceback (most recent call last):\n" in report
    assert f'      File "{tmp_path}/PlayerAI.py", line 10, in getMove\n' in report
    assert "leafwise" not in report
    shows(report, "    as player 1 at ", "\n      0 1 2 3 4 5 6\n    0 ")
    result = shell(*words, "--json").json
    assert len(result["faults"]) == result["losses"] > 0
    assert {fault["player"] for fault in result["faults"]} == {result["player"]}
    assert "getMove, turn 3)" in result["faults"][0]["what"]


def test_faults_that_are_alike_are_told_once_loops_lose_alone_and_what_does_not_load_is_one_line(
    shell: Shell, tmp_path: Path
) -> None:
    program(tmp_path, "{}[self.pos]")
    output = shell("eval trap", f"course:{tmp_path}", "--opponent", "random", "--games", "2").out
    assert (
        f"  lost    2 games by a fault: course:{tmp_path}: KeyError: (0, 3) (line 10 of PlayerAI.py, getMove, turn 1)\n"
        in output
    )
    assert "(6, 3)" not in output
    hangs = program(tmp_path, "while self.num == 2: pass") + ",seconds=1,allowance=0.5"
    result = shell("eval trap random --opponent", hangs, "--games", "2", "--json").json
    assert [(fault["player"], fault["seat"]) for fault in result["faults"]] == [(hangs, 1)]
    assert "took more than 1.5 s for its turn (line 10 of PlayerAI.py, getMove, turn 1)" in result["faults"][0]["what"]
    assert "while self.num == 2: pass" in result["faults"][0]["report"]
    path = tmp_path / "PlayerAI.py"
    path.write_text("class PlayerAI:\n    def getMove(self, grid)\n        return 1\n")
    line = shell("eval trap", f"course:{path}", "--opponent", "random", "--games", "2").refusal
    assert line.endswith("expected a program that loads, got: SyntaxError: expected ':' (line 2 of PlayerAI.py)")


def test_verbose_shows_what_is_printed(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shell = make_shell(capfd, monkeypatch)
    words = ("eval", "trap", program(tmp_path, "print('turn', self.turns)"), "--opponent", "random", "--games", "2")
    assert "turn 1\nturn 2\n" in shell(*words, "--verbose").error
    assert "turn 1" not in shell(*words).error


@pytest.mark.long
def test_an_arena_names_the_line(shell: Shell, tmp_path: Path) -> None:
    faulty = program(tmp_path, "raise KeyError(self.pos)")
    output = shell("arena trap", faulty, "random", "--games", "2").out
    shows(output, "lost 2 games by forfeit; the first: ", "(line 10 of PlayerAI.py, getMove, turn 1)")


def test_the_course_s_opponents_are_the_levels_and_are_listed(shell: Shell) -> None:
    out = shell("play trap --level hard --seat second --depth 1", typed="q\n").out
    shows(out, "against level:hard\nhard: the player course:hard; takes ", "level:hard plays ")
    help_text = " ".join(shell("play trap --help").out.split())
    shows(help_text, "easy the player course:easy", "best no move at random")
    games = " ".join(shell("games trap").out.split())
    shows(games, " players solver, course:is, course:ais, course:ocls, course:easy, course:medium, course:hard, turns ")
    by_level, named = (leafwise.player(name, leafwise.game("trap")) for name in ("level:medium", "course:medium"))
    state = leafwise.game("trap").start()
    assert by_level.choose(state) == named.choose(state)
    assert (by_level.name, named.name) == ("level:medium", "course:medium")
