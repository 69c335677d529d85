"""Loading of a large model: CPU seconds and memory of each step, and of the first suggestion.

A model with random weights, which needs no training, is written to MODEL if it is not there: one
definition and one synonym for every tenth concept.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from benchmarks.scale.mag_shaped_taxonomy import mag_shaped_taxonomy
from benchmarks.scale.measures import CPU_CLOCK, Result, in_own_process
from taxoexpan import Concept, TaxoExpan, Taxonomy
from taxoexpan.archive import save_archive
from taxoexpan.features.label_words import LabelWords
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.placement.scoring.anchors import AnchorTexts

SHARE = 0.1
"""The share of concepts with a synonym, and of those with a definition."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("model", type=Path)
    parser.add_argument("--concepts", type=int, default=1_000_000)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Write the model if it is missing, and print what each step of loading it costs, as JSON."""
    if not options.model.exists():
        write(options.model, options.concepts)
    figures = in_own_process(measure, options.model)
    print(json.dumps(figures, indent=1))
    return figures


def write(path: Path, size: int) -> None:
    """Save a model of a generated taxonomy; only its shapes are those of a trained one."""
    small = TaxoExpan("fast", features="static", epochs=1, use_mentions=False)
    small.fit(mag_shaped_taxonomy(300))
    save_random(small, mag_shaped_taxonomy(size, synonyms=SHARE, definitions=SHARE), path)


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


def measure(path: Path) -> dict[str, Any]:
    """Return what each step of loading costs."""
    steps: dict[str, dict[str, float]] = {"start": _memory()}

    def step(name: str, work: Callable[[], Result]) -> Result:
        result, seconds = CPU_CLOCK.timed(work)
        steps[name] = {"cpu_s": round(seconds, 2), **_memory()}
        return result

    model = step("load", lambda: TaxoExpan.load(path, "cpu"))
    step("ranker", lambda: model._ranker)
    step("index", lambda: model.taxonomy.index(model.taxonomy.ids[-1]))
    one = [Concept("", "a new concept that nobody knows")]
    step("first suggestion", lambda: model.suggest_each(one))
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return {"megabytes_on_disk": round(size / 1e6), "steps": steps}


def _memory() -> dict[str, float]:
    """Return the memory of this process in MB: its own, and that of mapped files."""
    lines = Path("/proc/self/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    names = {"own_mb": "RssAnon", "mapped_mb": "RssFile"}
    return {key: round(int(fields[name].split()[0]) / 1e3) for key, name in names.items()}
