"""The comparison of all methods: its plans are runs that there are, its page tells what is known, and it goes on."""

import base64
import json
import pickle
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import gymnasium as gym
import pytest

import leafwise.experiments.methods.__main__ as methods
from leafwise.experiments.methods import newcomers
from leafwise.experiments.methods.__main__ import LIKELIEST, PLANS, GamePlan, Way, trained, words_of
from leafwise.training.runs.loop import find_variant
from leafwise.training.runs.recipes import method_of, with_recipe
from leafwise.training.runs.run_options import parse_options

SMALL = [
    "--total-steps", "2000", "--envs", "50", "--learning-starts", "500", "--batch-size", "64", "--interval", "1000",
]  # fmt: skip
RUN = {"command": "python -m x", "commit": "0", "seconds": 60.0, "steps": 7, "memory_mb": 100.0}


@pytest.mark.parametrize("name", PLANS)
def test_every_way_of_a_plan_is_a_run_that_there_is(name: str, tmp_path: Path) -> None:
    plan = PLANS[name]
    game = find_variant(name, plan.variant)
    assert plan.hand in game.scores
    for word, way in plan.ways.items():
        module, *words = words_of(name, plan, word, way, tmp_path / "run", 30)
        if way.algorithm:
            assert module == "leafwise.experiments.methods.newcomers"
            continue
        assert [module, *words[:4]] == ["leafwise", "train", name, "--method", methods.method_name(word)]
        line = with_recipe(name, words[3], ["--game", name, *words[4:]])
        config, _ = parse_options(method_of(name, words[3]).options, line, "x")
        assert config.total_steps == round(30 * way.steps)
        assert (config.game, config.variant) == (name, plan.variant)
        options = ["--variant", plan.variant, "--run", str(tmp_path / "run")]
        recipe = words_of(name, plan, word, way, tmp_path / "run", 0)
        assert recipe == [module, *words[:4], *options, *(["--network", way.network] if way.network else [])]


def test_the_dry_run_tells_the_hours_and_replay_buffers_fit_into_memory(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert methods.main(["--dry-run", "--out", str(tmp_path), "--minutes", "30"]) == 0
    output = capsys.readouterr().out.splitlines()
    runs = sum(len(plan.ways) for plan in PLANS.values())
    assert len(output) == runs + 1
    hours = float(output[-1].split(", ")[1].split()[0])
    assert 0 < hours <= 18
    assert not list(tmp_path.iterdir())
    spaces = {name: gym.make(f"leafwise/{name}-v0").observation_space for name in ("Trap", "StarshipPlace")}
    assert newcomers.fitting("DQN", spaces["Trap"]) == {}
    steps = newcomers.fitting("DQN", spaces["StarshipPlace"])["buffer_size"]
    values = 25 * 24 * 24 + 48  # a grid and what stands beside it
    assert 3.9e9 < 2 * 4 * values * steps <= newcomers.BUFFER_BYTES
    assert newcomers.fitting("PPO", spaces["StarshipPlace"]) == {}


def test_the_page_tells_what_is_known_and_the_study_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ways = {"dqn": Way(10), "ppo": Way(10, policy=LIKELIEST)}
    solo, two = (
        GamePlan("", "openness", ways, {1: 4, 2: 4}, "mean score"),
        GamePlan("", "lines", ways, {1: 4, 2: 4}, "points against it"),
    )
    monkeypatch.setattr(methods, "PLANS", {"threes": solo, "trilobite": two})
    calls: list[str] = []

    def learned(words: Any, path: Path) -> dict[str, Any]:
        calls.append(path.name)
        if path.name == "trilobite-ppo-30min" and calls.count(path.name) == 1:
            raise KeyboardInterrupt
        return {**RUN, "curve": {"tag": "eval/best_elo", "steps": [1, 7], "values": [0.0, 9.0]}}

    def played(config: Any, name: str, plan: GamePlan, text: str, *more: Any) -> dict[str, Any]:
        calls.append(text)
        return {"mean": 0.5, "ci_low": 0.4, "ci_high": 0.6, "games": 4, "seconds": 0.1}

    monkeypatch.setattr(methods, "trained", learned)
    monkeypatch.setattr(methods, "measured", played)
    words = ["--games", "threes", "trilobite", "--out", str(tmp_path), "--data", str(tmp_path), "--runs", "r"]
    assert methods.main(words) == 130
    page = (tmp_path / "methods.md").read_text()
    assert "| dqn | 30 | 60 | 7 | 100 | 50.0% (40.0% to 60.0%) |" in page
    before = list(calls)
    assert methods.main(words) == 0
    run = "r/trilobite-ppo-30min"
    assert calls[len(before) :] == [
        "trilobite-ppo-30min",
        *(f"search:{run},depth={depth}" for depth in (1, 2)),
        f"mcts:{run},prior={run},simulations=1,proofs=0",
    ]
    page = (tmp_path / "methods.md").read_text()
    assert page.count("| ppo |") == page.count("| dqn |") == 2
    assert page.count("| hand-made |") == 1  # two-player games are played against it
    assert (tmp_path / "methods.png").read_bytes().startswith(b"\x89PNG")
    known = json.loads((tmp_path / "methods.json").read_text())
    assert "--games" not in known["command"]  # games may be added one by one
    assert methods.main([*words, "--minutes", "5"]) == 0  # and so may runs of other lengths
    page = (tmp_path / "methods.md").read_text()
    assert page.count("| ppo | 30 |") == page.count("| ppo | 5 |") == 2
    calls.clear()
    assert methods.main([*words, "--minutes", "0", "--ways", "dqn"]) == 0  # and of their recipes
    assert [name for name in calls if ":" not in name] == ["threes-dqn-recipe", "trilobite-dqn-recipe"]
    page = (tmp_path / "methods.md").read_text()
    assert page.index("| dqn | its recipe |") < page.index("| dqn | 5 |")
    assert page.count("| dqn | its recipe |") == 2
    assert "| ppo | its recipe |" not in page
    calls.clear()
    assert methods.main([*words, "--share", "0.5"]) == 2  # other games are no part of these results
    assert not calls
    scores = iter([0.5, 0.6, 0.7, 0.8, 0.9, 0.1, 0.2, 0.3, 0.4, 0.5])
    monkeypatch.setattr(methods, "trained", lambda words, path: {**RUN, "command": " ".join([*words[-2:], path.name])})
    monkeypatch.setattr(
        methods, "measured", lambda *given: {"mean": next(scores), "ci_low": 0, "ci_high": 1, "games": 4}
    )
    assert methods.main([*words[:1], "trilobite", *words[3:], "--minutes", "1", "--seeds", "5"]) == 0
    page = (tmp_path / "methods.md").read_text()
    assert "    --seed 1 trilobite-dqn-1min-seed1\n    --seed 1 trilobite-ppo-1min-seed1\n" in page
    assert "| dqn | 5 | 70.0% (" in page
    assert (
        "- `dqn` is significantly better than `ppo`. The probability that a run of `dqn` is better than a run of `ppo` is 98% ("
        in page
    )
    assert "| dqn | 1 |" not in page
    assert json.loads((tmp_path / "methods.json").read_text())["results"].keys() > known["results"].keys()


def test_a_game_for_two_is_judged_by_points_against_the_hand_made_leaf(tmp_path: Path) -> None:
    plan = GamePlan("", "lines", {}, {1: 8}, "points against it", plies=2)

    def measured(text: str, against: str, games: int) -> dict[str, Any]:
        file = tmp_path / f"{games}.json"
        return methods.measured(methods.Config(out=tmp_path), "trilobite", plan, text, against, games, file)

    result = measured("search:lines,depth=1", "search:lines,depth=1", 8)
    assert 0 <= result["ci_low"] <= result["mean"] <= result["ci_high"] <= 1
    assert result["games"] == 8
    assert measured("random", "search:lines,depth=2", 40)["mean"] < 0.4
    with pytest.raises(ValueError, match="expected players without faults, got crash of search:lines"):
        measured("search:lines,depth=1,batched=1,table_mb=1", "search:lines,depth=1", 2)


@pytest.mark.long
def test_runs_are_processes_whose_memory_is_known(tmp_path: Path) -> None:
    words = ["leafwise", "train", "trilobite", "--method", "dqn", "--no-recipe", "--run", str(tmp_path / "q"), *SMALL]
    result = trained([*words, "--match-pairs", "100", "--solver-positions", "0", "--hidden", "8", "8"], tmp_path / "q")
    assert result["steps"] == 2000
    assert result["memory_mb"] > 50
    assert result["curve"]["tag"] == "eval/best_elo"
    config: dict[str, Any] = {"game": "trilobite", "algorithm": "PPO", "minutes": 0.02, "run": str(tmp_path / "sb3")}
    newcomers.train(newcomers.Config(**config, env='{"opponent": "random"}'))
    result = trained([], tmp_path / "sb3")
    assert result["seconds"] >= 1.2
    assert (tmp_path / "sb3" / "model.zip").exists()


class Evil:
    """Touches a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("algorithm", ["PPO", "DQN", "MaskablePPO"])
def test_a_newcomer_goes_on_and_runs_no_code_of_its_folder(
    algorithm: Literal["PPO", "DQN", "MaskablePPO"], tmp_path: Path
) -> None:
    path, file = tmp_path / "run", tmp_path / "settings.yml"
    file.write_text("leafwise/Trilobite-v0: {n_envs: 4, n_steps: 8, batch_size: 32, normalize: {norm_obs: false}}")
    config = newcomers.Config("trilobite", "", algorithm, '{"opponent": "random"}', 1e-3, run=str(path))
    config = replace(config, settings=str(file) if algorithm == "MaskablePPO" else "")
    newcomers.train(config)
    first, old, new = json.loads((path / "config.json").read_text()), path / "model.zip", path / "new.zip"
    evil = {":type:": "x", ":serialized:": base64.b64encode(pickle.dumps(Evil(tmp_path / "ran"))).decode()}
    with zipfile.ZipFile(old) as before, zipfile.ZipFile(new, "w") as after:
        for name in before.namelist():
            data = before.read(name)
            after.writestr(name, json.dumps({**json.loads(data), "policy_class": evil}) if name == "data" else data)
    new.replace(old)
    if config.settings:
        (path / "normalize.pkl").write_bytes(pickle.dumps(Evil(tmp_path / "ran")))
    newcomers.train(replace(config, minutes=2e-3, resume=True))
    again = json.loads((path / "config.json").read_text())
    assert not (tmp_path / "ran").exists()
    assert again["steps"] > first["steps"] > 0
    assert again["seconds"] > first["seconds"]
