"""Follows a game of Friday at a table: people type cards by name, number or first letters as they fall.

Everything typed goes through the exact rules, which count the piles. Impossible input is refused with what is possible.
"""

from __future__ import annotations

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.play.by_name import Choice, chosen
from leafwise.envs.core.play.companion import Companion, Question, Values
from leafwise.envs.friday.draw import chances, odds_line
from leafwise.envs.friday.layout import CARD, END, FREE
from leafwise.envs.friday.tables import HARDNESS, aging_cards
from leafwise.envs.friday.text import (
    TITLES,
    ending_in_words,
    fought_pirate,
    hunger,
    listed,
    missing,
    number,
    table_cards,
    value,
)

LEVELS = tuple(
    Choice(str(level), f"level {level}: {20 if level < 4 else 18} life, {sum(aging_cards(level).values())} aging cards"
           + (", one of them among the first cards" if level > 1 else ""), level)
    for level in HARDNESS
)  # fmt: skip
HELP = """  Type the cards that lie open and each card as it falls: by its name or the first letters of it (we, very st,
  food 1), by its number in the list, or by its code (S2). At a decision type what you did (an empty line: what
  is recommended). Commas separate several in one line:
    3, 7           the pirates 3 and 7 lie open
    pay, weak      you paid for a card, and it was weak
    end, dis, end  the fight is over, you removed a distracted, and no more
  Instead of the level a whole position may be typed: turn=fight phase=green ..."""
ASKS = {
    "pirate": "the number of a pirate that lies open",
    "aging": "the aging card that is shuffled in",
    "hazard": "a hazard card that lies open",
    "choose": "the hazard that you fight",
    "fight": "what you did in the fight",
    "target": "the card that you chose",
    "offer": "whether you drew on",
    "arrange": "the card that you discarded",
    "order": "the card that you put back on top",
    "remove": "the card that you removed",
}
DRAWN = {"left": "the card drawn", "right": "the card drawn", "look": "the card looked at"}


def begin(game: Game, text: str) -> tuple[State, str]:
    """Returns the start of a level, or the position in a text; raises ValueError for anything else."""
    if "=" in text:
        state = game.parse(text)
        check(state)
        return state, f"level {game.options.level}"
    level = chosen(LEVELS, text.split())
    if level is None:
        raise UserError(f"expected a level among {', '.join(map(str, HARDNESS))} or a position, got {text!r}")
    return game.variant(level=int(level.name)).start(), level.words


def check(state: State) -> None:
    """Raises ValueError for a finished game."""
    if state.is_terminal:
        raise UserError("expected a position to play, got a finished game")


def asks(state: State) -> str:
    """Returns what is asked for in a position."""
    turn = value(state.row, "turn")
    if turn == "card":
        return DRAWN[value(state.row, "to")]
    return "the pirate that you fight" if turn == "choose" and number(state.row, "phase") == 3 else ASKS[turn]


def choice_number(state: State, name: str, place: int) -> int:
    """Returns the number of a pirate, or the place in the list."""
    return int(name[1:]) if value(state.row, "turn") == "pirate" else place


def option(state: State, action: int, values: Values) -> str:
    """Returns what an action leads to; for a lost fight, also which cards to remove."""
    words = state.action_words(action)
    if value(state.row, "turn") != "fight":
        return words
    if action == FREE:
        return words.replace("draw a free card", "draw on") if number(state.row, "free") else words
    if action != END:
        return words
    kinds, after = [], state.play(action)
    while not after.is_chance and value(after.row, "turn") == "remove":
        value_by_action = values(after)
        best = max(value_by_action, key=lambda a: (value_by_action[a], -a))
        if best == END:
            break
        kinds.append(table_cards(after.row)[best - CARD][0])
        after = after.play(best)
    words = ending_in_words(state.row, state.game.tables())
    return f"{words} and remove {listed(kinds)}" if kinds else words


def notes(state: State) -> tuple[str, ...]:
    """Returns the odds of the next card, and the cost of ending the fight now."""
    lines, row, T = [], state.row, state.game.tables()
    if value(row, "turn") == "fight":
        lines.append(cost_line(state))
    next_card = chances(row, T)
    if next_card:
        lines.append(f"next card: {odds_line(next_card)}")
    elif value(row, "turn") in ("fight", "target", "offer"):
        aging = sorted(value(row, "aging"))
        lines.append(
            f"the stack is empty: the discard is shuffled with an aging card ({', '.join(TITLES[k] for k in aging) or 'none left'})"
        )
    return tuple(lines)


def cost_line(state: State) -> str:
    """Returns a line about ending the fight now."""
    row, T = state.row, state.game.tables()
    short, hungry = missing(row, T), hunger(row, T)
    if not number(row, "free"):
        return "ending the fight now: not before a card is drawn"
    if fought_pirate(row) and (short or hungry > number(row, "life")):
        reason = f"{short} points short" if short else f"{hungry} life to pay"
        return f"ending the fight now: not possible against a pirate, {reason}"
    return f"ending the fight now: {ending_in_words(row, T)}"


def ending(state: State) -> str:
    """Returns the message about a finished game."""
    return f"game over, {'won' if state.returns else 'lost'}, final score {state.points:.0f}"


COMPANION = Companion(
    help=HELP,
    begins=Question("the level", LEVELS, "2"),
    begin=begin,
    check=check,
    asks=asks,
    ending=ending,
    option=option,
    notes=notes,
    number=choice_number,
)
