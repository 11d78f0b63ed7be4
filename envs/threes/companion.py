"""Follows a game of Threes on a phone: the person types what appears there, and gets the swipe.

The deck is counted along: every typed tile goes through the exact rules, so an entry that cannot happen is refused with
what could.
"""

from __future__ import annotations

from collections.abc import Callable

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.play.companion import Ask, Companion
from leafwise.envs.threes.text import ranks, tile_value

HELP = """  After each swipe type what appeared: the cell where the tile entered as row,column (from 0 at the top left), then
  the new next tile. Examples:
    3,1 2         the tile entered at row 3, column 1; next is 2
    6@3,1 +       a bonus entered, and it was a 6; next is a bonus
    left 3,1 2    you swiped left, not as recommended
    2             only one cell was possible; next is 2"""


def entered(state: State, word: str) -> State:
    """Returns the state after the tile has entered as typed: `3,1`, `6@3,1`, or "" where only one outcome is possible.

    Raises ValueError that says what could have appeared.
    """
    possible = state.outcomes_by_name()
    if word in possible:
        return possible[word]
    fitting = [name for name in possible if name.partition("@")[2] == word or word == ""]
    if len(fitting) == 1:
        return possible[fitting[0]]
    expected = ", ".join(fitting or possible)
    raise ValueError(f"expected what appeared, one of {expected}, got {word or 'nothing'!r}")


def drawn(state: State, word: str) -> State:
    """Returns the state after the next tile is shown; raises ValueError that says what it can be."""
    possible = state.outcomes_by_name()
    if word not in possible:
        counts = str(state).partition("deck=")[2].split()[0]
        expected = ", ".join(possible)
        raise ValueError(f"expected the next tile among {expected} (deck {counts}), got {word or 'nothing'!r}")
    return possible[word]


def follow(state: State, recommended: str, text: str) -> State:
    """Returns the state after one line `[SWIPE] [[TILE@]ROW,COLUMN] [NEXT]`; raises ValueError in one line."""
    words = text.split()
    swipe = words.pop(0) if words and words[0] in state.game.actions else recommended
    place = words.pop(0) if words and "," in words[0] else ""
    if len(words) > 1:
        raise ValueError(f"expected [swipe] [row,column] next, got {text!r}")
    after = entered(state.play(swipe), place)
    return after if after.is_terminal else drawn(after, words[0] if words else "")


def first_deck(board: str) -> str:
    """Returns the deck left after the nine start tiles, "" if the board is no start; the tile shown is still in it."""
    cards = [word for row in board.split("/") for word in row.split() if word != "0"]
    counts = [4 - cards.count(card) for card in ("1", "2", "3")]
    if len(cards) == 9 and sum(counts) == 3 and min(counts) >= 0:
        return ",".join(str(count) for count in counts)
    return ""


def without(deck: str, tile: str) -> str:
    """Returns a deck field after a base card has left it; raises ValueError if it is not in the deck."""
    counts = [int(count) for count in deck.split(",")]
    if tile in ("1", "2", "3"):
        counts[int(tile) - 1] -= 1
        if min(counts) < 0:
            raise ValueError(f"expected a next tile that is left after the nine start tiles ({deck}), got {tile!r}")
    return ",".join(str(count) for count in counts)


def typed_start(game: Game, ask: Ask, say: Callable[[str], None]) -> State | None:
    """Returns the position that the person types field by field, None to quit."""
    board = ask("board, four rows of tiles, 0 is empty (1 2 0 3/3 3 0 1/...)> ", game.parse)
    if board is None:
        return None
    left = first_deck(board)
    tile = ask("next tile (1, 2, 3 or +)> ", lambda text: with_tile(game, board, text, left))
    if tile is None:
        return None
    if left:
        say(f"a new game: 1s, 2s and 3s left in the deck are {without(left, tile)}")
        return with_tile(game, board, tile, left)

    def with_deck(text: str) -> State:
        return checked(game.parse(f"{board} next={tile} deck={text or '4,4,4'}"))

    deck = ask("1s, 2s and 3s not yet drawn, without the next tile (Enter: 4,4,4)> ", with_deck)
    return None if deck is None else with_deck(deck)


def with_tile(game: Game, board: str, tile: str, start_deck: str) -> State:
    """Returns a typed board with its next tile, drawn from what nine start tiles left or from any deck ("")."""
    deck = f" deck={without(start_deck, tile)}" if start_deck else ""
    return checked(game.parse(f"{board} next={tile}{deck}"))


def checked(state: State) -> State:
    """Returns the state if it is to play; raises ValueError for a finished game or a position without a next tile."""
    if state.is_terminal:
        raise ValueError("expected a position to play, got a finished game")
    if state.is_chance:
        raise ValueError("expected a position with the next tile, got none (next=1)")
    return state


def advice(state: State, best: str) -> str:
    """Returns the line that names the swipe and what may enter after it."""
    return f"swipe {best.upper()}; may enter: {', '.join(state.play(best).outcomes_by_name())}"


def ending(state: State) -> str:
    """Returns what is said of a finished game."""
    return f"game over, highest tile {tile_value(max(ranks(state.row)))}"


COMPANION = Companion(HELP, typed_start, checked, advice, follow, ending)
