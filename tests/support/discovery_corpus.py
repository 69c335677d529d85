"""A small taxonomy and corpora, for the tests of discovery."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path

from taxoexpan.curation.discovery import DiscoveredConcept, discover
from taxoexpan.taxonomy import Concept, Taxonomy

FIELD = Taxonomy(
    [
        Concept("1", "natural language processing"),
        Concept("2", "machine translation"),
        Concept("3", "speech recognition", ("voice typing",)),
        Concept("4", "relationship extraction"),
        Concept("5", "grammar"),
        Concept("6", "tokenisation"),
    ]
)

FILLERS = (
    "The grammar was read by hand.",
    "All of machine translation is hard.",
    "Some of it was found in the archive.",
    "They went to the river with a boat.",
    "Nobody had heard of the village before.",
)
"""Sentences around those under test; two of them mention known concepts."""


def texts(*sentences: str, times: int = 12) -> list[str]:
    """Documents that contain all the sentences, each with some other sentences."""
    fillers = cycle(FILLERS)
    return [" ".join([*sentences, *islice(fillers, 3)]) for _ in range(times)]


def corpus(folder: Path, documents: Sequence[str]) -> Path:
    path = folder / "corpus.txt"
    path.write_text("\n".join(documents) + "\n", encoding="utf-8")
    return path


def discovered(
    folder: Path, *sentences: str, taxonomy: Taxonomy = FIELD
) -> dict[str, DiscoveredConcept]:
    """The concepts that are found in documents with these sentences, by label."""
    discoveries = discover(corpus(folder, texts(*sentences)), taxonomy, workers=1)
    return {discovery.label: discovery for discovery in discoveries}
