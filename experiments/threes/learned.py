"""What learning bought in Threes: the learned leaf against every hand-made one, and what made it good.

`python -m leafwise.experiments.threes.learned` works through five parts, or those named by `--parts`: `time` and `depth`
(the same search with each leaf, at equal time per move and at equal depth), `curves` and `ingredients` (short runs of
`td`, each without one of its ingredients), `endings` (the last moves of games, played on by leaves that learned score or
survival). Games have paired final seeds, from 1,000,000 on. Every figure is written to `learned.json` as soon as it is
known, and what stands there is not worked out again, so a stopped study goes on where it was; `learned.md` and the
plots are made of it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from leafwise.envs.core.commandline import parse
from leafwise.envs.core.state import State
from leafwise.envs.core.stream import new_stream
from leafwise.envs.registry import game
from leafwise.experiments.threes.baselines import FOLDER, SCORES, figures, write
from leafwise.experiments.threes.learned_report import report
from leafwise.models.files import leaf, load_network, model_path
from leafwise.search.players import Player, player
from leafwise.training import td
from leafwise.training.arena import FINAL_SEED, Evaluation, evaluate
from leafwise.training.games import play_games

THREES = game("threes")
GAMES_AT_TIME = {1: 300, 10: 100, 100: 20}
"""Games of each leaf by milliseconds a move."""
GAMES_AT_DEPTH = {1: 1000, 2: 500, 3: 120, 4: 20, 5: 5}
INGREDIENTS: dict[str, dict[str, Any]] = {
    "as shipped": {},
    "afterstate": {"valued": "afterstate", "small": "large"},
    "afterstate with hint": {"valued": "afterstate", "small": "hint large"},
    "no deck tables": {"small": "large"},
    "with blank and merge counts": {"small": "deck deck_empties large blank_merge"},
    "TD(0)": {"decay": 0.0},
    "score as target": {"target": "score"},
    "survival as target": {"target": "survival"},
    "constant rate": {"hold": 1.0},
    "coherent rates": {"coherence": True, "rate": 1.0, "final_rate": 0.1},
    "optimistic start": {"optimism": 3000.0},
    "no restarts": {"restart": 0},
    "two stages": {"stages": "1536"},
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
class Config:
    """Compares learned and hand-made leaves of Threes and writes learned.json, learned.md and plots."""

    parts: tuple[str, ...] = PARTS
    """Parts to work on: depth, time, curves, ingredients, endings; none: only the report is made again."""
    share: float = 1.0
    """Share of the games to play, above 0 to 1."""
    model: str = "threes"
    """The learned leaf: a shipped model's name, a run folder or a model file."""
    most_depth: int = 5
    """Greatest depth of the part depth."""
    times: tuple[int, ...] = tuple(GAMES_AT_TIME)
    """Milliseconds a move of the part time."""
    tuples: str = MIXED
    """Tuples of the runs of the parts curves, ingredients and endings."""
    moves: int = 40_000_000
    """Moves of each run of the parts curves and ingredients."""
    runs: str = "runs/threes-learned"
    """Folder of those runs."""
    processes: int = 1
    """Processes, or threads, that play."""
    folder: Path = FOLDER
    """Where the results are, and go."""


class Study:
    """The results so far, and how to get more."""

    def __init__(self, config: Config) -> None:
        wrong = [part for part in config.parts if part not in PARTS]
        if wrong or not 0 < config.share <= 1:
            known = ", ".join(PARTS)
            raise ValueError(f"expected parts among {known} and a share in (0, 1], got {config.parts}, {config.share}")
        self.config = config
        self.path = config.folder / "learned.json"
        self.results: dict[str, dict[str, Any]] = {part: {} for part in PARTS}
        if self.path.exists():
            self.results |= json.loads(self.path.read_text(encoding="utf-8"))

    def games(self, n: int) -> int:
        """Returns how many games to play instead of n."""
        return max(2, round(n * self.config.share))

    def find(self, part: str, name: str, games: int, work: Callable[[], dict[str, Any]]) -> None:
        """Works a result out and writes it, unless it is known from so many games already."""
        if self.results[part].get(name, {}).get("games", 0) >= games:
            return
        self.results[part][name] = work()
        self.config.folder.mkdir(parents=True, exist_ok=True)
        write(self.path, json.dumps(self.results, indent=1) + "\n")
        print(f"{part}, {name}: {self.results[part][name]['mean']:,.0f}", flush=True)

    def evaluated(self, text: str, games: int) -> dict[str, Any]:
        """Returns the figures of a named player."""
        found = figures([evaluate(THREES, text, games, FINAL_SEED, processes=self.config.processes)])
        del found["scores"]
        return found

    def played(self, model: str, depth: int, games: int) -> dict[str, Any]:
        """Returns the same figures of an n-tuple network, from compiled games."""
        network = load_network(model_path(model), THREES)
        found = play_games(network, depth, FINAL_SEED, games, threads=self.config.processes)
        evaluation = Evaluation(
            model, FINAL_SEED, found.scores, found.ranks, found.moves, found.seconds / max(found.moves, 1)
        )
        told = figures([evaluation])
        del told["scores"]
        return told

    def depth(self) -> None:
        """Every leaf at equal depth."""
        for depth in range(1, self.config.most_depth + 1):
            games = self.games(GAMES_AT_DEPTH[depth])
            self.find("depth", f"learned {depth}", games, lambda: self.played(self.config.model, depth, games))  # noqa: B023
            for score in SCORES:
                text = f"search:{score},depth={depth}"
                self.find("depth", f"{score} {depth}", games, lambda: self.evaluated(text, games))  # noqa: B023

    def time(self) -> None:
        """Every leaf at equal time per move."""
        for ms in self.config.times:
            games = self.games(GAMES_AT_TIME[ms])
            for name in ("learned", *SCORES):
                source = f'"{self.config.model}"' if name == "learned" else name
                text = f"search:{source},seconds={ms / 1000}"
                self.find("time", f"{name} {ms}", games, lambda: self.evaluated(text, games))  # noqa: B023

    def trained(self, name: str, moves: int, **options: Any) -> Path:
        """Returns the folder of a finished run of `td`, trained now, or gone on with, if it is not."""
        path = Path(self.config.runs) / name.replace(" ", "-")
        config = td.Config(run=str(path), tuples=self.config.tuples, moves=moves, interval=max(1, moves // 20))
        config = replace(config, **options, resume=(path / "config.json").exists())
        if not (path / "results.json").exists():
            td.train(config)
        return path

    def curves(self) -> None:
        """The score at depth 1 along runs of growing length, each annealed to its end."""
        for k in range(4):
            moves = self.config.moves >> (3 - k)
            games = self.games(400)
            path = str(Path(self.config.runs) / f"curve-{moves}")

            def work() -> dict[str, Any]:
                run = self.trained(f"curve-{moves}", moves)  # noqa: B023
                return self.played(path, 1, games) | self.made(run)  # noqa: B023

            self.find("curves", f"{moves} moves", games, work)

    def ingredients(self) -> None:
        """Runs of equal length that differ in one ingredient, at depths 1 and 2."""
        for name, options in INGREDIENTS.items():
            for depth, most in ((1, 500), (2, 100)):
                games = self.games(most)

                def work() -> dict[str, Any]:
                    run = self.trained(name, self.config.moves, **options)  # noqa: B023
                    return self.played(str(run), depth, games) | self.made(run)  # noqa: B023

                self.find("ingredients", f"{name} {depth}", games, work)

    def made(self, run: Path) -> dict[str, Any]:
        """Returns what a run cost."""
        told = json.loads((run / "results.json").read_text(encoding="utf-8"))
        return {"trained_moves": told["steps"], "trained_seconds": told["seconds"]}

    def endings(self) -> None:
        """Positions 40 moves before the learned leaf's game ended, played to the end by each leaf at depth 2."""
        games = self.games(100)
        starts: list[State] = []
        longevity = self.trained("survival as target", self.config.moves, target="survival")
        models = {"score": str(self.trained("as shipped", self.config.moves)), "survival": str(longevity)}
        for kind in (*models, *FINISHERS):

            def work() -> dict[str, Any]:
                source = models.get(kind, kind)  # noqa: B023
                if not starts:
                    starts.extend(late_positions(self.config.model, games))
                own = player(f'search:"{source}",depth=2', THREES, leaf=leaf)
                return ended(own, starts)

            self.find("endings", kind, games, work)


def late_positions(model: str, games: int, before: int = 40) -> list[State]:
    """Returns the position so many moves before the end of each of the model's games at depth 1."""
    own, found = player(f'search:"{model}",depth=1', THREES, leaf=leaf), []
    for seed in range(FINAL_SEED, FINAL_SEED + games):
        stream, path = new_stream(seed), []
        state = THREES.start().settle(stream)
        while not state.is_terminal:
            path.append(state)
            state = state.play(own.choose(state)).settle(stream)
        found.append(path[max(0, len(path) - before)])
    return found


def ended(own: Player, starts: list[State]) -> dict[str, Any]:
    """Returns how many points and moves a player makes from positions to the end."""
    points, moves = [], []
    for k, state in enumerate(starts):
        stream, first, n = new_stream(FINAL_SEED + k), state.returns, 0
        while not state.is_terminal:
            state, n = state.play(own.choose(state)).settle(stream), n + 1
        points.append(state.returns - first)
        moves.append(n)
    error = [float(np.std(v, ddof=1) / np.sqrt(len(v))) for v in (points, moves)]
    told = {"games": len(starts), "mean": float(np.mean(points)), "error": error[0], "moves": float(np.mean(moves))}
    return told | {
        "moves_error": error[1],
        "median": float(np.median(points)),
        "points_a_move": sum(points) / sum(moves),
    }


def main(arguments: list[str] | None = None) -> int:
    """Runs the study."""
    given = sys.argv[1:] if arguments is None else arguments
    config = parse(Config, given, "python -m leafwise.experiments.threes.learned")
    try:
        study = Study(config)
        for part in config.parts:
            getattr(study, part)()
            report(study.results, config.folder)
        report(study.results, config.folder)
    except ValueError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
