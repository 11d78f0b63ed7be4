"""Games that are played elsewhere, at a table or on a phone, and followed in the browser by the game's companion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from leafwise.analysis import need_playable
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.play.companion import Following, companion_of
from leafwise.envs.core.play.gamefile import Recorder
from leafwise.search import Stopped
from leafwise.web.asks import AdviceAsk, FollowAsk
from leafwise.web.control import Control
from leafwise.web.positions import described, need_game
from leafwise.web.thinking import analyst_for

FIRST_SLICE = 0.15
"""Seconds of the first look at a position; each further one takes three times as long."""
SLICE_GROWS = 3.0


def follow(ask: FollowAsk, control: Control) -> Iterator[dict[str, Any]]:
    """Tells a game that is followed, after a line was typed or the last one taken back."""
    game = need_game(ask, control)
    following = followed(game, ask)
    told = ""
    if ask.undo:
        following.undo()
    elif ask.line is not None:
        told = following.enter(ask.line, ask.best)
    yield {**progress(following), "told": told}


def followed(game: Game, ask: FollowAsk) -> Following:
    """Returns the game so far; raises ValueError for steps that cannot be."""
    companion_of(game)
    if not ask.text:
        if ask.moves:
            raise UserError("expected no steps before a game has begun, got some")
        return Following(game)
    recorder = Recorder(game.parse(ask.text))
    for number, name in enumerate(ask.moves, start=1):
        try:
            (recorder.happen if recorder.state.is_chance else recorder.play)(name)
        except UserError as problem:
            raise UserError(f"{problem} as step {number}") from None
    return Following.load(game, str(recorder.record()))


def progress(following: Following) -> dict[str, Any]:
    """Returns where a game that is followed stands, as JSON: `state` is None until it has begun."""
    question, companion = following.question, following.companion
    told: dict[str, Any] = {
        "game": following.game.name,
        "options": dict(following.game.given_options),
        "help": companion.help,
        "question": {**asdict(question), "choices": [asdict(choice) for choice in question.choices]},
        "first": "",
        "moves": [],
        "lines": [],
        "state": None,
        "legend": "",
    }
    if following.state is None:
        return told
    record, state = following.record, following.state
    told |= {"first": str(record.start), "moves": [step.name for step in record.steps], "file": following.text}
    told |= {"lines": [in_words(step.before, step.after, step.action) for step in record.steps]}
    return {**told, "state": {**described(state), "svg": state.svg()}, "legend": state.legend()}


def in_words(before: State, after: State, action: int | None) -> str:
    """Returns a step as people say it."""
    return before.outcome_words(after) if action is None else before.action_words(action)


def advise(ask: AdviceAsk, control: Control) -> Iterator[dict[str, Any]]:
    """Tells what every option of a decision is worth in people's units, again and again as the search has more time."""
    game = need_game(ask, control)
    state = need_playable(game.parse(ask.text))
    following = Following(game, state)
    found = analyst_for(ask, game, ask.leaf, control)
    piece, spent, depth = FIRST_SLICE, 0.0, 0

    def values(at: State) -> Mapping[int, float]:
        nonlocal spent, depth
        result = found(at, piece if at == state else FIRST_SLICE)
        spent += result.seconds
        depth = result.depth if at == state else depth
        return result.values

    with control.stoppable(found.search.stop):
        while not control.stopped and spent < ask.seconds:
            try:
                advice = following.advise(values, found.written)
            except Stopped:
                return
            yield {
                "unit": found.unit,
                "best": advice.best,
                "options": [asdict(option) for option in advice.options],
                "notes": [*advice.notes, *([found.no_units] if found.no_units else [])],
                "depth": depth,
                "leaf": found.leaf,
                "seconds": spent,
            }
            if depth >= found.search.depth:
                return
            piece = min(piece * SLICE_GROWS, max(FIRST_SLICE, ask.seconds - spent))
