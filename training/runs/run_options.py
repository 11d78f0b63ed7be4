"""Options of training runs, on the command line and in files."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_type_hints

import msgspec
import tyro

from leafwise.envs.core.commandline import flag_of, parse
from leafwise.envs.core.errors import UserError, short
from leafwise.envs.core.fields import options_from_text, types_of, with_files_read
from leafwise.envs.core.ranges import Range
from leafwise.envs.registry import game as find_game
from leafwise.envs.registry import games
from leafwise.training.runs import SELECTION_SEED
from leafwise.training.runs.files import CONFIG, read_table, resumed_file

if TYPE_CHECKING:
    from leafwise.envs.core.contract.game import Game
    from leafwise.training.types import Json

NOT_OPTIONS = ("run", "resume", "processes", "cluster")
"""Options that say where a run is stored and computed; they do not change its result."""

TotalSteps = Annotated[int, Range(1, 1e13)]
Every = Annotated[int, Range(1, 1e9)]
"""Number of steps between two events."""
Count = Annotated[int, Range(1, 1e6)]
BufferSize = Annotated[int, Range(100, 1e8)]
Positions = Annotated[int, Range(0, 1e8)]
Limit = Annotated[int, Range(0, 1e9)]
"""A maximum; 0 means no limit, or none."""
Plies = Annotated[int, Range(0, 200)]
Depth = Annotated[int, Range(1, 8)]
Rate = Annotated[float, Range(1e-9, 1)]
"""A learning rate."""


@dataclass(frozen=True)
class RunOptions:
    """Options of every run."""

    most_used: ClassVar[tuple[str, ...]] = ("total_steps", "run", "seed")
    empty_means: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Values that older runs wrote for options that are now empty."""
    game: Annotated[str, tyro.conf.Suppress]
    """Game to learn; the first word of the command."""
    variant: str = ""
    """Options of the game, for example board=7x6,k=4."""
    run: str = ""
    """Run folder (default: runs/GAME-METHOD-SEED)."""
    seed: Annotated[int, Range(0, SELECTION_SEED - 1)] = 1
    """Seed of the run's random numbers, below 900,000."""
    checkpoint_seconds: Annotated[float, Range(0, 1e9)] = 30.0
    """Minimum time between two checkpoints, in seconds."""
    resume: bool = False
    """Continue the run in the folder --run. It keeps its options; a larger --total-steps extends it."""


def take_option(words: Sequence[str], flag: str) -> tuple[str | None, list[str]]:
    """Removes an option from a command line; returns its value (None if it is not given) and the other words.

    Raises ValueError for an option without a value.
    """
    for k, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name == flag:
            if not equals and k + 1 == len(words):
                raise UserError(f"expected a value after {flag}, got nothing")
            end = k + 1 if equals else k + 2
            return value if equals else words[k + 1], [*words[:k], *words[end:]]
    return None, list(words)


def variant_options(game: Game, variant: str) -> Json:
    """Parses the options of a variant such as `board=7x6,k=4`; raises ValueError for options the game does not have."""
    texts: dict[str, str] = {}
    for word in filter(None, re.split(r",(?=\w+=|$)", variant)):  # other commas are part of a value
        option, equals, text = word.partition("=")
        if not equals or option not in game.defaults:
            known = ", ".join(f"{name}={value}" for name, value in game.defaults.items()) or "none"
            raise UserError(f"expected --variant with options of {game.name} like {known}, got {word!r}")
        texts[option] = text
    return options_from_text(types_of(game.options), texts, lambda name: f"{name} in --variant")


def variant_with_files_read(game: Game, variant: str) -> str:
    """Returns a `--variant` with the contents of the files that its options name, so that a run does not depend on the files.

    Raises ValueError for options the game does not have and for files that cannot be read.
    """
    given = variant_options(game, variant)
    contents = with_files_read(game.name, game.options, given)
    if contents == given:
        return variant
    return variant_text(game.variant(**contents))


def variant_text(game: Game) -> str:
    """Returns the options of a game that differ from its defaults as a `--variant`."""
    return ",".join(f"{name}={option_text(value)}" for name, value in game.given_options.items())


def option_text(value: Any) -> str:
    """Returns the value of a game's option as text for a command line."""
    return value if isinstance(value, str) else "none" if value is None else json.dumps(value)


def described(config: Any) -> Json:
    """Returns the options as a file has them: lists for tuples, without options that are None."""
    kept = {name: value for name, value in dataclasses.asdict(config).items() if name not in NOT_OPTIONS}
    return {name: list(v) if isinstance(v, tuple) else v for name, v in kept.items() if v is not None}


def to_toml(options: Json) -> str:
    """Returns the options of `described` as TOML."""
    return "".join(f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in options.items())


def read_options(path: Path, config_class: type) -> Json:
    """Reads the options in a file; raises ValueError with the file's name for unknown options and wrong values."""
    types, options = get_type_hints(config_class), {}
    for name, value in read_table(path).items():
        if name not in types or name in NOT_OPTIONS:
            raise UserError(f"expected options of {config_class.__module__} in {str(path)!r}, got {short(repr(name))}")
        try:
            options[name] = msgspec.convert(value, types[name])
        except msgspec.ValidationError as problem:
            reason = short(str(problem).replace("`", ""))
            raise UserError(f"{str(path)!r}, {name}: {reason[:1].lower()}{reason[1:]}") from None
    return options


def file_of(words: Sequence[str]) -> Path | None:
    """Returns the options file of a command line: that of `--config`, or with `--resume` that of the run's folder.

    Raises ValueError without a run to resume.
    """
    given, folder = (take_option(words, flag)[0] for flag in ("--config", "--run"))
    if given is not None:
        return Path(given)
    return resumed_file(Path(folder)) if folder and "--resume" in words else None


def code_in(value: Any, game: str) -> list[str]:
    """Returns an option's words if it names a player or leaf that runs code (`leafwise.models.players.runs_code`), else []."""
    from leafwise.models.players import runs_code

    words = [word for word in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(word, str)]
    return words if any(runs_code(word, find_game(game)) for word in words) else []


def refuse_code(config: Any, path: Path, words: Sequence[str]) -> None:
    """Raises ValueError for an option from a file that runs code, because the file may be anybody's.

    Options on the command line `words` are the user's own.
    """
    given = {word.partition("=")[0].replace("_", "-") for word in words}
    for name, value in described(config).items():
        if flag_of(name) not in given and (code := code_in(value, config.game)):
            raise UserError(
                f"expected {flag_of(name)} on the command line, because it names code to run, got it from {str(path)!r} "
                f"alone; if you trust it, add {shlex.join([flag_of(name), *code])}"
            )


def parse_options(
    config_class: type, words: Sequence[str], prog: str, more_help: Sequence[str] = (), other_flags: Sequence[str] = ()
) -> tuple[Any, Path | None]:
    """Parses a method's options; returns them and the options file, if any. `more_help` and `other_flags` are as in `parse`.

    The command line takes precedence over the file. Raises ValueError for a file with unknown options, wrong values or options that
    run code; wrong words end the program as in `parse`.
    """
    path, words = file_of(words), take_option(words, "--config")[1]
    game, words = take_option(words, "--game")
    if path is not None and "--resume" in words and game is not None:
        before = read_table(path).get("game", game)
        if before != game:
            raise UserError(f"resume: expected a run of {game!r}, got one of {before!r} in {str(path)!r}")
    kept = read_options(path, config_class) if path is not None else {}
    if "network" not in types_of(config_class) and (network := take_option(words, "--network")[0]) is not None:
        method = config_class.__module__.rpartition(".")[2].replace("_", "-")
        raise UserError(f"expected no --network with {method}, which trains no torch modules, got {network!r}")
    game = kept.get("game", "") if game is None else game
    if not game:
        raise UserError("expected --game, got nothing")
    variant, words = take_option(words, "--variant")
    if variant is not None:
        words = [*words, "--variant", variant_with_files_read(find_game(game), variant) if game in games() else variant]
    about = str(sys.modules[config_class.__module__].__doc__).partition("\n")[0]
    text = (
        f"{about}\n\n--config FILE reads options from a file like a run's {CONFIG}; the command line takes precedence."
    )
    config = parse(config_class, words, prog, text, config_class(**{**kept, "game": game}), more_help, other_flags)
    if path is not None:
        refuse_code(config, path, words)
    return config, path
