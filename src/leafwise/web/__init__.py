"""`leafwise web`: a local page to play, analyse and follow games, over a JSON interface that others can use too.

`app` answers requests and serves `static`; `guard` says whose; `requests` declares what may be asked, once, with the function that
answers it; `workers` hands it to processes that call these functions: those of `games`, `analysis`, `runs` and `ships`, which alone
import numba and numpy.
"""
