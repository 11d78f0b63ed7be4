"""Invalid texts, and the check of a game's error."""

from __future__ import annotations

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.errors import UserError

ODD = [
    "",
    " ",
    "\n",
    "\0",
    "/",
    "=",
    "next=",
    "deck=-1,0,0",
    "١ ٢ ٣ ٤",
    "½",
    "1e3",
    "1_0",
    "0x1",
    "nan",
    "\ud800",
    "🎲",
]
HUGE = ["9" * 5000, "1 " * 20_000, "/" * 5000, "a=b " * 5000, "(" * 5000]


def assert_one_clear_line(game: Game, text: str) -> None:
    """Checks that a text is read, or raises a UserError with one short line that begins with the game's name."""
    try:
        state = game.parse(text)
    except UserError as problem:
        error = problem
    else:
        assert game.parse(str(state)) == state
        return
    assert type(error) is UserError  # other errors are bugs
    message = str(error)
    assert message.startswith(f"{game.name}: ")
    assert "expected" in message
    assert "\n" not in message
    assert len(message) < 400
