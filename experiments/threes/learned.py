"""What learning bought in Threes: the learned leaf against every hand-made one, and what made it good.

`python -m leafwise.experiments.threes.learned` works through its parts, or those named by `--parts`: `depth` and `time` (the
same search with each leaf, at equal depth and at equal processor time per move), `curves` and `ingredients` (short runs of
`td`, each without one of its ingredients), `endings` (the last moves of games, played on by leaves that learned score or
survival). Games have paired final seeds, from 1,000,000 on; those of the learned leaf at depths and times begin at 2,000,000,
which no network before it was judged by. Every figure is written to `learned.json` as soon as it is known, a player's after
each tenth of its games, and what stands there, or in `baselines.json`, is not worked out again, so a stopped study goes on
where it was; games of another network than the learned leaf's are played anew. Intervals are worked out of the scores each time
where they are kept. `learned.md` and the plots are made of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.pictures.animation import recorded
from leafwise.envs.core.play.playing import play_out
from leafwise.envs.core.textfile import read_text
from leafwise.envs.registry import game
from leafwise.experiments.study import PlacedStudy, command, digest_of, known_results, missing_seeds, trained
from leafwise.experiments.threes.baselines import figures
from leafwise.experiments.threes.learned_report import report, split
from leafwise.models.files import model_path
from leafwise.models.leaves import named_leaf
from leafwise.models.ntuple_files import load_ntuples
from leafwise.models.packing import merged
from leafwise.search.players import Player, player
from leafwise.training.evaluation.arena import FINAL_SEED, Evaluation, evaluate
from leafwise.training.evaluation.intervals import bounds, mean_interval
from leafwise.training.ntuple_td.games import play_games

THREES = game("threes")
LEARNED_SEED = 2_000_000
"""First seed of the learned leaf's games at depths and times."""
GAMES_AT_TIME = {1: 300, 10: 100, 100: 30}
"""Games of each leaf by milliseconds a move."""
GAMES_AT_DEPTH = {1: (1000, 1000), 2: (500, 400), 3: (300, 120), 4: (100, 60), 5: (10, 30)}
"""Games of the learned leaf and of each hand-made one by depth."""
CUTOFFS = {3: 0.001, 4: 0.003, 5: 0.003}
"""Decisions less probable than this are leaves, by depth; to depth 3 only with the learned leaf."""
LEAVES = ("openness", "openness_wegner", "rows")
"""Hand-made leaves."""
TREES = "mcts"
"""At equal time beside the leaves: Monte Carlo tree search with the learned leaf."""
CUTOFF_AT_TIME = 0.003
"""The same for all leaves at equal time."""
INGREDIENTS: dict[str, dict[str, Any]] = {
    "as shipped": {},
    "afterstate": {"valued": "afterstate", "small": "large"},
    "afterstate with hint": {"valued": "afterstate", "small": "hint large"},
    "no deck tables": {"small": "large"},
    "with blank and merge counts": {"small": "deck deck_empties large blank_merge"},
    "TD(0)": {"td_lambda": 0.0},
    "score as target": {"target": "score"},
    "survival as target": {"target": "survival"},
    "constant rate": {"hold": 1.0},
    "coherent rates": {"coherence": True, "learning_rate": 1.0, "final_learning_rate": 0.1},
    "optimistic start": {"optimism": 3000.0},
    "no restarts": {"restart": 0},
    "two stages": {"splits": "1536"},
    "targets of depth 1": {"target_depth": 1},
    "five 4-tuples only": {"tuples": "0123 4567 0145 1256 569a"},
    "four 6-tuples only": {"tuples": "012456 45689a 012345 456789"},
    "two actors": {"actors": 2},
}
"""Runs of `td` that differ from the first in one ingredient."""
MIXED = "0123 4567 0145 1256 569a 012456 45689a 012345 456789"
FINISHERS = ("openness", "rows")
"""Hand-made leaves that play endings on."""
PARTS = ("depth", "time", "curves", "ingredients", "endings")


@dataclass(frozen=True)
class Config(PlacedStudy):
    """Compares learned and hand-made leaves of Threes and writes learned.json, learned.md and plots."""

    parts: tuple[str, ...] = PARTS
    """Parts to work on: depth, time, curves, ingredients, endings; none: only the report is made again."""
    share: float = 1.0
    """Share of the games to play, above 0 to 1."""
    model: str = "threes"
    """The learned leaf: a shipped model's name, a run folder or a model file."""
    most_depth: int = 5
    """Greatest depth of the part depth."""
    least_depth: int = 1
    """Least depth of the part depth."""
    leaves: tuple[str, ...] = ("learned", *LEAVES, TREES)
    """Leaves of the parts depth and time; mcts, at equal time alone, is tree search with the learned one."""
    times: tuple[int, ...] = tuple(GAMES_AT_TIME)
    """Milliseconds a move of the part time."""
    tuples: str = MIXED
    """Tuples of the runs of the parts curves, ingredients and endings."""
    moves: int = 20_000_000
    """Moves of each run of the parts ingredients and endings."""
    seeds: int = 2
    """Runs of each ingredient."""
    curve_moves: int = 160_000_000
    """Moves of the longest run of the part curves; the others have a half, a quarter, ..."""
    runs: str = "runs/threes-learned"
    """Folder of those runs."""


def rescored(found: dict[str, Any]) -> dict[str, Any]:
    """Returns figures with the interval of their scores as it is worked out now, where the scores are kept."""
    return found | bounds(mean_interval(np.array(found["scores"]))) if "scores" in found else found


class Parts:
    """The parts of the study: the results so far, and how to get more."""

    def __init__(self, config: Config) -> None:
        wrong = [part for part in config.parts if part not in PARTS]
        if wrong or not 0 < config.share <= 1:
            known = ", ".join(PARTS)
            raise UserError(f"expected parts among {known} and a share in (0, 1], got {config.parts}, {config.share}")
        self.config = config
        self.results = known_results(config, "learned.json")
        for part in PARTS:
            self.results[part] = {name: rescored(found) for name, found in self.results.get(part, {}).items()}

    def games(self, n: int) -> int:
        """Returns how many games to play instead of n."""
        return max(2, round(n * self.config.share))

    def find(self, part: str, name: str, games: int, work: Callable[[], dict[str, Any]]) -> None:
        """Works a result out and keeps it, unless it is known from so many games already."""
        if self.results[part].get(name, {}).get("games", 0) < games:
            self.keep(part, name, work())

    def keep(self, part: str, name: str, found: dict[str, Any]) -> None:
        """Writes a result down."""
        told = f"{part}, {name}: {found['mean']:,.0f}, {found['games']} games"
        self.results.keep(part, {**self.results[part], name: found}, told)

    def play(self, part: str, name: str, games: int, play: Callable[[int, int], Evaluation]) -> None:
        """Has the games of a player played that are missing, from a seed so many; keeps the figures after each tenth."""
        told: dict[str, Any] = {}
        if split(name)[0] in ("learned", TREES):
            told = {"first_seed": LEARNED_SEED, "network": digest_of(self.config.model)}
        known = self.results[part].get(name)
        if known and not told.items() <= known.items():
            known = None
        done = known["games"] if known else 0
        for seeds in missing_seeds(done, games, max(2, games // 10), told.get("first_seed", FINAL_SEED)):
            known = figures(known, play(seeds[0], len(seeds))) | told
            self.keep(part, name, known)

    def evaluated(self, text: str) -> Callable[[int, int], Evaluation]:
        """Returns what plays games of a named player."""
        where: Any = {"processes": self.config.processes, "cluster": self.config.cluster}
        return lambda seed, games: evaluate(THREES, text, games, seed, **where)

    def played(self, model: str, depth: int, cutoff: float = 0.0) -> Callable[[int, int], Evaluation]:
        """Returns what plays games of an n-tuple network, compiled."""

        def play(seed: int, games: int) -> Evaluation:
            network = merged(load_ntuples(model_path(model), THREES))
            found = play_games(
                network,
                depth,
                seed,
                games,
                cutoff=cutoff,
                threads=self.config.processes,
                cluster=self.config.cluster,
            )
            return Evaluation(model, seed, found.scores, found.ranks, found.moves, found.seconds / max(found.moves, 1))

        return play

    def depth(self) -> None:
        """Every leaf at equal depth."""
        path = self.config.source("baselines.json")
        baselines = json.loads(read_text(path)) if path else {}
        for depth in range(self.config.least_depth, self.config.most_depth + 1):
            own, each = (self.games(n) for n in GAMES_AT_DEPTH[depth])
            cutoff = CUTOFFS.get(depth, 0.0)
            if "learned" in self.config.leaves:
                self.play("depth", f"learned {depth}", own, self.played(self.config.model, depth, cutoff))
            for score in (name for name in LEAVES if name in self.config.leaves):
                text = f"search:{score},depth={depth}"
                if baselines.get(text, {}).get("games", 0) >= each:
                    self.find("depth", f"{score} {depth}", each, partial(baselines.get, text))
                else:
                    text += f",cutoff={cutoff}" * (depth > 3)
                    self.play("depth", f"{score} {depth}", each, self.evaluated(text))

    def time(self) -> None:
        """Every leaf at equal time per move."""
        for ms in self.config.times:
            games = self.games(GAMES_AT_TIME[ms])
            for name in self.config.leaves:
                source = name if name in LEAVES else f'"{self.config.model}"'
                text = f"search:{source},seconds={ms / 1000},clock=cpu,cutoff={CUTOFF_AT_TIME}"
                if name == TREES:
                    text = f"mcts:{source},seconds={ms / 1000},clock=cpu"
                self.play("time", f"{name} {ms}", games, self.evaluated(text))

    def learned(self, name: str, moves: int, **options: Any) -> Path:
        """Returns the folder of a finished run of `td`."""
        options = {"tuples": self.config.tuples, "interval": max(1, moves // 20), **options}
        path = Path(self.config.runs) / name.replace(" ", "-")
        return trained(path, "ntuple-td", {"game": "threes", "total_steps": moves, **options})

    def judge(self, part: str, name: str, depth: int, games: int, train: Callable[[], Path]) -> None:
        """Finds what a run's model makes of a search of some depth, and what the run cost."""

        def work() -> dict[str, Any]:
            run = train()
            found = figures(None, self.played(str(run), depth)(FINAL_SEED, games))
            told = json.loads(read_text(run / "results.json"))
            kept = {name: value for name, value in found.items() if name not in ("scores", "best_cells")}
            return kept | {"trained_moves": told["steps"], "trained_seconds": told["seconds"]}

        self.find(part, f"{name} {depth}", games, work)

    def curves(self) -> None:
        """The score at depth 1 along runs of growing length, each annealed to its end."""
        for k in range(5):
            moves = self.config.curve_moves >> (4 - k)
            run = partial(self.learned, f"curve-{moves}", moves)
            self.judge("curves", f"{moves / 1e6:g} million moves", 1, self.games(500), run)

    def ingredients(self) -> None:
        """Runs of equal length that differ in one ingredient, at depths 1 and 2, each with a few seeds."""
        for seed in range(1, self.config.seeds + 1):
            for name, options in INGREDIENTS.items():
                run = partial(
                    self.learned, f"{name} {seed}", self.config.moves, **options, seed=seed, evaluate_every=20
                )
                for depth, games in ((1, 500), (2, 100)):
                    self.judge("ingredients", f"{name}, seed {seed}", depth, self.games(games), run)

    def endings(self) -> None:
        """Positions 40 moves before the learned leaf's game ended, played to the end by each leaf at depth 2."""
        games = self.games(500)
        starts: list[State] = []
        targets = ("power", "score", "survival")
        models = {name: str(self.learned(f"ending-{name}", self.config.moves, target=name)) for name in targets}
        for kind in (*models, *FINISHERS):

            def work() -> dict[str, Any]:
                source = models.get(kind, kind)  # noqa: B023
                if not starts:
                    starts.extend(late_positions(self.config.model, games))
                own = player(f'search:"{source}",depth=2', THREES, leaf=named_leaf)
                return ended(own, starts)

            self.find("endings", kind, games, work)


def late_positions(model: str, games: int, before: int = 40) -> list[State]:
    """Returns the position so many moves before the end of each of the model's games at depth 1."""
    own, found = player(f'search:"{model}",depth=1', THREES, leaf=named_leaf), []
    for seed in range(FINAL_SEED, FINAL_SEED + games):
        decisions = recorded(THREES, [own], seed)[:-1]
        found.append(decisions[max(0, len(decisions) - before)])
    return found


def ended(own: Player, starts: list[State]) -> dict[str, Any]:
    """Returns how many points and moves a player makes from positions to the end."""
    points, moves = [], []
    for k, state in enumerate(starts):
        stream, met = new_stream(FINAL_SEED + k), list[State]()

        def choose(state: State, met: list[State] = met) -> int:
            met.append(state)
            return own.choose(state)

        end = play_out(state, choose, lambda state, stream=stream: state.settle(stream))  # type: ignore[misc]
        points.append(end.returns - state.returns)
        moves.append(len(met))
    error = [float(np.std(v, ddof=1) / np.sqrt(len(v))) for v in (points, moves)]
    told = {"games": len(starts), "mean": float(np.mean(points)), "error": error[0], "moves": float(np.mean(moves))}
    return told | {
        "moves_error": error[1],
        "median": float(np.median(points)),
        "points_a_move": sum(points) / sum(moves),
    }


def study(config: Config) -> None:
    """Works through the parts, and writes the report after each."""
    parts = Parts(config)
    for part in config.parts:
        getattr(parts, part)()
        report(parts.results, config)
    parts.results.save()
    report(parts.results, config)


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
