"""The choice of labels in files with several languages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from taxoexpan.errors import FormatError
from taxoexpan.formats.text_file import TextFile
from taxoexpan.phrasing import join_words, pluralize
from taxoexpan.taxonomy.language_guess import LanguageGuess, other_language

Text = tuple[str, str]
"""A language tag, blank for none, and a text."""

_NO_LANGUAGE = 3
_FALLBACK = 4
_MAX_LISTED = 20
_MIN_FRACTION = 0.1
"""A language with fewer labels, compared with the chosen one, is not worth a message."""


@dataclass(frozen=True)
class Languages:
    """The chosen language, the main language of the file, and all languages.

    `tagged` is the most frequent tag; if most labels have no tag, they are in this language.
    """

    chosen: str
    main: str
    available: frozenset[str] = frozenset()
    tagged: str = ""
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict, repr=False)
    """The labels in each language."""

    @classmethod
    def choose(
        cls, source: TextFile, labels: Iterable[list[Text]], names: Iterable[list[Text]] = ()
    ) -> Languages:
        """Choose the language that the user requests, or else the language of most labels."""
        by_tag: dict[str, list[str]] = {}
        for language, text in (each for texts in labels for each in texts):
            by_tag.setdefault(language, []).append(text)
        counts = Counter({language: len(texts) for language, texts in by_tag.items()})
        # Statements have no order, so a tie must be resolved by the tags themselves.
        main = _most_frequent(counts)
        requested = source.options.language
        chosen = (requested or main).lower()
        known = sorted(language for language in counts if language)
        if requested and not any(_is_variant(chosen, other) for other in known):
            listed = ", ".join(known[:_MAX_LISTED]) or "none"
            message = f"no label is in the language {requested!r}"
            raise FormatError(source.path, message, fix=f"choose one of: {listed}")
        tags = counts + Counter(language for texts in names for language, _ in texts)
        del tags[""]
        return cls(chosen, main, frozenset(counts), _most_frequent(tags), by_tag)

    @property
    def others(self) -> dict[str, Sequence[str]]:
        """The labels in the other frequent languages, the most frequent first."""
        least = _MIN_FRACTION * len(self.labels.get(self.tag, ()))
        ordered = sorted(self.labels.items(), key=lambda item: (-len(item[1]), item[0]))
        frequent = {tag: texts for tag, texts in ordered if tag and len(texts) >= least}
        return {tag: texts for tag, texts in frequent.items() if self.is_foreign(tag)}

    @property
    def description(self) -> str:
        """The chosen language, why it was chosen, and the others; empty if there are no others."""
        if not self.others:
            return ""
        own = len(self.labels.get(self.tag, ()))
        listed = [f"{tag} ({len(texts):,})" for tag, texts in self.others.items()][:_MAX_LISTED]
        is_tie = any(len(texts) >= own for texts in self.others.values())
        why = "a main language" if is_tie else "the main language"
        chosen = f"labels are read in {self.tag or 'no language'}, {why} of the file"
        return f"{chosen} ({pluralize(own, 'label')}); it also has {join_words(listed)}"

    def guess(self, names: Sequence[str]) -> LanguageGuess | None:
        """Return the other language of the file that new names clearly look like."""
        own = {self.tag: self.labels.get(self.tag, ())}
        return other_language(own | self.others, self.tag, names)

    @property
    def tag(self) -> str:
        """The tag of new labels, which is the available tag closest to the chosen language."""
        return min(self.available, key=lambda tag: (self.rank(tag), tag), default=self.chosen)

    def rank(self, language: str) -> int:
        """Return the distance from the chosen language, at least `_FALLBACK` if it is foreign."""
        if language == self.chosen:
            return 0
        if _is_variant(self.chosen or self.tagged, language):
            return 1 if language.startswith(self.chosen or self.tagged) else 2
        if not language:
            return _NO_LANGUAGE
        if language == self.main:
            return _FALLBACK
        return _FALLBACK + (1 if language == "en" else 2)

    def best(self, texts: list[Text]) -> Text | None:
        """Return the non-blank text in the closest language."""
        texts = [text for text in texts if text[1]]
        return min(texts, key=lambda text: self.rank(text[0]), default=None)

    def is_foreign(self, language: str) -> bool:
        """Return whether a language is not a variant of the chosen language."""
        return self.rank(language) >= _FALLBACK

    def matching(self, texts: list[Text], language: str) -> list[str]:
        """Return the texts in `language` or the chosen language."""
        own = (text for tag, text in texts if tag == language or not self.is_foreign(tag))
        return list(filter(None, own))


def _most_frequent(counts: Counter[str]) -> str:
    return min(counts, key=lambda tag: (-counts[tag], tag != "en", tag), default="")


def _is_variant(one: str, other: str) -> bool:
    """Return whether two tags are equal or one is a variant of the other, like `de` and `de-AT`."""
    return bool(one and other) and (
        one == other or one.startswith(f"{other}-") or other.startswith(f"{one}-")
    )
