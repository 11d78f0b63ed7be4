"""Games at the keyboard, and following a game on a phone."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from front.console import Shell, shows

import leafwise
from leafwise import analysis
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.play.companion import Following
from leafwise.envs.core.play.gamefile import load_game
from leafwise.envs.trilobite.solver import Solver

ALMOST_LOST = "6 2 3 6/2 2 6 3/3 6 1 6/0 1 1 3 next=2 deck=4,3,3 start=12"
START = "48 24 12 6/3 1 2 0/3 0 1 0/2 0 0 0 next=1 deck=0,2,1"


def test_play_takes_moves_hints_and_wrong_words(shell: Shell) -> None:
    answer = shell("play threes --leaf openness --position", START, typed="h\nfoo\n\x1b[C\nq\n")
    assert answer.status == 0
    shows(answer.out, "right       17.6902  best", "expected an action among up, down, left, right, got 'foo'")
    shows(answer.out, "then: 1@", "left the game at")


def test_play_takes_back_and_repeats_chance(shell: Shell) -> None:
    out = shell("play threes --leaf openness --position", START, "--seed", "5", typed="u\nright\nu\nright\n").out
    assert "there is no move to take back" in out
    drawn = [line for line in out.splitlines() if "then: " in line]
    assert len(drawn) == 2
    assert drawn[0] == drawn[1]


def test_play_ends_a_game(shell: Shell) -> None:
    moves = "left\nleft\nup\ndown\nright\n" * 40
    almost = "1 3 1 3/3 1 3 1/1 3 1 3/0 6 1 6 next=1 deck=3,3,3"
    out = shell("play threes --leaf openness --position", almost, "--seed", "1", typed=moves).out
    assert "game over, return" in out


def test_play_against_an_opponent_and_with_two_people(shell: Shell, dice_game: None) -> None:
    alone = shell("play dice --opponent random --seat second", typed="left\nq\n").out
    shows(alone, "random plays", "player 2 to move: ")
    both = shell("play dice --opponent human --length 2 --turns 2", typed="left\nright\nhold\n" * 40).out
    shows(both, "player 1 to move: ", "player 2 to move: ", "game over")
    assert "expected --seat among first, second" in shell("play dice --seat third").refusal
    assert "expected length of 2 to 5" in shell("play dice --length 9").refusal
    assert "expected INT for --length" in shell("play dice --length x").refusal
    assert "expected friday or threes with --assist" in shell("play dice --assist").refusal


def test_the_solver_hints_and_plays_at_a_level(shell: Shell) -> None:
    out = shell("play trilobite --position .../.o./xxo", typed="h\nq\n").out
    shows(out, "3  draw  best\n  2  loss   -1\n  1  loss   -2\n", "  exact, by the solver")
    asked = shell("play trilobite --depth 2", typed="h\nq\n").out
    assert "  by search, depth 2, leaf trilobite" in asked
    games = [shell("play cassis --level easy --seed", str(s), typed="0-1\nq\n").out for s in range(12)]
    replies = {line for game in games for line in game.splitlines() if "level:easy plays" in line}
    assert len(replies) > 1
    best = [shell("play cassis --level best --seed", str(s), typed="0-1\nq\n").out for s in range(4)]
    assert len({line for game in best for line in game.splitlines() if " plays " in line}) == 1
    assert "expected no --opponent" in shell("play threes --opponent greedy").refusal


def test_hints_fall_back_to_the_search_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    game = leafwise.game("trilobite", board="7x6", k=4)
    solver = Solver(game, by_heart=False)
    monkeypatch.setattr(analysis, "SOLVER_SECONDS", 0.2)
    lines = analysis.Hints(analysis.analyst_of(game, "lines", 1), exact=True, solver=solver)(game.start())
    assert len(lines) == 9
    assert lines[0] == "  score of the leaf"
    assert lines[-1] == "  by search, depth 1, leaf lines; the exact solver needs more than 0 s here"


def test_a_game_without_a_solver_hints_by_search(dice_game: None, shell: Shell) -> None:
    assert "  by search, depth 3" in shell("play dice --opponent human", typed="h\nq\n").out


def test_assist_follows_a_phone(shell: Shell) -> None:
    typed = "h\n1,0 1\n5,5 2\nu\n1,0 2\nu\n?\n3,0 3\nq\n"
    out = shell("play threes --leaf openness --assist --position", START, typed=typed).out
    assert "swipe RIGHT; may enter: 1@1,0, 1@2,0, 1@3,0" in out
    assert "expected the next tile among 2, 3, + (deck 0,2,1), got '1'" in out
    shows(out, "expected what appeared, one of 1@1,0, 1@2,0, 1@3,0, got '5,5'", "there is no entry to take back")
    shows(out, "    4  right\n", "left at 48 24 12 6/0 3 1 2/0 3 0 1/1 2 0 0 next=3 deck=0,2,0")


def test_assist_asks_for_the_start(shell: Shell) -> None:
    typed = "1 2 3 1/2 3 1 2/3 0 0\n1 2 3 1/2 3 1 2/3 0 0 0/0 0 0 0\n7\n3\nq\n"
    out = shell("play threes --leaf openness --assist", typed=typed).out
    shows(out, "expected 4 rows", "a new game: 1s, 2s and 3s left in the deck are 1,1,1")
    shows(out, "expected the next tile among 1, 2, 3 (deck 1,1,1), got '7'", "next=3 deck=1,1,0")
    board = "48 2 3 1/2 3 1 2/3 3 0 0/0 0 0 6 next=2"
    later = shell("play threes --leaf openness --assist", typed=f"{board} deck=4,4,9\n{board}\n\nq\n").out
    shows(later, "expected deck=n1,n2,n3", "next=2 deck=4,4,4")


def test_a_game_of_friday_is_followed_saved_and_goes_on(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "table.txt"
    asked = ("play", "friday", "--assist", "--leaf", "pirates", "--depth", "1", "--save", str(file))
    out = shell(*asked, typed="1\n3, 7\nW1, N1\nfight wild, free, weak\nh\nq\n").out
    assert (
        "  fight wild animals (value 4, 4 free) for realization 3 (destroy), draw a free card (1 of 4), weak 0 (44.4 %)"
        in out
    )
    shows(out, "lose 4 life and remove weak", "ending the fight now: lose 4 life", f"saved to {file}")
    on = shell(*asked, typed="u\nu\nu\nfirst\n\nfocused\nq\n").out
    assert "level 1" not in on
    assert "focused 1 (16.7 %)" in on
    assert load_game(file).moves[0].name == "first"
    assert "both" in shell(*asked, "--position", "x").refusal
    assert "expected a game of threes" in shell("play threes --assist --save", str(file)).refusal


def test_friday_is_played_with_names_and_odds(shell: Shell) -> None:
    asked = ("play", "friday", "--level", "4", "--leaf", "pirates", "--depth", "1", "--seed", "3")
    out = shell(*asked, typed="first\nfree\nh\nuse 9\nq\n").out
    shows(out, "life 18/20", "  first   fight ", "odds: weak 0 4")
    assert re.search(r"then: [a-z (),0-9+-]+ \(\d+(\.\d+)? %\)", out)
    assert re.search(r"  end +end the fight: ", out)
    assert "got 'use9'" in out


def test_assist_refuses_a_finished_game(shell: Shell) -> None:
    dead = "1 3 1 3/3 1 3 1/1 3 1 3/3 1 3 1"
    assert "got a finished game" in shell("play threes --assist --position", dead).refusal


def followed(state: State, best: str, line: str) -> str:
    """Returns the position after a line, as text."""
    following = Following(state.game, state)
    following.enter(line, best)
    return str(following.state)


def test_follow_reads_an_entry() -> None:
    game = leafwise.game("threes")
    state = game.parse(START)
    assert followed(state, "right", "1@1,0 2") == followed(state, "up", "right 1,0 2")
    single = game.parse("0 0 0 0/0 3 0 0/0 0 0 0/0 0 0 0 next=2 deck=4,3,4")
    assert followed(single, "up", "1") == "0 3 0 0/0 0 0 0/0 0 0 0/0 2 0 0 next=1 deck=3,3,4"
    bonus = game.parse("96 0 0 0/0 0 0 0/0 0 0 0/0 0 0 3 next=+")
    assert followed(bonus, "right", "12@0,0 +") == "12 96 0 0/0 0 0 0/0 0 0 0/0 0 0 3 next=+ deck=4,4,4"
    with pytest.raises(ValueError, match="one of 6@0,0, 12@0,0, got '0,0'"):
        followed(bonus, "right", "0,0 +")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("right 3", "expected what appeared, one of 1@1,0, 1@2,0, 1@3,0, got 'nothing'"),
        ("right 1,0 7", "expected the next tile among 2, 3, + (deck 0,2,1), got '7'"),
        ("right 1,0 2 3", "expected [swipe] [row,column] next"),
        ("right 2@1,0 2", "got '2@1,0'"),
    ],
)
def test_follow_refuses_what_cannot_be(text: str, expected: str) -> None:
    with pytest.raises(ValueError, match="expected") as problem:
        followed(leafwise.game("threes").parse(START), "right", text)
    assert expected in str(problem.value)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_ends_a_long_search_with_one_line() -> None:
    asked = [
        sys.executable,
        *["-m", "leafwise", "analyze", "threes", "--leaf", "openness", "--file", "-", "--depth", "30"],
    ]
    process = subprocess.Popen(asked, stdin=-1, stdout=-1, stderr=-1, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{ALMOST_LOST}\n{START}\n")
    process.stdin.flush()
    assert process.stdout.readline()  # the first position is searched, and the second takes for ever
    time.sleep(0.5)
    assert process.poll() is None
    os.kill(process.pid, signal.SIGINT)
    _, error = process.communicate()
    assert process.returncode == 130
    assert error.splitlines()[-1] == "interrupted"
    assert "Traceback" not in error
