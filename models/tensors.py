"""Tensors and JSON metadata in one `.safetensors` file with a checksum.

Each file holds the SHA-256 of its metadata and tensors. Three of the shipped files do not: `weights/headers.json` has the missing
entries, by the SHA-256 of the whole file.
"""

from __future__ import annotations

import functools
import hashlib
import json
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from leafwise.envs.core.arrays import Array
from leafwise.envs.core.errors import UserError, short
from leafwise.envs.core.files import read_text
from leafwise.envs.core.files import write_atomically as write_atomically

KEY, CHECKSUM = "leafwise", "sha256"
"""Entries of a file's header: our metadata as JSON, and the checksum of it and of the tensors."""
WEIGHTS = Path(str(files("leafwise.models.weights")))
"""The folder of the shipped models."""
MODEL = "model.safetensors"
"""The name of the model file in the folder of a run, or in a repository on the Hub."""


def save_tensors(path: Path, tensors: Mapping[str, Array], metadata: Mapping[str, Any]) -> None:
    """Writes tensors and JSON metadata to a `.safetensors` file, atomically, with a checksum."""
    text = json.dumps(dict(metadata))
    write_atomically(path, save(dict(tensors), {KEY: text, CHECKSUM: checksum(text, tensors)}))


def load_tensors(path: Path) -> tuple[dict[str, Array], dict[str, Any]]:
    """Reads tensors and metadata of a file and compares the checksum.

    Raises ValueError in one line for a file of another program, without a checksum, or changed since it was written.
    """
    with _opened(path) as (file, header, metadata):
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    if CHECKSUM in header:
        expected, got = header[CHECKSUM], checksum(header[KEY], tensors)
        if got != expected:
            raise UserError(
                f"{str(path)!r} has changed since it was written: expected SHA-256 {expected[:12]}..., got {got[:12]}..."
            )
        return tensors, metadata
    file_hash = hashlib.sha256(path.read_bytes()).hexdigest()
    if file_hash not in shipped_headers():
        raise UserError(
            f"{str(path)!r}: expected a SHA-256 in the header, or a shipped model without one, got a file of "
            f"SHA-256 {file_hash[:12]}..."
        )
    return tensors, {**metadata, **shipped_headers()[file_hash]}


def load_metadata(path: Path) -> dict[str, Any]:
    """Reads only the metadata of a file, without comparing the checksum.

    Raises ValueError in one line for a file of another program.
    """
    with _opened(path) as (_, _, metadata):
        return metadata


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, dict[str, str], dict[str, Any]]]:
    """Opens a file and yields it with its header and metadata; raises ValueError if it is broken or of another program."""
    try:
        with safe_open(path, framework="numpy") as file:
            header = file.metadata() or {}
            if KEY not in header:
                raise UserError(f"no metadata {KEY!r} that describes the tensors")
            metadata = json.loads(header[KEY])
            if not isinstance(metadata, dict):
                raise UserError(f"metadata {short(repr(metadata), 40)}, not a JSON object")
            yield file, header, metadata
    except FileNotFoundError:
        raise UserError(f"expected a model file, found nothing at {str(path)!r}") from None
    except (SafetensorError, KeyError, TypeError, ValueError, OSError, RecursionError, struct.error) as problem:
        reason = short(str(problem).splitlines()[0] if str(problem) else type(problem).__name__)
        if path.suffix.lower() == ".zip":
            reason = (
                f"for a model of Stable-Baselines3 use leafwise.leaf(game, {str(path)!r}), or sb3:FILE.zip in a player"
            )
        raise UserError(f"expected a leafwise .safetensors file, got {str(path)!r}: {reason}") from None


def checksum(metadata: str, tensors: Mapping[str, Array]) -> str:
    """Returns the SHA-256 of metadata as JSON text and of tensors: names, types, shapes and bytes, in the order of names."""
    digest = hashlib.sha256(metadata.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"\0{name} {tensor.dtype} {tensor.shape}\0".encode())
        digest.update(np.ascontiguousarray(tensor).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


@functools.cache
def shipped_headers() -> dict[str, dict[str, Any]]:
    """Returns the metadata missing from shipped files without a checksum: SHA-256 of a file -> entries by name."""
    headers = json.loads(read_text(WEIGHTS / "headers.json"))
    return {header["sha256"]: {"tables": header["tables"]} for header in headers.values()}
