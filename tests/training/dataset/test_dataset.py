"""Datasets: what is written is what the environment shows and pays; files both ways; the user's network learns from one."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from front.console import Shell, make_shell

import leafwise
from games import dice
from leafwise.envs.core.gym.env import GameEnv
from leafwise.training.dataset import FIELDS, FINAL, OBSERVATIONS, Dataset, collect_dataset, read_dataset, write_dataset

THREES, TRILOBITE = leafwise.game("threes"), leafwise.game("trilobite")


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Runs `leafwise` inside the test's process."""
    return make_shell(capsys, monkeypatch)


def equal(one: Dataset, other: Dataset) -> bool:
    """Whether two datasets hold the same, to the bit."""
    same = set(one.arrays) == set(other.arrays) and one.about == other.about
    return same and all(
        a.dtype == other.arrays[name].dtype and np.array_equal(a, other.arrays[name], equal_nan=a.dtype.kind == "f")
        for name, a in one.arrays.items()
    )


def replayed(env: GameEnv, dataset: Dataset, game: int, player: int | None = None) -> None:
    """Plays a game of a dataset, or one player's part of it, in an environment, and compares everything with what it gives."""
    a = dataset.arrays
    rows = np.flatnonzero((a["games"] == game) & ((a["players"] == player) if player is not None else True))
    obs: Any
    obs, info = env.reset(seed=int(a["seeds"][game]))
    gained = 0.0
    for row in rows:
        assert np.array_equal(obs, a[OBSERVATIONS][row])
        assert np.array_equal(info["action_mask"], a["masks"][row])
        obs, reward, over, _, info = env.step(int(a["actions"][row]))
        assert reward == a["rewards"][row]
        assert over == a["terminations"][row]
        gained += reward
    assert over
    assert np.array_equal(obs, a[FINAL][int(a["terminations"][: rows[-1]].sum())])
    assert set(a["results"][rows]) == {gained}


def test_a_solo_game_replays_in_the_environment() -> None:
    dataset = collect_dataset(THREES, "search:openness,depth=1", 3, 11, exploration=0.2)
    for game in range(3):
        replayed(GameEnv(THREES), dataset, game)
    a = dataset.arrays
    assert set(a) == {OBSERVATIONS, *FIELDS}
    moved = a["choices"] != a["actions"]
    assert 0.05 < moved.mean() < 0.2  # a random move may be the one that was chosen
    assert a["masks"][np.arange(len(dataset)), a["actions"]].all()
    state = THREES.new(0)
    assert np.isfinite(a["values"]).all()
    assert dataset.about["actions"] == list(state.game.actions)


def test_a_game_for_two_has_both_sides_or_one() -> None:
    both = collect_dataset(dice.GAME, "random", 6, 0).arrays
    assert set(both["players"]) == {0, 1}
    assert np.isnan(both["values"]).all()
    for game in range(6):
        rows = both["games"] == game
        results: list[float] = []
        for seat in set(both["players"][rows]):  # the first may win before the second has a turn
            side = rows & (both["players"] == seat)
            assert both["terminations"][side].sum() == 1
            assert both["rewards"][side].sum() == pytest.approx(both["results"][side][0])
            results += set(both["results"][side])
        assert len(results) == 1 or results[0] == -results[1] != 0
    one = collect_dataset(TRILOBITE, "search:lines,depth=1", 4, 5, opponent="search:lines,depth=1", exploration=0.0)
    seats = [set(one.arrays["players"][one.arrays["games"] == game]) for game in range(4)]
    assert seats == [{0}, {1}, {0}, {1}]
    for game in range(4):
        replayed(GameEnv(TRILOBITE, opponent="search:lines,depth=1", seat=("first", "second")[game % 2]), one, game)


DRAWING = [
    (TRILOBITE, "greedy"),
    (TRILOBITE, "random"),
    (TRILOBITE, "mcts:simulations=50"),
    (TRILOBITE, "level:easy"),
    (leafwise.game("cassis"), "greedy"),
    (dice.GAME, "greedy"),
    (dice.GAME, "mcts:simulations=20"),
]


@pytest.mark.parametrize(("game", "opponent"), DRAWING)
def test_games_against_an_opponent_that_draws_replay(game: leafwise.Game, opponent: str) -> None:
    dataset = collect_dataset(game, "random", 7, 5, opponent=opponent)
    for number in set(dataset.arrays["games"]):
        replayed(GameEnv(game, opponent=opponent, seat=("first", "second")[number % 2]), dataset, number)


@pytest.mark.parametrize("text", ["greedy", "mcts:simulations=50"])
def test_either_side_of_a_game_between_players_that_draw_replays(text: str) -> None:
    dataset = collect_dataset(TRILOBITE, text, 3, 5, exploration=0.0)
    for number in range(3):
        for player, seat in enumerate(("first", "second")):
            replayed(GameEnv(TRILOBITE, opponent=text, seat=seat), dataset, number, player)


@pytest.mark.parametrize("text", ["random", "mcts:simulations=20"])
def test_a_game_depends_on_its_seed_alone(text: str) -> None:
    many, one = collect_dataset(dice.GAME, text, 7, 3).arrays, collect_dataset(dice.GAME, text, 1, 8).arrays
    assert np.array_equal(many["actions"][many["games"] == 5], one["actions"])


def test_the_number_of_processes_changes_nothing(tmp_path: Path) -> None:
    alone = collect_dataset(TRILOBITE, "search:lines,depth=1", 7, 3)
    assert equal(collect_dataset(TRILOBITE, "search:lines,depth=1", 7, 3, processes=2), alone)


PARQUET = pytest.param(
    "parquet", marks=pytest.mark.skipif(find_spec("pyarrow") is None, reason="without the extra `data`")
)


def test_what_is_no_dataset_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^expected a Dataset, as collect_dataset returns, got \{\}$"):
        write_dataset(tmp_path / "d.npz", {})  # type: ignore[arg-type]
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("kind", ["npz", PARQUET])
def test_files_give_back_what_was_written(kind: str, tmp_path: Path) -> None:
    for game in (THREES, TRILOBITE):
        dataset, file = collect_dataset(game, "random", 2, 0), tmp_path / game.name / f"d.{kind}"
        write_dataset(file, dataset)
        assert equal(read_dataset(file), dataset)
        assert [one.name for one in file.parent.iterdir()] == [file.name]
    with pytest.raises(ValueError, match=rf"^expected a new file, got '.*d.{kind}', which exists$"):
        write_dataset(file, dataset)
    (tmp_path / f"bad.{kind}").write_bytes(b"nonsense")
    np.savez(tmp_path / "other.npz", a=np.zeros(2))
    for name in (f"bad.{kind}", "other.npz", f"none.{kind}"):
        with pytest.raises(ValueError, match=r"^expected a dataset"):
            read_dataset(tmp_path / name)
    if kind == "npz":
        with pytest.raises(ValueError, match=r"^expected a dataset of leafwise, got '.*other.npz': no 'about"):
            read_dataset(tmp_path / "other.npz")


@pytest.mark.parametrize(("name", "package"), [("d.parquet", "pyarrow"), ("minari:d-v0", "minari")])
def test_without_the_extra_it_is_one_line(tmp_path: Path, monkeypatch, name: str, package: str) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.chdir(tmp_path)
    how = r"pip install 'leafwise\[data\]'; without it, a name that ends with .npz"
    with pytest.raises(ValueError, match=rf"^expected {package} for '{name}', {how}$"):
        write_dataset(name, Dataset({}))


def test_what_a_file_holds_teaches_results_of_other_games(tmp_path: Path) -> None:
    write_dataset(tmp_path / "d.npz", collect_dataset(TRILOBITE, "random", 300, 0))
    data = np.load(tmp_path / "d.npz")
    seen, results, train = data["observations"], data["results"], data["games"] < 240
    seen = np.column_stack([seen.reshape(len(seen), -1), np.ones(len(seen))])
    weights = np.linalg.lstsq(seen[train], results[train], rcond=None)[0]
    assert ((seen[~train] @ weights - results[~train]) ** 2).mean() < 0.95 * results[~train].var()


def test_the_command_writes_a_file_and_says_so(shell: Shell, tmp_path: Path) -> None:
    out = tmp_path / "t.npz"
    answer = shell("dataset", "trilobite", "--games", "2", "--out", str(out))
    assert (answer.status, answer.error) == (0, "")
    assert answer.out.startswith(f"{out}: ")
    assert "player best, seeds 0 to 1, 10% random moves" in answer.out
    assert read_dataset(out).about["player"] == "best"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (
            "trilobite --out x.csv",
            "expected a file name that ends with .npz or .parquet, or minari:NAME-v0, got 'x.csv'",
        ),
        ("trilobite --games 0", "dataset: expected 1 to 1,000,000 games, got 0"),
        ("trilobite --seed 900000", "dataset: expected seeds for training, 0 to 899,999, got 900000 to 900099"),
        ("trilobite --exploration 2", "dataset: expected exploration, a share of random moves, of 0 to 1, got 2.0"),
        ("threes --opponent random", "dataset: expected no opponent in 'threes', a single-player game, got 'random'"),
        ("threes --player nobody", "expected a player like random, "),
    ],
)
def test_wrong_input_is_one_line(shell: Shell, tmp_path: Path, monkeypatch, words: str, problem: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert shell("dataset", *words.split()).refusal.startswith(f"error: {problem}")
    assert not list(tmp_path.iterdir())
