"""Why PPO's value head is a poor leaf in Sim: what it says of positions of random play, and of its own games.

`python -m leafwise.experiments.cassis.opponents` learns Sim by PPO against the one-ply player `greedy`, against itself, and against
itself in games that begin with random moves. On the way the value head is asked about positions that the exact solver calls won
and lost for who moves, of random play and of games of its own policy against `greedy`: the chance that it tells, and how often the
policy then wins them. Beside it stands in how many critical positions the one-ply search with it keeps the value. It writes
`opponents.json`, `opponents.md` and `opponents.png`. Seeds from 2,980,000 on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.play.playing import play_out
from leafwise.envs.core.play.solver import exact_solver
from leafwise.envs.registry import game as find_game
from leafwise.experiments.study import Study, command, picture, results_of, signed, table, write_page
from leafwise.search.mcts import Mcts
from leafwise.search.players import MctsPlayer, player
from leafwise.training.evaluation.agreement import critical_positions, random_positions

FIRST_SEED = 2_980_000
PLIES = (3, 9)
"""Least and most random actions before a position."""
RUNS: dict[str, dict[str, Any]] = {
    "greedy": {"opponent": "greedy"},
    "self": {"opponent": "self"},
    "self, with random openings": {"opponent": "self", "plies": 10},
}
"""Whom PPO meets, and the options of `ppo` that say so."""


@dataclass(frozen=True)
class Config(Study):
    """Follows PPO's value head in Sim in three runs."""

    total_steps: int = 2_000_000
    """Decisions of each run."""
    points: int = 8
    """How often the value head is asked on the way, after as many decisions each time."""
    positions: int = 200
    """Lost positions, and as many won ones."""
    judged: int = 500
    """Critical positions."""


def solved(game: Game, n: int) -> dict[str, list[State]]:
    """Returns n positions that are lost for who moves, and n that are won."""
    found: dict[str, list[State]] = {"lost": [], "won": []}
    solver = exact_solver(game)
    for state in random_positions(game, FIRST_SEED, PLIES):
        kind = found["won" if solver.solve(state).value == 1 else "lost"]
        if len(kind) < n:
            kind.append(state)
        if all(len(kind) == n for kind in found.values()):
            break
    return found


def told(evaluator: Evaluator, states: Sequence[State]) -> float:
    """Returns the mean chance to win that an evaluator tells who moves."""
    return float(np.mean([(1 + state.value(evaluator)) / 2 for state in states]))


class Agent:
    """The policy of a network, which plays its likeliest actions against `greedy`."""

    def __init__(self, game: Game, evaluator: Evaluator) -> None:
        self.game = game
        self.policy = MctsPlayer(Mcts(game, evaluator, simulations=1, prior="policy", proofs=False), "policy")

    def game_from(self, state: State, seat: int, seed: int) -> tuple[list[State], bool]:
        """Plays a position to its end from one seat; returns the policy's decisions, and whether it won."""
        met, other = list[State](), player("greedy", self.game, seed=seed)

        def choose(state: State) -> int:
            if state.current_player != seat:
                return other.choose(state)
            met.append(state)
            return self.policy.choose(state)

        return met, play_out(state, choose).returns * (1 - 2 * seat) > 0

    def wins(self, states: Sequence[State]) -> float:
        """Returns how often it wins positions as who moves there."""
        ends = [self.game_from(state, state.current_player, FIRST_SEED + k)[1] for k, state in enumerate(states)]
        return float(np.mean(ends))

    def own(self, n: int) -> tuple[list[State], list[bool]]:
        """Returns a decision of each of n whole games, from both seats, and whether it won the game."""
        rng, states, ends = np.random.default_rng(FIRST_SEED), list[State](), list[bool]()
        for k in range(n):
            met, won = self.game_from(self.game.start(), k % 2, FIRST_SEED + k)
            states.append(met[int(rng.integers(len(met)))])
            ends.append(won)
        return states, ends


def asked(game: Game, leaf: Evaluator, states: dict[str, list[State]]) -> dict[str, float]:
    """Returns the chance told and the share won by kind of position; nan where there is none of a kind."""
    agent, solver, found = Agent(game, leaf), exact_solver(game), dict[str, float]()
    for kind, here in states.items():
        found |= {f"{kind} told": told(leaf, here), f"{kind} wins": agent.wins(here)}
    met, ends = agent.own(sum(map(len, states.values())))
    truth = [solver.solve(state).value for state in met]
    for kind, value in (("own won", 1), ("own lost", -1)):
        which = [k for k, one in enumerate(truth) if one == value]
        said = told(leaf, [met[k] for k in which]) if which else float("nan")
        share = float(np.mean([ends[k] for k in which])) if which else float("nan")
        found |= {f"{kind} told": said, f"{kind} wins": share, f"{kind} games": len(which)}
    return found


def learned(config: Config, name: str) -> list[dict[str, float]]:
    """Learns as one of RUNS; returns what was found at each point."""
    from leafwise.training.ppo.ppo import Config as PpoConfig
    from leafwise.training.ppo.ppo import MaskedPpo

    game, found = find_game("cassis"), []
    states, judged = solved(game, config.positions), critical_positions(game, config.judged, FIRST_SEED + 1, PLIES)
    options: dict[str, Any] = {"game": "cassis", "total_steps": config.total_steps, "judged": 0, **RUNS[name]}
    with TemporaryDirectory() as folder:
        learner = MaskedPpo(PpoConfig(run=str(Path(folder) / "run"), match_pairs=100, **options))
        for point in range(1, config.points + 1):
            while learner.done < point * config.total_steps / config.points:
                learner.step()
            leaf = learner.exported().evaluator("value head")
            found.append({"steps": learner.done, "kept": judged.share(leaf), **asked(game, leaf, states)})
    return found


def study(config: Config) -> None:
    """Learns what is not known, and writes the page and the picture."""
    results = results_of(config, "opponents.json")
    found = {name: results.find(name, partial(learned, config, name)) for name in RUNS}
    with picture(config.target("opponents.png"), columns=3, size=(12, 3.6)) as axes:
        for axis, (name, points) in zip(axes, found.items(), strict=True):
            steps = [point["steps"] / 1e6 for point in points]
            axis.plot(steps, [100 * point["kept"] for point in points], "k:", label="critical positions kept")
            for k, kind in enumerate(KINDS):
                for what, style in (("told", "-"), ("wins", "--")):
                    axis.plot(
                        steps,
                        [100 * point[f"{kind} {what}"] for point in points],
                        f"C{k}{style}",
                        label=f"{kind}, {what}",
                    )
            axis.set(title=f"against {name}", xlabel="million decisions", ylim=(0, 100), ylabel="%")
        axes[-1].legend(fontsize=6, loc="center left", bbox_to_anchor=(1.0, 0.5))
    write_page(config, "opponents.md", signed(config, lines(found, config)))


KINDS = ("won", "lost", "own won", "own lost")
"""Positions of random play and of the policy's own games, by what the exact solver says of them."""


FIRST_OF_EQUALS = [
    "The player that the policy wins against was `greedy:ties=first` here, which draws nothing and always plays the first of its",
    "best moves. The policy draws nothing either, so that its own games are two, one from each seat, again and again.",
    "",
]
"""What the page says of games from before `greedy` drew among its best moves: of points with `ties` of `first`."""


def lines(found: dict[str, list[dict[str, Any]]], config: Config) -> list[str]:
    """Returns the page."""
    text = [
        "# Sim: what PPO's value head says, and of which positions",
        "",
        "PPO against the one-ply player `greedy`, against itself, and against itself in games that begin with up to ten random",
        "moves (`--plies 10`, Sim's recipe), one run each. Critical positions kept: by the one-ply search with the value head,",
        f"of {config.judged} of random play. Then the chance to win that the value head tells, and how often the policy wins",
        "against `greedy`, in positions that the exact solver calls won or lost for who moves:",
        f"{config.positions} each of random play, and one of each of {2 * config.positions} games of its own.",
        "",
        *(
            FIRST_OF_EQUALS
            if any(point.get("ties") == "first" for points in found.values() for point in points)
            else []
        ),
        "![The tables as curves](opponents.png)",
    ]
    head = "decisions: | critical kept: | " + " | ".join(f"{kind}, told / wins:" for kind in KINDS)
    for name, points in found.items():
        rows = [
            [
                f"{point['steps']:,}",
                f"{point['kept']:.1%}",
                *(f"{point[f'{kind} told']:.0%} / {point[f'{kind} wins']:.0%}" for kind in KINDS),
            ]
            for point in points
        ]
        text += ["", f"## Against {name}", "", *table(head, rows)]
    return [*text, ""]


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
