"""Speed as ratios, each against a lower bound or an alternative that is measured in the same run.

    make bench                      # on a synthetic taxonomy of the size of the paper's MAG-CS
    make bench MAG_CS=DIRECTORY     # on MAG-CS itself, see benchmarks/README.md
    make bench-all                  # also the paper's sizes, egonets one by one, and busy cores

Both sides of a ratio are measured alternately, and the best time of each counts. A measurement is
repeated if the host takes more than 3 % of the processor meanwhile.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from benchmarks.per_egonet_network import plain_step_maker
from benchmarks.processes import print_processes
from benchmarks.timing import (
    CONCEPTS,
    MatrixProducts,
    measure_undisturbed,
    print_ratio,
    synthetic_taxonomy,
)
from taxoexpan import Concept, TaxoExpan, Taxonomy, read_taxonomy
from taxoexpan.config import Config, load_preset
from taxoexpan.device import keep_freed_memory
from taxoexpan.features.embedding import embed_concepts
from taxoexpan.features.static import StaticEncoder
from taxoexpan.network.concept_vectors import ConceptVectors, Queries
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.placement.scoring.anchors import Anchors, AnchorTexts
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.training.sampling import TrainingSampler

QUERIES, DIMENSION = 2_450, 256
SAMPLED = load_preset("paper")
UNIFORM = load_preset(
    "paper", negative_sampling="uniform", num_negatives=256, batch_size=256, learning_rate=0.0015
)
BEST = load_preset("best")
BEFORE = """Each line is a ratio of two times of this run, and says what is good on two quiet cores.
It takes two to five minutes (--all: a quarter of an hour), trains a model of the foods, and starts
`taxoexpan train` and `taxoexpan suggest`. It writes to a temporary folder only.
"""


@dataclass(frozen=True)
class Task:
    """A taxonomy with vectors [2, N, D1], and labels to place in it."""

    taxonomy: Taxonomy
    both: torch.Tensor
    names: list[str]


def main() -> None:
    """Run all measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mag-cs", type=Path, metavar="DIRECTORY")
    parser.add_argument("--all", action="store_true", help="measure everything, in a quarter hour")
    options = parser.parse_args()
    torch.manual_seed(0)
    print(BEFORE)
    task = mag_cs(options.mag_cs) if options.mag_cs else synthetic_task()
    print(f"{torch.get_num_threads()} threads, torch {torch.__version__}; {task.taxonomy!r}")
    print(f"load average {os.getloadavg()[0]:.1f}; above 1, other work disturbs the ratios")
    with keep_freed_memory(torch.device("cpu")):
        print_step("best", BEST, task, good=3.5)
        if options.all:
            print_step("paper's sizes, 256 uniform", UNIFORM, task, good=2.5)
            print_training(task)
    print_ranking(task)
    print_encoding()
    print_processes(with_busy_cores=options.all)


def print_training(task: Task) -> None:
    """Print seconds per epoch: the paper's sizes per egonet and in our way, and `best`."""
    relations = len(task.taxonomy.relations)
    plain = plain_step_maker(task.taxonomy, SAMPLED, task.both)
    uniform = step_maker(task, UNIFORM)
    ratio, seconds, steal = measure_undisturbed(plain, uniform)
    ratio *= UNIFORM.batch_size / SAMPLED.batch_size
    epoch = seconds * relations / SAMPLED.batch_size
    print("seconds per epoch, from the best of a few steps, each with its batch and Adam:")
    print(f"{epoch:8.1f} s  paper's sizes, 30 sampled negatives, each egonet encoded separately")
    for name, config in (
        ("the same model and negatives, shared encoding", SAMPLED),
        ("paper's sizes, 256 uniform negatives for 256 queries", UNIFORM),
        ("best", BEST),
    ):
        step = step_maker(task, config)
        _, each, stolen = measure_undisturbed(step, step)
        rate = config.batch_size / each
        print(f"{relations / rate:8.1f} s  {name}: {rate:,.0f} relations/s (steal {stolen:.1%})")
    print(
        f"{ratio:6.2f} × separate / uniform, measured alternately (steal {steal:.1%})", flush=True
    )


def step_maker(task: Task, config: Config) -> Callable[[], object]:
    """Return a function that does one complete training step: batch, loss, gradients, Adam."""
    network = MatchingNetwork(config, DIMENSION)
    network.reset(torch.Generator().manual_seed(0))
    optimizer = torch.optim.Adam(network.parameters(), amsgrad=True, fused=True)
    sampler, vectors = (
        TrainingSampler(task.taxonomy, config, 0),
        ConceptVectors.of(task.both),
    )
    batches = iter(sampler.epoch())

    def step() -> None:
        nonlocal batches
        batch = next(batches, None)
        if batch is None or len(batch.queries) < config.batch_size:
            batches = iter(sampler.epoch())
            batch = next(batches)
        network.train()
        optimizer.zero_grad(set_to_none=True)
        network.loss(vectors, batch).backward()
        optimizer.step()

    return step


def print_step(name: str, config: Config, task: Task, good: float) -> None:
    """Compare one step without Adam, on a batch that exists already, with its matrix products."""
    vectors = ConceptVectors.of(task.both)
    network = MatchingNetwork(config, DIMENSION)
    network.reset(torch.Generator().manual_seed(0))
    network.train()
    sampler = TrainingSampler(task.taxonomy, config, 0)
    batch = next(sampler.epoch())
    e = batch.egonets
    print(
        f"a batch: {len(batch.queries)} queries, {e.size} anchors, "
        f"{sum(e.sizes)} nodes, {len(e.concepts)} concepts"
    )

    def step() -> None:
        network.zero_grad(set_to_none=True)
        network.loss(vectors, batch).backward()

    products = MatrixProducts(network, vectors, batch)
    print_ratio(f"{name}: a training step / its bare matrix products", good, step, products.run)
    print_ratio(f"{name}: making a batch / a step", 0.2, lambda: next(sampler.epoch()), step)


def print_ranking(task: Task) -> None:
    """Print the ratios of ranking all queries, and of writing their suggestions."""
    model = TaxoExpan("fast", features="static", epochs=1, validation_fraction=0.0)
    model.fit(small(task.taxonomy))
    network = MatchingNetwork(BEST, DIMENSION).eval()
    network.reset(torch.Generator().manual_seed(0))
    everyone = Anchors(task.taxonomy, ConceptVectors.of(task.both), BEST.max_siblings)
    keys = everyone.encode(network)
    ranker = Ranker(network, everyone, keys)
    queries = Queries(torch.from_numpy(embed_concepts(StaticEncoder(), concepts_named(task.names))))
    one_product = torch.empty(len(keys), len(queries))

    def product() -> None:
        torch.mm(task.both[0], queries.vectors[0].T, out=one_product)

    size = f"{len(task.names):,} queries over {len(task.taxonomy):,} anchors"
    print_ratio(
        f"ranking {size} / one product of that size", 1.5, lambda: ranker.rank(queries, 5), product
    )
    whole = loaded_model(model, task, network, keys)
    with tempfile.TemporaryDirectory() as directory:
        target = Path(directory) / "suggestions.csv"

        def suggest() -> None:
            from taxoexpan.decisions.suggestion_tables import suggestions_csv
            from taxoexpan.files import write_whole

            whole._cached_ranker = None
            suggestions = whole.suggest_block(concepts_named(task.names)).suggestions
            write_whole({target: suggestions_csv(suggestions).encode()}, force=True)

        print_ratio(
            "fused: from the loaded model to the written file / one product", 15.0, suggest, product
        )


def loaded_model(
    model: TaxoExpan, task: Task, network: MatchingNetwork, keys: torch.Tensor
) -> TaxoExpan:
    """Return a model as after loading, with this taxonomy and network."""
    model._archive = replace(
        model._fitted(),
        taxonomy=task.taxonomy,
        network=network,
        vectors=ConceptVectors.of(task.both),
        keys=keys,
        texts=AnchorTexts.of(task.taxonomy, None),
    )
    return model


def small(taxonomy: Taxonomy) -> Taxonomy:
    """Return the first hundred relations, to train a model quickly."""
    relations = list(taxonomy.relations)[:100]
    ids = dict.fromkeys(id for relation in relations for id in relation)
    return Taxonomy([taxonomy.concept(id) for id in ids], relations)


def concepts_named(names: list[str]) -> list[Concept]:
    """Return concepts that have only a label."""
    return [Concept("", name) for name in names]


def mag_cs(directory: Path) -> Task:
    """Return the paper's training taxonomy and its validation queries."""
    base = directory / "computer_science.terms"
    whole = read_taxonomy(base)
    validation = base.with_suffix(".terms.validation").read_text().split()
    test = base.with_suffix(".terms.test").read_text().split()
    taxonomy = whole.without([*validation, *test])
    both = torch.from_numpy(embed_concepts(StaticEncoder(), taxonomy.concepts))
    return Task(taxonomy, both, [whole.concept(id).label for id in validation])


def synthetic_task() -> Task:
    """Return random relations and vectors, with as many distinct head words as MAG-CS has."""
    both = torch.nn.functional.normalize(torch.randn(2, CONCEPTS, DIMENSION), dim=2)
    both[1] = both[1][(torch.rand(CONCEPTS) ** 3 * 8_000).long()]
    return Task(synthetic_taxonomy(), both, synthetic_names(QUERIES))


def synthetic_names(count: int) -> list[str]:
    """Return names of three words each."""
    generator = np.random.default_rng(0)
    words = ["neural", "graph", "query", "index", "image", "sparse", "parsing", "robot", "data"]
    return [" ".join(generator.choice(words, 3)) for _ in range(count)]


def print_encoding() -> None:
    """Compare static vectors to wordllama's own call."""
    import wordllama

    names = synthetic_names(20_000)
    ours = StaticEncoder()
    theirs = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent)
    print_ratio(
        "static vectors of 20,000 names / wordllama's own call",
        1.2,
        lambda: ours.encode(names),
        lambda: theirs.embed(names, norm=True),
    )


if __name__ == "__main__":
    main()
