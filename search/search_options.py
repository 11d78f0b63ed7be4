"""The options of searches, with their ranges, defaults and effects, and the memory that a search needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Annotated, Any, NamedTuple, Self, TypeVar

import numpy as np

from leafwise.envs.core.arrays import Array, Floats, Ints, Words
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import MAX_DEPTH, Game
from leafwise.envs.core.errors import UserError, perhaps
from leafwise.envs.core.fields import types_of
from leafwise.envs.core.ranges import OneOf, Range, check_fields, need_among
from leafwise.search.expectiminimax import COLUMNS, COUNTS, POLL, POLL_ALWAYS, WORTHS
from leafwise.search.table import ENTRY_BYTES, MAX_ACTIONS

D = TypeVar("D")
ints: Any = partial(np.zeros, dtype=np.int64)

MAX_THREADS = 256
MAX_SECONDS = 1_000_000
"""Maximum time limit of a search: eleven days."""
MAX_NODES = 10**15
MAX_MB = 65536
NEVER = 1 << 62
ROUNDED = 1 - 1e-9
"""Smallest share of a node cost that rounding errors leave."""
TABLE_MB = 16.0
"""Default size of the table where it pays: with pruning, or if an action can cost no depth."""
CHEAP_LEAF_ENTRIES, COSTLY_LEAF_ENTRIES = 1 << 12, 1 << 14
"""Size of the cache of leaves beside a table, for cheap and for expensive evaluators."""
CLOCKS = ("wall", "cpu")
ORDERINGS = ("table", "values", "killers")
TABLE_FROM = 2
"""Minimum depth left for the table to pay; 1 if an action can cost no depth."""
VALUES_FROM = 3
"""Minimum depth left for ordering by one-ply values to pay."""
PROBE_FROM = 2
"""Minimum depth left at which Star2 probes."""
SECONDS = Range(0, MAX_SECONDS, above=True)


def option(default: D, *, exact: bool = True, in_text: bool = True) -> D:
    """Declares an option: a dataclass field with its default.

    Args:
        exact: whether the option changes no value of the search.
        in_text: whether the text of a player may name it.
    """
    option_field: Any = field(default=default, metadata={"exact": exact, "in_text": in_text})
    return option_field


def switch(text: str) -> bool:
    """Reads 0 or 1."""
    return {"0": False, "1": True}[text]


READERS: dict[str, Callable[[str], Any]] = {"int": int, "float": float, "str": str, "bool": switch}


def readers(options: type[BaseOptions]) -> dict[str, Callable[[str], Any]]:
    """Returns the options that the text of a player may name, and the function that reads each."""
    types = types_of(options)
    return {one.name: READERS[types[one.name].partition(" ")[0]] for one in fields(options) if one.metadata["in_text"]}


def read_options(
    words: Iterable[str], known: Mapping[str, Callable[[str], Any]], with_depth: Iterable[str] = ()
) -> dict[str, Any]:
    """Parses words like `depth=3` by the functions of `known`; raises ValueError for unknown options and wrong values.

    `with_depth` are options that could be given together with a depth.
    """
    others = f", or with depth among {', '.join(with_depth)}" if with_depth else ""
    options: dict[str, Any] = {}
    for word in words:
        option, equals, value = word.partition("=")
        if not equals or option not in known:
            near = perhaps(option, [*known, *with_depth])
            raise UserError(f"expected options among {', '.join(known)}{others}, got {word!r}{near}")
        try:
            options[option] = known[option](value)
        except (ValueError, KeyError):
            kind = {int: "a whole number", switch: "0 or 1"}.get(known[option], "a number")
            raise UserError(f"expected {kind} for {option}, got {value!r}") from None
    return options


@dataclass(frozen=True)
class BaseOptions:
    """Base of the options of both kinds of search."""

    @classmethod
    def of_call(cls, given: Mapping[str, Any]) -> Self:
        """Picks the options out of the arguments of a call."""
        return cls(**{one.name: given[one.name] for one in fields(cls)})


@dataclass(frozen=True)
class SearchOptions(BaseOptions):
    """The options of `Search`: names, types, ranges, defaults and effects.

    `Search`, `docs/search.md` and `--help` quote the first line of each.
    """

    depth: Annotated[int | None, Range(1, MAX_DEPTH)] = option(None)
    """Number of decisions to look ahead. With `seconds` it is the maximum.

    Default: `game.search.depth`, with `seconds` no limit.
    """
    seconds: Annotated[float | None, SECONDS] = option(None)
    """Time limit of a search. The result comes from the greatest depth that was completed.

    The first depth is always completed. Where some actions cost no depth, the search first visits only 64 decisions. While time
    is left, it repeats depth 1 with four times as many. The time of the first search starts when its code is compiled.
    """
    all_values: bool = option(True, in_text=False)
    """True: every root action gets its exact value. False: only the best action does, which is faster with pruning.

    The value of another action may then be an upper bound (`Result.bounds`). If the time ends within a depth, the actions
    searched until then count. The search goes no deeper if only one action is legal, or the best action already has the highest
    possible value.
    """
    pruning: bool | None = option(None)
    """Alpha-beta pruning at decisions. If the leaf has bounds on its values, also Star1 at chance nodes.

    Default: on in two-player games, off with `batched`.
    """
    table_mb: Annotated[float | None, Range(0, MAX_MB)] = option(None)
    """Size of the transposition table in MB (32 bytes a position); 0: no table.

    A table saves time if the search prunes, or if some actions cost no depth. The default is 16 in these cases, else 0.
    """
    ordering: Iterable[str] = option(ORDERINGS, in_text=False)
    """How a pruning search orders actions: by the "table", by one-ply "values", by "killers" (actions that pruned in siblings).

    "table" stands for the best action of a shallower search. The option is a list of these names.
    """
    star2: bool = option(False)
    """At a chance node, first tries one action after each outcome (Star2). Needs pruning and a leaf with bounds.

    Off by default, because it costs more than it saves if an action has few outcomes.
    """
    deepening: bool = option(False)
    """Also without `seconds`, searches depth 1, then 2, and so on. Each depth orders the actions of the next.

    Off by default, because one-ply values order the actions of most games well enough.
    """
    cutoff: Annotated[float, Range(0, 1, below=True)] = option(0.0, exact=False)
    """Decisions that chance reaches with a smaller probability than this get the leaf's value; 0: no cutoff."""
    nodes: Annotated[int | None, Range(0, MAX_NODES)] = option(None, exact=False)
    """Maximum number of decisions that a search to one depth visits, the root included; 0: no limit.

    Each decision divides what is left of the limit equally among its actions, and each chance node divides it among its outcomes
    by probability. The leaf values a decision whose part is less than 1. Default: `game.search.nodes`, which is 0 in most games;
    with `seconds` or `cutoff` no limit.
    """
    rare: Annotated[float, Range(0, 1)] = option(0.0, exact=False)
    """Outcomes whose probability at their chance node is smaller than this get the leaf's value; 0: none."""
    width: Annotated[int | None, Range(1, NEVER)] = option(None, exact=False)
    """Maximum number of actions searched at a decision: those with the best one-ply values. Default: no limit.

    The root keeps all actions, and so do the last decisions before the search stops.
    """
    candidates: str | None = option(None, exact=False)
    """Name of the set of actions considered, among `game.search.candidates`; default: all legal actions."""
    batched: bool | None = option(None)
    """Grows the tree first, then values its last positions in batches. Excludes pruning, table, width, threads and rare.

    Default: only for a leaf that has no compiled value.
    """
    threads: Annotated[int, Range(1, MAX_THREADS)] = option(1)
    """Number of threads that share the root actions, each with its own memory."""
    clock: Annotated[str, OneOf(CLOCKS)] = option("wall")
    """How `seconds` are measured: "wall" time, or "cpu" time of the searching thread.

    "cpu" is for measurements on a busy machine.
    """
    whole_rows: bool = option(False, in_text=False)
    """For tests: the table compares whole positions, not 93 bits of hashes."""
    symmetric: bool = option(False)
    """Positions that are equal up to a symmetry of the board share an entry of the table.

    It needs pruning. It is exact for evaluators that value such positions alike, which networks do not. Off by default, because
    finding the common form costs more than it saves.
    """

    def resolved(self, game: Game, evaluator: Evaluator) -> SearchOptions:
        """Checks the options and fills in the defaults that depend on game and evaluator; raises ValueError in one line."""
        nodes, batched = self.nodes, self.batched
        if nodes is None:
            nodes = game.search.nodes if self.seconds is None and not self.cutoff else 0
        if batched is None:
            batched = evaluator.value is None
        if isinstance(self.ordering, str) or not isinstance(self.ordering, Iterable):
            known = ", ".join(ORDERINGS)
            raise UserError(f"search: expected an ordering as names among {known}, got {self.ordering!r}")
        ordering = tuple(self.ordering)
        for name in ordering:
            need_among(name, ORDERINGS, "an ordering", "search")
        options = check_fields(replace(self, nodes=nodes, batched=batched, ordering=ordering), "search")
        threads = options.threads
        if options.nodes and options.cutoff:
            raise UserError(f"search: expected a cutoff or nodes, got {options.cutoff!r} and {options.nodes!r}")
        if options.clock == "cpu" and (threads > 1 or options.batched):
            raise UserError(f"search: expected the clock cpu with one thread and not batched, got {threads!r} threads")
        if options.batched and (
            options.pruning or options.table_mb or options.width is not None or threads > 1 or options.rare
        ):
            got = f"{options.pruning!r}, {options.table_mb!r}, {options.width!r}, {threads!r} and {options.rare!r}"
            raise UserError(
                f"search: expected batched without pruning, table_mb, width, more threads and rare, got {got}"
            )
        if options.symmetric and options.whole_rows:
            raise UserError("search: expected symmetric or whole_rows, got both")
        return options

    def prunes(self, game: Game) -> bool:
        """Whether the search prunes: by the option, else in two-player games without `batched`."""
        return game.players == 2 and not self.batched if self.pruning is None else self.pruning

    def entries(self, game: Game) -> int:
        """Returns the number of entries of the table, a power of two; 1: no table."""
        size = self.table_mb
        if size is None:
            size = TABLE_MB if not self.batched and (self.prunes(game) or game.search.decisions_per_depth > 1) else 0.0
        if size and game.max_actions >= MAX_ACTIONS:
            raise UserError(f"search: expected table_mb=0 for {game.max_actions} actions, got {size!r}")
        return 1 if size == 0 else 1 << max(1, int(size * 1e6 / ENTRY_BYTES).bit_length() - 1)

    def share(self, actions: int, nodes: int) -> tuple[float, float]:
        """Returns the cutoff and the node cost below each root action, of which there are `actions`; 0: the root is a chance node.

        With `nodes`, a decision below which k decisions may be searched has a reach of k node costs.
        """
        if not nodes:
            return self.cutoff, 0.0
        node_cost = 1.0 / nodes
        if actions:
            node_cost = actions / (nodes - 1) if nodes > 1 else 2.0
        return node_cost * ROUNDED, node_cost

    def compiled(self, game: Game, least: float, most: float) -> CompiledSearchOptions:
        """Returns the options that compiled code reads; `least` and `most` are the bounds of leaves."""
        return CompiledSearchOptions(
            cutoff=float(self.cutoff),
            node_cost=0.0,
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


class CompiledSearchOptions(NamedTuple):
    """Options that compiled code reads at run time."""

    cutoff: float
    """Decisions reached with a smaller probability than this are leaves (0: exact)."""
    node_cost: float
    """Subtracted from the reach of a decision before the rest is divided among its actions (0: each action keeps all of it)."""
    recall: bool
    """Whether entries of earlier searches count."""
    prune: bool
    least: float
    """No leaf is worth less than `least` or more than `most` (infinite: unknown, and no pruning at chance nodes)."""
    most: float
    table_from: int
    """Minimum depth left of decisions that go to the table."""
    table_move: bool
    values_from: int
    """Minimum depth left of decisions whose actions are ordered by one-ply values."""
    killers: bool
    probe_from: int
    """Minimum depth left of chance nodes that probe their outcomes first (Star2)."""
    rare: float
    """Outcomes less probable than this are valued as leaves (approximate). Only the code with pruning reads it, so `Search` uses
    that code for it."""
    width: int
    """Maximum number of actions searched at a decision with two or more decisions left (approximate)."""
    symmetries: int
    """Number of symmetries under which decisions share an entry of the table (1: none); only with pruning."""


class SearchBuffers(NamedTuple):
    """Scratch and run-time options of one search thread."""

    P: Floats
    """Probabilities, one per row."""
    A: Ints
    """Legal actions, [frame, action]."""
    scores: Floats
    """Scores that order them, [frame, action], the highest first; only with pruning."""
    frames: Words
    """The open nodes from the root down, [frame, COLUMNS]."""
    worth: Floats
    """Their values, [frame, WORTHS]."""
    between: Floats
    """Bounds of outcomes that Star2 probes, [row, 2]."""
    best: Floats
    """Value of the best action so far after each outcome, [row]; for outcomes that share their afterstates."""
    killers: Ints
    """The last two actions that cut a decision, [depth left, 2]; only with pruning."""
    counts: Ints
    deadline: Ints
    """When the search ends, [3]: the number of a clock, its nanoseconds then (0: never), and how often it is read, POLL or
    POLL_ALWAYS."""
    table: Words
    """Transposition table, [entries, 4]; a power of two, 1: no table. Columns: `leafwise.search.table`."""
    proven: Floats
    """The same memory read as floats."""
    leaves: Words
    """Cache of leaves, [entries, 2]: second hash of the row, value; 1: no cache."""
    leaf_values: Floats
    """The same memory read as floats."""
    generation: Words
    """Generation of the search, [1]: entries of the table with another one are old."""
    rows: Array
    """The row of each entry, [entries, width], to compare instead of hashes; 1: only hashes are compared."""
    options: CompiledSearchOptions


def make_buffers(
    game: Game, depth: int, entries: int, whole_rows: bool, options: CompiledSearchOptions, cache_values: bool = False
) -> tuple[Any, SearchBuffers]:
    """Allocates the rows and the other memory of one search thread; `cache_values` as of `Speed`."""
    levels = depth * game.search.decisions_per_depth + 1
    n = 1 + levels * (1 + game.max_stages * game.max_outcomes) + game.max_outcomes
    if game.rules.afterstates is not None:
        n += game.max_actions + 1
    frames = (levels + 1) * (1 + game.max_stages)
    table = np.zeros((entries, ENTRY_BYTES // 8), dtype=np.uint64)
    leaves = np.zeros((min(entries, COSTLY_LEAF_ENTRIES if cache_values else CHEAP_LEAF_ENTRIES), 2), dtype=np.uint64)
    return game.rows(n), SearchBuffers(
        P=np.zeros(n),
        A=ints((frames, game.max_actions)),
        scores=np.zeros((frames, game.max_actions)),
        frames=np.zeros((frames, COLUMNS), dtype=np.uint64),
        worth=np.zeros((frames, WORTHS)),
        between=np.zeros((n, 2)),
        best=np.zeros(n),
        killers=np.full((MAX_DEPTH + 1, 2), -1, dtype=np.int64),
        counts=ints(COUNTS),
        deadline=np.array([0, 0, POLL_ALWAYS if cache_values else POLL], dtype=np.int64),
        table=table,
        proven=table.view(np.float64),
        leaves=leaves,
        leaf_values=leaves.view(np.float64),
        generation=np.zeros(1, dtype=np.uint64),
        rows=game.rows(entries if whole_rows else 1),
        options=options,
    )


Policy = Callable[[Any, Any], Any]
"""(rows [n, width], T) -> float [n, game.max_actions]: the weight of each action, at least 0."""

MAX_SIMULATIONS = 1 << 40
MAX_EXPLORATION = 1e100
PRIORS = ("uniform", "values", "policy")
SCALES = ("spread", "span")


@dataclass(frozen=True)
class MctsOptions(BaseOptions):
    """The options of `Mcts`: names, types, ranges, defaults and effects.

    `Mcts` and the page on searches quote the first line of each.
    """

    simulations: Annotated[int | None, Range(1, MAX_SIMULATIONS)] = option(None)
    """Number of simulations in a search.

    Default: `game.search.simulations` without `seconds`, no limit with them.
    """
    seconds: Annotated[float | None, SECONDS] = option(None)
    """Time limit of a search; compiling does not count."""
    exploration: Annotated[float, Range(0, MAX_EXPLORATION)] = option(2.5)
    """The exploration constant of PUCT, in units of `scale`."""
    scale: Annotated[str, OneOf(SCALES)] = option("spread")
    """Unit of exploration: "spread" (of the values of simulations around their action's mean) or "span" (of all values seen).

    The spread is the root mean square, over the tree, of the distance from a simulation's value to the mean of its action. With it
    one constant fits games whose actions differ much or little, with chance or without; KataGo's "dynamic variance-scaled cPUCT"
    does so for each node. The span is that of all values seen (Schrittwieser et al., "Mastering Atari, Go, chess and shogi by
    planning with a learned model", 2020).
    """
    prior: str | Policy | None = option(None)  # noqa: RUF009  (a field)
    """Decides which actions are tried first: "policy", "values", "uniform" or a function of rows.

    "policy": the evaluator's own policy; one call returns value and policy (the default for networks that have both). "values":
    the leaf values the positions after every action of a new node (the default for other evaluators). "uniform": all actions are
    alike, and a simulation values one position (the default for evaluators without a compiled value, and for roll-outs). A
    function: (rows [n, width], T) -> float [n, game.max_actions], at least 0.
    """
    temperature: Annotated[float, Range(0, above=True, below=True)] = option(0.4)
    """Temperature of the prior "values": it is a softmax over the one-ply values of a node, scaled to 0 to 1."""
    gumbel: Annotated[int, Range(0, MAX_SIMULATIONS)] = option(0)
    """Sequential halving with Gumbel noise chooses among this number of root actions. 0: PUCT chooses, as below the root.

    Needs `simulations` (Danihelka et al., "Policy improvement by planning with Gumbel", 2022).
    """
    proofs: bool = option(True)
    """In games without chance, results of finished games prove values. The search ends when the root is proven.

    Score bounded Monte Carlo tree search (Cazenave and Saffidine, 2010). Games with chance have no proofs.
    """
    reuse: bool = option(True)
    """Keeps the tree of the previous search if the position is in it."""
    memory_mb: Annotated[float, Range(1, MAX_MB)] = option(64.0)
    """Size of the tree in MB."""
    at_once: Annotated[int, Range(1, 1 << 16)] = option(64, in_text=False)
    """Maximum number of positions valued in one batch, if the leaf is not compiled or the prior is a function."""
    candidates: str | None = option(None)
    """Name of the set of actions considered, among `game.search.candidates`; default: all legal actions."""
    clock: Annotated[str, OneOf(CLOCKS)] = option("wall")
    """How `seconds` are measured: "wall" time, or "cpu" time of the searching thread."""
    seed: Annotated[int, Range(0, 2**64 - 1)] = option(0, in_text=False)
    """Seed of the random numbers; the same seed and number of simulations give the same tree."""

    def resolved(self, game: Game, evaluator: Evaluator) -> MctsOptions:
        """Checks the options and fills in the defaults that depend on game and evaluator; raises ValueError in one line."""
        simulations, prior = self.simulations, self.prior
        has_policy = evaluator.policy is not None or evaluator.batch_policy is not None
        if simulations is None and self.seconds is None:
            simulations = game.search.simulations
        if prior is None:
            prior = "policy" if has_policy else "values"
        if prior == "values" and (evaluator.value is None or evaluator.python_only):
            prior = "uniform"
        options = check_fields(replace(self, simulations=simulations, prior=prior), "mcts")
        if not callable(prior) and prior not in PRIORS:
            expected = f"a prior among {', '.join(PRIORS)} or a function of rows"
            raise UserError(f"mcts: expected {expected}, got {prior!r}")
        if prior == "policy" and not has_policy:
            raise UserError(f"mcts: expected a leaf with a policy for the prior policy, got {evaluator.name!r}")
        if options.gumbel and options.simulations is None:
            raise UserError(f"mcts: expected gumbel together with simulations, got gumbel={self.gumbel!r} alone")
        return options
