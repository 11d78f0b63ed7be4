"""Searches over any game.

- `engine`: `Search`, which deepens, keeps the time and answers with a `Result`; `search_options` is what it may be told.
- `expectiminimax`: the search itself, compiled, after the algorithm as a textbook has it; `table` is its memory.
- `frontier`: the same tree for leaves that are valued in batches. `rollout`: games played to the end as a leaf.
- `mcts`: Monte Carlo tree search. `base`: what it and `Search` share (turns, Ctrl-C, the deadline).
- `players`: players named by a text. `levels`: easy to best.
"""

from leafwise.search.engine import Result, Search, Stopped

__all__ = ["Result", "Search", "Stopped"]
