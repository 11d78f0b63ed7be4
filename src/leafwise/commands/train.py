"""Trains a model by self-play: `leafwise train GAME --method td ...`."""

from __future__ import annotations

import importlib

from leafwise.cli import fail, say
from leafwise.envs.registry import game, games
from leafwise.training.runs.recipes import with_recipe

METHODS = {name: f"leafwise.training.methods.{name}" for name in ("td", "selfplay", "dqn", "ppo")} | {
    "builds": "leafwise.training.starship.values"
}
"""Training methods and their modules."""
OWN_MODULES = {("starship", "ppo"): "leafwise.training.starship.placing"}
"""Where a method of a game differs from that of the others."""
OWN_METHODS = {"starship": "builds"}
"""The method of games where it is not td, unless another is named."""
USAGE = """usage: leafwise train GAME [--method METHOD] [OPTIONS]

Trains a model and saves it in a run folder. Ctrl-C saves and ends; --resume goes on.
`leafwise train GAME --method METHOD --help` shows a method's options, and before them those that the game's recipe adds.
"""


def take_option(arguments: list[str], flag: str, default: str) -> tuple[str, list[str]]:
    """Returns the value of an option and the arguments without it."""
    rest = list(arguments)
    for k, word in enumerate(rest):
        name, equals, value = word.partition("=")
        if name == flag:
            if not equals and k + 1 == len(rest):
                fail(f"expected a value after {flag}, got nothing")
            return (value, rest[:k] + rest[k + 1 :]) if equals else (rest[k + 1], rest[:k] + rest[k + 2 :])
    return default, rest


def with_variant(name: str, arguments: list[str]) -> list[str]:
    """Returns the arguments with the game's own options, `--board 7x6 --k 4`, gathered as `--variant board=7x6,k=4`."""
    given: list[str] = []
    for option in game(name).defaults:
        value, arguments = take_option(arguments, f"--{option.replace('_', '-')}", "")
        if value:
            given.append(f"{option}={value}")
    return [*arguments, "--variant", ",".join(given)] if given else arguments


def main(arguments: list[str]) -> int:
    """Runs the command."""
    named = arguments[0] if arguments else ""
    method, rest = take_option(arguments, "--method", OWN_METHODS.get(named, "td"))
    known = ", ".join(METHODS)
    if method not in METHODS:
        fail(f"expected --method among {known}, got {method!r}")
    if rest in (["-h"], ["--help"]) and "--method" not in arguments:
        say(f"{USAGE}\nmethods: {known} (default: td; starship: builds)\ngames: {', '.join(games())}")
        return 0
    if rest and not rest[0].startswith("-"):
        if rest[0] not in games():
            fail(f"expected a game among {', '.join(games())}, got {rest[0]!r}")
        rest = with_recipe(rest[0], method, ["--game", *with_variant(rest[0], rest)])
        if {"-h", "--help"} & set(rest):
            added = " ".join(with_recipe(named, method, [])) or "none"
            say(f"options of {named}'s recipe for {method}, where they are not given: {added}\n")
            rest = ["--game", named, "--help"]
    elif "-h" not in rest and "--help" not in rest:
        fail(f"expected a game among {', '.join(games())}, got {rest[0] if rest else 'nothing'!r}")
    status: int = importlib.import_module(OWN_MODULES.get((named, method), METHODS[method])).main(rest)
    return status
