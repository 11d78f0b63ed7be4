"""Measures the best-first search: positions taken from its queue, and generated and scored, per second."""

from __future__ import annotations

from time import perf_counter, process_time

from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.play.players import play_out
from leafwise.envs.friday.baselines import STATES, BestFirst, Fridai, HiddenDeal, SearchResult
from leafwise.envs.registry import game as find_game

FRIDAI_POSITIONS = {
    "start": "turn=choose phase=green life=20 pirates=P3,P7 stack=S1*5,S2*8,S3*3,S4,S5 "
    "hazards=W1*2,W3*2,W5*2,W7,W8,W9,E1*2,E3*2,E5,E6,E7,E8,F1,F2,F3,F4,F5,F6,N1,N2,N3,N4,C1 "
    "aging=G1,G2*2,G5*2,G7,G8,D1,D2,D3 active=W10,C1",
    "yellow": "turn=fight phase=yellow life=12 pirates=P3,P7 stack=S1*3,S2*4,S3*2,W1*2,W8,E5,F3,C1 "
    "discard=S2*3,S3,S4,S5,E3*2,G2 hazards=W3*2,W5*2,E1*2,E6,E7,F1 away=F2,F4,N1,N2 aging=G1,G2,G5,G7,D1,D2,D3 "
    "active=N3 left=S1,S2,W7,E8,F6 free=3",
    "pirates": "turn=choose phase=pirates life=9 pirates=P5,P9 stack=S2*3,S3*2,S4,S5,W1,W7,W8,W10,E1,E3*2,E7,F1,F2,F6,N1,N4,C1 "
    "discard=W3,W5,E6,E8,F4,N2,C1,G2,G5 away=W3,W5,F5,N3 aging=G5,G7,D1,D2,D3",
}
"""An early decision, a fight with abilities on the table, and the last fights."""


def measure(text: str, seconds: float) -> tuple[float, float]:
    """Returns positions expanded, and scored, per second of processor time: the best rates of searches for `seconds`."""
    game = find_game("friday")
    search, state = BestFirst(game, 20_000), game.parse(text)
    search(state, HiddenDeal(0))  # compiles or loads the code, and touches the memory
    expanded = generated = 0.0
    start, seed = perf_counter(), 0
    while seed == 0 or perf_counter() < start + seconds:
        seed += 1
        before = process_time()
        result = search(state, HiddenDeal(seed))
        duration = process_time() - before
        expanded, generated = max(expanded, result.expanded / duration), max(generated, result.generated / duration)
    return expanded, generated


def whole_games(games: int) -> float:
    """Returns positions expanded per second of processor time, over whole games of `fridai`."""
    game = find_game("friday")
    search_once = BestFirst(game, STATES)
    expanded = 0

    def search(state: State, cards: HiddenDeal) -> SearchResult:
        nonlocal expanded
        result = search_once(state, cards)
        expanded += result.expanded
        return result

    fridai = Fridai(search)
    before = 0.0
    for seed in range(games + 1):  # the first game compiles or loads the code
        if seed == 1:
            expanded, before = 0, process_time()
        stream = new_stream(seed)
        play_out(game.new(seed), fridai.choose, lambda state, stream=stream: state.settle(stream))  # type: ignore[misc]
    return expanded / (process_time() - before)


def bench_baselines(seconds: float) -> dict[str, float]:
    """Returns rates by position, per second of processor time.

    Keys are `fridai/POSITION expanded/s` and `generated/s`, and `fridai/games expanded/s` for whole games, with everything
    around their searches of 2,000 positions each.
    """
    rates = {}
    for name, text in FRIDAI_POSITIONS.items():
        rates[f"fridai/{name} expanded/s"], rates[f"fridai/{name} generated/s"] = measure(text, seconds)
    rates["fridai/games expanded/s"] = whole_games(max(1, round(10 * seconds)))
    return rates
