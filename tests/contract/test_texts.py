"""Texts: every row has one that reads back, and any other text gets one clear line."""

from __future__ import annotations

import copy
import pickle
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leafwise
from contract.cases import CASES, positions
from contract.refusals import HUGE, ODD, assert_one_clear_line
from leafwise.envs.core.contract.game import Game


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_text_and_repr_read_back(game: Game) -> None:
    texts = {}
    for state in positions(game):
        text = str(state)
        assert "\n" not in text
        assert game.parse(text).row.tobytes() == state.row.tobytes(), text
        assert game.parse(f"  {text} ") == state if game.name == "threes" else True
        texts[text] = state
    assert len(texts) == len(positions(game))


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_pickle_and_copy(game: Game) -> None:
    for state in positions(game)[::5]:
        for copied in (pickle.loads(pickle.dumps(state)), copy.deepcopy(state), copy.copy(state)):
            assert copied == state
            assert hash(copied) == hash(state)
            assert copied.row.tobytes() == state.row.tobytes()
            assert copied.legal_names == state.legal_names
    assert pickle.loads(pickle.dumps(game)) == game
    assert hash(pickle.loads(pickle.dumps(game))) == hash(game)


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_odd_texts_get_one_clear_line(game: Game) -> None:
    texts = [str(s) for s in positions(game)]
    for text in [*ODD, *HUGE, *(f"{texts[0]} {odd}" for odd in ODD), *(f"{odd}{texts[-1]}" for odd in HUGE)]:
        assert_one_clear_line(game, text)
    for wrong in (None, 3, b"bytes", ["list"]):
        with pytest.raises(ValueError, match=f"^{game.name}: expected text, got "):
            game.parse(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_edited_texts_get_one_clear_line(game: Game) -> None:
    rng = Random(5)
    alphabet = sorted(set("".join(map(str, positions(game))))) + ["-", "٣", "99", "\n"]
    for state in positions(game):
        for _ in range(4):
            letters = list(str(state))
            for _ in range(rng.randint(1, 3)):
                at = rng.randrange(len(letters) + 1)
                letters[at : at + rng.randint(0, 2)] = rng.choice([[], [rng.choice(alphabet)]])
            assert_one_clear_line(game, "".join(letters))


@pytest.mark.long
@pytest.mark.parametrize("game", CASES, ids=repr)
def test_fuzzed_texts_get_one_clear_line(game: Game) -> None:
    words = sorted({word for s in positions(game) for word in str(s).split()})
    pieces = st.one_of(st.sampled_from(words), st.text(max_size=8), st.integers().map(str))

    @settings(max_examples=500, deadline=None, database=None, derandomize=True)
    @given(st.one_of(st.text(), st.lists(pieces, max_size=14).map(" ".join)))
    def fuzz(text: str) -> None:
        assert_one_clear_line(game, text)

    fuzz()


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_whatever_parses_can_be_played(game: Game) -> None:
    """A typed position that is accepted never leaves a player without a move or chance without an outcome."""
    rng = Random(6)
    accepted = 0
    edits = "0123456" if any(letter.isdigit() for letter in str(positions(game)[0])) else ".xo"
    for state in positions(game):
        letters = list(str(state))
        for _ in range(6):
            editable = [k for k, letter in enumerate(letters) if letter.isdigit() or letter in edits]
            letters[rng.choice(editable)] = rng.choice(edits)
            try:
                edited = game.parse("".join(letters))
            except ValueError:
                continue
            accepted += 1
            if edited.is_chance:
                assert sum(p for p, _ in edited.outcomes()) == pytest.approx(1.0), str(edited)
                assert {s for _, s in edited.outcomes()}
            elif not edited.is_terminal:
                assert edited.legal_actions, str(edited)
    assert accepted > 10


@pytest.mark.parametrize("game", [g for g in CASES if g.module.startswith("leafwise.")], ids=repr)
def test_repr_evaluates_to_the_state(game: Game) -> None:
    for state in positions(game)[::9]:
        assert eval(repr(state), {"leafwise": leafwise}) == state
    assert eval(repr(game), {"leafwise": leafwise}) == game


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_wrong_names_get_one_clear_line(game: Game) -> None:
    state = next(s for s in positions(game) if s.legal_actions)
    for wrong in ("nonsense", -1, len(game.actions), True, None, 1.5):
        with pytest.raises(ValueError, match=f"^{game.name}: expected an action among .*got {wrong!r}$"):
            state.play(wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=f"^{game.name}: expected a score among .*got 'nonsense'$"):
        game.score("nonsense")
    with pytest.raises(ValueError, match=f"^{game.name}: expected options among .*got 'nonsense'$"):
        game.variant(nonsense=1)
    with pytest.raises(ValueError, match=f"^{game.name}: expected a symmetry of 0 to .*got {game.symmetry_count}$"):
        state.transformed(game.symmetry_count)
    with pytest.raises(ValueError, match=f"^{game.name}: expected a chance stage"):
        state.outcomes()
    with pytest.raises(ValueError, match=f"^{game.name}: expected a chance stage"):
        state.sample(None)  # type: ignore[arg-type]
    for s in positions(game):
        if not s.legal_actions:
            with pytest.raises(ValueError, match=r"expected (no action in a finished game|an outcome of chance)"):
                s.play(0)
