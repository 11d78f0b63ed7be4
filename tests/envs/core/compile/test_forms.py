"""Compiled functions in other forms, with bound arguments, and the message for one that does not compile."""

from __future__ import annotations

import gc
import pickle
import re
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from leafwise.authoring import prefetch, u64
from leafwise.envs.core.compile.emitted import bind_arguments
from leafwise.envs.core.compile.errors import CompileError
from leafwise.envs.core.compile.forms import CheckedForms, PlainForms
from leafwise.envs.core.compile.intrinsics import extract_bits_plain
from leafwise.envs.core.compile.jit import DISABLED, PLAIN, bind, jit

# Compiled functions as plain Python, and with every index checked, in the process that plays them.


ROOM = Path(__file__)
NUMBERS = np.arange(4)


@jit
def at(numbers, k):
    return numbers[k]


def bound(own: Any) -> Any:
    @bind(ROOM, cache=False)
    def twice(numbers, k):
        return own(numbers, k) + at(numbers, k)

    return twice


@jit
def loads(numbers, k):
    prefetch(numbers, k)
    return 0


@jit
def counts_down(x):
    if x == u64(0):
        return x
    return counts_down(x - u64(1))


@jit
def more(x, by=2):
    return x + by


@jit
def asks(x):
    return more(x)


REACHING = [at, bound(at)]


@pytest.mark.parametrize("forms", [PlainForms, CheckedForms])
def test_what_an_argument_is_by_default_is_the_same_in_every_form(forms: Any) -> None:
    assert forms().of(asks)(1) == 3


@pytest.mark.parametrize("function", REACHING)
def test_every_form_answers_the_same_and_refuses_what_it_should(function: Any) -> None:
    plain, checked = PlainForms().called(function), CheckedForms().of(function)
    assert function(NUMBERS, 2) == plain(NUMBERS, 2) == checked(NUMBERS, 2)
    for beyond in (4, -1):
        with pytest.raises(IndexError):
            checked(NUMBERS, beyond)
    with pytest.raises(IndexError):
        plain(NUMBERS, 4)
    assert function(NUMBERS, -1) == plain(NUMBERS, -1), "the function itself is as it was"


def test_what_is_loaded_ahead_is_checked() -> None:
    assert CheckedForms().of(loads)(NUMBERS, 3) == 0
    with pytest.raises(IndexError):
        CheckedForms().of(loads)(NUMBERS, 4)


def test_a_function_that_calls_itself() -> None:
    assert PlainForms().called(counts_down)(u64(5)) == 0


@jit
def adds(a, b):
    return a + b


def test_plain_numbers_wrap_around() -> None:
    assert PlainForms().called(adds)(u64(2**64 - 1), u64(2)) == adds(u64(2**64 - 1), u64(2)) == 1


def by_name(numbers, k=2, pair=(at, 0), *, reads=at, others={"at": at}):  # noqa: B006
    return pair[0](numbers, 2), reads(numbers, 2), others["at"](numbers, k)


def test_a_games_own_functions_of_plain_python_call_what_has_this_form() -> None:
    form = CheckedForms(__name__).of(by_name)
    assert form(NUMBERS) == by_name(NUMBERS) == (2, 2, 2)
    with pytest.raises(IndexError):
        form(NUMBERS, -1)
    assert CheckedForms("another").of(by_name) is by_name


def test_bits_are_gathered() -> None:
    assert extract_bits_plain(u64(0b1011_0110), u64(0b1110_0001)) == 0b1010


# Calls with arguments that stay: they answer as calls that are handed everything, and see what is written later.


class Kept(NamedTuple):
    whole: np.ndarray
    plane: np.ndarray
    factor: float
    half: np.float32
    least: np.int64
    big: np.uint64
    flag: bool
    parts: tuple


@bind(ROOM)
def told(held):
    S, T = held[0], held[1]
    S[0] += 1.0
    total = S[0] * T.factor + T.half + T.plane[1, 2] + T.whole[2, 1] + T.parts[0][1] + T.parts[1]
    return total + T.least + (1000.0 if T.flag else 0.0), T.big >> np.uint64(60), T.plane.shape[0] * T.plane.shape[1]


def kept(**other):
    given = {
        "whole": np.arange(12, dtype=np.uint8).reshape(4, 3), "plane": np.arange(40.0).reshape(8, 5)[1::2, 1:4], "factor": -2.5,
        "half": np.float32(0.5), "least": np.int64(-(2**40)), "big": np.uint64(0xF << 60), "flag": True,
        "parts": (np.array([3, 4], dtype=np.int16), 6),
    }  # fmt: skip
    return Kept(**{**given, **other})


@pytest.mark.parametrize("flag", [True, False])
def test_the_answer_is_that_of_a_call_with_everything(flag) -> None:
    S, T = np.zeros(1), kept(flag=flag)
    call = bind_arguments(told, S, T)
    for n in (1.0, 2.0, 3.0):
        T.whole[2, 1] = 7 + n
        expected = n * -2.5 + 0.5 + 18.0 + (7 + n) + 4 + 6 - 2**40 + (1000.0 if flag else 0.0)
        assert call() == (expected, 15, 12)
        assert S[0] == n


def test_the_call_keeps_its_arrays_alive() -> None:
    S = np.zeros(1)
    call, alive = bind_arguments(told, S, kept()), weakref.ref(S)
    del S
    gc.collect()
    assert alive() is not None
    first = call()
    assert call()[0] == first[0] - 2.5
    del call
    gc.collect()
    assert alive() is None


@pytest.mark.skipif(DISABLED or PLAIN, reason="nothing is taken apart")
def test_what_cannot_be_held_is_named() -> None:
    with pytest.raises(TypeError, match=r"^expected arrays, numbers or tuples of these, got 'word'$"):
        bind_arguments(told, np.zeros(1), kept(parts=("word", 6)))


# What does not compile is said in two lines, with the function's name; numba's pages are in the log that is named.


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
def binds(S, i, T):
    S[i, 0] = "a"


MISTAKES = {
    calls_misspelt: (
        r"misspelt, test_forms.py line \d+, `return S\[i, 0\] \+ T.lenght`",
        r"among \(length, stop, leaf\), got 'lenght'; perhaps 'length'",
    ),
    hands_three: ("takes_two", r"expected arguments \(S, i\), got too many positional arguments"),
    two_types: ("two_types, test_forms.py line", "[Uu]nify"),
    unknown_name: ("unknown_name", "expected names that the module defines, got 'nowhere'"),
    new_array: ("new_array, test_forms.py line", "expected no new arrays, lists or texts"),
    calls_three_indices: ("three_indices, test_forms.py line", "cannot index array"),
    writes_to_tables: ("writes_to_tables", "No definition for lowering .*length"),
    binds: ("binds, test_forms.py line", "expected types that go together, got setitem"),
}  # fmt: skip


@pytest.mark.skipif(DISABLED, reason="nothing is compiled")
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


@pytest.mark.skipif(DISABLED, reason="nothing is compiled")
def test_the_tables_of_a_leaf_are_looked_into() -> None:
    class Leaf(NamedTuple):
        weights: Any

    @bind(Path(__file__))
    def value(S, i, T):
        return T.leaf.wheights[0]

    with pytest.raises(CompileError, match=r"among \(weights\), got 'wheights'; perhaps 'weights'"):
        value(np.zeros((3, 2)), 0, Tables(3, np.zeros(1), Leaf(np.zeros(3))))
