"""Finished folds on disk, one file per fold, so that an interrupted run can resume."""

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

from taxoexpan.curation.cleaning.fold_results import FoldResult, Reason, RelationScores
from taxoexpan.errors import FormatError
from taxoexpan.files import write_whole
from taxoexpan.files.inputs import parse_json, read_regular

_OTHER_FOLDER = "choose another folder"
_NAME = re.compile(r"fold-(\d+)\.npz")
_FLOATS = ("log_scores", "better_log_scores", "confidences", "better_confidences")
_DAMAGE = (
    OSError, ValueError, KeyError, TypeError, EOFError, RuntimeError, struct.error, zlib.error,
    zipfile.BadZipFile,
)  # fmt: skip
"""The errors that reading a damaged file can raise; NotImplementedError is a RuntimeError."""


@dataclass(frozen=True)
class FoldFiles:
    """A folder with the finished folds of one run; `identity` distinguishes runs."""

    folder: Path
    identity: str

    def load(self) -> dict[int, FoldResult]:
        """Read all saved folds by number, and refuse a damaged one or one of another run."""
        return {number: self._read(path) for number, path in sorted(_files_in(self.folder))}

    def read(self, number: int) -> FoldResult:
        """The saved fold with this number."""
        return self._read(self._path(number))

    def save(self, number: int, result: FoldResult) -> None:
        """Save a finished fold: the scores as columns, the reasons as JSON."""
        content = io.BytesIO()
        reasons = json.dumps([asdict(reason) for reason in result.reasons]).encode()
        columns: dict[str, Any] = {
            "identity": np.array(self.identity),
            "reasons": np.frombuffer(reasons, np.uint8),
            **result.scores.columns(),
        }
        np.savez(content, **columns)
        try:
            self.folder.mkdir(exist_ok=True)
        except OSError as error:
            message = f"cannot be created: {error.strerror}; {_OTHER_FOLDER}"
            raise FormatError(self.folder, message, option="work") from None
        try:
            write_whole({self._path(number): content.getvalue()}, force=True)
        except FormatError:
            with suppress(OSError):  # removes the folder only if it is empty
                self.folder.rmdir()
            raise

    def _path(self, number: int) -> Path:
        return self.folder / f"fold-{number}.npz"

    def _read(self, path: Path) -> FoldResult:
        try:
            content = read_regular(path)
            with zipfile.ZipFile(io.BytesIO(content)) as parts:
                if parts.testzip() is not None:
                    raise ValueError("wrong checksum")
            with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
                identity = str(arrays["identity"])
                reasons = tuple(Reason(**each) for each in parse_json(arrays["reasons"].tobytes()))
                columns = {column.name: arrays[column.name] for column in fields(RelationScores)}
            for name, column in columns.items():
                if column.shape != columns["concepts"].shape or column.ndim != 1:
                    raise ValueError(f"{name} has another length than the other columns")
                if column.dtype != (np.float64 if name in _FLOATS else np.int64):
                    raise ValueError(f"{name} has the wrong data type")
                if name in _FLOATS[:2] and not np.isfinite(column).all():
                    raise ValueError(f"{name} has NaN or infinity")
        except _DAMAGE as error:
            message = f"cannot read this fold ({error}); delete it to compute it again"
            raise FormatError(path, message) from None
        if identity != self.identity:
            raise FormatError(
                path,
                "this fold belongs to another run with another taxonomy, settings, seed, folds or "
                f"top; repeat that command, delete {self.folder}, or {_OTHER_FOLDER}",
                option="work",
            )
        return FoldResult(RelationScores(**columns), reasons)


def remove_folds(folder: Path) -> None:
    """Delete the saved folds, and the folder if it is empty then."""
    for _, path in _files_in(folder):
        path.unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


def _files_in(folder: Path) -> list[tuple[int, Path]]:
    """The numbers and files of the saved folds in a folder."""
    if folder.exists() and not folder.is_dir():
        raise FormatError(folder, f"is a file; {_OTHER_FOLDER}", option="work")
    paths = folder.iterdir() if folder.exists() else ()
    return [(int(name[1]), path) for path in paths if (name := _NAME.fullmatch(path.name))]
