"""Creation of encoders by name: `pretrained`, `vectors:FILE` …, or several joined by +."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from taxoexpan.errors import ConfigurationError
from taxoexpan.features.cached_encoder import CachedEncoder
from taxoexpan.features.encoder import Encoder, Vectors, normalize_rows
from taxoexpan.features.large import LargeEncoder
from taxoexpan.features.pretrained import PretrainedEncoder
from taxoexpan.features.static import StaticEncoder
from taxoexpan.features.word_vectors import WordVectorEncoder

if TYPE_CHECKING:
    from taxoexpan.config import UnknownWords

PLAIN = ("large", "pretrained", "static")
"""The encoders without an argument."""
ARGUMENTS = {"vectors": "FILE", "transformer": "NAME_OR_PATH"}
"""The encoders with an argument, and what the argument is."""

# A path may contain a +, so only a + before the name of an encoder separates two encoders.
_NAMES = rf"(?:{'|'.join(PLAIN)})\s*(?:\+|$)|(?:{'|'.join(ARGUMENTS)}):"
_SEPARATOR = re.compile(rf"\+(?=\s*(?:{_NAMES}))")


def make_encoder(name: str, oov: UnknownWords = "skip", device: str = "auto") -> Encoder:
    """Create an encoder by name, and check its files."""
    parts = [_make_one(part.strip(), oov, device) for part in _SEPARATOR.split(name)]
    return parts[0] if len(parts) == 1 else ConcatenatedEncoder(parts)


class ConcatenatedEncoder(Encoder):
    """Several encoders, whose vectors are concatenated with equal weights at unit length."""

    def __init__(self, parts: Sequence[Encoder]) -> None:
        self.parts = parts
        self.name = "+".join(part.name for part in parts)
        self.dimension = sum(part.dimension for part in parts)

    def show_progress(self, shown: bool) -> None:
        """Show or hide the progress bars of all encoders."""
        for part in self.parts:
            part.show_progress(shown)

    def prepare(self, texts: Sequence[str]) -> None:
        """Let all encoders load the data for these texts."""
        for part in self.parts:
            part.prepare(texts)

    def part_with_model(self) -> Encoder | None:
        """Return the first part that has a sentence model, if there is one."""
        return next(filter(None, (part.part_with_model() for part in self.parts)), None)

    def unload(self) -> None:
        """Free the memory of all encoders."""
        for part in self.parts:
            part.unload()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, from the encoders that know the text."""
        return normalize_rows(np.hstack([part.encode(texts) for part in self.parts]))

    def fingerprint(self) -> str:
        """Return the fingerprints of all encoders."""
        return " + ".join(part.fingerprint() for part in self.parts)


def _make_one(name: str, oov: UnknownWords, device: str) -> Encoder:
    kind, _, argument = name.partition(":")
    if name == "static":
        return StaticEncoder()
    if name == "pretrained":
        return CachedEncoder(PretrainedEncoder(device))
    if name == "large":
        return CachedEncoder(LargeEncoder(device))
    if kind not in ARGUMENTS:
        known = ", ".join([*PLAIN, *(f"{kind}:{value}" for kind, value in ARGUMENTS.items())])
        raise ConfigurationError(
            f"there are no features {name!r}", fix=f"choose one of {known}, or join several with +"
        )
    if not argument:
        raise ConfigurationError(
            f"features {name!r} need an argument", fix=f"write {kind}:{ARGUMENTS[kind]}"
        )
    if kind == "vectors":
        return CachedEncoder(WordVectorEncoder(Path(argument), oov))
    from taxoexpan.features.transformer.transformer_encoder import TransformerEncoder

    return CachedEncoder(TransformerEncoder(argument, device))
