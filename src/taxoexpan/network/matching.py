"""The choice of a match (Section 4.2.3) by the settings."""

from __future__ import annotations

from taxoexpan.config import Config
from taxoexpan.network.bilinear_match import DoubleExpMatch, LogBilinearMatch
from taxoexpan.network.match import Match
from taxoexpan.network.mlp_match import MLPMatch, ReluMLPMatch

MATCHES: dict[str, type[Match]] = {"bilinear": LogBilinearMatch, "mlp": MLPMatch}


def make_match(config: Config, blocks: int, query_dim: int) -> Match:
    """Return the match that the settings choose."""
    match = MATCHES[config.matching]
    if config.matching == "mlp" and config.quirks.mlp_relu:
        match = ReluMLPMatch
    if config.matching == "bilinear" and config.quirks.double_exp:
        match = DoubleExpMatch
    return match(blocks, config.embedding_dim, query_dim, config.hidden_dim)
