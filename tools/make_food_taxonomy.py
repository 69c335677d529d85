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

from taxoexpan.formats.text_file import TextFile
from taxoexpan.formats.wordnet import Synset, open_parts

FOOD = "13"
"""The number of the lexicographer file noun.food."""


def choose_food(synsets: dict[str, Synset]) -> dict[str, Synset]:
    """Return the synsets of noun.food below `food`, and all synsets on the paths between."""
    roots = {s.offset for s in synsets.values() if s.words[0] == "food" and s.file in ("03", FOOD)}
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
    nouns = open_parts(TextFile.open(directory))["n"]
    food = choose_food({synset.offset: synset for synset in nouns.synsets})
    ids = {offset: nouns.id_of(synset) for offset, synset in food.items()}
    with output.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["id", "label", "parents", "synonyms"])
        for offset, synset in food.items():
            label, *synonyms = (word.replace("_", " ") for word in synset.words)
            parents = [ids[parent] for parent in synset.hypernyms if parent in food]
            writer.writerow([ids[offset], label, "|".join(parents), "|".join(synonyms)])
    print(f"{len(food)} concepts written to {output}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
