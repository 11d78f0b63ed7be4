"""Datasets as files: NumPy's `.npz`, `.parquet` and, by `minari:NAME-v0`, those of Minari (extra `data`)."""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.errors import UserError
from leafwise.envs.core.files import write_named
from leafwise.training.dataset.games import FINAL, Dataset
from leafwise.training.dataset.minari_store import PREFIX, check_dataset, need, write_episodes

ABOUT = "about"
"""The array (in Parquet the metadata) of JSON that says how a dataset came about."""
SEEDS = "seeds"
SHAPES = "shapes"
"""Parquet holds rows of flat lists; the shape of each entry of a column stands in the metadata."""
FORMATS = (".npz", ".parquet")


def check_file(name: str) -> None:
    """Raises ValueError, saying what was expected, if a dataset cannot be written there."""
    if name.startswith(PREFIX):
        check_dataset(name)
        return
    path = Path(name)
    if path.suffix not in FORMATS:
        known = f"a file name that ends with {' or '.join(FORMATS)}, or {PREFIX}NAME-v0"
        raise UserError(f"expected {known}, got {name!r}")
    if path.suffix == ".parquet":
        need("pyarrow", name)
    if path.exists():
        raise UserError(f"expected a new file, got {name!r}, which is there")
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UserError(f"expected a file in a folder that can be written to, got {name!r}")


def write_dataset(path: str | os.PathLike[str], dataset: Dataset) -> Path:
    """Writes a dataset to a new file, whole or not at all; `minari:NAME-v0` writes one that `minari.load_dataset` finds.

    Returns the file, or the folder in Minari's store. Raises ValueError for a name that does not do.
    """
    name = os.fspath(path)
    check_file(name)
    if name.startswith(PREFIX):
        return write_episodes(name, dataset)
    file = Path(name)
    write_named(file, _npz(dataset) if file.suffix == ".npz" else _parquet(dataset))
    return file


def read_dataset(path: str | os.PathLike[str]) -> Dataset:
    """Reads a file that `write_dataset` wrote; raises ValueError in one line for another."""
    if (name := os.fspath(path)).startswith(PREFIX):
        raise UserError(f"expected a file, got {name!r}: minari.load_dataset({name.removeprefix(PREFIX)!r}) reads it")
    file = Path(name)
    if not file.is_file():
        raise UserError(f"expected a dataset, found nothing at {str(path)!r}")
    try:
        return _from_parquet(file) if file.suffix == ".parquet" else _from_npz(file)
    except (ValueError, KeyError, TypeError, OSError, zipfile.BadZipFile) as problem:
        reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise UserError(f"expected a dataset of leafwise, got {str(path)!r}: {reason}") from None


def _npz(dataset: Dataset) -> bytes:
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {**dataset.arrays, ABOUT: np.array(json.dumps(dataset.about))}
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def _from_npz(file: Path) -> Dataset:
    with np.load(file, allow_pickle=False) as held:
        arrays = {name: held[name] for name in held.files}
    return Dataset(arrays, json.loads(str(arrays.pop(ABOUT))))


def _parquet(dataset: Dataset) -> bytes:
    """Returns one row for each decision; the seeds of the games stand in each of their rows, final observations in the last."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = dict(dataset.arrays)
    arrays[SEEDS] = arrays[SEEDS][arrays["games"]]
    shapes = {name: list(array.shape[1:]) for name, array in arrays.items()}
    ends = arrays["terminations"]
    columns = {
        name: _sparse_column(array, ends) if name.startswith(FINAL) else _column(array)
        for name, array in arrays.items()
    }
    about = {ABOUT: json.dumps({**dataset.about, "seeds": dataset.arrays[SEEDS].tolist()}), SHAPES: json.dumps(shapes)}
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns).replace_schema_metadata(about), sink)
    return bytes(sink.getvalue())


def _column(array: NDArray[Any]) -> Any:
    """Returns an array [n, ...] as a column of n numbers, or of n lists of numbers."""
    import pyarrow as pa

    if array.ndim == 1:
        return pa.array(array)
    flat = array.reshape(len(array), -1)
    return pa.FixedSizeListArray.from_arrays(pa.array(flat.reshape(-1)), flat.shape[1])


def _sparse_column(array: NDArray[Any], where: NDArray[np.bool_]) -> Any:
    """Returns an array [m, ...] as a column of lists that are empty but for the m rows of `where`."""
    import pyarrow as pa

    size = array[0].size if len(array) else 0
    offsets = np.append(0, np.cumsum(where * size)).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(array.reshape(-1)))


def _from_parquet(file: Path) -> Dataset:
    import pyarrow.parquet as pq

    table = pq.read_table(file)
    told = {
        key.decode(): json.loads(text) for key, text in table.schema.metadata.items() if key.decode() in (ABOUT, SHAPES)
    }
    about, arrays = told[ABOUT], {}
    for name, shape in told[SHAPES].items():
        column = table.column(name).combine_chunks()
        flat = (column.flatten() if shape or name.startswith(FINAL) else column).to_numpy(zero_copy_only=False)
        arrays[name] = flat.reshape(-1, *shape)
    arrays[SEEDS] = np.array(about.pop(SEEDS), dtype=np.int64)
    return Dataset(arrays, about)
