"""The public Fridai engine's player, its search on our rules: `fridai:states=2000,info=fair`.

With `info=fair` what is hidden is shuffled before each decision, from a key that depends on nothing but the position, so equal
positions get equal choices. With `info=clairvoyant` the player deals the cards itself and sees their order, as the source does.
What differs from the source: our rules (its exceptions are not copied), equal scores are taken last in, first out, and of removal
sets inside the tree the empty one counts too.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream, next_u64
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.interrupts import stoppable
from leafwise.envs.core.play.players import ByName
from leafwise.envs.core.ranges import Range, need_among, need_in
from leafwise.envs.friday import layout
from leafwise.envs.friday.baselines import best_first as search
from leafwise.envs.friday.text import table_cards

STATES = 2000
MOST_STATES = 10_000_000
INFOS = ("fair", "clairvoyant")
SEARCH_SALT = 0x5851F42D4C957F2D
"""Makes the shuffles inside a search other ones than those of the game."""


@dataclass(frozen=True)
class Found:
    """What a search found."""

    actions: tuple[str, ...]
    """The best step: one action, or an ability with its targets, or a removal and its end."""
    score: int
    scores: dict[tuple[str, ...], int]
    """Backed-up score of every step from the root."""
    expanded: int
    """Positions taken from the queue."""
    generated: int
    """Positions generated and scored."""
    seconds: float


class Cards:
    """A deal of everything hidden: keys of the stack, the hazards and the aging pile, and a stream for later shuffles."""

    def __init__(self, seed: int) -> None:
        self.stream = new_stream(seed)
        with np.errstate(over="ignore"):
            self.keys = np.array([next_u64(self.stream) for _ in range(3)], dtype=np.uint64)

    def settle(self, state: State, before: State) -> State:
        """Returns the next decision (or end) after `state`, dealt; `before` is the decision that led there."""
        T, row = state.game.thread_tables, self.row(state)
        with np.errstate(over="ignore"):
            search.deal(row, np.uint64(0), layout.phase(self.row(before), np.uint64(0)), self.stream, T)
        self.keys = row[0, layout.WIDTH :].copy()
        return State.unchecked(state.game, row[0, : layout.WIDTH])

    def row(self, state: State) -> NDArray[np.uint64]:
        """Returns a position with the keys of its piles, shape [1, ROW_WORDS]."""
        return np.concatenate([state.row, self.keys])[None]


class BestFirst:
    """The search: `states` positions are taken from the queue, one after another. One instance serves one thread."""

    def __init__(self, game: Game, states: int = STATES) -> None:
        self.game, self.states = game, need_in(states, Range(1, MOST_STATES), "states", kind=int)
        self._T = game.tables()
        self._tree = search.make_tree(2**18 + 8 * states)

    def __call__(self, state: State, cards: Cards) -> Found:
        """Searches a decision on one deal of the hidden cards."""
        start = time.perf_counter()
        tree = self._tree
        search.clear(tree)
        tree.S[0] = cards.row(state)[0]
        tree.stream[:] = int(cards.keys[0]) ^ SEARCH_SALT, 0
        tree.counts[search.COUNT] = 1
        while True:
            stoppable(partial(search.grow, tree, self.states, self._T), self._T.stop)
            if not tree.counts[search.FULL]:
                break
            tree = self._tree = search.larger(tree)
        search.back_up(tree)
        n = int(tree.counts[search.COUNT])
        kept = [int(kind) for kind in tree.kept[: search.keep_worst(tree, 0, self._T)]] if is_removal(state) else None
        first = np.flatnonzero(tree.parent[1:n] == 0) + 1
        scores = {step(state, int(tree.path[k]), kept): int(tree.score[k]) for k in first}
        if not scores:  # a doubling was begun that no card is worth: the filters leave nothing
            scores = {(state.legal_names[0],): int(state.value(self.game.score("blend")))}
        best = max(scores, key=scores.__getitem__)
        spent = time.perf_counter() - start
        return Found(best, scores[best], scores, int(tree.counts[search.POPPED]), n - 1, spent)

    def stop(self) -> None:
        """Ends the running search soon, with what is known so far. Callable from any thread."""
        self._T.stop[0] = 1


def is_removal(state: State) -> bool:
    """Whether cards may be removed after a lost fight."""
    return bool(layout.mode(state.rows(), np.uint64(0)) == layout.REMOVE)


def step(state: State, path: int, kept: list[int] | None) -> tuple[str, ...]:
    """Returns the names of the actions that a path from the root stands for; `kept` are the kinds of a removal's sets."""
    names = state.game.actions
    if kept is None:
        found = [names[path & 255]]
        while path >> 8:
            path >>= 8
            found.append(names[path & 255])
        return tuple(reversed(found))
    found = []
    for kind in sorted(kind for k, kind in enumerate(kept) if path >> k & 1):
        slot = next(slot for slot, card in enumerate(table_cards(state.row)) if card[0] == kind)
        found.append(f"card{slot}")
        state = state.play(found[-1])
    return (*found, "end")


class Fridai(ByName):
    """Plays the best step of the search, action by action."""

    def __init__(self, search: Callable[[State, Cards], Found], info: str = "fair", name: str = "fridai") -> None:
        need_among(info, INFOS, "info")
        self.name, self.info, self.search = name, info, search
        self._step: list[tuple[State, str]] = []
        self._cards = Cards(0)
        self._before: State | None = None

    def choose(self, state: State) -> int:
        """Returns the id of a legal action at a decision."""
        self._before = state
        for expected, action in self._step:
            if expected == state:
                return state.game.action(action)
        self._step = []
        if len(state.legal_actions) == 1:
            return state.legal_actions[0]
        cards = self._cards if self.info == "clairvoyant" else Cards(crc32(state.row.tobytes()))
        at = state
        for action in self.search(state, cards).actions:
            self._step.append((at, action))
            at = at.play(action)
        return state.game.action(self._step[0][1])

    def dealer(self, seed: int) -> Callable[[State], State] | None:
        """Returns what deals a game that this player must see the cards of; None for a fair player."""
        if self.info == "fair":
            return None
        self._cards, self._before, self._step = Cards(seed), None, []
        return lambda state: self._cards.settle(state, self._before or state)


def named(game: Game, name: str, words: list[str]) -> Fridai:
    """Returns the player `fridai`, or `fridai:states=N,info=fair|clairvoyant`; raises ValueError for other words."""
    options = dict(word.partition("=")[::2] for word in words)
    if set(options) - {"states", "info"} or len(options) < len(words):
        raise UserError(f"expected at most states=N and info={'|'.join(INFOS)}, got {','.join(words)!r}")
    states = options.get("states", str(STATES))
    if not states.isascii() or not states.isdigit():
        raise UserError(f"expected a number of states, got {states!r}")
    return Fridai(BestFirst(game, int(states)), options.get("info", "fair"), name)
