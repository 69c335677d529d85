"""Model directories that someone has changed on purpose, with checksums that fit."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from taxoexpan.model_directory import write_manifest


def change_json(directory: Path, part: str, change: Callable[[Any], Any]) -> None:
    """Change the content of a JSON file, with its checksum; `change` may return another content."""
    content = json.loads((directory / part).read_text(encoding="utf-8"))
    changed = change(content)
    text = json.dumps(content if changed is None else changed)
    (directory / part).write_text(text, encoding="utf-8")
    write_manifest(directory)


def change_tensors(
    directory: Path, part: str, change: Callable[[dict[str, Tensor]], object]
) -> None:
    """Change the tensors of a file, with all checksums."""
    tensors = {name: tensor.clone() for name, tensor in load_file(directory / part).items()}
    change(tensors)
    stored = {name: tensor.contiguous() for name, tensor in tensors.items()}
    save_file(stored, directory / part, metadata=_metadata(directory / part))
    write_manifest(directory)


def _metadata(file: Path) -> dict[str, str] | None:
    with safe_open(file, framework="pt") as opened:
        metadata: dict[str, str] | None = opened.metadata()
        return metadata
