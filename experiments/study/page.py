"""Pages in Markdown: tables and their cells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from leafwise.experiments.study.config import Study
from leafwise.models.files import write_atomically
from leafwise.training.evaluation.statistics import interval_text


def table(head: str, rows: Iterable[Sequence[str]]) -> list[str]:
    """Returns the lines of a table; `head` is like `leaf | games: | mean:`, a colon sets a column's figures to the right."""
    columns = head.split("|")
    rule = "".join("---:|" if column.rstrip().endswith(":") else "---|" for column in columns)
    lines = [f"| {re.sub(r':(?= [|]|$)', '', head)} |", f"|{rule}"]
    return lines + [f"| {' | '.join(row)} |" for row in rows]


def section(title: str, *parts: str | list[str]) -> list[str]:
    """Returns the lines of a section: its title, then paragraphs and tables with an empty line after each."""
    lines = [[part] if isinstance(part, str) else part for part in (f"## {title}", *parts)]
    return [line for part in lines for line in (*part, "")]


def share(found: Mapping[str, Any], name: str = "mean", more: str = "") -> str:
    """Returns a share with its 95 % interval, and what else is told in the parentheses."""
    return f"{found[name]:.1%} ({interval_text(found['ci_low'], found['ci_high'], '.1%')}{more})"


def points(found: Mapping[str, Any]) -> list[str]:
    """Returns two cells: a mean score, its 95 % interval."""
    return [f"{found['mean']:,.0f}", interval_text(found["ci_low"], found["ci_high"], ",.0f")]


def bootstrapped(figures: Iterable[Mapping[str, Any]]) -> list[str]:
    """Returns what a page says of figures whose `interval` is told as "bootstrap"; nothing where there are none.

    They were measured before intervals were those of `leafwise.training.evaluation.statistics`, and their samples are not kept.
    """
    with_intervals = [found for found in figures if "ci_low" in found]
    old = sum(found.get("interval") == "bootstrap" for found in with_intervals)
    if not old:
        return []
    count = "All" if old == len(with_intervals) else f"{old} of the {len(with_intervals)}"
    others = "." if old == len(with_intervals) else "; the others are Student's, or Wilson's of shares."
    return [
        f"{count} intervals are by bootstrap{others}",
        "Of the games or decisions behind them only the figures are kept.",
        "",
    ]


def write_page(study: Study, name: str, lines: Iterable[str]) -> None:
    """Writes a page to the study's folder."""
    write_atomically(study.target(name), ("\n".join(lines) + "\n").encode())


def signed(study: Study, lines: Iterable[str]) -> list[str]:
    """Returns the lines of a page that ends with the study's command."""
    return [*lines, "Written by", "", f"    {study.repeated_by}"]
