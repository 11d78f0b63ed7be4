"""`leafwise models`: what the files, cards and maps of the models that ship say, and nothing else."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import huggingface_hub
import numpy as np
import pytest
from front.console import Shell, shows
from safetensors.numpy import save

import leafwise
from leafwise.commands import models
from leafwise.measured import measured
from leafwise.models.files import save_network
from leafwise.models.tensors import WEIGHTS, load_metadata
from leafwise.models.units import shipped_units, units_of
from running.networks import random_network

NAMES = sorted(path.stem for path in WEIGHTS.glob("*.safetensors"))
BEFORE = {"options": {}, "steps": 1, "command": "none", "commit": "0" * 40}


def test_every_model_is_told_as_its_file_says_and_the_table_as_the_cards_do(shell: Shell) -> None:
    listed = shell("models --json").jsons
    assert [about["name"] for about in listed] == NAMES
    for about in listed:
        path = WEIGHTS / f"{about['name']}.safetensors"
        says, game = load_metadata(path), leafwise.game(about["game"], **about["options"])
        for name in ("game", "options", "kind", "steps", "command", "commit"):
            assert about[name] == says[name]
        assert about["megabytes"] == path.stat().st_size / 1e6
        units = units_of(game, about["name"])
        assert units is not None
        assert (about["unit"], about["unit_error"]) == (units.name, units.error)
        scores = says["score"] if isinstance(says["score"], list) else [says["score"]]
        for one, game_score in zip(about["score"], filter(None, scores), strict=True):
            held = {
                **game_score.get("learned", game_score),
                "count": game_score[one["of"]],
                "depth": game_score["depth"],
            }
            assert all(one[name] == held[name] for name in ("mean", "ci_low", "ci_high", "count", "depth"))
    lines = shell("models").out.splitlines()
    assert [line.partition(":")[0] for line in lines[:-2] if not line.startswith(" ")] == NAMES
    assert max(map(len, lines[:-2])) <= 80
    assert lines[-2] == f"cards: {WEIGHTS / 'MODEL.md'}"
    shows(
        " ".join(" ".join(lines).split()),
        "threes: threes, ntuple-packed network, 27.01 MB values: expected final score, off by at most 2.4 % measured: mean "
        "final score depth 1 139,590 (131,890 to 146,581), 1,000 games depth 2 377,048 (356,066 to 399,665), 500 games",
        "cassis8: cassis n=8, sparse network, 0.24 MB values: chance to win, off by at most 0.5 % measured: share of best "
        "moves depth 1 94.5 % (91.0 % to 97.5 %), by hand 89.0 %, 200 positions",
        "measured, level=2: share of games won depth 1 88.8 % (86.7 % to 90.6 %), 1,000 games",
        "preset=scout: mean quality depth 1 0.720 (0.713 to 0.726), by hand 0.595, 300 seeds",
        "trap: trap, sparse network, 2.78 MB values: chance to win, a draw counting half, off by at most 1.0 % measured: see",
    )


def test_one_model_is_told_with_how_it_was_made(shell: Shell) -> None:
    about, says = shell("models trap").out, load_metadata(WEIGHTS / "trap.safetensors")
    made = f"trap: leafwise.load('trap'), of {says['steps']} steps, commit {says['commit'][:8]}"
    shows(about, made, f"trained  {says['seconds']:,.0f} s on 1 of 2 cores", str(WEIGHTS / "trap.md"))
    named = [line.split()[0] for line in shell("models cassis").out.splitlines() if "leafwise.load" in line]
    assert named == ["cassis:", "cassis7:", "cassis8:"]
    wrong = f"error: expected a model among {', '.join(NAMES)}, or a game of one, got 'chess'"
    assert shell("models chess").refusal == wrong


def test_games_of_other_packages_are_measured_otherwise() -> None:
    about = {"name": "x", "game": "x", "kind": "sparse", "megabytes": 1, "unit": None, "unit_error": None, **BEFORE}
    two = {"depth": 1, "games": 90, "players": 2, "learned": {"mean": 0.25, "ci_low": 0.1, "ci_high": 0.4}}
    alone = {"depth": 1, "games": 90, "players": 1, "learned": {"mean": 64, "ci_low": 63, "ci_high": 65.5}}
    score = [
        measured(two, shipped_units()["trilobite.safetensors"]),
        measured(alone | {"hand_made": {"mean": 12}}, None),
    ]
    shown = [[*models.section(about | {"score": [one]})][1:] for one in score]
    assert shown == [
        ["  measured: mean result, a win 1, a loss -1", "    depth 1     0.250 (0.100 to 0.400), 90 games"],
        ["  measured: mean return", "    depth 1    64.000 (63.000 to 65.500), by hand 12.000, 90 games"],
    ]


def test_nothing_heavy_is_imported_for_it() -> None:
    heavy = "{'numpy', 'numba', 'torch', 'safetensors', 'gymnasium', 'rich', 'leafwise.models'}"
    code = f"from leafwise.__main__ import run; import sys; run(['models', 'trap']); print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_file_that_is_no_model_is_listed_with_its_reason(tmp_path: Path, monkeypatch, shell) -> None:
    for name in ("units.json", "cassis.safetensors"):
        shutil.copy(WEIGHTS / name, tmp_path)
    says = load_metadata(WEIGHTS / "cassis.safetensors")
    tensors = {"w": np.zeros(3, np.float32)}
    files = {
        "cut": (WEIGHTS / "cassis.safetensors").read_bytes()[:1000],
        "deep": save(tensors, {"leafwise": "[" * 100_000}),
        "empty": b"",
        "foreign": save(tensors, {"format": "pt"}),
        "list": save(tensors, {"leafwise": "[]"}),
        "long": b"\xff" * 8 + b"{}",
        "noise": b"noise" * 10,
        "other": save(tensors, {"leafwise": json.dumps({"game": "cassis"})}),
        "score": save(tensors, {"leafwise": json.dumps({**says, "score": {"games": 7, "mean": "x"}})}),
        "steps": save(tensors, {"leafwise": json.dumps({**says, "steps": [1]})}),
    }
    for name, data in files.items():
        (tmp_path / f"{name}.safetensors").write_bytes(data)
    monkeypatch.setattr(models, "weights", lambda: tmp_path)
    cassis, *lines, _, _ = shell("models").out.splitlines()
    assert cassis.startswith("cassis: ")
    wrong = [line for line in lines if not line.startswith(" ")]
    assert [line.partition(":")[0] for line in wrong] == sorted(files)
    assert all(": expected " in line and str(tmp_path) in line for line in wrong)
    shows(shell("models steps").out, "expected the metadata of a published model, got")
    shows(shell("models foreign").out, "no metadata 'leafwise' that describes the tensors")
    assert {about["name"] for about in shell("models --json").jsons if "wrong" in about} == set(files)


class StandIn:
    """Takes what `HfApi` is told."""

    def __init__(self, taken: list[Any]) -> None:
        self.taken = taken

    def create_repo(self, repository: str, *, private: bool, exist_ok: bool) -> None:
        if repository == "me/away":
            raise OSError("no way to the Hub\nand more")
        self.taken.append((repository, private, exist_ok))

    def create_commit(self, repository: str, operations: list[Any], *, commit_message: str) -> Any:
        held = {one.path_in_repo: one.path_or_fileobj for one in operations}
        assert all(isinstance(one, huggingface_hub.CommitOperationAdd) for one in operations)
        self.taken.append(
            (repository, {name: Path(c).read_bytes() if isinstance(c, str) else c for name, c in held.items()})
        )
        return SimpleNamespace(commit_url=f"https://the.hub/{repository}/commit/1 {commit_message}")


def test_a_model_and_its_card_are_pushed_and_nothing_else(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[Any] = []
    monkeypatch.setattr("leafwise.hub.HfApi", lambda: StandIn(taken))
    run, (cassis7,) = tmp_path / "run", (one for one in shell("models cassis --json").jsons if one["name"] == "cassis7")
    score = {"mean": 0.25, "games": 90, "player": "greedy", "ci_low": 0.1, "ci_high": 0.4}
    save_network(run / "model.safetensors", random_network(leafwise.game("trilobite")), BEFORE | {"score": score})
    (run / "state.secret").write_text("secret")
    for source, file, license in (
        ("cassis7", WEIGHTS / "cassis7.safetensors", "mit"),
        (str(run), run / "model.safetensors", None),
    ):
        taken.clear()
        shown = shell("models push", source, "me/net")
        shows(shown.out, f"of {file}\n", "nothing was written: --yes makes one commit to me/net, ")
        assert (shown.status, taken) == (0, [])
        assert "https://the.hub/me/net/commit/1" in shell("models push", source, "me/net", "--yes").out
        made, (repository, written) = taken
        assert (made, repository, list(written)) == (
            ("me/net", False, True),
            "me/net",
            ["model.safetensors", "README.md"],
        )
        assert written["model.safetensors"] == file.read_bytes()
        text = written["README.md"].decode()
        assert text in shown.out
        about: Any = huggingface_hub.ModelCard(text).data
        assert (about.library_name, about.license, about.model_name) == ("leafwise", license, "net")
        assert {"leafwise", "reinforcement-learning", "sparse"} < set(about.tags)
        if source == "cassis7":
            assert [(one.metric_value, one.metric_args["depth"]) for one in about.eval_results] == [
                (one["mean"], one["depth"]) for one in cassis7["score"]
            ]
            assert about.eval_results[0].metric_args.keys() == {"first_seed", "depth", "positions", "ci_low", "ci_high"}
            assert (WEIGHTS / "cassis7.md").read_text(encoding="utf-8").strip() in text
        else:
            (one,) = about.eval_results
            assert (one.metric_value, one.metric_args.pop("first_seed") > 0) == (0.25, True)
            assert one.metric_args == {name: value for name, value in score.items() if name != "mean"}
    assert shell("models push cassis7 net").refusal == "error: expected a repository OWNER/NAME, got 'net'"
    wrong = shell("models push cassis7 me/away --yes --private").error
    assert wrong == "error: me/away: expected the Hub to take a model (`hf auth login`), got: no way to the Hub\n"
