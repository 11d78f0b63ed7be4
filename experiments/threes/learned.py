"""Compares the learned leaf of Threes with every hand-made one.

`python -m leafwise.experiments.threes.learned` plays its parts, or those of `--parts`: `depth` and `time` (the same search with
each leaf, at equal depth and at equal processor time per move). Games have paired final seeds, from 1,000,000 on. Those of the
learned leaf begin at 2,000,000, where no earlier network has played. Games in `learned.json` are not played again, so a stopped
study continues; games of another network are. It writes `learned.md` and `learned.png`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leafwise.envs.core.errors import UserError
from leafwise.envs.registry import game
from leafwise.experiments.study import (
    DistributedStudy,
    Results,
    command,
    digest_of,
    picture,
    points,
    section,
    table,
    with_bars,
)
from leafwise.experiments.study.matches import KeptMatch, Match, MatchStudy
from leafwise.experiments.threes.baselines import figures
from leafwise.models.files import model_path
from leafwise.models.ntuple import load_ntuples, merged
from leafwise.training.evaluation.arena import FINAL_SEED
from leafwise.training.evaluation.results import Evaluation
from leafwise.training.ntuple_td.kernels import play_games

THREES = game("threes")
LEARNED_SEED = 2_000_000
"""First seed of the learned leaf's games."""
GAMES_AT_TIME = {1: 300, 10: 100, 100: 30}
"""Games of each leaf by milliseconds a move."""
GAMES_AT_DEPTH = {1: (1000, 1000), 2: (500, 400), 3: (300, 120), 4: (100, 60), 5: (10, 30)}
"""Games of the learned leaf and of each hand-made one by depth."""
CUTOFFS = {3: 0.001, 4: 0.003, 5: 0.003}
"""Cutoffs by depth: less probable decisions are leaves. Up to depth 3 only for the learned leaf."""
CUTOFF_AT_TIME = 0.003
"""Cutoff of all leaves at equal time."""
LEAVES = ("openness", "openness_wegner", "rows")
"""Hand-made leaves."""
TREES = "mcts"
"""A further player at equal time: Monte Carlo tree search with the learned leaf."""
PARTS = ("depth", "time")
PUBLISHED = {
    "hand-made, depth 8 (2026)": (3300.0, 321_016),
}
"""Published players with known time: (milliseconds a move, mean score)."""
PUBLISHED_SCORES = {
    "CGI network, one decision": 35_763, "CGI network, one decision with chance": 158_151,
    "CGI network, two decisions": 221_326, "hand-made, depth 3 (2026)": 117_000, "hand-made, depth 5 (2026)": 252_000,
    "hand-made, depth 6 (2026)": 301_000,
}  # fmt: skip
"""Mean scores of published players with unknown time."""
RANKS = {3072: 13, 6144: 14, 12288: 15}
"""Tiles in the tables, with their ranks."""


@dataclass(frozen=True)
class Config(DistributedStudy):
    """Compares learned and hand-made leaves of Threes and writes learned.json, learned.md and learned.png."""

    parts: tuple[str, ...] = PARTS
    """Parts to play: depth, time; none: only write the page."""
    share: float = 1.0
    """Share of the games to play, above 0 to 1."""
    model: str = "threes"
    """The learned leaf: a shipped model's name, a run folder or a model file."""
    depths: tuple[int, ...] = tuple(GAMES_AT_DEPTH)
    """Depths of the part depth."""
    leaves: tuple[str, ...] = ("learned", *LEAVES, TREES)
    """Leaves of both parts; mcts, at equal time alone, is tree search with the learned one."""
    times: tuple[int, ...] = tuple(GAMES_AT_TIME)
    """Milliseconds a move of the part time."""


def play_compiled(match: Match, seeds: range, config: DistributedStudy) -> Evaluation:
    """Plays games of an n-tuple network in compiled code; the player's text is model, depth and cutoff."""
    model, depth, cutoff = match.player.rsplit(" ", 2)
    where: dict[str, Any] = {"processes": config.processes, "cluster": config.cluster}
    network = merged(load_ntuples(model_path(model), THREES))
    result = play_games(network, int(depth), seeds[0], len(seeds), cutoff=float(cutoff), **where)
    return Evaluation(model, seeds[0], result.scores, result.ranks, result.moves, result.seconds / max(result.moves, 1))


def matches(config: Config) -> Iterator[Match]:
    """Yields the games of each leaf; raises ValueError for unknown parts and wrong shares."""
    if not set(config.parts) <= set(PARTS) or not 0 < config.share <= 1:
        known = ", ".join(PARTS)
        raise UserError(f"expected parts among {known} and a share in (0, 1], got {config.parts}, {config.share}")

    def match(title: str, player: str, games: int, **how: Any) -> Match:
        games = max(2, round(games * config.share))
        is_learned = split(title)[1] in ("learned", TREES)
        seed, network = (LEARNED_SEED, digest_of(config.model)) if is_learned else (FINAL_SEED, None)
        return Match(title, THREES, player, games, None, seed, max(2, games // 10), network, **how)

    for depth in config.depths if "depth" in config.parts else ():
        cutoff = CUTOFFS.get(depth, 0.0)
        for leaf in config.leaves:
            if leaf == "learned":
                text, how = f"{config.model} {depth} {cutoff}", {"play": play_compiled}
                yield match(f"depth, {leaf} {depth}", text, GAMES_AT_DEPTH[depth][0], **how)
            elif leaf in LEAVES:
                text = f"search:{leaf},depth={depth}" + f",cutoff={cutoff}" * (depth > 3)
                yield match(f"depth, {leaf} {depth}", text, GAMES_AT_DEPTH[depth][1])
    for ms in config.times if "time" in config.parts else ():
        for leaf in config.leaves:
            source = leaf if leaf in LEAVES else f'"{config.model}"'
            text = f"search:{source},seconds={ms / 1000},clock=cpu,cutoff={CUTOFF_AT_TIME}"
            text = f"mcts:{source},seconds={ms / 1000},clock=cpu" if leaf == TREES else text
            yield match(f"time, {leaf} {ms}", text, GAMES_AT_TIME[ms])


def split(title: str) -> tuple[str, str, int]:
    """Splits `depth, leaf 3` into its part, leaf and number."""
    part, leaf = title.split(", ")
    leaf, _, number = leaf.rpartition(" ")
    return part, leaf, int(number)


def share_reaching(tile: int, kept: KeptMatch) -> float:
    """Returns the share of a player's games with a tile; 0 if no game reached the largest saved tile."""
    shares = kept["reached"]
    largest = max(shares, key=int)
    if str(tile) in shares or not shares[largest]:
        return float(shares.get(str(tile), 0.0))
    return sum(rank >= RANKS[tile] for rank in kept["best_cells"]) / kept["games"]


def score_table(results: Results, part: str) -> list[str]:
    """Returns the table of a part."""
    measured = part == "depth"  # the other part has limits of processor time, but its time a move is wall time
    rows = []
    for title in sorted(results, key=lambda title: (split(title)[2], -results[title]["mean"])):
        r, (its, leaf, number) = results[title], split(title)
        if its == part:
            reached = (f"{100 * share_reaching(tile, r):.0f} %" for tile in RANKS)
            row = [f"{number}", leaf, f"{r['games']}", *points(r), f"{r['median']:,.0f}", *reached]
            rows.append([*row, f"{1000 * r['seconds_per_move']:.3g}"] if measured else row)
    tiles = " | ".join(f"{tile}:" for tile in RANKS)
    head = f"{'depth' if measured else 'ms'} | leaf | games: | mean: | 95 % interval: | median: | {tiles}"
    return table(head + " | ms per move:" * measured, rows)


def page(config: Config, results: Results) -> list[str]:
    """Returns learned.md without parts that have no games."""
    about = {
        "depth": (
            "Equal depth",
            "At depths 4 and 5 the searches have `cutoff=0.003`: if a position has a smaller probability, the search "
            "takes the leaf's value there and goes no further. At depth 3 the search with the learned leaf has "
            "`cutoff=0.001`, and the others have no cutoff. A cutoff costs little strength, and makes a search two to three "
            "times faster.",
        ),
        "time": (
            "Equal time per move",
            "The column `ms` has the processor time per move. A depth-limited search goes deeper until this time is over, and has "
            "`cutoff=0.003`. The rows `mcts` are Monte Carlo tree search with the learned leaf, without a cutoff.",
        ),
    }
    known = [part for part in PARTS if any(split(title)[0] == part for title in results)]
    return [
        "# Threes: learned leaves against hand-made ones",
        "",
        "The tables have the final scores of games in which a search chose the moves. The [leaf](../../docs/terms.md#leaf) of the "
        "search is the",
        "network in the package (`learned`), or one of three hand-made leaves. The columns 3072, 6144 and 12288 have the share of",
        "games that reached a tile of this value. Games of the hand-made leaves have seeds from 1,000,000 on, and games of the",
        "learned leaf from 2,000,000 on. `python -m leafwise.experiments.threes.learned` writes this page.",
        "",
        *(line for part in known for line in section(*about[part], score_table(results, part))),
        *(["![Mean score against time per move, with published players](learned.png)", ""] if known else []),
        "[Another page](../archive/threes-learning.md) studies the effect of longer training, and of each part of the training.",
    ]


def plot(results: Results, path: Path) -> None:
    """Draws mean score against milliseconds a move, for every leaf, with published players as points and lines."""
    colours: dict[str, Any] = {}
    with picture(path, size=(8, 6)) as axes:
        for part, marker, unit in (("depth", "o", "depth {} to {}"), ("time", "s", "{} to {} ms")):
            titles = sorted((title for title in results if split(title)[0] == part), key=lambda title: split(title)[1:])
            leaves: dict[str, list[tuple[float, ...]]] = {}
            for title in titles:
                (_, leaf, number), r = split(title), results[title]
                ms = number if part == "time" else 1000 * r["seconds_per_move"]
                leaves.setdefault(leaf, []).append((ms, r["mean"], r["ci_low"], r["ci_high"]))
            numbers = [split(title)[2] for title in titles]
            for leaf, points_of_leaf in leaves.items():
                label, colour = f"{leaf}, {unit.format(min(numbers), max(numbers))}", colours.get(leaf)
                colours[leaf] = with_bars(
                    axes, *zip(*points_of_leaf, strict=True), fmt=marker, label=label, color=colour
                )
        for name, (ms, mean) in PUBLISHED.items():
            axes.plot(ms, mean, "k*", markersize=10)
            axes.annotate(name, (ms, mean), xytext=(6, 9), textcoords="offset points", ha="right", fontsize=8)
        for name, mean in PUBLISHED_SCORES.items():
            axes.axhline(mean, color="grey", linewidth=0.5, linestyle=":")
            side = "bottom" if name.startswith("hand") else "top"
            axes.annotate(
                name, (0.99, mean), xycoords=("axes fraction", "data"), ha="right", va=side, fontsize=8, color="grey"
            )
        axes.set(xscale="log", yscale="log", ylabel="mean score, 95 % interval")
        axes.set(xlabel="ms per move, one core", xlim=(None, 1e6))
        axes.legend(fontsize=8)


def study(config: Config) -> None:
    """Plays the missing games, writes the page and draws."""
    if results := MatchStudy("learned", matches, page, figures)(config):
        plot(results, config.target("learned.png"))


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
