"""The studies of depth-limited search and Monte Carlo tree search: what they play, ask, keep and tell."""

import json
from pathlib import Path

import pytest

from leafwise.experiments.search.__main__ import main

FEW = ["--leaves", "hand-made", "--share", "0.01"]


def test_a_page_tells_all_that_is_known_whatever_is_asked_for(tmp_path: Path) -> None:
    where = ["--out", str(tmp_path), "--data", str(tmp_path), "--runs", str(tmp_path / "runs")]
    for ms in ("1", "2"):
        assert main(["--games", "Sim on 8 points", "--milliseconds", ms, *FEW, *where]) == 0
        if ms == "1":  # what is known of a game that is not asked for
            known = json.loads((tmp_path / "search.json").read_text())
            (found,) = known.values()
            known["Trap, hand-made, 1 ms, mcts"] = found
            (tmp_path / "search.json").write_text(json.dumps(known))
    results = json.loads((tmp_path / "search.json").read_text())
    assert results.pop("Trap, hand-made, 1 ms, mcts") == found
    assert set(results) == {f"Sim on 8 points, hand-made, {ms} ms, mcts" for ms in (1, 2)}
    assert all(found["games"] == 2 and 0 <= found["mean"] <= 1 for found in results.values())
    page = (tmp_path / "search.md").read_text()
    for seconds in ("0.001,clock=cpu", "0.002,clock=cpu"):
        assert f"| Sim on 8 points | `mcts:seconds={seconds}` against `search:seconds={seconds}` | 2 |" in page
    assert "| Trap | `mcts:seconds=0.001,clock=cpu` against" in page
    assert "    python -m leafwise.experiments.search\n" in page
    assert (tmp_path / "search.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("leaves", "told", "key"), [("learned", "digest_of", "model"), ("hand-made", "mcts_defaults", "mcts")]
)
def test_games_of_another_network_or_with_other_defaults_are_played_anew(
    leaves: str, told: str, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["--games", "Sim on 8 points", "--milliseconds", "1", "--leaves", leaves, "--share", "0.01"]
    words += ["--out", str(tmp_path), "--data", str(tmp_path), "--runs", str(tmp_path / "runs")]

    def played(game: object, text: str, games: int, *how: object, file: Path, **where: object) -> dict[str, float]:
        file.write_text(text)
        return {"mean": 0.5, "ci_low": 0.4, "ci_high": 0.6, "games": games, "seconds": 0.001}

    def kept() -> dict[str, str]:
        return {name: found[key] for name, found in json.loads((tmp_path / "search.json").read_text()).items()}

    monkeypatch.setattr("leafwise.experiments.search.__main__.scored", played)
    assert main(words) == 0
    before = kept()
    monkeypatch.setattr("leafwise.experiments.search.__main__.scored", None)
    assert main(words) == 0  # everything is known
    monkeypatch.setattr("leafwise.experiments.search.__main__.scored", played)
    monkeypatch.setattr(f"leafwise.experiments.search.{told}", lambda of: "another")
    assert main(words) == 0
    assert kept() == dict.fromkeys(before, "another")
    assert "another" not in before.values()
    assert len(list((tmp_path / "runs").iterdir())) == 2 * len(before)
