"""What a game is. Read in this order:

1. `rules`: the compiled functions of a game, on rows of an array; chance and symmetries are parts of them.
2. `game`: `Game` has these and all else that a game says, in one variant; one that cannot be is refused.
3. `state`: positions for people, and rows from outside.
4. `evaluator` and `features`: what a leaf is, and what networks see.

Helpers for those who write a game: `stream` (random numbers), `bits` (words of 64 bits as sets and boards), `texts`.
"""
