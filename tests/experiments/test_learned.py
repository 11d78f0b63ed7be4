"""The study of learned leaves: each part on a small scale, and nothing is worked out twice."""

import json
from pathlib import Path

import pytest

from leafwise.envs.core.ranges import check_fields
from leafwise.experiments.threes import learned
from leafwise.experiments.threes.learned import INGREDIENTS, Config, Parts
from leafwise.training.ntuple_td import ntuple_td as td

pytestmark = pytest.mark.long

SMALL = [
    "--leaves",
    "learned",
    "openness",
    "--share",
    "0.005",
    "--model",
    "threes-small",
    "--most-depth",
    "1",
    "--times",
    "1",
    "--moves",
    "40000",
]


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("study")
    return [
        *SMALL,
        "--tuples",
        "0123 0145",
        "--out",
        str(folder),
        "--runs",
        str(folder / "runs"),
        "--data",
        str(folder),
    ]


def test_parts_are_worked_out_once(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learned, "LEAVES", ("openness",))
    monkeypatch.setattr(learned, "FINISHERS", ("openness",))
    monkeypatch.setattr(learned, "GAMES_AT_DEPTH", {1: (400, 1200)})
    folder = Path(words[words.index("--out") + 1])
    assert learned.main([*words, "--parts", "depth", "time", "endings"]) == 0
    first = (folder / "learned.json").read_text()
    results = json.loads(first)
    assert results["depth"]["learned 1"]["mean"] > results["depth"]["openness 1"]["mean"]
    assert set(results["endings"]) == {"power", "score", "survival", "openness"}
    assert results["endings"]["openness"]["moves"] > 0
    report = (folder / "learned.md").read_text()
    assert "## Equal time per move" in report
    assert f"| 1 | learned | 2 | {results['depth']['learned 1']['mean']:,.0f} |" in report
    assert (folder / "learned.png").read_bytes().startswith(b"\x89PNG")
    assert "depth, learned 1" in capsys.readouterr().out
    assert learned.main([*words, "--parts", "depth", "time", "endings"]) == 0
    assert capsys.readouterr().out == ""
    assert (folder / "learned.json").read_text() == first


def test_games_are_added_to_those_of_the_same_network(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(words[words.index("--out") + 1]) / "grown"
    short = Parts(Config(out=folder, data=folder, model="threes-small"))
    short.play("depth", "learned 1", 3, short.played("threes-small", 1))
    long = Parts(Config(out=folder, data=folder, model="threes-small"))
    long.play("depth", "learned 1", 7, long.played("threes-small", 1))
    found = json.loads((folder / "learned.json").read_text())["depth"]["learned 1"]
    whole = long.played("threes-small", 1)(learned.LEARNED_SEED, 7)
    assert found["scores"] == whole.scores.tolist()
    assert found["moves"] == whole.moves
    assert capsys.readouterr().out.splitlines()[0].endswith("2 games")
    monkeypatch.setattr(learned, "digest_of", lambda model: "another network")
    long.play("depth", "learned 1", 3, long.played("threes-small", 1))
    again = json.loads((folder / "learned.json").read_text())["depth"]["learned 1"]
    assert again["scores"] == found["scores"][:3]
    assert again["network"] == "another network"


def test_runs_are_judged_and_told(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learned, "INGREDIENTS", {"as shipped": {}, "TD(0)": {"td_lambda": 0.0}})
    assert learned.main([*words, "--parts", "curves", "ingredients", "--seeds", "1", "--curve-moves", "40000"]) == 0
    report = (Path(words[words.index("--out") + 1]) / "learned.md").read_text()
    assert "| 0.04 million moves | " in report
    assert "| TD(0) | 1 | " in report


def test_options_of_runs_are_those_of_td() -> None:
    for options in INGREDIENTS.values():
        check_fields(td.Config(game="threes", **options))


def test_wrong_parts_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert learned.main([*words, "--parts", "dept"]) == 2
    assert "expected parts among depth, time" in capsys.readouterr().err
    with pytest.raises(ValueError, match=r"a share in \(0, 1\]"):
        Parts(Config(share=0.0))
