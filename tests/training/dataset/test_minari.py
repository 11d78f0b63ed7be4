"""Datasets of Minari: what is written is loaded again, and each episode replays in the environment that is recovered."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from front.console import Shell, make_shell

import leafwise
from leafwise.training.dataset import Dataset, collect_dataset, read_dataset, write_dataset

minari = pytest.importorskip("minari", reason="without the extra `data`")
pytest.importorskip("h5py", reason="without the extra `data`")


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of Minari of its own."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "store"))
    return tmp_path / "store"


def same(one: Any, other: Any) -> bool:
    """Whether two observations are equal, arrays or dicts of arrays."""
    if isinstance(one, dict):
        return set(one) == set(other) and all(np.array_equal(one[name], other[name]) for name in one)
    return one.dtype == other.dtype and np.array_equal(one, other)


def at(observations: Any, k: int) -> Any:
    """Observation k of an episode."""
    return (
        {name: array[k] for name, array in observations.items()} if isinstance(observations, dict) else observations[k]
    )


def replayed(written: Any) -> int:
    """Plays every episode of a dataset in the environment it recovers, and compares; returns how many there are."""
    episodes = list(written.iterate_episodes())
    for episode, metadata in zip(episodes, written.storage.get_episode_metadata(range(len(episodes))), strict=True):
        env = written.recover_environment(**({} if metadata["seat"] == "first" else {"seat": metadata["seat"]}))
        assert env.observation_space == written.observation_space
        assert env.action_space == written.action_space
        obs, info = env.reset(seed=metadata["seed"])
        for k, action in enumerate(episode.actions):
            assert same(at(episode.observations, k), obs)
            assert np.array_equal(episode.infos["action_mask"][k], info["action_mask"])
            obs, reward, terminated, truncated, info = env.step(action)
            assert reward == episode.rewards[k]
            assert (terminated, truncated) == (episode.terminations[k], episode.truncations[k])
        assert terminated
        assert same(at(episode.observations, len(episode)), obs)
        assert np.array_equal(episode.infos["action_mask"][-1], info["action_mask"])
        assert episode.rewards.sum() == metadata["result"]
    return len(episodes)


@pytest.mark.long
def test_episodes_of_threes_replay(store: Path) -> None:
    dataset = collect_dataset(leafwise.game("threes"), "search:openness,depth=1", 3, 11, exploration=0.2)
    assert write_dataset("minari:threes/openness-v0", dataset) == store / "threes" / "openness-v0"
    assert set(minari.list_local_datasets()) == {"threes/openness-v0"}
    assert sorted(path.name for path in store.iterdir()) == ["threes"]
    written = minari.load_dataset("threes/openness-v0")
    assert (written.env_spec.id, written.total_steps) == ("leafwise/Threes-v0", len(dataset))
    assert replayed(written) == 3
    for name, array in (("value", "values"), ("choice", "choices")):
        values = [episode.infos[name] for episode in written.iterate_episodes()]
        assert np.array_equal(np.concatenate([array[:-1] for array in values]), dataset.arrays[array])
    assert written.storage.metadata["leafwise"]["exploration"] == 0.2
    assert written.storage.metadata["algorithm_name"] == "search:openness,depth=1"


def test_episodes_of_both_players_of_trilobite_replay() -> None:
    game = leafwise.game("trilobite", board="4x4", k=3)
    dataset = collect_dataset(game, "search:lines,depth=1", 2, 5, exploration=0.0)
    write_dataset("minari:both-v1", dataset)
    written = minari.load_dataset("both-v1")
    assert written.env_spec.kwargs == {"game": "trilobite", **game.given_options, "opponent": "search:lines,depth=1"}
    assert replayed(written) == 4
    assert [metadata["seat"] for metadata in written.storage.get_episode_metadata(range(4))] == ["first", "second"] * 2


def test_episodes_of_trilobite_against_an_opponent_replay() -> None:
    dataset = collect_dataset(
        leafwise.game("trilobite"), "search:lines,depth=1", 4, 5, opponent="search:lines,depth=2", exploration=0.3
    )
    write_dataset("minari:one-v0", dataset)
    written = minari.load_dataset("one-v0")
    assert (written.env_spec.id, replayed(written)) == ("leafwise/Trilobite-v0", 4)


@pytest.mark.skipif(find_spec("pyarrow") is None, reason="without the extra `data`")
@pytest.mark.long
def test_observations_of_starship_by_name(tmp_path: Path) -> None:
    dataset = collect_dataset(leafwise.game("starship"), "random", 2, 0)
    write_dataset("minari:ships-v0", dataset)
    assert replayed(minari.load_dataset("ships-v0")) == 2
    write_dataset(tmp_path / "ships.parquet", dataset)
    read = read_dataset(tmp_path / "ships.parquet")
    assert set(read.arrays) == set(dataset.arrays)
    assert all(np.array_equal(array, read.arrays[name], equal_nan=True) for name, array in dataset.arrays.items())
    assert read.about == dataset.about


def test_a_dataset_of_trilobite_is_new_and_whole(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collected = collect_dataset(leafwise.game("trilobite"), "random", 1, 0)
    with monkeypatch.context() as broken:
        broken.setattr("leafwise.training.dataset.episode_metadata", lambda dataset, rows: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            write_dataset("minari:aa/d-v0", collected)
    assert list(store.iterdir()) == []
    write_dataset("minari:aa/d-v0", collected)
    with pytest.raises(ValueError, match=r"^expected a new dataset, got 'minari:aa/d-v0', which exists: '.*d-v0'$"):
        write_dataset("minari:aa/d-v0", collected)
    with pytest.raises(
        ValueError, match=r"^expected a file, got 'minari:d-v0': minari.load_dataset\('d-v0'\) reads it$"
    ):
        read_dataset("minari:d-v0")


@pytest.mark.parametrize("name", ["", "d", "/d-v0", "../d-v0", "d-v", "a b-v0", "a//", "d.x-v0", "a/d-v0"])
def test_a_wrong_name_is_one_line(store: Path, name: str) -> None:
    with pytest.raises(
        ValueError, match=r"^expected minari:NAME-v0 or minari:NAMESPACE/NAME-v0 \(.*\), got 'minari:.*'$"
    ):
        write_dataset(f"minari:{name}", Dataset({}))
    assert not store.exists()


def test_the_command_writes_trilobite(capsys: pytest.CaptureFixture[str], monkeypatch, store: Path) -> None:
    shell: Shell = make_shell(capsys, monkeypatch)
    answer = shell("dataset", "trilobite", "--player", "random", "--games", "2", "--out", "minari:t-v0")
    assert (answer.status, answer.error) == (0, "")
    assert answer.out.startswith(f"{store / 't-v0'}: ")
    assert minari.load_dataset("t-v0").total_episodes == 4
    again = shell("dataset", "trilobite", "--games", "2", "--out", "minari:t-v0")
    assert again.refusal.startswith("error: expected a new dataset, got 'minari:t-v0'")
