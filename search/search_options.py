"""What a search is told: its options, each with its range and what it does, and the memory that they need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Annotated, Any, NamedTuple, Self, TypeVar

import numpy as np

from leafwise.envs.core.arrays import Array, Floats, Ints, Words
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import MAX_DEPTH, Game
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.fields import types_of
from leafwise.envs.core.ranges import OneOf, Range, check_fields, need_among
from leafwise.search.expectiminimax import COLUMNS, COUNTS, POLL, POLL_EXPENSIVE, WORTHS
from leafwise.search.table import ENTRY_BYTES, MAX_ACTIONS

D = TypeVar("D")
ints: Any = partial(np.zeros, dtype=np.int64)

MAX_THREADS = 256
MOST_SECONDS = 1_000_000
"""Most time for a search: eleven days."""
MOST_NODES = 10**15
MOST_MB = 65536
NEVER = 1 << 62
ROUNDED = 1 - 1e-9
"""What rounding leaves of a node cost at least."""
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
SECONDS = Range(0, MOST_SECONDS, above=True)


def option(default: D, *, exact: bool = True, in_text: bool = True) -> D:
    """Returns a field of a dataclass of options.

    Args:
        exact: whether the option changes no value of the search.
        in_text: whether a player's text may hold it.
    """
    found: Any = field(default=default, metadata={"exact": exact, "in_text": in_text})
    return found


def switch(text: str) -> bool:
    """Reads 0 or 1."""
    return {"0": False, "1": True}[text]


READERS: dict[str, Callable[[str], Any]] = {"int": int, "float": float, "str": str, "bool": switch}


def readers(options: type[BaseOptions]) -> dict[str, Callable[[str], Any]]:
    """Returns the options that a player's text may hold, and what reads them."""
    types = types_of(options)
    return {one.name: READERS[types[one.name].partition(" ")[0]] for one in fields(options) if one.metadata["in_text"]}


def read_options(words: Iterable[str], known: Mapping[str, Callable[[str], Any]]) -> dict[str, Any]:
    """Returns the options that words like `depth=3` stand for, read by what `known` says; raises ValueError."""
    options: dict[str, Any] = {}
    for word in words:
        option, told, value = word.partition("=")
        if not told or option not in known:
            raise UserError(f"expected options among {', '.join(known)}, got {word!r}")
        try:
            options[option] = known[option](value)
        except (ValueError, KeyError):
            kind = {int: "a whole number", switch: "0 or 1"}.get(known[option], "a number")
            raise UserError(f"expected {kind} for {option}, got {value!r}") from None
    return options


@dataclass(frozen=True)
class BaseOptions:
    """What both kinds of search do with their options."""

    @classmethod
    def of_call(cls, given: Mapping[str, Any]) -> Self:
        """Returns the options among the arguments of a call."""
        return cls(**{one.name: given[one.name] for one in fields(cls)})


@dataclass(frozen=True)
class SearchOptions(BaseOptions):
    """The options of `Search`: their names, types, ranges and defaults, and what each does.

    The first line of each is what `Search`, `docs/search.md` and `--help` say of it.
    """

    depth: Annotated[int | None, Range(1, MAX_DEPTH)] = option(None)
    """Number of decisions to look ahead; with `seconds` the maximum.

    Default: `game.search.depth`, with `seconds` no limit.
    """
    seconds: Annotated[float | None, SECONDS] = option(None)
    """Time limit of a search; the result is that of the deepest complete depth.

    The first depth is always completed. In games some of whose actions cost no depth it is searched with 64 decisions; then, while
    time is left, again with four times as many, and so on. The first search begins its time when the code is compiled.
    """
    all_values: bool = option(True, in_text=False)
    """Every root action gets its exact value. With False only the best action does, which is faster with pruning.

    The value of another action may then be an upper bound (`Result.bounds`). Of a depth that time breaks off, the actions searched
    by then count. Where one action is left, or the best has the most that there is to get, nothing deeper is searched.
    """
    pruning: bool | None = option(None)
    """Alpha-beta at decisions, and Star1 at chance nodes if the leaf has bounds.

    Default: on in games of two players, but for a search in batches.
    """
    table_mb: Annotated[float | None, Range(0, MOST_MB)] = option(None)
    """Size of the transposition table in MB (32 bytes a position); 0: no table.

    It pays where the search prunes, or an action can cost no depth: there the default is 16, else 0.
    """
    ordering: Iterable[str] = option(ORDERINGS, in_text=False)
    """What a pruning search tries first: "table", "values", "killers".

    The best action of an earlier, shallower search; one-ply values; what pruned beside it.
    """
    star2: bool = option(False)
    """At a chance node, first tries one action of each outcome (Star2); needs pruning and a leaf with bounds.

    Off by default, since it costs more than it saves where an action has few outcomes.
    """
    deepening: bool = option(False)
    """Searches depth 1, then 2, and so on, also without `seconds`, to order the actions.

    Off by default, since one-ply values order the actions of most games well enough.
    """
    cutoff: Annotated[float, Range(0, 1, below=True)] = option(0.0, exact=False)
    """Decisions less probable than this become leaves; 0: none."""
    nodes: Annotated[int | None, Range(0, MOST_NODES)] = option(None, exact=False)
    """Maximum number of decisions searched at each depth, the root included; 0: no limit.

    What is left of them is shared out evenly among the actions of a decision and by probability among outcomes; where less than one
    is left, a decision is a leaf. Default: `game.search.nodes`, which is 0 in most games; with `seconds` or `cutoff` no limit.
    """
    rare: Annotated[float, Range(0, 1)] = option(0.0, exact=False)
    """Outcomes of chance less probable than this become leaves; 0: none."""
    width: Annotated[int | None, Range(1, NEVER)] = option(None, exact=False)
    """Maximum number of actions searched at a decision: the best by one-ply value. Default: no limit.

    The root keeps all, and so do decisions with one decision to go.
    """
    candidates: str | None = option(None, exact=False)
    """The actions considered, one of `game.search.candidates`; default: all legal actions."""
    batched: bool | None = option(None)
    """Grows the tree first, then values its leaves in batches; not with pruning, table, width, threads or rare.

    Default: only for a leaf that has no compiled value.
    """
    threads: Annotated[int, Range(1, MAX_THREADS)] = option(1)
    """Number of threads that share the root actions, each with its own memory."""
    clock: Annotated[str, OneOf(CLOCKS)] = option("wall")
    """How `seconds` are measured: "wall" time, or "cpu" time of the searching thread.

    The latter is for measurements on a busy machine.
    """
    whole_rows: bool = option(False, in_text=False)
    """The table compares whole positions instead of 93 bits of hashes; for tests."""
    symmetric: bool = option(False)
    """Positions that are equal up to a symmetry of the board share an entry of the table.

    Where the search prunes; exact for leaves that value such positions alike, as networks do not. Off by default, since finding the
    common form costs more than it saves.
    """

    def resolved(self, game: Game, evaluator: Evaluator) -> SearchOptions:
        """Returns the options in range, those that depend on the game and the leaf resolved; raises ValueError in one line."""
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
        found = check_fields(replace(self, nodes=nodes, batched=batched, ordering=ordering), "search")
        threads = found.threads
        if found.nodes and found.cutoff:
            raise UserError(f"search: expected a cutoff or nodes, got {found.cutoff!r} and {found.nodes!r}")
        if found.clock == "cpu" and (threads > 1 or found.batched):
            raise UserError(f"search: expected the clock cpu with one thread and not batched, got {threads!r} threads")
        if found.batched and (found.pruning or found.table_mb or found.width is not None or threads > 1 or found.rare):
            got = f"{found.pruning!r}, {found.table_mb!r}, {found.width!r}, {threads!r} and {found.rare!r}"
            raise UserError(
                f"search: expected batched without pruning, table_mb, width, more threads and rare, got {got}"
            )
        if found.symmetric and found.whole_rows:
            raise UserError("search: expected symmetric or whole_rows, got both")
        return found

    def prunes(self, game: Game) -> bool:
        """Whether the search prunes: as told, or if the game has two players and leaves are valued one by one."""
        return game.players == 2 and not self.batched if self.pruning is None else self.pruning

    def entries(self, game: Game) -> int:
        """Returns the size of the table, a power of two; 1 is no table."""
        size = self.table_mb
        if size is None:
            size = TABLE_MB if not self.batched and (self.prunes(game) or game.search.decisions_per_depth > 1) else 0.0
        if size and game.max_actions >= MAX_ACTIONS:
            raise UserError(f"search: expected table_mb=0 for {game.max_actions} actions, got {size!r}")
        return 1 if size == 0 else 1 << max(1, int(size * 1e6 / ENTRY_BYTES).bit_length() - 1)

    def share(self, actions: int, nodes: int) -> tuple[float, float]:
        """Returns the cutoff and the node cost below each of so many root actions, or below a root where nobody decides (0).

        With `nodes`, where k more decisions may be searched a decision is reached with a probability of k node costs.
        """
        if not nodes:
            return self.cutoff, 0.0
        node_cost = 1.0 / nodes
        if actions:
            node_cost = actions / (nodes - 1) if nodes > 1 else 2.0
        return node_cost * ROUNDED, node_cost

    def compiled(self, game: Game, least: float, most: float) -> Options:
        """Returns what compiled code reads; no leaf is worth less than `least` or more than `most`."""
        return Options(
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


class Options(NamedTuple):
    """What may change from search to search without compiling again."""

    cutoff: float
    """Decisions reached with a smaller probability than this are leaves (0: exact)."""
    node_cost: float
    """What a decision takes of the probability that it is reached with, before the rest is shared out among its actions (0: each
    action keeps it all)."""
    recall: bool
    """Whether old entries count too."""
    prune: bool
    least: float
    """No leaf is worth less than `least` or more than `most` (infinite: not known, and no pruning at chance nodes)."""
    most: float
    table_from: int
    """Least depth left at which decisions go to the table."""
    table_move: bool
    values_from: int
    """Least depth left at which one-ply values order the actions."""
    killers: bool
    probe_from: int
    """Least depth left at which chance nodes probe their outcomes first (Star2)."""
    rare: float
    """Outcomes less probable than this are valued at once, by the leaf (approximate). Only the code with pruning knows it; `Search`
    then takes that code for every search."""
    width: int
    """Most actions searched at a decision with two or more decisions to go (approximate)."""
    symmetries: int
    """Decisions share an entry of the table with those that so many symmetries of the game turn them into (1: none); with pruning
    alone."""


class Buffers(NamedTuple):
    """Scratch and run-time options of one search thread."""

    P: Floats
    """Probabilities, one per row."""
    A: Ints
    """Legal actions, [frame, action]."""
    scores: Floats
    """What orders them, [frame, action], the highest first; with pruning alone."""
    frames: Words
    """The open nodes from the root down, [frame, COLUMNS]."""
    worth: Floats
    """Their values, [frame, WORTHS]."""
    between: Floats
    """The least and the most that each row can be worth, [row, 2]; outcomes that Star2 probes."""
    best: Floats
    """What the best action so far is worth after each outcome, [row]; outcomes that share their afterstates."""
    killers: Ints
    """The last two actions that cut a decision, [depth left, 2]; with pruning alone."""
    counts: Ints
    deadline: Ints
    """When the search is to end, [3]: a clock's number and the nanoseconds on it (0: never); and how often that is looked at,
    POLL or POLL_EXPENSIVE."""
    table: Words
    """Transposition table, [entries, 4], a power of two of them; one entry is no table. Columns: `leafwise.search.table`."""
    proven: Floats
    """The same memory read as floats."""
    leaves: Words
    """Memory of leaves valued before, [entries, 2]: second hash of the row, value; one entry is none."""
    leaf_values: Floats
    """The same memory read as floats."""
    generation: Words
    """Number of the search, [1]: entries of the table that have another one are old."""
    rows: Array
    """The whole row of each entry, [entries, width], so that no hash can err; one entry: hashes are trusted."""
    options: Options


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
        A=ints((frames, game.max_actions)),
        scores=np.zeros((frames, game.max_actions)),
        frames=np.zeros((frames, COLUMNS), dtype=np.uint64),
        worth=np.zeros((frames, WORTHS)),
        between=np.zeros((n, 2)),
        best=np.zeros(n),
        killers=np.full((MAX_DEPTH + 1, 2), -1, dtype=np.int64),
        counts=ints(COUNTS),
        deadline=np.array([0, 0, POLL_EXPENSIVE if expensive else POLL], dtype=np.int64),
        table=table,
        proven=table.view(np.float64),
        leaves=leaves,
        leaf_values=leaves.view(np.float64),
        generation=np.zeros(1, dtype=np.uint64),
        rows=game.rows(entries if whole_rows else 1),
        options=options,
    )


Policy = Callable[[Any, Any], Any]
"""(rows [n, width], T) -> float [n, game.max_actions]: how good each action is thought to be, at least 0."""

MOST_SIMULATIONS = 1 << 40
MOST_EXPLORATION = 1e100
PRIORS = ("uniform", "values", "policy")
SCALES = ("spread", "span")


@dataclass(frozen=True)
class MctsOptions(BaseOptions):
    """The options of `Mcts`: their names, types, ranges and defaults, and what each does.

    The first line of each is what `Mcts` and the page on searches say of it.
    """

    simulations: Annotated[int | None, Range(1, MOST_SIMULATIONS)] = option(None)
    """Number of simulations in a search.

    Default: `game.search.simulations` without `seconds`, no limit with them.
    """
    seconds: Annotated[float | None, SECONDS] = option(None)
    """Time limit of a search; compiling does not count."""
    exploration: Annotated[float, Range(0, MOST_EXPLORATION)] = option(2.5)
    """The exploration constant of PUCT, in units of `scale`."""
    scale: Annotated[str, OneOf(SCALES)] = option("spread")
    """The unit of exploration: "spread" of the simulations' values, or "span" from the least to the greatest.

    The spread is how far the values of simulations lie from the mean of the action that they tried, as a root mean square over the
    tree, so that one constant fits games whose actions differ much or hardly, with chance or without (as KataGo's "dynamic
    variance-scaled cPUCT" does for each node). The span is of all values seen (Schrittwieser et al., "Mastering Atari, Go, chess
    and shogi by planning with a learned model", 2020).
    """
    prior: str | Policy | None = option(None)  # noqa: RUF009  (a field)
    """Decides which actions are tried first: "policy", "values", "uniform" or a function of rows.

    "policy": the leaf's own, of a network with a value and a policy, which is asked once for both (the default for such). "values":
    a new node's actions are valued one ply deep, chance averaged, and better ones are tried first, which costs a leaf or more for
    each (the default for other leaves). "uniform": one leaf a simulation, no action is preferred (what leaves without a compiled
    value and roll-outs get). Or a policy: (rows [n, width], T) -> float [n, game.max_actions], at least 0.
    """
    temperature: Annotated[float, Range(0, above=True, below=True)] = option(0.4)
    """Temperature of the prior "values": a softmax over one-ply values, scaled to 0 to 1 at each node."""
    gumbel: Annotated[int, Range(0, MOST_SIMULATIONS)] = option(0)
    """Number of root actions for sequential halving with Gumbel noise; 0: PUCT chooses at the root too.

    Needs `simulations` (Danihelka et al., "Policy improvement by planning with Gumbel", 2022).
    """
    proofs: bool = option(True)
    """In games without chance, finished games prove values, and the search ends when its root is proven.

    Score bounded Monte Carlo tree search (Cazenave and Saffidine, 2010). Games with chance have no proofs.
    """
    reuse: bool = option(True)
    """Keeps the tree of the previous search if the position is in it."""
    memory_mb: Annotated[float, Range(1, MOST_MB)] = option(64.0)
    """Size of the tree in MB."""
    at_once: Annotated[int, Range(1, 1 << 16)] = option(64, in_text=False)
    """Maximum number of leaves valued in one batch, if the leaf is not compiled or the prior is a function."""
    candidates: str | None = option(None)
    """The actions considered, one of `game.search.candidates`; default: all legal actions."""
    clock: Annotated[str, OneOf(CLOCKS)] = option("wall")
    """How `seconds` are measured: "wall" time, or "cpu" time of the searching thread."""
    seed: Annotated[int, Range(0, 2**64 - 1)] = option(0, in_text=False)
    """Seed of the random numbers; the same seed and number of simulations give the same tree."""

    def resolved(self, game: Game, evaluator: Evaluator) -> MctsOptions:
        """Returns the options in range, those that depend on the game and the leaf resolved; raises ValueError in one line."""
        simulations, prior = self.simulations, self.prior
        has_policy = evaluator.policy is not None or evaluator.batch_policy is not None
        if simulations is None and self.seconds is None:
            simulations = game.search.simulations
        if prior is None:
            prior = "policy" if has_policy else "values"
        if prior == "values" and (evaluator.value is None or evaluator.python_only):
            prior = "uniform"
        found = check_fields(replace(self, simulations=simulations, prior=prior), "mcts")
        if not callable(prior) and prior not in PRIORS:
            expected = f"a prior among {', '.join(PRIORS)} or a function of rows"
            raise UserError(f"mcts: expected {expected}, got {prior!r}")
        if prior == "policy" and not has_policy:
            raise UserError(f"mcts: expected a leaf with a policy for the prior policy, got {evaluator.name!r}")
        if found.gumbel and found.simulations is None:
            raise UserError(f"mcts: expected gumbel of at least 0, with simulations, got {self.gumbel!r}")
        return found
