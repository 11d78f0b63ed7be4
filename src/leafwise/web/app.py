"""The server's application: routes of the JSON interface, and the static files of the page."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from leafwise.envs.core.errors import UserError
from leafwise.envs.core.programs import Ended, NoAnswer, Refused
from leafwise.envs.registry import games, ids_of, option_defaults, title_of
from leafwise.web.guard import RequestGuard
from leafwise.web.requests import JOBS, MAX_BYTES, JobSpec, read
from leafwise.web.workers import Busy, Workers, one_line

STATIC = Path(__file__).with_name("static")
EVENTS = "text/event-stream"
"""The type of streamed answers; who accepts it gets any answer so, and hears meanwhile whether code is loaded."""
BODY_SECONDS = 10.0
"""What the body of a request may take to arrive."""


class TooLong(UserError):
    """A body that is longer than any request, and is not read; the message is one line."""


STATUS = {TooLong: 413, UserError: 400, Refused: 400, Busy: 503, Ended: 503, NoAnswer: 500}
"""Kind of a problem -> the status that says whose fault it is."""


def make_app(workers: Workers, hosts: frozenset[str], token: str = "") -> ASGIApp:
    """Returns the application, behind its guard; who serves it ends the workers."""

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await workers.start()
        yield

    routes = [
        Route("/api/games", list_games),
        *(Route(path, answering(job, workers), methods=["GET", "POST"]) for path, job in JOBS.items()),
        Mount("/", StaticFiles(directory=STATIC, html=True)),
    ]
    handlers: Any = dict.fromkeys((HTTPException, UserError, NoAnswer), tell_problem)
    return RequestGuard(Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers), hosts, token)


async def tell_problem(request: Request, problem: Exception) -> Response:
    """Answers with what was wrong in one line; of an address that there is not, or a method that it does not take, too."""
    if isinstance(problem, HTTPException):
        status, line = problem.status_code, f"{problem.detail}: {request.method} {request.url.path[:200]!r}"
    else:
        status, line = status_of(problem), one_line(problem)
    return JSONResponse({"error": line}, status)


def status_of(problem: Exception) -> int:
    """Returns the status of a problem that a job raised."""
    return next(status for kind, status in STATUS.items() if isinstance(problem, kind))


async def list_games(request: Request) -> Response:
    """Tells the games, without importing them."""
    listed = [
        {
            "game": name,
            "title": title_of(name),
            "options": dict(option_defaults(name)),
            "ids": {short: dict(options) for short, options in ids_of(name).items()},
        }
        for name in games()
    ]
    return JSONResponse({"games": listed})


def answering(job: JobSpec, workers: Workers) -> Callable[[Request], Any]:
    """Returns what answers requests for a job; what it raises `tell_problem` tells."""

    async def answer(request: Request) -> Response:
        decoded = read(job.request, await body_of(request))
        pool = workers.pool_for(job, decoded)
        messages = pool.run(job, decoded)
        if job.streamed or EVENTS in request.headers.get("accept", ""):
            return StreamingResponse(events(messages, pool.is_full), media_type=EVENTS)
        return JSONResponse(await first_answer(messages, request))

    return answer


async def first_answer(messages: AsyncIterator[dict[str, Any]], request: Request) -> Any:
    """Returns the answer of a job; None, and the job ends, where the client goes away before."""

    async def answered() -> Any:
        async with contextlib.aclosing(messages) as stream:  # type: ignore[type-var]
            (answer,) = [message["answer"] async for message in stream if "answer" in message]
            return answer

    async def left() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    answer, *_ = tasks = [asyncio.ensure_future(answered()), asyncio.ensure_future(left())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return answer.result() if answer.done() else None
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def body_of(request: Request) -> bytes | dict[str, str]:
    """Returns the body of a request, or its query; raises ValueError in one line for one that is too slow, TooLong."""
    too_long = TooLong(f"expected at most {MAX_BYTES:,} bytes, got more")
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > MAX_BYTES:
        raise too_long
    if request.method != "POST":
        if "transfer-encoding" in request.headers:
            raise TooLong(f"expected no body of a request by {request.method}, got one")
        return {name: value for name, value in request.query_params.items() if name != "token"}
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for piece in request.stream():
                body += piece
                if len(body) > MAX_BYTES:
                    raise too_long
    except TimeoutError:
        raise UserError(f"expected a request within {BODY_SECONDS:.0f} s, got part of one") from None
    except ClientDisconnect:
        raise UserError("expected a whole request, got part of one") from None
    return bytes(body)


async def events(messages: AsyncIterator[dict[str, Any]], waits: bool) -> AsyncIterator[str]:
    """Yields the messages of a job as server-sent events: `stage`, `answer`, and at last `done` or `error`."""
    if waits:
        yield event("stage", "waiting")
    try:
        async with contextlib.aclosing(messages) as stream:  # type: ignore[type-var]
            async for message in stream:
                (name, data), *_ = message.items()
                yield event(name, data)
        yield event("done", True)
    except NoAnswer as problem:
        yield event("error", {"error": one_line(problem), "status": status_of(problem)})


def event(name: str, data: Any) -> str:
    """Returns one server-sent event."""
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"
