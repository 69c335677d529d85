"""Group the wrong placements of SemEval's task by the kind of error, with the cost of each group.

    python -m reproduction.semeval.errors KEY SEMEVAL WORDNET [--half test]

KEY is a file that `python -m reproduction table semeval -o DIR` writes.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from reproduction.semeval.task import FILES, WordNet, read_concepts, read_key
from reproduction.semeval.wu_palmer import WuPalmer
from taxoexpan.errors import TaxoExpanError
from taxoexpan.features.mentions import Lexicon
from taxoexpan.taxonomy import Concept

GROUPS = (
    "right",
    "too deep: below the right synset",
    "too high: above the right synset",
    "a sibling of the right synset",
    "another sense of the right word",
    "a homonym of the concept's own label, or below one",
    "mentioned by the definition or the label, but not the genus",
    "the right synset is mentioned, but another was chosen",
    "elsewhere, and the right synset is not mentioned",
)


@dataclass(frozen=True)
class JudgedPlacement:
    """A placement, its group, and its similarity to the right one."""

    concept: Concept
    placed: str
    right: str
    group: str
    similarity: float


class Judge:
    """Assigns the placements of one part of speech to groups."""

    def __init__(self, wordnet: WordNet) -> None:
        self.wordnet, self.taxonomy = wordnet, wordnet.taxonomy
        self.similarity = WuPalmer(self.taxonomy)
        order = {lemma.replace("_", " "): ids for lemma, ids in wordnet.senses.items()}
        self.lexicon = Lexicon.from_taxonomy(self.taxonomy, order)

    def judge(self, concept: Concept, placed: str, right: str) -> JudgedPlacement:
        """Return the placement with the first group that matches."""
        t = self.taxonomy
        similarity = self.similarity(t.index(placed), t.index(right))
        mentioned = {t.ids[target] for target, _ in self.lexicon.mentioned_by(concept)}
        own = {t.ids[i] for i in self.lexicon.senses.get(concept.label.casefold(), ())}
        tests = (
            placed == right,
            right in t.ancestors(placed),
            placed in t.ancestors(right),
            bool({*t.parents(placed)} & {*t.parents(right)}),
            bool(self._names(placed) & self._names(right)),
            bool(own & {placed, *t.ancestors(placed)}),
            placed in mentioned,
            right in mentioned,
            True,
        )
        return JudgedPlacement(concept, placed, right, GROUPS[tests.index(True)], similarity)

    def _names(self, id: str) -> set[str]:
        concept = self.taxonomy.concept(id)
        return {name.casefold() for name in (concept.label, *concept.synonyms)}


def main() -> None:
    """Print the groups of a key, with up to six examples each."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("key", "semeval", "wordnet"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--half", choices=FILES, default="test")
    options = parser.parse_args()
    data, gold = (options.semeval / name for name in FILES[options.half])
    placed, right = read_key(options.key), read_key(gold)
    judges = [Judge(wordnet) for wordnet in WordNet.read(options.wordnet, instances=True)]
    groups: dict[str, list[JudgedPlacement]] = defaultdict(list)
    for concept in (concept for concept in read_concepts(data) if concept.id in placed):
        for judge in judges:
            ids = [judge.wordnet.id_of(key[concept.id].synset) for key in (placed, right)]
            if ids[0] is not None and ids[1] is not None:
                judged = judge.judge(concept, ids[0], ids[1])
                groups[judged.group].append(judged)
    count = sum(map(len, groups.values()))
    if not count:
        parser.error(f"{options.key} places no concept of the {options.half} half")
    for group in GROUPS:
        members = groups[group]
        lost = sum(1 - judged.similarity for judged in members) / count
        print(f"| {group} | {len(members)} | {lost:.3f} |")
        examples = sorted(members, key=lambda judged: judged.similarity)
        for judged in examples[:: max(1, len(members) // 6)][:6]:
            if group != GROUPS[0]:
                names = f"{judged.concept.label}: {judged.placed}, right {judged.right}"
                print(f"    {names} ({judged.similarity:.2f}) {judged.concept.definition[:90]}")


if __name__ == "__main__":
    try:
        main()
    except TaxoExpanError as error:
        sys.exit(f"error: {error}")
