"""What a client can do to `leafwise web` by connections alone: idle ones, parts of requests, endless bodies, dropped calls."""

import asyncio
import contextlib
import itertools
import json
import socket
import threading
import time

import pytest
from front.web_server import LOOPBACK, serving

from leafwise.web import guard
from leafwise.web.workers import WorkerPool

HALF = b"POST /api/state HTTP/1.1\r\nHost: a"
ENDLESS = 1 << 40
PIECE = b"10000\r\n" + b"x" * (1 << 16) + b"\r\n"
"""Of a chunked body."""


@pytest.fixture(scope="module")
def client():
    with serving(1) as found:
        yield found


@contextlib.contextmanager
def held(client, count, sent=b""):
    """Opens connections that send so much and no more."""
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            sock = stack.enter_context(socket.create_connection((LOOPBACK, client.port), timeout=60))
            sock.sendall(sent)
        yield


def head(client, *lines):
    """Returns the headers of a request that has a body."""
    return "\r\n".join([f"POST /api/read HTTP/1.1\r\nHost: {LOOPBACK}:{client.port}", *lines, "\r\n"]).encode()


def answer_to(client, sent):
    """Returns all that a server says to some bytes until it closes the connection."""
    with socket.create_connection((LOOPBACK, client.port), timeout=60) as sock:
        sock.sendall(sent)
        return b"".join(iter(lambda: sock.recv(1 << 16), b""))


def sent_until_closed(sock, first, pieces, pause=0.0):
    """Whether the server closes the connection before all pieces are sent."""
    try:
        sock.sendall(first)
        for piece in pieces:
            time.sleep(pause)
            sock.sendall(piece)
    except OSError:
        return True
    return False


def test_connections_that_wait_lock_nobody_out(monkeypatch):
    monkeypatch.setattr(guard, "REQUEST_SECONDS", 1e6)
    with serving(1) as client:
        body = head(client, "Content-Length: 100")
        with held(client, 200), held(client, 200, HALF), held(client, 200, body):
            assert client.send("GET", "/api/games")[0] == 200
            assert client.ask("/api/state", game="trilobite")["player"] == 1


def test_where_all_connections_are_at_work_one_more_is_told(monkeypatch):
    begun = threading.Semaphore(0)

    async def run(pool, job, request):
        begun.release()
        await asyncio.sleep(3600)
        yield {"answer": None}

    monkeypatch.setattr(WorkerPool, "run", run)
    monkeypatch.setattr(guard, "MAX_CONNECTIONS", 3)
    with serving(1) as client:
        body = json.dumps({"game": "trilobite"}).encode()
        with held(client, 3, head(client, f"Content-Length: {len(body)}").replace(b"read", b"state") + body):
            assert all(begun.acquire(timeout=60) for _ in range(3))
            answer = answer_to(client, head(client, "Content-Length: 0"))
            assert answer.startswith(b"HTTP/1.1 503")
        while client.send("GET", "/api/games")[0] != 200:  # until the server has seen them go
            time.sleep(0.01)


def test_a_request_that_does_not_come_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(guard, "REQUEST_SECONDS", 0.5)
    with serving(1) as client:
        assert answer_to(client, b"") == b""
        assert answer_to(client, HALF) == b""
        with socket.create_connection((LOOPBACK, client.port), timeout=60) as sock:
            trickle = (b"a" for _ in range(600))
            assert sent_until_closed(sock, HALF, trickle, 0.1), "one deadline, however it trickles in"


def test_a_request_in_two_pieces_is_answered(client):
    with socket.create_connection((LOOPBACK, client.port), timeout=60) as sock:
        whole = f"GET /api/games HTTP/1.1\r\nHost: {LOOPBACK}:{client.port}\r\n\r\n".encode()
        for _ in range(2):  # on one connection
            sock.sendall(whole[:9])
            time.sleep(0.05)
            sock.sendall(whole[9:])
            with sock.makefile("rb") as file:
                assert file.readline().split()[1] == b"200"
                told = dict(line.lower().split(b": ", 1) for line in iter(file.readline, b"\r\n"))
                file.read(int(told[b"content-length"]))


@pytest.mark.parametrize(
    "start", [(f"Content-Length: {ENDLESS}",), ("Transfer-Encoding: chunked",)], ids=["length", "chunked"]
)
def test_a_body_that_is_too_long_is_not_read(client, start):
    with socket.create_connection((LOOPBACK, client.port), timeout=60) as sock:
        assert sent_until_closed(sock, head(client, *start), itertools.repeat(PIECE, 1 << 10)), "64 MiB are not read"
    answer = answer_to(client, head(client, *start) + (b"" if "Length" in start[0] else 17 * PIECE))
    first, _, rest = answer.partition(b"\r\n")
    assert first.split()[1] == b"413"
    assert json.loads(rest.split(b"\r\n\r\n")[1]) == {"error": "expected at most 1,048,576 bytes, got more"}


def test_a_body_that_nobody_wants_is_not_read(client):
    for path in (b"/", b"/api/none", b"/api/game?game=trilobite"):
        asked = head(client, f"Content-Length: {ENDLESS}").replace(b"/api/read", path, 1)
        assert answer_to(client, asked).startswith(b"HTTP/1.1 4")
        assert answer_to(client, asked.replace(b"POST", b"GET", 1)).startswith(b"HTTP/1.1 ")
        chunked = head(client, "Transfer-Encoding: chunked").replace(b"POST /api/read", b"GET " + path, 1)
        assert answer_to(client, chunked + PIECE).startswith(b"HTTP/1.1 ")


def test_a_kept_connection_answers_at_once(client, monkeypatch):
    """No answer waits for the client to acknowledge the one before it."""
    told, made = [], guard.Connection.connection_made

    def connection_made(self, transport):
        told.append(transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        made(self, transport)

    monkeypatch.setattr(guard.Connection, "connection_made", connection_made)
    assert client.send("GET", "/api/games")[0] == 200
    assert told
    assert all(told)


@pytest.mark.parametrize("path", [b"/api/state", b"/api/analyse"])  # one answer, a stream of answers
def test_a_client_that_went_away_ends_its_job(client, monkeypatch, path):
    begun, ended = threading.Event(), threading.Event()

    async def run(pool, job, request):
        begun.set()
        try:
            await asyncio.sleep(3600)
            yield {"answer": None}
        finally:
            ended.set()

    monkeypatch.setattr(WorkerPool, "run", run)
    body = json.dumps({"game": "trilobite", "text": ""}).encode()
    with socket.create_connection((LOOPBACK, client.port), timeout=60) as sock:
        sock.sendall(head(client, f"Content-Length: {len(body)}").replace(b"/api/read", path, 1) + body)
        assert begun.wait(60)
        assert not ended.is_set()
    assert ended.wait(60)
