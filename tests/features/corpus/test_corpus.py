from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan.errors import FormatError, TaxoExpanError
from taxoexpan.features.corpus import documents, parallel
from taxoexpan.features.corpus.documents import read_documents
from taxoexpan.features.corpus.parallel import map_blocks
from taxoexpan.features.corpus.phrases import (
    PhraseMatcher,
    mentions,
    name_token,
    split_sentences,
    tokenize,
)

FILES = {
    "a.txt": ("Green tea.\n\n  Oat milk.  \r\n", ["Green tea.", "Oat milk."]),
    "a.tsv": (
        '2020.acl.1\tGreen "tea\tA leaf, dried.\t2020\nBERT\tA model.\n',
        ['Green "tea. A leaf, dried.', "BERT. A model."],
    ),
    "a.csv": (
        '17,"Green tea","A leaf,\ndried"\nOat milk,Not milk\n',
        ["Green tea. A leaf,\ndried", "Oat milk. Not milk"],
    ),
    "a.jsonl": (
        '{"id": "x1", "title": "Green tea", "year": 2020, "abstract": "A leaf"}\n\n'
        '{"name": "Oat milk", "gloss": "not milk", "n": 3, "empty": " "}\n',
        ["Green tea. A leaf", "Oat milk. not milk"],
    ),
}


def write(path: Path, content: str) -> Path:
    data = content.encode("utf-8")
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_documents_of_every_kind_of_file(tmp_path: Path, name: str, suffix: str) -> None:
    content, documents = FILES[name]
    assert list(read_documents(write(tmp_path / f"{name}{suffix}", content))) == documents


def test_a_directory_is_all_its_corpus_files_in_order_of_their_names(tmp_path: Path) -> None:
    write(tmp_path / "2.txt.gz", "second\n")
    write(tmp_path / "1.jsonl", '{"text": "first"}')
    write(tmp_path / "3.txt", "")
    write(tmp_path / "README.md", "none of it")
    assert list(read_documents(tmp_path)) == ["first", "second"]


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    assert list(read_documents(write(tmp_path / "a.txt", "\ufefftea"))) == ["tea"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"tea\nm\xfcsli\n", "a.txt, line 2: byte 0xfc is not UTF-8; save the file as"),
        ("a.txt", b" \n\n", "a.txt: the corpus is empty; it needs at least one document"),
        ("a.pdf", b"tea", r"a.pdf: cannot be read as a corpus; it must end in .txt, .tsv, .csv"),
        ("a.txt.gz", b"tea", "a.txt.gz: is damaged or not gzip"),
        ("a.txt.gz", gzip.compress(b"tea\n" * 99, mtime=0)[:-9], "is damaged or not gzip"),
        ("a.jsonl", b'{"text": "tea"}\n{"text"\n', "a.jsonl, line 2: not JSON"),
        ("a.jsonl", b"[" * 100_000, "a.jsonl, line 1: not JSON"),
        ("a.jsonl", b"3\n", "a.jsonl, line 1: not a JSON object; write one a line"),
        ("a.csv", b'tea\n"milk\n', "a.csv, line 2: .*; check the quotes"),
    ],
)
def test_what_cannot_be_read_is_named(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FormatError, match=message):
        list(read_documents(tmp_path / name))


def test_a_path_that_holds_no_corpus_is_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"no corpus here; it needs files in \.txt"):
        list(read_documents(tmp_path))
    with pytest.raises(FormatError, match="there is no such file; check the path"):
        list(read_documents(tmp_path / "a.txt"))


def test_a_file_without_line_ends_is_refused_and_not_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "LONGEST_LINE", 1 << 20)
    path = write(tmp_path / "a.txt", "tea\n" + "x" * (1 << 21))
    with pytest.raises(FormatError, match="line 2: a line of more than 1 MB"):
        list(read_documents(path))


def test_documents_are_read_as_they_are_needed(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"tea\nmilk\n" + b"\xff\n")
    assert list(islice(read_documents(path), 2)) == ["tea", "milk"]


def test_words_keep_their_inner_hyphens_and_apostrophes() -> None:
    text = "'Don’t' use state-of-the-art-, C3PO (_x_) or NAÏVE Müsli\u00adriegel; हिन्दी – ok."
    assert tokenize(text) == [
        *("don't", "use", "state-of-the-art", "c3po", "x", "or", "naïve"),
        *("müsliriegel", "हिन्दी", "ok"),
    ]


@given(st.text(alphabet="aZ0_-' .", max_size=30))
@settings(max_examples=100, deadline=None)
def test_plain_text_has_the_same_words_among_other_letters(text: str) -> None:
    assert [*tokenize(text), "é"] == tokenize(f"{text} é")


def test_sentences_end_where_a_reader_ends_them() -> None:
    text = (
        'We use BERT. It (e.g. GPT-3.5) helps, see Smith et al. 2020. J. Doe said "ok." '
        "Why? it is so!\n\nA heading\n\nText。日本語。"
    )
    assert split_sentences(text) == [
        *("We use BERT.", "It (e.g. GPT-3.5) helps, see Smith et al. 2020."),
        *('J. Doe said "ok."', "Why? it is so!", "A heading", "Text。", "日本語。"),
    ]
    assert split_sentences(" ") == []


def test_the_longest_name_from_the_left_is_found() -> None:
    phrases = PhraseMatcher(["neural network", "deep neural", "network", "network protocol stack"])
    tokens = tokenize("a deep neural network protocol, neural network, neural")
    assert phrases.join(tokens) == [
        *("a", "deep_neural", "network", "protocol", "neural_network", "neural"),
    ]
    assert phrases.count(tokens) == {"deep_neural": 1, "network": 1, "neural_network": 1}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("support vector machine", "Support-Vector Machines"),
        ("part of speech tagging", "part-of-speech tagging"),
        ("Dijkstra s algorithm", "Dijkstra’s algorithm"),
        ("Dijkstra's algorithm", "dijkstra's algorithms"),
        ("L'Hôpital's rule", "l’hôpital’s rule"),
        ("l hôpital s rule", "L'Hôpital's rules"),
        ("об'єкт", "Об’єкт"),
        ("e-mail", "email e mail"),
        ("µ-law", "μ law"),
    ],
)
def test_hyphens_apostrophes_and_a_plural_hide_no_name(name: str, text: str) -> None:
    assert PhraseMatcher([name]).count(tokenize(text)) == {name_token(name): 1}


def test_a_name_is_not_found_in_part_of_a_word() -> None:
    phrases = PhraseMatcher(["tree", "based model", "s"])
    assert phrases.join(tokenize("tree-based models' trees")) == ["tree-based", "models", "tree"]


def test_what_is_a_name_itself_is_nobodys_plural() -> None:
    for names in (["network", "networks"], ["networks", "network"]):
        assert PhraseMatcher(names).join(["networks", "network"]) == ["networks", "network"]


def test_names_without_words_are_never_found() -> None:
    assert PhraseMatcher(["", "!"]).join(["", "a"]) == ["", "a"]


WORDS = st.sampled_from(["a", "b", "c", "as"])


def plainly_joined(names: list[tuple[str, ...]], tokens: list[str]) -> Iterator[str]:
    """At every place the longest name that fits, plurals last."""
    while tokens:
        sizes = sorted({len(name) for name in names}, reverse=True)
        for size, plural in ((size, plural) for size in sizes for plural in (False, True)):
            forms = {(*n[:-1], n[-1] + "s") if plural else n: n for n in names if len(n) == size}
            if name := forms.get(tuple(tokens[:size])):
                yield "_".join(name)
                tokens = tokens[size:]
                break
        else:
            yield tokens[0]
            tokens = tokens[1:]


@given(st.lists(st.lists(WORDS, min_size=1, max_size=4), max_size=8), st.lists(WORDS, max_size=20))
@settings(max_examples=300, deadline=None)
def test_joining_is_what_trying_every_name_at_every_place_gives(
    names: list[list[str]], tokens: list[str]
) -> None:
    plain = list(plainly_joined([tuple(name) for name in names], tokens))
    assert PhraseMatcher(" ".join(name) for name in names).join(tokens) == plain


def test_mentions_are_the_same_with_any_number_of_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel, "BLOCK", 50)
    lines = [f"Green teas and oat-milk number {n}." + " Green tea" * (n % 3) for n in range(100)]
    path = write(tmp_path / "a.txt", "\n".join(lines))
    names = ["oat milk", "Green Tea", "coffee", "green tea"]
    expected = {"oat milk": 100, "Green Tea": 199, "coffee": 0, "green tea": 199}
    for workers in (1, 2, 3, None):
        counts = mentions(path, names, workers=workers)
        assert counts == expected
        assert list(counts) == names


def test_names_do_not_reach_from_one_document_into_the_next(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "green\ntea\n")
    assert mentions(path, ["green tea"]) == {"green tea": 0}


def test_blocks_come_back_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "BLOCK", 1)
    texts = [str(number) for number in range(17)]
    for workers in (1, 2, 5, 40):
        assert list(map_blocks(lambda block: block[0], iter(texts), workers)) == texts


@pytest.mark.skipif(sys.platform != "linux", reason="one process elsewhere")
@pytest.mark.parametrize(("ahead", "last"), [(6, 29), (1, 4)])
def test_the_others_run_ahead_of_a_slow_worker_but_not_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ahead: int, last: int
) -> None:
    monkeypatch.setattr(parallel, "BLOCK", 1)
    monkeypatch.setattr(parallel, "AHEAD", ahead)
    drawn: list[int] = []

    def texts() -> Iterator[str]:
        for number in range(30):
            drawn.append(number)
            (tmp_path / str(number)).touch()
            yield str(number)

    def slow_at_first(block: list[str]) -> str:
        while block == ["0"] and not (tmp_path / str(last)).exists():
            time.sleep(0.01)
        return block[0]

    results = map_blocks(slow_at_first, texts(), 5)
    assert next(results) == "0"
    assert drawn == list(range(last + 1))
    assert list(results) == [str(number) for number in range(1, 30)]


def test_an_error_of_the_corpus_is_told_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel, "BLOCK", 1)
    path = tmp_path / "a.txt"
    path.write_bytes(b"tea\n" * 9 + b"\xff\n")
    with pytest.raises(FormatError, match="line 10: byte 0xff is not UTF-8"):
        mentions(path, ["tea"], workers=2)


@pytest.mark.skipif(sys.platform != "linux", reason="one process elsewhere")
def test_a_worker_that_is_killed_is_an_error_and_no_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "BLOCK", 1)
    with pytest.raises(TaxoExpanError, match="a process that reads the corpus has ended"):
        list(map_blocks(lambda _: os._exit(9), iter("abcdef"), 2))


def test_a_script_needs_no_guard(tmp_path: Path) -> None:
    record = json.dumps({"text": "green tea " * 10_000})
    write(tmp_path / "a.jsonl", f"{record}\n" * 20)
    script = tmp_path / "script.py"
    script.write_text(
        "from pathlib import Path\nfrom taxoexpan.features.corpus.phrases import mentions\n"
        f"print(mentions(Path({str(tmp_path / 'a.jsonl')!r}), ['green tea'], workers=2))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout == "{'green tea': 200000}\n"
