"""The study of learned leaves: each part on a small scale, and nothing is worked out twice."""

import json
from pathlib import Path

import pytest

from leafwise.experiments.threes import learned
from leafwise.experiments.threes.learned import INGREDIENTS, Config, Study
from leafwise.training import td

SMALL = ["--share", "0.005", "--model", "threes-small", "--most-depth", "1", "--times", "1", "--moves", "40000"]


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("study")
    return [*SMALL, "--tuples", "0123 0145", "--folder", str(folder), "--runs", str(folder / "runs")]


def test_parts_are_worked_out_once(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learned, "SCORES", ("openness",))
    monkeypatch.setattr(learned, "FINISHERS", ("openness",))
    monkeypatch.setattr(learned, "GAMES_AT_DEPTH", {1: 400})
    folder = Path(words[words.index("--folder") + 1])
    assert learned.main([*words, "--parts", "depth", "time", "endings"]) == 0
    first = (folder / "learned.json").read_text()
    results = json.loads(first)
    assert results["depth"]["learned 1"]["mean"] > results["depth"]["openness 1"]["mean"]
    assert set(results["endings"]) == {"score", "survival", "openness"}
    assert results["endings"]["openness"]["moves"] > 0
    report = (folder / "learned.md").read_text()
    assert "## Equal time per move" in report
    assert f"| 1 | learned | 2 | {results['depth']['learned 1']['mean']:,.0f} |" in report
    assert (folder / "learned.png").read_bytes().startswith(b"\x89PNG")
    assert "depth, learned 1" in capsys.readouterr().out
    assert learned.main([*words, "--parts", "depth", "time", "endings"]) == 0
    assert capsys.readouterr().out == ""
    assert (folder / "learned.json").read_text() == first


def test_ingredients_are_options_of_td() -> None:
    for options in INGREDIENTS.values():
        td.check(td.Config(**options))


def test_wrong_parts_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert learned.main([*words, "--parts", "dept"]) == 2
    assert "expected parts among depth, time" in capsys.readouterr().err
    with pytest.raises(ValueError, match=r"a share in \(0, 1\]"):
        Study(Config(share=0.0))
