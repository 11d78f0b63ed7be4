"""Reads and writes whole games as text: moves and outcomes by name, and how the game ended.

    [Game "trap"]
    [Options {"size": 5}]
    [Seed 7]
    [Players ["human", "search:best,depth=2"]]
    [Result 1.0]
    ; words about the start
    1. SE > 1,2
    2. NW
    3. 0,4 > unchanged ; words about this move

A file holds games one after another; blank lines have no meaning. A game is its tags, then its lines of moves:

    game    = tag+ line*
    tag     = "[" NAME value "]"               value: JSON; the first tag is Game
    line    = [number "." move] outcome* [";" comment] | ";" comment
    outcome = ">" name                         chance, one stage after another; before the first move on a separate line
    name    = characters but blanks ; " > [ ]  | a JSON string

`Options` are those that differ from the game's defaults, and `Start` is the first position (default: the very start). `Seed` is
only information: outcomes are written down, so a game replays without random numbers. Moves are numbered from 1 on. `Result` is
the return of the first player, or `"*"` for an unfinished game. If the game did not end on the board, `Termination` says how.
An outcome without a name is `#k`, the k-th of its stage, from 0 on.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from leafwise.envs.core.arrays import Words
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.contract.texts import need
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.files import read_text, text_of
from leafwise.envs.core.play.by_name import outcome
from leafwise.envs.core.play.players import play_out

TAGS: dict[str, type | tuple[type, ...]] = {
    "Game": str,
    "Options": dict,
    "Seed": int,
    "Start": str,
    "Players": list,
    "Result": (int, float, str),
    "Termination": str,
}
UNFINISHED = "*"
"""The result of an unfinished game."""
BARE = re.compile(r'[^\s;">\[\]]+')
TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|;.*|>|[^\s;">\[\]]+)')
NUMBER = re.compile(r"([0-9]+)\.")


@dataclass(frozen=True)
class Step:
    """A move, or one outcome of chance."""

    before: State
    after: State
    action: int | None
    """Id of the action; None if chance acted."""
    comment: str = ""

    @property
    def name(self) -> str:
        """The name of the action or the outcome."""
        game = self.before.game
        if self.action is not None:
            return game.actions[self.action]
        name = self.before.outcome_name(self.after)
        return name or f"#{[after for _, after in self.before.outcomes()].index(self.after)}"


@dataclass(frozen=True)
class GameRecord:
    """A game that was played: `str(record)` is its text, `read_games` reads it back."""

    start: State
    steps: tuple[Step, ...] = ()
    players: tuple[str, ...] = ()
    """The players, by seat; () if they are unknown."""
    seed: int | None = None
    """The seed of chance, if it is known."""
    termination: str = ""
    """How the game ended, if not on the board."""
    forfeited: float | None = None
    """The return of the first player, if the game did not end on the board."""
    comment: str = ""
    """A comment about the start."""

    @property
    def game(self) -> Game:
        """The game, in its variant."""
        return self.start.game

    @property
    def states(self) -> tuple[State, ...]:
        """Every position, with chance stages, from the start to the last."""
        return (self.start, *(step.after for step in self.steps))

    @property
    def moves(self) -> tuple[Step, ...]:
        """The steps at which a player decided."""
        return tuple(step for step in self.steps if step.action is not None)

    @property
    def result(self) -> float | None:
        """Return of the first player; None for an unfinished game."""
        last = self.states[-1]
        return last.returns if last.is_terminal else self.forfeited

    def __str__(self) -> str:
        return "\n".join([*self._tags(), *self._lines(), ""])

    def _tags(self) -> Iterator[str]:
        tags: dict[str, Any] = {"Game": self.game.name, "Options": dict(self.game.given_options)}
        tags |= {"Seed": self.seed, "Start": None if self.start == self.game.start() else str(self.start)}
        tags |= {"Players": list(self.players), "Result": UNFINISHED if self.result is None else self.result}
        tags |= {"Termination": self.termination}
        for name, value in tags.items():
            if value not in (None, "", [], {}):
                yield f"[{name} {json.dumps(value, ensure_ascii=False)}]"

    def _lines(self) -> Iterator[str]:
        yield from (f"; {line}" for line in self.comment.splitlines())
        words: list[str] = []
        number = 0
        for step in self.steps:
            if step.action is not None:
                if words:
                    yield " ".join(words)
                number += 1
                words = [f"{number}.", written(step.name)]
            else:
                words += [">", written(step.name)]
            if step.comment:
                first, *more = step.comment.splitlines()
                yield " ".join([*words, ";", first])
                yield from (f"; {line}" for line in more)
                words = []
        if words:
            yield " ".join(words)


def written(name: str) -> str:
    """Returns a name as a line contains it."""
    return name if BARE.fullmatch(name) else json.dumps(name, ensure_ascii=False)


class GameRecorder:
    """Records a game while it is played."""

    def __init__(self, start: State, players: Sequence[str] = (), seed: int | None = None, comment: str = "") -> None:
        self.start, self.players, self.seed, self.comment = start, tuple(players), seed, comment
        self.steps: list[Step] = []

    @property
    def state(self) -> State:
        """The latest position."""
        return self.steps[-1].after if self.steps else self.start

    def play(self, action: str | int, comment: str = "") -> State:
        """Plays an action, by name or id; raises ValueError if it is not legal."""
        before = self.state
        self.steps.append(Step(before, before.play(action), before.game.action(action), comment))
        return self.state

    def happen(self, name: str) -> State:
        """Plays a named outcome of chance; raises ValueError if chance does not act, or has no such outcome."""
        before = self.state
        need(before.is_chance, "no outcome where chance does not act", name)
        self.steps.append(Step(before, outcome(before, name), None))
        return self.state

    def settle(self, stream: Words) -> State:
        """Draws every chance stage before the next decision (or the end), as `State.settle` does."""
        while self.state.is_chance:
            before = self.state
            self.steps.append(Step(before, before.sample(stream), None))
        return self.state

    def play_out(self, choose: Callable[[State], int], stream: Words, most: int = 0) -> State:
        """Plays the game with `choose`, as `leafwise.envs.core.play.players.play_out` does, with chance drawn from a stream."""
        return play_out(self.state, choose, lambda _: self.settle(stream), lambda _, action: self.play(action), most)

    def record(self, termination: str = "", forfeited: float | None = None) -> GameRecord:
        """Returns the game so far; `termination` says how it ended if not on the board, `forfeited` is its return then."""
        return GameRecord(self.start, tuple(self.steps), self.players, self.seed, termination, forfeited, self.comment)


def play_game(game: Game, players: Sequence[Any], seed: int, moves: int = 0) -> GameRecorder:
    """Plays a game with one player for each seat, chance drawn from `seed`, to its end or for `moves` decisions (0: to the
    end).

    A player has `name` and `choose(state)`.
    """
    recorder = GameRecorder(game.start(), [who.name for who in players], seed)
    recorder.play_out(lambda state: players[state.current_player].choose(state), new_stream(seed), moves)
    return recorder


def load_game(path: str | Path, number: int = 1) -> GameRecord:
    """Returns the `number`-th game of a file.

    Raises ValueError, naming the line, for anything impossible, or if there is no such game; OSError as `open` does.
    """
    text = read_text(path)
    count = 0
    for count, record in enumerate(read_games(text, str(path)), start=1):
        if count == number:
            return record
    raise UserError(f"{str(path)!r}: expected a game number in 1..{count}, got {number!r}")


def read_games(text: str, source: str = "game") -> Iterator[GameRecord]:
    """Yields the games in a text; raises ValueError, naming `source` and the line, for anything impossible."""
    games: list[list[tuple[int, str]]] = []
    for number, line in enumerate(map(str.strip, text_of(text).split("\n")), start=1):
        if line.startswith("[Game ") or (line and not games):
            games.append([])
        if line:
            games[-1].append((number, line))
    if not games:
        raise UserError(f"{source}, line 1: expected a game that begins with [Game ...], got none")
    for lines in games:
        reader = GameReader()
        try:
            record = reader.read(lines)
        except UserError as problem:
            raise UserError(f"{source}, line {reader.line}: {problem}") from None
        yield record


class GameReader:
    """Reads one game."""

    def __init__(self) -> None:
        self.line = 1
        """The number of the line for error messages."""
        self.tags: dict[str, Any] = {}
        self.lines: dict[str, int] = {}
        """Tag -> the number of its line."""
        self.comments: list[str] = []
        self.recorder: GameRecorder | None = None
        self.moves = 0

    def read(self, lines: Sequence[tuple[int, str]]) -> GameRecord:
        """Returns the game in numbered lines; raises ValueError for an impossible one."""
        for number, line in lines:
            self.line = number
            need(self.tags or line.startswith("[Game "), 'a game that begins with [Game "NAME"]', line[:40])
            if line.startswith("["):
                self.read_tag(line)
            elif line.startswith(";"):
                self.read_comment(line[1:].strip())
            else:
                self.read_steps(line)
        return self.record()

    def read_tag(self, line: str) -> None:
        """Reads `[Name value]`."""
        name, _, rest = line[1:].partition(" ")
        where = " before the moves" if self.recorder is not None else ""
        new = name in TAGS and name not in self.tags and self.recorder is None
        need(new, f"tags among {', '.join(TAGS)}, each once{where}", line[:40])
        try:
            value = json.loads(rest.removesuffix("]")) if rest.endswith("]") else None
        except (ValueError, RecursionError):
            value = None
        fits = isinstance(value, TAGS[name]) and not isinstance(value, bool)
        need(fits, f"[{name} VALUE] with a JSON value of its type", line[:80])
        self.tags[name], self.lines[name] = value, self.line

    def tag(self, name: str, default: Any = None) -> Any:
        """Returns the value of a tag; error messages then name its line, or that of Game."""
        self.line = self.lines.get(name, self.lines["Game"])
        return self.tags.get(name, default)

    def begin(self) -> GameRecorder:
        """Returns the recorder at the start of the game; raises ValueError for impossible tags."""
        from leafwise.envs.registry import game as find_game

        if self.recorder is None:
            line = self.line
            game = find_game(self.tag("Game")).variant(**self.tag("Options", {}))
            start = self.tag("Start")
            start = game.start() if start is None else game.parse(start)
            players = self.tag("Players", [])
            named = all(isinstance(name, str) for name in players) and len(players) in (0, game.players)
            need(named, f"the names of {game.players} players", players)
            self.recorder, self.line = (
                GameRecorder(start, players, self.tags.get("Seed"), "\n".join(self.comments)),
                line,
            )
        return self.recorder

    def read_comment(self, comment: str) -> None:
        """Adds a line to the comment of the last step, or before the first step to that of the start."""
        if self.recorder is None:
            self.comments.append(comment)
        else:
            step = self.recorder.steps[-1]
            self.recorder.steps[-1] = replace(step, comment=f"{step.comment}\n{comment}" if step.comment else comment)

    def read_steps(self, line: str) -> None:
        """Reads `12. move > outcome > outcome ; words`."""
        recorder = self.begin()
        words = list(tokens(line))
        numbered = NUMBER.fullmatch(words[0])
        if numbered:
            follows = int(numbered[1]) == self.moves + 1 and len(words) > 1
            need(follows, f"'{self.moves + 1}. MOVE'", line[:40])
            recorder.play(name_of(words[1]))
            self.moves += 1
            del words[:2]
        while words and not words[0].startswith(";"):
            follows = words[0] == ">" and len(words) > 1
            need(follows, f"'{self.moves + 1}. MOVE', '> OUTCOME' or '; WORDS'", words[0])
            recorder.happen(name_of(words[1]))
            del words[:2]
        if words:
            self.read_comment(words[0][1:].strip())

    def record(self) -> GameRecord:
        """Returns the game; raises ValueError if it does not end as its tags say."""
        recorder, last = self.begin(), self.begin().state
        termination, result = self.tags.get("Termination", ""), self.tag("Result", UNFINISHED)
        if last.is_terminal:
            same = result == last.returns or "Result" not in self.tags
            need(same, f"the result {last.returns!r} of the moves", result)
        elif result != UNFINISHED if not termination else isinstance(result, str) or not math.isfinite(result):
            expected = "a number, with Termination" if termination else f'"{UNFINISHED}", the game is not over'
            raise UserError(f"expected the result {expected}, got {result!r}")
        self.tag("Termination")
        is_consistent = not (last.is_terminal and termination)
        need(is_consistent, "no Termination of a game that ended on the board", termination)
        return recorder.record(termination, None if isinstance(result, str) or not termination else float(result))


def tokens(line: str) -> Iterator[str]:
    """Yields the tokens of a line of moves: numbers, names, `>`, and a comment with its semicolon."""
    position = 0
    while position < len(line):
        match = TOKEN.match(line, position)
        if match is None:
            raise UserError(f"expected a name, '>' or ';', got {line[position : position + 40].strip()!r}")
        yield match[1]
        position = match.end()


def name_of(word: str) -> str:
    """Returns a token's name without quotes; raises ValueError for a symbol or a broken string."""
    if word.startswith('"'):
        try:
            return str(json.loads(word))
        except ValueError:
            raise UserError(f"expected a name as a JSON string, got {word[:40]}") from None
    need(BARE.fullmatch(word), "a name", word[:40])
    return word


def pictured(record: GameRecord, chance: bool = False) -> list[State]:
    """Returns every decision of a game, and its last position; with `chance` also chance stages after the first decision."""
    states = list(record.states)
    begun = next((k for k, state in enumerate(states) if not state.is_chance), len(states) - 1)
    return [state for state in states[begun:] if chance or not state.is_chance or state is states[-1]]
