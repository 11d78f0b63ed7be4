"""What a client can do to `leafwise web` by connections alone: idle ones, parts of requests, endless bodies, dropped calls."""

import asyncio
import contextlib
import http.client
import itertools
import json
import random
import socket
import threading
import time

import msgspec
import pytest
from front.console import shows
from front.web_server import LOOPBACK, serving

from leafwise.models.players import KINDS
from leafwise.web import guard, server
from leafwise.web.requests import JOBS
from leafwise.web.workers import WorkerPool

HALF = b"POST /api/state HTTP/1.1\r\nHost: a"
ENDLESS = 1 << 40
PIECE = b"10000\r\n" + b"x" * (1 << 16) + b"\r\n"
"""Of a chunked body."""


@pytest.fixture(scope="module")
def client():
    with serving(1) as client:
        yield client


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


def test_connections_that_wait_lock_nobody_out_and_a_request_that_does_not_come_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(guard, "REQUEST_SECONDS", 1e6)
    with serving(1) as client:
        body = head(client, "Content-Length: 100")
        with held(client, 200), held(client, 200, HALF), held(client, 200, body):
            assert client.send("GET", "/api/games")[0] == 200
            assert client.ask("/api/state", game="trilobite")["player"] == 1
    monkeypatch.setattr(guard, "REQUEST_SECONDS", 0.5)
    with serving(1) as client:
        assert answer_to(client, b"") == b""
        assert answer_to(client, HALF) == b""
        with socket.create_connection((LOOPBACK, client.port), timeout=60) as sock:
            trickle = (b"a" for _ in range(600))
            assert sent_until_closed(sock, HALF, trickle, 0.1), "one deadline, however it trickles in"


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


def test_a_request_in_two_pieces_is_answered_and_a_kept_connection_answers_at_once(client, monkeypatch):
    with socket.create_connection((LOOPBACK, client.port), timeout=60) as sock:
        whole = f"GET /api/games HTTP/1.1\r\nHost: {LOOPBACK}:{client.port}\r\n\r\n".encode()
        for _ in range(2):  # on one connection
            sock.sendall(whole[:9])
            time.sleep(0.05)
            sock.sendall(whole[9:])
            with sock.makefile("rb") as file:
                assert file.readline().split()[1] == b"200"
                headers = dict(line.lower().split(b": ", 1) for line in iter(file.readline, b"\r\n"))
                file.read(int(headers[b"content-length"]))
    # No answer waits for the client to acknowledge the one before it.
    options, made = [], guard.Connection.connection_made

    def connection_made(self, transport):
        options.append(transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        made(self, transport)

    monkeypatch.setattr(guard.Connection, "connection_made", connection_made)
    assert client.send("GET", "/api/games")[0] == 200
    assert options
    assert all(options)


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
        request = head(client, f"Content-Length: {ENDLESS}").replace(b"/api/read", path, 1)
        assert answer_to(client, request).startswith(b"HTTP/1.1 4")
        assert answer_to(client, request.replace(b"POST", b"GET", 1)).startswith(b"HTTP/1.1 ")
        chunked = head(client, "Transfer-Encoding: chunked").replace(b"POST /api/read", b"GET " + path, 1)
        assert answer_to(client, chunked + PIECE).startswith(b"HTTP/1.1 ")


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


# `leafwise web` open to a network: its token; and a thousand wrong requests


TOKEN = "0123456789abcdef"
NO_HTTP = (
    b"\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"\xff" * 2000 + b"\r\n\r\n",
    b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
)


def test_a_token_is_asked_for_once():
    with serving(1, TOKEN) as client:
        for path in ("/", "/api/games", "/api/games?token=wrong", "/app.js?token="):
            status, _, body = client.send("GET", path)
            assert (status, json.loads(body)["error"][:29]) == (401, "expected the address with its")
        connection = http.client.HTTPConnection(LOOPBACK, client.port)
        connection.request("GET", f"/?token={TOKEN}")
        answer = connection.getresponse()
        cookie = answer.getheader("set-cookie", "")
        assert answer.status == 200
        shows(cookie, "HttpOnly", "SameSite=Strict")
        connection.close()
        assert client.send("GET", "/api/games", headers={"Cookie": cookie.split(";")[0]})[0] == 200
        assert client.send("GET", "/api/games", headers={"Cookie": "leafwise_token=x"})[0] == 401


def garbled(rng, kind):
    """Returns a request that is wrong somewhere: method, path, body."""
    text = "x" * rng.randrange(1, 300)
    values = [None, True, -1, 0, 1e308, "", text, [], ["1"] * 3, {}, {"a": 1}, "\0", "é" * 20, 2**70, [[[]]]]
    fields = [field.name for field in msgspec.structs.fields(kind)]
    ask = {rng.choice([*fields, "other"]): rng.choice(values) for _ in range(rng.randrange(4))}
    if rng.random() < 0.6:
        ask.setdefault("game", rng.choice(["trilobite", "cassis", "Trilobite", "threes ", "../x", "__init__"]))
    body = json.dumps(ask).encode()
    if rng.random() < 0.3:
        at = rng.randrange(len(body) + 1)
        body = body[:at] + bytes(rng.randrange(256) for _ in range(rng.randrange(1, 6))) + body[at + rng.randrange(3) :]
    return rng.choice(["POST", "POST", "POST", "GET", "PUT", "DELETE", "HEAD"]), body


@pytest.mark.parametrize("count", [100, pytest.param(1000, marks=pytest.mark.long)])
def test_wrong_requests_are_answered_in_a_line_each(capfd, count):
    rng = random.Random(28)
    paths = [*JOBS, "/api/none", "/api/games/x", "/%00", "/api/state/../game"]
    with serving(2) as client:
        for _ in range(count):
            path = rng.choice(paths)
            method, body = garbled(rng, JOBS.get(path, JOBS["/api/state"]).request)
            if method == "GET" and rng.random() < 0.8:
                path += "?" + body.decode("latin-1").translate(dict.fromkeys([*range(33), *range(127, 256)], "+"))
            status, kind, answer = client.send(method, path, body)
            if kind.startswith("text/event-stream"):
                answer = answer.decode().strip().split("data: ")[-1].encode()
                assert b"Traceback" not in answer
            elif method != "HEAD" and status != 200:
                message = json.loads(answer)["error"]
                assert message
                assert "\n" not in message
            assert status in (200, 400, 403, 404, 405), (method, path, body, answer)
        for raw in NO_HTTP:
            with socket.create_connection((LOOPBACK, client.port), timeout=30) as sock:
                sock.sendall(raw)
                assert b"200" not in sock.recv(100)[:15]
        assert client.ask("/api/state", game="trilobite")["player"] == 1, "it goes on after all that"
    captured = capfd.readouterr()
    assert "Traceback" not in captured.err + captured.out


def test_an_address_that_is_taken_is_one_line():
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ValueError, match=f"expected a free address to listen on, got port {port} of {LOOPBACK}: "):
            server.listening(LOOPBACK, port)
    with pytest.raises(ValueError, match=r"expected a free address to listen on, got a port of 203\.0\.113\.1: "):
        server.listening("203.0.113.1", 0)


def test_a_server_is_called_by_its_address_and_a_phone_finds_it_in_a_code():
    hosts = ("127.0.0.1", "localhost", "::1", "0.0.0.0", "192.168.1.2", "myhost", "::")
    assert [host for host in hosts if server.is_loopback(host)] == ["127.0.0.1", "localhost", "::1"]  # without a token
    assert server.names_of(LOOPBACK, 80) == {"127.0.0.1:80", "localhost:80", "[::1]:80"}
    assert server.names_of("192.168.1.2", 80) == {"192.168.1.2:80"}
    assert f"{server.network_address()}:80" in server.names_of("0.0.0.0", 80)
    lines = server.qr_code("http://192.168.1.2:8340/?token=x").splitlines()
    assert len(lines) > 10
    assert len({len(line) for line in lines if line}) == 1


def test_a_server_ends_while_it_answers(capfd):
    with serving(1) as client:
        connection = http.client.HTTPConnection(LOOPBACK, client.port, timeout=60)
        ask = {"game": "trilobite", "text": ".../.../...", "leaf": "lines", "seconds": 60}
        connection.request("POST", "/api/analyse", json.dumps(ask))
        answer = connection.getresponse()
        while b"answer" not in answer.readline():
            pass
    assert b"event: error" in answer.read(), "the stream is told, and closed"
    answer.close()
    connection.close()
    captured = capfd.readouterr()
    assert captured.err + captured.out == ""


def test_wrong_options_are_one_line(shell):
    for words, message in (
        (("--port", "65536"), "expected --port of 0 to 65,535, got 65536"),
        (("--workers", "99"), "expected --workers of 0 to 64, got 99"),
        (("--phone", "--host", "::1"), "expected --phone or --host, got both"),
        (("--runs", "none/there"), "expected a folder with --runs, got 'none/there'"),
        (
            ("--player", "mine=nosuch"),
            f"expected a player that begins with {', '.join(KINDS)} or a game's own, got 'nosuch'",
        ),
    ):
        assert shell("web --no-open", *words).refusal == f"error: {message}"
