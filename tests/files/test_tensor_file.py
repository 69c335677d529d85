from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from taxoexpan.files.tensor_file import BLOCK, TensorInfo, scan_tensor_file


def test_a_scan_finds_types_shapes_ranges_and_the_checksum(tmp_path: Path) -> None:
    path, rng = tmp_path / "file", np.random.default_rng(0)
    large = rng.normal(size=(3, BLOCK)).astype(np.float32)
    tensors = {
        "large": large,
        "up": np.repeat(np.arange(BLOCK), 2),
        "down": np.append(np.arange(BLOCK), BLOCK - 2),
        "bytes": np.array([7, 3], np.uint8),
        "none": np.zeros((0, 4)),
    }
    save_file(tensors, path, {"a": "b"})
    file = scan_tensor_file(path)
    assert file.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert file.metadata == {"a": "b"}
    assert file.tensors == {
        "large": TensorInfo("F32", (3, BLOCK), float(large.min()), float(large.max()), False),
        "up": TensorInfo("I64", (2 * BLOCK,), 0, BLOCK - 1, True),
        "down": TensorInfo("I64", (BLOCK + 1,), 0, BLOCK - 1, False),
        "bytes": TensorInfo("U8", (2,), 3, 7, False),
        "none": TensorInfo("F64", (0, 4), np.inf, -np.inf, False),
    }
    assert all(info.is_finite for info in file.tensors.values())


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, BLOCK, -1])
def test_one_number_that_is_not_finite_is_found(tmp_path: Path, value: float, place: int) -> None:
    numbers = np.zeros(2 * BLOCK, np.float32)
    numbers[place] = value
    save_file({"x": numbers}, tmp_path / "file")
    assert not scan_tensor_file(tmp_path / "file").tensors["x"].is_finite


def write(path: Path, header: object, data: bytes = b"", length: int | None = None) -> None:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes((len(text) if length is None else length).to_bytes(8, "little") + text + data)


def entry(**changes: object) -> dict[str, object]:
    return {"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **changes}}


@pytest.mark.parametrize(
    "header",
    [
        b"",
        [],
        b"[" * 100_000,
        {"x": 1},
        {"__metadata__": {"a": 1}, **entry()},
        entry(shape=[-2]),
        entry(shape=[True, 2]),
        entry(shape=[2.0]),
        entry(shape=[2**70]),
        entry(data_offsets=[0]),
        entry(shape=[3]),
        entry(dtype="F128"),
        entry(dtype="BF16", shape=[4]),
        entry(data_offsets=[8, 16]),
        entry(shape=[2**40], data_offsets=[0, 2**42]),
        entry(shape=[1], data_offsets=[0, 4]),
        entry() | {"y": entry()["x"]},
        b'{"x":1,"x":2}',
        json.dumps(entry()).encode()[:-1] + b"," + json.dumps(entry()).encode()[1:],
    ],
)
def test_a_wrong_header_is_an_error(tmp_path: Path, header: object) -> None:
    write(tmp_path / "file", header, bytes(8))
    with pytest.raises(ValueError, match=r"header|tensor|key twice"):
        scan_tensor_file(tmp_path / "file")


@pytest.mark.parametrize("length", [2**63, 10**6, 9])
def test_a_header_longer_than_the_file_is_an_error(tmp_path: Path, length: int) -> None:
    write(tmp_path / "file", b"{", b"", length)
    with pytest.raises(ValueError, match="header"):
        scan_tensor_file(tmp_path / "file")
