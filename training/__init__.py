"""Training: the methods and their shared parts.

- `ntuple_td`, `selfplay`, `dqn`, `alphazero`, `ppo`, `starship`: a method each; the file of its name tells it from top to bottom.
- `runs`: a run's folder, options, loop and checkpoints. `recipes` says which methods fit a game, `gating` which network is better.
- `games`: compiled games that methods and matches share. `networks`: the torch modules and one step of learning.
- `evaluation`: matches, tournaments and their statistics. `execution`: in which processes or machines work is done.
- `dataset`: games for other people's learners. `publish`: a model measured on final seeds, with its card.
"""
