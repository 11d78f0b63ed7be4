"""Access to the server: only for this machine's own pages, or on a network with the token; and time limits for clients.

Idle connections are closed, and unwanted parts of a request are not read.
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
"""Maximum of open connections; one more closes the one whose client has been idle longest."""
BACKLOG = 64
"""Length of the accept queue; with `MAX_CONNECTIONS` it stays below the 256 open files that some systems allow."""
REQUEST_SECONDS = 10.0
"""Time limit for the first line and the headers of a request."""
LINGER_SECONDS = 1.0
"""Time to read the answer to a refused body before the connection is reset."""
COOKIE = "leafwise_token"
HEADERS = (
    (b"content-security-policy", b"default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; "
     b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-cache"),
)  # fmt: skip
"""Headers of every answer: pages load nothing from other sites, and other sites cannot embed them."""


class RequestGuard:
    """Passes requests of the server's own pages to the application, and refuses all others in one line.

    Another site could make a browser send requests here. Host shows a foreign name that points at this machine; Origin and
    Sec-Fetch-Site show the page that sends the request. With a token every request needs it: first in the address
    (`/?token=...`), later in a cookie.
    """

    def __init__(self, app: ASGIApp, hosts: frozenset[str], token: str = "") -> None:
        """`hosts` are the allowed names of the server with the port: `127.0.0.1:8000`."""
        self.app, self.hosts, self.token = app, hosts, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles an ASGI request."""
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
        """Returns why a request is refused, "" if it is allowed."""
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
    """A connection of uvicorn that is closed if its client sends no request, or more than is read."""

    deadline = 0.0
    """Time by which the current request must be complete; 0 if none has begun."""
    active = 0.0
    """Time of the last use of the connection."""

    @property
    def is_waiting(self) -> bool:
        """Whether the server waits for the client: no complete request lacks its answer."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Waits for the first request; if there are too many connections, closes those idle longest."""
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
        if len(self.connections) > MAX_CONNECTIONS:  # all others are busy
            self.limit_concurrency = 0  # uvicorn answers 503

    def expect_request(self, deadline: float) -> None:
        """Closes the connection at a time of the loop's clock, unless the headers of a request have arrived."""
        self.deadline = deadline
        self.timeout_keep_alive_task = self.loop.call_at(deadline, self.timeout_keep_alive_handler)

    def data_received(self, data: bytes) -> None:
        """Reads data of the client; a request in pieces has one deadline."""
        self.active = self.loop.time()
        deadline = self.deadline or self.active + REQUEST_SECONDS
        super().data_received(data)  # ends the timer
        self.deadline = 0.0
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.expect_request(deadline)

    def on_response_complete(self) -> None:
        """Waits for the next request; if the body of this one was not read, closes the connection after the answer."""
        self.active = self.loop.time()
        if self.conn.their_state is not h11.SEND_BODY or self.transport.is_closing():
            super().on_response_complete()
            return
        self.flow.pause_reading()
        self.transport.write_eof()
        self.loop.call_later(LINGER_SECONDS, self.transport.abort)
