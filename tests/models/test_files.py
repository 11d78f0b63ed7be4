"""Model files: what is saved is loaded, and what does not fit is refused in one line."""

import json
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open

import leafwise
from games.refusals import one_line
from leafwise.envs.threes import GAME
from leafwise.models import load_evaluator, load_ntuples, named_leaf, save_network
from leafwise.models.files import shipped_name
from leafwise.models.ntuple import NTupleShape
from leafwise.models.tensors import WEIGHTS, load_tensors, save_tensors, shipped_headers, write_atomically
from running.networks import METADATA, random_ntuples


@pytest.fixture
def network():
    return random_ntuples(GAME, NTupleShape(((0, 1), (5, 6)), 0.5))


def test_round_trip(tmp_path, network):
    path = tmp_path / "model.safetensors"
    save_network(path, network, METADATA)
    loaded = load_ntuples(path, GAME)
    assert loaded.shape == network.shape
    assert np.array_equal(loaded.weights.table, network.weights.table)
    state = GAME.parse("1 2 3 6/0 0 0 0/0 0 12 0/3 3 0 0")
    assert state.value(load_evaluator(GAME, tmp_path)) == state.value(network.evaluator("x"))
    assert leafwise.load(path).value is network.evaluator("x").value
    assert [p.name for p in tmp_path.iterdir()] == ["model.safetensors"]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("format", 99, "expected format 1, got 99"),
        ("kind", "tree", "expected kind 'ntuple or ntuple-packed', got 'tree'"),
        ("game", "chess", "expected a model of game 'threes', got 'chess'"),
        ("options", {"hint": "exact"}, "expected a model of variant {}, got"),
        ("feature_version", 0, "expected feature version 1, got 0"),
        ("tuples", [[0, 1]], r"expected float32 \[11280\], got"),
        ("tuples", [[0, "a"]], "expected tuples|not supported|'<='"),
        ("stage", "setup", "expected a stage among draw, enter, got 'setup'"),
        ("small", ["decks"], "expected small tables among deck, .*, got 'decks'"),
        ("splits", [13, 12], "expected ascending ranks of 1 to 15 as splits, got"),
        ("splits", [13], r"expected float32 \[23072\], got"),
        ("base", float("nan"), "expected metadata 'base' 'a finite number', got nan"),
        ("stage", None, "expected metadata 'stage' of type 'str', got None"),
        ("power", "1", "expected metadata 'power' of type"),
        ("steps", None, "expected metadata 'steps' of type 'int', got None"),
        ("steps", -5, "expected metadata 'steps' '0 or more', got -5"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path, network, name, value, message):
    path = tmp_path / "model.safetensors"
    save_network(path, network, METADATA)
    tensors, metadata = load_tensors(path)
    save_tensors(path, tensors, {**metadata, name: value})
    with one_line(message):
        load_ntuples(path, GAME)


def test_weights_must_be_finite(tmp_path, network):
    network.weights.table[3] = np.nan
    save_network(tmp_path / "m.safetensors", network, METADATA)
    with one_line("expected weights 'finite'"):
        load_ntuples(tmp_path / "m.safetensors", GAME)


@pytest.mark.parametrize("data", [b"", b"\x80\x04nonsense", b"\xff" * 64, json.dumps({"a": 1}).encode()])
def test_other_files_are_refused(tmp_path, data):
    path = tmp_path / "m.safetensors"
    path.write_bytes(data)
    with one_line("expected a leafwise"):
        leafwise.load(path)


def test_missing_files_and_names():
    with one_line("expected a model file, found nothing"):
        leafwise.load("no/such/file")
    with one_line(
        r"expected a leaf among best, openness, .*, learned, rollout:n=20, sb3:FILE.zip, .* or a model.s path, got .opennes."
    ):
        named_leaf(GAME, "opennes")


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    write_atomically(path, b"old")
    with pytest.raises(TypeError):
        write_atomically(path, "no bytes")  # type: ignore[arg-type]
    assert path.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1


def flipped(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


@pytest.mark.parametrize("shipped", ["cassis", "starshipplace", "threes-small"])
def test_no_flipped_bit_of_a_model_loads(tmp_path, shipped):
    tensors, metadata = load_tensors(WEIGHTS / f"{shipped}.safetensors")
    path = tmp_path / "model.safetensors"
    save_tensors(path, tensors, metadata)
    whole = path.read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    rng = np.random.default_rng(1)
    for bit in (*rng.integers(8 * header, 8 * len(whole), 100), *rng.integers(64, 8 * header, 20)):
        path.write_bytes(flipped(whole, int(bit)))
        try:
            again, metadata_read = load_tensors(path)
        except ValueError:
            continue
        assert metadata_read == metadata
        assert all(np.array_equal(again[name], tensor) for name, tensor in tensors.items())
        assert bit < 8 * header


def test_every_model_that_ships_is_checked():
    without = {path.stem for path in WEIGHTS.glob("*.safetensors") if not has_checksum(path)}
    assert without == {"cassis", "cassis8", "trilobite"}
    assert len(shipped_headers()) == 3
    for path in WEIGHTS.glob("*.safetensors"):
        assert load_tensors(path)[1]["tables"]


def has_checksum(path):
    with safe_open(path, framework="numpy") as file:
        return "sha256" in file.metadata()


def test_a_file_without_a_checksum_is_one_that_ships(tmp_path):
    """Wherever it stands, and whatever it is called."""
    whole, path = (WEIGHTS / "cassis.safetensors").read_bytes(), tmp_path / "mine.safetensors"
    path.write_bytes(whole)
    assert load_tensors(path)[1] == load_tensors(WEIGHTS / "cassis.safetensors")[1]
    path.write_bytes(flipped(whole, 8 * len(whole) - 5))
    with one_line(r"mine.safetensors': expected a SHA-256 in the header, or a shipped model"):
        load_tensors(path)


def test_a_leaf_is_one_line(network):
    assert repr(network.evaluator("mine")).startswith("Evaluator(name='mine', stage='")
    for name in ("threes", "trilobite", "friday", "starshipplace"):
        shown = repr(leafwise.load(name))
        assert shown.startswith(f"Evaluator(name='{name}', stage='")
        assert "\n" not in shown
        assert len(shown) < 250


@pytest.mark.parametrize(("metadata", "names"), [({"notes": "x" * 5000}, "notes"), ({}, "none")])
def test_a_file_without_a_game_keeps_its_metadata_to_itself(tmp_path, network, metadata, names):
    path = tmp_path / "model.safetensors"
    save_tensors(path, network.tensors, metadata)
    with one_line(rf"expected metadata that names a game and its options, got {names}$"):
        leafwise.load(path)


@pytest.mark.parametrize("options", [{"name": 1}, {"self": "threes"}, {"hint": ["exact"]}, {"hint": {}}])
def test_a_file_names_no_keywords(tmp_path, network, options):
    path = tmp_path / "model.safetensors"
    save_network(path, network, METADATA)
    tensors, metadata = load_tensors(path)
    save_tensors(path, tensors, {**metadata, "options": options})
    for game in ("", "threes"):
        with one_line(r"^(threes: expected |model .*: expected a model of variant)"):
            leafwise.load(path, game)


SHIPS: dict[str, list[dict[str, Any]]] = {
    "trap": [{}, *({"size": size} for size in (5, 6, 8, 9))],
    "trilobite": [{}, {"board": "7x6", "k": 4}],
    "threes": [{}],
    "cassis": [{}, {"n": 7}, {"n": 8}],
}


@pytest.mark.parametrize(
    ("name", "options"),
    [("trap", {"size": 4}), ("trilobite", {"board": "5x5"}), ("threes", {"hint": "exact"}), ("cassis", {"n": 5})],
)
def test_where_no_model_ships_the_variants_are_named_that_one_ships_for(name, options):
    game = leafwise.game(name, **options)
    ships = ", ".join(repr(leafwise.game(name, **variant)) for variant in SHIPS[name])
    with pytest.raises(ValueError, match="expected a variant that a model ships for") as refused:
        named_leaf(game, "learned")
    assert f"({ships}), got {game!r}; hand-made leaves are " in str(refused.value)
    assert named_leaf(game, "best").name == game.default_score
    assert named_leaf(leafwise.game(name), "best").name == shipped_name(leafwise.game(name))


def test_options_that_no_network_sees_have_a_model_too():
    for game in (leafwise.game("friday", level=4), leafwise.game("trap", self_trap="deferred", max_turns=50)):
        assert named_leaf(game, "learned").name == named_leaf(game, "best").name == game.name
