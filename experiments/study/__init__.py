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

A study of matches is a module like this one; `python -m leafwise.experiments.trap.mine` plays what is missing and writes
`mine.json` and `mine.md` beside it. Nothing else has to name it. `experiments/trap/sizes.py` is a short one.

    @dataclass(frozen=True)
    class Config(PlacedStudy):
        '''Has two leaves of Trap meet.'''

        games: int = 200
        '''Games, each seed from both seats.'''


    def matches(config: Config) -> Iterator[Match]:
        players = (f"search:{leaf},depth=2" for leaf in ("learned", "reach_open"))
        yield Match("two decisions deep", game("trap"), next(players), config.games, opponent=next(players))


    def page(config: Config, results: Results) -> list[str]:
        return ["# Two leaves", "", *points_table(results)]


    main = command(Config, MatchStudy("mine", matches, page))

    if __name__ == "__main__":
        raise SystemExit(main())
"""

from leafwise.experiments.study.config import PlacedStudy, Study, command
from leafwise.experiments.study.page import bootstrapped, points, section, share, signed, table, write_page
from leafwise.experiments.study.picture import picture, with_bars
from leafwise.experiments.study.results import Results, digest_of, known_results, results_of, write_json
from leafwise.experiments.study.runs import finished, logged
from leafwise.experiments.study.scores import scored
from leafwise.training.evaluation.results import missing_seeds

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
