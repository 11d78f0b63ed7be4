"""The studies of ships: builders compared, results that a later run adds to, ships that are asked for."""

import json
from pathlib import Path

import pytest
from front.console import shows

from leafwise.experiments.starship.learned import __main__ as learned
from leafwise.experiments.starship.targets import __main__ as targets


def test_a_later_run_adds_to_the_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--records", str(tmp_path), "--builders", "hand", "best:3"]
    assert learned.main([*words, "--seeds", "2"]) == 0
    first = json.loads((tmp_path / "scout-best_3.json").read_text())
    assert learned.main([*words, "--seeds", "3"]) == 0
    again = json.loads((tmp_path / "scout-best_3.json").read_text())
    assert again[:2] == first  # with the same seconds: not built anew
    assert [record["seed"] for record in again] == [1_000_000, 1_000_001, 1_000_002]
    assert "| `best:3` |" in capsys.readouterr().out


def test_the_page(tmp_path: Path) -> None:
    words = ["--records", str(tmp_path / "results"), "--page", "--out", str(tmp_path / "page"), "--seeds", "3"]
    words += ["--diversity", "3", "--builders", "hand", "best:3", "--pairs", "best:3 > hand"]
    assert learned.main(words) == 0
    text = (tmp_path / "page" / "README.md").read_text()
    shows(text, "| `best:3` | `hand` | +", "| builder, 3 ships | set score | mean distance |")
    assert "python -m leafwise.experiments.starship.learned" in text
    results = json.loads((tmp_path / "page" / "results.json").read_text())
    assert list(results) == ["scout"]
    builders = results["scout"]["builders"]
    assert builders["best:3"]["gain"]["mean"] >= 0 == builders["hand"]["gain"]["mean"]
    assert "| `hand` | " in text.partition("cockpit's rotation, bits")[2]
    assert (tmp_path / "page" / "gallery-scout.png").read_bytes().startswith(b"\x89PNG")


def test_targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "GRID", {"scout": {"thrust": [8], "firepower": [{"south": 4}]}})
    monkeypatch.setattr(targets, "TOGETHER", {"scout": []})
    assert targets.main(["--ships", "4", "--out", str(tmp_path)]) == 0
    rows = json.loads((tmp_path / "results.json").read_text())["rows"]
    assert [row["targets"] for row in rows] == [{"thrust": 8}, {"firepower": {"south": 4}}]
    assert all(row["first"] <= row["met"] <= 1 for row in rows)
    assert "| scout | firepower 4 south | " in (tmp_path / "README.md").read_text()
