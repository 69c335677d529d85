"""A scan of a safetensors file: the checksum and the ranges of numbers, read once in blocks."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from taxoexpan.files.inputs import open_regular, parse_json

BLOCK = 1 << 20
"""Bytes that are read at a time: they stay in the cache of the CPU."""
DATA_TYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip


@dataclass(frozen=True)
class TensorInfo:
    """The type, shape and range of a tensor; `low` is above `high` if the tensor is empty.

    `is_ascending` (never decreasing) is computed for integers only.
    """

    dtype: str
    shape: tuple[int, ...]
    low: float
    high: float
    is_ascending: bool

    @property
    def is_floating_point(self) -> bool:
        """Whether the numbers are not integers."""
        return self.dtype.startswith("F")

    @property
    def is_finite(self) -> bool:
        """Whether there is no NaN and no infinity."""
        return not math.prod(self.shape) or (math.isfinite(self.low) and math.isfinite(self.high))


@dataclass(frozen=True)
class TensorFile:
    """The checksum, the tensors and the metadata of a safetensors file."""

    sha256: str
    tensors: Mapping[str, TensorInfo]
    metadata: Mapping[str, str]


def scan_tensor_file(path: Path) -> TensorFile:
    """Scan a file; other formats raise an OSError or a ValueError."""
    digest = hashlib.sha256()
    with open_regular(path) as file:
        try:
            with safe_open(path, "numpy") as checked:  # it compares the header with the file's size
                metadata = checked.metadata() or {}
        except SafetensorError as error:
            raise ValueError(str(error)) from None
        length = file.read(8)
        header = file.read(int.from_bytes(length, "little"))
        digest.update(length + header)
        entries = parse_json(header)
        entries.pop("__metadata__", None)
        ordered = sorted(entries.items(), key=lambda item: item[1]["data_offsets"])
        tensors = {name: _scan_tensor(file, name, entry, digest) for name, entry in ordered}
    return TensorFile(digest.hexdigest(), tensors, metadata)


def _scan_tensor(file: BinaryIO, name: str, entry: Mapping[str, Any], digest: Any) -> TensorInfo:
    if entry["dtype"] not in DATA_TYPES:
        raise ValueError(f"the tensor {name!r} has the type {entry['dtype']!r}")
    dtype = np.dtype(DATA_TYPES[entry["dtype"]])
    size = entry["data_offsets"][1] - entry["data_offsets"][0]
    low, high, is_ascending = math.inf, -math.inf, dtype.kind == "i"
    for block in _blocks(file, size, digest):
        numbers: NDArray[Any] = np.frombuffer(block, dtype)
        first = numbers[0].item()
        if is_ascending:
            is_ascending = first >= high and not (numbers[1:] < numbers[:-1]).any()
        # NaN is neither below nor above anything, but it is the minimum of numpy.
        low, high = np.minimum(low, numbers.min()).item(), np.maximum(high, numbers.max()).item()
    return TensorInfo(entry["dtype"], tuple(entry["shape"]), low, high, is_ascending)


def _blocks(file: BinaryIO, size: int, digest: Any) -> Iterator[bytes]:
    """Yield the next bytes of a file in blocks, and add them to the checksum."""
    while size:
        block = file.read(min(BLOCK, size))
        if len(block) < min(BLOCK, size):
            raise ValueError("it was truncated while it was read")
        digest.update(block)
        size -= len(block)
        yield block
