"""A method's page names every tag that its sources log."""

import re
from pathlib import Path

import pytest

from leafwise.training.runs.recipes import METHODS
from leafwise.training.runs.tags import TAGS

ROOT = Path(__file__).parents[2]
GATED = ("runs/gating.py",)
SOURCES = {
    "ntuple-td": ("ntuple_td/ntuple_td.py",),
    "selfplay": ("selfplay/selfplay.py", "games.py", *GATED, "evaluation/matches.py"),
    "alphazero": ("alphazero/alphazero.py", "games.py", *GATED),
    "ntuple-q": ("ntuple_td/ntuple_q.py", "ntuple_td/ntuple_td.py"),
    "dqn": ("dqn/dqn.py", *GATED),
    "ppo": ("ppo/ppo.py", "sb3.py", *GATED),
    "ship-changes": ("starship/ship_changes.py",),
    "ship-values": ("starship/ship_values.py", "starship/builders.py"),
}
PAGES = {*SOURCES, "value-td"}
"""One logs what another does."""
TAG = re.compile(r"[\"'`]((?:rollout|train|time|eval)/[a-z_]+)")


def test_every_method_has_a_page() -> None:
    assert (
        {method.name for method in METHODS}
        <= PAGES
        == {path.stem for path in (ROOT / "docs/methods").glob("*.md")} - {"index"}
    )


@pytest.mark.parametrize("method", SOURCES)
def test_a_page_names_every_tag(method: str) -> None:
    page = (ROOT / f"docs/methods/{method}.md").read_text(encoding="utf-8")
    logged = {tag for name in SOURCES[method] for tag in TAG.findall((ROOT / "training" / name).read_text("utf-8"))}
    assert len(logged) > 5
    assert {tag for tag in logged if tag[-1] != "_"} <= {*TAGS, "eval/points", "eval/score"}, "tags without words"
    missing = {tag for tag in logged if f"`{tag}" not in page}
    if method in ("dqn", "ppo"):  # of those that learn in iterations
        missing -= {"train/learning_rate", "rollout/staleness", "rollout/repeated"}
    if method == "alphazero":  # for two alone
        missing -= {"eval/calibration_error"}
    if method != "selfplay":  # single-player games in several variants: of the others only selfplay plays these
        missing -= {"eval/score_mean_"}
    assert missing == set()
    for part in ("## What it learns", "## What it logs", "## Deviations from the paper", "## Options"):
        assert part in page


@pytest.mark.parametrize("method", sorted(PAGES))
def test_a_page_has_the_table_of_its_options(method: str) -> None:
    assert f"<!-- table: {method}-options -->" in (ROOT / f"docs/methods/{method}.md").read_text(encoding="utf-8")
