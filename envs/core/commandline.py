"""Command lines from dataclasses: tyro parses, and wrong input becomes one line."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Sequence
from typing import TypeVar

C = TypeVar("C")


def parse(config_class: type[C], arguments: Sequence[str], prog: str, description: str | None = None) -> C:
    """Returns a `config_class` filled from arguments; its docstrings are the help.

    `description` replaces the class's docstring. Exits with status 0 after `--help`, and with status 2 after one line on
    standard error for wrong arguments.
    """
    import tyro

    markers = (tyro.conf.FlagCreatePairsOff, tyro.conf.PositionalMetavarFromFieldName)
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            return tyro.cli(config_class, args=list(arguments), prog=prog, description=description, config=markers)
    except SystemExit as exit:
        if exit.code:
            print(f"error: {one_line(said.getvalue())} (see {prog} --help)", file=sys.stderr)
        raise


def one_line(box: str) -> str:
    """Condenses tyro's framed message to what was expected and got."""
    lines = [line.strip(" │") for line in box.splitlines()]
    rules = [k for k, line in enumerate(lines) if line[:2] in ("--", "──", "╭─", "├─", "╰─")]
    ends = [*rules, len(lines)]
    body = " ".join(lines[ends[0] + 1 : ends[1]] if len(ends) > 1 else lines).strip()
    if wrong := re.fullmatch(r"Error parsing (--\S+): .*?((?:'[^']*'|\"[^\"]*\"))\.?", body):
        flag, got = wrong.groups()
        kind = re.search(re.escape(flag) + r" ([A-Z|{}]\S*)", " ".join(lines[ends[1] :]))
        return f"expected {kind.group(1) if kind else 'another value'} for {flag}, got {got}"
    if near := re.search(r"Perhaps you meant: .*?(--\S+)", " ".join(lines)):
        return f"{body[:1].lower()}{body[1:]}; perhaps {near.group(1)}"
    return body[:1].lower() + body[1:]
