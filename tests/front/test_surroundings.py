"""What a program finds around it: no home folder, a ~ that no shell expanded, byte order marks, a reader that has gone."""

import ast
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from front.console import Shell

import leafwise
from leafwise.envs.core.commandline import with_home
from leafwise.envs.core.compile.jit import DISABLED, PLAIN
from leafwise.envs.core.files import read_small_text
from leafwise.envs.core.play.gamefile import load_game, play_game, read_games
from leafwise.envs.starship.settings import from_toml
from leafwise.envs.starship.ship import load
from leafwise.search.players import RandomPlayer
from leafwise.training.runs.files import read_table

MARK = b"\xef\xbb\xbf"
ROOT = Path(__file__).parents[2]
HOMELESS = """
import pwd, sys
pwd.getpwuid = {}.__getitem__  # the system knows nobody: docker run --user 23456
from leafwise.__main__ import main
sys.argv = ["leafwise", *sys.argv[1:]]
main()
"""


def homeless(line: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Runs a command line as a user without a home folder."""
    known = {name: value for name, value in os.environ.items() if name not in ("HOME", "LEAFWISE_CACHE_DIR")}
    command = [sys.executable, "-c", HOMELESS, *shlex.split(line)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env={**known, **more})


@pytest.mark.skipif(
    DISABLED or PLAIN or sys.platform != "linux", reason="nothing is kept, or homes are found elsewhere"
)
@pytest.mark.parametrize(
    "line", ["eval cassis random --opponent greedy --games 4 --processes 2", "games trap", "train --help"]
)
def test_without_a_home_folder_code_is_compiled_and_one_line_says_that_it_is_not_kept(
    tmp_path: Path, line: str
) -> None:
    done = homeless(line, tmp_path)
    assert done.returncode == 0, done.stderr
    warning = (
        "warning: compiled code is not kept, every start compiles it again: expected a home folder for '~/.cache', "
    )
    lines = [] if line == "train --help" else [f"{warning}found none; set HOME or LEAFWISE_CACHE_DIR"]
    assert done.stderr.splitlines() == lines
    assert not [*tmp_path.iterdir()]


@pytest.mark.skipif(DISABLED or PLAIN or sys.platform != "linux", reason="nothing is kept, or caches lie elsewhere")
@pytest.mark.parametrize(
    ("variable", "value", "place"), [("LEAFWISE_CACHE_DIR", "~/x", "x"), ("XDG_CACHE_HOME", "~/y", "y/leafwise")]
)
def test_a_home_folder_stands_for_the_tilde_of_a_variable(
    tmp_path: Path, variable: str, value: str, place: str
) -> None:
    home, here = tmp_path / "home", tmp_path / "here"
    home.mkdir()
    here.mkdir()
    done = homeless("games trap", here, HOME=str(home), **{variable: value})
    assert (done.returncode, done.stderr) == (0, "")
    assert [*(home / place).iterdir()]
    assert not [*here.iterdir()]


def test_a_home_folder_stands_for_the_tilde_of_an_option(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert with_home(["x", "~/a", "--to=~/b", "--of=a~", "-f=~/c"]) == [
        "x",
        "~/a",
        f"--to={tmp_path}/b",
        "--of=a~",
        "-f=~/c",
    ]
    (tmp_path / "positions.txt").write_text(str(leafwise.game("cassis").new(0)))
    assert '"best_actions"' in shell("analyze cassis '--file=~/positions.txt' --json --depth 1").out
    assert f"'{tmp_path}/run'" not in shell("eval cassis 'search:~/run'").refusal  # named as it was given
    (tmp_path / "run").mkdir()
    assert leafwise.models.files.model_path("~/run") == tmp_path / "run" / "model.safetensors"


def marked(path: Path, text: str) -> str:
    """Writes a text as Notepad does; returns the path."""
    path.write_bytes(MARK + text.encode())
    return str(path)


def test_a_byte_order_mark_is_no_part_of_a_text(shell: Shell, tmp_path: Path) -> None:
    state = leafwise.game("trilobite", board="3x3", k=3).new(0)
    two = [RandomPlayer(seed, "x") for seed in (1, 2)]
    game = str(play_game(leafwise.game("trilobite"), two, 1, 3).record())
    (tmp_path / "plain.txt").write_text(game)
    plain = load_game(tmp_path / "plain.txt")
    assert str(load_game(marked(tmp_path / "game.txt", game))) == str(plain)
    assert str(next(read_games("\ufeff" + game))) == str(plain)
    file = marked(tmp_path / "positions.txt", f"{state}\n{state}\n")
    for words in (("--file", file), ()):
        answer = shell("solve trilobite --board 3x3 --k 3", *words, "--json", typed=f"\ufeff{state}\n")
        assert answer.status == 0, answer
        assert "ufeff" not in answer.out
    assert read_table(Path(marked(tmp_path / "config.toml", "seed = 3\n"))) == {"seed": 3}
    toml = read_small_text(Path(marked(tmp_path / "parameters.toml", 'preset = "classic"\n')))
    assert from_toml(toml).preset == "classic"
    assert shell("ship gen --config", str(tmp_path / "parameters.toml")).status == 0
    ship = shell("ship gen --json", str(tmp_path / "ship.json"))
    assert ship.status == 0
    text = (tmp_path / "ship.json").read_text()
    assert load(MARK + text.encode()) == load("\ufeff" + text) == load(text)
    assert shell("ship check", marked(tmp_path / "marked.json", text)).status == 0


def test_every_file_of_text_is_read_by_the_reader_that_knows_byte_order_marks() -> None:
    folders = ("src/leafwise", "envs", "search", "models", "training", "experiments")
    allowed = (
        "envs/core/files.py",
        "src/leafwise/commands/new.py",
    )  # itself; files of the package, perhaps in an archive
    reads = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*.py"))
        if str(path.relative_to(ROOT)) not in allowed
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "read_text"
    ]
    assert reads == []


@pytest.mark.skipif(sys.platform == "win32", reason="a system without SIGPIPE")
@pytest.mark.parametrize(
    "words",
    [
        "-m leafwise --help",
        "-m leafwise eval threes --help",
        "-m leafwise ship gen --help",
        "-m leafwise analyze cassis --depth 1",
        "-m leafwise train threes --method ntuple-td --help",
        "-m leafwise.experiments.levels --help",
    ],
)
def test_output_that_nobody_reads_any_more_ends_a_program_without_a_word(tmp_path: Path, words: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as out:
        done = subprocess.run([sys.executable, *words.split()], stdout=out, stderr=subprocess.PIPE, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (128 + 13, b"")


@pytest.mark.parametrize(
    ("line", "near"),
    [
        ("trian threes", "; perhaps 'train'"),
        ("eval threse random", "; perhaps 'threes'"),
        ("eval threes random --hnit exact", "; perhaps '--hint'"),
        ("eval threes random --gmaes 3", "; perhaps '--games'"),
        ("train cassis --method selfpaly", "; perhaps 'selfplay'"),
        ("ship chek x", "; perhaps 'check'"),
    ],
)
def test_a_word_that_is_nearly_right_is_told_of(shell: Shell, line: str, near: str) -> None:
    assert shell(*line.split()).refusal.endswith(near)
    assert "perhaps" not in shell(*line.replace(line.split()[0], "zzzz", 1).split()).refusal
