"""Evaluation: paired seeds, both seats, intervals, processes, and the store of games."""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leafwise
from games import dice
from leafwise.envs.core.contract.state import State
from leafwise.models.players import player
from leafwise.training.evaluation import arena as evaluating
from leafwise.training.evaluation.arena import evaluate, play_game
from leafwise.training.evaluation.results import SAVE_SECONDS, GameStore

THREES = leafwise.game("threes")


def test_the_result_does_not_depend_on_the_number_of_processes() -> None:
    alone, together = (evaluate(THREES, "random", 25, 900_000, processes=n) for n in (1, 2))
    assert np.array_equal(alone.scores, together.scores)
    assert np.array_equal(alone.best_cells, together.best_cells)
    assert alone.moves == together.moves


def test_the_same_seed_gives_the_same_start_to_every_player() -> None:
    scores = [
        evaluate(THREES, name, 4, 900_000).scores for name in ("greedy:ties=first", "search:openness,depth=1", "random")
    ]
    assert np.array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[0], scores[2])


def test_both_seats_are_played_with_each_seed() -> None:
    played = evaluate(dice.GAME, "random", 40, 900_000, opponent="random")
    assert (len(played.scores), len(played.by_seed)) == (40, 20)
    assert set(played.scores) <= {-1.0, 0.0, 1.0}
    strong = evaluate(dice.GAME, "greedy", 60, 900_000, opponent="random")
    weak = evaluate(dice.GAME, "random", 60, 900_000, opponent="greedy")
    assert strong.mean > 0 > weak.mean
    assert strong.elo()[0] > 0


def test_no_player_remembers_the_game_before() -> None:
    game = leafwise.game("trilobite", board="5x5", k=4)
    seats = [player("mcts:simulations=40", game, seed=seed) for seed in (1, 2)]
    games = [play_game(game, seats, 1, 0, keep=True)[4] for _ in range(3)]
    assert games[0] == games[1] == games[2]


def test_a_game_depends_on_its_seed_alone() -> None:
    for text in ("random", "greedy", "mcts:simulations=20"):
        many = evaluate(dice.GAME, text, 20, 900_000, opponent="random", keep=True)
        assert evaluate(dice.GAME, text, 2, 900_007, opponent="random", keep=True).records == many.records[14:16]


class Slow:
    """A player that loads its code at its first move, which takes a while."""

    name, loading = "slow", 0.3

    def choose(self, state: State) -> int:
        """Returns the first legal action."""
        time.sleep(self.loading)
        self.loading = 0.0
        return state.legal_actions[0]


def test_loading_code_is_no_part_of_a_move(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        evaluating, "player", lambda text, game, seed=0: Slow() if text == "slow" else player(text, game, seed)
    )
    played = evaluate(dice.GAME, "slow", 12, 900_000, opponent="random")
    assert played.pace.longest < Slow.loading


def test_greedy_breaks_ties_at_random_unless_it_is_told_not_to() -> None:
    game = leafwise.game("cassis")
    state = game.new(1)
    chosen = {leafwise.player("greedy", game, seed).choose(state) for seed in range(40)}
    assert len(chosen) > 5
    assert {leafwise.player("greedy:ties=first", game, seed).choose(state) for seed in range(9)} == {0}
    tied = THREES.parse("0 0 0 0/0 1 0 0/0 0 0 0/0 0 0 0 next=3 deck=4,4,4")
    assert len({leafwise.player("greedy:openness", THREES, seed).choose(tied) for seed in range(40)}) > 1
    with pytest.raises(ValueError, match="expected ties=random or ties=first, got 'ties=x'"):
        leafwise.player("greedy:ties=x", game)


def test_progress_counts_games() -> None:
    counts: list[int] = []
    evaluate(THREES, "random", 23, 900_000, progress=counts.append)
    assert counts == [5, 10, 15, 20, 23]


@pytest.mark.parametrize(
    ("game", "name", "options", "expected"),
    [
        (THREES, "random", {"games": 0}, "expected 1 to 10,000,000 games"),
        (THREES, "random", {"processes": 0}, "expected 1 to 1,024 processes"),
        (THREES, "random", {"first_seed": -1}, "first seed of 0"),
        (THREES, "random", {"opponent": "random"}, "no opponent"),
        (THREES, "nobody", {}, "expected a player"),
        (dice.GAME, "random", {}, "an opponent"),
        (dice.GAME, "random", {"games": 3, "opponent": "random"}, "even number"),
    ],
)
def test_wrong_arguments_are_refused(game: leafwise.Game, name: str, options: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        evaluate(game, name, **{"games": 2, **options})


@pytest.mark.parametrize("number", [None, "4", 2.5, float("nan"), True, [2]])
def test_what_is_no_whole_number_is_refused(number: Any) -> None:
    names: dict[str, dict[str, Any]] = {"games": {}, "first_seed": {}, "processes": {}, "plies": {"opponent": "random"}}
    for name, more in names.items():
        if (name, number) != ("plies", None):
            with pytest.raises(leafwise.UserError, match=r"expected .*, got "):
                evaluate(dice.GAME, "random", **{"games": 2, "opponent": "random", **more, name: number})
    for name in ("games", "seed", "openings", "plies", "seconds", "processes"):
        if not (number is None and name in ("openings", "plies")) and (name, number) != ("seconds", 2.5):
            with pytest.raises(leafwise.UserError, match=r"expected .*, got "):
                leafwise.arena(dice.GAME, ["random", "greedy"], **{"games": 4, name: number})
    for name in ("games", "first_seed", "processes"):
        with pytest.raises(leafwise.UserError, match=r"expected .*, got "):
            leafwise.collect_dataset(dice.GAME, "random", **{"games": 1, name: number})


def test_a_file_may_be_named_by_a_text_and_a_folder_is_refused_before_a_game(tmp_path: Path) -> None:
    evaluate(dice.GAME, "random", 2, 900_000, opponent="random", file=str(tmp_path / "a.json"))  # type: ignore[arg-type]
    assert json.loads((tmp_path / "a.json").read_text())["game"] == dice.GAME.name
    with pytest.raises(leafwise.UserError, match=rf"^evaluate: expected a file, got the folder {str(tmp_path)!r}$"):
        evaluate(dice.GAME, "random", 2, 900_000, opponent="random", file=tmp_path)
    with pytest.raises(leafwise.UserError, match=r"^arena: expected a file, got the folder"):
        leafwise.arena(dice.GAME, ["random", "greedy"], games=2, file=tmp_path)


def test_games_in_a_file_are_gone_on_with(tmp_path: Path) -> None:
    file, counts = tmp_path / "games.json", list[int]()
    first = evaluate(dice.GAME, "random", 30, 900_000, opponent="random", file=file)
    more = evaluate(
        dice.GAME, "random", 50, 900_000, opponent="random", file=file, resume=True, progress=counts.append, processes=2
    )
    assert sorted(counts) == [40, 50]
    assert np.array_equal(more.scores[:30], first.scores)
    assert np.array_equal(more.scores, evaluate(dice.GAME, "random", 50, 900_000, opponent="random").scores)
    for options, problem in (
        ({}, "expected a new file, or to resume"),
        ({"resume": True, "opponent": "greedy"}, "expected opponent 'greedy', got 'random'"),
    ):
        with pytest.raises(ValueError, match=problem):
            evaluate(dice.GAME, "random", 30, 900_000, **{"opponent": "random", "file": file, **options})  # type: ignore[arg-type]
    for text, problem in (("[]", ""), ('{"a": 1}', "no 'batches'")):
        file.write_text(text)
        with pytest.raises(ValueError, match=f"expected the games of an evaluation, got .*: .*{problem}"):
            evaluate(dice.GAME, "random", 30, 900_000, opponent="random", file=file, resume=True)


def store(file: Path, **about: object) -> GameStore[str, int]:
    """Returns a store that has read nothing."""
    return GameStore(file, about, under="games", what="games of a test")


def test_games_about_something_else_are_refused_or_begun_anew(tmp_path: Path) -> None:
    file = tmp_path / "games.json"
    store(file, player="a").keep("x", 1)
    assert json.loads(file.read_text()) == {"player": "a", "games": {"x": 1}}
    again, other = store(file, player="a"), store(file, player="b")
    again.begin("test", resume=True)
    assert again == {"x": 1}
    with pytest.raises(
        ValueError, match=r"^test: expected a new file, or to resume, got '.*games.json', which exists$"
    ):
        store(file, player="a").begin("test", resume=False)
    with pytest.raises(ValueError, match=r"games.json': expected player 'b', got 'a'$"):
        other.read(file)
    other.read(file, anew=True)
    assert other == {}
    file.write_text('{"player": "a"}')
    with pytest.raises(ValueError, match=r"^expected games of a test, got '.*games.json': no 'games'$"):
        again.read(file)


def test_games_are_written_at_intervals_and_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("leafwise.training.evaluation.results.time.monotonic", lambda: now[0])
    kept = store(tmp_path / "games.json")
    kept.add("x", 1)
    assert not kept.file.exists()  # type: ignore[union-attr]
    now[0] += SAVE_SECONDS + 1
    kept.add("y", 2, {"complete": False})
    assert json.loads((tmp_path / "games.json").read_text()) == {"complete": False, "games": {"x": 1, "y": 2}}
    kept.add("z", 3)
    kept.save()
    assert json.loads((tmp_path / "games.json").read_text()) == {"games": {"x": 1, "y": 2, "z": 3}}
