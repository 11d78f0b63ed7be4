"""Searches over any game.

- `engine`: `Search`, with iterative deepening and a time limit, returns a `Result`; `search_options` has its options.
- `expectiminimax`: the compiled search itself, after the textbook algorithm; `table` is its transposition table.
- `frontier`: the same tree with leaves valued in batches. `rollout`: an evaluator that plays games to the end.
- `mcts`: Monte Carlo tree search. `base`: what it shares with `Search` (locking, Ctrl-C, the time limit).
- `players`: players named by a text, and the levels from easy to best.
"""

from leafwise.search.engine import Result, Search, Stopped

__all__ = ["Result", "Search", "Stopped"]
