"""Check that no text for training has the name of a test; exit with 1 if one has.

    python -m reproduction.pretraining.text_overlap VOCABULARIES phrases.txt.gz --exclude tests.txt

The names come from `reproduction.pretraining.excluded_names`. No text may be equal to a name. A
broad phrase must not define a name (`name: definition`) or contain one of two or more words either.
Vocabularies are read without the names, as the pre-training reads them.
"""

from __future__ import annotations

import argparse
import gzip
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from reproduction.pretraining.overlap import read_labels
from reproduction.pretraining.vocabularies import read_vocabularies
from taxoexpan.errors import FormatError, TaxoExpanError
from taxoexpan.taxonomy.names import name_key, normalize_name, words_key

DEFINITION = ": "
"""What separates a name from its definition in a text."""
SHOWN = 10
"""The number of texts that are shown as examples."""
WORDS = re.compile(r"\w+")


class NameIndex:
    """The names that no text may have, by their keys and by the words in them."""

    def __init__(self, names: Iterable[str]) -> None:
        self.keys: set[str] = set()
        self._phrases: set[str] = set()
        lengths: dict[str, set[int]] = {}
        for name in names:
            self.keys.add(name_key(name))
            words = words_of(name)
            if len(words) > 1:
                self._phrases.add(words_key(words))
                lengths.setdefault(words[0], set()).add(len(words))
        self._lengths = {first: tuple(sorted(each)) for first, each in lengths.items()}

    def is_name(self, text: str) -> bool:
        """Return whether a text is one of the names."""
        return name_key(text) in self.keys

    def is_defined_in(self, text: str) -> bool:
        """Return whether a text is one of the names, alone or with a definition."""
        label, separator, _ = text.partition(DEFINITION)
        return self.is_name(label) or (bool(separator) and self.is_name(text))

    def is_in(self, text: str) -> bool:
        """Return whether consecutive words of a text are a name of two or more words."""
        words = words_of(text)
        for start, word in enumerate(words):
            for length in self._lengths.get(word, ()):
                part = words[start : start + length]
                if len(part) == length and words_key(part) in self._phrases:
                    return True
        return False


def words_of(text: str) -> list[str]:
    """Return the normalized words of a text, without punctuation."""
    return WORDS.findall(normalize_name(text))


def read_phrases(path: Path) -> Iterator[str]:
    """Yield the lines of a gzip file."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                yield line.rstrip("\n")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise FormatError(path, f"not readable: {error}") from error


def report(kind: str, texts: Sequence[str], total: int, what: str) -> bool:
    """Print a count with examples, and return whether it is zero."""
    print(f"{kind}: {len(texts):,} of {total:,} {what}")
    for text in texts[:SHOWN]:
        print(f"  {text}")
    return not texts


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the counts, and fail if they are not zero."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("vocabularies", type=Path)
    parser.add_argument("phrases", type=Path)
    parser.add_argument("--exclude", type=Path, required=True, help="a file with a name per line")
    options = parser.parse_args(arguments)
    try:
        names = NameIndex(read_labels(options.exclude))
        vocabularies = read_vocabularies(options.vocabularies, names.keys)
        labels = [label for each in vocabularies for label in each.taxonomy.labels]
        phrases = list(read_phrases(options.phrases))
    except TaxoExpanError as error:
        sys.exit(f"error: {error}")
    equal = [label for label in labels if names.is_name(label)]
    clean = [report("vocabularies", equal, len(labels), "labels are a name of a test")]
    equal = [phrase for phrase in phrases if names.is_defined_in(phrase)]
    clean.append(report("phrases", equal, len(phrases), "are a name of a test"))
    containing = [phrase for phrase in phrases if names.is_in(phrase)]
    clean.append(report("phrases", containing, len(phrases), "contain a name of two or more words"))
    if not all(clean):
        sys.exit(1)


if __name__ == "__main__":
    main()
