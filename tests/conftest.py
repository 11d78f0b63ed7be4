"""Options of the whole suite."""

import signal

import pytest

# A background job starts with Ctrl-C ignored, and so would every process that a test starts.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--regenerate-golden", action="store_true", help="write tests/golden/*.txt anew instead of comparing with them"
    )
