"""What a command is, and what all commands share: options of a command and of its game, files, results as text or as JSON.

A command is a module of `leafwise.commands`: the first line of its docstring stands in `leafwise --help`, and its `main` is a
function of options that `command` makes of one command line.

@dataclass(frozen=True)
class Config:  # its docstring and those of its fields are the help
    game: tyro.conf.Positional[str]
    json: bool = False

@command(Config)
def main(config: Config, game: Game) -> Iterator[Report]:
    yield {"plies": 9}, ["9 plies"]
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import io
import json
import os
import re
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from leafwise.envs.core.commandline import flag_of, parse
from leafwise.envs.core.errors import UserError, perhaps
from leafwise.envs.core.fields import options_from_text
from leafwise.envs.core.files import is_stream, read_text, text_of
from leafwise.envs.core.interrupts import INTERRUPTED, silent_keys
from leafwise.envs.core.option_help import definitions, paragraphs
from leafwise.envs.core.ranges import check_fields
from leafwise.envs.registry import (
    check_name,
    games,
    option_defaults,
    option_types,
    option_words,
    position_words,
    unregistered,
)
from leafwise.envs.registry import game as find_game

if TYPE_CHECKING:
    from leafwise.envs.core.contract.game import Game
    from leafwise.envs.core.contract.state import State
    from leafwise.envs.core.play.gamefile import GameRecord

Report = str | tuple[dict[str, Any], Iterable[str]]
"""What a command tells: a line for people, or a result as `--json` prints it and its lines for people."""
OutputFile = Annotated[str, "is written"]
"""Type of an option that names a file to write: one that is there stays, but for --overwrite."""
HIDDEN = ("game_file", "variant")
"""Fields of a command that are no options: a game may have options of these names."""


class Interrupted(Exception):
    """Ends a command that Ctrl-C has cut short, after all that is known was told; says how to go on, "" for nothing."""


WithStatus = Generator[Report, None, int]
"""What a command yields that returns its exit status, where that may be another than 0."""
Reports = Iterator[Report] | WithStatus | None


def command(
    options: type | Callable[[Sequence[str]], tuple[Any, ...]], prog: str = ""
) -> Callable[[Callable[..., Reports]], Callable[[Sequence[str]], int]]:
    """Makes a function of options a command, which takes the words of a command line and returns the exit status.

    `options` is a dataclass. Where it has a field `game` without a default, the function takes that game as its second argument,
    in the variant that the game's own options among the words ask for. Or it is a function that makes the arguments of the words.
    What the command yields is printed: with `--json` results alone, each one line, otherwise text for people. `prog` is what help
    calls the command (default: after its module).
    """

    def decorate(work: Callable[..., Reports]) -> Callable[[Sequence[str]], int]:
        name = prog or f"leafwise {work.__module__.rpartition('.')[2]}"

        @functools.wraps(work)
        def main(words: Sequence[str]) -> int:
            config, *more = parsed(options, words, name) if isinstance(options, type) else options(words)
            as_json = getattr(config, "json", False) in (True, "-")
            try:
                reports = work(config, *more) or iter(())
                while True:
                    tell(next(reports), as_json)
            except StopIteration as end:
                return end.value or 0
            except Interrupted as how:
                if str(how):
                    print(f"interrupted; {how}", file=sys.stderr)
                return INTERRUPTED

        return main

    return decorate


def tell(report: Report, as_json: bool) -> None:
    """Prints what a command tells, as JSON or for people."""
    result, lines = (None, [report]) if isinstance(report, str) else report
    if not as_json:
        for line in lines:
            say(line)
    elif result is not None:
        print_json(result)


def parsed(config_class: type, words: Sequence[str], prog: str) -> tuple[Any, ...]:
    """Returns the options of a command, checked, and the game with which it begins, where it does with one.

    Options that `config_class` does not have are the game's, `--hint exact`, or words that are appended to the field `position`
    where there is one, `--next 1`. A field `game_file` is `--game FILE`, which stands for the game of that file; a field `variant`
    has the names of the game's options that are given. What else the class may have: `respelt(words)`, words in its own spelling;
    `defaults(words)`, the options that others change; `no_games`, words that may stand in place of a game; `more_help(game)`,
    a title and rows of its help. Its docstring is the help's beginning, and ends with examples that run.
    """
    fields = {field.name: field for field in dataclasses.fields(config_class)}
    words = getattr(config_class, "respelt", list)(words)
    file, words = game_file(words) if "game_file" in fields else ("", words)
    named = "game" in fields and fields["game"].default is dataclasses.MISSING
    named = named and words[:1] not in [[word] for word in getattr(config_class, "no_games", ())]
    own_words, options = split_options(config_class, words) if named else (words, {})
    default = config_class.defaults(own_words) if hasattr(config_class, "defaults") else None
    if not {"-h", "--help"}.isdisjoint(own_words):
        print_pending_notes()
        parse(
            config_class, ["--help"], prog, None, default, help_of_game(config_class, own_words) if named else ()
        )  # ends here
    if named and own_words and not own_words[0].startswith("-"):  # before tyro takes its time, if the game comes first
        check_options(own_words[0], options, config_class)
    config: Any = check_fields(parse(config_class, own_words, prog, default=default), shown=flag_of)
    keeps = not any(getattr(config, name, False) for name in ("overwrite", "resume", "assist"))
    for name, field in fields.items():
        if "OutputFile" in str(field.type) and getattr(config, name):
            check_writable(getattr(config, name), flag_of(name), overwrite=not keeps)
    if not named:
        return (config,)
    check_options(config.game, options, config_class)
    if "position" in fields:
        given = {word: options.pop(word) for word in position_words(config.game) if word in options}
        if given and not config.position:
            raise UserError(f"expected a position with {' and '.join(map(flag_of, given))}, got none")
        position = " ".join([config.position, *(f"{word}={text}" for word, text in given.items())])
        config = dataclasses.replace(config, position=position)
    hidden = zip(HIDDEN, (file, tuple(options)), strict=True)
    config = dataclasses.replace(config, **{name: value for name, value in hidden if name in fields})
    game = find_game(config.game, **options_from_text(option_types(config.game), options, flag_of))
    tell_rules(game)
    return config, game


_pending_notes: list[str] = []
"""What standard error is still to be told, once it is known that the input is not refused."""


def tell_rules(game: Game) -> None:
    """Has standard error told the rules of a variant without an id, before the command prints or works."""
    _pending_notes[:] = filter(None, [unregistered(game)])


def print_pending_notes() -> None:
    """Prints what standard error is still to be told."""
    while _pending_notes:
        print(_pending_notes.pop(0), file=sys.stderr, flush=True)


def say(text: str = "") -> None:
    """Prints a line for people, as it is: no markup, no wrapping."""
    print_pending_notes()
    print(text, flush=True)


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


def split_options(config_class: type, arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Splits arguments into the command's own and the others as name -> text.

    Every option that is no field of the class is the game's and takes one value, `--name value` or `--name=value`.
    """
    fields = {field.name for field in dataclasses.fields(config_class)} - {*HIDDEN} | {"help"}
    own_words: list[str] = []
    options: dict[str, str] = {}
    words = iter(arguments)
    for word in words:
        flag, equals, value = word.partition("=")
        name = flag[2:].replace("-", "_")
        if word == "--":
            own_words += [word, *words]
        elif re.match(
            r"-[^=]*[/\n]", word
        ):  # a board whose first cell is typed as a dash, which tyro takes for an option
            own_words.append(f" {word}")
        elif not flag.startswith("--") or name in fields or name.removeprefix("no_") in fields:
            own_words.append(word)
        else:
            given = value if equals else next(words, None)
            if given is None:
                raise UserError(f"expected a value after {flag}, got nothing")
            options[name] = given
    return own_words, options


def check_options(game: str, options: Iterable[str], config_class: type) -> None:
    """Raises ValueError for no game, and for options that are neither its own nor words of its position where there is one."""
    check_name(game)
    known = [*option_defaults(game), *(position_words(game) if hasattr(config_class, "position") else ())]
    here = option_flags(config_class)
    for name in options:
        if name not in known:
            others = ", ".join(map(flag_of, known)) or "none"
            near = perhaps(flag_of(name), [*here, *map(flag_of, known)])
            raise UserError(
                f"expected an option among {', '.join(here)} or {game}'s ({others}), got {flag_of(name)}{near}"
            )


def option_flags(config_class: type) -> list[str]:
    """Returns the options of a dataclass that are in its help, without positional arguments."""
    fields = dataclasses.fields(config_class)
    return [flag_of(field.name) for field in fields if not re.search("Positional|Suppress", str(field.type))]


def help_of_game(config_class: type, own_words: Sequence[str]) -> list[str]:
    """Returns what stands below a command's options: those of the game that is named, words of its position, and more."""
    name = next((word for word in own_words if word in games()), "")
    if not name:
        return [
            paragraphs(f"With a game before it, --help shows that game's own options too. Games: {', '.join(games())}.")
        ]
    words = option_words(name)
    rows = {f"{flag_of(option)} {shown(value)}": words[option] for option, value in option_defaults(name).items()}
    parts = list(definitions(f"Options of {name}, with their defaults:", rows))
    if hasattr(config_class, "position"):
        rows = {flag_of(word): what for word, what in position_words(name).items()}
        parts += definitions(f"Words of a position of {name}, as options:", rows)
    if hasattr(config_class, "more_help"):
        parts += definitions(*config_class.more_help(name))
    return parts


def shown(value: Any) -> str:
    """Returns the value of a game's option as it is typed."""
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value) or "''"


def input_lines(file: str, given: bool) -> Iterator[tuple[int, str]] | None:
    """Returns the number and text of every line that is not blank; a file is read here, standard input ("" and -) as it comes.

    None means one position, the start if none is `given`: so it is at a terminal and where standard input holds nothing. Bytes that
    are no UTF-8 become characters that no text of ours has, so that only their line is refused.
    """
    if given or (not file and sys.stdin.isatty()):
        return None
    lines: Iterable[str] = sys.stdin
    if file not in ("", "-"):
        lines = read_text(file, errors="surrogateescape").splitlines()
    elif isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="surrogateescape")
    texts = ((k, text_of(line).strip()) for k, line in enumerate(lines, start=1))
    full = ((k, text) for k, text in texts if text)
    first = next(full, None)
    return chain([first], full) if first else full if file else None


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


def folder_of(package: str) -> Path:
    """Returns the folder of a package of leafwise, found without importing what is in it."""
    folders: Any = getattr(find_spec(f"leafwise.{package}"), "submodule_search_locations", None)
    return Path(next(iter(folders)))


def check_writable(file: str, flag: str, *, overwrite: bool = True) -> None:
    """Raises ValueError for a file, the value of `flag`, that cannot be written, or that is there and is to stay."""
    path = Path(os.path.realpath(file))
    if is_stream(Path(file)):
        refused = path.is_dir() or not os.access(file, os.W_OK)
    elif not overwrite and path.is_file():
        raise UserError(f"expected a new file for {flag}, or --overwrite, got {file!r}, which exists")
    else:
        refused = not path.parent.is_dir() or not os.access(path.parent, os.W_OK)
    if refused:
        raise UserError(f"expected a file in a writable folder for {flag}, got {file!r}")


def print_json(value: object) -> None:
    """Prints one line of JSON; infinity and nan become null."""
    print_pending_notes()
    text = json.dumps(value, default=lambda number: number.item())  # those of NumPy
    print(json.dumps(json.loads(text, parse_constant=lambda name: None)), flush=True)


REPORT = 60.0
"""Seconds between lines of progress where standard error is no terminal."""


@contextlib.contextmanager
def progress_bar(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yields a function that is told how many games are done, and draws a bar on standard error if it is a terminal.

    Elsewhere it prints a line now and then.
    """
    print_pending_notes()
    if not sys.stderr.isatty():
        printed = time.monotonic()

        def print_now_and_then(done: int) -> None:
            nonlocal printed
            if time.monotonic() - printed > REPORT:
                printed = time.monotonic()
                print(f"{done:,} of {total:,} games", file=sys.stderr, flush=True)

        yield print_now_and_then
        return
    from rich.console import Console

    from leafwise.training.runs.loop import run_progress

    with silent_keys(), run_progress(Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total, told="")
        yield lambda done: bar.update(task, completed=done, told=f"{done:,} of {total:,}")
