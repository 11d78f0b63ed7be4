"""Plays a game at the keyboard, with hints; --assist follows a game played elsewhere, such as Friday at a table."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import tyro

from leafwise.cli import OutputFile, command, say
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.files import text_of
from leafwise.envs.core.programs import prints_shown
from leafwise.envs.core.ranges import Range, need_among
from leafwise.envs.registry import game as find_game
from leafwise.envs.registry import games, option_defaults

if TYPE_CHECKING:
    from leafwise.analysis import Hints
    from leafwise.envs.core.arrays import Words
    from leafwise.envs.core.contract.game import Game
    from leafwise.envs.core.contract.state import State
    from leafwise.envs.core.play.gamefile import Step
    from leafwise.search.players import Player

HUMAN = "human"
ARROWS = {"\x1b[A": "up", "\x1b[B": "down", "\x1b[D": "left", "\x1b[C": "right"}
"""Codes that terminals send for the arrow keys."""
HELP = "h values every move, u takes one back, ? explains moves, q quits"
COLOURS = {"red": 31, "green": 32, "yellow": 33, "blue": 34, "magenta": 35, "cyan": 36}
"""Colours of terminals and their codes."""
MOST_HINTS = 16
"""Lines of a hint that are shown, before those of the worst move and of the source."""


@dataclass(frozen=True)
class Config:
    """Plays a game at the keyboard.

    While playing, type an action's name to play it, h for the value of every action, u to take a move back, ? for the moves, q to
    quit. Values are exact if the game has a solver, unless --leaf, --depth or --seconds ask for a search.

    Examples:
      leafwise play trilobite --board 7x6 --k 4
      leafwise play threes --assist
    """

    most_used: ClassVar[tuple[str, ...]] = ("opponent", "strength", "seat")
    game: tyro.conf.Positional[str]
    """Name of the game."""
    position: str = ""
    """First position, in the game's own text (default: a new game)."""
    seed: Annotated[int, Range(0, 2**63 - 1)] = 0
    """Seed of the game's chance."""
    opponent: str = ""
    """In two-player games: the other player, or `human` for two people (default: best, the search with the shipped network)."""
    strength: str = ""
    """In two-player games: easy, medium, hard or best as your opponent; --level is the same unless the game has an option
    of that name."""
    seat: str = "first"
    """In two-player games: your seat, first or second."""
    assist: bool = False
    """Follow a game played elsewhere, Friday at a table or Threes on a phone: you type what happens and see the value of every
    option."""
    save: OutputFile = ""
    """File for the game: every move and outcome of chance, for `analyze --game`, `record --game` and `leafwise.load_game`. With
    --assist it is kept up to date, and a saved game continues."""
    overwrite: bool = False
    """Overwrite the file of --save if it exists; with --assist a saved game continues instead."""
    leaf: str = ""
    """Leaf of the search for hints: a hand-made score, `learned`, a run folder or a model file (default: the shipped
    network, else the game's score)."""
    depth: int = 0
    """Depth of that search, in decisions (0: the game's own, or with --seconds as many as there is time for)."""
    seconds: float = 0.0
    """Seconds of that search per position (0: no limit)."""
    verbose: bool = False
    """Show the output of other people's programs (course:DIR/PlayerAI.py) on standard error."""
    variant: tyro.conf.Suppress[tuple[str, ...]] = ()
    """The game's own options that were given."""

    @staticmethod
    def respelt(words: Sequence[str]) -> list[str]:
        """Returns a command line with `--level` as `--strength`, unless its game has an option `level`."""
        name = next((word for word in words if word in games()), "")
        if name and "level" in option_defaults(name):
            return list(words)
        return [f"--strength{word[7:]}" if re.match(r"--level(=|$)", word) else word for word in words]

    @staticmethod
    def more_help(name: str) -> tuple[str, dict[str, str]]:
        """Returns the levels of a game for `--help`."""
        from leafwise.search.players import level_lines

        game, title = find_game(name), f"Levels of {name}, for --strength:"
        return title, dict(line.split(": ", 1) for line in level_lines(game)) if game.players == 2 else {}


class Session:
    """A game between people and players; its moves can be taken back."""

    def __init__(self, state: State, stream: Words, seats: dict[int, Player | None], seed: int | None = None) -> None:
        """`seats` has the player of each seat, None for a person. Chance at the start is drawn from `stream`."""
        from leafwise.envs.core.play.gamefile import GameRecorder

        names = [HUMAN if (who := seats[seat]) is None else who.name for seat in range(state.game.players)]
        self.recorder = GameRecorder(state, names, seed)
        self.recorder.settle(stream)
        self.stream, self.seats = stream, seats
        self.before: list[tuple[int, Words]] = []
        """For every decision the number of steps before it, and the stream."""
        self.odds = ""
        """Probabilities of chance after the last action, in games with few outcomes."""
        self.forfeit: tuple[str, float] | None = None
        """Reason of a forfeit, and the first player's return."""

    @property
    def state(self) -> State:
        """The position."""
        return self.recorder.state

    @property
    def last_player(self) -> int:
        """The seat that acted last; before the first action the seat to act."""
        acted = (step.before.current_player for step in reversed(self.recorder.steps) if not step.before.is_chance)
        return next(acted, self.state.current_player)

    def play(self, action: str | int) -> list[str]:
        """Plays an action and the chance after it; returns the outcomes in words. Raises ValueError if it is not legal."""
        steps = len(self.recorder.steps)
        after = self.recorder.play(action)
        self.before.append((steps, self.stream.copy()))
        self.odds = odds(after) if after.is_chance else ""
        self.recorder.settle(self.stream)
        return [happened(step) for step in self.recorder.steps[steps + 1 :]]

    def play_typed(self, text: str) -> list[str]:
        """Plays an action, or a whole turn in games with whole turns; returns the outcomes of chance in words."""
        from leafwise.envs.core.play.by_name import move_names
        from leafwise.envs.core.play.turns import played_in_order

        names = move_names(self.state.game, text) if self.state.game.text.whole_turns else [text]
        whole = played_in_order(self.state, names) if len(names) > 1 else tuple(names)
        if len(whole) != len(names):
            raise UserError(f"{self.state.game.name}: expected one action or a whole turn, got {text!r}")
        happened: list[str] = []
        for name in whole:
            happened = self.play(name)
        return happened

    def undo(self) -> bool:
        """Goes back to the last decision of a person; returns whether there was one. Chance then repeats itself."""
        for k in range(len(self.before) - 1, -1, -1):
            steps, stream = self.before[k]
            if self.seats[self.recorder.steps[steps].before.current_player] is None:
                del self.recorder.steps[steps:], self.before[k:]
                self.stream = stream.copy()
                return True
        return False


FEW_OUTCOMES = 12
ROOM = 16
"""Characters that stay free behind the actions for the typed line."""


def odds(state: State) -> str:
    """Returns the likeliest outcomes of a chance node with their probabilities; "" if they are many and have no names."""
    named = state.game.text.outcome_words is not None
    if state.game.max_outcomes > FEW_OUTCOMES and not named:
        return ""
    outcomes = sorted(state.outcomes(), key=lambda outcome: -outcome[0])
    texts = [f"{state.outcome_words(after)} {100 * p:.3g} %" for p, after in outcomes[:FEW_OUTCOMES]]
    return ", ".join(texts) + (f", ... ({len(outcomes)} in all)" if len(outcomes) > FEW_OUTCOMES else "")


def happened(step: Step) -> str:
    """Returns the outcome of chance; with its probability if it has a name in words."""
    if step.before.game.text.outcome_words is None:
        return step.name
    chance = next(p for p, after in step.before.outcomes() if after == step.after)
    return f"{step.before.outcome_words(step.after)} ({100 * chance:.3g} %)"


def legal_lines(state: State) -> str:
    """Returns a line for each legal action in words, "" in games without such words."""
    if state.game.text.action_words is None:
        return ""
    width = max(map(len, state.legal_names))
    return "".join(f"  {name:<{width}}  {state.action_words(name)}\n" for name in state.legal_names)


def legal_text(state: State, most: int = 24) -> str:
    """Returns the names of the first legal actions, and how many there are."""
    names = state.legal_names
    return ", ".join(names[:most]) + (f", ... ({len(names)} in all)" if len(names) > most else "")


def at_terminal(text: str, game: Game | None = None, room: int = 0) -> str:
    """Formats text for a terminal: wrapped lines, and the signs of a board in the game's colours.

    `room` characters of each line stay free for typing.
    """
    if not sys.stdout.isatty():
        return text
    width, lines = shutil.get_terminal_size().columns - room, []
    for line in text.split("\n"):
        wrapped = textwrap.wrap(line, width, subsequent_indent="    ", break_on_hyphens=False)
        lines += wrapped if len(line) > width else [line]
    text = "\n".join(lines)
    if game is not None and "NO_COLOR" not in os.environ and (os.name != "nt" or "WT_SESSION" in os.environ):
        for signs, colour in game.text.colours.items():
            text = re.sub(signs, f"\x1b[{COLOURS[colour]}m\\g<0>\x1b[0m", text, flags=re.MULTILINE)
    return text


def ask(prompt: str) -> str | None:
    """Returns a typed line, stripped, with arrow keys by name; None at the end of input."""
    try:
        line = text_of(input(prompt)).strip()
        return ARROWS.get(line, line)
    except EOFError:
        say()
        return None


def turn_of_person(session: Session, hints: Hints) -> bool:
    """Reads lines until an action is played or taken back; returns False to quit."""
    state = session.state
    who = f"player {state.current_player + 1} to move: " if state.game.players == 2 else ""
    while True:
        word = ask(at_terminal(f"{legal_lines(state)}{who}{legal_text(state)}>", room=ROOM) + " ")
        if word is None or word == "q":
            return False
        if word == "h":
            lines = hints(state)
            if (more := len(lines) - MOST_HINTS - 2) > 0:
                lines[MOST_HINTS:-2] = [f"  ... and {more:,} more"]
            say(at_terminal("\n".join(lines)))
        elif word == "?":
            about = state.game.text.about
            texts = [text.replace("`", "") for text in (about.actions, about.ends)]
            legend = " ".join(state.legend().split())
            say(at_terminal("\n".join(filter(None, [*texts, legend, HELP]))))
        elif word == "u":
            if session.undo():
                return True
            say("there is no move to take back")
        elif word == "":
            say(f"type an action; {HELP}")
        else:
            try:
                happened = session.play_typed(word)
            except UserError as problem:
                say(at_terminal(f"{problem}\n{HELP}"))
                continue
            if session.odds:
                say(at_terminal(f"odds: {session.odds}"))
            if happened:
                say(at_terminal(f"then: {', '.join(happened)}"))
            return True


def play(config: Config, session: Session, hints: Hints) -> None:
    """Runs the game to its end, or until the person quits."""
    from leafwise.analysis import ending, points_text
    from leafwise.envs.core.errors import Forfeit

    game = session.state.game
    say(f"{game.title}\n{HELP}")
    introduce(config, session, hints)
    while not session.state.is_terminal:
        chooser = session.seats[session.state.current_player]
        if chooser is None or session.seats[session.last_player] is None:
            say("\n" + at_terminal(session.state.board(), game))
        if chooser is None:
            if game.players == 1:
                say(points_text(session.state))
            if not turn_of_person(session, hints):
                say(f"left the game at {session.state}")
                return
            continue
        try:
            action = chooser.choose(session.state)
        except Forfeit as reason:
            loser = session.state.current_player
            session.forfeit = f"player {loser + 1}: forfeit: {reason}", game.return_range[loser]
            say("\n".join([f"player {loser + 1} forfeits: {reason}", *reason.report]))
            return
        happened = session.play(action)
        if session.odds:
            say(at_terminal(f"odds: {session.odds}"))
        then = f", then: {', '.join(happened)}" if happened else ""
        say(at_terminal(f"{chooser.name} plays {game.actions[action]}{then}"))
    say("\n" + at_terminal(session.state.board(), game))
    say(at_terminal(f"game over, {ending(session.state)}"))


def seats(config: Config, game: Game) -> dict[int, Player | None]:
    """Returns the player of each seat; raises ValueError for an unknown seat or player."""
    from leafwise.models.players import player

    if game.players == 1:
        if config.opponent or config.strength:
            raise UserError(f"expected no --opponent and no --strength in {game.name}, a single-player game")
        if config.seat != "first":
            raise UserError(f"expected no --seat in {game.name}, a single-player game, got {config.seat!r}")
        return {0: None}
    need_among(config.seat, ("first", "second"), "--seat")
    if config.strength and config.opponent:
        raise UserError(f"expected --strength or --opponent, got {config.strength!r} and {config.opponent!r}")
    seat = 0 if config.seat == "first" else 1
    name = f"level:{config.strength}" if config.strength else config.opponent or "best"
    return {seat: None, 1 - seat: None if name == HUMAN else player(name, game, config.seed)}


def make_hints(config: Config, game: Game, sitting: dict[int, Player | None]) -> Hints:
    """Returns the hints for `h`: by the exact solver (that of the opponent, if any), unless options ask for a search."""
    from leafwise.analysis import Hints, analyst_of
    from leafwise.envs.core.play.solver import SolverPlayer

    analyst = analyst_of(game, config.leaf, config.depth, config.seconds)
    at_hand = next((p.solver for p in sitting.values() if isinstance(p, SolverPlayer)), None)
    exact = not (config.leaf or config.depth or config.seconds)
    return Hints(analyst, exact=exact, solver=at_hand)


def introduce(config: Config, session: Session, hints: Hints) -> None:
    """Prints the players and the source of hints."""
    from leafwise.envs.core.play.solver import SolverPlayer
    from leafwise.search.players import level_lines, search_of

    for who in session.seats.values():
        if who is not None:
            strong = getattr(who, "strong", who)
            search = search_of(who)
            by = f", leaf {search.evaluator.name}" if search else ""
            by = ", the exact solver" if isinstance(strong, SolverPlayer) else by
            say(f"against {who.name}{by}")
    if config.strength:
        say(at_terminal(next(line for line in level_lines(session.state.game) if line.startswith(config.strength))))
    say(f"hints: {'the exact solver, else ' if hints.asks_solver() else ''}search, leaf {hints.analyst.leaf}")


def save(config: Config, session: Session) -> None:
    """Writes the game to the file of --save, if there is one."""
    if config.save:
        from leafwise.envs.core.files import write_named

        record = session.recorder.record(*(session.forfeit or ()))
        write_named(Path(config.save), str(record).encode())
        say(f"saved to {config.save}")


def follow(config: Config, game: Game) -> None:
    """Follows a game that is played elsewhere; the variant of the command line is not asked for again."""
    from leafwise.analysis import analyst_of
    from leafwise.assist import assist, begun

    if game.companion is None:
        followed = " or ".join(name for name in games() if find_game(name).companion)
        raise UserError(f"expected {followed} with --assist, got {game.name!r}")
    following = begun(game, config.position, bool(config.variant), config.save)
    made = cache(lambda variant: analyst_of(variant, config.leaf, config.depth, config.seconds))
    made(following.game)  # so that wrong options are refused at once
    assist(following, made, ask, config.save)


@command(Config)
def main(config: Config, game: Game) -> None:
    """Runs the command."""
    if config.assist:
        follow(config, game)
        return
    from leafwise.envs.core.contract.stream import new_stream

    with prints_shown(config.verbose):
        state = game.parse(config.position) if config.position else game.start()
        session = Session(state, new_stream(config.seed), seats(config, game), config.seed)
        hints = make_hints(config, game, session.seats)
        try:
            play(config, session, hints)
        finally:
            save(config, session)
