"""Models of the Hugging Face Hub: fetched by its own library from a stand-in on this machine, and what is refused."""

from __future__ import annotations

import hashlib
import http.server
import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from games.refusals import one_line
from leafwise.models import files
from leafwise.models.files import model_path
from leafwise.models.tensors import WEIGHTS, load_tensors, save_tensors
from leafwise.models.units import UNITS, shipped_units

COMMITS = {"main": "a" * 40, "v1": "b" * 40}
LOAD = """
import json, sys
import leafwise

game, answers = leafwise.game("trilobite"), {}
for text in sys.argv[1:]:
    try:
        if text.startswith("hf://"):
            answers[text] = leafwise.load(text).name
        else:
            answers[text] = leafwise.player(text, game).choose(game.start())
    except ValueError as problem:
        answers[text] = str(problem)
print(json.dumps(answers))
"""


@dataclass
class StandIn:
    """A Hub with files at (repository, revision, file); it answers /REPOSITORY/resolve/REVISION/FILE as the Hub does."""

    files: dict[tuple[str, str, str], bytes]
    cache: Path
    endpoint: str = ""
    asked: list[str] = field(default_factory=list)

    def error(self, repository: str, revision: str) -> tuple[int, str]:
        """Returns status and code of what is not there; an unknown repository might be a private one."""
        if repository == "them/gated":
            return 403, "GatedRepo"
        if not any(known == repository for known, _, _ in self.files):
            return 401, "RepoNotFound"
        return 404, "EntryNotFound" if revision in COMMITS else "RevisionNotFound"

    def python(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Runs Python with this Hub and an empty cache of its own, nothing compiled."""
        own = {"HF_ENDPOINT": self.endpoint, "HF_HOME": str(self.cache), "HF_HUB_DISABLE_XET": "1"}
        there = {**os.environ, **own, "NUMBA_DISABLE_JIT": "1", **more}
        return subprocess.run([sys.executable, *arguments], env=there, capture_output=True, text=True)

    def answers(self, *texts: str, **more: str) -> dict[str, Any]:
        """Returns, for each source or player's text, the leaf's name, the move chosen at the start, or the message of a refusal."""
        done = self.python("-c", LOAD, *texts, **more)
        assert done.returncode == 0, done.stderr
        answers: dict[str, Any] = json.loads(done.stdout)
        return answers


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandIn]:
    folder = tmp_path_factory.mktemp("hub")
    tensors, metadata = load_tensors(WEIGHTS / "trilobite.safetensors")
    save_tensors(folder / "a", tensors, {**metadata, UNITS: shipped_units()["trilobite.safetensors"]})
    good = (folder / "a").read_bytes()
    changed = bytearray(good)
    changed[-3] ^= 4
    there = StandIn(
        {
            ("them/small.net", "main", "model.safetensors"): good,
            ("them/small.net", "v1", "model.safetensors"): good,
            ("them/small.net", "main", "more/other.safetensors"): good,
            ("them/changed", "main", "model.safetensors"): bytes(changed),
            ("them/pickled", "main", "model.safetensors"): pickle.dumps({"weights": [1.0] * 100}),
            ("them/pickled", "main", "model.pt"): pickle.dumps(1),
        },
        folder / "cache",
    )

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            there.asked.append(f"{self.command} {self.path}")
            repository, _, rest = self.path[1:].partition("/resolve/")
            revision, _, name = rest.partition("/")
            named = {commit: known for known, commit in COMMITS.items()}.get(revision, revision)
            content = there.files.get((repository, named, name))
            if content is None:
                status, code = there.error(repository, named)
                headers = {"X-Error-Code": code}
            else:
                digest = hashlib.sha256(content).hexdigest()
                status, headers = 200, {"X-Repo-Commit": COMMITS[named], "ETag": f'"{digest}"'}
            self.send_response(status)
            for header, text in {**headers, "Content-Length": str(len(content or b""))}.items():
                self.send_header(header, text)
            self.end_headers()
            if self.command == "GET" and content is not None:
                self.wfile.write(content)

        do_GET = do_HEAD  # noqa: N815

        def log_message(self, *words: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    there.endpoint = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield there
    server.shutdown()
    thread.join()
    server.server_close()


def test_models_of_the_hub_are_leaves_and_players(stand_in: StandIn) -> None:
    players = [f"{kind}:hf://them/small.net@v1" + rest for kind, rest in (("search", ",depth=2"), ("greedy", ""))]
    sources = ["hf://them/small.net", "hf://them/small.net/more/other.safetensors"]
    answers = stand_in.answers(*sources, *players, "search:learned,depth=2", "greedy:learned")
    assert [answers[source] for source in sources] == sources
    assert [answers[player] for player in players] == [answers["search:learned,depth=2"], answers["greedy:learned"]]
    heads = [line for line in stand_in.asked if line.startswith("HEAD")]
    assert len(heads) == len(set(heads)) == 3  # once in a process

    asked = ["analyze", "trilobite", "--moves", "22", "--depth", "1", "--json", "--leaf"]
    done = stand_in.python("-m", "leafwise", *asked, sources[0])
    about = json.loads(done.stdout)
    assert (about["leaf"], about["unit"]) == (sources[0], "chance to win, a draw counting half")

    away = stand_in.answers(*sources, "hf://them/unseen", HF_HUB_OFFLINE="1")
    assert [away[source] for source in sources] == sources
    neither = "hf://them/unseen: expected an answer of the Hub, or the file in the cache, got neither (offline?): "
    assert away["hf://them/unseen"].startswith(neither)
    assert "offline mode is enabled" in away["hf://them/unseen"]
    dead = stand_in.answers(
        sources[0], HF_ENDPOINT="http://127.0.0.1:9"
    )  # where the library asks five times for what it has not
    assert dead[sources[0]] == sources[0]


def test_what_is_not_there_or_no_model_is_one_line(stand_in: StandIn) -> None:
    wrong = {
        "hf://them/nothing": "expected a repository of the Hub (`hf auth login` for a private one), got 'them/nothing'",
        "hf://them/gated": "expected access to them/gated, got none: request it on the page of the repository",
        "hf://them/small.net@v9": "expected a branch, tag or commit of them/small.net, got 'v9'",
        "hf://them/small.net@v1/x.safetensors": "expected a file 'x.safetensors' in that repository, found none",
        "hf://them/changed": "has changed since it was written: expected SHA-256",
        "hf://them/pickled": "expected a leafwise .safetensors file, got",
        "greedy:hf://them/nothing": "expected a repository of the Hub",
    }
    answers = stand_in.answers(*wrong)
    for source, message in wrong.items():
        assert message in answers[source], (source, answers[source])
        assert "\n" not in answers[source]
    done = stand_in.python("-m", "leafwise", "eval", "trilobite", "search:hf://them/nothing,depth=2", "--games", "2")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: hf://them/nothing: expected a repository of the Hub")
    assert done.stderr.count("\n") == 1


NAMED = r"^expected hf://OWNER/NAME, optionally with @REVISION and /FILE\.safetensors, got '"
PICKLED = r"expected a \.safetensors file \(loading others may run code\), got 'model\.pt'$"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("them/pickled/model.pt", PICKLED),
        *((source, NAMED) for source in ("them", "them/../x.safetensors", "them/net/../x.safetensors", "them/net@")),
    ],
)
def test_what_names_no_model_is_refused_before_anybody_is_asked(source: str, message: str) -> None:
    with one_line(message):
        model_path(f"hf://{source}")


def test_without_the_extra_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with one_line(r"^expected huggingface_hub for 'hf://a/b', found none: pip install 'leafwise\[hub\]'$"):
        files.hub_file("hf://a/b")
