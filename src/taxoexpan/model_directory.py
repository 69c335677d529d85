"""The files of a model directory, and the manifest that lists them with their checksums."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from taxoexpan.errors import ModelError
from taxoexpan.files import recover_directory

KIND, VERSION = "taxoexpan-model", 9
CONFIG, WEIGHTS, TOWER, ANCHORS, TAXONOMY, WORDS, FEATURES, CALIBRATION, CONTINUATION, SEARCH = (
    "config.json",
    "weights.safetensors",
    "tower.safetensors",
    "anchors.safetensors",
    "taxonomy.safetensors",
    "words.safetensors",
    "features",
    "calibration.json",
    "continuation.json",
    "search.safetensors",
)
OWN = (
    CONFIG,
    WEIGHTS,
    TOWER,
    ANCHORS,
    TAXONOMY,
    WORDS,
    FEATURES,
    CALIBRATION,
    CONTINUATION,
    SEARCH,
    "README.md",
    "taxonomy",
)
"""The contents of a model directory; a directory with other files is never replaced. The folder
`taxonomy` is of earlier versions."""
CHECKED = (WEIGHTS, ANCHORS, TAXONOMY, CALIBRATION, CONTINUATION)
"""The files with a checksum that every model has."""
OPTIONAL = (TOWER, WORDS, SEARCH)
"""The files with a checksum that only models with a fine-tuned encoder, the fusion or a candidate
search have."""


def read_intact_manifest(path: Path) -> dict[str, Any]:
    """Read the manifest, and refuse a directory with a missing or damaged part."""
    manifest = _read_manifest(path)
    for part in manifest["sha256"]:
        _refuse_damage(path, part, manifest)
    return manifest


def _refuse_damage(path: Path, part: str, manifest: dict[str, Any]) -> None:
    if not (path / part).is_file():
        raise ModelError(f"{path}: {part} is missing; train again, or restore the directory")
    if _digest(path / part) != manifest["sha256"][part]:
        raise ModelError(f"{path}: {part} is damaged; train again, or restore the directory")


def is_archive(path: Path) -> bool:
    """Return whether a path looks like a model directory."""
    return (path / CONFIG).is_file()


def _read_manifest(path: Path) -> dict[str, Any]:
    if not path.is_dir():
        recover_directory(path)
    if not path.is_dir():
        raise ModelError(f"{path}: no such model directory; create one with taxoexpan train")
    try:
        config = json.loads((path / CONFIG).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelError(f"{path}: no {CONFIG}; this is not a taxoexpan model") from None
    except (ValueError, OSError) as error:
        raise ModelError(f"{path}: {CONFIG} cannot be read ({error}); train again") from None
    if not isinstance(config, dict) or config.get("kind") != KIND:
        raise ModelError(f"{path}: {CONFIG} does not belong to a taxoexpan model")
    if config.get("version") != VERSION:
        raise ModelError(
            f"{path}: the model has format version {config.get('version')}, but this taxoexpan "
            f"reads version {VERSION}; train again, or use the taxoexpan that wrote it"
        )
    if not isinstance(config.get("sha256"), dict) or {*config["sha256"]} - {*OPTIONAL} != {
        *CHECKED
    }:
        raise ModelError(f"{path}: {CONFIG} is damaged; train again, or restore the directory")
    return config


def checksums(directory: Path, parts: Iterable[str]) -> dict[str, str]:
    """Return the checksum of each file."""
    return {part: _digest(directory / part) for part in parts}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
