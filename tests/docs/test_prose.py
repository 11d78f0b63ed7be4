"""Prose: no sentence of a page has more than 30 words, the README is short, words that were replaced stay away."""

from __future__ import annotations

import ast
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST = 30
"""Words of a sentence."""
REPLACED = re.compile(
    r"\b[Gg]ames? for (?:one|two)\b(?! or\b)|"
    r"\b(?:by which|by heart|gone on with|in earnest|no part of|of one's own|of ours|what there is not|yardsticks?)\b|"
    r"`(?:Asking|Desk|Dock|GameAsk|Interruption|Lane|Patience|SURELY|SolveAsk|Statement|Watch|Yard|_crew|is_needed|leafless|"
    r"thinkers|toll)\b"
)
"""Phrases of which a reader needs two looks, and names that have become others."""
NEVER_SENTENCES = re.compile(
    r"(^---\n.*?\n---\n|^(```|~~~).*?\n\2|^<(svg|style)\b.*?</\3>|<!--.*?-->)", re.DOTALL | re.MULTILINE
)
"""The head of a card, blocks of code, pictures, comments."""
NOT_PROSE = re.compile(r"(    |\t|\||#|!!! |::: |\[[^]]+\]: |<)")
"""Begins a line of code, a row of a table, a heading, the address of a link."""
EXPLAINED = re.compile(r"terms\.md#leaf|\bleaf\.md|leaf\*")
"""A link to the term leaf, or the word where it is explained."""
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


def tracked(*patterns: str) -> list[str]:
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [name for name in listed.splitlines() if (ROOT / name).exists()]


def first_lines(module: str) -> Iterator[str]:
    """Yields the first lines of a module's docstrings."""
    for node in ast.walk(ast.parse((ROOT / module).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
            yield text.partition("\n")[0]


def pages() -> dict[str, str]:
    """Returns the text of every page, and of the words of every notebook."""
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in tracked("*.md", "*.ipynb")}
    for name in texts:
        if name.endswith(".ipynb"):
            cells = json.loads(texts[name])["cells"]
            texts[name] = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return texts


PAGES = pages()


@pytest.mark.parametrize("page", sorted(PAGES))
def test_no_sentence_is_long(page: str) -> None:
    assert [(words(one), one) for one in sentences(PAGES[page]) if words(one) > MOST] == []


def test_the_readme_is_short() -> None:
    assert sum(map(words, sentences(PAGES["README.md"]))) <= 700


@pytest.mark.parametrize("page", sorted(PAGES))
def test_a_page_has_no_word_that_was_replaced(page: str) -> None:
    assert [(found[0], one) for one in sentences(PAGES[page]) if (found := REPLACED.search(one))] == []


@pytest.mark.parametrize("page", sorted(PAGES))
def test_a_page_that_says_leaf_explains_it(page: str) -> None:
    """It links the term, or has *leaf* in the sentence that explains it."""
    text = re.sub(r"`[^`]*`|\]\([^)]*\)|^    .*$", "", NEVER_SENTENCES.sub("", PAGES[page]), flags=re.MULTILINE)
    unlinked = page in ("CHANGELOG.md", "docs/moved.md", "docs/terms.md")
    assert unlinked or not re.search(r"\bleaf\b", text, re.IGNORECASE) or EXPLAINED.search(PAGES[page])


def test_no_docstring_begins_with_a_word_that_was_replaced() -> None:
    lines = [(name, line) for name in tracked("*.py") for line in first_lines(name)]
    assert len(lines) > 5000
    assert [(found[0], name, line) for name, line in lines if (found := REPLACED.search(line))] == []


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
    assert REPLACED.search("In games for two the `Desk` waits.")
    assert not REPLACED.search("Two desks, a game for one or two: a statement.")
