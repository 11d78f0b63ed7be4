"""Groups tests by room: one worker runs the tests of a room, so that no game is compiled twice at the same time."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOMS = ("threes", "trilobite", "starship", "trap", "friday", "cassis", "solitaire", "dice")
"""The rooms and the test games, the slowest tests first. Other tests come after them, except those of `LONGEST`."""
LONGEST = (
    "tests/training/publish/test_publish.py", "tests/examples/test_examples.py", "tests/front/test_demo.py",
    "tests/training/execution/test_killed_actors.py", "tests/docs/test_notebooks.py", "tests/front/test_plugins.py",
    "tests/architecture/test_package.py",
)  # fmt: skip
"""Files that take a minute or more, mostly in child processes. Each is a group, whatever games its tests name. They run before all
others, so that at the end no worker waits for one of them."""
NAMED = re.compile(rf"(?<![a-z])({'|'.join(ROOMS)})")
OFTEN = 3
"""A file belongs to a room if it names the room at least this many times."""


@cache
def room_named_in(file: str) -> str:
    """Returns the room that a file of tests names most often, or the file if it has no room."""
    text = (Path(__file__).parents[2] / file).read_text(encoding="utf-8").lower()
    (room, times), *_ = [*Counter(NAMED.findall(text)).most_common(1), ("", 0)]
    return room if times >= OFTEN else file


def room_of(nodeid: str) -> str:
    """Returns the room of a test FILE::NAME[PARAMETERS], or its file if it has no room."""
    file = nodeid.partition("::")[0]
    if file in LONGEST:
        return file
    named = NAMED.search(nodeid.lower())
    return named[0] if named else room_named_in(file)


def sort(items: list[pytest.Item]) -> None:
    """Sorts the tests by room, the slowest rooms first."""
    ranks = {group: k for k, group in enumerate((*LONGEST, *ROOMS))}
    items.sort(key=lambda item: ranks.get(room_of(item.nodeid), len(ranks)))


def scheduler(config: pytest.Config, log: Any) -> Any:
    """Returns a scheduler for pytest-xdist that gives all tests of a room to one worker."""
    from xdist.scheduler import LoadScopeScheduling

    class ByRoom(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return room_of(nodeid)

    return ByRoom(config, log)
