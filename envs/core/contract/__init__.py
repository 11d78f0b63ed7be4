"""What a game is. Read in this order:

1. `rules`: the compiled functions of a game, on rows of an array; chance and symmetries are parts of them.
2. `parts`: what else a game says: sizes, observations, texts, what searches take, players of its own.
3. `game`: `Game` has all of these under a name, in one variant.
4. `options`: the options of a variant, in its file and from text; `numbers` reads numbers that people give.
5. `declared`: how a `Game` that cannot be one is refused.
6. `state`: positions for people, and rows from outside.
7. `evaluator` and `features`: what a leaf is, and what networks see.

Helpers for those who write a game: `stream` (random numbers), `bits` (words of 64 bits as sets and boards), `texts`.
"""
