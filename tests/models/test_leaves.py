"""Any model as a leaf: functions, torch modules; what is said of the numbers, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import leafwise
from games.refusals import one_line
from leafwise.envs.core.contract.rules import CHANCE
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.gym.observation import Observer
from leafwise.models.leaves import Values
from leafwise.search import Search

THREES, CASSIS = leafwise.game("threes"), leafwise.game("cassis")
RANDOM = np.random.default_rng(1)
WEIGHTS = RANDOM.normal(size=(20, 4))


def value(obs: NDArray[Any]) -> NDArray[np.float64]:
    """A number for each observation."""
    result: NDArray[np.float64] = np.tanh(obs @ WEIGHTS[: obs.shape[1], 0] / 8)
    return result


def q(obs: NDArray[Any]) -> NDArray[np.float64]:
    """A number for each of Threes' four actions."""
    result: NDArray[np.float64] = obs @ WEIGHTS
    return result


def expected(state: State, worth: Any) -> float:
    """Player 0's value of a position of Threes after an action: chance enumerated, decisions and ends by `worth`."""
    if state.is_chance:
        return sum(p * expected(after, worth) for p, after in state.outcomes())
    return float(worth(state))


def played(wanted: Callable[[State], bool]) -> State:
    """Plays Threes until a position is as wanted."""
    state, stream = THREES.new(1), new_stream(2)
    while not wanted(state):
        state = state.play(state.legal_actions[0]).settle(stream)
    return state


def seen(state: State) -> NDArray[Any]:
    obs = Observer(state.game)(state.row[None]).obs
    assert isinstance(obs, np.ndarray)
    return obs


@pytest.mark.parametrize("to_go", [True, False])
def test_a_search_backs_the_numbers_up(to_go: bool) -> None:
    leaf = leafwise.leaf("threes", value, to_go=to_go, discount=0.9, scale=3.0)
    state = THREES.parse("48 24 12 6/3 1 2 0/3 0 1 0/2 0 0 0 next=1 deck=0,2,1")

    def worth(after: State) -> float:
        number = 2.7 * float(value(seen(after))[0])
        return after.returns if after.is_terminal else after.returns + number if to_go else number

    result = Search(THREES, leaf, depth=1)(state)
    assert result.values == pytest.approx({a: expected(state.play(a), worth) for a in state.legal_actions})


def test_action_values_count_where_they_are_legal() -> None:
    leaf = leafwise.leaf(THREES, q, kind="q")
    state = played(
        lambda state: len(state.legal_actions) < 4 and int(q(seen(state)).argmax()) not in state.legal_actions
    )
    best = max(float(q(seen(state))[0, a]) for a in state.legal_actions)
    assert float(q(seen(state)).max()) > best
    assert state.value(leaf) == pytest.approx(best)


def test_numbers_for_player_0_change_sides() -> None:
    to_act, first = leafwise.leaf(CASSIS, value), leafwise.leaf(CASSIS, value, speaks_for="player_0")
    state = CASSIS.new(0)
    after = state.play(3)
    assert (state.current_player, after.current_player) == (0, 1)
    assert state.value(first) == state.value(to_act)
    assert after.value(first) == -after.value(to_act) != 0
    mover = Search(CASSIS, to_act, depth=1)(state).values
    assert mover[3] == pytest.approx(-after.value(to_act))
    assert Search(CASSIS, first, depth=1)(state).values[3] == pytest.approx(-mover[3])

    def actions(obs: NDArray[Any]) -> NDArray[Any]:
        return np.tanh(obs @ RANDOM_Q)

    RANDOM_Q = np.random.default_rng(2).normal(size=(len(seen(state)[0]), len(CASSIS.actions)))
    legal = list(after.legal_actions)
    numbers = actions(seen(after))[0, legal]
    assert after.value(leafwise.leaf(CASSIS, actions, kind="q")) == pytest.approx(numbers.max())
    assert after.value(leafwise.leaf(CASSIS, actions, kind="q", speaks_for="player_0")) == pytest.approx(-numbers.min())


def test_finished_games_and_chance() -> None:
    over = played(lambda state: state.is_terminal)
    assert over.value(leafwise.leaf(THREES, value)) == 0.0
    assert over.value(leafwise.leaf(THREES, value, to_go=False)) == over.returns
    chance = THREES.new(0).play(THREES.new(0).legal_actions[0])
    assert chance.current_player == CHANCE
    with one_line(r"^leaf 'value': expected decisions and finished games, got a chance stage$"):
        chance.value(leafwise.leaf(THREES, value))


class Net(torch.nn.Module):
    """A linear layer whose dropout shows whether it is asked while training."""

    def __init__(self, inputs: int = 20) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(inputs, 1), torch.nn.Dropout(0.5))

    def forward(self, obs: torch.Tensor) -> Any:
        return self.layers(obs)


def test_a_torch_module_is_asked_in_batches_and_left_as_it_was() -> None:
    net = Net()
    linear: Any = net.layers[0]
    leaf = leafwise.leaf(THREES, net)
    state = THREES.new(1)
    worth = float(seen(state)[0] @ linear.weight.detach().numpy()[0] + linear.bias.detach().numpy()[0])
    assert state.value(leaf) == pytest.approx(worth, rel=1e-5)
    assert net.training
    with one_line(r"^leaf: expected a module that takes observations \[n, 20\] as float32, got: .*shapes"):
        leafwise.leaf(THREES, Net(7))
    with one_line(r"^leaf: expected a module that returns one tensor, got tuple$"):
        leafwise.leaf(THREES, torch.nn.GRU(20, 3))


class Swapping(Net):
    """Answers the rows of a batch in another order."""

    def forward(self, obs: torch.Tensor) -> Any:
        return super().forward(obs).roll(1, 0)


class AlwaysTraining(Net):
    """Is never in eval mode, so that what it drops is drawn."""

    def train(self, mode: bool = True) -> AlwaysTraining:
        return super().train()


class Normed(AlwaysTraining):
    """Normalizes a batch by itself."""

    def forward(self, obs: torch.Tensor) -> Any:
        return self.layers[0](obs - obs.mean(0))


class Counting(Net):
    """Remembers how often it was asked."""

    def forward(self, obs: torch.Tensor) -> Any:
        self.get_parameter("layers.0.bias").add_(0.1)
        return super().forward(obs)


@pytest.mark.parametrize(
    ("module", "problem"),
    [
        (Swapping, "expected one number for a position in every batch, got .* alone, .* among 8$"),
        (AlwaysTraining, "expected one number for a position in every batch, got "),
        (Normed, "expected one number for a position in every batch, got "),
        (Counting, r"expected forward to leave all parameters and buffers, got a change of 'layers\.0\.bias'$"),
    ],
)
def test_a_module_that_depends_on_its_batch_or_changes_is_refused(module: type[Net], problem: str) -> None:
    torch.manual_seed(0)
    with one_line(rf"^leaf '{module.__name__}': {problem}"):
        leafwise.leaf(THREES, module())


def test_a_model_is_shown_what_it_takes() -> None:
    game = leafwise.game("trilobite")
    net = torch.nn.Sequential(torch.nn.Conv2d(2, 4, 3), torch.nn.Flatten(), torch.nn.Linear(4, 1))
    state = game.new(0).play(1).play(1)
    planes = Observer(game, "planes")(state.row[None]).obs
    with torch.no_grad():
        worth = float(net(torch.as_tensor(planes))[0, 0])
    assert state.value(leafwise.leaf(game, net, observation="planes")) == pytest.approx(worth, rel=1e-5)
    with one_line(r"^trilobite: expected an observation among default, planes, got 'onehot'$"):
        leafwise.leaf(game, net, observation="onehot")
    with one_line(r"^leaf: expected a module that takes observations \[n, 9\] as float32, got: "):
        leafwise.leaf(game, net)


def test_observations_of_starship_in_dicts(monkeypatch: pytest.MonkeyPatch) -> None:
    ship, sizes = leafwise.game("starship"), []

    def total(obs: dict[str, NDArray[Any]]) -> NDArray[Any]:
        sizes.append(len(next(iter(obs.values()))))
        return np.stack([a.reshape(len(a), -1).sum(axis=1) for a in obs.values()]).sum(axis=0)

    leaf = leafwise.leaf(ship, total)
    rows = np.repeat(ship.new(1).row[None], 5, axis=0)
    assert leaf.batch is not None
    once = leaf.batch(rows, ship.tables())
    monkeypatch.setattr(leaf.batch, "_most", 2)  # observations of ships take much memory: they are handed over in parts
    sizes.clear()
    assert np.array_equal(leaf.batch(rows, ship.tables()), once)
    assert sizes == [2, 2, 1]


def test_texts_and_leaves_pass_through() -> None:
    assert leafwise.leaf("threes", "openness").name == "openness"
    own = THREES.score("rows")
    assert leafwise.leaf(THREES, own) is own
    assert isinstance(leafwise.leaf(THREES, value).batch, Values)


REFUSED: list[tuple[Any, dict[str, Any], str]] = [
    (
        3,
        {},
        "expected a function of observations, a torch module, a PPO, .* or its .zip, an .onnx file, or the text of a leaf, got int",
    ),
    (object, {}, "expected a function of observations, .*, got type"),
    ("nonsense", {}, "expected a leaf among best, openness, .*, hf://OWNER/NAME, or a model's path, got 'nonsense'$"),
    ("openness", {"scale": 2.0}, "expected no options with a leaf's name or an Evaluator, got scale$"),
    (value, {"kind": "policy"}, "expected kind among value, q, got 'policy'$"),
    (value, {"speaks_for": "both"}, "expected speaks_for among to_act, player_0, got 'both'$"),
    (value, {"to_go": 1}, "expected to_go as True or False, got 1$"),
    (value, {"discount": 1.5}, "expected a finite discount above 0 and at most 1, got 1.5$"),
    (value, {"scale": float("nan")}, "expected a finite scale above 0, got nan$"),
    (value, {"normalize": "x.pkl"}, "expected normalize with a model of Stable-Baselines3 only$"),
    (q, {}, r"'q': expected numbers \[1, 1\], got \[1, 4\]$"),
    (value, {"kind": "q"}, r"'value': expected numbers \[1, 4\], got \[1\]$"),
    (lambda obs: np.full(len(obs), np.nan), {}, "expected finite numbers, got nan or infinity$"),
    ("none.zip", {}, "expected a model of Stable-Baselines3, found nothing at 'none.zip'$"),
]


@pytest.mark.parametrize(("model", "options", "problem"), REFUSED)
def test_what_is_no_leaf_gets_one_line(model: Any, options: dict[str, Any], problem: str) -> None:
    with one_line(problem):
        leafwise.leaf(THREES, model, **options)


def test_a_run_without_a_model_is_told_apart_from_a_name_that_nobody_knows(tmp_path: Path) -> None:
    with one_line(r"^expected a model file, found nothing at '.*model\.safetensors'$"):
        leafwise.leaf(THREES, str(tmp_path))


def test_a_search_says_how_a_model_becomes_a_leaf() -> None:
    with one_line(r"^search: expected an Evaluator, as leafwise.leaf\(game, model\) makes .*, got Net$"):
        Search(THREES, Net())  # type: ignore[arg-type]
