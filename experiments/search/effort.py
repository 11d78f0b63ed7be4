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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice, product
from statistics import fmean, median
from typing import Annotated

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import below, new_stream
from leafwise.envs.core.play.players import play_out
from leafwise.envs.core.ranges import Range
from leafwise.experiments.search import (
    CONTESTS,
    LEAVES,
    MCTS,
    SEARCH,
    about,
    check_names,
    text,
    variant,
)
from leafwise.experiments.study import Results, Study, command, known_results, signed, table, write_page
from leafwise.models.players import player
from leafwise.search.engine import Search
from leafwise.search.mcts import Mcts, MctsResult
from leafwise.search.players import search_of

FIRST_SEED = 2_450_000
RANDOM = 10
"""One action of so many is random in the games that decisions are taken from."""
APART = 7
"""One decision of so many is asked for."""

COLUMNS = (
    ("actions:", "{actions:.1f}"), ("outcomes:", "{outcomes:.1f}"), ("ms:", "{given}"), ("search: ms:", "{search_ms:.2f}"),
    ("ended:", "{ended:.0%}"), ("depth:", "{depth:g}"), ("leaves:", "{leaves:,.0f}"), ("MCTS: ms:", "{mcts_ms:.2f}"),
    ("ended:", "{mcts_ended:.0%}"), ("simulations:", "{simulations:,.0f}"), ("longest way:", "{way:.1f}"),
    ("tried most:", "{tried:.0%}"), ("same choice:", "{same:.0%}"),
)  # fmt: skip
"""Columns of the table, and how each of their figures is written."""


@dataclass(frozen=True)
class Config(Study):
    """Measures what searches do with their time, and writes effort.json and effort.md."""

    games: tuple[str, ...] = tuple(CONTESTS)
    """Games to measure in; none: only the page is made again."""
    milliseconds: tuple[int, ...] = (1, 10, 100)
    """Processor time a decision."""
    leaves: tuple[str, ...] = tuple(LEAVES)
    """Leaves of both searches: learned, hand-made."""
    decisions: Annotated[int, Range(1)] = 40
    """Decisions of each game."""


def decisions(game: Game, leaf: str) -> Iterator[State]:
    """Yields decisions with two legal actions or more, of games one decision deep."""
    who, met = player(text(SEARCH, leaf, depth=1), game), list[State]()

    def choose(state: State) -> int:
        legal = state.legal_actions
        if len(legal) > 1:
            met.append(state)
        return legal[int(below(stream, len(legal)))] if below(stream, RANDOM) == 0 else who.choose(state)

    for seed in count(FIRST_SEED):
        stream, known = new_stream(seed), len(met) // APART
        play_out(game.new(seed), choose, lambda state: state.settle(stream))  # noqa: B023
        yield from met[APART - 1 :: APART][known:]


def outcomes(state: State) -> float:
    """Returns how many things chance may do next after an action, 1 where nothing, on average over the legal ones."""
    after = (state.play(action) for action in state.legal_actions)
    return fmean(len(each.outcomes()) if each.is_chance else 1 for each in after)


def asked(search: Search | Mcts, states: list[State]) -> Iterator[Sequence[float]]:
    """Yields what is looked at of a search's results, a value for each decision: the processor milliseconds, the action, the
    depth, the leaves, the simulations, and the share of them that went to the action that most went to."""
    search(states[0])  # compiled and warm from here on
    return zip(*(answer(search, state) for state in states), strict=True)


def answer(search: Search | Mcts, state: State) -> tuple[float, ...]:
    """Returns what is looked at. No result is kept: a tree search would look its line up before the next search."""
    begun = time.process_time()
    found = search(state)
    ms = 1000 * (time.process_time() - begun)
    assert found.action is not None
    visits, simulations = (found.visits.values(), found.simulations) if isinstance(found, MctsResult) else ((), 0)
    return ms, found.action, found.depth, found.leaves, simulations, max(visits, default=0) / max(1, sum(visits))


def measured(game: Game, leaf: str, ms: int, states: list[State]) -> dict[str, float]:
    """Returns the figures of both searches."""
    texts = text(SEARCH, leaf, ms), text(MCTS, leaf, ms) + ",reuse=0"
    one, other = (asked(search_of(player(each, game)), states) for each in texts)
    deep_ms, deep_actions, depths, leaves, _, _ = one
    tree_ms, tree_actions, ways, _, simulations, tried = other
    return {
        "search_ms": fmean(deep_ms),
        "ended": fmean(spent < ms for spent in deep_ms),
        "depth": median(depths),
        "leaves": fmean(leaves),
        "mcts_ms": fmean(tree_ms),
        "mcts_ended": fmean(spent < ms for spent in tree_ms),
        "simulations": fmean(simulations),
        "way": fmean(ways),
        "tried": fmean(tried),
        "same": fmean(a == b for a, b in zip(deep_actions, tree_actions, strict=True)),
    }


def report(config: Config, results: Results) -> None:
    """Writes the table."""
    named = ((*name.removesuffix(" ms").rsplit(", ", 2), found) for name, found in results.items())
    rows = [[label, leaf, *(form.format(given=ms, **found) for _, form in COLUMNS)] for label, leaf, ms, found in named]
    lines = [
        "# What the two searches do with their time", "",
        f"Means over {config.decisions} decisions of each game and leaf. `ms` is the processor time that a search is given;",
        "beside it stands what it took in all: both finish valuing the actions of the decision that is asked for, however",
        "long that takes. `outcomes` is of what chance does next after an action, `ended` the share of decisions of which",
        "a search knew all before its time was up, `depth` the median of the deepest complete one, `longest way` the most",
        "actions on the way of a simulation.", "",
        *table(" | ".join(["game | leaf", *(head for head, _ in COLUMNS)]), rows), "",
    ]  # fmt: skip
    write_page(config, "effort.md", signed(replace(config, games=Config.games), lines))


def study(config: Config) -> None:
    """Measures what is missing."""
    check_names(config.games, config.leaves)
    results = known_results(config, "effort.json", indent=1)
    for label, leaf in product(config.games, config.leaves):
        game = variant(label)
        told = {**about(game, leaf, trees=True), "decisions": config.decisions}
        names = {f"{label}, {leaf}, {ms} ms": ms for ms in config.milliseconds}
        missing = {name: ms for name, ms in names.items() if not told.items() <= results.get(name, {}).items()}
        if not missing:
            continue
        states = list(islice(decisions(game, leaf), config.decisions))
        shape = {
            "actions": fmean(len(state.legal_actions) for state in states),
            "outcomes": fmean(outcomes(state) for state in states),
        }
        for name, ms in missing.items():
            found = shape | measured(game, leaf, ms, states)
            words = f"{name}: {found['leaves']:,.0f} leaves, {found['simulations']:,.0f} simulations"
            results.keep(name, found | told, words)
            report(config, results)
    if results:
        report(config, results)


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
