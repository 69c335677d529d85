"""Measure how long a large model takes to load, and how much memory it holds.

    python benchmarks/model_loading.py write MODEL --concepts 1000000
    python benchmarks/model_loading.py read MODEL

`write` saves a model with random weights and vectors, which needs no training: labels of two to
four made-up words, one definition and one synonym for every tenth concept. `read` prints the CPU
seconds and the memory of each step of loading it, and of the first suggestion.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from taxoexpan import Concept, TaxoExpan, Taxonomy
from taxoexpan.archive import save_archive
from taxoexpan.features.label_words import LabelWords
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.placement.scoring.anchors import AnchorTexts

SYLLABLES = ("ba", "co", "di", "fu", "ga", "lo", "mi", "nu", "pe", "ra", "so", "ti", "va", "zo")


def made_up_taxonomy(size: int, seed: int = 0) -> Taxonomy:
    """Return a random taxonomy with as many distinct words as real ones of its size have."""
    rng = np.random.default_rng(seed)
    words = ["".join(rng.choice(SYLLABLES, 4)) for _ in range(max(size // 10, 10))]
    ranks = (len(words) * rng.random((size, 3)) ** 2).astype(int).tolist()
    labels = [" ".join(words[rank] for rank in row) for row in ranks]
    children = np.arange(1, size)
    parents = (children * rng.random(size - 1) ** 0.5).astype(np.int64)
    described = range(0, size, 10)
    return Taxonomy.from_columns(
        [f"concept:{i:07}" for i in range(size)],
        labels,
        parents,
        children,
        synonyms={i: (f"{labels[i]} or {words[i % len(words)]}",) for i in described},
        definitions={i: f"a kind of {labels[i]} that is {words[-1]}" for i in described},
    )


def write(path: Path, size: int) -> None:
    """Save a model of a made-up taxonomy; only its shapes are those of a trained one."""
    small = TaxoExpan("fast", features="static", epochs=1, use_mentions=False).fit(
        made_up_taxonomy(300)
    )
    taxonomy = made_up_taxonomy(size)
    save_random(small, taxonomy, path)


def save_random(model: TaxoExpan, taxonomy: Taxonomy, path: Path) -> None:
    """Save a model of another taxonomy with random vectors and keys."""
    archive = model._fitted()
    size, generator = len(taxonomy), torch.Generator().manual_seed(0)
    head_of = torch.randint(size // 10, (size,), generator=generator)
    heads = torch.randn(size // 10, archive.vectors.dimension, generator=generator)
    names = torch.randn(size, archive.vectors.dimension, generator=generator)
    vectors = ConceptVectors(names, heads, head_of)
    keys = torch.randn(size, archive.keys.shape[1], generator=generator)
    texts = AnchorTexts(LabelWords.from_taxonomy(taxonomy))
    large = replace(archive, taxonomy=taxonomy, vectors=vectors, keys=keys, texts=texts)
    save_archive(large, path, force=True)


def read(path: Path) -> None:
    """Print what each step of loading costs, as JSON."""
    steps: dict[str, dict[str, float]] = {"start": _memory()}

    def step(name: str, work: Callable[[], object]) -> object:
        began = time.process_time()
        result = work()
        steps[name] = {"cpu_s": round(time.process_time() - began, 2), **_memory()}
        return result

    model = step("load", lambda: TaxoExpan.load(path, "cpu"))
    assert isinstance(model, TaxoExpan)
    step("ranker", lambda: model._ranker)
    step("index", lambda: model.taxonomy.index(model.taxonomy.ids[-1]))
    one = [Concept("", "a new concept that nobody knows")]
    step("first suggestion", lambda: model.suggest_each(one))
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    print(json.dumps({"megabytes_on_disk": round(size / 1e6), "steps": steps}, indent=1))


def _memory() -> dict[str, float]:
    """Return the memory of this process in MB: its own, and that of mapped files."""
    lines = Path("/proc/self/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    names = {"own_mb": "RssAnon", "mapped_mb": "RssFile"}
    return {key: round(int(fields[name].split()[0]) / 1e3) for key, name in names.items()}


def main() -> None:
    """Write or read a large model."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("task", choices=("write", "read"))
    parser.add_argument("model", type=Path)
    parser.add_argument("--concepts", type=int, default=1_000_000)
    options = parser.parse_args()
    if options.task == "write":
        write(options.model, options.concepts)
    else:
        read(options.model)


if __name__ == "__main__":
    main()
