"""The pantry as files of the paper: terms, relations, and the ids of held-out concepts."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reproduction.split import read_split
from reproduction.task import Task, make_task
from taxoexpan.features.static import StaticEncoder
from tests.support.builders import KINDS, SORTS


def write_split(folder: Path) -> Path:
    """Write ninety foods; one of each kind is held out for validation, and one for the test."""
    names = ["food", *KINDS, *(f"{sort} {kind}" for kind in KINDS for sort in SORTS)]
    number = {name: place for place, name in enumerate(names)}
    relations = [(number["food"], number[kind]) for kind in KINDS]
    relations += [(number[k], number[f"{sort} {k}"]) for k in KINDS for sort in SORTS]
    relations.append((number["tea"], number["green milk"]))
    terms = folder / "pantry.terms"
    terms.write_text("".join(f"{i}\t{name}\n" for i, name in enumerate(names)), encoding="utf-8")
    taxo = "".join(f"{parent}\t{child}\n" for parent, child in relations)
    terms.with_suffix(".taxo").write_text(taxo, encoding="utf-8")
    for part, sort in (("validation", SORTS[0]), ("test", SORTS[1])):
        held = "".join(f"{number[f'{sort} {kind}']}\n" for kind in KINDS)
        terms.with_name(f"{terms.name}.{part}").write_text(held, encoding="utf-8")
    return terms


def pantry_task(folder: Path) -> Task:
    """Return the pantry as a task."""
    return make_task("pantry", StaticEncoder(), *read_split(write_split(folder)))


def same_parents(one: Task, other: Task) -> bool:
    """Whether all queries of two tasks have the same true parents."""
    pairs = ((one.problem.validation, other.problem.validation), (one.test, other.test))
    return all(
        len(a.parents) == len(b.parents) and all(map(np.array_equal, a.parents, b.parents))
        for a, b in pairs
    )
