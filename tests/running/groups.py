"""Which tests run on one worker: those of one room, so that no game is compiled by two workers at once."""

from __future__ import annotations

import re
from typing import Any

import pytest

ROOMS = ("threes", "trilobite", "starship", "trap", "friday", "cassis", "solitaire", "dice")
"""The rooms and the test games, the longest to test first; what belongs to none comes after them."""
NAMED = re.compile(rf"(?<![a-z])({'|'.join(ROOMS)})")
COMPILED = {
    "threes": "models/test_files models/test_ntuple models/test_packing search/test_approximate search/test_bench "
    "search/test_interrupt search/test_threads front/test_play evaluation/test_arena methods/test_td runs/test_folder "
    "experiments/test_learned",
    "trilobite": "dataset/test_dataset gym/test_opponents "
    "models/test_sparse front/test_solve front/test_arena_command evaluation/test_tournament "
    "methods/test_dqn_ppo methods/test_selfplay methods/test_alphazero methods/test_actors methods/test_killed_actors "
    "execution/test_cluster runs/test_events experiments/test_learned_leaves campaigns/test_kills",
    "starship": "front/test_ship",
    "trap": "search/test_clock",
    "friday": "search/test_costless methods/test_solo",
}
"""The room whose game is compiled most in files that no room's name is in."""
HOMES = {path: room for room, paths in COMPILED.items() for path in paths.split()}


def room_of(nodeid: str) -> str:
    """Returns the room of a test, given as FILE::NAME[PARAMETERS]; of one that belongs to none, the file."""
    file = nodeid.partition("::")[0]
    if home := HOMES.get("/".join(file.removesuffix(".py").split("/")[-2:])):
        return home
    named = NAMED.search(nodeid.lower())
    return named[0] if named else file


def sort(items: list[pytest.Item]) -> None:
    """Puts the tests of each room together, the longest first."""
    ranks = {room: k for k, room in enumerate(ROOMS)}
    items.sort(key=lambda item: ranks.get(room_of(item.nodeid), len(ROOMS)))


def scheduler(config: pytest.Config, log: Any) -> Any:
    """Returns a scheduler for pytest-xdist that hands a worker the tests of a whole room."""
    from xdist.scheduler import LoadScopeScheduling

    class ByRoom(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return room_of(nodeid)

    return ByRoom(config, log)
