"""Ships in the browser: building by hand, the learned builder's advice, and a generated ship stage by stage.

An unfinished ship is a preset, a seed and the places of its parts, like `8,9N`. Hull and requests follow from the seed, so the
three fit into an address.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import need_among
from leafwise.envs.starship import catalogue
from leafwise.envs.starship import tables as at
from leafwise.envs.starship.catalogue import DIRECTIONS, PARTS, size
from leafwise.envs.starship.draw import CELL, SPACE_COLOUR, STYLES, Box, Rectangle, Scene, change, hull_box, ship_shapes
from leafwise.envs.starship.generator import Generator
from leafwise.envs.starship.lookahead import LookAhead
from leafwise.envs.starship.quality import TERM_WEIGHTS, TERMS
from leafwise.envs.starship.settings import PRESETS, STAGES
from leafwise.envs.starship.ship import Ship, ship_at
from leafwise.envs.starship.tables import Tables
from leafwise.models.players import player
from leafwise.web.games import need_game
from leafwise.web.requests import GameRequest, ShipRequest, StagesRequest
from leafwise.web.workers import JobContext, RecentCache

BUILDER = "build:learned,depth=1"
"""Puts the part at the place with the best value by the shipped network."""
MARGIN = 3
"""Cells around the hull on a board."""
GALLERY, GALLERY_MARGIN = {"scout": 67, "classic": 67, "cruiser": 66}, 2
"""Number of valid ships of each preset in the gallery of an export, from seed 0 on; cells around their hulls."""
SHOWN = 8
"""Number of the learned builder's best places that are shown."""
_kept: RecentCache[LookAhead] = RecentCache(len(PRESETS))
"""The learned builder of each preset."""


def need_ship(request: ShipRequest, context: JobContext) -> State:
    """Returns the position of the requested ship; raises ValueError if it does not exist."""
    game = need_game(GameRequest(game="starship", options={"preset": request.preset}), context)
    return state_of(game, request.seed, request.moves)


def state_of(game: Game, seed: int, names: Sequence[str]) -> State:
    """Returns the ship of a seed with parts at these places, at its next decision; raises ValueError for a wrong place."""
    stream = new_stream(seed)
    state = game.start().settle(stream)
    for number, name in enumerate(names, start=1):
        if state.is_terminal:
            raise UserError(f"expected at most {number - 1} places, which finish the ship, got {len(names)}")
        try:
            state = state.play(name).settle(stream)
        except UserError as problem:
            raise UserError(f"place {number}: {problem}") from None
    return state


def build(request: ShipRequest, context: JobContext) -> dict[str, Any]:
    """Returns an unfinished ship: picture, request, legal places, terms."""
    state = need_ship(request, context)
    T: Tables = state.game.tables().ship
    ship = ship_at(state.row, state.game.tables(), request.seed)
    box = hull_box(ship, MARGIN)
    return {
        "preset": request.preset,
        "seed": request.seed,
        "moves": request.moves,
        "svg": picture(ship, Box(0, 0, T.grid, T.grid)),
        "box": [box.left * CELL, box.top * CELL, box.width, box.height],
        "over": state.is_terminal,
        "reasons": list(ship.reasons),
        "quality": ship.stats["potential"] if not ship.reasons else 0.0,
        "terms": [
            {"name": name, "value": ship.stats[name], "weight": weight}
            for name, weight in zip(TERMS, TERM_WEIGHTS, strict=True)
        ],
        **({} if state.is_terminal else next_request(state, T)),
    }


def next_request(state: State, T: Tables) -> dict[str, Any]:
    """Returns the next request, its legal places, and the later requests that the stage's target still allows."""
    row = state.row
    stage = int(row[at.PHASE])
    requests = [int(word) - 1 for word in row[at.QUEUE : at.QUEUE + at.PREVIEW] if word]
    points, target = int(row[at.POINTS + stage]), int(row[at.TARGET + stage])
    worth = [int(T.facts[T.kinds[stage, entry // 4], catalogue.POINTS]) for entry in requests]
    before = list(accumulate(worth, initial=points))
    return {
        "stage": next(title for number, _, title in STAGES if number == stage),
        "points": points,
        "target": target,
        "request": request_json(stage, requests[0]),
        "next": [request_json(stage, entry) for k, entry in enumerate(requests) if k and before[k] < target],
        "legal": [place_json(state.game, action, T, stage, requests[0]) for action in state.legal_actions],
    }


def request_json(stage: int, entry: int) -> dict[str, Any]:
    """Returns a request: the part's name, its colour, and its direction ("" if that is open)."""
    part = PARTS[at.KINDS[stage][entry // 4]]
    title, colour = STYLES[part.name]
    return {"part": title, "colour": colour, "facing": "NESW"[entry % 4] if part.directional else ""}


def place_json(game: Game, action: int, T: Tables, stage: int, entry: int) -> dict[str, Any]:
    """Returns a place: its name, the top-left cell, the direction of the front, width and height in cells."""
    r, cell = divmod(action, T.grid * T.grid)
    width, height = size(at.KINDS[stage][entry // 4], r)
    return {
        "name": game.actions[action],
        "x": cell % T.grid,
        "y": cell // T.grid,
        "way": DIRECTIONS[r],
        "width": width,
        "height": height,
    }


def advise(request: ShipRequest, context: JobContext) -> dict[str, Any]:
    """Returns the learned builder's best places for the request, with the expected quality of the ship."""
    state = need_ship(request, context)
    if state.is_terminal:
        raise UserError("expected a ship that is not finished, got a finished one")

    def made() -> LookAhead:
        builder = player(BUILDER, state.game)  # raises ValueError if no network ships for the preset
        assert isinstance(builder, LookAhead)
        builder.children(state.row, 1)
        return builder

    builder = _kept.of(request.preset, made, context)
    tried = builder.children(state.row, 8 * builder.width)
    best = np.argsort(-tried.values, kind="stable")[:SHOWN]
    best_places = [
        {"name": state.game.actions[int(tried.places[k])], "value": round(float(tried.values[k]), 6)} for k in best
    ]
    return {"tried": len(tried.places), "best": best_places}


def tell_stages(request: StagesRequest, context: JobContext) -> dict[str, Any]:
    """Returns the generator's ship of a seed after each stage."""
    need_among(request.preset, PRESETS, "preset")
    with context.loading():
        generator = Generator(request.preset)
        ship = generator.ship(request.seed)
    stages = generator.stages(request.seed, ship.attempt)
    box = hull_box(stages[-1][1], 2)
    return {
        "quality": ship.stats["quality"],
        "reasons": list(ship.reasons),
        "stages": [
            {"name": name, "change": change(stages, k), "svg": picture(at_stage, box)}
            for k, (name, at_stage) in enumerate(stages)
        ],
    }


def gallery() -> Iterator[tuple[dict[str, Any], bytes]]:
    """Yields each ship of an export's gallery: its preset, seed and quality, and its picture as SVG."""
    for preset, wanted in GALLERY.items():
        generator, seed = Generator(preset), 0
        while wanted:
            ship = generator.ship(seed)
            if ship.valid:
                about = {"preset": preset, "seed": seed, "quality": ship.stats["quality"]}
                yield about, picture(ship, hull_box(ship, GALLERY_MARGIN)).encode()
                wanted -= 1
            seed += 1


def picture(ship: Ship, box: Box) -> str:
    """Returns the ship as SVG text, `CELL` pixels a cell, without legend."""
    shapes = [Rectangle(0, 0, box.width, box.height, SPACE_COLOUR), *ship_shapes(ship, box)]
    return Scene(box.width, box.height, shapes).svg()
