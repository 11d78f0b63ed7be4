"""Kinds of networks and tables of features: a kind from outside, rooms that add features, and the shipped files."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leafwise
from games import solitaire
from games.refusals import one_line
from leafwise.envs.core.compile.jit import bind, jit
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.features import FeatureTable, SmallTable, check_tables
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.registry import game as find_game
from leafwise.models import NetworkKind, NTupleNetwork, files, load_network, network, register_network, save_network
from leafwise.models.files import load_evaluator, model_path
from leafwise.models.network import network_kind
from leafwise.models.ntuple import NTupleShape
from leafwise.models.tensors import WEIGHTS, load_tensors, save_tensors

METADATA = {"steps": 3, "command": "none", "commit": "none"}
ZERO = np.uint64(0)


@dataclass(frozen=True)
class Linear:
    """Weights for the words of a row: the whole of a kind of networks, as it would stand in a file of its own."""

    game: Game
    weights: Any

    @property
    def kind(self) -> NetworkKind:
        return KIND

    @property
    def metadata(self) -> dict[str, Any]:
        return {"scale": 10.0}

    @property
    def tensors(self) -> Mapping[str, Any]:
        return {"weights": self.weights}

    def evaluator(self, name: str) -> Evaluator:
        return Evaluator(name, None, batch=self.values)

    def values(self, rows: Any, T: Any) -> Any:
        return 10.0 * (rows.astype(np.float32) @ self.weights[:-1] + self.weights[-1])


def create(game: Game, metadata: Mapping[str, Any], tensors: Any = None, tables: Any = None) -> Linear:
    weights = np.zeros(game.width + 1, dtype=np.float32) if tensors is None else tensors["weights"]
    if weights.shape != (game.width + 1,):
        raise ValueError(f"expected {game.width + 1} weights, got {weights.shape}")
    return Linear(game, weights)


def module(given: Linear) -> Any:
    import torch

    class Module(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weights = torch.nn.Parameter(torch.tensor(given.weights))

        def forward(self, rows: Any) -> Any:
            return rows @ self.weights[:-1] + self.weights[-1]

        def export(self) -> Linear:
            return Linear(given.game, self.weights.detach().numpy().copy())

    return Module()


KIND = NetworkKind("linear", create, needs={"scale": float}, module=module)


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "_registered", {})
    register_network(KIND)


def game_of_random(seed: int) -> tuple[list[Any], float]:
    """Rows of the decisions of a random game, and its return."""
    rng, stream, rows = np.random.default_rng(seed), new_stream(seed), []
    state = solitaire.GAME.new(seed)
    while not state.is_terminal:
        rows.append(state.row)
        state = state.play(int(rng.choice(state.legal_actions))).settle(stream)
    return rows, state.returns


def test_a_kind_of_ones_own_is_trained_saved_loaded_and_searched(tmp_path: Path) -> None:
    import torch

    games = [game_of_random(seed) for seed in range(60)]
    rows = torch.tensor(np.concatenate([r for r, _ in games]).astype(np.float32))
    labels = torch.tensor(np.repeat([x / 10 for _, x in games], [len(r) for r, _ in games]).astype(np.float32))
    learner = network_kind("linear").torch_module(KIND.create(solitaire.GAME, {"scale": 10.0}))
    optimizer = torch.optim.Adam(learner.parameters(), lr=0.02)
    losses = []
    for _ in range(200):
        loss = torch.nn.functional.mse_loss(learner(rows), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.5 * losses[0]
    save_network(tmp_path / "m.safetensors", learner.export(), METADATA)
    loaded = load_network(tmp_path / "m.safetensors", solitaire.GAME)
    assert isinstance(loaded, Linear)
    assert np.array_equal(loaded.weights, learner.export().weights)
    state = solitaire.GAME.new(3)
    result = leafwise.Search(solitaire.GAME, load_evaluator(solitaire.GAME, tmp_path / "m.safetensors"), depth=2)(state)
    expected = leafwise.Search(solitaire.GAME, learner.export().evaluator("x"), depth=2)(state)
    assert result.values == expected.values
    assert len(set(result.values.values())) > 1
    tensors, metadata = load_tensors(tmp_path / "m.safetensors")
    save_tensors(tmp_path / "m.safetensors", tensors, {**metadata, "scale": float("inf")})
    with one_line("expected metadata 'scale' 'a finite number', got inf"):
        load_network(tmp_path / "m.safetensors", solitaire.GAME)


def test_names_of_kinds_are_ones_own() -> None:
    register_network(KIND)  # the same once more
    for name in ("linear", "sparse"):
        with one_line(f"expected a new name for a kind of network, got '{name}', which is taken"):
            register_network(replace(KIND, name=name, version=lambda game, metadata: 2))
    with one_line("expected a kind of network that torch trains, got 'ntuple'"):
        network_kind("ntuple").torch_module(KIND.create(solitaire.GAME, {}))


def test_kinds_of_installed_packages_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "_installed", lambda: {"own": "leafwise.models.sparse:KIND", "gone": "no.such:KIND"})
    assert network_kind("own").name == "sparse"
    assert network.network_kinds()[-3:] == ("own", "gone", "linear")
    with one_line(r"expected a kind of network 'gone' in 'no.such:KIND', got No module"):
        network_kind("gone")


def valued(game: Game, evaluator: Evaluator, seed: int, most: int) -> list[float]:
    """Values of the positions of a random game at the evaluator's stage."""
    values: list[float] = []
    rng, stream = np.random.default_rng(seed), new_stream(seed)
    state = game.new(seed)
    while not state.is_terminal and len(values) < most:
        state = state.play(int(rng.choice(state.legal_actions)))
        while state.is_chance:
            if state.stage == evaluator.stage:
                values.append(State(game, state.row).value(evaluator))
            state = state.sample(stream)
        if evaluator.stage == "decision" and not state.is_terminal:
            values.append(State(game, state.row).value(evaluator))
    return values


@jit(inline=True)
def index_with_one_more(S, i, k, T):
    """The room's tables with another between the first and the second."""
    if k == 1:
        return S[i, 0] & np.uint64(7)
    return old_index(S, i, k - 1 if k > 1 else k, T)


THREES = find_game("threes")
CELLS = THREES.features["ntuple"]
old_index = CELLS.index


def grown_threes() -> Game:
    """A copy of Threes with one feature more."""
    names = [*CELLS.tables]
    tables = {names[0]: CELLS.tables[names[0]], "corner": SmallTable(8), **{n: CELLS.tables[n] for n in names[1:]}}
    return replace(THREES, features={"ntuple": replace(CELLS, tables=tables, index=index_with_one_more)})


@pytest.mark.parametrize("name", ["threes-small", pytest.param("threes", marks=pytest.mark.long)])
def test_a_feature_added_to_threes_leaves_its_models_as_they_are(name: str, tmp_path: Path) -> None:
    grown = grown_threes()
    old = load_network(model_path(name), grown)
    for seed in range(3):
        own = valued(grown, old.evaluator("grown"), seed, 40)
        assert own == valued(THREES, load_network(model_path(name), THREES).evaluator("old"), seed, 40)
        assert len(set(own)) > 10
    save_network(tmp_path / "m.safetensors", old, METADATA)
    assert list(load_tensors(tmp_path / "m.safetensors")[1]["tables"]) == ["deck", "deck_empties", "large"]
    assert np.array_equal(load_network(tmp_path / "m.safetensors", THREES).weights.table, old.weights.table)
    fresh = NTupleNetwork.create(grown, NTupleShape(((0, 1),)))
    assert fresh.shape.small == ("deck", "corner", "deck_empties", "large")
    save_network(tmp_path / "m.safetensors", fresh, METADATA)
    with one_line(r"expected tables among deck, deck_empties, .*, got 'corner'"):
        load_network(tmp_path / "m.safetensors", THREES)


def test_a_table_that_changed_refuses_old_models() -> None:
    changed = {**CELLS.tables, "deck": replace(CELLS.tables["deck"], version=2)}
    game = replace(THREES, features={"ntuple": replace(CELLS, tables=changed)})
    with one_line("expected table 'deck' of version 2 and size 8000, got version 1 and size 8000"):
        load_network(model_path("threes-small"), game)


@pytest.mark.parametrize("first", [False, True])
def test_features_added_to_a_sparse_room_leave_its_models_as_they_are(first: bool) -> None:
    cassis = find_game("cassis")
    own = cassis.features["sparse"]
    old_active, size, shift = own.active, own.size(cassis.options), 5 if first else 0

    @bind(Path(__file__), inline=True)
    def active(S, i, F, T):
        n = old_active(S, i, F, T)
        for k in range(n):
            F[k] += shift
        F[n] = (0 if shift else size) + np.int64(S[i, 0] % np.uint64(5))
        return n + 1

    tables = {"features": FeatureTable(size), "more": FeatureTable(5)}
    grown = replace(
        own,
        active=active,
        size=lambda options: size + 5,
        most=lambda options: own.most(options) + 1,
        tables=lambda options: dict(sorted(tables.items(), reverse=first)),
    )
    game = replace(cassis, features={**cassis.features, "sparse": grown})
    assert list(grown.tables_of(cassis.options)) == (["more", "features"] if first else ["features", "more"])
    new, old = (load_network(model_path("cassis"), g).evaluator("x") for g in (game, cassis))
    for seed in range(3):
        assert valued(game, new, seed, 20) == valued(cassis, old, seed, 20)


def test_numbers_added_to_a_grid_leave_its_models_as_they_are() -> None:
    starship = find_game("starship")
    own = starship.features["grid"]
    grown = replace(own, codes=own.codes + 2, maps=own.maps + 4, numbers=own.numbers + 3)
    wide, old = (
        load_network(model_path("starshipplace"), g) for g in (replace(starship, features={"grid": grown}), starship)
    )
    for name, more in (("embedding", 18), ("maps", 4), ("hidden", 3)):
        now, then = wide.tensors[name], old.tensors[name]
        assert len(now) == len(then) + more
        assert np.abs(now).sum() == pytest.approx(np.abs(then).sum())
    second = wide.tensors["embedding"][own.codes + 2 :][: own.codes]
    assert np.array_equal(second, old.tensors["embedding"][own.codes :][: own.codes])


def test_shipped_files_load_with_their_tables() -> None:
    for path in sorted(WEIGHTS.glob("*.safetensors")):
        metadata = load_tensors(path)[1]
        own = load_network(path, find_game(metadata["game"], **metadata["options"]))
        assert files.described(own)["tables"] == metadata["tables"]


def test_a_file_without_its_tables_is_refused(tmp_path: Path) -> None:
    tensors, metadata = load_tensors(model_path("cassis"))
    save_tensors(tmp_path / "m.safetensors", tensors, {name: metadata[name] for name in metadata.keys() - {"tables"}})
    with one_line(r"m.safetensors': expected tables by name, got None"):
        load_network(tmp_path / "m.safetensors", find_game("cassis"))


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ([], r"expected tables by name, got \[\]"),
        ({"a": 3}, "expected table 'a' with a size and a version, got 3"),
        ({"a": {"size": True, "version": 1}}, "expected table 'a' with a size and a version"),
        ({"b": {"size": 3, "version": 1}}, "expected tables among a, g, got 'b'"),
        ({"a": {"size": 2, "version": 1}}, "expected table 'a' of version 1 and size 3, got version 1 and size 2"),
        ({"g": {"size": 4, "version": 1}}, "expected table 'g' of version 1 and size 3, got version 1 and size 4"),
    ],
)
def test_impossible_tables_are_refused(tables: Any, message: str) -> None:
    known = {"a": FeatureTable(3), "g": FeatureTable(3, grows=True)}
    assert check_tables(known, {"g": {"size": 2, "version": 1}}) == {"g": FeatureTable(2)}
    with one_line(message):
        check_tables(known, tables)


@pytest.mark.parametrize("thing", [None, "linear", int, 3, {}])
def test_what_is_no_network_is_neither_registered_nor_saved(thing: Any, tmp_path: Path) -> None:
    with pytest.raises(leafwise.UserError, match=r"^register_network: expected a NetworkKind or a class of torch mod"):
        register_network(thing)
    with pytest.raises(leafwise.UserError, match=r"^save_network: expected a Network, got "):
        save_network(tmp_path / "n.safetensors", thing, METADATA)
    linear = Linear(solitaire.GAME, np.zeros(2))
    if thing != {}:
        with pytest.raises(leafwise.UserError, match=r"^save_network: expected metadata as a mapping, got "):
            save_network(tmp_path / "n.safetensors", linear, thing)
    assert not [*tmp_path.iterdir()]


def test_a_network_is_saved_to_a_file_named_by_a_text(tmp_path: Path) -> None:
    save_network(str(tmp_path / "n.safetensors"), Linear(solitaire.GAME, np.zeros(2)), METADATA)  # type: ignore[arg-type]
    assert (tmp_path / "n.safetensors").is_file()
