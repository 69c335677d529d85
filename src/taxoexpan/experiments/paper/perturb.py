"""Changed taxonomies: some relations given other parents, or only some leaves kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from taxoexpan.experiments.methods.method import Problem
from taxoexpan.experiments.paper.task import Task
from taxoexpan.network.queries import LabeledQueries
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices


def rewire_relations(task: Task, share: float, seed: int) -> Task:
    """The task with this share of the relations to learn from given a random other parent.

    A new parent comes before the child in a topological order, so that no cycle can arise, and was
    none of its parents before. The queries and their parents stay as they are.
    """
    taxonomy, generator = task.problem.taxonomy, np.random.default_rng(seed)
    parents, children = (indices.copy() for indices in taxonomy.relation_indices)
    order = np.asarray(taxonomy.topological_order)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    chosen = np.flatnonzero(generator.random(len(parents)) < share)
    # One that has no other concept before it keeps its parents.
    chosen = chosen[place[children[chosen]] > taxonomy.parents_of.degrees[children[chosen]]]
    parents[chosen] = order[_others(place, taxonomy, children[chosen], generator)]
    both = np.unique(np.stack([children, parents]), axis=1)
    changed = Taxonomy.from_columns(taxonomy.ids, taxonomy.labels, both[1], both[0])
    return replace(task, problem=replace(task.problem, taxonomy=changed))


def _others(
    place: Indices, taxonomy: Taxonomy, children: Indices, generator: np.random.Generator
) -> Indices:
    """For each child a random place before its own, where none of its parents is."""
    parents, of = taxonomy.relation_indices
    known = place[of] * len(place) + place[parents]
    drawn = np.empty(len(children), dtype=np.int64)
    wrong = np.arange(len(children))
    while len(wrong):
        before = place[children[wrong]]
        drawn[wrong] = generator.integers(0, before)
        keys = before * len(place) + drawn[wrong]
        wrong = wrong[np.isin(keys, known)]
    return drawn


def sample_leaves(task: Task, share: float, seed: int) -> Task:
    """The task with this share of the leaves; one that is a query's parent always stays."""
    taxonomy, problem = task.problem.taxonomy, task.problem
    generator = np.random.default_rng(seed)
    truth = np.concatenate([*problem.validation.parents, *task.test.parents])
    leaves = np.setdiff1d(np.flatnonzero(taxonomy.children_of.degrees == 0), truth)
    gone = generator.permutation(leaves)[: round(len(leaves) * (1 - share))]
    kept = np.setdiff1d(np.arange(len(taxonomy)), gone)
    smaller = taxonomy.without([taxonomy.ids[i] for i in gone.tolist()])
    new = np.full(len(taxonomy), -1)
    new[kept] = np.arange(len(kept))
    vectors = problem.vectors.index_select(1, torch.from_numpy(kept).to(problem.vectors.device))
    validation, test = (_among(queries, new) for queries in (problem.validation, task.test))
    mentions = problem.mentions.reindex(new, kept) if problem.mentions else None
    problem = Problem(smaller, vectors, validation, mentions)
    return replace(task, problem=problem, test=test, doubles={})


def _among(queries: LabeledQueries, new: Indices) -> LabeledQueries:
    """The queries, with their parents and what they mention by `new` indices."""
    everyone = np.arange(len(queries.parents))
    mentions = queries.mentions.reindex(new, everyone) if queries.mentions else None
    return replace(queries, parents=[new[p] for p in queries.parents], mentions=mentions)
