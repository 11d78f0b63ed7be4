"""The studies of Threes: what they play, what their pages say, and that compiled games are resumed."""

import json
from pathlib import Path
from typing import Any

import pytest

from leafwise.experiments.threes import baselines, learned
from leafwise.experiments.threes.baselines import figures

SMALL = ["--leaves", "learned", "openness", "--model", "threes-small", "--depths", "1", "--times", "1"]


def test_baselines_are_worked_out_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    where = ["--out", str(tmp_path), "--data", str(tmp_path)]
    monkeypatch.setattr(baselines, "PLAN", {"random": 4})
    assert baselines.main(where) == 0
    first = json.loads((tmp_path / "baselines.json").read_text())
    monkeypatch.setattr(baselines, "PLAN", {"random": 4, "search:rows,depth=1": 3})
    capsys.readouterr()
    assert baselines.main(where) == 0
    assert "random" not in capsys.readouterr().out, "played again"
    results = json.loads((tmp_path / "baselines.json").read_text())
    assert results["random"] == first["random"]
    assert results["search:rows,depth=1"]["first_seed"] == 1_000_000
    assert len((tmp_path / "baselines.md").read_text().splitlines()) == 8


def test_shares_with_a_milestone_are_kept_where_cells_are_not() -> None:
    kept: dict[str, Any] = {"scores": [3.0, 9.0], "games": 2, "reached": {"384": 0.5}}
    assert figures(kept)["reached"] == {"384": 0.5}
    assert figures(kept | {"best_cells": [10, 11]})["reached"]["768"] == 0.5
    with pytest.raises(
        ValueError, match=r"^expected the highest cells of 3 games, got 0; give another --data and --out$"
    ):
        figures(kept | {"scores": [3.0, 9.0, 3.0]})


def test_published_tables_stand_beside_the_same_players_here() -> None:
    reached = {"384": 1.0, "768": 1.0, "1536": 0.5, "3072": 0.5, "6144": 0.0}
    entry = {"games": 2, "mean": 50_001.0, "ci_low": 2.0, "ci_high": 1e5, "median": 50_001.0, "seconds_per_move": 0.005}
    results: Any = {"threesus:openness": entry | {"scores": [2.0, 100_000.0], "reached": reached}}
    lines = baselines.page(baselines.Config(), results)
    assert (
        "| `threesus:openness` | published | 100 | 10,041 | 88,653 | 774,996 | 100 % | 98 % | 92 % | 27 % | 3 % |"
        in lines
    )
    assert (
        "| `threesus:openness` | this package | 2 | 2 | 50,001 | 100,000 | 100 % | 100 % | 50 % | 50 % | 0 % |" in lines
    )


def test_the_page_leaves_out_parts_without_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Path] = []
    monkeypatch.setattr(learned, "plot", lambda results, path: drawn.append(path))
    config = learned.Config(tmp_path, tmp_path, parts=())
    learned.study(config)
    text = (tmp_path / "learned.md").read_text()
    assert "\n## " not in text
    assert "| leaf |" not in text
    assert "learned.png" not in text
    assert not drawn
    kept = {"first_seed": 1_000_000, "scores": [3.0, 9.0], "best_cells": [1, 2], "seconds_per_move": 0.1}
    (tmp_path / "learned.json").write_text(json.dumps({"depth, rows 1": kept}))
    learned.study(config)
    text = (tmp_path / "learned.md").read_text()
    assert "## Equal depth" in text
    assert "## Equal time" not in text
    assert text.count("learned.png") == len(drawn) == 1


@pytest.mark.long
def test_leaves_are_compared_once_and_compiled_games_gone_on_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learned, "GAMES_AT_DEPTH", {1: (400, 1200)})
    words = [*SMALL, "--out", str(tmp_path), "--data", str(tmp_path)]
    assert learned.main([*words, "--share", "0.005"]) == 0
    results = json.loads((tmp_path / "learned.json").read_text())
    assert results["depth, learned 1"]["mean"] > results["depth, openness 1"]["mean"]
    assert set(results) == {"depth, learned 1", "depth, openness 1", "time, learned 1", "time, openness 1"}
    report = (tmp_path / "learned.md").read_text()
    assert f"| 1 | learned | 2 | {results['depth, learned 1']['mean']:,.0f} |" in report
    assert (tmp_path / "learned.png").read_bytes().startswith(b"\x89PNG")
    capsys.readouterr()
    assert learned.main([*words, "--share", "0.005"]) == 0
    assert capsys.readouterr().out == ""
    # more games of the same network
    assert learned.main([*words, "--parts", "depth", "--leaves", "learned", "--share", "0.0125"]) == 0
    (match,) = learned.matches(learned.Config(model="threes-small", parts=("depth",), leaves=("learned",), depths=(1,)))
    whole = learned.play_compiled(match, range(learned.LEARNED_SEED, learned.LEARNED_SEED + 5), learned.Config())
    more = json.loads((tmp_path / "learned.json").read_text())["depth, learned 1"]
    assert more["scores"] == whole.scores.tolist()
    assert more["moves"] == whole.moves
