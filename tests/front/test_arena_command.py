"""`leafwise arena`: tables for people, JSON, and wrong input in one line."""

from __future__ import annotations

import json
from pathlib import Path

from front.console import Shell


def test_tables_name_the_players_and_their_figures(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    answer = shell("arena trilobite random greedy --games 4 --plies 2 --json", str(file))
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
        in shell("arena trilobite random greedy --games 4 --json", str(file)).refusal
    )


def test_json_goes_to_standard_output_on_request(shell: Shell) -> None:
    words = ("--k", "4", "--board", "4x4", "--games", "2", "--json", "-")
    answer = shell("arena trilobite random greedy:lines", *words)
    figures = answer.json
    assert figures["options"] == {"board": "4x4", "k": 4}
    line = figures["standings"][0]
    expected = {"games", "mean", "ci_low", "ci_high", "elo", "elo_error", "wins", "draws", "losses", "seconds_per_move"}
    assert expected <= line.keys()
