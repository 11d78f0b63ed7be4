"""Who may ask: this machine's own pages, or, on a network, whoever holds the token."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any

import msgspec

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

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


class Guard:
    """Lets requests through to the application that come from its own pages, and refuses all others in one line.

    A page of another site that knows the address can have a browser send requests here: Host tells a name that was made to point
    at this machine, Origin and Sec-Fetch-Site tell the page that asks. With a token, every request must bring it: once in the
    address (`/?token=...`), from then on in a cookie.
    """

    def __init__(self, app: App, hosts: frozenset[str], token: str = "") -> None:
        """`hosts` are the names by which the server may be called, with the port: `127.0.0.1:8000`."""
        self.app, self.hosts, self.token = app, hosts, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request of ASGI."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if problem := self.problem(headers, scope["path"]):
            await refuse(send, 403, problem)
            return
        shown = given_token(scope["query_string"])
        if self.token and not self.knows(shown) and not self.knows(cookie_token(headers)):
            await refuse(send, 401, "expected the address with its token, as the server printed it, got another")
            return
        extra = list(HEADERS)
        if self.token and self.knows(shown):
            extra.append((b"set-cookie", f"{COOKIE}={self.token}; HttpOnly; SameSite=Strict; Path=/".encode()))

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *extra]
            await send(message)

        await self.app(scope, receive, with_headers)

    def problem(self, headers: dict[str, str], path: str) -> str:
        """Returns why a request is refused, "" for one that is not."""
        host, origin = headers.get("host", "").lower(), headers.get("origin", "").lower()
        if host not in self.hosts:
            return f"expected a Host among {', '.join(sorted(self.hosts))}, got {host[:100]!r}"
        if origin and origin != f"http://{host}":
            return f"expected an Origin of this server, got {origin[:100]!r}"
        site = headers.get("sec-fetch-site", "none")
        if site not in ("none", "same-origin") and path.startswith("/api/"):
            return f"expected a request of this server's own pages, got one that is {site[:20]!r}"
        return ""

    def knows(self, token: str) -> bool:
        """Whether a token is the right one."""
        return hmac.compare_digest(token.encode(), self.token.encode())


def given_token(query: bytes) -> str:
    """Returns the token of an address, "" without one."""
    pairs = (pair.partition("=") for pair in query.decode("latin-1").split("&"))
    return next((value for name, _, value in pairs if name == "token"), "")


def cookie_token(headers: dict[str, str]) -> str:
    """Returns the token of a cookie, "" without one."""
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""


async def refuse(send: Send, status: int, problem: str) -> None:
    """Answers with one line."""
    body = msgspec.json.encode({"error": problem})
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
