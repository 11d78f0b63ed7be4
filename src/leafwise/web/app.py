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
"""Type of streamed answers. A client that accepts it gets every answer in this form, with events while code is loaded."""
BODY_SECONDS = 10.0
"""Time limit for the body of a request."""


class TooLong(UserError):
    """A request's body is too long; it is not read, and the message is one line."""


STATUS = {TooLong: 413, UserError: 400, Refused: 400, Busy: 503, Ended: 503, NoAnswer: 500}
"""Kind of problem -> HTTP status."""


def make_app(workers: Workers, hosts: frozenset[str], token: str = "") -> ASGIApp:
    """Returns the application behind its guard. The caller closes the workers."""

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
    """Answers with the problem in one line, also for an unknown address or a wrong method."""
    if isinstance(problem, HTTPException):
        status, line = problem.status_code, f"{problem.detail}: {request.method} {request.url.path[:200]!r}"
    else:
        status, line = status_of(problem), one_line(problem)
    return JSONResponse({"error": line}, status)


def status_of(problem: Exception) -> int:
    """Returns the HTTP status of a problem."""
    return next(status for kind, status in STATUS.items() if isinstance(problem, kind))


async def list_games(request: Request) -> Response:
    """Lists the games without importing them."""
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
    """Returns the handler of a job's requests; `tell_problem` handles what it raises."""

    async def answer(request: Request) -> Response:
        decoded = read(job.request, await body_of(request))
        pool = workers.pool_for(job, decoded)
        messages = pool.run(job, decoded)
        if job.streamed or EVENTS in request.headers.get("accept", ""):
            return StreamingResponse(events(messages, pool.is_full), media_type=EVENTS)
        return JSONResponse(await first_answer(messages, request))

    return answer


async def first_answer(messages: AsyncIterator[dict[str, Any]], request: Request) -> Any:
    """Returns the answer of a job. If the client leaves first, the job is stopped and the result is None."""

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
    """Returns the body of a request, or its query; raises TooLong, or ValueError in one line if it is too slow."""
    too_long = TooLong(f"expected at most {MAX_BYTES:,} bytes, got more")
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > MAX_BYTES:
        raise too_long
    if request.method != "POST":
        if "transfer-encoding" in request.headers:
            raise TooLong(f"expected no body in a {request.method} request, got one")
        return {name: value for name, value in request.query_params.items() if name != "token"}
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for piece in request.stream():
                body += piece
                if len(body) > MAX_BYTES:
                    raise too_long
    except TimeoutError:
        raise UserError(f"expected a whole request within {BODY_SECONDS:.0f} s, got a part") from None
    except ClientDisconnect:
        raise UserError("expected a whole request, got a part") from None
    return bytes(body)


async def events(messages: AsyncIterator[dict[str, Any]], waits: bool) -> AsyncIterator[str]:
    """Yields the messages of a job as server-sent events: `stage`, `answer`, finally `done` or `error`."""
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
