"""Learns the priors of the package from random subtrees of vocabularies.

    python -m reproduction.pretraining.priors VOCABULARIES --work runs/priors --processes 2
        --encoder products,work=runs/fold-0/encoder --encoder earth,matter=runs/fold-1/encoder

An encoder that has learned from a vocabulary is too sure there. So each domain may have an encoder
of its own that has not; the others use the encoder of the package. Trained subtrees are stored in
the folder `--work`, and are not trained again. The weights of the fusion are normally distributed
over taxonomies, and so are the curves of the confidence. The curves are learned with weights whose
distribution comes from other domains. The last lines compare the result with Closest-Parent.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from reproduction.pretraining.prior_learning import PriorLearner
from reproduction.pretraining.subtrees import draw_subtrees, measure_subtree, read_sample
from reproduction.pretraining.vocabularies import DOMAINS, SUFFIX, read_vocabulary
from taxoexpan.errors import TaxoExpanError
from taxoexpan.placement.learned.priors import FILE, prior_key

OUTPUT = Path("src/taxoexpan/data") / FILE
COUNT = 2
"""Subtrees of each vocabulary."""
KINDS = {
    prior_key(has_network, has_tower): ("best" if has_network else "fast", has_tower)
    for has_network in (True, False)
    for has_tower in (True, False)
}
"""The kinds of models that have a prior: the preset, and whether the text encoder is used."""


def main() -> None:
    """Train on the subtrees, learn the priors and write them."""
    parser = argparse.ArgumentParser(prog="python -m reproduction.pretraining.priors")
    parser.add_argument("vocabularies", type=Path, help="the folder of the vocabularies")
    parser.add_argument("-o", "--output", type=Path, default=OUTPUT)
    parser.add_argument("--work", type=Path, default=Path("runs/priors"))
    parser.add_argument("--encoder", action="append", default=[], metavar="DOMAINS=FOLDER")
    parser.add_argument("--count", type=int, default=COUNT, help="subtrees of each vocabulary")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    encoders = parse_encoders(options.encoder)
    options.work.mkdir(parents=True, exist_ok=True)
    paths = sorted(options.vocabularies.glob(f"*{SUFFIX}"))
    measure = partial(measure_vocabulary, options.count, options.seed, encoders, options.work)
    with ProcessPoolExecutor(options.processes, get_context("spawn")) as pool:
        for number, failures in enumerate(pool.map(measure, paths), 1):
            message = f"{number} of {len(paths)} vocabularies"
            print(*failures, message, sep="\n", file=sys.stderr, flush=True)
        results = dict(zip(KINDS, pool.map(partial(learn, options.work), KINDS), strict=True))
    priors = {kind: prior for kind, (prior, _) in results.items()}
    options.output.write_text(json.dumps(priors) + "\n", encoding="utf-8")
    for kind, (_, report) in results.items():
        print(f"{kind}:\n{report}")


def parse_encoders(texts: Sequence[str]) -> dict[str, Path]:
    """Return the folder of the encoder of each domain that has one."""
    encoders: dict[str, Path] = {}
    for text in texts:
        domains, _, folder = text.partition("=")
        encoders |= dict.fromkeys(domains.split(","), Path(folder))
    if unknown := encoders.keys() - DOMAINS.keys():
        raise SystemExit(f"unknown domains: {', '.join(sorted(unknown))}")
    return encoders


def measure_vocabulary(
    count: int, seed: int, encoders: dict[str, Path], work: Path, path: Path
) -> list[str]:
    """Train on the subtrees of a vocabulary that are not stored yet; return what failed."""
    torch.set_num_threads(1)
    failures = []
    for subtree in draw_subtrees(read_vocabulary(path, ()), count, seed):
        for preset in sorted({preset for preset, _ in KINDS.values()}):
            stored = work / f"{subtree.name}-{preset}.npz"
            if stored.exists():
                continue
            try:
                measure_subtree(subtree, preset, encoders.get(subtree.domain), stored)
            except TaxoExpanError as error:
                failures.append(f"{subtree.name} is left out: {error}")
    return failures


def learn(work: Path, kind: str) -> tuple[dict[str, Any], str]:
    """Return the prior of a kind of models as JSON, and the report about its quality."""
    torch.set_num_threads(1)
    preset, has_tower = KINDS[kind]
    samples = [read_sample(path) for path in sorted(work.glob(f"*-{preset}.npz"))]
    learner = PriorLearner(samples, has_tower)
    return learner.as_json(), learner.report()


if __name__ == "__main__":
    main()
