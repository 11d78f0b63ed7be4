"""Leaf evaluators: the value of a position, and an exact specification of what the number means.

Results of users' functions are converted to float64, or refused in one line (`answered`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np

from leafwise.envs.core.arrays import Floats
from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.rules import Compiled
from leafwise.envs.core.errors import UserError, short

if TYPE_CHECKING:
    from leafwise.envs.core.contract.game import Game


Terminal = Literal["evaluate", "returns"] | tuple[float, float, float]


@dataclass(frozen=True)
class Speed:
    """Optional functions that make searches faster; they change no value, to the last bit."""

    prefetch: Compiled | None = None
    """Compiled `(S, i, T)`: starts to load the entries of large tables that `value` will read; called for several rows before
    they are valued.
    """
    sibling_values: Compiled | None = None
    """Compiled `(S, k, o, end, M, P, T)` -> n: values leaves together that share most of their lookups. None: each leaf is
    valued alone.

    For single-player games with the rules `afterstates` and `apply_outcome`. Row k is one of `afterstates`; rows o to end - 1
    are outcomes. `apply_outcome` makes a row of k and each outcome q, and the leaves follow that row. If M[q] is below the mean
    of these leaves, the function sets M[q] to this mean: the sum of value times probability in the order of `chance_outcomes`.
    Finished games have the value that `terminal` says. n is the number of all leaves, or 0 if the function cannot value this row.
    From `end` on, max_outcomes + 1 rows and probabilities P are scratch.
    """
    cache_values: bool = False
    """True if computing a value takes longer than finding it in a cache of some 100 kB. Searches then cache more values."""


class Meaning(Protocol):
    """What values mean to people: a monotonic map to some unit."""

    @property
    def name(self) -> str: ...
    def __call__(self, value: float, /) -> float: ...


@dataclass(frozen=True)
class Evaluator:
    """Values a row for the player who acts next, or at a chance stage for player 0.

    (At a chance stage it may not be known who acts next, so the view is fixed.)

    Raises ValueError for parts that do not fit together: only one of the two bounds, or neither `value` nor `batch`.
    """

    name: str
    value: Compiled | None = field(repr=False)
    """Compiled `(S, i, T)` -> float; its weights are `T.leaf`. None if there is only `batch`."""
    weights: Any = field(default=(), repr=False)
    """A NamedTuple of arrays for `T.leaf`; () if there are none."""
    stage: str | tuple[str, ...] = "decision"
    """The stage, or stages, at which it is called: names in `game.stages`. If a line has no such stage where the search stops,
    the evaluator is called at a decision.
    """
    to_go: bool = False
    """True: the number is the return still to come, added to the leaf's `returns`. False: it replaces the return."""
    terminal: Terminal = "returns"
    """The value of a finished game: "evaluate" like any leaf, "returns", or (win, draw, loss) by the return's sign."""
    low: float | None = None
    high: float | None = None
    """Bounds of the value, if it has any (Star pruning needs them)."""
    scratch: tuple[str, ...] = field(default=(), repr=False)
    """Fields of `weights` that `value` writes to: every `T` gets its own arrays for them; "tables.bag" is a field of a field."""
    batch: Callable[..., Any] | None = field(default=None, repr=False)
    """Values many rows at once: (rows [n, width], T) -> float64 [n]; None if there is only the compiled form."""
    python_only: bool = False
    """True if computing one value takes far more than a microsecond. Then only searches in Python use the evaluator, and compiled
    environments do not. `value` must return at once when `T.stop` is set.
    """
    speed: Speed = field(default=Speed(), repr=False)
    """Functions that make searches faster."""
    policy: Compiled | None = field(default=None, repr=False)
    """Compiled `(S, i, P, T)` -> `value` of a decision. Writes to P [max_actions] the logarithm, up to a constant, of the
    probability that each action is the best. None: the evaluator has no policy.
    """
    batch_policy: Callable[..., Any] | None = field(default=None, repr=False)
    """(rows [n, width], T) -> values as `batch` returns them, float64 [n], and logits as `policy` writes them, [n,
    max_actions]; illegal actions may have any number. None: there is none.
    """
    room: Path | None = None
    """The folder of `value`, if it is not the folder of the game. The compiled searches with this leaf are cached under its
    name."""
    units: Callable[[Game], Meaning | None] | None = field(default=None, repr=False, compare=False)
    """(a variant) -> what the values mean to people there; None if nothing is known."""
    game: Game | None = field(default=None, repr=False, compare=False)
    """The game and variant that it was made for; `Game.tables` raises ValueError for others. None: this is not checked."""

    def __post_init__(self) -> None:
        if (self.low is None) != (self.high is None):
            raise UserError(f"evaluator {self.name!r}: expected low and high or neither, got one of them")
        if self.value is None and self.batch is None:
            raise UserError(f"evaluator {self.name!r}: expected a value, a batch or both, got none")
        if self.batch_policy is not None and self.batch is None:
            raise UserError(f"evaluator {self.name!r}: expected a batch for the batch_policy, got none")
        if self.speed.sibling_values is not None and (self.to_go or self.value is None):
            wrong = "to_go" if self.to_go else "none"
            raise UserError(f"evaluator {self.name!r}: expected a value without to_go for sibling_values, got {wrong}")

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages at which it is called."""
        return stage_names(self.stage)

    @property
    def compiled(self) -> Compiled:
        """The compiled `value`; raises ValueError if there is only `batch`."""
        if self.value is None:
            raise UserError(f"evaluator {self.name!r}: expected a compiled value, got one for batches only")
        return self.value


def stage_names(stage: str | tuple[str, ...]) -> tuple[str, ...]:
    """Returns the names in a `stage`, which is one name or several."""
    return (stage,) if isinstance(stage, str) else stage


def with_own_copy(fields: Any, path: str) -> Any:
    """Returns a NamedTuple in which one array is replaced by a copy; "tables.bag" is the array `bag` of its field `tables`."""
    name, _, inner = path.partition(".")
    part = getattr(fields, name)
    return fields._replace(**{name: with_own_copy(part, inner) if inner else part.copy()})


EVALUATE, RETURNS, TRIPLE = 0, 1, 2
"""How a finished game is valued: like any leaf, by its return, or by a number for won, drawn, lost."""


DECISION = 1
"""The bit of the stage of decisions."""


class LeafSpec(NamedTuple):
    """The fields `stage`, `to_go` and `terminal` of an evaluator, as numbers."""

    stages: int
    """Bit k is set if the evaluator is called at the game's stage k."""
    to_go: bool
    rule: int
    """EVALUATE, RETURNS or TRIPLE."""
    win: float
    draw: float
    loss: float


def stage_bits(evaluator: Evaluator, stages: tuple[str, ...]) -> int:
    """Returns the stages at which an evaluator is called, as bits; raises ValueError for none, or for one that the game lacks."""
    if not evaluator.stages or not set(evaluator.stages) <= set(stages):
        expected = ", ".join(stages)
        raise UserError(f"evaluator {evaluator.name!r}: expected a stage among {expected}, got {evaluator.stage!r}")
    return sum(1 << k for k, stage in enumerate(stages) if stage in evaluator.stages)


def leaf_spec(evaluator: Evaluator, stages: tuple[str, ...]) -> LeafSpec:
    """Returns the `LeafSpec` of an evaluator in a game with these stages; raises ValueError for a stage that the game lacks."""
    bits = stage_bits(evaluator, stages)
    rule = {"evaluate": EVALUATE, "returns": RETURNS}.get(str(evaluator.terminal), TRIPLE)
    win, draw, loss = evaluator.terminal if isinstance(evaluator.terminal, tuple) else (0.0, 0.0, 0.0)
    return LeafSpec(bits, evaluator.to_go, rule, float(win), float(draw), float(loss))


@jit(inline=True)
def is_asked(stages, stage):
    """Whether a stage is one of `stages`, which are bits."""
    return stages >> np.int64(stage) & 1 == 1


@jit(inline=True)
def finished_value(rule, win, draw, loss, outcome):
    """Returns the value of a finished game with the return `outcome`; `rule` is RETURNS or TRIPLE."""
    if rule == RETURNS:
        return outcome
    return win if outcome > 0 else loss if outcome < 0 else draw


def value_bounds(game: Game, evaluator: Evaluator) -> tuple[float, float]:
    """Returns the lowest and highest value of a leaf for player 0; infinite if the evaluator has no bounds."""
    if evaluator.low is None or evaluator.high is None:
        return -np.inf, np.inf
    values = [evaluator.low, evaluator.high]
    if evaluator.to_go:
        values = [evaluator.low + game.return_range[0], evaluator.high + game.return_range[1]]
    if isinstance(evaluator.terminal, tuple):
        values += evaluator.terminal
    elif evaluator.terminal == "returns":
        values += game.return_range
    if game.players == 2:
        values += [-w for w in values]
    return float(min(values)), float(max(values))


def nothing_more(S, i, T):
    """Returns 0, the return still to come: the score of a game that has none of its own."""
    return 0.0


@jit(inline=True)
def for_player_zero(value, player):
    """Turns a value for the player who acts into one for player 0; at a chance stage they are the same."""
    return -value if player == 1 else value


def real_numbers(result: Any, expected: str) -> Floats:
    """Converts a function's result to float64, in its own shape.

    Raises ValueError, `expected` and what came, for results without real numbers: a tensor that requires a gradient or is on
    another device, complex numbers, texts.
    """
    try:
        array = np.asarray(result)
        if array.dtype.kind in "biufO":
            return array.astype(np.float64)
    except Exception as problem:  # the library of the numbers raises what it likes
        raise UserError(f"{expected}, got {type(result).__name__}: {short(problem, 160)}") from None
    raise UserError(f"{expected}, got numbers of type {array.dtype}")


def advised(evaluator: Evaluator, rows: Any, T: Any, actions: int) -> tuple[Floats, Floats]:
    """Returns the result of an evaluator's `batch_policy` for rows [n, width]: values [n] and logits [n, actions].

    Raises ValueError for other shapes, nan, and logits without an upper bound.
    """
    assert evaluator.batch_policy is not None
    expected, result = f"evaluator {evaluator.name!r}: expected of batch_policy", evaluator.batch_policy(rows, T)
    if not isinstance(result, tuple) or len(result) != 2:
        raise UserError(f"{expected} a pair of values and logits, got {type(result).__name__}")
    values = answered(result[0], (len(rows),), f"{expected} {len(rows)} values")
    logits = answered(result[1], (len(rows), actions), f"{expected} logits {(len(rows), actions)}")
    if np.isposinf(logits).any():
        raise UserError(f"{expected} logits below infinity, got inf")
    return values, logits


def answered(result: Any, shape: tuple[int, ...], expected: str) -> Floats:
    """Converts a function's result to float64 of a shape; raises ValueError as `real_numbers`, and for other shapes and nan."""
    numbers = real_numbers(result, expected)
    if numbers.shape != shape:
        raise UserError(f"{expected}, got shape {numbers.shape}")
    if np.isnan(numbers).any():
        raise UserError(f"{expected}, got nan")
    return numbers
