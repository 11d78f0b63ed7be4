"""Prose of pages: no sentence has more than 30 words, the README is short."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST = 30
"""Words of a sentence."""
LATER = {"CHANGELOG.md", "docs/howto/learners.md", "docs/howto/web.md", "examples/backgammon/README.md"}
"""Pages whose sentences nobody has shortened."""
NEVER_SENTENCES = re.compile(
    r"^(---\n.*?\n---\n|(```|~~~).*?\n\2|<(svg|style)\b.*?</\3>|<!--.*?-->)", re.DOTALL | re.MULTILINE
)
"""The head of a card, blocks of code, pictures, comments."""
NOT_PROSE = re.compile(r"(    |\t|\||#|!!! |::: |\[[^]]+\]: |<)")
"""Begins a line of code, a row of a table, a heading, the address of a link."""
ITEM = re.compile(r"(>\s*|[-*+] |\d+\. )+")
END = re.compile(r"(?<=[.!?])(?<!\b[a-z]\.)(?<!\bal\.)(?<!\bvs\.)[\"')\]*]*\s+(?=[\"'(*\[]*[A-Z0-9`])")


def sentences(page: str) -> Iterator[str]:
    """Yields the sentences of a page of Markdown: a name in code is a word, names in a row are one."""
    page = NEVER_SENTENCES.sub("", page)
    page = re.sub(r"!?\[((?:[^][]|\[[^]]*\])*)\](\([^)]*\)|\[[^]]*\])", r"\1", page)
    paragraph = ""
    in_list = False
    for line in [*page.splitlines(), ""]:
        text = line.strip()
        item = ITEM.match(text)
        code = NOT_PROSE.match(line if not in_list else text)
        if item or code or not text:
            yield from (part for part in END.split(paragraph) if part)
            paragraph = ""
        if text:
            in_list = bool(item) or (in_list and line.startswith("  "))
        if text and not code:
            paragraph += f"{text[item.end() if item else 0 :]} "


def words(sentence: str) -> int:
    names = re.sub(r"`+[^`]+`+", "Name", sentence)
    names = re.sub(r"(\d+ )?\bName(?:(?:,? (?:and|or) |, (?:\.\.\., )?| )(?:\d+ )?Name\b)+", "Name", names)
    return sum(any(letter.isalnum() for letter in word) for word in names.split())


def pages() -> dict[str, str]:
    """Returns the text of every page, and of the words of every notebook."""
    listed = subprocess.run(
        ["git", "ls-files", "*.md", "*.ipynb"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in listed.splitlines() if (ROOT / name).exists()}
    for name in texts:
        if name.endswith(".ipynb"):
            cells = json.loads(texts[name])["cells"]
            texts[name] = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return texts


PAGES = pages()


@pytest.mark.parametrize("page", sorted(PAGES.keys() - LATER))
def test_no_sentence_is_long(page: str) -> None:
    assert [(words(one), one) for one in sentences(PAGES[page]) if words(one) > MOST] == []


def test_the_readme_is_short() -> None:
    assert sum(map(words, sentences(PAGES["README.md"]))) <= 700


def test_the_test_sees_sentences() -> None:
    page = """# A heading. No sentence

One of [four](https://host/a.b) words. `A`, `b` and `c` are
names, i.e. code (see al. et). "Third" here.

    no sentence. None

- first item. Second
  goes on
- third; `1. x` ends

| a cell. Two |
"""
    assert [words(one) for one in sentences(page)] == [4, 8, 2, 2, 3, 3]
