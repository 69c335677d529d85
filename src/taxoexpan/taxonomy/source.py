"""The file that a taxonomy came from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from taxoexpan.shared_options import ReadingOptions


@dataclass(frozen=True)
class Source:
    """The file that a taxonomy was read from, how it was read, and a digest of its bytes.

    The path is None if it is not known: a model stores the taxonomy, but not its file.
    """

    path: Path | None
    options: ReadingOptions
    digest: str


UNKNOWN_FILE = Source(None, ReadingOptions(), "")
"""The source of a taxonomy that came from a file which is not known any more."""
