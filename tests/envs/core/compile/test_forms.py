"""Compiled functions as plain Python, and with every index checked, in the process that plays them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leafwise.authoring import bind, jit, prefetch, u64
from leafwise.envs.core.compile.forms import CheckedForms, PlainForms
from leafwise.envs.core.compile.intrinsics import extract_bits_plain

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


REACHING = [at, bound(at)]


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
