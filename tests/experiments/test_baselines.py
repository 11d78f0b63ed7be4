"""The study of hand-made players writes its results after each player and does not repeat what is there."""

import json

import numpy as np

from leafwise.experiments.threes import learned
from leafwise.experiments.threes.baselines import PLAN, Config, page, study
from leafwise.training.evaluation.intervals import mean_interval


def test_the_study_goes_on_where_it_was(tmp_path, capsys):
    config = Config(out=tmp_path, data=tmp_path)
    study(config, {"random": 4})
    first = json.loads((tmp_path / "baselines.json").read_text())
    assert "random" in capsys.readouterr().out
    study(config, {"random": 4, "search:rows,depth=1": 3})
    assert "random" not in capsys.readouterr().out, "played again"
    results = json.loads((tmp_path / "baselines.json").read_text())
    assert results["random"] == first["random"]
    assert results["search:rows,depth=1"]["first_seed"] == 1_000_000
    assert (tmp_path / "baselines.md").read_text().splitlines() == page(results)
    assert len(page(results)) == 4
    assert set(results) <= set(PLAN)


def test_published_tables_stand_beside_the_same_players_here():
    reached = {"384": 1.0, "768": 1.0, "1536": 0.5, "3072": 0.5, "6144": 0.0}
    figures = {
        "games": 2,
        "mean": 50_001.0,
        "ci_low": 2.0,
        "ci_high": 1e5,
        "median": 50_001.0,
        "seconds_per_move": 0.005,
    }
    lines = page({"threesus:openness": figures | {"scores": [2.0, 100_000.0], "reached": reached}})
    assert (
        "| `threesus:openness` | published | 100 | 10,041 | 88,653 | 774,996 | 100 % | 98 % | 92 % | 27 % | 3 % |"
        in lines
    )
    assert "| `threesus:openness` | here | 2 | 2 | 50,001 | 100,000 | 100 % | 100 % | 50 % | 50 % | 0 % |" in lines


def test_a_study_stopped_in_the_middle_of_a_player_ends_as_if_it_had_not_been(tmp_path):
    found = []
    for name, parts in (("stopped", (2, 5)), ("whole", (5,))):
        for games in parts:
            study(Config(out=tmp_path / name, data=tmp_path / name), {"search:rows,depth=1": games})
        found.append(json.loads((tmp_path / name / "baselines.json").read_text())["search:rows,depth=1"])
        found[-1].pop("seconds_per_move")
    assert found[0] == found[1]
    assert found[0]["games"] == 5


def test_intervals_are_worked_out_of_kept_scores_each_time(tmp_path):
    scores = [24.0, 96.0, 300.0]
    told = {"games": 3, "mean": 140.0, "median": 96.0, "reached": {"3072": 0.0, "6144": 0.0, "12288": 0.0}}
    told |= {"seconds_per_move": 0.001, "ci_low": 24.0, "ci_high": 300.0}
    known = {"depth": {"rows 1": told | {"scores": scores}}, "curves": {"a run 1": {"mean": 1.0, "ci_low": 0.5}}}
    (tmp_path / "learned.json").write_text(json.dumps(known))
    config = learned.Config(out=tmp_path, data=tmp_path, parts=())
    parts = learned.Parts(config)
    found = parts.results["depth"]["rows 1"]
    assert (found["ci_low"], found["ci_high"]) == mean_interval(np.array(scores))
    assert parts.results["curves"] == known["curves"]
    (tmp_path / "learned.json").write_text(json.dumps({"depth": known["depth"]}))
    learned.study(config)
    assert json.loads((tmp_path / "learned.json").read_text())["depth"]["rows 1"] == found
    assert "| 1 | rows | 3 | 140 | -216 to 496 |" in (tmp_path / "learned.md").read_text()
