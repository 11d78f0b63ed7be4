"""Trap at the command line: the odds of throws, programs that forfeit, exact values."""

from __future__ import annotations

from pathlib import Path

import pytest
from front.console import Shell, shows
from PIL import Image


def test_play_shows_the_odds_of_a_throw(shell: Shell) -> None:
    answer = shell("play trap --opponent course:easy --depth 1", typed="S\n5,3\nq\n")
    assert answer.status == 0
    shows(answer.out, "player 1 to throw", "odds: 5,3 85 %, 4,3 2.14 %", "course:easy plays")
    assert answer.out.count("odds: ") == 2  # the opponent's throw too


def test_a_program_that_forfeits_ends_the_game(shell: Shell, tmp_path: Path) -> None:
    program = tmp_path / "PlayerAI.py"
    methods = "\n    ".join(f"def {name}(self, value): raise OSError('broken')" for name in ("getMove", "getTrap"))
    program.write_text(f"class PlayerAI:\n    {methods}\n    setPosition = setPlayerNum = lambda self, value: None\n")
    answer = shell("play trap --opponent", f"course:{program}", "--depth", "1", typed="S\n5,3\n")
    assert answer.status == 0
    shows(answer.out, "player 2 forfeits: ", "OSError: broken")
    out = str(tmp_path / "game.gif")
    assert "broken" in shell("record trap --player", f"course:{program}", "--out", out).refusal


def test_record_shows_what_chance_may_do(shell: Shell, tmp_path: Path) -> None:
    frames = []
    for words in ((), ("--chance",)):
        out = tmp_path / "game.gif"
        who = ("--player", "random", "--opponent", "random")
        shell("record trap", *who, "--moves", "6", "--out", str(out), "--overwrite", *words)
        with Image.open(out) as image:
            frames.append(getattr(image, "n_frames", 1))
    assert frames == [7, 10]


def test_solve_gives_values_between_loss_and_win(shell: Shell) -> None:
    answer = shell("solve trap --size 3 --moves '' --json").json
    assert answer["value"] == pytest.approx(0.901856, abs=1e-6)
    assert set(answer["best_actions"]) == {"SE", "SW"}
    said = shell("solve trap --size 3 --moves '.1./#../.2. turn=0'").out
    assert "value  win for the player to move" in said
    said = shell("solve trap --size 3 --max-turns 5 --moves '.1./.../.2. turn=4'").out
    assert "value  draw for the player to move" in said
    assert "note" not in said
    assert "note   as without the draw, which is 36 turns away" in shell("solve trap --size 3 --moves ''").out
    assert "expected an exact solver for size 3 or 4, got 7" in shell("solve trap --moves ''").refusal
