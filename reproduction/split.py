"""The split of a task: a taxonomy, and two lists of the concepts that are held out of it."""

from __future__ import annotations

from pathlib import Path

from taxoexpan import read_taxonomy
from taxoexpan.errors import FormatError
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.training.holdout import Holdout, hold_out


def read_split(file: Path) -> tuple[Holdout, Holdout]:
    """Return the validation and the test holdout of a taxonomy file; both leave the same taxonomy.

    The held-out ids are in FILE.validation and FILE.test, one per line. The relations of NAME.terms
    are in NAME.taxo.
    """
    whole = read_taxonomy(file)
    if not whole.relations:
        is_paper = file.suffix == ".terms"
        place = file.with_suffix(".taxo") if is_paper else file
        fix = f"it must hold the relations of {file.name}" if is_paper else "give some"
        raise FormatError(place, "missing or empty" if is_paper else "no relations", fix=fix)
    paths = list_paths(file)
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


def list_paths(file: Path) -> list[Path]:
    """Return the paths of the lists of held-out ids of a taxonomy file."""
    return [file.with_name(f"{file.name}.{part}") for part in ("validation", "test")]


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
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    ids = dict.fromkeys(filter(None, map(str.strip, lines)))
    for id in ids:
        if id not in whole:
            raise FormatError(
                path, f"no concept of the taxonomy has the id {id!r}", fix="remove the line"
            )
    return list(ids)
