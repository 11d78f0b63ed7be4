"""Plays many games with one player and prints its mean with a 95 % interval."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import tyro

from leafwise.cli import Interrupted, OutputFile, Report, check_different, check_writable, command, progress_bar
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.files import write_named
from leafwise.envs.core.programs import prints_shown
from leafwise.training.runs import FINAL_SEED

if TYPE_CHECKING:
    from leafwise.envs.core.contract.game import Game
    from leafwise.training.evaluation.arena import Evaluation


@dataclass(frozen=True)
class Config:
    """Plays games with one player: mean return with a 95 % interval, and seconds per move.

    Players: random, greedy:LEAF, search:LEAF,depth=3 or search:LEAF,seconds=0.1. A leaf is a hand-made score, `learned`
    (the shipped model), a run folder or a model file, or sb3:FILE.zip of Stable-Baselines3, which is also a player. Loading such a
    file runs code in it. `best` is the search with the shipped model, else with the default score.

    Examples:
      leafwise eval threes best:depth=1 --games 2
      leafwise eval trap best --opponent greedy --games 10
    """

    most_used: ClassVar[tuple[str, ...]] = ("games", "opponent", "processes")
    game: tyro.conf.Positional[str]
    """Name of the game."""
    player: tyro.conf.Positional[str]
    """Player to evaluate."""
    games: int = 100
    """Games to play; against an opponent half of them from each seat."""
    seed: int = FINAL_SEED
    """Seed of the first game; from 1,000,000 on for final figures."""
    opponent: str = "greedy"
    """Player on the other side, in two-player games."""
    plies: int = -1
    """Random moves at the beginning of two-player games (-1: 4, or none with chance; 0: the start). All openings differ."""
    processes: int = 1
    """Processes that play at the same time."""
    cluster: str = ""
    """Ray cluster that plays instead: auto (the one this machine belongs to), local (--processes cores of this machine, 1: all)
    or HOST:PORT."""
    file: str = ""
    """File for the result of every game, updated after every game."""
    resume: bool = False
    """Continue the evaluation of the file of --file; it may have more games than before."""
    save: OutputFile = ""
    """File for the games: every move and outcome of chance, for `analyze --game`, `record --game` and `leafwise.load_game`."""
    overwrite: bool = False
    """Overwrite the file of --save if it exists."""
    verbose: bool = False
    """Show the output of other people's programs (course:DIR/PlayerAI.py) on standard error; otherwise a fault shows the last
    lines before it."""
    json: bool = False
    """Print one JSON object."""


MOST_FAULTS = 3
"""Number of reasons of faults that are printed."""
WIN_OR_LOSS = "of 1 for a win, 0 for a draw, -1 for a loss"


def figures(game: Game, evaluation: Evaluation) -> dict[str, Any]:
    """Returns the figures of an evaluation, as `--json` prints them."""
    import numpy as np

    from leafwise.commands.models import mean_of
    from leafwise.models.units import units_of
    from leafwise.search.players import BEST
    from leafwise.training.evaluation.statistics import bounds

    scores, unit = evaluation.scores, units_of(game.variant(**game.defaults), BEST)
    result: dict[str, Any] = {
        "game": game.name,
        "options": game.given_options,
        "player": evaluation.player,
        "opponent": evaluation.opponent,
        "first_seed": evaluation.first_seed,
        "games": len(scores),
        "mean": evaluation.mean,
        "mean_is": WIN_OR_LOSS if game.players == 2 else mean_of(unit.name if unit else None),
        **bounds(evaluation.interval()),
        "median": float(np.median(scores)),
        "low": float(scores.min()),
        "high": float(scores.max()),
        "moves": evaluation.moves,
        "seconds_per_move": evaluation.seconds_per_move,
    }
    if evaluation.opponent is not None:
        elo, error = evaluation.elo()
        counts = {
            name: int((np.sign(scores) == sign).sum()) for name, sign in (("wins", 1), ("draws", 0), ("losses", -1))
        }
        result |= {"asked": evaluation.asked, "plies": evaluation.plies, "openings": evaluation.openings}
        result |= evaluation.told_points()
        if game.stake > 1:
            result["mean_is"] = f"points a game, of at most {game.stake:g} for a win, 0 for a draw"
        result |= {"points": float((1 + np.sign(scores)).sum() / 2), "elo": elo, "elo_error": error, **counts}
        for whose, pace in (("", evaluation.pace), ("opponent_", evaluation.opponent_pace)):
            result[f"{whose}seconds_per_turn"] = pace.seconds / max(pace.turns, 1)
            result[f"{whose}longest_turn_seconds"] = pace.longest
    result["faults"] = [asdict(fault) for fault in evaluation.faults]
    if "ntuple" in game.features:
        best, names = (
            evaluation.best_cells,
            game.features["ntuple"].names,
        )  # from the largest tile that all games reached
        ranks = range(int(best.min()), int(best.max()) + 1)
        result["reached"] = {names[rank]: float((best >= rank).mean()) for rank in ranks}
    return result


def lines(result: dict[str, Any]) -> Iterator[str]:
    """Yields the figures as lines of text."""
    against = f" against {result['opponent']}" if result["opponent"] else ""
    last = result["first_seed"] + result["games"] // (2 if against else 1) - 1
    yield (
        f"{result['game']}, {result['player']}{against}: {result['games']} games, seeds {result['first_seed']} to {last}"
    )
    form = ",.3f" if abs(result["mean"]) < 10 else ",.0f"
    interval = "no interval: all scores are equal" if result["games"] > 1 else "no interval of a single game"
    if result["ci_low"] is not None:
        interval = f"95 % interval {result['ci_low']:{form}} to {result['ci_high']:{form}}"
    yield f"  mean    {result['mean']:{form}}   {interval}"
    yield f"          {result['mean_is']}"
    if against:
        yield f"  begin   {openings_text(result)}"
        outcome = f"{result['points']:g} of {result['games']} points (a draw is half a point)"
        if result["mean_is"] != WIN_OR_LOSS:
            outcome = f"{result['win_share']:.1%} won ({result['win_ci_low']:.1%} to {result['win_ci_high']:.1%})"
        yield f"  games   {result['wins']} won, {result['draws']} drawn, {result['losses']} lost: {outcome}"
        yield f"  elo     {result['elo']:+.0f} +- {result['elo_error']:.0f}"
    else:
        yield f"  median  {result['median']:{form}}   lowest {result['low']:{form}}, highest {result['high']:{form}}"
    yield f"  speed   {1000 * result['seconds_per_move']:.3f} ms a move, {result['moves']:,} moves"
    if against:
        for name, whose in ((result["player"], ""), (result["opponent"], "opponent_")):
            mean, longest = (1000 * result[f"{whose}{what}"] for what in ("seconds_per_turn", "longest_turn_seconds"))
            yield f"  turns   {name}: {mean:,.1f} ms, the longest {longest:,.1f} ms"
    yield from fault_lines(result["faults"])
    if "reached" in result:
        yield "  games that reached a tile:"
        for tile, share in result["reached"].items():
            yield f"  {tile:>7} {share:7.1%}"


def openings_text(result: dict[str, Any]) -> str:
    """Returns the openings of a two-player evaluation in words, and whether it has fewer games than requested."""
    plies, count = result["plies"], result["openings"]
    text = f"after {plies} random plies, {count:,} different opening{'s' * (count != 1)}" if plies else "at the start"
    if result["games"] < result["asked"]:
        wanted, games = f"{result['asked']:,}", f"{result['games']:,}"
        text += f"; only {games} of the {wanted} requested games differ, since neither player draws at random"
    return text


def fault_lines(faults: list[dict[str, Any]]) -> Iterator[str]:
    """Yields the faults that lost games: the first one of each reason, where numbers do not count."""
    alike: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for fault in faults:
        reason = re.sub(r"(?<!line )\b\d+", "", fault["what"])
        alike.setdefault((fault["player"], reason), []).append(fault)
    for number, ((player, _), cases) in enumerate(alike.items()):
        if number == MOST_FAULTS:
            yield f"  and {len(alike) - MOST_FAULTS} other reasons (--json lists all)"
            break
        first, what = cases[0], cases[0]["what"]
        times = f"{len(cases)} games" if len(cases) > 1 else "a game"
        yield f"  lost    {times} by a fault: {what if player in what else f'{player}: {what}'}"
        seat = ("first", "second")[first["seat"]]
        yield f"          {'the first of them, ' if len(cases) > 1 else ''}seed {first['seed']}, in the {seat} seat:"
        for line in first["report"].splitlines():
            yield f"    {line}"


@command(Config)
def main(config: Config, game: Game) -> Iterator[Report]:
    """Runs the command."""
    from leafwise.training.evaluation.arena import check, evaluate

    if game.players == 1 and config.opponent != Config.opponent:
        raise UserError(f"expected no --opponent in {game.name}, a single-player game")
    check_different({"--file": config.file, "--save": config.save})
    opponent = config.opponent if game.players == 2 else None
    keep = bool(config.save)
    if config.resume and not config.file:
        raise UserError("expected --resume with the file of --file, got none")
    file = Path(config.file) if config.file else None
    where: dict[str, Any] = {"cluster": config.cluster, "file": file, "resume": config.resume}
    if config.plies < -1:
        raise UserError(f"expected --plies of 0 or more, or -1 for the default, got {config.plies!r}")
    where["plies"] = None if config.plies == -1 else config.plies
    check(game, config.player, config.games, config.seed, opponent, config.processes, keep=keep, **where)
    if config.file:
        check_writable(config.file, "--file")
    evaluation: Evaluation | None = None
    bar = progress_bar(f"{game.name}, {config.player}", config.games)
    with contextlib.suppress(KeyboardInterrupt), bar as progress, prints_shown(config.verbose):
        evaluation = evaluate(
            game,
            config.player,
            config.games,
            config.seed,
            opponent=opponent,
            processes=config.processes,
            progress=progress,
            keep=keep,
            **where,
        )
    if evaluation is None:
        how = f"continue with --file {config.file} --resume" if file else "nothing was saved: --file FILE saves games"
        raise Interrupted(how)
    if config.save:
        write_named(Path(config.save), "\n".join(evaluation.records).encode())
    result = figures(game, evaluation)
    yield result, lines(result)
