"""Which tests run on one worker: those of one room, so that no game is compiled by two workers at once."""

from __future__ import annotations

import pytest

ROOMS = ("starship", "trap", "friday", "threes", "trilobite", "cassis", "dice", "solitaire")
"""The rooms and the test games, the longest to test first; what belongs to none comes last."""


def room_of(item: pytest.Item) -> str:
    """Returns the room that a test compiles most of: that of the game it is run for, else the one that the marker `room`,
    its file's path or its name names; else the file's own name."""
    parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    for parameter in parameters.values():
        if getattr(parameter, "name", None) in ROOMS:
            return str(parameter.name)
    if mark := item.get_closest_marker("room"):
        return str(mark.args[0])
    path = item.location[0]
    return next((room for room in ROOMS if room in path), path)


def in_groups(items: list[pytest.Item]) -> None:
    """Orders the tests by room, and tells pytest-xdist's `--dist loadgroup` to keep each room's together."""
    rooms = {item: room_of(item) for item in items}
    for item, room in rooms.items():
        item.add_marker(pytest.mark.xdist_group(room))
    ranks = {room: k for k, room in enumerate(ROOMS)}
    items.sort(key=lambda item: ranks.get(rooms[item], len(ROOMS)))
