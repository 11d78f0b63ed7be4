"""Games written down for other people's learners: what was seen, legal, done, gained, and what a search thought of it."""

from leafwise.training.dataset.files import read_dataset, write_dataset
from leafwise.training.dataset.games import Dataset, collect_dataset

__all__ = ["Dataset", "collect_dataset", "read_dataset", "write_dataset"]
