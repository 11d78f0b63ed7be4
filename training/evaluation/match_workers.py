"""Plays games between players that may crash, hang or cheat, in worker processes that can be killed.

A worker process plays one game at a time and writes to shared memory whose turn it is and since when. A player that takes too
long or crashes the process loses that game. A new worker then plays the next game.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from multiprocessing import connection, get_context, parent_process
from typing import Any, NamedTuple

import numpy as np

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.errors import Forfeit
from leafwise.envs.core.play.gamefile import GameRecord, GameRecorder
from leafwise.envs.core.waiting import speak
from leafwise.models.players import player
from leafwise.search.players import Player, draws, load_code
from leafwise.training.evaluation.results import Fault, FaultKind
from leafwise.training.execution import executor_for
from leafwise.training.execution.executor import BatchingExecutor, Executor, WorkerLost
from leafwise.training.execution.processes import end_with

Maker = Callable[[Game, int], Player]
"""(game, seed) -> a player. It is pickled for other processes, so it is a module's function or a `partial` of one."""

POLL = 0.05
"""Seconds between two checks of the clocks."""
BATCH_SECONDS = 0.5
"""Duration of a batch of games that is sent to a cluster together."""
BRIEF = 0.1
"""A shorter game, in seconds, ends before the next one could arrive. So workers get a second game in advance."""
MOST_KILLS = 3
"""Maximum number of times that a game's process may be killed from outside."""
GRACE = 5.0
"""Seconds that a process may take to end by itself after it closed its pipe."""
KILL = 9
"""SIGKILL."""
START_SECONDS = 120.0
"""Extra time for a move while a process loads or compiles a player for the first time."""

SEAT, SINCE, STARTING = 0, 1, 2
"""Entries of a worker's clock: seat to move (-1: none), start of the move, whether the player is still loading."""


class MatchJob(NamedTuple):
    """A game to play."""

    names: tuple[str, str]
    """Players in the first and second seat."""
    opening: State
    chance: int
    """Seed of the game's chance."""
    seeds: tuple[int, int]
    """Seeds of the two players."""
    number: int = 0
    """Number of the round."""
    keep: bool = False
    """Whether the outcome contains the game as text."""

    def fault(self, seat: int, kind: FaultKind, what: str) -> Fault:
        """Returns the fault that lost the game for the player at a seat."""
        return Fault(self.names[seat], self.chance, seat, kind, what)


class MatchOutcome(NamedTuple):
    """Outcome of a game; pairs are for first and second seat."""

    result: float
    """For the first seat 1, 0 or -1, or the return where games are worth more than that."""
    moves: tuple[int, int] = (0, 0)
    seconds: tuple[float, float] = (0.0, 0.0)
    fault: Fault | None = None
    record: str = ""
    """The game as text (`leafwise.envs.core.play.gamefile`), if it was requested and its process survived."""
    random: bool = True
    """Whether another game may differ: the game has chance, or a player draws (it has a `stream`)."""


class Misplay(Exception):
    """Raised when a player loses a game by a fault; arguments as `Job.fault`."""


def from_text(text: str) -> Maker:
    """Returns a maker of the player that a text names; the maker raises ValueError for an unknown player."""
    return partial(player, text)


class MatchRunner:
    """The worker's side: the players' makers, and the clock that the parent watches."""

    def __init__(self, game: Game, makers: Mapping[str, Maker], clock: Any, limit: float) -> None:
        self.game, self.makers, self.clock, self.limit = game, makers, clock, limit
        self.loaded: set[str] = set()

    def play(self, job: MatchJob) -> MatchOutcome:
        """Plays a game to its end, or to a fault."""
        moves, seconds = [0, 0], [0.0, 0.0]
        recorder = GameRecorder(job.opening, job.names, job.chance)

        def choose(state: State) -> int:
            at = state.current_player
            choice, spent = self.timed(at, partial(seats[at].choose, state))
            moves[at] += 1
            seconds[at] += spent
            if spent > self.limit:
                raise Misplay(at, "hang", f"took more than {self.limit:g} s at {state}")
            return self.checked(at, choice, state)

        try:
            seats = [self.seated(job, seat) for seat in (0, 1)]
            end = recorder.play_out(choose, new_stream(job.chance))
        except Misplay as misplay:
            outcome = lost(job.fault(*misplay.args), self.game)
        else:
            drawn = bool(self.game.max_stages) or any(draws(who) for who in seats)
            worth = end.returns if self.game.stake > 1 else int(np.sign(end.returns))
            outcome = MatchOutcome(worth, random=drawn)
        outcome = outcome._replace(moves=(moves[0], moves[1]), seconds=(seconds[0], seconds[1]))
        return outcome._replace(record=str(recorded(recorder, outcome))) if job.keep else outcome

    def seated(self, job: MatchJob, seat: int) -> Player:
        """Returns a new player, whose code is loaded."""
        name = job.names[seat]
        make = partial(self.makers[name], self.game, job.seeds[seat])
        if name not in self.loaded:
            self.timed(seat, lambda: load_code(make(), job.opening), starting=True)
            self.loaded.add(name)
        return self.timed(seat, make)[0]

    def timed(self, seat: int, work: Callable[[], Any], starting: bool = False) -> tuple[Any, float]:
        """Runs a player's work; returns its result and the seconds it took, or raises Misplay for any exception."""
        self.clock[STARTING], self.clock[SINCE] = float(starting), time.monotonic()
        self.clock[SEAT] = seat  # last, so that a reader of the seat reads its time too
        begun = time.perf_counter()
        try:
            return work(), time.perf_counter() - begun
        except Forfeit as problem:
            raise Misplay(seat, "forfeit", " ".join(str(problem).split())[:300]) from problem
        except BaseException as problem:
            what = " ".join(f"{type(problem).__name__}: {problem}".split())[:300]
            raise Misplay(seat, "crash", what) from problem
        finally:
            self.clock[SEAT] = -1

    def checked(self, seat: int, choice: Any, state: State) -> int:
        """Returns a choice that is a legal action's id; raises Misplay for any other."""
        if isinstance(choice, (int, np.integer)) and not isinstance(choice, bool) and choice in state.legal_actions:
            return int(choice)
        raise Misplay(seat, "illegal", f"expected the id of a legal action at {state}, got {choice!r}"[:300])


def lost(fault: Fault, game: Game) -> MatchOutcome:
    """Returns the outcome of a game that a fault ended: the maximum loss."""
    worth = game.stake if game.stake > 1 else 1
    return MatchOutcome(-worth if fault.seat == 0 else worth, fault=fault)


def recorded(recorder: GameRecorder, outcome: MatchOutcome) -> GameRecord:
    """Returns the record of a game, with the fault that ended it, if any."""
    fault = outcome.fault
    if fault is None:
        return recorder.record()
    return recorder.record(f"player {fault.seat + 1}: {fault.kind}: {fault.what}", float(outcome.result))


def unseen(job: MatchJob, outcome: MatchOutcome) -> GameRecord:
    """Returns the record of a game whose process was killed: its opening and how it ended."""
    return recorded(GameRecorder(job.opening, job.names, job.chance), outcome)


def serve(
    pipe: connection.Connection, clock: Any, game: Game, makers: Mapping[str, Maker], limit: float, speaks: bool
) -> None:
    """Runs in the worker: plays the games from a pipe until it closes or the parent ends.

    `speaks`: this worker prints what all workers wait for.
    """
    if speaks:
        speak()
    parent = parent_process()
    assert parent is not None
    end_with(parent.join)
    table = MatchRunner(game, makers, clock, limit)
    while True:
        try:
            names, row, *others = pipe.recv()
        except EOFError:
            return
        pipe.send(table.play(MatchJob(names, State.unchecked(game, row), *others)))


class MatchWorker:
    """The parent's side of a worker process."""

    def __init__(self, game: Game, makers: Mapping[str, Maker], limit: float, speaks: bool) -> None:
        context = get_context("spawn")
        self.clock = context.RawArray("d", [-1.0, 0.0, 0.0])
        self.pipe, theirs = context.Pipe()
        arguments = (theirs, self.clock, game, dict(makers), limit, speaks)
        self.process = context.Process(target=serve, args=arguments, daemon=True)
        self.process.start()
        theirs.close()
        self.limit = limit
        self.jobs: deque[tuple[int, MatchJob]] = deque()
        """Unfinished games of the worker, with their keys; it plays the first."""

    def give(self, key: int, job: MatchJob) -> None:
        """Sends a game to the worker."""
        self.jobs.append((key, job))
        names, opening, *others = job
        with suppress(OSError):  # the process has ended; its pipe will show it
            self.pipe.send((names, opening.row, *others))  # without the game, which takes 0.8 ms to unpickle

    def overdue(self, impatient: set[str]) -> Fault | None:
        """Returns the fault of a player that exceeded its time, if any; players in `impatient` get no extra time for loading."""
        seat, loading = int(self.clock[SEAT]), bool(self.clock[STARTING])
        if seat < 0:
            return None
        job = self.jobs[0][1]
        name = job.names[seat]
        extra = START_SECONDS if loading and name not in impatient else 0.0
        if time.monotonic() - self.clock[SINCE] < self.limit + extra + 2 * POLL:
            return None
        if loading:
            impatient.add(name)
        return job.fault(seat, "hang", f"took more than {self.limit + extra:g} s" + " to be loaded" * loading)

    def end(self) -> None:
        """Kills the process."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


class MatchWorkers(Executor[MatchJob, MatchOutcome]):
    """Plays games in processes of this machine that can be killed; a move may take `limit` seconds."""

    def __init__(self, game: Game, makers: Mapping[str, Maker], limit: float, slots: int = 1) -> None:
        self.slots, self.game = slots, game
        self._new = partial(MatchWorker, game, makers, limit)
        self._workers: list[MatchWorker] = []
        self._waiting: deque[tuple[int, MatchJob]] = deque()
        self._ended: deque[tuple[int, MatchOutcome]] = deque()
        self._brief = False
        """Whether the last game was shorter than `BRIEF`."""
        self._impatient: set[str] = set()
        self._killed: Counter[int] = Counter()

    def submit(self, key: int, piece: MatchJob) -> None:
        """Submits a game."""
        self._waiting.append((key, piece))

    def next(self) -> tuple[int, MatchOutcome]:
        """Waits for a finished game; returns its key and outcome."""
        while not self._ended:
            self._hand_out()
            ready = connection.wait([worker.pipe for worker in self._workers], POLL)
            for worker in list(self._workers):
                if worker.pipe in ready:
                    self._hear(worker)
                elif fault := worker.overdue(self._impatient):
                    self._end(worker, lost(fault, self.game))
        key, outcome = self._ended.popleft()
        self._killed.pop(key, None)
        return key, outcome

    def _hand_out(self) -> None:
        """Sends waiting games to idle workers, and a second one if games are short."""
        while self._waiting:
            if len(self._workers) < self.slots and all(worker.jobs for worker in self._workers):
                self._workers.append(self._new(speaks=not self._workers))
            worker = min(self._workers, key=lambda candidate: len(candidate.jobs))
            if len(worker.jobs) > self._brief:
                return
            worker.give(*self._waiting.popleft())

    def _hear(self, worker: MatchWorker) -> None:
        """Receives a finished game from a worker, or notes its end."""
        try:
            outcome: MatchOutcome = worker.pipe.recv()
        except (EOFError, OSError):
            worker.process.join(GRACE)  # gets its own exit status, before `end` kills it
            worker.end()  # it may have closed its pipe without ending
            self._end(worker, self._blamed(worker) if worker.jobs else None)
        else:
            self._brief = sum(outcome.seconds) < BRIEF
            self._ended.append((worker.jobs.popleft()[0], outcome))

    def _end(self, worker: MatchWorker, outcome: MatchOutcome | None = None) -> None:
        """Kills a process. Its game gets this outcome or is played again, as are further games sent to it."""
        worker.end()
        self._workers.remove(worker)
        if outcome is not None:
            self._ended.append((worker.jobs.popleft()[0], outcome))
        self._waiting.extendleft(reversed(worker.jobs))

    def _blamed(self, worker: MatchWorker) -> MatchOutcome | None:
        """Returns the outcome of a game whose process ended, None if the game is played again.

        It is the fault of the player to move. Only the first kill is forgiven, because the system kills processes when memory runs
        out. Raises WorkerLost if the process ends repeatedly while no player is to move.
        """
        (key, job), seat, status = worker.jobs[0], int(worker.clock[SEAT]), worker.process.exitcode
        self._killed[key] += 1
        if seat >= 0 and (status != -KILL or self._killed[key] > 1):
            return lost(job.fault(seat, "crash", f"its process ended with status {status}"), self.game)
        if seat < 0 and self._killed[key] > MOST_KILLS:
            raise WorkerLost(
                f"expected a process that keeps running, got exit status {status} several times while no player was to move"
            )
        self.repeated += 1
        return None

    def cancel(self, *keys: int) -> None:
        """Stops the running games and drops the waiting ones."""
        for worker in list(self._workers):
            if any(not keys or key in keys for key, _ in worker.jobs):
                self._end(worker)
        self._waiting = deque((key, job) for key, job in self._waiting if keys and key not in keys)
        self._ended = deque((key, outcome) for key, outcome in self._ended if keys and key not in keys)

    def shutdown(self) -> None:
        """Ends the processes."""
        for worker in list(self._workers):
            self._end(worker)
        self.cancel()


@dataclass(frozen=True)
class ClusterMatches:
    """Plays games on a cluster, in a process beside the cluster's worker, so that a player cannot crash the worker."""

    game: Game
    makers: dict[str, Maker]
    limit: float

    @cached_property
    def workers(self) -> MatchWorkers:
        """The processes that play the games; created in the cluster's worker."""
        return MatchWorkers(self.game, self.makers, self.limit)

    def __call__(self, jobs: Sequence[MatchJob]) -> list[MatchOutcome]:
        """Returns the outcomes of games."""
        return list(self.workers.in_order(enumerate(jobs)))


def matches_for(
    game: Game, makers: Mapping[str, Maker], limit: float, pieces: int, processes: int = 1, cluster: str = ""
) -> Executor[MatchJob, MatchOutcome]:
    """Returns an executor that plays games in processes that can be killed; other arguments as in `executor_for`."""
    if cluster:
        return BatchingExecutor(
            executor_for(ClusterMatches(game, dict(makers), limit), processes, cluster), BATCH_SECONDS, pieces
        )
    return MatchWorkers(game, makers, limit, processes)
