"""A tiny MPNet in the form in which the base of the encoder `large` is installed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import RobertaProcessing
from torch import Tensor

from taxoexpan import large_parts
from taxoexpan.features import large, large_base
from taxoexpan.features.large_base import NAME, TOKENIZER, WEIGHTS
from taxoexpan.features.low_rank import LEFT, RIGHT
from taxoexpan.features.mpnet import load_mpnet
from tests.support.tiny_transformer import PANTRY_WORDS

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "[UNK]", "<mask>"]
LAYERS = 3


@dataclass(frozen=True)
class InstalledBase:
    """Packages with the parts of a tiny base, its files, and a difference to it."""

    site: Path
    published: Path
    difference: Path

    @property
    def parts(self) -> list[Path]:
        """The files of the parts."""
        return sorted(self.site.rglob("*.zip.*"))


def make_base(folder: Path) -> InstalledBase:
    """Make a tiny MPNet with random weights, pack it, and make a difference of rank two."""
    base = InstalledBase(folder / "site", folder / NAME, folder / "difference.safetensors")
    _save_mpnet(base.published)
    packed = BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as archive:
        for name in (WEIGHTS, TOKENIZER):
            archive.write(base.published / name, f"{NAME}/{name}")
    content = packed.getvalue()
    size = -(-len(content) // len(large_parts.MODULES))
    for number, module in enumerate(large_parts.MODULES):
        package = base.site / module
        (package / "input").mkdir(parents=True)
        (package / "__init__.py").touch()
        part = content[number * size : (number + 1) * size]
        (package / "input" / f"{NAME}.zip.{number + 1:03}").write_bytes(part)
    save_file(_difference(load_mpnet(base.published).state_dict()), base.difference)
    return base


def install_base(base: InstalledBase, patched: pytest.MonkeyPatch) -> None:
    """Let the encoder `large` consist of this base and its difference."""
    patched.syspath_prepend(base.site)
    patched.setattr(large, "DIFFERENCE", base.difference)
    for name in large_base.DIGESTS:
        digest = hashlib.sha256((base.published / name).read_bytes()).hexdigest()
        patched.setitem(large_base.DIGESTS, name, digest)


def _save_mpnet(folder: Path) -> None:
    """Save a model and its tokenizer as transformers does."""
    from transformers import MPNetConfig, MPNetModel

    vocabulary = {word: row for row, word in enumerate([*SPECIAL, *PANTRY_WORDS])}
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = BertNormalizer()
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.post_processor = RobertaProcessing(("</s>", 2), ("<s>", 0))
    tokenizer.add_special_tokens(SPECIAL)
    config = MPNetConfig(
        vocab_size=len(vocabulary),
        hidden_size=large.LargeEncoder.dimension,
        intermediate_size=16,
        max_position_embeddings=64,
        num_hidden_layers=LAYERS,
        num_attention_heads=12,
        initializer_range=0.1,
        layer_norm_eps=1e-5,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        MPNetModel(config).save_pretrained(folder)
    tokenizer.save(str(folder / TOKENIZER))


def _difference(start: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return a random difference, of which large matrices are products."""
    generator = torch.Generator().manual_seed(1)
    difference: dict[str, Tensor] = {}
    for name, weight in start.items():
        if weight.dim() == 2 and min(weight.shape) > 16:
            rows, columns = weight.shape
            difference[name + LEFT] = 0.02 * torch.randn(rows, 2, generator=generator)
            difference[name + RIGHT] = torch.randn(2, columns, generator=generator)
        else:
            difference[name] = 0.02 * torch.randn(weight.shape, generator=generator)
    return {name: change.half() for name, change in difference.items()}
