"""The model that the pre-training starts from: all-MiniLM-L6-v2, with the names of this package."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

from taxoexpan.features.minilm import SIZE, MiniLM
from taxoexpan.features.transformer.model_files import find_model


def start_folder() -> Path:
    """Return the directory of all-MiniLM-L6-v2 in its Python package."""
    return find_model("all-MiniLM-L6-v2")


def load_start() -> MiniLM:
    """Load all-MiniLM-L6-v2."""
    model = MiniLM(start_folder() / "vocab.txt")
    model.load_state_dict(renamed(load_file(start_folder() / "model.safetensors")))
    return model.eval()


def renamed(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights of a BERT encoder under the names of `MiniLM`, in single precision."""
    types = weights["embeddings.token_type_embeddings.weight"]
    result = {
        "tokens.weight": weights["embeddings.word_embeddings.weight"],
        # All tokens are of the first type.
        "positions": weights["embeddings.position_embeddings.weight"] + types[0],
    }
    for kind in ("weight", "bias"):
        result[f"norm.{kind}"] = weights[f"embeddings.LayerNorm.{kind}"]
        for index in range(SIZE.layers):
            old, new = f"encoder.layer.{index}", f"layers.{index}"
            attention = [
                f"{old}.attention.self.{part}.{kind}" for part in ("query", "key", "value")
            ]
            result[f"{new}.attend.{kind}"] = torch.cat([weights[name] for name in attention])
            names = {
                "join": "attention.output.dense",
                "attended": "attention.output.LayerNorm",
                "widen": "intermediate.dense",
                "narrow": "output.dense",
                "transformed": "output.LayerNorm",
            }
            for ours, theirs in names.items():
                result[f"{new}.{ours}.{kind}"] = weights[f"{old}.{theirs}.{kind}"]
    return {name: weight.float() for name, weight in result.items()}
