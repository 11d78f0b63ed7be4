"""The requests of the JSON interface: address, fields with their limits, and the function that answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from leafwise.envs.core.errors import UserError

R = TypeVar("R", bound=Struct)

MAX_BYTES = 1 << 20
"""Maximum length of a request's body."""
MAX_SECONDS = 60.0
"""Maximum time for one position."""

ShortText = Annotated[str, Meta(max_length=200)]
LongText = Annotated[str, Meta(max_length=20_000)]
Seed = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Seconds = Annotated[float, Meta(gt=0, le=MAX_SECONDS)]
Options = Annotated[dict[ShortText, bool | int | float | LongText | None], Meta(max_length=32)]
Moves = Annotated[list[ShortText], Meta(max_length=50_000)]


@dataclass
class JobSpec:
    """An address of the interface and the function that answers it; decorates the class of its requests."""

    path: str
    work: str
    """MODULE.FUNCTION of `leafwise.web`: (request, `JobContext`) -> the answer, or an iterator of streamed answers."""
    seconds: float = 20.0
    """Time limit of an answer beyond the request's `seconds`, without loading."""
    streamed: bool = False
    """Whether there are several answers, sent as server-sent events."""
    quick_moves: int = -1
    """Number of moves up to which a process for rules answers, so that the request waits for no search; -1: never."""
    request: type[Struct] = Struct
    """Class of the requests."""

    def __call__(self, request: type[R]) -> type[R]:
        """Registers the class of the requests."""
        JOBS[self.path], self.request = self, request
        return request


JOBS: dict[str, JobSpec] = {}
"""Address -> its job, for GET with a query or POST with a JSON body."""


@JobSpec("/api/game", "games.tell_game", quick_moves=0)
class GameRequest(Struct, forbid_unknown_fields=True, kw_only=True):
    """A game in a variant."""

    game: ShortText
    options: Options = {}


@JobSpec("/api/state", "games.tell_state", seconds=60.0, quick_moves=60)
class StateRequest(GameRequest, kw_only=True):
    """A position: a text (default: the start), and steps from there, moves and outcomes of chance by name."""

    text: LongText = ""
    moves: Moves = []
    seed: Seed | None = None
    """Seed of the following chance; None leaves chance to the client."""
    svg: bool = False
    """Whether to send the game's own drawing."""


@JobSpec("/api/move", "analysis.move", seconds=45.0)
class MoveRequest(GameRequest, kw_only=True):
    """The move of a player."""

    text: LongText
    player: ShortText
    """One of those that `/api/game` lists."""
    seed: Seed = 0
    """Seed of a player that draws at random."""


@JobSpec("/api/analyse", "analysis.analyse", streamed=True)
@JobSpec("/api/follow-advice", "analysis.advise", streamed=True)
class AnalyseRequest(GameRequest, kw_only=True):
    """The values of a position as the search deepens; for a followed game every option in words, with notes."""

    text: LongText
    leaf: ShortText = "best"
    """One of those that `/api/game` lists."""
    seconds: Seconds = 5.0


@JobSpec("/api/solve", "analysis.solve", streamed=True)
class SolveRequest(GameRequest, kw_only=True):
    """The exact value of a position."""

    text: LongText
    seconds: Seconds = 10.0


@JobSpec("/api/prepare", "analysis.prepare")
class PrepareRequest(GameRequest, kw_only=True):
    """Loads the code of a search before it is needed."""

    leaf: ShortText = "best"


@JobSpec("/api/record", "games.write_record", seconds=60.0)
class RecordRequest(GameRequest, kw_only=True):
    """Writes a game as a file."""

    text: LongText = ""
    moves: Moves = []
    players: Annotated[list[ShortText], Meta(max_length=2)] = []
    seed: Seed | None = None


@JobSpec("/api/read", "games.read_file", seconds=60.0)
class FileRequest(Struct, forbid_unknown_fields=True, kw_only=True):
    """Reads the games of a file."""

    file: Annotated[str, Meta(max_length=MAX_BYTES)]


@JobSpec("/api/review", "analysis.review", streamed=True)
class ReviewRequest(FileRequest, kw_only=True):
    """The loss of each move of a file's game."""

    leaf: ShortText = "best"
    seconds: Annotated[float, Meta(gt=0, le=5.0)] = 0.2
    """For each position."""


@JobSpec("/api/follow", "analysis.follow", quick_moves=50_000)
class FollowRequest(GameRequest, kw_only=True):
    """A game that is played elsewhere, and what happens next in it."""

    text: LongText = ""
    """First position ("": the answer asks for it)."""
    moves: Moves = []
    line: Annotated[str, Meta(max_length=2000)] | None = None
    """A typed line."""
    best: ShortText = ""
    """The recommended action, which an empty line stands for."""
    undo: bool = False
    """Takes the last line back."""


@JobSpec("/api/runs", "runs.tell_runs")
class RunsRequest(Struct, forbid_unknown_fields=True):
    """The list of training runs."""


@JobSpec("/api/run", "runs.tell_run", seconds=60.0)
class RunRequest(Struct, forbid_unknown_fields=True):
    """A training run: options and curves."""

    name: ShortText


@JobSpec("/api/run-game", "runs.play_run", seconds=60.0)
class RunGameRequest(RunRequest):
    """A game that the network of a run plays."""

    seed: Seed = 0


@JobSpec("/api/ship-stages", "ships.tell_stages")
class StagesRequest(Struct, forbid_unknown_fields=True):
    """The ship that the generator makes of a seed, stage by stage."""

    preset: ShortText = "scout"
    seed: Seed = 0


@JobSpec("/api/ship", "ships.build")
@JobSpec("/api/ship-advice", "ships.advise")
class ShipRequest(StagesRequest):
    """An unfinished ship: on the hull of a seed, with parts at these places, like `8,9N`."""

    moves: Annotated[list[ShortText], Meta(max_length=300)] = []


def read(kind: type[R], body: bytes | Mapping[str, str]) -> R:
    """Decodes a JSON body, or a query in which lists and dicts are JSON; raises ValueError in one line."""
    where = ""
    try:
        if isinstance(body, bytes):
            return msgspec.json.decode(body, type=kind)
        plain: dict[str, Any] = dict(body)
        for name in {"options", "moves", "players"} & set(plain):
            where = f" in {name!r}"
            plain[name] = msgspec.json.decode(body[name].encode())
        return msgspec.convert(plain, kind, strict=False)
    except msgspec.ValidationError as problem:
        names = [one.name if one.required else f"[{one.name}]" for one in msgspec.structs.fields(kind)]
        raise UserError(f"expected a request like {', '.join(names)}: {problem}") from None
    except (msgspec.DecodeError, UnicodeError, RecursionError) as problem:
        raise UserError(f"expected JSON{where}, got none: {problem or type(problem).__name__}") from None
