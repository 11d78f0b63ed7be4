"""Runs any player as a program for others: JSON lines on standard input and output (docs/howto/programs.md)."""

from __future__ import annotations

import json
import math
import os
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import tyro

from leafwise import __version__
from leafwise.cli import command
from leafwise.envs.core.errors import UserError, short
from leafwise.envs.core.programs import LIMITS, LONGEST_MESSAGE, PROTOCOL
from leafwise.envs.core.ranges import Range, need_among, need_in
from leafwise.envs.registry import game as find_game

if TYPE_CHECKING:
    from leafwise.envs.core.contract.game import Game
    from leafwise.envs.core.contract.state import State

REQUESTS = ("hello", "new", "position", "go", "stop", "quit")
SEEDS = Range(0, 2**63 - 1)
BEST = "best"
TREE = {"nodes": "simulations", "seconds": "seconds"}
DEEP = {"depth": "depth", "nodes": "nodes", "seconds": "seconds"}
"""Limit of `go` -> option of a tree search, or of a search by depth."""


@dataclass(frozen=True)
class Config:
    """Speaks the protocol of docs/howto/programs.md on standard input and output, so that other programs can use a player.

    The limits of a `go` (seconds, depth, nodes) apply to players that search, besides their own limits.

    Examples:
      leafwise engine best
    """

    player: tyro.conf.Positional[str] = "best"
    """The player: best, search:LEAF,depth=2, mcts:LEAF, level:easy, solver, ..."""
    seed: Annotated[int, SEEDS] = 0
    """Seed of a player that draws at random, if the game has none."""


class ProtocolServer:
    """Answers the lines of a referee; the player runs in its own thread, so that its search can be stopped."""

    def __init__(self, config: Config, answers: BinaryIO) -> None:
        self.config, self.answers, self.seed = config, answers, config.seed
        self.game: Game | None = None
        self.state: State | None = None
        self.who: Any = None
        self.made = ""
        """The text of the player."""
        self.thread: threading.Thread | None = None

    def hear(self, line: bytes) -> bool:
        """Carries out a line; returns whether to read on."""
        try:
            if len(line) > LONGEST_MESSAGE:
                raise UserError(f"expected a line of at most {LONGEST_MESSAGE:,} bytes, got a longer one")
            try:
                request = json.loads(line)
            except (ValueError, RecursionError):
                request = None
            if not isinstance(request, dict):
                raise UserError(f"expected a line with a JSON object, got {line.strip()[:80]!r}")
            if (what := request.get("ask")) is None:
                raise UserError(f"expected ask among {', '.join(REQUESTS)}, got none")
            need_among(what, REQUESTS, "ask")
            if what in ("stop", "quit"):
                self.stop()
            else:
                self.wait()
                getattr(self, what)(request)
            return what != "quit"
        except UserError as problem:
            self.say(error=str(problem))
            return True

    def say(self, **answer: Any) -> None:
        """Writes a line."""
        self.answers.write(json.dumps(answer).encode() + b"\n")
        self.answers.flush()

    def hello(self, request: Mapping[str, Any]) -> None:
        """Answers with protocol, name and limits."""
        if request.get("protocol") != PROTOCOL:
            raise UserError(f"expected version {PROTOCOL} of the protocol, got {short(repr(request.get('protocol')))}")
        kind = self.config.player.partition(":")[0]
        limits = list(DEEP if kind in ("search", BEST) else TREE if kind == "mcts" else ())
        self.say(ready=PROTOCOL, name=f"leafwise {__version__}, {self.config.player}", limits=limits, stop=bool(limits))

    def new(self, request: Mapping[str, Any]) -> None:
        """Begins a game: makes the player, and loads its code."""
        from leafwise.search.players import load_code, search_of

        name, options, seed = request.get("game"), request.get("options", {}), request.get("seed", self.config.seed)
        if not isinstance(name, str) or not isinstance(options, dict):
            raise UserError(f"expected the name of a game and its options, got {short(repr((name, options)))}")
        self.seed = need_in(seed, SEEDS, "a seed", kind=int)
        self.game, self.state, self.made = find_game(name).variant(**options), None, ""
        self.make({})
        if not (start := self.game.new(0)).is_terminal:
            load_code(search_of(self.who) or self.who, start)  # a search is stopped after a short time
        self.made = ""  # so that the random numbers of this move do not count
        self.make({})
        self.say(ready=PROTOCOL)

    def make(self, limits: Mapping[str, float]) -> None:
        """Makes the player with these limits, or reuses it; only its seconds can change."""
        from leafwise.models.players import player
        from leafwise.search.players import search_of

        assert self.game is not None
        text, seconds = limited(self.config.player, limits, self.game)
        full = text if seconds is None else joined(text, f"seconds={seconds!r}")
        made = text if seconds is None else joined(text, "seconds=")
        if made != self.made:
            self.who, self.made = player(full, self.game, self.seed), made
        elif seconds is not None:
            search_of(self.who).seconds = seconds

    def position(self, request: Mapping[str, Any]) -> None:
        """Sets the position."""
        if self.game is None:
            raise UserError("expected a game before its positions, got none: ask new first")
        self.state = None
        self.state = self.game.parse(str(request.get("state")))

    def go(self, request: Mapping[str, Any]) -> None:
        """Starts the choice of a move."""
        state = self.state
        if state is None or state.is_terminal or state.is_chance:
            raise UserError(f"expected a decision, got {'none' if state is None else str(state)!r}")
        self.make({name: need_in(request[name], LIMITS[name], name) for name in DEEP if request.get(name) is not None})
        self.thread = threading.Thread(target=self.think, args=(state,), daemon=True)
        self.thread.start()

    def think(self, state: State) -> None:
        """Answers with a move; a search that is stopped too early searches one decision deep."""
        from leafwise.search import Search, Stopped

        try:
            try:
                action = self.who.choose(state)
            except Stopped:
                result = Search(state.game, self.who.search.evaluator, depth=1)(state)
                assert result.action is not None
                action = result.action
            if (last := getattr(self.who, "result", None)) is not None:
                self.say(info={"depth": last.depth, "nodes": last.nodes, "value": last.value, "seconds": last.seconds})
            self.say(move=state.game.actions[action])
        except ValueError as problem:
            self.say(error=short(" ".join(str(problem).split()), 300))
        except BrokenPipeError:
            os._exit(1)

    def stop(self) -> None:
        """Stops the running search, which then answers."""
        from leafwise.search.players import search_of

        search = search_of(self.who)
        while self.thread is not None and self.thread.is_alive():
            if search is not None:
                search.stop()  # repeatedly: a search that has not begun yet misses the first call
            self.thread.join(0.02)

    def wait(self) -> None:
        """Waits until the last request is answered."""
        if self.thread is not None:
            self.thread.join()


def joined(text: str, option: str) -> str:
    """Adds an option to a player's text."""
    return f"{text}{',' if ':' in text else ':'}{option}"


def limited(text: str, limits: Mapping[str, float], game: Game) -> tuple[str, float | None]:
    """Returns a player's text with the limits of a `go` that it knows, and the seconds; its own limits stay."""
    from leafwise.envs.core.play.players import split

    kind, _, rest = text.partition(":")
    if kind not in ("search", "mcts", BEST):
        return text, None
    given = dict(word.partition("=")[::2] for word in split(rest))
    tree = kind == "mcts" or (kind == BEST and game.search.best == "mcts" and "depth" not in given)
    names = {name: called for name, called in (TREE if tree else DEEP).items() if name in limits}
    least = {called: min(limits[name], float(given.get(called, math.inf))) for name, called in names.items()}
    seconds = least.pop("seconds", None)
    for name, value in least.items():
        text = joined(text, f"{name}={int(value)}")
    return text, seconds


@command(Config)
def main(config: Config) -> None:
    """Runs the command."""
    from leafwise.models.players import check_kind

    check_kind(config.player)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # other output is not an answer
    engine = ProtocolServer(config, answers)
    lines = sys.stdin.buffer
    while (line := lines.readline(LONGEST_MESSAGE + 1)) and engine.hear(line):
        while len(line) > LONGEST_MESSAGE and not line.endswith(b"\n"):
            line = lines.readline(LONGEST_MESSAGE)
    engine.stop()
