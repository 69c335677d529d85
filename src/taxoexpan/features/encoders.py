"""Which encoder a name stands for: `static`, `vectors:FILE`, or several side by side, `a+b`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from taxoexpan.errors import ConfigurationError
from taxoexpan.features.concepts import Encoder
from taxoexpan.features.static import StaticEncoder, Vectors, normalised
from taxoexpan.features.vectorfile import FileEncoder


def make_encoder(name: str) -> Encoder:
    """The encoder of this name; what it needs is looked for at once."""
    parts = [_make_one(part.strip()) for part in name.split("+")]
    return parts[0] if len(parts) == 1 else SideBySide(parts)


class SideBySide:
    """Several encoders' vectors, end to end, each with the same weight, at unit length."""

    def __init__(self, parts: Sequence[Encoder]) -> None:
        self.parts = parts
        self.name = "+".join(part.name for part in parts)
        self.dimension = sum(part.dimension for part in parts)

    def prepare(self, texts: Sequence[str]) -> None:
        """Let each read what these texts need."""
        for part in self.parts:
            part.prepare(texts)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One row a text; where one encoder knows nothing, the others stand alone."""
        return normalised(np.hstack([part.encode(texts) for part in self.parts]))

    def fingerprint(self) -> str:
        """What tells these encoders from others."""
        return " + ".join(part.fingerprint() for part in self.parts)


def _make_one(name: str) -> Encoder:
    kind, colon, argument = name.partition(":")
    if kind == "static" and not colon:
        return StaticEncoder()
    if kind not in _WITH_ARGUMENT:
        known = ", ".join(
            ["static", *(f"{kind}:{what}" for kind, (_, what) in _WITH_ARGUMENT.items())]
        )
        raise ConfigurationError(
            f"no features are called {name!r}; choose one of {known}, or several with + between"
        )
    make, what = _WITH_ARGUMENT[kind]
    if not argument:
        raise ConfigurationError(f"features {name!r} need more; write {kind}:{what}")
    return make(argument)


_WITH_ARGUMENT: dict[str, tuple[Callable[[str], Encoder], str]] = {
    "vectors": (lambda path: FileEncoder(Path(path)), "FILE"),
}
