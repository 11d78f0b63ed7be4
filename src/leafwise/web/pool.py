"""The processes that work for the server: one for rules, so that clicks are answered while others think, and several that think."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from leafwise.envs.core.programs import LONGEST_LINE, Ended, NoAnswer, Refused, TimedOut, understood

LOADING_SECONDS = 900.0
"""What compiling a game for the first time may take on a slow machine."""
STOPPING_SECONDS = 3.0
"""What a process has to end a job that nobody waits for; then it is killed."""
NOTHING_MORE: Mapping[str, str] = MappingProxyType({})


class Busy(NoAnswer):
    """All processes are at work."""


class Worker:
    """One process of `leafwise.web.worker`, started when it is first needed, and again where it was lost."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment
        self.process: asyncio.subprocess.Process | None = None
        self.game = ""
        """The game of the last job, whose code is loaded."""
        self.is_loading = False
        """Whether it loads or compiles code, which serves whoever asks next."""

    async def start(self) -> None:
        """Starts the process, if it does not run."""
        if self.process is None or self.process.returncode is not None:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "leafwise.web.worker",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=LONGEST_LINE,
                env={**os.environ, **self.environment},
            )

    def send(self, message: dict[str, Any]) -> None:
        """Writes a line to the process."""
        assert self.process is not None
        assert self.process.stdin is not None
        with contextlib.suppress(OSError, RuntimeError):  # it has ended: reading tells so
            self.process.stdin.write(msgspec.json.encode(message) + b"\n")

    async def line(self) -> dict[str, Any]:
        """Returns the next line of the process; raises Refused for a job that was asked wrongly, Ended at its end."""
        process = self.process
        assert process is not None
        assert process.stdout is not None
        line = await process.stdout.readline()
        if not line:
            raise Ended(f"expected an answer, got the end of the process with status {await process.wait()}")
        try:
            found = understood(line)
        except Ended:  # nobody knows what the next line would answer
            await self.kill()
            raise
        if "stage" in found:
            self.is_loading = found["stage"] == "loading"
        return found

    async def answers(self, job: str, ask: msgspec.Struct, seconds: float) -> AsyncIterator[dict[str, Any]]:
        """Yields `{"stage": ...}` and `{"answer": ...}` until the job's end.

        Raises Refused for what was asked wrongly, another NoAnswer for a defect or where more than `seconds` pass, loading not
        counted; the process is killed in the last case.
        """
        clock = asyncio.get_running_loop().time
        await self.start()
        self.is_loading = False
        self.send({"job": job, "ask": ask})
        deadline = clock() + LOADING_SECONDS  # until it first says what it does, the process itself is loaded
        counted = False
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    message = await self.line()
            except TimeoutError:
                await self.kill()
                raise TimedOut(f"expected an answer within {seconds:.0f} s, got none") from None
            if "fault" in message:
                raise NoAnswer(message["fault"])
            if "end" in message:
                return
            if "stage" in message:
                deadline, counted = clock() + (LOADING_SECONDS if self.is_loading else seconds), not self.is_loading
            elif not counted:
                deadline, counted = clock() + seconds, True
            yield message

    async def give_up(self) -> None:
        """Ends the job under way: asks for it, and kills the process where that does not help. Loading is waited for."""
        if self.process is None:  # the caller went away before the process was there
            return
        self.send({"stop": True})
        try:
            while self.process is not None:
                async with asyncio.timeout(LOADING_SECONDS if self.is_loading else STOPPING_SECONDS):
                    message = await self.line()
                if {"end", "fault"} & set(message):
                    return
        except Refused:
            return
        except (TimeoutError, NoAnswer):
            await self.kill()

    async def kill(self) -> None:
        """Ends the process at once."""
        process, self.process = self.process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


class Lane:
    """Workers that share one kind of work; a job takes the free one that has its game loaded, if there is one."""

    def __init__(self, size: int, patience: float, environment: Mapping[str, str] = NOTHING_MORE) -> None:
        """`patience`: seconds that a job waits for a worker before it is refused as Busy; `environment` is more of theirs."""
        self.size, self.patience = size, patience
        self.workers = [Worker(environment) for _ in range(size)]
        self.free = list(self.workers)
        self.is_closed = False
        self.turn = asyncio.Semaphore(size)
        self.leaving: set[asyncio.Task[None]] = set()

    @property
    def is_full(self) -> bool:
        """Whether a job would have to wait now."""
        return self.turn.locked()

    async def run(self, job: str, ask: Any, seconds: float) -> AsyncIterator[dict[str, Any]]:
        """Yields what a worker answers, as `Worker.answers` does; raises Busy where none gets free in time.

        Where the caller goes away meanwhile, the job is given up.
        """
        try:
            async with asyncio.timeout(self.patience):
                await self.turn.acquire()
        except TimeoutError:
            raise Busy(f"expected a free process of {self.size}, got none for {self.patience:.0f} s") from None
        if self.is_closed:
            self.turn.release()
            raise Busy("expected a server that goes on, got one that ends")
        game = getattr(ask, "game", "")
        worker = min(self.free, key=lambda one: (one.game != game, one.process is None, bool(one.game)))
        self.free.remove(worker)
        worker.game, done = game, False
        try:
            async for message in worker.answers(job, ask, seconds):
                yield message
            done = True
        except NoAnswer:
            done = True
            raise
        finally:
            if done:
                self.back(worker)
            else:  # the caller's own task is being cancelled, so another one waits for the worker
                task = asyncio.get_running_loop().create_task(self.clear(worker))
                self.leaving.add(task)
                task.add_done_callback(self.leaving.discard)

    async def clear(self, worker: Worker) -> None:
        """Gets a worker free of its job."""
        try:
            await worker.give_up()
        finally:
            self.back(worker)

    def back(self, worker: Worker) -> None:
        """Takes a worker back."""
        self.free.append(worker)
        self.turn.release()

    async def close(self) -> None:
        """Ends all processes; jobs under way get no answer."""
        self.is_closed = True
        for worker in self.workers:
            await worker.kill()
        await asyncio.gather(*self.leaving, return_exceptions=True)


class Pool:
    """All processes of a server."""

    def __init__(self, thinkers: int, environment: Mapping[str, str] = NOTHING_MORE) -> None:
        """`environment`: what the processes see of it besides this one's."""
        self.rules, self.thinking = Lane(1, 20.0, environment), Lane(thinkers, 60.0, environment)

    async def start(self) -> None:
        """Starts a process of each kind, so that the first page finds them ready."""
        for lane in (self.rules, self.thinking):
            await lane.free[0].start()

    async def close(self) -> None:
        """Ends the processes."""
        await self.rules.close()
        await self.thinking.close()
