"""Command lines from dataclasses: tyro parses, and wrong input becomes one line."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Sequence
from typing import TypeVar

from leafwise.envs.core.lines import print_error

C = TypeVar("C")


def parse(
    config_class: type[C], arguments: Sequence[str], prog: str, description: str | None = None, default: C | None = None
) -> C:
    """Returns a `config_class` filled from arguments; its docstrings are the help.

    `description` replaces the class's docstring, the values of `default` those of the class. Exits with status 0 after
    `--help`, and with status 2 after one line on standard error for wrong arguments.
    """
    import tyro

    markers = (tyro.conf.FlagCreatePairsOff, tyro.conf.PositionalMetavarFromFieldName)
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            return tyro.cli(
                config_class,
                args=list(arguments),
                prog=prog,
                description=description,
                default=tyro.MISSING_NONPROP if default is None else default,
                config=markers,
            )
    except SystemExit as exit:
        if exit.code:
            print_error(f"{one_line(said.getvalue())} (see {prog} --help)")
        raise


def one_line(box: str) -> str:
    """Condenses tyro's framed message to what was expected and got."""
    lines = [line.strip(" │") for line in box.splitlines()]
    rules = [k for k, line in enumerate(lines) if re.match("[─╭├╰]|[-+]-{2}|-+$", line)]
    ends = [*rules, len(lines)]
    message = lines[ends[0] + 1 : ends[1]] if len(ends) > 1 else lines
    body, whole = " ".join(message).strip(), " ".join(lines)
    if body.startswith("Missing from"):
        missing = [line for line in message[1:] if re.fullmatch(r"[A-Z][A-Z_]*|--\S+( .*)?", line)]
        return f"expected {' and '.join(missing)}, got nothing"
    if wrong := re.match(r"Error parsing (\S+): .*?('[^']*'|\"[^\"]*\")", body):
        kind = re.search(re.escape(wrong[1]) + r" (?:\{None\}\|)?\[?([A-Z|{}][^\s\]]*)", " ".join(lines[ends[1] :]))
        return f"expected {kind[1] if kind else 'another value'} for {wrong[1]}, got {wrong[2]}"
    if wrong := re.match(r"invalid choice ('.*') for argument '(.*)'\. Expected one of \((.*?),?\)", body):
        return f"expected {wrong[3].replace(chr(39), '')} for {wrong[2]}, got {wrong[1]}"
    if wrong := re.match(r"Missing value for argument '(.*?)'", body):
        return f"expected a value after {wrong[1]}, got nothing"
    if wrong := re.match(r"Unrecognized options: (.*)", body):
        near = re.search(r"Perhaps you meant: .*?(--\S+)", whole)
        return f"expected known arguments, got {wrong[1]!r}" + (f"; perhaps {near[1]}" if near else "")
    return body[:1].lower() + body[1:]
