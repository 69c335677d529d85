"""What a safetensors file contains, found while its checksum is computed.

The file is read once, in blocks. So its numbers are checked without a copy of them in memory, and
without mapping a file that is damaged.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from taxoexpan.files.inputs import open_regular, parse_json

MAX_HEADER = 10_000_000
"""The number of bytes of a header that is read; real ones have some thousand."""
BLOCK = 1 << 20
"""Bytes that are read at a time: they stay in the cache of the CPU."""
DATA_TYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip


@dataclass(frozen=True)
class TensorInfo:
    """The type, shape and range of a tensor; an empty one has no range (`low` is above `high`).

    `is_ascending` says that no number is below the one before it; it is known of integers only.
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
    """A safetensors file: its checksum, its tensors, and the texts in its header."""

    sha256: str
    tensors: Mapping[str, TensorInfo]
    metadata: Mapping[str, str]


_Size = Annotated[int, Field(strict=True, ge=0, lt=2**63)]


class _Entry(BaseModel):
    """A tensor in the header of a file."""

    model_config = ConfigDict(extra="forbid")

    dtype: str
    shape: Annotated[list[_Size], Field(max_length=8)]
    data_offsets: tuple[_Size, _Size]


_ENTRIES = TypeAdapter(dict[str, _Entry])
_METADATA = TypeAdapter(dict[str, str])


def scan_tensor_file(path: Path) -> TensorFile:
    """Read a file; one that is not safetensors is an OSError or a ValueError."""
    digest = hashlib.sha256()
    with open_regular(path) as file:
        entries, metadata, start = _read_header(file, digest)
        size, tensors, end = os.fstat(file.fileno()).st_size - start, {}, 0
        for name, entry in sorted(entries.items(), key=lambda item: item[1].data_offsets):
            if entry.data_offsets[0] != end:
                raise ValueError(f"the tensor {name!r} has a wrong place")
            end = entry.data_offsets[1]
            if end > size:
                raise ValueError(f"the tensor {name!r} is truncated")
            tensors[name] = _scan_tensor(file, name, entry, digest)
        if end != size:
            raise ValueError("there is more than the tensors")
    return TensorFile(digest.hexdigest(), tensors, metadata)


def _read_header(file: BinaryIO, digest: Any) -> tuple[dict[str, _Entry], dict[str, str], int]:
    """Return the entries of tensors, the texts, and where the tensors begin."""
    length_bytes = file.read(8)
    length = int.from_bytes(length_bytes, "little")
    if len(length_bytes) < 8 or length > MAX_HEADER:
        raise ValueError("it has no header of safetensors")
    header = file.read(length)
    digest.update(length_bytes + header)
    fields = parse_json(header)
    if len(header) < length or not isinstance(fields, dict):
        raise ValueError("it has no header of safetensors")
    try:
        metadata = _METADATA.validate_python(fields.pop("__metadata__", {}))
        entries = _ENTRIES.validate_python(fields)
    except ValidationError:
        raise ValueError("it has a wrong header of safetensors") from None
    return entries, metadata, 8 + length


def _scan_tensor(file: BinaryIO, name: str, entry: _Entry, digest: Any) -> TensorInfo:
    if entry.dtype not in DATA_TYPES:
        raise ValueError(f"the tensor {name!r} has the type {entry.dtype!r}")
    dtype = np.dtype(DATA_TYPES[entry.dtype])
    size = entry.data_offsets[1] - entry.data_offsets[0]
    if math.prod(entry.shape) * dtype.itemsize != size:
        raise ValueError(f"the tensor {name!r} has another size than its shape")
    low, high, is_ascending = math.inf, -math.inf, dtype.kind == "i"
    for block in _blocks(file, size, digest):
        numbers: NDArray[Any] = np.frombuffer(block, dtype)
        first = numbers[0].item()
        if is_ascending:
            is_ascending = first >= high and not (numbers[1:] < numbers[:-1]).any()
        # NaN is neither below nor above anything, but it is the minimum of numpy.
        low, high = np.minimum(low, numbers.min()).item(), np.maximum(high, numbers.max()).item()
    return TensorInfo(entry.dtype, tuple(entry.shape), low, high, is_ascending)


def _blocks(file: BinaryIO, size: int, digest: Any) -> Iterator[bytes]:
    """Yield the next bytes of a file in blocks, and add them to the checksum."""
    while size:
        block = file.read(min(BLOCK, size))
        if len(block) < min(BLOCK, size):
            raise ValueError("it was truncated while it was read")
        digest.update(block)
        size -= len(block)
        yield block
