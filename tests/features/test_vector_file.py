from __future__ import annotations

import gzip
import struct
import tracemalloc
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.errors import FormatError
from taxoexpan.features import vector_file
from taxoexpan.features.vector_file import read_vectors
from tests.support.strategies import quickly

Rows = list[tuple[str, list[float]]]
FOODS: Rows = [("tea", [1, 2.5, -3]), ("Milk", [0.5, -1e-7, 2]), ("茶", [0, 0, 0.25])]


def spelled(row: tuple[str, list[float]]) -> str:
    return " ".join([row[0], *(str(np.float32(number)) for number in row[1])])


def glove(rows: Rows) -> bytes:
    return "".join(f"{spelled(row)}\n" for row in rows).encode()


def header(rows: Rows) -> bytes:
    return b"%d %d\n" % (len(rows), len(rows[0][1]))


def text(rows: Rows) -> bytes:
    return header(rows) + glove(rows)


def fasttext(rows: Rows) -> bytes:
    """FastText writes a space after every number, also after the last."""
    return header(rows) + "".join(f"{spelled(row)} \n" for row in rows).encode()


def record(word: str, numbers: list[float]) -> bytes:
    return word.encode() + b" " + struct.pack(f"<{len(numbers)}f", *numbers)


def binary(rows: Rows) -> bytes:
    """The binary format of word2vec, with a line end after every vector."""
    return header(rows) + b"".join(record(*row) + b"\n" for row in rows)


def gensim_binary(rows: Rows) -> bytes:
    """The binary format of gensim, without line ends."""
    return header(rows) + b"".join(record(*row) for row in rows)


WRITERS = [glove, text, fasttext, binary, gensim_binary]


def file(folder: Path, content: bytes) -> Path:
    """Write a file whose name does not reveal its format."""
    path = folder / "vectors.dat"
    path.write_bytes(content)
    return path


def read(path: Path, wanted: Collection[str]) -> dict[str, list[float]]:
    vectors = read_vectors(path, wanted)
    assert all(vector.dtype == np.float32 for vector in vectors.values())
    return {word: vector.tolist() for word, vector in vectors.items()}


def single(rows: Rows) -> dict[str, list[float]]:
    return {word.lower(): np.array(numbers, np.float32).tolist() for word, numbers in rows}


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
@pytest.mark.parametrize("writer", WRITERS)
def test_every_format_is_recognized_by_its_content(
    tmp_path: Path, writer: Callable[[Rows], bytes], compress: Callable[[bytes], bytes]
) -> None:
    path = file(tmp_path, compress(writer(FOODS)))
    assert read(path, ["tea", "milk", "茶", "coffee"]) == single(FOODS)
    assert read(path, {"茶"}) == single(FOODS[2:])
    assert read(path, ()) == {}


@pytest.mark.parametrize("writer", WRITERS)
def test_the_exact_spelling_and_then_the_first_vector_are_preferred(
    tmp_path: Path, writer: Callable[[Rows], bytes]
) -> None:
    rows: Rows = [("US", [1, 0]), ("us", [2, 0]), ("us", [3, 0]), ("PARIS", [4, 0])]
    path = file(tmp_path, writer([*rows, ("Paris", [5, 0])]))
    assert read(path, ["us", "paris"]) == {"us": [2, 0], "paris": [4, 0]}


@pytest.mark.parametrize("writer", [glove, text, fasttext])
def test_words_of_a_text_file_may_contain_spaces(
    tmp_path: Path, writer: Callable[[Rows], bytes]
) -> None:
    rows: Rows = [("a", [1, 2]), (". . .", [4, 5]), ("Windows 95", [7, 8]), ("b", [0, 1])]
    path = file(tmp_path, writer(rows))
    assert read(path, ["a", ". . .", "windows 95", "windows", "b"]) == single(rows)


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf2 2\r\na 1 2\r\nb 3 4\r\n",
        b"2\t2\na\t1\t2\nb  3   4 \n\n",
        b"\xef\xbb\xbfa +1. 2e0\n\nb .3e1 4",
        b"a 1 2\n 5 6\n\xe8\x8c 5 6\nother nan what\nb 3 4\n",
    ],
)
def test_separators_and_the_lines_of_other_words_may_vary(tmp_path: Path, content: bytes) -> None:
    path = file(tmp_path, content)
    assert read(path, {"a", "b"}) == {"a": [1, 2], "b": [3, 4]}
    assert read(path, {"b"}) == {"b": [3, 4]}


def test_a_file_is_read_in_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a small chunk, every record crosses the end of a chunk once."""
    monkeypatch.setattr(vector_file, "_CHUNK_BYTES", 64)
    monkeypatch.setattr(vector_file, "MAX_WORD_BYTES", 20)
    rows: Rows = [(f"word{number}", [number, -number, 0.5]) for number in range(500)]
    for writer in WRITERS:
        path = file(tmp_path, writer(rows))
        assert read(path, [word for word, _ in rows]) == single(rows)
        assert read(path, {"word321"}) == single(rows[321:322])


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=6)
FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)


@st.composite
def tables(draw: st.DrawFn) -> Rows:
    """Distinct words with vectors of the same size; a line is never like a header."""
    words = draw(st.lists(WORDS.map(str.lower), min_size=1, max_size=6, unique=True))
    size = draw(st.integers(2, 5))
    return [(word, draw(st.lists(FLOATS, min_size=size, max_size=size))) for word in words]


@given(tables(), st.sampled_from(WRITERS), st.data())
@quickly
def test_written_vectors_are_read_back(
    tmp_path_factory: pytest.TempPathFactory,
    rows: Rows,
    writer: Callable[[Rows], bytes],
    data: st.DataObject,
) -> None:
    path = file(tmp_path_factory.mktemp("written"), writer(rows))
    wanted = data.draw(st.sets(st.sampled_from([word for word, _ in rows])))
    assert read(path, wanted) == single([row for row in rows if row[0] in wanted])


@pytest.mark.parametrize("binary", [True, False])
def test_vectors_written_by_gensim_are_read(tmp_path: Path, binary: bool) -> None:
    gensim = pytest.importorskip("gensim.models")
    theirs = gensim.KeyedVectors(50)
    matrix = np.random.default_rng(0).normal(size=(300, 50)).astype(np.float32)
    words = [f"word{number}" for number in range(300)]
    theirs.add_vectors(words, matrix)
    theirs.save_word2vec_format(tmp_path / "vectors", binary=binary)
    found = read_vectors(tmp_path / "vectors", words)
    assert np.array_equal([found[word] for word in words], matrix)


TEXT_ERRORS = {
    "blank": (b" \n\n", 1, "not a file of word vectors"),
    "no vectors": (b"name,1,2\ntea,1,2\n", 1, "not a file of word vectors; use a word2vec"),
    "zeros": (b"\0" * 50, 1, "not a file of word vectors"),
    "UTF-16": ("tea 1 2\n".encode("utf-16"), 1, "not a file of word vectors"),
    "truncated": (b"3 2\na 1 2\nb 3 4\n", 3, "ends after 2 of 3 words"),
    "truncated line": (b"2 3\na 1 2 3\nb 4 5", 3, "needs a word and 3 numbers"),
    "truncated GloVe": (b"a 1 2 3\nb 4 5 6\nc 7\n", 3, "needs a word and 3 numbers"),
    "truncated, with spaces": (b"2 3\na 1 2 3\n. . . . 4 5\n", 3, "needs a word and 3 numbers"),
    "other dimension": (b"2 3\na 1 2\nb 3 4\n", 1, "declares 3 .* first word has 2"),
    "smaller dimension": (b"2 1\na .1 .2\nb .3 .4\n", 1, "declares 1 .* first word has 2"),
    "no dimension": (b"3 0\na\nb\nc\n", 1, "have 0 numbers"),
    "huge dimension": (b"3 999999999\na 1\n", 1, "have 999999999 numbers"),
    "not a number": (b"2 3\na 1 2 3\nb 4 x5 6\n", 3, "vector of 'b' has a wrong number.*x5"),
    "NaN": (b"2 2\na 1 2\nb NaN 2\n", 3, "vector of 'b' has NaN"),
    "too large": (b"a 1 2\nb 3 1e99\n", 2, "vector of 'b' has NaN or a number that is too"),
    "long line": (b"a 1\nb" + b" " * 5_000 + b"\n", 2, "needs a word and 1 numbers"),
}


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
@pytest.mark.parametrize("case", TEXT_ERRORS)
def test_an_error_in_a_text_file_names_the_line(
    tmp_path: Path, case: str, compress: Callable[[bytes], bytes]
) -> None:
    content, line, message = TEXT_ERRORS[case]
    path = file(tmp_path, compress(content))
    with pytest.raises(FormatError, match=message) as caught:
        read_vectors(path, {"a", "b"})
    assert caught.value.line == line
    assert str(path) in str(caught.value)
    if "truncated" in case:
        with pytest.raises(FormatError, match=message):
            read_vectors(path, {"coffee"})


PAIR: Rows = [("one", [1.0, 1.5, 1.25]), ("ten", [10.0, 10.5, 10.25])]
BINARY_ERRORS = {
    "only a header": (b"2 3\n", "word 1 of 2"),
    "one word less": (b"3" + binary(PAIR)[1:], "word 3 of 3"),
    "truncated word": (binary(PAIR)[:23], "word 2 of 2"),
    "dimension too large": (b"2 4" + binary(PAIR)[3:], "word 2 of 2, with 4 numbers"),
    "long word": (b"9 9\n" + b"\xff" * 99_999, "word 1 of 9"),
    "NaN": (binary([("one", [1]), ("ten", [np.nan])]), "vector of 'ten' has NaN"),
    "infinite": (gensim_binary([("one", [-np.inf])]), "vector of 'one' has NaN"),
    "prose": (b"12 24\nmonkeys and then some\n", "word 1 of 12"),
}


@pytest.mark.parametrize("case", BINARY_ERRORS)
def test_an_error_in_a_binary_file_names_the_word(tmp_path: Path, case: str) -> None:
    content, message = BINARY_ERRORS[case]
    with pytest.raises(FormatError, match=message):
        read_vectors(file(tmp_path, content), {"one", "ten"})


def test_a_damaged_compressed_file_is_refused(tmp_path: Path) -> None:
    rows: Rows = [(f"word{number}", [number, 0.5]) for number in range(2000)]
    whole = gzip.compress(text(rows))
    changed = whole[:2000] + bytes(byte ^ 255 for byte in whole[2000:2100]) + whole[2100:]
    for content in (whole[:-100], whole[:5], changed, whole + b"more"):
        with pytest.raises(FormatError, match="cannot be unpacked"):
            read_vectors(file(tmp_path, content), {"tea"})


def test_a_file_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no such file"):
        read_vectors(tmp_path / "none", ())
    with pytest.raises(FormatError, match="cannot be read"):
        read_vectors(tmp_path, ())


@given(tables(), st.sampled_from(WRITERS), st.data())
@quickly
def test_a_file_without_some_bytes_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory,
    rows: Rows,
    writer: Callable[[Rows], bytes],
    data: st.DataObject,
) -> None:
    whole = writer(rows)
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, len(whole)))
    path = file(tmp_path_factory.mktemp("cut"), whole[:start] + whole[end:])
    with suppress(FormatError):
        vectors = read_vectors(path, [word for word, _ in rows])
        assert all(np.isfinite(vector).all() for vector in vectors.values())


@given(tables(), st.sampled_from([binary, gensim_binary]), st.data())
@quickly
def test_a_truncated_binary_file_is_always_refused(
    tmp_path_factory: pytest.TempPathFactory,
    rows: Rows,
    writer: Callable[[Rows], bytes],
    data: st.DataObject,
) -> None:
    whole = writer(rows).removesuffix(b"\n")
    path = file(tmp_path_factory.mktemp("cut"), whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(FormatError):
        read_vectors(path, {"coffee"})


@pytest.mark.slow
@pytest.mark.parametrize("writer", [text, binary])
def test_a_large_file_needs_little_memory(tmp_path: Path, writer: Callable[[Rows], bytes]) -> None:
    path = file(tmp_path, writer([(f"word{row}", [1.5] * 300) for row in range(20_000)]))
    tracemalloc.start()
    found = read_vectors(path, {f"word{row}" for row in range(5, 20_000, 2_000)})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found) == 10
    assert peak < path.stat().st_size / 3 > 7_000_000
