"""`leafwise web`: a local page to play, analyse and follow games, on a JSON interface for any client.

`app` answers requests and serves `static`. `guard` decides whose requests are allowed. `requests` declares each kind of request
with its function, and `workers` sends it to a process that calls this function. The functions are in `games`, `analysis`, `runs`
and `ships`, which alone import numba and numpy.
"""
