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
from numba.core.typing.templates import AbstractTemplate, infer, signature
from numba.extending import NativeValue, lower_builtin, models, register_model, unbox
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


def hold(function: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    """Returns a call of `function(held)` with arguments that stay: `held[0]`, `held[1]`, ... in the function, as in a tuple.

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


@infer
class _Part(AbstractTemplate):
    key = "static_getitem"

    def generic(self, args: Any, kws: Any) -> Any:
        """Returns the type of `held[k]`."""
        held, k = args
        return signature(held.kinds[k], *args) if isinstance(held, Held) and isinstance(k, int) else None


@lower_builtin("static_getitem", Held, types.IntegerLiteral)
def _part(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emits `held[k]`, made of the words after those of the arguments before it."""
    (held, _), (address, k) = signature.args, arguments
    first = builder.inttoptr(address, WORD.as_pointer())
    start = sum(map(_count, held.kinds[:k]))
    words = (builder.load(builder.gep(first, [WORD(n)])) for n in itertools.count(start))
    return _value(context, builder, signature.return_type, words)


def _count(kind: Any) -> int:
    """Returns how many words an argument is written down in."""
    if isinstance(kind, types.BaseTuple):
        parts: Any = kind
        return sum(map(_count, parts))
    return 1 + 2 * kind.ndim if isinstance(kind, types.Array) else 1
