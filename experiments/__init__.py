"""Studies: each is a command that plays, saves its results and writes its page (`python -m leafwise.experiments.equal_time`).

- `study`: the common parts, with a whole study as an example; `study.matches` runs studies of matches.
- `equal_time`: the best hand-made and the learned leaf of every game at equal time. `boards`: the README's picture.
- `search`, `methods`, `reference`, `cluster`, `levels`: over several games.
- `threes`, `trap`, ...: studies of one game. `archive`: pages whose code was removed.
"""
