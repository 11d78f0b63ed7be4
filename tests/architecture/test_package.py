"""The wheel holds what is tracked, and the code of README and documentation runs."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import leafwise

ROOT = Path(__file__).resolve().parents[2]
MOST = 40_000_000
"""Bytes of the wheel."""
FOLDERS = ("envs", "search", "models", "training", "experiments")


def is_left_out(name):
    """Whether the wheel leaves a tracked file of the packages out: all that the studies hold besides code, nothing else."""
    return name.startswith("experiments/") and not name.endswith((".py", "critical/positions.csv"))


def tracked_files():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [name for name in listed.splitlines() if (ROOT / name).exists()]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built by way of the sdist from what is tracked: setuptools remembers what earlier builds in a checkout held."""
    folder, source = tmp_path_factory.mktemp("dist"), tmp_path_factory.mktemp("source")
    for name in tracked_files():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    build = [sys.executable, "-m", "build", "--outdir", str(folder), str(source)]
    subprocess.run(build, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    return path


def test_the_wheel_holds_what_is_tracked(wheel):
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    listed = tracked_files()
    tracked = {"leafwise/" + name for name in listed if name.startswith(FOLDERS) and not is_left_out(name)}
    tracked |= {name.removeprefix("src/") for name in listed if name.startswith("src/leafwise/")}
    assert held == tracked


def test_the_wheel_is_small(wheel):
    assert wheel.stat().st_size <= MOST


def test_the_sdist_holds_no_more_of_the_studies_than_the_wheel(wheel):
    (path,) = wheel.parent.glob("*.tar.gz")
    with tarfile.open(path) as sdist:
        names = [name.partition("/")[2] for name in sdist.getnames()]
    assert "experiments/boards.py" in names
    assert [name for name in names if is_left_out(name) and Path(name).suffix] == []


def shown_on_an_index(base):
    """What a package index shows of the README, built with README_BASE."""
    code = "import runpy, setuptools, sys; setuptools.setup = lambda **given: print(given['long_description']); "
    environment = {**os.environ, "README_BASE": base, "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-c", code + "runpy.run_path('setup.py')"]
    return subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, encoding="utf-8").stdout


def test_links_and_pictures_of_the_readme_work_on_a_package_index():
    relative = re.compile(r"\]\((?!https://)([^)\s]+)\)")
    targets = relative.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(targets) > 20
    assert [target for target in targets if not (ROOT / target.partition("#")[0]).exists()] == []
    assert relative.findall(shown_on_an_index("https://host/owner/name/blob/v1/")) == []
    assert "](https://host/owner/name/blob/v1/experiments/boards.png?raw=true)" in shown_on_an_index(
        "https://host/owner/name/blob/v1/"
    )
    bare = shown_on_an_index("")
    assert relative.findall(bare) == []
    assert "![" not in bare
    assert "## Two commands" in bare


def test_the_wheel_carries_that_description(wheel):
    archive = zipfile.ZipFile(wheel)
    (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    told = archive.read(name).decode()
    assert "Description-Content-Type: text/markdown" in told
    assert "## Two commands" in told
    assert "](docs/" not in told


def test_an_installed_study_says_where_its_data_are_missing(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    command = [sys.executable, "-W", "ignore", "-m", "leafwise.experiments.equal_time"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "installed")}
    answer = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert answer.returncode == 2
    assert answer.stderr == (
        "error: expected --out FOLDER, got none: an installed leafwise holds no folder of the studies' data\n"
    )


def blocks(pages):
    """The Python blocks of pages with the output shown below them, None where none is, and the line each begins at."""
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for match in re.finditer(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", text, re.DOTALL):
            line = text[: match.start()].count("\n") + 2
            yield pytest.param(*match.groups(), id=f"{page.relative_to(ROOT)} line {line}")


def run_block(code, shown, folder):
    # away from the checkout, as a reader would run it
    environment = {**os.environ, "MINARI_DATASETS_PATH": str(folder / "minari"), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-W", "ignore", "-c", code]
    output = subprocess.run(command, check=True, cwd=folder, env=environment, stdout=subprocess.PIPE, encoding="utf-8")
    assert shown is None or output.stdout == shown


def quick_or_long(given):
    """Other people's learners, which import torch and train, are run by `make test-long`."""
    return pytest.param(*given.values, id=given.id, marks=pytest.mark.long) if "sb3" in given.values[0] else given


@pytest.mark.parametrize(("code", "shown"), list(map(quick_or_long, blocks([ROOT / "README.md"]))))
def test_readme_blocks_run(code, shown, tmp_path):
    run_block(code, shown, tmp_path)


REFERENCE = {ROOT / "docs/api.md", ROOT / "docs/search.md"}
"""Pages whose examples `tests/docs/test_reference.py` runs."""


@pytest.mark.long
@pytest.mark.parametrize(("code", "shown"), list(blocks(sorted({*(ROOT / "docs").rglob("*.md")} - REFERENCE))))
def test_blocks_of_the_documentation_run_and_print_what_the_page_shows(code, shown, tmp_path):
    run_block(code, shown, tmp_path)


def test_the_workflow_of_recipes_runs_every_recipe():
    names = re.search(r"name: \[(.*)\]", (ROOT / ".github/workflows/recipes.yml").read_text(encoding="utf-8"))
    assert names is not None
    assert names[1].split(", ") == sorted(path.stem for path in (ROOT / "examples/recipes").glob("*.py"))


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_all_say_one_version():
    """That `leafwise --version` and the engine say `__version__` is tested with the commands."""
    version = PROJECT["version"]
    assert leafwise.__version__ == version
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("CITATION.cff", "CHANGELOG.md")}
    assert re.findall(r"^version: (.*)$", texts["CITATION.cff"], re.M) == [version]
    newest, date = re.findall(r"^## (\S+) \((.+)\)$", texts["CHANGELOG.md"], re.M)[0]
    assert newest == version
    released = re.findall(r'^date-released: "(.*)"$', texts["CITATION.cff"], re.M) or ["not released yet"]
    assert [date] == released
    sent = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs/release").iterdir())
    told = re.findall(r"(?<![\d.])(?<!Gymnasium-v)\d+\.\d+\.\d+", sent)
    assert len(told) > 5
    assert set(told) == {version}


def test_what_is_sent_at_a_release_says_what_the_package_says():
    project = PROJECT
    texts = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs/release").iterdir()}
    recipe, needs = texts["recipe.yaml"], project["dependencies"]
    run = recipe.partition("  run:\n    - python >=${{ python_min }}\n")[2].partition("\ntests:")[0]
    assert re.findall(r"- (\w+) (\S+)", run) == [tuple(re.split(r"(?=[>=<])", need, maxsplit=1)) for need in needs]
    python = project["requires-python"].removeprefix(">=")
    for line in (
        f"  version: {project['version']}\n",
        f'  python_min: "{python}"\n',
        f"  summary: {project['description']}\n",
    ):
        assert line in recipe
    assert f"Gymnasium-v{needs[0].partition('>=')[2]}.0-blue" in texts["gymnasium.md"]
    assert f"leafwise-{project['version']}.tar.gz" in texts["package-index.md"]
