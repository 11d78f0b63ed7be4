"""Programs in other processes: their answers, and how they time out, end, send too much, restart and are stopped."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest

from leafwise.envs.core.programs import Ended, Engine, NoAnswer, Process, Program, Refused, TimedOut

FOREVER = "while True: time.sleep(1)"


def command(code: str) -> list[str]:
    return [sys.executable, "-c", "import json, os, sys, time\n" + textwrap.dedent(code)]


def pid_of(program: Program) -> int:
    return int(program.ask_line("pid"))


TELLS_PID = "for line in sys.stdin: print(os.getpid(), flush=True)"


def test_a_process_runs_to_its_end_or_is_ended(capfd: pytest.CaptureFixture[str]) -> None:
    code = "print('x' * 1_000_000, sys.stdin.read()); print('done', file=sys.stderr); sys.exit(2)"
    with Process(command(code)) as process:
        assert process.wait(60)
        assert (process.status, process.last_lines(1), process.is_running) == (2, ["done"], False)
    stops = (
        "import signal; signal.signal(signal.SIGTERM, lambda *_: sys.exit(5)); print('on', file=sys.stderr, flush=True)"
    )
    with Process(command(f"{stops}\n{FOREVER}")) as process:
        while not process.last_lines(1):
            assert not process.wait(0.05)
        assert process.status is None
        assert psutil.pid_exists(process.pid)
        process.terminate()
        assert process.wait(60)
    assert process.status == 5
    assert capfd.readouterr() == ("", "")


def test_a_line_answers_a_line_in_a_folder_and_an_environment(tmp_path: Path) -> None:
    code = "for line in sys.stdin: print(line.strip(), os.getcwd(), os.environ['WORD'], flush=True)"
    with Program(command(code), tmp_path, {**os.environ, "WORD": "é"}) as program:
        assert program.ask_line("a", 60) == f"a {tmp_path} é"
        assert program.is_running
    assert not program.is_running
    with pytest.raises(Ended, match=r"^expected a program that runs, got one that was ended$"):
        program.ask_line("a")


def test_a_command_that_does_not_start_leaves_nothing_open(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no-such-program"):
        Program([str(tmp_path / "no-such-program")])
    gc.collect()  # an open file would be a warning, and so an error


@pytest.mark.parametrize(
    ("code", "line", "kind", "message"),
    [
        (FOREVER, "a", TimedOut, "expected an answer within 0.5 s, got none"),
        (FOREVER, "a" * (1 << 22), TimedOut, "expected an answer within 0.5 s, got none"),  # more than a pipe takes
        ("sys.stdin.readline(); sys.exit(3)", "a", Ended, "got the end of the process with status 3"),
        ("os.close(1); sys.stdin.readline(); os._exit(4)", "a", Ended, "got the end of the process with status 4"),
    ],
)
def test_no_answer_ends_the_process(code: str, line: str, kind: type[NoAnswer], message: str) -> None:
    with Program(command(code)) as program:
        with pytest.raises(kind, match=message):
            program.ask_line(line, 0.5 if kind is TimedOut else 60)
        assert program.status is not None


def test_a_flood_waits_and_is_ended() -> None:
    code = "while True: print('x' * 1000)"
    with Program(command(code)) as program:
        assert program.ask_line("a", 60) == "x" * 1000
        assert program.is_running
        assert program.ask_line("a", 60) == "x" * 1000
    assert program.status is not None


@pytest.mark.parametrize("answer", ["'no JSON'", "[1]", "'[' * 100_000", "'1' * 10_000"])
def test_what_is_no_object_ends_the_process(answer: str) -> None:
    with Program(command(f"sys.stdin.readline(); print({answer}, flush=True)\n{FOREVER}")) as program:
        with pytest.raises(Ended, match=r"^expected a line with a JSON object, got '.{1,80}'$"):
            program.ask({"a": 1}, 60)
        assert program.status is not None


@pytest.mark.skipif(sys.platform == "win32", reason="no process sends itself Ctrl-C there")
def test_a_question_that_ctrl_c_interrupts_ends_the_process() -> None:
    code = "for line in sys.stdin: time.sleep(1 if 'slow' in line else 0); print(line, end='', flush=True)"
    with Program(command(code)) as program:
        assert program.ask_line("a", 60) == "a"
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            program.ask_line("slow", 60)
        assert program.status is not None  # its answer would have been the next question's
        program.restart()
        assert program.ask_line("b", 60) == "b"


@pytest.mark.parametrize(
    "group", [False, pytest.param(True, marks=pytest.mark.skipif(sys.platform == "win32", reason="no groups"))]
)
def test_what_a_program_has_started_keeps_nobody_waiting_and_ends_with_its_group(group: bool) -> None:
    code = """
        import subprocess
        more = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        print(more.pid, flush=True)
        time.sleep(600)
    """
    program = Program(command(code), group=group)
    more = psutil.Process(int(program.ask_line("", 60)))
    with pytest.raises(TimedOut):
        program.ask_line("", 0.1)
    program.close()
    if group:
        psutil.wait_procs([more], 60)
    assert (more.is_running() and more.status() != psutil.STATUS_ZOMBIE) != group  # else it still has the pipes
    if not group:
        more.kill()


def test_a_lost_program_is_started_again_and_forgets() -> None:
    with Program(command("print('hello', file=sys.stderr, flush=True)\n" + TELLS_PID)) as program:
        first = pid_of(program)
        program.kill()
        assert not psutil.pid_exists(first)
        assert program.last_lines(3) == ["hello"]
        program.restart()
        second = pid_of(program)
        assert second != first
        assert program.last_lines(3) == ["hello"]
        program.restart()  # one that runs is ended
        assert not psutil.pid_exists(second)


def test_the_last_lines_are_kept_or_shown(capfd: pytest.CaptureFixture[str]) -> None:
    shown = "print(*range(5000), 'end ' + line, sep='\\n', file=sys.stderr, flush=True)"
    code = f"for line in sys.stdin: {shown}; print(flush=True)"
    with Program(command(code)) as program:
        program.ask_line("a", 60)
        assert program.last_lines(2) == ["4999", "end a"]
        program.forget_lines()
        assert program.last_lines(2) == []
        program.ask_line("b", 60)
        assert program.last_lines(1) == ["end b"]
    assert program.last_lines(1) == []
    assert capfd.readouterr().err == ""
    with Program(command(code), shows=True) as program:
        program.ask_line("c", 60)
        assert program.last_lines(1) == []
    assert "end c" in capfd.readouterr().err


def test_a_program_ends_with_who_holds_it() -> None:
    program = Program(command(TELLS_PID))
    pid = pid_of(program)
    del program
    gc.collect()
    assert not psutil.pid_exists(pid)


def test_a_program_ends_with_the_process_that_started_it() -> None:
    """Its parent ends while a question from another thread is open."""
    code = f"""
        import sys, threading, time
        from leafwise.envs.core.programs import Program
        program = Program([sys.executable, "-c", {"import os, time; print(os.getpid(), flush=True); time.sleep(600)"!r}])
        print(program.ask_line(""), flush=True)
        threading.Thread(target=program.ask_line, args=("",), daemon=True).start()
        time.sleep(0.1)
    """
    done = subprocess.run(command(code), capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert not psutil.pid_exists(int(done.stdout))


ENGINE = """
def answer(message):
    if message["ask"] == "hello":
        return {ready}
    if message["ask"] == "new":
        print("begun", message["game"], message["options"], message["seed"], file=sys.stderr, flush=True)
        return {"ready": 1}
    if message["ask"] == "position":
        answer.state = message["state"]
        return None
    if message["ask"] == "quit":
        open("quit", "w").close()
        sys.exit()
    {thinks}
    return {move}

for line in sys.stdin:
    if (found := answer(json.loads(line))) is not None:
        print(json.dumps(found), flush=True)
"""


def engine(
    folder: Path, ready: str = "{'ready': 1}", move: str = "{'move': answer.state[0]}", thinks: str = ""
) -> Engine:
    code = ENGINE.replace("{ready}", ready).replace("{move}", move).replace("{thinks}", thinks)
    return Engine(command(code), folder)


def begin_and_go(player: Engine) -> None:
    player.new("trap", {}, 60, seed=3)
    player.go({"state": "North"}, {"seconds": 60})


def test_an_engine_plays_by_the_protocol(tmp_path: Path) -> None:
    with engine(tmp_path, "{'ready': 1, 'name': 'mine', 'more': 1}") as player:
        for seed in (0, 1):
            player.new("trap", {"size": 7}, 60, seed=seed)
            assert player.go({"state": "North"}, {"seconds": 60}) == {"move": "N"}
        assert player.about["name"] == "mine"
        assert player.last_lines(2) == ["begun trap {'size': 7} 0", "begun trap {'size': 7} 1"]
        player.kill()
        player.new("trap", {}, 60, seed=0)
        assert player.last_lines(2) == ["begun trap {} 0"]
    assert player.status == 0
    assert (tmp_path / "quit").exists()
    player.forget_lines()
    player.new("trap", {}, 60, seed=1)  # one that was closed is started again
    player.close()


def test_an_engine_tells_what_it_finds_and_stops_when_its_time_is_over(tmp_path: Path) -> None:
    thinks = "print(json.dumps({'info': message}), flush=True); print('{\"info\": 2}', flush=True); asked = sys.stdin.readline()"
    heard: list[Any] = []
    with engine(tmp_path, "{'ready': 1, 'stop': True}", "json.loads(asked) | {'move': 'N'}", thinks) as player:
        player.new("trap", {}, 60, seed=0)
        answer = player.go({"state": "North"}, {"seconds": 0.05, "nodes": 7}, 60, heard.append)
    assert answer == {"ask": "stop", "move": "N"}
    assert heard == [{"ask": "go", "seconds": 0.05, "nodes": 7}, 2]


def test_the_clock_runs_from_go_to_the_answer_whatever_is_told_between(tmp_path: Path) -> None:
    thinks = "\n    while True: print('{\"info\": {}}', flush=True); time.sleep(0.01)"
    with engine(tmp_path, thinks=thinks) as player:
        player.new("trap", {}, 60, seed=0)
        with pytest.raises(TimedOut):
            player.go({"state": "North"}, {"seconds": 0.2}, 0.1)
        assert not player.is_running


def test_lines_of_the_protocol_have_at_most_a_megabyte(tmp_path: Path) -> None:
    with engine(tmp_path, move="{'move': 'x' * (1 << 20)}") as player:
        with pytest.raises(
            ValueError, match=r"^expected a position of at most 1,048,576 letters for a program, got 1,048,6"
        ):
            player.go({"state": "x" * (1 << 20)}, {})
        with pytest.raises(Ended, match=r"^expected a line with a JSON object, got "):
            begin_and_go(player)


@pytest.mark.parametrize(
    ("answers", "kind", "message", "more"),
    [
        ({"ready": "{'ready': 2}"}, Refused, "expected version 1 of the protocol, got 2", ("", ())),
        ({"ready": "{}"}, Refused, "expected version 1 of the protocol, got None", ("", ())),
        ({"move": "{'move': 3}"}, Refused, "expected a move by its name, got 3", ("", ())),
        ({"move": "{'error': 'no', 'report': 3}"}, Refused, "no", ("", ())),
        (
            {"move": "{'late': True, 'where': 'line 3', 'report': ['a', 'b']}"},
            TimedOut,
            "expected an answer in time, got none",
            ("line 3", ("a", "b")),
        ),
    ],
)
def test_an_engine_that_does_not_do_its_part(
    answers: dict[str, str], kind: type[NoAnswer], message: str, more: tuple[Any, ...], tmp_path: Path
) -> None:
    with engine(tmp_path, **answers) as player:
        with pytest.raises(kind, match=f"^{message}$") as problem:
            begin_and_go(player)
        assert (problem.value.where, problem.value.report) == more
        assert player.is_running == (kind is Refused)


def test_an_engine_that_does_not_quit_is_ended() -> None:
    player = Engine(command(FOREVER))
    player.close()
    assert player.status not in (None, 0)
