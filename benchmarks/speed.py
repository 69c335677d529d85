"""Speed as ratios, each measured in one run against what it cannot be faster than, or a peer.

    make bench

The taxonomy is made up, of the size of the paper's MAG-CS: 24,754 concepts with 38,524 relations,
a few of them hubs. Both sides of a ratio take turns, and the best time of each counts. Where the
host steals more than 3 % of the processor meanwhile, the measurement is repeated.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from taxoexpan import Taxonomy
from taxoexpan.configuration import load_preset
from taxoexpan.features.static import StaticEncoder
from taxoexpan.network.network import MatchingNetwork
from taxoexpan.placement import Placement, encode_anchors
from taxoexpan.supervision import Supervision

CONCEPTS, RELATIONS, QUERIES, DIMENSION = 24_754, 38_524, 2_450, 256
ROUNDS, TRIES, MOST_STEAL = 5, 3, 0.03


def main() -> None:
    """Measure everything."""
    torch.manual_seed(0)
    print(f"{torch.get_num_threads()} threads, torch {torch.__version__}")
    taxonomy = made_up_taxonomy()
    vectors = torch.nn.functional.normalize(torch.randn(2, CONCEPTS, DIMENSION), dim=2)
    queries = torch.nn.functional.normalize(torch.randn(2, QUERIES, DIMENSION), dim=2)
    configuration = load_preset("best")
    network = MatchingNetwork(configuration, DIMENSION)
    network.reset(torch.Generator().manual_seed(0))
    supervision = Supervision(taxonomy, configuration, 0)
    batch = next(supervision.epoch())
    grandparents, anchors, siblings = batch.egonets.sizes
    print(
        f"a batch: {len(batch.queries)} queries, {anchors} anchors, "
        f"{grandparents + anchors + siblings} nodes, {len(batch.egonets.concepts)} concepts"
    )

    def step() -> None:
        network.train()
        network.zero_grad(set_to_none=True)
        network.loss(vectors, batch).backward()

    products = Products(
        network, batch.egonets.sizes, len(batch.egonets.concepts), len(batch.queries)
    )
    report("a training step / its bare matrix products", step, products.run)
    report("making a batch / a training step", lambda: next(supervision.epoch()), step)

    network.eval()
    keys = encode_anchors(network, taxonomy, vectors, configuration.siblings)
    placement = Placement(network, taxonomy, vectors, keys)
    one_product = torch.empty(CONCEPTS, QUERIES)
    report(
        "ranking 2,450 queries over 24,754 anchors / one matrix product of that size",
        lambda: placement.rank(queries, 10),
        lambda: torch.mm(keys, queries[0].T, out=one_product),
    )
    plain = Placement(MatchingNetwork(load_preset("best", fusion=0), 256), taxonomy, vectors, keys)
    report(
        "the same without the fusion head",
        lambda: plain.rank(queries, 10),
        lambda: torch.mm(keys, queries[0].T, out=one_product),
    )
    report_encoding()


class Products:
    """The matrix products that a training step cannot do without, forward and backward."""

    def __init__(
        self, network: MatchingNetwork, sizes: list[int], concepts: int, queries: int
    ) -> None:
        anchors = sizes[1]
        matrix = network.output.matrix()
        hidden, mixed = network.output.inputs, matrix.shape[1]
        output = network.output.size
        shapes = [(concepts, DIMENSION, hidden)] * 2  # W x and its gradient; x needs none
        shapes += [(queries, DIMENSION, output)] * 2 + [(queries, output, mixed)] * 3
        shapes += [(anchors, mixed, queries)] * 3  # scores
        if network.fusion is not None:
            shapes += [(concepts, DIMENSION, queries)] * 2  # cosines of names and of heads
        self.operands = [
            (torch.randn(m, k), torch.randn(k, n), torch.empty(m, n)) for m, k, n in shapes
        ]

    def run(self) -> None:
        """Do them all."""
        for left, right, out in self.operands:
            torch.mm(left, right, out=out)


def made_up_taxonomy() -> Taxonomy:
    """Random relations with hubs: a parent is the more likely the earlier it comes."""
    generator = np.random.default_rng(0)
    children = np.concatenate(
        [np.arange(1, CONCEPTS), generator.integers(1, CONCEPTS, RELATIONS - CONCEPTS + 1)]
    )
    parents = (generator.random(len(children)) ** 4 * children).astype(np.int64)
    names = [f"concept {i}" for i in range(CONCEPTS)]
    return Taxonomy.from_columns(names, names, parents, children)


def report_encoding() -> None:
    """Static vectors against wordllama's own call."""
    import wordllama

    generator = np.random.default_rng(0)
    words = ["neural", "graph", "query", "index", "image", "sparse", "parsing", "robot", "data"]
    names = [" ".join(generator.choice(words, 3)) for _ in range(20_000)]
    ours = StaticEncoder()
    theirs = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent)
    report(
        "static vectors of 20,000 names / wordllama's own call",
        lambda: ours.encode(names),
        lambda: theirs.embed(names, norm=True),
    )


def report(what: str, one: Callable[[], object], other: Callable[[], object]) -> None:
    """Print how many times longer the first takes than the second."""
    for _ in range(TRIES):
        ratio, seconds, steal = measure(one, other)
        if steal <= MOST_STEAL:
            break
    print(f"{ratio:6.2f} × {what}  ({seconds * 1e3:,.0f} ms; steal {steal:.1%})", flush=True)


def measure(one: Callable[[], object], other: Callable[[], object]) -> tuple[float, float, float]:
    """The ratio of the best times, the first one's best time, and the stolen share."""
    one()
    other()
    stolen, total = processor_ticks()
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for function, found in zip((one, other), times, strict=True):
            began = time.perf_counter()
            function()
            found.append(time.perf_counter() - began)
    stolen_after, total_after = processor_ticks()
    steal = (stolen_after - stolen) / max(1, total_after - total)
    return min(times[0]) / min(times[1]), min(times[0]), steal


def processor_ticks() -> tuple[int, int]:
    """Ticks stolen by the host, and all ticks; zero where the system does not tell."""
    try:
        ticks = [int(cell) for cell in Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
    except OSError:
        return 0, 0
    return ticks[7], sum(ticks[:8])


if __name__ == "__main__":
    main()
