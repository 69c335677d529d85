from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

TREES = {
    "arxiv": {"science": ["physics", "chemistry"], "physics": ["optics", "acoustics", "statics"]},
    "cofog": {"state": ["defence", "health"], "health": ["hospital service", "public health"]},
    "rxno": {"reaction": [f"{kind} reaction" for kind in "abcdefghijkl"]},
}
"""The children of concepts in small vocabularies with the names of real ones."""


@pytest.fixture
def vocabularies(tmp_path: Path) -> Path:
    """A directory of small vocabularies."""
    for name, tree in TREES.items():
        parent_of = {child: parent for parent, children in tree.items() for child in children}
        labels = dict.fromkeys([*tree, *parent_of])
        rows = [
            {
                "id": label,
                "label": label,
                "definition": f"a kind of {parent_of[label]}" if label in parent_of else "",
                "parents": [parent_of[label]] if label in parent_of else [],
            }
            for label in labels
        ]
        with gzip.open(tmp_path / f"{name}.jsonl.gz", "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    return tmp_path
