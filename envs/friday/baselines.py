"""The public Fridai engine's player (jgwest), with its search on our rules: `fridai:states=2000,info=fair`.

The search is greedy best-first with max back-up over all generated positions. It plays on one deal of the hidden cards: a row
has three more words, the keys of its stack, its hazard stack and the aging pile. The key and n determine card number n from the
end of a pile, so every line of play meets the same order; a reshuffle draws a new key. The queue uses only the static score.
Positions that are reached twice are not recognised.

With `info=fair` hidden cards are shuffled before each decision, with a key that depends only on the position, so equal
positions get equal choices. With `info=clairvoyant` the player deals the cards itself and sees their order, as in the source.
Differences to the source: our rules (its exceptions are not copied), equal scores are taken last in, first out, and of removal
sets inside the tree the empty one counts too.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.arrays import Ints, Words
from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import copy_row
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import mix, new_stream, next_u64, u64
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.interrupts import stoppable
from leafwise.envs.core.play.players import ByName
from leafwise.envs.core.ranges import Range, need_among, need_in
from leafwise.envs.friday.cards import KINDS
from leafwise.envs.friday.fight import clear_table, end_turn
from leafwise.envs.friday.layout import (
    ACTIONS,
    COST,
    DEAL_AGING,
    DEAL_CARD,
    DEAL_HAZARD,
    DEAL_PIRATE,
    DISCARD,
    LEFT,
    LOST,
    POINTS_AT,
    RATING,
    REMOVE,
    TARGET,
    WIDTH,
    WON,
    ZERO,
    copies_in,
    count_of,
    digest,
    fact,
    get,
    in_play,
    life,
    mode,
    one_card,
    phase,
)
from leafwise.envs.friday.rules import apply_action, few, open_outcomes, pick, resolve
from leafwise.envs.friday.scores import LIFE_WEIGHT, life_left, mean_rating
from leafwise.envs.friday.text import table_cards

STACK_KEY, HAZARD_KEY, AGING_KEY = WIDTH, WIDTH + 1, WIDTH + 2
ROW_WORDS = WIDTH + 3
GOLDEN = u64(0x9E3779B97F4A7C15)
S11 = u64(11)

WON_SCORE = np.int64(2**31 - 1)
NO_SCORE = np.int64(-(2**62))
KEPT = 17
"""The largest number of cards that a removal decision considers."""
RESERVE = 4096
"""Free rows required before a position inside the tree is expanded: more than it can have children."""
LEVELS = 4

COUNT, POPPED, FULL, QUEUED = 0, 1, 2, 3
"""Indices of `StateTree.counts`: nodes, positions taken from the queue, whether rows ran out, positions in the queue."""


class StateTree(NamedTuple):
    """All nodes in the order of their generation, the root first, and the queue."""

    S: Words
    """[n + LEVELS, ROW_WORDS]: the positions; the last rows are scratch."""
    parent: NDArray[np.int32]
    score: Ints
    """Static score; after `back_up` the best score below."""
    path: Ints
    """The actions from the root to its children, the last lowest, 8 bits each, or the set of removed cards."""
    heap: Ints
    """The queue, the largest first: static score << 32 | node."""
    A: Ints
    """[LEVELS, actions]"""
    steps: Ints
    """[3, LEVELS]: for a decision and those inside its step, the number of actions, of tried ones, and the path there."""
    kept: Words
    """[KEPT]: kinds of the cards that a removal decision considers, worst first."""
    counts: Ints
    stream: Words
    """[2]: the stream of keys for reshuffles."""


@jit(inline=True)
def place(key, n):
    """Returns which of n cards comes next by the key of a pile."""
    return u64(np.float64(n) * (np.float64(mix(key + u64(n) * GOLDEN) >> S11) * (1.0 / 9007199254740992.0)))


@jit(inline=True)
def deal(S, j, before, R, T):
    """Resolves every chance stage at row j by the deal; `before` is the phase of the keys."""
    if phase(S, j) != before:
        S[j, HAZARD_KEY] = next_u64(R)
    while mode(S, j) <= DEAL_CARD:
        mode_now = mode(S, j)
        word = open_outcomes(S, j, T)
        key = S[j, STACK_KEY]
        if mode_now == DEAL_HAZARD:
            key = S[j, HAZARD_KEY]
        elif mode_now == DEAL_AGING:
            key = S[j, AGING_KEY]
        pirates = mode_now == DEAL_PIRATE
        n = np.int64(count_bits(word)) if pirates else count_of(digest(word, T))
        resolve(S, j, pick(word, place(key, n), pirates, T), T)
        if mode_now == DEAL_AGING:
            S[j, STACK_KEY] = next_u64(R)


@jit(inline=True)
def push(tree, node, score):
    """Puts a node into the queue."""
    heap, item, at_end = tree.heap, (score << 32) | node, tree.counts[QUEUED]
    tree.counts[QUEUED] += 1
    while at_end and heap[(at_end - 1) >> 1] < item:
        heap[at_end] = heap[(at_end - 1) >> 1]
        at_end = (at_end - 1) >> 1
    heap[at_end] = item


@jit(inline=True)
def pop(tree):
    """Takes the latest of the nodes with the highest score from the queue."""
    tree.counts[QUEUED] -= 1
    heap, n, slot = tree.heap, tree.counts[QUEUED], 0
    top, item = heap[0], heap[n]
    while 2 * slot + 1 < n:
        child = 2 * slot + 1
        if child + 1 < n and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= item:
            break
        heap[slot] = heap[child]
        slot = child
    heap[slot] = item
    return top & 0xFFFFFFFF


@jit(inline=True)
def mean_of_child(tree, node, parent, T):
    """Returns the mean rating in row `node`; it is read from the parent's score if no card was won or lost."""
    S, i, before = tree.S, u64(node), u64(parent)
    if in_play(S, i) != in_play(S, before):
        return mean_rating(S, i, T)
    return tree.score[parent] - LIFE_WEIGHT * np.int64(life(S, before))


@jit(inline=True)
def add_node(tree, node, parent, path, T):
    """Scores the position in row `node`, which is dealt to its next decision, and queues it unless it is over."""
    S, i = tree.S, u64(node)
    tree.parent[node] = parent
    tree.path[node] = path
    tree.counts[COUNT] = node + 1
    mode_now = mode(S, i)
    if mode_now == WON:
        tree.score[node] = WON_SCORE
        return
    mean = mean_of_child(tree, node, parent, T)
    tree.score[node] = LIFE_WEIGHT * life_left(S, i) + mean
    if mode_now != LOST:
        push(tree, node, tree.score[node])


@jit
def keep_worst(tree, node, T):
    """Lists the table's cards that fit into the removal points, from the worst on; returns their number."""
    S, i = tree.S, u64(node)
    points = np.int64(get(S, i, POINTS_AT))
    n = 0
    for rating in range(-8, 9):
        for k in range(KINDS):
            kind = u64(k)
            if fact(kind, RATING, T) == rating:
                for _ in range(np.int64(copies_in(S[i, LEFT], kind, T))):
                    if fact(kind, COST, T) <= points and n < KEPT:
                        points -= fact(kind, COST, T)
                        tree.kept[n] = kind
                        n += 1
    return n


@jit
def remove_set(tree, node, chosen, n, T):
    """Generates the child without a set of the kept cards (bits of `chosen`)."""
    S = tree.S
    child = tree.counts[COUNT]
    j = u64(child)
    copy_row(S, u64(node), j)
    for k in range(n):
        if (chosen >> k) & 1:
            S[j, LEFT] -= one_card(tree.kept[k], T)
    S[j, DISCARD] += clear_table(S, j)
    end_turn(S, j)
    deal(S, j, phase(S, u64(node)), tree.stream, T)
    add_node(tree, child, node, chosen, T)


@jit
def expand_removal(tree, node, T):
    """Generates the children of a removal decision: at the root every set of the kept cards, below it the set with the least
    rating.

    Of sets with the same cards by kind only one is generated. The empty set counts too, so below the root it is the set of all
    kept cards rated 0 or less.
    """
    n = keep_worst(tree, node, T)
    if node != 0:
        chosen = np.int64(0)
        for k in range(n):
            if fact(tree.kept[k], RATING, T) <= 0:
                chosen |= np.int64(1) << k
        remove_set(tree, node, chosen, n, T)
        return
    for subset in range((1 << n) - 1, -1, -1):
        doubled = False
        for k in range(1, n):
            if tree.kept[k] == tree.kept[k - 1] and (subset >> k) & 1 and not (subset >> (k - 1)) & 1:
                doubled = True
        if not doubled:
            remove_set(tree, node, np.int64(subset), n, T)


@jit
def expand(tree, node, T):
    """Generates the children of a decision; an ability with its targets is one step, and so are removals."""
    S = tree.S
    if mode(S, u64(node)) == REMOVE:
        expand_removal(tree, node, T)
        return
    scratch = u64(S.shape[0] - LEVELS)
    number, tried, paths = tree.steps
    number[0], tried[0], paths[0] = few(S, u64(node), tree.A[0], T), 0, 0
    before = phase(S, u64(node))
    level = 0
    while level >= 0:
        if tried[level] == number[level]:
            level -= 1
            continue
        row, a = scratch + u64(level - 1) if level else u64(node), tree.A[level, tried[level]]
        tried[level] += 1
        child = tree.counts[COUNT]
        j = u64(child)
        apply_action(S, row, a, j, T)
        path = (paths[level] << 8) | a
        if mode(S, j) == TARGET:  # the target belongs to the same step
            row = scratch + u64(level)
            copy_row(S, j, row)
            level += 1
            number[level], tried[level], paths[level] = few(S, row, tree.A[level], T), 0, path
        else:
            deal(S, j, before, tree.stream, T)
            add_node(tree, child, node, path, T)


@jit
def grow(tree, budget, T):
    """Expands positions from the queue until the budget is spent, the queue is empty, or rows run out."""
    if tree.counts[COUNT] == 1:
        tree.score[0] = LIFE_WEIGHT * np.int64(life(tree.S, ZERO)) + mean_rating(tree.S, ZERO, T)
        expand(tree, 0, T)
    tree.counts[FULL] = 0
    while tree.counts[POPPED] <= budget and tree.counts[QUEUED] > 0:
        if tree.counts[COUNT] + RESERVE + LEVELS > tree.S.shape[0]:
            tree.counts[FULL] = 1
            return
        if tree.counts[POPPED] & 1023 == 0 and T.stop[0]:
            return
        node = pop(tree)
        tree.counts[POPPED] += 1
        first = tree.counts[COUNT]
        expand(tree, node, T)
        if tree.counts[COUNT] > first:
            tree.score[node] = NO_SCORE


@jit
def back_up(tree):
    """Gives every inner node the highest score of its children, which come after their parents."""
    for node in range(tree.counts[COUNT] - 1, 0, -1):
        parent = tree.parent[node]
        if parent > 0 and tree.score[node] > tree.score[parent]:
            tree.score[parent] = tree.score[node]


def make_tree(rows: int) -> StateTree:
    """Returns an empty tree with room for `rows` nodes; memory is touched as it fills."""
    return StateTree(
        S=np.empty((rows + LEVELS, ROW_WORDS), dtype=np.uint64),
        parent=np.empty(rows, dtype=np.int32),
        score=np.empty(rows, dtype=np.int64),
        path=np.empty(rows, dtype=np.int64),
        heap=np.empty(rows, dtype=np.int64),
        A=np.zeros((LEVELS, len(ACTIONS)), dtype=np.int64),
        steps=np.zeros((3, LEVELS), dtype=np.int64),
        kept=np.zeros(KEPT, dtype=np.uint64),
        counts=np.zeros(4, dtype=np.int64),
        stream=np.zeros(2, dtype=np.uint64),
    )


def larger(tree: StateTree) -> StateTree:
    """Returns the tree with room for twice as many nodes."""
    bigger = make_tree(2 * len(tree.parent))
    for name in StateTree._fields:
        old = getattr(tree, name)
        getattr(bigger, name)[: len(old)] = old
    return bigger


STATES = 2000
MOST_STATES = 10_000_000
INFOS = ("fair", "clairvoyant")
SEARCH_SALT = 0x5851F42D4C957F2D
"""Makes the shuffles of a search differ from those of the game."""


@dataclass(frozen=True)
class SearchResult:
    """The result of a search."""

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


class HiddenDeal:
    """A deal of all hidden cards: keys of the stack, the hazards and the aging pile, and a stream for later shuffles."""

    def __init__(self, seed: int) -> None:
        self.stream = new_stream(seed)
        with np.errstate(over="ignore"):
            self.keys = np.array([next_u64(self.stream) for _ in range(3)], dtype=np.uint64)

    def settle(self, state: State, before: State) -> State:
        """Returns the next decision (or the end) after `state`; `before` is the decision that led there."""
        T, row = state.game.thread_tables, self.row(state)
        with np.errstate(over="ignore"):
            deal(row, np.uint64(0), phase(self.row(before), np.uint64(0)), self.stream, T)
        self.keys = row[0, WIDTH:].copy()
        return State.unchecked(state.game, row[0, :WIDTH])

    def row(self, state: State) -> Words:
        """Returns a position with the keys of its piles, shape [1, ROW_WORDS]."""
        return np.concatenate([state.row, self.keys])[None]


class BestFirst:
    """The search: it expands `states` positions from the queue. One instance serves one thread."""

    def __init__(self, game: Game, states: int) -> None:
        self.game, self.states = game, need_in(states, Range(1, MOST_STATES), "states", kind=int)
        self._T = game.tables()
        self._tree = make_tree(2**18 + 8 * states)

    def __call__(self, state: State, cards: HiddenDeal) -> SearchResult:
        """Searches a decision on one deal of the hidden cards."""
        start = time.perf_counter()
        tree = self._tree
        tree.counts[:] = 0
        tree.S[0] = cards.row(state)[0]
        tree.stream[:] = int(cards.keys[0]) ^ SEARCH_SALT, 0
        tree.counts[COUNT] = 1
        while True:
            stoppable(partial(grow, tree, self.states, self._T), self._T.stop)
            if not tree.counts[FULL]:
                break
            tree = self._tree = larger(tree)
        back_up(tree)
        n = int(tree.counts[COUNT])
        kept = [int(kind) for kind in tree.kept[: keep_worst(tree, 0, self._T)]] if is_removal(state) else None
        first = np.flatnonzero(tree.parent[1:n] == 0) + 1
        scores = {step(state, int(tree.path[k]), kept): int(tree.score[k]) for k in first}
        if not scores:  # a doubling has begun without a worthwhile target: the filters leave nothing
            scores = {(state.legal_names[0],): int(state.value(self.game.score("blend")))}
        best = max(scores, key=scores.__getitem__)
        seconds = time.perf_counter() - start
        return SearchResult(best, scores[best], scores, int(tree.counts[POPPED]), n - 1, seconds)

    def stop(self) -> None:
        """Ends the running search soon, with the results so far. Callable from any thread."""
        self._T.stop[0] = 1


def is_removal(state: State) -> bool:
    """Whether cards may be removed after a lost fight."""
    return bool(mode(state.rows(), np.uint64(0)) == REMOVE)


def step(state: State, path: int, kept: list[int] | None) -> tuple[str, ...]:
    """Returns the names of the actions of a path from the root; `kept` are the kinds of a removal's sets."""
    names = state.game.actions
    if kept is None:
        actions = [names[path & 255]]
        while path >> 8:
            path >>= 8
            actions.append(names[path & 255])
        return tuple(reversed(actions))
    actions = []
    for kind in sorted(kind for k, kind in enumerate(kept) if path >> k & 1):
        slot = next(slot for slot, card in enumerate(table_cards(state.row)) if card[0] == kind)
        actions.append(f"card{slot}")
        state = state.play(actions[-1])
    return (*actions, "end")


class Fridai(ByName):
    """Plays the best step of the search, action by action."""

    def __init__(
        self, search: Callable[[State, HiddenDeal], SearchResult], info: str = "fair", name: str = "fridai"
    ) -> None:
        need_among(info, INFOS, "info")
        self.name, self.info, self.search = name, info, search
        self._step: list[tuple[State, str]] = []
        self._cards = HiddenDeal(0)
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
        cards = self._cards if self.info == "clairvoyant" else HiddenDeal(crc32(state.row.tobytes()))
        position = state
        for action in self.search(state, cards).actions:
            self._step.append((position, action))
            position = position.play(action)
        return state.game.action(self._step[0][1])

    def dealer(self, seed: int) -> Callable[[State], State] | None:
        """Returns a function that deals a game whose cards this player sees; None for a fair player."""
        if self.info == "fair":
            return None
        self._cards, self._before, self._step = HiddenDeal(seed), None, []
        return lambda state: self._cards.settle(state, self._before or state)


def fridai_player(game: Game, name: str, words: list[str]) -> Fridai:
    """Returns the player `fridai`, or `fridai:states=N,info=fair|clairvoyant`; raises ValueError for other words."""
    options = dict(word.partition("=")[::2] for word in words)
    if set(options) - {"states", "info"} or len(options) < len(words):
        raise UserError(f"expected no options but states=N and info={'|'.join(INFOS)}, got {','.join(words)!r}")
    states = options.get("states", str(STATES))
    if not states.isascii() or not states.isdigit():
        raise UserError(f"expected a number of states, got {states!r}")
    return Fridai(BestFirst(game, int(states)), options.get("info", "fair"), name)
