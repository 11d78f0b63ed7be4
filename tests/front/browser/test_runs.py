"""The page of training: runs are listed, curves grow while one goes on, and games of its network are replayed."""

from pathlib import Path
from typing import Any

import pytest
from front.browser.conftest import Open
from playwright.sync_api import expect

from leafwise.training.ntuple_td import ntuple_td as td
from leafwise.training.runs.files import FolderLock
from leafwise.training.runs.loop import Events

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def threes_run(runs_folder: Path) -> Path:
    """A short run that learned Threes."""
    options: dict[str, Any] = {"total_steps": 4000, "interval": 500, "evaluate_every": 1000, "evaluate_games": 4}
    options |= {"game": "threes", "tuples": "0145", "run": str(runs_folder / "threes-short")}
    return td.train(td.Config(**options))


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_threes_run_is_shown_and_plays(opened: Open, threes_run: Path, phone: bool) -> None:
    window = opened(phone=phone)
    page = window.go("#/train")
    page.get_by_role("link", name="threes-short").click()
    expect(page.locator("figure").filter(has_text="Score").locator(".chart-band")).to_have_count(1)
    expect(page.locator("figure").filter(has_text="Error of the values").locator(".chart-line")).to_have_count(1)
    page.get_by_role("button", name="Play a game").click()
    expect(page.locator(".picture svg")).to_be_visible()
    page.get_by_role("button", name="On").click()
    expect(page.get_by_text("Move 1 of")).to_be_visible()
    window.picture("run")
    assert window.fits()


def test_curves_grow_while_a_run_goes_on_and_a_run_that_there_is_not_is_one_line(
    opened: Open, runs_folder: Path
) -> None:
    folder = runs_folder / "two-going-on"
    lock = FolderLock(folder)
    (folder / "config.toml").write_text('game = "trilobite"\ntotal_steps = 100\n')
    events = Events(folder)
    for step in (10, 20):
        events.add("eval/elo", float(step), step)
    events.flush()
    window = opened()
    page = window.go("#/train/two-going-on")
    figure = page.locator("figure").filter(has_text="Elo")
    expect(figure.locator("svg")).to_have_attribute("aria-label", "Elo: newest 20 at 20")
    expect(page.locator(".status")).to_contain_text("running · 20 of 100 steps")
    events.add("eval/elo", 55.0, 30)
    events.close()
    expect(figure.locator("svg")).to_have_attribute("aria-label", "Elo: newest 55 at 30", timeout=20_000)
    window.picture("growing")
    lock.release()
    expect(page.locator(".status")).to_contain_text(" · stopped ", timeout=20_000)
    window = opened()
    page = window.go("#/train/nothing")
    expect(page.get_by_role("alert")).to_contain_text("expected a run among")
    window.errors = [
        problem for problem in window.errors if "400" not in problem
    ]  # which is the answer to a wrong name
