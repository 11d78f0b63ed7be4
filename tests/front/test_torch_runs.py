"""A run's network of the user's class, wherever leaves are taken: --module names it, else one line says what is missing."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from front.test_web_jobs import run_job

import leafwise
from leafwise.__main__ import run
from leafwise.envs import registry
from leafwise.models import network
from leafwise.models.units import units_of
from leafwise.training.publish import units
from leafwise.web.workers import RUNS_VARIABLE

NET = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, space, outputs, *, width=8):
        super().__init__()
        self.see, self.say = nn.Conv2d(space.shape[0], width, 3, padding=1), nn.Linear(width * 9, outputs)

    def forward(self, planes):
        return torch.tanh(self.say(torch.relu(self.see(planes)).flatten(1)))
"""
TRILOBITE = leafwise.game("trilobite")
MISSING = r"expected --module with the file or package 'page_net', or leafwise.register_network(Net) in Python"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns a folder with `page_net.py`, and a run in `runs/own`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(network, "_classes", {})
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "page_net", raising=False)
    for name, value in ((registry.NETWORKS, "{}"), (RUNS_VARIABLE, str(tmp_path / "runs"))):
        monkeypatch.setenv(name, value)
    Path("page_net.py").write_text(NET)
    (tmp_path / "runs/own").mkdir(parents=True)
    registry.add_module("page_net.py")
    made = leafwise.torch_network(TRILOBITE, "page_net:Net", width=4)
    Path("runs/own/config.toml").write_text('game = "trilobite"\n')
    leafwise.save_network(Path("runs/own/model.safetensors"), made, {"steps": 1, "command": "none", "commit": "none"})
    os.environ[registry.NETWORKS] = "{}"
    network._classes.clear()
    return tmp_path


@pytest.mark.usefixtures("own")
def test_commands_play_it_where_it_is_named(capfd: Any) -> None:
    words = ["eval", "trilobite", "search:runs/own,depth=1", "--games", "4", "--json"]
    assert run(words) == 2
    assert MISSING in capfd.readouterr().err
    assert run([*words, "--module", "page_net.py"]) == 0
    assert json.loads(capfd.readouterr().out)["games"] == 4
    arena = ["arena", "trilobite", "search:runs/own,depth=1", "random", "--games", "4", "--module", "page_net.py"]
    assert run(arena) == 0
    network._classes.clear()
    os.environ[registry.NETWORKS] = "{}"
    os.utime("runs/own/model.safetensors")  # not the network that is remembered
    fitted = ["--model", "runs/own", "--games", "20"]
    assert units.main(fitted) == 2
    assert MISSING in capfd.readouterr().err
    assert units.main([*fitted, "--module", "page_net.py"]) == 0
    assert units_of(TRILOBITE, "runs/own") is not None


@pytest.mark.usefixtures("own")
def test_the_page_plays_it_where_it_is_named() -> None:
    start = str(TRILOBITE.start())
    offered = run_job("game", game="trilobite")
    assert not [leaf for leaf in offered["leaves"] if leaf["name"] == "run:own"]
    assert [MISSING in one["wrong"] for one in offered["unusable"]] == [True]
    registry.add_module("page_net.py")
    player = next(one["name"] for one in run_job("game", game="trilobite")["opponents"] if "run:own" in one["name"])
    assert run_job("move", game="trilobite", text=start, player=player)
    *_, last = run_job("analyse", game="trilobite", text=start, leaf="run:own", seconds=0.3)
    assert len(last["worths"]) == 3
    assert run_job("run-game", name="own")["file"]


@pytest.mark.usefixtures("own")
def test_a_run_goes_on_where_it_is_named(capfd: Any) -> None:
    words = (
        "train trilobite --method dqn --no-recipe --network page_net:Net,width=4 --run runs/q --envs 8 --batch-size 8"
    )
    words += " --interval 400 --total-steps 400 --learning-starts 100 --train-every 100 --match-pairs 100 --solver-positions 0"
    assert run(words.split()) == 2
    assert MISSING in capfd.readouterr().err
    assert run([*words.split(), "--module", "page_net.py"]) == 0
    added = f" --module {Path('page_net.py').resolve()}"
    hints = [line for line in capfd.readouterr().out.splitlines() if "leafwise eval" in line or "leafwise play" in line]
    assert [line.endswith(added) for line in hints] == [True, True]
    os.environ[registry.NETWORKS] = "{}"
    network._classes.clear()
    more = [
        "train",
        "trilobite",
        "--method",
        "dqn",
        "--no-recipe",
        "--run",
        "runs/q",
        "--resume",
        "--total-steps",
        "500",
    ]
    assert run(more) == 2
    assert MISSING in capfd.readouterr().err
    assert run([*more, "--module", "page_net.py"]) == 0
    assert " --module " in json.loads(Path("runs/q/results.json").read_text())["command"]
