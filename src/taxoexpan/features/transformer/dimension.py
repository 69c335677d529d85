"""The dimension of a sentence transformer's vectors, from its files, without loading it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from taxoexpan.features.transformer.model_files import ModelModule, matching_files, read_json

_SIZE_FIELDS = {
    "Transformer": ("hidden_size", "dim", "d_model"),
    "Pooling": ("embedding_dimension", "word_embedding_dimension"),
    "Dense": ("out_features",),
}
"""The fields of `config.json` with the size of a module's output; the first one present counts."""


def declared_dimension(folder: Path, modules: list[ModelModule]) -> int | None:
    """Return the size of the vectors in the last module that declares a size, or None."""
    sizes = [size for module in modules if (size := _declared_size(module)) is not None]
    if not sizes:
        return None
    settings = matching_files(folder, "config_sentence_transformers.json")
    limits = [read_json(path).get("truncate_dim") for path in settings]
    return min([sizes[-1], *(limit for limit in limits if isinstance(limit, int))])


def _declared_size(module: ModelModule) -> int | None:
    """Return the size of a module's output, or None if its settings have no size."""
    for path in matching_files(module.folder, "config.json"):
        config = read_json(path)
        for name in _SIZE_FIELDS.get(module.kind, ()):
            size = config.get(name)
            if isinstance(size, int):
                return size * _count_pooling_modes(config)
    return None


def _count_pooling_modes(config: dict[str, Any]) -> int:
    """Return the number of pooled vectors that are concatenated; 1 if nothing is pooled."""
    modes = config.get("pooling_mode", [])
    if not isinstance(modes, list):
        modes = [modes]
    # Older files have one flag per mode.
    flags = [name for name, on in config.items() if name.startswith("pooling_mode_") and on]
    return max(1, len(modes) or len(flags))
