"""The folds that are done, a file each, so that a run that was stopped can go on."""

from __future__ import annotations

import io
import json
import re
import struct
import zipfile
import zlib
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from taxoexpan.curation.cleaning.judgements import Judgements
from taxoexpan.curation.cleaning.reasons import Fold, Reason
from taxoexpan.errors import FormatError
from taxoexpan.files import write_whole

_NAME = re.compile(r"fold-(\d+)\.npz")
_NUMBERS = ("shares", "other_shares", "confidences", "other_confidences")
_DAMAGE = (
    OSError, ValueError, KeyError, TypeError, EOFError, RuntimeError, struct.error, zlib.error,
    zipfile.BadZipFile,
)  # fmt: skip
"""What reading a damaged file can come to; NotImplementedError is a RuntimeError."""


@dataclass(frozen=True)
class FoldFiles:
    """A folder with the folds of one run, which `identity` tells from every other."""

    folder: Path
    identity: str

    def load(self) -> dict[int, Fold]:
        """All folds that are there by their number; a damaged one, or another run's, is refused."""
        return {number: self._read(path) for number, path in sorted(_files_in(self.folder))}

    def save(self, number: int, fold: Fold) -> None:
        """Keep a fold that is done: the columns, and the reasons as JSON."""
        content = io.BytesIO()
        reasons = json.dumps([asdict(reason) for reason in fold.reasons]).encode()
        columns: dict[str, Any] = {
            "identity": np.array(self.identity),
            "reasons": np.frombuffer(reasons, np.uint8),
            **fold.judgements.columns(),
        }
        np.savez(content, **columns)
        try:
            self.folder.mkdir(exist_ok=True)
        except OSError as error:
            message = f"cannot be made: {error.strerror}; choose another folder with --work"
            raise FormatError(self.folder, message) from None
        write_whole({self.folder / f"fold-{number}.npz": content.getvalue()}, force=True)

    def _read(self, path: Path) -> Fold:
        try:
            content = path.read_bytes()
            with zipfile.ZipFile(io.BytesIO(content)) as parts:
                if parts.testzip() is not None:
                    raise ValueError("a checksum is wrong")
            with np.load(io.BytesIO(content), allow_pickle=False) as columns:
                identity = str(columns["identity"])
                told = json.loads(columns["reasons"].tobytes())
                read = {column.name: columns[column.name] for column in fields(Judgements)}
            for name, column in read.items():
                if column.shape != read["concepts"].shape or column.ndim != 1:
                    raise ValueError(f"{name} is not as long as the others")
                if column.dtype != (np.float64 if name in _NUMBERS else np.int64):
                    raise ValueError(f"{name} is of another kind")
            reasons = tuple(Reason(**each) for each in told)
        except _DAMAGE as error:
            message = f"this fold cannot be read ({error}); remove it, and it is computed again"
            raise FormatError(path, message) from None
        if identity != self.identity:
            raise FormatError(
                path,
                "this fold is of another run, with another taxonomy, settings, seed, folds or top; "
                f"give the same again, remove {self.folder}, or choose another folder with --work",
            )
        return Fold(Judgements(**read), reasons)


def remove_folds(folder: Path) -> None:
    """Remove the folds, and their folder where nothing else is in it."""
    for _, path in _files_in(folder):
        path.unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


def _files_in(folder: Path) -> list[tuple[int, Path]]:
    """The files of folds in a folder, each with its number."""
    if folder.exists() and not folder.is_dir():
        raise FormatError(folder, "is a file; choose another folder with --work")
    found = folder.iterdir() if folder.exists() else ()
    return [(int(name[1]), path) for path in found if (name := _NAME.fullmatch(path.name))]
