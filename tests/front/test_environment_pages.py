"""Pages of environments: made of the code, up to date, printed by `leafwise games`; and the reference returns."""

from dataclasses import replace
from pathlib import Path

import pytest
from front.console import Shell

import leafwise
from leafwise.commands.games import filled
from leafwise.envs.core.gym.env_page import actions, page
from leafwise.envs.core.ranges import OneOf, limits_of

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs/environments"
IDS = [(name, short) for name in leafwise.games() for short in leafwise.game(name).ids]
EVERY = [short for _, short in IDS]


def test_the_pages_of_the_documentation_are_up_to_date(tmp_path: Path, shell: Shell) -> None:
    """`leafwise games --pages docs/environments` writes them."""
    assert shell("games --pages", str(tmp_path / "made")).status == 0
    for made in sorted((tmp_path / "made").iterdir()):
        assert (PAGES / made.name).read_text(encoding="utf-8") == made.read_text(encoding="utf-8"), made.name
    assert {path.name for path in PAGES.iterdir()} == {path.name for path in (tmp_path / "made").iterdir()}
    assert {f"{short}-v0.md" for short in EVERY} <= {path.name for path in PAGES.iterdir()}
    listed = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert all(f"environments/{short}-v0.md" in listed for short in EVERY)


def test_an_id_prints_its_page_and_a_game_those_of_its_ids(shell: Shell) -> None:
    for given in ("Friday-v0", "leafwise/Friday-v0", "Friday"):
        output = shell("games", given).out
        assert output == filled(page(leafwise.game("friday"), "Friday")) + "\n"
        assert max(map(len, output.splitlines())) <= 80
    output = shell("games cassis").out
    assert output.startswith("cassis: Cassis, ")
    heads = [line for line in output.splitlines() if line.startswith("# ")]
    assert heads == ["# Cassis-v0", "# Cassis7-v0", "# Cassis8-v0"]
    assert "0 to 27 0-1 to 6-7" in " ".join(output.split())
    assert "0 to 27" not in " ".join(shell("games Cassis-v0").out.split())


@pytest.mark.parametrize(("name", "short"), IDS, ids=EVERY)
def test_a_page_tells_everything_in_words(name: str, short: str) -> None:
    game = leafwise.game(name)
    about = game.text.about
    assert (set(about.rewards), set(about.options)) == (set(game.reward_names), set(game.defaults))
    assert about.actions
    assert about.ends
    limits = limits_of(type(game.options)) if game.defaults else {}
    for option, limit in limits.items():
        if isinstance(limit, OneOf):
            assert len([word for word in limit.meanings if word]) == len(limit.choices), option
            assert all(f"`{choice!r}`: " in page(game, short) for choice in limit.choices), option
    heads = [line.removeprefix("## ") for line in page(game, short).splitlines() if line.startswith("## ")]
    assert heads == ["Observation", "Actions", "Rewards", "Ends", "Options", "Reference returns", "Source"]


def test_actions_whose_names_change_in_turn_are_one_range() -> None:
    game = leafwise.game("trap")
    assert [*actions(game)][1].splitlines()[2:] == [
        "| 0 to 7 | `N`, `NE`, `E`, `SE`, `S`, `SW`, `W`, `NW` |",
        "| 8 to 56 | `0,0` to `6,6` |",
    ]
    other = replace(game, action_names=tuple("x" * (a % 2) + str(a) for a in range(57)))
    assert [*actions(other)][1].splitlines()[2:] == ["| 0 to 56 | `0` to `56` |"]


@pytest.mark.parametrize(("name", "short"), IDS, ids=EVERY)
def test_reference_returns(name: str, short: str) -> None:
    game = leafwise.game(name, **leafwise.game(name).ids[short])
    known = leafwise.reference(f"{short}-v0")
    assert known == leafwise.reference(f"leafwise/{short}-v0")
    assert {"random", "hand-made"} <= {one.role for one in known}
    for one in known:
        if one.ci_low is not None and one.ci_high is not None:
            assert one.ci_low <= one.mean <= one.ci_high
        assert one.games > 0
        assert (one.training_steps is not None) == (one.role == "learner")
        assert (one.first_seed is None) == ((ROOT / one.source).is_file())
        if one.role != "learner":
            leafwise.player(one.player, game)


def test_reference_returns_are_told_in_json_and_of_known_ids_alone(shell: Shell) -> None:
    with pytest.raises(ValueError, match=r"^expected an id among Cassis-v0, .*, got 'Chess-v0'$"):
        leafwise.reference("Chess-v0")
    reference = shell("games threes --json").json["reference"]["Threes-v0"]
    assert [one["player"] for one in reference] == [one.player for one in leafwise.reference("Threes-v0")]
