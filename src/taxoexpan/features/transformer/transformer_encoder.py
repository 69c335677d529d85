"""`transformer:MODEL`: vectors of a sentence transformer that is on this machine already.

Nothing is fetched and nothing of a model is run but its numbers: its weights are safetensors, and
it is made of known parts. A model is a folder, or a name that an installed package or the local
Hugging Face cache goes by.
"""

from __future__ import annotations

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
from tqdm import tqdm

from taxoexpan.errors import ConfigurationError, ModelError, TaxoExpanError, is_out_of_memory
from taxoexpan.features.encoder import Encoder, Vectors, normalize_rows
from taxoexpan.features.transformer.model_files import (
    AGAIN,
    declared_dimension,
    files_of,
    find_folder,
    parts_of,
    present,
    refuse_damaged,
)
from taxoexpan.files import file_digest

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer


BATCH = 64
"""Texts that go through the model at a time."""

MANY = 2_000
"""Texts from which on a bar is shown."""

_PROBE = "Green tea, of leaves that were not left to wither."


class TransformerEncoder(Encoder):
    """A sentence transformer's vectors; what is wrong with its files is found at once.

    The model itself is loaded for the first text.
    """

    def __init__(self, model: str, device: str | torch.device = "auto") -> None:
        self.name = f"transformer:{model}"
        if find_spec("sentence_transformers") is None:
            raise ConfigurationError(
                f"features {self.name!r} need sentence-transformers, which is not installed; "
                "pip install 'taxoexpan[transformers]'"
            )
        self._folder = find_folder(model)
        self._device = str(device)
        self._progress = False
        parts = parts_of(self._folder)
        self._files = [path for part in parts for path in files_of(part)]
        self._files += present(self._folder, "modules.json", "config_sentence_transformers.json")
        refuse_damaged(self._files)
        self._declared = declared_dimension(self._folder, parts)
        self.dimension = self._declared or len(_vectors(self._model, [_PROBE])[0])

    def show_progress(self, shown: bool) -> None:
        """Whether to show a bar where there is much to encode."""
        self._progress = shown

    def prepare(self, texts: Sequence[str]) -> None:
        """Load the model, if there is anything to encode."""
        if any(text.strip() for text in texts):
            _ = self._model

    def fingerprint(self) -> str:
        """A digest of the files that make its vectors, wherever they lie."""
        digests = {path.relative_to(self._folder): file_digest(path) for path in self._files}
        lines = [f"{path.as_posix()} {digest}\n" for path, digest in sorted(digests.items())]
        return hashlib.sha256("".join(lines).encode()).hexdigest()[:16]

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One row a text; zeros where it is blank, or the model knows none of it."""
        known = self._known({text for text in texts if text.strip()})
        rows = {text: row for row, text in enumerate(known)}
        vectors = np.zeros((len(known) + 1, self.dimension), dtype=np.float32)
        hidden = None if self._progress and len(known) >= MANY else True
        with tqdm(
            total=len(known), desc="encoding", unit=" texts", leave=False, disable=hidden
        ) as bar:
            for start in range(0, len(known), BATCH):
                batch = known[start : start + BATCH]
                vectors[start : start + len(batch)] = self._encode_batch(batch)
                bar.update(len(batch))
        return vectors[[rows.get(text, -1) for text in texts]]

    def _known(self, distinct: set[str]) -> list[str]:
        """The texts that the model has any token of, those with most tokens first.

        A batch of texts of a length needs little padding, and memory that lacks is missed soon.
        """
        if not distinct:
            return []
        tokenizer, texts = self._model.tokenizer, sorted(distinct)
        with _quietly():
            tokens = tokenizer(texts, add_special_tokens=False, truncation=True)["input_ids"]
        special = set(tokenizer.all_special_ids)  # the token for what is unknown is one of them
        rows = [row for row, ids in enumerate(tokens) if not special.issuperset(ids)]
        return [texts[row] for row in sorted(rows, key=lambda row: -len(tokens[row]))]

    def _encode_batch(self, batch: list[str]) -> Vectors:
        with _quietly(), self._enough_memory():
            return normalize_rows(_vectors(self._model, batch))

    @cached_property
    def _model(self) -> SentenceTransformer:
        """The model, of which every weight is known.

        Weights that a file lacks are drawn at random, without an error. So it is loaded twice, and
        where the draws matter, the second gives other vectors than the first.
        """
        from taxoexpan.device import choose_device

        device = choose_device(self._device)
        first = self._load(device, seed=0)[1]
        model, second = self._load(device, seed=1)
        if not np.allclose(first, second, rtol=0, atol=1e-6):
            message = "the weights are not all those that config.json wants"
            raise ModelError(f"{self._folder}: {message}; {AGAIN}")
        if self._declared not in (None, second.shape[1]):
            message = f"{self._declared} dimensions are declared, but its vectors have"
            raise ModelError(f"{self._folder}: {message} {second.shape[1]}; {AGAIN}")
        return model

    def _load(self, device: torch.device, seed: int) -> tuple[SentenceTransformer, Vectors]:
        """The model, and what it makes of a probe."""
        import torch

        make = _sentence_transformer()
        try:
            with (
                _quietly(),
                _offline(),
                redirect_stderr(StringIO()),  # where the library draws its bars
                torch.random.fork_rng(devices=[]),
                self._enough_memory(),
            ):
                torch.default_generator.manual_seed(seed)
                model = make(
                    str(self._folder),
                    device=str(device),
                    trust_remote_code=False,
                    local_files_only=True,
                    model_kwargs={"use_safetensors": True, "dtype": torch.float32},
                )
                _refuse_other_tokenizer(self._folder, model)
                return model, _vectors(model, [_PROBE])
        except TaxoExpanError:
            raise
        except Exception as error:  # of any kind, by what is wrong with the files
            message = f"the model cannot be loaded: {_reason(error)}"
            raise ModelError(f"{self._folder}: {message}; {AGAIN}, or choose another") from None

    @contextmanager
    def _enough_memory(self) -> Iterator[None]:
        try:
            yield
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            message = "the memory is not enough for this model; choose a smaller one"
            raise ModelError(f"{self._folder}: {message}") from None


def _refuse_other_tokenizer(folder: Path, model: SentenceTransformer) -> None:
    transformer: Any = model.transformers_model
    rows = transformer.get_input_embeddings().weight.shape[0]
    if len(model.tokenizer) > rows:
        raise ModelError(
            f"{folder}: the tokenizer has {len(model.tokenizer):,} tokens, but the weights know "
            f"{rows:,}, so they are of two models; {AGAIN}"
        )


def _vectors(model: SentenceTransformer, texts: list[str]) -> Vectors:
    vectors = model.encode(texts, batch_size=BATCH, show_progress_bar=False)
    return np.asarray(vectors, dtype=np.float32)


def _sentence_transformer() -> type[SentenceTransformer]:
    try:
        with _quietly():
            from sentence_transformers import SentenceTransformer
    except ImportError as error:
        message = f"sentence-transformers cannot be used: {_reason(error)}"
        raise ConfigurationError(f"{message}; pip install -U taxoexpan[transformers]") from None
    return SentenceTransformer


def _reason(error: Exception) -> str:
    """Why a library fails: the first sentence of its message, which may go on for a page."""
    message = str(error).strip()
    if "mismatched_sizes" in message or "state_dict" in message:
        return "its weights do not fit its configuration"
    if "couldn't connect" in message:
        return "it wants files that are not in its folder"
    first = message.partition("\n")[0].partition(". ")[0]
    return first.rstrip(".") or type(error).__name__


@contextmanager
def _quietly() -> Iterator[None]:
    """Without the libraries' warnings and log lines, which are not meant for a taxonomy's maker."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


@contextmanager
def _offline() -> Iterator[None]:
    """Without any request: a model's files may name others, which the library would fetch."""
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before
