"""Published taxonomies, where they are at hand; TAXOEXPAN_DATA names their folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from taxoexpan import Concept, Taxonomy
from taxoexpan.formats.catalogue import write_expanded
from taxoexpan.supervision import hold_out
from taxoexpan.taxonomy import Additions

BESIDE = Path(__file__).parents[2] / "shared" / "data"
DATA = Path(os.environ.get("TAXOEXPAN_DATA", BESIDE))


def published(name: str) -> Path:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{name} is not at hand; set TAXOEXPAN_DATA to the folder that holds it")
    return path


def test_the_computer_science_taxonomy_has_the_papers_figures() -> None:
    base = published("mag-cs/computer_science.terms")
    whole = Taxonomy.read(base)
    assert (len(whole), whole.relation_count, whole.depth) == (29_654, 46_248, 6)
    validation = base.with_suffix(".terms.validation").read_text().split()
    test = base.with_suffix(".terms.test").read_text().split()
    training = whole.without([*validation, *test])
    assert (len(training), training.relation_count) == (24_754, 38_524)
    assert sum(map(len, hold_out(whole, validation, training).parents)) == 3_919
    assert sum(map(len, hold_out(whole, test, training).parents)) == 3_805


def test_a_shops_categories_are_read_and_extended_in_their_style(tmp_path: Path) -> None:
    path = published("shopify/categories.v2025-09.txt")
    shop = Taxonomy.read(path)
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
