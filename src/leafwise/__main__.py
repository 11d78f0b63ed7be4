"""The command line: `leafwise COMMAND ...`. Every module of leafwise.commands is a command, imported when it is called."""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from leafwise import __version__, commands
from leafwise.envs.core.commandline import WRONG_INPUT, quiet_when_unread, status_of, with_home
from leafwise.envs.core.errors import UserError, perhaps
from leafwise.envs.core.files import read_text
from leafwise.envs.core.interrupts import INTERRUPTED, at_command_line, leave
from leafwise.envs.core.option_help import definitions, paragraphs
from leafwise.envs.core.waiting import loading
from leafwise.envs.registry import take_modules

EXAMPLES = """To begin with:
  leafwise games
  leafwise play cassis
  leafwise train cassis"""


def command_names() -> list[str]:
    """Returns the names of the commands."""
    names = (name.removesuffix(".py") for name in os.listdir(commands.__path__[0]) if name.endswith(".py"))
    return sorted(name for name in names if name != "__init__")


def summary(name: str) -> str:
    """Returns the first line of a command's docstring, read without importing it."""
    import ast

    source = read_text(Path(commands.__path__[0], f"{name}.py"))
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]


def overview() -> str:
    """Returns the help of the program."""
    about = "Board and card games with exact rules, fast depth-limited search, and learned values at its leaves."
    more = (
        "leafwise COMMAND --help shows a command's options, leafwise --version the version. Every command takes --module "
        "FILE_OR_PACKAGE, which adds your own game; leafwise new writes a first version of one."
    )
    listed = definitions("Commands:", {name: summary(name) for name in command_names()})
    return "\n\n".join([paragraphs(about), "usage: leafwise COMMAND [OPTIONS]", *listed, EXAMPLES, paragraphs(more)])


def run(arguments: Sequence[str]) -> int:
    """Runs one command line and returns the exit status; wrong input gives one line on standard error and status 2."""
    return status_of(_run, arguments)


def _run(arguments: Sequence[str]) -> int:
    arguments = take_modules(with_home(arguments))
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(overview())
        return 0 if arguments else WRONG_INPUT
    name, *rest = arguments
    if name == "--version":
        print(f"leafwise {__version__}")
        return 0
    if name not in command_names():
        names = command_names()
        raise UserError(f"expected a command among {', '.join(names)}, got {name!r}{perhaps(name, names)}")
    with loading():
        module = importlib.import_module(f"leafwise.commands.{name}")
    status: int = module.main(rest)
    return status


def main() -> None:
    """Runs the command line of this process and exits."""
    warnings.formatwarning = lambda message, *place: f"warning: {message}\n"
    with quiet_when_unread():
        try:
            at_command_line()
            status = run(sys.argv[1:])
        except KeyboardInterrupt:
            print("\ninterrupted" if sys.stderr.isatty() else "interrupted", file=sys.stderr)
            status = INTERRUPTED
    leave(status)


if __name__ == "__main__":
    main()
