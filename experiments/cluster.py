"""Measures how much faster several processes, or a Ray cluster of the same cores, are than one process.

`python -m leafwise.experiments.cluster` times evaluation, arena and self-play, and writes `cluster.json` and `cluster.md`. It
takes about four minutes on two idle cores. Each way starts again in every repeat and first works on some untimed pieces, so the
steady state is compared. Processor time is that of this process and its children. On a busy machine it gives an upper bound for
idle cores.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from statistics import median
from types import SimpleNamespace
from typing import Annotated, Any, NamedTuple

from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import Range, need_among
from leafwise.envs.registry import game
from leafwise.experiments.study import Study, command, signed, table, write_json, write_page
from leafwise.models.files import model_path
from leafwise.models.sparse import load_sparse
from leafwise.training.evaluation.arena import BATCH, PlayBatch, plan
from leafwise.training.evaluation.match_workers import from_text, matches_for
from leafwise.training.execution import check_backend, executor_for, in_pieces
from leafwise.training.execution.executor import Executor
from leafwise.training.execution.generations import Calls
from leafwise.training.runs import SELECTION_SEED
from leafwise.training.runs.folder import hardware, need_train_extra
from leafwise.training.selfplay import selfplay
from leafwise.training.selfplay.games import SearchRecorder, record_piece

ONE, SEVERAL, RAY = "one process", "processes", "Ray"
PIECE = 20_000
"""Positions of a piece of self-play."""
FOUR = game("trilobite", board="7x6", k=4)
MODEL = "trilobite7x6"
MARKS = {SEVERAL: 1.8, RAY: 1.6}
"""Target speed-ups over one process, on two cores."""


@dataclass(frozen=True)
class Config(Study):
    """Times executors and writes cluster.json and cluster.md."""

    cores: Annotated[int, Range(2, 1024)] = 2
    """Number of processes, and of cores of the Ray cluster."""
    repeats: Annotated[int, Range(1, 1000)] = 3
    """Repeats of each way; ratios are within a repeat."""
    share: Annotated[float, Range(0.05, 100)] = 1.0
    """Share of the pieces to work on, above 0."""
    cluster: str = "local"
    """Ray cluster: local (of --cores cores of this machine), auto, HOST:PORT, or "" for none."""
    only: tuple[str, ...] = ()
    """Some of eval, arena, selfplay (default: all)."""


class Case(NamedTuple):
    """Timed work."""

    what: str
    untimed: int
    """Number of pieces before the clock starts."""
    opened: Callable[[int, str], Executor[Any, Any]]
    """(processes, cluster) -> executor of the pieces."""
    pieces: Callable[[Executor[Any, Any]], Sequence[Any]]
    """Returns the pieces for an executor, untimed ones first."""


def evaluation(config: Config) -> Case:
    """Returns games of one player, five a piece."""
    text, count, untimed = "search:openness,depth=2", round(24 * config.share), 4 * config.cores
    work = PlayBatch(game("threes"), text)
    seeds, start = range(SELECTION_SEED, SELECTION_SEED + BATCH * (untimed + count)), work.game.start()
    pieces = [[(seed, start) for seed in batch] for batch in in_pieces(seeds, BATCH)]
    return Case(
        f"`eval threes {text}`, {BATCH * count} games, {BATCH} per job",
        untimed,
        lambda processes, cluster: executor_for(work, processes, cluster),
        lambda executor: pieces,
    )


def match(config: Config) -> Case:
    """Returns games of two players, about 10 ms each, in processes that can be killed."""
    names, games = ("search:lines,depth=4", "search:lines,depth=3"), 2 * round(240 * config.share)
    untimed = 32 * config.cores
    jobs = list(plan(FOUR, names, games + untimed, seed=SELECTION_SEED).jobs())
    makers = {name: from_text(name) for name in names}
    return Case(
        f"`arena trilobite {' '.join(names)} --board 7x6 --k 4`, {games} games",
        untimed,
        lambda processes, cluster: matches_for(FOUR, makers, 60.0, len(jobs), processes, cluster),
        lambda executor: jobs,
    )


def self_play(config: Config) -> Case:
    """Returns pieces of self-play as in training."""
    network, count, untimed = load_sparse(model_path(MODEL), FOUR), round(40 * config.share), 4 * config.cores
    options = asdict(selfplay.Config(game=FOUR.name, depth=2, hidden=network.hidden))
    recorder = SearchRecorder([FOUR], network, SimpleNamespace(**options), positions=PIECE)

    def pieces(executor: Executor[Any, Any]) -> list[Any]:
        actor, networks = executor.share(recorder), executor.share({"newest": network, "earlier": network})
        return [partial(record_piece, actor, networks, 0, PIECE, key, False, 0.0) for key in range(untimed + count)]

    return Case(
        f"self-play, Trilobite 7x6 with the shipped network, depth 2, {count} jobs of {PIECE:,} positions",
        untimed,
        lambda processes, cluster: executor_for(Calls(recorder), processes, cluster),
        pieces,
    )


CASES = {"eval": evaluation, "arena": match, "selfplay": self_play}


class Usage(NamedTuple):
    """Time and memory of some work."""

    seconds: float
    core_seconds: float
    """Processor time of this process and its children."""
    megabytes: float
    """Private memory of the largest child process, 0 without children."""


def family() -> list[Any]:
    """Returns this process and its children; raises ValueError without psutil."""
    try:
        import psutil
    except ImportError:
        raise UserError("expected psutil, found none: pip install 'leafwise[experiments]'") from None
    this = psutil.Process()
    return [this, *this.children(recursive=True)]


def answers_of(running: Sequence[Any], ask: Callable[[Any], float]) -> list[float]:
    """Returns the values of `ask` for processes, without those that have just ended."""
    import psutil

    answers = []
    for one in running:
        with suppress(psutil.Error):
            answers.append(ask(one))
    return answers


def core_seconds() -> float:
    """Returns the processor time of this process and its children so far."""
    return sum(answers_of(family(), lambda one: sum(one.cpu_times()[:2])))


def work_on(executor: Executor[Any, Any], pieces: Sequence[Any]) -> Usage:
    """Works on pieces and drops their results; returns time and memory."""
    begun, before = time.perf_counter(), core_seconds()
    for _ in executor.stream(enumerate(pieces)):
        pass
    memory = max(answers_of(family()[1:], lambda one: one.memory_full_info().uss / 1e6), default=0.0)
    return Usage(time.perf_counter() - begun, core_seconds() - before, memory)


def time_case(case: Case, config: Config) -> Iterator[tuple[str, Usage]]:
    """Yields the usage of each way, repeat by repeat."""
    ways: dict[str, tuple[int, str]] = {ONE: (1, ""), SEVERAL: (config.cores, "")}
    if config.cluster:
        ways[RAY] = config.cores if config.cluster == "local" else 1, config.cluster
    for _ in range(config.repeats):
        for way, (processes, cluster) in ways.items():
            with case.opened(processes, cluster) as executor:
                pieces = case.pieces(executor)
                work_on(executor, pieces[: case.untimed])
                yield way, work_on(executor, pieces[case.untimed :])


def summary(spent: Sequence[tuple[str, Usage]]) -> dict[str, Any]:
    """Returns the medians of each way, and its speed-ups over one process."""
    by_way: dict[str, list[Usage]] = {}
    for way, one in spent:
        by_way.setdefault(way, []).append(one)
    by_name: dict[str, Any] = {}
    for way, ones in by_way.items():
        ratios = [base.seconds / one.seconds for base, one in zip(by_way[ONE], ones, strict=True)]
        work = [one.core_seconds / base.core_seconds for base, one in zip(by_way[ONE], ones, strict=True)]
        by_name[way] = {
            "seconds": median(one.seconds for one in ones),
            "core_seconds": median(one.core_seconds for one in ones),
            "megabytes": max(one.megabytes for one in ones),
            "times_faster": median(ratios), "least": min(ratios), "most": max(ratios), "work": median(work),
        }  # fmt: skip
    return by_name


def study(config: Config) -> None:
    """Times the requested cases, and writes the figures and the page."""
    need_train_extra()
    family()
    check_backend(1, config.cluster)
    for name in config.only:
        need_among(name, CASES, "--only")
    import psutil

    load = float(psutil.getloadavg()[0])  # processes that wanted a core in the last minute, on average
    results: dict[str, Any] = {"hardware": hardware(config.cores), "load": load, "cases": {}}
    for name, make in CASES.items():
        if not config.only or name in config.only:
            case, usages = make(config), []
            for way, spent in time_case(case, config):
                print(f"{name}, {way}: {spent.seconds:.2f} s, {spent.core_seconds:.2f} core-s", flush=True)
                usages.append((way, spent))
            results["cases"][name] = {"what": case.what, "ways": summary(usages)}
    write_json(config, "cluster.json", results)
    write_page(config, "cluster.md", page(config, results))


def page(config: Config, results: Mapping[str, Any]) -> list[str]:
    """Returns the page."""
    rows = []
    for case in results["cases"].values():
        for way, f in case["ways"].items():
            times = f"{f['times_faster']:.2f} ({f['least']:.2f} to {f['most']:.2f})"
            bound = config.cores / f["work"] if way in MARKS else 1 / f["work"]
            rows.append(
                [case["what"], way, f"{f['seconds']:.2f}", f"{f['core_seconds']:.2f}", times, f"{bound:.2f}"]
                + [f"{f['megabytes']:.0f}" if f["megabytes"] else "-"]
            )
    lines = [
        "# Speed of one process, several processes and a cluster", "",
        "This study does the same work in three ways: in one process, in several processes, and in a Ray cluster on the same",
        f"cores. The work consists of [jobs](../docs/terms.md#job). The goals for two cores are speedups of {MARKS[SEVERAL]} "
        f"with processes and {MARKS[RAY]}",
        f"with Ray. The study ran on {results['hardware']}, with a system load of {results['load']:.1f} at the start.",
        "",
        f"The column `seconds` has the median wall time of {config.repeats} repeats. Each repeat first runs some jobs that are "
        "not timed. The",
        "speedup is the time of one process divided by the time of the row. In brackets are the smallest and the largest speedup",
        "of a repeat. Core seconds are the processor time of all processes, including the process of the command and Ray's own",
        "processes. The speedup by core seconds is the one that the row would reach if no core ever waited. It is",
        "the number of cores of the row, times the core seconds of the row `one process`, divided by the core "
        "seconds of the row. The last "
        "column has the private memory of",
        "the largest process.",
        "",
        *table("work | runs in | seconds: | core seconds: | speedup: | speedup by core seconds: | memory, MB:", rows),
        "",
    ]  # fmt: skip
    return signed(config, lines)


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
