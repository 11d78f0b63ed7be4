"""Speeds over time: the file of lines, versions by commit or path, and what counts as slower."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import leafwise
from leafwise.__main__ import run
from leafwise.benchmarks import lines, linking, probe, versions
from leafwise.benchmarks.comparing import Probe, compare, id_of
from leafwise.benchmarks.judging import Compared, in_turns, judged
from leafwise.benchmarks.measurements import PARTS, names_of


def test_a_commit_and_machine_have_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "bench.jsonl"
    monkeypatch.setattr(lines, "version", lambda: "one")
    lines.save_rates(file, {"threes/envs/single": 2.0, "start/x": 1.0})
    lines.save_rates(file, {"threes/envs/single": 3.0, "trap/envs/single": 4.0})
    monkeypatch.setattr(lines, "version", lambda: "two")
    lines.save_rates(file, {"threes/envs/single": 5.0})
    first, second = lines.read_lines(file)
    assert (first["commit"], second["commit"]) == ("one", "two")
    assert first["machine"] == second["machine"] == lines.machine()
    assert first["rates"] == {"start/x": 1.0, "threes/envs/single": 3.0, "trap/envs/single": 4.0}
    assert second["rates"] == {"threes/envs/single": 5.0}
    assert [path.name for path in tmp_path.iterdir()] == ["bench.jsonl"]


@pytest.mark.parametrize(
    "text", ["[]", "speed", '{"commit": "a", "machine": "b"}', '{"commit": 1, "machine": "b", "rates": {}}']
)
def test_other_files_are_left_alone(text: str, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text(text)
    with pytest.raises(ValueError, match=r"notes.txt', line 1: expected commit, machine and rates, got "):
        lines.save_rates(file, {"a": 1.0})
    assert file.read_text() == text


def test_slower_is_what_lies_above_one_with_its_whole_interval() -> None:
    slow = [(1.0, 1.1)] * 5 + [(1.0, 1.2)] * 5 + [(1.0, 0.5)]  # one round that something else disturbed
    assert judged(slow) == Compared(1.0, 0.5, 1.1, 1.1, 1.2)
    assert judged(slow).verdict == "slower"
    assert judged([(now, before) for before, now in slow]).verdict == "faster"
    assert judged([(1.0, 1.1)] * 9 + [(1.0, 0.9)] * 2).verdict == ""


def test_versions_are_commits_or_paths(tmp_path: Path) -> None:
    interpreter = tmp_path / ".venv" / "bin" / "python"
    interpreter.parent.mkdir(parents=True)
    interpreter.symlink_to(sys.executable)
    for path in (tmp_path, tmp_path / ".venv", interpreter):
        with versions.version_of(str(path)) as version:
            assert version.interpreter == str(interpreter)
    for wrong in ("no-such-commit", "--help", str(tmp_path / "nothing")):
        with pytest.raises(
            ValueError, match=r"expected (a commit, or )?the path of an interpreter or an environment.*, got "
        ):
            versions.version_of(wrong).__enter__()


def test_a_commit_is_laid_out_as_it_is_installed(tmp_path: Path) -> None:
    files = {
        "pyproject.toml": '[tool.setuptools.package-dir]\n"leafwise" = "src/leafwise"\n"leafwise.envs" = "envs"\n'
        '"leafwise.commands" = "src/leafwise/commands"\n',
        "src/leafwise/__init__.py": "", "src/leafwise/commands/__init__.py": "", "envs/__init__.py": "place = __file__",
    }  # fmt: skip
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    folder = versions.lay_out(archive.getvalue(), tmp_path)
    environment = versions.Version(sys.executable, folder).environment
    code = "import leafwise.commands, leafwise.envs; print(leafwise.envs.place)"
    told = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert Path(told.stdout.strip()) == Path(folder) / "leafwise" / "envs" / "__init__.py"


def test_a_probe_answers_line_by_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("step", "search rows", "search nothing", "batch_64", "leaf rows depth=1")
    asked = [{"name": name, "seconds": 0.0} for name in names]
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(json.dumps(one) + "\n" for one in asked)))
    monkeypatch.setattr(sys, "stdout", sys.stdout)  # the probe moves it
    probe.main("threes", {}, "leafwise/Threes-v0", {"rows": 1, "nothing": 1}, [str(leafwise.game("threes").new(2))])
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [next(iter(answer)) for answer in answers] == ["time", "time", "error", "time", "time"]
    assert all(answer["time"] > 0 for answer in answers if "time" in answer)
    assert "nothing" in answers[2]["error"]


def test_a_probe_says_why_it_does_not_measure(tmp_path: Path) -> None:
    version = versions.Version(sys.executable)
    with Probe(version, ("threes", {}, "", {}, []), str(tmp_path)) as one:
        for _ in range(2):  # it goes on
            with pytest.raises(ValueError, match=r"^KeyError: 'nothing'$"):
                one.measure("nothing", 0.0)
    with Probe(version, ("no-such-game", {}, "", {}, []), str(tmp_path)) as one:
        for _ in range(2):  # it has ended
            with pytest.raises(ValueError, match=r"^[\w.]+Error: expected a game .*no-such-game"):
                one.measure("step", 0.0)


def test_only_games_with_an_id_are_compared() -> None:
    assert id_of(leafwise.game("trilobite", board="7x6", k=4)) == "leafwise/Trilobite7x6-v0"
    with pytest.raises(ValueError, match=r"^threes: expected the options of one of Threes, got "):
        id_of(leafwise.game("threes", hint="exact"))


@pytest.mark.long
def test_a_version_is_as_fast_as_itself() -> None:
    told: dict[str, object] = {}
    found = compare(leafwise.game("threes"), sys.executable, 0.01, told.__setitem__, rounds=3, part="envs")
    assert set(found) == set(told) == {"step", "batch_64"}
    assert all(0.3 < one.ratio < 3 for one in found.values())


@pytest.mark.long
@pytest.mark.parametrize("name", ["threes", "trilobite7x6", "friday"])
def test_all_that_is_named_can_be_measured(name: str) -> None:
    game = leafwise.game("trilobite", board="7x6", k=4) if name == "trilobite7x6" else leafwise.game(name)
    told: dict[str, object] = {}
    for part in ("envs", "search", "models", "training"):
        compare(game, sys.executable, 0.0, told.__setitem__, rounds=1, part=part)
    assert {what: found for what, found in told.items() if isinstance(found, str)} == {}


def test_parts_name_what_is_measured() -> None:
    depths = {"openness": 3, "load:threes": 2}
    names = {part: names_of(leafwise.game("threes"), part, depths) for part in PARTS}
    assert names == {
        "envs": ["step", "batch_64"],
        "search": ["search openness", "search load:threes", "program nneonneo", "program threesus"],
        "models": ["leaf load:threes depth=3", "leaf load:threes depth=4"],
        "training": ["td"],
        "warmup": [],
    }
    four = leafwise.game("trilobite", board="7x6", k=4)
    assert names_of(four, "search", {"lines": 3}) == ["search lines", "solver one", "solver all", "solver batch"]
    assert names_of(four, "training", {}) == ["selfplay depth=1", "selfplay depth=2"]


def test_two_are_measured_in_turns() -> None:
    asked: list[str] = []

    def take(name: str, time: float) -> float:
        asked.append(name)
        return time

    found = in_turns(lambda: take("before", 2.0), lambda: take("now", 1.0), rounds=3)
    assert found == Compared(2.0, 1.0, 0.5, 0.5, 0.5)
    assert asked == ["before", "now", "now", "before", "before", "now", "now", "before"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["start", "--compare", "HEAD"], "expected a game with --compare, got start"),
        (["compile", "--compare", "HEAD"], "expected a game with --compare, got compile"),
        (
            ["threes", "start", "--compare", "HEAD"],
            "expected a part among envs, search, models, training, warmup with --compare, got 'start'",
        ),
        (["threes", "--save", "--compare", "HEAD"], "expected --compare without --save, got both"),
    ],
)
def test_what_does_not_go_together_is_refused(
    words: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["bench", *words]) == 2
    assert capsys.readouterr().err == f"error: {problem}\n"


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="the system does not tell the memory of processes")
def test_what_compiling_costs_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linking, "FORMS", {"linked": {}})
    monkeypatch.setattr(linking, "SCRIPT", linking.SCRIPT.replace('board="7x6", k=4', 'board="3x3", k=3'))
    told: list[str] = []
    first, second, search, memory = linking.bench_compile(told.append).values()
    assert told == ["compiling the search of Connect Four linked, twice: up to two minutes"]
    assert 0 < second < first
    assert 0 < search < 1000
    assert memory > 20
