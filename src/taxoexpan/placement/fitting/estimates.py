"""Estimates of how long each stage of a training takes, from counts of texts and relations."""

from __future__ import annotations

from collections.abc import Iterable

from taxoexpan.features.embedding import head_word, names_of
from taxoexpan.features.sentence_model import MAX_TOKENS
from taxoexpan.network.text_tower import query_text
from taxoexpan.placement.scoring.embedder import Embedder
from taxoexpan.progress import Stage
from taxoexpan.taxonomy import Taxonomy

# CPU seconds of one thread on one machine; only their ratios matter.
ENCODING, LOOKUP = 0.7e-3, 1e-5
"""Of one token, with and without a sentence model."""
NETWORK, MAPS = 0.57e-3, 0.45e-3
"""Of one relation in one epoch."""
TUNING = 3
"""Of one epoch of fine-tuning, relative to the encoding of all texts."""
CALIBRATION, COMPARISON = 0.01, 2e-6
"""Of one held-out concept, and of its comparison with one anchor."""
SAMPLE_SIZE = 5_000
"""Concepts whose words are counted, at most about; the others are assumed to be like them."""


def estimate_stages(taxonomy: Taxonomy, embedder: Embedder) -> dict[str, Stage]:
    """Return the stages of a training in their order."""
    config, size, relations = embedder.config, len(taxonomy), len(taxonomy.relations)
    sample = taxonomy.concepts[:: -(-size // SAMPLE_SIZE)]
    scale = size / len(sample)
    names, joined = set(names_of(sample)), config.join_definitions
    definitions = {query_text(c) if joined else c.definition for c in sample if c.definition}
    texts = {*names, *map(head_word, names), *definitions}
    model = embedder.encoder.part_with_model()
    seconds = scale * _tokens(texts) * (LOOKUP if model is None else ENCODING)
    stages = {"vectors": Stage(seconds, scale * len(texts))}
    if config.epochs:
        stages["network"] = Stage(config.epochs * relations * NETWORK)
    held_out = min(size / 10, config.max_validation_leaves)
    calibration = held_out * (CALIBRATION + COMPARISON * size)
    if model is not None and config.learn_fusion:
        # The encoder's vectors of labels, and of joined definitions, are already in the cache.
        tuned, composes = bool(config.tower_epochs), config.compose_anchors
        queries = [query_text(c) for c in sample if tuned or (c.definition and not joined)]
        anchors = [f"{query_text(c)} < {c.label}" for c in sample if tuned or not composes]
        seconds = scale * (_tokens(queries) + _tokens(anchors)) * ENCODING
        if tuned:
            stages["fine-tuning"] = Stage(config.tower_epochs * TUNING * seconds)
        if config.map_epochs and seconds:
            stages["tower"] = Stage(seconds, scale * (len(queries) + len(anchors)))
        if config.map_epochs:
            stages["maps"] = Stage(config.map_epochs * relations * MAPS)
        if not config.map_epochs:
            calibration += seconds
    return {**stages, "calibration": Stage(calibration)}


def _tokens(texts: Iterable[str]) -> float:
    """Return the approximate number of tokens that are read."""
    return sum(min(1.4 * len(text.split()) + 2, MAX_TOKENS) for text in texts)
