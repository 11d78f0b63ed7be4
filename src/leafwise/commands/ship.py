"""`leafwise ship gen|check|stats|gallery`: makes ships, checks ship files, measures many, draws a contact sheet."""

from __future__ import annotations

from collections.abc import Sequence

from leafwise.cli import say
from leafwise.envs.core.commandline import WRONG_INPUT
from leafwise.envs.core.errors import UserError, perhaps

USAGE = """Makes ships, checks ship files, measures many, draws a contact sheet.

Examples:
  leafwise ship gen --preset scout --seed 7
  leafwise ship gallery --preset scout --seeds 1:5 --png ships.png

usage: leafwise ship COMMAND [OPTIONS]

Commands, each with --help:
  gen      Makes the ship of a seed; prints it as text, or writes it to files.
  check    Checks ship files against the rules; names each rule that is broken.
  stats    Makes the ships of many seeds and prints validity, quality, diversity
           and speed.
  gallery  Draws the ships of several seeds on one contact sheet."""
COMMANDS = ("gen", "check", "stats", "gallery")


def main(words: Sequence[str]) -> int:
    """Runs one of the four commands; returns 0, 1 if a ship is not valid, 2 for wrong input."""
    name, *rest = words or ["--help"]
    if name in ("-h", "--help"):
        say(USAGE)
        return 0 if words else WRONG_INPUT
    if name not in COMMANDS:
        raise UserError(f"expected a command among {', '.join(COMMANDS)}, got {name!r}{perhaps(name, COMMANDS)}")
    from leafwise import ships  # late, since its options import the generator's settings

    status: int = getattr(ships, name)(rest)
    return status
