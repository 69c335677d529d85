"""Discovery of new concepts in a text corpus: noun phrases that a taxonomy lacks, by C-value.

The corpus is read twice: the first pass finds the noun phrases, the second one their mentions.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from itertools import islice
from pathlib import Path

from taxoexpan.errors import FormatError
from taxoexpan.features.corpus.documents import corpus_bytes, read_documents
from taxoexpan.features.corpus.parallel import map_blocks
from taxoexpan.features.corpus.sentences import split_sentences
from taxoexpan.formats.tables.formulas import protect_cell
from taxoexpan.formats.tables.table import VALUE_SEPARATOR, table_text
from taxoexpan.phrasing import pluralize
from taxoexpan.progress import Progress
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.english import DETERMINERS, PREPOSITIONS, STOP_WORDS, VERBAL, singular
from taxoexpan.taxonomy.known_names import known_names
from taxoexpan.taxonomy.names import normalize_name

TOP = 500
MIN_COUNT = 5
MAX_WORDS = 4
"""The most words of a noun phrase."""
CAPACITY = 1_000_000
"""The runs of words that are counted at the same time; they take about 200 MB."""
MAX_CANDIDATES = 100_000
"""The most frequent noun phrases, whose mentions are counted in the second pass."""
MAX_EXAMPLE_LENGTH = 240

_TOKEN = re.compile(
    r"\\[A-Za-z]+|https?://\S+"  # LaTeX commands and URLs, which are not words
    r"|[^\W_]++(?:(?:[-'\u2019\u2010\u2011]|(?<=\d)\.(?=\d))[^\W_]++)*+|[^\s\w]"
)
_NOT_A_WORD = re.compile(r"\\|https?://")
_SIGNS = str.maketrans({"\u2019": "'", "\u2010": "-", "\u2011": "-"})
_GENITIVES = ("'s", "\u2019s")
_BEFORE_NOUNS = DETERMINERS - {"that"}
"""The determiners that do not follow a noun: "results that …"."""
_SHORT_FORM = re.compile(r"(?=.*[^\W\d_])[^\W_][^\s]{1,9}")
"""A short form in brackets has 2 to 10 characters, among them a letter (Schwartz and Hearst)."""


@dataclass(frozen=True, slots=True)
class DiscoveredConcept:
    """A new concept from the corpus, with its abbreviation as a synonym, and an example sentence.

    `score` is the C-value times the residual IDF, 0 for a single word.
    """

    label: str
    synonyms: tuple[str, ...]
    count: int
    documents: int
    score: float
    example: str


COLUMNS = tuple(field.name for field in fields(DiscoveredConcept))


def discover(
    corpus: Path,
    taxonomy: Taxonomy,
    *,
    top: int = TOP,
    min_count: int = MIN_COUNT,
    workers: int | None = None,
    progress: bool = False,
    capacity: int = CAPACITY,
) -> list[DiscoveredConcept]:
    """Find concepts in a corpus that a taxonomy does not have, best first.

    Phrases that occur fewer than `min_count` times on their own are ignored. The number of
    `workers` (by default one per core) does not change the result. `capacity` limits the number of
    counted phrases, and so the memory use.
    """
    words = _Words()
    for block in map_blocks(_read_words, _documents(corpus, "counting", progress), workers):
        words.add(block, capacity)
    frequent = [phrase for phrase, n in words.noun_phrases().most_common() if n >= min_count]
    candidates = frozenset(frequent[:MAX_CANDIDATES])
    del words  # the largest object in memory
    known = {_phrase_key(name) for name in known_names(taxonomy)}
    if known.isdisjoint(map(_phrase_key, candidates)):
        message = f"no name of the taxonomy occurs at least {pluralize(min_count, 'time')}"
        fix = "check that both are about the same domain"
        raise FormatError(corpus, f"{message} in this corpus", fix=fix)
    mentions = _Mentions()
    texts = _documents(corpus, "reading", progress)
    for each in map_blocks(lambda block: _read_mentions(block, candidates), texts, workers):
        mentions.add(each)
    return list(islice(_new_concepts(mentions, taxonomy, known, min_count), top))


def _new_concepts(
    mentions: _Mentions, taxonomy: Taxonomy, known: Collection[str], min_count: int
) -> Iterator[DiscoveredConcept]:
    """Yield the candidates that are not known under any spelling, best first."""
    plural = _prefers_plural(taxonomy.labels)
    abbreviations = mentions.abbreviations()
    # An abbreviation of another candidate is a synonym of it.
    seen = {*known, *map(_phrase_key, abbreviations.values())}
    forms_of = mentions.forms_by_phrase()
    for phrase, score in _ranked(forms_of, mentions):
        key = _phrase_key(phrase)
        label = _choose_label(forms_of[phrase], plural, min_count)
        similar = taxonomy.similar_names.find(label)
        if key in seen or (similar is not None and similar.difference.same_name):
            continue
        seen.add(key)
        yield DiscoveredConcept(
            label,
            (abbreviations[phrase],) if phrase in abbreviations else (),
            forms_of[phrase].total(),
            mentions.documents[phrase],
            score,
            mentions.examples[phrase],
        )


def _ranked(forms_of: Mapping[str, Counter[str]], mentions: _Mentions) -> list[tuple[str, float]]:
    """Return the candidates with their scores, best first, and single words by frequency.

    Left out are phrases of a single document, which are not established names, and fragments, which
    are parts of one other candidate in more than half of their mentions.
    """
    frequencies = {phrase: forms.total() for phrase, forms in forms_of.items()}
    fragments = {
        part
        for phrase, frequency in frequencies.items()
        for part in _parts(phrase)
        if 2 * frequency > frequencies.get(part, math.inf)
    }
    values = c_values(frequencies)
    scores = {}
    for phrase in frequencies.keys() - fragments:
        documents = mentions.documents[phrase]
        if documents > 1 or mentions.size == 1:
            bits = residual_idf(frequencies[phrase], documents, mentions.size)
            scores[phrase] = values[phrase] * max(bits, 0.0)
    ranked = sorted(scores, key=lambda p: (-scores[p], -values[p], -frequencies[p], p))
    return [(phrase, scores[phrase]) for phrase in ranked]


def discovered_concepts_table(path: Path, concepts: Sequence[DiscoveredConcept]) -> str:
    """Return a table of new concepts; formulas are escaped."""
    rows = []
    for concept in concepts:
        synonyms = VALUE_SEPARATOR.join(concept.synonyms)
        score = f"{concept.score:.2f}"
        row = asdict(concept) | {"synonyms": synonyms, "score": score}
        rows.append([protect_cell(str(cell)) for cell in row.values()])
    return table_text(path, COLUMNS, rows)


def c_values(frequencies: Mapping[str, int]) -> dict[str, float]:
    """Return the C-value of candidates (Frantzi, Ananiadou and Mima 2000, Section 2.3).

    C-value(a) = log2 |a| · (f(a) − t(a) / c(a)), or log2 |a| · f(a) if c(a) is 0.

    |a| is the number of words, so the C-value of a single word is 0. f(a) is the frequency, c(a)
    the number of candidates that contain a, and t(a) the sum of their frequencies, without the
    mentions inside still longer candidates.
    """
    inside = Counter[str]()
    containing = Counter[str]()
    for phrase in sorted(frequencies, key=lambda phrase: -phrase.count(" ")):
        own = frequencies[phrase] - inside[phrase]
        for part in _parts(phrase):
            if part in frequencies:
                inside[part] += own
                containing[part] += 1
    return {
        phrase: math.log2(phrase.count(" ") + 1)
        * (frequency - inside[phrase] / max(containing[phrase], 1))
        for phrase, frequency in frequencies.items()
    }


def residual_idf(frequency: int, documents: int, size: int) -> float:
    """Return the residual IDF of a phrase in `size` documents (Church and Gale 1995).

    −log2(documents / size) + log2(1 − exp(−frequency / size)): by how many bits it is in fewer
    documents than by chance. Single documents repeat the names of concepts, but general phrases,
    such as *experimental results*, are spread over all of them.
    """
    return math.log2(size / documents * -math.expm1(-frequency / size))


def is_abbreviation(short: str, phrase: str) -> bool:
    """Return whether the letters of a short form are in a phrase, in this order.

    The first one must begin the phrase (Schwartz and Hearst 2003).
    """
    letters = [letter for letter in short.lower() if letter.isalnum()]
    others = iter(phrase.lower())
    return phrase[:1].lower() == letters[0] and all(letter in others for letter in letters)


@lru_cache(maxsize=1 << 17)
def _word(token: str) -> str | None:
    """Return a token in lower case and singular, or None if it is not in noun phrases."""
    signs = token if token.isascii() else token.translate(_SIGNS)
    word = signs.lower().removesuffix("'s")
    is_bound = word in STOP_WORDS or "'" in word or _NOT_A_WORD.match(token)
    return None if is_bound or not any(map(str.isalpha, word)) else singular(word)


def _sentences(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield every sentence of a text with its tokens, which are words and punctuation."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    for sentence in split_sentences(text):
        yield sentence, _TOKEN.findall(sentence)


def _phrase_key(name: str) -> str:
    """Return a name in lower case without spaces and hyphens, with all words in the singular."""
    return "".join(map(singular, normalize_name(name).split()))


@dataclass
class _Words:
    """The runs of words between stop words and punctuation, and the words by their neighbors.

    `verbal` counts words after a pronoun, an auxiliary or *to*, or before a determiner; `nominal`
    counts words after a determiner or a preposition.
    """

    runs: Counter[str] = field(default_factory=Counter)
    verbal: Counter[str] = field(default_factory=Counter)
    nominal: Counter[str] = field(default_factory=Counter)

    def add(self, other: _Words, capacity: int) -> None:
        """Add the counts of other texts, and drop rare counts if there are too many."""
        for counts, others in (
            (self.runs, other.runs),
            (self.verbal, other.verbal),
            (self.nominal, other.nominal),
        ):
            counts.update(others)
            if len(counts) > capacity:
                _drop_rare(counts, capacity // 2)

    def noun_phrases(self) -> Counter[str]:
        """Return the parts of the runs between verbs, with their counts.

        A word that is more often in the position of a verb than of a noun is a verb.
        """
        phrases: Counter[str] = Counter()
        for run, count in self.runs.items():
            phrase: list[str] = []
            for word in [*run.split(" "), None]:
                if word is not None and self.verbal[word] <= self.nominal[word]:
                    phrase.append(word)
                    continue
                if 1 <= len(phrase) <= MAX_WORDS:
                    phrases[" ".join(phrase)] += count
                phrase = []
        return phrases


def _drop_rare(counts: Counter[str], size: int) -> None:
    """Keep only the most frequent phrases, at most `size`."""
    threshold = sorted(counts.values(), reverse=True)[size]
    for phrase in [phrase for phrase, count in counts.items() if count <= threshold]:
        del counts[phrase]


def _read_words(texts: Iterable[str]) -> _Words:
    """Return the runs of words in texts, and the counts of the words by their neighbors."""
    found = _Words()
    for text in texts:
        for _, tokens in _sentences(text):
            run: list[str] = []
            tokens.append(".")  # ends the last run
            lower = [token.lower() for token in tokens]
            for before, token, after in zip([".", *lower], tokens, [*lower[1:], "."], strict=False):
                word = _word(token)
                if word is None:
                    if run:
                        found.runs[" ".join(run)] += 1
                    run = []
                    continue
                run.append(word)
                if before in VERBAL or after in _BEFORE_NOUNS:
                    found.verbal[word] += 1
                elif before in DETERMINERS or before in PREPOSITIONS:
                    found.nominal[word] += 1
    return found


@dataclass
class _Mentions:
    """The mentions of candidates in `size` documents.

    `forms` counts pairs of a phrase and a written form, `shorts` pairs of a phrase and a short form
    in brackets behind it. `examples` has the first sentence with each phrase.
    """

    size: int = 0
    forms: Counter[tuple[str, str]] = field(default_factory=Counter)
    documents: Counter[str] = field(default_factory=Counter)
    shorts: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    def add(self, later: _Mentions) -> None:
        """Add the mentions in later documents."""
        self.size += later.size
        self.forms.update(later.forms)
        self.documents.update(later.documents)
        self.shorts.update(later.shorts)
        for phrase, example in later.examples.items():
            self.examples.setdefault(phrase, example)

    def forms_by_phrase(self) -> dict[str, Counter[str]]:
        """Return the written forms of each phrase with their counts."""
        forms_of: dict[str, Counter[str]] = defaultdict(Counter)
        for (phrase, form), count in self.forms.items():
            forms_of[phrase][form] = count
        return forms_of

    def abbreviations(self) -> dict[str, str]:
        """Return the most frequent short form of each phrase that is its most frequent meaning."""
        meanings: dict[str, str] = {}
        abbreviations: dict[str, str] = {}
        pairs = sorted(self.shorts, key=lambda pair: (-self.shorts[pair], pair))
        for phrase, short in pairs:
            if meanings.setdefault(short, phrase) == phrase:
                abbreviations.setdefault(phrase, short)
        return abbreviations


def _read_mentions(texts: Sequence[str], candidates: Collection[str]) -> _Mentions:
    """Return the mentions of candidates in texts, also those inside longer phrases."""
    found = _Mentions(len(texts))
    for text in texts:
        phrases = set()
        for sentence, tokens in _sentences(text):
            words = list(map(_word, tokens))
            for start, end, phrase in _phrases(words):
                if phrase not in candidates:
                    continue
                phrases.add(phrase)
                form = _form(tokens[start:end], is_first=start == 0)
                found.forms[phrase, form] += 1
                if phrase not in found.examples:
                    found.examples[phrase] = _around(" ".join(sentence.split()), tokens[start])
                short = _short_form(tokens[end : end + 3])
                if short and is_abbreviation(short, form):
                    found.shorts[phrase, short] += 1
        found.documents.update(phrases)
    return found


def _phrases(words: Sequence[str | None]) -> Iterator[tuple[int, int, str]]:
    """Yield the start, the end and the text of every phrase of up to `MAX_WORDS` words."""
    for start, phrase in enumerate(words):
        for end in range(start + 1, start + MAX_WORDS + 1):
            if phrase is None:
                break
            yield start, end, phrase
            following = words[end] if end < len(words) else None
            phrase = following and f"{phrase} {following}"


def _parts(phrase: str) -> set[str]:
    """Return all shorter phrases inside a phrase."""
    return {part for _, _, part in _phrases(phrase.split(" "))} - {phrase}


def _form(tokens: Sequence[str], is_first: bool) -> str:
    """Return a written form of a phrase, without a genitive ending."""
    form = " ".join(tokens)
    if form.endswith(_GENITIVES):
        form = form[:-2]
    # A capital letter at the start of a sentence is not informative.
    return form.lower() if is_first and form[1:].islower() else form


def _short_form(tokens: Sequence[str]) -> str:
    """Return the short form between brackets, in the singular; "" if there is none."""
    if len(tokens) < 3 or tokens[0] != "(" or tokens[2] not in "),;":
        return ""
    short = tokens[1]
    if short.endswith("s") and short[:-1].isupper():
        short = short[:-1]
    return short if _SHORT_FORM.fullmatch(short) else ""


def _around(sentence: str, word: str) -> str:
    """Return a sentence, or the part around a word if the sentence is long."""
    if len(sentence) <= MAX_EXAMPLE_LENGTH:
        return sentence
    start = max(0, sentence.find(word) - MAX_EXAMPLE_LENGTH // 2)
    part = sentence[start : start + MAX_EXAMPLE_LENGTH]
    before = start > 0
    after = start + MAX_EXAMPLE_LENGTH < len(sentence)
    return ("… " + part.partition(" ")[2] if before else part).strip() + (" …" if after else "")


def _prefers_plural(labels: Iterable[str]) -> bool:
    """Return whether more than half of the labels are plural."""
    heads = [words[-1] for label in labels if (words := normalize_name(label).split())]
    return 2 * sum(singular(head) != head for head in heads) > len(heads)


def _choose_label(forms: Counter[str], plural: bool, min_count: int) -> str:
    """Return the most frequent form, if possible in lower case and in the number of the taxonomy.

    A form that occurs fewer than `min_count` times may be a mistake.
    """

    def preference(form: str) -> tuple[bool, bool, bool, int, str]:
        last = form.lower().split()[-1]
        is_frequent = forms[form] >= min_count
        is_lower = form == form.lower()
        in_number = (singular(last) != last) == plural
        return is_frequent, is_frequent and in_number, is_frequent and is_lower, forms[form], form

    return max(forms, key=preference)


def _documents(corpus: Path, description: str, progress: bool) -> Iterator[str]:
    """Yield the documents of a corpus, and show the progress."""
    with Progress(description, corpus_bytes(corpus), "bytes", shown=progress) as bar:
        yield from read_documents(corpus, bar.move_to)
