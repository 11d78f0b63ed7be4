"""Trains a model by self-play: `leafwise train GAME --method td ...`."""

from __future__ import annotations

import importlib

from leafwise.cli import fail, one_line_errors, say
from leafwise.envs.registry import game, games
from leafwise.training.runs.options import take_option
from leafwise.training.runs.recipes import METHODS, modules, recipes, with_recipe

USAGE = """usage: leafwise train GAME [--method METHOD] [OPTIONS]

Trains a model and saves it in a run folder. Ctrl-C saves and ends; --resume goes on; --config FILE repeats a run.
`leafwise train GAME --method METHOD --help` shows a method's options, and before them those that the game's recipe adds.
"""


def with_variant(name: str, arguments: list[str]) -> list[str]:
    """Returns the arguments with the game's own options, `--board 7x6 --k 4`, gathered as `--variant board=7x6,k=4`."""
    given: list[str] = []
    for option in game(name).defaults:
        value, arguments = take_option(arguments, f"--{option.replace('_', '-')}")
        if value:
            given.append(f"{option}={value}")
    return [*arguments, "--variant", ",".join(given)] if given else arguments


def main(arguments: list[str]) -> int:
    """Runs the command."""
    with one_line_errors():
        method, rest = take_option(arguments, "--method")
        if rest in (["-h"], ["--help"]) and method is None:
            say(f"{USAGE}\nmethods: {', '.join(METHODS)} (default: td, or the game's own)\ngames: {', '.join(games())}")
            return 0
        if set(rest) & {"-h", "--help"} and rest[0].startswith("-") and method in METHODS:
            return importlib.import_module(METHODS[method]).main(rest)
        if not rest or rest[0] not in games():
            fail(f"expected a game among {', '.join(games())}, got {rest[0] if rest else 'nothing'!r}")
        named, rest = rest[0], rest[1:]
        found, method = modules(named), method or recipes(named).get("method", "td")
        if method not in found:
            fail(f"expected --method among {', '.join(found)}, got {method!r}")
        if {"-h", "--help"} & set(rest):
            added = " ".join(with_recipe(named, method, [])) or "none"
            say(f"options of {named}'s recipe for {method}, where they are not given: {added}\n")
            words = ["--game", named, "--help"]
        else:
            words = with_recipe(named, method, ["--game", named, *with_variant(named, rest)])
    status: int = importlib.import_module(found[method]).main(words)
    return status
