"""Learners killed at random moments (kill -9): resumed, each ends as one that was left alone."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import numpy as np
import pytest

from leafwise.models.files import load_tensors
from running.campaign import Campaign
from running.training import train_command
from running.waiting import until

COMMANDS = {
    "ntuple-td": "--game threes --total-steps 600000 --interval 25000 --evaluate-every 2 --evaluate-games 20",
    "selfplay": "--game trilobite --total-steps 4 --positions 2000 --buffer-size 8000 --epochs 4 --plies 7 --batch-size 512 "
    "--hidden 16 8 --match-pairs 100 --solver-positions 0",
    "alphazero": "--game trilobite --total-steps 6 --positions 2000 --buffer-size 8000 --plies 4 --batch-size 512 --hidden 16 8 "
    "--simulations 20 --match-pairs 100 --solver-positions 0 --evaluate-every 2",
    "dqn": "--game trilobite --total-steps 30000 --envs 100 --buffer-size 20000 --batch-size 256 --train-every 100 "
    "--learning-starts 2000 --plies 5 --hidden 32 16 --interval 10000 --match-pairs 100 --solver-positions 0",
}


def start(method: str, run: Path, *more: str) -> subprocess.Popen[bytes]:
    words = [*COMMANDS[method].split(), "--checkpoint-seconds", "0.0", "--run", str(run), *more]
    return subprocess.Popen(train_command(method, words), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def saves(run: Path, process: subprocess.Popen[bytes], most: int | None = None) -> int:
    """Waits until a run has written so many checkpoints, or has ended; returns how many were seen."""
    seen, state = set[int](), run / "state.safetensors"
    while process.poll() is None and (most is None or len(seen) < most):
        with suppress(FileNotFoundError):  # between two renames there is none
            seen.add(state.stat().st_mtime_ns)
        time.sleep(0.002)
    return len(seen)


def compare(run: Path, whole: Path) -> None:
    (one, _), (other, _) = (load_tensors(path / "state.safetensors") for path in (run, whole))
    assert set(one) == set(other)
    assert all(np.array_equal(one[name], other[name]) for name in one)


@pytest.mark.campaign(whole=40, share=2)
@pytest.mark.parametrize("method", COMMANDS)
def test_killed_runs(method: str, campaign: Campaign, tmp_path: Path) -> None:
    """Three kills of four come after a checkpoint; the others come while a run begins too."""
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    checkpoints = saves(whole, start(method, whole))
    assert (whole / "results.json").exists()
    assert checkpoints > 1
    saved: list[bool] = []

    def checks(rng: Random) -> Iterator[None]:
        while True:
            shutil.rmtree(cut, ignore_errors=True)
            process = start(method, cut)
            if not saved or rng.random() < 0.75:
                saves(cut, process, most=rng.randrange(1, checkpoints))
            else:
                until((cut / "config.toml").exists, process)
            time.sleep(rng.uniform(0, 0.1))
            process.kill()
            process.wait()
            saved.append((cut / "state.safetensors").exists() and not (cut / "results.json").exists())
            assert start(method, cut, "--resume").wait() == 0
            compare(cut, whole)
            yield

    done = campaign.run(checks(campaign.rng), "killed runs", warm=True)
    assert done < 10 or sum(saved) > done / 2, (
        f"only {sum(saved)} of {done} kills came between a checkpoint and the end"
    )
