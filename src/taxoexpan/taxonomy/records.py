"""Concepts and relations from records: dictionaries, such as the rows of a table."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from taxoexpan.errors import ConfigurationError, TaxonomyError
from taxoexpan.phrasing import join_words, shortened
from taxoexpan.taxonomy.concept import Concept, check_concept

if TYPE_CHECKING:
    import pandas as pd

FIELDS = ("id", "label", "parents", "synonyms", "definition", "deprecated")
"""The fields of a record; `parent` is another name of `parents`."""
SEPARATOR = "|"
"""What separates several parents or synonyms in one text."""
YES = ("true", "yes", "1", "1.0")
NO = ("false", "no", "0", "0.0", "")
"""The values of `deprecated`."""
MAX_UNREAD = 5
"""Unknown keys that a warning names."""

Record = Mapping[str, Any]
Columns = Mapping[str, str]
NewConcepts: TypeAlias = "str | Concept | Record | Iterable[str | Concept | Record] | pd.DataFrame"
"""One or several new concepts: labels, concepts or records."""


def concepts_and_relations(
    records: Iterable[Record], columns: Columns | None = None
) -> tuple[list[Concept], list[tuple[str, str]]]:
    """Return the concepts and the relations (parent id, child id) of records.

    A concept without an id has its label as id. Records with the same id and label are one concept
    with the parents and the synonyms of all of them, and at most one definition. If no record has
    an id, a parent may lack a record of its own.
    """
    keys = _keys(columns)
    if not isinstance(records, Iterable):
        fix = "give dictionaries with the key 'label'"
        raise ConfigurationError(f"{records!r} is not a list of records", fix=fix)
    concepts: dict[str, Concept] = {}
    relations: dict[tuple[str, str], int] = {}
    has_ids = False
    records = list(records)
    for number, record in enumerate(records, start=1):
        concept = _concept(record, number, keys)
        has_ids |= bool(concept.id)
        concept = concept if concept.id else _with_label_as_id(concept)
        first = concepts.setdefault(concept.id, concept)
        if first.label != concept.label:
            problem = f"record {number}: the id {concept.id!r} belongs to {first.label!r}, too"
            raise TaxonomyError(problem, fix="give one of the two another id")
        concepts[concept.id] = _joined(first, concept, number)
        for parent in (*_texts(record, keys["parents"]), *_texts(record, keys["parent"])):
            relations.setdefault((parent, concept.id), number)
    _warn_of_unread_keys(records, keys, stacklevel=4)
    for (parent, child), number in relations.items():
        if parent not in concepts and has_ids:
            problem = f"record {number}: no record has the id {parent!r}, the parent of {child!r}"
            raise TaxonomyError(problem, fix="add a record for it, or correct the id")
        concepts.setdefault(parent, Concept(parent, parent))
    return list(concepts.values()), list(relations)


def frame_records(frame: pd.DataFrame) -> list[Record]:
    """Return the rows of a data frame as records."""
    if not (hasattr(frame, "to_dict") and hasattr(frame, "columns")):
        fix = "give one, or use from_records for a list"
        raise ConfigurationError(f"a {type(frame).__name__} is not a data frame", fix=fix)
    records: list[Record] = frame.to_dict("records")
    return records


def new_concepts(concepts: NewConcepts) -> list[Concept]:
    """Convert new concepts to a list; a concept without an id has an empty one."""
    if isinstance(concepts, str | Concept | Mapping):
        concepts = [concepts]
    if hasattr(concepts, "to_dict") and hasattr(concepts, "columns"):
        concepts = frame_records(concepts)
    if hasattr(concepts, "relations"):
        problem = f"{concepts!r} is a taxonomy, not new concepts"
        raise ConfigurationError(problem, fix="give new labels, or the concepts of this taxonomy")
    if not isinstance(concepts, Iterable):
        fix = "give a label, or a list of labels, dictionaries or Concepts"
        raise ConfigurationError(f"{concepts!r} is not a list", fix=fix)
    made = []
    concepts = list(concepts)
    for number, given in enumerate(concepts, start=1):
        concept = _new_concept(given, number)
        if found := _problem(concept):
            problem, fix = found
            raise ConfigurationError(f"number {number} of the list, {given!r}, {problem}", fix=fix)
        made.append(concept)
    records = [given for given in concepts if isinstance(given, Mapping)]
    _warn_of_unread_keys(records, _keys(None), stacklevel=5)
    return made


def _new_concept(given: object, number: int) -> Concept:
    if isinstance(given, str):
        return Concept("", given)
    if isinstance(given, Concept):
        check_concept(given)
        return given
    if isinstance(given, Mapping):
        return _concept(given, number, _keys(None))
    problem = f"number {number} of the list, {given!r}, is not a label, a dictionary or a Concept"
    raise ConfigurationError(problem, fix="give one of these, or remove it")


def _problem(concept: Concept) -> tuple[str, str] | None:
    """Return what is wrong with a new concept, and the fix, or None."""
    if not concept.label.strip():
        return "has no label", "give it one, or remove it"
    texts = (concept.id, concept.label, *concept.synonyms, concept.definition)
    if any(map(_has_surrogate, texts)):
        return "has a lone surrogate, which is half of a character", "remove it"
    return None


def _has_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _concept(record: Record, number: int, keys: Mapping[str, str]) -> Concept:
    if not isinstance(record, Mapping):
        problem = f"record {number} is {record!r}, which is not a dictionary"
        raise ConfigurationError(problem, fix="give dictionaries with the key 'label'")
    label = _text(record, keys["label"])
    if not label:
        problem = f"record {number} has no {keys['label']!r}: {dict(record)!r}"
        fix = "every concept needs a label; with columns, say which key has it"
        raise ConfigurationError(problem, fix=fix)
    return Concept(
        _text(record, keys["id"]),
        label,
        tuple(_texts(record, keys["synonyms"])),
        _text(record, keys["definition"]),
        _is_deprecated(_text(record, keys["deprecated"]), number),
    )


def _is_deprecated(value: str, number: int) -> bool:
    if value.lower() not in (*YES, *NO):
        problem = f"record {number}: it is not clear whether deprecated={value!r} means true"
        raise ConfigurationError(problem, fix="give True or False")
    return value.lower() in YES


def _with_label_as_id(concept: Concept) -> Concept:
    return replace(concept, id=concept.label)


def _joined(first: Concept, again: Concept, number: int) -> Concept:
    """Return the concept of two records with the same id and label."""
    if first == again:
        return first
    if first.definition and again.definition not in ("", first.definition):
        problem = f"record {number}: {first.label!r} has another definition in an earlier record"
        raise TaxonomyError(problem, fix="give it one definition, or make them two concepts")
    return replace(
        first,
        synonyms=tuple(dict.fromkeys([*first.synonyms, *again.synonyms])),
        definition=first.definition or again.definition,
        deprecated=first.deprecated or again.deprecated,
    )


def _warn_of_unread_keys(
    records: Iterable[Record], keys: Mapping[str, str], stacklevel: int
) -> None:
    """Warn of keys that are no fields; `stacklevel` leads to the call of the user."""
    names = dict.fromkeys(key for record in records for key in record)
    unread = [shortened(repr(name), 50) for name in names if name not in keys.values()]
    if unread:
        some = join_words([*unread[:MAX_UNREAD], *["…"] * (len(unread) > MAX_UNREAD)])
        known = join_words([*keys.values()])
        message = f"not read: {some}; the keys that are read are {known}"
        warnings.warn(message, stacklevel=stacklevel)


def _keys(columns: Columns | None) -> dict[str, str]:
    """Return the key of every field in a record."""
    keys = {name: name for name in (*FIELDS, "parent")}
    if columns is not None and not isinstance(columns, Mapping):
        fix = 'give a dictionary such as {"label": "name"}'
        raise ConfigurationError(f"columns is {columns!r}", fix=fix, option="columns")
    for name, key in (columns or {}).items():
        if name not in keys:
            problem = f"there is no field {name!r}"
            fix = f"choose from {', '.join(FIELDS)}"
            raise ConfigurationError(problem, fix=fix, option="columns")
        keys[name] = key
    return keys


def _text(record: Record, key: str) -> str:
    value = record.get(key)
    return "" if _is_missing(value) else _spelled(value)


def _spelled(value: object) -> str:
    """Return a value as a text; in a data frame with empty cells, the number 1 is 1.0."""
    if isinstance(value, float | np.floating) and value.is_integer():
        value = int(value)
    return str(value).strip()


def _texts(record: Record, key: str) -> list[str]:
    """Return several texts: a list, or one text with separators."""
    value = record.get(key)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Sequence | Set) and not isinstance(value, str):
        return [_spelled(text) for text in value if not _is_missing(text)]
    return [text.strip() for text in _text(record, key).split(SEPARATOR) if text.strip()]


def _is_missing(value: object) -> bool:
    """Return whether a value is None, or one of the missing values of a data frame."""
    # NaN and NaT differ from themselves. NA has no truth value.
    return value is None or type(value).__name__ == "NAType" or value != value
