"""The pantry as a domain of SemEval-2016 Task 13."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.builders import KINDS, SORTS

DOMAIN = "food"


def write_domain(folder: Path, terms: dict[str, str]) -> Path:
    """Write ninety foods without the terms to place, and these terms with their parents."""
    own = folder / DOMAIN
    own.mkdir(parents=True, exist_ok=True)
    relations = [("food", kind) for kind in KINDS]
    relations += [(kind, f"{sort} {kind}") for kind in KINDS for sort in SORTS]
    known = [relation for relation in relations if relation[1] not in terms]
    train = "".join(f"{parent}\t{child}\n" for parent, child in [*known, known[0]])
    (own / f"{DOMAIN}_train.taxo").write_text(train, encoding="utf-8")
    for ending, lines in (("terms", terms), ("gt", terms.values())):
        text = "".join(f"{line}\n" for line in lines)
        (own / f"{DOMAIN}_eval.{ending}").write_text(text, encoding="utf-8")
    texts = {child: [f"{child}: a kind of {parent}", "unused"] for parent, child in relations}
    texts |= {"food": ["what is eaten"], "granite": ["a rock"]}
    (own / "dic.json").write_text(json.dumps(texts), encoding="utf-8")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one domain, in which one food of each kind is to be placed."""
    terms = {f"{SORTS[0]} {kind}": kind for kind in KINDS}
    return write_domain(tmp_path / "data", terms)
