"""The review of a game: the curve, the worst decisions, the booklet's score."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from front.console import Shell, shows

from leafwise.analysis import Analyst
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.play.companion import Following
from leafwise.envs.core.play.gamefile import GameRecorder
from leafwise.envs.registry import game
from leafwise.models.units import CHANCE, Units
from leafwise.review import as_json, game_lines, lines, picture, review
from leafwise.search import Result

FRIDAY = game("friday")
PERCENT = Units(CHANCE, (0.0, 1.0), (0.0, 1.0), 0.0)


class Stub(Analyst):
    """Stands in for a search: the first action is worth 0.9, each further one 0.2 less."""

    def __init__(self, units: Units | None) -> None:
        self.units, self.no_units, self.leaf = units, "", "stub"

    @property
    def depth(self) -> int:
        return 1

    def __call__(self, state: State, seconds: float | None = None) -> Result:
        values = {a: 0.9 - 0.2 * k for k, a in enumerate(state.legal_actions)}
        return Result(state.legal_actions[0], 0.9, values, 1, 1, 1, 0.0, frozenset(), state, None)


def followed() -> Following:
    """Returns a game at a table with eight decisions: the second hazard is fought and given up."""
    following = Following(FRIDAY, FRIDAY.start())
    following.enter("3, 7, W1, N1, second, free, weak, free, distracted, end, end, E1, F1, first, free, weak, end")
    return following


def test_a_game_followed_at_a_table_is_reviewed() -> None:
    reviewed = review(followed().record, Stub(PERCENT))
    assert as_json(reviewed)["worst"] == [1, 4, 8]
    assert reviewed.curve == [0.9] * 8
    text = "\n".join(lines(reviewed))
    assert "8 decisions, not finished, -" in text
    assert "1. fight wild animals (value 4, 4 free) for realization 3 (destroy): 70.00 %, cost 20.00 %" in text
    shows(
        text,
        "better: fight with the raft to the wreck",
        " 100 % |",
        "score by the game's own rules, if the game ended there: ",
    )
    as_dict = as_json(reviewed)
    assert json.loads(json.dumps(as_dict))["worst"] == [1, 4, 8]
    first = as_dict["decisions"][0]
    assert (first["played"], first["best"], first["worth"]) == ("second", "first", 0.9)
    assert first["cost"] == pytest.approx(0.2)
    drawing = ET.fromstring(picture(reviewed).svg())
    assert len(drawing.findall("{http://www.w3.org/2000/svg}circle")) == 3


def test_worth_is_the_first_players_and_ends_with_the_result() -> None:
    trilobite = game("trilobite")
    recorder, first = GameRecorder(trilobite.start()), GameRecorder(trilobite.start())
    for move in "12131":
        recorder.play(move)
    reviewed = review(recorder.record(), Stub(PERCENT))
    assert recorder.state.is_terminal
    assert reviewed.curve == pytest.approx([0.9, 0.1, 0.9, 0.1, 0.9, 1.0])
    bare = review(recorder.record(), Stub(None))
    assert bare.curve == pytest.approx([0.9, -0.9, 0.9, -0.9, 0.9, 1.0])
    assert "game over, player 1 wins" in lines(bare)[0]
    assert "  1.00 |" in "\n".join(lines(bare))
    for move in "11":
        first.play(move)
    shown = list(game_lines(first.record(), Stub(PERCENT)))
    assert shown[4].split() == ["1", "1", "1", "90.00", "%"], "nothing was given away"
    assert "player 1: mean loss 0; largest losses: none" in shown[-2]
    with pytest.raises(ValueError, match="expected a game with a decision to review, got none"):
        review(GameRecorder(trilobite.start()).record(), Stub(None))


def test_the_command_reviews(shell: Shell, tmp_path: Path) -> None:
    file, svg = tmp_path / "game.txt", tmp_path / "game.svg"
    file.write_text('[Game "trilobite"]\n1. 1\n2. 2\n3. 1\n4. 2\n')
    command = ("analyze", "--game", str(file), "--leaf", "lines", "--depth", "1")
    out = shell(*command, "--review", "--svg", str(svg)).out
    assert "4 decisions, not finished" in out
    assert svg.read_text().startswith("<svg")
    answer = shell(*command, "--review", "--json").json
    assert [one["move"] for one in answer["decisions"]] == [1, 2, 3, 4]
    assert "expected --review with --game FILE" in shell("analyze trilobite --review").refusal
    svg.unlink()
    assert "expected --review with --game FILE" in shell(*command, "--svg", str(svg)).refusal
    file.write_text(file.read_text() * 2)
    assert "expected a file of one game with --svg, got 2" in shell(*command, "--review", "--svg", str(svg)).refusal
