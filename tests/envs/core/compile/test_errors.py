"""What does not compile is said in two lines, with the function's name; numba's pages are in the log that is named."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from leafwise.envs.core.compile import jit as compiling
from leafwise.envs.core.compile.errors import CompileError
from leafwise.envs.core.compile.jit import bind, jit

pytestmark = pytest.mark.skipif(compiling.DISABLED, reason="nothing is compiled")


class Tables(NamedTuple):
    length: int
    stop: Any
    leaf: Any


@jit
def misspelt(S, i, T):
    return S[i, 0] + T.lenght


@jit
def calls_misspelt(S, i, T):
    return misspelt(S, i, T)


@jit
def takes_two(S, i):
    return 1


@jit
def hands_three(S, i, T):
    return takes_two(S, i, T)  # type: ignore[call-arg]


@jit
def two_types(S, i, T):
    if S[i, 0] > 3:
        return "a"
    return 1


@jit
def unknown_name(S, i, T):
    return nowhere(S)  # type: ignore[name-defined]  # noqa: F821


@jit
def new_array(S, i, T):
    return np.zeros(int(S[i, 0]))[0]


@jit(inline=True)
def three_indices(S, i, T):
    return S[i, 0, 0]


@jit
def calls_three_indices(S, i, T):
    return three_indices(S, i, T)


@jit
def writes_to_tables(S, i, T):
    T.length = 3


@bind(Path(__file__))
def bound(S, i, T):
    S[i, 0] = "a"


MISTAKES = {
    calls_misspelt: (
        r"misspelt, test_errors.py line \d+, `return S\[i, 0\] \+ T.lenght`",
        r"among \(length, stop, leaf\), got 'lenght'; perhaps 'length'",
    ),
    hands_three: ("takes_two", r"expected arguments \(S, i\), got too many positional arguments"),
    two_types: ("two_types, test_errors.py line", "[Uu]nify"),
    unknown_name: ("unknown_name", "expected names that the module defines, got 'nowhere'"),
    new_array: ("new_array, test_errors.py line", "expected no new arrays, lists or texts"),
    calls_three_indices: ("three_indices, test_errors.py line", "cannot index array"),
    writes_to_tables: ("writes_to_tables", "No definition for lowering .*length"),
    bound: ("bound, test_errors.py line", "expected types that go together, got setitem"),
}  # fmt: skip


@pytest.mark.parametrize("function", MISTAKES, ids=lambda f: f.__name__)
def test_two_lines_and_a_log(function: Callable[..., Any]) -> None:
    where, why = MISTAKES[function]
    with pytest.raises(CompileError) as caught:
        function(np.zeros((3, 2), dtype=np.uint64), np.uint64(0), Tables(3, np.zeros(1, dtype=np.uint8), ()))
    first, second = str(caught.value).split("\n")
    assert re.match(f"{where}.* does not compile:$", first)
    assert re.search(why, second)
    assert second.endswith(f"(numba's own words: {caught.value.log})")
    assert len(Path(caught.value.log).read_text()) > 80
    assert isinstance(caught.value, ValueError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_the_tables_of_a_leaf_are_looked_into() -> None:
    class Leaf(NamedTuple):
        weights: Any

    @bind(Path(__file__))
    def value(S, i, T):
        return T.leaf.wheights[0]

    with pytest.raises(CompileError, match=r"among \(weights\), got 'wheights'; perhaps 'weights'"):
        value(np.zeros((3, 2)), 0, Tables(3, np.zeros(1), Leaf(np.zeros(3))))
