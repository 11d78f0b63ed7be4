"""Learners killed at random moments (kill -9): gone on with, each ends as one that was left alone."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
import pytest

from leafwise.models.files import load_tensors
from running.campaign import Campaign
from running.waiting import until

COMMANDS = {
    "td": "--moves 200000 --interval 25000 --evaluate-every 2 --evaluate-games 20",
    "selfplay": "--game trilobite --iterations 4 --positions 2000 --replay 8000 --passes 4 --plies 7 --batch 512 "
    "--hidden 16 8 --match-pairs 100 --judged 0",
    "dqn": "--game trilobite --steps 30000 --envs 100 --replay 20000 --batch 256 --every 100 --start 2000 --plies 5 "
    "--hidden 32 16 --interval 10000 --match-pairs 100 --judged 0",
}


def start(method: str, run: Path, *more: str) -> subprocess.Popen[bytes]:
    words = [*COMMANDS[method].split(), "--checkpoint-seconds", "0.0", "--run", str(run), *more]
    command = [sys.executable, "-m", f"leafwise.training.methods.{method}", *words]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def compare(run: Path, whole: Path) -> None:
    (one, _), (other, _) = (load_tensors(path / "state.safetensors") for path in (run, whole))
    assert set(one) == set(other)
    assert all(np.array_equal(one[name], other[name]) for name in one)


@pytest.mark.room("trilobite")
@pytest.mark.campaign(whole=50, share=2)
@pytest.mark.parametrize("method", COMMANDS)
def test_killed_runs(method: str, campaign: Campaign, tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    assert start(method, whole).wait() == 0  # compiled and warm: the next one is timed
    shutil.rmtree(whole)
    begun = time.monotonic()
    assert start(method, whole).wait() == 0
    seconds = time.monotonic() - begun

    def checks(rng: Random) -> Iterator[None]:
        while True:
            shutil.rmtree(cut, ignore_errors=True)
            process = start(method, cut)
            until((cut / "config.json").exists, process)
            for _ in range(rng.randint(1, 3)):
                time.sleep(rng.uniform(0, seconds))
                process.kill()
                process.wait()
                process = start(method, cut, "--resume")
            assert process.wait() == 0
            yield compare(cut, whole)

    campaign.run(checks(campaign.rng), "killed runs")
