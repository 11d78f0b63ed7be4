"""The error that tells a person what was wrong with the input, as against a defect of the program."""

from __future__ import annotations


class UserError(ValueError):
    """What a person gave does not fit: one line that says what was expected and what came.

    Programs print it without a traceback and end with status 2. Any other ValueError is a defect, and keeps its traceback.
    """
