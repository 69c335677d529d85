"""The paper's split: a taxonomy, and two lists of the leaves that are held out of it."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from pathlib import Path

from taxoexpan.errors import FormatError
from taxoexpan.formats.text_file import TextFile
from taxoexpan.phrasing import pluralize
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.training.holdout import Holdout, hold_out


def read_split(
    taxonomy: Path, validation: Path | None = None, test: Path | None = None
) -> tuple[Holdout, Holdout]:
    """Return the validation and the test holdout of a taxonomy; both have the same taxonomy left.

    Deprecated concepts are left out. The lists of NAME.terms are NAME.terms.validation and
    NAME.terms.test, unless other files are given. If both are given, any format is accepted.
    """
    given = (validation, test)
    whole = _read_terms(taxonomy) if None in given else Taxonomy.read(taxonomy)
    defaults = (taxonomy.with_name(f"{taxonomy.name}.{part}") for part in ("validation", "test"))
    paths = [path or default for path, default in zip(given, defaults, strict=True)]
    validation_ids, test_ids = (_read_ids(path, whole) for path in paths)
    _refuse_shared_ids(paths[1], test_ids, validation_ids)
    active = whole.active
    training = active.without(id for id in (*validation_ids, *test_ids) if id in active)
    return (
        _make_holdout(paths[0], validation_ids, active, training),
        _make_holdout(paths[1], test_ids, active, training),
    )


def _read_terms(path: Path) -> Taxonomy:
    """Read a .terms file with its .taxo file; without relations there is nothing to learn."""
    if path.suffix != ".terms":
        message = "the lists of a split are only found next to a .terms file"
        fix = "give NAME.terms; `taxoexpan convert` writes one from other formats"
        raise FormatError(path, f"{message}; {fix}")
    whole = Taxonomy.read(path)
    if not whole.relations:
        taxo = path.with_suffix(".taxo")
        message = "the file has no relations" if taxo.exists() else "the file does not exist"
        fix = f"it must hold the relations of {path.name}, one `parent id<TAB>child id` per line"
        raise FormatError(taxo, f"{message}; {fix}")
    return whole


def _read_ids(path: Path, whole: Taxonomy) -> dict[str, int]:
    """Read a list with one id per line; return the ids with their first line numbers."""
    if not path.exists():
        message = "the file does not exist; a split needs this list, with one id per line"
        raise FormatError(path, message)
    lines: dict[str, int] = {}
    for number, line in enumerate(TextFile.load(path, may_be_blank=True).text.splitlines(), 1):
        if id := line.strip():
            lines.setdefault(id, number)
    for id, number in lines.items():
        if id not in whole:
            message = f"no concept of the taxonomy has the id {id!r}; correct or remove the line"
            raise FormatError(path, message, number)
    return lines


def _refuse_shared_ids(path: Path, test: dict[str, int], validation: Collection[str]) -> None:
    """Refuse test queries that are validation queries too, since those choose the epoch."""
    shared = [id for id in test if id in validation]
    if shared:
        message = f"{pluralize(len(shared), 'id')} also in the validation list"
        fix = "keep each id in one of the two lists"
        raise FormatError(path, f"{message}, such as {shared[0]!r}; {fix}", test[shared[0]])


def _make_holdout(path: Path, ids: Collection[str], whole: Taxonomy, training: Taxonomy) -> Holdout:
    """Return the queries of a list; refuse a list without any, and warn about unusable ids."""
    held_out = hold_out(whole, [id for id in ids if id in whole], training)
    if not held_out.concepts:
        message = "no listed concept has a parent outside both lists; list some that have one"
        raise FormatError(path, message)
    usable = {concept.id for concept in held_out.concepts}
    unusable = [id for id in ids if id not in usable]
    if unusable:
        message = f"{pluralize(len(unusable), 'id')} left out, such as {unusable[0]!r}"
        reason = "deprecated, or without a parent in the remaining taxonomy"
        warnings.warn(f"{path}: {message}: {reason}", stacklevel=3)
    return held_out
