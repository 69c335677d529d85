"""The paper's protocol: a taxonomy, and two lists of the leaves that are held out of it."""

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
    """What a taxonomy has besides two lists of ids, and both; what is deprecated is left out.

    The lists of a `.terms` file are its `.terms.validation` and `.terms.test`, unless others are
    given; with both of them, the taxonomy may be in any format.
    """
    given = (validation, test)
    whole = _read_whole(taxonomy) if None in given else Taxonomy.read(taxonomy)
    beside = (taxonomy.with_name(f"{taxonomy.name}.{part}") for part in ("validation", "test"))
    paths = [path or other for path, other in zip(given, beside, strict=True)]
    validated, tested = (_held_lines(path, whole) for path in paths)
    _refuse_shared(paths[1], tested, validated)
    known = whole.active
    training = known.without(id for id in (*validated, *tested) if id in known)
    return (
        _holdout_of(paths[0], validated, known, training),
        _holdout_of(paths[1], tested, known, training),
    )


def _read_whole(terms: Path) -> Taxonomy:
    """The taxonomy before anything is held out; without relations there is nothing to find."""
    if terms.suffix != ".terms":
        message = "a split lies beside a .terms file, and this is none"
        mend = "give NAME.terms, which taxoexpan convert makes of other formats"
        raise FormatError(terms, f"{message}; {mend}")
    whole = Taxonomy.read(terms)
    if not whole.relation_count:
        taxo = terms.with_suffix(".taxo")
        message = "holds no relation" if taxo.exists() else "there is no such file"
        mend = f"the relations of {terms.name} lie here, parent id<TAB>child id a line"
        raise FormatError(taxo, f"{message}; {mend}")
    return whole


def _held_lines(path: Path, whole: Taxonomy) -> dict[str, int]:
    """The ids in a list, an id a line, and the line where each stands first."""
    if not path.exists():
        message = "there is no such file; the split lies beside the .terms, an id a line"
        raise FormatError(path, message)
    lines: dict[str, int] = {}
    for number, line in enumerate(TextFile.load(path, may_be_blank=True).text.splitlines(), 1):
        if id := line.strip():
            lines.setdefault(id, number)
    for id, number in lines.items():
        if id not in whole:
            message = f"no concept of the taxonomy has the id {id!r}; correct it, or take it out"
            raise FormatError(path, message, number)
    return lines


def _refuse_shared(path: Path, test: dict[str, int], validation: Collection[str]) -> None:
    """Refuse to choose an epoch by what is tested."""
    shared = [id for id in test if id in validation]
    if shared:
        message = f"shares {pluralize(len(shared), 'id')} with the validation list"
        mend = "leave each in one of the two lists"
        raise FormatError(path, f"{message}, such as {shared[0]!r}; {mend}", test[shared[0]])


def _holdout_of(path: Path, ids: Collection[str], whole: Taxonomy, training: Taxonomy) -> Holdout:
    """The queries that a list makes; none is an error, and fewer than it names are told."""
    held = hold_out(whole, [id for id in ids if id in whole], training)
    if not held.concepts:
        message = "names no concept whose parent is in neither list; name some that have one"
        raise FormatError(path, message)
    made = {concept.id for concept in held.concepts}
    lost = [id for id in ids if id not in made]
    if lost:
        message = f"no query is made of {pluralize(len(lost), 'id')}, such as {lost[0]!r}"
        why = "deprecated, or without a parent in what remains"
        warnings.warn(f"{path}: {message}: {why}", stacklevel=3)
    return held
