"""Rates, equal searches where they are compared, versions by commit or path, and what counts as slower."""

import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import leafwise
from games import dice
from leafwise.benchmarks import comparing, onnx, probe, processes, rates
from leafwise.benchmarks.comparing import (
    Comparison,
    Probe,
    Version,
    compare,
    id_of,
    in_turns,
    judged,
    names_of,
    search_depths,
)
from leafwise.envs.threes.bench import POSITIONS, ScalarSearch, reference_searches
from leafwise.search import Search

THREES = leafwise.game("threes")
SHORT = {
    "WARM_UP_MOVES": 1,
    "STEP": 1,
    "PIECE": 20,
    "LARGEST": "five_4_tuples",
    "CLOCK": 0.01,
    "AT_LEAST": 1,
    "WHOLE": 8,
}


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes what is measured as short as can be."""
    for name, value in SHORT.items():
        monkeypatch.setattr(rates, name, value)


def test_moves_and_positions_of_learners_are_measured(short: None) -> None:
    rates_by_name = rates.bench_td(THREES, "five_4_tuples", seconds=0.01)
    assert next(iter(rates_by_name)) == "td_moves_five_4_tuples"
    assert set(rates_by_name) <= {"td_moves_five_4_tuples", "td_moves_five_4_tuples_actors=2"}
    positions = rates.bench_selfplay(leafwise.game("trilobite"), seconds=0.01)
    assert list(positions) == ["selfplay_positions_depth=1", "selfplay_positions_depth=2"]
    leaves = rates.bench_modules(leafwise.game("trilobite"), seconds=0.01)
    assert list(leaves) == [f"{rate}_{name}{end}" for name in ("mlp", "resnet")
                            for rate, end in (("selfplay_leaves", ""), ("leaves", "_alone"), ("share", ""))]  # fmt: skip
    assert min(*rates_by_name.values(), *positions.values(), *leaves.values()) > 0
    assert rates.bench_selfplay(THREES, seconds=0.01) == {}


def test_a_shipped_network_is_measured_at_every_position(short: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "shipped_name", lambda game: "threes-small")
    rates_by_name = rates.rates_of(THREES, "models", 0.0)
    what = ("depth=1", "simulations/s", "leaves/s by simulations")
    assert set(rates_by_name) == {f"load:threes-small/{place}/{one}" for place in POSITIONS for one in what}
    assert min(rates_by_name.values()) > 0
    monkeypatch.undo()
    assert rates.bench_models(dice.GAME) == rates.bench_models(leafwise.game("threes", hint="exact")) == {}


def test_onnx_files_are_measured_beside_onnx_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime")
    monkeypatch.setattr(onnx, "ROUNDS", 1)
    ratios = onnx.onnx_ratios()
    assert list(ratios) == ["rows=2048", "rows=1"]
    assert min(ratios.values()) > 0


def test_a_room_brings_positions_and_searches_written_by_hand() -> None:
    assert list(rates.positions(THREES)) == list(POSITIONS)
    assert list(rates.positions(leafwise.game("threes", hint="exact"))) == ["start"]
    assert hasattr(rates.room_bench(leafwise.game("friday")), "bench_baselines")
    assert rates.room_bench(leafwise.game("trap")) is None
    assert rates.positions(dice.GAME) == {"start": dice.GAME.new(0)}
    rates_by_name = rates.bench_reference_searches(
        THREES, reference_searches(THREES), seconds=0.0, depths=(1, 3)
    )  # whose trees it compares
    names = {
        f"{leaf}/{board}/depth={depth}" for leaf in ("openness", "rows") for board in POSITIONS for depth in (1, 3)
    }
    assert set(rates_by_name) == names | {f"{name} time ratio" for name in names}
    with pytest.raises(ArithmeticError, match=r"expected equal trees and values"):
        rates.bench_reference_searches(THREES, {"rows": lambda state, depth: ({}, 0)}, seconds=0.0, depths=(1,))
    with pytest.raises(ValueError, match=r"expected leafwise.game\('threes'\)"):
        ScalarSearch(leafwise.game("threes", hint="exact"), THREES.score("rows"))
    with pytest.raises(ValueError, match=r"expected a score among openness, rows, rows_cli, got 'total_score'"):
        ScalarSearch(THREES, THREES.score("total_score"))


@pytest.mark.long
def test_other_people_s_programs_are_measured() -> None:
    rates_by_name = rates.room_bench(THREES).bench_baselines(seconds=0.0)
    assert set(rates_by_name) == {
        f"{name} leaves/s" for name in ("threesus:openness", "threesus:openness_wegner", "nneonneo")
    }
    assert min(rates_by_name.values()) > 0


def test_simulations_threads_and_depths_of_the_dice_race_are_measured() -> None:
    rates_by_name = rates.bench_simulations(dice.GAME, dice.GAME.score(), seconds=0.0)
    assert list(rates_by_name) == ["lead/start/simulations/s", "lead/start/leaves/s by simulations"]
    simulations, leaves = rates_by_name.values()
    assert 0 < simulations < leaves <= dice.GAME.max_actions * simulations * (1 + 1 / rates.SIMULATIONS)
    state = dice.GAME.new(900_001)
    depth = rates.measured_depth(dice.GAME, state)
    result = Search(dice.GAME, dice.GAME.score(), depth, **rates.OPTIONS["plain"])(state)
    assert result.leaves <= 2 * rates.MOST_LEAVES
    assert depth > 3
    rates_by_name = rates.bench_threads(dice.GAME, seconds=0.01, at_least=0.0)
    assert list(rates_by_name) == ["lead/start/depth=1 speed-up of 2 threads"]
    assert rates_by_name.popitem()[1] > 0


@pytest.mark.long
def test_options_are_measured_at_equal_value() -> None:
    rates_by_name = rates.bench_options(dice.GAME, dice.GAME.new(900_001), depth=4, seconds=0.001)
    assert rates_by_name["plain node ratio"] == 1
    assert rates_by_name["table node ratio"] < 1
    assert rates_by_name["pruning leaf ratio"] < 1
    assert rates_by_name["the same, one value leaf ratio"] < rates_by_name["pruning leaf ratio"]
    assert max(rates_by_name[f"{option} error"] for option in rates.OPTIONS if option not in rates.APPROXIMATE) < 1e-12


@pytest.mark.long
def test_the_depth_that_a_clock_allows_is_measured(short: None) -> None:
    trap = leafwise.game("trap", size=4)
    rates_by_name = rates.bench_clock(trap, {"reach": trap.score("reach"), "again": trap.score("reach")})
    what = ("nodes/s", "median depth in 0.01 s")
    assert set(rates_by_name) == {f"{name}/{one}" for name in ("reach", "again") for one in what}
    assert min(rates_by_name.values()) >= 1


def test_two_are_measured_in_turns_and_slower_lies_above_one_with_its_whole_interval() -> None:
    slow = [(1.0, 1.1)] * 5 + [(1.0, 1.2)] * 5 + [(1.0, 0.5)]  # one round that something else disturbed
    assert judged(slow) == Comparison(1.0, 0.5, 1.1, 1.1, 1.2)
    assert judged(slow).verdict == "slower"
    assert judged([(now, before) for before, now in slow]).verdict == "faster"
    assert judged([(1.0, 1.1)] * 9 + [(1.0, 0.9)] * 2).verdict == ""
    versions: list[str] = []

    def take(name: str, time: float) -> float:
        versions.append(name)
        return time

    comparison = in_turns(lambda: take("before", 2.0), lambda: take("now", 1.0), rounds=3)
    assert comparison == Comparison(2.0, 1.0, 0.5, 0.5, 0.5)
    assert versions == ["before", "now", "now", "before", "before", "now", "now", "before"]
    assert in_turns(lambda: take("before", 2.0), lambda: take("now", 1.0), rounds=0) == comparison
    assert versions[8:] == ["before", "now"]


def test_versions_are_paths_or_commits_laid_out_as_they_are_installed(tmp_path: Path) -> None:
    interpreter = tmp_path / ".venv" / "bin" / "python"
    interpreter.parent.mkdir(parents=True)
    interpreter.symlink_to(sys.executable)
    for path in (tmp_path, tmp_path / ".venv", interpreter):
        with comparing.version_of(str(path)) as version:
            assert version.interpreter == str(interpreter)
    for wrong in ("no-such-commit", "--help", str(tmp_path / "nothing")):
        with pytest.raises(
            ValueError, match=r"expected (a commit, or )?the path of an interpreter or an environment.*, got "
        ):
            comparing.version_of(wrong).__enter__()
    files = {"src/leafwise/__init__.py": "", **{f"{room}/__init__.py": "place = __file__" for room in comparing.ROOMS}}
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    folder = comparing.lay_out(archive.getvalue(), tmp_path)
    environment = Version(sys.executable, folder).environment
    code = "import leafwise.training, leafwise.envs; print(leafwise.envs.place)"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()) == Path(folder) / "leafwise" / "envs" / "__init__.py"


def test_a_probe_answers_line_by_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("step", "search rows", "search nothing", "batch_64", "leaf rows depth=1")
    requests = [{"name": name, "seconds": 0.0} for name in names]
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(json.dumps(one) + "\n" for one in requests)))
    monkeypatch.setattr(sys, "stdout", sys.stdout)  # the probe moves it
    probe.main("threes", {}, "leafwise/Threes-v0", {"rows": 1, "nothing": 1}, [str(leafwise.game("threes").new(2))])
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [next(iter(answer)) for answer in answers] == ["time", "time", "error", "time", "time"]
    assert all(answer["time"] > 0 for answer in answers if "time" in answer)
    assert "nothing" in answers[2]["error"]


def test_a_probe_says_why_it_does_not_measure(tmp_path: Path) -> None:
    version = comparing.HERE
    with Probe(version, ("threes", {}, "", {}, []), str(tmp_path)) as one:
        for _ in range(2):  # it goes on
            with pytest.raises(ValueError, match=r"^KeyError: 'nothing'$"):
                one.measure("nothing", 0.0)
    with Probe(version, ("no-such-game", {}, "", {}, []), str(tmp_path)) as one:
        for _ in range(2):  # it has ended
            with pytest.raises(ValueError, match=r"^[\w.]+Error: expected a game .*no-such-game"):
                one.measure("step", 0.0)


def test_parts_name_what_is_measured_of_games_with_an_id() -> None:
    depths = {"openness": 3, "load:threes": 2}
    names = {part: names_of(THREES, part, depths) for part in comparing.PARTS}
    assert names == {
        "envs": ["step", "batch_64"],
        "search": ["search openness", "search load:threes"],
        "models": ["leaf load:threes depth=3", "leaf load:threes depth=4"],
        "training": ["td"],
        "warmup": [],
    }
    four = leafwise.game("trilobite", board="7x6", k=4)
    assert names_of(four, "search", {"lines": 3}) == ["search lines", "solver one", "solver all", "solver batch"]
    assert names_of(four, "training", {}) == ["selfplay depth=1", "selfplay depth=2"]
    assert id_of(leafwise.game("trilobite", board="7x6", k=4)) == "leafwise/Trilobite7x6-v0"
    with pytest.raises(ValueError, match=r"^threes: expected the options of one of Threes, got "):
        id_of(leafwise.game("threes", hint="exact"))


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("threes", ("envs", "search", "models", "training")),
        ("trilobite7x6", ("search", "training")),  # with the solver, of two players
        ("friday", ("models", "training")),
    ],
)
def test_all_that_is_named_can_be_measured(name: str, parts: tuple[str, ...]) -> None:
    game = leafwise.game("trilobite", board="7x6", k=4) if name == "trilobite7x6" else leafwise.game(name)
    for part in parts:
        compared = dict(compare(game, sys.executable, 0.0, rounds=1, part=part))
        assert all(isinstance(comparison, Comparison) and comparison.ratio > 0 for comparison in compared.values()), (
            compared
        )
        # How deep a leaf is measured is a matter of time.
        expected = names_of(game, part, search_depths(game) if part == "search" else {})
        assert [name.partition(" depth=")[0] for name in compared] == [
            name.partition(" depth=")[0] for name in expected
        ]


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="the system does not tell the memory of processes")
def test_what_compiling_costs_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "FORMS", {"linked": {}})
    small = processes.COMPILED_SEARCH.replace('board="7x6", k=4', 'board="3x3", k=3')
    monkeypatch.setattr(processes, "COMPILED_SEARCH", small)
    notes: list[str] = []
    first, second, search, memory = processes.compile_costs(notes.append).values()
    assert notes == ["compiling the search of Connect Four linked, twice: up to two minutes"]
    assert 0 < second < first
    assert 0 < search < 1000
    assert memory > 20
