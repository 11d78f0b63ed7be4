"""Compiles functions to WebAssembly, and lays out the memory that they read.

Numba's modules stay LLVM bitcode until the last step, and LLVM can make wasm32 of it. A function loaded from the cache has no
bitcode left. So this needs a process that compiles everything itself, for a processor without special instructions: set
`ENVIRONMENT`, and an empty `LEAFWISE_CACHE_DIR`.

Functions take one argument, the address of `BoundArguments`. Integers, array sizes and addresses are words of 64 bits there, as
in numba.
"""

from __future__ import annotations

import hashlib
import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numba
import numpy as np

from leafwise.envs.core.compile import linking
from leafwise.envs.core.compile.emitted import BoundArguments, words_of
from leafwise.envs.core.errors import UserError

ENVIRONMENT = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
"""Environment variables of a process that compiles to WebAssembly."""
FEATURES = "+simd128,+bulk-memory,+sign-ext,+nontrapping-fptoint"
TRIPLE = "wasm32-unknown-unknown"
BASE, STACK, PAGE, ALIGNED = 1 << 21, 1 << 20, 1 << 16, 64
"""Address of the arguments, behind the stack and constants; bytes of the stack and of a page; alignment of arrays."""
ENTRY = "answer"
"""The name under which a module exports its function."""


def need_linker() -> None:
    """Raises ValueError if there is no linker, or llvmlite has no WebAssembly target."""
    if importlib.util.find_spec("ziglang") is None:
        raise UserError("expected ziglang to link WebAssembly, found none: pip install 'leafwise[export]'")
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        llvm.Target.from_triple(TRIPLE)
    except RuntimeError as problem:
        raise UserError(f"expected an llvmlite that compiles for WebAssembly, got {llvm.__name__}: {problem}") from None


def module_hash(function: Any, *arguments: Any) -> str:
    """Returns a hash of everything that a function's module depends on: sources, argument types, compilers."""
    kinds = [linking.type_text(numba.typeof(argument)) for argument in arguments]
    inputs = (
        function.ident,
        function.bound,
        kinds,
        numba.__version__,
        version("llvmlite"),
        version("ziglang"),
        FEATURES,
        BASE,
    )
    return hashlib.sha256(repr(inputs).encode()).hexdigest()


def linked(function: Any, *arguments: Any) -> bytes:
    """Returns a module that exports `function(bound)`, compiled for arguments of these types, with everything that it calls."""
    need_linker()
    kinds = (BoundArguments(tuple(numba.typeof(argument) for argument in arguments)),)
    function.compile(kinds)
    versions = [((one.ident, key), cres) for one in linking._FUNCTIONS.values() for key, cres in one.overloads.items()]
    symbols: dict[Any, str] = {version: symbol for symbol, version in linking._SYMBOLS.items()}
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(opt=3, features=FEATURES, reloc="static")
    with tempfile.TemporaryDirectory() as folder:
        objects: list[Path] = []
        for version_key, cres in versions:
            module = llvm.parse_bitcode(cres.library._final_module.as_bitcode())
            module.triple, module.data_layout = TRIPLE, str(machine.target_data)
            name = ENTRY if version_key == (function.ident, kinds) else symbols.get(version_key)
            if name:
                module.get_function(cres.fndesc.llvm_func_name).name = name
            for variable in module.global_variables:
                if variable.linkage.name == "common":  # which WebAssembly does not have
                    variable.linkage = "weak_any"
            module.verify()
            objects.append(Path(folder, f"{len(objects)}.o"))
            objects[-1].write_bytes(machine.emit_object(module))
        out = Path(folder, "out.wasm")
        options = [
            "--no-entry",
            "--gc-sections",
            "--strip-all",
            "--import-memory",
            "--allow-undefined",
            "--import-undefined",
        ]
        options += [f"--export={ENTRY}", f"--initial-memory={BASE}", "-z", f"stack-size={STACK}"]
        command = [sys.executable, "-m", "ziglang", "wasm-ld", *options]
        result = subprocess.run([*command, "-o", str(out), *map(str, objects)], capture_output=True, text=True)
        if result.returncode:
            raise UserError(f"expected wasm-ld to link {len(objects)} objects, got: {result.stderr.strip()[:300]}")
        return out.read_bytes()


class Image(NamedTuple):
    """The memory of a module's arguments."""

    held: int
    """The address to call the function with."""
    memory: bytes
    """The contents from BASE on; everything else is zero. The first ALIGNED bytes are for the result of the call."""
    pages: int
    """Number of pages that it needs."""
    places: dict[str, tuple[int, str, tuple[int, ...]]]
    """The path of each array and number in the arguments -> address, type and shape."""


def image(names: Iterable[str], arguments: Iterable[Any]) -> Image:
    """Lays out arguments in memory; arrays that share memory here share it there, and empty ones come last."""
    values = dict(zip(names, arguments, strict=True))
    parts_of = dict(_parts(values))
    arrays = {path: part for path, part in parts_of.items() if isinstance(part, np.ndarray)}
    kinds = [numba.typeof(value) for value in values.values()]
    held = BASE + ALIGNED
    free = held + 8 * sum(1 for kind, value in zip(kinds, values.values(), strict=True) for _ in words_of(kind, value))
    addresses: dict[tuple[int, int], int] = {}
    parts: list[tuple[int, bytes]] = []
    for array in sorted(arrays.values(), key=lambda array: not array.any()):
        if not array.flags.c_contiguous:
            raise TypeError(f"expected arrays without gaps, got strides {array.strides} of {array.shape}")
        if _memory_key(array) not in addresses:
            free = -(-free // ALIGNED) * ALIGNED
            addresses[_memory_key(array)] = free
            if array.any():
                parts.append((free, array.tobytes()))
            free += array.nbytes
    words = [
        word
        for kind, value in zip(kinds, values.values(), strict=True)
        for word in words_of(kind, value, lambda array: addresses[_memory_key(array)])
    ]
    memory = bytearray(parts[-1][0] + len(parts[-1][1]) - BASE if parts else free - BASE)
    for address, body in [(held, np.array(words, dtype=np.uint64).tobytes()), *parts]:
        memory[address - BASE : address - BASE + len(body)] = body
    places: dict[str, tuple[int, str, tuple[int, ...]]] = {}
    word = held
    for path, part in parts_of.items():
        if path in arrays:
            places[path] = addresses[_memory_key(part)], str(part.dtype), part.shape
        else:
            places[path] = word, "float64" if isinstance(part, float) else "int64", (1,)
        word += 8 * (1 + 2 * np.ndim(part))  # as `words_of` has them
    return Image(held, bytes(memory), -(-free // PAGE), places)


def _memory_key(array: Any) -> tuple[int, int]:
    return array.ctypes.data, array.nbytes


def _parts(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yields the arrays and numbers in `values` with their paths, in the order of their words."""
    for name, value in values.items():
        if isinstance(value, tuple):
            fields = getattr(value, "_fields", map(str, range(len(value))))
            yield from _parts({f"{name}.{field}": part for field, part in zip(fields, value, strict=True)})
        else:
            yield name, value
