"""Runs `leafwise web` in a thread for tests; its workers run plain Python, so that nothing is compiled."""

import contextlib
import http.client
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import uvicorn

from leafwise.web.app import make_app
from leafwise.web.server import LOOPBACK, Server, listening, names_of
from leafwise.web.workers import Workers

PLAIN_PYTHON = {"NUMBA_DISABLE_JIT": "1"}


class Client:
    """Sends requests to a server."""

    def __init__(self, port: int) -> None:
        self.port = port

    def send(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, str, bytes]:
        """Sends a request; returns status, content type and body of the response."""
        connection = http.client.HTTPConnection(LOOPBACK, self.port, timeout=120)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, response.getheader("content-type", ""), response.read()
        finally:
            connection.close()

    def post(self, path: str, **fields: Any) -> tuple[int, Any]:
        """Posts the fields as JSON; returns status and JSON of the response."""
        status, _, body = self.send("POST", path, json.dumps(fields).encode())
        return status, json.loads(body)

    def ask(self, path: str, **fields: Any) -> Any:
        """Posts the fields as JSON; returns the JSON of the response, which must not be an error."""
        status, reply = self.post(path, **fields)
        assert status == 200, reply
        return reply

    def answers(self, path: str, **fields: Any) -> list[Any]:
        """Returns the data of the streamed `answer` events."""
        return [data for name, data in self.events(path, **fields) if name == "answer"]

    def events(self, path: str, **fields: Any) -> list[tuple[str, Any]]:
        """Posts the fields as JSON; returns the streamed events as (name, data)."""
        status, kind, body = self.send("POST", path, json.dumps(fields).encode(), {"Accept": "text/event-stream"})
        assert (status, kind.split(";")[0]) == (200, "text/event-stream"), body
        blocks = [block.split("\n") for block in body.decode().strip().split("\n\n")]
        return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in blocks]


@contextlib.contextmanager
def serving(search_workers: int = 2, token: str = "", **environment: str) -> Iterator[Client]:
    """Runs a server whose workers have more environment variables."""
    sock = listening(LOOPBACK, 0)
    port = sock.getsockname()[1]
    workers = Workers(search_workers, {**PLAIN_PYTHON, **environment})
    app = make_app(workers, names_of(LOOPBACK, port), token)
    server = Server(uvicorn.Config(app, log_level="warning", ws="none", timeout_graceful_shutdown=2), workers)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    try:
        yield Client(port)
    finally:
        server.should_exit = True
        thread.join(30)
    assert not thread.is_alive()
