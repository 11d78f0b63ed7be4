"""Every command of a page or card that is not of an older commit is one that its parser takes."""

from __future__ import annotations

import re
import runpy
import shlex
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tyro

from leafwise.__main__ import command_names, run
from leafwise.envs import registry

ROOT = Path(__file__).resolve().parents[2]
OLDER = re.compile(r"\bas of commit\b")
"""Marks a command that belongs to an older commit: in its line, in the line before its block, or in the head of its table."""
COMMAND = re.compile(rf"(python -m leafwise\.|leafwise ({'|'.join(command_names())})\b)")
VALUES = {"N": "3", "D": "2", "GAME": "trilobite", "METHOD": "dqn"}
"""What stands for a page's placeholders where a parser reads them."""


class Parsed(BaseException):
    """Ends a command whose words were understood."""


def blocks(page: str) -> Iterator[tuple[str, str]]:
    """Yields the paragraphs, lists, tables and blocks of code of a page, each with the one before it."""
    before = ""
    for block in re.split(r"\n\s*\n", page):
        yield block, before
        before = block


def commands(page: str) -> Iterator[str]:
    """Yields the commands of a page that are not of an older commit."""
    for block, before in blocks(page):
        code = block.startswith(("    ", "```", "|"))
        if code and OLDER.search(before.rpartition("\n")[2] + block.partition("\n")[0]):
            continue
        if block.startswith(("    ", "```")):
            lines = [re.split(r"\s{3,}", line.strip())[0] for line in re.sub(r"\s*\\\n\s*", " ", block).splitlines()]
            yield from (" ".join(line.split()) for line in lines if COMMAND.match(line))
            continue
        for span in re.finditer(r"`([^`]+)`", block):
            text = " ".join(span[1].split())
            line = block[: span.end()].rpartition("\n")[2] + block[span.end() :].partition("\n")[0]
            if COMMAND.match(text) and len(text.split()) > 2 and not OLDER.search(line):  # else it names a command
                yield text


def game_beside(page: str) -> str | None:
    """Returns the game that a page of a plug-in's folder is about."""
    if page.startswith("src/leafwise/template/"):
        return "leafwise.template"
    beside = (ROOT / page).parent
    return next(
        (
            str(path.parent)
            for path in (*beside.glob("leafwise_*/__init__.py"), *beside.parent.glob("leafwise_*/__init__.py"))
        ),
        None,
    )


def run_module(name: str) -> None:
    """Runs a module as `python -m` does."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*found in sys.modules", RuntimeWarning)
        runpy.run_module(name, run_name="__main__", alter_sys=True)


def pages() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [name for name in listed.splitlines() if (ROOT / name).exists()]


GIVEN = sorted({(name, text) for name in pages() for text in commands((ROOT / name).read_text(encoding="utf-8"))})


@pytest.mark.parametrize(("page", "command"), GIVEN)
def test_a_command_is_understood(page: str, command: str, monkeypatch, tmp_path: Path) -> None:
    program, *words = [VALUES.get(word, word) for word in shlex.split(command)]
    understand = tyro.cli

    def stop(*given: Any, **options: Any) -> None:
        understand(*given, **options)
        raise Parsed

    monkeypatch.setattr(registry, "_added", dict(registry._added))
    monkeypatch.setenv(registry.INHERITED, "{}")
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    if (module := game_beside(page)) is not None:
        registry.add_module(module)
    monkeypatch.setattr(tyro, "cli", stop)
    monkeypatch.chdir(tmp_path)
    Path("game.txt").write_text('[Game "threes"]\n', encoding="utf-8")  # says which game's options are meant
    Path("net.py").write_text(
        "from torch import nn\n\n\nclass Net(nn.Module): ...\n", encoding="utf-8"
    )  # what pages call a module
    monkeypatch.delitem(sys.modules, "net", raising=False)
    monkeypatch.setattr(sys, "argv", words[1:])
    status: Any
    try:
        if program == "leafwise":
            status = run(words)
        else:
            run_module(words[1])
            status = None
    except Parsed:
        return
    except SystemExit as ended:
        status = ended.code
    assert "--help" in words  # and what was asked for was said
    assert status == 0


def test_the_test_sees_commands_and_marks() -> None:
    page = """
It was, as of commit 1: `leafwise play x`.
Run `leafwise eval threes random --games N`, not `leafwise eval`.

    leafwise games                   what there is
    python -m leafwise.a.b --c 1 \\
      --d 2

The runs, as of commit 12:

    leafwise train threes --moves 5

| as of commit 12 |
| `leafwise train threes` |
"""
    assert list(commands(page)) == [
        "leafwise eval threes random --games N", "leafwise games", "python -m leafwise.a.b --c 1 --d 2",
    ]  # fmt: skip


def test_every_card_gives_one_command_of_today() -> None:
    for card in sorted((ROOT / "models/weights").glob("*.md")):
        text = card.read_text(encoding="utf-8")
        assert len(re.findall(r"as of commit [0-9a-f]{8}", text)) >= 2, card
        (train,) = [words for words in commands(text) if " train " in words or "leafwise.training" in words]
        assert train.startswith("leafwise train "), card
        assert (f"models/weights/{card.name}", train) in GIVEN
