"""What may be asked of the JSON interface: the fields of each request, their types and limits, checked before any work begins."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from leafwise.envs.core.errors import UserError

A = TypeVar("A", bound=Struct)

MOST_BYTES = 1 << 20
"""Longest body of a request."""
MOST_SECONDS = 60.0
"""Longest search of one position."""

Word = Annotated[str, Meta(max_length=200)]
Line = Annotated[str, Meta(max_length=20_000)]
Seed = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Seconds = Annotated[float, Meta(gt=0, le=MOST_SECONDS)]
Options = Annotated[dict[Word, bool | int | float | Line | None], Meta(max_length=32)]
Moves = Annotated[list[Word], Meta(max_length=50_000)]


class GameAsk(Struct, forbid_unknown_fields=True, kw_only=True):
    """A game in a variant."""

    game: Word
    options: Options = {}


class StateAsk(GameAsk, kw_only=True):
    """A position: a text (default: the very start), and steps from there, moves and acts of chance by name."""

    text: Line = ""
    moves: Moves = []
    seed: Seed | None = None
    """Draws the chance that follows from this number; None leaves chance to be told."""
    svg: bool = False
    """Whether the game's own drawing is wanted."""


class MoveAsk(GameAsk, kw_only=True):
    """What a player would do."""

    text: Line
    player: Word
    """One of those that `/api/game` lists."""
    seed: Seed = 0
    """What a player that draws draws from."""


class AnalyseAsk(GameAsk, kw_only=True):
    """The values of a position, told as the search deepens."""

    text: Line
    leaf: Word = "best"
    """One of those that `/api/game` lists."""
    seconds: Seconds = 5.0


class SolveAsk(GameAsk, kw_only=True):
    """The exact value of a position."""

    text: Line
    seconds: Seconds = 10.0


class PrepareAsk(GameAsk, kw_only=True):
    """Loads the code of a search before it is needed."""

    leaf: Word = "best"


class RecordAsk(GameAsk, kw_only=True):
    """Writes a game as a file."""

    text: Line = ""
    moves: Moves = []
    players: Annotated[list[Word], Meta(max_length=2)] = []
    seed: Seed | None = None


class FileAsk(Struct, forbid_unknown_fields=True, kw_only=True):
    """Reads the games of a file."""

    file: Annotated[str, Meta(max_length=MOST_BYTES)]


class ReviewAsk(FileAsk, kw_only=True):
    """What each move of a file's game gave away."""

    leaf: Word = "best"
    seconds: Annotated[float, Meta(gt=0, le=5.0)] = 0.2
    """For each position."""


class FollowAsk(GameAsk):
    """A game that is followed at a table, and what happens next in it."""

    text: Line = ""
    """Where it begins ("": that is asked for)."""
    moves: Moves = []
    line: Annotated[str, Meta(max_length=2000)] | None = None
    """What a person types."""
    best: Word = ""
    """The action that was recommended, which an empty line stands for."""
    undo: bool = False
    """Takes the last line back."""


class AdviceAsk(AnalyseAsk):
    """What every option of a decision is worth, and what helps besides."""


class RunsAsk(Struct, forbid_unknown_fields=True):
    """The training runs that may be shown."""


class RunAsk(Struct, forbid_unknown_fields=True):
    """A training run: options and curves."""

    name: Word


class RunGameAsk(RunAsk):
    """A game that the network of a run plays."""

    seed: Seed = 0


class StagesAsk(Struct, forbid_unknown_fields=True):
    """The ship that the generator makes of a seed, stage by stage."""

    preset: Word = "scout"
    seed: Seed = 0


class ShipAsk(StagesAsk):
    """A ship that is being built: on the hull of a seed, with these places taken, like `8,9N`."""

    moves: Annotated[list[Word], Meta(max_length=300)] = []


def read(kind: type[A], body: bytes) -> A:
    """Returns what a body of JSON asks; raises ValueError in one line for anything else."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as problem:
        raise UserError(f"expected a request like {example(kind)}: {problem}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise UserError(f"expected JSON, got none: {problem or type(problem).__name__}") from None


def read_query(kind: type[A], query: dict[str, str]) -> A:
    """Returns what the query of an address asks: lists and dicts are JSON there; raises ValueError in one line."""
    plain: dict[str, Any] = dict(query)
    try:
        for name in ("options", "moves", "players"):
            if name in plain:
                plain[name] = msgspec.json.decode(plain[name].encode())
        return msgspec.convert(plain, kind, strict=False)
    except msgspec.ValidationError as problem:
        raise UserError(f"expected a request like {example(kind)}: {problem}") from None
    except (msgspec.DecodeError, UnicodeError, RecursionError) as problem:
        raise UserError(f"expected JSON in {name!r}, got none: {problem or type(problem).__name__}") from None


def example(kind: type[Struct]) -> str:
    """Returns the names of a request's fields, those that may be left out in brackets."""
    fields = msgspec.structs.fields(kind)
    return ", ".join(field.name if field.required else f"[{field.name}]" for field in fields)
