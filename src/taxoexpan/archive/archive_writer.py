"""Writing a model directory, whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray
from safetensors.torch import save_file
from torch import Tensor

from taxoexpan.archive.archive import Archive
from taxoexpan.archive.model_card import ModelCard
from taxoexpan.features.stored_words import words_arrays
from taxoexpan.files import whole_directory
from taxoexpan.model_directory import (
    ANCHORS,
    CALIBRATION,
    CARD,
    CONFIG,
    CONTINUATION,
    FEATURES,
    OWN,
    TAXONOMY,
    TOWER,
    WEIGHTS,
    WORDS,
    file_entry,
    identity_of_parts,
    write_manifest,
)
from taxoexpan.taxonomy.storage import taxonomy_arrays


def save_archive(archive: Archive, path: Path, force: bool = False) -> None:
    """Write a model directory, completely or not at all."""
    with whole_directory(path, OWN, force) as directory:
        _save_arrays(taxonomy_arrays(archive.taxonomy), directory / TAXONOMY)
        _save_tensors(archive.network.state_dict(), directory / WEIGHTS)
        entries = {part: file_entry(directory / part) for part in (WEIGHTS, TAXONOMY)}
        identity = identity_of_parts(entries)
        _save_tensors(_anchor_tensors(archive), directory / ANCHORS, identity)
        if archive.tower is not None:
            _save_tensors(archive.tower.state_dict(), directory / TOWER, identity)
        if archive.texts is not None:
            _save_arrays(words_arrays(archive.texts.words), directory / WORDS, identity)
        archive.encoder.save(directory / FEATURES)
        for part, fields in _json_parts(archive).items():
            _write_json(directory / part, {"model": identity, **fields})
        (directory / CARD).write_text(_card(archive).text(), encoding="utf-8")
        write_manifest(directory)


def _json_parts(archive: Archive) -> dict[str, dict[str, Any]]:
    """Return the content of the JSON files; a continued training needs the last one."""
    return {
        CONFIG: {
            "preset": archive.preset,
            "seed": archive.seed,
            "dimension": archive.vectors.dimension,
            "settings": archive.config.model_dump(),
            "training": archive.training.as_dict(),
        },
        CALIBRATION: archive.calibrators.as_dict(),
        CONTINUATION: {
            "held_out": archive.held_out,
            "rejections": archive.rejections.as_dict(),
            "growth": archive.growth.as_dict(),
        },
    }


def _anchor_tensors(archive: Archive) -> dict[str, Tensor]:
    vectors = archive.vectors
    tensors = {"names": vectors.names, "heads": vectors.heads, "head_of": vectors.head_of}
    tensors["keys"] = archive.keys
    texts = archive.texts
    if texts is not None and texts.as_anchors is not None and texts.as_queries is not None:
        tensors |= {"as_anchors": texts.as_anchors, "as_queries": texts.as_queries}
    return tensors


def _save_tensors(tensors: dict[str, Tensor], path: Path, identity: str | None = None) -> None:
    stored = {name: tensor.cpu().contiguous() for name, tensor in tensors.items()}
    save_file(stored, path, metadata=None if identity is None else {"model": identity})


def _save_arrays(arrays: dict[str, NDArray[Any]], path: Path, identity: str | None = None) -> None:
    # A copy, because torch warns about arrays that cannot be written to.
    tensors = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
    _save_tensors(tensors, path, identity)


def _write_json(path: Path, content: dict[str, Any]) -> None:
    indent = 2 if path.name == CONFIG else None
    path.write_text(
        json.dumps(content, ensure_ascii=False, indent=indent, allow_nan=False) + "\n",
        encoding="utf-8",
    )


def _card(archive: Archive) -> ModelCard:
    return ModelCard(
        archive.preset,
        archive.seed,
        archive.config,
        archive.taxonomy,
        archive.training,
        archive.calibrators,
        archive.growth,
        has_tower=archive.tower is not None,
    )
