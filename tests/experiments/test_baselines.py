"""The study of hand-made players writes its results after each player and does not repeat what is there."""

import json

from leafwise.experiments.threes.baselines import PLAN, study, table


def test_the_study_goes_on_where_it_was(tmp_path, capsys):
    study(tmp_path, 1, {"random": 4})
    first = json.loads((tmp_path / "baselines.json").read_text())
    assert "random" in capsys.readouterr().out
    results = study(tmp_path, 1, {"random": 4, "search:rows,depth=1": 3})
    assert "random" not in capsys.readouterr().out, "played again"
    assert results["random"] == first["random"]
    assert results["search:rows,depth=1"]["first_seed"] == 1_000_000
    assert (tmp_path / "baselines.md").read_text() == table(results)
    assert table(results).count("\n") == 4
    assert set(results) <= set(PLAN)


def test_a_study_stopped_in_the_middle_of_a_player_ends_as_if_it_had_not_been(tmp_path, capsys):
    study(tmp_path / "stopped", 1, {"search:rows,depth=1": 2})
    resumed = study(tmp_path / "stopped", 1, {"search:rows,depth=1": 5})["search:rows,depth=1"]
    whole = study(tmp_path / "whole", 1, {"search:rows,depth=1": 5})["search:rows,depth=1"]
    assert {k: v for k, v in resumed.items() if k != "seconds_per_move"} == {
        k: v for k, v in whole.items() if k != "seconds_per_move"
    }
    assert resumed["games"] == 5
