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

from taxoexpan.errors import FormatError
from taxoexpan.features.word_vectors import vector_file
from taxoexpan.features.word_vectors.vector_file import WordVectors, read_vectors

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


def as_rows(vectors: WordVectors) -> dict[str, list[float]]:
    assert vectors.matrix.dtype == np.float32
    assert len(vectors.matrix) == len(vectors.words)
    return {word: vectors.matrix[row].tolist() for word, row in vectors.words.items()}


def single(rows: Rows) -> dict[str, list[float]]:
    return {word: np.array(numbers, np.float32).tolist() for word, numbers in rows}


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
@pytest.mark.parametrize("writer", WRITERS)
def test_every_format_is_recognized_by_its_content(
    tmp_path: Path, writer: Callable[[Rows], bytes], compress: Callable[[bytes], bytes]
) -> None:
    path = file(tmp_path, compress(writer(FOODS)))
    assert as_rows(read_vectors(path)) == single(FOODS)
    assert as_rows(read_vectors(path, {"茶"})) == single(FOODS[2:])


@pytest.mark.parametrize("writer", WRITERS)
def test_only_wanted_words_are_kept(tmp_path: Path, writer: Callable[[Rows], bytes]) -> None:
    path = file(tmp_path, writer(FOODS))
    assert as_rows(read_vectors(path, ["tea", "coffee"])) == single(FOODS[:1])
    assert read_vectors(path, []).matrix.shape == (0, 3)


@pytest.mark.parametrize("writer", WRITERS)
def test_the_exact_spelling_is_preferred_to_another_case(
    tmp_path: Path, writer: Callable[[Rows], bytes]
) -> None:
    rows: Rows = [("US", [1]), ("us", [2]), ("Us", [3]), ("PARIS", [4]), ("Paris", [5])]
    path = file(tmp_path, writer(rows))
    assert as_rows(read_vectors(path, ["us", "paris"])) == {"us": [2], "paris": [4]}
    assert as_rows(read_vectors(path, ["Us", "US", "uS"])) == {"Us": [3], "US": [1], "uS": [1]}
    assert as_rows(read_vectors(path)) == single(rows)


@pytest.mark.parametrize("writer", WRITERS)
def test_the_first_vector_of_a_repeated_word_is_used(
    tmp_path: Path, writer: Callable[[Rows], bytes]
) -> None:
    path = file(tmp_path, writer([("tea", [1, 2]), ("tea", [3, 4])]))
    assert as_rows(read_vectors(path)) == {"tea": [1, 2]}
    assert as_rows(read_vectors(path, {"tea"})) == {"tea": [1, 2]}


@pytest.mark.parametrize("writer", [glove, text, fasttext, binary])
def test_words_may_contain_spaces(tmp_path: Path, writer: Callable[[Rows], bytes]) -> None:
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
def test_line_ends_and_separators_may_vary(tmp_path: Path, content: bytes) -> None:
    path = file(tmp_path, content)
    assert as_rows(read_vectors(path)) == {"a": [1, 2], "b": [3, 4]}
    assert as_rows(read_vectors(path, {"b"})) == {"b": [3, 4]}


def test_an_empty_word_and_a_truncated_character_are_accepted(tmp_path: Path) -> None:
    path = file(tmp_path, b"3 2\n 1 2\n\xe8\x8c 3 4\nb 5 6\n")
    assert as_rows(read_vectors(path)) == {"": [1, 2], "\ufffd": [3, 4], "b": [5, 6]}
    assert as_rows(read_vectors(path, {"b"})) == {"b": [5, 6]}


def test_vectors_of_one_number_and_numbers_as_words(tmp_path: Path) -> None:
    assert as_rows(read_vectors(file(tmp_path, b"a 1\nb 2\n"))) == {"a": [1], "b": [2]}
    numbers = {"1999": [1, 2], "7": [3, 4]}
    assert as_rows(read_vectors(file(tmp_path, b"1999 1 2\n7 3 4\n"))) == numbers


def test_vectors_of_other_words_are_not_parsed(tmp_path: Path) -> None:
    path = file(tmp_path, b"a 1 2\nb nan what\nc 3 4\n")
    assert as_rows(read_vectors(path, {"c"})) == {"c": [3, 4]}


def test_a_file_is_read_in_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a small chunk, every record crosses the end of a chunk once."""
    monkeypatch.setattr(vector_file, "_CHUNK_BYTES", 64)
    monkeypatch.setattr(vector_file, "MAX_WORD_BYTES", 20)
    rows: Rows = [(f"word{number}", [number, -number, 0.5]) for number in range(500)]
    for writer in WRITERS:
        path = file(tmp_path, writer(rows))
        assert as_rows(read_vectors(path)) == single(rows)
        assert as_rows(read_vectors(path, {"word321"})) == single(rows[321:322])


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=6)
FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)


@st.composite
def tables(draw: st.DrawFn) -> Rows:
    """Distinct words with vectors of the same size; a line is never like a header."""
    words = draw(st.lists(WORDS, min_size=1, max_size=6, unique=True))
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
    assert as_rows(read_vectors(path)) == single(rows)
    wanted = data.draw(st.sets(st.sampled_from([word for word, _ in rows])))
    assert as_rows(read_vectors(path, wanted)) == single([row for row in rows if row[0] in wanted])


@given(tables(), st.sampled_from([text, binary, gensim_binary]))
@quickly
def test_gensim_reads_the_same_vectors(
    tmp_path_factory: pytest.TempPathFactory, rows: Rows, writer: Callable[[Rows], bytes]
) -> None:
    gensim = pytest.importorskip("gensim.models")
    path = file(tmp_path_factory.mktemp("gensim"), writer(rows))
    theirs = gensim.KeyedVectors.load_word2vec_format(path, binary=writer is not text)
    ours = read_vectors(path)
    assert list(ours.words) == theirs.index_to_key
    assert np.array_equal(ours.matrix, theirs.vectors)


@pytest.mark.parametrize("binary", [True, False])
def test_vectors_written_by_gensim_are_read(tmp_path: Path, binary: bool) -> None:
    gensim = pytest.importorskip("gensim.models")
    theirs = gensim.KeyedVectors(50)
    matrix = np.random.default_rng(0).normal(size=(300, 50)).astype(np.float32)
    theirs.add_vectors([f"word{number}" for number in range(300)], matrix)
    theirs.save_word2vec_format(tmp_path / "vectors", binary=binary)
    assert np.array_equal(read_vectors(tmp_path / "vectors").matrix, matrix)


def test_a_gensim_pickle_is_refused(tmp_path: Path) -> None:
    gensim = pytest.importorskip("gensim.models")
    theirs = gensim.KeyedVectors(2)
    theirs.add_vectors(["tea"], np.ones((1, 2), np.float32))
    theirs.save(str(tmp_path / "vectors.kv"))
    with pytest.raises(FormatError, match=r"in pickle format.*save_word2vec_format"):
        read_vectors(tmp_path / "vectors.kv")


TEXT_ERRORS = {
    "blank": (b" \n\n", None, "the file is empty; it needs at least one word"),
    "no vectors": (b"name,1,2\ntea,1,2\n", 1, "not a file of word vectors; use a word2vec"),
    "prose": (b"<html>\n<p>Not found, error 404\n", 1, "not a file of word vectors"),
    "truncated": (b"3 2\na 1 2\nb 3 4\n", 3, "ends after 2 of the 3 words.*get it again"),
    "truncated line": (
        b"2 3\na 1 2 3\nb 4 5",
        3,
        "needs a word and 3 numbers, but has 2 numbers; get the file",
    ),
    "truncated GloVe": (
        b"a 1 2 3\nb 4 5 6\nc 7\n",
        3,
        "needs a word and 3 numbers, but has 1 numbers",
    ),
    "truncated, with spaces": (b"2 3\na 1 2 3\n. . . . 4 5\n", 3, "has 2 numbers"),
    "double space": (b"2 3\na 1 2 3\nb 4  5\n", 3, "has 2 numbers"),
    "too many": (b"a 1 2\nb 1.5 2 3\nc 1 2\n", 2, "a word and 2 numbers, but has 3.*get the file"),
    "joined lines": (b"a .1 .2\nb .1 .2c .1 .2\nd 1 2\n", 2, "2 numbers, but has 3"),
    "one word more": (
        b"1 2\na 1 2\nb 3 4\n",
        3,
        "more than the 1 words that its header declares; correct",
    ),
    "other dimension": (
        b"2 3\na 1 2\nb 3 4\n",
        1,
        "declares 3 numbers per word, but the first word has 2; correct the header",
    ),
    "smaller dimension": (
        b"2 1\na .1 .2\nb .3 .4\n",
        1,
        "declares 1 numbers per word, but the first word has 2; correct the header",
    ),
    "smaller dimension, whole numbers": (
        b"2 1\na 1 2\nb 3 4\n",
        1,
        "declares 1 numbers per word, but the first word has 2; correct the header",
    ),
    "no words": (b"0 3\n", 1, "declares no words"),
    "no dimension": (b"3 0\na\nb\nc\n", 1, "have 0 numbers, but 1 to 20,000.*correct the"),
    "huge dimension": (b"3 999999999\na 1\n", 1, "vectors have 999999999 numbers"),
    "huge GloVe": (b"a" + b" 1" * 20_001 + b"\n", 1, "vectors have 20001 numbers"),
    "not a number": (
        b"2 3\na 1 2 3\nb 4 x5 6\n",
        3,
        "'x5' in the vector of 'b' is not a usable number; correct",
    ),
    "comma": (b"a 1,5 2 3\nb 4 5 6\n", 1, "'1,5' in the vector of 'a' is not a usable number"),
    "NaN": (b"2 2\na 1 2\nb NaN 2\n", 3, "'NaN' in the vector of 'b'.*remove the line"),
    "infinite": (b"a 1 2\nb 3 -inf\n", 2, "'-inf' in the vector of 'b' is not a usable"),
    "too large": (b"a 1 2\nb 3 1e99\n", 2, "'1e99' in the vector of 'b' is not a usable"),
    "long line": (
        b"a 1\nb" + b" " * 5_000 + b"\n",
        2,
        "the line is too long for a word and 1 numb",
    ),
}


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
@pytest.mark.parametrize("case", TEXT_ERRORS)
def test_an_error_in_a_text_file_names_the_line_and_the_fix(
    tmp_path: Path, case: str, compress: Callable[[bytes], bytes]
) -> None:
    content, line, message = TEXT_ERRORS[case]
    path = file(tmp_path, compress(content))
    with pytest.raises(FormatError, match=message) as caught:
        read_vectors(path)
    assert caught.value.line == line
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("case", ["truncated", "truncated line", "too many", "one word more"])
def test_an_error_is_found_whichever_words_are_wanted(tmp_path: Path, case: str) -> None:
    content, _, message = TEXT_ERRORS[case]
    with pytest.raises(FormatError, match=message):
        read_vectors(file(tmp_path, content), {"coffee"})


ONES, TENS = [1.0, 1.5, 1.25], [10.0, 10.5, 10.25]
PAIR: Rows = [("one", ONES), ("ten", TENS)]
BINARY_ERRORS = {
    "only a header": (b"2 3\n", "word 1 of 2, byte 4: the file ends too early"),
    "one word less": (b"3" + binary(PAIR)[1:], "word 3 of 3, byte 38: the file ends too early"),
    "one word more": (b"1" + binary(PAIR)[1:], "word 1 of 1, byte 20: more words follow"),
    "truncated word": (binary(PAIR)[:23], "word 2 of 2, byte 21: the file ends too early"),
    "truncated vector": (binary(PAIR)[:-3], "word 2 of 2, byte 21: the file ends too early"),
    "dimension too small": (b"2 2" + binary(PAIR)[3:], "word 2 of 2, .*: no word was found"),
    "dimension too large": (b"2 4" + binary(PAIR)[3:], "word 2 of 2, .*correct its header"),
    "gensim, too small": (b"2 1" + gensim_binary(PAIR)[3:], "no word was found"),
    "other bytes": (b"9 9\n" + bytes(range(256)) * 9, "word 1 of 9, byte 4: no word was found"),
    "long word": (b"9 9\n" + b"\xff" * 99_999, "word 1 of 9, byte 4: no word was found"),
    "NaN": (binary([("a", [1]), ("b", [np.nan])]), "word 2 of 2, .*vector of 'b' contains NaN or"),
    "infinite": (gensim_binary([("a", [-np.inf])]), "word 1 of 1.*the vector of 'a' contains NaN"),
    "prose": (b"12 24\nmonkeys and then some\n", "read as binary, word 1 of 12, byte 6: the file"),
}


@pytest.mark.parametrize("case", BINARY_ERRORS)
def test_an_error_in_a_binary_file_names_the_word_and_the_fix(tmp_path: Path, case: str) -> None:
    content, message = BINARY_ERRORS[case]
    with pytest.raises(FormatError, match=message) as caught:
        read_vectors(file(tmp_path, content))
    assert re.search("; get the file again, or correct its header", str(caught.value))


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PK\x03\x04\x14\0\0\0", "a compressed archive; unpack it"),
        (b"BZh91AY&SY\0", "a compressed archive; unpack it"),
        (b"\xfd7zXZ\0\0", "a compressed archive; unpack it"),
        (b"7z\xbc\xaf\x27\x1c\0", "a compressed archive; unpack it"),
        (b"\x28\xb5\x2f\xfd\0", "a compressed archive; unpack it"),
        (struct.pack("<ii", 793712314, 12), "a fastText model; use the .vec file"),
        (b"\x80\x04\x95\x10", "a gensim file in pickle format"),
        (b"\x80\x02c", "a gensim file in pickle format"),
        (b"\x93NUMPY\x01\0", "a numpy array without words"),
        ("tea 1 2\n".encode("utf-16"), "is encoded in UTF-16; save it as UTF-8"),
        (b"\0" * 50, "is not a file of word vectors"),
        (bytes(range(256)), "is not a file of word vectors"),
    ],
)
def test_another_file_format_is_refused_with_the_alternative(
    tmp_path: Path, content: bytes, message: str, compress: Callable[[bytes], bytes]
) -> None:
    with pytest.raises(FormatError, match=message):
        read_vectors(file(tmp_path, compress(content)))


def test_a_damaged_compressed_file_is_refused(tmp_path: Path) -> None:
    rows: Rows = [(f"word{number}", [number, 0.5]) for number in range(2000)]
    whole = gzip.compress(text(rows))
    changed = whole[:2000] + bytes(byte ^ 255 for byte in whole[2000:2100]) + whole[2100:]
    for content in (whole[:-100], whole[:5], changed, whole + b"more"):
        with pytest.raises(
            FormatError, match="compressed file is truncated or damaged; get it again"
        ):
            read_vectors(file(tmp_path, content))


def test_a_file_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no such file; check the path"):
        read_vectors(tmp_path / "none")
    with pytest.raises(FormatError, match="not a regular file"):
        read_vectors(tmp_path)
    with pytest.raises(FormatError, match="the file is empty"):
        read_vectors(file(tmp_path, b""))
    with pytest.raises(FormatError, match="the file is empty"):
        read_vectors(file(tmp_path, gzip.compress(b"")))
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(FormatError, match=r"cannot be read|no such file"):
        read_vectors(tmp_path / "loop")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_read_permission_is_refused(tmp_path: Path) -> None:
    path = file(tmp_path, glove(FOODS))
    path.chmod(0)
    with pytest.raises(FormatError, match="cannot be read: Permission denied"):
        read_vectors(path)


def outcome(path: Path) -> tuple[str, WordVectors | None]:
    """The error message of a file, or its vectors."""
    try:
        return "", read_vectors(path)
    except FormatError as error:
        return error.message, None


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
    message, vectors = outcome(path)
    assert "; " in message or (vectors is not None and np.isfinite(vectors.matrix).all())


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
