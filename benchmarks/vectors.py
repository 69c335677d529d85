"""Which vectors find parents best: each encoder, and several side by side, on the paper's MAG-CS.

    python benchmarks/vectors.py export DIRECTORY CORPUS FOLDER    # needs the whole package
    python benchmarks/vectors.py train FOLDER FEATURES SEED OUT    # needs torch, numpy
    python benchmarks/vectors.py table OUT                         # a table of what is there

DIRECTORY holds MAG-CS as its authors published it (see mag_cs.py). `export` keeps the vectors of
all its names by each encoder in half precision, so that `train` can run on a machine with a GPU
that has little else. FEATURES are `static`, `minilm`, `skipgram`, or several with + between.
`train` trains the preset `best`, and ranks the test queries once; OUT gets a JSON file a run.
Skip-gram learns all names that the corpus mentions, those of the test queries among them, as in the
paper.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from taxoexpan import Taxonomy
from taxoexpan.configuration import load_preset
from taxoexpan.devices import choose_device
from taxoexpan.metrics import Metrics, metrics_of
from taxoexpan.network.network import MatchingNetwork
from taxoexpan.network.vectors import ConceptVectors
from taxoexpan.placement import Anchors, Placement
from taxoexpan.supervision import Supervision
from taxoexpan.training import train

ENCODERS = {"static": "static", "minilm": "transformer:all-MiniLM-L6-v2", "skipgram": "skipgram:"}
KNOWN = 5
"""Mentions from which on the corpus knows a name."""


def main() -> None:
    """Export, train, or make a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["export", "train", "table"])
    parser.add_argument("arguments", nargs="+")
    options = parser.parse_args()
    {"export": export, "train": train_one, "table": table}[options.what](*options.arguments)


def export(directory: str, corpus: str, folder: str, *only: str) -> None:
    """Keep the relations, the queries, and the vectors of all names by each, or only some."""
    from taxoexpan.corpus import mentions
    from taxoexpan.features.concepts import embed_concepts, names_of
    from taxoexpan.features.encoders import make_encoder
    from taxoexpan.supervision import hold_out

    base, out = Path(directory) / "computer_science.terms", Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    whole = Taxonomy.read(base)
    split = {n: base.with_suffix(f".terms.{n}").read_text().split() for n in ("validation", "test")}
    training = whole.without([id for ids in split.values() for id in ids])
    parents, children = training.relation_indices
    kept = {"parents": parents, "children": children}
    concepts = list(training.concepts)
    said = mentions(Path(corpus), whole.labels)
    print(sum(count >= KNOWN for count in said.values()), "names said often enough")
    for name, ids in split.items():
        held = hold_out(whole, ids, training)
        kept[f"{name}_truth"] = np.concatenate(held.parents)
        kept[f"{name}_counts"] = np.array([len(p) for p in held.parents])
        kept[f"{name}_known"] = np.array([said[c.label] >= KNOWN for c in held.concepts])
        kept[f"{name}_queries"] = np.arange(len(concepts), len(concepts) + len(held.concepts))
        concepts += held.concepts
    np.savez_compressed(out / "structure.npz", **kept)
    for name in only or ENCODERS:
        features = ENCODERS[name]
        encoder = make_encoder(features + (corpus if features.endswith(":") else ""))
        began = time.perf_counter()
        encoder.learn(names_of(concepts))
        both = embed_concepts(encoder, concepts)
        print(name, f"{time.perf_counter() - began:.1f} s", flush=True)
        heads, head_of = np.unique(both[1].astype(np.float16), axis=0, return_inverse=True)
        np.savez_compressed(
            out / f"{name}.npz", names=both[0].astype(np.float16), heads=heads, head_of=head_of
        )


def train_one(folder: str, features: str, seed: str, out: str) -> None:
    """Train `best` with some vectors and write down the figures of both sets of queries."""
    device, c = choose_device("auto"), load_preset("best")
    kept = np.load(Path(folder) / "structure.npz")
    both = torch.from_numpy(vectors_of(Path(folder), features)).to(device)
    size = int(kept["validation_queries"][0])
    names = [str(i) for i in range(size)]
    taxonomy = Taxonomy.from_columns(names, names, kept["parents"], kept["children"])
    anchors = Anchors(taxonomy, ConceptVectors.of(both[:, :size]), c.siblings)
    truth = {
        name: np.split(kept[f"{name}_truth"], np.cumsum(kept[f"{name}_counts"])[:-1])
        for name in ("validation", "test")
    }
    queries = {name: both[:, torch.from_numpy(kept[f"{name}_queries"])] for name in truth}

    def ranks(network: MatchingNetwork, name: str, ties: float = 0.0) -> list[np.ndarray]:
        placement = Placement(network, anchors, anchors.encode(network))
        return placement.true_ranks(queries[name], truth[name], ties)

    network = MatchingNetwork(c, both.shape[2])
    network.reset(torch.Generator().manual_seed(int(seed)))
    network.to(device)
    torch.manual_seed(int(seed))
    history = train(
        network,
        anchors.vectors,
        Supervision(taxonomy, c, int(seed)),
        lambda network: metrics_of(ranks(network, "validation", 0.5)),
        c,
    )
    found: dict[str, Any] = {"features": features, "seed": int(seed), "best": history.best}
    for name in truth:
        known = kept[f"{name}_known"]
        closest = closest_ranks(both[0, :size], queries[name][0], truth[name])
        for method, by in (("closest", closest), ("model", ranks(network, name))):
            found[f"{method} {name} all"] = metrics_of(by).as_dict()
            of_known = [rank for rank, one in zip(by, known, strict=True) if one]
            found[f"{method} {name} known"] = metrics_of(of_known).as_dict()
    Path(out).mkdir(parents=True, exist_ok=True)
    name = f"{features.replace('+', '-')}-{seed}.json"
    (Path(out) / name).write_text(json.dumps(found, indent=1))


def vectors_of(folder: Path, features: str) -> np.ndarray:
    """Vectors [2, N, D], those of several encoders end to end, at unit length."""
    parts = []
    for name in features.split("+"):
        kept = np.load(folder / f"{name}.npz")
        both = np.stack([kept["names"], kept["heads"][kept["head_of"].ravel()]])
        parts.append(both.astype(np.float32))
    whole = np.concatenate(parts, axis=2)
    lengths = np.linalg.norm(whole, axis=2, keepdims=True)
    return whole / np.where(lengths > 0, lengths, 1)


def closest_ranks(
    anchors: torch.Tensor, queries: torch.Tensor, truth: list[np.ndarray]
) -> list[np.ndarray]:
    """The true parents' ranks by the cosine of query and anchor (the paper's Closest-Parent)."""
    found = []
    for query, parents in zip(queries, truth, strict=True):
        cosines = anchors @ query
        own = cosines[torch.from_numpy(parents).to(cosines.device)]
        higher = (cosines[:, None] > own).sum(0) - (own[:, None] > own).sum(0)
        found.append(1 + higher.cpu().numpy())
    return found


def table(out: str) -> None:
    """A line for each method and vectors: the mean over seeds, and the deviation where there is."""
    runs: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for path in sorted(Path(out).glob("*.json")):
        found = json.loads(path.read_text())
        runs[found["features"]].append(found)
    for name in ("validation", "test"):
        for which in ("all", "known"):
            first = next(iter(runs.values()))[0][f"closest {name} {which}"]
            print(f"\n{name}, {which}: {first['queries']} queries\n")
            print("| method | vectors | MR | Hit@1 | Hit@3 | MRR |")
            print("|---|---|---|---|---|---|")
            for method in ("closest", "model"):
                for features, those in runs.items():
                    figures = [run[f"{method} {name} {which}"] for run in those]
                    cells = [spelled([f[key] for f in figures], key) for key in COLUMNS]
                    print(f"| {method} | {features} | {' | '.join(cells)} |")


COLUMNS = ("mr", "hit_at_1", "hit_at_3", "mrr")
assert set(Metrics.__dataclass_fields__) >= set(COLUMNS)


def spelled(values: list[float], key: str) -> str:
    """A mean, with its deviation where the runs differ."""
    digits = 0 if key == "mr" else 3
    spread = np.std(values, ddof=1) if len(values) > 1 else 0.0
    text, around = (f"{v:.{digits}f}".removeprefix("0") for v in (np.mean(values), spread))
    return f"{text} ± {around}" if spread > 1e-9 else text


if __name__ == "__main__":
    main()
