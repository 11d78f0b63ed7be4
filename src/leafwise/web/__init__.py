"""`leafwise web`: a local page to play, analyse and follow games, over a JSON interface that others can use too.

`app` answers requests and serves `static`; `guard` says whose; `asks` is what may be asked; `pool` hands the work to processes of
`worker`, which does what `positions`, `thinking` and `games_as_text` can. Nothing here imports numba or numpy but those last four.
"""
