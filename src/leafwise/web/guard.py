"""Who may ask: this machine's own pages, or, on a network, whoever holds the token; and how long a client may be waited for.

A client can hold no connection for nothing, and what is not wanted of a request is not read.
"""

from __future__ import annotations

import asyncio
import hmac

import h11
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS = 128
"""Open connections; one more closes the one that has waited longest for its client."""
BACKLOG = 64
"""Connections that are accepted at once; with `MAX_CONNECTIONS` they stay below the 256 open files that some systems allow."""
REQUEST_SECONDS = 10.0
"""What the first line and the headers of a request may take to arrive."""
LINGER_SECONDS = 1.0
"""How long the answer to a refused body can be read before the connection is reset."""
COOKIE = "leafwise_token"
HEADERS = (
    (b"content-security-policy", b"default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; "
     b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-cache"),
)  # fmt: skip
"""Of every answer: nothing is loaded from elsewhere, nothing of ours is shown inside pages of others."""


class RequestGuard:
    """Lets requests through to the application that come from its own pages, and refuses all others in one line.

    A page of another site that knows the address can have a browser send requests here: Host tells a name that was made to point
    at this machine, Origin and Sec-Fetch-Site tell the page that asks. With a token, every request must bring it: once in the
    address (`/?token=...`), from then on in a cookie.
    """

    def __init__(self, app: ASGIApp, hosts: frozenset[str], token: str = "") -> None:
        """`hosts` are the server's allowed names, with the port: `127.0.0.1:8000`."""
        self.app, self.hosts, self.token = app, hosts, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request of ASGI."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request, app, extra = Request(scope), self.app, list(HEADERS)
        shown = request.query_params.get("token", "")
        if problem := self.problem(request):
            app = JSONResponse({"error": problem}, 403)
        elif self.token and not self.knows(shown) and not self.knows(request.cookies.get(COOKIE, "")):
            problem = "expected the address with its token, as the server printed it, got another"
            app = JSONResponse({"error": problem}, 401)
        elif self.token and self.knows(shown):
            extra.append((b"set-cookie", f"{COOKIE}={self.token}; HttpOnly; SameSite=Strict; Path=/".encode()))

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *extra]
            await send(message)

        await app(scope, receive, with_headers)

    def problem(self, request: Request) -> str:
        """Returns why a request is refused, "" for one that is not."""
        headers = request.headers
        host, origin = headers.get("host", "").lower(), headers.get("origin", "").lower()
        if host not in self.hosts:
            return f"expected a Host among {', '.join(sorted(self.hosts))}, got {host[:100]!r}"
        if origin and origin != f"http://{host}":
            return f"expected an Origin of this server, got {origin[:100]!r}"
        site = headers.get("sec-fetch-site", "none")
        if site not in ("none", "same-origin") and request.scope["path"].startswith("/api/"):
            return f"expected a request of this server's own pages, got one that is {site[:20]!r}"
        return ""

    def knows(self, token: str) -> bool:
        """Whether a token is the right one."""
        return hmac.compare_digest(token.encode(), self.token.encode())


class Connection(H11Protocol):
    """A connection of uvicorn's that is closed where its client does not send a request, or sends more than is read."""

    deadline = 0.0
    """When the request under way has to be there; 0 where none has begun."""
    active = 0.0
    """When the connection was last used."""

    @property
    def is_waiting(self) -> bool:
        """Whether the client has to do something next: there is no whole request without an answer."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begins to wait for the first request, and closes the connections that have waited longest where there are too many."""
        super().connection_made(transport)
        self.active = self.loop.time()
        self.expect_request(self.active + REQUEST_SECONDS)
        waiting = [
            one for one in self.connections if one is not self and isinstance(one, Connection) and one.is_waiting
        ]
        waiting.sort(key=lambda one: one.active)
        for one in waiting[: max(0, len(self.connections) - MAX_CONNECTIONS)]:
            self.connections.discard(one)
            one.transport.abort()
        if len(self.connections) > MAX_CONNECTIONS:  # all others are at work
            self.limit_concurrency = 0  # uvicorn answers 503

    def expect_request(self, deadline: float) -> None:
        """Closes the connection at a time of the loop's clock, unless the headers of a request are there by then."""
        self.deadline = deadline
        self.timeout_keep_alive_task = self.loop.call_at(deadline, self.timeout_keep_alive_handler)

    def data_received(self, data: bytes) -> None:
        """Takes what the client sends; a request that comes in pieces has one deadline."""
        self.active = self.loop.time()
        deadline = self.deadline or self.active + REQUEST_SECONDS
        super().data_received(data)  # ends the timer
        self.deadline = 0.0
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.expect_request(deadline)

    def on_response_complete(self) -> None:
        """Waits for the next request; where the body of this one was not read, the connection ends with its answer."""
        self.active = self.loop.time()
        if self.conn.their_state is not h11.SEND_BODY or self.transport.is_closing():
            super().on_response_complete()
            return
        self.flow.pause_reading()
        self.transport.write_eof()
        self.loop.call_later(LINGER_SECONDS, self.transport.abort)
