"""2048 keeps its contract and the known rules, and a minute of learning beats a greedy player by a factor."""

import json
import random
from collections import Counter
from pathlib import Path

import leafwise_2048
import pytest
from leafwise_2048 import GAME

import leafwise
from leafwise.authoring import State, listing, new_stream


def tiles(state: State) -> list[int]:
    return [int(word) for word in str(state).replace("/", " ").split()[:16]]


def slide(line: list[int]) -> tuple[list[int], int]:
    """A line pushed to its front by the rules as people tell them, and what that scores."""
    there, out, gain = [tile for tile in line if tile], [], 0
    while there:
        first = there.pop(0)
        if there and there[0] == first:
            first += there.pop(0)
            gain += first
        out.append(first)
    return out + [0] * (4 - len(out)), gain


def moved(cells: list[int], name: str) -> tuple[list[int], int]:
    lines = [cells[k : k + 4] for k in range(0, 16, 4)]
    lines = [list(column) for column in zip(*lines, strict=True)] if name in ("up", "down") else lines
    back = name in ("down", "right")
    done = [slide(line[::-1] if back else line) for line in lines]
    lines = [line[::-1] if back else line for line, _ in done]
    lines = [list(column) for column in zip(*lines, strict=True)] if name in ("up", "down") else lines
    return [tile for line in lines for tile in line], sum(gain for _, gain in done)


def test_it_keeps_the_contract() -> None:
    leafwise.check_game(GAME, seconds=2)


def test_the_data_file_says_what_the_game_says() -> None:
    listed = json.loads(Path(leafwise_2048.__file__).with_name("games.json").read_text(encoding="utf-8"))
    assert listed == {GAME.name: listing(GAME)}


def test_games_are_played_by_the_known_rules() -> None:
    for seed in range(10):
        state, rng, stream, score = GAME.new(seed), random.Random(seed), new_stream(seed), 0
        assert Counter(map(bool, tiles(state)))[True] == 2
        while not state.is_terminal:
            here = tiles(state)
            assert state.legal_names == tuple(name for name in GAME.actions if moved(here, name)[0] != here)
            name = rng.choice(state.legal_names)
            after, gain = moved(here, name)
            score += gain
            state = state.play(name)
            assert tiles(state) == after
            assert state.returns == score
            state = state.settle(stream)
            new = [b for a, b in zip(after, tiles(state), strict=True) if a != b]
            assert new in ([2], [4])
            assert state.returns == score
        assert all(moved(tiles(state), name)[0] == tiles(state) for name in GAME.actions)


def test_two_tiles_start_and_a_tenth_are_fours() -> None:
    starts = Counter(tuple(sorted(filter(None, tiles(GAME.new(seed))))) for seed in range(2000))
    assert set(starts) == {(2, 2), (2, 4), (4, 4)}
    assert 0.07 < (starts[2, 4] + 2 * starts[4, 4]) / 4000 < 0.13
    outcomes = GAME.parse("2 2 2 2/4 4 4 4/2 2 2 2/4 4 4 0 spawn").outcomes()
    assert [p for p, _ in outcomes] == pytest.approx([0.9, 0.1])


@pytest.mark.parametrize(
    ("before", "name", "after", "gain"),
    [
        ("2 2 2 2/0 0 0 0/0 0 0 0/0 0 0 0", "left", "4 4 0 0", 8),
        ("2 2 2 0/0 0 0 0/0 0 0 0/0 0 0 0", "right", "0 0 2 4", 4),
        ("4 2 2 0/0 0 0 0/0 0 0 0/0 0 0 0", "left", "4 4 0 0", 4),
        ("8 8 16 0/0 0 0 0/0 0 0 0/0 0 0 0", "left", "16 16 0 0", 16),
        ("32768 32768 0 2/0 0 0 0/0 0 0 0/0 0 0 0", "left", "32768 32768 2 0", 0),
    ],
)
def test_merging(before: str, name: str, after: str, gain: int) -> None:
    state = GAME.parse(before)
    played = state.play(name)
    assert str(played).split("/")[0] == after
    assert played.returns - state.returns == gain


@pytest.mark.parametrize(
    "text", ["", "2 4", "3 0 0 0/0 0 0 0/0 0 0 0/0 0 0 2", "2 4 2 4/4 2 4 2/2 4 2 4/4 2 4 2 spawn"]
)
def test_impossible_positions_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^game2048: expected"):
        GAME.parse(text)


@pytest.mark.long
def test_a_minute_of_learning_beats_a_greedy_player_by_a_factor(tmp_path: Path) -> None:
    leafwise.register_game(GAME)  # also where the package is not installed
    run = leafwise.train(
        "game2048",
        "ntuple-td",
        run=str(tmp_path / "run"),
        total_steps=6_000_000,
        decay_start=0.7,
        final_learning_rate=0.0125,
        interval=200_000,
        evaluate_every=30,
        evaluate_games=100,
    )
    learned = leafwise.evaluate(GAME, f'greedy:"{run}"', 100)
    by_hand = leafwise.evaluate(GAME, "greedy:room", 100)
    assert learned.interval()[0] > 5 * by_hand.interval()[1]
