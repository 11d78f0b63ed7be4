"""What all studies share: folders, results that are kept, tables, pictures."""

import importlib
import json
import pkgutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from leafwise import experiments
from leafwise.envs.core.errors import UserError
from leafwise.experiments.study import (
    Study,
    bootstrapped,
    command,
    known_results,
    logged,
    picture,
    results_of,
    share,
    table,
    with_bars,
)
from leafwise.training.evaluation.results import missing_seeds

OTHER_COMMANDS = ("leafwise.experiments.methods.newcomers", "leafwise.experiments.figures")
"""They keep no results: the first writes run folders, the second pages."""


@dataclass(frozen=True)
class Config(Study):
    """A study of n."""

    n: int = 1
    """A number."""


def test_results_hold_for_the_same_command_and_models(tmp_path: Path) -> None:
    model, calls = tmp_path / "model", list[int]()
    model.write_text("one")

    def worked_out(n: int) -> dict[str, int]:
        calls.append(n)
        return {"n": len(calls)}

    def result_of(n: int) -> dict[str, int]:
        results = results_of(Config(out=tmp_path, data=tmp_path, n=n), "learned.json", [str(model)])
        kept: dict[str, int] = results.find("a", lambda: worked_out(n))
        return kept

    assert result_of(1) == result_of(1) == {"n": 1}
    assert result_of(2) == result_of(2) == {"n": 2}
    model.write_text("other")
    assert result_of(2) == {"n": 3}
    about = json.loads((tmp_path / "learned.json").read_text())
    assert about["command"].endswith(" --n 2")
    assert list(about) == ["command", "models", "results"]


def test_out_comes_before_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known, fresh = tmp_path / "known", tmp_path / "fresh"
    known_results(Config(out=known, data=known), "a.json").keep("x", 1)
    assert "no a.json in" in capsys.readouterr().err
    both = Config(out=fresh, data=known)
    results = known_results(both, "a.json")
    assert results == {"x": 1}
    results.keep("x", 2)
    assert known_results(both, "a.json") == {"x": 2}
    assert known_results(Config(out=known, data=known), "a.json") == {"x": 1}
    assert capsys.readouterr().err == ""


@dataclass(frozen=True)
class Looking(Config):
    dry_run: bool = True


def test_missing_data_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UserError, match=r"^expected a run that logged eval/elo, eval/score_mean, got '.*'$"):
        logged(tmp_path, ["eval/elo", "eval/score_mean"])

    def main(*words: str) -> int:
        return command(Config, lambda config: config.needed("none.json", "--run RUN"))(list(words))

    assert main("--out", str(tmp_path), "--data", str(tmp_path)) == 2
    error = capsys.readouterr().err
    assert (
        error == f"error: expected none.json, found none in {str(tmp_path / 'none.json')!r}; --run RUN writes it, "
        "--data names its folder\n"
    )
    monkeypatch.setattr("leafwise.experiments.study.CHECKOUT", None)
    assert main() == 2
    assert "found none in an installed leafwise; --run RUN writes it" in capsys.readouterr().err
    assert Config().source("a.json") is None
    assert "no a.json in an installed leafwise (--data names another folder): everything is computed again" in (
        capsys.readouterr().err
    )
    with pytest.raises(ValueError, match=r"^expected --out FOLDER, got none: an installed leafwise holds no folder"):
        Config().target("a.json")
    with pytest.raises(UserError, match=r"^expected --out FOLDER, got none"):  # before anything is played
        known_results(Config(), "a.json")
    assert not known_results(Looking(), "a.json")


def test_a_command_says_what_is_wrong_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    def broken(config: Config) -> None:
        raise {1: UserError("expected 2, got 1"), 3: KeyboardInterrupt(), 4: ValueError("a defect")}[config.n]

    assert command(Config, broken)(["--n", "1"]) == 2
    assert command(Config, broken)(["--n", "3"]) == 130
    assert capsys.readouterr().err == "error: expected 2, got 1\nstopped; the same command continues\n"
    with pytest.raises(ValueError, match="a defect"):
        command(Config, broken)(["--n", "4"])
    assert command(Config, lambda config: None)([]) == 0


def test_the_seeds_that_are_missing() -> None:
    blocks = list(missing_seeds(3, 8, 2, 1_000_000))
    assert blocks == [range(1_000_003, 1_000_005), range(1_000_005, 1_000_007), range(1_000_007, 1_000_008)]
    assert list(missing_seeds(8, 8, 2, 1_000_000)) == []


def test_tables_and_what_a_page_says_of_intervals_by_bootstrap() -> None:
    row = ["`a`", "1", share({"mean": 0.5, "ci_low": 0.4, "ci_high": 0.75})]
    lines = ["| leaf | games | won: 95 % |", "|---|---:|---|", "| `a` | 1 | 50.0% (40.0% to 75.0%) |"]
    assert table("leaf | games: | won: 95 %", [row]) == lines
    new, old = {"ci_low": 0.1}, {"ci_low": 0.1, "interval": "bootstrap"}
    assert bootstrapped([new, {"steps": 3}]) == []
    assert bootstrapped([old, {"steps": 3}])[0].startswith("All intervals are bootstrap intervals,")
    assert bootstrapped([old, new, old])[0].startswith("2 of the 3 intervals are bootstrap intervals")


def test_points_are_joined_only_where_their_bars_lie_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with picture(tmp_path / "a.png") as axis:
        with_bars(axis, [1, 2, 3], [1, 2, 5], [0, 1, 4], [2, 3, 6])
        lines = [line.get_xdata().tolist() for line in axis.lines if line.get_linestyle() == "-"]
    assert [ends for ends in lines if len(ends) == 2] == [[2, 3]]
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    wanted = pytest.raises(ValueError, match=r"^expected matplotlib for a\.png, found none: pip install")
    with wanted, picture(tmp_path / "a.png"):
        pass


@pytest.mark.parametrize(
    "name", sorted(info.name for info in pkgutil.walk_packages(experiments.__path__, f"{experiments.__name__}."))
)
def test_every_study_takes_out_and_data(name: str) -> None:
    if name.startswith(f"{experiments.__name__}.study") or name in OTHER_COMMANDS:
        return
    config = getattr(importlib.import_module(name), "Config", None)
    assert config is None or issubclass(config, Study)
