"""Packed networks: the file gives back the entries, and compiled and NumPy values agree after reloading."""

import os
import sys
import tracemalloc
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from games.refusals import one_line
from games.walks import positions
from leafwise.envs.core.compile.cache import WARNED
from leafwise.envs.core.compile.jit import ResolvedEntry
from leafwise.envs.threes import GAME
from leafwise.models import NTupleNetwork, load_ntuples, ntuple, save_network, shared_tables
from leafwise.models.files import _load_to_play, load_evaluator, load_tensors, save_tensors
from leafwise.models.ntuple import NTupleShape, NTupleWeights, load_to_train, merged, parse_tuples, quantised
from leafwise.search import Search
from running.networks import METADATA

TUPLES = parse_tuples("0123 569a 01245")
STEP = 0.05


@pytest.fixture(scope="module")
def network() -> NTupleNetwork:
    """A network with a few entries, small and large, in two stages."""
    rng = np.random.default_rng(3)
    shape = NTupleShape(TUPLES, splits=(7,))
    table = NTupleNetwork.create(GAME, shape).weights.table
    seen = rng.choice(len(table), len(table) // 3, replace=False)
    table[seen] = rng.normal(size=len(seen)) * 20
    table[seen[:5]] = (4000.0, -4000.0, STEP, -STEP, 0.4 * STEP)
    return NTupleNetwork.create(GAME, shape, table)


@pytest.fixture(scope="module")
def packed(network: NTupleNetwork) -> NTupleNetwork:
    return quantised(network, STEP)


@pytest.fixture(scope="module")
def saved(packed: NTupleNetwork, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "m.safetensors"
    save_network(path, packed, METADATA)
    return path


@pytest.fixture(scope="module")
def reloaded(saved: Path) -> NTupleNetwork:
    return load_ntuples(saved, GAME)


def test_the_file_gives_back_the_entries(
    network: NTupleNetwork, packed: NTupleNetwork, reloaded: NTupleNetwork
) -> None:
    assert reloaded.packed
    assert reloaded.shape == network.shape
    assert np.array_equal(reloaded.weights.table, packed.weights.table)
    assert np.array_equal(reloaded.weights.scales, packed.weights.scales)


def test_rounding_is_half_a_step_at_most(network: NTupleNetwork, reloaded: NTupleNetwork) -> None:
    sizes = network.shape.sizes(GAME) * network.shape.copies
    scale = np.repeat(np.tile(reloaded.weights.scales, network.shape.copies), sizes)
    error = np.abs(network.weights.table - scale * reloaded.weights.table)
    assert (error <= 0.5001 * scale).all()
    assert reloaded.weights.scales.max() == pytest.approx(4000 / 32767)
    assert reloaded.weights.scales.min() == np.float32(STEP)


def searched_rows(n: int) -> np.ndarray[Any, Any]:
    """Rows that searches of random games would value."""
    after = (state.play(a) for state in positions(GAME, n) for a in state.legal_actions)
    rows = (entered.row for one in after for _, entered in one.outcomes() if not entered.is_terminal)
    return np.array([*islice(rows, n)])


def test_compiled_values_equal_numpy_after_reloading(reloaded: NTupleNetwork) -> None:
    rows = searched_rows(3000)
    T, value = GAME.tables(reloaded.evaluator("x")), ResolvedEntry(reloaded.functions.ntuple_value)
    compiled = [value(rows, np.uint64(k), T) for k in range(len(rows))]
    cells = (rows[:, :1] >> (4 * np.arange(16, dtype=np.uint64))) & np.uint64(15)
    points = np.where(cells >= 3, 3.0 ** (cells.astype(float) - 2), 0) ** reloaded.shape.power
    sizes = reloaded.shape.sizes(GAME)
    starts, total = np.cumsum([0, *sizes]), points.sum(axis=1)
    stage = np.where(cells.max(axis=1) >= 7, sum(sizes), 0)
    scales, table = reloaded.weights.scales.astype(float), reloaded.weights.table.astype(float)
    boards = cells.reshape(-1, 4, 4).astype(np.int64)
    for board in (boards, boards.transpose(0, 2, 1)):
        for turns in range(4):
            seen = np.rot90(board, turns, axes=(1, 2)).reshape(-1, 16)
            for t, tuple_ in enumerate(TUPLES):
                index = sum(seen[:, c] << (4 * k) for k, c in enumerate(tuple_))
                total += scales[t] * table[stage + starts[t] + index]
    small_index = ResolvedEntry(GAME.features["ntuple"].index)
    small = np.array([[small_index(rows, np.uint64(i), k, T) for k in range(3)] for i in range(len(rows))])
    for k in range(3):
        total += scales[len(TUPLES) + k] * table[stage + starts[len(TUPLES) + k] + small[:, k].astype(np.int64)]
    assert np.allclose(compiled, total, rtol=1e-5, atol=1e-5)


def test_merged_tables_are_worth_the_same() -> None:
    """012 and 124 have the unit of 01245's table and go into it, one cell by one; 569 is not within it."""
    rng = np.random.default_rng(4)
    shape = NTupleShape(parse_tuples("012 569 421 01245"), splits=(7,))
    table = rng.integers(-9000, 9000, NTupleNetwork.create(GAME, shape).weights.table.shape, dtype=np.int16)
    kinds = len(shape.sizes(GAME))
    network = NTupleNetwork.create(GAME, shape, table, [STEP] * kinds)
    fewer = merged(network)
    assert fewer.shape.tuples == parse_tuples("569 01245")
    rows, (T, U) = searched_rows(300), (GAME.tables(n.evaluator("x")) for n in (network, fewer))
    for k in range(len(rows)):
        value = network.functions.ntuple_value(rows, np.uint64(k), T)
        assert fewer.functions.ntuple_value(rows, np.uint64(k), U) == pytest.approx(value, rel=1e-6, abs=0.01)
    full = NTupleNetwork.create(GAME, shape, table * 3, [STEP] * kinds)
    assert merged(full).shape.tuples == shape.tuples  # the sums would not fit
    table = rng.integers(-9000, 9000, table.shape, dtype=np.int16)
    others = NTupleNetwork.create(GAME, shape, table, [STEP, STEP, STEP, 2 * STEP] + [STEP] * (kinds - 4))
    assert merged(others).shape.tuples == shape.tuples


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, NTupleNetwork]:
    """The file of a network whose tables are kept in a cache of their own, and the network that plays."""
    monkeypatch.setenv("LEAFWISE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(ntuple, "LARGE", 1 << 20)
    monkeypatch.delenv(WARNED, raising=False)
    network = NTupleNetwork.create(GAME, NTupleShape(parse_tuples("01 012 01245 45689"), splits=(7,)), None)
    network.weights.table[::97] = 3.0
    save_network(tmp_path / "model.safetensors", quantised(network, STEP), METADATA)
    return tmp_path / "model.safetensors", merged(load_ntuples(tmp_path / "model.safetensors", GAME))


def played(path: Path) -> NTupleWeights:
    """Returns the weights of a model as a new process has them at its leaves."""
    _load_to_play.cache_clear()
    return load_evaluator(GAME, path).weights


def kept(path: Path) -> list[Path]:
    return sorted((path.parent / "cache" / shared_tables.FOLDER).iterdir())


@pytest.mark.filterwarnings("error")
def test_large_tables_are_unpacked_once_into_a_file_that_processes_share(large: tuple[Path, NTupleNetwork]) -> None:
    path, network = large
    first = played(path)
    (file,) = kept(path)
    os.utime(file, (5, 5))
    inode, expected = file.stat().st_ino, network.weights.table
    first.table[:] = 1  # what one writes the other does not see
    again = played(path)
    assert (file.stat().st_ino, file.stat().st_mtime > 5) == (inode, True)
    assert np.array_equal(again.table, expected)
    assert np.array_equal(again.scales, network.weights.scales)
    assert again.tuples == network.weights.tuples == 2
    file.write_bytes(file.read_bytes()[:-2])  # cut
    assert np.array_equal(played(path).table, expected)
    assert file.stat().st_size > expected.nbytes
    os.utime(file, (5, 5))
    for k in range(shared_tables.KEEP_FILES):
        (file.parent / f".{k}").touch()  # as of processes that were killed
    shared_tables.remove_old(file.parent)
    assert [left.name for left in kept(path)] == [f".{k}" for k in range(shared_tables.KEEP_FILES)]


@pytest.mark.skipif(sys.platform == "win32", reason="folders are not for others to write")
def test_tables_in_a_folder_that_others_can_write_are_not_trusted(large: tuple[Path, NTupleNetwork]) -> None:
    path, network = large
    played(path)
    (file,) = kept(path)
    file.parent.chmod(0o770)
    file.write_bytes(file.read_bytes()[:-2] + b"\1\1")
    said = "the tables of networks are not kept, every process unpacks its own: expected a folder that only its user"
    with pytest.warns(UserWarning, match=said):
        assert np.array_equal(played(path).table, network.weights.table)
    assert np.array_equal(played(path).table, network.weights.table)  # and it is said once
    file.parent.chmod(0o700)
    assert played(path).table[-1] == 0x101


def test_a_network_is_unpacked_table_by_table(
    large: tuple[Path, NTupleNetwork], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Into a file no more than one in memory; without one, no more than the tables and one besides."""
    path, network = large
    peaks, table = [], network.weights.table.nbytes
    for limit in (ntuple.LARGE, 1 << 40):
        monkeypatch.setattr(ntuple, "LARGE", limit)
        tracemalloc.start()
        played(path)
        peaks.append(tracemalloc.get_traced_memory()[1] / table)
        tracemalloc.stop()
    assert peaks[0] < 0.9 < 1 < peaks[1] < 1.9


def test_a_search_asks_packed_networks_too(network: NTupleNetwork, reloaded: NTupleNetwork) -> None:
    state = GAME.parse("48 24 12 6/3 1 2 0/3 0 1 0/2 0 0 0 next=1 deck=0,2,1")
    exact, result = network.evaluator("x"), Search(GAME, reloaded.evaluator("x"), 1)(state)
    entered = {action: state.play(action).outcomes() for action in state.legal_actions}
    assert result.leaves == sum(map(len, entered.values()))
    for action, outcomes in entered.items():
        assert result.values[action] == pytest.approx(
            sum(p * after.value(exact) for p, after in outcomes), abs=30 * STEP
        )


def spoil(tensors: dict[str, Any], name: str, value: Any) -> dict[str, Any]:
    return {k: v for k, v in tensors.items() if k != name} | ({} if value is None else {name: value})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("low_0", None, "expected 37 tensors"),
        ("low_0", np.zeros(9, dtype=np.uint8), "expected deflated tables"),
        ("low_0", np.zeros(9, dtype=np.float32), "expected packed tables as bytes"),
        ("low_0", "high_1", "entries, got"),
        ("seen_0", "seen_2", "expected a bitmap of 65536 entries, got 1048576"),
        ("scales", np.zeros(8, dtype=np.float32), "expected scales of float32 above 0"),
        ("scales", np.ones(3, dtype=np.float32), "expected 6 scales, got 3"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, saved: Path, name: str, value: Any, message: str) -> None:
    path = tmp_path / "m.safetensors"
    tensors, metadata = load_tensors(saved)
    save_tensors(path, spoil(tensors, name, tensors[value] if isinstance(value, str) else value), metadata)
    with one_line(message):
        load_ntuples(path, GAME)


def test_only_networks_of_float32_are_quantised(network: NTupleNetwork, reloaded: NTupleNetwork) -> None:
    for given, step in ((network, 0), (reloaded, STEP)):
        with one_line(f"expected a network of float32 and a step above 0, got step {step}"):
            quantised(given, step)


def test_a_network_of_16_bits_is_loaded_to_be_trained(reloaded: NTupleNetwork, saved: Path) -> None:
    whole, sizes = load_to_train(saved, GAME), reloaded.shape.sizes(GAME)
    units = np.tile(np.repeat(reloaded.weights.scales, sizes), reloaded.shape.copies)
    assert np.array_equal(whole.weights.table, reloaded.weights.table * units)
    assert whole.weights.table.dtype == np.float32
    assert whole.shape == reloaded.shape
