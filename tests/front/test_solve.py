"""`leafwise solve`: texts and JSON, many positions, wrong input, and what Ctrl-C leaves."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import leafwise
from leafwise.__main__ import run
from leafwise.commands import solve
from leafwise.commands.solve import main, read_position
from leafwise.envs.trilobite.solver import Solver

BOARD = ["--board", "7x6", "--k", "4"]
KEYS = {"value", "score", "best_actions", "action_values", "line", "nodes", "depth", "seconds"}


def solved(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, object]]:
    assert main(list(arguments)) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_json_has_the_promised_keys(capsys: pytest.CaptureFixture[str]) -> None:
    (trilobite,) = solved(capsys, "trilobite", *BOARD, "--moves", "44444 4222222", "--json")
    assert trilobite.keys() >= KEYS
    game = leafwise.game("trilobite", board="7x6", k=4)
    solution = Solver(game).solve(read_position(game, "444444222222"))
    assert trilobite["score"] == solution.score
    assert trilobite["value"] == solution.value
    assert trilobite["best_actions"] == list(solution.best_actions)
    assert trilobite["action_values"] == solution.action_values
    assert trilobite["action_scores"] == solution.action_scores
    assert len(trilobite["line"]) == trilobite["depth"]  # type: ignore[arg-type]
    (cassis,) = solved(capsys, "cassis", "--n", "7", "--moves", "0-1 2-3", "--json")
    assert cassis.keys() >= KEYS
    assert (cassis["value"], cassis["score"]) == (-1, None)
    assert cassis["best_actions"] == list(leafwise.game("cassis", n=7).start().play("0-1").play("2-3").legal_names)


def test_text_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trilobite", "--moves", "1"]) == 0
    text = capsys.readouterr().out
    shows(text, "o to move", "value  draw for the player to move, score 0, game over in 8 moves", "best   3")
    assert main(["cassis", "--moves", "0-1", "--actions", "none"]) == 0
    assert "win for the player to move" in capsys.readouterr().out


@pytest.mark.parametrize("source", ["file", "-", "stdin"])
def test_many_positions(
    source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = "1\n\n .../.../x.. \n122\n"
    path = tmp_path / "positions.txt"
    path.write_text(lines)
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
    where = {"file": ["--file", str(path)], "-": ["--file", "-"], "stdin": []}[source]
    results = solved(capsys, "trilobite", *where)
    assert [result["position"] for result in results] == ["1", ".../.../x..", "122"]
    assert results[0]["action_values"] == results[1]["action_values"] == {"1": -1, "2": -1, "3": 0}


def test_an_empty_standard_input_asks_for_the_start(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert main(["cassis", "--n", "5"]) == 0
    assert "value  draw" in capsys.readouterr().out


def test_a_bad_line_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "positions.txt"
    path.write_bytes(b"1\n2\nx\n3\n\xff\n")
    assert run(["solve", "trilobite", "--file", str(path)]) == 2
    out, err = capsys.readouterr()
    told = [json.loads(line) for line in out.splitlines()]
    wrong = "line 3: trilobite: expected an action among 1, 2, 3, got 'x' as move 1 of 'x'"
    assert [answer["position"] for answer in told] == ["1", "2", "x", "3", "\udcff"]
    assert told[2] == {"position": "x", "error": wrong}
    assert "expected an action among 1, 2, 3" in told[4]["error"]
    assert [answer["value"] for answer in told if "error" not in answer] == [0, 0, 0]
    assert err == f"error: {wrong} (and 1 more)\n"


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_ctrl_c_prints_what_is_known(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    solver = Solver(leafwise.game("trilobite", board="7x6", k=4), by_heart=False)
    monkeypatch.setattr("leafwise.envs.core.play.solver.exact_solver", lambda game, table_mb: solver)

    def interrupt() -> None:
        while solver.known()["nodes"] < 10_000:
            time.sleep(0.01)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    threading.Thread(target=interrupt).start()
    assert solve.main(["trilobite", *BOARD, "--moves", "", "--json"]) == 130
    known = capsys.readouterr().json
    assert known["complete"] is False
    assert known["bounds"] == [-21, 21]
    assert known["nodes"] >= 10_000
    solver.memory.out[:] = 0
    threading.Thread(target=interrupt).start()
    assert solve.main(["trilobite", *BOARD, "--moves", ""]) == 130
    assert "score  -21 to 21 for the player to move" in capsys.readouterr().out


def test_another_process_finds_the_compiled_code() -> None:
    """Compiled code that was loaded from disk once broke where a function called itself."""
    for arguments in (["trilobite", "--moves", "1"], ["cassis", "--moves", "0-1"]):
        assert main(arguments) == 0
        command = [sys.executable, "-m", "leafwise", "solve", *arguments, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert json.loads(done.stdout)["complete"] is True
