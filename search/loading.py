"""Loading machine code before a clock starts."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import Forfeit
from leafwise.search.engine import Stopped

LONG = 1.0
"""Seconds after which a search that loads its code is stopped."""


def load_code(who: Any, state: State) -> None:
    """Has a player or a search answer once, so that loading its code for positions of this kind (decisions, or chance) is no part
    of its time.

    A player that says `is_loaded` is asked nothing, and may forfeit. A search is stopped after a second, where a single value
    takes long.
    """
    if getattr(who, "is_loaded", False):
        return
    if choose := getattr(who, "choose", None):
        with suppress(Forfeit):
            choose(state)
        return
    timer = threading.Timer(LONG, who.stop)
    timer.daemon = True
    timer.start()
    with suppress(Stopped):
        who(state)
    timer.cancel()
