"""Make the demo taxonomy: the food branch of WordNet 3.0, from the Debian package wordnet-base.

    apt-get install wordnet-base
    python tools/make_food_taxonomy.py /usr/share/wordnet src/taxoexpan/data/food.csv

The concepts are the noun synsets in WordNet's lexicographer file `noun.food`, and the synsets
between them and `food`. The output has labels, synonyms and is-a relations, but no definitions.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import NamedTuple

FOOD = "13"
"""The number of the lexicographer file noun.food."""


class Synset(NamedTuple):
    """One line of data.noun."""

    offset: str
    file: str
    lemmas: list[str]
    hypernyms: list[str]


def read_synsets(directory: Path) -> dict[str, Synset]:
    """Return all noun synsets by their offset."""
    synsets = {}
    for line in (directory / "data.noun").read_text("ascii").splitlines():
        if line.startswith("  "):  # the license at the start of the file
            continue
        cells = line.split(" | ")[0].split()
        words = 4 + 2 * int(cells[3], 16)
        lemmas = cells[4:words:2]
        pointers = [
            cells[i : i + 4] for i in range(words + 1, words + 1 + 4 * int(cells[words]), 4)
        ]
        hypernyms = [offset for mark, offset, pos, _ in pointers if mark == "@" and pos == "n"]
        synsets[cells[0]] = Synset(cells[0], cells[1], lemmas, hypernyms)
    return synsets


def read_senses(directory: Path) -> dict[tuple[str, str], int]:
    """Return the number of each sense by lemma and offset."""
    senses = {}
    for line in (directory / "index.noun").read_text("ascii").splitlines():
        if line.startswith("  "):
            continue
        cells = line.split()
        offsets = cells[-int(cells[2]) :]
        senses.update({(cells[0], offset): n for n, offset in enumerate(offsets, start=1)})
    return senses


def choose_food(synsets: dict[str, Synset]) -> dict[str, Synset]:
    """Return the synsets of noun.food below `food`, and all synsets on the paths between."""
    roots = {s.offset for s in synsets.values() if s.lemmas[0] == "food" and s.file in ("03", FOOD)}
    is_below: dict[str, bool] = dict.fromkeys(roots, True)

    def below_food(offset: str) -> bool:
        if offset not in is_below:
            is_below[offset] = any(map(below_food, synsets[offset].hypernyms))
        return is_below[offset]

    chosen = {offset for offset, s in synsets.items() if s.file == FOOD and below_food(offset)}
    between = set(roots)
    pending = list(chosen)
    while pending:
        offset = pending.pop()
        if offset not in between and below_food(offset):
            between.add(offset)
            pending.extend(synsets[offset].hypernyms)
    return {offset: synsets[offset] for offset in sorted(chosen | between)}


def main(directory: Path, output: Path) -> None:
    """Write one row per concept."""
    food, senses = choose_food(read_synsets(directory)), read_senses(directory)
    names = {
        offset: f"{s.lemmas[0].lower()}#n#{senses[s.lemmas[0].lower(), offset]}"
        for offset, s in food.items()
    }
    with output.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["id", "label", "parents", "synonyms"])
        for offset, synset in food.items():
            label, *synonyms = (lemma.replace("_", " ") for lemma in synset.lemmas)
            parents = [names[parent] for parent in synset.hypernyms if parent in food]
            writer.writerow([names[offset], label, "|".join(parents), "|".join(synonyms)])
    print(f"{len(food)} concepts written to {output}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
