"""Vectors are kept on disk: none is made twice, and none is ever wrong."""

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
from hypothesis import given
from hypothesis import strategies as st
from strategies import names, quickly
from test_files import no_file_larger_than

from taxoexpan.features.cache import BLOCK, CachedEncoder, cache_folder
from taxoexpan.features.encoder import Encoder, Vectors
from taxoexpan.features.static import StaticEncoder

NAMES = ["oat milk", "milk", "", " ", "茶", "👩\u200d🍳", "a\0b", "milk", "Milk"]
LONE = ["\ud83c", "\udf4f", "\ud83c\udf4f", "🍏", "a\udfff", "?"]


class Counting(Encoder):
    """Makes any text's vector of its bytes, and writes down what it was asked."""

    def __init__(self, mark: str = "one", dimension: int = 6, pause: float = 0.0) -> None:
        self.name = "counting"
        self.dimension = dimension
        self.mark = mark
        self.pause = pause
        self.prepared: list[list[str]] = []
        self.asked: list[list[str]] = []
        self.saved: list[Path] = []
        self.shown = False

    def show_progress(self, shown: bool) -> None:
        self.shown = shown

    def learn(self, names: Collection[str]) -> None:
        self.mark = " ".join(names)

    def prepare(self, texts: Sequence[str]) -> None:
        self.prepared.append(list(texts))

    def encode(self, texts: Sequence[str]) -> Vectors:
        self.asked.append(list(texts))
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
    """Whether two arrays are the same to the last bit."""
    return (one.shape, one.dtype, one.tobytes()) == (other.shape, other.dtype, other.tobytes())


def numbered(start: int, end: int) -> list[str]:
    return [f"name {number}" for number in range(start, end)]


LONG = numbered(0, 5 * BLOCK)
MANY = numbered(0, 300)


def filled(folder: Path, texts: Sequence[str], dimension: int = 6) -> Path:
    """The file that keeps these texts' vectors."""
    CachedEncoder(Counting(dimension=dimension), folder=folder).encode(texts)
    (path,) = folder.iterdir()
    return path


def is_right(folder: Path, texts: Sequence[str], patience: float = 30.0) -> list[str]:
    """That all vectors are right whatever lies in the folder; gives the texts encoded anew."""
    inner = Counting()
    encoder = CachedEncoder(inner, folder=folder, patience=patience)
    encoder.prepare(texts)
    assert same(encoder.encode(texts), inner.vectors(texts))
    return list(chain.from_iterable(inner.asked))


def quiet_and_right(folder: Path, texts: Sequence[str]) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return is_right(folder, texts)


def test_a_text_is_encoded_once_and_has_the_same_vector_ever_after(tmp_path: Path) -> None:
    inner = Counting()
    encoder = CachedEncoder(inner, folder=tmp_path)
    first = encoder.encode(NAMES)
    assert same(first, inner.vectors(NAMES))
    assert inner.asked == inner.prepared == [list(dict.fromkeys(NAMES))]
    for again in (encoder, CachedEncoder(inner, folder=tmp_path)):
        again.prepare(NAMES)
        assert same(again.encode(NAMES), first)
    assert len(inner.asked) == len(inner.prepared) == 1


def test_only_what_is_missing_is_prepared_and_encoded(tmp_path: Path) -> None:
    filled(tmp_path, ["tea", "milk"])
    inner = Counting()
    encoder = CachedEncoder(inner, folder=tmp_path)
    encoder.prepare(["tea", "oat", "milk", "oat"])
    assert inner.prepared == [["oat"]]
    assert same(encoder.encode(["oat", "tea", "rye"]), inner.vectors(["oat", "tea", "rye"]))
    assert inner.asked == [["oat", "rye"]]
    assert encoder.encode([]).shape == (0, 6)
    assert len(inner.asked) == 1


def test_much_is_prepared_at_once_and_encoded_in_blocks(tmp_path: Path) -> None:
    texts = numbered(0, 2 * BLOCK + 5)
    inner = Counting()
    assert same(CachedEncoder(inner, folder=tmp_path).encode(texts), inner.vectors(texts))
    assert inner.prepared == [texts]
    assert [len(block) for block in inner.asked] == [BLOCK, BLOCK, 5]
    assert is_right(tmp_path, texts[::-1]) == []


def test_static_vectors_are_kept_to_the_last_bit(tmp_path: Path) -> None:
    class Silent(StaticEncoder):
        def encode(self, texts: Sequence[str]) -> Vectors:
            raise AssertionError(texts)

    fresh = StaticEncoder().encode(NAMES)
    assert same(CachedEncoder(StaticEncoder(), folder=tmp_path).encode(NAMES), fresh)
    assert same(CachedEncoder(Silent(), folder=tmp_path).encode(NAMES[::-1]), fresh[::-1])


def test_another_encoder_shares_nothing(tmp_path: Path) -> None:
    filled(tmp_path, NAMES)
    for inner in (Counting("two"), Counting(dimension=5), Counting("one two")):
        encoder = CachedEncoder(inner, tmp_path)
        assert same(encoder.encode(NAMES), inner.vectors(NAMES))
        assert len(inner.asked) == 1
    assert len(list(tmp_path.iterdir())) == 4
    assert is_right(tmp_path, NAMES) == []


def test_all_else_is_the_encoders_own(tmp_path: Path) -> None:
    inner = Counting()
    encoder: Encoder = CachedEncoder(inner, folder=tmp_path)
    assert (encoder.name, encoder.dimension, encoder.fingerprint()) == ("counting", 6, "one")
    encoder.show_progress(True)
    encoder.save(tmp_path / "saved")
    assert inner.shown
    assert inner.saved == [tmp_path / "saved"]


def test_what_was_known_before_learning_is_kept_apart(tmp_path: Path) -> None:
    inner = Counting()
    encoder = CachedEncoder(inner, folder=tmp_path)
    before = encoder.encode(NAMES)
    encoder.learn(["tea"])
    after = encoder.encode(NAMES)
    assert encoder.fingerprint() == "tea"
    assert same(after, inner.vectors(NAMES))
    assert not same(after, before)
    assert is_right(tmp_path, NAMES) == []


def test_an_encoder_that_changes_in_use_spoils_nothing(tmp_path: Path) -> None:
    inner = Counting("one")
    encoder = CachedEncoder(inner, folder=tmp_path)
    encoder.encode(["tea"])
    inner.mark = "two"
    with pytest.warns(UserWarning, match="counting has changed while it was in use; its vectors"):
        encoder.encode(["milk"])
    encoder.encode(["oat"])
    assert is_right(tmp_path, ["tea", "milk", "oat"]) == ["milk", "oat"]


@given(
    st.lists(st.text(max_size=3) | names(breaks=True) | st.sampled_from(NAMES + LONE)), st.data()
)
@quickly
def test_any_texts_have_the_encoders_own_vectors_in_order(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("cache")
    before = data.draw(st.lists(st.sampled_from(texts))) if texts else []
    is_right(folder, before)
    assert set(is_right(folder, texts)) == set(texts) - set(before)
    assert is_right(folder, texts) == []


def test_halves_of_letters_are_texts_of_their_own(tmp_path: Path) -> None:
    assert is_right(tmp_path, LONE) == LONE
    assert is_right(tmp_path, LONE) == []


def test_what_is_no_number_is_passed_on_and_not_kept(tmp_path: Path) -> None:
    class Failing(Counting):
        def vectors(self, texts: Sequence[str]) -> Vectors:
            vectors = super().vectors(texts)
            vectors[[text in ("nan", "inf") for text in texts], 2] = np.nan, -np.inf
            return vectors

    inner = Failing()
    for asked in (["tea", "nan", "inf"], ["nan", "inf"]):
        vectors = CachedEncoder(inner, folder=tmp_path).encode(["tea", "nan", "inf"])
        assert same(vectors, inner.vectors(["tea", "nan", "inf"]))
        assert inner.asked.pop() == asked


def test_the_texts_themselves_are_not_kept_nor_shown_to_others(tmp_path: Path) -> None:
    path = filled(tmp_path / "a" / "b", ["oat milk of Ålesund"])
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    for part in ("oat milk", "Ålesund"):
        assert part.encode() not in path.read_bytes()


def test_the_folder_is_the_users_choice_or_the_platforms_place() -> None:
    home = {"HOME": "/home/ada"}
    places = {
        "linux": Path("/home/ada/.cache/taxoexpan"),
        "darwin": Path("/home/ada/Library/Caches/taxoexpan"),
        "win32": Path("/home/ada/AppData/Local/taxoexpan/Cache"),
    }
    for platform, place in places.items():
        assert cache_folder(home, platform) == place
        assert cache_folder({**home, "TAXOEXPAN_CACHE": "/x"}, platform) == Path("/x")
        assert cache_folder({**home, "TAXOEXPAN_CACHE": ""}, platform) is None
    assert cache_folder({**home, "XDG_CACHE_HOME": "/y"}, "linux") == Path("/y/taxoexpan")
    assert cache_folder({"LOCALAPPDATA": "/z"}, "win32") == Path("/z/taxoexpan/Cache")
    assert cache_folder({"TAXOEXPAN_CACHE": "here"}) == Path.cwd() / "here"


def test_the_variable_says_where_or_that_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for variable, asked in ((str(tmp_path / "chosen"), 1), ("", 2)):
        monkeypatch.setenv("TAXOEXPAN_CACHE", variable)
        inner = Counting()
        for _ in range(2):
            assert same(CachedEncoder(inner).encode(NAMES), inner.vectors(NAMES))
        assert len(inner.asked) == asked
    assert [path.name for path in tmp_path.iterdir()] == ["chosen"]


def worker(start: str, end: str) -> None:
    """What another process does with each folder that it is told of; it says how much it did."""
    texts = numbered(int(start), int(end))
    for line in sys.stdin:
        inner = Counting(pause=0.01)
        encoder = CachedEncoder(inner, folder=Path(line.strip()))
        assert same(encoder.encode(texts), inner.vectors(texts))
        print(sum(map(len, inner.asked)), flush=True)


def chatty(folder: str) -> None:
    """Encode without end in sight, and tell of each block before it is done."""

    class Telling(Counting):
        def encode(self, texts: Sequence[str]) -> Vectors:
            print(len(self.asked), flush=True)
            return super().encode(texts)

    CachedEncoder(Telling(pause=0.05), folder=Path(folder)).encode(LONG)


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


def tell(one: subprocess.Popen[str], message: object) -> None:
    assert one.stdin is not None
    one.stdin.write(f"{message}\n")
    one.stdin.flush()


def hear(one: subprocess.Popen[str]) -> int:
    assert one.stdout is not None
    return int(one.stdout.readline())


def test_two_processes_may_encode_the_same_texts_at_once(tmp_path: Path) -> None:
    texts = numbered(0, 8_000)
    both = [process("worker", 0, 6_000), process("worker", 2_000, 8_000)]
    for before in ("nothing", "some", "damage"):
        folder = tmp_path / before
        if before != "nothing":
            path = filled(folder, numbered(1_000, 3_000))
        if before == "damage":
            path.write_bytes(path.read_bytes()[:-20_000])
        for one in both:
            tell(one, folder)
        assert all(hear(one) > 0 for one in both)
        again = is_right(folder, texts)
        # What one of them still wrote into the damaged file is lost.
        assert again == [] or before == "damage"
        assert is_right(folder, texts) == []
    for one in both:
        one.communicate()
        assert one.returncode == 0
    # While they run, SQLite's own journals may stand beside the one file that is in use.
    for before in ("nothing", "some", "damage"):
        assert len(list((tmp_path / before).iterdir())) == 1


@pytest.mark.parametrize("delay", [0.0, 0.035])
def test_a_killed_run_loses_one_block_at_most(tmp_path: Path, delay: float) -> None:
    killed = process("chatty", tmp_path)
    assert killed.stdout is not None
    assert [hear(killed) for _ in range(3)] == [0, 1, 2]
    time.sleep(delay)
    killed.send_signal(signal.SIGKILL)
    started = 2 + len(killed.stdout.readlines())
    killed.communicate()
    again = is_right(tmp_path, LONG)
    assert LONG[-1] in again
    assert not set(LONG[: started * BLOCK]) & set(again)
    assert is_right(tmp_path, LONG) == []


def test_threads_may_share_an_encoder(tmp_path: Path) -> None:
    inner = Counting()
    encoder = CachedEncoder(inner, folder=tmp_path)
    parts = [numbered(start, start + 500) for start in range(0, 800, 100)]
    with ThreadPoolExecutor(4) as pool:
        for part, vectors in zip(parts, pool.map(encoder.encode, parts), strict=True):
            assert same(vectors, inner.vectors(part))
    assert is_right(tmp_path, list(chain.from_iterable(parts))) == []


def test_the_vectors_are_those_of_the_process_that_was_quicker(tmp_path: Path) -> None:
    class Overtaken(Counting):
        def encode(self, texts: Sequence[str]) -> Vectors:
            CachedEncoder(Counting(), folder=tmp_path).encode(texts)
            return self.vectors(texts) * np.float32(1.0000002)

    vectors = CachedEncoder(Overtaken(), folder=tmp_path).encode(NAMES)
    assert same(vectors, Counting().vectors(NAMES))


@pytest.mark.parametrize("kind", ["bit", "header", "cut", "noise", "pages"])
@pytest.mark.parametrize("seed", range(8))
def test_a_damaged_file_never_gives_a_wrong_vector(tmp_path: Path, kind: str, seed: int) -> None:
    path = filled(tmp_path, MANY)
    drawn = np.random.default_rng(seed)
    content = bytearray(path.read_bytes())
    place = int(drawn.integers(len(content)))
    if kind == "bit":
        content[place] ^= 1 << int(drawn.integers(8))
    elif kind == "header":
        content[int(drawn.integers(100))] = int(drawn.integers(256))
    elif kind == "cut":
        del content[place:]
    elif kind == "noise":
        content[place : place + 2_000] = drawn.bytes(2_000)
    else:
        for start in range(0, len(content), 16_384):
            content[start + int(drawn.integers(40))] = int(drawn.integers(256))
    path.write_bytes(content)
    quiet_and_right(tmp_path, [*MANY[::2], f"new {seed}", *MANY[1::2]])
    quiet_and_right(tmp_path, MANY)


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
    "a vector": (f"UPDATE vectors SET vector = zeroblob(24) WHERE rowid = {LAST}",),
    "an exchange": (
        "UPDATE vectors SET (checksum, vector) ="
        " (SELECT checksum, vector FROM vectors WHERE rowid = 1)",
    ),
    "a size": (f"UPDATE vectors SET vector = zeroblob(20) WHERE rowid = {LAST}", SEAL),
    "no number": (f"UPDATE vectors SET vector = x'{'0000c07f' * 6}' WHERE rowid = {LAST}", SEAL),
    "text": (f"UPDATE vectors SET vector = 'ab' WHERE rowid = {LAST}",),
    "no text": (f"UPDATE vectors SET vector = CAST(x'ff' AS TEXT) WHERE rowid = {LAST}",),
    "a number": (f"UPDATE vectors SET vector = 7 WHERE rowid = {LAST}",),
    "a version": ("PRAGMA user_version = 99",),
    "no table": ("DROP TABLE vectors",),
    "a table": ("DROP TABLE vectors", "CREATE TABLE vectors (digest BLOB)"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_wrong_file_is_replaced_with_a_warning(tmp_path: Path, damage: str) -> None:
    path = filled(tmp_path, MANY)
    changed(path, *DAMAGES[damage])
    with pytest.warns(UserWarning, match="kept here were damaged; texts are encoded") as told:
        assert is_right(tmp_path, MANY) == MANY
    assert len(told) == 1
    assert str(path) in str(told[0].message)
    assert not path.exists()
    assert is_right(tmp_path, MANY) == []


def test_what_is_no_database_is_replaced_with_a_warning(tmp_path: Path) -> None:
    path = filled(tmp_path, MANY)
    content = path.read_bytes()
    # SQLite's own message then quotes what is no UTF-8.
    unreadable = content.replace(b"CREATE TABLE vectors", b"CREATE T\xc3BLE vectors")
    assert unreadable != content
    for wrong in (unreadable, b"not a database at all\n" * 100):
        (path,) = tmp_path.iterdir()
        path.write_bytes(wrong)
        with pytest.warns(UserWarning, match="kept here were damaged"):
            is_right(tmp_path, MANY)
        assert is_right(tmp_path, MANY) == []


def test_an_empty_file_is_filled(tmp_path: Path) -> None:
    filled(tmp_path, MANY).write_bytes(b"")
    assert is_right(tmp_path, MANY) == MANY
    assert is_right(tmp_path, MANY) == []


def test_a_file_that_is_damaged_again_and_again_is_given_up(tmp_path: Path) -> None:
    inner = Counting()
    encoder = CachedEncoder(inner, folder=tmp_path)
    for message in (
        "kept here were damaged",
        "and not replaced .damaged again and again.; set TAX",
    ):
        path = filled(tmp_path, MANY)
        path.write_bytes(path.read_bytes()[:20_000])
        with pytest.warns(UserWarning, match=message):
            assert same(encoder.encode(MANY), inner.vectors(MANY))
    assert same(encoder.encode(MANY), inner.vectors(MANY))
    assert len(inner.asked) == 3


def goes_without(folder: Path, message: str) -> None:
    """That one warning, once, is all that comes of a folder that cannot be used."""
    inner = Counting()
    encoder = CachedEncoder(inner, folder=folder, patience=0.05)
    with pytest.warns(UserWarning, match=message) as told:
        encoder.prepare(NAMES)
    assert len(told) == 1
    for _ in range(2):
        assert same(encoder.encode(NAMES), inner.vectors(NAMES))


def test_a_folder_that_cannot_be_made_costs_a_warning(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    goes_without(tmp_path / "file", "file: no vectors are kept .File exists.; set TAXOEXPAN_CACHE")
    goes_without(tmp_path / "file" / "below", "below: no vectors are kept .Not a directory.; set")


def test_a_file_that_cannot_be_opened_costs_a_warning(tmp_path: Path) -> None:
    path = filled(tmp_path, NAMES)
    path.unlink()
    path.mkdir()
    goes_without(tmp_path, "no vectors are kept .unable to open database file.; set TAXOEXPAN")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_folder_that_may_not_be_written_in_is_read(tmp_path: Path) -> None:
    path = filled(tmp_path, NAMES)
    path.chmod(0o400)
    tmp_path.chmod(0o500)
    try:
        assert is_right(tmp_path, NAMES) == []
        with pytest.warns(UserWarning, match="new vectors are not kept"):
            assert is_right(tmp_path, [*NAMES, "new"]) == ["new"]
    finally:
        tmp_path.chmod(0o700)


def test_a_file_that_another_process_holds_too_long_is_done_without(tmp_path: Path) -> None:
    holder = sqlite3.connect(filled(tmp_path, NAMES), isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    goes_without(tmp_path, "no vectors are kept .database is locked.; set TAXOEXPAN_CACHE to")
    holder.execute("COMMIT")
    holder.execute("BEGIN IMMEDIATE")
    with pytest.warns(UserWarning, match="new vectors are not kept .database is locked."):
        assert is_right(tmp_path, [*NAMES, "new"], patience=0.05) == ["new"]
    holder.close()
    assert is_right(tmp_path, [*NAMES, "new"]) == ["new"]


def test_a_full_disk_costs_a_warning_and_what_is_kept_is_still_read(tmp_path: Path) -> None:
    inner = Counting()
    path = filled(tmp_path, MANY)
    encoder = CachedEncoder(inner, folder=tmp_path)
    with no_file_larger_than(path.stat().st_size):
        with pytest.warns(UserWarning, match="new vectors are not kept") as told:
            assert same(encoder.encode(LONG[:6_000]), inner.vectors(LONG[:6_000]))
        assert same(encoder.encode([*MANY, "new"]), inner.vectors([*MANY, "new"]))
    assert len(told) == 1
    assert inner.asked[-1] == ["new"]
    assert is_right(tmp_path, [*MANY, "other"]) == ["other"]


def test_a_full_disk_from_the_start_costs_a_warning(tmp_path: Path) -> None:
    with no_file_larger_than(0):
        goes_without(tmp_path / "new", "no vectors are kept .*; set TAXOEXPAN_CACHE to another")
