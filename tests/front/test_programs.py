"""Other people's programs as players, our players as programs, and who may name one."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import leafwise
from leafwise.__main__ import run
from leafwise.envs.core.errors import Forfeit
from leafwise.envs.core.play import program
from leafwise.models.players import runs_code
from leafwise.models.sparse import SparseNetwork
from leafwise.training.evaluation.arena import play_game
from leafwise.web import games
from leafwise.web.requests import GameRequest
from leafwise.web.workers import PLAYERS_VARIABLE, JobContext

EXAMPLES = Path(__file__).parents[2] / "examples/programs"
CLIENT = f'program:"{sys.executable}" "{EXAMPLES / "player.py"}"'
GAME = leafwise.game("trilobite")


def answers(player: str, *requests: dict[str, Any] | str) -> list[dict[str, Any]]:
    """Returns what `leafwise engine` writes when it is asked this."""
    lines = "".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in requests)
    words = [sys.executable, "-m", "leafwise", "engine", player]
    done = subprocess.run(words, input=lines, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


HELLO, NEW = {"ask": "hello", "protocol": 1}, {"ask": "new", "game": "trilobite", "options": {}, "seed": 0}
POSITION, GO = {"ask": "position", "state": "x../o../xo."}, {"ask": "go"}


def test_an_engine_says_who_it_is_plays_and_refuses_in_one_line() -> None:
    wrong: list[dict[str, Any] | str] = [
        "[1]",
        "no JSON",
        '{"x": "' + "x" * (1 << 20) + '"}',
        {"ask": "think"},
        {"protocol": 1},
        {"ask": "hello", "protocol": 2},
        GO,
    ]
    wrong += [{"ask": "new", "game": "chess"}, {"ask": "new", "game": "trilobite", "options": {"k": 9}}, POSITION]
    right: list[dict[str, Any] | str] = [
        NEW,
        {**POSITION, "state": "xxx"},
        POSITION,
        {**GO, "depth": 0},
        GO,
        {**GO, "depth": 1, "nodes": 5, "seconds": 9},
    ]
    replies = answers("search:lines,depth=9", HELLO, *wrong, *right, {"ask": "quit"}, HELLO)
    assert replies[0] == {
        "ready": 1,
        "name": f"leafwise {leafwise.__version__}, search:lines,depth=9",
        "limits": ["depth", "nodes", "seconds"],
        "stop": True,
    }
    errors = [one["error"] for one in replies[1 : 1 + len(wrong)]]
    expected = [
        "a line with a JSON object, got b'[1]'", "a line with a JSON object, got b'no JSON'", "a line of at most 1,048,576 bytes",
        "ask among hello, new, position, go, stop, quit, got 'think'",
        "ask among hello, new, position, go, stop, quit, got none", "version 1 of the protocol, got 2", "a decision",
        "a game among", "k", "a game before its positions",
    ]  # fmt: skip
    assert [
        line.partition("expected ")[2][: len(what)] for line, what in zip(errors, expected, strict=True)
    ] == expected
    ready, board, depth, info, move, shallow, again = replies[1 + len(wrong) :]
    assert ready == {"ready": 1}
    assert "xxx" in board["error"]
    assert depth == {"error": "expected depth of 1 to 1,000,000, got 0"}
    assert (info["info"]["depth"], shallow["info"]["depth"]) == (9, 1)
    assert {move["move"], again["move"]} <= {"1", "2", "3"}


def test_a_search_that_is_stopped_answers() -> None:
    large = {**NEW, "options": {"board": "7x6", "k": 4}}
    start = {"ask": "position", "state": str(GAME.variant(board="7x6", k=4).start())}
    began = time.perf_counter()
    *_, last = answers("search:lines,depth=30,pruning=0", HELLO, large, start, GO, {"ask": "stop"}, {"ask": "quit"})
    assert last["move"] in "1234567"
    assert time.perf_counter() - began < 500  # the whole tree would take years


def test_a_program_plays_as_the_player_that_it_is() -> None:
    """A player behind the protocol plays as the player itself."""
    engine = leafwise.player(f'program:"{sys.executable}" -m leafwise engine search:lines,depth=4,depth=3', GAME)
    player = leafwise.player("search:lines,depth=3", GAME)
    state = GAME.start()
    while not state.is_terminal:
        action = engine.choose(state)
        assert action == player.choose(state)
        assert (engine.info["depth"], engine.info["nodes"]) == (3, player.result.nodes)  # type: ignore[attr-defined]
        state = state.play(action)
    engine.close()  # type: ignore[attr-defined]


@pytest.fixture
def compiled(tmp_path: Path) -> str:
    """Returns the text of the player that the example in C is."""
    if (compiler := shutil.which("cc")) is None:
        pytest.skip("no C compiler (cc)")
    made = tmp_path / "a program"
    subprocess.run([compiler, "-O2", "-Wall", "-Werror", "-o", str(made), str(EXAMPLES / "player.c")], check=True)
    return f"program:'{made}'"


def plays(text: str, name: str) -> None:
    game = leafwise.game(name)
    who = leafwise.player(f"{text},seconds=60", game)
    assert play_game(game, [who, leafwise.player("random", game)][: game.players], 0, 0).loser < 0
    who.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["trilobite", "threes", "friday", "trap", "cassis", "starship"])
def test_the_example_in_c_plays_every_game(compiled: str, name: str) -> None:
    plays(compiled, name)


def test_the_example_in_python_wins_and_blocks() -> None:
    assert (
        len((EXAMPLES / "player.py").read_text().splitlines())
        < 80
        > len((EXAMPLES / "player.c").read_text().splitlines())
    )
    who = leafwise.player(CLIENT, game := leafwise.game("trilobite", board="7x6", k=4))
    for moves, best in (("112233", "4"), ("11223", "4"), ("121314", "1"), ("1213142", "5")):
        state = game.start()
        for move in moves:
            state = state.play(move)
        assert game.actions[who.choose(state)] == best
    who.close()  # type: ignore[attr-defined]
    plays(CLIENT, "threes")


BAD = """
import json, sys, time
for line in sys.stdin:
    asked = json.loads(line)["ask"]
    if asked in ("hello", "new"):
        print(json.dumps({"ready": READY}), flush=True)
    if asked == "go":
        print("thinking", file=sys.stderr, flush=True)
        GO
"""


ALONE = """import os; group = getattr(os, "getpgrp", os.getpid)()
        print(json.dumps({"error": "in a group of its own" if group == os.getpid() else "among others"}), flush=True)"""


def bad(folder: Path, ready: int = 1, go: str = "", options: str = "") -> str:
    (path := folder / "bad.py").write_text(BAD.replace("READY", str(ready)).replace("GO", go))
    return f'program:"{sys.executable}" "{path}"{options}'


@pytest.mark.parametrize(
    ("go", "options", "message"),
    [
        ("""print('{"move": "9"}', flush=True)""", "", "expected a legal move, got '9' (at .../.../...)"),
        ("sys.exit(3)", "", "its process ended (at .../.../...)"),
        ("time.sleep(600)", ",seconds=0.2,allowance=0.1", "took more than 0.2 s (at .../.../...)"),
        (ALONE, "", "in a group of its own (at .../.../...)"),
        ("print('nothing', flush=True)", "", "expected a line with a JSON object, got 'nothing' (at"),
    ],
)
def test_a_program_that_breaks_a_rule_forfeits_and_plays_the_next_game(
    go: str, options: str, message: str, tmp_path: Path
) -> None:
    who = leafwise.player(bad(tmp_path, go=go, options=options), GAME)
    for _ in range(2):
        who.begin()  # type: ignore[attr-defined]
        with pytest.raises(Forfeit) as lost:
            who.choose(GAME.start())
        assert message in str(lost.value)
        assert "  thinking" in lost.value.report
    who.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("program:", "expected program:COMMAND, got 'program:'"),
        ("program:'a", 'expected a command line, got "\'a" (No closing quotation)'),
        ("program:no-such-program x", "expected a command that starts, got ['no-such-program', 'x']"),
        ("program:no-such-program $HOME;x >ran", "got ['no-such-program', '$HOME;x', '>ran']"),  # no shell
        ("program:a,seconds=0", "expected seconds above 0"),
        ("program:a,depth=x", "expected a number for depth, got 'x'"),
        ('program:"{python}" -c "print(1)"', "expected a program that loads, got: expected a line with a JSON object"),
        ('program:"{python}" -c "raise SystemExit(\'no game\')"', "got: its process ended (no game)"),
        ("{version}", "got: expected version 1 of the protocol, got 2"),
    ],
)
def test_a_program_that_does_not_start_is_refused_in_one_line(text: str, message: str, tmp_path: Path) -> None:
    text = text.replace("{version}", bad(tmp_path, ready=2)).replace("{python}", sys.executable)
    with pytest.raises(ValueError, match=r"^[^\n]*$") as problem:
        leafwise.player(text, GAME)
    assert message in str(problem.value)


def test_a_slow_start_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "LOADING", 0.1)
    with pytest.raises(ValueError, match=r"expected a program that loads, got: it took more than 0.1 s"):
        leafwise.player(f'program:"{sys.executable}" -c "import time; time.sleep(600)"', GAME)


# Nobody but the command line and Python names a program


@pytest.fixture
def evil(tmp_path: Path) -> str:
    """Returns a player's text whose program leaves a file `ran`."""
    return f"program:\"{sys.executable}\" -c \"open(r'{tmp_path / 'ran'}', 'w')\""


def test_texts_that_run_programs_are_known(evil: str) -> None:
    assert runs_code(evil, GAME)
    assert runs_code(f'"program":{evil}', GAME)
    assert not runs_code("search:lines,depth=2", GAME)


DOORS = {
    "config.toml": ("train trap --method ppo --resume --run .", 'game = "trap"\nopponent = EVIL\n', 2),
    "arena.json": (
        "arena trilobite random greedy --games 2 --resume --json arena.json",
        '{"game": "trilobite", "options": {}, "plies": 4, "seed": 1000000, "players": [EVIL], "played": [{"first": EVIL, '
        '"second": "random", "round": 0, "opening": "", "result": 1, "moves": [1, 1], "seconds": [0, 0]}]}',
        2,
    ),
    "game.txt": (
        "record --game game.txt --out game.gif",
        '[Game "trilobite"]\n[Players [EVIL, EVIL]]\n[Result "*"]\n1. 1\n',
        0,
    ),
}
"""Files of others: what reads them, what is in them, and with which status that ends."""


@pytest.mark.parametrize("file", DOORS)
def test_no_file_runs_a_program(file: str, evil: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    line, text, status = DOORS[file]
    Path(file).write_text(text.replace("EVIL", json.dumps(evil)))
    assert run(line.split()) == status
    assert "program:" in capsys.readouterr().err or status == 0
    assert not Path("ran").exists()


def test_no_metadata_runs_a_program(evil: str, tmp_path: Path) -> None:
    network = SparseNetwork.create(GAME, (8,))
    metadata = {"steps": 0, "command": evil, "commit": "", "player": evil, "opponent": evil, "leaf": evil}
    leafwise.save_network(tmp_path / "model.safetensors", network, metadata)
    assert leafwise.player(f"greedy:{tmp_path}", GAME).choose(GAME.start()) in range(3)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("named", ["", "named:mine", "named:"])
def test_no_request_runs_a_program(named: str, evil: str, tmp_path: Path) -> None:
    game = games.need_game(GameRequest(game="trilobite"), JobContext(lambda message: None))
    with pytest.raises(ValueError, match="expected a player among"):
        games.player_text(game, named if named == "named:mine" else named + evil)
    assert not (tmp_path / "ran").exists()


def test_the_page_has_the_players_of_its_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PLAYERS_VARIABLE, json.dumps([f"my program={CLIENT},seconds=5"]))
    offer = games.GameChoices(GAME)
    assert offer.players[0] == {"name": "named:my program", "title": "my program"}
    assert games.player_text(GAME, "named:my program") == f"{CLIENT},seconds=5"


@pytest.mark.parametrize("given", ["mine", "=program:x", "mine="])
def test_a_player_of_the_page_has_a_name(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["web", "--no-open", "--player", given]) == 2
    assert f"expected NAME=PLAYER with --player, got {given!r}" in capsys.readouterr().err
