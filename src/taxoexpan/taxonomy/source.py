"""The file that a taxonomy came from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from taxoexpan.shared_options import ReadingOptions


@dataclass(frozen=True)
class Source:
    """The file that a taxonomy was read from, how it was read, and a digest of its bytes."""

    path: Path
    options: ReadingOptions
    digest: str
