"""Which tests run on one worker: those of one room, so that no game is compiled by two workers at once."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOMS = ("threes", "trilobite", "starship", "trap", "friday", "cassis", "solitaire", "dice")
"""The rooms and the test games, the longest to test first; what belongs to none comes after them, but for `LONGEST`."""
LONGEST = (
    "tests/training/publish/test_publish.py", "tests/examples/test_examples.py", "tests/front/test_demo.py",
    "tests/training/execution/test_killed_actors.py", "tests/docs/test_notebooks.py", "tests/front/test_plugins.py",
    "tests/architecture/test_package.py",
)  # fmt: skip
"""Files that take a minute or more, most of it in processes of their own: each runs as a whole, whatever games its tests name,
and before all others, so that at the end no worker waits for one of them."""
NAMED = re.compile(rf"(?<![a-z])({'|'.join(ROOMS)})")
OFTEN = 3
"""Times that a file names the room that it belongs to, at least."""


@cache
def room_named_in(file: str) -> str:
    """Returns the room that a file of tests names most, and with that compiles; the file itself where there is none."""
    text = (Path(__file__).parents[2] / file).read_text(encoding="utf-8").lower()
    (room, times), *_ = [*Counter(NAMED.findall(text)).most_common(1), ("", 0)]
    return room if times >= OFTEN else file


def room_of(nodeid: str) -> str:
    """Returns the room of a test, given as FILE::NAME[PARAMETERS]; of one that belongs to none, the file."""
    file = nodeid.partition("::")[0]
    if file in LONGEST:
        return file
    named = NAMED.search(nodeid.lower())
    return named[0] if named else room_named_in(file)


def sort(items: list[pytest.Item]) -> None:
    """Puts the tests of each room together, the longest first."""
    ranks = {group: k for k, group in enumerate((*LONGEST, *ROOMS))}
    items.sort(key=lambda item: ranks.get(room_of(item.nodeid), len(ranks)))


def scheduler(config: pytest.Config, log: Any) -> Any:
    """Returns a scheduler for pytest-xdist that hands a worker the tests of a whole room."""
    from xdist.scheduler import LoadScopeScheduling

    class ByRoom(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return room_of(nodeid)

    return ByRoom(config, log)
