"""What a search is told: its options, checked, and the memory that they need."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.numbers import Reals, Wholes, checked_options
from leafwise.search.frames import COLUMNS, COUNTS, POLL, POLL_EXPENSIVE, WORTHS, Buffers, Options
from leafwise.search.table import ENTRY_BYTES, GENERATIONS, MAX_ACTIONS

MAX_DEPTH = 64
"""Where iterative deepening ends if no clock ends it."""
MAX_THREADS = 256
MOST_SECONDS = 1e6
"""Most time for a search: eleven days."""
MOST_NODES = 10**15
NEVER = 1 << 62
ROUNDED = 1 - 1e-9
"""What rounding leaves of a toll at least."""
TABLE_MB = 16.0
"""Size of the table where it pays and nothing else is said: where pruning is on, or an action can cost no depth."""
LEAF_ENTRIES, EXPENSIVE_LEAF_ENTRIES = 1 << 12, 1 << 14
"""Most leaves that are remembered beside a table, of cheap and of expensive ones."""
CLOCKS = ("wall", "cpu")
ORDERINGS = ("table", "values", "killers")
TABLE_FROM = 2
"""Least depth left at which the table pays; 1 where an action can cost no depth."""
VALUES_FROM = 3
"""Least depth left at which one-ply values pay."""
PROBE_FROM = 2
"""Least depth left at which Star2 probes."""


WHOLE: Wholes = {
    "depth": (1, MAX_DEPTH, f"a depth of 1 to {MAX_DEPTH}"),
    "nodes": (0, MOST_NODES, f"nodes of 0 to {MOST_NODES:,}"),
    "width": (1, NEVER, "a width of at least 1"),
    "threads": (1, MAX_THREADS, f"1 to {MAX_THREADS} threads"),
}
SECONDS: tuple[Callable[[float], bool], str] = (
    lambda x: 0 < x <= MOST_SECONDS,
    f"seconds above 0 and at most {MOST_SECONDS:,.0f}",
)
REAL: Reals = {
    "seconds": SECONDS,
    "table_mb": (lambda x: 0 <= x <= 65536, "table_mb of 0 to 65536"),
    "cutoff": (lambda x: 0 <= x < 1, "a cutoff in [0, 1)"),
    "rare": (lambda x: 0 <= x <= 1, "rare in [0, 1]"),
}
SWITCHES = {"pruning", "star2", "deepening", "all_values", "batched", "whole_rows", "symmetric"}
OPEN = ("depth", "seconds", "pruning", "table_mb", "width")
"""Options that may be None, which leaves them to the search."""


def check_parts(game: object, evaluator: object, who: str = "search") -> None:
    """Raises ValueError for what is no game, or no evaluator."""
    if not isinstance(game, Game):
        raise ValueError(f"{who}: expected a Game, as leafwise.game(name) returns, got {game!r}")
    if not isinstance(evaluator, Evaluator):
        expected = "an Evaluator, as leafwise.leaf(game, model) makes of a model"
        raise ValueError(f"{who}: expected {expected}, got {type(evaluator).__name__}")


def names_among(given: Any, known: tuple[str, ...]) -> tuple[str, ...]:
    """Returns names of an ordering as a tuple; raises ValueError for others, and for a single text."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ValueError(f"search: expected an ordering as names among {', '.join(known)}, got {given!r}")
    names = tuple(given)
    for name in names:
        if name not in known:
            raise ValueError(f"search: expected an ordering among {', '.join(known)}, got {name!r}")
    return names


@dataclass(frozen=True)
class Settings:
    """The options of `Search`, which documents them."""

    depth: int | None = None
    seconds: float | None = None
    pruning: bool | None = None
    table_mb: float | None = None
    ordering: tuple[str, ...] = ()
    star2: bool = False
    deepening: bool = False
    cutoff: float = 0.0
    nodes: int = 0
    rare: float = 0.0
    width: int | None = None
    all_values: bool = True
    batched: bool = False
    threads: int = 1
    clock: str = "wall"
    whole_rows: bool = False
    symmetric: bool = False

    def checked(self) -> Settings:
        """Returns the options in one type each; raises ValueError for what no search can do."""
        given = {name: value for name, value in vars(self).items() if value is not None or name not in OPEN}
        found = checked_options("search", given, WHOLE, REAL, SWITCHES)
        settings = replace(self, **found, ordering=names_among(self.ordering, ORDERINGS))
        settings._check_together()
        return settings

    def _check_together(self) -> None:
        """Raises ValueError for options that do not go together, or for a clock that there is not."""
        if self.nodes and self.cutoff:
            raise ValueError(f"search: expected a cutoff or nodes, got {self.cutoff!r} and {self.nodes!r}")
        threads = self.threads
        if self.clock not in CLOCKS:
            raise ValueError(f"search: expected a clock among {', '.join(CLOCKS)}, got {self.clock!r}")
        if self.clock == "cpu" and (threads > 1 or self.batched):
            raise ValueError(f"search: expected the clock cpu with one thread and not batched, got {threads!r} threads")
        if self.batched and (self.pruning or self.table_mb or self.width is not None or threads > 1 or self.rare):
            got = f"{self.pruning!r}, {self.table_mb!r}, {self.width!r}, {threads!r} and {self.rare!r}"
            raise ValueError(
                f"search: expected batched without pruning, table_mb, width, more threads and rare, got {got}"
            )
        if self.symmetric and self.whole_rows:
            raise ValueError("search: expected symmetric or whole_rows, got both")

    def prunes(self, game: Game) -> bool:
        """Whether the search prunes: as told, or if the game has two players and leaves are valued one by one."""
        return game.players == 2 and not self.batched if self.pruning is None else self.pruning

    def entries(self, game: Game) -> int:
        """Returns the size of the table, a power of two; 1 is no table."""
        size = self.table_mb
        if size is None:
            size = TABLE_MB if not self.batched and (self.prunes(game) or game.search.decisions_per_depth > 1) else 0.0
        if size and game.max_actions >= MAX_ACTIONS:
            raise ValueError(f"search: expected table_mb=0 for {game.max_actions} actions, got {size!r}")
        return 1 if size == 0 else 1 << max(1, int(size * 1e6 / ENTRY_BYTES).bit_length() - 1)

    def grows(self, game: Game) -> bool:
        """Whether the first depth is searched with more and more decisions: against the clock, where the game bounds a depth."""
        return bool(game.search.nodes and self.seconds) and not (self.nodes or self.cutoff or self.batched)

    def share(self, actions: int, nodes: int) -> tuple[float, float]:
        """Returns the cutoff and the toll below each of so many root actions, or below a root where nobody decides (0).

        With `nodes`, where k more decisions may be searched a decision is reached with a probability of k tolls.
        """
        if not nodes:
            return self.cutoff, 0.0
        toll = 1.0 / nodes
        if actions:
            toll = actions / (nodes - 1) if nodes > 1 else 2.0
        return toll * ROUNDED, toll

    def options(self, game: Game, least: float, most: float) -> Options:
        """Returns what compiled code reads."""
        return Options(
            cutoff=float(self.cutoff),
            toll=0.0,
            generation=np.uint64(0),
            recall=self.seconds is not None,
            prune=self.prunes(game),
            least=least,
            most=most,
            table_from=TABLE_FROM if game.search.decisions_per_depth == 1 else 1,
            table_move="table" in self.ordering,
            values_from=VALUES_FROM if "values" in self.ordering else NEVER,
            killers="killers" in self.ordering,
            probe_from=PROBE_FROM if self.star2 else NEVER,
            rare=float(self.rare),
            width=self.width or NEVER,
            symmetries=game.symmetry_count if self.symmetric else 1,
        )


def make_buffers(
    game: Game, depth: int, entries: int, whole_rows: bool, options: Options, expensive: bool = False
) -> tuple[Any, Buffers]:
    """Returns the rows and the other memory of one search thread, whose leaves may be `expensive`."""
    levels = depth * game.search.decisions_per_depth + 1
    n = 1 + levels * (1 + game.max_stages * game.max_outcomes) + game.max_outcomes
    if game.rules.afterstates is not None:
        n += game.max_actions + 1
    frames = (levels + 1) * (1 + game.max_stages)
    table = np.zeros((entries, ENTRY_BYTES // 8), dtype=np.uint64)
    leaves = np.zeros((min(entries, EXPENSIVE_LEAF_ENTRIES if expensive else LEAF_ENTRIES), 2), dtype=np.uint64)
    return game.rows(n), Buffers(
        P=np.zeros(n),
        A=np.zeros((frames, game.max_actions), dtype=np.int64),
        scores=np.zeros((frames, game.max_actions)),
        frames=np.zeros((frames, COLUMNS), dtype=np.uint64),
        worth=np.zeros((frames, WORTHS)),
        between=np.zeros((n, 2)),
        best=np.zeros(n),
        killers=np.full((MAX_DEPTH + 1, 2), -1, dtype=np.int64),
        counts=np.zeros(COUNTS, dtype=np.int64),
        deadline=np.array([0, 0, POLL_EXPENSIVE if expensive else POLL], dtype=np.int64),
        table=table,
        proven=table.view(np.float64),
        leaves=leaves,
        leaf_values=leaves.view(np.float64),
        rows=game.rows(entries if whole_rows else 1),
        options=options,
    )


def renewed(B: Buffers) -> Buffers:
    """Returns buffers in which the entries of the table are old, and no killers are known."""
    generation = (int(B.options.generation) + 1) % GENERATIONS
    if generation == 0:
        B.table[:] = 0
        generation = 1
    B.killers[:] = -1
    return B._replace(options=B.options._replace(generation=np.uint64(generation)))
