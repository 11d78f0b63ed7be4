"""Trilobite with players that fail, each in its own way, for the tests of the arena."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import NoReturn

import leafwise
from leafwise.authoring import Forfeit, FunctionPlayer, Game, State

TRILOBITE = leafwise.game("trilobite")
LATE = 6
"""Chips on the board from which on the faults show: loading a player and its first moves go well."""


def chips(state: State) -> int:
    return 9 - str(state).count(".")


def crash(state: State) -> NoReturn:
    raise RuntimeError("no more ideas")


def hang(state: State) -> NoReturn:
    while True:
        time.sleep(0.01)


def leave(state: State) -> NoReturn:
    os._exit(3)


def stop(state: State) -> NoReturn:
    sys.exit("enough")


def give_up(state: State) -> NoReturn:
    raise Forfeit("out of time")


def illegal(state: State) -> int:
    return 17


def word(state: State) -> int:
    return "2"  # type: ignore[return-value]


def last(state: State) -> int:
    return state.legal_actions[-1]


def early(fault: Callable[[State], int]) -> Callable[[Game, str, list[str]], FunctionPlayer]:
    return lambda game, name, words: FunctionPlayer(name, fault)


def late(fault: Callable[[State], int]) -> Callable[[Game, str, list[str]], FunctionPlayer]:
    """Makes a player that plays the last column until the board has LATE chips."""
    return lambda game, name, words: FunctionPlayer(
        name, lambda state: (fault if chips(state) >= LATE else last)(state)
    )


GAME = replace(
    TRILOBITE,
    name="faulty",
    module=__name__,
    ids={},
    ais={
        **TRILOBITE.ais,
        "last": early(last),
        "crash": late(crash),
        "hang": late(hang),
        "leave": late(leave),
        "stop": late(stop),
        "illegal": late(illegal),
        "give_up": late(give_up),
        "word": late(word),
        "never": early(hang),
    },
)
