"""Every public name has an example on a page of reference, which prints what the page shows.

The examples run in this process, each as a script in a folder of its own: what one of them compiles or loads serves the others.
"""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path
from typing import NamedTuple

import gymnasium as gym
import pytest

from leafwise.envs import registry
from leafwise.models import network

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("api", "search")
ENTRY = re.compile(r"^::: (leafwise[\w.]+)\n((?: {4}.*\n)*)", re.MULTILINE)
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)
ANY_LINES = "...\n"
"""Stands in what a page shows for lines that differ from run to run."""
NO_EXAMPLE = ("SearchOptions", "MctsOptions")
"""Lists of what `Search` and `Mcts` take."""
NEEDS = {"torch": "torch", "sb3": "sb3_contrib", "openspiel": "pyspiel", ".aec": "pettingzoo"}
"""Words of an example -> the module that it needs."""


class Example(NamedTuple):
    """A block of Python on a page, and what is shown below it."""

    code: str
    shown: str


def examples(page: str) -> dict[str, list[Example]]:
    """Returns the examples of a page by the entry above them, "" for those above all entries."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    starts = [*ENTRY.finditer(text)]
    names, cuts = ["", *(entry[1] for entry in starts)], [0, *(entry.start() for entry in starts), len(text)]
    return {
        name: [Example(code, shown) for code, shown in BLOCK.findall(text[begin:end])]
        for name, begin, end in zip(names, cuts[:-1], cuts[1:], strict=True)
    }


ALL = {page: examples(page) for page in PAGES}
NAMES = [name for page in ALL.values() for name in page if name and not name.endswith(NO_EXAMPLE)]


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_has_one_short_example_that_uses_it(name: str) -> None:
    (found,) = [page[name] for page in ALL.values() if name in page]
    assert len(found) == 1
    assert re.search(rf"\b{name.rpartition('.')[2]}\b", found[0].code)
    assert found[0].code.count("\n") <= (60 if name == "leafwise.authoring.Game" else 36)
    assert found[0].shown


@pytest.mark.parametrize(
    "example",
    [pytest.param(one, id=name or page) for page in PAGES for name, found in ALL[page].items() for one in found],
)
def test_an_example_prints_what_the_page_shows(
    example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for word, module in NEEDS.items():
        if word in example.code:
            pytest.importorskip(module)
    # What an example registers, and where it looks for modules, goes with it.
    monkeypatch.setattr(registry, "_added", {})
    monkeypatch.setenv(registry.INHERITED, "{}")
    monkeypatch.setattr(gym.envs.registration, "registry", dict(gym.registry))
    monkeypatch.setattr(network, "_classes", dict(network._classes))
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "example.py"
    script.write_text(example.code, encoding="utf-8")
    runpy.run_path(str(script), run_name="__main__")
    pattern = re.escape(example.shown).replace(re.escape(ANY_LINES), "(?:.*\n)*")
    printed = "".join(f"{line.rstrip()}\n" for line in capsys.readouterr().out.splitlines())
    assert re.fullmatch(pattern, printed), printed
