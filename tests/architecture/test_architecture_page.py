"""The page of the house names files and names that there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
SENTENCES = re.findall(r"`((?:envs|search|models|training|src)/[\w/]+\.py)`, `([\w.]+)`", PAGE)


@pytest.mark.parametrize(
    "path", sorted(set(re.findall(r"`((?:envs|search|models|training|src|experiments)(?:/[\w.]+)*)`", PAGE)))
)
def test_every_path_exists(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize(("path", "name"), SENTENCES)
def test_every_name_stands_in_its_file(path: str, name: str) -> None:
    source = (ROOT / path).read_text(encoding="utf-8")
    for part in name.split("."):
        assert re.search(rf"(?:def|class) {part}\b", source), f"{path} has no {part}"


def test_the_page_names_steps() -> None:
    assert len(SENTENCES) >= 12


def test_every_room_is_on_the_page() -> None:
    rooms = {f"training/{path.name}" for path in (ROOT / "training").iterdir() if (path / "__init__.py").exists()}
    rooms |= {f"envs/core/{path.name}" for path in (ROOT / "envs/core").iterdir() if (path / "__init__.py").exists()}
    for room in rooms:
        assert room in PAGE or f"`{room.rpartition('/')[2]}`" in PAGE, room
