"""A model with damaged files is refused, or works as before if only other files have changed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from taxoexpan import TaxoExpan
from taxoexpan.errors import TaxoExpanError
from taxoexpan.model_directory import CARD

ROUNDS = int(os.environ.get("TAXOEXPAN_FAULT_ROUNDS", "24"))
NEW = ("cashew milk", "white tea")
Damage = Callable[[Path, Random, Path], None]


def some_file(directory: Path, rng: Random) -> Path:
    return rng.choice(sorted(file for file in directory.iterdir() if file.name != CARD))


def flip_bits(directory: Path, rng: Random, _: Path) -> None:
    file = some_file(directory, rng)
    content = bytearray(file.read_bytes())
    for _flip in range(rng.choice((1, 1, 1, 5))):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    file.write_bytes(content)


def truncate(directory: Path, rng: Random, _: Path) -> None:
    file = some_file(directory, rng)
    content = file.read_bytes()
    size = rng.choice((0, 1, 8, len(content) - 1, rng.randrange(len(content))))
    file.write_bytes(content[:size])


def insert_bytes(directory: Path, rng: Random, _: Path) -> None:
    file = some_file(directory, rng)
    content, place = file.read_bytes(), rng.randrange(file.stat().st_size + 1)
    added = rng.choice((b"\x00", b" ", b"\xff\xfe", b"\n", rng.randbytes(9), b"[" * 100_000))
    file.write_bytes(content[:place] + added + content[place:])


def swap_file(directory: Path, rng: Random, other: Path) -> None:
    file = some_file(directory, rng)
    shutil.copy(other / file.name, file)


def replace_file(directory: Path, rng: Random, _: Path) -> None:
    """Put a folder, a dangling link, or nothing in the place of a file."""
    file = some_file(directory, rng)
    file.unlink()
    kind = rng.choice(("folder", "link", "nothing"))
    if kind == "folder":
        file.mkdir()
    elif kind == "link":
        file.symlink_to("nowhere")


def other_files(directory: Path, rng: Random, _: Path) -> None:
    """Change or add what decides nothing."""
    if rng.random() < 0.5:
        (directory / CARD).write_bytes(rng.randbytes(50))
    else:
        (directory / "notes.txt").write_text("mine")


@pytest.mark.parametrize(
    "damage", [flip_bits, truncate, insert_bytes, swap_file, replace_file, other_files]
)
def test_damaged_models(model: TaxoExpan, tmp_path: Path, damage: Damage) -> None:
    intact, other, directory = (tmp_path / name for name in ("intact", "other", "model"))
    model.save(intact)
    TaxoExpan.from_archive(model._fitted(), "cpu").save(other)
    weights = other / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + b"\0\0\0\0")
    expected = model.suggest(NEW, 3).flat
    for seed in range(ROUNDS // 6):
        shutil.copytree(intact, directory)
        damage(directory, Random(seed), other)
        try:
            found = TaxoExpan.load(directory, "cpu").suggest(NEW, 3).flat
        except TaxoExpanError as error:
            message, found = str(error), None
        if found is None:
            assert damage is not other_files
            assert str(directory) in message
            assert len(message) < 1000
        else:
            assert found == expected, seed
        shutil.rmtree(directory)
