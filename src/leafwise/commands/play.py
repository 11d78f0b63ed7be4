"""Lets a person play at the keyboard, with hints; --assist follows a game played elsewhere, as Threes on a phone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import tyro
from numpy.typing import NDArray

from leafwise.cli import fail, make_search, one_line_errors, parse_with_game, patiently, say
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.play.forfeit import Forfeit
from leafwise.envs.core.play.solver import SolverPlayer
from leafwise.envs.registry import game as find_game
from leafwise.envs.registry import games
from leafwise.hints import Hints
from leafwise.models.players import player
from leafwise.search.players import Player, SearchPlayer

HUMAN = "human"
ARROWS = {"\x1b[A": "up", "\x1b[B": "down", "\x1b[D": "left", "\x1b[C": "right"}
"""What terminals send for the arrow keys."""
HELP = "h shows the value of every move, u takes a move back, q quits"


@dataclass(frozen=True)
class Config:
    """Plays a game at the keyboard.

    While playing: an action's name plays it, h shows the value of every action (exact where the game has a solver, unless
    --leaf, --depth or --seconds ask for a search), u takes a move back, q quits.
    """

    game: tyro.conf.Positional[str]
    """Name of the game."""
    position: str = ""
    """Position to begin with, in the game's own text (default: a new game)."""
    seed: int = 0
    """Seed of the game's chance."""
    opponent: str = ""
    """In games for two: the other player, or `human` for two people (default: greedy, or with --level the solver)."""
    level: str = ""
    """Of the solver as your opponent: easy, medium or hard; 40 %, 15 % or none of its moves are random."""
    seat: str = "first"
    """In games for two: your seat, first or second."""
    assist: bool = False
    """Follow a game played elsewhere, as Threes on a phone: you type what appears there and get the best action."""
    leaf: str = ""
    """Leaf of the search that hints: a hand-made score, `learned`, a run folder or a model file."""
    depth: int = 0
    """Depth of that search, in decisions (0: the game's own, or with --seconds as many as there is time for)."""
    seconds: float = 0.0
    """Seconds of that search per position (0: no limit)."""


class Session:
    """A game between people and players, with everything before it kept for taking back."""

    def __init__(self, state: State, stream: NDArray[np.uint64], seats: dict[int, Player | None]) -> None:
        """`seats` names who sits where; None is a person."""
        self.state, self.stream, self.seats = state, stream, seats
        self.before: list[tuple[State, NDArray[np.uint64]]] = []
        self.odds = ""
        """What chance could do after the last action, in games where it is little."""

    def play(self, action: str | int) -> list[str]:
        """Plays an action and all chance after it; returns what chance did. Raises ValueError if it is not legal."""
        after = self.state.play(action)
        self.before.append((self.state, self.stream.copy()))
        happened = []
        self.odds = ""
        while after.is_chance:
            self.odds = self.odds or odds(after)
            earlier, after = after, after.sample(self.stream)
            happened.append(earlier.outcome_name(after))
        self.state = after
        return [name for name in happened if name]

    def undo(self) -> bool:
        """Goes back to the last decision of a person; returns whether there was one. Chance repeats itself."""
        for k in range(len(self.before) - 1, -1, -1):
            if self.seats[self.before[k][0].current_player] is None:
                self.state, self.stream = self.before[k][0], self.before[k][1].copy()
                del self.before[k:]
                return True
        return False


FEW_OUTCOMES = 12


def odds(state: State) -> str:
    """Returns the outcomes of a chance stage with their probabilities; "" in games where they can be many."""
    if state.game.max_outcomes > FEW_OUTCOMES:
        return ""
    outcomes = sorted(state.outcomes(), key=lambda outcome: -outcome[0])
    return ", ".join(f"{state.outcome_name(after)} {100 * p:.3g} %" for p, after in outcomes)


def legal_text(state: State, most: int = 24) -> str:
    """Returns the names of the legal actions, the first of them if they are many."""
    names = state.legal_names
    return ", ".join(names[:most]) + (f", ... ({len(names)} in all)" if len(names) > most else "")


def ask(prompt: str) -> str | None:
    """Returns a line that the person types, without blanks around, arrow keys by name; None at the end of input."""
    try:
        line = input(prompt).strip()
        return ARROWS.get(line, line)
    except EOFError:
        say()
        return None


def choose(chooser: Player, state: State) -> int:
    """Returns a player's choice; Ctrl-C is heard meanwhile."""
    if isinstance(chooser, SearchPlayer):
        return patiently(lambda: chooser.choose(state), chooser.search.stop)
    if isinstance(chooser, SolverPlayer):
        return patiently(lambda: chooser.choose(state), lambda: chooser.solver.stop.fill(1))
    return patiently(lambda: chooser.choose(state))


def turn_of_person(session: Session, hints: Hints) -> bool:
    """Lets the person type until an action is played or taken back; returns False to quit."""
    state = session.state
    who = f"player {state.current_player + 1}, " if state.game.players == 2 else ""
    while True:
        word = ask(f"{who}{legal_text(state)}> ")
        if word is None or word == "q":
            return False
        if word == "h":
            say("\n".join(hints(state)))
        elif word == "u":
            if session.undo():
                return True
            say("there is no move to take back")
        elif word == "":
            say(f"type an action; {HELP}")
        else:
            try:
                happened = session.play(word)
            except ValueError as problem:
                say(f"{problem}; {HELP}")
                continue
            if session.odds:
                say(f"odds: {session.odds}")
            if happened:
                say(f"then: {', '.join(happened)}")
            return True


def ending(game: Game, state: State) -> str:
    """Returns the last line of a game."""
    if game.players == 1:
        return f"game over, return {state.returns:,.0f}"
    if state.returns == 0:
        return "game over, a draw"
    return f"game over, player {1 if state.returns > 0 else 2} wins"


def play(session: Session, hints: Hints) -> int:
    """Runs the game to its end, or until the person quits."""
    game = session.state.game
    say(f"{game.title}\n{HELP}")
    while not session.state.is_terminal:
        chooser = session.seats[session.state.current_player]
        if chooser is None:
            say("\n" + session.state.board())
            if not turn_of_person(session, hints):
                say(f"left the game at {session.state}")
                return 0
            continue
        try:
            action = choose(chooser, session.state)
        except Forfeit as reason:
            say(f"player {session.state.current_player + 1} forfeits: {reason}")
            return 0
        happened = session.play(action)
        if session.odds:
            say(f"odds: {session.odds}")
        say(f"{chooser.name} plays {game.actions[action]}" + (f", then: {', '.join(happened)}" if happened else ""))
    say("\n" + session.state.board())
    say(ending(game, session.state))
    return 0


def seats(config: Config, game: Game) -> dict[int, Player | None]:
    """Returns who sits where; raises ValueError for an unknown seat or player."""
    if game.players == 1:
        if config.opponent or config.level:
            raise ValueError(f"expected no --opponent and --level in {game.name}, a game for one player")
        return {0: None}
    if config.seat not in ("first", "second"):
        raise ValueError(f"expected --seat first or second, got {config.seat!r}")
    own = 0 if config.seat == "first" else 1
    name = opponent_name(config)
    return {own: None, 1 - own: None if name == HUMAN else player(name, game, config.seed)}


def opponent_name(config: Config) -> str:
    """Returns the text that names the opponent; raises ValueError for a level that does not go with it."""
    if not config.level:
        return config.opponent or "greedy"
    if config.opponent not in ("", "solver"):
        raise ValueError(f"expected --level with the opponent solver, got {config.opponent!r}")
    return f"solver:level={config.level}"


def make_hints(config: Config, game: Game, sitting: dict[int, Player | None]) -> Hints:
    """Returns who answers `h`: the exact solver, at best the one that plays, unless options ask for a search."""
    search = make_search(game, config.leaf, config.depth, config.seconds)
    at_hand = next((p.solver for p in sitting.values() if isinstance(p, SolverPlayer)), None)
    return Hints(game, search, exact=not (config.leaf or config.depth or config.seconds), solver=at_hand)


def main(arguments: list[str]) -> int:
    """Runs the command."""
    config, game = parse_with_game(Config, arguments, "leafwise play")
    if config.assist:
        from leafwise.assist import assist

        if game.companion is None:
            followed = " or ".join(name for name in games() if find_game(name).companion)
            fail(f"expected {followed} with --assist, got {game.name!r}")
        return assist(
            game, game.companion, config.position, make_search(game, config.leaf, config.depth, config.seconds)
        )
    with one_line_errors():
        if not 0 <= config.seed < 2**63:
            raise ValueError(f"expected --seed of 0 to 2**63 - 1, got {config.seed!r}")
        stream = new_stream(config.seed)
        state = (game.parse(config.position) if config.position else game.start()).settle(stream)
        sitting = seats(config, game)
    return play(Session(state, stream, sitting), make_hints(config, game, sitting))
