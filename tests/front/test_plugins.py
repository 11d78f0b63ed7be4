"""Games from outside: installed packages and files named by --module, known before they are imported, in every command."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from front.console import Shell

import leafwise
from leafwise.envs import plugins, registry

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
DRIVE = """
import io, sys
from leafwise.__main__ import run

if __name__ == "__main__":
    sys.stdin = io.StringIO({typed!r})
    for words in {lines!r}:
        try:
            status = run(words)
        except SystemExit as exit:
            status = exit.code
        print(f"[{{' '.join(words)}}: {{status}}]", flush=True)
"""


def install(example: str, site: Path) -> Path:
    """Puts an example's package into a folder as pip would, with what its pyproject.toml announces; returns the folder."""
    project = EXAMPLES / example
    project_fields = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for package in project.glob("leafwise_*"):
        shutil.copytree(package, site / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    announce(site, project_fields["name"].replace("-", "_"), project_fields["entry-points"]["leafwise.games"])
    return site


def announce(site: Path, distribution: str, points: dict[str, str]) -> None:
    """Writes a distribution's metadata with entry points of the group `leafwise.games`."""
    folder = site / f"{distribution}-0.1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 0.1.0\n")
    entry_points = "\n".join(f"{name} = {place}" for name, place in points.items())
    others = "[console_scripts]\nother = other:main\n\n{}\n[other.games]\nno = no:no.json\n"
    (folder / "entry_points.txt").write_text(others.format(f"[leafwise.games]\n{entry_points}\n"))


def drive(
    lines: Sequence[Sequence[str]], folder: Path, sites: Sequence[Path] = (), typed: str = ""
) -> subprocess.CompletedProcess[str]:
    """Runs command lines one after the other in a process of its own, in a folder, with packages of other folders."""
    script = folder / "drive.py"
    script.write_text(DRIVE.format(typed=typed, lines=[list(words) for words in lines]))
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(map(str, sites))}
    command = [sys.executable, str(script)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


TELL = "import leafwise, sys; print(leafwise.games(), [m for m in sys.modules if m in ('numba', 'leafwise_pig')])"


def told_of(name: str) -> dict[str, object]:
    """Returns what a data file says of a game."""
    return {
        "title": name,
        "options": {},
        "option_types": {},
        "option_words": {},
        "position_words": {},
        "ids": {name.capitalize(): {}},
    }


def forget_listed() -> None:
    """Lets the games be looked up anew."""
    registry.listed.cache_clear()
    registry._listed_game.cache_clear()


def statuses(output: str) -> list[int]:
    """Returns the statuses that `drive` told."""
    return [int(status) for status in re.findall(r"^\[.*: (\d+)\]$", output, re.M)]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of installed packages that this process sees, and forgets after the test."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(registry, "_added", dict(registry._added))
    monkeypatch.setenv(registry.INHERITED, "{}")
    forget_listed()
    yield folder
    forget_listed()
    for name in ("own", "threes_again", "leafwise_pig"):
        sys.modules.pop(name, None)


def put(site: Path, module: str, data: object, source: str = "") -> None:
    """Installs a package of one module and its data file: JSON, or a text as it is."""
    (site / module).mkdir()
    (site / module / "__init__.py").write_text(source)
    if data is not None:
        (site / module / "games.json").write_text(data if isinstance(data, str) else json.dumps(data))
    announce(site, module, {module: f"{module}:games.json"})


def test_an_installed_game_is_known_without_importing_it(tmp_path: Path) -> None:
    site = install("pig", tmp_path / "site")
    command = [sys.executable, "-W", "error", "-c", TELL]
    output = subprocess.check_output(command, text=True, env={"PYTHONPATH": str(site)})
    assert "'pig'" in output
    assert output.strip().endswith("[]")


def test_every_command_works_for_an_installed_game(tmp_path: Path) -> None:
    lines = ("games pig", "eval pig greedy --games 10 --processes 2", "record pig --moves 2", "play pig")
    refused = ("train pig --method alphazero", "arena pig greedy random", "solve pig")
    words = [line.split() for line in lines + refused]
    words.insert(1, ["analyze", "pig", "12 after 3 rolls, deciding", "--depth", "2", "--leaf", "sum"])
    done = drive(words, tmp_path, [install("pig", tmp_path / "site")], typed="h\nroll\nu\nstop\n")
    assert statuses(done.stdout) == [0] * 5 + [2] * 3, done
    assert done.stderr.splitlines() == [
        "error: expected a method that fits pig among dqn, ppo, value-td, selfplay, got 'alphazero'",
        "error: arena: expected a two-player game, got 'pig'",
        "error: expected a game with an exact solver, got 'pig'",
    ]
    assert (tmp_path / "game.gif").read_bytes().startswith(b"GIF8")


@pytest.mark.long
def test_an_installed_game_is_measured_trained_and_published(tmp_path: Path) -> None:
    size = "--total-steps 2000 --envs 64 --train-every 256 --learning-starts 256 --scale 10"
    lines = [
        "warmup pig",
        "bench pig --seconds 0.01",
        f"train pig --run run {size}",
        "train pig --method ppo --run ppo --total-steps 256 --envs 8 --rollout 16 --batch-size 64 --scale 10",
        "eval pig search:run,depth=1 --games 20",
    ]
    site = install("pig", tmp_path / "site")
    environment = {**os.environ, "PYTHONPATH": str(site)}
    published = "-m leafwise.training.publish --run run --out out --games 40"
    for line in [*(f"-m leafwise {line}" for line in lines), published]:
        subprocess.run([sys.executable, *line.split()], cwd=tmp_path, env=environment, check=True, capture_output=True)
    card = (tmp_path / "out" / "pig.md").read_text()
    assert "| search depth | games | network | hand-made score `sum` |" in card
    assert "`leafwise.load('out/pig.safetensors')` loads the network." in card


def test_every_command_works_for_a_package_named_by_module(tmp_path: Path) -> None:
    training = "--positions 100 --buffer-size 200 --learning-starts 100 --match-pairs 100"
    lines = [
        "new stones",
        "games stones",
        "eval stones greedy --opponent search:few,depth=2 --games 20 --processes 2",
        "arena stones search:few,depth=2 random --games 4 --plies 0",
        "play stones --opponent random",
        "record stones --opponent random",
        f"train stones --run run --total-steps 1 --hidden 4 4 {training}",
        "eval stones search:run,depth=1 --games 2",
    ]
    module = ["--module", "stones/leafwise_stones"]
    words = [line.split() + (module if k else []) for k, line in enumerate(lines)]
    done = drive(words, tmp_path, typed="1\n" * 9 + "q\n")
    assert statuses(done.stdout) == [0] * len(lines), done
    assert "stones, greedy against search:few,depth=2: 20 games" in done.stdout
    command = json.loads((tmp_path / "run" / "results.json").read_text())["command"]
    assert command.startswith("leafwise train stones --method value-td --no-recipe --module ")
    again = [sys.executable, "-m", *command.split(), "--run", "again", "--total-steps", "x"]
    answer = subprocess.run(again, cwd=tmp_path, capture_output=True, text=True)
    assert answer.stderr.startswith("error: expected INT for --total-steps, got 'x'")


BROKEN = {
    "missing": (None, "expected a data file, got"),
    "text": ("{", "expected JSON in"),
    "list": ([1], "expected games by name in"),
    "unknown": (
        {"unknown": {"title": "x"}},
        "expected title, options, option_types, option_words, position_words, ids, got title",
    ),
    "typed": ({"typed": {**told_of("typed"), "ids": 3}}, "expected ids of type dict, got 3"),
    "named": ({"No": told_of("no")}, "expected a name of small letters, digits and _, got 'No'"),
    "built_in": ({"threes": told_of("own")}, "expected a new name, got 'threes' of leafwise"),
    "same_id": ({"same_id": told_of("threes")}, "expected a new id, got 'Threes' of the game 'threes'"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_plugin_is_one_warning_and_stops_nothing(name: str, site: Path) -> None:
    data, problem = BROKEN[name]
    put(site, name, data)
    put(site, "zz_whole", {"zz_whole": told_of("whole")})
    with pytest.warns(plugins.PluginWarning) as warned:
        assert {"threes", "zz_whole"} <= set(leafwise.games())
    (message,) = [str(warning.message) for warning in warned]
    assert message.startswith(f"the plug-in {name!r} of {name}-0.1.0 is left out: ")
    assert problem in message


def test_two_plugins_of_one_name_and_an_entry_without_a_file_are_warnings(site: Path) -> None:
    for module in ("one", "two"):
        put(site, module, {"same": told_of("same")})
    announce(site, "zz", {"zz": "zz"})
    announce(site, "zzz", {"zzz": "zzz:games.json"})
    with pytest.warns(plugins.PluginWarning) as warned:
        assert "same" in leafwise.games()
    assert [str(w.message).partition(" is left out: ")[2] for w in warned] == [
        "expected a new name, got 'same' of the plug-in 'one' of one-0.1.0",
        "expected a module and its data file like 'pig:games.json', got 'zz'",
        "expected an installed module, got 'zzz'",
    ]


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (
            "import nothing_such",
            "expected a module that imports, got 'own': ModuleNotFoundError at __init__.py:1: No module named 'nothing_such'",
        ),
        ("x = (", "expected a module that imports, got 'own': SyntaxError: "),
        (
            "\n\n1 / 0",
            "expected a module that imports, got 'own': ZeroDivisionError at __init__.py:3: division by zero",
        ),
        ("import sys; sys.exit(1)", "expected a module that imports, got 'own': SystemExit at __init__.py:1: 1"),
        ("GAME = 3", "expected a Game called GAME in the module 'own', got 3"),
        ("from leafwise.envs.cassis import GAME", "expected the game 'own' in 'own', got 'cassis'"),
    ],
)
def test_a_game_that_cannot_be_imported_is_refused_when_it_is_named(site: Path, source: str, problem: str) -> None:
    put(site, "own", {"own": told_of("own")}, source)
    assert "own" in leafwise.games()
    with pytest.raises(ValueError, match=r"^the plug-in 'own' of own-0\.1\.0: ") as refused:
        leafwise.game("own")
    assert problem in str(refused.value)


def test_a_game_that_cannot_be_imported_or_differs_from_its_data_file_is_a_warning(site: Path, shell: Shell) -> None:
    put(site, "own", {"own": told_of("own")}, "import nothing_such")
    with pytest.warns(plugins.PluginWarning, match="No module named 'nothing_such'"):
        assert "cassis: Cassis" in shell("games").out
    assert "the plug-in 'own' of own-0.1.0: expected a module that imports, got 'own'" in shell("games own").refusal
    forget_listed()
    install("pig", site)
    data = site / "leafwise_pig" / "games.json"
    data.write_text(data.read_text().replace("Pig, one", "Pig, two"))
    with pytest.warns(plugins.PluginWarning, match="its data file and the game 'pig' differ in title"):
        assert leafwise.game("pig").name == "pig"


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("nothing.py", "expected a Python file, a folder with __init__.py or a module's name, got 'nothing.py'"),
        (str(EXAMPLES), "expected a Python file, a folder with __init__.py or a module's name, got"),
        ("no_such_module", "expected a module that imports, got 'no_such_module': ModuleNotFoundError"),
        ("json.py", "expected a file with a new module name, got 'json.py': 'json' is"),
        ("two-words.py", "expected a Python file"),
        ("threes_again.py", "expected a new name for a game, got 'threes', which is taken"),
    ],
)
def test_a_module_that_cannot_be_used_is_refused(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, problem: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("json.py", "two-words.py"):
        (tmp_path / name).write_text("")
    text = (EXAMPLES / "pig" / "leafwise_pig" / "__init__.py").read_text(encoding="utf-8")
    (tmp_path / "threes_again.py").write_text(text.replace('name="pig"', 'name="threes"'))
    with pytest.raises(ValueError, match=re.escape(problem)):
        registry.take_modules(["games", "--module", source])


def test_module_needs_a_value_and_is_taken_out_of_a_command_line(site: Path) -> None:
    with pytest.raises(ValueError, match="expected a file, package or module after --module, got nothing"):
        registry.take_modules(["games", "--module"])
    pig = str(EXAMPLES / "pig" / "leafwise_pig")
    words = ["eval", f"--module={pig}", "pig", "--", "--module"]
    assert registry.take_modules(words) == ["eval", "pig", "--", "--module"]
    assert registry.source_of("pig") == pig
    assert registry.source_of("threes") is None


@pytest.mark.long
def test_pip_installs_the_examples(tmp_path: Path) -> None:
    for example in sorted(path.parent for path in EXAMPLES.glob("*/pyproject.toml")):
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
        # a build leaves what looks installed beside it
        source = shutil.copytree(example, tmp_path / "sources" / example.name)
        subprocess.run([*pip, "--target", str(tmp_path / example.name), str(source)], check=True)
        (data,) = example.glob("leafwise_*/games.json")
        listed = json.loads(data.read_text(encoding="utf-8"))
        done = subprocess.run(
            [sys.executable, "-m", "leafwise", "games", *listed, "--listing"],
            capture_output=True, text=True, check=True, env={"PYTHONPATH": str(tmp_path / example.name)},
        )  # fmt: skip
        assert json.loads(done.stdout) == listed
