"""The cache encodes no text twice and returns the same vector."""

from __future__ import annotations

import signal
import sqlite3
import stat
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from hashlib import shake_256
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.features import cached_encoder
from taxoexpan.features.cached_encoder import BLOCK_SIZE, CachedEncoder, cache_folder
from taxoexpan.features.encoder import Encoder, Vectors
from tests.support.forked_processes import forked
from tests.support.full_disk import no_file_larger_than
from tests.support.strategies import names, quickly

NAMES = ["oat milk", "milk", "", " ", "茶", "👩\u200d🍳", "a\0b", "milk", "Milk"]
LONE = ["\ud83c", "\udf4f", "\ud83c\udf4f", "🍏", "a\udfff", "?"]


class Counting(Encoder):
    """Derives a vector from the bytes of a text, and records the texts that it encoded."""

    def __init__(self, mark: str = "one", dimension: int = 6, pause: float = 0.0) -> None:
        self.name = "counting"
        self.dimension = dimension
        self.mark = mark
        self.pause = pause
        self.prepared: list[list[str]] = []
        self.encoded: list[list[str]] = []

    def prepare(self, texts: Sequence[str]) -> None:
        self.prepared.append(list(texts))

    def encode(self, texts: Sequence[str]) -> Vectors:
        self.encoded.append(list(texts))
        time.sleep(self.pause)
        return self.vectors(texts)

    def vectors(self, texts: Sequence[str]) -> Vectors:
        size = 2 * self.dimension
        marked = [f"{self.mark} {text}".encode("utf-8", "surrogatepass") for text in texts]
        drawn = b"".join(shake_256(content).digest(size) for content in marked)
        shape = len(texts), self.dimension
        return (np.frombuffer(drawn, dtype="<i2").reshape(shape) / 997).astype(np.float32)

    def fingerprint(self) -> str:
        return self.mark


def same(one: Vectors, other: Vectors) -> bool:
    """Whether two arrays are identical to the last bit."""
    return (one.shape, one.dtype, one.tobytes()) == (other.shape, other.dtype, other.tobytes())


def numbered(start: int, end: int) -> list[str]:
    return [f"name {number}" for number in range(start, end)]


LONG = numbered(0, 5 * BLOCK_SIZE)
MANY = numbered(0, 300)


def cache_file(folder: Path, texts: Sequence[str], dimension: int = 6) -> Path:
    """The cache file with the vectors of these texts."""
    CachedEncoder(Counting(dimension=dimension), folder=folder).encode(texts)
    (path,) = folder.iterdir()
    return path


def encode_and_check(folder: Path, texts: Sequence[str]) -> list[str]:
    """Check that all vectors are right, and return the texts that had to be encoded."""
    inner = Counting()
    encoder = CachedEncoder(inner, folder=folder)
    encoder.prepare(texts)
    assert same(encoder.encode(texts), inner.vectors(texts))
    return list(chain.from_iterable(inner.encoded))


def test_a_text_is_encoded_once_and_keeps_its_vector(tmp_path: Path) -> None:
    inner = Counting()
    encoder = CachedEncoder(inner, folder=tmp_path)
    first = encoder.encode(NAMES)
    assert same(first, inner.vectors(NAMES))
    assert inner.encoded == inner.prepared == [list(dict.fromkeys(NAMES))]
    for again in (encoder, CachedEncoder(inner, folder=tmp_path)):
        again.prepare(NAMES)
        assert same(again.encode(NAMES), first)
    assert len(inner.encoded) == len(inner.prepared) == 1


def test_only_missing_texts_are_prepared_and_encoded(tmp_path: Path) -> None:
    cache_file(tmp_path, ["tea", "milk"])
    inner = Counting()
    encoder = CachedEncoder(inner, folder=tmp_path)
    encoder.prepare(["tea", "oat", "milk", "oat"])
    assert inner.prepared == [["oat"]]
    assert same(encoder.encode(["oat", "tea", "rye"]), inner.vectors(["oat", "tea", "rye"]))
    assert inner.encoded == [["oat", "rye"]]
    assert encoder.encode([]).shape == (0, 6)
    assert len(inner.encoded) == 1


def test_a_damaged_vector_is_not_cached(tmp_path: Path) -> None:
    path = cache_file(tmp_path, ["tea", "milk"])
    damaged = Counting().vectors(["tea"]).astype("<f4").tobytes()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE vectors SET vector = 'short' WHERE vector = ?", (damaged,))
    inner = Counting()
    encoder = CachedEncoder(inner, folder=tmp_path)
    encoder.prepare(["tea", "milk"])
    assert inner.prepared == [["tea"]]
    assert same(encoder.encode(["milk", "tea"]), inner.vectors(["milk", "tea"]))
    assert inner.encoded == [["tea"]]


def test_preparing_reads_no_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache_file(tmp_path, MANY)
    queries: list[str] = []
    connect = sqlite3.connect

    def traced(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **options)
        connection.set_trace_callback(queries.append)
        return connection

    monkeypatch.setattr(sqlite3, "connect", traced)
    CachedEncoder(Counting(), folder=tmp_path).prepare(MANY)
    selections = [query for query in queries if query.startswith("SELECT")]
    assert selections
    assert all(query.startswith("SELECT digest FROM") for query in selections)


def test_many_texts_are_prepared_at_once_and_encoded_in_blocks(tmp_path: Path) -> None:
    texts = numbered(0, 2 * BLOCK_SIZE + 5)
    inner = Counting()
    assert same(CachedEncoder(inner, folder=tmp_path).encode(texts), inner.vectors(texts))
    assert inner.prepared == [texts]
    assert [len(block) for block in inner.encoded] == [BLOCK_SIZE, BLOCK_SIZE, 5]
    assert encode_and_check(tmp_path, texts[::-1]) == []


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("shown", "count", "screen", "bar"),
    [
        (True, 7, Terminal(), True),
        (True, 6, Terminal(), False),
        (False, 7, Terminal(), False),
        (True, 7, StringIO(), False),
    ],
)
def test_many_texts_that_are_not_cached_have_a_progress_bar_on_a_terminal(
    shown: bool,
    count: int,
    screen: StringIO,
    bar: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cached_encoder, "MIN_TEXTS_FOR_PROGRESS", 5)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("CI", raising=False)
    encoder = CachedEncoder(Counting(), folder=tmp_path)
    encoder.encode(numbered(0, 2))
    encoder.show_progress(shown)
    encoder.encode(numbered(0, count))
    assert ("encoding" in screen.getvalue()) is bar


def test_a_cached_encoder_has_the_fingerprint_of_the_encoder(tmp_path: Path) -> None:
    encoder: Encoder = CachedEncoder(Counting(), folder=tmp_path)
    assert (encoder.name, encoder.dimension, encoder.fingerprint()) == ("counting", 6, "one")


def test_vectors_of_encoders_with_other_fingerprints_are_separate(tmp_path: Path) -> None:
    one, other = CachedEncoder(Counting(), tmp_path), CachedEncoder(Counting("two"), tmp_path)
    before, after = one.encode(NAMES), other.encode(NAMES)
    assert same(after, Counting("two").vectors(NAMES))
    assert not same(after, before)
    assert encode_and_check(tmp_path, NAMES) == []


@given(
    st.lists(st.text(max_size=3) | names(breaks=True) | st.sampled_from(NAMES + LONE)), st.data()
)
@quickly
def test_any_texts_have_the_vectors_of_the_encoder_in_order(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("cache")
    before = data.draw(st.lists(st.sampled_from(texts))) if texts else []
    encode_and_check(folder, before)
    assert set(encode_and_check(folder, texts)) == set(texts) - set(before)
    assert encode_and_check(folder, texts) == []


def test_the_texts_are_not_stored_and_the_folder_is_private(tmp_path: Path) -> None:
    path = cache_file(tmp_path / "a" / "b", ["oat milk of Ålesund"])
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    for part in ("oat milk", "Ålesund"):
        assert part.encode() not in path.read_bytes()


@pytest.mark.skipif(sys.platform != "linux", reason="the folder of Linux")
def test_the_cache_folder_follows_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TAXOEXPAN_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/home/ada")
    assert cache_folder() == Path("/home/ada/.cache/taxoexpan")
    monkeypatch.setenv("XDG_CACHE_HOME", "/y")
    assert cache_folder() == Path("/y/taxoexpan")
    for chosen, folder in (("/x", Path("/x")), ("here", tmp_path / "here"), ("", None)):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("TAXOEXPAN_CACHE", chosen)
        assert cache_folder() == folder


def test_without_a_home_directory_there_is_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("TAXOEXPAN_CACHE", "XDG_CACHE_HOME", "HOME", "LOCALAPPDATA", "USERPROFILE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert cache_folder() is None


def test_the_variable_chooses_the_folder_or_disables_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for variable, times in ((str(tmp_path / "chosen"), 1), ("", 2)):
        monkeypatch.setenv("TAXOEXPAN_CACHE", variable)
        inner = Counting()
        for _ in range(2):
            assert same(CachedEncoder(inner).encode(NAMES), inner.vectors(NAMES))
        assert len(inner.encoded) == times
    assert [path.name for path in tmp_path.iterdir()] == ["chosen"]


def encode_many(folder: Path) -> None:
    """Encode many texts, and print the number of each block before it is encoded."""

    class Printing(Counting):
        def encode(self, texts: Sequence[str]) -> Vectors:
            print(len(self.encoded), flush=True)
            return super().encode(texts)

    CachedEncoder(Printing(pause=0.05), folder=folder).encode(LONG)


@pytest.mark.parametrize("delay", [0.0, 0.035])
def test_a_killed_run_loses_at_most_one_block(tmp_path: Path, delay: float) -> None:
    with forked(lambda: encode_many(tmp_path)) as killed:
        assert [int(killed.out.readline()) for _ in range(3)] == [0, 1, 2]
        time.sleep(delay)
        killed.end(signal.SIGKILL)
        started = 2 + len(killed.out.readlines())
    again = encode_and_check(tmp_path, LONG)
    assert LONG[-1] in again
    assert not set(LONG[: started * BLOCK_SIZE]) & set(again)
    assert encode_and_check(tmp_path, LONG) == []


def test_threads_can_share_an_encoder(tmp_path: Path) -> None:
    inner = Counting()
    encoder = CachedEncoder(inner, folder=tmp_path)
    parts = [numbered(start, start + 500) for start in range(0, 800, 100)]
    with ThreadPoolExecutor(4) as pool:
        for part, vectors in zip(parts, pool.map(encoder.encode, parts), strict=True):
            assert same(vectors, inner.vectors(part))
    assert encode_and_check(tmp_path, list(chain.from_iterable(parts))) == []


def unusable(folder: Path, problem: str) -> Path:
    """Return a cache folder with a problem."""
    path = cache_file(folder, NAMES)
    if problem == "not a database":
        path.write_bytes(b"not a database at all\n" * 100)
    elif problem == "truncated":
        path.write_bytes(path.read_bytes()[:20_000])
    elif problem == "not a file":
        path.unlink()
        path.mkdir()
    elif problem == "not a folder":
        return path
    return folder


@pytest.mark.parametrize(
    "problem", ["not a database", "truncated", "not a file", "not a folder", "full disk"]
)
def test_a_cache_that_cannot_be_used_is_one_warning(tmp_path: Path, problem: str) -> None:
    folder, inner = unusable(tmp_path, problem), Counting()
    encoder = CachedEncoder(inner, folder=folder)
    limit = no_file_larger_than(0) if problem == "full disk" else nullcontext()
    with limit, pytest.warns(UserWarning, match=r"not cached.*TAXOEXPAN_CACHE") as caught:
        assert same(encoder.encode(["new", *NAMES]), inner.vectors(["new", *NAMES]))
    assert same(encoder.encode(NAMES), inner.vectors(NAMES))
    assert len(caught) == 1
