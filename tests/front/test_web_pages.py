"""What the pages of ships and of runs are told, without a server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.registry import game as find_game
from leafwise.envs.starship.presets import PRESETS
from leafwise.training.runs.events import Events
from leafwise.web import runs, ships
from leafwise.web.asks import RunAsk, RunGameAsk, RunsAsk, ShipAsk, StagesAsk
from leafwise.web.worker import RUNS_VARIABLE, Control, Job

SEED = 7


def told(job: Job, ask: Any) -> dict[str, Any]:
    """Returns the one answer of a job."""
    (found,) = job(ask, Control(lambda message: None))
    answer: dict[str, Any] = found
    return answer


def test_a_starship_is_built_place_by_place() -> None:
    state = find_game("starship", preset="scout").start().settle(stream := new_stream(SEED))
    moves: list[str] = []
    while not state.is_terminal:
        ship = told(ships.build, ShipAsk(seed=SEED, moves=moves))
        assert [place["name"] for place in ship["legal"]] == list(state.legal_names)
        assert ship["quality"] == pytest.approx(state.returns, abs=1e-6)
        moves.append(ship["legal"][0]["name"])
        state = state.play(moves[-1]).settle(stream)
    ship = told(ships.build, ShipAsk(seed=SEED, moves=moves))
    assert ship["over"]
    assert "legal" not in ship
    weighted = sum(term["value"] * term["weight"] for term in ship["terms"])
    assert ship["quality"] == pytest.approx(weighted if not ship["reasons"] else 0, abs=1e-5)
    with pytest.raises(ValueError, match=f"expected at most {len(moves)} places, the ship is finished, got"):
        told(ships.build, ShipAsk(seed=SEED, moves=[*moves, moves[0]]))


def test_wrong_starships_are_one_line() -> None:
    with pytest.raises(ValueError, match=r"place 1: starship: expected"):
        told(ships.build, ShipAsk(seed=SEED, moves=["0,0N"]))
    for job, ask in ((ships.build, ShipAsk), (ships.tell_stages, StagesAsk)):
        with pytest.raises(
            ValueError, match="expected preset among classic, scout, cruiser, corvette, frigate, got 'none'"
        ):
            told(job, ask("none"))


def test_the_learned_builder_of_starships_names_legal_places() -> None:
    for preset in PRESETS:
        ask = ShipAsk(preset=preset, seed=SEED)
        ship, advice = told(ships.build, ask), told(ships.advise, ask)
        values = [one["value"] for one in advice["best"]]
        assert values == sorted(values, reverse=True)
        assert len(values) == ships.SHOWN
        assert {one["name"] for one in advice["best"]} <= {place["name"] for place in ship["legal"]}


def test_the_stages_of_a_generated_starship() -> None:
    story = told(ships.tell_stages, StagesAsk(seed=SEED))
    assert [stage["name"] for stage in story["stages"]][:3] == ["Shape", "Fill Gaps", "Cockpit"]
    assert all(stage["svg"].startswith("<svg") for stage in story["stages"])
    assert story["quality"] > 0
    assert not story["reasons"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of runs, with one run that has begun."""
    root = tmp_path / "runs"
    (root / "begun").mkdir(parents=True)
    (root / "begun" / "config.toml").write_text('game = "threes"\ntotal_steps = 90\n')
    monkeypatch.setenv(RUNS_VARIABLE, str(root))
    return root


def test_runs_are_listed_with_what_is_wrong_with_them(folder: Path) -> None:
    (folder / "broken").mkdir()
    (folder / "broken" / "config.toml").write_text("game = \n")
    (folder / "no-model").mkdir()
    (folder / "no-model" / "config.toml").write_text('game = "trap"\n')
    (folder / "no-model" / "model.safetensors").write_bytes(b"noise")
    found = {run["name"]: run for run in told(runs.tell_runs, RunsAsk())["runs"]}
    assert set(found) == {"begun", "broken", "no-model"}
    assert found["broken"]["wrong"].startswith("expected options in TOML or JSON, got")
    assert found["no-model"]["wrong"].startswith("expected a model in 'model.safetensors' of 'no-model'")
    assert (found["begun"]["state"], found["begun"]["has_model"]) == ("running", False)


def test_a_run_is_told_with_its_curves(folder: Path) -> None:
    events = Events(folder / "begun")
    events.add("eval/score_mean", 2.0, 30)
    events.close()
    run = told(runs.tell_run, RunAsk("begun"))
    assert (run["steps"], run["curves"]) == (30, {"eval/score_mean": [(30, 2.0)]})
    with pytest.raises(ValueError, match="expected a run with a model, 'begun' has none yet"):
        told(runs.play_run, RunGameAsk("begun"))


@pytest.mark.parametrize("name", ["../begun", "/etc", "", "begun/config.toml", "none"])
def test_no_other_folder_is_a_run(folder: Path, name: str) -> None:
    for job, ask in ((runs.tell_run, RunAsk), (runs.play_run, RunGameAsk)):
        with pytest.raises(ValueError, match="expected a run among begun, got"):
            told(job, ask(name))
