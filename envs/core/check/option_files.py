"""Checks that a game opens no file that an option names: options are told by requests, files and models of others too."""

from __future__ import annotations

import contextlib
import os
import sys
from functools import cache
from typing import Any

from leafwise.envs.core.check.fault import expect
from leafwise.envs.core.contract.game import Game

_opened: set[str] = set()


@cache
def _watch() -> None:
    """Takes down which of the files that are probed for is opened, from now on: such a hook stays."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and arguments and arguments[0] == __file__:
            _opened.add(__file__)

    sys.addaudithook(hook)


def check_option_files(game: Game) -> None:
    """Raises RuleFault where a text that an option is given is opened as a file; this module's own file stands for any."""
    _watch()
    for name, value in game.defaults.items():
        if not isinstance(value, str):
            continue
        _opened.clear()
        with contextlib.suppress(Exception):  # most games refuse such an option, which is as well
            probed = game.variant(**{name: os.fspath(__file__)})
            probed.tables()
            probed.start()
        told = f"the file that the option {name} names to stay closed (a field with `from_file` has its text)"
        expect(not _opened, "options", told, "one that was opened")
