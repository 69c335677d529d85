"""Which encoder a name stands for: `static`, `vectors:FILE` …, or several side by side, `a+b`."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from taxoexpan.errors import ConfigurationError
from taxoexpan.features.cache import CachedEncoder
from taxoexpan.features.encoder import Encoder, Vectors, normalize_rows
from taxoexpan.features.static import StaticEncoder
from taxoexpan.features.word_vectors.word_vector_encoder import WordVectorEncoder

ARGUMENTS = {"vectors": "FILE", "transformer": "NAME_OR_PATH", "skipgram": "CORPUS"}
"""The encoders that are made of something, and of what."""

# A path may hold a + too, so only one before the name of an encoder parts two of them.
_BETWEEN = re.compile(rf"\+(?=\s*(?:static\s*(?:\+|$)|(?:{'|'.join(ARGUMENTS)}):))")


def make_encoder(
    name: str, oov: str = "skip", device: str = "auto", kept: Path | None = None
) -> Encoder:
    """The encoder of this name; what it needs is looked for at once.

    `oov` says what unknown words of a file of vectors count, `device` where a transformer computes;
    `kept` is the folder where an encoder that learned something has saved it.
    """
    names = [part.strip() for part in _BETWEEN.split(name)]
    if len(names) == 1:
        return _make_one(names[0], oov, device, kept)
    return ConcatenatedEncoder(
        [
            _make_one(part, oov, device, kept and kept / str(place))
            for place, part in enumerate(names)
        ]
    )


class ConcatenatedEncoder(Encoder):
    """Several encoders' vectors, end to end, each with the same weight, at unit length."""

    def __init__(self, parts: Sequence[Encoder]) -> None:
        self.parts = parts
        self.name = "+".join(part.name for part in parts)
        self.dimension = sum(part.dimension for part in parts)

    def show_progress(self, shown: bool) -> None:
        """Whether each is to show its bars."""
        for part in self.parts:
            part.show_progress(shown)

    def learn(self, names: Collection[str]) -> None:
        """Let each learn what it can."""
        for part in self.parts:
            part.learn(names)

    def prepare(self, texts: Sequence[str]) -> None:
        """Let each read what these texts need."""
        for part in self.parts:
            part.prepare(texts)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One row a text; where one encoder knows nothing, the others stand alone."""
        return normalize_rows(np.hstack([part.encode(texts) for part in self.parts]))

    def fingerprint(self) -> str:
        """What tells these encoders from others."""
        return " + ".join(part.fingerprint() for part in self.parts)

    def save(self, folder: Path) -> None:
        """Keep what each has learned, by its place."""
        for place, part in enumerate(self.parts):
            part.save(folder / str(place))


def _make_one(name: str, oov: str, device: str, kept: Path | None) -> Encoder:
    kind, colon, argument = name.partition(":")
    if kind == "static" and not colon:
        return StaticEncoder()
    if kind not in ARGUMENTS:
        known = ", ".join(["static", *(f"{kind}:{what}" for kind, what in ARGUMENTS.items())])
        raise ConfigurationError(
            f"no features are called {name!r}; choose one of {known}, or several with + between"
        )
    if not argument:
        raise ConfigurationError(f"features {name!r} need more; write {kind}:{ARGUMENTS[kind]}")
    if kind == "vectors":
        return CachedEncoder(WordVectorEncoder(Path(argument), oov))
    if kind == "transformer":
        from taxoexpan.features.transformer.transformer_encoder import TransformerEncoder

        return CachedEncoder(TransformerEncoder(argument, device))
    from taxoexpan.features.skipgram.corpus_encoder import CorpusEncoder

    return CorpusEncoder(Path(argument), kept)
