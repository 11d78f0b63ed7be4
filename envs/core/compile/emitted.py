"""What compiled code asks of LLVM directly: prefetching, the vector loops of networks, the system's clocks."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic


@intrinsic
def prefetch(typing: Any, array: Any, index: Any) -> Any:
    """Starts to load `array[index]` into the cache: LLVM's prefetch of an address to read, to be kept."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address.type, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(function, [address, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, index), generate


SLOW_EXTRACTION = ("bdver4", "znver1", "znver2")
"""Processors that have the instruction and take a hundred times as long for it."""
EXTRACTS = bool(llvm.get_host_cpu_features().get("bmi2") and llvm.get_host_cpu_name() not in SLOW_EXTRACTION)
"""Whether one instruction gathers the bits of a word that a mask names."""


@intrinsic
def extract_bits(typing: Any, word: Any, mask: Any) -> Any:
    """Returns the bits of `word` at which `mask` has ones, side by side from bit 0 on; both uint64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = ir.IntType(64)
        kind = ir.FunctionType(number, [number, number])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.bmi.pext.64"), arguments)

    return types.uint64(types.uint64, types.uint64), generate


READABLE = hasattr(time, "clock_gettime_ns") and sys.maxsize > 1 << 32
"""Whether compiled code can read a clock here: by `clock_gettime` of POSIX, with its times in 64 bits."""
NANOSECONDS = 1_000_000_000

FLOAT, DOUBLE = ir.FloatType(), ir.DoubleType()
SUM_WIDTHS, DENSE_WIDTHS = (32, 4, 1), (16, 4, 1)
"""Columns taken together, as long as there are so many: vector instructions, which numba's loops over slices seldom become."""
CONTRACT = ("contract",)
"""Lets a product and a sum be one instruction."""


def _load(builder: Any, pointer: Any, index: Any, width: int) -> Any:
    """Emits the load of `width` floats from an index on."""
    address = builder.gep(pointer, [index])
    return builder.load(builder.bitcast(address, ir.VectorType(FLOAT, width).as_pointer()), align=4)


def _store(builder: Any, value: Any, pointer: Any, index: Any, width: int) -> None:
    address = builder.gep(pointer, [index])
    builder.store(value, builder.bitcast(address, ir.VectorType(FLOAT, width).as_pointer()), align=4)


def _by_columns(builder: Any, columns: Any, widths: tuple[int, ...], body: Callable[[Any, int], None]) -> None:
    """Emits `body` for all columns, as many at once as there are."""
    done = columns.type(0)
    for width in widths:
        end = builder.sub(columns, builder.urem(columns, columns.type(width)))
        with cgutils.for_range_slice(builder, done, end, columns.type(width), inc=True) as (column, _):
            body(column, width)
        done = end


@intrinsic
def sum_rows(typing: Any, out: Any, bias: Any, rows: Any, which: Any, n: Any) -> Any:
    """As `intrinsics.sum_rows_loops`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        to, biases, table, chosen = (
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(signature.args[:4], arguments[:4], strict=True)
        )
        count = context.cast(builder, arguments[4], signature.args[4], types.intp)
        columns = cgutils.unpack_tuple(builder, table.shape)[1]

        def body(column: Any, width: int) -> None:
            total = cgutils.alloca_once_value(builder, _load(builder, biases.data, column, width))
            with cgutils.for_range(builder, count) as loop:
                row = builder.load(builder.gep(chosen.data, [loop.index]))
                place = builder.add(builder.mul(row, columns), column)
                builder.store(builder.fadd(builder.load(total), _load(builder, table.data, place, width)), total)
            _store(builder, builder.load(total), to.data, column, width)

        _by_columns(builder, columns, SUM_WIDTHS, body)
        return context.get_dummy_value()

    return types.void(out, bias, rows, which, n), generate


@intrinsic
def add_runs(
    typing: Any, total: Any, share: Any, table: Any, i: Any, first: Any, j: Any, second: Any, more: Any
) -> Any:
    """As `intrinsics.add_runs_loops`."""
    four, place = 4, ir.IntType(32)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values = context.make_array(signature.args[2])(context, builder, arguments[2]).data

        def vector(tuple_of_four: Any, kind: Any) -> Any:
            found = ir.VectorType(kind, four)(ir.Undefined)
            for k, number in enumerate(cgutils.unpack_tuple(builder, tuple_of_four)):
                found = builder.insert_element(found, number, place(k))
            return found

        def spread(number: Any) -> Any:
            alone = builder.insert_element(ir.VectorType(FLOAT, four)(ir.Undefined), number, place(0))
            return builder.shuffle_vector(
                alone, alone.type(ir.Undefined), ir.Constant(ir.VectorType(place, four), [0] * four)
            )

        def chain(terms: Any, at: Any) -> Any:
            before, *after = cgutils.unpack_tuple(builder, terms)
            sums = builder.fadd(spread(before), _load(builder, values, at, four))
            for term in after:
                sums = builder.fadd(sums, spread(term))
            return builder.fpext(sums, ir.VectorType(DOUBLE, four))

        worth = builder.fadd(chain(arguments[4], arguments[3]), chain(arguments[6], arguments[5]))
        worth = builder.fadd(worth, vector(arguments[7], DOUBLE))
        sums = builder.fadd(vector(arguments[0], DOUBLE), builder.fmul(vector(arguments[1], DOUBLE), worth))
        return context.make_tuple(
            builder, signature.return_type, [builder.extract_element(sums, place(k)) for k in range(four)]
        )

    return types.UniTuple(types.float64, four)(total, share, table, i, first, j, second, more), generate


@intrinsic
def dense(typing: Any, out: Any, x: Any, weights: Any, start: Any, n: Any, columns: Any) -> Any:
    """As `intrinsics.dense_loops`."""
    together = 4

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        to, inputs, table = (
            context.make_array(kind)(context, builder, value).data
            for kind, value in zip(signature.args[:3], arguments[:3], strict=True)
        )
        begin, rows, wide = (
            context.cast(builder, value, kind, types.intp)
            for kind, value in zip(signature.args[3:], arguments[3:], strict=True)
        )
        biases = builder.add(begin, builder.mul(rows, wide))
        step = rows.type(together)

        def body(column: Any, width: int) -> None:
            vector = ir.VectorType(FLOAT, width)
            first = _load(builder, table, builder.add(biases, column), width)
            sums = [cgutils.alloca_once_value(builder, first)]
            sums += [cgutils.alloca_once_value(builder, vector(None)) for _ in range(together - 1)]
            with cgutils.for_range_slice(builder, rows.type(0), rows, step, inc=True) as (r, _):
                for k, total in enumerate(sums):
                    row = builder.add(r, rows.type(k))
                    value = builder.load(builder.gep(inputs, [row]))
                    value = builder.select(builder.fcmp_ordered(">", value, FLOAT(0)), value, FLOAT(0))
                    spread = builder.insert_element(vector(ir.Undefined), value, ir.IntType(32)(0))
                    mask = ir.Constant(ir.VectorType(ir.IntType(32), width), [0] * width)
                    spread = builder.shuffle_vector(spread, vector(ir.Undefined), mask)
                    place = builder.add(builder.add(begin, builder.mul(row, wide)), column)
                    product = builder.fmul(spread, _load(builder, table, place, width), flags=CONTRACT)
                    builder.store(builder.fadd(builder.load(total), product, flags=CONTRACT), total)
            pairs = [builder.fadd(builder.load(sums[k]), builder.load(sums[k + 1])) for k in (0, 2)]
            _store(builder, builder.fadd(*pairs), to, column, width)

        _by_columns(builder, wide, DENSE_WIDTHS, body)
        return context.get_dummy_value()

    return types.void(out, x, weights, start, n, columns), generate


@intrinsic
def read_clock(typing: Any, number: Any) -> Any:
    """Returns the nanoseconds on a clock of the system, by its number; 0 where it cannot be read."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        if not READABLE:
            return word(0)
        told = cgutils.alloca_once(builder, ir.ArrayType(word, 2))
        which = builder.trunc(context.cast(builder, arguments[0], signature.args[0], types.int64), ir.IntType(32))
        kind = ir.FunctionType(ir.IntType(32), [ir.IntType(32), told.type])
        builder.call(cgutils.get_or_insert_function(builder.module, kind, "clock_gettime"), [which, told])
        whole, rest = (builder.extract_value(builder.load(told), k) for k in range(2))
        return builder.add(builder.mul(whole, word(NANOSECONDS)), rest)

    return types.int64(number), generate
