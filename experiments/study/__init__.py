"""What all studies share: where they read and write, results that are kept, pages, pictures, trained runs.

config.py   a study's options, its folders, its command
results.py  named results in a JSON file, kept as soon as they are known
page.py     Markdown tables and pages
picture.py  pictures of figures
program.py  anyone's program as a player
runs.py     runs of the trainers, and what they logged
matches.py  one runner for studies of matches
leaves.py   learned leaves against hand-made ones: choices judged by a solver, games from given openings
scores.py   what players make, by their texts
"""

from leafwise.experiments.study.config import PlacedStudy, Study, command
from leafwise.experiments.study.page import bootstrapped, points, section, share, signed, table, write_page
from leafwise.experiments.study.picture import picture, with_bars
from leafwise.experiments.study.results import Results, digest_of, known_results, results_of, write_json
from leafwise.experiments.study.runs import finished, logged
from leafwise.experiments.study.scores import scored
from leafwise.training.evaluation.game_store import missing_seeds

__all__ = [
    "PlacedStudy",
    "Results",
    "Study",
    "bootstrapped",
    "command",
    "digest_of",
    "finished",
    "known_results",
    "logged",
    "missing_seeds",
    "picture",
    "points",
    "results_of",
    "scored",
    "section",
    "share",
    "signed",
    "table",
    "with_bars",
    "write_json",
    "write_page",
]
