"""Follows a game that is played elsewhere: the person types what happens and sees the value of every option."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from leafwise.analysis import Analyst
from leafwise.cli import say
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.files import read_text, write_named
from leafwise.envs.core.play.companion import Advice, Following, Question

KEYS = "  u takes the last line back, h shows this, ? lists all choices, q quits"
SHOWN = 8
"""Choices that a prompt shows; ? lists them all."""


def begun(game: Game, position: str, known: bool, file: str) -> Following:
    """Returns a game to follow: the one of a file, one from a position, or a new one (`known`: its variant is known).

    Raises ValueError for wrong input.
    """
    if file and Path(file).exists() and Path(file).stat().st_size:
        if position:
            raise UserError(f"expected a position or a saved game in {file!r}, got both")
        following = Following.load(game, read_text(file), file)
        if following.state is not None and following.state.is_terminal:
            raise UserError(f"expected an unfinished game in {file!r}, got a finished one")
        return following
    start = game.parse(position) if position else game.start() if known else None
    return Following(game, start)


def assist(
    following: Following, analyst_of: Callable[[Game], Analyst], ask: Callable[[str], str | None], file: str
) -> int:
    """Runs the dialogue until the game ends or the person quits; each accepted line is saved to `file`, if any.

    `analyst_of` returns the search of a variant, always the same one. `ask` returns a typed line, None at the end of input.
    """
    say(f"Follows a game of {following.game.title.partition(',')[0]}.\n{following.companion.help}\n{KEYS}")
    shown: State | None = None
    advice: Advice | None = None
    while (state := following.state) is None or not state.is_terminal:
        if state is not None and not state.is_chance and state != shown:
            advice, shown = advised(following, analyst_of(state.game)), state
        text = ask(prompt_of(following.question))
        if text is None or text == "q":
            say(
                f"left at {'the beginning' if state is None else state}"
                + (f", saved to {file}" if file and state is not None else "")
            )
            return 0
        if answered(following, text, advice.best if advice and state == shown else ""):
            shown = None
            if file:
                write_named(Path(file), following.text.encode())
    say("\n" + state.board())
    say(following.question.asks)
    return 0


def answered(following: Following, text: str, best: str) -> bool:
    """Carries out a typed line; returns whether the position changed."""
    if text == "h":
        say(f"{following.companion.help}\n{KEYS}")
        if following.state is not None and (legend := following.state.legend()):
            say(legend)
    elif text == "?":
        say("\n".join(choice_lines(following.question)))
    elif text == "u":
        if following.undo():
            return True
        say("there is no entry to take back")
    else:
        try:
            if message := following.enter(text, best):
                say(f"  {message}")
            return True
        except UserError as problem:
            say(str(problem))
    return False


def prompt_of(question: Question) -> str:
    """Returns the prompt: the question, and at a chance node the first choices."""
    form = f", such as {question.form}" if question.form else ""
    if not question.choices or question.choices[0].chance is None:
        return f"{question.asks}{form}> "
    shown = question.choices[:SHOWN]
    more = f"\n  ... ({len(question.choices)} in all)" if len(question.choices) > SHOWN else ""
    return "\n".join(choice_lines(Question("", shown))) + f"{more}\n{question.asks}> "


def choice_lines(question: Question) -> list[str]:
    """Returns a line for each choice: number, name, probability, description."""
    width = max((len(choice.name) for choice in question.choices), default=0)
    lines = []
    for choice in question.choices:
        chance = "" if choice.chance is None else f"{100 * choice.chance:5.1f} %  "
        words = "" if choice.words == choice.name else choice.words
        lines.append(f"  {choice.number:>3}  {choice.name:<{width}}  {chance}{words}".rstrip())
    return lines


def advised(following: Following, analyst: Analyst) -> Advice:
    """Prints a decision with the value of every option and notes; returns the advice."""
    advice = following.advise(lambda state: analyst(state).values, analyst.written)
    assert following.state is not None
    board = following.state.board()
    say("\n" + board)
    say("\n".join(line for line in advice_lines(advice, analyst) if line.strip() not in board.splitlines()))
    return advice


def advice_lines(advice: Advice, analyst: Analyst) -> list[str]:
    """Returns the unit of the numbers, a line for each option, best first, and the notes."""
    name = max(len(option.name) for option in advice.options)
    words = max(len(option.words) for option in advice.options)
    lines = [f"  {analyst.unit}"]
    for k, option in enumerate(advice.options):
        behind = analyst.difference(advice.options[0].value, option.value) if k else "best"
        lines.append(f"  {option.name:<{name}}  {option.words:<{words}}  {option.told:>12}{behind:>12}".rstrip())
    return lines + [f"  {note}" for note in (*advice.notes, analyst.no_units) if note]
