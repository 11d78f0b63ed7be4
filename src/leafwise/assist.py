"""Follows a game that is played elsewhere: the person types what happens there, and gets the best action."""

from __future__ import annotations

from collections.abc import Callable

from leafwise.cli import one_line_errors, patiently, say, value_lines
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.play.companion import Companion
from leafwise.models.units import Units
from leafwise.search import Search

KEYS = "  u takes the last entry back, h shows this, q quits"


def ask(prompt: str) -> str | None:
    """Returns a line that the person types, without blanks around; None at the end of input or for q."""
    try:
        line = input(prompt).strip()
    except EOFError:
        say()
        return None
    return None if line == "q" else line


def asked_until(prompt: str, check: Callable[[str], object]) -> str | None:
    """Returns the first line that `check` takes without a ValueError, None to quit."""
    while (text := ask(prompt)) is not None:
        try:
            check(text)
            return text
        except ValueError as problem:
            say(str(problem))
    return None


def assist(game: Game, companion: Companion, position: str, search: Search, units: Units | None) -> int:
    """Runs the dialogue until the game ends or the person quits."""
    with one_line_errors():
        start = companion.check(game.parse(position)) if position else None
    say(f"Follows a game of {game.title.partition(',')[0]}; leaf {search.evaluator.name}.\n{companion.help}\n{KEYS}")
    start = start or companion.begin(game, asked_until, say)
    if start is None:
        return 0
    history = [start]
    while not history[-1].is_terminal:
        state = history[-1]
        result = patiently(lambda state=state: search(state), search.stop)  # type: ignore[misc]
        best = str(result.name)
        say("\n" + state.board())
        say("\n".join(value_lines(result, units)))
        say(companion.advice(state, best))
        if not one_entry(companion, history, best):
            say(f"left at {state}")
            return 0
    last = history[-1]
    say("\n" + last.board())
    say(companion.ending(last))
    return 0


def one_entry(companion: Companion, history: list[State], best: str) -> bool:
    """Asks until one entry is good and appends the state it leads to, or takes the last one back; False to quit."""
    while True:
        text = ask("appeared> ")
        if text is None:
            return False
        if text == "h":
            say(f"{companion.help}\n{KEYS}")
        elif text == "u" and len(history) > 1:
            history.pop()
            return True
        elif text == "u":
            say("there is no entry to take back")
        else:
            try:
                history.append(companion.follow(history[-1], best, text))
                return True
            except ValueError as problem:
                say(str(problem))
