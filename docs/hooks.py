"""MkDocs hooks: the package laid out as it is installed, pages that live beside what they tell of, and pictures it makes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from pictures import drawings

ROOT = Path(__file__).resolve().parents[1]
LAYOUT = ROOT / "build/docs/leafwise"
ROOMS = ("envs", "search", "models", "training", "experiments")
PAGES = re.compile(r"(experiments/|models/weights/|examples/|(CHANGELOG|CONTRIBUTING|SECURITY|NOTICE)\.md$).*")
"""Tracked files that become part of the site at the place that they have in the repository."""
KINDS = (".md", ".png", ".svg", ".gif")
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)]*)?\)")


def tracked() -> list[str]:
    """Returns the files that git knows, relative to the repository."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [name for name in listed.splitlines() if (ROOT / name).exists()]


def on_pre_build(config: Any) -> None:
    """Links the rooms under one name, since the API reference is read from sources and not from an installed package."""
    LAYOUT.mkdir(parents=True, exist_ok=True)
    places = {path.name: path for path in (ROOT / "src/leafwise").iterdir()} | {room: ROOT / room for room in ROOMS}
    for name, place in places.items():
        link = LAYOUT / name
        if not link.is_symlink():
            link.symlink_to(place)


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages of studies, models and examples, with their pictures, and the package's own drawings."""
    for name in tracked():
        if PAGES.match(name) and name.endswith(KINDS):
            files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    for name, svg in drawings().items():
        files.append(File.generated(config, f"pictures/{name}.svg", content=svg))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Turns links to what the site leaves out (sources, data) into plain names."""
    folder = Path(page.file.src_uri).parent

    def kept(link: re.Match[str]) -> str:
        target = link[3]
        if "://" in target or target.startswith("mailto:"):
            return link[0]
        place = Path(*_resolved(folder / target))
        if files.get_file_from_path(place.as_posix()) is not None:
            return link[0]
        if (ROOT / place).exists() or (ROOT / "docs" / place).exists():
            return link[2]
        return link[0]  # MkDocs says what is wrong with it

    return LINK.sub(kept, markdown)


def _resolved(path: Path) -> list[str]:
    """Returns the parts of a relative path without `..`."""
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts:
            parts.pop()
        elif part not in (".", ".."):
            parts.append(part)
    return parts or ["."]
