"""Measures hand-made play of Friday: random, greedy, the public engine's search, and this package's with each evaluator.

`python -m leafwise.experiments.friday.baselines` plays every entry of `PLAN` on seeds from 1,000,000 on, first a part of all
games, then more. It writes `baselines.json` after every hundredth of an entry's games. Known games are not played again, so a
stopped study continues; `--players none` plays nothing. Figures are computed from the counts each time. `baselines.md` is the
table.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.play.players import play_out
from leafwise.envs.friday.cards import PHASES
from leafwise.envs.friday.scores import NAMES, final_score
from leafwise.envs.friday.text import number
from leafwise.envs.registry import game as find_game
from leafwise.experiments.study import DistributedStudy, command, known_results, share, table, write_page
from leafwise.models.leaves import named_leaf
from leafwise.search.players import load_code, player
from leafwise.training.evaluation.arena import BATCH, FINAL_SEED
from leafwise.training.evaluation.openings import PLAYER, derived
from leafwise.training.evaluation.results import missing_seeds
from leafwise.training.evaluation.statistics import mean_interval, share_interval
from leafwise.training.execution import in_pieces, map_pieces

LEVELS = (1, 2, 3, 4)
ROUNDS = (0.1, 0.4, 1.0)
"""Shares of the games; all entries play one share before any plays the next."""
HEAD = """# Friday: hand-made players

`random` chooses at random. `greedy` takes the action after which a hand-made [leaf](../../docs/terms.md#leaf) is highest, and
`search` looks `depth` decisions ahead with this leaf. The leaves are `life`, `deck`, `blend`, `trade` and `pirates`.
`fridai` is the search of the public engine Fridai; its option `states` is the number of positions that it looks at.
Only the players with `info=clairvoyant` know the order of the hidden cards, as the original engine does. Their
games start with 22 life, and have no command in the last column.

The final score is counted by the rule booklet, also in lost games. The columns yellow, red and pirates have the share of games
that reached this [phase](../../docs/terms.md#phase). Each 95 % interval belongs to the column on its left. Shares of games
won have Wilson's intervals, and mean final scores have Student's t intervals. Times are processor time. Seeds are from
1,000,000 on. To repeat a row, run `leafwise eval` with the text of the last column.
"""


class Entry(NamedTuple):
    """A player in a variant, and its number of games."""

    player: str
    games: int
    level: int = 1
    start_life: int = 0

    @property
    def name(self) -> str:
        """The entry's name in the results."""
        life = f" life={self.start_life}" if self.start_life else ""
        return f"{self.player} level={self.level}{life}"


PLAN: tuple[Entry, ...] = (
    *(Entry("random", 10_000, level) for level in LEVELS),
    *(Entry(f"greedy:{score}", 1000, level) for score in NAMES for level in LEVELS),
    *(Entry(f"search:{score},depth={d},nodes=2000", 200, level) for d in (1, 2) for score in NAMES for level in LEVELS),
    *(Entry("fridai:states=2000", 2000, level) for level in LEVELS),
    *(Entry("fridai:states=20000", 300, level) for level in (1, 4)),
    Entry("fridai:states=200000", 30),
    Entry("fridai:states=2000,info=clairvoyant", 2000, 1, 22),
    Entry("fridai:states=200000,info=clairvoyant", 30, 1, 22),
)


@dataclass(frozen=True)
class Config(DistributedStudy):
    """Plays the hand-made players of Friday on paired seeds and writes baselines.json and baselines.md."""

    players: str = ""
    """Beginning of the names of entries to play (default: all)."""
    seconds: float = 0.0
    """Time limit, checked after every hundredth of a player's games (0: none)."""


class GameOutcome(NamedTuple):
    """One game."""

    won: bool
    score: int
    """The booklet's final score."""
    phase: int
    """The last phase reached, 0 to 3."""
    moves: int
    seconds: float
    """Processor time of the choices."""
    values: tuple[float, ...] = ()
    """Value of each decision by the player's search, if any."""


def play_seeds(game: Game, text: str, seeds: Sequence[int]) -> list[GameOutcome]:
    """Plays one game per seed."""
    load_code(player(text, game, seed=seeds[0], leaf=named_leaf), game.new(seeds[0]))
    who = player(text, game, seed=seeds[0], leaf=named_leaf)
    return [play_seed(game, who, seed) for seed in seeds]


def play_seed(game: Game, who: Any, seed: int) -> GameOutcome:
    """Plays one game; a player's random numbers follow from the seed, as in `leafwise eval`."""
    stream = new_stream(seed)
    if hasattr(who, "stream"):
        who.stream = new_stream(derived(seed, PLAYER))
    dealer = who.dealer(seed) if hasattr(who, "dealer") else None
    settle = dealer or (lambda state: state.settle(stream))
    moves, spent, values = 0, 0.0, list[float]()

    def choose(state: State) -> int:
        nonlocal moves, spent
        start = time.process_time()
        action: int = who.choose(state)
        spent += time.process_time() - start
        moves += 1
        if result := getattr(who, "result", None):
            values.append(result.value)
        return action

    state = play_out(game.start(), choose, settle)
    score = int(final_score(state.rows(), np.uint64(0), game.tables()))
    return GameOutcome(state.returns > 0, score, number(state.row, "phase"), moves, spent, tuple(values))


def figures(outcomes: Sequence[GameOutcome], before: dict[str, Any] | None = None) -> dict[str, Any]:
    """Returns the figures of an entry's games, together with those of `before`."""
    old = before or {"games": 0, "wins": 0, "moves": 0, "seconds": 0.0, "phases": [0] * len(PHASES), "scores": {}}
    games, wins = old["games"] + len(outcomes), old["wins"] + sum(o.won for o in outcomes)
    moves, seconds = old["moves"] + sum(o.moves for o in outcomes), old["seconds"] + sum(o.seconds for o in outcomes)
    phases = [n + sum(o.phase == k for o in outcomes) for k, n in enumerate(old["phases"])]
    scores = Counter({int(score): n for score, n in old["scores"].items()}) + Counter(o.score for o in outcomes)
    low, high = share_interval(wins, games)
    points = np.array([*scores.elements()], dtype=np.float64)
    score_low, score_high = mean_interval(points)
    return {
        "games": games,
        "first_seed": FINAL_SEED,
        "wins": wins,
        "mean": wins / games,
        "ci_low": low,
        "ci_high": high,
        "score": float(points.mean()),
        "score_ci_low": score_low,
        "score_ci_high": score_high,
        "reached": {PHASES[k]: sum(phases[k:]) / games for k in (1, 2, 3)},
        "moves": moves,
        "seconds": seconds,
        "seconds_per_move": seconds / moves,
        "phases": phases,
        "scores": {str(score): scores[score] for score in sorted(scores)},
    }


def again(entry: Entry, kept: dict[str, Any]) -> str:
    """Returns the arguments of `leafwise eval` to repeat an entry; "-" for clairvoyant players, which only play here."""
    if entry.player.endswith("clairvoyant"):
        return "-"
    life = f" --start-life {entry.start_life}" if entry.start_life else ""
    words = f"friday {entry.player} --level {entry.level}{life}"
    return f"`{words} --games {kept['games']} --seed {kept['first_seed']}`"


def page(results: dict[str, Any]) -> list[str]:
    """Returns the page with the table."""
    rows = []
    for entry in PLAN:
        if entry.name in results:
            r = results[entry.name]
            level = f"{entry.level}" + (f", {entry.start_life} life" if entry.start_life else "")
            row = [f"`{entry.player}`", level, f"{r['games']:,}", f"{100 * r['mean']:.2f} %"]
            row += [f"{100 * r['ci_low']:.2f} to {100 * r['ci_high']:.2f} %", f"{r['score']:.1f}"]
            row += [f"{r['score_ci_low']:.1f} to {r['score_ci_high']:.1f}"]
            row += [f"{100 * share:.1f} %" for share in r["reached"].values()]
            rows.append(
                [*row, f"{r['moves'] / r['games']:.0f}", f"{1000 * r['seconds_per_move']:.2g}", again(entry, r)]
            )
    head = "player | level: | games: | won: | 95 % interval: | final score: | 95 % interval: | "
    head += "".join(f"{phase}: | " for phase in PHASES[1:])
    return [*HEAD.splitlines(), "", *table(head + "decisions per game: | ms per decision: | `leafwise eval`", rows)]


def play_block(entry: Entry, seeds: range, processes: int, cluster: str = "") -> list[GameOutcome]:
    """Plays games of an entry, one for each seed."""
    game = find_game("friday", level=entry.level, start_life=entry.start_life)
    played = map_pieces(partial(play_seeds, game, entry.player), in_pieces(seeds, BATCH), processes, cluster)
    return [outcome for batch in played for outcome in batch]


def study(config: Config, plan: Sequence[Entry] = PLAN) -> None:
    """Plays the missing games of the plan within the time limit, and writes the page."""
    results, end = (
        known_results(config, "baselines.json", indent=0),
        time.monotonic() + (config.seconds or float("inf")),
    )
    for part in ROUNDS:
        for entry in (entry for entry in plan if entry.name.startswith(config.players)):
            done, block = results.get(entry.name, {}).get("games", 0), max(entry.games // 100, 1)
            for seeds in missing_seeds(done, round(part * entry.games), block, FINAL_SEED):
                if time.monotonic() >= end:
                    break
                kept = figures(play_block(entry, seeds, config.processes, config.cluster), results.get(entry.name))
                line = f"won {100 * kept['mean']:.2f} %, score {kept['score']:.1f}, {kept['games']} games"
                results.keep(
                    entry.name, kept, f"{entry.name}: {line}, {1000 * kept['seconds_per_move']:.2g} ms per decision"
                )
                write_page(config, "baselines.md", page(results))
    results.update({name: figures((), kept) for name, kept in results.items()})
    results.save()
    write_page(config, "baselines.md", page(results))


COLUMNS = " | ".join(f"level {level}" for level in LEVELS)


def known_blocks(title: str, results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the known blocks of a title."""
    return [block for name, block in results.items() if name.startswith(f"{title}, from ")]


def missing_blocks(
    title: str, results: Mapping[str, Any], games: int, block: int, first: int
) -> Iterator[tuple[str, range]]:
    """Yields names and seeds of the missing blocks, of at most `block` games; the first seed is `first`."""
    done = sum(block["games"] for block in known_blocks(title, results))
    for seeds in missing_seeds(done, games, block, first):
        yield f"{title}, from {seeds[0] - first}", seeds


def wins_of(blocks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns games, share won and its interval over some blocks."""
    games, wins = (sum(block[name] for block in blocks) for name in ("games", "wins"))
    low, high = share_interval(wins, games)
    return {"games": games, "mean": wins / games, "ci_low": low, "ci_high": high}


def share_won(figures: Mapping[str, Any]) -> str:
    """Returns a cell with the share won, its interval and the number of games."""
    return share(figures, more=f"; {figures['games']:,}")


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
