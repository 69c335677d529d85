"""The files of a model directory, and the manifest with their checksums.

The checksums reveal damaged or mixed-up files, but they are not a signature.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from safetensors import SafetensorError, safe_open

from taxoexpan.errors import ModelError
from taxoexpan.files import recover_output
from taxoexpan.files.inputs import (
    open_regular,
    parse_json,
    read_regular,
    reason_of,
)

KIND = "taxoexpan-model"
VERSION = 11
MANIFEST = "manifest.json"
CONFIG = "config.json"
WEIGHTS = "weights.safetensors"
TOWER = "tower.safetensors"
ANCHORS = "anchors.safetensors"
TAXONOMY = "taxonomy.safetensors"
WORDS = "words.safetensors"
CALIBRATION = "calibration.json"
CONTINUATION = "continuation.json"
CARD = "README.md"
REQUIRED = (CONFIG, WEIGHTS, ANCHORS, TAXONOMY, CALIBRATION, CONTINUATION)
"""The files that every model has, besides the manifest."""
OPTIONAL = (TOWER, WORDS)
"""The files that only models with a text encoder or the fusion have."""
OWN = (MANIFEST, *REQUIRED, *OPTIONAL, CARD, "features", "search.safetensors", "taxonomy")
"""The contents of a model directory; a directory with other files is never replaced. The last three
are of earlier versions."""

Count = Annotated[int, Field(ge=0, lt=2**63)]
"""A number of things in a stored file; larger ones could not be computed with."""

_RESTORE = "train again, or restore the directory"


class FileEntry(BaseModel):
    """The size and the checksum of a file."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    bytes: Count
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Manifest(BaseModel):
    """The files of a model without the card; `sha256` is the checksum of the other fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    kind: str = KIND
    version: int = VERSION
    files: dict[str, FileEntry]
    sha256: str = ""

    def digest(self) -> str:
        """Return the checksum that identifies the whole model."""
        content = self.model_dump(exclude={"sha256"})
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class TensorFile:
    """The type and shape of each tensor in a safetensors file, and the file's metadata."""

    tensors: Mapping[str, tuple[str, tuple[int, ...]]]
    metadata: Mapping[str, str]

    @classmethod
    def open(cls, path: Path) -> TensorFile:
        """Read the header of a file."""
        with safe_open(path, "numpy") as file:
            parts = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
            tensors = {n: (part.get_dtype(), tuple(part.get_shape())) for n, part in parts.items()}
            return cls(tensors, file.metadata() or {})


@dataclass(frozen=True)
class IntactDirectory:
    """A model directory whose files match the manifest."""

    path: Path
    manifest: Manifest
    tensor_files: Mapping[str, TensorFile]

    @property
    def identity(self) -> str:
        """A digest of the weights and the taxonomy, which all other parts must name."""
        return identity_of_parts(self.manifest.files)

    def has(self, part: str) -> bool:
        """Return whether the model has a file."""
        return part in self.manifest.files


def is_archive(path: Path) -> bool:
    """Return whether a path looks like a model directory, of this or an earlier version."""
    return (path / MANIFEST).exists() or (path / CONFIG).exists()


def read_intact(path: Path) -> IntactDirectory:
    """Compare all files of a model with its manifest; refuse missing and damaged files."""
    manifest = read_manifest(path)
    for name, entry in manifest.files.items():
        _check_file(path, name, entry)
    try:
        tensor_files = {
            name: TensorFile.open(path / name)
            for name in manifest.files
            if name.endswith(".safetensors")
        }
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{path}: a file is damaged ({reason_of(error)})", fix=_RESTORE) from None
    return IntactDirectory(path, manifest, tensor_files)


def read_manifest(path: Path) -> Manifest:
    """Read the manifest of a model; refuse other directories and other format versions."""
    if not path.is_dir():
        recover_output(path)
    if not path.is_dir():
        raise ModelError(f"{path}: no such model directory", fix="create one with taxoexpan train")
    if not (path / MANIFEST).exists():
        kind = "this is not a taxoexpan model, or it was saved by an older version"
        raise ModelError(f"{path}: no {MANIFEST}; {kind}", fix="train again")
    try:
        fields = parse_json(read_regular(path / MANIFEST))
    except (ValueError, OSError) as error:
        reason = reason_of(error)
        raise ModelError(f"{path}: {MANIFEST} cannot be read ({reason})", fix=_RESTORE) from None
    if not isinstance(fields, dict) or fields.get("kind") != KIND:
        raise ModelError(f"{path}: {MANIFEST} does not belong to a taxoexpan model")
    if (version := fields.get("version")) != VERSION:
        is_older = isinstance(version, int) and version < VERSION
        age = "an older" if is_older else "a newer or unknown"
        raise ModelError(
            f"{path}: this model was saved by {age} version of taxoexpan", fix="train again"
        )
    try:
        manifest = Manifest.model_validate(fields)
    except ValidationError:
        raise ModelError(f"{path}: {MANIFEST} is damaged", fix=_RESTORE) from None
    if manifest.sha256 != manifest.digest() or not _is_complete(manifest.files):
        raise ModelError(f"{path}: {MANIFEST} is damaged", fix=_RESTORE)
    return manifest


def model_digest(path: Path) -> str:
    """Return a digest of everything that affects the suggestions of a saved model."""
    return read_manifest(path).sha256


def write_manifest(directory: Path) -> None:
    """Write the manifest of a new model directory, with all files except the card."""
    files = sorted(file for file in directory.iterdir() if file.name not in (CARD, MANIFEST))
    entries = {file.name: file_entry(file) for file in files}
    manifest = Manifest(files=entries)
    manifest = manifest.model_copy(update={"sha256": manifest.digest()})
    content = json.dumps(manifest.model_dump(), indent=2)
    (directory / MANIFEST).write_text(f"{content}\n", encoding="utf-8")


def file_entry(path: Path) -> FileEntry:
    """Return the size and the checksum of a file."""
    with open_regular(path) as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return FileEntry(bytes=file.tell(), sha256=digest)


def identity_of_parts(files: Mapping[str, FileEntry]) -> str:
    """Return a digest of the weights and the taxonomy, from their checksums."""
    digests = [files[part].sha256 for part in (WEIGHTS, TAXONOMY)]
    return hashlib.sha256(" ".join(digests).encode()).hexdigest()[:32]


def _check_file(path: Path, name: str, entry: FileEntry) -> None:
    """Refuse a file that differs from the manifest."""
    try:
        sha256 = file_entry(path / name).sha256
    except FileNotFoundError:
        raise ModelError(f"{path}: {name} is missing", fix=_RESTORE) from None
    except (OSError, ValueError) as error:
        reason = reason_of(error)
        raise ModelError(f"{path}: {name} is damaged ({reason})", fix=_RESTORE) from None
    if sha256 != entry.sha256:
        raise ModelError(f"{path}: {name} is damaged", fix=_RESTORE)


def _is_complete(files: Mapping[str, FileEntry]) -> bool:
    """Return whether all files that a model needs are listed, and no others."""
    return {*REQUIRED} <= {*files} <= {*REQUIRED, *OPTIONAL}
