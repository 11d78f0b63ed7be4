"""Learning to build ships: it learns, logs, resumes; the compiled network says what torch says."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leafwise.__main__ import run as run_leafwise
from leafwise.commands.ship import main as ship_main
from leafwise.envs.core.contract.state import State
from leafwise.envs.starship import GAME, check, read
from leafwise.envs.starship.lookahead import Children
from leafwise.envs.starship.plans import TRIED, Plans
from leafwise.envs.starship.rules import DECISION
from leafwise.envs.starship.tables import TURN
from leafwise.models.files import load_tensors
from leafwise.models.grid import GridNetwork, load_grid
from leafwise.models.players import player
from leafwise.search.frontier import bound_values
from leafwise.training.starship.builders import ShipSampler, builder, concatenated, play, record
from leafwise.training.starship.ship_values import Config, ShipValuesLearner, train

SMALL: dict[str, Any] = {
    "game": "starship",
    "total_steps": 160,
    "batch_size": 32,
    "build_every": 40,
    "heuristic_ships": 100,
    "completions": 4,
    "heuristic_share": 0.75,
    "extra_variants": ("preset=classic",),
    "variant_shares": (0.9, 0.1),
    "core_temperature": 0.01,
}
SMALL |= {"ships": 2, "evaluate_games": 2, "evaluate_every": 160, "checkpoint_seconds": 0.0}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(Config(run=str(tmp_path_factory.mktemp("runs") / "whole"), **SMALL))


def test_it_learns_to_build_better_than_at_random(run: Path) -> None:
    learned, random = builder(f"build:'{run}',depth=1", GAME), builder("random", GAME)
    gains = [record(learned, seed)["quality"] - record(random, seed)["quality"] for seed in range(5000, 5010)]
    assert np.median(gains) > 0.03  # a short run may still fail to finish a ship


def test_the_run_folder(run: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    assert {p.name.split(".")[0] for p in run.iterdir()} == {"config", "model", "state", "results", "events", "run"}
    events = EventAccumulator(str(run))
    events.Reload()
    assert {"eval/score_mean", "eval/gain", "eval/thrust", "eval/correlation", "train/loss"} <= set(
        events.Tags()["scalars"]
    )
    assert events.Tags()["images"] == ["ships"]
    assert json.loads((run / "results.json").read_text())["steps"] == 160


def test_a_stopped_run_ends_as_one_that_was_not(run: Path, tmp_path: Path) -> None:
    stopped = ShipValuesLearner(Config(run=str(tmp_path / "a"), **SMALL))
    for _ in range(3):
        stopped.step()
    stopped.save()
    stopped.folder.lock.release()
    train(replace(stopped.config, resume=True))
    whole, again = (load_tensors(path / "state.safetensors")[0] for path in (run, tmp_path / "a"))
    assert whole.keys() == again.keys()
    for name, tensor in whole.items():
        np.testing.assert_array_equal(tensor, again[name], err_msg=name)


def test_compiled_values_equal_those_of_torch(run: Path) -> None:
    import torch

    from leafwise.training.starship.grid import GridModule

    network, yard = load_grid(run / "model.safetensors", GAME), ShipSampler(GAME, 3)
    rows = concatenated([yard.by_hand(0.5) for _ in range(40)]).rows
    valued = bound_values(GAME, network.evaluator("learned"))
    values, order = valued(rows), np.random.default_rng(1).permutation(len(rows))
    np.testing.assert_array_equal(valued(rows[order]), values[order])  # whatever was valued before
    seen = network.describe(rows, GAME.tables(network.evaluator("learned")))
    with torch.no_grad():
        by_torch = GridModule(network)(*map(torch.from_numpy, seen[:3])).numpy() + seen[3]
    assert np.abs(values - by_torch).max() < 1e-5
    assert len(np.unique(values.round(4))) > 100


def test_a_ship_is_built_from_the_shell(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "ship.json"
    words = [
        "gen",
        "--preset",
        "scout",
        "--seed",
        "5",
        "--builder",
        f"build:'{run}',depth=1",
        "--json",
        str(path),
        "--overwrite",
    ]
    assert ship_main(words) == 0
    ship = read(path)
    assert not check(ship)
    assert ship.stats["quality"] == pytest.approx(
        record(builder(f"build:'{run}',depth=1", GAME), 5)["quality"], abs=1e-6
    )
    assert ship_main([*words, "--thrusters.min-score", "9"]) in (0, 1)
    assert read(path).parameters.thrusters.min_score == 9
    assert run_leafwise(["ship", *words, "--strict"]) == 2
    assert "expected --builder without --story and --strict" in capsys.readouterr().err


def test_a_state_counts_as_its_lambda_return(run: Path) -> None:
    evaluator = load_grid(run / "model.safetensors", GAME).evaluator("learned")
    children, plans = Children(GAME, bound_values(GAME, evaluator)), Plans(GAME, evaluator)
    whole, half, none = (ShipSampler(GAME, 7).by_lookahead(plans, trace=trace) for trace in (1.0, 0.5, 0.0))
    (reached,) = set(whole.quality.tolist())
    assert reached == pytest.approx(State(GAME, whole.last[0]).returns)
    mixed, worth = [], reached
    for value in none.quality[::-1]:
        worth = 0.5 * value + 0.5 * worth
        mixed.append(worth)
    np.testing.assert_allclose(half.quality, mixed[::-1], atol=1e-6)
    known = 0
    for row, quality in zip(none.rows, none.quality, strict=True):
        if row[TURN] == DECISION:  # else more is drawn first
            values_after = children(row, 10_000).values
            if len(values_after) <= TRIED:
                assert quality == pytest.approx(values_after.max(), abs=1e-6)
                known += 1
    assert known > 1


def test_one_network_builds_ships_of_every_preset(run: Path) -> None:
    metadata = load_tensors(run / "model.safetensors")[1]
    assert set(metadata["score"]["quality"]) == {"scout", "classic"}
    for preset in ("classic", "cruiser"):
        place = GAME.variant(preset=preset)
        assert builder(f"build:'{run}',depth=1", place)(3).is_terminal
    with pytest.raises(ValueError, match=r"expected --variant-shares as 2 numbers above 0, got \(1.0,\)"):
        ShipValuesLearner(Config(game="starship", extra_variants=("preset=classic",)))


def test_a_ship_that_is_changed_is_the_better_for_it(run: Path) -> None:
    text = f"build:'{run}',depth=1"
    one, changed = player(text, GAME), builder(f"refine:40:{text},heat=0.01", GAME)
    ships = [(changed(seed).returns, play(GAME, one, seed).returns) for seed in range(5000, 5006)]
    assert min(ships)[0] > 0
    assert np.median([better - quality for better, quality in ships]) > 0
    for text, message in (
        ("best:4:tug", r"expected .*, got '4:tug'"),
        ("refine:4:random", "expected hand or build:LEAF,depth=1,heat=0.01 after refine:4:, got 'random'"),
        ("build:tug,depth=1", "expected a leaf among best, hopeful, potential, .*, got 'tug'"),
    ):
        with pytest.raises(ValueError, match=message):
            builder(text, GAME)


def test_networks_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match=r"expected three layers, multiples of 4 to 1024, got \(8,\)"):
        GridNetwork.create(GAME, (8,))
    tensors = GridNetwork.create(GAME, (4, 4, 4)).tensors
    with pytest.raises(ValueError, match="expected finite float32"):
        GridNetwork.create(GAME, (4, 4, 8), tensors=tensors)
    with pytest.raises(ValueError, match="expected tensors"):
        GridNetwork.create(GAME, (4, 4, 4), tensors={})
