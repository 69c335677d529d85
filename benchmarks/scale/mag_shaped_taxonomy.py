"""A generated taxonomy of any size with the shape of MAG-CS, and vectors for it.

The number of concepts per level, of parents per concept, and of children per concept are
distributed as in MAG-CS (29,654 concepts) at every size. The same seed gives the same taxonomy.
"""

from __future__ import annotations

import argparse
import csv
import itertools
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.scale.pronounceable_labels import draw_definitions, draw_labels, draw_synonyms
from taxoexpan import Taxonomy
from taxoexpan.taxonomy.arrays import Indices

LEVEL_SIZES = (34, 9_531, 9_902, 5_071, 5_115)
"""The concepts on each level below the root; every relation leads to the next level."""
INNER_SHARES = (1.0, 0.179, 0.201, 0.279)
"""The share of concepts with children on each level below the root, except the last."""
CHILD_QUANTILES = (0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1)
CHILD_COUNTS = (
    (3, 20, 170, 246, 636, 1_061, 1_575, 2_077, 2_152, 2_161),
    (1, 1, 1, 3, 7, 16, 29, 86, 293, 367),
    (1, 1, 1, 2, 4, 8, 11, 23, 46, 50),
    (1, 1, 1, 3, 9, 20, 27, 45, 67, 183),
)
"""The quantiles of the number of children of the concepts that have some, for the same levels."""
PARENT_SHARES = (
    (1.0,),
    (0.49, 0.368, 0.142),
    (0.75, 0.181, 0.049, 0.014, 0.005, 0.001),
    (0.744, 0.183, 0.049, 0.014, 0.006, 0.002, 0.001, 0.001),
    (0.536, 0.204, 0.122, 0.062, 0.04, 0.025, 0.007, 0.003, 0.001),
)
"""The shares of concepts with one, two, … parents on each level below the root."""
PARENT_DISTANCE = 3.0
"""The other parents of a concept are about so many average families away from its first one."""
NOISE = 1.2
"""The length of the noise that is added to the vectors of the parents, which have length 1."""
DIMENSION = 256
BLOCK = 16_384
"""Vectors that are computed at a time."""
MIN_CONCEPTS = 100


def mag_shaped_taxonomy(
    concepts: int, seed: int = 0, synonyms: float = 0.0, definitions: float = 0.0
) -> Taxonomy:
    """Generate a taxonomy; give these shares of its concepts a synonym and a definition.

    The concepts are in random order, as in a file that nobody has sorted.
    """
    if concepts < MIN_CONCEPTS:
        raise ValueError(f"{concepts} concepts have no levels; use at least {MIN_CONCEPTS}")
    rng = np.random.default_rng(seed)
    levels = level_slices(concepts)
    pairs = [draw_relations(number, *levels[number : number + 2], rng) for number in range(5)]
    parents, children = (np.concatenate(side) for side in zip(*pairs, strict=True))
    first_parents = np.full(concepts, -1)
    first_parents[children[::-1]] = parents[::-1]
    labels = draw_labels(first_parents, levels, rng)
    synonyms_of = draw_synonyms(labels, synonyms, rng)
    definitions_of = draw_definitions(labels, first_parents, definitions, rng)
    position = rng.permutation(concepts)
    shuffled = np.empty(concepts, dtype=np.int64)
    shuffled[position] = np.arange(concepts)
    return Taxonomy.from_columns(
        [f"C{number:07d}" for number in range(concepts)],
        [labels[i] for i in shuffled.tolist()],
        position[parents],
        position[children],
        {int(position[i]): names for i, names in synonyms_of.items()},
        {int(position[i]): text for i, text in definitions_of.items()},
    )


def level_slices(concepts: int) -> list[slice]:
    """Return the concepts of each level, the root first."""
    shares = np.cumsum(LEVEL_SIZES) / sum(LEVEL_SIZES)
    ends = [0, 1, *(1 + np.ceil(shares * (concepts - 1)).astype(np.int64)).tolist()]
    return [slice(start, stop) for start, stop in itertools.pairwise(ends)]


def draw_relations(
    number: int, upper: slice, lower: slice, rng: np.random.Generator
) -> tuple[Indices, Indices]:
    """Draw the relations from one level to the next, sorted by child, its first parent first.

    The children of neighboring parents are neighbors, so that families form larger clusters.
    """
    parent_counts = draw_parent_counts(PARENT_SHARES[number], lower.stop - lower.start, rng)
    total = int(parent_counts.sum())
    inner, child_counts = draw_child_counts(number, upper, total, rng)
    children = np.repeat(np.arange(lower.start, lower.stop), parent_counts)
    starts = np.cumsum(parent_counts) - parent_counts
    is_first = np.zeros(total, dtype=np.bool_)
    is_first[starts] = True
    keys = children.astype(np.float64)
    distance = PARENT_DISTANCE * total / len(inner)
    keys[~is_first] += rng.laplace(0, distance, total - len(starts))
    slots = np.repeat(inner, child_counts)
    parents = np.empty(total, dtype=np.int64)
    parents[np.argsort(keys, kind="stable")] = slots
    owners = np.repeat(parents[starts], parent_counts)
    repeated = np.flatnonzero(~is_first & (parents == owners))
    parents[repeated] = rng.choice(slots, len(repeated))
    return parents, children


def draw_parent_counts(shares: tuple[float, ...], size: int, rng: np.random.Generator) -> Indices:
    """Draw the number of parents of each concept of a level."""
    edges = np.cumsum(shares)[:-1]
    return rng.permutation(np.searchsorted(edges, evenly(size)) + 1)


def draw_child_counts(
    number: int, level: slice, total: int, rng: np.random.Generator
) -> tuple[Indices, Indices]:
    """Choose the concepts of a level that have children, and draw how many: `total` in all."""
    if number == 0:
        return np.array([level.start]), np.array([total])
    size = level.stop - level.start
    count = min(max(round(size * INNER_SHARES[number - 1]), 1), total)
    inner = np.sort(rng.choice(size, count, replace=False)) + level.start
    logarithms = np.log(CHILD_COUNTS[number - 1])
    drawn = np.exp(np.interp(evenly(count), CHILD_QUANTILES, logarithms))
    more = rng.permutation(drawn - 1)
    if not more.sum():
        more += 1
    ends = np.round(np.cumsum(1 + more * (total - count) / more.sum())).astype(np.int64)
    return inner, np.diff(ends, prepend=0)


def evenly(size: int) -> NDArray[np.float64]:
    """Return the centers of so many equal parts of the numbers between 0 and 1."""
    return (np.arange(size) + 0.5) / size


def generate_vectors(
    taxonomy: Taxonomy, dimension: int = DIMENSION, seed: int = 0, path: Path | None = None
) -> NDArray[np.float32]:
    """Generate unit vectors of the concepts: the mean of their parents' vectors, plus noise.

    They are computed in blocks of one level. With a path, they are a memory-mapped `.npy` file.
    """
    shape = (len(taxonomy), dimension)
    vectors: NDArray[np.float32] = (
        np.zeros(shape, np.float32)
        if path is None
        else np.lib.format.open_memmap(path, "w+", np.float32, shape)
    )
    order = taxonomy.topological_order
    sizes = np.bincount(taxonomy.levels)
    for number, level in enumerate(np.split(order, np.cumsum(sizes)[:-1])):
        for start in range(0, len(level), BLOCK):
            block = level[start : start + BLOCK]
            rng = np.random.default_rng([seed, number, start])
            noise = rng.standard_normal((len(block), dimension), dtype=np.float32)
            noise *= NOISE / np.sqrt(dimension)
            vectors[block] = unit_rows(noise + parent_means(taxonomy, block, vectors))
    return vectors


def parent_means(
    taxonomy: Taxonomy, concepts: Indices, vectors: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the mean of the parents' vectors of each concept at unit length, or zeros."""
    means = np.zeros((len(concepts), vectors.shape[1]), np.float32)
    positions, parents = taxonomy.parents_of.of_many(concepts)
    if len(parents):
        owners, starts = np.unique(positions, return_index=True)
        means[owners] = np.add.reduceat(vectors[parents], starts)
    return unit_rows(means)


def unit_rows(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale the rows to unit length; rows of zeros stay rows of zeros."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, np.where(lengths > 0, lengths, 1), dtype=np.float32)


def write_csv(taxonomy: Taxonomy, path: Path) -> None:
    """Write a taxonomy as a table that `taxoexpan train` reads."""
    ids, parents_of = taxonomy.ids, taxonomy.parents_of
    offsets, targets = parents_of.offsets.tolist(), parents_of.targets.tolist()
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "label", "parents", "definition", "synonyms"])
        for row, (id, label) in enumerate(zip(ids, taxonomy.labels, strict=True)):
            parents = "|".join([ids[p] for p in targets[offsets[row] : offsets[row + 1]]])
            synonyms = "|".join(taxonomy.synonyms.get(row, ()))
            writer.writerow([id, label, parents, taxonomy.definitions.get(row, ""), synonyms])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command `generate`."""
    parser.add_argument("concepts", type=int, help="number of concepts")
    parser.add_argument("csv", type=Path, help="table to write")
    parser.add_argument("--vectors", type=Path, help="also write vectors to this .npy file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--synonyms", type=float, default=0.0, help="share with a synonym")
    parser.add_argument("--definitions", type=float, default=0.0, help="share with a definition")


def run(options: argparse.Namespace) -> dict[str, int]:
    """Write a taxonomy, and vectors if they are wanted."""
    shares = options.synonyms, options.definitions
    taxonomy = mag_shaped_taxonomy(options.concepts, options.seed, *shares)
    write_csv(taxonomy, options.csv)
    if options.vectors:
        generate_vectors(taxonomy, seed=options.seed, path=options.vectors)
    return {"concepts": len(taxonomy), "relations": len(taxonomy.relations)}
