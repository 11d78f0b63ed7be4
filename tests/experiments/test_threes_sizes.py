"""Score against megabytes: coarser and emptier files of a network, each measured once."""

import json

import numpy as np
import pytest

import leafwise
from leafwise.experiments.threes import sizes
from leafwise.models.files import save_network
from leafwise.models.ntuple import NTupleNetwork, Shape
from leafwise.training.ntuple_td.games import looked_up, without

pytestmark = pytest.mark.long
THREES = leafwise.game("threes")
SAID = {"steps": 3, "command": "none", "commit": "none"}


@pytest.fixture(scope="module")
def network():
    made = NTupleNetwork.create(THREES, Shape(((0, 1, 2, 3), (0, 1, 4, 5)), power=0.7, stage="draw", small=()))
    made.weights.table[:] = np.random.default_rng(1).normal(size=len(made.weights.table)) * 10
    return made


def test_entries_that_games_look_up_are_kept_and_nothing_is_learned(network):
    before = network.weights.table.copy()
    few, more = (looked_up(network, moves) for moves in (200, 20_000))
    assert (network.weights.table == before).all()
    assert 0 < np.count_nonzero(few) < np.count_nonzero(more) < len(before)
    assert more[few].all()
    left = without(network, few).weights.table
    assert (left[few] == before[few]).all()
    assert not left[~few].any()


def test_the_table_tells_every_file_once(network, tmp_path, capsys):
    save_network(tmp_path / "model.safetensors", network, SAID)
    words = ["--model", str(tmp_path / "model.safetensors"), "--out", str(tmp_path), "--data", str(tmp_path)]
    words += ["--steps", "0.5", "4", "--moves", "0", "500", "--games", "20"]
    assert sizes.main(words) == 0
    found = json.loads((tmp_path / "sizes.json").read_text())["results"]
    finer, coarser, emptier = (
        found[name] for name in ("step 0.5", "step 4", "step 0.5, looked up in 0.0005 million moves")
    )
    assert finer["mb"] > coarser["mb"]
    assert finer["entries"] > 2 * emptier["entries"]
    assert (
        f"| step 4 | {coarser['entries'] / 1e6:.2f} | {coarser['mb']:.1f} | {coarser['mean']:,.0f} |"
        in (tmp_path / "sizes.md").read_text()
    )
    capsys.readouterr()
    assert sizes.main(words) == 0
    assert capsys.readouterr().out == ""


def test_a_network_before_packing_is_needed(tmp_path, capsys):
    assert sizes.main(["--model", "threes-small", "--out", str(tmp_path)]) == 2
    assert "expected --model RUN with an unpacked network of threes, got threes-small" in capsys.readouterr().err
