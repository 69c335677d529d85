"""The encoder `transformer:MODEL`, which uses a local sentence transformer.

Nothing is downloaded, and no code of a model is run: its weights must be safetensors.
"""

from __future__ import annotations

import copy
import hashlib
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from functools import cached_property
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from taxoexpan.errors import (
    ConfigurationError,
    MissingPackageError,
    ModelError,
    TaxoExpanError,
    is_out_of_memory,
)
from taxoexpan.features.encoder import Encoder, Vectors, normalize_rows
from taxoexpan.features.transformer.dimension import declared_dimension
from taxoexpan.features.transformer.model_files import (
    GET_AGAIN,
    find_model,
    matching_files,
    module_files,
    read_modules,
    refuse_damaged,
)
from taxoexpan.files import file_digest
from taxoexpan.progress import Progress

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer

    from taxoexpan.features.sentence_model import LoadedTransformer


BATCH_SIZE = 64


_PROBE = "Green tea, of leaves that were not left to wither."


class TransformerEncoder(Encoder):
    """An encoder that checks a sentence transformer's files, and loads it for the first text."""

    def __init__(self, model: str, device: str | torch.device = "auto") -> None:
        self.name = f"transformer:{model}"
        if find_spec("sentence_transformers") is None:
            raise MissingPackageError(
                f"features {self.name!r} need sentence-transformers, which is not installed",
                fix="pip install 'taxoexpan[transformers]'",
            )
        self._folder = find_model(model)
        self._device = str(device)
        modules = read_modules(self._folder)
        self._files = [path for module in modules for path in module_files(module)]
        lists = ("modules.json", "config_sentence_transformers.json")
        self._files += matching_files(self._folder, *lists)
        refuse_damaged(self._files)
        self._declared = declared_dimension(self._folder, modules)
        self.dimension = self._declared or len(_vectors(self._model, [_PROBE])[0])

    def part_with_model(self) -> Encoder:
        """Return this encoder."""
        return self

    def copy_model(self) -> LoadedTransformer:
        """Return a copy of the model, whose weights may be changed."""
        from taxoexpan.features.sentence_model import LoadedTransformer

        return LoadedTransformer(copy.deepcopy(self._model))

    def prepare(self, texts: Sequence[str]) -> None:
        """Load the model if there is any text to encode."""
        if any(text.strip() for text in texts):
            _ = self._model

    def unload(self) -> None:
        """Free the model."""
        self.__dict__.pop("_model", None)

    def fingerprint(self) -> str:
        """Return a digest of the files of the model, independent of its directory."""
        digests = {path.relative_to(self._folder): file_digest(path) for path in self._files}
        lines = [f"{path.as_posix()} {digest}\n" for path, digest in sorted(digests.items())]
        return hashlib.sha256("".join(lines).encode()).hexdigest()[:16]

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, or zeros for a text without any known token."""
        known = self._known({text for text in texts if text.strip()})
        rows = {text: row for row, text in enumerate(known)}
        vectors = np.zeros((len(known) + 1, self.dimension), dtype=np.float32)
        with Progress("encoding", len(known), "texts", shown=False) as bar:
            for start in range(0, len(known), BATCH_SIZE):
                batch = known[start : start + BATCH_SIZE]
                with _quiet():
                    encoded = normalize_rows(_vectors(self._model, batch))
                vectors[start : start + len(batch)] = encoded
                bar.update(len(batch))
        return vectors[[rows.get(text, -1) for text in texts]]

    def _known(self, distinct: set[str]) -> list[str]:
        """Return the texts with a known token, longest first, so that memory errors show early."""
        if not distinct:
            return []
        tokenizer = self._model.tokenizer
        texts = sorted(distinct)
        with _quiet():
            tokens = tokenizer(texts, add_special_tokens=False, truncation=True)["input_ids"]
        special = set(tokenizer.all_special_ids)  # including the token for unknown words
        rows = [row for row, ids in enumerate(tokens) if not special.issuperset(ids)]
        return [texts[row] for row in sorted(rows, key=lambda row: -len(tokens[row]))]

    @cached_property
    def _model(self) -> SentenceTransformer:
        """The loaded model, with all its weights.

        The library fills missing weights with random numbers, without an error. Therefore the model
        is loaded twice with different seeds, and both must give the same vector.
        """
        from taxoexpan.device import choose_device

        device = choose_device(self._device)
        first = self._load(device, seed=0)[1]
        model, second = self._load(device, seed=1)
        if not np.allclose(first, second, rtol=0, atol=1e-6):
            message = "some weights that config.json requires are missing"
            raise ModelError(f"{self._folder}: {message}", fix=GET_AGAIN)
        if self._declared not in (None, second.shape[1]):
            message = f"the model declares {self._declared} dimensions, but its vectors have"
            raise ModelError(f"{self._folder}: {message} {second.shape[1]}", fix=GET_AGAIN)
        return model

    def _load(self, device: torch.device, seed: int) -> tuple[SentenceTransformer, Vectors]:
        """Return the model, and its vector of a test text."""
        import torch

        make = _sentence_transformer()
        try:
            with (
                _quiet(),
                _offline(),
                redirect_stderr(StringIO()),  # hides the progress bars of the library
                torch.random.fork_rng(devices=[]),
            ):
                torch.default_generator.manual_seed(seed)
                model = make(
                    str(self._folder),
                    device=str(device),
                    trust_remote_code=False,
                    local_files_only=True,
                    model_kwargs={"use_safetensors": True, "dtype": torch.float32},
                )
                _check_tokenizer(self._folder, model)
                return model, _vectors(model, [_PROBE])
        except TaxoExpanError:
            raise
        except Exception as error:  # damaged files cause errors of many kinds
            if is_out_of_memory(error):
                raise
            message = f"the model cannot be loaded: {_reason(error)}"
            raise ModelError(
                f"{self._folder}: {message}", fix=f"{GET_AGAIN}, or choose another"
            ) from None


def _check_tokenizer(folder: Path, model: SentenceTransformer) -> None:
    transformer: Any = model.transformers_model
    rows = transformer.get_input_embeddings().weight.shape[0]
    if len(model.tokenizer) > rows:
        raise ModelError(
            f"{folder}: the tokenizer has {len(model.tokenizer):,} tokens, but the "
            f"weights have {rows:,}, so they belong to different models",
            fix=GET_AGAIN,
        )


def _vectors(model: SentenceTransformer, texts: list[str]) -> Vectors:
    vectors = model.encode(texts, batch_size=BATCH_SIZE, show_progress_bar=False)
    return np.asarray(vectors, dtype=np.float32)


def _sentence_transformer() -> type[SentenceTransformer]:
    try:
        with _quiet():
            from sentence_transformers import SentenceTransformer
    except ImportError as error:
        message = f"sentence-transformers cannot be imported: {_reason(error)}"
        raise ConfigurationError(message, fix="pip install -U 'taxoexpan[transformers]'") from None
    return SentenceTransformer


def _reason(error: Exception) -> str:
    """Return the first sentence of a library's error message, which may be very long."""
    message = str(error).strip()
    if "mismatched_sizes" in message or "state_dict" in message:
        return "its weights do not fit its configuration"
    if "couldn't connect" in message:
        return "it needs files that are not in its folder"
    first = message.partition("\n")[0].partition(". ")[0]
    return first.rstrip(".") or type(error).__name__


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide the warnings and log messages of the libraries, which do not help our users."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        logging.disable(before)


@contextmanager
def _offline() -> Iterator[None]:
    """Forbid downloads, which the files of a model could cause."""
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before
