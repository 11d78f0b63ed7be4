"""The worker processes of the server: two for rules, which answer clicks while others search or compile, and those that search.

This module has both ends of the protocol. A process reads one JSON object a line, `{"job": PATH, "request": {...}}` or
`{"stop": true}`. It answers a job with lines `{"stage": ...}` (`loading`: code is loaded or compiled; `working`), `{"told": LINE}`
(what is compiled or unpacked, with its seconds; "" at the end of that) and `{"answer": ...}`. The last line is `{"end": true}`,
`{"error": LINE}` for a wrong request, or `{"fault": LINE}` for a defect, whose traceback goes to standard error.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import queue
import signal
import sys
import threading
import traceback
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from leafwise.envs.core.errors import UserError
from leafwise.envs.core.programs import LONGEST_LINE, Ended, NoAnswer, Refused, TimedOut, understood
from leafwise.envs.core.waiting import tell_by
from leafwise.web.requests import JOBS, JobSpec

V = TypeVar("V")

LOADING_SECONDS = 900.0
"""Time limit for the first compilation of a game, on a slow machine."""
STOPPING_SECONDS = 3.0
"""Time limit to end a job after its client has left; then the process is killed."""
RUNS_VARIABLE, PLAYERS_VARIABLE = "LEAFWISE_WEB_RUNS", "LEAFWISE_WEB_PLAYERS"
"""Environment variables of the processes: the folder of runs, and the players of the command line."""


class Busy(NoAnswer):
    """All processes are busy."""


class WorkerProcess:
    """One worker process, started at first use and again after it was lost."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment
        self.process: asyncio.subprocess.Process | None = None
        self.game = ""
        """The game of the last job, whose code is loaded."""
        self.is_loading = False
        """Whether the process loads or compiles code, which later requests also use."""

    async def start(self) -> None:
        """Starts the process if it is not running."""
        if self.process is None or self.process.returncode is not None:
            self.is_loading = True
            self.process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", "from leafwise.web.workers import main; main()"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=LONGEST_LINE,
                env={**os.environ, **self.environment},
            )

    def send(self, message: dict[str, Any]) -> None:
        """Writes a line to the process."""
        assert self.process
        assert self.process.stdin
        with contextlib.suppress(OSError, RuntimeError):  # the process has ended: reading reports that
            self.process.stdin.write(msgspec.json.encode(message) + b"\n")

    async def line(self, seconds: float) -> dict[str, Any]:
        """Returns the next line of the process; kills it after `seconds` without a line, loading not counted.

        Raises Refused for a wrong request, Ended at the end of the process, TimedOut.
        """
        process = self.process
        assert process
        assert process.stdout
        try:
            async with asyncio.timeout(LOADING_SECONDS if self.is_loading else seconds):
                line = await process.stdout.readline()
        except TimeoutError:
            await self.kill()
            raise TimedOut(f"expected an answer within {seconds:.0f} s, got none") from None
        if not line:
            raise Ended(f"expected an answer, got the end of the process with status {await process.wait()}")
        try:
            message = understood(line)
        except Ended:  # the next line might answer anything
            await self.kill()
            raise
        if message.get("told") != "":
            self.is_loading = "told" in message or message.get("stage") == "loading"
        return message

    async def answers(self, job: JobSpec, request: Any) -> AsyncIterator[dict[str, Any]]:
        """Yields `{"stage": ...}` and `{"answer": ...}` until the job ends.

        Raises Refused for a wrong request, another NoAnswer for a defect or a timeout.
        """
        await self.start()
        self.send({"job": job.path, "request": request})
        while "end" not in (message := await self.line(job.seconds + getattr(request, "seconds", 0.0))):
            if "fault" in message:
                raise NoAnswer(message["fault"])
            yield message

    async def give_up(self) -> None:
        """Stops the current job, and kills the process if it does not stop; waits while it loads code."""
        if self.process is None:  # the client left before the process was started
            return
        self.send({"stop": True})
        try:
            while self.process is not None and not {"end", "fault"} & set(await self.line(STOPPING_SECONDS)):
                pass
        except Refused:
            pass
        except NoAnswer:
            await self.kill()

    async def kill(self) -> None:
        """Kills the process."""
        process, self.process = self.process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


class WorkerPool:
    """Workers for one kind of job; a job takes a free worker that has its game loaded, if there is one."""

    def __init__(self, size: int, patience: float, environment: Mapping[str, str]) -> None:
        """`patience`: seconds until a waiting job raises Busy; `environment`: further variables of the processes."""
        self.size, self.patience = size, patience
        self.workers = [WorkerProcess(environment) for _ in range(size)]
        self.free = list(self.workers)
        self.is_closed = False
        self.turn = asyncio.Semaphore(size)
        self.leaving: set[asyncio.Task[None]] = set()

    @property
    def is_full(self) -> bool:
        """Whether a new job would have to wait."""
        return self.turn.locked()

    async def run(self, job: JobSpec, request: Any) -> AsyncIterator[dict[str, Any]]:
        """Yields the answers of a worker, as `WorkerProcess.answers` does; raises Busy if none becomes free in time.

        If the caller leaves, the job is stopped.
        """
        await self.wait_for_turn()
        if self.is_closed:
            self.turn.release()
            raise Busy("expected a running server, got one that ends")
        game = getattr(request, "game", "")
        worker = min(self.free, key=lambda one: (one.game != game, one.process is None, bool(one.game)))
        self.free.remove(worker)
        worker.game, done = game, False
        try:
            async for message in worker.answers(job, request):
                yield message
            done = True
        except NoAnswer:
            done = True
            raise
        finally:
            if done:
                self.take_back(worker)
            else:  # the caller's task is cancelled, so another task waits for the worker
                task = asyncio.get_running_loop().create_task(worker.give_up())
                self.leaving.add(task)
                task.add_done_callback(self.leaving.discard)
                task.add_done_callback(lambda _: self.take_back(worker))

    async def wait_for_turn(self) -> None:
        """Waits for a free worker; time while one of them loads code does not count. Raises Busy."""
        while True:
            was_loading = any(worker.is_loading for worker in self.workers)
            try:
                async with asyncio.timeout(self.patience):
                    await self.turn.acquire()
                return
            except TimeoutError:
                if not was_loading and not any(worker.is_loading for worker in self.workers):
                    problem = f"expected a free process of {self.size}, got none for {self.patience:.0f} s"
                    raise Busy(problem) from None

    def fitness(self, game: str) -> tuple[bool, bool]:
        """Returns a key that is smaller for better pools: whether the game would wait for another one's code, and load its own."""
        is_here = any(worker.game == game for worker in self.workers)
        return self.is_full and not is_here and any(worker.is_loading for worker in self.workers), not is_here

    def take_back(self, worker: WorkerProcess) -> None:
        """Takes back a worker whose job has ended."""
        self.free.append(worker)
        self.turn.release()

    async def close(self) -> None:
        """Kills all processes; running jobs get no answer."""
        self.is_closed = True
        for worker in self.workers:
            await worker.kill()
        await asyncio.gather(*self.leaving, return_exceptions=True)


class Workers:
    """All processes of a server."""

    def __init__(self, search_workers: int, environment: Mapping[str, str]) -> None:
        """`environment`: variables of the processes besides those of this one."""
        self.rules = [WorkerPool(1, 20.0, environment) for _ in range(2)]
        """Two pools of one process: one answers for other games while the other compiles."""
        self.search = WorkerPool(search_workers, 60.0, environment)

    def pool_for(self, job: JobSpec, request: Any) -> WorkerPool:
        """Returns the pool for a request."""
        if len(getattr(request, "moves", ())) > job.quick_moves:
            return self.search
        return min(self.rules, key=lambda pool: pool.fitness(getattr(request, "game", "")))

    async def start(self) -> None:
        """Starts a process of each kind, so that they are ready for the first page."""
        await self.rules[0].free[0].start()
        await self.search.free[0].start()

    async def close(self) -> None:
        """Kills the processes."""
        for pool in (*self.rules, self.search):
            await pool.close()


class JobContext:
    """Connects a job with its client: whether to stop, and how to report that code is loaded."""

    def __init__(self, send: Callable[[dict[str, Any]], None]) -> None:
        self.send = send
        self._lock = threading.Lock()
        self._stop: Callable[[], None] | None = None
        self.stopped = False

    def stop(self) -> None:
        """Stops the job soon."""
        with self._lock:
            self.stopped = True
            if self._stop is not None:
                self._stop()

    @contextlib.contextmanager
    def stoppable(self, stop: Callable[[], None]) -> Iterator[None]:
        """Calls `stop`, from another thread, when the job is stopped."""
        with self._lock:
            self._stop = stop
            if self.stopped:
                stop()
        try:
            yield
        finally:
            with self._lock:
                self._stop = None

    @contextlib.contextmanager
    def loading(self) -> Iterator[None]:
        """Reports that code is loaded meanwhile, which takes time only once."""
        self.send({"stage": "loading"})
        yield
        self.send({"stage": "working"})


class RecentCache(OrderedDict[Hashable, V]):
    """A cache of the last `most` objects by key."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def __setitem__(self, key: Hashable, thing: V) -> None:
        super().__setitem__(key, thing)
        self.move_to_end(key)
        if len(self) > self.most:
            self.popitem(last=False)

    def of(self, key: Hashable, make: Callable[[], V], context: JobContext) -> V:
        """Returns the object of a key, made now if it is not cached."""
        if key not in self:
            with context.loading():
                self[key] = make()
        self.move_to_end(key)
        return self[key]


def do(job: JobSpec, request: Any, context: JobContext) -> None:
    """Runs a job and sends its answers; its module is imported at first use."""
    context.send({"stage": "working"})
    try:
        module, _, name = f"leafwise.web.{job.work}".rpartition(".")
        if module not in sys.modules:
            with context.loading():
                importlib.import_module(module)
        answers = getattr(sys.modules[module], name)(msgspec.convert(request, job.request), context)
        for answer in answers if job.streamed else [answers]:
            context.send({"answer": answer})
        context.send({"end": True})
    except UserError as problem:
        context.send({"error": one_line(problem)})
    except Exception as problem:
        traceback.print_exc()
        context.send({"fault": f"{job.path}: {type(problem).__name__}: {one_line(problem)}"})


def one_line(problem: BaseException) -> str:
    """Returns a problem in one line."""
    return " ".join(str(problem).split()) or type(problem).__name__


def main() -> None:
    """Runs a worker process, with a thread that listens while a job runs.

    Other output goes to standard error, since standard output is for answers.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which then closes standard input
    sink = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def send(message: dict[str, Any]) -> None:
        sink.write(msgspec.json.encode(message) + b"\n")  # infinity and nan become null
        sink.flush()

    def tell(line: str, seconds: int) -> None:
        what = line.partition(";")[0]  # the place in the cache is private
        send({"told": f"{what}: {seconds} s" if what and seconds else what})

    tell_by(tell)
    waiting: queue.SimpleQueue[tuple[dict[str, Any], JobContext]] = queue.SimpleQueue()

    def listen() -> None:
        context = JobContext(send)
        for line in sys.stdin.buffer:
            message = msgspec.json.decode(line)
            if "stop" in message:
                context.stop()
            else:
                context = JobContext(send)
                waiting.put((message, context))
        os._exit(0)  # the server has ended

    threading.Thread(target=listen, daemon=True).start()
    importlib.import_module("leafwise.web.analysis")  # imports what most jobs need
    while True:
        message, context = waiting.get()
        do(JOBS[message["job"]], message["request"], context)
