"""Studies: each is a command that plays, keeps its results and writes its page (`python -m leafwise.experiments.equal_time`).

- `study`: what all share, with a whole study as an example; `study.matches` runs those that are players, settings and games.
- `equal_time`: the best hand-made leaf and the learned one at equal time, in every game. `boards`: the README's picture.
- `search`, `methods`, `reference`, `cluster`, `levels`: over several games.
- `threes`, `trap`, ...: studies of one game. `archive`: pages whose code is gone.
"""
