"""The server's application: routes of the JSON interface, and the static files of the page."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from leafwise.envs.core.errors import UserError
from leafwise.envs.core.programs import NoAnswer, Refused
from leafwise.envs.registry import games, ids_of, option_defaults, title_of
from leafwise.web import asks
from leafwise.web.guard import App, Guard
from leafwise.web.pool import Busy, Pool

STATIC = Path(__file__).with_name("static")
BODY_SECONDS = 10.0
"""What the body of a request may take to arrive."""
LONG_GAME = 60
"""Steps from which on a position is no matter of a click, and replayed by the processes that think."""


@dataclass(frozen=True)
class Endpoint:
    """One address of the interface, and the job that answers it."""

    job: str
    ask: type[msgspec.Struct]
    seconds: Callable[[Any], float] = lambda ask: 20.0
    """What the job may take, loading not counted."""
    streamed: bool = False
    """Whether there are several answers, told by server-sent events."""
    thinks: Callable[[Any], bool] = lambda ask: True
    """Whether the work is for processes that think; else for the one that knows the rules."""


ENDPOINTS = {
    "/api/game": Endpoint("game", asks.GameAsk, thinks=lambda ask: False),
    "/api/state": Endpoint("state", asks.StateAsk, lambda ask: 60.0, thinks=lambda ask: len(ask.moves) > LONG_GAME),
    "/api/record": Endpoint("record", asks.RecordAsk, lambda ask: 60.0),
    "/api/read": Endpoint("read", asks.FileAsk, lambda ask: 60.0),
    "/api/prepare": Endpoint("prepare", asks.PrepareAsk),
    "/api/move": Endpoint("move", asks.MoveAsk, lambda ask: 45.0),
    "/api/analyse": Endpoint("analyse", asks.AnalyseAsk, lambda ask: ask.seconds + 20.0, streamed=True),
    "/api/solve": Endpoint("solve", asks.SolveAsk, lambda ask: ask.seconds + 20.0, streamed=True),
    "/api/review": Endpoint("review", asks.ReviewAsk, lambda ask: 20.0 + ask.seconds, streamed=True),
    "/api/follow": Endpoint("follow", asks.FollowAsk, thinks=lambda ask: False),
    "/api/follow-advice": Endpoint("follow-advice", asks.AdviceAsk, lambda ask: ask.seconds + 20.0, streamed=True),
    "/api/runs": Endpoint("runs", asks.RunsAsk),
    "/api/run": Endpoint("run", asks.RunAsk, lambda ask: 60.0),
    "/api/run-game": Endpoint("run-game", asks.RunGameAsk, lambda ask: 60.0),
    "/api/ship": Endpoint("ship", asks.ShipAsk),
    "/api/ship-advice": Endpoint("ship-advice", asks.ShipAsk),
    "/api/ship-stages": Endpoint("ship-stages", asks.StagesAsk),
}
"""Address -> what answers it, by GET with a query or by POST with a JSON body."""


class TooLong(UserError):
    """A body that is longer than any request, and is not read; the message is one line."""


def make_app(pool: Pool, hosts: frozenset[str], token: str = "") -> App:
    """Returns the application, behind its guard."""

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await pool.start()
        try:
            yield
        finally:
            await pool.close()

    routes = [
        Route("/api/games", list_games),
        *(Route(path, answering(one, pool), methods=["GET", "POST"]) for path, one in ENDPOINTS.items()),
        Mount("/", StaticFiles(directory=STATIC, html=True)),
    ]
    handlers: Any = {HTTPException: tell_problem}
    return Guard(Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers), hosts, token)


def problem_response(status: int, problem: object) -> Response:
    """Returns what was wrong in one line."""
    return JSONResponse({"error": " ".join(str(problem).split())}, status)


async def tell_problem(request: Request, problem: HTTPException) -> Response:
    """Answers for an address that there is not, or a method that it does not take."""
    return problem_response(problem.status_code, f"{problem.detail}: {request.method} {request.url.path[:200]!r}")


async def list_games(request: Request) -> Response:
    """Tells the games, without importing them."""
    return JSONResponse(
        {
            "games": [
                {
                    "game": name,
                    "title": title_of(name),
                    "options": dict(option_defaults(name)),
                    "ids": {short: dict(options) for short, options in ids_of(name).items()},
                }
                for name in games()
            ]
        }
    )


def answering(endpoint: Endpoint, pool: Pool) -> Callable[[Request], Any]:
    """Returns what answers requests to an endpoint."""

    async def answer(request: Request) -> Response:
        try:
            ask = await asked(request, endpoint.ask)
        except UserError as problem:
            return problem_response(413 if isinstance(problem, TooLong) else 400, problem)
        lane = pool.thinking if endpoint.thinks(ask) else pool.rules
        messages = lane.run(endpoint.job, ask, endpoint.seconds(ask))
        if endpoint.streamed:
            return StreamingResponse(events(messages, lane.is_full), media_type="text/event-stream")
        try:
            return JSONResponse(await first_answer(messages, request))
        except NoAnswer as problem:
            return problem_response(status_of(problem), problem)

    return answer


async def first_answer(messages: AsyncIterator[dict[str, Any]], request: Request) -> Any:
    """Returns the answer of a job; None, and the job ends, where the client goes away before."""
    job = asyncio.ensure_future(collected(messages))
    gone = asyncio.ensure_future(disconnected(request))
    try:
        await asyncio.wait({job, gone}, return_when=asyncio.FIRST_COMPLETED)
        return job.result()[0] if job.done() else None
    finally:
        job.cancel()
        gone.cancel()
        await asyncio.gather(job, gone, return_exceptions=True)


async def collected(messages: AsyncIterator[dict[str, Any]]) -> list[Any]:
    """Returns all answers of a job."""
    async with contextlib.aclosing(messages) as stream:  # type: ignore[type-var]
        return [message["answer"] async for message in stream if "answer" in message]


async def disconnected(request: Request) -> None:
    """Returns when the client of a request has gone away."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def asked(request: Request, kind: type[msgspec.Struct]) -> msgspec.Struct:
    """Returns what a request asks; raises ValueError in one line for one that is wrong or too slow, TooLong for one too long."""
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > asks.MOST_BYTES:
        raise TooLong(f"expected at most {asks.MOST_BYTES:,} bytes, got more")
    if request.method != "POST":
        if "transfer-encoding" in request.headers:
            raise TooLong(f"expected no body of a request by {request.method}, got one")
        query = {name: value for name, value in request.query_params.items() if name != "token"}
        return asks.read_query(kind, query)
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for piece in request.stream():
                body += piece
                if len(body) > asks.MOST_BYTES:
                    raise TooLong(f"expected at most {asks.MOST_BYTES:,} bytes, got more")
    except TimeoutError:
        raise UserError(f"expected a request within {BODY_SECONDS:.0f} s, got part of one") from None
    except ClientDisconnect:
        raise UserError("expected a whole request, got part of one") from None
    return asks.read(kind, bytes(body))


def status_of(problem: Exception) -> int:
    """Returns the status that says whose fault a problem is."""
    return 400 if isinstance(problem, Refused) else 503 if isinstance(problem, Busy) else 500


async def events(messages: AsyncIterator[dict[str, Any]], waits: bool) -> AsyncIterator[str]:
    """Yields the messages of a job as server-sent events: `stage`, `answer`, and at last `done` or `error`."""
    if waits:
        yield event("stage", "waiting")
    try:
        async with contextlib.aclosing(messages) as stream:  # type: ignore[type-var]
            async for message in stream:
                name = "answer" if "answer" in message else "stage"
                yield event(name, message[name])
        yield event("done", True)
    except NoAnswer as problem:
        yield event("error", {"error": " ".join(str(problem).split())})


def event(name: str, data: Any) -> str:
    """Returns one server-sent event."""
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"
