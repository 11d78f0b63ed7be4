"""Run folders: one writer, damaged checkpoints, full disks, curves that grow, and the loop that writes them."""

import io
import json
import math
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from games import undecided
from leafwise.envs.core import interrupts
from leafwise.envs.core.interrupts import stoppable
from leafwise.models.tensors import load_tensors, save_tensors
from leafwise.training.ntuple_td import ntuple_td as td
from leafwise.training.runs import files as curves
from leafwise.training.runs import loop
from leafwise.training.runs.files import LOCK, Curves, options_of, run_folders, thinned
from leafwise.training.runs.folder import BEFORE, RunFolder, load_checkpoint
from leafwise.training.runs.loop import Events, find_variant, run_progress, train_to_the_end
from leafwise.training.runs.tags import TAGS, words_of
from leafwise.training.selfplay import selfplay
from running.training import learn, refusal, train_command, train_words
from running.waiting import until

CONFIG = selfplay.Config(game="trilobite")
TD: dict[str, Any] = {"game": "threes", "total_steps": 4000, "interval": 1000, "evaluate_games": 4, "tuples": "0145"}
TD |= {"checkpoint_seconds": 0.0}
WORDS = [
    "--game", "threes", "--tuples", "0145", "--interval", "1000", "--evaluate-games", "4", "--checkpoint-seconds", "0",
]  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return td.train(td.Config(run=str(tmp_path_factory.mktemp("runs") / "whole"), **TD))


def test_a_run_that_goes_on_is_not_resumed_until_its_process_ends(tmp_path: Path, capsys) -> None:
    path = tmp_path / "busy"
    command = train_command("ntuple-td", ["--run", str(path), *WORDS, "--total-steps", "1000000000"])
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until((path / "state.safetensors").exists, process)
        for _ in range(2):
            message = refusal("ntuple-td", ["--run", str(path), "--resume"], capsys)
            assert message.startswith(
                f"error: expected a run that no other process writes, got {str(path)!r}, written by process "
            )
            assert f"process {process.pid} on " in message
    finally:
        process.kill()
        process.wait()
    for _ in range(2):  # a folder that was refused is free again
        message = refusal("ntuple-td", ["--run", str(path), "--resume", "--tuples", "01"], capsys)
        assert "resume: expected --tuples 0145 as before, got 01" in message
    assert f"process {os.getpid()} on" in (path / LOCK).read_text()


def test_what_killed_processes_left_half_written_is_cleared_away(tmp_path: Path) -> None:
    names = [".model.safetensors.123", "..state.next.safetensors.9", ".state.next.safetensors", ".config.toml.4"]
    for name in (*names, ".mine"):
        (tmp_path / name).write_bytes(b"half")
    RunFolder(tmp_path, CONFIG, resume=False).lock.release()
    assert {p.name for p in tmp_path.iterdir()} == {".mine", "config.toml", LOCK}


def saved(path: Path) -> RunFolder:
    """Makes a run with two checkpoints: numbers 1 and 2."""
    folder = RunFolder(path, CONFIG, resume=False)
    for number in (1, 2):
        folder.save({"x": np.full(1000, number, np.float32)}, {"number": number})
    return folder


@pytest.mark.parametrize("how", ["flipped", "cut", "gone", "nan"])
def test_a_damaged_checkpoint_costs_the_time_since_the_one_before(how: str, tmp_path: Path, capsys) -> None:
    folder = saved(tmp_path)
    data = bytearray(folder.state.read_bytes())
    if how == "gone":
        folder.state.unlink()
    elif how == "nan":
        save_tensors(folder.state, {"x": np.array([1, np.nan])}, {"number": 2})
    else:
        data[-5] ^= 1
        folder.state.write_bytes(data if how == "flipped" else data[:-100])
    checkpoint = load_checkpoint(tmp_path)
    assert checkpoint is not None
    assert checkpoint[1] == {"number": 1}
    message = capsys.readouterr().err
    assert message.startswith("warning: ")
    assert message.endswith("; continues from the previous checkpoint\n")
    assert message.count("\n") == 1
    folder.save({"x": np.zeros(3, np.float32)}, {"number": 3})
    assert load_tensors(tmp_path / BEFORE)[1] == {"number": 1}, "the good one is kept"


def test_two_damaged_checkpoints_are_refused(tmp_path: Path, capsys) -> None:
    folder = saved(tmp_path)
    assert load_checkpoint(tmp_path) is not None
    assert capsys.readouterr().err == ""
    for file in (folder.state, tmp_path / BEFORE):
        file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"expected a leafwise .safetensors file, got '.*state.safetensors'"):
        load_checkpoint(tmp_path)
    assert load_checkpoint(tmp_path / "nothing") is None


def test_a_run_that_has_diverged_leaves_its_checkpoints_alone(tmp_path: Path) -> None:
    folder = saved(tmp_path)
    with pytest.raises(ValueError, match="expected finite numbers in 'x' of the trainer's state, got nan or infinity"):
        folder.save({"x": np.array([np.inf], np.float32)}, {"number": 3})
    checkpoint = load_checkpoint(tmp_path)
    assert checkpoint is not None
    assert checkpoint[1] == {"number": 2}


@pytest.mark.parametrize(
    ("tensors", "metadata", "problem"),
    [
        ({"table": np.zeros(3, np.float32)}, {}, "expected 'table' as float32 [SIZE], got float32 [3]"),
        ({"table": None}, {}, "expected 'table' as float32 [SIZE], got nothing"),
        ({"counts": np.zeros(1)}, {}, "expected 'counts' as int64"),
        ({}, {"method": "nosuch"}, "expected 'method' to be 'ntuple-td', got"),
        ({}, {"seconds": "many"}, "expected a number as 'seconds', got 'many'"),
        ({}, {"seconds": float("inf")}, "expected a number as 'seconds', got inf"),
        ({}, {"entries": -5}, "expected a number as 'entries', got -5"),
        ({}, {"entries": 10**400}, "expected a number as 'entries', got 1000"),
        ({}, {"entries": True}, "expected a number as 'entries', got True"),
        ({}, {"score": 7}, "expected 'score' with entries by name, got 7"),
        ({}, {"best": None}, "expected a number as 'best', got None"),
    ],
)
def test_a_state_of_something_else_is_one_line(run: Path, tmp_path: Path, capsys, tensors, metadata, problem) -> None:
    path = tmp_path / "run"
    path.mkdir()
    (path / "config.toml").write_bytes((run / "config.toml").read_bytes())
    arrays, about = load_tensors(run / "state.safetensors")
    problem = problem.replace("SIZE", str(len(arrays["table"])))
    arrays = {name: tensor for name, tensor in {**arrays, **tensors}.items() if tensor is not None}
    save_tensors(path / "state.safetensors", arrays, {**about, **metadata})
    message = refusal("ntuple-td", ["--run", str(path), "--resume"], capsys)
    assert f"{str(path / 'state.safetensors')!r}: expected a checkpoint of this run: {problem}" in message


def test_a_file_is_no_run_folder_and_a_run_of_another_game_does_not_go_on(run: Path, tmp_path: Path, capsys) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("notes")
    for path in (file, file / "run"):
        message = refusal("ntuple-td", ["--run", str(path)], capsys)
        assert message == f"error: expected a run folder, got {str(path)!r}, where {str(file)!r} is a file\n"
    assert file.read_text() == "notes"
    message = refusal("selfplay", ["--game", "cassis", "--run", str(run), "--resume"], capsys)
    config = str(run / "config.toml")
    assert message == f"error: resume: expected a run of 'cassis', got one of 'threes' in {config!r}\n"


def test_a_folder_without_options_is_no_run(run: Path, tmp_path: Path, capsys) -> None:
    """Neither one to resume, nor a place for a new one: its model would be written over."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "config.json").write_text('{"game": "threes", "moves": 4000}')
    for name in ("state.safetensors", "model.safetensors"):
        (other / name).write_bytes((run / name).read_bytes())
        for words, expected in (
            (["--run", str(other), "--resume"], f"expected a run to resume in {str(other)!r}, found no config.toml"),
            (
                ["--run", str(other), "--game", "threes"],
                f"expected a new run folder, got {str(other)!r} with {name} in it",
            ),
        ):
            assert learn("ntuple-td", words) == 2
            message = capsys.readouterr().err
            assert message == f"error: {expected}\n"
    assert sorted(path.name for path in other.iterdir()) == ["config.json", "model.safetensors", "state.safetensors"]


@pytest.mark.skipif(sys.platform == "win32", reason="makes links")
def test_a_run_writes_through_no_link_in_its_folder(run: Path, tmp_path: Path, capsys) -> None:
    """Whichever of its files is one; the lock alone, which stays, has to be removed by hand."""
    path, outside = tmp_path / "run", tmp_path / "outside"
    shutil.copytree(run, path)
    shutil.copytree(run, outside)
    before = {file.name: file.read_bytes() for file in outside.iterdir()}
    for name in before:
        if name != LOCK:
            (path / name).unlink()
            (path / name).symlink_to(outside / name)
    words = ["--run", str(path), "--resume", "--total-steps", "8000"]
    (path / LOCK).unlink()
    for target in (outside / LOCK, outside / "none"):
        (path / LOCK).symlink_to(target)
        message = refusal("ntuple-td", words, capsys)
        assert f"cannot use {str(path / LOCK)!r}: expected a file of its own, got a link" in message
        (path / LOCK).unlink()
    assert learn("ntuple-td", words) == 0
    assert {file.name: file.read_bytes() for file in outside.iterdir()} == before
    links = {file.name for file in path.iterdir() if file.is_symlink()}
    assert all(name.startswith("events.") or name == "state.previous.safetensors" for name in links)


FULL = """
import resource, sys
from leafwise.__main__ import run
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
sys.exit(run(sys.argv[2:]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits the size of files")
@pytest.mark.parametrize(("most", "file"), [(200_000, "state"), (10, "config.toml"), (800, "events.out")])
def test_a_full_disk_is_one_line_and_the_run_goes_on_later(run: Path, tmp_path: Path, most: int, file: str) -> None:
    path = tmp_path / "full"
    words = ["--run", str(path), *WORDS, "--total-steps", "4000"]
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(most), *train_words("ntuple-td", words)], capture_output=True, text=True
    )
    assert done.returncode == 2, done
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("error: cannot use '")
    assert file in done.stderr
    assert "File too large" in done.stderr
    assert learn("ntuple-td", [*words, *(["--resume"] if (path / "config.toml").exists() else [])]) == 0
    one, other = (load_tensors(p / "state.safetensors")[0] for p in (run, path))
    assert np.array_equal(one["table"], other["table"])
    assert json.loads((path / "results.json").read_text())["steps"] >= 4000


def test_percentage_and_time_left_stay_whole_at_80_columns() -> None:
    out = io.StringIO()
    score = {"eval/score_mean": 12345.0, "eval/score_ci_low": 12300.0, "eval/score_ci_high": 12400.0}
    words = words_of({"train/loss": 0.5, **score, "eval/elo": 123.0, "eval/keeps_value": 0.987}, 1)
    assert words == "mean score 12,345 (12,300 to 12,400), Elo 123, value kept 0.987"
    assert words_of({"eval/score_mean": 0.53}, 2) == "0.53 of points"
    with run_progress(Console(file=out, width=80, force_terminal=True)) as progress:
        what = "selfplay friday, search:'some/long/path/to/a/model.safetensors',depth=3"
        task = progress.add_task(what, total=200, status="")
        progress.update(task, completed=86, status=words)
        progress.refresh()
        drawn = Console(width=80, record=True, file=io.StringIO())
        drawn.print(progress.get_renderable())
    line = drawn.export_text().rstrip("\n")
    assert "\n" not in line
    assert len(line) <= 80
    assert " 43% " in line
    assert "-:--:-- left" in line
    assert "selfplay" in line
    assert "mean score" in line
    assert "…" in line


def test_a_bar_needs_no_sign_that_code_page_1252_lacks() -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="cp1252", errors="strict")
    with run_progress(Console(file=out, width=80, force_terminal=True)) as progress:
        progress.add_task(
            "selfplay friday " * 4, total=200, completed=86, status="mean score 12,345 (12,300 to 12,400)" * 2
        )
        progress.refresh()
    out.flush()


def new_run(root: Path, name: str) -> Path:
    """Returns the folder of a run with options alone."""
    folder = root / name
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('game = "threes"\ntotal_steps = 10\n')
    return folder


def test_curves_grow_while_a_run_goes_on(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.compat.proto.summary_pb2 import DataClass
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    folder = new_run(tmp_path, "one")
    curves = Curves(folder)
    assert curves.read() == {}
    events = Events(folder)
    events.add("eval/score_mean", 1.5, 10)
    events.flush()
    assert curves.read() == {"eval/score_mean": [(10, 1.5)]}
    events.add("eval/score_mean", 2.5, 20)
    events.add("train/loss", math.nan, 20)
    events.add("position", np.zeros((4, 4, 3), np.uint8), 20)
    events.add_options({"rate": 0.5, "hidden": (32, 16), "resume": False})
    events.close()
    seen = EventAccumulator(str(folder), {"images": 0}).Reload()
    assert [event.step for event in seen.Images("position")] == [20]
    (image,) = seen.Images("position")
    assert (image.width, image.height, image.encoded_image_string[:4]) == (4, 4, b"\x89PNG")
    table = "| option | value |\n|---|---|\n| rate | 0.5 |\n| hidden | (32, 16) |\n| resume | False |"
    assert seen.Tensors("hyper-parameters/text_summary")[0].tensor_proto.string_val == [table.encode()]
    assert list(seen.PluginTagToContent("text")) == ["hyper-parameters/text_summary"]
    (start,) = seen.PluginTagToContent("hparams").values()
    options = HParamsPluginData.FromString(start).session_start_info.hparams
    assert (options["rate"].number_value, options["hidden"].string_value) == (0.5, "(32, 16)")
    for tag, plugin, kind in (("eval/score_mean", "scalars", "SCALAR"), ("position", "images", "BLOB_SEQUENCE")):
        described = seen.SummaryMetadata(tag)
        assert (described.summary_description, described.plugin_data.plugin_name) == (TAGS[tag], plugin)
        assert described.data_class == DataClass.Value(
            f"DATA_CLASS_{kind}"
        )  # without it TensorBoard shows no description
    assert curves.read() == {"eval/score_mean": [(10, 1.5), (20, 2.5)], "train/loss": []}


def test_half_a_record_is_no_harm_and_noise_is_no_curve(tmp_path: Path) -> None:
    folder = new_run(tmp_path, "one")
    events = Events(folder)
    for step in (1, 2):
        events.add("train/loss", 0.5, step)
    events.close()
    whole = events.path.read_bytes()
    events.path.write_bytes(whole[:-5])
    assert Curves(folder).read() == {"train/loss": [(1, 0.5)]}
    events.path.write_bytes(b"noise " * 100)
    assert Curves(folder).read() == {}


def test_more_events_than_a_run_writes_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = new_run(tmp_path, "one")
    Events(folder).close()
    monkeypatch.setattr(curves, "LARGEST", 10)
    with pytest.raises(ValueError, match="expected at most 0 MB of events, got 0 MB"):
        Curves(folder)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows lets few make links")
def test_runs_with_links_in_them_are_not_listed(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    run = new_run(root, "own")
    elsewhere = new_run(tmp_path, "elsewhere")
    (root / "linked").symlink_to(elsewhere)
    holds = new_run(root, "holds-a-link")
    (holds / "model.safetensors").symlink_to("/etc/hostname")
    (root / "no-run").mkdir()
    assert run_folders(root) == {"own": run}
    assert run_folders(tmp_path / "nothing") == {}
    assert options_of(run) == {"game": "threes", "total_steps": 10}
    with pytest.raises(ValueError, match="expected a run folder, got"):
        options_of(root / "no-run")


def test_long_curves_are_thinned_and_keep_their_ends() -> None:
    points = [(k, float(k)) for k in range(5001)]
    few = thinned(points)
    assert (len(few), few[0], few[-1]) == (curves.POINTS, points[0], points[-1])
    assert few == sorted(set(few))
    assert thinned(points[:7]) == points[:7]


class Learner:
    method, goal, unit, done, breaks_whole = "dqn", 3000, "decisions", 0, False
    config = SimpleNamespace(checkpoint_seconds=60.0, game="threes")
    folder = SimpleNamespace(checkpoint_due=lambda seconds: False)
    game, saved = SimpleNamespace(players=1, name="threes"), 0

    def leaf(self) -> None:
        """Returns no leaf: no picture."""

    def step(self) -> dict[str, float]:
        self.done += 1000
        return {"train/loss": 0.5} | ({"eval/score_mean": self.done * 11.1} if self.done > 1000 else {})

    def step_or_save(self, stop: Any) -> dict[str, float]:
        return self.step()

    def save(self) -> None:
        self.saved += 1


def test_a_file_gets_a_line_for_each_evaluation(capsys: pytest.CaptureFixture[str]) -> None:
    learner: Any = Learner()
    events: Any = SimpleNamespace(add=lambda *arguments: None, flush=lambda: None)
    train_to_the_end(learner, events)
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "training Threes with dqn: 3,000 decisions, about 10 seconds on this machine",
        "2,000 of 3,000 decisions: mean score 22,200",
        "3,000 of 3,000 decisions: mean score 33,300",
    ]
    assert learner.saved == 1


def test_a_game_without_decisions_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "find_game", lambda name: undecided.GAME)
    undecided.GAME.shared_tables.stones[0] = 0
    try:
        with pytest.raises(ValueError, match=r"^expected options with which a player gets to decide, got"):
            find_variant("undecided", "")
    finally:
        undecided.GAME.shared_tables.stones[0] = 7


class Folder:
    def __init__(self) -> None:
        self.saved: list[Any] = []

    def checkpoint_due(self, seconds: float) -> bool:
        return False

    def save(self, tensors: Any, metadata: Any) -> None:
        self.saved.append(({name: tensor.tolist() for name, tensor in tensors.items()}, metadata))


class Broken(loop.Learner):
    """A run whose third step is broken off in its middle, by Ctrl-C."""

    method, unit, config = "test", "steps", SimpleNamespace(checkpoint_seconds=60.0, total_steps=5, game="none")
    done = 0

    def __init__(self, whole: bool) -> None:
        self.breaks_whole, self.folder, self.weights = whole, Folder(), np.zeros(2)  # type: ignore[assignment]
        self.game = SimpleNamespace(players=1)  # type: ignore[assignment]

    def step(self) -> dict[str, Any]:
        self.weights += 1
        if self.done == 2:
            os.kill(os.getpid(), signal.SIGINT)
            stop = np.zeros(1, dtype=np.uint8)
            assert stoppable(lambda: until(lambda: stop[0]), stop) is None  # compiled code that ends early
            interrupts.check()
        self.done += 1
        return {}

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"weights": self.weights}, {"done": self.done}


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(("whole", "weights"), [(True, 3.0), (False, 2.0)], ids=["goes on", "is taken back"])
def test_a_step_that_ctrl_c_breaks_off(whole: bool, weights: float) -> None:
    learner: Any = Broken(whole)
    events: Any = SimpleNamespace(add=lambda *arguments: None, flush=lambda: None)
    assert train_to_the_end(learner, events) == 2
    [(tensors, metadata)] = learner.folder.saved
    assert tensors == {"weights": [weights, weights]}
    assert metadata["done"] == 2
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
