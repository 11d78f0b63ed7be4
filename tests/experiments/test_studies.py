"""What all studies do alike: they go on where they were stopped, make a page from what is kept, say in one line what is wrong."""

import importlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from front.console import shows
from PIL import Image

import leafwise
from leafwise.experiments import boards, cluster, equal_time, reference
from leafwise.experiments.cluster import ONE, SEVERAL, Usage, summary
from leafwise.experiments.reference import FIRST_SEED, by_player, play
from leafwise.experiments.search import __main__ as search
from leafwise.experiments.study import EXPERIMENTS
from leafwise.training.evaluation.results import GameStore

SMALL = {
    "cassis.critical": "critical --seven cassis7 --eight= --positions 5 --depths 1",
    "trilobite.learned": "learned --large=",
    "trilobite.critical": "scores --players search:lines,depth=1 --games",
    "reference": "reference --ids Trilobite-v0 --steps 0 --games 10",
}
"""Studies -> the name of their files, and options with which they take seconds."""
WRONG = {
    "cluster --cores 1": "expected --cores of 2 to 1,024, got 1",
    "cluster --only chess": "expected --only among eval, arena, selfplay, got 'chess'",
    "cluster --cluster moon": "expected a cluster auto, local or HOST:PORT, got 'moon'",
    "methods --games chess": "expected games among threes, trilobite, cassis, trap, friday, starship, got 'chess'",
    "methods --minutes -1": "expected --minutes of at least 0, got -1.0",
    "methods --newcomer-minutes 0": "expected --newcomer-minutes above 0, got 0.0",
    "methods --ways qlearning": "expected ways among ntuple-td, ntuple-q, ppo, SB3 DQN, SB3 PPO, SB3 MaskablePPO, "
    "value-td, selfplay, selfplay conv, alphazero, dqn, selfplay mlp, ship-values, got 'qlearning'",
    "reference --ids Chess-v0": "expected ids among Cassis-v0, ",
    "search --games Chess": ", Trap, Connect Four, Sim on 8 points, got 'Chess'",
    "search --leaves best": "expected --leaves among learned, hand-made, got 'best'",
    "search --share 0": "expected --share above 0 and at most 1, got 0.0",
    "threes.learned --parts dept": "expected parts among depth, time and a share in (0, 1]",
    "threes.learned --share 0": "expected parts among depth, time and a share in (0, 1]",
    "starship.learned --seeds 0": "expected at least one seed and one builder, got 0",
    "starship.learned --seeds 1 --builders tug": "got 'tug'",
    "starship.learned --seeds 1 --builders hand --pairs hand>tug": "expected pairs A > B of builders that are compared, "
    "got 'hand>tug'",
    "trilobite.critical --players --programs no-such-program": "expected a command that starts, got 'no-such-program'",
}
"""Studies with wrong options -> what their line says."""
KNOWN = {
    "equal_time": ".", "search --games": "search", "search.regret --games": "search", "cassis.critical": "cassis",
    "cassis.learned": "cassis", "trilobite.learned": "trilobite", "friday.learned": "friday",
    "threes.baselines": "threes", "threes.learned --parts": "threes",
}  # fmt: skip
"""Studies that have nothing left to play, with options so that they only write -> their folders."""


def main_of(study: str) -> Callable[[list[str]], int]:
    """Returns the command of a study, a module or a package."""
    name = f"leafwise.experiments.{study}"
    module = importlib.import_module(name)
    main: Callable[[list[str]], int] = (
        module.main if hasattr(module, "main") else importlib.import_module(f"{name}.__main__").main
    )
    return main


def starts_alike(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Whether a result is as it was; one that grows, piece by piece, begins as it did."""
    if "kept" in before and isinstance(before["kept"], str):
        return str(after["kept"]).startswith(before["kept"])
    return bool(before.items() <= after.items())


@pytest.mark.parametrize("study", SMALL)
def test_a_study_goes_on_where_it_was_and_its_page_is_of_what_is_kept(
    study: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, *options = SMALL[study].split()
    main, page, file = main_of(study), tmp_path / f"{name}.md", tmp_path / f"{name}.json"
    words = [*options, "--out", str(tmp_path), "--data", str(tmp_path)]

    def kept() -> dict[str, Any]:
        stored: dict[str, Any] = json.loads(file.read_text())
        return dict(stored.get("results", stored))

    def stop(store: GameStore[str, Any], *stored: Any) -> None:
        keep(store, *stored)
        raise KeyboardInterrupt

    keep = GameStore.keep
    with monkeypatch.context() as patched:
        patched.setattr(GameStore, "keep", stop)
        assert main(words) == 130
    first = kept()
    assert len(first) == 1
    assert main(words) == 0
    whole, text = kept(), page.exists() and page.read_text()
    assert all(starts_alike(stored, whole[title]) for title, stored in first.items())
    monkeypatch.setattr(GameStore, "keep", None)  # everything is known
    page.unlink(missing_ok=True)
    assert main(words) == 0
    assert (kept(), page.exists() and page.read_text()) == (whole, text)
    assert study == "reference" or "\n| " in str(text)


@pytest.mark.parametrize("line", KNOWN)
def test_what_is_written_again_from_kept_results_is_the_same(line: str, tmp_path: Path) -> None:
    study, *words = line.split()
    assert main_of(study)([*words, "--out", str(tmp_path)]) == 0
    (page,), home = tmp_path.glob("*.md"), EXPERIMENTS / KNOWN[line]
    assert page.read_text(encoding="utf-8") == (home / page.name).read_text(encoding="utf-8")
    for kept in tmp_path.glob("*.json"):  # nothing was played again
        assert json.loads(kept.read_text()) == json.loads((home / kept.name).read_text())
    for drawn in tmp_path.glob("*.png"):
        with Image.open(drawn) as picture, Image.open(home / drawn.name) as before:
            assert picture.size == before.size


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_option_is_one_line(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    study, *words = line.split()
    monkeypatch.chdir(tmp_path)
    assert main_of(study)([*words, "--out", "out"]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("error: ")
    assert WRONG[line] in error
    assert not Path("out").exists()


# The studies of depth-limited search and Monte Carlo tree search: what they play, ask, keep and tell


FEW = ["--leaves", "hand-made", "--share", "0.01"]


def test_a_page_tells_all_that_is_known_whatever_is_asked_for(tmp_path: Path) -> None:
    where = ["--out", str(tmp_path), "--data", str(tmp_path), "--runs", str(tmp_path / "runs")]
    for ms in ("1", "2"):
        assert search.main(["--games", "Sim on 8 points", "--milliseconds", ms, *FEW, *where]) == 0
        if ms == "1":  # what is known of a game that is not asked for
            known = json.loads((tmp_path / "search.json").read_text())
            (result,) = known.values()
            known["Trap, hand-made, 1 ms, mcts"] = result
            (tmp_path / "search.json").write_text(json.dumps(known))
    results = json.loads((tmp_path / "search.json").read_text())
    assert results.pop("Trap, hand-made, 1 ms, mcts") == result
    assert set(results) == {f"Sim on 8 points, hand-made, {ms} ms, mcts" for ms in (1, 2)}
    assert all(result["games"] == 2 and 0 <= result["mean"] <= 1 for result in results.values())
    page = (tmp_path / "search.md").read_text()
    for seconds in ("0.001,clock=cpu", "0.002,clock=cpu"):
        assert f"| Sim on 8 points | `mcts:seconds={seconds}` against `search:seconds={seconds}` | 2 |" in page
    shows(page, "| Trap | `mcts:seconds=0.001,clock=cpu` against", "    python -m leafwise.experiments.search\n")


@pytest.mark.parametrize(
    ("leaves", "name", "key"), [("learned", "digest_of", "model"), ("hand-made", "mcts_defaults", "mcts")]
)
def test_games_of_another_network_or_with_other_defaults_are_played_anew(
    leaves: str, name: str, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["--games", "Sim on 8 points", "--milliseconds", "1", "--leaves", leaves, "--share", "0.01"]
    words += ["--out", str(tmp_path), "--data", str(tmp_path), "--runs", str(tmp_path / "runs")]

    def played(game: object, text: str, games: int, *how: object, file: Path, **where: object) -> dict[str, float]:
        file.write_text(text)
        return {"mean": 0.5, "ci_low": 0.4, "ci_high": 0.6, "games": games, "seconds": 0.001}

    def kept() -> dict[str, str]:
        return {name: result[key] for name, result in json.loads((tmp_path / "search.json").read_text()).items()}

    monkeypatch.setattr("leafwise.experiments.search.__main__.scored", played)
    assert search.main(words) == 0
    before = kept()
    monkeypatch.setattr("leafwise.experiments.search.__main__.scored", None)
    assert search.main(words) == 0  # everything is known
    monkeypatch.setattr("leafwise.experiments.search.__main__.scored", played)
    monkeypatch.setattr(f"leafwise.experiments.search.{name}", lambda of: "another")
    assert search.main(words) == 0
    assert kept() == dict.fromkeys(before, "another")
    assert "another" not in before.values()
    assert len(list((tmp_path / "runs").iterdir())) == 2 * len(before)


# The study of reference returns: it measures what is missing, and nothing twice


def test_a_player_is_measured_by_the_environments_own_returns() -> None:
    game = leafwise.game("trilobite")
    env = gym.make("leafwise/Trilobite-v0")
    returns = play(env, by_player("random", game), 30)
    assert set(returns) <= {-1.0, 0.0, 1.0}
    assert returns == play(env, by_player("random", game), 30)
    env.reset(seed=FIRST_SEED)
    assert env.unwrapped.state == game.new(FIRST_SEED)  # type: ignore[attr-defined]


def test_what_is_known_is_not_measured_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--out", str(tmp_path), "--data", str(tmp_path)]
    words = [*where, "--ids", "Trilobite-v0", "--steps", "0", "--games"]
    assert reference.main([*words, "10"]) == 0
    entries = json.loads((tmp_path / "reference.json").read_text())
    assert [one["role"] for one in entries["Trilobite-v0"].values()] == ["random", "hand-made", "shipped", "perfect"]
    assert "random" in capsys.readouterr().out
    assert reference.main([*words, "10", "--again", "shipped"]) == 0
    output = capsys.readouterr().out
    assert "search:learned" in output
    assert "random" not in output
    assert reference.main([*words, "12"]) == 0
    again = json.loads((tmp_path / "reference.json").read_text())
    assert {one["games"] for one in again["Trilobite-v0"].values()} == {12}


def test_what_another_run_writes_meanwhile_is_kept_and_ids_are_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "reference.json"

    def played(env: object, choose: object, games: int) -> list[float]:
        known = json.loads(file.read_text()) if file.exists() else {}
        file.write_text(json.dumps({"Trilobite-v0": {"random": {"role": "random"}}} | known))
        return [0.0] * games

    monkeypatch.setattr(reference, "play", played)
    words = ["--out", str(tmp_path), "--data", str(tmp_path), "--ids", "Cassis-v0", "--steps", "0", "--games", "10"]
    assert reference.main(words) == 0
    entries = json.loads(file.read_text())
    assert list(entries) == ["Cassis-v0", "Trilobite-v0"]
    assert len(entries["Cassis-v0"]) > 1


@pytest.mark.long
def test_learners_are_trained_and_measured(tmp_path: Path) -> None:
    words = ["--out", str(tmp_path), "--ids", "Cassis-v0", "--steps", "64", "--games", "10", "--learner-games", "2"]
    words += ["--data", str(tmp_path)]
    assert reference.main(words) == 0
    entries = json.loads((tmp_path / "reference.json").read_text())["Cassis-v0"]
    assert {name for name, one in entries.items() if one["training_steps"] == 64} == {"PPO", "DQN", "MaskablePPO"}


# What the study of executors makes of its times


def test_ratios_are_within_a_repeat_and_the_page_tells_them(tmp_path: Path) -> None:
    times = [
        (ONE, Usage(8.0, 8.0, 0.0)), (SEVERAL, Usage(4.0, 8.0, 150.0)),
        (ONE, Usage(16.0, 8.0, 0.0)), (SEVERAL, Usage(10.0, 10.0, 160.0)),
    ]  # fmt: skip
    ways = summary(times)
    assert (ways[SEVERAL]["least"], ways[SEVERAL]["most"]) == (1.6, 2.0)
    assert ways[SEVERAL]["times_faster"] == 1.8
    assert ways[SEVERAL]["work"] == 1.125
    assert ways[SEVERAL]["megabytes"] == 160
    results = {"hardware": "2 of 2 cores", "load": 0.1, "cases": {"eval": {"what": "games", "ways": ways}}}
    text = "\n".join(cluster.page(cluster.Config(out=tmp_path), results))
    assert "| games | processes | 7.00 | 9.00 | 1.80 (1.60 to 2.00) | 1.78 | 160 |" in text


# The README's pictures: the chart of what is known, the boards with their moves


def test_a_match_is_told_from_both_sides() -> None:
    results = {"share": 0.75, "ci_low": 0.7, "ci_high": 0.85, "scores": [1.0, 0.5]}
    panel = equal_time.of_match("Trap", results, "5 ms a turn", "reach")
    hand_made, learned = panel.bars
    assert panel.games == "2 games"
    assert hand_made[1:4] == pytest.approx((0.25, 0.15, 0.3))
    assert learned[1:4] == (0.75, 0.7, 0.85)


@pytest.mark.long
def test_the_boards_are_those_of_the_readme(tmp_path: Path) -> None:
    assert boards.main(["--out", str(tmp_path)]) == 0
    drawn, kept = (Image.open(io.BytesIO((folder / "boards.png").read_bytes())).convert("RGB") for folder in (
        tmp_path, Path(boards.__file__).parent,
    ))  # fmt: skip
    assert drawn.size == kept.size
    assert np.abs(np.asarray(drawn, dtype=int) - np.asarray(kept, dtype=int)).mean() < 2
