"""Which tests run on one worker: those of one room, so that no game is compiled by two workers at once."""

from __future__ import annotations

import re

import pytest

ROOMS = ("threes", "trilobite", "starship", "trap", "friday", "cassis", "solitaire", "dice")
"""The rooms and the test games, the longest to test first; what belongs to none comes after them."""
NAMED = re.compile(rf"(?<![a-z])({'|'.join(ROOMS)})")


def room_of(item: pytest.Item) -> str:
    """Returns the room that a test compiles most of: what the marker `room` says, else what its file's path, its name or
    its parameters name, else the file."""
    if mark := item.get_closest_marker("room"):
        return str(mark.args[0])
    named = NAMED.search(item.nodeid.lower())
    return named[0] if named else item.location[0]


def in_groups(items: list[pytest.Item]) -> None:
    """Orders the tests by room, and tells pytest-xdist's `--dist loadgroup` to keep each room's together."""
    rooms = {item: room_of(item) for item in items}
    for item, room in rooms.items():
        item.add_marker(pytest.mark.xdist_group(room))
    ranks = {room: k for k, room in enumerate(ROOMS)}
    items.sort(key=lambda item: ranks.get(rooms[item], len(ROOMS)))
