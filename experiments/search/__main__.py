"""Compares depth-limited search and Monte Carlo tree search with the same leaf and processor time, in all six games.

`python -m leafwise.experiments.search` plays the games, a part of them with `--share`. In two-player games the searches meet,
with random openings from both seats; in single-player games both play the same seeds. The leaves are the shipped network and the
game's first hand-made score. Tree search with the network also meets tree search with rollouts, at up to 10 ms a move. Every game
is saved as it ends, so a stopped study continues. It writes `search.json` and `search.md`. Games of other networks than the
shipped ones, or of tree searches with other defaults, are played again. Seeds from 2,400,000 on, used for nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from leafwise.envs.core.ranges import Range
from leafwise.experiments.search import (
    CONTESTS,
    LEAVES,
    MCTS,
    ROLLOUTS,
    ROLLOUTS_MS,
    SEARCH,
    about,
    check_names,
    text,
    variant,
)
from leafwise.experiments.study import (
    DistributedStudy,
    Results,
    bootstrapped,
    command,
    known_results,
    scored,
    signed,
    table,
    write_page,
)
from leafwise.training.evaluation.statistics import interval_text

FIRST_SEED = 2_400_000


@dataclass(frozen=True)
class Config(DistributedStudy):
    """Plays both searches against each other and writes search.json and search.md."""

    games: tuple[str, ...] = tuple(CONTESTS)
    """Games to play; none: only write the page."""
    milliseconds: tuple[int, ...] = (1, 10, 100)
    """Processor time a move."""
    leaves: tuple[str, ...] = tuple(LEAVES)
    """Leaves of both searches: learned, hand-made."""
    share: Annotated[float, Range(0, 1, above=True)] = 1.0
    """Share of the games to play, above 0 to 1."""
    runs: Path = Path("runs/search")
    """Folder of the games so far."""


class Pairing(NamedTuple):
    """Games of a single player, or of two players against each other."""

    label: str
    leaf: str
    ms: int
    kind: str
    player: str
    opponent: str | None
    games: int

    @property
    def name(self) -> str:
        """Name of its result."""
        return f"{self.label}, {self.leaf}, {self.ms} ms, {self.kind}"

    @property
    def about(self) -> dict[str, Any]:
        """Identifies its players and openings."""
        players = about(variant(self.label), self.leaf, trees=self.kind != SEARCH)
        return {"model": players.pop("model"), "plies": CONTESTS[self.label].plies, **players}


def pairings(config: Config) -> Iterator[Pairing]:
    """Yields the games to play, quickest first."""
    for ms, label, leaf in product(sorted(config.milliseconds), config.games, config.leaves):
        games = 2 * max(1, round(CONTESTS[label].games.get(ms, 30) * config.share / 2))
        two = variant(label).players == 2
        with_rollouts = leaf == "learned" and ms <= ROLLOUTS_MS
        for kind in (*(() if two else (SEARCH,)), MCTS, *((ROLLOUTS,) if with_rollouts else ())):
            opponent = text(SEARCH if kind == MCTS else MCTS, leaf, ms) if two else None
            yield Pairing(label, leaf, ms, kind, text(kind, leaf, ms), opponent, games)


def report(config: Config, results: Results) -> None:
    """Writes the page of all known results."""
    whole = Config(config.out, config.data)
    times = {int(name.split(", ")[-2].removesuffix(" ms")) for name in results}
    known = {
        pairing: results[pairing.name]
        for pairing in pairings(replace(whole, milliseconds=tuple(times)))
        if pairing.name in results
    }
    rows = []
    for pairing, result in known.items():
        pair = f"`{pairing.player}`" + (f" against `{pairing.opponent}`" if pairing.opponent else "")
        digits = ".3f" if result["mean"] <= 1 else ",.0f"
        interval = interval_text(result["ci_low"], result["ci_high"], digits)
        rows.append([pairing.label, pair, str(result["games"]), f"{result['mean']:{digits}}", interval])
    head = "game | player | games: | result: | 95 % interval:"
    plies = sorted({c.plies for c in CONTESTS.values() if c.plies})
    openings = ", ".join(f"up to {n} in {' and '.join(g for g, c in CONTESTS.items() if c.plies == n)}" for n in plies)
    lines = [
        "# Depth-limited search and Monte Carlo tree search at equal time", "",
        "Depth-limited search (`search`) and Monte Carlo tree search (`mcts`) play with the same "
        "[leaf](../../docs/terms.md#leaf) and the same",
        "processor time per decision. The leaf `learned` is the network in the package, and the leaf `rollout` values a position "
        "by",
        "random games. A player without a leaf in its name has the hand-made leaf of the game. Sim is another name of the game "
        "Cassis.", "",
        "Rows `A against B` have the share of the [points](../../docs/terms.md#points) that player A wins. The other rows have",
        "the mean score in Threes, the share of games won in Friday, and the mean [quality](../../docs/terms.md#quality) in "
        "Starship.",
        f"Two-player games begin with random moves ({openings}). Each opening is played from both seats.", "",
        "Both searches first value every action of a decision once, even if this takes longer than the time limit. In Starship",
        "these first values alone take more than 1 ms if a part has hundreds of possible places.", "",
        *table(head, rows), "", *bootstrapped(results.values()),
    ]  # fmt: skip
    write_page(whole, "search.md", signed(whole, lines))


def study(config: Config) -> None:
    """Plays the missing games."""
    check_names(config.games, config.leaves)
    results = known_results(config, "search.json", indent=1)
    for pairing in pairings(config):
        about = pairing.about
        known = results.get(pairing.name, {"games": 0})
        if known["games"] < pairing.games or not about.items() <= known.items():
            words = [*pairing.name.replace(",", "").split(), *map(str, about.values())]
            file = config.runs / f"{'-'.join(words)}.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            result = scored(
                variant(pairing.label), pairing.player, pairing.games, FIRST_SEED, pairing.opponent, about["plies"],
                processes=config.processes, cluster=config.cluster, file=file, resume=file.exists(),
            )  # fmt: skip
            results.keep(pairing.name, result | about, f"{pairing.name}: {result['mean']:.4g}")
            report(config, results)
    if results:
        report(config, results)


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
