"""The processes behind `leafwise web`: deadlines, callers that go away, processes that are lost."""

import asyncio
import contextlib
import gc
import time

import pytest
from front.web_server import PLAIN_PYTHON

from leafwise.envs.core.programs import Ended, Refused, TimedOut
from leafwise.web.asks import AnalyseAsk, StateAsk
from leafwise.web.pool import Busy, Lane

STATE = StateAsk(game="trilobite")
LONG = AnalyseAsk(game="trilobite", text=".../.../...", leaf="lines", seconds=30.0)


async def answer(lane, job="state", ask=STATE, seconds=20.0):
    """Returns the one answer of a job."""
    (found,) = [message["answer"] async for message in lane.run(job, ask, seconds) if "answer" in message]
    return found


@contextlib.asynccontextmanager
async def lane_of(size, patience=20.0):
    lane = Lane(size, patience, PLAIN_PYTHON)
    try:
        yield lane
    finally:
        await lane.close()


def test_a_process_is_lost_and_started_again():
    async def scenario():
        async with lane_of(1) as lane:
            (worker,) = lane.free
            first = await answer(lane)
            worker.process.kill()
            await worker.process.wait()
            assert await answer(lane) == first  # it was lost between two jobs
            stream = lane.run("analyse", LONG, 60.0)
            async for message in stream:
                if "answer" in message:
                    worker.process.kill()
                    break
            with pytest.raises(Ended, match="expected an answer, got the end of the process with status -9"):
                async for _ in stream:
                    pass
            assert await answer(lane) == first

    asyncio.run(scenario())


def test_a_job_that_takes_too_long_is_ended():
    async def scenario():
        async with lane_of(1) as lane:
            await answer(lane)
            begun = time.monotonic()
            with pytest.raises(TimedOut, match="expected an answer within 1 s, got none"):
                async for _ in lane.run("analyse", LONG, 1.0):
                    pass
            assert time.monotonic() - begun < 25
            assert (await answer(lane))["player"] == 1

    asyncio.run(scenario())


def test_a_caller_that_goes_away_leaves_a_process_that_goes_on():
    async def scenario():
        async with lane_of(1) as lane:
            (worker,) = lane.free
            async with contextlib.aclosing(lane.run("analyse", LONG, 60.0)) as stream:
                async for message in stream:
                    if "answer" in message:
                        break
            process = worker.process
            assert (await answer(lane))["player"] == 1
            assert worker.process is process, "it was asked to stop, and did"

    asyncio.run(scenario())


def test_a_full_lane_refuses():
    async def scenario():
        async with lane_of(1, patience=0.2) as lane:
            async with contextlib.aclosing(lane.run("analyse", LONG, 60.0)) as stream:
                async for message in stream:
                    if "answer" in message:
                        break
                assert lane.is_full
                with pytest.raises(Busy, match="expected a free process of 1, got none for 0 s"):
                    await answer(lane)
            with pytest.raises(Refused, match="expected a game among"):
                await answer(Lane(1, 20.0, PLAIN_PYTHON), ask=StateAsk(game="none"))

    asyncio.run(scenario())


def test_jobs_that_are_dropped_at_once_leave_no_trace():
    async def scenario():
        problems = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: problems.append(context))
        async with lane_of(2) as lane:
            for pause in (0.0, 0.01, 0.3):  # before a process is there, while it starts, while it works
                jobs = [asyncio.create_task(answer(lane, "analyse", LONG)) for _ in range(30)]
                await asyncio.sleep(pause)
                for job in jobs:
                    job.cancel()
                await asyncio.wait(jobs)
                await asyncio.gather(*lane.leaving, return_exceptions=True)
            assert (await answer(lane))["player"] == 1
            assert len(lane.free) == 2
        gc.collect()
        assert problems == []

    asyncio.run(scenario())
