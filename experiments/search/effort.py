"""What the two searches do with their time: how deep they look, how they share it out, how often they choose the same.

`python -m leafwise.experiments.search.effort` asks both, with the same leaf and the same processor time, for the decisions of a few
games played one decision deep, a tenth of whose actions are random; each is asked for on its own, without what was learned of the
one before. It counts legal actions, and the outcomes of what chance does next after one; the processor time that an answer took in
all; for depth-limited search how often it knew all before its time was up, the deepest complete depth and the leaves, for Monte
Carlo tree search the simulations, the most actions on the way of one, and the share of the action that was tried most.
`effort.json` is what came out, `effort.md` the table. Seeds from 2,450,000 on.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from statistics import fmean, median
from typing import Annotated, NamedTuple

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import below, new_stream
from leafwise.envs.core.ranges import Range, check_fields
from leafwise.experiments.search.contests import (
    CONTESTS,
    LEAVES,
    MCTS,
    SEARCH,
    check_names,
    mcts_defaults,
    text,
    variant,
)
from leafwise.experiments.study import Results, Study, command, digest_of, known_results, signed, table, write_page
from leafwise.models.players import player
from leafwise.models.shipped import need_shipped
from leafwise.search.engine import Search
from leafwise.search.mcts import Mcts, MctsResult
from leafwise.search.players import search_of
from leafwise.training.runs.options import flag_of

FIRST_SEED = 2_450_000
RANDOM = 10
"""One action of so many is random in the games that decisions are taken from."""
APART = 7
"""One decision of so many is asked for."""


@dataclass(frozen=True)
class Config(Study):
    """Measures what searches do with their time, and writes effort.json and effort.md."""

    games: tuple[str, ...] = tuple(CONTESTS)
    """Games to measure in."""
    milliseconds: tuple[int, ...] = (1, 10, 100)
    """Processor time a decision."""
    leaves: tuple[str, ...] = tuple(LEAVES)
    """Leaves of both searches: learned, hand-made."""
    decisions: Annotated[int, Range(1)] = 40
    """Decisions of each game."""


def decisions(game: Game, leaf: str) -> Iterator[State]:
    """Yields decisions with two legal actions or more, of games one decision deep."""
    front = f"{LEAVES[leaf]}," if LEAVES[leaf] else ""
    who, met, seed = player(f"{SEARCH}:{front}depth=1", game), 0, FIRST_SEED
    while True:
        stream = new_stream(seed)
        state, seed = game.new(seed), seed + 1
        while not state.is_terminal:
            legal = state.legal_actions
            met += len(legal) > 1
            if len(legal) > 1 and met % APART == 0:
                yield state
            at_random = below(stream, RANDOM) == 0
            action = legal[int(below(stream, len(legal)))] if at_random else who.choose(state)
            state = state.play(action).settle(stream)


def outcomes(state: State) -> float:
    """Returns how many things chance may do next after an action, 1 where nothing, on average over the legal ones."""
    after = (state.play(action) for action in state.legal_actions)
    return fmean(len(each.outcomes()) if each.is_chance else 1 for each in after)


class Answer(NamedTuple):
    """What is looked at of a search's result. No result is kept: a tree search would look its line up before the next search."""

    action: int | None
    depth: int
    leaves: int
    simulations: int
    tried: float
    """Share of the simulations that went to the action that most went to."""
    ms: float
    """Processor milliseconds that it took."""


def asked(search: Search | Mcts, states: list[State]) -> list[Answer]:
    """Returns the answers of a search."""
    search(states[0])  # compiled and warm from here on
    return [answer(search, state) for state in states]


def answer(search: Search | Mcts, state: State) -> Answer:
    """Returns what is looked at of a search's result."""
    begun = time.process_time()
    found = search(state)
    ms = 1000 * (time.process_time() - begun)
    visits = found.visits.values() if isinstance(found, MctsResult) else ()
    simulations = found.simulations if isinstance(found, MctsResult) else 0
    tried = max(visits, default=0) / max(1, sum(visits))
    return Answer(found.action, found.depth, found.leaves, simulations, tried, ms)


def measured(game: Game, leaf: str, ms: int, states: list[State]) -> dict[str, float]:
    """Returns the figures of both searches."""
    texts = text(SEARCH, leaf, ms), text(MCTS, leaf, ms) + ",reuse=0"
    deep, tree = (search_of(player(each, game)) for each in texts)
    one, other = asked(deep, states), asked(tree, states)
    return {
        "search_ms": fmean(found.ms for found in one),
        "ended": fmean(found.ms < ms for found in one),
        "depth": median(found.depth for found in one),
        "leaves": fmean(found.leaves for found in one),
        "mcts_ms": fmean(found.ms for found in other),
        "mcts_ended": fmean(found.ms < ms for found in other),
        "simulations": fmean(found.simulations for found in other),
        "way": fmean(found.depth for found in other),
        "tried": fmean(found.tried for found in other),
        "same": fmean(a.action == b.action for a, b in zip(one, other, strict=True)),
    }


def report(config: Config, results: Results) -> None:
    """Writes the table."""
    head = (
        "game | leaf | actions: | outcomes: | ms: | search: ms: | ended: | depth: | leaves: | "
        "MCTS: ms: | ended: | simulations: | longest way: | tried most: | same choice:"
    )
    rows = [
        [
            label, leaf, f"{r['actions']:.1f}", f"{r['outcomes']:.1f}", ms.removesuffix(" ms"),
            f"{r['search_ms']:.2f}", f"{r['ended']:.0%}", f"{r['depth']:g}", f"{r['leaves']:,.0f}",
            f"{r['mcts_ms']:.2f}", f"{r['mcts_ended']:.0%}", f"{r['simulations']:,.0f}",
            f"{r['way']:.1f}", f"{r['tried']:.0%}", f"{r['same']:.0%}",
        ]
        for label, leaf, ms, r in ((*name.rsplit(", ", 2), found) for name, found in results.items())
    ]  # fmt: skip
    lines = [
        "# What the two searches do with their time", "",
        f"Means over {config.decisions} decisions of each game and leaf. `ms` is the processor time that a search is given;",
        "beside it stands what it took in all: both finish valuing the actions of the decision that is asked for, however",
        "long that takes. `outcomes` is of what chance does next after an action, `ended` the share of decisions of which",
        "a search knew all before its time was up, `depth` the median of the deepest complete one, `longest way` the most",
        "actions on the way of a simulation.", "",
        *table(head, rows), "",
    ]  # fmt: skip
    write_page(config, "effort.md", signed(config, lines))


def study(config: Config) -> None:
    """Measures what is missing."""
    check_names(config.games, config.leaves)
    check_fields(config, shown=flag_of)
    results = known_results(config, "effort.json", indent=1)
    for label in config.games:
        game = variant(label)
        for leaf in config.leaves:
            model = digest_of(need_shipped(game)) if LEAVES[leaf] else None
            about = {"model": model, "mcts": mcts_defaults(game), "decisions": config.decisions}
            names = {f"{label}, {leaf}, {ms} ms": ms for ms in config.milliseconds}
            missing = {name: ms for name, ms in names.items() if not about.items() <= results.get(name, {}).items()}
            if not missing:
                continue
            states = list(islice(decisions(game, leaf), config.decisions))
            shape = {
                "actions": fmean(len(state.legal_actions) for state in states),
                "outcomes": fmean(outcomes(state) for state in states),
            }
            for name, ms in missing.items():
                found = shape | measured(game, leaf, ms, states)
                told = f"{name}: {found['leaves']:,.0f} leaves, {found['simulations']:,.0f} simulations"
                results.keep(name, found | about, told)
                report(config, results)


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
