"""Games played by others for a learner: a run comes to the same wherever they are played."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leafwise.training.alphazero import alphazero
from leafwise.training.dqn import dqn
from leafwise.training.selfplay import selfplay
from running.training import checkpoint

SELFPLAY: dict[str, Any] = {
    "game": "trilobite", "total_steps": 4, "positions": 1200, "buffer_size": 5000, "plies": 7, "batch_size": 256,
    "hidden": (8,), "match_pairs": 100, "solver_positions": 0, "checkpoint_seconds": 0.0, "job_size": 500, "staleness": 1,
}  # fmt: skip
DQN: dict[str, Any] = {
    "game": "trilobite", "total_steps": 6000, "envs": 80, "interval": 3000, "buffer_size": 4000, "learning_starts": 500,
    "batch_size": 128, "train_every": 256, "hidden": (8,), "match_pairs": 100, "solver_positions": 0, "checkpoint_seconds": 0.0,
    "job_size": 640, "staleness": 1,
}  # fmt: skip
ALPHAZERO: dict[str, Any] = {
    "game": "trilobite", "total_steps": 4, "positions": 600, "buffer_size": 1500, "plies": 3, "batch_size": 256,
    "hidden": (8,), "simulations": 10, "match_pairs": 100, "solver_positions": 0, "checkpoint_seconds": 0.0, "job_size": 250,
    "staleness": 1, "evaluate_every": 2,
}  # fmt: skip
METHODS = {
    "selfplay": (selfplay, selfplay.SelfPlay, SELFPLAY),
    "alphazero": (alphazero, alphazero.AlphaZero, ALPHAZERO),
    "dqn": (dqn, dqn.QLearner, DQN),
}


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")  # Ray's own
@pytest.mark.parametrize("method", METHODS)
def test_a_run_comes_to_the_same_wherever_it_is_played(method: str, tmp_path: Path) -> None:
    module, _, options = METHODS[method]
    places: list[dict[str, Any]] = [{}, {"processes": 2}, {"processes": 2, "cluster": "local"}]
    runs = [
        module.train(module.Config(run=str(tmp_path / str(k)), **options, **where)) for k, where in enumerate(places)
    ]
    assert checkpoint(runs[0]) == checkpoint(runs[1]) == checkpoint(runs[2])


def test_pieces_have_streams_of_their_own(tmp_path: Path) -> None:
    learner = selfplay.SelfPlay(selfplay.Config(run=str(tmp_path / "run"), **{**SELFPLAY, "staleness": 0}))
    learner.play()
    learner.folder.lock.release()
    rows = learner.replay["rows"][: learner.replay.filled]
    pieces = learner.pieces_of(0)
    assert [count for _, count in pieces] == [500, 500, 200]
    assert not np.array_equal(rows[:100], rows[500:600])
    assert learner.replay.filled >= 1200
