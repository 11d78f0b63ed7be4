"""Figures stand once: pages have those of `experiments/results`, and prose has no others."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from docs.test_prose import NEVER_SENTENCES, PAGES, sentences

from leafwise.envs.core.errors import UserError
from leafwise.experiments import figures
from leafwise.experiments.figures import CELL, FIGURE, RESULTS, TABLE, filled, main, records, stale

ROOT = Path(__file__).parents[2]
WRITTEN_WHOLE = re.compile(
    r"experiments/|models/weights/|docs/environments/|examples/ur/regret\.md|docs/howto/learners\.md"
)
"""Pages that a command writes, with all their figures; the last has a table that its own test compares."""
HISTORY = re.compile(r"CHANGELOG\.md|docs/moved\.md")
"""Pages of what was: a figure there is that of its time."""
COVERED = sorted(name for name in PAGES if not WRITTEN_WHOLE.match(name) and not HISTORY.match(name))
NUMBER = re.compile(r"(?<![\w.])\d(?:[\d,.]*\d)?(?:\s?%)?|\+-")
"""A number with what makes it a share, or the sign of an error."""
NO_RESULT = re.compile(
    r"95 %(?= (?:confidence )?(?:interval|error))|"
    r"\bfrom [\d,]+ on\b|900,000 to 999,999|"  # seeds
    r"\b(?:19|20)\d\d(?:-\d\d-\d\d)?\b|"  # years, days, the game of 2048
    r"\bPython 3\.\d+|"
    r"\b100 ms\b"  # a search's time
)
"""Numbers that no measurement gave, wherever they stand."""
ALLOWED = {
    "CONTRIBUTING.md": ("100", "900"),  # lines of a function and a file
    "docs/explanation/compiling.md": ("6.16",),  # a version of Linux
    "docs/howto/cluster.md": ("100",),  # pairs of games between two tests
    "docs/howto/environments.md": ("100", "135", "2304"),  # actions
    "docs/howto/leaf.md": ("256",),  # megabytes of a file
    "docs/howto/speed.md": ("98.8 %",),  # what eleven rounds allow
    "docs/howto/web-export.md": ("200", "256"),  # positions that are compared, SHA-256
    "docs/methods/alphazero.md": ("256",),  # games side by side
    "docs/methods/ntuple-td.md": ("768", "1536"),  # tiles
    "docs/notebooks/friday.ipynb": ("200",),  # games of a study
    "docs/notebooks/train.ipynb": ("500,000",),  # moves of its run
    "docs/results.md": ("6144", "12288"),  # tiles
    "examples/2048/README.md": ("250",),  # lines of a file
    "examples/ur/README.md": ("4,500",),  # years
}
"""Other numbers that no measurement gave: limits, rules of games, settings."""
HAND_MADE = re.compile(r"\d\s?%|\+-\s?\d|\d,\d{3} to \d")
"""What a row of a table of results has."""


def is_figure(number: str) -> bool:
    return number[-1] == "%" or number == "+-" or sum(map(str.isdigit, number)) >= 3


def prose(page: str) -> Iterator[str]:
    """Yields the sentences of a page without its marks, code and addresses."""
    for sentence in sentences(FIGURE.sub("a figure", TABLE.sub("|", page))):
        yield NO_RESULT.sub("", re.sub(r"`+[^`]+`+|https?://\S+|<[^>]+>", "a name", sentence))


@pytest.mark.parametrize("name", COVERED)
def test_prose_has_no_figure_outside_of_marks(name: str) -> None:
    allowed = set(ALLOWED.get(name, ()))
    found = [(one, text) for text in prose(PAGES[name]) for one in NUMBER.findall(text) if is_figure(one)]
    assert [(number, text) for number, text in found if number not in allowed] == []
    assert allowed <= {number for number, _ in found}, "allowed numbers that are gone"


@pytest.mark.parametrize("name", COVERED)
def test_no_table_of_results_is_made_by_hand(name: str) -> None:
    page = NEVER_SENTENCES.sub("", FIGURE.sub("a figure", TABLE.sub("|", PAGES[name])))
    rows = [NO_RESULT.sub("", re.sub(r"`+[^`]+`+", "", row)) for row in page.splitlines() if row.startswith("|")]
    assert [row for row in rows if HAND_MADE.search(row)] == []


def test_pages_have_the_figures_of_today() -> None:
    assert [str(page) for page in stale()] == []


def test_all_figures_are_used_and_their_commands_are_there() -> None:
    tables = (RESULTS / "tables.toml").read_text(encoding="utf-8")
    text = "\n".join(PAGES.values())
    used = {mark[1] for mark in FIGURE.findall(text)} | {cell[0] for cell in CELL.findall(tables)}
    sets = {file.stem for file in RESULTS.glob("*.json")}
    assert used == sets
    assert set(figures.tables()) == {mark[1] for mark in TABLE.findall(text)}
    for name in sets:
        about, found = records(name)
        assert found
        for module in re.findall(r"python -m leafwise\.([\w.]+)", about["command"]):
            place = ROOT.joinpath(*module.split("."))
            assert place.with_suffix(".py").exists() or (place / "__main__.py").exists()


def test_marks_are_filled_and_tables_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    monkeypatch.setattr(figures, "RESULTS", tmp_path)
    scores, wins = {"mean": 1234.5, "ci_low": 1000.0, "ci_high": 2000.0, "scores": [1, 2]}, {"wins": 30, "games": 40}
    raw = {"results": {"a = 1": scores, "won, from 0": wins, "won, from 40": wins, "in": {"kept": "1101"}}}
    (tmp_path / "raw.json").write_text(json.dumps(raw))
    (tmp_path / "study.json").write_text(json.dumps({"command": "x", "from": "raw.json"}))
    (tmp_path / "once.json").write_text(json.dumps({"command": "x", "figures": {"l": [{"leaf": "m", "loss": -0.25}]}}))
    (tmp_path / "bad.json").write_text(json.dumps({"command": "x"}))
    rows = "| a |\n|---|\n| <study: a = 1> |\n| <study: won = {mean:.1%}> |"
    (tmp_path / "tables.toml").write_text(f'[t]\neach = "{{mean:,.0f}} ({{interval:,.0f}})"\nrows = """\n{rows}\n"""\n')
    figures.tables.cache_clear()
    page = "Of <!-- fig: study: won = {games} {interval:.0%} --><!-- /fig --> or "
    page += "<!-- fig: once: l/m = {loss:+.1f} -->9<!-- /fig -->.\n"
    table = "<!-- table: t -->\nold\n<!-- /table -->\n"
    try:
        text = filled(page + table)
        assert "-->80 65 to 83 %<!--" in text
        assert "-->-0.2<!--" in text
        assert "| 1,234 (1,000 to 2,000) |\n| 75.0 % |\n\n<!-- /table -->" in text
        assert filled(text) == text
        assert "-->75 % of 4<!--" in filled("a <!-- fig: study: in = {mean:.0%} of {games} --><!-- /fig -->")
        for wrong, said in {
            "a <!-- fig: study: b = {mean} --><!-- /fig -->": "expected a key of the figures 'study', got 'b'",
            "a <!-- fig: study: won = {men} --><!-- /fig -->": "expected a form of the figure study: won, got '{men}'",
            "a <!-- fig: none: b = {mean} --><!-- /fig -->": "expected a set of figures of experiments/results, got 'none'",
            "a <!-- fig: bad: b = {mean} --><!-- /fig -->": "expected a command, and either figures or from, got command",
            "a <!-- fig: study: won = {mean} -->": "expected <!-- fig: SET: KEY = FORM -->",
            "<!-- fig: study: won = {mean} --><!-- /fig -->": "expected words before <!-- fig",
            "a <!-- fig: study: `a` = {mean} --><!-- /fig -->": "expected <!-- fig: SET: KEY = FORM -->",
            "<!-- table: u -->\n<!-- /table -->": "expected a table of experiments/results/tables.toml or of options, got 'u'",
        }.items():
            with pytest.raises(UserError, match=re.escape(said)):
                filled(wrong)
    finally:
        figures.tables.cache_clear()
        records.cache_clear()


def test_the_command_names_and_writes_stale_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "README.md"
    page.write_text("A start is worth <!-- fig: ur-solver: 3 = {start:+.4f} -->old<!-- /fig -->.\n")
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    assert main(["--check"]) == 2
    assert "got others in README.md; make figures writes them" in capsys.readouterr().err
    assert ">old<" in page.read_text()
    assert main([]) == 0
    assert capsys.readouterr().out == "figures written: README.md\n"
    assert ">+0.0324<" in page.read_text()
    assert main(["--check"]) == 0
    page.write_text("A start is worth <!-- fig: ur-solver: 9 = {start} -->old<!-- /fig -->.\n")
    assert main([]) == 2
    assert "README.md: expected a key of the figures 'ur-solver', got '9'" in capsys.readouterr().err
    monkeypatch.setattr(figures, "RESULTS", tmp_path / "none")
    assert main([]) == 2
    assert "expected a checkout, got an installed leafwise, which holds no results" in capsys.readouterr().err
