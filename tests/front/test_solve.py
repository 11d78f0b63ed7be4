"""`leafwise solve`: texts and JSON, many positions, wrong input, and what Ctrl-C leaves."""

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from front.console import Shell, shows

import leafwise
from leafwise.commands.solve import read_position
from leafwise.envs.trilobite.solver import TrilobiteSolver

KEYS = {"value", "score", "best_actions", "action_values", "line", "nodes", "depth", "seconds"}
FOUR = "solve trilobite --board 7x6 --k 4 --moves"


def test_json_has_the_promised_keys(shell: Shell) -> None:
    trilobite = shell(FOUR, "44444 4222222", "--json").json
    assert trilobite.keys() >= KEYS
    game = leafwise.game("trilobite", board="7x6", k=4)
    solution = TrilobiteSolver(game).solve(read_position(game, "444444222222"))
    expected = {name: getattr(solution, name) for name in ("score", "value", "action_values", "action_scores")}
    assert {name: trilobite[name] for name in expected} == expected
    assert trilobite["best_actions"] == list(solution.best_actions)
    assert len(trilobite["line"]) == trilobite["depth"]
    cassis = shell("solve cassis --n 7 --moves '0-1 2-3' --json").json
    assert cassis.keys() >= KEYS
    assert (cassis["value"], cassis["score"]) == (-1, None)
    assert cassis["best_actions"] == list(leafwise.game("cassis", n=7).start().play("0-1").play("2-3").legal_names)


def test_text_for_people(shell: Shell) -> None:
    value = "value  draw for the player to move, game over in 8 moves of both"
    shows(shell("solve trilobite --moves 1").out, "o to move", value, "best   3")
    shows(shell("solve cassis --moves 0-1 --actions none").out, "win for the player to move")
    shows(shell("solve cassis --n 5").out, "value  draw")  # an empty standard input asks for the start


@pytest.mark.parametrize("source", ["--file {path}", "--file -", ""])
def test_many_positions(source: str, tmp_path: Path, shell: Shell) -> None:
    lines, path = "1\n\n .../.../x.. \n122\n", tmp_path / "positions.txt"
    path.write_text(lines)
    results = shell(f"solve trilobite {source.format(path=path)}", typed=lines).jsons
    assert [result["position"] for result in results] == ["1", ".../.../x..", "122"]
    assert results[0]["action_values"] == results[1]["action_values"] == {"1": -1, "2": -1, "3": 0}


def test_a_bad_line_is_named(tmp_path: Path, shell: Shell) -> None:
    path = tmp_path / "positions.txt"
    path.write_bytes(b"1\n2\nx\n3\n\xff\n")
    answer = shell("solve trilobite --file", str(path))
    answers = answer.jsons
    wrong = "line 3: trilobite: expected an action among 1, 2, 3, got 'x' as move 1 of 'x'"
    assert [one["position"] for one in answers] == ["1", "2", "x", "3", "\udcff"]
    assert answers[2] == {"position": "x", "error": wrong}
    assert "expected an action among 1, 2, 3" in answers[4]["error"]
    assert [one["value"] for one in answers if "error" not in one] == [0, 0, 0]
    assert (answer.status, answer.error) == (2, f"error: {wrong} (and 1 more)\n")


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_ctrl_c_prints_what_is_known(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    solver = TrilobiteSolver(leafwise.game("trilobite", board="7x6", k=4), by_heart=False)
    monkeypatch.setattr("leafwise.envs.core.play.solver.exact_solver", lambda game, table_mb: solver)

    def interrupt() -> None:
        while solver.known()["nodes"] < 10_000:
            time.sleep(0.01)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    threading.Thread(target=interrupt).start()
    answer = shell(FOUR, "", "--json")
    assert (answer.status, answer.json["complete"], answer.json["bounds"]) == (130, False, [-21, 21])
    assert answer.json["nodes"] >= 10_000
    solver.memory.out[:] = 0
    threading.Thread(target=interrupt).start()
    answer = shell(FOUR, "")
    assert answer.status == 130
    assert "value  loss to win for the player to move" in answer.out


def test_another_process_finds_the_compiled_code(shell: Shell) -> None:
    """Compiled code that was loaded from disk once broke where a function called itself."""
    for line in ("solve trilobite --moves 1", "solve cassis --moves 0-1"):
        assert shell(line).status == 0
        command = [sys.executable, "-m", "leafwise", *line.split(), "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert json.loads(done.stdout)["complete"] is True
