"""TD learning with n-tuples on a board of 25 cells in two words, whose score is no sum over cells."""

import json
from pathlib import Path

import numpy as np
import pytest

from games import stacks
from leafwise.envs.registry import register_game
from leafwise.models import load_ntuples
from leafwise.training.evaluation.arena import evaluate
from leafwise.training.ntuple_td.kernels import play_games
from running.training import learn, refusal


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    register_game(stacks.GAME)
    path = tmp_path_factory.mktemp("runs") / "stacks"
    words = ["--game", "stacks", "--run", str(path), "--total-steps", "400000", "--interval", "100000"]
    words += ["--tuples", "01234 56789 abcde 3489 8d 9e", "--small-tables", "empty pairs", "--coherence"]
    assert learn("ntuple-td", [*words, "--learning-rate", "1", "--evaluate-every", "2", "--evaluate-games", "50"]) == 0
    return path


def test_it_beats_random_play_and_compiled_games_equal_the_players(run: Path) -> None:
    network = load_ntuples(run / "model.safetensors", stacks.GAME)
    assert network.shape.stage == "tile"
    assert network.shape.power == 1.0
    learned = evaluate(stacks.GAME, f'search:"{run}",depth=1', 12, 20_000)
    played = play_games(network, 1, 20_000, 12)
    assert np.array_equal(learned.scores, played.scores)
    assert np.array_equal(learned.best_cells, played.ranks)
    random = evaluate(stacks.GAME, "random", 12, 20_000)
    assert learned.interval()[0] > 2 * random.interval()[1]
    assert max(learned.best_cells) > max(random.best_cells)


def test_the_files_of_the_run(run: Path) -> None:
    results = json.loads((run / "results.json").read_text())
    assert results["score"]["mean"] > 0
    assert "--target" not in results["command"], "the score is what is learned where cells have no points"


def test_a_power_needs_points(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    message = refusal("ntuple-td", ["--game", "stacks", "--run", str(run / "x"), "--target", "power"], capsys)
    assert "expected a power of 0 or 1 in a game whose score is not a sum over cells" in message
