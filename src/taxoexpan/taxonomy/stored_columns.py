"""A taxonomy as columns that JSON can store, and a digest of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from taxoexpan.taxonomy.taxonomy import Taxonomy


def taxonomy_columns(taxonomy: Taxonomy) -> dict[str, Any]:
    """Return all that a taxonomy holds, as JSON stores it."""
    parents, children = taxonomy.relation_indices
    return {
        "ids": list(taxonomy.ids),
        "labels": list(taxonomy.labels),
        "synonyms": {str(index): names for index, names in taxonomy.synonyms.items()},
        "definitions": {str(index): text for index, text in taxonomy.definitions.items()},
        "deprecated": sorted(taxonomy.deprecated),
        "foreign_names": {str(index): names for index, names in taxonomy.foreign_names.items()},
        "reserved": sorted(taxonomy.reserved),
        "parents": parents.tolist(),
        "children": children.tolist(),
    }


def taxonomy_from_columns(columns: Mapping[str, Any]) -> Taxonomy:
    """Restore a taxonomy from the columns of `taxonomy_columns`."""
    return Taxonomy.from_columns(
        columns["ids"],
        columns["labels"],
        np.array(columns["parents"], dtype=np.int64),
        np.array(columns["children"], dtype=np.int64),
        {int(index): tuple(names) for index, names in columns["synonyms"].items()},
        {int(index): text for index, text in columns["definitions"].items()},
        columns["deprecated"],
        {int(index): tuple(names) for index, names in columns["foreign_names"].items()},
        columns["reserved"],
    )


def taxonomy_digest(taxonomy: Taxonomy) -> str:
    """Return a digest that identifies a taxonomy."""
    content = json.dumps(taxonomy_columns(taxonomy), ensure_ascii=False)
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
