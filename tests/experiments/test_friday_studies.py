"""The studies of Friday: blocks of games are kept and not played again, figures of blocks are those of the whole."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from leafwise.envs.friday import GAME
from leafwise.experiments.friday import baselines, learned, strength
from leafwise.experiments.friday.baselines import LEVELS, Entry, GameOutcome
from leafwise.experiments.friday.strength import Point
from leafwise.search.players import SearchPlayer, player
from leafwise.training.evaluation.calibration import calibration
from leafwise.training.evaluation.statistics import mean_interval, share_interval

SMALL = (Point(1, 1, 5), Point(10, 2, 4, keep_chances=True), Point(10, 2, 3, "mcts"), Point(1000, 4, 2))


def test_hand_made_players_go_on_where_they_were(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config, path = baselines.Config(out=tmp_path, data=tmp_path), tmp_path / "baselines.json"
    baselines.study(config, [Entry("random", 4)])
    first = json.loads(path.read_text())["random level=1"]
    assert (first["games"], first["wins"], sum(first["scores"].values()), sum(first["phases"])) == (4, 0, 4, 4)
    assert "random level=1: won 0.00 %" in capsys.readouterr().out
    baselines.study(config, [Entry("random", 6), Entry("fridai:states=2000", 1)])
    assert capsys.readouterr().out.count("random level=1") == 2, "the first four games were played again"
    results = json.loads(path.read_text())
    both = results["random level=1"]
    assert both["games"] == 6
    assert Counter(first["scores"]) <= Counter(both["scores"])
    assert first["moves"] < both["moves"]
    page = (tmp_path / "baselines.md").read_text()
    assert page.count("\n|") == 4
    assert "`friday random --level 1 --games 6 --seed 1000000`" in page
    baselines.study(replace(config, seconds=1e-9), [Entry("random", 60)])
    assert json.loads(path.read_text())["random level=1"]["games"] == 6
    assert set(results) <= {entry.name for entry in baselines.PLAN}


def test_figures_of_hand_made_players() -> None:
    outcomes = [GameOutcome(k % 3 == 0, 7 * k - 20, k % 4, 10 + k, 0.25) for k in range(9)]
    whole = baselines.figures(outcomes)
    parts = baselines.figures(outcomes[4:], baselines.figures(outcomes[:4]))
    assert json.loads(json.dumps(parts)) == json.loads(json.dumps(whole))
    assert (whole["wins"], whole["moves"], whole["seconds"]) == (3, 126, 2.25)
    assert (whole["score"], whole["reached"]) == (8.0, {"yellow": 6 / 9, "red": 4 / 9, "pirates": 2 / 9})
    expected = mean_interval(np.array([float(o.score) for o in outcomes]))
    assert (whole["score_ci_low"], whole["score_ci_high"]) == pytest.approx(expected)


def test_figures_of_the_learned_leaf() -> None:
    rng = np.random.default_rng(1)
    values = rng.random(400)
    won = (rng.random(400) < values**2).astype(float)
    blocks = [
        {"games": 2, "wins": w, "decisions": 100.0, "ms": ms, "tenths": calibration(values[here], won[here])[1]}
        for w, ms, here in ((1, 1.0, slice(0, 200)), (2, 3.0, slice(200, 400)))
    ]
    result, (error, tenths) = learned.together(blocks), calibration(values, won)
    assert (result["games"], result["mean"], result["ms"]) == (4, 0.75, 2.0)
    assert result["calibration_error"] == pytest.approx(error)
    assert [t["decisions"] for t in result["tenths"]] == [t["decisions"] for t in tenths]


def test_it_tells_where_intervals_lie_apart_and_players_their_limits() -> None:
    results: dict[str, dict[str, float]] = {}
    for level in LEVELS:
        results |= {f"1 ms, level {level}, {n}": {"ci_low": 0.1 * level, "ci_high": 0.25} for n in learned.LEAVES}
    sentence = learned.separation_line(results, "1 ms")
    assert sentence == (
        "The interval of the learned leaf lies above the intervals of all other leaves at these levels: 3, 4. "
        "At the others it does not: 1, 2."
    )
    texts = (f"search:pirates,{learned.limit(kind, 100)}" for kind in ("depth 2", "10 ms"))
    players = [player(text, GAME) for text in (*texts, strength.PLAN[0].player("pirates"))]
    searches = [one.search for one in players if isinstance(one, SearchPlayer)]
    assert (searches[0].depth, searches[0].options.nodes) == (2, 100)
    assert [(search.seconds, search.options.clock) for search in searches[1:]] == [(0.01, "cpu"), (0.001, "cpu")]


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, list[int]]]:
    """Stands in for games, every other of which is won, and notes what is played."""
    played: list[tuple[str, int, list[int]]] = []

    def play_block(entry: Entry, seeds: range, processes: int, cluster: str = "") -> Sequence[GameOutcome]:
        played.append((entry.player, entry.level, [seed - strength.FIRST_SEED for seed in seeds]))
        return [GameOutcome(seed % 2 == 0, 50, 3, 100, 0.1, (0.5, 0.57, 1.0)) for seed in seeds]

    monkeypatch.setattr(strength, "play_block", play_block)
    return played


def test_strength_is_kept_by_blocks_and_a_stopped_study_goes_on(
    tmp_path: Path, played: list[tuple[str, int, list[int]]], capsys: pytest.CaptureFixture[str]
) -> None:
    config = strength.Config(out=tmp_path, data=tmp_path)
    strength.study(replace(config, dry_run=True), SMALL)
    strength.study(replace(config, seconds=1e-9), SMALL)
    assert not played
    assert "1000 ms, level 4, 0 of 2 games known, about 0.21 hours for the others" in capsys.readouterr().out
    strength.study(config, SMALL[:1])
    assert played == [("search:friday,seconds=0.001,clock=cpu", 1, seeds) for seeds in ([0], [1], [2, 3, 4])]
    strength.study(replace(config, seconds=1000.0), SMALL)
    texts = ("search:friday,seconds=0.01", "mcts:friday,seconds=0.01", "search:friday,seconds=1.0")
    assert {text for text, _, _ in played[3:]} == {f"{text},clock=cpu" for text in texts}
    assert [(level, seeds) for _, level, seeds in played[-2:]] == [(4, [0]), (4, [1])]
    capsys.readouterr()
    strength.study(replace(config, dry_run=True), SMALL)
    assert "about 0.0 hours of processor time in all" in capsys.readouterr().out
    known = json.loads((tmp_path / "strength.json").read_text())["results"]
    assert list(known)[:3] == [f"1 ms, level 1, from {k}" for k in (0, 1, 2)]
    assert list(known)[-2:] == [f"1000 ms, level 4, from {k}" for k in (0, 1)]
    assert known["10 ms, level 2, from 0"]["told"] == [[1, [5, 2, 1.07], [9, 1, 1.0]]]
    page = (tmp_path / "strength.md").read_text()
    again = "`friday search:friday,seconds=1.0,clock=cpu --level N --games 2 --seed 2000000`"
    low, high = share_interval(3, 5)
    for text in (
        f"| 1 ms | 60.0% ({low:.1%} to {high:.1%}; 5)",
        again,
        "| MCTS, 10 ms | - | 66.7%",
        "| 10 ms | 2 | 4 | 0.",
    ):
        assert text in page
    assert (tmp_path / "strength.png").stat().st_size > 1000
    assert sum(point.hours(point.games) for point in strength.PLAN) < 18
