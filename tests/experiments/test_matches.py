"""The runner of matches: studies go on where they were, of the same players and network; figures are those of the scores."""

import json
import re
import signal
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import leafwise
from leafwise.envs.core.errors import UserError
from leafwise.experiments.study import DistributedStudy, Results, digest_of
from leafwise.experiments.study import matches as runner
from leafwise.experiments.study.matches import Match, MatchStudy, network_of, points_figures, points_table
from leafwise.training.evaluation.arena import evaluate
from leafwise.training.evaluation.results import Evaluation, Fault
from running.waiting import until

TRAP = leafwise.game("trap", size=3)


@dataclass(frozen=True)
class Config(DistributedStudy):
    """A study of one match."""

    games: int = 4
    player: str = "greedy"
    network: str | None = None


def matches(config: Config) -> list[Match]:
    return [Match("a match", TRAP, config.player, config.games, "random", 920_000, 1, config.network)]


def page(config: Config, results: Results) -> list[str]:
    return points_table(results)


STUDY = MatchStudy("games", matches, page)


def kept(folder: Path) -> dict[str, dict[str, object]]:
    games: dict[str, dict[str, object]] = json.loads((folder / "games.json").read_text())
    return games


def test_a_study_goes_on_where_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = Config(tmp_path, tmp_path)
    STUDY(config)
    first = kept(tmp_path)["a match"]
    assert capsys.readouterr().out.splitlines()[-1].startswith("a match, 4 games: ")
    STUDY(replace(config, games=10))
    more = kept(tmp_path)["a match"]
    assert more["scores"][:4] == first["scores"]  # type: ignore[index]
    STUDY(Config(tmp_path / "whole", tmp_path / "whole", games=10))
    whole = kept(tmp_path / "whole")["a match"]
    assert {**more, "seconds_per_move": 0} == {**whole, "seconds_per_move": 0}
    assert "| a match | 10 |" in (tmp_path / "games.md").read_text()
    with pytest.raises(
        ValueError, match=r"^a match: expected games of player 'random', got 'greedy'; give another --data"
    ):
        STUDY(replace(config, player="random"))


def test_games_of_another_network_are_played_anew(tmp_path: Path) -> None:
    config = Config(tmp_path, tmp_path, network="one")
    STUDY(config)
    (tmp_path / "games.json").write_text(json.dumps({"a match": kept(tmp_path)["a match"] | {"scores": [0.5] * 4}}))
    STUDY(config)
    assert kept(tmp_path)["a match"]["scores"] == [0.5] * 4
    STUDY(replace(config, network="another"))
    assert 0.5 not in kept(tmp_path)["a match"]["scores"]  # type: ignore[operator]


def test_a_game_that_would_be_the_same_again_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"^a match: expected a game with chance, or a single-player game, got 'cassis'$"
    ):
        Match("a match", leafwise.game("cassis"), "greedy", 4, "random")


def test_the_network_is_told_by_its_file() -> None:
    board = leafwise.game("trap", size=5)
    assert network_of("reach", board) is None
    assert len(str(network_of("learned", board))) == 16
    assert network_of("learned", board) != network_of("learned", leafwise.game("trap", size=6))


def test_figures_are_of_pairs_and_worked_out_each_time(tmp_path: Path) -> None:
    points = points_figures({"scores": [1.0, -1.0, 1.0, 1.0, 1.0, 0.0]})
    assert points["share"] == pytest.approx(0.75)
    assert points["ci_low"] <= 0.75 <= points["ci_high"]
    assert points["elo"] > 0
    scores = [1.0, -1.0, 1.0, 1.0]
    entry = {"player": "greedy", "opponent": "random", "first_seed": 920_000, "scores": scores} | dict.fromkeys(
        points, 0.0
    )
    (tmp_path / "games.json").write_text(json.dumps({"a match": entry}))
    STUDY(Config(tmp_path, tmp_path))
    assert kept(tmp_path)["a match"] == entry | points_figures({"scores": scores})
    assert "| a match | 4 | 3 / 0 / 1 | 75.0% (" in (tmp_path / "games.md").read_text()


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"player": "greedy", "scores": [1.0, -1.0]}, "expected games of first_seed 920000, got None"),
        ({"first_seed": 1, "scores": [1.0, -1.0]}, "expected games of first_seed 920000, got 1"),
        (
            {"player": "greedy", "share": 0.5},
            "expected a match with its scores, got {'player': 'greedy', 'share': 0.5}",
        ),
        ({"scores": [1.0, -1.0, 1.0]}, "expected a match with its scores, got {'scores': "),
        ({"scores": []}, "expected a match with its scores, got {'scores': []}"),
        ([1.0, -1.0], r"expected a match with its scores, got [1.0, -1.0]"),
        (None, "expected a match with its scores, got None"),
    ],
)
def test_kept_games_of_another_start_or_form_are_refused(tmp_path: Path, entry: object, expected: str) -> None:
    (tmp_path / "games.json").write_text(before := json.dumps({"a match": entry}))
    with pytest.raises(UserError, match=f"^a match: {re.escape(expected)}.*; give another --data and --out$"):
        STUDY(Config(tmp_path, tmp_path))
    assert (tmp_path / "games.json").read_text() == before


def test_a_study_that_is_stopped_leaves_the_page_of_its_last_match(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopping(*words: Any, **where: Any) -> Evaluation:
        if words[1] == "nobody":
            raise KeyboardInterrupt
        return evaluate(*words, **where)

    def two(config: Config) -> list[Match]:
        first = matches(config)[0]
        return [first, replace(first, title="another", player="nobody")]

    monkeypatch.setattr(runner, "evaluate", stopping)
    with pytest.raises(KeyboardInterrupt):
        MatchStudy("games", two, page)(Config(tmp_path, tmp_path))
    assert "| a match | 4 |" in (tmp_path / "games.md").read_text()


def test_players_who_fail_are_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*words: Any, **where: Any) -> Evaluation:
        return replace(evaluate(*words, **where), faults=(Fault("greedy", 1, 0, "crash", "no more ideas"),))

    monkeypatch.setattr(runner, "evaluate", failing)
    with pytest.raises(UserError, match=r"^expected players without faults, got crash of greedy: no more ideas$"):
        STUDY(Config(tmp_path, tmp_path))
    assert not (tmp_path / "games.json").exists()


def test_a_study_that_is_killed_goes_on_with_what_it_kept(tmp_path: Path) -> None:
    words = ["--out", str(tmp_path), "--data", str(tmp_path), "--sizes", "5", "--rival", "is"]
    words += ["--seconds", "0.002", "--first-seed", "920000"]
    command = [sys.executable, "-W", "ignore", "-m", "leafwise.experiments.trap.sizes", *words]
    process = subprocess.Popen([*command, "--games", "100000"])
    try:
        until((tmp_path / "sizes.json").exists, process)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    (before,) = json.loads((tmp_path / "sizes.json").read_text()).values()
    games = len(before["scores"]) + 2
    subprocess.run([*command, "--games", str(games)], check=True)
    (after,) = json.loads((tmp_path / "sizes.json").read_text()).values()
    assert len(after["scores"]) == games
    assert after["scores"][:-2] == before["scores"]


def test_results_of_matches_are_those_of_the_networks_in_the_package():
    root = Path(__file__).resolve().parents[2]
    networks = {digest_of(path.stem) for path in (root / "models/weights").glob("*.safetensors")}
    used = {
        f"{path.relative_to(root)}: {title}": match["network"]
        for path in (root / "experiments").rglob("*.json")
        if path.parent.name not in ("archive", "results") and isinstance(kept := json.loads(path.read_text()), dict)
        for title, match in kept.items()
        if isinstance(match, dict) and match.get("network")
    }
    assert len(used) > 10, "results name their networks"
    assert [title for title, network in used.items() if network not in networks] == []
