"""Accidents of a store that is in use: other programs delete, replace or copy its files."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, event, text

from taxoexpan.desk.store.database import Database
from taxoexpan.desk.store.decision_store import DecisionStore
from taxoexpan.desk.store.decisions import Action, LogEntry, StoreError
from taxoexpan.desk.store.log import read_log
from taxoexpan.desk.store.queue import QueueQuery, read_first_proposals
from tests.support.desk_cases import NEW, accept, comment, first_proposals
from tests.support.forked_processes import forked
from tests.support.postgresql_server import PostgresqlServer
from tests.support.store_server import serve

REPLACED = r"reviews\.db: was replaced while this program used it"


def filled(url: str, curator: str | None = None) -> None:
    """Create a store, perhaps with a decision of a curator."""
    with DecisionStore.open(url) as store:
        store.add_concepts(NEW)
        store.set_proposals("model 1", first_proposals())
        if curator:
            store.append([accept(store.queue().concepts[0])], curator)


@contextmanager
def opened(path: Path) -> Iterator[DecisionStore]:
    """A store with a decision of Ada."""
    filled(str(path), "Ada")
    with DecisionStore.open(str(path)) as store:
        yield store


def truncate(path: Path) -> None:
    os.truncate(path, 0)


def replace(path: Path) -> None:
    path.with_name("other").write_bytes(b"other")
    path.with_name("other").rename(path)


@pytest.mark.parametrize(
    "accident",
    [replace, *(pytest.param(each, marks=pytest.mark.slow) for each in (Path.unlink, truncate))],
)
def test_acknowledged_decisions_are_in_the_file_and_not_in_others_beside_it(
    tmp_path: Path, accident: Callable[[Path], None]
) -> None:
    path = tmp_path / "reviews.db"
    filled(str(path))
    with (
        forked(lambda: serve(str(path))) as server,
        socket.create_connection(("127.0.0.1", int(server.out.readline()))) as connection,
        connection.makefile("r") as answers,
    ):
        for version in range(3):
            connection.sendall(f"oat milk\t{version}\trequest {version}\n".encode())
            assert int(answers.readline()) == version + 1
        for other in set(tmp_path.iterdir()) - {path}:
            accident(other)
        server.end(signal.SIGKILL)
    with DecisionStore.open(str(path)) as store:
        assert len(store.log()) == 3


def test_a_copy_of_the_file_has_every_decision(tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with opened(tmp_path / "reviews.db") as store:
        store.append([LogEntry("rye bread", Action.DEFER, 0)], "Ada")
        shutil.copyfile(tmp_path / "reviews.db", copy)
        with DecisionStore.open(str(copy)) as copied:
            assert copied.log() == store.log()


@pytest.mark.parametrize(
    ("accident", "message"),
    [
        ("delete", "was deleted or moved"),
        ("delete the folder", "was deleted or moved"),
        ("move", "was deleted or moved"),
        ("replace by an empty file", REPLACED),
        ("replace by a text", "is not a decision store"),
        ("replace by a part", "is damaged"),
        ("replace by a backup", REPLACED),
        ("copy a backup over it", REPLACED),
        ("copy another store over it", REPLACED),
    ],
)
def test_nothing_is_decided_or_shown_if_the_log_is_gone(
    tmp_path: Path, accident: str, message: str
) -> None:
    path, backup, other = (tmp_path / name for name in ("desk/reviews.db", "backup.db", "other.db"))
    path.parent.mkdir()
    filled(str(backup))
    filled(str(other), "Bob")
    with opened(path) as store:
        moved = tmp_path / "moved.db"
        if "replace" in accident or "move" in accident:
            path.rename(moved)
        if accident == "delete":
            path.unlink()
        elif accident == "delete the folder":
            shutil.rmtree(path.parent)
        elif accident == "replace by an empty file":
            path.touch()
        elif accident == "replace by a text":
            path.write_text("label\noat milk\n" * 100, encoding="utf-8")
        elif accident == "replace by a part":
            path.write_bytes(moved.read_bytes()[:8192])
        elif accident == "replace by a backup":
            backup.rename(path)
        elif accident.startswith("copy"):
            shutil.copyfile(other if "another" in accident else backup, path)
        decision = LogEntry("rye bread", Action.DEFER, 0)
        for use in (lambda: store.append([decision], "Ada"), lambda: store.undo("Ada"), store.log):
            with pytest.raises(StoreError, match=message):
                use()
        if moved.exists():
            moved.rename(path)
            assert store.append([decision], "Ada")
            assert [each.number for each in store.log()] == [1, 2]


@pytest.mark.parametrize("curator", [None, "Bob"])
def test_tables_that_are_restored_in_postgresql_are_noticed(
    postgresql: PostgresqlServer, curator: str | None
) -> None:
    url = postgresql.new_schema()
    filled(url, "Ada")
    with DecisionStore.open(url) as store:
        with closing(Database.connect(url)) as database, database.engine.begin() as connection:
            drop_tables(connection)
        for _ in range(2):
            with pytest.raises(StoreError, match="was replaced"):
                store.append([LogEntry("rye bread", Action.DEFER, 0)], "Ada")
            filled(url, curator)  # as restoring a dump does it


def drop_tables(connection: Connection) -> None:
    """Leave nothing of a store in PostgreSQL."""
    connection.execute(text("DROP TABLE queue, proposals, decisions, concepts CASCADE"))
    connection.execute(text("DROP TABLE taxoexpan_schema, taxoexpan_store"))
    connection.execute(text("DROP FUNCTION refuse_change"))


@pytest.mark.parametrize("accident", ["another list", "an empty store", "an earlier version"])
@pytest.mark.parametrize("replaces", [shutil.copyfile, os.replace])
def test_a_store_that_is_replaced_before_the_first_decision_is_noticed(
    tmp_path: Path, accident: str, replaces: Callable[[Path, Path], Any]
) -> None:
    path, other = tmp_path / "reviews.db", tmp_path / "other.db"
    filled(str(path))
    DecisionStore.open(str(other)).close()
    if accident != "an empty store":
        filled(str(other))
    if accident == "an earlier version":
        take_back(str(other))
    with DecisionStore.open(str(path)) as store:
        replaces(other, path)
        decision = LogEntry("rye bread", Action.DEFER, 0)
        for use in (store.queue, store.log, lambda: store.append([decision], "Ada")):
            with pytest.raises(StoreError, match=REPLACED):
                use()
    with DecisionStore.open(str(path)) as store:
        assert store.log() == []


def test_tables_that_are_made_anew_in_postgresql_before_the_first_decision_are_noticed(
    postgresql: PostgresqlServer,
) -> None:
    url = postgresql.new_schema()
    filled(url)
    with DecisionStore.open(url) as store:
        with closing(Database.connect(url)) as database, database.engine.begin() as connection:
            drop_tables(connection)
        for _ in range(2):
            with pytest.raises(StoreError, match="was replaced"):
                store.queue()
            filled(url)


def take_back(url: str) -> None:
    """Make a store one of an earlier version, without an identity."""
    with closing(Database.connect(url)) as database, database.engine.begin() as connection:
        connection.execute(text("DROP TABLE taxoexpan_store"))
        connection.execute(text("UPDATE taxoexpan_schema SET version_num = '0003'"))


def test_a_store_without_an_identity_gets_one(store_url: str) -> None:
    filled(store_url, "Ada")
    take_back(store_url)
    with DecisionStore.open(store_url) as store, DecisionStore.open(store_url) as other:
        with closing(Database.connect(store_url)) as database, database.reading() as connection:
            rows = connection.execute(text("SELECT id FROM taxoexpan_store")).all()
        assert [len(id) for (id,) in rows] == [32]
        store.append([LogEntry("rye bread", Action.DEFER, 0)], "Ada")
        assert len(other.log()) == 2


def test_a_backup_is_the_same_store(tmp_path: Path) -> None:
    path, backup = tmp_path / "reviews.db", tmp_path / "backup.db"
    filled(str(path))
    with DecisionStore.open(str(path)) as store:
        store.back_up(backup)
        shutil.copyfile(backup, path)
        assert store.append([LogEntry("rye bread", Action.DEFER, 0)], "Ada")


@pytest.mark.parametrize("replaces", [shutil.copyfile, os.replace])
def test_a_decision_is_not_acknowledged_if_the_file_is_replaced_meanwhile(
    tmp_path: Path, replaces: Callable[[Path, Path], Any]
) -> None:
    path, backup = tmp_path / "reviews.db", tmp_path / "backup.db"
    filled(str(backup))
    with opened(path) as store:

        def after_statement(_: Connection, __: object, statement: str, *___: object) -> None:
            if statement.startswith("INSERT INTO decisions"):
                replaces(backup, path)

        event.listen(store._database.engine, "after_cursor_execute", after_statement)
        with pytest.raises(StoreError, match="was replaced"):
            store.append([LogEntry("rye bread", Action.DEFER, 0)], "Ada")
    with DecisionStore.open(str(path)) as restored:
        assert restored.log() == []


def test_decisions_of_another_desk_are_no_accident(store: DecisionStore, store_url: str) -> None:
    with DecisionStore.open(store_url) as other:
        for number in range(1, 7):
            desk = (store, other)[number % 2]
            concept = desk.concept("rye bread")
            assert concept is not None
            assert [d.number for d in desk.append([comment(concept, "hm")], "Ada")] == [number]
        assert store.log() == other.log()


def test_a_damaged_file_is_named_when_it_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "reviews.db"
    filled(str(path))
    with closing(sqlite3.connect(path)) as connection:
        find = "SELECT rootpage FROM sqlite_schema WHERE name = 'proposals'"
        page = connection.execute(find).fetchone()[0]
        size = connection.execute("PRAGMA page_size").fetchone()[0]
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    with pytest.raises(StoreError, match=r"reviews\.db: is damaged"):
        DecisionStore.open(str(path))


def test_a_store_of_an_earlier_version_is_converted_with_its_write_ahead_log(
    tmp_path: Path,
) -> None:
    path, copy = tmp_path / "reviews.db", tmp_path / "copy.db"
    filled(str(path), "Ada")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("UPDATE concepts SET definition = 'in the journal'")
        connection.commit()
        for ending in ("", "-wal"):  # as a killed process leaves them
            shutil.copyfile(f"{path}{ending}", f"{copy}{ending}")
    with DecisionStore.open(str(copy)) as store:
        assert store.queue().concepts[0].concept.definition == "in the journal"
        assert len(store.log()) == 1
    assert not copy.with_name("copy.db-wal").exists()
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_a_store_that_an_earlier_version_has_open_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "reviews.db"
    filled(str(path))
    monkeypatch.setattr("taxoexpan.desk.store.database.CONVERT_SECONDS", 0)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("SELECT count(*) FROM concepts").fetchall()
        with pytest.raises(StoreError, match=r"reviews\.db: is open in an earlier version"):
            DecisionStore.open(str(path))


@pytest.fixture
def interleaved(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[Callable[[], object]], Any]]:
    """Return a function that makes transactions for reading, with an act after each of them."""
    monkeypatch.setattr("taxoexpan.desk.store.tables.CHUNK", 1)
    monkeypatch.setattr("taxoexpan.desk.store.database.BUSY_SECONDS", 1)
    with closing(Database.connect(store_url)) as database:

        def transactions(act: Callable[[], object]) -> Callable[[], Any]:
            @contextmanager
            def reading() -> Iterator[Connection]:
                with database.reading() as connection:
                    yield connection
                act()

            return reading

        yield transactions


def test_others_decide_during_a_long_reading_of_the_log(
    store: DecisionStore, interleaved: Callable[[Callable[[], object]], Any]
) -> None:
    store.append([accept(each) for each in store.queue().concepts], "Ada")
    log = read_log(interleaved(lambda: store.undo("Ada")))
    assert [(each.number, each.undone) for each in log] == [(1, False), (2, False), (3, False)]
    assert len(store.log()) == 6


def test_concepts_that_are_decided_during_a_long_reading_are_left_out(
    store: DecisionStore, interleaved: Callable[[Callable[[], object]], Any]
) -> None:
    before = store.first_proposals(QueueQuery())

    def decide() -> None:
        last = store.concept(before[-1].key)
        if last is not None and not last.version:
            store.append([accept(last)], "Ada")

    during = read_first_proposals(interleaved(decide), QueueQuery())
    assert during == before[:-1]
