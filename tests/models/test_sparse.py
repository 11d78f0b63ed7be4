"""Sparse networks: three forms of one value, features that know the symmetries, files that are checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest

import leafwise
from games import dice
from games.refusals import one_line
from games.walks import positions
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.models import SparseNetwork, load_sparse, save_network
from leafwise.models.files import load_tensors, save_tensors
from running.networks import METADATA, random_sparse


def of_stake(game: Game, stake: float) -> Game:
    """Returns a two-player game that says it is worth so much at most."""
    return replace(game, return_range=(-stake, stake))


CASSIS = [leafwise.game("cassis", n=n) for n in (4, 6, 8)]
TRILOBITE = [leafwise.game("trilobite"), leafwise.game("trilobite", board="7x6", k=4)]
GAMES = [*CASSIS, *TRILOBITE]


def searched_rows(game: Game, n: int) -> np.ndarray[Any, Any]:
    """Rows at which a search two decisions deep asks its leaf, from positions of random games."""
    after = (state.play(a) for state in positions(game, n // 4) for a in state.legal_actions)
    leaves = (first.play(b) for first in after for b in first.legal_actions)
    rows = {leaf.row.tobytes(): leaf.row for leaf in leaves if not leaf.is_terminal}
    return np.array(list(rows.values())[:n])


@pytest.mark.parametrize(
    ("game", "n", "head", "sees"),
    [
        (TRILOBITE[1], 10_000, "value", "features"),
        (CASSIS[1], 2_000, "value", "features"),
        (CASSIS[2], 500, "max", "features"),
        (TRILOBITE[0], 100, "max", "features"),
        (TRILOBITE[0], 100, "policy", "features+observation"),
        (TRILOBITE[0], 100, "wdl", "features"),
        (of_stake(TRILOBITE[0], 3.0), 100, "value", "features"),
    ],
    ids=repr,
)
def test_torch_numpy_and_compiled_values_agree(tmp_path, game: Game, n: int, head: str, sees: str) -> None:
    torch = pytest.importorskip("torch")
    from leafwise.training.networks import SparseModule

    path, stake = tmp_path / "model.safetensors", game.stake
    save_network(path, random_sparse(game, head=head, sees=sees), METADATA)
    evaluator, network = leafwise.load(path), load_sparse(path, game)
    T = game.tables(evaluator)
    rows = searched_rows(game, n)
    assert len(rows) == n
    compiled = np.array([evaluator.compiled(rows, np.uint64(i), T) for i in range(n)])
    assert evaluator.batch is not None
    batched = evaluator.batch(rows, T)
    features, legal, signs = network.describe(rows, T)
    with torch.no_grad():
        outputs = SparseModule(network)(torch.from_numpy(features)).numpy()
    best = np.where(legal, outputs, -np.inf).max(axis=1) if head == "max" else outputs[:, 0]
    expected = np.tanh(best)
    if head == "wdl":
        chances = np.exp(outputs) / np.exp(outputs).sum(axis=1, keepdims=True)
        expected = chances[:, 0] - chances[:, 2]
    assert np.abs(compiled - batched).max() < 1e-5
    assert np.abs(compiled - 0.9999 * stake * expected * signs).max() < 1e-5
    assert compiled.std() > 0.01
    assert evaluator.low == -stake < compiled.min() < compiled.max() < stake == evaluator.high


def test_what_is_trained_is_exported() -> None:
    torch = pytest.importorskip("torch")
    from leafwise.training.networks import fresh_module

    game = CASSIS[0]
    module = fresh_module(game, (8, 4), seed=3)
    rows = np.array([s.row for s in positions(game, 50)])
    before = module.export()
    optimizer = torch.optim.SGD(module.parameters(), 0.1)
    T = game.tables(before.evaluator("x"))
    features = torch.from_numpy(before.describe(rows, T)[0])
    ((module(features) - 1.0) ** 2).mean().backward()
    optimizer.step()
    after = module.export()
    T_after = game.tables(after.evaluator("x"))
    expected = 0.9999 * np.tanh(module(features).detach().numpy()[:, 0])
    assert np.abs(after.batch(rows, T_after) - expected).max() < 1e-5
    assert np.abs(after.batch(rows, T_after) - before.batch(rows, T)).max() > 1e-3


def test_a_wider_network_begins_by_saying_nearly_the_same() -> None:
    pytest.importorskip("torch")
    from leafwise.training.networks import widened

    game = TRILOBITE[0]
    network, rows = random_sparse(game, (8, 4)), np.array([s.row for s in positions(game, 60)])
    same, wide, three = (
        widened(network, hidden, 1, head=head).export()
        for hidden, head in (((8, 4), "value"), ((16, 8), "value"), ((8, 4), "wdl"))
    )
    T = game.tables(network.evaluator("x"))
    values = network.batch(rows, T)
    assert np.array_equal(same.batch(rows, T), values)
    apart = np.abs(wide.batch(rows, T) - values)
    assert wide.hidden == (16, 8)
    assert 0 < apart.max() < 0.25 * np.ptp(values)
    x = np.arctanh(values / 0.9999)
    won_or_lost = 2 * np.sinh(x) / (1 + 2 * np.cosh(x))  # outputs x, 0 and -x
    assert np.abs(three.batch(rows, T) - 0.9999 * won_or_lost).max() < 1e-5


@pytest.mark.parametrize(
    ("hidden", "head", "before", "message"),
    [
        ((8, 2), "value", "value", "expected --hidden 8 4 as in --init-from, or wider, got 8 2"),
        ((8,), "value", "value", "expected --hidden 8 4 as in --init-from, or wider, got 8"),
        ((8, 4), "value", "wdl", "expected --init-from with the head value, got wdl"),
    ],
)
def test_networks_that_cannot_be_widened(hidden: tuple[int, ...], head: str, before: str, message: str) -> None:
    pytest.importorskip("torch")
    from leafwise.training.networks import widened

    with one_line(f"^{message}$"):
        widened(random_sparse(TRILOBITE[0], (8, 4), head=before), hidden, 1, head=head)


def test_what_a_network_with_three_chances_learns_of_values() -> None:
    torch = pytest.importorskip("torch")
    from leafwise.training.networks import outcome_chances, wdl_values

    targets = torch.tensor([1.0, 0.25, 0.0, -1.0])
    expected = torch.tensor([[1.0, 0, 0], [0.25, 0.75, 0], [0, 1, 0], [0, 0, 1]])
    assert torch.equal(outcome_chances(targets), expected)
    sure = 50 * expected - 25
    assert wdl_values(sure[[0, 2, 3]], targets[[0, 2, 3]]) < 1e-6 < wdl_values(sure.flip(1), targets)


def features_of(game: Game, states: Sequence[State]) -> Any:
    """What a network sees of positions, [n, most]."""
    network = random_sparse(game)
    return network.describe(np.array([s.row for s in states]), game.tables(network.evaluator("x")))[0]


@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_symmetric_positions_have_the_same_features_and_values(game: Game) -> None:
    assert game.features["sparse"].invariant
    network = random_sparse(game)
    evaluator = network.evaluator("x")
    T = game.tables(evaluator)
    for state in positions(game, 40):
        images = [state.transformed(k) for k in range(0, game.symmetry_count, max(1, game.symmetry_count // 500))]
        features, _, _ = network.describe(np.array([image.row for image in images]), T)
        assert {tuple(sorted(f)) for f in features.tolist()} == {tuple(sorted(features[0].tolist()))}
        values = [image.value(evaluator) for image in images]
        assert values == pytest.approx([values[0]] * len(values), abs=1e-5)


@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_features_stay_in_their_range_and_tell_positions_apart(game: Game) -> None:
    states = positions(game, 300)
    features = features_of(game, states)
    size = game.features["sparse"].size(game.options)
    assert features.min() >= 0
    assert features.max() < size  # random games have no row that is filled up here: `most` are always active
    twins: dict[tuple[int, ...], list[State]] = {}
    for state, f in zip(states, features.tolist(), strict=True):
        twins.setdefault(tuple(sorted(f)), []).append(state)
    assert len(twins) > 10
    if game.name == "trilobite":
        for alike in twins.values():
            orbits = {frozenset(s.transformed(k).row.tobytes() for k in range(game.symmetry_count)) for s in alike}
            assert len(orbits) == 1


def test_parts_of_cassis_by_brute_force() -> None:
    """Equal multisets of parts if and only if a renaming maps every part of one board to one of the other."""
    game = leafwise.game("cassis", n=6)
    states = positions(game, 60)
    pairs = [frozenset(pair) for pair in combinations(range(6), 2)]
    seen: dict[int, tuple[int, ...]] = {}
    for state, f in zip(states, features_of(game, states).tolist(), strict=True):
        rows = [int(state.row[player]) for player in (state.current_player, 1 - state.current_player)]
        colour = {pair: (rows[0] >> e & 1) or 2 * (rows[1] >> e & 1) for e, pair in enumerate(pairs)}
        assert len(f) == 6 + 4
        for number, points in zip(f[:6], combinations(range(6), 5), strict=True):
            renamed = [tuple(colour[frozenset(pair)] for pair in combinations(p, 2)) for p in permutations(points)]
            assert seen.setdefault(number, min(renamed)) == min(renamed)
        free = [pair for pair in pairs if colour[pair] == 0]
        safe = [
            {pair for pair in free if not any(closes(pair, c, own, colour) for c in set(range(6)) - pair)}
            for own in (1, 2)
        ]
        first = game.features["sparse"].size(game.options) - 4 * 16
        expected = [15 - len(free), len(safe[0]), len(safe[1]), len(safe[0] & safe[1])]
        assert [n - first - 16 * k for k, n in enumerate(f[6:])] == expected
    assert len(set(seen.values())) == len(seen) > 50


def closes(pair: frozenset[int], corner: int, own: int, colour: dict[frozenset[int], int]) -> bool:
    """Whether a pair makes a triangle of a colour with a corner."""
    return all(colour[frozenset({point, corner})] == own for point in pair)


def test_line_patterns_of_trilobite() -> None:
    """On 3x3: three rows from below, two diagonals, in base 3; three columns; then chips and the player to move."""
    game = leafwise.game("trilobite")
    network = random_sparse(game)
    T = game.tables(network.evaluator("x"))

    def features(moves: str) -> list[int]:
        state = game.start()
        for move in moves:
            state = state.play(move)
        found = network.describe(state.row[None], T)[0][0].tolist()
        lines, columns, rest = found[:5], found[5:8], found[8:]
        starts = [*(27 * k for k in range(5)), *(135 + 85 * k for k in range(3)), 390, 390]
        return [f - start for f, start in zip([*lines, *columns, *rest], starts, strict=True)]

    # three empty cells begin at 1 + 4 + 16; two at 1 + 4
    assert features("") == [0, 0, 0, 0, 0, 21, 21, 21, 0, 10]
    # player 0 in columns 1 and 3 of the floor, player 1 on column 1: seen as it is or mirrored, always the same way;
    # player 0 would complete the floor on the lowest cell of column 2
    one, mirrored = features("113"), features("331")
    assert one == mirrored
    assert one in (
        [1 + 9, 2, 0, 1, 1, 1, 21 + 1, 5, 3, 11],
        [1 + 9, 18, 0, 1, 1, 5, 21 + 1, 1, 3, 11],
    )


@pytest.mark.parametrize("game", TRILOBITE, ids=repr)
def test_columns_of_trilobite_by_brute_force(game: Game) -> None:
    """Where in the empty part of each column a chip would complete a line, first player 0's, then player 1's."""
    network = random_sparse(game)
    T = game.tables(network.evaluator("x"))
    width, height, k = T.width, T.height, int(T.k)
    lines, each = len(T.line_features) - 1, sum(4**n for n in range(height + 1))
    threats = 0
    for state in positions(game, 150):
        cells = {
            (x, y): 1 + player
            for player in range(2)
            for x in range(width)
            for y in range(height)
            if int(state.row[player]) >> (x * (height + 1) + y) & 1
        }

        def completes(cell: tuple[int, int], player: int, cells: dict[tuple[int, int], int]) -> bool:
            for dx, dy in ((1, 0), (0, 1), (1, 1), (1, -1)):
                for back in range(k):
                    line = [(cell[0] + (n - back) * dx, cell[1] + (n - back) * dy) for n in range(k)]
                    if all(c == cell or cells.get(c) == player for c in line):
                        return True
            return False

        expected = []
        for board in (cells, {(width - 1 - x, y): player for (x, y), player in cells.items()}):
            found = []
            for x in range(width):
                empty = [(x, y) for y in range(height) if (x, y) not in board]
                bits = [completes(cell, player, board) for player in (1, 2) for cell in empty]
                found.append(sum(4**n for n in range(len(empty))) + sum(bit << n for n, bit in enumerate(bits)))
                threats += any(bits)
            expected.append(found)
        features = network.describe(state.row[None], T)[0][0][lines : lines + width].tolist()
        start = int(T.line_features[-1])
        assert [f - start - each * x for x, f in enumerate(features)] in expected, str(state)
    assert threats > 20


def test_every_table_has_scratch_of_its_own() -> None:
    evaluator = random_sparse(CASSIS[0]).evaluator("x")
    one, other = CASSIS[0].tables(evaluator), CASSIS[0].tables(evaluator)
    assert one.leaf.hidden is not other.leaf.hidden
    assert one.leaf.embedding is other.leaf.embedding


@pytest.mark.parametrize("pruning", [False, True])
def test_it_serves_a_search(pruning: bool) -> None:
    game = CASSIS[1]
    network = random_sparse(game)
    search = leafwise.Search(game, network.evaluator("x"), 2, pruning=pruning)
    evaluator = network.evaluator("x")
    for state in positions(game, 5):
        values = {}
        for a in state.legal_actions:
            after = state.play(a)
            if after.is_terminal:
                values[a] = -1.0
                continue
            seen = [after.play(b) for b in after.legal_actions]
            values[a] = min(1.0 if s.is_terminal else s.value(evaluator) for s in seen)
        assert search(state).value == pytest.approx(max(values.values()), abs=1e-9)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("kind", "tree", "expected a kind of network among ntuple, ntuple-packed, sparse, grid, torch, got 'tree'"),
        ("options", {"n": 7}, "expected a model of variant"),
        ("feature_version", 0, "expected feature version 1, got 0"),
        ("hidden", [16], "expected finite float32"),
        ("hidden", ["a"], "expected 1 to 4 layers"),
        ("hidden", [6, 8], "multiples of 4"),
        ("head", "tail", "expected head among value, max, chance, policy, wdl, got 'tail'"),
        ("sees", "tail", "expected sees among features, observation, features.observation, got 'tail'"),
        ("scale", "1", "expected metadata 'scale' of type"),
        ("scale", float("nan"), "expected metadata 'scale' 'a finite number', got nan"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path, name: str, value: object, message: str) -> None:
    path = tmp_path / "model.safetensors"
    save_network(path, random_sparse(CASSIS[1]), METADATA)
    tensors, metadata = load_tensors(path)
    save_tensors(path, tensors, {**metadata, name: value})
    with one_line(message):
        leafwise.load(path, CASSIS[1])


def test_embeddings_of_16_bits_make_a_smaller_file_of_the_same_values(tmp_path) -> None:
    game, whole, path = CASSIS[1], random_sparse(CASSIS[1], (32, 8)), tmp_path / "model.safetensors"
    rounded = whole.rounded()
    for network in (whole, rounded):
        save_network(tmp_path / f"{network.half}.safetensors", network, METADATA)
    assert (tmp_path / "True.safetensors").stat().st_size < 0.6 * (tmp_path / "False.safetensors").stat().st_size
    read = load_sparse(tmp_path / "True.safetensors", game)
    assert read.half
    rows = searched_rows(game, 200)
    values, again, before = (n.batch(rows, game.tables(n.evaluator("x"))) for n in (rounded, read, whole))
    assert (values == again).all()
    assert 0 < np.abs(values - before).max() < 0.01
    tensors, metadata = load_tensors(tmp_path / "True.safetensors")
    save_tensors(path, {**tensors, "bias": tensors["bias"].astype(np.float16)}, metadata)
    with one_line(r"expected finite float32 \[32\] as 'bias', got float16 \[32\]"):
        load_sparse(path, game)


def test_a_game_without_sparse_features_is_told() -> None:
    with one_line("expected a game with sparse features"):
        SparseNetwork.create(dice.GAME, (4,))


def test_features_take_the_side_of_who_is_about_to_throw() -> None:
    game = dice.seen(dice.side_in_turn)
    network = random_sparse(game)
    evaluator = network.evaluator("x")
    T = game.tables(evaluator)
    texts = [f"{a},1 2,{c} turn={a + c} steps=1,0 roll=left" for a in range(3) for c in range(3)]
    swapped = [f"2,{c} {a},1 turn={a + c + 1} steps=1,0 roll=left" for a in range(3) for c in range(3)]
    rows, others = (np.array([game.parse(text).row for text in which]) for which in (texts, swapped))
    compiled = np.array([evaluator.compiled(rows, np.uint64(i), T) for i in range(len(rows))])
    assert np.abs(compiled).min() > 0
    assert network.batch(rows, T) == pytest.approx(compiled, abs=1e-6)
    assert network.batch(others, T) == pytest.approx(-compiled, abs=1e-6)  # for player 0, whoever throws
    with one_line("expected features with a side at the chance stage 'die', got none in 'dice'"):
        random_sparse(dice.seen(None))


def test_observations_of_any_shape_are_seen_cell_by_cell() -> None:
    game = leafwise.game("trap", size=3)
    network = random_sparse(game, sees="observation")
    evaluator, T = network.evaluator("x"), game.tables(network.evaluator("x"))
    rows, seen = np.array([state.row for state in positions(game, 12)]), np.zeros((12, 4, 3, 3), dtype=np.float32)
    for i in range(12):
        game.rules.observe(rows, np.uint64(i), seen, i, T)
    cells = seen.reshape(12, -1).astype(int)
    assert (np.ptp(cells, axis=0) > 0).sum() > 10
    assert np.array_equal(network.describe(rows, T)[0], 2 * np.arange(4 * 9) + cells)  # each cell is 0 or 1
    compiled = [evaluator.compiled(rows, np.uint64(i), T) for i in range(12)]
    assert compiled == pytest.approx(network.batch(rows, T), abs=1e-5)
    assert np.std(compiled) > 0.01
