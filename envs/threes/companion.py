"""Follows a game of Threes on a phone: the person types what appears there, and gets the recommended swipe.

Every typed tile goes through the exact rules, which count the deck. An impossible entry is refused with the possible ones.
"""

from __future__ import annotations

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.play.companion import Companion, Question, Values
from leafwise.envs.threes.text import deck_text, ranks, tile_value

HELP = """  First the board, then the next tile. After each swipe type what appeared: the cell where the tile entered as row,column
  (from 0 at the top left), then the new next tile. Examples:
    3,1 2         the tile entered at row 3, column 1; next is 2
    6@3,1 +       a bonus entered, and it was a 6; next is a bonus
    left 3,1 2    you swiped left, not as recommended
    2             only one cell was possible; next is 2"""
BEGINS = Question(
    "the board, four rows of tiles, 0 is empty; unless the game is new, with the 1s, 2s and 3s not yet drawn",
    form="1 2 0 3/3 3 0 1/0 0 0 0/0 0 6 0 deck=2,1,3",
)
DRAW = "draw"


def begin(game: Game, text: str) -> tuple[State, str]:
    """Returns the position of a typed board, and a message about the assumed deck; raises ValueError for a wrong board.

    The deck of a new game is what its nine start tiles left; any other deck is full unless it is typed.
    """
    left = first_deck(text)
    if left and "deck=" not in text:
        board, _, tile = text.partition("next=")
        state = game.parse(f"{board} deck={left}")
        if tile:
            state = state.outcomes_by_name()[drawn(state, tile.strip())]
        return state, f"a new game: 1s, 2s and 3s left in the deck are {deck_text(state.row)}"
    state = game.parse(text)
    check(state)
    assumption = f"1s, 2s and 3s not yet drawn are taken to be {deck_text(state.row)}; deck= tells others"
    return state, "" if "deck=" in text else assumption


def first_deck(board: str) -> str:
    """Returns the deck after the nine start tiles, with the tile shown; "" if the board is not a start."""
    words = board.split("=")[0].replace("/", " ").split()
    tiles = [word for word in words if word.isdigit() and word != "0"]
    counts = [4 - tiles.count(card) for card in ("1", "2", "3")]
    return ",".join(map(str, counts)) if len(tiles) == 9 and sum(counts) == 3 and min(counts) >= 0 else ""


def check(state: State) -> None:
    """Raises ValueError for a finished game, and during the setup."""
    if state.is_terminal:
        raise UserError("expected a position to play, got a finished game")
    if state.stage == "setup":
        raise UserError(f"expected a board to play on, got one that is not complete: {str(state)!r}")


def asks(state: State) -> str:
    """Returns what is asked for in a position."""
    return {"enter": "where the tile entered", DRAW: "the next tile"}.get(state.stage, "what appeared")


def read(state: State, text: str, best: str) -> list[str]:
    """Returns the names in a line `[SWIPE] [[TILE@]ROW,COLUMN] [NEXT]`, or in its rest; raises ValueError in one line."""
    words, names = text.split(), []
    if not state.is_chance:
        names.append(words.pop(0) if words and words[0] in state.game.actions else best)
        if not names[0]:
            raise UserError(f"expected a swipe among {', '.join(state.legal_names)}, got {text!r}")
        state = state.play(names[0])
    while state.is_chance and (words or state.stage != DRAW):
        if state.stage == DRAW:
            name = drawn(state, words.pop(0))
        else:
            place = words.pop(0) if words and "," in words[0] else ""
            if not (place or words):
                break  # asked for next
            name = entered(state, place)
        names.append(name)
        state = state.outcomes_by_name()[name]
    if (words and not state.is_terminal) or not names:
        raise UserError(f"expected [swipe] [row,column] next, got {text!r}")
    return names


def entered(state: State, word: str) -> str:
    """Returns the outcome that was typed: `3,1`, `6@3,1`, or "" if only one is possible.

    Raises ValueError that names the possible outcomes.
    """
    possible = state.outcomes_by_name()
    fitting = [name for name in possible if name == word or name.partition("@")[2] == word or word == ""]
    if len(fitting) == 1:
        return fitting[0]
    expected = ", ".join(fitting or possible)
    raise UserError(f"expected what appeared, one of {expected}, got {word or 'nothing'!r}")


def drawn(state: State, word: str) -> str:
    """Returns the tile that was typed; raises ValueError that names the possible tiles."""
    possible = state.outcomes_by_name()
    if word not in possible:
        expected = f"{', '.join(possible)} (deck {deck_text(state.row)})"
        raise UserError(f"expected the next tile among {expected}, got {word!r}")
    return word


def option(state: State, action: int, values: Values) -> str:
    """Returns a swipe with the tiles that may enter after it."""
    after = state.play(action)
    name = state.game.actions[action]
    return name if after.is_terminal else f"swipe {name.upper()}; may enter: {', '.join(after.outcomes_by_name())}"


def ending(state: State) -> str:
    """Returns the message about a finished game."""
    return f"game over, highest tile {tile_value(max(ranks(state.row)))}"


COMPANION = Companion(
    help=HELP,
    begins=BEGINS,
    begin=begin,
    check=check,
    asks=asks,
    ending=ending,
    form="left 3,1 2",
    read=read,
    option=option,
)
