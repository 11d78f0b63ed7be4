"""2048 for Leafwise: see `rules`."""

from leafwise_2048.rules import GAME as GAME
