"""Calls with arguments that stay: arrays and numbers in NamedTuples, taken apart once instead of at every call.

Before it runs anything, numba finds out the types of all that it is given and takes each array apart: microseconds, for the `T` of
a game, where the work takes less than one. `hold` writes down where the arrays are, and what is compiled reads it from there.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import NativeValue, lower_builtin, models, register_model, type_callable, unbox
from numba.np import arrayobj

WORD = ir.IntType(64)


class Held(types.Type):
    """The type, in compiled code, of arguments that stay: the address of their words."""

    def __init__(self, kinds: tuple[Any, ...]) -> None:
        self.kinds = kinds
        super().__init__(name=f"held{kinds}")

    @property
    def key(self) -> Any:
        """What tells it from other types."""
        return self.kinds


class _Address(int):
    """The address of what `arguments` are made of, for as long as it lives itself."""

    words: Any
    arguments: tuple[Any, ...]


def unpacked(held: Any) -> Any:
    """Returns the arguments that are held, a tuple; for compiled code, and the same where nothing is compiled."""
    return held


def hold(function: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    """Returns a call of `function(held)`, which begins with `unpacked(held)`, with arguments that stay.

    They are arrays, numbers or tuples of these; TypeError for others. It is compiled at once. What is written into the arrays
    later is seen by the call, which keeps them alive.
    """
    if not hasattr(function, "ident"):  # compiled without numba's inner parts, or not at all
        return partial(function, arguments)
    kinds = tuple(numba.typeof(argument) for argument in arguments)
    words = np.array([word for pair in zip(kinds, arguments, strict=True) for word in _words(*pair)], dtype=np.uint64)
    address = _Address(words.ctypes.data)
    address.words, address.arguments = words, arguments
    return partial(function.compile((Held(kinds),)), address)  # type: ignore[attr-defined]


def _words(kind: Any, value: Any) -> Iterator[int]:
    """Yields the words by which `_value` finds an argument again."""
    if isinstance(kind, types.BaseTuple):
        for part, own in zip(kind, value, strict=True):  # type: ignore[call-overload]
            yield from _words(part, own)
    elif isinstance(kind, types.Array):
        yield from (value.ctypes.data, *value.shape, *(stride % (1 << 64) for stride in value.strides))
    elif isinstance(kind, (types.Integer, types.Boolean)):
        yield int(value) % (1 << 64)
    elif isinstance(kind, types.Float):
        yield int(np.float64(value).view(np.uint64))
    else:
        raise TypeError(f"expected arrays, numbers or tuples of these, got {value!r}")


def _value(context: Any, builder: Any, kind: Any, words: Iterator[Any]) -> Any:
    """Emits an argument, made of the next words."""
    if isinstance(kind, types.BaseTuple):
        parts: Any = kind
        return context.make_tuple(builder, kind, [_value(context, builder, part, words) for part in parts])
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder)
        data = builder.inttoptr(next(words), context.get_data_type(kind.dtype).as_pointer())
        shape, strides = ([next(words) for _ in range(kind.ndim)] for _ in range(2))
        size = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
        arrayobj.populate_array(array, data=data, shape=shape, strides=strides, itemsize=size, meminfo=None)
        return array._getvalue()
    word, own = next(words), context.get_value_type(kind)
    if isinstance(kind, types.Float):
        double = builder.bitcast(word, ir.DoubleType())
        return double if own == double.type else builder.fptrunc(double, own)
    return word if own == WORD else builder.trunc(word, own)


@register_model(Held)
class _HeldModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, WORD)


@unbox(Held)
def _address_of(kind: Any, given: Any, c: Any) -> Any:
    return NativeValue(c.pyapi.long_as_longlong(given), is_error=cgutils.is_not_null(c.builder, c.pyapi.err_occurred()))


@type_callable(unpacked)
def _type_unpacked(context: Any) -> Any:
    def kind_of(held: Any) -> Any:
        if isinstance(held, Held):
            return types.Tuple(held.kinds)
        return held if isinstance(held, types.BaseTuple) else None

    return kind_of


@lower_builtin(unpacked, Held)
def _unpack(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    pointer = builder.inttoptr(arguments[0], WORD.as_pointer())
    words = (builder.load(builder.gep(pointer, [WORD(k)])) for k in itertools.count())
    return _value(context, builder, signature.return_type, words)


@lower_builtin(unpacked, types.BaseTuple)
def _leave(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return arrayobj.impl_ret_borrowed(context, builder, signature.return_type, arguments[0])
