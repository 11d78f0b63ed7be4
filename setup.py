"""The packages, and the description that a package index shows; all else is in pyproject.toml.

The five rooms at the top of the repository are installed under the one name `leafwise`.

The description is the README, whose relative links and pictures would lead nowhere on an index. Where the address of the
repository is known, README_BASE makes them absolute (a release sets it to https://HOST/OWNER/NAME/blob/TAG); without it
links give way to their words and pictures are left out.
"""

import os
import re
from pathlib import Path

from setuptools import find_packages, setup

ROOMS = ("envs", "search", "models", "training", "experiments")
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?://)([^)\s]+)\)")


def description(readme: str, base: str) -> str:
    """Returns the README with links from `base` on; with an empty one, without them."""

    def told(link: re.Match[str]) -> str:
        is_picture, words, target = link.groups()
        if not base:
            return "" if is_picture else words
        return f"{is_picture}[{words}]({base.rstrip('/')}/{target}{'?raw=true' * bool(is_picture)})"

    return re.sub(r"\n{3,}", "\n\n", LINK.sub(told, readme))


setup(
    package_dir={"leafwise": "src/leafwise", **{f"leafwise.{room}": room for room in ROOMS}},
    packages=find_packages("src")
    + [f"leafwise.{name}" for name in find_packages(include=[f"{room}*" for room in ROOMS])],
    long_description=description(
        (Path(__file__).parent / "README.md").read_text(encoding="utf-8"), os.environ.get("README_BASE", "")
    ),
    long_description_content_type="text/markdown",
)
