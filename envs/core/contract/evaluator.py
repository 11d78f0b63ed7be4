"""What a leaf evaluator is: a number for a position, and an exact statement of what that number means.

Numbers that people's functions answer are taken where they fit, as float64, else refused in one line (`answered`).
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
    """What makes searches with an evaluator faster. It changes no value, to the last bit."""

    prefetch: Compiled | None = None
    """Compiled `(S, i, T)`: starts to load what `value` will read of large tables; called for neighbouring rows first."""
    sibling_values: Compiled | None = None
    """Compiled `(S, k, o, end, M, P, T)` -> n: values leaves together that share most of what is looked up for them.
    None: each alone.

    In single-player games with the rules `afterstates` and `apply_outcome`: row k is one of `afterstates`, rows o to end - 1
    are the outcomes that it serves. For each of them it raises M[q], if that is lower, to the mean of the leaves that chance
    leads to from the row that `apply_outcome` makes of k and q: their values, each times its probability, added up in the order
    of `chance_outcomes`; finished games are worth what `terminal` says. n is how many leaves there are in all, 0 where it
    cannot say. Rows and probabilities P from `end` on, max_outcomes + 1 of them, are its scratch."""
    cache_values: bool = False
    """True where one value takes longer than a look into some 100 kB: searches then remember more of them."""


class Meaning(Protocol):
    """What values mean to people: a map that never falls, and what its numbers count."""

    @property
    def name(self) -> str: ...
    def __call__(self, value: float, /) -> float: ...


@dataclass(frozen=True)
class Evaluator:
    """Values a row for the player who acts next; at a chance stage it speaks for player 0.

    (At a chance stage it need not be known who acts next, so there the view is fixed.)

    Raises ValueError for parts that do not fit together: one bound alone, or neither `value` nor `batch`.
    """

    name: str
    value: Compiled | None = field(repr=False)
    """Compiled `(S, i, T)` -> float; its weights are `T.leaf`. None if there is only `batch`."""
    weights: Any = field(default=(), repr=False)
    """A NamedTuple of arrays, put into `T.leaf`; () if there are none."""
    stage: str | tuple[str, ...] = "decision"
    """The stage at which it may be asked, a name in `game.stages`, or several; where a line of play has none, a decision."""
    to_go: bool = False
    """True: the number is the return still to come, added to the leaf's `returns`. False: it replaces the return."""
    terminal: Terminal = "returns"
    """What a finished game is worth: asked like any leaf, the return, or (win, draw, loss) by the return's sign."""
    low: float | None = None
    high: float | None = None
    """Bounds of the value, if it has any (Star pruning needs them)."""
    scratch: tuple[str, ...] = field(default=(), repr=False)
    """Fields of `weights` that `value` writes to: every `T` gets arrays of its own for them; "tables.bag" is one's field."""
    batch: Callable[..., Any] | None = field(default=None, repr=False)
    """Values many rows at once: (rows [n, width], T) -> float64 [n]; None if there is only the compiled form."""
    python_only: bool = False
    """True where one value takes far more than a microsecond: only searches that Python runs ask for it, not compiled environments.
    `value` then ends at once when `T.stop` is set."""
    speed: Speed = field(default=Speed(), repr=False)
    """What makes searches faster."""
    policy: Compiled | None = field(default=None, repr=False)
    """Compiled `(S, i, P, T)` -> `value` of a decision; writes to P [max_actions] the logarithm, up to a constant, of how probable
    it is that an action is the best. None: the evaluator says nothing of actions."""
    batch_policy: Callable[..., Any] | None = field(default=None, repr=False)
    """(rows [n, width], T) -> what `batch` says, float64 [n], and what `policy` writes for each, [n, max_actions], in one call;
    illegal actions may have any number. None: there is none."""
    room: Path | None = None
    """Where `value` was written, if not in the game's room; names the cache of searches that use it."""
    units: Callable[[Game], Meaning | None] | None = field(default=None, repr=False, compare=False)
    """(a variant) -> what the values mean to people there, None where nothing is known."""

    def __post_init__(self) -> None:
        if (self.low is None) != (self.high is None):
            raise UserError(f"evaluator {self.name!r}: expected both of low and high or none")
        if self.value is None and self.batch is None:
            raise UserError(f"evaluator {self.name!r}: expected a value, a batch or both, got none")
        if self.batch_policy is not None and self.batch is None:
            raise UserError(f"evaluator {self.name!r}: expected a batch beside a batch_policy")
        if self.speed.sibling_values is not None and (self.to_go or self.value is None):
            raise UserError(f"evaluator {self.name!r}: expected sibling_values beside a value that is not to_go")

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages at which it may be asked."""
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


def with_own(fields: Any, path: str) -> Any:
    """Returns a NamedTuple with a copy of one of its arrays; "tables.bag" is the array `bag` of its NamedTuple `tables`."""
    name, _, inner = path.partition(".")
    part = getattr(fields, name)
    return fields._replace(**{name: with_own(part, inner) if inner else part.copy()})


EVALUATE, RETURNS, TRIPLE = 0, 1, 2
"""What a finished game is worth: asked like any leaf, the return, or a number for won, drawn, lost."""


DECISION = 1
"""Stages of what is asked at decisions alone, as bits."""


class LeafSpec(NamedTuple):
    """An evaluator's fields `stage`, `to_go` and `terminal`."""

    stages: int
    """Bit k is set where it is asked at the game's stage k."""
    to_go: bool
    rule: int
    """EVALUATE, RETURNS or TRIPLE."""
    win: float
    draw: float
    loss: float


def stage_bits(evaluator: Evaluator, stages: tuple[str, ...]) -> int:
    """Returns the stages at which an evaluator is asked, as bits; raises ValueError for none, or one that the game lacks."""
    if not evaluator.stages or not set(evaluator.stages) <= set(stages):
        expected = ", ".join(stages)
        raise UserError(f"evaluator {evaluator.name!r}: expected a stage among {expected}, got {evaluator.stage!r}")
    return sum(1 << k for k, stage in enumerate(stages) if stage in evaluator.stages)


def leaf_spec(evaluator: Evaluator, stages: tuple[str, ...]) -> LeafSpec:
    """Returns what an evaluator says to a game with these stages; raises ValueError for a stage that the game lacks."""
    asked = stage_bits(evaluator, stages)
    rule = {"evaluate": EVALUATE, "returns": RETURNS}.get(str(evaluator.terminal), TRIPLE)
    win, draw, loss = evaluator.terminal if isinstance(evaluator.terminal, tuple) else (0.0, 0.0, 0.0)
    return LeafSpec(asked, evaluator.to_go, rule, float(win), float(draw), float(loss))


@jit(inline=True)
def is_asked(stages, here):
    """Whether a stage is one of `stages`, which are bits."""
    return stages >> np.int64(here) & 1 == 1


@jit(inline=True)
def finished_value(rule, win, draw, loss, outcome):
    """Returns what a finished game of a return `outcome` is worth to a leaf that is not asked: `rule` is RETURNS or TRIPLE."""
    if rule == RETURNS:
        return outcome
    return win if outcome > 0 else loss if outcome < 0 else draw


def value_bounds(game: Game, evaluator: Evaluator) -> tuple[float, float]:
    """Returns the least and the most that player 0 can get from a leaf, infinite if the evaluator states no bounds."""
    if evaluator.low is None or evaluator.high is None:
        return -np.inf, np.inf
    worths = [evaluator.low, evaluator.high]
    if evaluator.to_go:
        worths = [evaluator.low + game.return_range[0], evaluator.high + game.return_range[1]]
    if isinstance(evaluator.terminal, tuple):
        worths += evaluator.terminal
    elif evaluator.terminal == "returns":
        worths += game.return_range
    if game.players == 2:
        worths += [-w for w in worths]
    return float(min(worths)), float(max(worths))


def nothing_more(S, i, T):
    """Expects no more return than there is: the score of a game that has none of its own."""
    return 0.0


@jit(inline=True)
def for_player_zero(value, player):
    """Turns a value for the player who acts into player 0's; at a chance stage it already is."""
    return -value if player == 1 else value


def real_numbers(found: Any, expected: str) -> Floats:
    """Returns what a function answered as float64, of the shape that it has.

    Raises ValueError, `expected` and what came, for what are no real numbers: a tensor that requires a gradient or lies on another
    device, complex numbers, texts.
    """
    try:
        array = np.asarray(found)
        if array.dtype.kind in "biufO":
            return array.astype(np.float64)
    except Exception as problem:  # of the library that the numbers are of
        raise UserError(f"{expected}, got {type(found).__name__}: {short(problem, 160)}") from None
    raise UserError(f"{expected}, got numbers of type {array.dtype}")


def advised(evaluator: Evaluator, rows: Any, T: Any, actions: int) -> tuple[Floats, Floats]:
    """Returns what an evaluator's `batch_policy` answers for rows [n, width]: values [n] and logits [n, actions].

    Raises ValueError for other shapes, nan, and logits without an upper bound.
    """
    assert evaluator.batch_policy is not None
    expected, found = f"evaluator {evaluator.name!r}: expected of batch_policy", evaluator.batch_policy(rows, T)
    if not isinstance(found, tuple) or len(found) != 2:
        raise UserError(f"{expected} a pair of values and logits, got {type(found).__name__}")
    values = answered(found[0], (len(rows),), f"{expected} {len(rows)} values")
    logits = answered(found[1], (len(rows), actions), f"{expected} logits {(len(rows), actions)}")
    if np.isposinf(logits).any():
        raise UserError(f"{expected} logits below infinity, got inf")
    return values, logits


def answered(found: Any, shape: tuple[int, ...], expected: str) -> Floats:
    """Returns what a function answered as float64 of a shape; raises ValueError as `real_numbers`, and for other shapes and nan."""
    numbers = real_numbers(found, expected)
    if numbers.shape != shape:
        raise UserError(f"{expected}, got shape {numbers.shape}")
    if np.isnan(numbers).any():
        raise UserError(f"{expected}, got nan")
    return numbers
