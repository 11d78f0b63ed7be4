"""The frame of a command: its options and those of its game, files, results as text or as JSON.

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
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
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
"""Output of a command: a line of text, or a result for `--json` and its lines of text."""
OutputFile = Annotated[str, "is written"]
"""Type of an option that names a file to write. An existing file is kept unless --overwrite is given."""
OutputPath = Annotated[Path | None, "is written"]
"""An `OutputFile` as a path; None: no file."""
HIDDEN = ("game_file", "variant")
"""Fields of a command that are not options: a game may have options with these names."""


class Interrupted(Exception):
    """Ends a command after Ctrl-C, once its results so far are printed. The message says how to continue ("": nothing)."""


WithStatus = Generator[Report, None, int]
"""Reports of a command that also returns its exit status."""
Reports = Iterator[Report] | WithStatus | None


def command(
    options: type | Callable[[Sequence[str]], tuple[Any, ...]], prog: str = ""
) -> Callable[[Callable[..., Reports]], Callable[[Sequence[str]], int]]:
    """Turns a function of options into a command: words of a command line -> exit status.

    `options` is a dataclass, or a function from the words to the arguments. If the dataclass has a field `game` without a default,
    the function gets that game as its second argument, in the variant that the words ask for. The command's reports are printed:
    with `--json` only the results, one a line, otherwise the text. `prog` is the command's name in help (default: its module's).
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
    """Prints a report, as JSON or as text."""
    result, lines = (None, [report]) if isinstance(report, str) else report
    if not as_json:
        for line in lines:
            say(line)
    elif result is not None:
        print_json(result)


def parsed(config_class: type, words: Sequence[str], prog: str) -> tuple[Any, ...]:
    """Returns the checked options of a command, and its game if it takes one.

    Options that `config_class` does not have belong to the game, as `--hint exact`, or to the field `position`, as `--next 1`. A
    field `game_file` holds the file of `--game FILE`, which stands for the game of that file. A field `variant` gets the names of
    the game's options that were given. The class may also have these: `respelt(words)`, words in its own spelling;
    `defaults(words)`, the options that the others change; `no_games`, words that may replace the game; `more_help(game)`, a title
    and rows of its help. Help begins with the docstring, which ends with examples that run.
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
    outputs = {
        flag_of(name): str(getattr(config, name))
        for name, field in fields.items()
        if re.search("Output(File|Path)", str(field.type)) and getattr(config, name)
    }
    for flag, output in outputs.items():
        check_writable(output, flag, overwrite=not keeps)
    check_different(outputs)
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
"""Lines for standard error that wait until the input is accepted."""


def tell_rules(game: Game) -> None:
    """Notes the rules of a variant without an id; they go to standard error before the command prints."""
    _pending_notes[:] = filter(None, [unregistered(game)])


def print_pending_notes() -> None:
    """Prints the notes that wait for standard error."""
    while _pending_notes:
        print(_pending_notes.pop(0), file=sys.stderr, flush=True)


def say(text: str = "") -> None:
    """Prints a line of text as it is: no markup, no wrapping."""
    print_pending_notes()
    print(text, flush=True)


def game_file(arguments: Sequence[str]) -> tuple[str, list[str]]:
    """Returns the value of `--game FILE` ("" without it) and the other arguments, with the name of the file's game in front."""
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
    """Reads the games of a file. Raises ValueError if one is of another game, or if options are given that the file sets."""
    from leafwise.envs.core.play.gamefile import read_games

    records = list(read_games(read_text(file), file))
    for record in records:
        if record.game.name != game.name:
            raise UserError(f"expected games of {game.name} in {file!r}, got one of {record.game.name}")
    if game.given_options:
        raise UserError(f"expected no options of {game.name} with --game, whose file sets them, got {game!r}")
    return records


def split_options(config_class: type, arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Splits arguments into the command's own and the game's options as name -> text.

    Every option that is not a field of the class belongs to the game. It takes one value, `--name value` or `--name=value`.
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
    """Raises ValueError for an unknown game, and for options that are neither its own nor words of its position."""
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
    """Returns the options of a dataclass that its help lists, without positional arguments."""
    fields = dataclasses.fields(config_class)
    return [flag_of(field.name) for field in fields if not re.search("Positional|Suppress", str(field.type))]


def help_of_game(config_class: type, own_words: Sequence[str]) -> list[str]:
    """Returns the help below a command's options: the game's options, words of its position, and more."""
    name = next((word for word in own_words if word in games()), "")
    if not name:
        return [
            paragraphs(
                f"After the name of a game, --help shows that game's own options too. Games: {', '.join(games())}."
            )
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
    """Returns the value of a game's option as a person types it."""
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value) or "''"


def input_lines(file: str, given: bool) -> Iterator[tuple[int, str]] | None:
    """Returns the number and text of every non-blank line. A file is read at once, standard input ("" and -) line by line.

    None means a single position, the start if none is `given`. This holds at a terminal and for empty standard input. Bytes that
    are not UTF-8 become characters that no position has, so that only their line is refused.
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

    A line that cannot be read gives a JSON line with its `position` and `error`. At the end a ValueError names the first of them.
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
    """Returns the folder of a package of leafwise without importing it."""
    folders: Any = getattr(find_spec(f"leafwise.{package}"), "submodule_search_locations", None)
    return Path(next(iter(folders)))


def check_writable(file: str, flag: str, *, overwrite: bool = True) -> None:
    """Raises ValueError if the file of an option cannot be written, or exists and must be kept."""
    path = Path(os.path.realpath(file))
    if is_stream(Path(file)):
        refused = path.is_dir() or not os.access(file, os.W_OK)
    elif not overwrite and path.is_file():
        raise UserError(f"expected a new file for {flag}, or --overwrite, got {file!r}, which exists")
    else:
        refused = not path.parent.is_dir() or not os.access(path.parent, os.W_OK)
    if refused:
        raise UserError(f"expected a file in a writable folder for {flag}, got {file!r}")


def check_different(files: Mapping[str, str]) -> None:
    """Raises ValueError if two options, flag -> file, name one file, of which only the last would be left."""
    flags: dict[str, str] = {}
    for flag, file in files.items():
        other = flags.setdefault(os.path.realpath(file), flag)
        if file and other != flag and not is_stream(Path(file)):
            raise UserError(f"expected different files for {other} and {flag}, got {file!r} for both")


def print_json(value: object) -> None:
    """Prints one line of JSON; infinity and nan become null."""
    print_pending_notes()
    text = json.dumps(value, default=lambda number: number.item())  # those of NumPy
    print(json.dumps(json.loads(text, parse_constant=lambda name: None)), flush=True)


REPORT = 60.0
"""Seconds between lines of progress where standard error is no terminal."""


@contextlib.contextmanager
def progress_bar(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yields a function that takes the number of finished games and draws a bar on standard error, if that is a terminal.

    Elsewhere it prints a line from time to time.
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
        task = bar.add_task(what, total=total, status="")
        yield lambda done: bar.update(task, completed=done, status=f"{done:,} of {total:,}")
