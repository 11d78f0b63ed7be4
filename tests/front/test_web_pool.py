"""The processes behind `leafwise web`: time limits, callers that go away, processes that are lost."""

import asyncio
import contextlib
import dataclasses
import gc

import pytest
from front.web_server import PLAIN_PYTHON

from leafwise.envs.core.programs import Ended, Refused, TimedOut
from leafwise.web.requests import JOBS, AnalyseRequest, ReviewRequest, StateRequest
from leafwise.web.workers import Busy, WorkerPool, Workers

STATE = StateRequest(game="trilobite")
ANALYSE = JOBS["/api/analyse"]
LONG = AnalyseRequest(
    game="trilobite", options={"board": "7x6", "k": 4}, text="/".join(["......."] * 6), leaf="lines", seconds=30.0
)
"""Of a board that no machine searches to its end."""
SHORT_LIMIT = dataclasses.replace(ANALYSE, seconds=1.0 - LONG.seconds)
"""One second for an answer."""


def scenario(test):
    """Has a test run in an event loop, with a pool of one process."""

    async def run():
        pool = WorkerPool(1, 20.0, PLAIN_PYTHON)
        try:
            await test(pool)
        finally:
            await pool.close()
            await asyncio.sleep(0.1)  # pipes of ended processes are closed on the loop's next turns

    return lambda: asyncio.run(run())


async def answer(pool, job=JOBS["/api/state"], request=STATE):
    """Returns the last answer of a job."""
    return [message["answer"] async for message in pool.run(job, request) if "answer" in message][-1]


@contextlib.asynccontextmanager
async def begun(pool):
    """A long analysis that has answered once."""
    async with contextlib.aclosing(pool.run(ANALYSE, LONG)) as stream:
        async for message in stream:
            if "answer" in message:
                break
        yield stream


@scenario
async def test_a_process_is_lost_and_started_again(pool):
    (worker,) = pool.free
    first = await answer(pool)
    worker.process.kill()
    await worker.process.wait()
    assert await answer(pool) == first  # it was lost between two jobs
    async with begun(pool) as stream:
        worker.process.kill()
        with pytest.raises(Ended, match="expected an answer, got the end of the process with status -9"):
            async for _ in stream:
                pass
    assert await answer(pool) == first


@scenario
async def test_an_answer_that_takes_too_long_ends_the_process(pool):
    review = ReviewRequest(file='[Game "trilobite"]\n1. 1\n2. 3\n3. 1\n4. 3\n5. 2\n', leaf="lines", seconds=0.4)
    limit = dataclasses.replace(JOBS["/api/review"], seconds=1.1)
    assert (await answer(pool, limit, review))["move"] == 5, "each answer has its own time"
    with pytest.raises(TimedOut, match="expected an answer within 1 s, got none"):
        await answer(pool, SHORT_LIMIT, LONG)
    assert pool.workers[0].process is None
    assert (await answer(pool))["player"] == 1


@scenario
async def test_a_caller_that_goes_away_leaves_a_process_that_goes_on(pool):
    async with begun(pool):
        (worker,) = pool.workers
        process = worker.process
        assert pool.is_full
        pool.patience = 0.2
        with pytest.raises(Busy, match="expected a free process of 1, got none for 0 s"):
            await answer(pool)
        pool.patience = 20.0
    assert (await answer(pool))["player"] == 1
    assert worker.process is process, "it was asked to stop, and did"
    with pytest.raises(Refused, match="expected a game among"):
        await answer(pool, request=StateRequest(game="none"))


@scenario
async def test_jobs_that_are_dropped_at_once_leave_no_trace(pool):
    problems = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: problems.append(context))
    for pause in (0.0, 0.01, 0.3):  # before a process is there, while it starts, while it works
        jobs = [asyncio.create_task(answer(pool, ANALYSE, LONG)) for _ in range(10)]
        await asyncio.sleep(pause)
        for job in jobs:
            job.cancel()
        await asyncio.wait(jobs)
        await asyncio.gather(*pool.leaving, return_exceptions=True)
    assert (await answer(pool))["player"] == 1
    assert len(pool.free) == 1
    gc.collect()
    assert problems == []


def test_a_game_opens_while_another_one_is_compiled():
    async def run():
        workers = Workers(1, PLAIN_PYTHON)
        try:
            await workers.start()
            first, second = workers.rules
            assert workers.pool_for(JOBS["/api/state"], STATE) is first
            async with first.turn:
                (worker,) = first.workers
                worker.game, worker.is_loading, first.patience = "trap", True, 0.1
                assert workers.pool_for(JOBS["/api/state"], StateRequest(game="trap")) is first
                other = workers.pool_for(JOBS["/api/state"], STATE)
                assert other is second
                assert (await answer(other))["player"] == 1
                waiting = asyncio.create_task(answer(first))
                await asyncio.sleep(0.5)
                assert not waiting.done(), "loading is waited for, however long"
                worker.is_loading, first.patience = False, 20.0
            assert (await waiting)["player"] == 1
            assert workers.pool_for(JOBS["/api/state"], STATE) is first
        finally:
            await workers.close()
            await asyncio.sleep(0.1)

    asyncio.run(run())


def test_what_a_process_loads_is_told_meanwhile(tmp_path):
    """With everything long enough to be told."""
    lines = ["from leafwise.envs.core import waiting", "waiting.SAID_SECONDS, waiting.TICK_SECONDS = 0.0, 0.001"]
    (tmp_path / "sitecustomize.py").write_text("\n".join(lines))

    async def run():
        pool = WorkerPool(1, 20.0, {**PLAIN_PYTHON, "PYTHONPATH": str(tmp_path)})
        try:
            return [message async for message in pool.run(JOBS["/api/state"], STATE)]
        finally:
            await pool.close()
            await asyncio.sleep(0.1)

    messages = asyncio.run(run())
    notes = [message["told"] for message in messages if "told" in message]
    assert notes[0] == "loading leafwise"
    assert notes[-1] == ""
    assert [message["answer"]["player"] for message in messages if "answer" in message] == [1]
