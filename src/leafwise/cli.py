"""What all commands share: options of a command and of its game, files of positions and games, results as JSON."""

from __future__ import annotations

import dataclasses
import inspect
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from leafwise.envs.core.commandline import flag_of, parse
from leafwise.envs.core.errors import UserError, perhaps
from leafwise.envs.core.fields import options_from_text
from leafwise.envs.core.files import is_stream, read_text, text_of
from leafwise.envs.registry import check_name, games, option_defaults, option_types, position_words, unregistered
from leafwise.envs.registry import game as find_game

if TYPE_CHECKING:
    from leafwise.envs.core.contract.game import Game
    from leafwise.envs.core.contract.state import State
    from leafwise.envs.core.play.gamefile import GameRecord

__all__ = [
    "check_writable",
    "flag_of",
    "game_file",
    "numbered_lines",
    "parse",
    "parse_with_game",
    "positions_of",
    "print_json",
    "records_of",
    "say",
    "tell_rules",
    "tell_untold",
]

C = TypeVar("C")

_untold: list[str] = []
"""What standard error is still to be told, once it is known that the input is not refused."""


def tell_rules(game: Game) -> None:
    """Has standard error told the rules of a variant without an id, before the command prints or works."""
    _untold[:] = filter(None, [unregistered(game)])


def tell_untold() -> None:
    """Prints what standard error is still to be told."""
    while _untold:
        print(_untold.pop(0), file=sys.stderr, flush=True)


def say(text: str = "") -> None:
    """Prints a line for people, as it is: no markup, no wrapping."""
    tell_untold()
    print(text, flush=True)


def parse_with_game(config_class: type[C], arguments: Sequence[str], prog: str) -> tuple[C, Game]:
    """Returns the options of a command whose first argument names a game, and that game in the variant asked for.

    Options that `config_class` (a dataclass with a field `game`) does not have are the game's: `--hint exact`, or words that are
    appended to the field `position` where there is one: `--next 1`.
    """
    own, options = split_options(config_class, arguments)
    if any(word in ("-h", "--help") for word in own):
        parse(config_class, ["--help"], prog, description=description(config_class, own))
    if own and not own[0].startswith("-"):  # before tyro takes its time, if the game comes first
        check_name(own[0])
        check_options(own[0], options, config_class)
    config = parse(config_class, own, prog)
    game: str = config.game  # type: ignore[attr-defined]
    check_name(game)
    check_options(game, options, config_class)
    if hasattr(config, "position"):
        words = {name: options.pop(name) for name in position_words(game) if name in options}
        config = with_words(config, words)
    found = find_game(game, **options_from_text(option_types(game), options, flag_of))
    tell_rules(found)
    return config, found


def game_file(arguments: Sequence[str]) -> tuple[str, list[str]]:
    """Returns the value of `--game FILE` ("" without it), and the other arguments, the name of the file's game in front."""
    words = list(arguments)
    at = next((k for k, word in enumerate(words) if word.partition("=")[0] == "--game"), None)
    if at is None:
        return "", words
    _, equals, file = words.pop(at).partition("=")
    if not equals:
        if at == len(words):
            raise UserError("expected a value after --game, got nothing")
        file = words.pop(at)
    from leafwise.envs.core.play.gamefile import load_game

    name = load_game(file).game.name
    return file, words if words[:1] and words[0] in games() else [name, *words]


def records_of(file: str, game: Game) -> list[GameRecord]:
    """Returns the games of a file, all of them of this game; they tell its options, which are not to be given again."""
    from leafwise.envs.core.play.gamefile import read_games

    records = list(read_games(read_text(file), file))
    for record in records:
        if record.game.name != game.name:
            raise UserError(f"expected games of {game.name} in {file!r}, got one of {record.game.name}")
    if game.given_options:
        raise UserError(f"expected no options of {game.name} with --game, whose file tells them, got {game!r}")
    return records


def with_words(config: C, words: Mapping[str, str]) -> C:
    """Returns the options of a command with words appended to the position; raises ValueError if there is none to append to."""
    position: str = config.position  # type: ignore[attr-defined]
    if words and not position:
        raise UserError(f"expected a position with {' and '.join(map(flag_of, words))}, got none")
    more = [f"{name}={text}" for name, text in words.items()]
    return dataclasses.replace(config, position=" ".join([position, *more]))  # type: ignore[type-var]


def split_options(config_class: type, arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Splits arguments into the command's own and the others as name -> text.

    Every option that is no field of the class is the game's and takes one value, `--name value` or `--name=value`.
    """
    fields = {field.name for field in dataclasses.fields(config_class)} | {"help"}
    own: list[str] = []
    options: dict[str, str] = {}
    words = iter(arguments)
    for word in words:
        flag, equals, value = word.partition("=")
        name = flag[2:].replace("-", "_")
        if word == "--":
            own += [word, *words]
        elif re.match(
            r"-[^=]*[/\n]", word
        ):  # a board whose first cell is typed as a dash, which tyro takes for an option
            own.append(f" {word}")
        elif not flag.startswith("--") or name in fields or name.removeprefix("no_") in fields:
            own.append(word)
        else:
            given = value if equals else next(words, None)
            if given is None:
                raise UserError(f"expected a value after {flag}, got nothing")
            options[name] = given
    return own, options


def check_options(game: str, options: Iterable[str], config_class: type) -> None:
    """Raises ValueError for options that are neither a game's nor words of its position where the command takes one."""
    known = [*option_defaults(game), *(position_words(game) if hasattr(config_class, "position") else ())]
    for name in options:
        if name not in known:
            here = ", ".join(flag_of(f.name) for f in options_of(config_class))
            others = ", ".join(map(flag_of, known)) or "none"
            near = perhaps(flag_of(name), map(flag_of, [*(f.name for f in options_of(config_class)), *known]))
            raise UserError(f"expected an option among {here} or {game}'s ({others}), got {flag_of(name)}{near}")


def options_of(config_class: type) -> list[dataclasses.Field[Any]]:
    """Returns the fields of a dataclass that are options rather than positional arguments."""
    return [field for field in dataclasses.fields(config_class) if "Positional" not in str(field.type)]


def description(config_class: type, own: Sequence[str]) -> str:
    """Returns the text above a command's options: what it does, and the options of the game that is named, or all."""
    named = [word for word in own if word in games()]
    lines = [inspect.cleandoc(str(config_class.__doc__))]
    for name in named[:1] or games():
        options = ", ".join(f"{flag_of(option)} {value}" for option, value in option_defaults(name).items())
        if options:
            lines.append(f"Options of {name} with their defaults: {options}.")
        if hasattr(config_class, "position") and position_words(name):
            words = "; ".join(f"{flag_of(word)}, {what}" for word, what in position_words(name).items())
            lines.append(f"Words of a position of {name}, as options: {words}.")
        if named and hasattr(config_class, "more_help"):
            lines += config_class.more_help(name)
    return "\n\n".join(lines)


def numbered_lines(file: str) -> Iterator[tuple[int, str]]:
    """Returns the number and text of every line that is not blank; a file is read here, standard input (-) as it comes.

    Bytes that are no UTF-8 become characters that no text of ours has, so that only their line is refused.
    """
    lines: Iterable[str] = sys.stdin
    if file not in ("", "-"):
        lines = read_text(file, errors="surrogateescape").splitlines()
    elif isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="surrogateescape")
    texts = ((k, text_of(line).strip()) for k, line in enumerate(lines, start=1))
    return ((k, text) for k, text in texts if text)


def positions_of(lines: Iterable[tuple[int, str]], read: Callable[[str], State]) -> Iterator[tuple[str, State]]:
    """Yields the text and the position of each line.

    One that cannot be read answers for itself, with a JSON line of its `position` and `error`; after the others such lines are
    told of in the one line of a ValueError.
    """
    wrong = []
    for number, text in lines:
        try:
            state = read(text)
        except UserError as problem:
            wrong.append(f"line {number}: {' '.join(str(problem).split())}")
            print_json({"position": text, "error": wrong[-1]})
            continue
        yield text, state
    if wrong:
        raise UserError(wrong[0] + (f" (and {len(wrong) - 1:,} more)" if len(wrong) > 1 else ""))


def check_writable(file: str, flag: str, *, overwrite: bool = True) -> None:
    """Raises ValueError for a file, the value of `flag`, that cannot be written, or that is there and is to stay."""
    path = Path(os.path.realpath(file))
    if is_stream(Path(file)):
        unfit = path.is_dir() or not os.access(file, os.W_OK)
    elif not overwrite and path.is_file():
        raise UserError(f"expected a new file for {flag}, or --overwrite, got {file!r}, which is there")
    else:
        unfit = not path.parent.is_dir() or not os.access(path.parent, os.W_OK)
    if unfit:
        raise UserError(f"expected a file in a folder that can be written to for {flag}, got {file!r}")


def print_json(value: object) -> None:
    """Prints one line of JSON; infinity and nan become null."""
    tell_untold()
    print(json.dumps(finite(value), allow_nan=False), flush=True)


def finite(value: Any) -> Any:
    """Returns a value with every infinity and nan in it replaced by None, and dataclasses, arrays, tuples made plain."""
    if isinstance(value, dict):
        return {str(k): finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    return value
