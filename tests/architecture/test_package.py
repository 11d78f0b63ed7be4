"""The wheel holds what is tracked, and the README's code runs."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("envs", "search", "models", "training", "experiments")


def test_the_wheel_holds_what_is_tracked(tmp_path):
    build = [sys.executable, "-m", "build", "--outdir", str(tmp_path), str(ROOT)]  # by way of the sdist
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split(
        "\n"
    )
    tracked = {"leafwise/" + name for name in listed if name.startswith(FOLDERS)}
    tracked |= {name.removeprefix("src/") for name in listed if name.startswith("src/leafwise/")}
    assert held == tracked


def blocks():
    """The README's Python blocks, with the line each begins at."""
    text = (ROOT / "README.md").read_text()
    for match in re.finditer(r"```python\n(.*?)```", text, re.DOTALL):
        yield pytest.param(match.group(1), id=f"line {text[: match.start()].count(chr(10)) + 2}")


@pytest.mark.parametrize("code", list(blocks()))
def test_readme_blocks_run(code, tmp_path):
    # away from the checkout, as a reader would run it
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, cwd=tmp_path)
