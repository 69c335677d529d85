"""The paper's split: a taxonomy, and two lists of the leaves that are held out of it."""

from __future__ import annotations

from pathlib import Path

from taxoexpan import read_taxonomy
from taxoexpan.errors import FormatError
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.training.holdout import Holdout, hold_out


def read_split(terms: Path) -> tuple[Holdout, Holdout]:
    """Return the validation and the test holdout of NAME.terms; both leave the same taxonomy.

    The relations are in NAME.taxo, and the held-out ids in NAME.terms.validation and
    NAME.terms.test, one per line.
    """
    whole = read_taxonomy(terms)
    if not whole.relations:
        message = "missing or empty"
        raise FormatError(
            terms.with_suffix(".taxo"), message, fix=f"it must hold the relations of {terms.name}"
        )
    paths = [terms.with_name(f"{terms.name}.{part}") for part in ("validation", "test")]
    lists = [_read_ids(path, whole) for path in paths]
    shared = set(lists[0]).intersection(lists[1])
    if shared:
        message = f"{min(shared)!r} is also in the validation list"
        raise FormatError(paths[1], message, fix="keep each id in one list")
    training = whole.without([id for ids in lists for id in ids])
    validation, test = (hold_out(whole, ids, training) for ids in lists)
    for path, holdout in zip(paths, (validation, test), strict=True):
        if not holdout.concepts:
            message = "no listed concept has a parent outside both lists"
            raise FormatError(path, message, fix="list some that have one")
    return validation, test


def split_leaves(taxonomy: Taxonomy, step: int = 10) -> tuple[Holdout, Holdout]:
    """Hold out one leaf in `step` for validation, and the leaf after it for the test."""
    leaves = sorted(taxonomy.leaves)
    lists = leaves[::step], leaves[1::step]
    training = taxonomy.without([id for ids in lists for id in ids])
    validation, test = (hold_out(taxonomy, ids, training) for ids in lists)
    return validation, test


def _read_ids(path: Path, whole: Taxonomy) -> list[str]:
    """Read a list with one id per line; an id that is listed twice counts once."""
    if not path.exists():
        message = "the file does not exist"
        raise FormatError(path, message, fix="a split needs this list, with one id per line")
    ids = dict.fromkeys(path.read_text(encoding="utf-8-sig").split())
    for id in ids:
        if id not in whole:
            raise FormatError(
                path, f"no concept of the taxonomy has the id {id!r}", fix="remove the line"
            )
    return list(ids)
