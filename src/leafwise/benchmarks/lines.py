"""A file of speeds: one line of JSON for each commit and machine, with the rates measured there by name."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from leafwise.envs.core.compile.cache import PACKAGE
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.files import read_text, write_named
from leafwise.training.runs.folder import commit


def processor() -> str:
    """Returns the processor's name, as far as the system tells it."""
    try:
        lines = read_text("/proc/cpuinfo").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def machine() -> str:
    """Returns what tells one machine's speeds from another's: name, processor, cores."""
    return f"{platform.node()}, {processor()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def version() -> str:
    """Returns the commit that runs, with a + if files differ from it."""
    from leafwise.benchmarks.versions import git

    changed = git(PACKAGE, "status", "--porcelain", "--untracked-files=no") if (PACKAGE / ".git").exists() else None
    return commit() + ("+" if changed else "")


def read_lines(file: Path) -> list[dict[str, Any]]:
    """Returns the lines of a file, none if there is no file; raises ValueError for what is no such line."""
    if not file.exists():
        return []
    found = []
    for number, text in enumerate(read_text(file).splitlines(), 1):
        try:
            line = json.loads(text)
            if not all(isinstance(line[word], str) for word in ("commit", "machine")) or not isinstance(
                line["rates"], dict
            ):
                raise TypeError
        except (ValueError, TypeError, KeyError):
            raise UserError(
                f"{str(file)!r}, line {number}: expected commit, machine and rates, got {text[:60]!r}"
            ) from None
        found.append(line)
    return found


def save_rates(file: Path, rates: Mapping[str, float]) -> dict[str, Any]:
    """Adds rates to the line of this commit and machine, or a line for them; returns the line.

    A rate that is measured again takes the place of the old one. Raises ValueError for a file of other content.
    """
    lines, here = read_lines(file), {"commit": version(), "machine": machine()}
    own = next((line for line in lines if all(line[word] == text for word, text in here.items())), None)
    if own is None:
        own = {**here, "rates": {}}
        lines.append(own)
    own["date"] = datetime.now(UTC).isoformat(timespec="seconds")
    own["rates"] = dict(sorted({**own["rates"], **rates}.items()))
    write_named(file, "".join(json.dumps(line) + "\n" for line in lines).encode())
    return own
