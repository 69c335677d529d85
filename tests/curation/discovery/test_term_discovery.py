from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import cycle, islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import quickly

from taxoexpan.cli import discover as command
from taxoexpan.curation.discovery import (
    Discovery,
    discover,
    discoveries_text,
    phrase_counts,
    phrase_finder,
)
from taxoexpan.curation.discovery.candidates import Candidate, Watched, choose_candidates, cohesion
from taxoexpan.curation.discovery.contexts import LONGEST_EXAMPLE, collect_evidence
from taxoexpan.curation.discovery.definitions import abbreviates, abbreviations_in, definition_in
from taxoexpan.curation.discovery.observations import Kind
from taxoexpan.curation.discovery.phrase_counts import Tally, count_phrases
from taxoexpan.curation.discovery.phrase_finder import Finder, passages_of
from taxoexpan.curation.discovery.words import LONGEST, Keys, name_key, spelling_key
from taxoexpan.errors import FormatError
from taxoexpan.formats.concept_list import read_concepts
from taxoexpan.taxonomy import Concept, Taxonomy

FIELD = Taxonomy(
    [
        Concept("1", "natural language processing"),
        Concept("2", "machine translation"),
        Concept("3", "speech recognition", ("voice typing",)),
        Concept("4", "relationship extraction"),
        Concept("5", "grammar"),
        Concept("6", "tokenisation"),
    ]
)

FILLERS = (
    "The grammar was read by hand.",
    "All of machine translation is hard.",
    "Some of it was found in the archive.",
    "They went to the river with a boat.",
    "Nobody had heard of the village before.",
)
"""Sentences between those that matter; two of them name what the taxonomy has."""


def texts(*sentences: str, times: int = 12) -> list[str]:
    """Documents that say all the sentences, each with some words of its own."""
    fillers = cycle(FILLERS)
    return [" ".join([*sentences, *islice(fillers, 3)]) for _ in range(times)]


def corpus(folder: Path, documents: Sequence[str]) -> Path:
    path = folder / "corpus.txt"
    path.write_text("\n".join(documents) + "\n", encoding="utf-8")
    return path


def found(folder: Path, *sentences: str, taxonomy: Taxonomy = FIELD) -> dict[str, Discovery]:
    """What is discovered in documents that all say these sentences, by label."""
    discoveries = discover(corpus(folder, texts(*sentences)), taxonomy, workers=1)
    return {discovery.label: discovery for discovery in discoveries}


def test_a_phrase_that_is_said_often_is_found_with_its_counts(tmp_path: Path) -> None:
    discoveries = found(tmp_path, "We like federated learning.", "Of federated learning we know.")
    discovery = discoveries["federated learning"]
    assert (discovery.count, discovery.documents) == (24, 12)
    assert 0 < discovery.score <= 1
    assert discovery.might_duplicate == ""


def test_what_is_said_too_seldom_is_not_found(tmp_path: Path) -> None:
    documents = [*texts("We like slot filling."), *texts("We like hate speech.", times=4)]
    labels = {one.label for one in discover(corpus(tmp_path, documents), FIELD, workers=1)}
    assert "slot filling" in labels
    assert "hate speech" not in labels


def test_words_that_come_together_only_by_chance_hold_together_less() -> None:
    counts = {"a": 100, "b": 100, "c": 10, "d": 10, "a b": 10, "c d": 10}
    assert cohesion("c d", counts, 1000) == pytest.approx(1)
    assert cohesion("a b", counts, 1000) == pytest.approx(0, abs=1e-9)
    assert cohesion("a", counts, 1000) == 1


def test_a_phrase_holds_together_as_well_as_its_weakest_joint() -> None:
    counts = {"a": 10, "b": 10, "c": 100, "a b": 10, "b c": 1, "a b c": 1}
    assert cohesion("a b c", counts, 1000) < cohesion("a b", counts, 1000)


def test_a_part_of_a_longer_phrase_is_no_concept(tmp_path: Path) -> None:
    discoveries = found(tmp_path, "We like neural architecture search.")
    assert "neural architecture search" in discoveries
    assert not {"neural architecture", "architecture search"} & discoveries.keys()


def test_a_part_that_has_a_life_of_its_own_is_one(tmp_path: Path) -> None:
    said = ["Of style transfer we know.", "To the style transfer of today."]
    discoveries = found(tmp_path, "We like text style transfer.", *said)
    assert {"style transfer", "text style transfer"} <= discoveries.keys()


@pytest.mark.parametrize(
    "name",
    [
        "natural language processing",
        "Natural-Language Processing",
        "machine translations",
        "speech-recognition",
        "voice typing",
        "grammars",
    ],
)
def test_a_known_name_is_left_out_however_it_is_written(tmp_path: Path, name: str) -> None:
    discoveries = found(tmp_path, f"Of {name} we know.", "We like slot filling.")
    assert "slot filling" in discoveries
    assert name_key(name) not in map(name_key, discoveries)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("relation extraction", "relationship extraction"),  # by its vector and stems
        ("tokenization", "tokenisation"),  # by its spelling
    ],
)
def test_a_likely_double_is_flagged_and_stays(tmp_path: Path, name: str, known: str) -> None:
    assert found(tmp_path, f"Of {name} we know.")[name].might_duplicate == known


def test_an_abbreviation_of_a_known_name_is_flagged(tmp_path: Path) -> None:
    said = "Of machine translation (MT) we know.", "For MT in the world, MT of yours."
    assert found(tmp_path, *said)["MT"].might_duplicate == "machine translation"


def test_a_narrower_concept_is_no_double(tmp_path: Path) -> None:
    discoveries = found(tmp_path, "Of simultaneous machine translation we know.")
    assert discoveries["simultaneous machine translation"].might_duplicate == ""


def test_what_texts_come_back_to_goes_before_what_they_say_once(tmp_path: Path) -> None:
    topics = ("slot filling", "style transfer", "image captioning", "intent detection")
    documents = [
        document
        for topic in topics
        for document in texts(
            f"Of {topic} we know.",
            f"The {topic} of today.",
            f"By {topic} in full.",
            "With a large margin in the end.",
        )
    ]
    labels = [one.label for one in discover(corpus(tmp_path, documents), FIELD, workers=1)]
    assert set(labels[:4]) == set(topics)
    assert labels.index("large margin") > 3


def test_verbs_go_behind_nouns(tmp_path: Path) -> None:
    said = "We outperform the others with slot filling.", "To outperform a friend by slot filling."
    discoveries = found(tmp_path, *said)
    assert discoveries["outperform"].score < discoveries["slot filling"].score / 10


def test_company_of_known_concepts_counts(tmp_path: Path) -> None:
    scores = []
    places = "speech recognition", "the river"
    for beside, others_beside in (places, places[::-1]):
        said = f"Slot filling for {beside} in the end."
        others = f"Image captioning for {others_beside} in the end."
        padding = [f"word{number} of it." for number in range(9000)]
        documents = [*texts(said, times=8), *texts(others, times=8), *padding]
        found = discover(corpus(tmp_path, documents), FIELD, workers=1)
        scores += [one.score for one in found if one.label == "slot filling"]
    assert scores[0] > 1.2 * scores[1]


def test_an_example_is_short_and_holds_the_phrase(tmp_path: Path) -> None:
    long = "With " + "a boat on the river and " * 30 + "the federated learning of today."
    short = "We know of federated learning in the village, and of nothing else that would matter."
    assert found(tmp_path, long, short)["federated learning"].example == short
    example = found(tmp_path, long)["federated learning"].example
    assert "federated learning" in example
    assert len(example) <= LONGEST_EXAMPLE + 4


@pytest.mark.parametrize(
    ("sentence", "subject", "text"),
    [
        (
            "Slot filling is the task of finding values in an utterance.",
            "Slot filling",
            "the task of finding values in an utterance",
        ),
        (
            "Word embeddings are vectors that stand for the meaning of words.",
            "Word embeddings",
            "vectors that stand for the meaning of words",
        ),
        (
            "Federated learning (FL) refers to training without bringing data together.",
            "Federated learning",
            "training without bringing data together",
        ),
        (
            "A treebank is a corpus in which every sentence has a tree.",
            "treebank",
            "a corpus in which every sentence has a tree",
        ),
        (
            "Stance detection aims to find what an author thinks of a target.",
            "Stance detection",
            "aims to find what an author thinks of a target",
        ),
        (
            "We use LoRA, a method that adapts models with few parameters, and more.",
            "We use LoRA",
            "a method that adapts models with few parameters",
        ),
    ],
)
def test_a_definition_is_read_from_its_sentence(sentence: str, subject: str, text: str) -> None:
    definition = definition_in(sentence)
    assert definition is not None
    assert (definition.subject, definition.text) == (subject, text)


@pytest.mark.parametrize(
    "sentence",
    [
        "Slot filling is an important task of the present day and age.",
        "Slot filling is hard.",
        "The shared task aims to bring people together in one room.",
        "Given a news article, the system finds things that nobody else would find.",
        "They are trained and evaluated with features that come from a corpus.",
        "Nothing is said here of anything.",
    ],
)
def test_what_praises_or_says_nothing_is_no_definition(sentence: str) -> None:
    definition = definition_in(sentence)
    assert definition is None or definition.subject not in ("Slot filling", "shared task")


def test_a_definition_comes_with_its_concept_only(tmp_path: Path) -> None:
    said = (
        "Slot filling is the task of finding values in an utterance.",
        "The goal of intent detection is the success of a company in the market.",
    )
    discoveries = found(tmp_path, *said)
    assert discoveries["slot filling"].definition == "the task of finding values in an utterance"
    assert discoveries["intent detection"].definition == ""


@pytest.mark.parametrize(
    ("short", "words"),
    [
        ("NMT", "neural machine translation"),
        ("TTS", "text-to-speech"),
        ("ABSA", "aspect-based sentiment analysis"),
        ("KPG", "keyphrase generation"),
        ("DocRE", "document-level relation extraction"),
    ],
)
def test_letters_abbreviate_words_that_they_stand_in(short: str, words: str) -> None:
    assert abbreviates(short, words.split())


@pytest.mark.parametrize(
    ("short", "words"),
    [
        ("NMT", "machine translation"),
        ("NMT", "novel neural machine translation"),
        ("NMT", "neural machine"),
        ("BERT", "language model"),
        ("LM", ""),
    ],
)
def test_letters_do_not_abbreviate_other_words(short: str, words: str) -> None:
    assert not abbreviates(short, words.split())


def test_letters_in_brackets_lose_their_plural() -> None:
    pieces = ["models", "(", "LLMs", ")", "and", "(", "Smith", ",", "2020", ")"]
    assert list(abbreviations_in(pieces)) == [(1, "LLM")]


def test_an_abbreviation_is_a_synonym_and_no_concept_of_its_own(tmp_path: Path) -> None:
    said = "Of large graph models (LGMs) we know.", "An LGM of yours, a large graph model."
    discoveries = found(tmp_path, *said)
    assert discoveries["large graph model"].synonyms == ("LGM",)
    assert not {"LGM", "LGMs"} & discoveries.keys()


def test_the_plural_of_letters_is_no_synonym(tmp_path: Path) -> None:
    discoveries = found(tmp_path, "Of GANs we know.", "By GAN in full.", "The GAN's end.")
    assert discoveries["GAN"].count == 36
    assert discoveries["GAN"].synonyms == ()


def test_spellings_and_plurals_are_one_concept(tmp_path: Path) -> None:
    said = ["Of image labeling we know.", "By image labeling in full.", "Of image labelling too."]
    discoveries = found(tmp_path, *said, "And image-labelings for them.")
    assert discoveries["image labeling"].count == 48
    assert discoveries["image labeling"].synonyms == ("image labelling",)


def test_a_label_has_capitals_only_where_most_have_them(tmp_path: Path) -> None:
    said = ["Of Monte Carlo search we know.", "By Monte Carlo Search in full."]
    assert "Monte Carlo search" in found(tmp_path, *said)


@pytest.mark.parametrize(
    ("labels", "expected"), [(["shirt", "coat"], "felt hat"), (["shirts", "coats"], "felt hats")]
)
def test_a_label_is_singular_or_plural_as_the_others_are(
    tmp_path: Path, labels: list[str], expected: str
) -> None:
    clothes = Taxonomy([Concept(label, label) for label in labels])
    said = "In shirts and coats.", "With a felt hat of yours.", "By felt hats for them."
    assert expected in found(tmp_path, *said, taxonomy=clothes)


def test_keys_are_the_same_for_all_forms_of_a_word() -> None:
    keys = Keys()
    assert keys["Models"] == keys["model"] == keys["model's"] == "model"
    assert keys["LLMs"] == keys["LLM"] == "llm"
    for bound in ("the", ",", "2020", "quickly", "don't", "\\textbf", "https://example.org"):
        assert keys[bound] is None
    assert Keys({"assembly"})["assembly"] == "assembly"


def test_names_are_compared_without_plurals_hyphens_and_spaces() -> None:
    assert name_key("Pre-trained Models") == name_key("pretrained model")
    assert spelling_key("data labelling") == spelling_key("data labeling")
    assert spelling_key("tour") != spelling_key("tor")


@given(st.lists(st.lists(st.integers(0, 30), max_size=20), max_size=20), st.integers(1, 12))
@quickly
def test_a_tally_is_bounded_and_so_is_what_it_misses(
    blocks: list[list[int]], capacity: int
) -> None:
    tally, true = Tally(capacity), Counter[str]()
    for block in blocks:
        counts = Counter(map(str, block))
        tally.add(counts)
        true.update(counts)
        assert len(tally.counts) <= capacity
    for phrase, count in true.items():
        assert count - tally.missed <= tally.counts.get(phrase, 0) <= count


def test_a_tally_with_room_for_all_is_exact() -> None:
    tally = count_phrases(iter(["red wine, red wine of red soil"]), Keys(), workers=1)
    assert tally.counts == {"red": 3, "wine": 2, "red wine": 2, "soil": 1, "red soil": 1}
    assert tally.missed == 0


def test_phrases_of_five_words_are_counted_but_not_taken() -> None:
    tally = count_phrases(iter(["ab cd ef gh ij kl"] * 5), Keys(), workers=1)
    assert tally.counts["ab cd ef gh ij"] == 5
    assert "ab cd ef gh ij kl" not in tally.counts
    watched = choose_candidates(tally, {"grammar": 0}, 5)
    assert not any("ab cd ef gh" in candidate.spellings for candidate in watched.candidates)


PHRASES = st.lists(st.sampled_from(["red", "tea", "pot"]), min_size=1, max_size=LONGEST + 1)
TEXT = st.lists(st.sampled_from(["red", "teas", "pot", "lid", "the", "of", ".", "Pot"]))


@given(st.lists(PHRASES, max_size=8), st.lists(TEXT, max_size=3))
@quickly
def test_mentions_are_those_that_trying_every_place_would_find(
    phrases: list[list[str]], documents: list[list[str]]
) -> None:
    numbers = {" ".join(phrase): number for number, phrase in enumerate(phrases)}
    texts = [" ".join(document) for document in documents]
    (passage,) = passages_of(["of it.", *texts])
    keys = Keys()
    words = [keys[piece] or "." for piece in passage.pieces]
    plain = {
        (numbers[phrase], start, end)
        for start in range(len(words))
        for end in range(start + 1, min(len(words), start + LONGEST) + 1)
        if (phrase := " ".join(words[start:end])) in numbers
    }
    finder = Finder(numbers, keys, ["the"])
    found = list(finder.find(finder.codes_of(passage)).rows())
    assert set(found) == plain
    assert len(found) == len(plain)


def test_mentions_are_counted_by_what_stands_around_them() -> None:
    watched = Watched(
        [Candidate(("tea pot",), 1, 1)], [5], frozenset([1]), {"tea pot": 0, "lid": 1}
    )
    texts = ["Our tea pots. To tea pot a lid is tea pot lid, tea pot", "The tea pot of a lid."]
    evidence = collect_evidence(iter(texts), Keys(), watched, workers=1)
    counts = {kind: int(evidence.table[0, kind]) for kind in Kind}
    assert counts == {
        Kind.MENTIONS: 5,
        Kind.DOCUMENTS: 2,
        Kind.SENTENCES: 3,
        Kind.IN_COMPANY: 2,
        Kind.AT_END: 4,
        Kind.AS_VERB: 1,
        Kind.AFTER_BEING: 1,
        Kind.POINTED_AT: 1,
    }
    assert (evidence.texts, evidence.sentences) == (2, 3)


def test_frequent_phrases_are_found_in_little_memory_too(tmp_path: Path) -> None:
    noise = [f"noise{number} thing{number} of stuff{number}." for number in range(600)]
    said = texts("We like slot filling.", times=60)
    path = corpus(tmp_path, [text for pair in zip(said * 10, noise, strict=True) for text in pair])
    tight = {one.label: one for one in discover(path, FIELD, workers=1, capacity=200)}
    assert tight["slot filling"].count == 600


def test_a_text_may_be_longer_than_what_is_looked_at_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = texts("Style transfer (ST) is the task of writing a text anew.", "Of slot filling.")
    path = corpus(tmp_path, [" ".join(said), *said])
    whole = discover(path, FIELD, workers=1)
    monkeypatch.setattr(phrase_finder, "LONGEST_PASSAGE", 9)
    monkeypatch.setattr(phrase_counts, "AT_A_TIME", 9)
    assert discover(path, FIELD, workers=1) == whole
    assert {one.documents for one in whole} >= {13}


def test_the_number_of_workers_does_not_change_the_result(tmp_path: Path) -> None:
    topics = (
        "slot filling",
        "style transfer (ST)",
        "image captioning",
        "large graph models (LGMs)",
    )
    documents = [
        document
        for topic in topics
        for document in texts(f"Of {topic} we know.", f"The {topic} of today.", times=350)
    ]
    path = corpus(tmp_path, documents)
    alone, two, three = (discover(path, FIELD, workers=workers) for workers in (1, 2, 3))
    assert alone == two == three
    assert len(alone) >= len(topics)


def test_the_table_reads_as_a_list_of_new_concepts(tmp_path: Path) -> None:
    said = 'Graph models (GM) are things that, "by all means", hold together; see above.'
    discoveries = list(found(tmp_path, said).values())
    for name in ("new.csv", "new.tsv"):
        path = tmp_path / name
        path.write_text(discoveries_text(path, discoveries), encoding="utf-8")
        assert read_concepts(path) == [
            Concept("", one.label, one.synonyms, one.definition) for one in discoveries
        ]


def test_no_more_than_asked_for_are_given_and_they_are_the_best(tmp_path: Path) -> None:
    path = corpus(tmp_path, texts("Of slot filling and style transfer, and of image captioning."))
    everything = discover(path, FIELD, workers=1)
    assert discover(path, FIELD, top=2, workers=1) == everything[:2]
    assert [one.score for one in everything] == sorted((o.score for o in everything), reverse=True)


def test_a_missing_corpus_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no such file"):
        discover(tmp_path / "none.txt", FIELD)


def test_an_empty_corpus_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="empty"):
        discover(corpus(tmp_path, ["", " "]), FIELD)


def test_a_taxonomy_about_other_things_is_said_so(tmp_path: Path) -> None:
    animals = Taxonomy([Concept("1", "zebra")])
    message = "no name of the taxonomy is said here 5 times or more; are the two about"
    with pytest.raises(FormatError, match=message):
        discover(corpus(tmp_path, texts("We like slot filling.")), animals, workers=1)


def test_a_corpus_with_nothing_new_gives_nothing(tmp_path: Path) -> None:
    path = corpus(tmp_path, ["The grammar is this."] * 9)
    assert discover(path, FIELD, workers=1) == []


def run(*arguments: str | Path) -> int:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return command.run(parser.parse_args([str(argument) for argument in arguments]))


@pytest.fixture
def topics(tmp_path: Path) -> Path:
    path = tmp_path / "topics.csv"
    path.write_text("child,parent\ngrammar,\nmachine translation,grammar\n", encoding="utf-8")
    return path


def test_the_command_writes_a_list_of_new_concepts(
    tmp_path: Path, topics: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = corpus(tmp_path, texts("We like slot filling."))
    output = tmp_path / "new.csv"
    assert run(path, "--taxonomy", topics, "-o", output, "--workers", "1") == 0
    assert "slot filling" in [concept.label for concept in read_concepts(output)]
    assert "may be in the taxonomy already" in capsys.readouterr().err
    with pytest.raises(FormatError, match="already there"):
        run(path, "--taxonomy", topics, "-o", output)


def test_the_command_prints_csv_or_json(
    tmp_path: Path, topics: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = corpus(tmp_path, texts("We like slot filling."))
    assert run(path, "--taxonomy", topics, "--quiet") == 0
    header = "label,definition,synonyms,count,documents,score,might_duplicate,example"
    assert capsys.readouterr().out.splitlines()[0] == header
    assert run(path, "--taxonomy", topics, "--quiet", "--json", "--top", "1") == 0
    (only,) = json.loads(capsys.readouterr().out)
    assert list(only) == header.split(",")


def test_the_command_says_when_nothing_is_new(tmp_path: Path, topics: Path) -> None:
    path = corpus(tmp_path, ["The grammar is this."] * 9)
    with pytest.raises(FormatError, match="nothing new is said 5 times or more; lower --min-count"):
        run(path, "--taxonomy", topics, "--quiet")


PASSES = ("counting", "reading")

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="one process elsewhere")


class Endless(threading.Thread):
    """Feeds a corpus to the command: enough of it for the passes before this one, then no end."""

    def __init__(self, path: Path, doing: str) -> None:
        super().__init__(daemon=True)
        self._path = path
        self._earlier = PASSES.index(doing)
        self.begun = threading.Event()
        os.mkfifo(path)

    def run(self) -> None:
        block = ("\n".join(texts("We like slot filling.", times=900)) + "\n").encode()
        for _ in range(self._earlier):
            with self._path.open("wb", buffering=0) as file:
                # The next pass opens another pipe, so that this one comes to an end.
                self._path.unlink()
                os.mkfifo(self._path)
                for _ in range(4):
                    file.write(block)
        with suppress(BrokenPipeError), self._path.open("wb") as file:
            self.begun.set()
            while True:
                file.write(block)


def children(parent: int) -> list[int]:
    """The processes that a process has started and that still run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, owner = path.read_text().rpartition(")")[2].split()[:2]
            if int(owner) == parent and state != "Z":
                found.append(int(path.parent.name))
    return found


def is_running(process: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


@contextmanager
def discovering(topics: Path, doing: str) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """The command and its two workers in the midst of a pass; at the end all of them are gone."""
    path, output = topics.with_name("corpus.txt"), topics.with_name("new.csv")
    feeder = Endless(path, doing)
    feeder.start()
    command = f"-m taxoexpan.cli.main discover {path} --taxonomy {topics} -o {output} --workers 2"
    process = subprocess.Popen(
        [sys.executable, *command.split()],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    workers: list[int] = []
    try:
        assert feeder.begun.wait(60)
        wait_until(lambda: len(children(process.pid)) == 2)
        workers = children(process.pid)
        yield process, workers
        wait_until(lambda: not any(map(is_running, workers)))
        assert not output.exists()
    finally:
        for number in [process.pid, *workers]:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        process.communicate()


@on_linux
@pytest.mark.parametrize("doing", PASSES)
def test_an_interrupt_ends_either_pass(topics: Path, doing: str) -> None:
    with discovering(topics, doing) as (process, _):
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to the workers too
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.strip() == "taxoexpan: stopped"


@on_linux
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_workers_end_with_the_command(topics: Path, number: signal.Signals, status: int) -> None:
    with discovering(topics, "counting") as (process, _):
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert process.returncode == status
    assert said == ""


@on_linux
@pytest.mark.parametrize("doing", PASSES)
def test_a_worker_that_is_killed_ends_the_command(topics: Path, doing: str) -> None:
    with discovering(topics, doing) as (process, workers):
        os.kill(workers[0], signal.SIGKILL)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 2
    assert said.startswith(
        "taxoexpan: a process that reads the corpus ended unexpectedly; if memory"
    )
    assert len(said.splitlines()) == 1
