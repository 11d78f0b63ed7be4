"""What the jobs of `leafwise web` tell, without a server: followed games, ships, runs; and what a process keeps of variants."""

import functools
import gc
import json
import os
import re
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import msgspec
import numpy as np
import pytest
from safetensors.numpy import save

from leafwise import web
from leafwise.envs.core.compile import linking
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.errors import UserError
from leafwise.envs.friday.cards import HAZARDS, NAMES, PHASES
from leafwise.envs.friday.text import HOMES, TURNS, WORDS, in_words
from leafwise.envs.registry import game as find_game
from leafwise.envs.starship.settings import PRESETS
from leafwise.models import ntuple_functions
from leafwise.training.runs.files import FolderLock
from leafwise.training.runs.loop import Events
from leafwise.web import analysis, games, ships
from leafwise.web.requests import JOBS, read
from leafwise.web.workers import RUNS_VARIABLE, JobContext, RecentCache

SEED = 7
LEVEL = {"options": {}, "text": str(find_game("friday").start())}
THREES = "3 0 1 0/0 2 1 3/0 2 0 3/1 0 0 2 next=1"


def run_job(path: str, /, **fields: Any) -> Any:
    """Runs the job of a path on a request; returns its answer or an iterator of answers."""
    job = JOBS[f"/api/{path}"]
    module, _, function = job.work.partition(".")
    work = getattr(import_module(f"leafwise.web.{module}"), function)
    return work(read(job.request, json.dumps(fields).encode()), JobContext(lambda message: None))


def test_a_starship_is_built_place_by_place_or_shown_stage_by_stage() -> None:
    state = find_game("starship", preset="scout").start().settle(stream := new_stream(SEED))
    moves: list[str] = []
    while not state.is_terminal:
        if len(moves) % 4 == 0:
            ship = run_job("ship", seed=SEED, moves=moves)
            assert [place["name"] for place in ship["legal"]] == list(state.legal_names)
            assert ship["quality"] == pytest.approx(state.returns, abs=1e-6)
        moves.append(state.legal_names[0])
        state = state.play(moves[-1]).settle(stream)
    ship = run_job("ship", seed=SEED, moves=moves)
    assert ship["over"]
    assert "legal" not in ship
    weighted = sum(term["value"] * term["weight"] for term in ship["terms"])
    assert ship["quality"] == pytest.approx(weighted if not ship["reasons"] else 0, abs=1e-5)
    with pytest.raises(ValueError, match=f"expected at most {len(moves)} places, which finish the ship, got"):
        run_job("ship", seed=SEED, moves=[*moves, moves[0]])
    story = run_job("ship-stages", seed=SEED)
    assert [stage["name"] for stage in story["stages"]][:3] == ["Shape", "Fill Gaps", "Cockpit"]
    assert all(stage["svg"].startswith("<svg") for stage in story["stages"])
    assert story["quality"] > 0
    assert not story["reasons"]


LONG = [pytest.param(preset, marks=pytest.mark.long) for preset in PRESETS if preset != "scout"]


@pytest.mark.parametrize("preset", ["scout", *LONG])
def test_the_learned_builder_of_starships_names_legal_places(preset: str) -> None:
    request = {"preset": preset, "seed": SEED}
    ship, advice = run_job("ship", **request), run_job("ship-advice", **request)
    values = [one["value"] for one in advice["best"]]
    assert values == sorted(values, reverse=True)
    assert len(values) == ships.SHOWN
    assert {one["name"] for one in advice["best"]} <= {place["name"] for place in ship["legal"]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of runs, with one run that has begun."""
    root = tmp_path / "runs"
    (root / "begun").mkdir(parents=True)
    (root / "begun" / "config.toml").write_text('game = "threes"\ntotal_steps = 90\n')
    monkeypatch.setenv(RUNS_VARIABLE, str(root))
    return root


def test_runs_are_listed_with_what_is_wrong_with_them(folder: Path) -> None:
    with_model(folder, "no-run", b"noise")
    with_model(folder, "a-model-alone", ours())
    with_model(folder, "no-model", b"noise", "trap")
    (folder / "broken").mkdir()
    (folder / "broken" / "config.toml").write_text("game = \n")
    runs = {run["name"]: run for run in run_job("runs")["runs"]}
    assert set(runs) == {"begun", "broken", "no-model", "no-run"}
    assert runs["broken"]["wrong"].startswith("expected options in TOML, got")
    for name in ("no-model", "no-run"):
        assert runs[name]["wrong"].startswith(f"expected a model in 'model.safetensors' of {name!r}")
    assert (runs["begun"]["state"], runs["begun"]["has_model"]) == ("stopped", False)
    lock = FolderLock(folder / "begun")
    assert [run["state"] for run in run_job("runs")["runs"] if run["name"] == "begun"] == ["running"]
    with pytest.raises(UserError, match="expected a run that no other process writes"):
        FolderLock(folder / "begun")
    lock.release()
    assert [run["state"] for run in run_job("runs")["runs"] if run["name"] == "begun"] == ["stopped"]
    FolderLock(folder / "begun").release()


TENSORS = {"w": np.zeros(3, np.float32)}
SAYS = {"game": "trilobite", "options": {}}
UNITS = {"name": "x", "values": [0.0, 1.0], "meanings": [0.0, 1.0], "error": 0.0}


def ours(**says: Any) -> bytes:
    """Returns a model file that says so of itself."""
    return save(TENSORS, {"leafwise": json.dumps({**SAYS, **says})})


UNUSABLE = {
    "noise": (b"noise", "got '"),
    "empty": (b"", "got '"),
    "cut": (ours()[:-5], "got '"),
    "long": (b"\xff" * 8 + b"{}", "got '"),
    "foreign": (save(TENSORS, {"format": "pt"}), "no metadata 'leafwise' that describes the tensors"),
    "untold": (save(TENSORS), "no metadata 'leafwise'"),
    "list": (save(TENSORS, {"leafwise": "[1]"}), "metadata [1], not a JSON object"),
    "null": (save(TENSORS, {"leafwise": "null"}), "metadata None, not a JSON object"),
    "text": (save(TENSORS, {"leafwise": "{"}), "got '"),
    "deep": (save(TENSORS, {"leafwise": "[" * 100_000}), "got '"),
    "units": (ours(units=[1]), "expected units of values, got"),
    "unit": (ours(units={**UNITS, "name": 5}), "expected a name, got 5"),
    "unwritable": (ours(units={**UNITS, "name": "\ud800"}), "surrogates not allowed"),
    "vast": (ours(units={**UNITS, "error": 10**400}), "expected units of values, got"),
}
"""Model files that are none, by the name of their run, and why."""


def with_model(root: Path, name: str, data: bytes, game: str = "") -> None:
    (root / name).mkdir()
    (root / name / "model.safetensors").write_bytes(data)
    if game:
        (root / name / "config.toml").write_text(f'game = "{game}"\n')


@pytest.mark.parametrize("meant", ["", "trilobite", "trap"])
def test_a_model_that_cannot_be_used_is_listed_with_its_reason(folder: Path, meant: str) -> None:
    """In its game, and in all games where nobody knows which that is; the others of the folder can be used."""
    for name, (data, _) in UNUSABLE.items():
        with_model(folder, name, data, meant)
    with_model(folder, "good", ours(units=UNITS))
    (folder / "loop").mkdir()
    (folder / "loop" / "model.safetensors").symlink_to("model.safetensors")
    variants: list[dict[str, Any]] = [{}, {"board": "4x4", "k": 4}]
    for options in variants:
        offered = run_job("game", game="trilobite", options=options)
        assert ("run:good" in {leaf["name"] for leaf in offered["leaves"]}) == (not options)
        assert not {f"run:{name}" for name in UNUSABLE} & {leaf["name"] for leaf in offered["leaves"]}
        wrong = {one["name"]: one["wrong"] for one in offered["unusable"]}
        whole = [name for name in UNUSABLE if not (options and "units" in str(UNUSABLE[name][0]))]
        if meant == "trap":
            assert not wrong
            continue
        assert set(wrong) == {f"run:{name}" for name in whole}
        for name in whole:
            assert UNUSABLE[name][1] in wrong[f"run:{name}"]
            assert "\n" not in wrong[f"run:{name}"]
            assert str(folder) not in " ".join(wrong.values())
    with pytest.raises(ValueError, match="expected a leaf among best"):
        games.need_offered(find_game("trilobite"), "run:noise", "leaf")


def test_a_folder_whose_name_cannot_be_written_is_listed_too(folder: Path) -> None:
    name = os.fsdecode(b"run-\xff")
    try:
        with_model(folder, name, ours())
    except OSError:
        pytest.skip("no such name here")
    offered = run_job("game", game="trilobite")
    assert [one["name"] for one in offered["unusable"]] == ["run:run-\\udcff"]
    msgspec.json.encode(offered)
    (folder / name / "config.toml").write_text('game = "trilobite"\n')
    listed = run_job("runs")
    assert {run["name"] for run in listed["runs"]} == {"begun", "run-\\udcff"}
    msgspec.json.encode(listed)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("game = 5", {}), ("game = 1979-05-27", {}), ("total_steps = 'x'", {}),
        ("variant = []", {}), ("", {"steps": "x"}),
        ("", {"score": "x"}), ("", {"score": {"mean": "x"}}), ("", {"score": {"x": "\ud800"}}),
    ],
)  # fmt: skip
def test_runs_that_say_what_no_run_does_are_listed_with_it(folder: Path, options: str, says: dict[str, Any]) -> None:
    with_model(folder, "odd", ours(**says))
    (folder / "odd" / "config.toml").write_text(options)
    listed = run_job("runs")
    msgspec.json.encode(listed)
    runs = {run["name"]: run for run in listed["runs"]}
    assert runs["odd"]["wrong"].startswith("expected the options and the model of a run in 'odd', got others: ")
    assert "wrong" not in runs["begun"]
    with pytest.raises(ValueError, match="expected the options and the model of a run in 'odd'"):
        run_job("run", name="odd")


def test_a_run_is_told_with_its_curves(folder: Path) -> None:
    events = Events(folder / "begun")
    events.add("eval/score_mean", 2.0, 30)
    events.close()
    run = run_job("run", name="begun")
    assert (run["steps"], run["curves"]) == (30, {"eval/score_mean": [(30, 2.0)]})


WRONG = [
    ("ship", {"seed": SEED, "moves": ["0,0N"]}, "place 1: starship: expected"),
    ("ship", {"preset": "none"}, "expected preset among classic, scout, cruiser, corvette, frigate, got 'none'"),
    ("ship-stages", {"preset": "none"}, "expected preset among classic, scout, cruiser, corvette, frigate, got 'none'"),
    ("run-game", {"name": "begun"}, "expected a run with a model, got 'begun', which has none yet"),
    *((job, {"name": name}, "expected a run among begun, got") for name in ("../begun", "/etc", "", "begun/config.toml", "none")
      for job in ("run", "run-game")),
    ("follow", {"game": "friday", **LEVEL, "line": "weapon"}, "expected one of pirate 1"),
    ("follow", {"game": "friday", **LEVEL, "moves": ["S1"]}, "as step 1"),
    ("follow", {"game": "friday", "moves": ["P1"]}, "expected no steps before a game has begun, got some"),
    ("follow", {"game": "trap"}, "expected a game that can be followed, got 'trap'"),
]  # fmt: skip


@pytest.mark.parametrize(("job", "fields", "line"), WRONG)
def test_a_wrong_request_gets_one_line(folder: Path, job: str, fields: dict[str, Any], line: str) -> None:
    with pytest.raises(ValueError, match=re.escape(line)) as wrong:
        run_job(job, **fields)
    assert "\n" not in str(wrong.value)


def followed(game_so_far: dict[str, Any] | None = None, game: str = "friday", **what: Any) -> dict[str, Any]:
    """Returns the followed game after a line, or without its last one (`undo`)."""
    so_far = (
        {"options": game_so_far["options"], "text": game_so_far["first"], "moves": game_so_far["moves"]}
        if game_so_far
        else {}
    )
    answer: dict[str, Any] = run_job("follow", game=game, **so_far, **what)
    return answer


def test_friday_is_followed_line_by_line() -> None:
    begun = followed()
    assert (begun["state"], begun["question"]["asks"], len(begun["question"]["choices"])) == (None, "the level", 4)
    level = followed(begun, line="1")
    assert level["state"]["player"] == "chance"
    drawn = followed(level, line="P3, P7, raft food, E1")
    assert [name for name in drawn["moves"] if name[0] == "P"] == ["P3", "P7"]
    fight = followed(drawn, line="first")
    (choice,) = fight["question"]["choices"]
    assert (choice["name"], choice["words"][:22]) == ("free", "draw a free card (1 of")
    assert len(fight["lines"]) == len(fight["moves"])
    assert "[Game" in fight["file"]
    card = followed(fight, line="free")
    assert sum(choice["chance"] for choice in card["question"]["choices"]) == pytest.approx(1)
    assert followed(card, undo=True)["state"] == fight["state"]


def test_a_move_of_threes_takes_two_taps() -> None:
    begun = followed(game="threes", line=THREES)
    assert begun["first"].endswith("deck=0,1,1")  # of a new game it is counted
    swiped = followed(begun, game="threes", line="left")
    entries = [choice["name"] for choice in swiped["question"]["choices"]]
    assert entries == ["1@0,3", "1@1,3", "1@2,3", "1@3,3"]
    entered = followed({**swiped, "first": swiped["state"]["text"], "moves": []}, game="threes", line=entries[0])
    assert [choice["name"] for choice in entered["question"]["choices"]] == ["2", "3"]
    decided = followed({**begun, "moves": ["left", entries[0]]}, game="threes", line="2")
    assert decided["moves"] == ["left", entries[0], "2"]
    assert decided["state"]["player"] == 1
    back = followed(decided, game="threes", undo=True)
    assert back["state"] == entered["state"]


def test_a_level_whose_solver_takes_too_long_plays_by_search(monkeypatch: pytest.MonkeyPatch) -> None:
    request: dict[str, Any] = {"game": "trilobite", "options": {"board": "7x6", "k": 4}}
    request["text"] = run_job("state", **request, moves=[*"2316"])["text"]
    search = Mock(return_value=Mock(action=5))
    for name, value in {"LEVEL_SECONDS": 0.3, "SOLVER_TIMEOUT": 0.3}.items():
        monkeypatch.setattr(analysis, name, value)
    monkeypatch.setattr(analysis, "analyst_for", lambda *_: search)
    assert run_job("move", **request, player="level:best")["action"] == "6"
    with pytest.raises(ValueError, match="expected an answer of the exact solver within 0 s, got none"):
        run_job("move", **request, player="solver")


@pytest.mark.long
def test_options_of_friday_have_a_chance_to_win() -> None:
    fight = followed(followed(line="1"), line="P3, P7, raft food, E1, first, free, weak")
    request = {"game": "friday", "options": fight["options"], "text": fight["state"]["text"], "seconds": 0.5}
    *earlier, last = run_job("follow-advice", **request)
    advice = {one["depth"]: {option["name"]: option["told"] for option in one["options"]} for one in (*earlier, last)}
    analyses = list(run_job("analyse", **request))
    analysed = {one["depth"]: one["worths"] for one in analyses if one["depth"] in advice}
    assert analyses[-1]["line_words"][0] == fight["state"]["words"][analyses[-1]["line"][0]]
    assert analysed == {depth: advice[depth] for depth in analysed}, "the same numbers as the analysis"
    assert analysed
    assert last["unit"] == "chance to win"
    assert {option["name"] for option in last["options"]} == set(fight["state"]["actions"])
    assert all(option["told"].endswith(" %") for option in last["options"])
    assert last["best"] == last["options"][0]["name"]
    assert any(note.startswith("next card: ") for note in last["notes"])


def ask(options: dict[str, Any]) -> None:
    """Asks for what a page shows of a variant."""
    run_job("game", game="trap", options=options)
    run_job("state", game="trap", options=options)


def kept() -> dict[str, int]:
    """Returns how much this process keeps: living games, entries of caches without a bound, compiled functions."""
    gc.collect()
    objects = gc.get_objects()
    caches = [one for one in objects if type(one) is functools._lru_cache_wrapper]  # isinstance would ask proxies
    entries = {
        f"{one.__module__}.{one.__qualname__}": one.cache_info().currsize
        for one in caches
        if one.cache_info().maxsize is None
    }
    sizes = {name: len(getattr(linking, name)) for name in ("_FUNCTIONS", "_KEPT", "_SYMBOLS")}
    return entries | sizes | {"games": sum(issubclass(type(one), Game) for one in objects)}


def test_a_click_makes_no_game_anew_and_memory_does_not_grow_with_variants(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_games", "_choices"):
        monkeypatch.setattr(games, name, RecentCache(3))
    monkeypatch.setattr(games, "programs", functools.lru_cache(3)(games.programs.__wrapped__))
    for turns in range(1, 6):
        ask({"size": 3, "max_turns": turns})
    before = kept()
    for turns in range(6, 16):
        ask({"size": 3, "max_turns": turns})
    assert {name: count for name, count in kept().items() if count > before[name]} == {}
    ask({"size": 3})
    for maker in ("find_game", "touch"):
        monkeypatch.setattr(games, maker, None)
    ask({"size": 3})
    file = run_job("record", game="trap", options={"size": 3}, seed=SEED)["file"]
    assert any(games.records_of(file)[0].game is one for one in games._games.values()), "nor does a file"


def test_n_tuples_are_compiled_for_all_variants_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ntuple_functions, "_compiled", lambda *key: key)
    keys: list[Any] = [ntuple_functions.compiled(find_game("threes", bonus_p=p), None) for p in (0.1, 0.2)]  # type: ignore[arg-type]
    assert keys[0] == keys[1]


# The editor of Friday's cards speaks the room's words: every card, turn, phase and word of a position's text


SOURCE = "".join(
    (Path(web.__file__).parent / "static/games" / name).read_text(encoding="utf-8")
    for name in ("friday.js", "cards.js")
)


def constant(name: str) -> str:
    """Returns what a constant of the editor is, as its source has it."""
    match = re.search(rf"^(?:export )?const {name} = (.*?);(?: //.*)?$", SOURCE, re.MULTILINE | re.DOTALL)
    assert match, name
    return match[1]


def listed(name: str) -> list[str]:
    """Returns the strings of a list."""
    return re.findall(r'"(\w+)"', constant(name))


def test_the_editor_of_friday_knows_every_card_and_word() -> None:
    cards = dict(re.findall(r'(\w+): "([^"]*)"', constant("CARDS")))
    assert cards == {name: in_words(kind) for kind, name in enumerate(NAMES)}
    assert set(re.findall(r"(\w): ", constant("HAZARDS"))) == set(HAZARDS)
    assert set(listed("TURNS")) == set(TURNS)
    assert tuple(listed("PHASES")) == PHASES
    assert set(listed("HOMES")) == set(HOMES)
    parts = [constant(name) for name in ("PILES", "MORE_PILES", "NUMBERS", "FIELDS", "MORE_FIELDS")]
    words = {word for part in parts for word in re.findall(r"(\w+): [\[\"]", part)}
    assert {"turn", "phase"} | words == set(WORDS)
