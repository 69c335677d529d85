"""Readers of lists of names in public repositories: vocabularies, brands, foods and collections."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from reproduction.pretraining.broad_sources import MAX_NAME, Entry

COLLECTIONS = (
    "animals architecture art colors corporations foods geography materials medicine music objects "
    "plants religion science societies_and_groups sports technology transportation travel"
)
"""The folders of `dariusk/corpora` with names of things, not of persons or in other languages."""
CODED_LINE = re.compile(r"\[[^\]]+\] (.*?)(?: -- (.*))?$")
FIELD = re.compile(r"\*\*([\w ]+):\*\*")
CODE = re.compile(r"\s{2}.*")
ENGLISH = "en: "


def english_wordnet(folder: Path) -> Iterator[Entry]:
    """Yield the synsets of Open English WordNet."""
    for path in sorted((folder / "src" / "yaml").glob("*.yaml")):
        if not path.name.startswith(("noun.", "verb.", "adj.", "adv.")):
            continue
        with path.open(encoding="utf-8") as file:
            synsets: dict[str, Any] = yaml.load(file, Loader=yaml.CSafeLoader)
        for synset in synsets.values():
            yield Entry(tuple(map(str, synset["members"])), synset["definition"][0])
            for example in synset.get("example", ()):
                yield Entry(text=example if isinstance(example, str) else example["text"])


def coded_names(path: Path) -> Iterator[Entry]:
    """Yield the concepts of a list with lines `[code] label -- definition`, or of a folder of them.

    Labels of patent groups that continue those of their parent have no capital, and are left out.
    """
    for file in sorted(path.glob("*.txt")) if path.is_dir() else [path]:
        patents = path.name == "patent_cpc"
        for line in file.read_text(encoding="utf-8").splitlines():
            found = CODED_LINE.match(line)
            if found is None or (patents and not found[1][:1].isupper()):
                continue
            label, fields = CODE.sub("", found[1]).strip(), FIELD.split(found[2] or "")
            texts = {"": fields[0], **dict(zip(fields[1::2], fields[2::2], strict=True))}
            text = "" if patents else texts.get("Definition", texts[""]).strip()
            synonyms = [each.strip() for each in texts.get("Synonyms", "").split(" - ")]
            names = [name for name in (label, *synonyms) if 2 < len(name) <= MAX_NAME]
            long = [label] if len(label) > MAX_NAME else []
            yield Entry(tuple(names), more=text) if not long else Entry(text=label, more=text)


def skills(path: Path) -> Iterator[Entry]:
    """Yield the concepts of such a list with their definitions as texts."""
    for entry in coded_names(path):
        yield Entry(entry.names, entry.more)


def brands(folder: Path) -> Iterator[Entry]:
    """Yield the brands of the Name Suggestion Index with their kind."""
    for path in sorted((folder / "data" / "brands").glob("*/*.json")):
        kind = f"{path.stem} {path.parent.name}".replace("_", " ")
        for item in json.loads(path.read_text(encoding="utf-8")).get("items", ()):
            if "displayName" in item:  # others are templates
                yield Entry((item["displayName"],), kind)


def food_facts(folder: Path) -> Iterator[Entry]:
    """Yield the English names of categories, ingredients and labels of Open Food Facts."""
    for path in sorted((folder / "taxonomies").rglob("*.txt")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith(ENGLISH):
                names = re.split(r"(?<!\\),\s*", line.removeprefix(ENGLISH))
                plain = (name.replace("\\", "").strip() for name in names)
                yield Entry(tuple(name for name in plain if 2 < len(name) <= MAX_NAME))


def collections(folder: Path) -> Iterator[Entry]:
    """Yield the names in lists of things that `dariusk/corpora` collects."""
    for name in COLLECTIONS.split():
        for path in sorted((folder / "data" / name).rglob("*.json")):
            for text in _strings(json.loads(path.read_text(encoding="utf-8"))):
                yield Entry((text,) if 2 < len(text) <= MAX_NAME else (), more=text)


def _strings(value: Any) -> Iterator[str]:
    """Yield the texts in a JSON value at any depth."""
    if isinstance(value, str):
        if "://" not in value:
            yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from _strings(part)
