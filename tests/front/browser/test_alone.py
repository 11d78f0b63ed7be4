"""Pages without a server in a browser: searches that stop, downloads that break, a game of a file, the foot."""

from __future__ import annotations

import functools
import http.server
import importlib.util
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import leafwise
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.play.gamefile import GameRecorder
from leafwise.web.games import read_file
from leafwise.web.requests import FileRequest
from leafwise.web.workers import JobContext

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="needs ziglang, of the extra export"),
]
ASK = """async ({ build, stop, game = "trilobite", options = {} }) => {
  const { answers } = await import(`./${build}/alone/who.js`);
  const ending = new AbortController(), searched = [];
  let stopped;
  try {
    const question = { game, options, text: "", seconds: 1000 };
    for await (const { event, data } of answers("api/analyse", question, ending.signal)) {
      if (event === "answer") searched.push([data.depth, data.action_values]);
      if (searched.length === stop) { stopped = performance.now(); ending.abort(); }
    }
  } catch (problem) {
    if (problem.name !== "AbortError") throw problem;
  }
  console.log(`ended ${performance.now() - stopped} ms after stop`);
  return searched;
}"""
"""Stops an endless analysis at its answer number `stop`, in the middle of the depth after it; returns the answers."""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, str]]:
    """The address of an export under a plain file server, and the name of its build."""
    (build,) = [path.name for path in folder.iterdir() if len(path.name) == 16]
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/", build
        server.shutdown()


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[tuple[str, str]]:
    with served(folder) as address:
        yield address


@pytest.fixture
def page(browser: Browser, site: tuple[str, str]) -> Iterator[Page]:
    with browser.new_context(service_workers="block") as context:
        yield context.new_page()


def test_a_stopped_search_ends_its_thread_and_the_next_finds_the_same(page: Page, site: tuple[str, str]) -> None:
    page.goto(site[0])
    request = {"build": site[1], "stop": 8, "options": {"board": "7x6", "k": 4}}
    first = page.evaluate(ASK, request)
    assert [depth for depth, _ in first[:8]] == [*range(1, 9)]
    while page.workers:  # for ever if the thread goes on
        page.wait_for_timeout(50)
    assert page.evaluate(ASK, request)[:8] == first[:8]


def test_a_broken_download_comes_again(page: Page, site: tuple[str, str]) -> None:
    broken: list[str] = []

    def damage(route: Route) -> None:
        if len(broken) < 2:
            broken.append(route.request.url)
            route.fulfill(body=b"damaged")
        else:
            route.continue_()

    page.route("**/data/*.wasm", damage)
    page.goto(site[0])
    assert len(page.evaluate(ASK, {"build": site[1], "stop": 1})) == 1
    assert len(broken) == 2


def test_the_foot_links_notice(page: Page, site: tuple[str, str]) -> None:
    page.goto(site[0])
    page.get_by_role("link", name="Games, people and programs").click()
    assert "Howard Wexler" in page.inner_text("body")


def test_game_files_are_read_as_python_reads_them(page: Page, site: tuple[str, str]) -> None:
    games = [leafwise.game("trilobite"), leafwise.game("trilobite", board="7x6", k=4)]
    first, second = (GameRecorder(game.start(), ["one", "two"], 7, "words") for game in games)
    for recorder in (first, second):
        recorder.play_out(lambda state: state.legal_actions[-1], new_stream(1))
    file = f"{first.record()}\n{second.record()}"
    page.goto(site[0])
    read = """async ([build, file]) => {
      const { answers } = await import(`./${build}/alone/who.js`);
      try {
        for await (const { data } of answers("api/read", { file })) return data;
      } catch (problem) {
        return problem.message;
      }
    }"""
    answer = page.evaluate(read, [site[1], file])
    assert answer == read_file(FileRequest(file=file), JobContext(lambda message: None))
    for wrong, line in (("1. ", 6), ("[Result", 4), ("[Game", 1)):
        answer = page.evaluate(read, [site[1], file.replace(wrong, "7. " if wrong == "1. " else "[Nobody", 1)])
        assert answer.startswith(f"game, line {line}: expected "), answer


def test_a_game_of_a_file_needs_no_javascript(page: Page, site: tuple[str, str], folder: Path) -> None:
    assert "pig: drawn by 2 cells, as in Python on 200 positions" in folder.with_suffix(".txt").read_text(
        encoding="utf-8"
    )

    def worth(total: int, rolls: int) -> float:
        """What a turn is worth, by the rules in examples/pig."""
        if rolls == 5:
            return total
        return max(total, sum(worth(total + pips, rolls + 1) for pips in range(2, 7)) / 6)

    page.goto(f"{site[0]}#/play/pig")
    page.get_by_role("button", name="roll").click()
    page.locator(".picture", has_text="after 1 rolls").wait_for()
    assert page.locator(".luck strong").inner_text() in "123456"
    answers = page.evaluate(ASK, {"build": site[1], "stop": 0, "game": "pig"})
    assert answers[-1][1] == pytest.approx({"roll": worth(0, 0), "stop": 0}, rel=0, abs=1e-12)


def test_a_position_that_cannot_be_read_is_shared_by_its_moves(page: Page, site: tuple[str, str]) -> None:
    page.goto(f"{site[0]}#/analyse/game2048")
    page.locator("#values td.best").first.wait_for()
    page.reload()  # with what chance did at the start, by name
    page.locator("#values td.best").first.wait_for()
    assert page.locator("#problem").is_hidden()
    page.get_by_role("link", name="Play from here").click()
    page.get_by_role("button", name="Hint", exact=True).click()
    page.locator(".hints li").first.wait_for()
