"""Measures waiting times of this version and of another one: `python tests/running/waits.py --before 5366422 [ROW ...]`.

A line has a row of `ROWS`: the figure before (- without `--before`), the figure now, and now over before. Processor time includes
all processes that a command starts. Needs a quiet machine, Linux, and some ten minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from leafwise.benchmarks.comparing import HERE, Version, version_of
from leafwise.benchmarks.web import TIMES

COMMANDS = {
    "eval threes": "eval threes search:learned,depth=1 --games 1",
    "eval trap": "eval trap search:learned,depth=1 --games 2",
    "eval friday": "eval friday search:learned,depth=1 --games 1",
    "solve 7x6": "solve trilobite --board 7x6 --k 4 --moves 4444442222",
    "record threes": "record threes --out {folder}/threes.gif",
}
"""Names of first answers -> the words after `leafwise`."""
STEP = """
import gymnasium
{imported}
env = gymnasium.make("{name}")
info = env.reset(seed=0)[1]
env.step(env.action_space.sample({mask}))
"""
FIRST_STEPS = {
    "leafwise": STEP.format(imported="import leafwise", name="leafwise/Threes-v0", mask='info["action_mask"]'),
    "cartpole": STEP.format(imported="", name="CartPole-v1", mask=""),
}
LOADED = """
import json, resource, time
import leafwise
game, start = leafwise.game("threes"), time.process_time()
leaf = leafwise.leaf(game, "learned")
leaf.weights
print(json.dumps([resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, time.process_time() - start]), flush=True)
input()
"""
MOVES = """
import json, time
import leafwise
from leafwise.envs.core.contract.stream import new_stream
game = leafwise.game("threes")
search, best = leafwise.Search(game, game.score(), depth=1), float("inf")
for _ in range(10):
    state, stream, n = game.new(seed=1), new_stream(1), 0
    begun = time.process_time()
    while not state.is_terminal:
        state = state.play(search(state).action).settle(stream)
        n += 1
    best = min(best, (time.process_time() - begun) / n)
print(json.dumps(1e6 * best))
"""
PLAYED = """
import json, time
import leafwise
from pettingzoo.classic import connect_four_v3
def least(env):
    best = float("inf")
    for _ in range(20):
        env.reset(seed=0)
        begun = time.process_time()
        for n, _ in enumerate(env.agent_iter()):
            observation, _, over, cut, _ = env.last()
            env.step(None if over or cut else int(observation["action_mask"].nonzero()[0][n % 3]))
        best = min(best, (time.process_time() - begun) / n)
    return best
print(json.dumps(least(connect_four_v3.env()) / least(leafwise.aec("trilobite", board="7x6", k=4))))
"""
STEPPED = """
import json, time
import gymnasium, numpy
import leafwise
def stepping(name, mode):
    envs = gymnasium.make_vec(name, num_envs=1024, autoreset_mode=mode)
    info = envs.reset(seed=0)[1]
    weights = numpy.random.default_rng(0).random((64, *info["action_mask"].shape), dtype=numpy.float32)
    while True:
        spent, acted = 0.0, 1024 * len(weights)
        for weight in weights:
            actions = (weight * info["action_mask"]).argmax(axis=-1)
            begun = time.perf_counter()
            _, _, over, _, info = envs.step(actions)
            spent += time.perf_counter() - begun
            acted -= int(over.sum()) if mode == "NextStep" else 0  # an action that resets the game does nothing
        yield acted / spent
def rates(name, *modes):
    turns = [stepping(name, mode) for mode in modes]
    [next(one) for one in turns]
    best = [0.0] * len(turns)
    for _ in range({turns}):
        best = [max(rate, next(one)) for rate, one in zip(best, turns)]
    return best
measured = rates({modes})
print(json.dumps(measured[0] / (measured[1] if len(measured) > 1 else 1)))
"""


def processor_seconds(version: Version, words: list[str], cache: str) -> float:
    """Returns the processor time of a Python command and its children; raises CalledProcessError if it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**version.environment, "LEAFWISE_CACHE_DIR": cache}
    subprocess.run([version.interpreter, *words], env=environment, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def first_answer(version: Version, cache: str, *, command: str, empty: bool) -> float:
    """Returns the processor time of a command with an empty cache, or the minimum of three with a warm one."""
    with tempfile.TemporaryDirectory() as folder:

        def seconds(cache_folder: str) -> float:
            with tempfile.TemporaryDirectory(dir=folder) as output:
                words = ["-m", "leafwise", *COMMANDS[command].format(folder=output).split()]
                return processor_seconds(version, words, cache_folder)

        return seconds(f"{folder}/empty") if empty else min([seconds(cache) for _ in range(4)][1:])


def warmed(version: Version, cache: str) -> float:
    """Returns the processor time of `leafwise warmup` with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        return processor_seconds(version, ["-m", "leafwise", "warmup"], folder)


def first_step(version: Version, cache: str) -> float:
    """Returns the processor time of a first step over that of CartPole, each the minimum of five."""
    times = {
        name: min([processor_seconds(version, ["-c", code], cache) for _ in range(6)][1:])
        for name, code in FIRST_STEPS.items()
    }
    return times["leafwise"] / times["cartpole"]


def answer(version: Version, cache: str, *, code: str) -> float:
    """Returns the number that the second run of a script prints."""
    environment = {**version.environment, "LEAFWISE_CACHE_DIR": cache}
    for _ in range(2):
        done = subprocess.run([version.interpreter, "-c", code], env=environment, stdout=subprocess.PIPE, check=True)
    return float(json.loads(done.stdout))


def loaded(version: Version, cache: str, *, processes: int, which: str) -> float:
    """Returns the processor time, the peak MB of loading Threes' network, or the MB that the processes hold together."""
    environment = {**version.environment, "LEAFWISE_CACHE_DIR": cache}
    start = partial(
        subprocess.Popen,
        [version.interpreter, "-c", LOADED],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with start() as first:
        first.communicate("\n")  # fills the cache
    running = [start() for _ in range(processes)]
    reports = [json.loads(process.stdout.readline()) for process in running if process.stdout]
    shares = [
        Path(f"/proc/{process.pid}/smaps_rollup").read_text().partition("\nPss:")[2].split()[0] for process in running
    ]
    for process in running:
        process.communicate("\n")
    return {"peak": reports[0][0], "seconds": reports[0][1], "kept": sum(map(int, shares)) / 1024}[which]


def served(version: Version, cache: str, *, processor: bool) -> float:
    """Returns the milliseconds of a click in Connect Four: wall time on an open connection, or processor time."""
    from http.client import HTTPConnection
    from urllib.parse import urlsplit

    import psutil

    def used(process: psutil.Process) -> float:
        return sum(sum(one.cpu_times()[:2]) for one in (process, *process.children(recursive=True)))

    environment = {**version.environment, "LEAFWISE_CACHE_DIR": cache}
    command = [version.interpreter, "-m", "leafwise", "web", "--no-open"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        connection = HTTPConnection(urlsplit(process.stdout.readline().split()[-1]).netloc)
        request = json.dumps({"game": "trilobite", "options": {"board": "7x6", "k": 4}})

        def click() -> float:
            begun = time.perf_counter()
            connection.request("POST", "/api/state", request, {"Content-Type": "application/json"})
            reply = connection.getresponse()
            assert reply.status == 200, reply.read()
            reply.read()
            return time.perf_counter() - begun

        try:
            click()
            before, times = used(psutil.Process(process.pid)), [click() for _ in range(TIMES)]
            return 1e3 * ((used(psutil.Process(process.pid)) - before) / TIMES if processor else min(times))
        finally:
            connection.close()
            process.terminate()


def stepped(name: str, *modes: str, turns: int = 4) -> Callable[[Version, str], float]:
    """Returns a row: the actions per second of a batch in one mode, or the first mode over the second, in alternating turns."""
    arguments = ", ".join(map(repr, (f"leafwise/{name}-v0", *modes)))
    return partial(answer, code=STEPPED.replace("{modes}", arguments).replace("{turns}", str(turns)))


ROWS: dict[str, Callable[[Version, str], float]] = {
    "answer of the page on a kept-open connection, ms": partial(served, processor=False),
    "click in Connect Four on the page, CPU ms": partial(served, processor=True),
    "move in PettingZoo's connect_four / in Leafwise": partial(answer, code=PLAYED),
    "loading Threes' network, CPU s": partial(loaded, processes=1, which="seconds"),
    "loading Threes' network, MB at the peak": partial(loaded, processes=1, which="peak"),
    "Threes' network in ten processes, MB together": partial(loaded, processes=10, which="kept"),
    **{f"{name}, cache empty, CPU s": partial(first_answer, command=name, empty=True) for name in COMMANDS},
    "warmup, cache empty, CPU s": warmed,
    **{f"{name}, cache warm, CPU s": partial(first_answer, command=name, empty=False) for name in COMMANDS},
    "first step / CartPole's": first_step,
    "move at depth 1 in Threes, us": partial(answer, code=MOVES),
    "batch of Threes, SameStep / NextStep": stepped("Threes", "SameStep", "NextStep", turns=40),
    "batch of Trap against its default opponent, steps/s": stepped("Trap", "NextStep"),
    "batch of StarshipPlace, steps/s": stepped("StarshipPlace", "NextStep"),
}


def main() -> None:
    """Measures the rows and prints them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", default="", help="a commit, or the path of an interpreter or an environment")
    parser.add_argument("rows", nargs="*", help="rows that contain one of these words (default: all)")
    options = parser.parse_args()
    os.environ["LEAFWISE_QUIET"] = "1"
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with (
        version_of(options.before) if options.before else nullcontext() as before,
        tempfile.TemporaryDirectory() as caches,
    ):
        os.environ["PYTHONPYCACHEPREFIX"] = (
            f"{caches}/bytecode"  # as in an installed package, except for its first command
        )
        for name, measure in ROWS.items():
            if options.rows and not any(word in name for word in options.rows):
                continue
            now = measure(HERE, f"{caches}/now")
            if before is None:
                print(f"{'-':>12s} {now:12,.3f} {'-':>8s}  {name}", flush=True)
                continue
            old = measure(before, f"{caches}/before")
            print(f"{old:12,.3f} {now:12,.3f} {now / old:8.3f}  {name}", flush=True)


if __name__ == "__main__":
    main()
