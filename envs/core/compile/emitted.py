"""Instructions of compiled code that call LLVM directly: prefetching, vector loops for networks, system clocks, bound
arguments.

For each call numba determines the types of all arguments and unpacks each array. For a game's `T` that takes microseconds, and
the work itself often less than one. `bind_arguments` stores the addresses once, and compiled code reads them there.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing.templates import AbstractTemplate, infer, signature
from numba.extending import NativeValue, intrinsic, lower_builtin, models, register_model, unbox
from numba.np import arrayobj


@intrinsic
def prefetch(typing, array, index):
    """Starts to load `array[index]` into the cache with LLVM's prefetch instruction, for reading."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address.type, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(function, [address, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, index), generate


SLOW_EXTRACTION = ("bdver4", "znver1", "znver2")
"""Processors on which the instruction takes a hundred times as long."""
EXTRACTS = bool(
    getattr(numba.config, "CPU_NAME", None) is None  # otherwise the code is for another processor
    and llvm.get_host_cpu_features().get("bmi2")
    and llvm.get_host_cpu_name() not in SLOW_EXTRACTION
)
"""Whether one instruction gathers the bits selected by a mask."""


@intrinsic
def extract_bits(typing, word, mask):
    """Returns the bits of `word` (uint64) that `mask` (uint64) selects, side by side from bit 0 on."""

    def generate(context, builder, signature, arguments):
        number = ir.IntType(64)
        kind = ir.FunctionType(number, [number, number])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.bmi.pext.64"), arguments)

    return types.uint64(types.uint64, types.uint64), generate


HAS_CLOCKS = hasattr(time, "clock_gettime_ns") and sys.maxsize > 1 << 32
"""Whether compiled code can read a clock: with POSIX's `clock_gettime`, and times of 64 bits."""
NANOSECONDS = 1_000_000_000

FLOAT, DOUBLE = ir.FloatType(), ir.DoubleType()
SUM_WIDTHS, DENSE_WIDTHS = (32, 4, 1), (16, 4, 1)
"""Columns to handle together, widest first, in vector instructions, which numba rarely makes of loops over slices."""
CONTRACT = ("contract",)
"""Allows a product and a sum to become one instruction."""


def _load(builder, pointer, index, width: int):
    """Emits a load of `width` floats from `index` on."""
    address = builder.gep(pointer, [index])
    return builder.load(builder.bitcast(address, ir.VectorType(FLOAT, width).as_pointer()), align=4)


def _store(builder, value, pointer, index, width: int) -> None:
    address = builder.gep(pointer, [index])
    builder.store(value, builder.bitcast(address, ir.VectorType(FLOAT, width).as_pointer()), align=4)


def _spread(builder, number, width: int):
    """Emits a vector of `width` copies of one float."""
    index, vector = ir.IntType(32), ir.VectorType(FLOAT, width)
    first = builder.insert_element(vector(ir.Undefined), number, index(0))
    return builder.shuffle_vector(first, vector(ir.Undefined), ir.VectorType(index, width)([0] * width))


def _by_columns(builder, columns, widths: tuple[int, ...], body: Callable[[Any, int], None]) -> None:
    """Emits `body` for all columns, in blocks as wide as fit."""
    done = columns.type(0)
    for width in widths:
        end = builder.sub(columns, builder.urem(columns, columns.type(width)))
        with cgutils.for_range_slice(builder, done, end, columns.type(width), inc=True) as (column, _):
            body(column, width)
        done = end


@intrinsic
def sum_rows(typing, out, bias, rows, which, n):
    """Does the same as `intrinsics.sum_rows_loops`, with vectors."""

    def generate(context, builder, signature, arguments):
        to, biases, table, chosen = (
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(signature.args[:4], arguments[:4], strict=True)
        )
        count = context.cast(builder, arguments[4], signature.args[4], types.intp)
        columns = cgutils.unpack_tuple(builder, table.shape)[1]

        def body(column, width: int) -> None:
            total = cgutils.alloca_once_value(builder, _load(builder, biases.data, column, width))
            with cgutils.for_range(builder, count) as loop:
                row = builder.load(builder.gep(chosen.data, [loop.index]))
                index = builder.add(builder.mul(row, columns), column)
                builder.store(builder.fadd(builder.load(total), _load(builder, table.data, index, width)), total)
            _store(builder, builder.load(total), to.data, column, width)

        _by_columns(builder, columns, SUM_WIDTHS, body)
        return context.get_dummy_value()

    return types.void(out, bias, rows, which, n), generate


@intrinsic
def add_runs(typing, total, share, table, i, first, j, second, more):
    """Does the same as `intrinsics.add_runs_loops`, with vectors."""
    four, index = 4, ir.IntType(32)

    def generate(context, builder, signature, arguments):
        values = context.make_array(signature.args[2])(context, builder, arguments[2]).data

        def vector(tuple_of_four, kind):
            result = ir.VectorType(kind, four)(ir.Undefined)
            for k, number in enumerate(cgutils.unpack_tuple(builder, tuple_of_four)):
                result = builder.insert_element(result, number, index(k))
            return result

        def chain(terms, at):
            before, *after = cgutils.unpack_tuple(builder, terms)
            sums = builder.fadd(_spread(builder, before, four), _load(builder, values, at, four))
            for term in after:
                sums = builder.fadd(sums, _spread(builder, term, four))
            return builder.fpext(sums, ir.VectorType(DOUBLE, four))

        sums_of_runs = builder.fadd(chain(arguments[4], arguments[3]), chain(arguments[6], arguments[5]))
        sums_of_runs = builder.fadd(sums_of_runs, vector(arguments[7], DOUBLE))
        sums = builder.fadd(vector(arguments[0], DOUBLE), builder.fmul(vector(arguments[1], DOUBLE), sums_of_runs))
        return context.make_tuple(
            builder, signature.return_type, [builder.extract_element(sums, index(k)) for k in range(four)]
        )

    return types.UniTuple(types.float64, four)(total, share, table, i, first, j, second, more), generate


@intrinsic
def dense(typing, out, x, weights, start, n, columns):
    """Does the same as `intrinsics.dense_loops`, with vectors."""
    together = 4

    def generate(context, builder, signature, arguments):
        to, inputs, table = (
            context.make_array(kind)(context, builder, value).data
            for kind, value in zip(signature.args[:3], arguments[:3], strict=True)
        )
        begin, rows, row_size = (
            context.cast(builder, value, kind, types.intp)
            for kind, value in zip(signature.args[3:], arguments[3:], strict=True)
        )
        biases = builder.add(begin, builder.mul(rows, row_size))
        step = rows.type(together)

        def body(column, width: int) -> None:
            vector = ir.VectorType(FLOAT, width)
            first = _load(builder, table, builder.add(biases, column), width)
            sums = [cgutils.alloca_once_value(builder, first)]
            sums += [cgutils.alloca_once_value(builder, vector(None)) for _ in range(together - 1)]
            with cgutils.for_range_slice(builder, rows.type(0), rows, step, inc=True) as (r, _):
                for k, total in enumerate(sums):
                    row = builder.add(r, rows.type(k))
                    value = builder.load(builder.gep(inputs, [row]))
                    value = builder.select(builder.fcmp_ordered(">", value, FLOAT(0)), value, FLOAT(0))
                    spread = _spread(builder, value, width)
                    index = builder.add(builder.add(begin, builder.mul(row, row_size)), column)
                    product = builder.fmul(spread, _load(builder, table, index, width), flags=CONTRACT)
                    builder.store(builder.fadd(builder.load(total), product, flags=CONTRACT), total)
            pairs = [builder.fadd(builder.load(sums[k]), builder.load(sums[k + 1])) for k in (0, 2)]
            _store(builder, builder.fadd(*pairs), to, column, width)

        _by_columns(builder, row_size, DENSE_WIDTHS, body)
        return context.get_dummy_value()

    return types.void(out, x, weights, start, n, columns), generate


@intrinsic
def read_clock(typing, number):
    """Returns the time of a system clock, given by number, in nanoseconds; 0 if it cannot be read."""

    def generate(context, builder, signature, arguments):
        word = ir.IntType(64)
        if not HAS_CLOCKS:
            return word(0)
        timespec = cgutils.alloca_once(builder, ir.ArrayType(word, 2))
        which = builder.trunc(context.cast(builder, arguments[0], signature.args[0], types.int64), ir.IntType(32))
        kind = ir.FunctionType(ir.IntType(32), [ir.IntType(32), timespec.type])
        builder.call(cgutils.get_or_insert_function(builder.module, kind, "clock_gettime"), [which, timespec])
        seconds, nanoseconds = (builder.extract_value(builder.load(timespec), k) for k in range(2))
        return builder.add(builder.mul(seconds, word(NANOSECONDS)), nanoseconds)

    return types.int64(number), generate


WORD = ir.IntType(64)


class BoundArguments(types.Type):
    """The numba type of bound arguments: the address of the words that describe them."""

    def __init__(self, kinds: tuple[Any, ...]) -> None:
        self.kinds = kinds
        super().__init__(name=f"bound{kinds}")

    @property
    def key(self):
        """Identifies the type."""
        return self.kinds


class _Address(int):
    """The address of the words of bound arguments; keeps them alive."""

    words: Any
    arguments: tuple[Any, ...]


def bind_arguments(function: Callable[..., Any], *arguments) -> Callable[[], Any]:
    """Returns a call of `function(bound)` without arguments, in which `bound[0]`, `bound[1]`, ... are `arguments`.

    `arguments` are arrays, numbers or tuples of these; raises TypeError for others. The function is compiled at once. The call
    keeps the arrays alive and sees later changes of their contents.
    """
    if not hasattr(function, "ident"):  # compiled without numba's inner parts, or not at all
        return partial(function, arguments)
    kinds = tuple(numba.typeof(argument) for argument in arguments)
    words = np.array([word for pair in zip(kinds, arguments, strict=True) for word in words_of(*pair)], dtype=np.uint64)
    address = _Address(words.ctypes.data)
    address.words, address.arguments = words, arguments
    return partial(function.compile((BoundArguments(kinds),)), address)  # type: ignore[attr-defined]


def words_of(kind, value, address_of: Callable[[Any], int] = lambda array: array.ctypes.data) -> Iterator[int]:
    """Yields the words that describe an argument to compiled code; `address_of` returns the address of an array."""
    if isinstance(kind, types.BaseTuple):
        for part, value_part in zip(kind, value, strict=True):  # type: ignore[call-overload]
            yield from words_of(part, value_part, address_of)
    elif isinstance(kind, types.Array):
        yield from (address_of(value), *value.shape, *(stride % (1 << 64) for stride in value.strides))
    elif isinstance(kind, (types.Integer, types.Boolean)):
        yield int(value) % (1 << 64)
    elif isinstance(kind, types.Float):
        yield int(np.float64(value).view(np.uint64))
    else:
        raise TypeError(f"expected arrays, numbers or tuples of these, got {value!r}")


def _load_argument(context, builder, kind, words: Iterator[Any]):
    """Emits code that loads one argument from its words."""
    if isinstance(kind, types.BaseTuple):
        parts: Any = kind
        return context.make_tuple(builder, kind, [_load_argument(context, builder, part, words) for part in parts])
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder)
        data = builder.inttoptr(next(words), context.get_data_type(kind.dtype).as_pointer())
        shape, strides = ([next(words) for _ in range(kind.ndim)] for _ in range(2))
        size = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
        arrayobj.populate_array(array, data=data, shape=shape, strides=strides, itemsize=size, meminfo=None)
        return array._getvalue()
    word, target = next(words), context.get_value_type(kind)
    if isinstance(kind, types.Float):
        double = builder.bitcast(word, ir.DoubleType())
        return double if target == double.type else builder.fptrunc(double, target)
    return word if target == WORD else builder.trunc(word, target)


@register_model(BoundArguments)
class _BoundArgumentsModel(models.PrimitiveModel):
    def __init__(self, manager, kind) -> None:
        super().__init__(manager, kind, WORD)


@unbox(BoundArguments)
def _address_of(kind, given, c):
    return NativeValue(c.pyapi.long_as_longlong(given), is_error=cgutils.is_not_null(c.builder, c.pyapi.err_occurred()))


@infer
class _Part(AbstractTemplate):
    key = "static_getitem"

    def generic(self, args, kws):
        """Returns the type of `bound[k]`."""
        bound, k = args
        return signature(bound.kinds[k], *args) if isinstance(bound, BoundArguments) and isinstance(k, int) else None


@lower_builtin("static_getitem", BoundArguments, types.IntegerLiteral)
def _part(context, builder, signature, arguments):
    """Emits `bound[k]`, whose words follow those of the earlier arguments."""
    (bound, _), (address, k) = signature.args, arguments
    first = builder.inttoptr(address, WORD.as_pointer())
    skipped = sum(map(_word_count, bound.kinds[:k]))
    words = (builder.load(builder.gep(first, [WORD(n)])) for n in itertools.count(skipped))
    return _load_argument(context, builder, signature.return_type, words)


def _word_count(kind) -> int:
    """Returns the number of words that describe an argument."""
    if isinstance(kind, types.BaseTuple):
        parts: Any = kind
        return sum(map(_word_count, parts))
    return 1 + 2 * kind.ndim if isinstance(kind, types.Array) else 1
