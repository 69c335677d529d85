"""Random damage to a model directory, and changes of it with checksums that fit."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import torch
from resealing import adopt, change_tensors, reseal
from torch import Tensor

from taxoexpan.model_directory import (
    CALIBRATION,
    CARD,
    CONFIG,
    CONTINUATION,
    MANIFEST,
    Manifest,
)

JSON_PARTS = (CONFIG, CALIBRATION, CONTINUATION)
RAW_VALUES = (
    *("null", "true", "false", "0", "-1", "1", "0.5", "-0.0", "1e300", "-1e300", "1e999", "1e-320"),
    *("NaN", "Infinity", "-Infinity", "9" * 400, str(2**63), str(-(2**63) - 1), "1e5", "[]", "{}"),
    *('""', '"x"', '"../../x"', '"/dev/zero"', '"\\ud800"', '"\\u0000"', '[[]]', '{"a": {}}'),
    *("[" * 200_000, '{"a":' * 100_000, f'"{"x" * 100_000}"', "[1, 2]", "", "}", '{"a":1,"a":2}'),
)  # fmt: skip
"""JSON to put in the place of a value; not all of it is valid."""


def files_of(directory: Path) -> list[Path]:
    return sorted(file for file in directory.rglob("*") if file.is_file())


def checked_file(directory: Path, rng: Random) -> Path:
    return rng.choice([file for file in files_of(directory) if file.name != CARD])


def flip_bits(directory: Path, rng: Random, _: Path) -> None:
    file = rng.choice(files_of(directory))
    content = bytearray(file.read_bytes())
    for _flip in range(rng.choice((1, 1, 1, 5))):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    file.write_bytes(content)


def truncate(directory: Path, rng: Random, _: Path) -> None:
    file = checked_file(directory, rng)
    content = file.read_bytes()
    size = rng.choice((0, 1, 8, len(content) - 1, rng.randrange(len(content))))
    file.write_bytes(content[:size])


def insert_bytes(directory: Path, rng: Random, _: Path) -> None:
    file = checked_file(directory, rng)
    content, place = file.read_bytes(), rng.randrange(file.stat().st_size + 1)
    added = rng.choice((b"\x00", b" ", b"\xff\xfe", b"\n", rng.randbytes(9), b"[" * 100_000))
    file.write_bytes(content[:place] + added + content[place:])


def swap_file(directory: Path, rng: Random, other: Path) -> None:
    file = checked_file(directory, rng)
    shutil.copy(other / file.relative_to(directory), file)


def replace_file(directory: Path, rng: Random, _: Path) -> None:
    """Put a folder, a dangling link, or nothing in the place of a file."""
    file = checked_file(directory, rng)
    file.unlink()
    kind = rng.choice(("folder", "link", "nothing"))
    if kind == "folder":
        file.mkdir()
    elif kind == "link":
        file.symlink_to("nowhere")


def other_files(directory: Path, rng: Random, _: Path) -> None:
    """Change or add what decides nothing, or add vectors that nobody has listed."""
    kind = rng.choice(("card", "no card", "notes", "features"))
    if kind == "card":
        (directory / CARD).write_bytes(rng.randbytes(50))
    elif kind == "no card":
        (directory / CARD).unlink()
    elif kind == "notes":
        (directory / "notes.txt").write_text("mine")
    else:
        (directory / "features").mkdir()
        (directory / "features" / "vocabulary.json").write_text("{}")


def swap_and_reseal(directory: Path, rng: Random, other: Path) -> None:
    swap_file(directory, rng, other)
    if rng.random() < 0.7:
        adopt(directory)
    reseal(directory)


def change_json_value(directory: Path, rng: Random, _: Path) -> None:
    """Replace, delete or add a value of a JSON file, and write a manifest that fits."""
    part = rng.choice(JSON_PARTS)
    (directory / part).write_text(mutated_json((directory / part).read_text(), rng))
    reseal(directory)


def change_manifest(directory: Path, rng: Random, _: Path) -> None:
    """Change the manifest, with a checksum that fits if the result is a manifest at all."""
    file = directory / MANIFEST
    text = mutated_json(file.read_text(), rng)
    try:
        manifest = Manifest.model_validate(json.loads(text))
        text = manifest.model_copy(update={"sha256": manifest.digest()}).model_dump_json()
    except (ValueError, RecursionError):
        pass
    file.write_text(text)


def mutated_json(text: str, rng: Random) -> str:
    content = json.loads(text)
    places = list(_places(content))
    container, key = rng.choice(places)
    kind = rng.random()
    if kind < 0.15:
        del container[key]
    elif kind < 0.25 and isinstance(container, dict):
        container[f"{key}_more"] = 1
    elif kind < 0.35 and isinstance(container[key], int | float):
        container[key] *= rng.choice((-1, 0, 2, 1e6, 1e-6, 1e30))
    else:
        container[key] = "@HERE@"
        return json.dumps(content).replace('"@HERE@"', rng.choice(RAW_VALUES))
    return json.dumps(content)


def _places(content: Any) -> list[tuple[Any, Any]]:
    keys = list(content) if isinstance(content, dict) else range(len(content))
    places = [(content, key) for key in keys]
    for key in keys:
        if isinstance(content[key], dict | list):
            places += _places(content[key])
    return places


def change_tensor(directory: Path, rng: Random, _: Path) -> None:
    """Change a tensor, and write checksums that fit."""
    part = rng.choice(sorted(file.name for file in directory.glob("*.safetensors")))
    change_tensors(directory, part, lambda tensors: mutate_tensor(tensors, rng))


def mutate_tensor(tensors: dict[str, Tensor], rng: Random) -> None:
    name = rng.choice(sorted(tensors))
    tensor = tensors[name]
    kind = rng.choice(tuple(TENSOR_CHANGES))
    if kind == "removed":
        del tensors[name]
    elif kind == "renamed":
        tensors[f"{name}.x"] = tensors.pop(name)
    elif kind == "swapped":
        second = rng.choice(sorted(tensors))
        tensors[name], tensors[second] = tensors[second].clone(), tensor.clone()
    else:
        generator = torch.Generator().manual_seed(rng.randrange(2**31))
        tensors[name] = TENSOR_CHANGES[kind](tensor, generator, rng)


def _one(tensor: Tensor, rng: Random, value: float) -> Tensor:
    changed = tensor.clone().flatten()
    if len(changed):
        if not changed.is_floating_point():
            value = int(max(min(value if value == value else -1, 2**62), -(2**62)))
            info = torch.iinfo(changed.dtype)
            value = max(min(value, info.max), info.min)
        changed[rng.randrange(len(changed))] = value
    return changed.view(tensor.shape)


TENSOR_CHANGES: dict[str, Callable[[Tensor, torch.Generator, Random], Tensor]] = {
    "removed": lambda t, _g, _r: t,
    "renamed": lambda t, _g, _r: t,
    "swapped": lambda t, _g, _r: t,
    "half": lambda t, _g, _r: t.to(torch.float16),
    "double": lambda t, _g, _r: t.to(torch.float64),
    "integer": lambda t, _g, _r: t.to(torch.int32),
    "bfloat": lambda t, _g, _r: t.to(torch.bfloat16),
    "flat": lambda t, _g, _r: t.flatten(),
    "deeper": lambda t, _g, _r: t[None],
    "shorter": lambda t, _g, _r: t[:-1] if t.dim() else t[None],
    "longer": lambda t, _g, _r: torch.cat([t, t[:1]]) if t.dim() else t[None],
    "empty": lambda t, _g, _r: t.flatten()[:0],
    "nan": lambda t, _g, r: _one(t, r, float("nan")),
    "infinity": lambda t, _g, r: _one(t, r, float("inf")),
    "huge": lambda t, _g, r: _one(t, r, 3e38),
    "all huge": lambda t, _g, _r: torch.full_like(t, 3e38 if t.is_floating_point() else 100),
    "negative": lambda t, _g, r: _one(t, r, -2),
    "large": lambda t, _g, r: _one(t, r, 1000),
    "zero": lambda t, _g, _r: torch.zeros_like(t),
    "permuted": lambda t, g, _r: t.flatten()[torch.randperm(t.numel(), generator=g)].view(t.shape),
    "reversed": lambda t, _g, _r: t.flip(0) if t.dim() else t,
    "scaled": lambda t, _g, _r: t * 1000 if t.is_floating_point() else t,
}


def change_header(directory: Path, rng: Random, _: Path) -> None:
    """Change the header of a file of tensors, and write a manifest that fits."""
    file = rng.choice(sorted(directory.glob("*.safetensors")))
    content = file.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = mutated_json(content[8 : 8 + length].decode(), rng).encode("utf-8", "surrogatepass")
    stated = rng.choice((len(header), len(header), len(header), 2**40, 2**63, 0, len(header) - 1))
    file.write_bytes(stated.to_bytes(8, "little") + header + content[8 + length :])
    reseal(directory)


Mutation = Callable[[Path, Random, Path], None]
DAMAGE: dict[str, Mutation] = {
    "flipped bits": flip_bits,
    "truncated": truncate,
    "inserted bytes": insert_bytes,
    "file of another model": swap_file,
    "no regular file": replace_file,
    "other files": other_files,
}
"""Damage without a new checksum: it is found, or it has no effect."""
RESEALED: dict[str, Mutation] = {
    "file of another model, resealed": swap_and_reseal,
    "JSON, resealed": change_json_value,
    "manifest, resealed": change_manifest,
    "tensor, resealed": change_tensor,
    "header, resealed": change_header,
}
"""Changes with checksums that fit: the model may be another one, but it must work."""
MUTATIONS = DAMAGE | RESEALED
