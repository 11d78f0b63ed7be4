"""What a game is. Read in this order:

1. `rules`: the compiled functions of a game, which work on rows of an array, with chance and symmetries.
2. `game`: `Game` has the rules and everything else that a game defines, in one variant, and refuses impossible definitions.
3. `state`: positions for people, and checks of rows from outside.
4. `evaluator` and `features`: leaf evaluators, and what networks see.

Helpers for authors of games: `stream` (random numbers), `bits` (words of 64 bits as sets and boards), `texts`.
"""
