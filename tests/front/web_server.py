"""A server of `leafwise web` for tests: in a thread, its processes as plain Python, so that nothing is compiled for them."""

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
    """Asks a server as a program would."""

    def __init__(self, port: int) -> None:
        self.port = port

    def send(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, str, bytes]:
        """Returns status, type and body of an answer."""
        connection = http.client.HTTPConnection(LOOPBACK, self.port, timeout=120)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.getheader("content-type", ""), answer.read()
        finally:
            connection.close()

    def post(self, path: str, **ask: Any) -> tuple[int, Any]:
        """Returns status and JSON of an answer."""
        status, _, body = self.send("POST", path, json.dumps(ask).encode())
        return status, json.loads(body)

    def ask(self, path: str, **ask: Any) -> Any:
        """Returns the JSON of an answer that is no error."""
        status, found = self.post(path, **ask)
        assert status == 200, found
        return found

    def answers(self, path: str, **ask: Any) -> list[Any]:
        """Returns the answers that are streamed."""
        return [data for name, data in self.events(path, **ask) if name == "answer"]

    def events(self, path: str, **ask: Any) -> list[tuple[str, Any]]:
        """Returns the events of an answer that is asked for as a stream: name, data."""
        status, kind, body = self.send("POST", path, json.dumps(ask).encode(), {"Accept": "text/event-stream"})
        assert (status, kind.split(";")[0]) == (200, "text/event-stream"), body
        told = [block.split("\n") for block in body.decode().strip().split("\n\n")]
        return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in told]


@contextlib.contextmanager
def serving(search_workers: int = 2, token: str = "", **environment: str) -> Iterator[Client]:
    """Runs a server; its processes see this of the environment besides."""
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
