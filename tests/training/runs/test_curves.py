"""A run folder read while the run goes on: its curves grow."""

import math
import sys
from pathlib import Path

import pytest

from leafwise.training.runs import files as curves
from leafwise.training.runs.files import Curves, options_of, run_folders, thinned
from leafwise.training.runs.loop import Events


def new_run(root: Path, name: str) -> Path:
    """Returns the folder of a run with options alone."""
    folder = root / name
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('game = "threes"\ntotal_steps = 10\n')
    return folder


def test_curves_grow_while_a_run_goes_on(tmp_path: Path) -> None:
    folder = new_run(tmp_path, "one")
    found = Curves(folder)
    assert found.read() == {}
    events = Events(folder)
    events.add("eval/score_mean", 1.5, 10)
    events.flush()
    assert found.read() == {"eval/score_mean": [(10, 1.5)]}
    events.add("eval/score_mean", 2.5, 20)
    events.add("train/loss", math.nan, 20)
    events.close()
    assert found.read() == {"eval/score_mean": [(10, 1.5), (20, 2.5)], "train/loss": []}


def test_half_a_record_is_no_harm_and_noise_is_no_curve(tmp_path: Path) -> None:
    folder = new_run(tmp_path, "one")
    events = Events(folder)
    for step in (1, 2):
        events.add("train/loss", 0.5, step)
    events.close()
    whole = events.path.read_bytes()
    events.path.write_bytes(whole[:-5])
    assert Curves(folder).read() == {"train/loss": [(1, 0.5)]}
    events.path.write_bytes(b"noise " * 100)
    assert Curves(folder).read() == {}


def test_more_events_than_a_run_writes_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = new_run(tmp_path, "one")
    Events(folder).close()
    monkeypatch.setattr(curves, "LARGEST", 10)
    with pytest.raises(ValueError, match="expected at most 0 MB of events, got 0 MB"):
        Curves(folder)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows lets few make links")
def test_runs_with_links_in_them_are_not_listed(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    own = new_run(root, "own")
    elsewhere = new_run(tmp_path, "elsewhere")
    (root / "linked").symlink_to(elsewhere)
    holds = new_run(root, "holds-a-link")
    (holds / "model.safetensors").symlink_to("/etc/hostname")
    (root / "no-run").mkdir()
    assert run_folders(root) == {"own": own}
    assert run_folders(tmp_path / "nothing") == {}
    assert options_of(own) == {"game": "threes", "total_steps": 10}
    with pytest.raises(ValueError, match="expected a run folder, got"):
        options_of(root / "no-run")


def test_long_curves_are_thinned_and_keep_their_ends() -> None:
    points = [(k, float(k)) for k in range(5001)]
    few = thinned(points)
    assert (len(few), few[0], few[-1]) == (curves.POINTS, points[0], points[-1])
    assert few == sorted(set(few))
    assert thinned(points[:7]) == points[:7]
