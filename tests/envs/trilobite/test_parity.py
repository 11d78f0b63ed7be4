"""The features `parity` of Trilobite against slow and plain computations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import leafwise
from games.walks import positions
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.trilobite.features import DRAWN, FORCED, LOST, MOST, PARITY, QUIET, WINS, filled_up, tactics
from leafwise.envs.trilobite.rules import landing_cells, threats
from leafwise.envs.trilobite.tables import two_lowest
from leafwise.models import SparseNetwork

CONNECT_FOUR = leafwise.game("trilobite", board="7x6", k=4)
GAMES = [leafwise.game("trilobite"), CONNECT_FOUR]


def seen(game: Game, states: list[State]) -> tuple[NDArray[np.int64], Any]:
    """Returns the features of positions, and the tables."""
    network = SparseNetwork.create(game, (4,), sees="parity")
    T = game.tables(network.evaluator("x"))
    return network.describe(np.array([state.row for state in states]), T)[0], T


def canonical(state: State) -> tuple[int, int]:
    """Returns the chips of both players on the smaller of a board and its mirror image."""
    mirrored = state.transformed(1)
    first, second = min(tuple(map(int, state.row)), tuple(map(int, mirrored.row)))
    return first, second


@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_windows_tell_the_chips_on_their_cells(game: Game) -> None:
    states = positions(game, 60)
    features, T = seen(game, states)
    assert features.min() >= 0
    assert features.max() < PARITY.size(game.options)
    covered: set[frozenset[int]] = set()
    for window, (bit, mask, _, _, _, first) in enumerate(T.windows.tolist()):
        cells = [bit + n for n in range(64) if mask >> n & 1]
        covered |= {frozenset(cells[n : n + int(T.k)]) for n in range(len(cells) - int(T.k) + 1)}
        for state, row_features in zip(states, features.tolist(), strict=True):
            one, other = canonical(state)
            digits = [(one >> cell & 1) + 2 * (other >> cell & 1) for cell in cells]
            assert row_features[window] == first + sum(digit * 3**n for n, digit in enumerate(digits))
    width, height, k = T.width, T.height, int(T.k)
    lines = {
        frozenset((x + n * right) * (height + 1) + y + n * up for n in range(k))
        for x in range(width)
        for y in range(height)
        for right, up in ((1, 0), (1, 1), (1, -1))
        if x + (k - 1) * right < width and 0 <= y + (k - 1) * up < height
    }
    assert lines <= covered  # every row and diagonal that wins lies in a window


@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_columns_are_told_apart_by_their_two_lowest_threats(game: Game) -> None:
    states = positions(game, 400)
    features, T = seen(game, states)
    meanings: dict[tuple[int, int], Any] = {}
    windows, n_owned = len(T.windows), 0
    for state, row_features in zip(states, features.tolist(), strict=True):
        one, other = (np.uint64(chips) for chips in canonical(state))
        empty = T.board & ~(one | other)
        wins, losses = int(threats(one, empty, T)), int(threats(other, empty, T))
        for x in range(T.width):
            bits = [x * (T.height + 1) + y for y in range(T.height)]
            colours = [1 if int(one) >> bit & 1 else 2 for bit in bits if int(one | other) >> bit & 1]
            left = bits[len(colours) :]
            pattern = sum((wins >> bit & 1) << n | (losses >> bit & 1) << len(left) + n for n, bit in enumerate(left))
            run = colours[-1] if len(colours) > 1 and colours[-1] == colours[-2] else 0
            meaning = len(left), two_lowest(pattern, len(left)), run
            feature = row_features[windows + x] - x * int(T.parity_features[1])
            assert meanings.setdefault((0, feature), meaning) == meaning
            n_owned += bool(meaning[1])
    assert len(set(meanings.values())) == len(meanings) > 10
    assert n_owned > 20


def slowly_filled(state: State, T: Any) -> tuple[int, int, int]:
    """Returns how a board ends that is filled up by safe moves, the threats given up, and who was first in zugzwang."""
    one, other = canonical(state)
    empty = int(T.board) & ~(one | other)
    dangers = [int(threats(np.uint64(chips), np.uint64(empty), T)) for chips in (one, other)]
    columns = [[x * (T.height + 1) + y for y in range(T.height)] for x in range(T.width)]
    heights = [sum((one | other) >> bit & 1 for bit in column) for column in columns]
    given_up, first = 0, -1
    while True:
        stops = {}
        chips = 0
        for x, column in enumerate(columns):
            lowest = [y for y in range(heights[x] + 1, T.height) if (dangers[0] | dangers[1]) >> column[y] & 1]
            chips += lowest[0] - 1 if lowest else T.height
            if lowest:
                stops[x] = lowest[0]
        mover = chips % 2
        first = mover if first < 0 else first
        if not stops:
            return DRAWN, given_up, first
        safe = [
            x
            for x, y in stops.items()
            if dangers[mover] >> columns[x][y] & 1 and not dangers[1 - mover] >> columns[x][y] & 1
        ]
        if not safe:
            return 2 - mover, given_up, first
        x = safe[0]
        heights[x], given_up = stops[x] + 1, given_up + 1
        if heights[x] < T.height and dangers[mover] >> columns[x][heights[x]] & 1:
            return 1 + mover, given_up, first


def test_boards_are_filled_up_as_players_count() -> None:
    T = CONNECT_FOUR.tables()
    ends: dict[tuple[int, int], int] = {}
    for state in positions(CONNECT_FOUR, 600):
        one, other = (np.uint64(chips) for chips in canonical(state))
        empty = T.board & ~(one | other)
        wins, losses = (np.uint64(threats(chips, empty, T)) for chips in (one, other))
        end, given_up, last, blocked, other_blocked = filled_up(one | other, wins, losses, T)
        expected = slowly_filled(state, T)
        assert (end, given_up, last) == (expected[0], min(expected[1], MOST - 1), expected[2]), str(state)
        assert 0 <= blocked <= MOST
        assert 0 <= other_blocked <= MOST
        ends[end, given_up] = ends.get((end, given_up), 0) + 1
    assert {(end, 0) for end in range(3)} <= set(ends)
    assert any(given_up for _, given_up in ends)


def test_tactics_are_what_two_plies_of_search_find() -> None:
    T, met = CONNECT_FOUR.tables(), set()
    for state in positions(CONNECT_FOUR, 800):
        player = state.current_player
        own, other = (np.uint64(state.row[k]) for k in (player, 1 - player))
        empty = T.board & ~(own | other)
        mine, theirs = (np.uint64(threats(chips, empty, T)) for chips in (own, other))
        result = tactics(mine, theirs, np.uint64(landing_cells(own | other, T)))
        after = [state.play(a) for a in state.legal_actions]
        wins = [s for s in after if s.is_terminal and s.returns]
        holding = [
            s
            for s in after
            if s.is_terminal or not any((r := s.play(a)).is_terminal and r.returns for a in s.legal_actions)
        ]
        met.add(result)
        if wins:
            assert result == WINS
        elif not holding:
            assert result == LOST
        elif result == FORCED:
            assert len(holding) == 1
        else:
            assert result == QUIET, str(state)
    assert met == {WINS, LOST, FORCED, QUIET}


@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_mirrored_positions_have_the_same_features(game: Game) -> None:
    states = positions(game, 50)
    one, other = (seen(game, found)[0] for found in (states, [state.transformed(1) for state in states]))
    assert (one == other).all()
