"""The style of a taxonomy's ids: numbers, slugs or IRIs."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, count, islice
from uuid import NAMESPACE_URL, uuid5

from taxoexpan.taxonomy.names import normalize_name
from taxoexpan.taxonomy.taxonomy import Taxonomy

IdMaker = Callable[[str], Iterator[str]]
"""A function that yields ids for a label, the best one first."""
NUMBER = r"(?<!\d)\d{1,100}"
"""A number in an id; more digits are not a count."""
MAX_OUTLIERS = 0.1
"""The fraction of the ids that may be outliers, at most."""
_SAMPLE_SIZE = 10_000


def next_number(numbers: Iterable[int]) -> int:
    """Return the number after the last one: 501 after 1 to 500, even if 9999999 is used.

    A tenth of the ids may be far above all others, because some ontologies reserve ranges.
    """
    ordered = sorted(set(numbers))
    if not ordered:
        return 1
    outliers = max(1, int(len(ordered) * MAX_OUTLIERS)) if len(ordered) > 2 else 0
    for first in range(len(ordered) - outliers, len(ordered)):
        last = ordered[first - 1]
        span = ordered[first - 1] - ordered[0] + 1
        if ordered[first] - last > max(span, 10):
            return last + 1
    return ordered[-1] + 1


def next_and_width(numbers: Sequence[str]) -> tuple[int, int]:
    """Return the next number, and the width of the number before it."""
    following = next_number(map(int, numbers))
    last = max((n for n in numbers if int(n) < following), key=int)
    return following, len(last)


_UUID = re.compile(r"(?P<stem>.*?)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_NUMBERED = re.compile(rf"(?P<stem>.*?)(?P<number>{NUMBER})")
_OTHER = re.compile(r"[\W_]")


def are_paths(taxonomy: Taxonomy) -> bool:
    """Return whether every id is the label, or a category path that ends with the label."""
    # A URI may end in the label too, but a bare label is not a URI.
    return all(
        id == label or id.endswith(f"> {label}")
        for id, label in zip(taxonomy.ids, taxonomy.labels, strict=True)
    )


def id_style(taxonomy: Taxonomy) -> IdMaker:
    """Return a function that makes ids for labels in the style of the taxonomy."""
    if are_paths(taxonomy):
        return numbered
    style = numbering(taxonomy.ids)
    if style is None:
        return _spelled_ids(taxonomy)
    stem, width, following = style
    numbers = count(following)
    return lambda _: (f"{stem}{number:0{width}d}" for number in numbers)


def numbering(ids: Sequence[str]) -> tuple[str, int, int] | None:
    """Return the stem, the width and the next number of numbered ids, if most ids are numbered."""
    matches = [match for match in map(_NUMBERED.fullmatch, ids) if match]
    stems = Counter(match["stem"] for match in matches)
    if not stems or stems.most_common(1)[0][1] * 2 <= len(ids):
        return None
    stem = stems.most_common(1)[0][0]
    numbers = [match["number"] for match in matches if match["stem"] == stem]
    following, width = next_and_width(numbers)
    return stem, width, following


def _spelled_ids(taxonomy: Taxonomy) -> IdMaker:
    """Return a function that makes ids from the common prefix and the label or a UUID."""
    prefixes = Counter(id[: max(map(id.rfind, "/#:")) + 1] for id in taxonomy.ids)
    prefix, uses = prefixes.most_common(1)[0]
    prefix = prefix if uses * 2 > len(taxonomy) else ""
    random = [match for match in map(_UUID.fullmatch, taxonomy.ids) if match]
    if len(random) * 2 > len(taxonomy):
        stem = Counter(match["stem"] for match in random).most_common(1)[0][0]
        return lambda label: (
            f"{stem}{uuid5(NAMESPACE_URL, name)}" for name in numbered(stem + label)
        )
    fits = Counter(
        name
        for id, label in islice(zip(taxonomy.ids, taxonomy.labels, strict=True), _SAMPLE_SIZE)
        for name, spell in SPELLINGS.items()
        if id == prefix + spell(label)
    )
    # The first spelling wins a tie: a single word does not show the hyphens.
    style = max(SPELLINGS, key=lambda name: fits[name])
    spell = SPELLINGS[style]
    if style == SENSE_STYLE:  # the first sense of a name, then the second, and so on
        return lambda label: (f"{prefix}{spell(label)[:-1]}{sense}" for sense in count(1))
    return lambda label: numbered(prefix + spell(label))


def make_distinct(names: Sequence[str]) -> list[str]:
    """Return the names, with a number appended to repeated names."""
    taken = set(names)
    used = set[str]()
    candidates: dict[str, Iterator[str]] = {}
    distinct = []
    for name in names:
        new = name
        if name in used:
            others = candidates.setdefault(name, numbered(name))
            new = next(other for other in others if other not in taken)
        distinct.append(new)
        taken.add(new)
        used.add(new)
    return distinct


def slug(label: str) -> str:
    """Return a label as one word of letters, digits and hyphens."""
    return "-".join(_split(normalize_name(label)))


def _words(label: str) -> list[str]:
    """Return the words of a label, without changing the case."""
    return _split(unicodedata.normalize("NFKC", label))


def _capital(word: str) -> str:
    return word[:1].upper() + word[1:]


def _camel(label: str) -> str:
    first, *rest = _words(label)
    return first.lower() + "".join(map(_capital, rest))


SENSE_STYLE = "red_wine#n#1"
"""The spelling of WordNet's senses; the number at the end counts the senses."""
SPELLINGS: dict[str, Callable[[str], str]] = {
    "red-wine": slug,
    "red_wine": lambda label: slug(label).replace("-", "_"),
    "RED_WINE": lambda label: slug(label).replace("-", "_").upper(),
    "RedWine": lambda label: "".join(map(_capital, _words(label))),
    "redWine": _camel,
    "Red-wine": lambda label: "-".join(_words(label)),
    "Red_wine": lambda label: "_".join(_words(label)),
    SENSE_STYLE: lambda label: f"{slug(label).replace('-', '_')}#n#1",
}
"""Spellings of a label in an id, each with an example for "red wine"."""


def _split(text: str) -> list[str]:
    """Return the runs of letters, digits and combining marks (as in Hindi), or one word."""
    kept = (c if not _OTHER.match(c) or unicodedata.category(c)[0] == "M" else " " for c in text)
    return "".join(kept).split() or ["concept"]


def numbered(text: str) -> Iterator[str]:
    """Yield the string, then the string with -2, -3 and so on appended."""
    return chain([text], (f"{text}-{number}" for number in count(2)))
