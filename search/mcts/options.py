"""The options of a Monte Carlo tree search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any

from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import OneOf, Range, check_fields
from leafwise.search.search_options import CLOCKS, MOST_MB, SECONDS, BaseOptions, option

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
    """Simulations a search.

    Default: `game.search.simulations` without `seconds`, no limit with them.
    """
    seconds: Annotated[float | None, SECONDS] = option(None)
    """Time a search; the first begins it when the code is compiled."""
    exploration: Annotated[float, Range(0, MOST_EXPLORATION)] = option(2.5)
    """The constant of PUCT, in units of `scale`."""
    scale: Annotated[str, OneOf(SCALES)] = option("spread")
    """The unit of exploration: "spread" of the simulations' values, or "span" from the least to the greatest.

    The spread is how far the values of simulations lie from the mean of the action that they tried, as a root mean square over the
    tree, so that one constant fits games whose actions differ much or hardly, with chance or without (as KataGo's "dynamic
    variance-scaled cPUCT" does for each node). The span is of all values seen (Schrittwieser et al., "Mastering Atari, Go, chess
    and shogi by planning with a learned model", 2020).
    """
    prior: str | Policy | None = option(None)  # noqa: RUF009  (a field)
    """What says which actions are tried first: "policy", "values", "uniform" or a function of rows.

    "policy": the leaf's own, of a network with a value and a policy, which is asked once for both (the default for such). "values":
    a new node's actions are valued one ply deep, chance averaged, and better ones are tried first, which costs a leaf or more for
    each (the default for other leaves). "uniform": one leaf a simulation, no action is preferred (what leaves without a compiled
    value and roll-outs get). Or a policy: (rows [n, width], T) -> float [n, game.max_actions], at least 0.
    """
    temperature: Annotated[float, Range(0, above=True, below=True)] = option(0.4)
    """Divides one-ply values, scaled to 0 to 1 at each node, where they are the prior; small ones trust the leaf more."""
    gumbel: Annotated[int, Range(0, MOST_SIMULATIONS)] = option(0)
    """Root actions among which sequential halving with Gumbel noise chooses; 0: PUCT does, like everywhere.

    Needs `simulations` (Danihelka et al., "Policy improvement by planning with Gumbel", 2022).
    """
    proofs: bool = option(True)
    """In games without chance finished games prove values, and a search whose position is proven ends.

    Score bounded Monte Carlo tree search (Cazenave and Saffidine, 2010). Games with chance have no proofs.
    """
    reuse: bool = option(True)
    """The tree of the search before goes on where the position is in it."""
    memory_mb: Annotated[float, Range(1, MOST_MB)] = option(64.0)
    """Size of the tree in MB."""
    at_once: Annotated[int, Range(1, 1 << 16)] = option(64, in_text=False)
    """Most leaves valued in one batch, where they have no compiled value or the prior is a function."""
    candidates: str | None = option(None)
    """The actions considered, one of `game.search.candidates`; default: all legal ones."""
    clock: Annotated[str, OneOf(CLOCKS)] = option("wall")
    """What `seconds` are: "wall" time, or "cpu" time of the thread that searches."""
    seed: Annotated[int, Range(0, 2**64 - 1)] = option(0, in_text=False)
    """Of the random numbers; the same seed and simulations give the same tree."""

    def resolved(self, game: Game, evaluator: Evaluator) -> MctsOptions:
        """Returns the options in range, those that depend on the game and the leaf resolved; raises ValueError in one line."""
        simulations, prior = self.simulations, self.prior
        if simulations is None and self.seconds is None:
            simulations = game.search.simulations
        if prior is None:
            prior = "values" if evaluator.policy is None else "policy"
        if prior == "values" and (evaluator.value is None or evaluator.python_only):
            prior = "uniform"
        found = check_fields(replace(self, simulations=simulations, prior=prior), "mcts")
        if not callable(prior) and prior not in PRIORS:
            expected = f"a prior among {', '.join(PRIORS)} or a function of rows"
            raise UserError(f"mcts: expected {expected}, got {prior!r}")
        if prior == "policy" and evaluator.policy is None:
            raise UserError(f"mcts: expected a leaf with a policy for the prior policy, got {evaluator.name!r}")
        if found.gumbel and found.simulations is None:
            raise UserError(f"mcts: expected gumbel of at least 0, with simulations, got {self.gumbel!r}")
        return found
