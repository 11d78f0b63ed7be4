"""What a person did wrong is one line and status 2, a plug-in's refusals too; a defect keeps its traceback."""

import dataclasses
import errno
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
from front.console import Shell

import leafwise
from games import nim
from leafwise.cli import positions_of
from leafwise.envs import registry
from leafwise.envs.core.contract.game import Text
from leafwise.envs.core.files import read_text
from leafwise.envs.core.interrupts import as_command
from leafwise.envs.core.play.companion import Companion, Following, Question
from leafwise.search import Search
from leafwise.training.execution.executor import IncompatibleWorker, WorkerLost
from leafwise.web import games
from leafwise.web.requests import JOBS
from leafwise.web.workers import JobContext, do

PLANTED = "planted: a number that is none"


def refuse(*given: Any) -> NoReturn:
    """Refuses whatever comes, as an author would who knows nothing of leafwise's own errors."""
    raise ValueError(PLANTED)


def overflow(*given: Any) -> NoReturn:
    raise OverflowError("int too big to convert")


@dataclasses.dataclass(frozen=True)
class Options:
    """Options of a plug-in."""

    stones: int = 7

    def __post_init__(self) -> None:
        if self.stones != 7:
            refuse()


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes a game of its own known, with other parts than nim's."""

    def add(**parts: Any) -> None:
        monkeypatch.setitem(registry._added, "nim", dataclasses.replace(nim.GAME, **parts))

    return add


@pytest.mark.parametrize(
    ("parts", "words", "line"),
    [
        ({"text": Text(parse=refuse)}, "analyze nim 7,0", f"nim: {PLANTED}"),
        ({"text": Text(parse=overflow)}, "analyze nim 7,0", "nim: int too big to convert"),
        ({"text": Text(action=refuse)}, "analyze nim --moves x", f"nim: {PLANTED} as move 1 of 'x'"),
        ({"text": Text(write=refuse)}, "analyze nim --depth 1 --leaf returns", f"nim: {PLANTED}"),
        ({"text": Text(action_words=refuse)}, "analyze nim --depth 1 --leaf returns", f"nim: {PLANTED}"),
        ({"ais": {"own": refuse}}, "eval nim own --games 2", f"player 'own': {PLANTED}"),
        ({"options": Options()}, "eval nim random --stones 8", PLANTED),
    ],
)
def test_what_a_plugins_own_functions_refuse_is_one_line(
    parts: dict[str, Any], words: str, line: str, plugin: Callable[..., None], shell: Shell
) -> None:
    plugin(**parts)
    answer = shell(*words.split())
    assert answer.status == 2
    assert answer.error.splitlines()[-1] == f"error: {line}"


def test_a_person_who_plays_is_told_what_a_plugin_refuses_and_goes_on(
    plugin: Callable[..., None], shell: Shell
) -> None:
    plugin(text=Text(action=refuse))
    answer = shell("play nim --opponent random", typed="x\nq\n")
    assert answer.status == 0
    assert f"> nim: {PLANTED}\n" in answer.out


def test_a_companion_refuses_as_any_other_function_of_a_plugin() -> None:
    companion = Companion(
        help="", begins=Question("a start"), begin=refuse, check=lambda state: None, asks=str, ending=str, read=refuse
    )
    game = dataclasses.replace(nim.GAME, companion=companion)
    for following in (Following(game), Following(game, game.start())):
        with pytest.raises(leafwise.UserError, match=PLANTED) as refused:
            following.enter("anything")
        assert type(refused.value.__cause__) is ValueError
    checked = dataclasses.replace(game, companion=dataclasses.replace(companion, check=refuse))
    with pytest.raises(leafwise.UserError, match=PLANTED):
        Following(checked, checked.start())


def test_a_value_error_inside_a_search_or_a_reader_of_positions_keeps_its_traceback(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Search, "__call__", refuse)
    for words in (
        "analyze trilobite --depth 1 --leaf lines",
        "record trilobite --player search:lines,depth=1 --out x.gif",
        "eval trilobite search:lines,depth=1 --games 2",
        "play trilobite --opponent search:lines,depth=1 --leaf lines --seat second",
    ):
        with pytest.raises(ValueError, match=PLANTED) as defect:
            shell(*words.split())
        assert type(defect.value) is ValueError, words
        assert "error: " not in capsys.readouterr().err
    game = leafwise.game("trilobite")
    lines = [(1, ".../.../..."), (2, "nothing")]
    with pytest.raises(leafwise.UserError, match=r"^line 2: trilobite: expected "):
        list(positions_of(lines, game.parse))
    assert json.loads(capsys.readouterr().out)["position"] == "nothing"
    with pytest.raises(ValueError, match=PLANTED) as defect:
        list(positions_of(lines, refuse))
    assert type(defect.value) is ValueError


def test_the_pages_server_tells_a_plugins_refusal_and_a_defect_apart(
    plugin: Callable[..., None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin(text=Text(parse=refuse))
    messages: list[dict[str, Any]] = []
    do(JOBS["/api/state"], {"game": "nim", "text": "7,0"}, JobContext(messages.append))
    assert messages[-1] == {"error": f"nim: {PLANTED}"}
    assert "Traceback" not in capsys.readouterr().err
    monkeypatch.setattr(games, "replayed", refuse)
    do(JOBS["/api/state"], {"game": "trilobite", "moves": ["2"]}, JobContext(messages.append))
    assert messages[-1] == {"fault": f"/api/state: ValueError: {PLANTED}"}
    assert "Traceback" in capsys.readouterr().err


def test_a_program_of_ours_turns_what_a_person_did_wrong_into_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def status(problem: BaseException) -> int:
        def run(words: list[str]) -> int:
            raise problem

        return as_command(run, [])

    for problem, line in (
        (leafwise.UserError("expected a,\n got b"), "expected a, got b"),
        (WorkerLost("expected work"), "expected work"),
        (IncompatibleWorker("expected work"), "expected work"),
        (FileNotFoundError(errno.ENOENT, "No such file", "x.txt"), "cannot use 'x.txt': No such file"),
        (OSError(errno.ENOSPC, "No space left on device"), "cannot use a file: No space left on device"),
    ):
        assert status(problem) == 2
        assert capsys.readouterr().err == f"error: {line}\n"
    (tmp_path / "latin.txt").write_bytes("é".encode("latin-1"))
    with pytest.raises(leafwise.UserError, match=r"^expected UTF-8 text, got a byte 0xe9 at 0 of '.*latin\.txt'$"):
        read_text(tmp_path / "latin.txt")
    for defect in (
        ValueError("x"),
        UnicodeDecodeError("utf-8", b"\xe9", 0, 1, "x"),
        BrokenPipeError(errno.EPIPE, "Broken pipe", "x"),
        ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"),
    ):
        with pytest.raises(type(defect)):
            status(defect)
        assert capsys.readouterr().err == ""
