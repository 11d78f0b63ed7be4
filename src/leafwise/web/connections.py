"""Connections of the server: how many there may be, and how long one may wait for its client.

A client can hold none for nothing, and what is not wanted of a request is not read.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS = 128
"""Open connections; one more closes the one that has waited longest for its client."""
BACKLOG = 64
"""Connections that are accepted at once; with `MAX_CONNECTIONS` they stay below the 256 open files that some systems allow."""
REQUEST_SECONDS = 10.0
"""What the first line and the headers of a request may take to arrive."""
LINGER_SECONDS = 1.0
"""How long the answer to a refused body can be read before the connection is reset."""


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
