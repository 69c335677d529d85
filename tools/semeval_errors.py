"""What is wrong with the placements of SemEval's task, in groups: how many, and what each costs.

semeval_errors.py KEY SEMEVAL WORDNET [--half test] reads a key of `reproduce table semeval -o`.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from taxoexpan.errors import TaxoExpanError
from taxoexpan.experiments.semeval.semeval_task import FILES, WordNet, read_concepts, read_key
from taxoexpan.experiments.semeval.wu_palmer import WuPalmer
from taxoexpan.features.lexicon import Lexicon
from taxoexpan.taxonomy import Concept

GROUPS = (
    "right",
    "too deep: below the right synset",
    "too high: above it",
    "beside it, under the same parent",
    "another sense of the right word",
    "a homonym of the concept's own name, or below one",
    "what the definition or the name mentions, which is not the genus here",
    "the right one is mentioned, and another was taken",
    "elsewhere, and nothing mentions the right one",
)


@dataclass(frozen=True)
class Judged:
    """A placement, its group, and how similar it is to the right one."""

    concept: Concept
    placed: str
    right: str
    group: str
    similarity: float


class Judge:
    """Puts placements of one part of speech into groups."""

    def __init__(self, wordnet: WordNet) -> None:
        self.wordnet, self.taxonomy = wordnet, wordnet.taxonomy
        self.similarity = WuPalmer(self.taxonomy)
        order = {lemma.replace("_", " "): ids for lemma, ids in wordnet.senses.items()}
        self.lexicon = Lexicon.from_taxonomy(self.taxonomy, order)

    def judge(self, concept: Concept, placed: str, right: str) -> Judged:
        """The first group that a placement belongs to."""
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
        return Judged(concept, placed, right, GROUPS[tests.index(True)], similarity)

    def _names(self, id: str) -> set[str]:
        concept = self.taxonomy.concept(id)
        return {name.casefold() for name in (concept.label, *concept.synonyms)}


def main() -> None:
    """Print the groups of a key, with up to six examples each."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("key", "semeval", "wordnet"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--half", choices=FILES, default="test")
    given = parser.parse_args()
    data, gold = (given.semeval / name for name in FILES[given.half])
    placed, right = read_key(given.key), read_key(gold)
    judges = [Judge(wordnet) for wordnet in WordNet.read(given.wordnet, instances=True)]
    groups: dict[str, list[Judged]] = defaultdict(list)
    for concept in (concept for concept in read_concepts(data) if concept.id in placed):
        for judge in judges:
            ids = [judge.wordnet.id_of(key[concept.id].synset) for key in (placed, right)]
            if ids[0] is not None and ids[1] is not None:
                judged = judge.judge(concept, ids[0], ids[1])
                groups[judged.group].append(judged)
    count = sum(map(len, groups.values()))
    if not count:
        parser.error(f"{given.key} places no concept of the {given.half} half")
    for group in GROUPS:
        those = groups[group]
        lost = sum(1 - judged.similarity for judged in those) / count
        print(f"| {group} | {len(those)} | {lost:.3f} |")
        for judged in sorted(those, key=lambda j: j.similarity)[:: max(1, len(those) // 6)][:6]:
            if group != GROUPS[0]:
                names = f"{judged.concept.label}: {judged.placed}, right {judged.right}"
                print(f"    {names} ({judged.similarity:.2f}) {judged.concept.definition[:90]}")


if __name__ == "__main__":
    try:
        main()
    except TaxoExpanError as error:
        sys.exit(f"semeval_errors.py: {error}")
