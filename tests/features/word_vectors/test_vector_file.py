"""Word vectors are read from every usual kind of file, and a wrong file says what is wrong."""

from __future__ import annotations

import gzip
import os
import re
import struct
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import quickly

from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.features.embedding import embed_concepts
from taxoexpan.features.encoder import Encoder
from taxoexpan.features.word_vectors import vector_file
from taxoexpan.features.word_vectors.vector_file import WordVectors, read_vectors
from taxoexpan.features.word_vectors.word_vector_encoder import Coverage, WordVectorEncoder
from taxoexpan.taxonomy import Concept

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
    """FastText puts a space behind every number, also the last."""
    return header(rows) + "".join(f"{spelled(row)} \n" for row in rows).encode()


def record(word: str, numbers: list[float]) -> bytes:
    return word.encode() + b" " + struct.pack(f"<{len(numbers)}f", *numbers)


def binary(rows: Rows) -> bytes:
    """As word2vec writes it, with a line end behind every vector."""
    return header(rows) + b"".join(record(*row) + b"\n" for row in rows)


def binary_unclosed(rows: Rows) -> bytes:
    """As gensim writes it."""
    return header(rows) + b"".join(record(*row) for row in rows)


WRITERS = [glove, text, fasttext, binary, binary_unclosed]


def file(folder: Path, content: bytes) -> Path:
    """A file whose name tells nothing of what it holds."""
    path = folder / "vectors.dat"
    path.write_bytes(content)
    return path


def as_rows(vectors: WordVectors) -> dict[str, list[float]]:
    assert vectors.matrix.dtype == np.float32
    assert len(vectors.matrix) == len(vectors.words)
    return {word: vectors.matrix[row].tolist() for word, row in vectors.words.items()}


def single(rows: Rows) -> dict[str, list[float]]:
    return {word: np.array(numbers, np.float32).tolist() for word, numbers in rows}


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
@pytest.mark.parametrize("writer", WRITERS)
def test_every_kind_is_recognised_by_its_content(
    tmp_path: Path, writer: Callable[[Rows], bytes], packed: Callable[[bytes], bytes]
) -> None:
    path = file(tmp_path, packed(writer(FOODS)))
    assert as_rows(read_vectors(path)) == single(FOODS)
    assert as_rows(read_vectors(path, {"茶"})) == single(FOODS[2:])


@pytest.mark.parametrize("writer", WRITERS)
def test_only_wanted_words_are_kept(tmp_path: Path, writer: Callable[[Rows], bytes]) -> None:
    path = file(tmp_path, writer(FOODS))
    assert as_rows(read_vectors(path, ["tea", "coffee"])) == single(FOODS[:1])
    assert read_vectors(path, []).matrix.shape == (0, 3)


@pytest.mark.parametrize("writer", WRITERS)
def test_a_word_spelled_just_so_goes_before_the_first_in_other_case(
    tmp_path: Path, writer: Callable[[Rows], bytes]
) -> None:
    rows: Rows = [("US", [1]), ("us", [2]), ("Us", [3]), ("PARIS", [4]), ("Paris", [5])]
    path = file(tmp_path, writer(rows))
    assert as_rows(read_vectors(path, ["us", "paris"])) == {"us": [2], "paris": [4]}
    assert as_rows(read_vectors(path, ["Us", "US", "uS"])) == {"Us": [3], "US": [1], "uS": [1]}
    assert as_rows(read_vectors(path)) == single(rows)


@pytest.mark.parametrize("writer", WRITERS)
def test_of_a_word_that_comes_twice_the_first_counts(
    tmp_path: Path, writer: Callable[[Rows], bytes]
) -> None:
    path = file(tmp_path, writer([("tea", [1, 2]), ("tea", [3, 4])]))
    assert as_rows(read_vectors(path)) == {"tea": [1, 2]}
    assert as_rows(read_vectors(path, {"tea"})) == {"tea": [1, 2]}


@pytest.mark.parametrize("writer", [glove, text, fasttext, binary])
def test_words_may_hold_spaces(tmp_path: Path, writer: Callable[[Rows], bytes]) -> None:
    rows: Rows = [
        ("a", [1, 2, 3]),
        (". . .", [4, 5, 6]),
        ("Windows 95", [7, 8, 9]),
        ("b", [0, 0, 1]),
    ]
    path = file(tmp_path, writer(rows))
    assert as_rows(read_vectors(path)) == single(rows)
    assert as_rows(read_vectors(path, {"windows 95", "windows"})) == {"windows 95": [7, 8, 9]}


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf2 2\r\na 1 2\r\nb 3 4\r\n",
        b"2 2\na\t1\t2\nb\t3 4",
        b"2\t2\n a  1   2 \n\nb 3 4\n\n\n",
        b"a 1 2\nb 3 4",
        b"\xef\xbb\xbfa +1. 2e0\nb .3e1 4\n",
    ],
)
def test_how_lines_and_gaps_are_written_does_not_matter(tmp_path: Path, content: bytes) -> None:
    path = file(tmp_path, content)
    assert as_rows(read_vectors(path)) == {"a": [1, 2], "b": [3, 4]}
    assert as_rows(read_vectors(path, {"b"})) == {"b": [3, 4]}


def test_a_blank_word_and_one_cut_in_mid_letter_are_no_reason_to_fail(tmp_path: Path) -> None:
    path = file(tmp_path, b"3 2\n 1 2\n\xe8\x8c 3 4\nb 5 6\n")
    assert as_rows(read_vectors(path)) == {"": [1, 2], "\ufffd": [3, 4], "b": [5, 6]}
    assert as_rows(read_vectors(path, {"b"})) == {"b": [5, 6]}


def test_a_file_may_be_one_number_a_word_or_have_numbers_for_words(tmp_path: Path) -> None:
    assert as_rows(read_vectors(file(tmp_path, b"a 1\nb 2\n"))) == {"a": [1], "b": [2]}
    numbers = {"1999": [1, 2], "7": [3, 4]}
    assert as_rows(read_vectors(file(tmp_path, b"1999 1 2\n7 3 4\n"))) == numbers


def test_a_vector_that_nobody_wants_is_not_looked_into(tmp_path: Path) -> None:
    path = file(tmp_path, b"a 1 2\nb nan what\nc 3 4\n")
    assert as_rows(read_vectors(path, {"c"})) == {"c": [3, 4]}


def test_pieces_of_a_large_file_fit_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a small piece every record lies across an edge once."""
    monkeypatch.setattr(vector_file, "_PIECE", 64)
    monkeypatch.setattr(vector_file, "MOST_WORD_BYTES", 20)
    rows: Rows = [(f"word{number}", [number, -number, 0.5]) for number in range(500)]
    for writer in WRITERS:
        path = file(tmp_path, writer(rows))
        assert as_rows(read_vectors(path)) == single(rows)
        assert as_rows(read_vectors(path, {"word321"})) == single(rows[321:322])


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=6)
FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)


@st.composite
def tables(draw: st.DrawFn) -> Rows:
    """Distinct words, each with as many numbers; what could be a header is left out."""
    words = draw(st.lists(WORDS, min_size=1, max_size=6, unique=True))
    size = draw(st.integers(2, 5))
    return [(word, draw(st.lists(FLOATS, min_size=size, max_size=size))) for word in words]


@given(tables(), st.sampled_from(WRITERS), st.data())
@quickly
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    rows: Rows,
    writer: Callable[[Rows], bytes],
    data: st.DataObject,
) -> None:
    path = file(tmp_path_factory.mktemp("written"), writer(rows))
    assert as_rows(read_vectors(path)) == single(rows)
    wanted = data.draw(st.sets(st.sampled_from([word for word, _ in rows])))
    assert as_rows(read_vectors(path, wanted)) == single([row for row in rows if row[0] in wanted])


@given(tables(), st.sampled_from([text, binary, binary_unclosed]))
@quickly
def test_gensim_reads_the_same(
    tmp_path_factory: pytest.TempPathFactory, rows: Rows, writer: Callable[[Rows], bytes]
) -> None:
    gensim = pytest.importorskip("gensim.models")
    path = file(tmp_path_factory.mktemp("gensim"), writer(rows))
    theirs = gensim.KeyedVectors.load_word2vec_format(path, binary=writer is not text)
    ours = read_vectors(path)
    assert list(ours.words) == theirs.index_to_key
    assert np.array_equal(ours.matrix, theirs.vectors)


@pytest.mark.parametrize("binary", [True, False])
def test_what_gensim_writes_is_read(tmp_path: Path, binary: bool) -> None:
    gensim = pytest.importorskip("gensim.models")
    theirs = gensim.KeyedVectors(50)
    matrix = np.random.default_rng(0).normal(size=(300, 50)).astype(np.float32)
    theirs.add_vectors([f"word{number}" for number in range(300)], matrix)
    theirs.save_word2vec_format(tmp_path / "vectors", binary=binary)
    assert np.array_equal(read_vectors(tmp_path / "vectors").matrix, matrix)


def test_a_file_of_gensims_own_is_refused(tmp_path: Path) -> None:
    gensim = pytest.importorskip("gensim.models")
    theirs = gensim.KeyedVectors(2)
    theirs.add_vectors(["tea"], np.ones((1, 2), np.float32))
    theirs.save(str(tmp_path / "vectors.kv"))
    with pytest.raises(FormatError, match=r"a pickle.*save_word2vec_format"):
        read_vectors(tmp_path / "vectors.kv")


TEXT_ERRORS = {
    "blank": (b" \n\n", None, "the file is empty; it needs at least one word"),
    "no vectors": (b"name,1,2\ntea,1,2\n", 1, "no file of word vectors; give word2vec's"),
    "prose": (b"<html>\n<p>Not found, error 404\n", 1, "no file of word vectors"),
    "cut off": (b"3 2\na 1 2\nb 3 4\n", 3, "ends after 2 of the 3 words.*get it again"),
    "cut line": (
        b"2 3\na 1 2 3\nb 4 5",
        3,
        "a vector has 3 numbers here, but this line ends in 2; .*get",
    ),
    "cut GloVe": (
        b"a 1 2 3\nb 4 5 6\nc 7\n",
        3,
        "a vector has 3 numbers here, but this line ends in 1",
    ),
    "cut, with a space": (b"2 3\na 1 2 3\n. . . . 4 5\n", 3, "this line ends in 2"),
    "a double gap": (b"2 3\na 1 2 3\nb 4  5\n", 3, "this line ends in 2"),
    "too many": (b"a 1 2\nb 1.5 2 3\nc 1 2\n", 2, "more than the 2 numbers.*get the file again"),
    "lines run together": (b"a .1 .2\nb .1 .2c .1 .2\nd 1 2\n", 2, "more than the 2 numbers"),
    "one word more": (
        b"1 2\na 1 2\nb 3 4\n",
        3,
        "a word more than the 1 that the header declares; correct",
    ),
    "other dimension": (
        b"2 3\na 1 2\nb 3 4\n",
        1,
        "declares 3 numbers.*the first word has 2; corr",
    ),
    "smaller dimension": (
        b"2 1\na .1 .2\nb .3 .4\n",
        1,
        "declares 1 numbers.*the first word has 2",
    ),
    "no words": (b"0 3\n", 1, "declares no words"),
    "no dimension": (b"3 0\na\nb\nc\n", 1, "vectors of 0 numbers; from 1 to 20,000.*correct the"),
    "absurd dimension": (b"3 999999999\na 1\n", 1, "vectors of 999999999 numbers"),
    "absurd GloVe": (b"a" + b" 1" * 20_001 + b"\n", 1, "vectors of 20001 numbers"),
    "not a number": (
        b"2 3\na 1 2 3\nb 4 x5 6\n",
        3,
        "'x5' in the vector of 'b' is not a number; c",
    ),
    "comma": (b"a 1,5 2 3\nb 4 5 6\n", 1, "'1,5' in the vector of 'a' is not a number"),
    "NaN": (b"2 2\na 1 2\nb NaN 2\n", 3, "NaN in the vector of 'b' cannot be used.*line out"),
    "infinite": (b"a 1 2\nb 3 -inf\n", 2, "-inf in the vector of 'b' cannot be used"),
    "too large": (b"a 1 2\nb 3 1e99\n", 2, "1e99 in the vector of 'b' cannot be used"),
    "endless line": (b"a 1\nb" + b" " * 5_000 + b"\n", 2, "a line too long for a word and 1 numb"),
}


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
@pytest.mark.parametrize("case", TEXT_ERRORS)
def test_a_wrong_text_says_the_line_and_the_mend(
    tmp_path: Path, case: str, packed: Callable[[bytes], bytes]
) -> None:
    content, line, message = TEXT_ERRORS[case]
    path = file(tmp_path, packed(content))
    with pytest.raises(FormatError, match=message) as caught:
        read_vectors(path)
    assert caught.value.line == line
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("case", ["cut off", "cut line", "too many", "one word more"])
def test_a_wrong_text_is_found_whatever_is_wanted(tmp_path: Path, case: str) -> None:
    content, _, message = TEXT_ERRORS[case]
    with pytest.raises(FormatError, match=message):
        read_vectors(file(tmp_path, content), {"coffee"})


ONES, TENS = [1.0, 1.5, 1.25], [10.0, 10.5, 10.25]
PAIR: Rows = [("one", ONES), ("ten", TENS)]
BINARY_ERRORS = {
    "only a header": (b"2 3\n", "word 1 of 2, at byte 4: the file ends here"),
    "one word less": (b"3" + binary(PAIR)[1:], "word 3 of 3, at byte 38: the file ends here"),
    "one word more": (b"1" + binary(PAIR)[1:], "declares there is more, from byte 20 on; correct"),
    "a word cut": (binary(PAIR)[:23], "word 2 of 2, at byte 21: .*ends in the middle of a word"),
    "a vector cut": (binary(PAIR)[:-3], "word 2 of 2, at byte 21: .*in the middle of a vector"),
    "dimension too small": (b"2 2" + binary(PAIR)[3:], "word 2 of 2, .*: no word stands here"),
    "dimension too large": (b"2 4" + binary(PAIR)[3:], "word 2 of 2, .*correct its header"),
    "unclosed, too small": (b"2 1" + binary_unclosed(PAIR)[3:], "no word stands here"),
    "garbage": (b"9 9\n" + bytes(range(256)) * 9, "word 1 of 9, at byte 4: no word stands here"),
    "no word for long": (
        b"9 9\n" + b"\xff" * 99_999,
        "word 1 of 9, at byte 4: no word stands here",
    ),
    "NaN": (binary([("a", [1]), ("b", [np.nan])]), "word 2 of 2, .*nan in the vector of 'b' cann"),
    "infinite": (binary_unclosed([("a", [-np.inf])]), "word 1 of 1.*-inf in the vector of 'a'"),
    "prose": (b"12 24\nmonkeys and then some\n", "taken as binary, word 1 of 12, at byte 6: the f"),
}


@pytest.mark.parametrize("case", BINARY_ERRORS)
def test_a_wrong_binary_says_the_place_and_the_mend(tmp_path: Path, case: str) -> None:
    content, message = BINARY_ERRORS[case]
    with pytest.raises(FormatError, match=message) as caught:
        read_vectors(file(tmp_path, content))
    assert re.search("; (get the file again|correct the header)", str(caught.value))


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PK\x03\x04\x14\0\0\0", "a packed file; unpack it"),
        (b"BZh91AY&SY\0", "a packed file; unpack it"),
        (b"\xfd7zXZ\0\0", "a packed file; unpack it"),
        (b"7z\xbc\xaf\x27\x1c\0", "a packed file; unpack it"),
        (b"\x28\xb5\x2f\xfd\0", "a packed file; unpack it"),
        (struct.pack("<ii", 793712314, 12), "a fastText model; give the .vec file"),
        (b"\x80\x04\x95\x10", "a file of gensim's own"),
        (b"\x80\x02c", "a file of gensim's own"),
        (b"\x93NUMPY\x01\0", "a numpy array, without any words"),
        ("tea 1 2\n".encode("utf-16"), "is UTF-16; save it as UTF-8"),
        (b"\0" * 50, "no file of word vectors"),
        (bytes(range(256)), "no file of word vectors"),
    ],
)
def test_another_kind_of_file_says_what_to_give_instead(
    tmp_path: Path, content: bytes, message: str, packed: Callable[[bytes], bytes]
) -> None:
    with pytest.raises(FormatError, match=message):
        read_vectors(file(tmp_path, packed(content)))


def test_a_packed_file_that_is_damaged_is_refused(tmp_path: Path) -> None:
    rows: Rows = [(f"word{number}", [number, 0.5]) for number in range(2000)]
    whole = gzip.compress(text(rows))
    changed = whole[:2000] + bytes(byte ^ 255 for byte in whole[2000:2100]) + whole[2100:]
    for content in (whole[:-100], whole[:5], changed, whole + b"more"):
        with pytest.raises(FormatError, match="packed file is cut off or damaged; get it again"):
            read_vectors(file(tmp_path, content))


def test_what_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no such file; check the path"):
        read_vectors(tmp_path / "none")
    with pytest.raises(FormatError, match="not an ordinary file"):
        read_vectors(tmp_path)
    with pytest.raises(FormatError, match="the file is empty"):
        read_vectors(file(tmp_path, b""))
    with pytest.raises(FormatError, match="the file is empty"):
        read_vectors(file(tmp_path, gzip.compress(b"")))
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(FormatError, match=r"cannot be read|no such file"):
        read_vectors(tmp_path / "loop")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path) -> None:
    path = file(tmp_path, glove(FOODS))
    path.chmod(0)
    with pytest.raises(FormatError, match="cannot be read: Permission denied"):
        read_vectors(path)


def outcome(path: Path) -> tuple[str, WordVectors | None]:
    """What is wrong with a file and how to mend it, or its vectors."""
    try:
        return "", read_vectors(path)
    except FormatError as error:
        return error.message, None


@given(tables(), st.sampled_from(WRITERS), st.data())
@quickly
def test_a_file_cut_anywhere_or_changed_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory,
    rows: Rows,
    writer: Callable[[Rows], bytes],
    data: st.DataObject,
) -> None:
    whole = writer(rows)
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, len(whole)))
    path = file(tmp_path_factory.mktemp("cut"), whole[:start] + whole[end:])
    message, vectors = outcome(path)
    assert "; " in message or (vectors is not None and np.isfinite(vectors.matrix).all())


@given(tables(), st.sampled_from([binary, binary_unclosed]), st.data())
@quickly
def test_a_binary_file_that_is_cut_off_is_never_read(
    tmp_path_factory: pytest.TempPathFactory,
    rows: Rows,
    writer: Callable[[Rows], bytes],
    data: st.DataObject,
) -> None:
    whole = writer(rows).removesuffix(b"\n")
    path = file(tmp_path_factory.mktemp("cut"), whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(FormatError):
        read_vectors(path, {"coffee"})


PANTRY: Rows = [
    ("oat", [1, 0, 0, 0]),
    ("Milk", [0, 3, 0, 0]),
    ("green_tea", [0, 0, 1, 1]),
    ("tea", [0, 0, 0, 2]),
    ("black bean", [1, 1, 1, 1]),
    ("bean", [2, 0, 0, 2]),
    ("low-fat", [0, 0, 5, 0]),
    ("u.s.", [1, 2, 2, 0]),
    ("nothing", [0, 0, 0, 0]),
]


@pytest.fixture
def pantry_vectors(tmp_path: Path) -> Path:
    return file(tmp_path, text(PANTRY))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tea", [0, 0, 0, 1]),
        ("Oat Milk", [0.1**0.5, 0.9**0.5, 0, 0]),
        ("Green Tea", [0, 0, 0.5**0.5, 0.5**0.5]),
        ("green tea leaves", [0, 0, 0, 1]),
        ("  black  bean ", [0.5, 0.5, 0.5, 0.5]),
        ("red bean", [0.5**0.5, 0, 0, 0.5**0.5]),
        ("Low-fat", [0, 0, 1, 0]),
        ("oat-free", [1, 0, 0, 0]),
        ("oat–milk/tea", np.array([1, 3, 0, 2]) / 14**0.5),
        ("(oat), “tea”.", [0.2**0.5, 0, 0, 0.8**0.5]),
        ("U.S.", [1 / 3, 2 / 3, 2 / 3, 0]),
        ("nothing", [0, 0, 0, 0]),
        ("coffee", [0, 0, 0, 0]),
        ("", [0, 0, 0, 0]),
        (" - ", [0, 0, 0, 0]),
    ],
)
def test_a_name_is_one_entry_or_the_mean_of_its_known_words(
    pantry_vectors: Path, name: str, expected: list[float]
) -> None:
    assert np.allclose(WordVectorEncoder(pantry_vectors).encode([name]), [expected], atol=1e-6)


def test_where_unknown_words_are_zeros_the_length_is_the_share_of_known_ones(
    pantry_vectors: Path,
) -> None:
    names = ["oat milk", "oat drink", "oat-free soy drink", "green tea", "soy", "oat — milk"]
    skip = WordVectorEncoder(pantry_vectors).encode(names)
    zero = WordVectorEncoder(pantry_vectors, oov="zero").encode(names)
    assert np.linalg.norm(zero, axis=1) == pytest.approx([1, 1 / 2, 1 / 4, 1, 0, 1])
    assert np.linalg.norm(skip, axis=1) == pytest.approx([1, 1, 1, 1, 0, 1])
    with pytest.raises(ConfigurationError, match="'mean'; choose skip or zero"):
        WordVectorEncoder(pantry_vectors, oov="mean")  # type: ignore[arg-type]


def test_huge_and_tiny_numbers_have_a_direction(tmp_path: Path) -> None:
    path = file(tmp_path, text([("huge", [3e38, 3e38]), ("tiny", [0, 1e-45])]))
    assert np.allclose(WordVectorEncoder(path).encode(["huge", "tiny"]), [[0.5**0.5] * 2, [0, 1]])


def test_coverage_counts_texts(pantry_vectors: Path) -> None:
    names = ["Green tea", "oat milk", "oat drink", "soy-based", "tea-milk", "", "tea", "— & —"]
    assert WordVectorEncoder(pantry_vectors).coverage(names) == Coverage(
        8, some=5, every=4, whole=2
    )
    assert WordVectorEncoder(pantry_vectors).coverage([]) == Coverage(0, 0, 0, 0)


def test_a_text_does_not_depend_on_its_neighbours_nor_on_what_came_before(
    pantry_vectors: Path,
) -> None:
    names = ["oat milk", "green tea", "milk", "nothing at all", "bean", "oat milk"]
    encoder = WordVectorEncoder(pantry_vectors)
    one_by_one = np.concatenate([encoder.encode([name]) for name in names])
    assert np.array_equal(one_by_one, WordVectorEncoder(pantry_vectors).encode(names))
    assert encoder.encode([]).shape == (0, 4)


def test_the_file_is_read_only_for_words_not_looked_for_yet(pantry_vectors: Path) -> None:
    encoder = WordVectorEncoder(pantry_vectors)
    encoder.prepare(["oat milk", "soy"])
    pantry_vectors.unlink()
    assert encoder.encode(["Oat milk", "milk", "oat"]).any(axis=1).all()
    assert not encoder.encode(["soy"]).any()
    with pytest.raises(FormatError, match="no such file"):
        encoder.encode(["tea"])


def test_a_file_exchanged_for_one_of_another_dimension_is_noticed(pantry_vectors: Path) -> None:
    encoder = WordVectorEncoder(pantry_vectors)
    encoder.encode(["oat"])
    pantry_vectors.write_bytes(text(FOODS))
    with pytest.raises(FormatError, match="has changed while it was in use; begin again"):
        encoder.encode(["tea"])


def test_an_encoder_of_a_file_makes_concepts_vectors(pantry_vectors: Path) -> None:
    encoder: Encoder = WordVectorEncoder(pantry_vectors)
    assert encoder.name == f"vectors:{pantry_vectors}"
    assert encoder.dimension == 4
    concepts = [Concept("1", "oat milk", ("oat drink",), "A milk, of oat."), Concept("2", "kvass")]
    vectors = embed_concepts(encoder, concepts)
    assert vectors.shape == (2, 2, 4)
    assert np.allclose(np.linalg.norm(vectors, axis=2), [[1, 0], [1, 0]])
    assert np.allclose(vectors[1, 0], [0, 1, 0, 0])


def test_a_wrong_file_is_refused_before_any_text_comes(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no file of word vectors"):
        WordVectorEncoder(file(tmp_path, b"a,b\n"))


def test_a_fingerprint_tells_contents_apart_and_not_names(tmp_path: Path) -> None:
    def digest(content: bytes | bytearray, name: str = "vectors") -> str:
        (tmp_path / name).write_bytes(b"a 1 2\n" + content)
        return WordVectorEncoder(tmp_path / name).fingerprint()

    large = bytearray(5_000_000)
    assert digest(b"") == digest(b"", "other")
    assert re.fullmatch("[0-9a-f]{16}", digest(b""))
    before = digest(large)
    for place in (0, 1_500_000, len(large) // 2, -1):
        changed = large.copy()
        changed[place] = 1
        assert digest(changed) != before
    assert digest(large + b"\0") != before


@pytest.mark.slow
def test_a_large_binary_file_needs_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "large.bin"
    vectors = np.random.default_rng(0).normal(size=(100, 300)).astype("<f4")
    with path.open("wb") as out:
        out.write(b"166000 300\n")
        for row in range(166_000):
            out.write(b"word%d " % row + vectors[row % 100].tobytes() + b"\n")
    program = """
        import re, sys
        from pathlib import Path
        from taxoexpan.features.word_vectors.vector_file import read_vectors

        def peak():
            return int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1])

        before = peak()
        found = read_vectors(Path(sys.argv[1]), {f"word{row}" for row in range(5, 166_000, 16_600)})
        print(len(found.words), peak() - before)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    size = path.stat().st_size
    path.unlink()
    words, kilobytes = map(int, done.stdout.split())
    assert size > 200_000_000
    assert words == 10
    assert kilobytes < 60_000
