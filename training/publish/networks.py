"""Publishes sparse networks of three kinds, which differ in how they are measured.

`SolverKind`: two-player games with an exact solver, on critical positions of the final seeds. If a shipped game has no solver, the
card names the study that measures the file. `GamesKind`: other games, by games of the final seeds compared with the hand-made
leaf. `WinChanceKind`: single-player games that are won or lost. The network predicts the win probability, plays all variants, and
is calibrated on request.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.files import read_text
from leafwise.models.files import load_tensors
from leafwise.models.sparse import SparseNetwork, load_sparse
from leafwise.training.evaluation.agreement import SolvedPositions, SolverJob, critical_positions, has_solver
from leafwise.training.evaluation.arena import BATCH, FINAL_SEED, starts_of
from leafwise.training.evaluation.calibration import calibration, rescaled, scaling
from leafwise.training.evaluation.matches import NamedPlayer, NetworkPlayer, meet, play_alone, play_pairs
from leafwise.training.evaluation.openings import plies_of
from leafwise.training.evaluation.statistics import (
    bounds,
    elo_difference,
    points_interval,
    returns_interval,
    share_interval,
)
from leafwise.training.execution import executor_for, in_pieces, map_pieces
from leafwise.training.execution.executor import LocalRef
from leafwise.training.execution.generations import call
from leafwise.training.games import PlayedGames
from leafwise.training.publish import interval, seeds_line
from leafwise.training.runs import CALIBRATION_SEED, REMATCH_SEED, SELECTION_SEED
from leafwise.training.runs.loop import find_variant
from leafwise.training.runs.recipes import recipe
from leafwise.training.types import Json, named

Prepared = tuple[SparseNetwork, Json]
"""The network to publish, and further metadata of its file."""
EXACT_NODES = "--exact-nodes"
GAMES = (400, 100)
"""Default numbers of games at depth 1 and 2."""


def newest_of(source: Path, best: SparseNetwork) -> Prepared:
    """Returns the newest network of a run and the metadata of its state; raises ValueError without a state."""
    tensors, state = load_tensors(source.with_name("state.safetensors"))
    return best.with_tensors(named(tensors, "newest")), state


class GamesKind:
    """Networks measured by games of the final seeds, compared with the hand-made leaf or against it."""

    WHAT, UNIT, load = "value network", "iterations", staticmethod(load_sparse)
    OPTIONS: tuple[str, ...] = ("games",)

    def prepare(self, network: SparseNetwork, source: Path, metadata: Any, config: Any) -> Prepared:
        """Returns the network, and the hand-made leaf to compare it with; random play if the game has none."""
        return network, {"hand_made": network.game.default_score}

    def measure(self, network: SparseNetwork, config: Any) -> Iterator[Json]:
        """Yields the mean return by depth: of both leaves, or in a two-player game of the network against the other."""
        game, hand_made = network.game, network.game.default_score
        with executor_for(call, config.processes, config.cluster) as executor:
            shared = executor.share(network)
            for depth, games in enumerate(config.games or GAMES, start=1):
                text = f"search:{hand_made},depth={depth}" if hand_made else "random"
                learned, other = NetworkPlayer(shared, depth, {}), NamedPlayer(game, text)
                starts = [(seed, game.start()) for seed in range(FINAL_SEED, FINAL_SEED + games)]
                meetings: dict[str, Sequence[Any]] = {"learned": (learned,), "hand_made": (other,)}
                if game.players == 2:
                    starts = starts_of(game, games, FINAL_SEED, plies_of(game, None), not hand_made)[0]
                    meetings = {"learned": (learned, other)}
                score: Json = {"depth": depth, "games": game.players * len(starts), "players": game.players}
                score["first_seed"] = FINAL_SEED
                for name, players in meetings.items():
                    pieces = [partial(meet, game, players, some) for some in in_pieces(starts, BATCH)]
                    scores = np.concatenate(list(executor.in_order(enumerate(pieces)))).mean(axis=1)
                    ends = bounds(returns_interval(scores, game.return_range))
                    score[name] = {"mean": float(scores.mean()), **ends}
                print(f"depth {depth}: mean return {score['learned']['mean']:,.3f}", flush=True)
                yield score

    def about(self, path: Path, metadata: Json) -> list[str]:
        """Returns what the model is."""
        layers, size = ", ".join(map(str, metadata["hidden"])), path.stat().st_size / 1e6
        return [
            "The input of the network is the list of [features](../../docs/terms.md#feature) that a position has. Widths of "
            f"the layers: {layers}. "
            f"Size of the file: {size:.2f} MB."
        ]

    def made(self, metadata: Json) -> list[str]:
        """Returns how the model was chosen."""
        return ["- selection: by games on selection seeds"]

    def figures(self, metadata: Json) -> list[str]:
        """Returns the table of figures."""
        first = metadata["score"][0]
        other = f"hand-made score `{metadata['hand_made']}`" if metadata["hand_made"] else "random play"
        article = "the " if metadata["hand_made"] else ""
        if first["players"] == 2:
            lines = [
                f"The table shows the mean result against {article}{other} in the same search, with 95 % intervals.",
                "A win counts 1, a loss -1.",
                "",
                "| search depth | games | mean |",
                "|---|---|---|",
                *(f"| {s['depth']} | {s['games']} | {interval(s['learned'], '.3f')} |" for s in metadata["score"]),
            ]
        else:
            lines = [
                "The table shows mean returns in the same search on the same seeds, with 95 % intervals.",
                "",
                f"| search depth | games | network | {other} |",
                "|---|---|---|---|",
            ]
            for s in metadata["score"]:
                learned, by_hand = (interval(s[name], ",.3f") for name in ("learned", "hand_made"))
                lines.append(f"| {s['depth']} | {s['games']} | {learned} | {by_hand} |")
        return [*lines, "", f"The games have {seeds_line(FINAL_SEED)}."]


class SolverKind(GamesKind):
    """Networks compared with the exact solver on critical positions."""

    OPTIONS = ("solver_positions", "solver_opening_plies", "solver_opening_depth", "depths", "rematch", "half")

    def prepare(self, network: SparseNetwork, source: Path, metadata: Any, config: Any) -> Prepared:
        """Returns the published network, and the hand-made leaf to compare it with."""
        network, more = super().prepare(network, source, metadata, config)
        if config.rematch:
            network, chosen = self.rematch(source, network, config.rematch)
            more |= chosen
        return network.rounded() if config.half else network, more

    def rematch(self, source: Path, best: SparseNetwork, games: int) -> Prepared:
        """Plays a match of a run's newest and best network; returns the better one and its metadata."""
        newest, state = newest_of(source, best)
        options = {"match_from_start": 0.0, **tomllib.loads(read_text(source.with_name("config.toml")))}
        first = REMATCH_SEED - SELECTION_SEED
        arguments = (
            *(options[name] for name in ("match_depth", "plies", "rare")),
            options["candidates"] or None,
            options["match_from_start"],
        )
        points = (
            1 + play_pairs(LocalRef((newest, best)), range(first, first + games // 2), *arguments).mean(axis=1)
        ) / 2
        mean, (low, high) = float(points.mean()), points_interval(points)
        print(
            f"the newest network, against the best: {mean:.1%} ({low:.1%} to {high:.1%}) of {games:,} games", flush=True
        )
        if mean <= 0.5:
            return best, {}
        selected = {"mean": mean, "games": games, "against": "the run's best", "elo": elo_difference(mean)}
        return newest, {"steps": state["done"], "seconds": round(state["seconds"], 1), "selected": selected}

    def measure(self, network: SparseNetwork, config: Any) -> Iterator[Json]:
        """Yields the shares of positions in which a search keeps the value, by depth; {} without a solver."""
        game, plies = network.game, config.solver_opening_plies
        if not has_solver(game):
            yield {}
            return
        where = config.processes, config.cluster
        with executor_for(SolverJob(game), *where) as solvers:
            solved = critical_positions(
                game, config.solver_positions, FINAL_SEED, plies, config.solver_opening_depth, solvers
            )
        pieces = [(depth, name) for depth in config.depths for name in ("learned", "hand_made")]
        shares = map_pieces(partial(kept, solved, network), pieces, *where)
        for depth in config.depths:
            score: Json = {"depth": depth, "positions": config.solver_positions, "plies": list(plies)}
            score |= {"ahead": config.solver_opening_depth, "learned": next(shares), "hand_made": next(shares)}
            both = f"{score['learned']['mean']:.1%}, by hand {score['hand_made']['mean']:.1%}"
            print(f"depth {depth}: keeps the value in {both}", flush=True)
            yield score

    def about(self, path: Path, metadata: Json) -> list[str]:
        """Returns what the model is."""
        return [
            *super().about(path, metadata),
            "It predicts the result for the player who acts, from -1 (a loss) to 1 (a win).",
        ]

    def made(self, metadata: Json) -> list[str]:
        """Returns how the model was chosen."""
        words = metadata["command"].split()
        nodes = int(words[words.index(EXACT_NODES) + 1]) if EXACT_NODES in words else 0
        targets = "values from the network's own search, not from a solver"
        if nodes:
            own = "values from the network's own search"
            targets = f"exact values if the solver needs at most {nodes:,} nodes, else {own}"
        return [f"- training targets: {targets}", "- selection: by matches against earlier networks of the run"]

    def figures(self, metadata: Json) -> list[str]:
        """Returns the table of figures, or where they are."""
        first = metadata["score"][0]
        if not first:
            page = "sizes" if metadata["options"] else "turns"
            return [
                f"[A study](../../experiments/{metadata['game']}/{page}.md) measures the network's strength.",
                f"`python -m leafwise.experiments.{metadata['game']}.{page}` repeats the study.",
            ]
        low, high = first["plies"]
        players = "chose at random"
        if first["ahead"]:
            players = f"saw wins and losses {first['ahead']} decisions ahead, and otherwise chose at random"
        lines = [
            "A [critical position](../../docs/terms.md#critical-position) has right and wrong actions. A wrong action makes the",
            "result worse under perfect play. The table shows how often a search chooses a right action in "
            f"{first['positions']} critical positions,",
            f"with Wilson's 95 % intervals. Before each position {low} to {high} actions were played; the players {players}.",
            "",
            f"| search depth | network | hand-made score `{metadata['hand_made']}` |",
            "|---|---|---|",
        ]
        for s in metadata["score"]:
            shares = (interval(with_interval(s[name]["mean"], s["positions"])) for name in ("learned", "hand_made"))
            lines.append(f"| {s['depth']} | {' | '.join(shares)} |")
        return [
            *lines,
            "",
            f"The positions were drawn with the seed {FINAL_SEED:,}, which neither training nor selection used.",
        ]


def kept(solved: SolvedPositions, network: SparseNetwork, piece: tuple[int, str]) -> dict[str, float | None]:
    """Job: returns the share of decisions in which a leaf at a depth keeps the value, with its interval."""
    depth, name = piece
    leaf = network.evaluator(name) if name == "learned" else network.game.score()
    keeps = solved.kept(solved.choices(leaf, depth))
    return with_interval(float(keeps.mean()), len(keeps))


def with_interval(share: float, positions: int) -> dict[str, float | None]:
    """Returns a share of positions with its interval."""
    return {"mean": share, **bounds(share_interval(round(share * positions), positions))}


class WinChanceKind(GamesKind):
    """Networks that predict the win probability of a single-player game, in all its variants."""

    WHAT = "network that predicts the chance to win"
    OPTIONS = ("variants", "games", "nodes", "rematch", "calibrate")

    def variants(self, game: Game, config: Any) -> dict[str, Game]:
        """Returns the variants to play, by their texts."""
        texts = config.variants or recipe(game.name, "selfplay", None).get("variants") or [""]
        return {text: find_variant(game.name, text) for text in texts}

    def played(
        self, network: SparseNetwork, requests: Sequence[tuple[Game, int, int]], first_seed: int, config: Any
    ) -> Iterator[PlayedGames]:
        """Yields the games of each request: (variant, number of games, depth)."""
        with executor_for(call, config.processes, config.cluster) as executor:
            yield from play_alone(executor, network, requests, first_seed, config.nodes)

    def prepare(self, network: SparseNetwork, source: Path, metadata: Any, config: Any) -> Prepared:
        """Returns the published network, and how it was chosen and scaled."""
        more: Json = {"search_nodes": config.nodes, "first_seed": FINAL_SEED, "calibrated": {}}
        if config.rematch:
            network, chosen = self.rematch(source, network, metadata, config)
            more |= chosen
        if config.calibrate:
            network, more["calibrated"] = self.calibrated(network, config)
        return network, more

    def rematch(self, source: Path, best: SparseNetwork, metadata: Json, config: Any) -> Prepared:
        """Plays games of a run's best and newest network; returns the better one and its metadata."""
        candidates = []
        requests = [(game, config.rematch, 1) for game in self.variants(best.game, config).values()]
        games = config.rematch * len(requests)
        for network, source_metadata in ((best, metadata), newest_of(source, best)):
            wins = sum(int(part.scores.sum()) for part in self.played(network, requests, REMATCH_SEED, config))
            steps, seconds = (
                source_metadata.get("steps", source_metadata.get("done")),
                round(source_metadata["seconds"], 1),
            )
            selected = {"mean": wins / games, "games": games}
            candidates.append((network, {"steps": steps, "seconds": seconds, "selected": selected}))
            print(f"after {steps:,} iterations: won {wins / games:.1%} of {games:,}", flush=True)
        return max(candidates, key=lambda pair: pair[1]["selected"]["mean"])

    def calibrated(self, network: SparseNetwork, config: Any) -> Prepared:
        """Returns a network calibrated on games of selection seeds, and how it was done."""
        requests = [(game, config.calibrate, 1) for game in self.variants(network.game, config).values()]
        games = PlayedGames.joined(list(self.played(network, requests, CALIBRATION_SEED, config)))
        slope, offset = scaling(games.values, games.outcomes())
        print(f"log odds times {slope:.3f} {offset:+.3f}", flush=True)
        calibration_info = {"games": config.calibrate, "first_seed": CALIBRATION_SEED, "slope": slope, "offset": offset}
        return rescaled(network, slope, offset), calibration_info

    def measure(self, network: SparseNetwork, config: Any) -> Iterator[Json]:
        """Yields the figures of final games, by depth and variant."""
        amounts = list(enumerate(config.games or (300, 50), start=1))
        cells = [(d, n, text, game) for d, n in amounts for text, game in self.variants(network.game, config).items()]
        parts = self.played(network, [(game, n, d) for d, n, _, game in cells], FINAL_SEED, config)
        for (depth, games, text, _), part in zip(cells, parts, strict=True):
            wins = int(part.scores.sum())
            low, high = share_interval(wins, games)
            error = calibration(part.values, part.outcomes())[0]
            print(f"{text}, depth {depth}: won {wins} of {games}, calibration error {error:.3f}", flush=True)
            yield {
                "variant": text, "depth": depth, "games": games, "mean": wins / games, "ci_low": low, "ci_high": high,
                "calibration_error": error, "seconds_per_move": part.seconds / len(part.values),
            }  # fmt: skip

    def about(self, path: Path, metadata: Json) -> list[str]:
        """Returns what the model is."""
        return [
            *super().about(path, metadata),
            "The same network plays all variants of the table below, in players such as `search:learned,depth=2`.",
        ]

    def made(self, metadata: Json) -> list[str]:
        """Returns how the model was chosen and scaled."""
        selected = metadata["selected"]
        lines = [
            f"- selection: by {selected['games']:,} games on [selection seeds](../../docs/terms.md#selection-seeds). "
            f"The network won {selected['mean']:.1%} of them"
        ]
        if scaled := metadata["calibrated"]:
            lines.append(
                f"- calibration: the predicted log odds are multiplied by {scaled['slope']:.3f}, then "
                f"{scaled['offset']:+.3f} is added. Both numbers were fitted to {scaled['games']} games of each "
                f"variant on selection seeds from {scaled['first_seed']:,} on"
            )
        return lines

    def figures(self, metadata: Json) -> list[str]:
        """Returns the table of figures."""
        player = f"search:{metadata['game']},depth=1,nodes={metadata['search_nodes']}"
        lines = [
            f"The player is `{player}`, or the same search with `depth=2`. It sees no hidden information. A search with",
            f"`nodes={metadata['search_nodes']}` ends after this number of decisions. "
            f"The games have {seeds_line(metadata['first_seed'])}.",
            "Intervals are Wilson's.",
            "",
            "The calibration error says how accurate the predicted chances are. The predictions are sorted into ten groups: from",
            "0 to 0.1, from 0.1 to 0.2 and so on. The error is the mean difference between the predicted chance of a group and its",
            "share of games won.",
            "",
            "| variant | search depth | games | won | 95 % interval | calibration error | ms per decision |",
            "|---|---|---|---|---|---|---|",
        ]
        return lines + [
            f"| {s['variant']} | {s['depth']} | {s['games']:,} | {s['mean']:.1%} | {s['ci_low']:.1%} to {s['ci_high']:.1%} "
            f"| {s['calibration_error']:.3f} | {1000 * s['seconds_per_move']:.2g} |"
            for s in metadata["score"]
        ]
