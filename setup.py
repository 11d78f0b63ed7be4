"""The packages, and the description that a package index shows; all else is in pyproject.toml.

The five rooms at the top of the repository are installed under the one name `leafwise`.

The description is the README, whose relative links and pictures would lead nowhere on an index. Where the address of the
repository is known, README_BASE makes them absolute (a release sets it to https://HOST/OWNER/NAME/blob/TAG); without it
links give way to their words and pictures are left out.
"""

import gzip
import os
import re
import tarfile
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.sdist import sdist

ROOMS = ("envs", "search", "models", "training", "experiments")
EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", 1_577_836_800))
"""Time of every file in the sdist (default: the beginning of 2020)."""
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?://)([^)\s]+)\)")


def description(readme: str, base: str) -> str:
    """Returns the README with links from `base` on; with an empty one, without them."""

    def told(link: re.Match[str]) -> str:
        is_picture, words, target = link.groups()
        if not base:
            return "" if is_picture else words
        return f"{is_picture}[{words}]({base.rstrip('/')}/{target}{'?raw=true' * bool(is_picture)})"

    return re.sub(r"\n{3,}", "\n\n", LINK.sub(told, readme))


class ReproducibleSdist(sdist):
    """Makes an archive whose bytes depend only on names and contents: no owners, and one time for all files."""

    def make_archive(self, base_name, format, root_dir=None, base_dir=None, owner=None, group=None):
        if format != "gztar":
            return super().make_archive(base_name, format, root_dir, base_dir, owner, group)

        def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.mtime, member.uid, member.gid, member.uname, member.gname = EPOCH, 0, 0, "", ""
            return member

        path = f"{base_name}.tar.gz"
        with (
            open(path, "wb") as file,
            gzip.GzipFile("", "wb", mtime=EPOCH, fileobj=file) as packed,
            tarfile.open(fileobj=packed, mode="w") as archive,
        ):
            archive.add(base_dir, filter=plain)
        return path


setup(
    cmdclass={"sdist": ReproducibleSdist},
    package_dir={"leafwise": "src/leafwise", **{f"leafwise.{room}": room for room in ROOMS}},
    packages=find_packages("src")
    + [f"leafwise.{name}" for name in find_packages(include=[f"{room}*" for room in ROOMS])],
    long_description=description(
        (Path(__file__).parent / "README.md").read_text(encoding="utf-8"), os.environ.get("README_BASE", "")
    ),
    long_description_content_type="text/markdown",
)
