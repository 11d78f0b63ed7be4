"""Trains a network: `leafwise train GAME`, with --help for the methods that fit a game."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from leafwise.cli import Interrupted, Report, command, flag_of, help_of_game, print_pending_notes, say, tell_rules
from leafwise.envs.core.commandline import WRONG_INPUT, cannot_use
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.fields import options_from_text
from leafwise.envs.core.option_help import definitions, paragraphs
from leafwise.envs.registry import check_name, game, games, option_types
from leafwise.training.execution import check_backend
from leafwise.training.runs.files import config_file, read_table
from leafwise.training.runs.recipes import Method, method_of, methods, with_recipe
from leafwise.training.runs.run_options import file_of, option_text, parse_options, take_option

USAGE = """Trains a network and saves it in a run folder.
Ctrl-C saves and ends; --resume continues.

Examples:
  leafwise train threes --total-steps 1000000
  leafwise train trilobite --board 7x6 --k 4 --method selfplay --help
  leafwise train cassis --seeds 2 --total-steps 2 --positions 200

usage: leafwise train GAME [--method METHOD] [OPTIONS]
"""
OPTIONS = """Most used:
  --method METHOD  How it learns. `leafwise train GAME --help` lists the methods
                   that fit a game, --method METHOD --help a method's options.
  --run FOLDER     Where the run lies (default: runs/GAME-METHOD-SEED).
  --total-steps N  Length of the run, in the method's own steps.

Runs:
  --resume         Continues the run of --run.
  --config FILE    Repeats a run: takes the options of its config.toml.
  --no-recipe      Leaves out the options that the game's recipe adds to the
                   method's; --method METHOD --help shows them.
  --seeds N        Trains N runs that differ in their seed alone, in folders of
                   --run FOLDER, side by side in --processes of this machine or
                   on a --cluster whose machines share that folder; --resume
                   continues all unfinished runs.
"""
USAGE_OF_GAME = """
Examples:
  leafwise train {name} --run runs/a
  leafwise train {name} --run runs/a --resume

usage: leafwise train {name} [--method METHOD] [OPTIONS]
"""
OTHER_FLAGS = ("--method", "--config", "--no-recipe", "--seeds")
"""Options that are not those of a method."""
MOST_SEEDS = 1000
SUMMARY_GAMES = 100
"""Games of each run in the summary of `--seeds`."""


def with_variant(name: str, arguments: list[str]) -> list[str]:
    """Returns the arguments with the game's own options, `--board 7x6 --k 4`, joined to `--variant board=7x6,k=4`.

    Raises ValueError for wrong values, with the names of these options.
    """
    variant, rest = take_option(arguments, "--variant")
    given: dict[str, str] = {}
    for option in option_types(name):
        value, rest = take_option(rest, flag_of(option))
        if value is not None:
            given[option] = value
    tell_rules(game(name, **options_from_text(option_types(name), given, flag_of)))
    for option in given:
        if any(word.partition("=")[0] == option for word in (variant or "").split(",")):
            raise UserError(f"expected {flag_of(option)} or {option} in --variant, got both")
    words = [*([variant] if variant else []), *(f"{option}={text}" for option, text in given.items())]
    return [*rest, "--variant", ",".join(words)] if words else rest


def requested_run(words: Sequence[str]) -> tuple[Method, Any, Path | None]:
    """Returns the method of a command line, its options, and the file of options if any; exits after help."""
    method, rest = take_option(words, "--method")
    if rest in (["-h"], ["--help"]):  # imports no game
        say(
            f"{USAGE}\n{OPTIONS}\n"
            + paragraphs(f"Games: {', '.join(games())}. Without arguments the command lists the methods of each.")
        )
        raise SystemExit(0)
    if not rest:
        rows = {name: ", ".join(methods(name)) for name in games()}
        fitting = definitions("Games, and the methods that fit, the first where none is named:", rows)
        say("\n".join([USAGE, OPTIONS, *fitting]))
        raise SystemExit(WRONG_INPUT)
    name, *rest = rest
    check_name(name)
    plain, rest = "--no-recipe" in rest, [word for word in rest if word != "--no-recipe"]
    helps = not {"-h", "--help"}.isdisjoint(rest)
    if helps and method is None:
        fitting = definitions(
            "Methods, the first where none is named:", {m.name: m.line for m in methods(name).values()}
        )
        about = paragraphs(f"Trains a network for {game(name).title}.")
        say(
            "\n".join(
                [f"{about}\n{USAGE_OF_GAME.format(name=name)}", *fitting, "", OPTIONS, *help_of_game(Method, [name])]
            )
        )
        raise SystemExit(0)
    chosen = method_of(name, method or "")
    if not helps and "--resume" in rest:
        check_resumed(name, chosen.name, rest)
    if helps:
        rest = ["--game", name, "--help"]
    else:
        rest = ["--game", name, *with_variant(name, rest)]
        rest = rest if plain else with_recipe(name, chosen.name, rest)
    added = shlex.join(with_recipe(name, chosen.name, [])) if helps else ""
    more = [
        paragraphs(f"{name.capitalize()}'s recipe sets these options unless you give them: {added or 'none'}."),
        *help_of_game(Method, [name]),
    ]
    flags = [*OTHER_FLAGS, *map(flag_of, option_types(name))]
    return chosen, *parse_options(chosen.options, rest, f"leafwise train {name} --method {chosen.name}", more, flags)


def check_resumed(name: str, method: str, words: Sequence[str]) -> None:
    """Raises ValueError if the run that a command line resumes is of another method of the game."""
    from leafwise.models.tensors import load_metadata
    from leafwise.training.runs.folder import LAST

    file = file_of(words)
    if file is None or not (state := file.parent / LAST).exists() or read_table(file).get("game") != name:
        return
    before = ""
    with contextlib.suppress(UserError):  # the run itself says what is wrong with its checkpoint
        before = load_metadata(state).get("method", "")
    if before != method and before in methods(name):
        raise UserError(f"resume: expected --method {before} as before, got {method}")


class SeededRuns(NamedTuple):
    """The runs of `--seeds`."""

    folder: Path
    configs: list[Any]
    processes: int
    cluster: str


def requested_runs(words: Sequence[str]) -> tuple[Method, Any, Path | None, SeededRuns | None]:
    """Returns method, options and file of a command line, and the runs of `--seeds` if given; options are the first run's.

    Raises ValueError if runs exist without `--resume`, or none exists with it.
    """
    seeds, rest = take_option(words, "--seeds")
    if seeds is None:
        return *requested_run(words), None
    texts = {"seeds": seeds}
    for name in ("seed", "run", "processes", "cluster"):
        text, rest = take_option(rest, f"--{name}")
        if text is not None:
            texts[name] = text
    options = options_from_text(
        {"seeds": "int", "seed": "int", "processes": "int", "run": "str", "cluster": "str"}, texts, flag_of
    )
    first, count, cluster = options.get("seed", 1), options["seeds"], options.get("cluster", "")
    if not 1 <= count <= MOST_SEEDS:
        raise UserError(f"expected 1 to {MOST_SEEDS:,} --seeds, got {count}")
    resume, rest = "--resume" in rest, [word for word in rest if word != "--resume"]
    method = requested_run(rest)[0]
    folder = Path(options.get("run") or f"runs/{rest[0]}-{method.name}-seeds")
    paths = {seed: folder / f"seed-{seed}" for seed in range(first, first + count)}
    begun = [file for path in paths.values() if (file := config_file(path))]
    if resume != bool(begun):
        wanted, hint = ("runs to resume", "") if resume else ("no runs", "; use --resume to continue")
        raise UserError(
            f"expected {wanted} in {str(folder)!r}, found {begun[0].parent.name if begun else 'none'}{hint}"
        )
    configs = []
    for seed, path in paths.items():  # a run that has not begun gets the options of one that has
        more = ["--resume"] if config_file(path) else ["--config", str(begun[0])] if begun else []
        _, config, file = requested_run([*rest, "--run", str(path), "--seed", str(seed), *more])
        configs.append(config)
    processes = options.get("processes", 1 if cluster else min(count, os.cpu_count() or 1))
    check_backend(processes, cluster)
    return method, configs[0], file, SeededRuns(folder, configs, processes, cluster)


def trained_side_by_side(method: Method, runs: SeededRuns) -> Iterator[Report]:
    """Trains runs with several seeds; reports each finished run, then compares all of them in the same games."""
    from leafwise.commands.compare import Config, figures, lines
    from leafwise.training.runs.side_by_side import results_of, train_side_by_side

    seconds = 0.0
    for path in train_side_by_side(method.module, runs.configs, runs.processes, runs.cluster):
        results = results_of(path)
        seconds += results["seconds"]
        yield f"run folder  {path}: {results['steps']:,} steps, {results['seconds']:,.0f} s of processor time"
    yield f"all         {len(runs.configs)} runs in {runs.folder}, {seconds:,.0f} s of processor time"
    try:
        yield from lines(figures(Config((runs.folder,), games=SUMMARY_GAMES, processes=runs.processes)))
    except UserError as problem:  # a policy alone is not a leaf
        yield f"strength    not measured: {problem}"
    yield f"next        leafwise compare {shlex.quote(str(runs.folder))} OTHER_FOLDER"


@command(requested_runs)
def main(method: Method, config: Any, file: Path | None, several: SeededRuns | None) -> Iterator[Report]:
    """Trains a game and prints the run folder; Ctrl-C before the first step gives one line."""
    print_pending_notes()
    try:
        if several is not None:
            yield from trained_side_by_side(method, several)
            return
        path: Path = method.code.train(config)
    except UserError as problem:
        where = f" (with the options in {str(file)!r})" if file is not None else ""
        raise UserError(f"{problem}{where}") from None
    except BrokenPipeError:
        raise
    except OSError as problem:  # of any of the many files of a run
        what = cannot_use(problem, "the run folder")
        raise UserError(f"{what}; the run was saved at its last checkpoint; continue with --resume") from None
    except KeyboardInterrupt:
        raise Interrupted("continue a run that has begun with --resume") from None
    yield "\n".join(at_a_glance(path, method.name))


def at_a_glance(path: Path, method: str) -> Iterator[str]:
    """Yields a small table of a run: folder, game, strength, opponents, and the next commands."""
    from leafwise.commands.games import known
    from leafwise.commands.models import mean_of, metadata, number
    from leafwise.models.leaves import named_leaf
    from leafwise.models.tensors import MODEL
    from leafwise.models.units import units_of
    from leafwise.search.players import BEST
    from leafwise.training.runs.folder import module_words

    yield f"run folder  {path}"
    file, commands = path / MODEL, []
    if file.exists():  # a run that Ctrl-C stopped early may have none
        made = metadata(file)
        learned = game(made["game"], **made["options"])
        given = (f" {flag_of(name)} {shlex.quote(option_text(x))}" for name, x in learned.given_options.items())
        name = learned.name + "".join(given)
        steps, seconds = f"{made['steps']:,}", f"{made.get('seconds') or 0:,.0f}"
        yield f"learned     {name} by {method}: {steps} steps, {seconds} s of processor time"
        score, units = made["score"] or {}, units_of(learned.variant(**learned.defaults), BEST)
        unit = "share of points" if learned.players == 2 else mean_of(units.name if units else None)
        if "mean" in score:
            bounds = [number(score.get(f"ci_{end}"), unit) for end in ("low", "high")]
            interval = f" ({' to '.join(bounds)})" if all(bounds) else ""
            yield f"strength    {unit} {number(score['mean'], unit)}{interval} in {score['games']:,} games"
        against = [score["against"]] if "against" in score else []
        for short, options in learned.ids.items() if learned.players == 1 else ():
            weak = [one for one in known(f"{short}-v0") if one.role in ("random", "hand-made")]
            if learned == game(learned.name, **options):
                against += [f"{one.player} {number(one.mean, unit)}" for one in weak]
        if against:
            yield f"against     {', '.join(against)}"
        with contextlib.suppress(UserError):  # a policy alone is not a leaf
            named_leaf(learned, str(path))
            who, alone = shlex.quote(f"search:{path},depth=1"), learned.players == 1
            seat = f"--leaf {shlex.quote(str(path))}" if alone else f"--opponent {who}"
            added = "".join(
                f" {shlex.quote(word)}" for word in module_words(learned.name, str(made.get("network", "")))
            )
            commands = [f"leafwise eval {name} {who}{added}", f"leafwise play {name} {seat}{added}"]
    for k, line in enumerate([*commands, f"tensorboard --logdir {shlex.quote(str(path))}"]):
        yield f"{'' if k else 'next':<12}{line}"
