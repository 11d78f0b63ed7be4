"""Torch modules as networks: built, saved, loaded and searched; the user's classes are named by a person, never by a file."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import leafwise
from games.refusals import one_line
from leafwise.envs import registry
from leafwise.models import network
from leafwise.models.tensors import load_tensors, save_tensors

TRILOBITE, THREES, FRIDAY = (leafwise.game(name) for name in ("trilobite", "threes", "friday"))
METADATA = {"steps": 0, "command": "none", "commit": "none"}
OWN = """
from torch import nn

class Net(nn.Module):
    def __init__(self, space, outputs, *, width=8):
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.LazyLinear(width), nn.ReLU(), nn.Linear(width, outputs), nn.Tanh())
        self.body(__import__("torch").zeros(1, *space.shape))

    def forward(self, x):
        return self.body(x)
"""


class Says(nn.Module):
    """Says one number of everything."""

    def __init__(self, space: Any, outputs: int, *, number: float, width: int = 1, dtype: str = "float32") -> None:
        super().__init__()
        self.dtype = getattr(torch, dtype)
        self.number = nn.Parameter(torch.full((width,), float(number)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.number.expand(len(x), len(self.number)).to(self.dtype)


class Faulty(nn.Module):
    """Gives a value, which is right, and logits with a fault."""

    def __init__(self, space: Any, outputs: int, *, fault: str) -> None:
        super().__init__()
        self.fault, planes = fault, space.shape[0]
        self.say, self.norm = nn.Linear(space.shape[0] * 9, outputs), nn.BatchNorm2d(planes)
        if fault == "bfloat16":
            self.say.bfloat16()

    def forward(self, x: torch.Tensor) -> Any:
        if self.fault == "norm":
            x = self.norm.train()(x)
        if self.fault == "change":
            self.say.bias.data += 0.1
        numbers = torch.tanh(self.say(x.flatten(1)))
        assert self.fault != "assert", "wrong"
        value, logits = numbers[:, :1], numbers[:, 1:]
        if self.fault == "swap":
            logits = logits.flip(0)
        if self.fault == "drop":
            logits = nn.functional.dropout(logits)
        return (value, logits) if self.fault == "pair" else torch.cat([value, logits], dim=1)


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "_classes", {})
    monkeypatch.setenv(registry.NETWORKS, "{}")
    monkeypatch.setattr(sys, "path", [*sys.path])


def values(game: leafwise.Game, leaf: leafwise.Evaluator) -> Any:
    assert leaf.batch is not None
    return leaf.batch(np.array([game.new(seed).play(a).row for seed in range(2) for a in game.new(seed).legal_actions
                                if not game.new(seed).play(a).is_chance]), game.tables(leaf))  # fmt: skip


@pytest.mark.parametrize(
    ("game", "name", "arguments"),
    [
        (TRILOBITE, "mlp", {"hidden": [8]}),
        (TRILOBITE, "conv", {"channels": [4], "hidden": 8}),
        (TRILOBITE, "resnet", {"blocks": 1, "channels": 4, "says": "q"}),
        (TRILOBITE, "mlp", {"hidden": [4], "sees": "features"}),
        (FRIDAY, "mlp", {"hidden": [4]}),
    ],
)
def test_a_network_is_the_same_from_its_file(game: Any, name: str, arguments: dict[str, Any], tmp_path: Path) -> None:
    built: Any = leafwise.torch_network(game, name, seed=3, **arguments)
    assert built.sees == arguments.get("sees", "planes" if game is TRILOBITE else "onehot")
    for part in built.module.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.running_mean = torch.full_like(part.running_mean, -0.3)  # type: ignore[arg-type]  # a buffer that was learned
    leafwise.save_network(tmp_path / "m.safetensors", built, METADATA)
    loaded = leafwise.load(tmp_path / "m.safetensors", game)
    if game is TRILOBITE:
        numbers = values(game, loaded)
        assert np.array_equal(numbers, values(game, built.evaluator("made")))
        assert not np.array_equal(
            numbers, values(game, leafwise.torch_network(game, name, seed=4, **arguments).evaluator("b"))
        )
        assert len(set(numbers.tolist())) > 1
    assert (loaded.low, loaded.high, loaded.to_go) == (-1.0 if game is TRILOBITE else 0.0, 1.0, False)


def test_asking_a_network_leaves_it_in_eval_mode() -> None:
    built: Any = leafwise.torch_network(TRILOBITE, "resnet", blocks=1, channels=4, hidden=4, says="policy")
    built.module.eval()
    values(TRILOBITE, built.evaluator("leaf"))
    assert not any(part.training for part in built.module.modules())


def test_a_module_is_handed_large_batches_in_parts() -> None:
    lengths = []

    class Counts(nn.Module):
        """Says how many stones of one plane there are."""

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            lengths.append(len(x))
            return x[:, 0].sum(dim=(1, 2)) / 64

    leaf: Any = leafwise.leaf(TRILOBITE, Counts(), observation="planes")
    once = [TRILOBITE.new(0).play(a).play(b).row for a in range(3) for b in range(3)]
    T, rows = TRILOBITE.tables(leaf), np.array([*once, TRILOBITE.new(0).row] * 60)
    lengths.clear()
    assert np.array_equal(leaf.batch(rows, T), [*[1 / 64] * 9, 0.0] * 60)
    assert lengths == [256, 256, 88]


def test_scores_are_the_return_to_come_by_a_scale() -> None:
    one, many = (
        leafwise.torch_network(THREES, "conv", channels=(4,), hidden=4, scale=scale).evaluator("leaf")
        for scale in (1.0, 50.0)
    )
    assert many.to_go
    state = THREES.new(0)
    rows, T = state.row[None], THREES.tables()
    assert one.batch is not None
    assert many.batch is not None
    assert many.batch(rows, T) == pytest.approx(50 * one.batch(rows, T))
    search = leafwise.Search(THREES, many, depth=1)
    assert len(set(search(state).values.values())) > 1


def test_a_class_of_ones_own_is_named_by_a_person(tmp_path: Path) -> None:
    (tmp_path / "own_net.py").write_text(OWN)
    sys.path.append(str(tmp_path))
    import own_net  # type: ignore[import-not-found]

    built = leafwise.torch_network(TRILOBITE, own_net.Net, width=4)
    file = tmp_path / "m.safetensors"
    leafwise.save_network(file, built, METADATA)
    expected = values(TRILOBITE, leafwise.load(file, TRILOBITE))
    network._classes.clear()
    with one_line(
        r"expected --module with the file or package 'own_net', or leafwise.register_network\(Net\) in Python"
    ):
        network.network_kind("torch").create(TRILOBITE, built.metadata)
    with one_line(
        r"register_network\(Net\) in Python, or a class in a file that --module names, for .* '__main__:Net'$"
    ):
        network.network_kind("torch").create(TRILOBITE, built.metadata | {"network": "__main__:Net"})
    assert registry.take_modules(["eval", "--module", str(tmp_path / "own_net.py")]) == ["eval"]
    assert str(tmp_path / "own_net.py") in os.environ[registry.NETWORKS]  # for processes that are started from here
    os.utime(file)  # not the network that is remembered
    assert np.array_equal(values(TRILOBITE, leafwise.load(file, TRILOBITE)), expected)
    (tmp_path / "no_net.py").write_text("x = 1\n")
    with one_line("expected a Game called GAME in the module 'no_net'"):
        registry.take_modules(["--module", str(tmp_path / "no_net.py")])


@pytest.mark.parametrize(
    ("network", "game", "arguments", "message"),
    [
        (Says, TRILOBITE, {"number": 2.0}, r"expected values from -1 to 1 for the player who acts, got 2"),
        (Says, FRIDAY, {"number": -0.5}, r"expected values from 0 to 1 as a chance to win, got -0.5"),
        (Says, TRILOBITE, {"number": float("nan")}, "expected finite numbers"),
        (Says, TRILOBITE, {"number": 1, "dtype": "int64"}, "expected numbers of torch.float32, got torch.int64"),
        (Says, TRILOBITE, {"number": 1, "dtype": "float64"}, "expected numbers of torch.float32, got torch.float64"),
        (Says, TRILOBITE, {"number": 0.0, "width": 2}, r"expected values \[8, 1\], got \[8, 2\]"),
        (Says, TRILOBITE, {"number": 0.0, "says": "q"}, r"expected action values \[8, 3\], got \[8, 1\]"),
        (Says, TRILOBITE, {}, r"test_modules:Says': expected arguments that build it, got \{\}: .*'number'"),
        (Says, TRILOBITE, {"number": 0j}, "arguments that build it, got .*: Object of type complex is not JSON serializable"),
        (int, TRILOBITE, {}, "expected a class of torch modules, got <class 'int'>"),
        ("mpl", TRILOBITE, {}, "expected a network among mlp, conv, resnet, MODULE:CLASS, got 'mpl'"),
        ("conv", FRIDAY, {}, r"expected a board \[channels, rows, columns\] for convolutions"),
        ("mlp", TRILOBITE, {"sees": "pixels"}, "expected an observation among default, planes"),
        ("mlp", TRILOBITE, {"says": "moves"}, "says among value, q, policy"),
        ("mlp", TRILOBITE, {"scale": 10.0}, "expected a scale in a single-player game with a score"),
        ("mlp", THREES, {"hidden": (10**8, 10**8)}, r"expected parameters that fit into .* MB, got 40,[\d,]+ MB$"),
        (Faulty, TRILOBITE, {"fault": "pair"}, "expected one tensor in eval mode, got tuple$"),
        (Faulty, TRILOBITE, {"fault": "assert"}, r"takes float32 \[8, 2, 3, 3\] in eval mode, got AssertionError: wrong$"),
        (Faulty, TRILOBITE, {"fault": "swap"}, "expected the same numbers for a position in every batch, got .* among 8$"),
        (Faulty, TRILOBITE, {"fault": "drop"}, "expected the same numbers for a position in every batch, got .* among 8$"),
        (Faulty, TRILOBITE, {"fault": "change"}, "forward to leave all parameters and buffers, got a change of 'say.bias'$"),
        (Faulty, TRILOBITE, {"fault": "norm"}, "forward to leave all parameters and buffers, got a change of 'norm.running_m"),
        (Faulty, TRILOBITE, {"fault": "bfloat16"}, "expected numbers of torch.float32 in 'say.weight', got torch.bfloat16$"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_one_line(network: Any, game: Any, arguments: dict[str, Any], message: str) -> None:
    says: dict[str, Any] = {"says": "policy"} if network is Faulty else {}
    with one_line(message):
        leafwise.torch_network(game, network, **arguments, **says).evaluator("leaf")


def test_layers_that_find_their_sizes_are_asked_once(tmp_path: Path) -> None:
    class Lazy(nn.Sequential):
        def __init__(self, space: Any, outputs: int) -> None:
            super().__init__(nn.Flatten(), nn.LazyLinear(outputs), nn.Tanh())

    built: Any = leafwise.torch_network(TRILOBITE, Lazy)
    assert built.module.training
    leafwise.save_network(tmp_path / "m.safetensors", built, METADATA)
    loaded = values(TRILOBITE, leafwise.load(tmp_path / "m.safetensors", TRILOBITE))
    assert np.array_equal(loaded, values(TRILOBITE, built.evaluator("made")))


def test_what_writes_into_its_input_is_sound_and_a_module_keeps_its_mode() -> None:
    class Writes(nn.Sequential):
        def __init__(self, space: Any, outputs: int) -> None:
            super().__init__(nn.Hardtanh(0.1, 0.5, inplace=True), nn.Flatten(), nn.LazyLinear(outputs), nn.Tanh())

    for says in ("value", "policy"):
        built: Any = leafwise.torch_network(TRILOBITE, Writes, says=says)
        built.module.eval()
        built.evaluator("leaf")
        assert not [part for part in built.module.modules() if part.training]


def test_a_file_cannot_ask_for_more_memory_than_it_has_weights(tmp_path: Path) -> None:
    leafwise.save_network(tmp_path / "m.safetensors", leafwise.torch_network(TRILOBITE, "mlp", hidden=(4,)), METADATA)
    tensors, metadata = load_tensors(tmp_path / "m.safetensors")
    save_tensors(tmp_path / "big.safetensors", tensors, {**metadata, "arguments": {"hidden": [10**8, 10**8]}})
    with one_line(r"network 'mlp': expected '0.1.weight' \[100000000, \d+\], got \[4, \d+\]"):
        leafwise.load(tmp_path / "big.safetensors", TRILOBITE)
