"""What players make, given by their texts: alone, or of an opponent from random openings."""

from __future__ import annotations

from typing import Any

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.errors import UserError
from leafwise.training.evaluation.arena import arena, evaluate
from leafwise.training.evaluation.match_workers import from_text
from leafwise.training.evaluation.statistics import bounds

OWN, OTHER = "own", "other"


def scored(
    game: Game, text: str, games: int, seed: int, opponent: str | None = None, plies: int = 0, **where: Any
) -> dict[str, Any]:
    """Plays games; in those for two openings of up to `plies` random moves, from both seats. `where` are the other options of
    `evaluate` and `arena`.

    Returns the mean return, or for two the share of the points, 0 to 1, with its 95 % interval over seeds or openings, the games
    that differ, and the seconds of a move. Raises ValueError for players who fail in one of the games: that is no
    result of a study.
    """
    if opponent is None:
        played = evaluate(game, text, games, seed, **where)
        for fault in played.faults:
            raise UserError(f"expected players without faults, got {fault.kind} of {fault.player}: {fault.what}")
        told = {"mean": played.mean, **bounds(played.interval()), "games": games}
        return {**told, "seconds": played.seconds_per_move}
    tournament = arena(game, {OWN: from_text(text), OTHER: from_text(opponent)}, games, plies=plies, seed=seed, **where)
    figures = tournament.figures()
    for fault in figures["faults"]:
        name = text if fault["player"] == OWN else opponent
        raise UserError(f"expected players without faults, got {fault['kind']} of {name}: {fault['what']}")
    tally = tournament.tally(OWN, OTHER)
    own = next(line for line in figures["standings"] if line["player"] == OWN)
    share = {name: (1 + tally[name]) / 2 for name in ("mean", "ci_low", "ci_high")}
    return {**share, "games": tally["games"], "seconds": own["seconds_per_move"]}
