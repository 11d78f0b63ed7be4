"""ONNX files as leaves, and networks as ONNX files."""

from __future__ import annotations

import pickle
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leafwise
from games.refusals import one_line
from leafwise.__main__ import run
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.gym.observation import Observer
from leafwise.models import onnx_leaf
from leafwise.models.ntuple import NTupleShape
from leafwise.models.onnx_export import exported, write_onnx
from leafwise.models.onnx_leaf import model_of
from leafwise.search.frontier import values_of
from running.networks import random_network, random_ntuples

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
helper = onnx.helper
FLOAT = onnx.TensorProto.FLOAT
TRILOBITE, THREES = leafwise.game("trilobite"), leafwise.game("threes")


@cache
def positions(game: Game, stage: str, count: int) -> Any:
    """Returns rows of decisions and of a stage in random games, which nobody writes to."""
    rows: list[Any] = []
    rng, seed = np.random.default_rng(1), 0
    while len(rows) < count:
        state, seed = game.new(seed), seed + 1
        while not state.is_terminal:
            if state.is_chance:
                chances, after = zip(*state.outcomes(), strict=True)
                state, before = after[rng.choice(len(after), p=np.divide(chances, sum(chances)))], state
            else:
                state, before = state.play(int(rng.choice(state.legal_actions))), state
            if not before.is_chance or before.stage == stage:
                rows.append(before.row)
    found = np.array(rows[:count])
    found.flags.writeable = False
    return found


def agree(network: Any, file: Path, count: int) -> None:
    """Checks that a network and its file say the same of positions, from the observation alone."""
    game = network.game
    write_onnx(network, file)
    leaf = network.evaluator("own")
    rows, T = positions(game, leaf.stage, count), game.tables(leaf)
    own = np.zeros(len(rows))
    if leaf.batch is None:
        values_of(leaf, game.room)(rows, own, T)
    else:
        own = leaf.batch(rows, T)
    model = model_of(game, file)
    seen = Observer(game, model.observation)(
        rows, viewers=np.full(count, game.players == 2, dtype=np.int8) * np.int8(-1)
    )
    assert isinstance(seen.obs, np.ndarray)
    assert model.to_go == leaf.to_go
    theirs = np.concatenate([model.numbers(seen.obs[k : k + 1000]) for k in range(0, len(rows), 1000)])
    assert theirs.dtype == np.float32
    if model.kind == "q":
        theirs = np.where(seen.mask, theirs, -np.inf).max(axis=1, keepdims=True)
    assert theirs.shape == (len(rows), 1)
    np.testing.assert_allclose(theirs[:, 0], own, rtol=1e-5, atol=1e-5)
    assert np.unique(own).size > len(np.unique(rows, axis=0)) // 20  # else anything would agree
    assert leafwise.leaf(game, file).to_go == leaf.to_go


C4: dict[str, Any] = {"board": "7x6", "k": 4}
SPARSE: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "value": ("trilobite", C4, {"sees": "observation"}),
    "wdl": ("trilobite", C4, {"sees": "observation", "head": "wdl"}),
    "max": ("trap", {}, {"sees": "observation", "head": "max"}),
    "policy": ("trap", {"size": 8}, {"sees": "reach", "head": "policy"}),
    "chance": ("friday", {}, {"sees": "observation", "head": "chance"}),
    "score": ("threes", {}, {"sees": "observation", "scale": 30.0}),
    "level": ("friday", {"level": 4}, {"head": "chance"}),
    "turn": ("trap", {"size": 9, "observe_turn": True}, {}),
    "each": ("trilobite", {"board": "4x6", "k": 4}, {"head": "max"}),
    "oblong": ("trilobite", {"board": "8x5", "k": 5}, {"sees": "parity"}),
}
SHIPPED = ("cassis", "cassis7", "friday", "threes-small", "trap", "trap-size5", "trilobite", "trilobite7x6")


def shipped(name: str) -> Any:
    from leafwise.models.files import game_of, load_network, model_path

    return load_network(model_path(name), game_of(name))


def drawn(case: str) -> Any:
    """Returns a network of random weights."""
    name, options, shape = SPARSE[case]
    return random_network(leafwise.game(name, **options), (16, 8), spread=0.1, **shape)


def torch_net(name: str) -> Any:
    """Returns a network of torch: for a two-player game, for a score, and for actions."""
    cases: dict[str, tuple[str, dict[str, Any]]] = {
        "mlp": ("trilobite", {}),
        "conv": ("threes", {"sees": "planes", "scale": 20.0, "channels": (4,)}),
        "resnet": ("trap", {"says": "q", "channels": 4}),
    }
    game, arguments = cases[name]
    return leafwise.torch_network(leafwise.game(game), name, hidden=(8,) if name == "mlp" else 8, seed=1, **arguments)


@pytest.mark.parametrize("case", SPARSE)
def test_networks_of_what_the_observation_tells_are_the_same(case: str, tmp_path: Path) -> None:
    agree(drawn(case), tmp_path / "net.onnx", 300)


@pytest.mark.parametrize("name", SHIPPED)
def test_networks_that_ship_are_the_same(name: str, tmp_path: Path) -> None:
    agree(shipped(name), tmp_path / "net.onnx", 300)


@pytest.mark.parametrize("name", ["mlp", "conv", "resnet"])
def test_networks_of_torch_are_the_same(name: str, tmp_path: Path) -> None:
    agree(torch_net(name), tmp_path / "net.onnx", 300)


@pytest.mark.long
@pytest.mark.parametrize(
    ("make", "name"), [(shipped, name) for name in SHIPPED] + [(drawn, case) for case in SPARSE] + [(torch_net, "conv")]
)
def test_networks_are_the_same_in_ten_thousand_positions(make: Any, name: str, tmp_path: Path) -> None:
    agree(make(name), tmp_path / "net.onnx", 10_000)


def test_the_command_writes_what_the_file_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "net.onnx"
    assert run(["models", "export", "cassis", "--onnx", str(file)]) == 0
    assert "ONNX opset 18" in capsys.readouterr().out
    assert file.read_bytes() == exported(shipped("cassis"))
    with pytest.raises(SystemExit):
        run(["models", "export", "--help"])
    assert "--onnx FILE" in capsys.readouterr().out


@pytest.mark.parametrize(
    "shape",
    [
        NTupleShape(((0, 1, 2, 5), (5, 4, 6)), splits=(3, 5), small=("deck", "large"), base=7.0),
        NTupleShape(((0, 1, 2),), power=0, small=("deck_empties",)),
        NTupleShape(((0, 1, 2),), power=1.0, small=()),
    ],
)
def test_n_tuple_networks_are_the_same(shape: NTupleShape, tmp_path: Path) -> None:
    agree(random_ntuples(THREES, shape), tmp_path / "net.onnx", 300)


def test_networks_of_more_than_the_observation_are_refused() -> None:
    with one_line(
        "trilobite: expected a network that sees only the observation, got one that sees 'features.observation'"
    ):
        exported(random_network(TRILOBITE, sees="features+observation"))
    with one_line("threes: expected small tables that the observation determines, got 'hint'"):
        exported(random_ntuples(THREES, NTupleShape(((0, 1),), small=("hint",))))
    with one_line("starship: expected a network of features, of n-tuples or of torch, got one of kind 'grid'"):
        exported(shipped("starshipplace"))


def made(
    folder: Path, shape: tuple[Any, ...] = ("n", 9), kind: int = FLOAT, names: tuple[str, ...] = ("x",),
    outputs: tuple[str, ...] = ("y",), domain: str = "", external: bool = False, node: str = "ReduceSum",
) -> Path:  # fmt: skip
    """Writes a file whose value is the sum of the observation of 3x3 Trilobite."""
    axes = helper.make_tensor("axes", onnx.TensorProto.INT64, [1], [1])
    if external:
        axes.data_location = onnx.TensorProto.EXTERNAL
        axes.ClearField("int64_data")
        axes.external_data.add(key="location", value="secret.bin")
    nodes = [helper.make_node("Cast", [names[0]], ["f"], to=FLOAT)]
    nodes += [helper.make_node(node, ["f", "axes"], [name], domain=domain) for name in outputs]
    graph = helper.make_graph(
        nodes, "sum", [helper.make_tensor_value_info(name, kind, shape) for name in names],
        [helper.make_tensor_value_info(name, FLOAT, None) for name in outputs], [axes],
    )  # fmt: skip
    sets = [helper.make_opsetid("", 18), *([helper.make_opsetid(domain, 1)] if domain else [])]
    path = folder / "net.onnx"
    path.write_bytes(helper.make_model(graph, opset_imports=sets, ir_version=10).SerializeToString())
    return path


def test_a_file_is_a_leaf_and_a_players(tmp_path: Path) -> None:
    path = made(tmp_path)
    leaf = leafwise.leaf(TRILOBITE, path, scale=0.5)
    state = TRILOBITE.start().play("2").play("2").play("1")
    assert leaf.batch is not None
    for text, worth in ((leaf, -0.5), (leafwise.leaf(TRILOBITE, f"onnx:{path},threads=2"), -1.0)):
        assert text.batch(state.row[None], None) == [worth]  # type: ignore[misc]
    players = [
        leafwise.player(text, TRILOBITE) for text in (f"search:onnx:{path},threads=2,depth=2", f"greedy:onnx:{path}")
    ]
    assert all(who.choose(state) in state.legal_actions for who in players)
    again = pickle.loads(pickle.dumps(leaf))
    assert again.batch(state.row[None], None) == [-0.5]


def test_batches_of_any_length_are_valued_in_arrays_that_are_used_again(tmp_path: Path) -> None:
    leaf, rows = leafwise.leaf(TRILOBITE, made(tmp_path), scale=0.5), positions(TRILOBITE, "decision", 40)
    won = TRILOBITE.parse(".../xoo/xox").play("1")
    rows = np.concatenate([rows, won.row[None]])
    worth = np.append(Observer(TRILOBITE)(rows[:-1]).obs.sum(axis=1) * 0.5, 0.0)  # type: ignore[union-attr]
    assert won.is_terminal
    assert leaf.batch is not None
    for start, n in (
        (0, 1),
        (1, 1),
        (2, 1),
        (40, 1),
        (3, 1),
        (0, 9),
        (5, 9),
        (30, 11),
        (9, 9),
        (10, 2),
        (4, 1),
        (0, 41),
        (0, 41),
    ):
        assert leaf.batch(rows[start : start + n], None).tolist() == worth[start : start + n].tolist()


def test_two_outputs_are_told_apart_by_name(tmp_path: Path) -> None:
    model = model_of(TRILOBITE, made(tmp_path, outputs=("policy", "value")))
    assert model.numbers(np.ones((2, 9), np.float32)).tolist() == [[9.0], [9.0]]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"shape": ("n", 8)}, "expected input 'x' of shape [n, 9], got [n, 8]"),
    ({"shape": (1, 9)}, "expected input 'x' of shape [n, 9], got [1, 9]"),
    ({"shape": ("n", 3, 3)}, "expected input 'x' of shape [n, 9], got [n, 3, 3]"),
    ({"kind": onnx.TensorProto.INT64}, "expected input 'x' of type float or float32, got tensor(int64)"),
    ({"names": ("x", "z")}, "expected inputs of one name, got x, z"),
    ({"outputs": ("y", "z")}, "expected one output, or one called 'value', got y, z"),
    ({"external": True}, "expected its weights in the file itself, got 'axes' in another one"),
    ({"domain": "com.microsoft"}, "expected operators of ONNX alone, got the domain 'com.microsoft'"),
    ({"node": "Nonsense"}, "expected a model that ONNX Runtime takes, got: "),
]


@pytest.mark.parametrize(("file", "message"), REFUSED)
def test_a_file_that_does_not_fit_is_refused_in_one_line(file: dict[str, Any], message: str, tmp_path: Path) -> None:
    with one_line(f"^ONNX file '.*': {re.escape(message)}"):
        leafwise.leaf(TRILOBITE, made(tmp_path, **file))


def test_weights_in_another_file_are_found_wherever_they_stand(tmp_path: Path) -> None:
    """In a graph within a graph, as an attribute."""
    hidden = onnx.TensorProto(name="deep", data_location=onnx.TensorProto.EXTERNAL)
    inner = helper.make_graph([helper.make_node("Constant", [], ["c"], value=hidden)], "inner", [], [])
    node = helper.make_node("If", ["x"], ["y"], then_branch=inner, else_branch=inner)
    path = tmp_path / "net.onnx"
    path.write_bytes(helper.make_model(helper.make_graph([node], "g", [], [])).SerializeToString())
    with one_line("expected its weights in the file itself, got 'deep' in another one"):
        leafwise.leaf(TRILOBITE, path)


def test_what_is_no_file_or_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with one_line("expected an ONNX file, got"):
        leafwise.leaf(TRILOBITE, tmp_path / "none.onnx")
    (path := tmp_path / "a.onnx").write_bytes(b"\xff nothing")
    with one_line("expected an ONNX model, got none"):
        leafwise.leaf(TRILOBITE, path)
    with one_line("expected onnx:FILE.onnx or onnx:FILE.onnx,threads=2, got 'onnx:'"):
        leafwise.leaf(TRILOBITE, "onnx:")
    with one_line("expected threads of 1 to 256, got 0"):
        leafwise.leaf(TRILOBITE, "onnx:a,threads=0")
    monkeypatch.setattr(onnx_leaf, "MAX_BYTES", 5)
    with one_line("expected at most 5 bytes, got"):
        leafwise.leaf(TRILOBITE, path)
