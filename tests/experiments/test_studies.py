"""What all studies do alike: they go on where they were stopped, make a page from what is kept, say in one line what is wrong."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from leafwise.experiments.study import EXPERIMENTS
from leafwise.training.evaluation.results import GameStore

SMALL = {
    "cassis.critical": "critical --seven cassis7 --eight= --judged 5 --depths 1",
    "trilobite.learned": "learned --large=",
    "trilobite.critical": "scores --players search:lines,depth=1 --games",
    "friday.insight": "insight --games 2 --nodes 20",
    "trap.insight": "insight --games 11 --depth 1",
    "reference": "reference --ids Trilobite-v0 --steps 0 --games 10",
}
"""Studies -> the name of their files, and options with which they take seconds."""
WRONG = {
    "cluster --cores 1": "expected --cores of 2 to 1,024, got 1",
    "cluster --only chess": "expected --only among eval, arena, selfplay, got 'chess'",
    "cluster --cluster moon": "expected a cluster auto, local or HOST:PORT, got 'moon'",
    "methods --games chess": "expected games among threes, trilobite, cassis, trap, friday, starship, got 'chess'",
    "methods --minutes -1": "expected --minutes of at least 0, got -1.0",
    "methods --newcomer-minutes 0": "expected --newcomer-minutes above 0, got 0.0",
    "methods --ways qlearning": "expected ways among ntuple-td, ntuple-q, ppo, SB3 DQN, SB3 PPO, value-td, selfplay, "
    "alphazero, dqn, ship-values, got 'qlearning'",
    "reference --ids Chess-v0": "expected ids among Cassis-v0, ",
    "search --games Chess": ", Trap, Connect Four, Sim on 8 points, got 'Chess'",
    "search --leaves best": "expected --leaves among learned, hand-made, got 'best'",
    "search --share 0": "expected --share above 0 and at most 1, got 0.0",
    "threes.learned --parts dept": "expected parts among depth, time and a share in (0, 1]",
    "threes.learned --share 0": "expected parts among depth, time and a share in (0, 1]",
    "starship.learned --seeds 0": "expected at least one seed and one builder, got 0",
    "starship.learned --seeds 1 --builders tug": "got 'tug'",
    "starship.learned --seeds 1 --builders hand --pairs hand>tug": "expected pairs A > B of builders that are compared, "
    "got 'hand>tug'",
    "trap.insight --games 0": "expected --games of at least 1, got 0",
    "trilobite.critical --players --programs no-such-program": "expected a command that starts, got 'no-such-program'",
}
"""Studies with wrong options -> what their line says."""
KNOWN = {
    "equal_time": ".",
    "search --games": "search",
    "search.regret --games": "search",
    "trap.insight": "trap",
}
"""Studies that have nothing left to play, with options so that they only write -> their folders."""


def main_of(study: str) -> Callable[[list[str]], int]:
    """Returns the command of a study, a module or a package."""
    name = f"leafwise.experiments.{study}"
    module = importlib.import_module(name)
    main: Callable[[list[str]], int] = (
        module.main if hasattr(module, "main") else importlib.import_module(f"{name}.__main__").main
    )
    return main


def starts_alike(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Whether a result is as it was; one that grows, piece by piece, begins as it did."""
    if "kept" in before and isinstance(before["kept"], str):
        return str(after["kept"]).startswith(before["kept"])
    return bool(before.items() <= after.items())


@pytest.mark.parametrize("study", SMALL)
def test_a_study_goes_on_where_it_was_and_its_page_is_of_what_is_kept(
    study: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, *options = SMALL[study].split()
    main, page, file = main_of(study), tmp_path / f"{name}.md", tmp_path / f"{name}.json"
    words = [*options, "--out", str(tmp_path), "--data", str(tmp_path)]

    def kept() -> dict[str, Any]:
        found: dict[str, Any] = json.loads(file.read_text())
        return dict(found.get("results", found))

    def stop(store: GameStore[str, Any], *found: Any) -> None:
        keep(store, *found)
        raise KeyboardInterrupt

    keep = GameStore.keep
    with monkeypatch.context() as patched:
        patched.setattr(GameStore, "keep", stop)
        assert main(words) == 130
    first = kept()
    assert len(first) == 1
    assert main(words) == 0
    whole, text = kept(), page.exists() and page.read_text()
    assert all(starts_alike(found, whole[title]) for title, found in first.items())
    monkeypatch.setattr(GameStore, "keep", None)  # everything is known
    page.unlink(missing_ok=True)
    assert main(words) == 0
    assert (kept(), page.exists() and page.read_text()) == (whole, text)
    assert study == "reference" or "\n| " in str(text)


@pytest.mark.parametrize("line", KNOWN)
def test_what_is_written_again_from_kept_results_is_the_same(line: str, tmp_path: Path) -> None:
    study, *words = line.split()
    assert main_of(study)([*words, "--out", str(tmp_path)]) == 0
    (page,), home = tmp_path.glob("*.md"), EXPERIMENTS / KNOWN[line]
    assert page.read_text(encoding="utf-8") == (home / page.name).read_text(encoding="utf-8")
    assert not list(tmp_path.glob("*.json"))  # nothing was played again
    for drawn in tmp_path.glob("*.png"):
        with Image.open(drawn) as picture, Image.open(home / drawn.name) as kept:
            assert picture.size == kept.size


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_option_is_one_line(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    study, *words = line.split()
    monkeypatch.chdir(tmp_path)
    assert main_of(study)([*words, "--out", "out"]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("error: ")
    assert WRONG[line] in said
    assert not Path("out").exists()
