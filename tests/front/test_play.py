"""Games at the keyboard, and following a game on a phone."""

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
from leafwise.envs.core.play.companion import Following
from leafwise.envs.core.play.gamefile import load_game
from leafwise.envs.trilobite.solver import TrilobiteSolver

ALMOST_LOST = "6 2 3 6/2 2 6 3/3 6 1 6/0 1 1 3 next=2 deck=4,3,3 start=12"
START = "48 24 12 6/3 1 2 0/3 0 1 0/2 0 0 0 next=1 deck=0,2,1"


def test_play_takes_words_takes_back_repeats_chance_and_ends(shell: Shell) -> None:
    answer = shell("play threes --leaf openness --position", START, typed="h\nfoo\n\x1b[C\nq\n")
    assert answer.status == 0
    wrong = "expected an action among up, down, left, right, got 'foo'"
    shows(answer.out, "right       17.6902        best", wrong, "then: 1@", "left the game at")
    assert "\nhints: search, leaf openness\n" in answer.out
    out = shell("play threes --leaf openness --position", START, "--seed", "5", typed="u\nright\nu\nright\n").out
    assert "there is no move to take back" in out
    one, other = (line for line in out.splitlines() if "then: " in line)
    assert one == other
    almost = "1 3 1 3/3 1 3 1/1 3 1 3/0 6 1 6 next=1 deck=3,3,3"
    moves = "left\nleft\nup\ndown\nright\n" * 40
    shows(shell("play threes --leaf openness --seed 1 --position", almost, typed=moves).out, "game over, ", " points")


def test_play_against_an_opponent_and_with_two_people(shell: Shell, dice_game: None) -> None:
    alone = shell("play dice --opponent random --seat second", typed="left\nq\n").out
    shows(alone, "random plays", "player 2 to move: ")
    both = shell("play dice --opponent human --length 2 --turns 2", typed="left\nright\nhold\n" * 40).out
    shows(both, "player 1 to move: ", "player 2 to move: ", "game over")
    for words, wrong in (
        ("--seat third", "expected --seat among first, second"),
        ("--length 9", "expected length of 2 to 5"),
        ("--length x", "expected INT for --length"),
        ("--assist", "expected friday or threes with --assist"),
    ):
        assert wrong in shell(f"play dice {words}").refusal
    hints = shell("play dice --opponent human", typed="h\nq\n").out  # a game without a solver
    assert "  by search, depth 3" in hints


def test_the_solver_hints_and_plays_at_a_level(shell: Shell) -> None:
    out = shell("play trilobite --position .../.o./xxo", typed="h\nq\n").out
    shows(out, "3  draw       best\n  2  loss in 2\n  1  loss in 1\n", "  exact, by the solver")
    output = shell("play trilobite --depth 2", typed="h\nq\n").out
    assert "  by search, depth 2, leaf trilobite" in output

    def replies(level: str, seeds: int) -> set[str]:
        games = [shell(f"play cassis --level {level} --seed {s}", typed="0-1\nq\n").out for s in range(seeds)]
        return {line for game in games for line in game.splitlines() if " plays " in line}

    assert len(replies("easy", 12)) > 1
    assert len(replies("best", 4)) == 1
    assert "expected no --opponent" in shell("play threes --opponent greedy").refusal


def test_hints_fall_back_to_the_search_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    game = leafwise.game("trilobite", board="7x6", k=4)
    solver = TrilobiteSolver(game, by_heart=False)
    monkeypatch.setattr(analysis, "SOLVER_SECONDS", 0.2)
    lines = analysis.Hints(analysis.analyst_of(game, "lines", 1), exact=True, solver=solver)(game.start())
    assert len(lines) == 9
    assert lines[0] == "  score of the leaf, and the difference from the best"
    assert lines[-1] == "  by search, depth 1, leaf lines; the exact solver needs more than 0 s"


def test_assist_asks_for_the_start_and_follows_a_phone(shell: Shell) -> None:
    typed = "h\n1,0 1\n5,5 2\nu\n1,0 2\nu\n?\n3,0 3\nq\n"
    shows(
        shell("play threes --leaf openness --assist --position", START, typed=typed).out,
        "swipe RIGHT; may enter: 1@1,0, 1@2,0, 1@3,0",
        "expected the next tile among 2, 3, + (deck 0,2,1), got '1'",
        "expected what appeared, one of 1@1,0, 1@2,0, 1@3,0, got '5,5'",
        "there is no entry to take back",
        "    4  right\n",
        "left at 48 24 12 6/0 3 1 2/0 3 0 1/1 2 0 0 next=3 deck=0,2,0",
    )
    shows(shell("play threes --leaf openness --assist", typed="q\n").out, "left at the beginning")
    typed = "1 2 3 1/2 3 1 2/3 0 0\n1 2 3 1/2 3 1 2/3 0 0 0/0 0 0 0\n7\n3\nq\n"
    out = shell("play threes --leaf openness --assist", typed=typed).out
    new = "a new game: 1s, 2s and 3s left in the deck are 1,1,1"
    shows(
        out, "expected 4 rows", new, "expected the next tile among 1, 2, 3 (deck 1,1,1), got '7'", "next=3 deck=1,1,0"
    )
    board = "48 2 3 1/2 3 1 2/3 3 0 0/0 0 0 6 next=2"
    later = shell("play threes --leaf openness --assist", typed=f"{board} deck=4,4,9\n{board}\n\nq\n").out
    shows(later, "expected deck=n1,n2,n3", "next=2 deck=4,4,4")
    dead = "1 3 1 3/3 1 3 1/1 3 1 3/3 1 3 1"
    assert "got a finished game" in shell("play threes --assist --position", dead).refusal


def test_a_game_of_friday_is_followed_saved_and_goes_on(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "table.txt"
    command = f"play friday --assist --leaf pirates --depth 1 --save {file}"
    fight = (
        "  fight wild animals (value 4, 4 free) for realization 3 (destroy), draw a free card (1 of 4), weak 0 (44.4 %)"
    )
    given_up = ("lose 4 life and remove weak", "ending the fight now: lose 4 life")
    out = shell(command, typed="1\n3, 7\nW1, N1\nfight wild, free, weak\nh\nq\n").out
    shows(out, fight, *given_up, f"saved to {file}")
    on = shell(command, typed="u\nu\nu\nfirst\n\nfocused\nq\n").out
    assert "level 1" not in on
    assert "focused 1 (16.7 %)" in on
    assert load_game(file).moves[0].name == "first"
    assert "both" in shell(command, "--position", "x").refusal
    assert "expected a game of threes" in shell(f"play threes --assist --save {file}").refusal


def test_friday_is_played_with_names_and_odds(shell: Shell) -> None:
    command = "play friday --level 4 --leaf pirates --depth 1 --seed 3"
    out = shell(command, typed="first\nfree\nh\nuse 9\nq\n").out
    shows(out, "life 18/20", "  first   fight ", "odds: weak 0 4", "got 'use9'")
    assert re.search(r"then: [a-z (),0-9+-]+ \(\d+(\.\d+)? %\)", out)
    assert re.search(r"  end +end the fight: ", out)


SINGLE, BONUS = "0 0 0 0/0 3 0 0/0 0 0 0/0 0 0 0 next=2 deck=4,3,4", "96 0 0 0/0 0 0 0/0 0 0 0/0 0 0 3 next=+"
ENTRIES = [
    (START, "right", "1@1,0 2", "48 24 12 6/1 3 1 2/0 3 0 1/0 2 0 0 next=2 deck=0,1,1"),
    (START, "up", "right 1,0 2", "48 24 12 6/1 3 1 2/0 3 0 1/0 2 0 0 next=2 deck=0,1,1"),
    (SINGLE, "up", "1", "0 3 0 0/0 0 0 0/0 0 0 0/0 2 0 0 next=1 deck=3,3,4"),
    (BONUS, "right", "12@0,0 +", "12 96 0 0/0 0 0 0/0 0 0 0/0 0 0 3 next=+ deck=4,4,4"),
]
REFUSED = [
    (BONUS, "0,0 +", "one of 6@0,0, 12@0,0, got '0,0'"),
    (START, "right 3", "expected what appeared, one of 1@1,0, 1@2,0, 1@3,0, got 'nothing'"),
    (START, "right 1,0 2 3", "expected [swipe] [row,column] next"),
    (START, "right 2@1,0 2", "got '2@1,0'"),
]


def test_follow_reads_an_entry_or_refuses_what_cannot_be() -> None:
    game = leafwise.game("threes")
    for start, best, line, after in ENTRIES:
        following = Following(game, game.parse(start))
        following.enter(line, best)
        assert str(following.state) == after
    for start, line, wrong in REFUSED:
        with pytest.raises(ValueError, match=re.escape(wrong)):
            Following(game, game.parse(start)).enter(line, "right")


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_ends_a_long_search_with_one_line() -> None:
    line = "-m leafwise analyze threes --leaf openness --file - --depth 30"
    process = subprocess.Popen([sys.executable, *line.split()], stdin=-1, stdout=-1, stderr=-1, text=True)
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
