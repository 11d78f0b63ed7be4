"""The study of Trap's search of whole turns goes on where it was, also against a program of one's own."""

from __future__ import annotations

import io
import json
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import leafwise
from leafwise.experiments.trap import answer, sizes
from leafwise.experiments.trap.turns import Answering, Config, Pairs, network_of, study


@pytest.mark.long
def test_the_study_goes_on_where_it_was(tmp_path: Path) -> None:
    config = Config(
        tmp_path, tmp_path, parts=("rivals",), rival="is", model="reach", seconds=(0.0005,), games=2, first_seed=920_000
    )
    study(config)
    first = json.loads((tmp_path / "turns.json").read_text())
    assert [len(found["scores"]) for found in first.values()] == [2, 2]
    study(replace(config, games=4))
    more = json.loads((tmp_path / "turns.json").read_text())
    title = "0.5 ms a turn, against `is` searched by whole turns"
    assert more[title]["scores"][:2] == first[title]["scores"]
    assert f"| {title} | 4 |" in (tmp_path / "turns.md").read_text()
    with pytest.raises(ValueError, match="give another --data and --out"):
        study(replace(config, model="ocls"))
    with pytest.raises(ValueError, match=r"^expected parts among rivals, searches, player, got 'width'$"):
        study(replace(config, parts=("width",)))


@pytest.mark.long
def test_games_of_another_network_are_played_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board = leafwise.game("trap", size=5)
    assert network_of("reach", board) == {}
    assert len(network_of("learned", board)["network"]) == 16
    assert network_of("learned", board) != network_of("learned", leafwise.game("trap", size=6))
    config = sizes.Config(tmp_path, tmp_path, sizes=(5,), rival="is", seconds=(0.0005,), games=2, first_seed=920_000)
    title = "5x5, 0.5 ms a turn"

    def played() -> dict[str, object]:
        sizes.study(config)
        return json.loads((tmp_path / "sizes.json").read_text())[title]

    first = played()
    (tmp_path / "sizes.json").write_text(json.dumps({title: first | {"scores": [0.3, 0.7]}}))
    assert played()["scores"] == [0.3, 0.7]
    monkeypatch.setattr(sizes, "network_of", lambda leaf, game: {"network": "another"})
    assert 0.3 not in played()["scores"]  # type: ignore[operator]


def test_a_program_answers_line_for_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    state = leafwise.game("trap").start()
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{state}\n"))
    assert answer.main(["random"]) == 0
    assert capsys.readouterr().out.strip() in state.legal_names
    assert answer.main([]) == 2
    assert answer.main(["nobody"]) == 2


def test_games_against_a_program() -> None:
    # the first legal action, which is no player's of leafwise
    program = (
        "import sys, leafwise\n"
        "for line in sys.stdin: print(leafwise.game('trap').parse(line.strip()).legal_names[0], flush=True)"
    )
    command = shlex.join([sys.executable, "-c", program])
    scores = Pairs(leafwise.game("trap"), "turns:reach,depth=1", command, is_command=True)([920_000])
    assert sorted(scores)[-1] == 1.0
    mute = Answering(shlex.join([sys.executable, "-c", "input(); print('nowhere')"]))
    with pytest.raises(ValueError, match=r"^expected an action from .* at .* turn=0, got 'nowhere'$"):
        mute.choose(leafwise.game("trap").start())
    mute.close()
