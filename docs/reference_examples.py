"""Examples of reference pages: below an entry in Markdown, in the entry itself on the site.

A page has `::: leafwise.NAME`, and below it a block of Python with its output. On the site the members of a class follow its name.
The example belongs before these. So a hook takes it from the page, and this extension of griffe puts it into the docstring.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import griffe

PAGES = Path(__file__).parent
ENTRY = re.compile(
    r"^(::: (leafwise[\w.]+)\n(?: {4}[^\n]*\n)*)\n(```python\n.*?```\n(?:\n```text\n.*?```\n)?)",
    re.MULTILINE | re.DOTALL,
)
"""An entry with its options, its name, and its example."""


def without_examples(markdown: str) -> str:
    """Returns a page without the examples below its entries."""
    return ENTRY.sub(r"\1", markdown)


class Examples(griffe.Extension):
    """Ends the docstring of each entry with its example."""

    def on_package(self, *, pkg: griffe.Module, loader: Any, **more: Any) -> None:
        """Takes the examples of all pages of reference."""
        for page in ("api.md", "search.md"):
            for _, name, example in ENTRY.findall((PAGES / page).read_text(encoding="utf-8")):
                found = pkg[name.removeprefix("leafwise.")]
                about = found.final_target if found.is_alias else found
                text = about.docstring.value if about.docstring else ""
                about.docstring = griffe.Docstring(f"{text}\n\n{example}".strip(), parent=about)
