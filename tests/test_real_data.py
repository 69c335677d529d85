"""Tests on published taxonomies, if available; TAXOEXPAN_DATA names their folder."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from taxoexpan import Concept, Glossary, Taxonomy, read_taxonomy
from taxoexpan.features.glossary.glossary import MatchKind
from taxoexpan.taxonomy import Additions
from taxoexpan.training.holdout import hold_out
from taxoexpan.training.metrics import MetricName, compute_metrics, per_query
from taxoexpan.training.true_ranks import TIES, TIES_AS_BEST, rank_true_parents
from tests.support.expanded_files import write_expanded

DEFAULT_DATA = Path(__file__).parents[2] / "shared" / "data"
DATA = Path(os.environ.get("TAXOEXPAN_DATA", DEFAULT_DATA))
Ranks = NDArray[np.int64]

pytestmark = pytest.mark.slow


def published(name: str) -> Path:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{name} is not available; set TAXOEXPAN_DATA to its folder")
    return path


def computer_science() -> tuple[Taxonomy, list[str], list[str]]:
    """The whole taxonomy, and the ids of the paper's validation and test queries."""
    base = published("mag-cs/computer_science.terms")
    validation = base.with_suffix(".terms.validation").read_text().split()
    return read_taxonomy(base), validation, base.with_suffix(".terms.test").read_text().split()


def test_the_computer_science_taxonomy_has_the_papers_figures() -> None:
    whole, validation, test = computer_science()
    assert (len(whole), len(whole.relations), whole.depth) == (29_654, 46_248, 6)
    training = whole.without([*validation, *test])
    assert (len(training), len(training.relations)) == (24_754, 38_524)
    assert sum(map(len, hold_out(whole, validation, training).parents)) == 3_919
    assert sum(map(len, hold_out(whole, test, training).parents)) == 3_805


def tens_that_fit(
    count: int, inverse: float, least_sum: int, most_sum: int, least: int = 1
) -> Iterator[list[int]]:
    """Yield ascending integers with this sum of inverses, whose own sum is within bounds."""
    if not count and abs(inverse) < 1e-9 and least_sum <= 0 <= most_sum:
        yield []
    if not count or inverse < 1e-9 or count**2 / inverse > most_sum + 1e-6:
        return
    most = min(math.floor(count / inverse + 1e-6), most_sum // count)
    for ten in range(max(least, math.floor(1 / inverse)), most + 1):
        left = least_sum - ten, most_sum - ten
        for rest in tens_that_fit(count - 1, inverse - 1 / ten, *left, ten):
            yield [ten, *rest]


def ranks_that_fit(parents: int, mr: float, hit_at_1: float, hit_at_3: float, mrr: float) -> Ranks:
    """Find ranks of one query's parents with these metrics, since the file has only the metrics."""
    total, first, third = (round(figure * parents) for figure in (mr, hit_at_1, hit_at_3))
    near, far = third - first, parents - third
    least, most = total - first - 3 * near, total - first - 2 * near
    bounds = math.ceil(least / 10), (most + 9 * far) // 10
    for tens in tens_that_fit(far, mrr * parents - third, *bounds):
        lowest = [1] * first + [2] * near + [max(4, 10 * ten - 9) for ten in tens]
        highest = [1] * first + [3] * near + [10 * ten for ten in tens]
        if sum(lowest) <= total <= sum(highest):
            missing = total - sum(lowest)
            for place, (low, high) in enumerate(zip(lowest, highest, strict=True)):
                raised = min(missing, high - low)
                lowest[place] += raised
                missing -= raised
            return np.array(lowest)
    pytest.fail(f"no ranks of {parents} parents have these figures: {mr, hit_at_1, hit_at_3, mrr}")


def test_ranks_that_fit_the_authors_file_have_the_published_metrics() -> None:
    path = published("mag-cs/mag_cs_case_study_20191111.tsv")
    names = ("macro_mr", "hit_at_1", "hit_at_3", "mrr_scaled_10")
    with path.open(encoding="utf-8", newline="") as file:
        queries = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    published_values = np.array([[float(query[name]) for name in names] for query in queries])
    counts = [len(query["True parents"].split(", ")) for query in queries]
    ranks = [ranks_that_fit(count, *published_values[q]) for q, count in enumerate(counts)]

    figures: tuple[MetricName, ...] = ("mr", "hit_at_1", "hit_at_3", "mrr")
    found = np.stack([per_query(ranks, figure) for figure in figures], axis=1)
    assert np.allclose(found, published_values, atol=1e-9)
    fraction, any_parent, pooled = (
        compute_metrics(ranks, a) for a in ("fraction", "any", "pooled")
    )
    assert (fraction.queries, sum(counts)) == (2450, 3805)
    assert (round(fraction.mr, 2), round(fraction.mrr, 4)) == (75.66, 0.6977)
    assert (round(fraction.hit_at_1, 4), round(fraction.hit_at_3, 4)) == (0.2051, 0.3734)
    assert (round(any_parent.hit_at_1, 4), round(any_parent.hit_at_3, 4)) == (0.2510, 0.4416)
    assert (round(pooled.mr, 2), round(pooled.hit_at_1, 4)) == (71.61, 0.1995)


def test_ranking_by_the_number_of_children_has_the_known_figures() -> None:
    whole, validation, test = computer_science()
    training = whole.without([*validation, *test])
    children = torch.from_numpy(training.children_of.degrees)[:, None]
    parents = hold_out(whole, test, training).parents
    as_authors, found = (
        compute_metrics([rank_true_parents(children, [truth], ties)[0] for truth in parents])
        for ties in (TIES_AS_BEST, TIES)
    )
    assert (as_authors.queries, round(as_authors.mr)) == (2450, 826)
    assert (round(as_authors.hit_at_1, 3), round(as_authors.hit_at_3, 3)) == (0.040, 0.122)
    assert round(as_authors.mrr, 3) == 0.320
    assert (round(found.mr), round(found.mrr, 3)) == (1554, 0.319)


def test_a_glossary_defines_a_third_of_the_computer_science_taxonomy() -> None:
    taxonomy, *_ = computer_science()
    path = published("mag-cs-glossary/glossary.tsv")
    found = Glossary.read(path, taxonomy.concepts).define_taxonomy(taxonomy)
    assert found.matches.found == {MatchKind.EXACT: 8888, MatchKind.PLURAL: 6}
    assert len(found.taxonomy.definitions) == 8894
    rack = next(c for c in found.taxonomy.concepts if c.label == "19 inch rack")
    assert rack.definition.startswith("A 19-inch rack is a standardized frame")


def test_a_shops_categories_are_read_and_extended_in_their_style(tmp_path: Path) -> None:
    path = published("shopify/categories.v2025-09.txt")
    shop = read_taxonomy(path)
    assert (len(shop), len(shop.roots)) == (10_710, 26)
    parent = "gid://shopify/TaxonomyCategory/ap-1"
    new = Concept("gid://shopify/TaxonomyCategory/axolotls", "Axolotls")
    out = tmp_path / "out"
    assert write_expanded(path, Additions([new], [(parent, new.id)]), out).lost == []
    old, added = path.read_bytes(), out.read_bytes().removeprefix(path.read_bytes())
    assert out.read_bytes().startswith(old)
    last = old.decode().splitlines()[-1]
    assert added.decode().index(" : ") == last.index(" : ")
    assert added.decode().endswith("Animals & Pet Supplies > Live Animals > Axolotls\n")
