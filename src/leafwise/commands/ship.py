"""`leafwise ship gen|check|stats|gallery`: makes ships, checks ship files, measures many, draws a contact sheet."""

from __future__ import annotations

from leafwise.cli import say
from leafwise.envs.core.commandline import WRONG_INPUT
from leafwise.envs.core.errors import UserError, perhaps

COMMANDS = ("gen", "check", "stats", "gallery")


def main(arguments: list[str]) -> int:
    """Runs one of the four commands; returns 0, 1 if a ship is not valid, 2 for wrong input."""
    command, *words = arguments or ["--help"]
    if command in ("-h", "--help"):
        say(f"usage: leafwise ship {{{','.join(COMMANDS)}}} [options]; --help after a command lists its options")
        return 0 if arguments else WRONG_INPUT
    if command not in COMMANDS:
        raise UserError(f"expected a command among {', '.join(COMMANDS)}, got {command!r}{perhaps(command, COMMANDS)}")
    from leafwise.ships import run  # the room brings its settings along, which are the options

    return run(command, words)
