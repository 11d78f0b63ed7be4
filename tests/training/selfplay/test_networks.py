"""Torch modules that learn by self-play: games side by side are those played one by one, runs go on, what does not fit is told."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import leafwise
from games import dice
from games.refusals import one_line
from leafwise.envs.core.contract.state import State
from leafwise.models import modules
from leafwise.models.files import load_network
from leafwise.models.modules import TorchNetwork
from leafwise.models.network import text_of
from leafwise.models.seen import cells_of
from leafwise.models.sparse import BOUND
from leafwise.training.batches import NOBODY, PlayOptions, SideBySide
from leafwise.training.games import play_batches
from leafwise.training.networks import SparseModule, torch_module
from leafwise.training.runs.files import Curves
from leafwise.training.runs.folder import load_checkpoint
from leafwise.training.selfplay import selfplay, value_td
from running.networks import random_network
from running.training import cut_and_compare, learn, refusal

GAME, THREES = leafwise.game("trilobite"), leafwise.game("threes")
SMALL: dict[str, Any] = {
    "game": "trilobite", "network": "resnet,blocks=1,channels=8,hidden=16", "total_steps": 5, "games": 600, "job_size": 150,
    "epochs": 6.0, "plies": 7, "batch_size": 256, "match_pairs": 100, "solver_positions": 0, "checkpoint_seconds": 0.0,
    "exact_nodes": 50,
}  # fmt: skip


class AsTorch(nn.Module):
    """A sparse network that sees the observation, as a module that takes it."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.inner, self.first = SparseModule(network), torch.from_numpy(cells_of(network.game)[0])

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        return BOUND * torch.tanh(self.inner(obs.flatten(1).long() + self.first))


def assert_games_are_those_of(game: Any, evaluator: Any, same: Any, n: int) -> int:
    """Plays n games with the compiled search of an evaluator, and side by side with the same one; returns their decisions."""
    plain = next(play_batches(game, evaluator, range(n), n, depth=1, plies=3, by_search=True))
    games = SideBySide(game, (same,), 1).play(
        np.arange(n, dtype=np.uint64), np.full(n, NOBODY), PlayOptions(np.full(n, 3))
    )
    assert np.array_equal(games.outcomes, plain.scores)
    assert np.array_equal(np.searchsorted(games.record.first, np.unique(games.record.first), "right"), plain.ends)
    worth = np.where(plain.players == 1, -games.record.values, games.record.values)
    assert worth == pytest.approx(plain.values, abs=1e-5)
    return len(worth)


@pytest.mark.parametrize("game", [GAME, pytest.param(dice.GAME, marks=pytest.mark.long)], ids=lambda game: game.name)
def test_games_side_by_side_are_those_played_one_by_one(game: Any) -> None:
    assert assert_games_are_those_of(game, game.score(), game.score(), 300) > 300


def test_a_sparse_network_as_a_module_plays_the_same_moves() -> None:
    network = random_network(GAME, sees="observation")
    module = TorchNetwork(GAME, AsTorch(network), "as:Torch", {}, "default", "value", 1.0)
    assert assert_games_are_those_of(GAME, network.evaluator("sparse"), module.evaluator("torch"), 300) > 1000


def test_matches_are_played_from_both_seats() -> None:
    strong, weak = GAME.score(), leafwise.Evaluator("none", None, batch=lambda rows, T: np.zeros(len(rows)))
    games, n = SideBySide(GAME, (strong, weak), 2), 100
    seats = np.arange(n) % 2
    played = games.play(np.arange(n, dtype=np.uint64) // 2, 1 - seats, PlayOptions(np.full(n, 2)))
    points = played.outcomes * (1 - 2 * seats)
    assert points.mean() > 0.1
    first = played.record.first
    acts = [State.unchecked(GAME, row).current_player for row in played.record.rows]
    assert (
        acts == seats[np.unique(first, return_inverse=True)[1]].tolist()
    )  # only the first one's decisions are recorded


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return selfplay.train(selfplay.Config(run=str(tmp_path_factory.mktemp("runs") / "whole"), **SMALL))


def test_it_learns_and_its_run_is_like_any_other(run: Any) -> None:
    network = load_network(run / "model.safetensors", GAME)
    assert (network.kind.name, network.name, network.sees) == ("torch", "resnet", "planes")
    assert any(name.endswith("running_mean") for name in network.tensors)
    assert Curves(run).read()["eval/elo"][-1][1] > 50
    checkpoint = load_checkpoint(run)
    assert checkpoint is not None
    games, matches = checkpoint[1]["games"], checkpoint[1]["match_games"]
    assert games == 3000
    assert 0 < matches <= 0.1 * games + 400  # the last iteration has a match whatever there was
    action = leafwise.player(f"search:{run},depth=2", GAME).choose(GAME.new(0))
    assert action in GAME.new(0).legal_actions


def test_a_run_that_is_cut_goes_on_to_the_same_tensors_however_many_processes_play(run: Any, tmp_path: Any) -> None:
    config = selfplay.Config(run=str(tmp_path / "cut"), **{**SMALL, "processes": 2})
    assert cut_and_compare(selfplay.SelfPlay, config, run, steps=3)["rollout/staleness"] == 0
    later = selfplay.Config(run=str(tmp_path / "later"), init_from=str(run), **SMALL)
    learner = selfplay.SelfPlay(later)
    kept = load_network(run / "model.safetensors", GAME).tensors
    assert all(np.array_equal(kept[name], learner.newest.tensors[name]) for name in kept)
    with pytest.raises(ValueError, match=r"^expected --network as in --init-from, 'resnet' with \{.*\}, got 'mlp'$"):
        selfplay.SelfPlay(replace(later, run=str(tmp_path / "other"), network="mlp"))


def test_value_td_learns_what_the_network_says_of_the_next_positions(tmp_path: Any) -> None:
    config = value_td.Config(run=str(tmp_path / "td"), **{**SMALL, "network": "mlp,hidden=16", "exact_nodes": 0})
    learner = value_td.ValueTd(replace(config, td_lambda=0.0, exploration=0.0, pool_share=0.0))
    learner.play()
    rows, targets = (learner.replay[name][: learner.replay.filled] for name in ("rows", "targets"))
    values = learner.newest.batch(rows, GAME.tables())
    first = [k for k in range(len(rows) - 1) if np.count_nonzero(rows[k + 1]) > np.count_nonzero(rows[k])]
    assert targets[:-1][first] == pytest.approx(-values[1:][first], abs=1e-5)  # who acts next is the other


@pytest.mark.long
def test_returns_to_come_are_learned_in_games_with_a_score(tmp_path: Any) -> None:
    words = [
        "--network",
        "mlp,hidden=16",
        "--run",
        str(tmp_path / "td"),
        "--total-steps",
        "1",
        "--games",
        "60",
        "--exploration",
        "0",
    ]
    assert learn("value-td", [*words, "--td-lambda", "1", "--match-pairs", "100", "--plies", "0"]) == 0
    state, network = load_checkpoint(tmp_path / "td"), load_network(tmp_path / "td" / "model.safetensors", THREES)
    assert state is not None
    targets = state[0]["targets"]
    assert network.scale > 10
    assert targets.min() >= 0
    assert 0.2 < targets.mean() / network.scale < 3
    assert network.evaluator("x").to_go


class Doubtful(nn.Module):
    """Tells values from -1 to 1 in a way that cannot be learned, or that its game does not take."""

    def __init__(self, space: Any, outputs: int, *, fault: str = "") -> None:
        super().__init__()
        self.fault, self.say = fault, nn.Linear(int(np.prod(space.shape)), outputs)
        nn.init.constant_(self.say.bias, 1.0)  # above 0 at first

    def forward(self, x: torch.Tensor) -> Any:
        values = torch.tanh(self.say(x.flatten(1)))
        if self.fault == "pair" and self.training:
            return values, values
        return values.detach() if self.fault == "detached" else values


@pytest.mark.parametrize(
    ("game", "fault", "message"),
    [
        ("trilobite", "detached", "expected numbers with gradients of its parameters, got none$"),
        ("trilobite", "pair", "expected one tensor in train mode, got tuple$"),
        (
            "friday",
            "",
            "a last layer, such as sigmoid, that keeps values from 0 to 1 as a chance to win, got -1 with larger",
        ),
    ],
)
def test_what_cannot_be_learned_is_one_line_before_any_game(game: str, fault: str, message: str) -> None:
    name = f"{text_of(Doubtful)},fault={fault}"
    with one_line(message):
        torch_module(leafwise.game(game), selfplay.Config(game=game, network=name))


def test_a_module_has_to_fit_into_memory_with_what_it_learns_with(monkeypatch: pytest.MonkeyPatch) -> None:
    config = selfplay.Config(game="trilobite", network="mlp,hidden=1000,1000")
    monkeypatch.setattr(modules, "memory_of_machine", lambda: 21e6)
    with one_line(r"memory of 21 MB, got 4 MB, 5 times that to learn$"):
        torch_module(GAME, replace(config, network="mlp,hidden=1000,1040"))
    torch_module(GAME, replace(config, network="mlp,hidden=1000,1000"))
    monkeypatch.setattr(modules, "memory_of_machine", lambda: 4e6)
    with one_line(r"memory of 4 MB, got 4 MB$"):
        torch_module(GAME, config)


OWN = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, space, outputs, *, factor=1.0):
        super().__init__()
        self.factor, self.last = factor, nn.Linear(space.shape[0] * space.shape[1] * space.shape[2], outputs)

    def forward(self, x):
        return self.factor * torch.tanh(self.last(x.flatten(1)))


class Open(Net):
    def forward(self, x):
        return 0.01 * self.last(x.flatten(1))


class Double(Net):
    def forward(self, x):
        return super().forward(x).double()
"""


def test_a_class_of_ones_own_learns_in_other_processes_and_what_does_not_fit_is_one_line(
    tmp_path: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEAFWISE_INHERITED_NETWORKS", "{}")
    (tmp_path / "own_value.py").write_text(OWN)
    words = [
        "--game",
        "trilobite",
        "--run",
        str(tmp_path / "own"),
        "--total-steps",
        "1",
        "--games",
        "200",
        "--plies",
        "3",
    ]
    words += ["--solver-positions", "0", "--match-pairs", "100", "--batch-size", "128"]
    named = ["--network", "own_value:Net"]
    assert "expected --module with the file or package 'own_value'" in refusal("selfplay", [*words, *named], capsys)
    module = ["--module", str(tmp_path / "own_value.py")]
    for more, message in (
        (["--network", "own_value:Net,factor=50.0"], "expected values from -1 to 1 for the player who acts, got "),
        (
            ["--network", "own_value:Open"],
            "expected a last layer, such as tanh, that keeps values from -1 to 1 for the player who acts, got ",
        ),
        (["--network", "own_value:Double"], "expected numbers of torch.float32, got torch.float64"),
        (["--network", "own_value:Net,width=2"], "expected arguments that build it, got {'width': 2}: "),
        (["--network", "mpl"], "expected a network among mlp, conv, resnet, MODULE:CLASS, got 'mpl'"),
        (
            ["--network", "mlp", "--hidden", "8", "8"],
            "expected --hidden only with --network sparse, got (8, 8) and 'mlp'",
        ),
        (["--network", "mlp", "--rare", "0.1"], "expected --rare only with --network sparse, got 0.1 and 'mlp'"),
    ):
        assert message in refusal("selfplay", [*words, *module, *more], capsys)
    assert learn("selfplay", [*words, *module, *named, "--job-size", "100", "--processes", "2"]) == 0
    assert load_network(tmp_path / "own" / "model.safetensors", GAME).name == "own_value:Net"
