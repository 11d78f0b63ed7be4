"""`leafwise arena`: tables for people, JSON, and wrong input in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from front.console import Shell


def test_tables_name_the_players_and_their_figures(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    answer = shell("arena", "trilobite", "random", "greedy", "--games", "4", "--plies", "2", "--json", str(file))
    assert answer.status == 0
    lines = answer.out.splitlines()
    assert lines[0] == "trilobite: 4 of 4 games, 2 openings of 2 plies, seeds from 1000000"
    assert lines[1].split() == ["player", "games", "won", "drawn", "lost", "elo", "95", "%", "ms/move"]
    assert {line.split()[0] for line in lines[2:4]} == {"random", "greedy"}
    assert lines[4].startswith("  random - greedy: ")
    written = json.loads(file.read_text())
    assert (written["game"], written["plies"], written["complete"], len(written["played"])) == ("trilobite", 2, True, 4)
    assert (
        "expected a new file, or to resume"
        in shell("arena", "trilobite", "random", "greedy", "--games", "4", "--json", str(file)).refusal
    )


def test_json_goes_to_standard_output_on_request(shell: Shell) -> None:
    words = ("--k", "4", "--board", "4x4", "--games", "2", "--json", "-")
    answer = shell("arena", "trilobite", "random", "greedy:lines", *words)
    figures = json.loads(answer.out)
    assert figures["options"] == {"board": "4x4", "k": 4}
    line = figures["standings"][0]
    expected = {"games", "mean", "ci_low", "ci_high", "elo", "elo_error", "wins", "draws", "losses", "seconds_per_move"}
    assert expected <= line.keys()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("threes", "random", "greedy"), "expected a game for two players, got 'threes'"),
        (("trilobite", "random"), "expected at least two players, all different, got random"),
        (("trilobite", "random", "nobody"), "expected a player like random"),
        (("trilobite", "random", "greedy", "--games", "3"), "expected an even number of games"),
        (("trilobite", "random", "greedy", "--games", "x"), "expected INT for --games"),
        (("trilobite", "random", "greedy", "--resume"), "expected --resume with the file of --json, got none"),
        (("trilobite", "random", "greedy", "--seconds", "0"), "seconds above 0"),
        (("trilobite", "random", "search:nowhere"), "expected a leaf among best, lines, learned, "),
    ],
)
def test_wrong_input_is_one_line(shell: Shell, words: tuple[str, ...], problem: str) -> None:
    assert problem in shell("arena", *words).refusal
