"""MkDocs hooks: pages that live beside what they tell of, and pictures it makes."""

from __future__ import annotations

import posixpath
import re
import subprocess
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from pictures import drawings
from reference_examples import without_examples

ROOT = Path(__file__).resolve().parents[1]
PAGES = re.compile(r"(experiments/|models/weights/|examples/|(CHANGELOG|CONTRIBUTING|SECURITY|NOTICE)\.md$).*")
"""Tracked files that become part of the site at the place that they have in the repository."""
KINDS = (".md", ".png", ".svg", ".gif")
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)]*)?\)")


def tracked() -> list[str]:
    """Returns the files that git knows, relative to the repository."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [name for name in listed.splitlines() if (ROOT / name).exists()]


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages of studies, models and examples, with their pictures, and the package's own drawings."""
    for name in tracked():
        if PAGES.match(name) and name.endswith(KINDS):
            files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    for name, svg in drawings().items():
        files.append(File.generated(config, f"pictures/{name}.svg", content=svg))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Points links between pages to where these stand on the site, and turns those to what it leaves out into plain names.

    Examples of entries go to these.
    """
    place = page.file.src_uri
    origin = Path(place).parent if PAGES.match(place) else Path("docs", place).parent

    def kept(link: re.Match[str]) -> str:
        image, words, target, anchor = link[1], link[2], link[3], link[4] or ""
        if "://" in target or target.startswith("mailto:"):
            return link[0]
        found = posixpath.normpath((origin / target).as_posix())
        on_site = found.removeprefix("docs/")
        if files.get_file_from_path(on_site) is not None:
            return f"{image}[{words}]({posixpath.relpath(on_site, Path(place).parent)}{anchor})"
        return words if (ROOT / found).exists() else link[0]  # MkDocs says what is wrong with it

    return LINK.sub(kept, without_examples(markdown))
