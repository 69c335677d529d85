"""Make the broad texts for training: one phrase or short text per line, without names of tests.

    python -m reproduction.pretraining.broad_texts SOURCES -o phrases.txt.gz --exclude tests.txt

SOURCES.md lists the sources, and the commands that download them to the folder SOURCES. The texts
are names alone, names with definitions, sentences, and frequent noun phrases out of them. A text
appears once, whatever its case. The order is random.
"""

from __future__ import annotations

import argparse
import gzip
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from reproduction.pretraining import broad_repositories as repositories
from reproduction.pretraining import broad_sources as sources
from reproduction.pretraining.broad_sources import Entry
from reproduction.pretraining.noun_phrases import frequent_phrases
from reproduction.pretraining.overlap import read_labels
from reproduction.pretraining.text_overlap import DEFINITION, NameIndex
from taxoexpan.errors import FormatError, TaxoExpanError

MAX_LENGTH = 300
"""The characters of a text, at most; definitions are cut after a word."""
MIN_LETTERS = 0.6
"""The fraction of ASCII letters in a text, at least."""
CODES = "WorldOfTaxonomy/frontend/public/llms-codes"

SOURCES: dict[str, tuple[str, Callable[[Path], Iterator[Entry]]]] = {
    "WordNet": ("wordnet", sources.wordnet),
    "GCIDE": ("dict/gcide.index", sources.dictionary),
    "FOLDOC": ("dict/foldoc.index", sources.dictionary),
    "Jargon File": ("dict/jargon.index", sources.dictionary),
    "Devil's Dictionary": ("dict/devil.index", sources.dictionary),
    "V.E.R.A.": ("dict/vera.index", sources.dictionary),
    "Elements": ("dict/elements.index", sources.dictionary),
    "Debian packages": ("debian", sources.debian),
    "iso-codes": ("iso-codes", sources.iso_codes),
    "ACL abstracts": ("acl-abstracts.tsv.gz", sources.abstracts),
    "Open English WordNet": ("english-wordnet", repositories.english_wordnet),
    "ESCO skills": (f"{CODES}/esco_skills.txt", repositories.skills),
    "ESCO occupations": (f"{CODES}/esco_occupations.txt", repositories.skills),
    "patent classification": (f"{CODES}/patent_cpc", repositories.coded_names),
    "NCI Thesaurus": (f"{CODES}/nci_thesaurus", repositories.coded_names),
    "Name Suggestion Index": ("name-suggestion-index", repositories.brands),
    "Open Food Facts": ("openfoodfacts-server", repositories.food_facts),
    "corpora": ("corpora", repositories.collections),
}
"""The path of every source in the folder, and its reader."""


class Texts:
    """The texts that are kept, and the names that they must not have."""

    def __init__(self, names: NameIndex) -> None:
        self.names = names
        self.texts: list[str] = []
        self._seen: set[str] = set()

    def add(self, texts: Iterable[str]) -> int:
        """Keep the new texts that have no name of a test, and return their number."""
        before = len(self.texts)
        for text in texts:
            short = shorten(text)
            key = short.lower()
            if key in self._seen or not is_english(short):
                continue
            self._seen.add(key)
            if not self.names.is_defined_in(short) and not self.names.is_in(short):
                self.texts.append(short)
        return len(self.texts) - before

    def allowed(self, entry: Entry) -> bool:
        """Return whether no name of an entry is a name of a test."""
        return not any(map(self.names.is_name, entry.names))


def shorten(text: str) -> str:
    """Return a text in one line, cut after a word if it is too long."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_LENGTH else line[:MAX_LENGTH].rpartition(" ")[0]


def is_english(text: str) -> bool:
    """Return whether a text has two letters and mostly letters of English."""
    letters = sum(letter.isascii() and letter.isalpha() for letter in text)
    return letters >= 2 and letters >= MIN_LETTERS * len(text)


def texts_of(entry: Entry) -> Iterator[str]:
    """Yield the names of an entry, and its text with the first name."""
    yield from entry.names
    if entry.text:
        yield DEFINITION.join((*entry.names[:1], entry.text))


def collect(folder: Path, names: NameIndex) -> tuple[list[str], dict[str, int]]:
    """Return the texts of all sources, and the number of texts that each one added."""
    texts, counts, cut = Texts(names), {}, []
    for source, (path, read) in SOURCES.items():
        if not (folder / path).exists():
            raise FormatError(folder / path, f"{source} is missing", fix="see SOURCES.md")
        entries = list(filter(texts.allowed, read(folder / path)))
        counts[source] = texts.add(text for entry in entries for text in texts_of(entry))
        cut += [text for entry in entries for text in (entry.text, entry.more) if text]
    counts["noun phrases out of these texts"] = texts.add(frequent_phrases(cut))
    return texts.texts, counts


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the texts in random order, and print the number of texts per source."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sources", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--exclude", type=Path, required=True, help="a file with a name per line")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    try:
        texts, counts = collect(options.sources, NameIndex(read_labels(options.exclude)))
    except TaxoExpanError as error:
        sys.exit(f"error: {error}")
    random.Random(options.seed).shuffle(texts)
    content = "".join(f"{text}\n" for text in texts).encode()
    options.output.write_bytes(gzip.compress(content, mtime=0))
    for source, count in counts.items():
        print(f"| {source} | {count:,} |")
    print(f"| all | {len(texts):,} |")


if __name__ == "__main__":
    main()
