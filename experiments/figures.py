"""Fills the marks on pages with figures, which are stored once: in `experiments/results` or in the JSON of a study.

`python -m leafwise.experiments.figures` writes the figures to all pages; `--check` only lists the pages that it would change. A
mark in prose names a set of figures, a key in it, and a format:

    <!-- fig: threes: depth, learned 2 = {mean:,.0f} -->377,048<!-- /fig -->

A set is a file of `experiments/results`. It describes the measurement as far as known (`ABOUT`). It contains the figures
(`figures`) or names the JSON of a study that does (`from`); `figure` explains the keys. Tables are in `tables.toml` there: rows
with figures in angle brackets, `<threes: depth, learned 2>`, in the format `each`, or with their own: `<threes: depth, learned 2
= {games}>`. A key with a backtick works only in tables: some readers of Markdown see code in a mark. Tables of options come from
the code, by `option_tables`.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from leafwise.envs.core.commandline import parse
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.files import read_text, write_atomically
from leafwise.envs.core.interrupts import as_command
from leafwise.experiments.option_tables import option_tables
from leafwise.training.evaluation.statistics import bounds, share_interval

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "experiments/results"
PAGES = ("README.md", "docs/**/*.md", "examples/**/*.md")
"""Pages with marks. Studies and networks write their own pages and cards, by the commands that these name."""
ABOUT = ("command", "commit", "games", "seeds", "interval", "machine")
"""Fields on the measurement of a set; the command is required. The commit is that of the code, or the first with the figures."""
FIGURE = re.compile(r"(<!-- fig: ([\w-]+): ([^<>`]+?) = ([^<>={]*\{[^<>]*) -->)(.*?)(<!-- /fig -->)", re.DOTALL)
TABLE = re.compile(r"(<!-- table: ([\w-]+) -->\n)(.*?)(<!-- /table -->)", re.DOTALL)
CELL = re.compile(r"<([a-z0-9][\w-]*): ([^<>]+?)(?: = ([^<>={]*\{[^<>]*))?>")
BEGINS_A_LINE = re.compile(r"^\s*<!-- fig: ", re.MULTILINE)
OPENED = re.compile(r"<!-- (?:fig|table): ")


@dataclass(frozen=True)
class Config:
    """Writes the figures of all pages."""

    check: bool = False
    """Write nothing, and list the pages with outdated figures."""


class Number(float):
    """A number that formats shares as on pages: `79.4 %`."""

    def __format__(self, form: str) -> str:
        """Returns the formatted number, with a space before a percent sign."""
        return super().__format__(form).replace("%", " %")


class Interval(NamedTuple):
    """An interval, formatted as `73.2 to 84.4 %`; "-" without bounds, for equal results."""

    low: float | None
    high: float | None

    def __format__(self, form: str) -> str:
        """Returns both bounds in the format, with the unit once."""
        if self.low is None or self.high is None:
            return "-"
        low, high = f"{Number(self.low):{form}}", f"{Number(self.high):{form}}"
        return f"{low.removesuffix(' %')} to {high}"


def record(entry: Any) -> dict[str, Any]:
    """Returns the fields of a figure for formats: its own, and derived ones.

    `interval` is that from `ci_low` to `ci_high`, and `games` the number of scores. A bare number is the `value`; `ms` is that, or
    the time of a move, in milliseconds. A string `kept` of 0 and 1 gives a `mean` with Wilson's interval.
    """
    fields: dict[str, Any] = dict(entry) if isinstance(entry, Mapping) else {"value": entry}
    if "scores" in fields:
        fields.setdefault("games", len(fields["scores"]))
    if isinstance(kept := fields.get("kept"), str):
        fields |= _shares(kept.count("1"), len(kept))
    if seconds := fields.get("seconds_per_move", fields.get("value")):
        fields["ms"] = 1000 * seconds
    if "ci_low" in fields:
        fields["interval"] = Interval(fields["ci_low"], fields["ci_high"])
    return {name: Number(value) if isinstance(value, float) else value for name, value in fields.items()}


def _shares(wins: int, games: int) -> dict[str, Any]:
    return {"mean": wins / games, **bounds(share_interval(wins, games)), "games": games}


@cache
def records(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the file of a set, and its figures by key; raises UserError if there is no such set."""
    file = RESULTS / f"{name}.json"
    if not file.exists():
        raise UserError(f"expected a set of figures of experiments/results, got {name!r}")
    info: dict[str, Any] = json.loads(read_text(file))
    if "command" not in info or ("from" in info) == ("figures" in info):
        raise UserError(f"{file.name}: expected a command, and either figures or from, got {', '.join(info)}")
    if unknown := info.keys() - {*ABOUT, "from", "figures"}:
        raise UserError(f"{file.name}: expected {', '.join(ABOUT)}, from, figures, got {', '.join(sorted(unknown))}")
    if "figures" in info:
        return info, info["figures"]
    study = json.loads(read_text(ROOT / info["from"]))
    return info, study.get("results", study)


def figure(name: str, key: str) -> dict[str, Any]:
    """Returns the fields of a figure.

    A key names an entry, and `a/b` a nested one. An entry of a list is named by its texts, joined by spaces. If no entry has the
    key, there may be pieces of games, `KEY, from 0` and so on. Their share of wins is a `mean` with Wilson's interval.
    """
    entry: Any = records(name)[1]
    if key in entry:
        return record(entry[key])
    if pieces := [piece for title, piece in entry.items() if title.rpartition(", from ")[0] == key]:
        return record(_shares(sum(piece["wins"] for piece in pieces), sum(piece["games"] for piece in pieces)))
    for part in key.split("/"):
        if isinstance(entry, list):
            entry = {" ".join(text for text in one.values() if isinstance(text, str)): one for one in entry}
        if not isinstance(entry, Mapping) or part not in entry:
            raise UserError(f"expected a key of the figures {name!r}, got {key!r}")
        entry = entry[part]
    return record(entry)


def written(name: str, key: str, form: str) -> str:
    """Formats a figure."""
    fields = figure(name, key)
    try:
        return form.format_map(fields)
    except (KeyError, ValueError, IndexError, TypeError) as problem:
        raise UserError(f"expected a form of the figure {name}: {key}, got {form!r} ({problem})") from None


@cache
def tables() -> dict[str, str]:
    """Returns all tables by name, with their figures, as Markdown."""
    by_name: dict[str, Any] = tomllib.loads(read_text(RESULTS / "tables.toml"))

    def filled_in(each: str) -> Callable[[re.Match[str]], str]:
        return lambda cell: written(cell[1], cell[2], cell[3] or each)

    results = {name: CELL.sub(filled_in(entry.get("each", "")), entry["rows"]) for name, entry in by_name.items()}
    return {**results, **option_tables()}


def filled(text: str) -> str:
    """Returns a page with its figures; raises UserError for a mark with a wrong name or without an end."""

    def with_table(mark: re.Match[str]) -> str:
        if mark[2] not in tables():
            raise UserError(f"expected a table of experiments/results/tables.toml or of options, got {mark[2]!r}")
        return f"{mark[1]}\n{tables()[mark[2]].strip()}\n\n{mark[4]}"

    if len(OPENED.findall(text)) != len(FIGURE.findall(text)) + len(TABLE.findall(text)):
        raise UserError(
            "expected <!-- fig: SET: KEY = FORM -->...<!-- /fig --> and <!-- table: NAME -->...<!-- /table -->"
        )
    if BEGINS_A_LINE.search(text):
        raise UserError(
            "expected words before <!-- fig, got the beginning of a line, where Markdown ends the paragraph"
        )
    text = TABLE.sub(with_table, text)
    return FIGURE.sub(lambda mark: f"{mark[1]}{written(mark[2], mark[3], mark[4])}{mark[6]}", text)


def pages() -> Iterator[Path]:
    """Yields the pages that can have marks."""
    return (page for pattern in PAGES for page in sorted(ROOT.glob(pattern)) if page.is_file())


def stale() -> dict[Path, str]:
    """Returns the outdated pages with their new text."""
    changed = {}
    for page in pages():
        text = read_text(page)
        try:
            today = filled(text)
        except UserError as problem:
            raise UserError(f"{page.relative_to(ROOT)}: {problem}") from None
        if today != text:
            changed[page] = today
    return changed


def run(arguments: list[str]) -> int:
    """Writes the outdated pages, or lists them; returns the exit status."""
    config = parse(Config, arguments, "python -m leafwise.experiments.figures")
    if not RESULTS.exists():
        raise UserError("expected a checkout, got an installed leafwise, which holds no results")
    changed = stale()
    names = ", ".join(str(page.relative_to(ROOT)) for page in changed)
    if config.check and changed:
        raise UserError(f"expected the figures of experiments/results, got others in {names}; make figures writes them")
    for page, text in changed.items():
        write_atomically(page, text.encode())
    if changed:
        print(f"figures written: {names}")
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line (None: that of the process); returns the exit status."""
    return as_command(run, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
