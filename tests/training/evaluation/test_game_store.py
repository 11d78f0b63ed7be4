"""The one store of games: what it holds is taken over, what is of something else is refused or begun anew."""

import json
from pathlib import Path

import pytest

from leafwise.training.evaluation.results import SAVE_SECONDS, GameStore


def store(file: Path, **about: object) -> GameStore[str, int]:
    """Returns a store that has read nothing."""
    return GameStore(file, about, under="games", what="games of a test")


def test_games_about_something_else_are_refused_or_begun_anew(tmp_path: Path) -> None:
    file = tmp_path / "games.json"
    store(file, player="a").keep("x", 1)
    assert json.loads(file.read_text()) == {"player": "a", "games": {"x": 1}}
    again, other = store(file, player="a"), store(file, player="b")
    again.begin("test", resume=True)
    assert again == {"x": 1}
    with pytest.raises(
        ValueError, match=r"^test: expected a new file, or to resume, got '.*games.json', which is there$"
    ):
        store(file, player="a").begin("test", resume=False)
    with pytest.raises(ValueError, match=r"games.json': expected player 'b', got 'a'$"):
        other.read(file)
    other.read(file, anew=True)
    assert other == {}
    file.write_text('{"player": "a"}')
    with pytest.raises(ValueError, match=r"^expected games of a test, got '.*games.json': 'games'$"):
        again.read(file)


def test_games_are_written_at_intervals_and_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("leafwise.training.evaluation.results.time.monotonic", lambda: now[0])
    kept = store(tmp_path / "games.json")
    kept.add("x", 1)
    assert not kept.file.exists()  # type: ignore[union-attr]
    now[0] += SAVE_SECONDS + 1
    kept.add("y", 2, {"complete": False})
    assert json.loads((tmp_path / "games.json").read_text()) == {"complete": False, "games": {"x": 1, "y": 2}}
    kept.add("z", 3)
    kept.save()
    assert json.loads((tmp_path / "games.json").read_text()) == {"games": {"x": 1, "y": 2, "z": 3}}
