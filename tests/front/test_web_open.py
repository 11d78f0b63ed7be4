"""`leafwise web` open to a network: its token; and a thousand wrong requests."""

import http.client
import json
import random
import socket

import msgspec
import pytest
from front.web_server import LOOPBACK, serving

from leafwise.web import server
from leafwise.web.requests import JOBS

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
                told = json.loads(answer)["error"]
                assert told
                assert "\n" not in told
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
        with pytest.raises(ValueError, match=f"expected port {port} of {LOOPBACK} to be free to listen at, got: "):
            server.listening(LOOPBACK, port)
    with pytest.raises(ValueError, match=r"expected a port of 203\.0\.113\.1 to be free to listen at, got: "):
        server.listening("203.0.113.1", 0)


def test_only_loopback_needs_no_token():
    hosts = ("127.0.0.1", "localhost", "::1", "0.0.0.0", "192.168.1.2", "myhost", "::")
    assert [host for host in hosts if server.is_loopback(host)] == ["127.0.0.1", "localhost", "::1"]


def test_a_server_is_called_by_its_address_and_a_phone_finds_it_in_a_code():
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
    for words, told in (
        (("--port", "65536"), "expected --port of 0 to 65,535, got 65536"),
        (("--workers", "99"), "expected --workers of 0 to 64, got 99"),
        (("--phone", "--host", "::1"), "expected --phone or --host, got both"),
        (("--runs", "none/there"), "expected a folder with --runs, got 'none/there'"),
    ):
        assert shell("web --no-open", *words).refusal == f"error: {told}"
