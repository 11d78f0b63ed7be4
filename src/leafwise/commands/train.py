"""Trains a model by self-play: `leafwise train GAME --method td ...`."""

from __future__ import annotations

import importlib

from leafwise.cli import flag_of, say, tell_rules, tell_untold
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.fields import options_from_text
from leafwise.envs.core.lines import perhaps
from leafwise.envs.registry import check_name, game, games, option_types
from leafwise.training.runs.options import take_option
from leafwise.training.runs.recipes import METHODS, default_method, modules, with_recipe

USAGE = """usage: leafwise train GAME [--method METHOD] [OPTIONS]

Trains a model and saves it in a run folder. Ctrl-C saves and ends; --resume goes on; --config FILE repeats a run.
`leafwise train GAME --method METHOD --help` shows a method's options, and before them those that the game's recipe adds.
"""


def with_variant(name: str, arguments: list[str]) -> list[str]:
    """Returns the arguments with the game's own options, `--board 7x6 --k 4`, gathered as `--variant board=7x6,k=4`.

    Raises ValueError, in the words of these options, for values that the game does not have.
    """
    variant, rest = take_option(arguments, "--variant")
    given: dict[str, str] = {}
    for option in option_types(name):
        value, rest = take_option(rest, flag_of(option))
        if value is not None:
            given[option] = value
    tell_rules(game(name, **options_from_text(option_types(name), given, flag_of)))
    for option in given:
        if any(word.partition("=")[0] == option for word in (variant or "").split(",")):
            raise UserError(f"expected {flag_of(option)} or {option} in --variant, got both")
    words = [*([variant] if variant else []), *(f"{option}={text}" for option, text in given.items())]
    return [*rest, "--variant", ",".join(words)] if words else rest


def main(arguments: list[str]) -> int:
    """Runs the command."""
    method, rest = take_option(arguments, "--method")
    if rest in (["-h"], ["--help"]) and method is None:
        say(
            f"{USAGE}\nmethods: {', '.join(METHODS)} (default: the one that fits the game)\ngames: {', '.join(games())}"
        )
        return 0
    if set(rest) & {"-h", "--help"} and rest[0].startswith("-") and method in METHODS:
        return importlib.import_module(METHODS[method]).main(rest)
    check_name(rest[0] if rest else "nothing")
    named, rest = rest[0], rest[1:]
    found, method = modules(named), method or default_method(named)
    if method not in found:
        raise UserError(f"expected --method among {', '.join(found)}, got {method!r}{perhaps(method, found)}")
    if {"-h", "--help"} & set(rest):
        added = " ".join(with_recipe(named, method, [])) or "none"
        say(f"options of {named}'s recipe for {method}, where they are not given: {added}\n")
        words = ["--game", named, "--help"]
    else:
        words = with_recipe(named, method, ["--game", named, *with_variant(named, rest)])
    tell_untold()
    status: int = importlib.import_module(found[method]).main(words)
    return status
