"""A method as a command: its words become options, it trains, and where the run is gets said."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from leafwise.envs.core.commandline import cannot_use, quiet_when_unread, with_home
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.interrupts import INTERRUPTED, as_command
from leafwise.envs.registry import take_modules
from leafwise.training.runs.options import parse_options
from leafwise.training.runs.recipes import Method


def run_method(method: Method, arguments: list[str]) -> int:
    """Parses a method's options, trains, and says where the run is; wrong input is one line and status 2.

    Ctrl-C before the first step, or after the last, is one line and status 130.
    """

    def run(words: list[str]) -> int:
        with quiet_when_unread():
            return _trained(method, with_home(words))

    return as_command(run, arguments)


def _trained(method: Method, words: list[str]) -> int:
    """Trains as the words of a command line say; returns the exit status, or raises UserError."""
    file = None
    try:
        config, file = parse_options(method.options, take_modules(words), f"leafwise train --method {method.name}")
        path: Path = importlib.import_module(method.module).train(config)
    except UserError as problem:
        where = f" (with the options in {str(file)!r})" if file is not None else ""
        raise UserError(f"{problem}{where}") from None
    except BrokenPipeError:
        raise
    except OSError as problem:  # whatever it tells of: a run writes many files
        what = cannot_use(problem, "the run folder")
        raise UserError(f"{what}; a run that had begun stands as it was saved last, go on with --resume") from None
    except KeyboardInterrupt:
        print("interrupted; a run that had begun goes on with --resume", file=sys.stderr)
        return INTERRUPTED
    print(f"run folder: {path}\nTensorBoard: tensorboard --logdir {path}")
    return 0
