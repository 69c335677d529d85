"""The cache encodes no text twice and never returns a wrong vector."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import time
import warnings
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import shake_256
from itertools import chain
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from full_disk import no_file_larger_than
from hypothesis import given
from hypothesis import strategies as st
from strategies import names, quickly

from taxoexpan.features.cache import BLOCK_SIZE, CachedEncoder, cache_folder
from taxoexpan.features.encoder import Encoder, Vectors
from taxoexpan.features.static import StaticEncoder

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
        self.saved: list[Path] = []
        self.shown = False

    def show_progress(self, shown: bool) -> None:
        self.shown = shown

    def learn(self, names: Collection[str]) -> None:
        self.mark = " ".join(names)

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

    def save(self, folder: Path) -> None:
        self.saved.append(folder)


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


def encode_and_check(folder: Path, texts: Sequence[str], timeout: float = 30.0) -> list[str]:
    """Check that all vectors are right, and return the texts that had to be encoded."""
    inner = Counting()
    encoder = CachedEncoder(inner, folder=folder, timeout=timeout)
    encoder.prepare(texts)
    assert same(encoder.encode(texts), inner.vectors(texts))
    return list(chain.from_iterable(inner.encoded))


def encode_without_warnings(folder: Path, texts: Sequence[str]) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return encode_and_check(folder, texts)


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


def test_many_texts_are_prepared_at_once_and_encoded_in_blocks(tmp_path: Path) -> None:
    texts = numbered(0, 2 * BLOCK_SIZE + 5)
    inner = Counting()
    assert same(CachedEncoder(inner, folder=tmp_path).encode(texts), inner.vectors(texts))
    assert inner.prepared == [texts]
    assert [len(block) for block in inner.encoded] == [BLOCK_SIZE, BLOCK_SIZE, 5]
    assert encode_and_check(tmp_path, texts[::-1]) == []


def test_static_vectors_are_cached_to_the_last_bit(tmp_path: Path) -> None:
    class Forbidden(StaticEncoder):
        def encode(self, texts: Sequence[str]) -> Vectors:
            raise AssertionError(texts)

    fresh = StaticEncoder().encode(NAMES)
    assert same(CachedEncoder(StaticEncoder(), folder=tmp_path).encode(NAMES), fresh)
    assert same(CachedEncoder(Forbidden(), folder=tmp_path).encode(NAMES[::-1]), fresh[::-1])


def test_different_encoders_share_no_vectors(tmp_path: Path) -> None:
    cache_file(tmp_path, NAMES)
    for inner in (Counting("two"), Counting(dimension=5), Counting("one two")):
        encoder = CachedEncoder(inner, tmp_path)
        assert same(encoder.encode(NAMES), inner.vectors(NAMES))
        assert len(inner.encoded) == 1
    assert len(list(tmp_path.iterdir())) == 4
    assert encode_and_check(tmp_path, NAMES) == []


def test_other_methods_are_delegated_to_the_encoder(tmp_path: Path) -> None:
    inner = Counting()
    encoder: Encoder = CachedEncoder(inner, folder=tmp_path)
    assert (encoder.name, encoder.dimension, encoder.fingerprint()) == ("counting", 6, "one")
    encoder.show_progress(True)
    encoder.save(tmp_path / "saved")
    assert inner.shown
    assert inner.saved == [tmp_path / "saved"]


def test_vectors_before_and_after_learning_are_separate(tmp_path: Path) -> None:
    inner = Counting()
    encoder = CachedEncoder(inner, folder=tmp_path)
    before = encoder.encode(NAMES)
    encoder.learn(["tea"])
    after = encoder.encode(NAMES)
    assert encoder.fingerprint() == "tea"
    assert same(after, inner.vectors(NAMES))
    assert not same(after, before)
    assert encode_and_check(tmp_path, NAMES) == []


def test_an_encoder_that_changes_during_use_is_not_cached(tmp_path: Path) -> None:
    inner = Counting("one")
    encoder = CachedEncoder(inner, folder=tmp_path)
    encoder.encode(["tea"])
    inner.mark = "two"
    with pytest.warns(UserWarning, match="counting changed while it was in use; its vectors"):
        encoder.encode(["milk"])
    encoder.encode(["oat"])
    assert encode_and_check(tmp_path, ["tea", "milk", "oat"]) == ["milk", "oat"]


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


def test_lone_surrogates_are_distinct_texts(tmp_path: Path) -> None:
    assert encode_and_check(tmp_path, LONE) == LONE
    assert encode_and_check(tmp_path, LONE) == []


def test_nan_and_infinity_are_returned_but_not_cached(tmp_path: Path) -> None:
    class Failing(Counting):
        def vectors(self, texts: Sequence[str]) -> Vectors:
            vectors = super().vectors(texts)
            vectors[[text in ("nan", "inf") for text in texts], 2] = np.nan, -np.inf
            return vectors

    inner = Failing()
    for encoded in (["tea", "nan", "inf"], ["nan", "inf"]):
        vectors = CachedEncoder(inner, folder=tmp_path).encode(["tea", "nan", "inf"])
        assert same(vectors, inner.vectors(["tea", "nan", "inf"]))
        assert inner.encoded.pop() == encoded


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


def worker(start: str, end: str) -> None:
    """Encode in each folder named on standard input, and print how many texts were encoded."""
    texts = numbered(int(start), int(end))
    for line in sys.stdin:
        inner = Counting(pause=0.01)
        encoder = CachedEncoder(inner, folder=Path(line.strip()))
        assert same(encoder.encode(texts), inner.vectors(texts))
        print(sum(map(len, inner.encoded)), flush=True)


def encode_many(folder: str) -> None:
    """Encode many texts, and print the number of each block before it is encoded."""

    class Printing(Counting):
        def encode(self, texts: Sequence[str]) -> Vectors:
            print(len(self.encoded), flush=True)
            return super().encode(texts)

    CachedEncoder(Printing(pause=0.05), folder=Path(folder)).encode(LONG)


def process(function: str, *arguments: object) -> subprocess.Popen[str]:
    tests = str(Path(__file__).parents[1])
    program = f"import sys; sys.path.append({tests!r}); import test_cache as t; "
    program += f"t.{function}(*sys.argv[1:])"
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", program, *map(str, arguments)],
        cwd=Path(__file__).parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def send(one: subprocess.Popen[str], message: object) -> None:
    assert one.stdin is not None
    one.stdin.write(f"{message}\n")
    one.stdin.flush()


def receive(one: subprocess.Popen[str]) -> int:
    assert one.stdout is not None
    return int(one.stdout.readline())


@pytest.mark.slow
def test_two_processes_can_share_the_cache(tmp_path: Path) -> None:
    texts = numbered(0, 8_000)
    both = [process("worker", 0, 6_000), process("worker", 2_000, 8_000)]
    for before in ("nothing", "some", "damage"):
        folder = tmp_path / before
        if before != "nothing":
            path = cache_file(folder, numbered(1_000, 3_000))
        if before == "damage":
            path.write_bytes(path.read_bytes()[:-20_000])
        for one in both:
            send(one, folder)
        assert all(receive(one) > 0 for one in both)
        again = encode_and_check(folder, texts)
        # Vectors that one process wrote into the damaged file are lost.
        assert again == [] or before == "damage"
        assert encode_and_check(folder, texts) == []
    for one in both:
        one.communicate()
        assert one.returncode == 0
    # While the processes run, there may also be journals of SQLite.
    for before in ("nothing", "some", "damage"):
        assert len(list((tmp_path / before).iterdir())) == 1


@pytest.mark.parametrize("delay", [0.0, 0.035])
def test_a_killed_run_loses_at_most_one_block(tmp_path: Path, delay: float) -> None:
    killed = process("encode_many", tmp_path)
    assert killed.stdout is not None
    assert [receive(killed) for _ in range(3)] == [0, 1, 2]
    time.sleep(delay)
    killed.send_signal(signal.SIGKILL)
    started = 2 + len(killed.stdout.readlines())
    killed.communicate()
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


def test_the_vectors_that_were_stored_first_are_used(tmp_path: Path) -> None:
    class Overtaken(Counting):
        def encode(self, texts: Sequence[str]) -> Vectors:
            CachedEncoder(Counting(), folder=tmp_path).encode(texts)
            return self.vectors(texts) * np.float32(1.0000002)

    vectors = CachedEncoder(Overtaken(), folder=tmp_path).encode(NAMES)
    assert same(vectors, Counting().vectors(NAMES))


@pytest.mark.parametrize("kind", ["bit", "header", "cut", "noise", "pages"])
@pytest.mark.parametrize("seed", range(8))
def test_a_damaged_file_never_gives_a_wrong_vector(tmp_path: Path, kind: str, seed: int) -> None:
    path = cache_file(tmp_path, MANY)
    rng = np.random.default_rng(seed)
    content = bytearray(path.read_bytes())
    position = int(rng.integers(len(content)))
    if kind == "bit":
        content[position] ^= 1 << int(rng.integers(8))
    elif kind == "header":
        content[int(rng.integers(100))] = int(rng.integers(256))
    elif kind == "cut":
        del content[position:]
    elif kind == "noise":
        content[position : position + 2_000] = rng.bytes(2_000)
    else:
        for start in range(0, len(content), 16_384):
            content[start + int(rng.integers(40))] = int(rng.integers(256))
    path.write_bytes(content)
    encode_without_warnings(tmp_path, [*MANY[::2], f"new {seed}", *MANY[1::2]])
    encode_without_warnings(tmp_path, MANY)


def changed(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    connection.create_function("seal", 2, lambda digest, vector: crc32(vector, crc32(digest)))
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


SEAL = "UPDATE vectors SET checksum = seal(digest, vector)"
LAST = "(SELECT max(rowid) FROM vectors)"
DAMAGES = {
    "changed vector": (f"UPDATE vectors SET vector = zeroblob(24) WHERE rowid = {LAST}",),
    "exchanged vectors": (
        "UPDATE vectors SET (checksum, vector) ="
        " (SELECT checksum, vector FROM vectors WHERE rowid = 1)",
    ),
    "wrong size": (f"UPDATE vectors SET vector = zeroblob(20) WHERE rowid = {LAST}", SEAL),
    "NaN": (f"UPDATE vectors SET vector = x'{'0000c07f' * 6}' WHERE rowid = {LAST}", SEAL),
    "text instead of bytes": (f"UPDATE vectors SET vector = 'ab' WHERE rowid = {LAST}",),
    "invalid text": (f"UPDATE vectors SET vector = CAST(x'ff' AS TEXT) WHERE rowid = {LAST}",),
    "number instead of bytes": (f"UPDATE vectors SET vector = 7 WHERE rowid = {LAST}",),
    "no table": ("DROP TABLE vectors",),
    "other table": ("DROP TABLE vectors", "CREATE TABLE vectors (digest BLOB)"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_replaced_with_a_warning(tmp_path: Path, damage: str) -> None:
    path = cache_file(tmp_path, MANY)
    changed(path, *DAMAGES[damage])
    with pytest.warns(UserWarning, match="the cached vectors are damaged; the texts") as caught:
        assert encode_and_check(tmp_path, MANY) == MANY
    assert len(caught) == 1
    assert str(path) in str(caught[0].message)
    assert encode_and_check(tmp_path, MANY) == []


def test_a_file_that_is_not_a_database_is_replaced_with_a_warning(tmp_path: Path) -> None:
    path = cache_file(tmp_path, MANY)
    content = path.read_bytes()
    # The error message of SQLite then quotes bytes that are not UTF-8.
    unreadable = content.replace(b"CREATE TABLE vectors", b"CREATE T\xc3BLE vectors")
    assert unreadable != content
    for wrong in (unreadable, b"not a database at all\n" * 100):
        (path,) = tmp_path.iterdir()
        path.write_bytes(wrong)
        with pytest.warns(UserWarning, match="the cached vectors are damaged"):
            encode_and_check(tmp_path, MANY)
        assert encode_and_check(tmp_path, MANY) == []


def test_an_empty_file_is_initialized(tmp_path: Path) -> None:
    cache_file(tmp_path, MANY).write_bytes(b"")
    assert encode_and_check(tmp_path, MANY) == MANY
    assert encode_and_check(tmp_path, MANY) == []


def test_a_file_that_is_damaged_twice_is_no_longer_used(tmp_path: Path) -> None:
    inner = Counting()
    encoder = CachedEncoder(inner, folder=tmp_path)
    for message in (
        "the cached vectors are damaged",
        "vectors are not cached .database disk image is malformed.; set TAX",
    ):
        path = cache_file(tmp_path, MANY)
        path.write_bytes(path.read_bytes()[:20_000])
        with pytest.warns(UserWarning, match=message):
            assert same(encoder.encode(MANY), inner.vectors(MANY))
    assert same(encoder.encode(MANY), inner.vectors(MANY))
    assert len(inner.encoded) == 3


def check_works_without_cache(folder: Path, message: str) -> None:
    """Check that an unusable folder causes one warning and no wrong vectors."""
    inner = Counting()
    encoder = CachedEncoder(inner, folder=folder, timeout=0.05)
    with pytest.warns(UserWarning, match=message) as caught:
        encoder.prepare(NAMES)
    assert len(caught) == 1
    for _ in range(2):
        assert same(encoder.encode(NAMES), inner.vectors(NAMES))


def test_a_folder_that_cannot_be_created_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    check_works_without_cache(
        tmp_path / "file", "file: vectors are not cached .File exists.; set TAXOEXPAN_CACHE"
    )
    check_works_without_cache(
        tmp_path / "file" / "below", "below: vectors are not cached .Not a directory.; set"
    )


def test_a_file_that_cannot_be_opened_is_a_warning(tmp_path: Path) -> None:
    path = cache_file(tmp_path, NAMES)
    path.unlink()
    path.mkdir()
    check_works_without_cache(
        tmp_path, "vectors are not cached .unable to open database file.; set TAXOEXPAN"
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_read(tmp_path: Path) -> None:
    path = cache_file(tmp_path, NAMES)
    path.chmod(0o400)
    tmp_path.chmod(0o500)
    try:
        assert encode_and_check(tmp_path, NAMES) == []
        with pytest.warns(UserWarning, match="new vectors are not cached"):
            assert encode_and_check(tmp_path, [*NAMES, "new"]) == ["new"]
    finally:
        tmp_path.chmod(0o700)


def test_a_file_that_stays_locked_is_not_used(tmp_path: Path) -> None:
    holder = sqlite3.connect(cache_file(tmp_path, NAMES), isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    check_works_without_cache(
        tmp_path, "vectors are not cached .database is locked.; set TAXOEXPAN_CACHE to"
    )
    holder.execute("COMMIT")
    holder.execute("BEGIN IMMEDIATE")
    with pytest.warns(UserWarning, match="new vectors are not cached .database is locked."):
        assert encode_and_check(tmp_path, [*NAMES, "new"], timeout=0.05) == ["new"]
    holder.close()
    assert encode_and_check(tmp_path, [*NAMES, "new"]) == ["new"]


def test_a_full_disk_is_a_warning_and_cached_vectors_are_still_read(tmp_path: Path) -> None:
    inner = Counting()
    path = cache_file(tmp_path, MANY)
    encoder = CachedEncoder(inner, folder=tmp_path)
    with no_file_larger_than(path.stat().st_size):
        with pytest.warns(UserWarning, match="new vectors are not cached") as caught:
            assert same(encoder.encode(LONG[:6_000]), inner.vectors(LONG[:6_000]))
        assert same(encoder.encode([*MANY, "new"]), inner.vectors([*MANY, "new"]))
    assert len(caught) == 1
    assert inner.encoded[-1] == ["new"]
    assert encode_and_check(tmp_path, [*MANY, "other"]) == ["other"]


def test_a_disk_that_is_full_from_the_start_is_a_warning(tmp_path: Path) -> None:
    with no_file_larger_than(0):
        check_works_without_cache(
            tmp_path / "new", "vectors are not cached .*; set TAXOEXPAN_CACHE to another"
        )
