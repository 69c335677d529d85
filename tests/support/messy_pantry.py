"""Taxonomies with known errors and small models, for the tests of self-cleaning."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from taxoexpan import Concept, Taxonomy, read_taxonomy
from taxoexpan.curation.cleaning.fold_scoring import ModelOptions
from tests.support.builders import KINDS, SORTS, pantry_csv
from tests.support.small_models import SMALL

FULL = ModelOptions("fast", seed=1, device="cpu", settings=SMALL)
QUICK = ModelOptions("fast", seed=1, device="cpu", settings={**SMALL, "epochs": 2})
# More than half of the leaves are held out, which is enough to learn a calibration.
CALIBRATED = ModelOptions(
    "fast", seed=1, device="cpu", settings={**SMALL, "epochs": 3, "validation_fraction": 0.6}
)
MISPLACED = {"oat milk": "tea", "rye bread": "berry", "goat cheese": "soup", "red apple": "sauce"}


@cache
def messy_pantry() -> Taxonomy:
    """The pantry with four foods under a wrong parent, and one food under two parents."""
    text = pantry_csv() + "green tea,soup\n"
    for food, parent in MISPLACED.items():
        text = text.replace(f"\n{food},{food.split()[1]}\n", f"\n{food},{parent}\n")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "messy.csv"
        path.write_text(text, encoding="utf-8")
        return read_taxonomy(path)


@cache
def large_pantry() -> Taxonomy:
    """The pantry with more foods, some of them one level deeper, and one under two parents."""
    sorts = [*SORTS, "white", "dark", "cold", "hot", "sweet", "sour", "fresh", "dry", "old"]
    foods = [(f"{sort} {kind}", kind) for kind in KINDS for sort in sorts]
    deeper = [
        (f"{size} {sort} apple", f"{sort} apple") for sort in SORTS for size in ("big", "ripe")
    ]
    pairs = [("food", kind) for kind in KINDS]
    pairs += [(parent, child) for child, parent in foods + deeper]
    names = dict.fromkeys(name for pair in pairs for name in pair)
    return Taxonomy([Concept(name, name) for name in names], [*pairs, ("soup", "green tea")])


def shop() -> Taxonomy:
    """The large pantry and as many tools in one shop, so that neither is most of it."""
    foods = large_pantry()
    kinds = ("hammer", "saw", "drill", "wrench", "chisel", "file", "vise")
    tools = [f"{kind} {number}" for number in range(len(foods) // len(kinds) + 1) for kind in kinds]
    names = ["shop", "tool", *kinds, *tools]
    relations = [("shop", "food"), ("shop", "tool"), *(("tool", kind) for kind in kinds)]
    relations += [(tool.split()[0], tool) for tool in tools]
    concepts = [*(Concept(name, name) for name in names), *foods.concepts]
    return Taxonomy(concepts, [*relations, *foods.relations])
