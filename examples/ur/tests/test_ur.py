"""Ur keeps its contract, its turns are those of a naive twin, and its solver finds what is known."""

import json
import random
import subprocess
import sys
from math import comb
from pathlib import Path

import leafwise_ur
import numpy as np
import pytest
import regret
from leafwise_ur import GAME
from leafwise_ur.solver import Solver, make_order

import leafwise
from leafwise.authoring import State, listing

CHANCES = {n: p / 16 for n, p in enumerate((1, 4, 6, 4, 1))}
Side = tuple[int, frozenset[int]]
"""Pieces borne off, and the squares of those on the board."""


def turns(mine: Side, theirs: Side, n: int, pieces: int) -> dict[str, tuple[Side, Side, bool]]:
    """Returns both sides after every move by the rules' text, by its name, and whether the same player throws again."""
    off, on = mine
    after: dict[str, tuple[Side, Side, bool]] = {}
    names = [*on, *([0] if off + len(on) < pieces else [])] if n else []
    for start in names:
        to, shared = start + n, 5 <= start + n <= 12
        if to == 15:
            after[str(start)] = ((off + 1, on - {start}), theirs, False)
        elif to < 15 and to not in on and not (to == 8 and 8 in theirs[1]):
            rest = theirs[1] - {to} if shared else theirs[1]
            after["enter" if start == 0 else str(start)] = (
                (off, on - {start} | {to}),
                (theirs[0], rest),
                to in (4, 8, 14),
            )
    return after or {"pass": (mine, theirs, False)}


def text_of(sides: tuple[Side, Side], what: str) -> str:
    words = (
        " ".join(map(str, (name, "off", off, *sorted(on))))
        for name, (off, on) in zip(("white", "black"), sides, strict=True)
    )
    return ", ".join([*words, what])


@pytest.fixture(scope="module")
def solver(tmp_path_factory) -> Solver:
    return Solver(GAME.variant(pieces=2), folder=tmp_path_factory.mktemp("ur"))


@pytest.mark.parametrize("pieces", [1, 7])
def test_it_keeps_the_contract(pieces: int) -> None:
    leafwise.check_game(GAME.variant(pieces=pieces), seconds=2)


def test_the_data_file_says_what_the_game_says() -> None:
    listed = json.loads(Path(leafwise_ur.__file__).with_name("games.json").read_text(encoding="utf-8"))
    assert listed == {GAME.name: listing(GAME)}


@pytest.mark.parametrize("pieces", [2, 7])
def test_games_are_those_of_a_naive_twin(pieces: int) -> None:
    rng, game = random.Random(pieces), GAME.variant(pieces=pieces)
    for _ in range(20):
        state, mover = game.start(), 0
        sides: list[Side] = [(0, frozenset()), (0, frozenset())]
        while not state.is_terminal:
            odds = dict(zip(state.outcomes_by_name(), (p for p, _ in state.outcomes()), strict=True))
            assert odds == {f"throw{n}": p for n, p in CHANCES.items()}
            n = rng.choices(list(CHANCES), list(CHANCES.values()))[0]
            state = state.outcomes_by_name()[f"throw{n}"]
            after = turns(sides[mover], sides[1 - mover], n, pieces)
            assert set(state.legal_names) == set(after)
            name = rng.choice(sorted(after))
            state = state.play(name)
            sides[mover], sides[1 - mover], again = after[name]
            won = sides[mover][0] == pieces
            mover = mover if again or won else 1 - mover
            player = ("white", "black")[mover]
            assert str(state) == text_of((sides[0], sides[1]), f"{player} has won" if won else f"{player} throws")
        assert state.returns == (1.0 if mover == 0 else -1.0)


def test_there_are_as_many_positions_as_are_published() -> None:
    def ways(g: int, r: int) -> int:
        """Returns in how many ways so many pieces of either side stand on the board."""
        shared = ((s, t) for s in range(g + 1) for t in range(r + 1))
        return sum(comb(8, s) * comb(8 - s, t) * comb(6, g - s) * comb(6, r - t) for s, t in shared if s + t <= 8)

    for pieces in (1, 7):
        counted = sum(
            (pieces + 1 - g) * (pieces + 1 - r) * ways(g, r) for g in range(pieces + 1) for r in range(pieces + 1)
        )
        assert make_order(pieces).size == counted
    assert counted == 137_913_936


def test_memory_is_asked_before_it_begins(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(leafwise_ur.solver, "cache_root", lambda: tmp_path)
    assert GAME.solver is not None
    assert GAME.solver.memory_mb(GAME.options) == 1655  # MB


@pytest.mark.parametrize(("mine", "theirs", "chance"), [(14, 14, 4 / 7), (13, 14, 116 / 161), (14, 13, 74 / 161)])
def test_known_values(solver: Solver, mine: int, theirs: int, chance: float) -> None:
    for sides, player in (((mine, theirs), "white"), ((theirs, mine), "black")):
        state = solver.game.parse("white off 1 {}, black off 1 {}, {} throws".format(*sides, player))
        assert solver.value(state) == pytest.approx(chance, abs=1e-7)


def test_the_command_reads_a_position() -> None:
    folder = str(Path(leafwise_ur.__file__).parent)
    position = "white off 1 14, black off 1 14, white throws"
    command = ["leafwise", "solve", "ur", "--pieces", "2", "--module", folder, "--moves", position]
    assert "+0.142857" in subprocess.check_output([sys.executable, "-m", *command], text=True)


def random_positions(rng: random.Random, n: int) -> list[tuple[Side, Side]]:
    positions = []
    while len(positions) < n:
        sides = [
            (off := rng.randrange(2), frozenset(rng.sample(range(1, 15), rng.randrange(3 - off)))) for _ in range(2)
        ]
        if not {k for k in sides[0][1] & sides[1][1] if 5 <= k <= 12}:
            positions.append((sides[0], sides[1]))
    return positions


def test_every_value_follows_from_those_after_it(solver: Solver) -> None:
    def value(mine: Side, theirs: Side) -> float:
        return solver.value(solver.game.parse(text_of((mine, theirs), "white throws")))

    def ahead(after: tuple[Side, Side, bool]) -> float:
        mine, theirs, again = after
        return 1.0 if mine[0] == 2 else value(mine, theirs) if again else 1.0 - value(theirs, mine)

    for mine, theirs in random_positions(random.Random(1), 300):
        best = {n: max(map(ahead, turns(mine, theirs, n, 2).values())) for n in CHANCES}
        expected = sum(p * best[n] for n, p in CHANCES.items())
        assert value(mine, theirs) == pytest.approx(expected, abs=1e-6)


def test_solutions_and_what_is_kept(solver: Solver) -> None:
    state: State = solver.game.parse("white off 0 3, black off 1 7, white moves 4")
    solution = solver.solve(state)
    assert solution.best_actions == ("3",)  # it captures
    assert solution.value == solution.action_values["3"] > solution.action_values["enter"] > -1
    assert (solution.line, solution.depth, solution.bounds) == (("3",), 1, (solution.value, solution.value))
    assert solver.solve(state, "none").action_values == {}
    again = Solver(solver.game, folder=solver.file.parent)
    assert again.solve(state).value == solution.value
    assert again.nodes == 0  # nothing was solved again
    np.save(solver.file.with_name("chances-1.npy"), np.zeros(3))
    with pytest.raises(ValueError, match=r"^ur: expected [\d,]+ values in .* remove the file$"):
        Solver(GAME.variant(pieces=1), folder=solver.file.parent)
    start = solver.solve(solver.game.start())
    assert (start.value, start.best_actions) == (pytest.approx(2 * solver.value(solver.game.start()) - 1), ())
    with pytest.raises(ValueError, match=r"^ur: expected a position in which the game goes on, got"):
        solver.solve(solver.game.parse("white off 2, black off 0, white has won"))


def test_the_network_loses_less_than_the_hand_made_score(solver: Solver) -> None:
    """It learned with seven pieces, and plays with two."""
    positions = regret.decisions(solver, 100, seed=3)
    searches = [leafwise.Search(solver.game, leafwise.leaf(solver.game, name), depth=1) for name in ("race", "learned")]
    race, learned = (sum(regret.losses(search, positions)) for search in searches)
    assert 0 < learned < race / 2


def test_the_page_of_regret_says_what_was_measured() -> None:
    folder = Path(regret.__file__).parent
    results = json.loads((folder / "regret.json").read_text(encoding="utf-8"))
    assert (folder / "regret.md").read_text(encoding="utf-8") == regret.page_of(results)
    loss = {(one["leaf"], one["search"]): one["loss"] for one in results["leaves"]}
    assert all(loss["learned", search] < loss["race", search] for search in regret.SEARCHES)


def test_what_is_measured_is_the_loss_of_the_moves(solver: Solver) -> None:
    positions = regret.decisions(solver, 20, seed=4)
    (one,) = regret.measured("race", ["depth=2"], positions)
    search = leafwise.Search(solver.game, leafwise.leaf(solver.game, "race"), depth=2)
    losses = regret.losses(search, positions)
    assert one["loss"] == pytest.approx(sum(losses) / 20)
    assert one["best"] == sum(loss < 1e-5 for loss in losses) / 20


def test_a_solver_that_is_stopped_says_so(tmp_path) -> None:
    solver = Solver(GAME.variant(pieces=1), folder=tmp_path)
    sweep = leafwise_ur.solver.sweep

    def stopped(*arguments):
        solver.stop[0] = 1
        return sweep(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leafwise_ur.solver, "sweep", stopped)
        assert not solver.solve(solver.game.parse("white off 0, black off 0, white moves 1")).complete
    assert not solver.file.exists()
    assert solver.unfinished.exists()  # what was whole
    assert solver.solve(solver.game.parse("white off 0, black off 0, white moves 1")).complete
    assert not solver.unfinished.exists()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "white off 0 5, black off 0 5, white throws",
        "white off 0 5 3, black off 0, white throws",
        "white off 0 15, black off 0, white throws",
        "white off 7 3, black off 0, white has won",
        "white off 7, black off 0, white throws",
        "white off 7, black off 0, black has won",
        "white off 7, black off 7, white has won",
        "white off 0 5 5, black off 0, white throws",
        "white off 3 1 2 3 4 6, black off 0, white throws",
        "white off 1, black off 0, white moves 5",
    ],
)
def test_impossible_positions_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^ur: expected"):
        GAME.parse(text)
