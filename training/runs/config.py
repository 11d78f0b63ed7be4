"""The file with the options of a run, in its folder."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from leafwise.envs.core.errors import UserError, short
from leafwise.envs.core.files import read_text

CONFIG = "config.toml"
"""The options of a run in its folder."""


def read_table(path: Path) -> dict[str, Any]:
    """Returns what a TOML file says; raises ValueError that names a file that is broken."""
    try:
        return tomllib.loads(read_text(path))
    except OSError as problem:
        raise UserError(f"expected a file of options, got {str(path)!r}: {problem.strerror}") from None
    except RecursionError:
        raise UserError(f"expected options in TOML, got {str(path)!r}: nested too deep") from None
    except ValueError as problem:
        raise UserError(f"expected options in TOML, got {str(path)!r}: {short(problem)}") from None


def config_file(folder: Path) -> Path | None:
    """Returns the file with the options of the run in a folder, None where there is no run."""
    return folder / CONFIG if (folder / CONFIG).exists() else None


def resumed_file(folder: Path) -> Path:
    """Returns the file with the options of the run to resume in a folder; raises ValueError where there is no run."""
    if (file := config_file(folder)) is None:
        raise UserError(f"expected a run to resume in {str(folder)!r}, found no {CONFIG}")
    return file
